/* SPDX-License-Identifier: GPL-3.0-or-later */

/* The sequences of a step are the same for every plan, and cutting them into micro-batches loses
 * none. */

#include "models/forecast/microbatch.h"
#include "models/forecast/planning.h"
#include "models/forecast/samples.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <stdlib.h>

#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"
#define GRPO "scenarios/grpo-qwen2.5-7b-8xh100.yaml"
#define DPO "scenarios/dpo-llama2-7b-8xa100.yaml"

struct drawn {
    struct rlhfsim_scenario *scenario;
    struct forecast_plan plan;
    struct forecast_samples samples;
    struct forecast_split split;
};

static void draw(struct drawn *drawn, const char *path, const char *const *sets, int64_t step) {
    drawn->scenario = testing_scenario(path, sets);
    forecast_plan_make(drawn->scenario, &drawn->plan);
    ck_assert_int_eq(forecast_samples_new(&drawn->plan, &drawn->samples), RLHFSIM_OK);
    ck_assert_int_eq(forecast_split_new(&drawn->plan, drawn->plan.dp, &drawn->split), RLHFSIM_OK);
    forecast_samples_draw(&drawn->plan, 0, step, &drawn->samples);
}

static void drop(struct drawn *drawn) {
    forecast_samples_free(&drawn->samples);
    forecast_split_free(&drawn->split);
    rlhfsim_scenario_free(drawn->scenario);
}

/* Another way to train the same samples does not change them: common random numbers. */
START_TEST(lengths_belong_to_prompts) {
    static const char *const other[] = {"training.zero_stage=1", "training.recompute=none",
                                        "rollout.max_num_seqs=16", NULL};
    struct drawn a, b;
    draw(&a, PPO, NULL, 3);
    draw(&b, PPO, other, 3);
    ck_assert_uint_eq(a.samples.sequences, b.samples.sequences);
    for (size_t i = 0; i < a.samples.sequences; i++) {
        ck_assert_uint_eq(a.samples.prompt_tokens[i], b.samples.prompt_tokens[i]);
        ck_assert_uint_eq(a.samples.response_tokens[i], b.samples.response_tokens[i]);
    }
    drop(&a);
    drop(&b);
}
END_TEST

/* Samples of one prompt share the prompt and differ in their responses; the first K of 2K samples
 * are those of K. */
START_TEST(more_samples_keep_the_first) {
    static const char *const few[] = {"algorithm.samples_per_prompt=2",
                                      "algorithm.minibatch_samples=16",
                                      "algorithm.prompts_per_step=16", NULL};
    static const char *const many[] = {"algorithm.samples_per_prompt=4",
                                       "algorithm.minibatch_samples=16",
                                       "algorithm.prompts_per_step=16", NULL};
    struct drawn a, b;
    draw(&a, GRPO, few, 1);
    draw(&b, GRPO, many, 1);
    for (size_t prompt = 0; prompt < 16; prompt++) {
        for (size_t k = 0; k < 2; k++) {
            ck_assert_uint_eq(a.samples.response_tokens[2 * prompt + k],
                              b.samples.response_tokens[4 * prompt + k]);
            ck_assert_uint_eq(a.samples.prompt_tokens[2 * prompt + k],
                              b.samples.prompt_tokens[4 * prompt]);
        }
    }
    drop(&a);
    drop(&b);
}
END_TEST

/* The second pass over a data set of pairs meets the pairs of the first again. */
START_TEST(epochs_repeat_the_data) {
    static const char *const small[] = {"dataset.pairs=64", "dataset.epochs=2",
                                        "algorithm.minibatch_samples=32",
                                        "training.microbatch_samples=4", NULL};
    struct drawn a, b;
    draw(&a, DPO, small, 1);
    draw(&b, DPO, small, 3);
    ck_assert_uint_eq(a.samples.sequences, 64);
    for (size_t i = 0; i < a.samples.sequences; i++) {
        ck_assert_uint_eq(a.samples.prompt_tokens[i], b.samples.prompt_tokens[i]);
        ck_assert_uint_eq(a.samples.response_tokens[i], b.samples.response_tokens[i]);
    }
    drop(&a);
    drop(&b);
}
END_TEST

static double all_tokens(const struct forecast_samples *samples);

/* Steps of 40 + 40 + 24 pairs have the tokens of one of all 104. */
START_TEST(short_steps_have_all_the_data) {
    static const char *const whole[] = {"dataset.pairs=104", "algorithm.minibatch_samples=104",
                                        "training.microbatch_samples=13", NULL};
    static const char *const parts[] = {"dataset.pairs=104", "algorithm.minibatch_samples=40",
                                        "training.microbatch_samples=5", NULL};
    struct drawn all, part;
    double tokens = 0.0;
    size_t pairs = 0;
    draw(&all, DPO, whole, 1);
    draw(&part, DPO, parts, 1);
    for (int64_t step = 1; step <= 3; step++) {
        forecast_samples_draw(&part.plan, 0, step, &part.samples);
        tokens += all_tokens(&part.samples);
        pairs += part.samples.count;
    }
    ck_assert_uint_eq(part.samples.count, 24);
    ck_assert_uint_eq(part.samples.sequences, 48);
    ck_assert_uint_eq(pairs, 104);
    ck_assert_double_eq(tokens, all_tokens(&all.samples));
    drop(&all);
    drop(&part);
}
END_TEST

/* 11 samples on 8 ranks: 2, 2, 2, 1, 1, 1, 1, 1; 3 on 8: one each, then none. */
START_TEST(few_samples_are_dealt_evenly) {
    struct drawn drawn;
    draw(&drawn, PPO, NULL, 1);
    for (size_t count = 1; count <= 24; count++) {
        double before = 0.0, sum = 0.0;
        forecast_split_make(&drawn.plan, &drawn.samples, 5, count, FORECAST_PASS_UPDATE,
                            &drawn.split);
        for (int rank = 0; rank < 8; rank++) {
            double has = 0.0;
            for (size_t k = 0; k < drawn.split.counts[rank]; k++)
                has += drawn.split.batches[(size_t)rank * drawn.split.stride + k].sequences;
            ck_assert_double_eq(has, (double)(count / 8 + ((size_t)rank < count % 8)));
            ck_assert(rank == 0 || has <= before);
            before = has;
            sum += has;
        }
        ck_assert_double_eq(sum, (double)count);
    }
    drop(&drawn);
}
END_TEST

static double all_tokens(const struct forecast_samples *samples) {
    double tokens = 0.0;
    for (size_t i = 0; i < samples->sequences; i++)
        tokens += samples->prompt_tokens[i] + samples->response_tokens[i];
    return tokens;
}

static struct llm_batch split_sum(const struct forecast_plan *plan,
                                  const struct forecast_split *split) {
    struct llm_batch sum = {0};
    for (int rank = 0; rank < plan->dp; rank++) {
        for (size_t k = 0; k < split->counts[rank]; k++) {
            const struct llm_batch *batch = &split->batches[(size_t)rank * split->stride + k];
            sum.sequences += batch->sequences;
            sum.tokens += batch->tokens;
            sum.score_pairs += batch->score_pairs;
        }
    }
    return sum;
}

/* Packing counts every token once and fills no bin beyond its budget. */
START_TEST(packing_loses_nothing) {
    static const char *const packed[] = {
        "training={tp: 1, zero_stage: 3, microbatch_tokens: 8192, packing: true}", NULL};
    struct drawn drawn;
    double pairs = 0.0;
    draw(&drawn, PPO, packed, 2);
    forecast_split_make(&drawn.plan, &drawn.samples, 0, drawn.samples.sequences,
                        FORECAST_PASS_UPDATE, &drawn.split);
    struct llm_batch sum = split_sum(&drawn.plan, &drawn.split);
    for (size_t i = 0; i < drawn.samples.sequences; i++) {
        double n = drawn.samples.prompt_tokens[i] + drawn.samples.response_tokens[i];
        pairs += n * (n + 1.0) / 2.0; /* token i sees i tokens */
    }
    ck_assert_double_eq(sum.sequences, (double)drawn.samples.sequences);
    ck_assert_double_eq(sum.tokens, all_tokens(&drawn.samples));
    ck_assert_double_eq(sum.score_pairs, pairs);
    for (int rank = 0; rank < drawn.plan.dp; rank++)
        for (size_t k = 0; k < drawn.split.counts[rank]; k++)
            ck_assert_double_le(drawn.split.batches[(size_t)rank * drawn.split.stride + k].tokens,
                                8192.0);
    drop(&drawn);
}
END_TEST

static int falling(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* First fit, bin after bin, of lengths in falling order; the bins' tokens. */
static size_t first_fit(const double *tokens, size_t count, double budget, double *bins) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bin = 0;
        while (bin < used && bins[bin] + tokens[i] > budget)
            bin++;
        if (bin == used)
            bins[used++] = 0.0;
        bins[bin] += tokens[i];
    }
    return used;
}

/* The tree of rooms finds the bins that the search from the first one finds, of budgets from one
 * that many sequences exceed to one that holds them all. */
START_TEST(packing_is_first_fit_decreasing) {
    static const char *const packed[] = {
        "training={tp: 1, zero_stage: 3, microbatch_tokens: 768, packing: true}", NULL};
    static const int64_t budgets[] = {200, 400, 768, 1000, 3000, 1000000};
    struct drawn drawn;
    draw(&drawn, PPO, packed, 2);
    size_t share = drawn.samples.count / (size_t)drawn.plan.dp;
    for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
        drawn.scenario->training.microbatch_tokens = budgets[b];
        drawn.samples.draws++; /* or the cut of before is found again */
        forecast_split_make(&drawn.plan, &drawn.samples, 0, drawn.samples.count,
                            FORECAST_PASS_UPDATE, &drawn.split);
        for (size_t rank = 0; rank < (size_t)drawn.plan.dp; rank++) {
            double tokens[1024], bins[1024];
            ck_assert_uint_le(share, 1024);
            for (size_t i = 0; i < share; i++)
                tokens[i] = drawn.samples.prompt_tokens[rank * share + i] +
                            drawn.samples.response_tokens[rank * share + i];
            qsort(tokens, share, sizeof tokens[0], falling);
            size_t used = first_fit(tokens, share, (double)budgets[b], bins);
            ck_assert_uint_eq(drawn.split.counts[rank], used);
            for (size_t k = 0; k < used; k++)
                ck_assert_double_eq(drawn.split.batches[rank * drawn.split.stride + k].tokens,
                                    bins[k]);
        }
    }
    drop(&drawn);
}
END_TEST

static double most_tokens(const struct forecast_plan *plan, const struct forecast_split *split) {
    double most = 0.0;
    for (int rank = 0; rank < plan->dp; rank++) {
        double tokens = 0.0;
        for (size_t k = 0; k < split->counts[rank]; k++)
            tokens += split->batches[(size_t)rank * split->stride + k].tokens;
        most = fmax(most, tokens);
    }
    return most;
}

/* Dealt by length, no token is lost, every rank has as many sequences, and the ranks come close to
 * the mean: 128 a rank, 16 of its mini-batch. */
START_TEST(balanced_ranks_have_equal_tokens) {
    static const char *const plain[] = {
        "training={tp: 1, zero_stage: 3, microbatch_samples: 8, packing: true}", NULL};
    static const char *const balanced[] = {
        "training={tp: 1, zero_stage: 3, microbatch_samples: 8, packing: true, balance_ranks: "
        "true}",
        NULL};
    struct drawn drawn;
    double most[2], mean = 0.0;
    for (int i = 0; i < 2; i++) {
        draw(&drawn, PPO, i == 0 ? plain : balanced, 2);
        forecast_split_make(&drawn.plan, &drawn.samples, 128, 128, FORECAST_PASS_UPDATE,
                            &drawn.split);
        struct llm_batch sum = split_sum(&drawn.plan, &drawn.split);
        ck_assert_double_eq(sum.sequences, 128.0);
        if (i == 1)
            ck_assert_double_eq(sum.tokens / drawn.plan.dp, mean);
        mean = sum.tokens / drawn.plan.dp;
        most[i] = most_tokens(&drawn.plan, &drawn.split);
        for (int rank = 0; rank < drawn.plan.dp; rank++)
            ck_assert_uint_eq(drawn.split.counts[rank], 2);
        drop(&drawn);
    }
    ck_assert_double_gt(most[0], 1.02 * mean);
    ck_assert_double_lt(most[1], 1.005 * mean);
}
END_TEST

/* Without packing every sequence of a rollout is as long as the longest can be. */
START_TEST(padding_fills_to_the_caps) {
    static const char *const padded[] = {"training.packing=false", NULL};
    struct drawn drawn;
    draw(&drawn, PPO, padded, 2);
    forecast_split_make(&drawn.plan, &drawn.samples, 0, drawn.samples.sequences,
                        FORECAST_PASS_UPDATE, &drawn.split);
    struct llm_batch sum = split_sum(&drawn.plan, &drawn.split);
    double longest = (double)(drawn.plan.prompt_limit + drawn.plan.response_limit);
    ck_assert_double_eq(sum.tokens, longest * (double)drawn.samples.sequences);
    drop(&drawn);
}
END_TEST

static Suite *samples_suite(void) {
    Suite *suite = suite_create("forecast/samples");
    TCase *tcase = tcase_create("samples");
    tcase_add_test(tcase, balanced_ranks_have_equal_tokens);
    tcase_add_test(tcase, lengths_belong_to_prompts);
    tcase_add_test(tcase, more_samples_keep_the_first);
    tcase_add_test(tcase, epochs_repeat_the_data);
    tcase_add_test(tcase, short_steps_have_all_the_data);
    tcase_add_test(tcase, few_samples_are_dealt_evenly);
    tcase_add_test(tcase, packing_loses_nothing);
    tcase_add_test(tcase, packing_is_first_fit_decreasing);
    tcase_add_test(tcase, padding_fills_to_the_caps);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(samples_suite)
