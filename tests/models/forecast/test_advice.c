/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Rules of thumb of memory, what makes a scenario fit, conservation. */

#include "models/forecast/footprint.h"
#include "models/forecast/plan.h"
#include "models/forecast/planning.h"
#include "models/forecast/tail.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rlhfsim_diagnostics *diagnostics;
static char path[64];

static void setup(void) {
    diagnostics = rlhfsim_diagnostics_new();
    path[0] = '\0';
}

static void teardown(void) {
    rlhfsim_diagnostics_free(diagnostics);
    if (path[0] != '\0')
        unlink(path);
}

/* The text as a file, read once. */
static struct rlhfsim_source *source_of(const char *text) {
    static const struct rlhfsim_scenario_options options = {.catalog_directory =
                                                                "scenarios/catalog"};
    struct rlhfsim_source *source;
    snprintf(path, sizeof path, "/tmp/rlhfsim-advice-XXXXXX");
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    close(descriptor);
    ck_assert_int_eq(rlhfsim_source_read(path, &options, diagnostics, &source), RLHFSIM_OK);
    return source;
}

/* Full-parameter PPO of four 7B models, everything on the GPUs: 16 bytes a trained parameter. The
 * batch divides by 1 to 4 ranks. */
static const char ppo_7b[] =
    "name: ppo\nframework: verl\nsteps: 4\n"
    "algorithm: {name: ppo, prompts_per_step: 96, samples_per_prompt: 1, minibatch_samples: 96, "
    "kl: reward}\n"
    "models: {actor: {model: Llama-2-7b-hf}, critic: {model: Llama-2-7b-hf}, reward: {model: "
    "Llama-2-7b-hf}, reference: {model: Llama-2-7b-hf}}\n"
    "cluster: {node: aws-p4de.24xlarge, gpus_per_node: 4}\n"
    "training: {zero_stage: 3, microbatch_samples: 4, recompute: full}\n"
    "rollout: {tp: 1, max_new_tokens: 512, memory_fraction: 0.25, prompt_tokens: {law: fixed, "
    "mean: 256}, response_tokens: {law: fixed, mean: 512}}\n";

static const char dpo_7b[] =
    "name: dpo\nframework: trl\nsteps: 4\n"
    "algorithm: {name: dpo, minibatch_samples: 8}\n"
    "models: {actor: {model: Llama-2-7b-hf}, reference: {model: Llama-2-7b-hf}}\n"
    "cluster: {node: aws-p4de.24xlarge, gpus_per_node: 2}\n"
    "training: {zero_stage: 3, microbatch_samples: 1, recompute: full}\n"
    "rollout: {max_new_tokens: 512, prompt_tokens: {law: fixed, mean: 256}, response_tokens: {law: "
    "fixed, mean: 512}}\n";

static const char lora_70b[] =
    "name: lora\nframework: trl\nsteps: 4\n"
    "algorithm: {name: dpo, minibatch_samples: 8}\n"
    "models: {actor: {model: Llama-2-70b-hf, lora_rank: 16}}\n"
    "cluster: {node: aws-p4de.24xlarge, gpus_per_node: 4}\n"
    "training: {zero_stage: 3, microbatch_samples: 1, recompute: full}\n"
    "rollout: {max_new_tokens: 512, prompt_tokens: {law: fixed, mean: 256}, response_tokens: {law: "
    "fixed, mean: 512}}\n";

static const char ppo_70b[] =
    "name: ppo\nframework: verl\nsteps: 4\n"
    "algorithm: {name: ppo, prompts_per_step: 96, samples_per_prompt: 1, minibatch_samples: 96, "
    "kl: reward}\n"
    "models: {actor: {model: Llama-2-70b-hf}, critic: {model: Llama-2-70b-hf}, reward: {model: "
    "Llama-2-70b-hf}, reference: {model: Llama-2-70b-hf}}\n"
    "cluster: {node: aws-p5.48xlarge, nodes: 4}\n"
    "training: {zero_stage: 3, microbatch_samples: 1, recompute: full}\n"
    "rollout: {tp: 8, max_new_tokens: 512, memory_fraction: 0.4, prompt_tokens: {law: fixed, mean: "
    "256}, response_tokens: {law: fixed, mean: 512}}\n";

/* ---- rules of thumb -------------------------------------------------------------------------- */

static int least_gpus(const char *text) {
    struct rlhfsim_source *source = source_of(text);
    struct rlhfsim_search search;
    ck_assert_int_eq(rlhfsim_search_min_gpus(source, diagnostics, &search), RLHFSIM_OK);
    rlhfsim_source_free(source);
    ck_assert(search.found);
    ck_assert_double_le(search.peak_bytes, search.capacity_bytes);
    return search.gpus;
}

/* 7B PPO: 36 x 6.7e9 bytes = 242 GB and an engine fit four A100 of 85 GB, not three; every number
 * down to one is legal and was tried. */
START_TEST(ppo_7b_fits_from_four) {
    ck_assert_int_eq(least_gpus(ppo_7b), 4);
}
END_TEST

/* 18 x 6.7e9 = 121 GB. */
START_TEST(dpo_7b_fits_from_two) {
    ck_assert_int_eq(least_gpus(dpo_7b), 2);
}
END_TEST

static void plan_of(const struct rlhfsim_source *source, const char *const *sets, size_t count,
                    struct rlhfsim_scenario **scenario, struct forecast_plan *plan) {
    ck_assert_int_eq(rlhfsim_source_scenario(source, sets, count, diagnostics, scenario),
                     RLHFSIM_OK);
    forecast_plan_make(*scenario, plan);
}

/* 138 GB of frozen weights over four A100, the reference being the model with adapters off. */
START_TEST(lora_70b_fits_four) {
    struct rlhfsim_source *source = source_of(lora_70b);
    struct rlhfsim_scenario *scenario;
    struct forecast_plan plan;
    plan_of(source, NULL, 0, &scenario, &plan);
    ck_assert(forecast_plan_fits(&plan));
    ck_assert_double_gt(forecast_gpu_peak(&plan).bytes, 138e9 / 4.0);
    rlhfsim_scenario_free(scenario);
    rlhfsim_source_free(source);
}
END_TEST

/* QLoRA packs the layers in 0.52 bytes a weight: 68.4e9 of the 69e9 are in layers, the rest stays
 * at two. Packed weights without adapters are a mistake. */
START_TEST(packed_weights) {
    struct rlhfsim_source *source = source_of(lora_70b);
    static const char *const sets[] = {"training.base_weights=nf4", "training.zero_stage=0"};
    struct rlhfsim_scenario *scenario;
    struct forecast_plan plan;
    plan_of(source, sets, 2, &scenario, &plan);
    struct training_footprint held;
    training_footprint(&plan.passes[ALGORITHM_ROLE_ACTOR], 0, &held);
    double ends = 2.0 * 32000.0 * 8192.0 + 8192.0, layers = 68976648192.0 - ends;
    double adapters = 2.0 * 207093760.0;
    assert_relative(held.weights, 0.52 * layers + 2.0 * ends + adapters, 1e-9);
    rlhfsim_scenario_free(scenario);
    rlhfsim_source_free(source);
    unlink(path);
    source = source_of(dpo_7b);
    ck_assert_int_eq(rlhfsim_source_scenario(source, sets, 1, diagnostics, &scenario),
                     RLHFSIM_INVALID);
    ck_assert_ptr_nonnull(
        strstr(rlhfsim_diagnostics_get(diagnostics, 0)->message, "training.base_weights"));
    rlhfsim_source_free(source);
}
END_TEST

/* 2.48 TB are 78 GB on each of 32 H100: with an engine they fit neither 32 nor 16. With optimizer
 * states in host memory 16 hold weights (2 x 276e9) and gradients (2 x 138e9 over both trained
 * models): 52 GB a GPU, and 12 x 138e9 / 2 = 0.83 TB a node. */
START_TEST(ppo_70b_needs_the_host) {
    struct rlhfsim_source *source = source_of(ppo_70b);
    static const char *const nodes[][2] = {{"cluster.nodes=4", "training.offload=none"},
                                           {"cluster.nodes=2", "training.offload=none"},
                                           {"cluster.nodes=2", "training.offload=optimizer"}};
    for (size_t i = 0; i < 3; i++) {
        struct rlhfsim_scenario *scenario;
        struct forecast_plan plan;
        plan_of(source, nodes[i], 2, &scenario, &plan);
        ck_assert_int_eq(forecast_plan_fits(&plan), i == 2);
        if (i == 2) {
            double held = 0.0;
            for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
                struct training_footprint f;
                training_footprint(&plan.passes[role], 0, &f);
                held += f.weights + f.gradients + f.master_weights + f.optimizer;
            }
            assert_relative(held, 52e9, 0.01);
            assert_relative(forecast_host_peak(&plan).bytes, 0.83e12, 0.01);
        }
        rlhfsim_scenario_free(scenario);
    }
    rlhfsim_source_free(source);
}
END_TEST

/* ---- advice ---------------------------------------------------------------------------------- */

/* Every change, loaded and planned again, fits; costs rise; the settings differ. */
START_TEST(changes_do_what_they_say) {
    struct rlhfsim_source *source = source_of(ppo_7b);
    struct rlhfsim_source *tight;
    char text[2048], *gpus;
    snprintf(text, sizeof text, "%s", ppo_7b);
    gpus = strstr(text, "gpus_per_node: 4");
    memcpy(gpus, "gpus_per_node: 3", strlen("gpus_per_node: 3"));
    rlhfsim_source_free(source);
    unlink(path);
    tight = source_of(text);
    struct rlhfsim_advice *advice;
    struct rlhfsim_change change;
    ck_assert_int_eq(rlhfsim_advice_find(tight, diagnostics, &advice), RLHFSIM_OK);
    double before = 0.0;
    size_t count = 0;
    bool offload = false, more = false;
    for (; rlhfsim_advice_change(advice, count, &change); count++) {
        char words[192];
        const char *sets[2] = {words, NULL};
        size_t set_count = 1;
        snprintf(words, sizeof words, "%s", change.settings);
        char *space = strchr(words, ' ');
        if (space != NULL) {
            *space = '\0';
            sets[1] = space + 1;
            set_count = 2;
        }
        struct rlhfsim_scenario *scenario;
        struct forecast_plan plan;
        plan_of(tight, sets, set_count, &scenario, &plan);
        ck_assert(forecast_plan_fits(&plan));
        ck_assert_double_eq(forecast_gpu_peak(&plan).bytes, change.peak_bytes);
        ck_assert_double_ge(change.cost_usd, before);
        ck_assert_double_gt(change.time_s, 0.0);
        before = change.cost_usd;
        offload = offload || strcmp(words, "training.offload=optimizer") == 0;
        more = more || change.gpus > 3;
        rlhfsim_scenario_free(scenario);
    }
    ck_assert_uint_ge(count, 2);
    ck_assert(offload);
    ck_assert(more);
    rlhfsim_advice_free(advice);
    rlhfsim_source_free(tight);
}
END_TEST

START_TEST(nothing_to_change_where_it_fits) {
    struct rlhfsim_source *source = source_of(dpo_7b);
    struct rlhfsim_advice *advice;
    struct rlhfsim_change change;
    ck_assert_int_eq(rlhfsim_advice_find(source, diagnostics, &advice), RLHFSIM_OK);
    ck_assert(!rlhfsim_advice_change(advice, 0, &change));
    rlhfsim_advice_free(advice);
    rlhfsim_source_free(source);
}
END_TEST

/* The next larger legal micro-batch does not fit. */
START_TEST(largest_micro_batch) {
    struct rlhfsim_source *source = source_of(dpo_7b);
    static const char *const wide[] = {"algorithm.minibatch_samples=128",
                                       "training.recompute=none"};
    struct rlhfsim_search search;
    rlhfsim_source_free(source);
    const struct rlhfsim_scenario_options options = {
        .catalog_directory = "scenarios/catalog", .sets = wide, .set_count = 2};
    ck_assert_int_eq(rlhfsim_source_read(path, &options, diagnostics, &source), RLHFSIM_OK);
    ck_assert_int_eq(rlhfsim_search_max_microbatch(source, diagnostics, &search), RLHFSIM_OK);
    ck_assert(search.found);
    ck_assert_int_lt(search.samples, 64);
    for (int64_t samples = search.samples; samples <= 2 * search.samples;
         samples += search.samples) {
        char set[64];
        const char *sets[] = {set};
        struct rlhfsim_scenario *scenario;
        struct forecast_plan plan;
        snprintf(set, sizeof set, "training.microbatch_samples=%d", (int)samples);
        plan_of(source, sets, 1, &scenario, &plan);
        ck_assert_int_eq(forecast_plan_fits(&plan), samples == search.samples);
        rlhfsim_scenario_free(scenario);
    }
    rlhfsim_source_free(source);
}
END_TEST

/* ---- near the limit -------------------------------------------------------------------------- */

/* Within 5 % of the limit the verdict is marginal, with the probability of the forecast's spread;
 * exactly at the limit it is a half. */
START_TEST(marginal_near_the_limit) {
    static const double shares[] = {0.80, 0.97, 1.03, 1.20};
    static const char *const words[] = {"fits", "marginal", "marginal", "does not fit"};
    struct rlhfsim_scenario *scenario =
        testing_scenario("scenarios/dpo-llama2-7b-8xa100.yaml", NULL);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    double peak = forecast_gpu_peak(&plan).bytes, before = 2.0;
    for (size_t i = 0; i < 4; i++) {
        struct rlhfsim_forecast *forecast;
        struct rlhfsim_value verdict, chance;
        scenario->cluster.gpu.memory_bytes = peak / shares[i];
        enum rlhfsim_status status = rlhfsim_forecast_check(scenario, diagnostics, &forecast);
        ck_assert_int_eq(status, shares[i] <= 1.0 ? RLHFSIM_OK : RLHFSIM_INFEASIBLE);
        const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
        ck_assert(rlhfsim_summary_get(summary, "memory.verdict", &verdict));
        ck_assert(rlhfsim_summary_get(summary, "memory.fit_probability", &chance));
        ck_assert_str_eq(verdict.text, words[i]);
        ck_assert_double_lt(chance.p50, before);
        /* ln(1 / share) / spread standard deviations of room. */
        double room = -log(shares[i]) / scenario->training.memory_spread;
        assert_relative(chance.p50, 0.5 * (1.0 + erf(room / sqrt(2.0))), 1e-9);
        before = chance.p50;
        rlhfsim_forecast_free(forecast);
    }
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* ---- worst batches --------------------------------------------------------------------------- */

/* The tail against lengths drawn one by one at equal shares of both laws. */
START_TEST(tail_of_lengths) {
    struct rlhfsim_scenario *scenario =
        testing_scenario("scenarios/grpo-qwen2.5-7b-8xh100.yaml", NULL);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    const int shares = 150;
    for (double tokens = 100.0; tokens < 1300.0; tokens += 150.0) {
        int beyond = 0;
        for (int i = 0; i < shares; i++)
            for (int j = 0; j < shares; j++)
                beyond += generation_length_at(&scenario->rollout.prompt.fitted, (i + 0.5) / shares,
                                               NULL) +
                              generation_length_at(&scenario->rollout.response.fitted,
                                                   (j + 0.5) / shares, NULL) >=
                          (uint32_t)tokens;
        double share = (double)beyond / (shares * shares);
        ck_assert_double_eq_tol(forecast_length_tail(&plan, tokens), share, 0.01);
    }
    ck_assert_double_eq(forecast_length_tail(&plan, 1537.0), 0.0);
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* Where only the longest batches do not fit: sequences of the length that is told fit, one token
 * more does not; the probability falls with length. */
START_TEST(longest_that_fits) {
    static const char *const sets[] = {"training.recompute=none", "training.microbatch_samples=16",
                                       "rollout.max_new_tokens=2048", NULL};
    struct rlhfsim_scenario *scenario =
        testing_scenario("scenarios/ppo-llama2-7b-8xa100.yaml", sets);
    struct forecast_plan plan;
    forecast_plan_make(scenario, &plan);
    ck_assert(!forecast_plan_fits(&plan));
    int64_t fitting = forecast_fitting_tokens(&plan);
    ck_assert_int_gt(fitting, 0);
    ck_assert_int_lt(fitting, plan.prompt_limit + plan.response_limit);
    for (int more = 0; more < 2; more++) {
        struct forecast_plan shorter = plan;
        shorter.prompt_limit = 0;
        shorter.response_limit = fitting + more;
        forecast_plan_memory(&shorter);
        ck_assert_int_eq(forecast_plan_fits(&shorter), more == 0);
    }
    double longest = (double)(plan.prompt_limit + plan.response_limit);
    ck_assert_double_ge(forecast_batch_probability(&plan, (double)fitting),
                        forecast_batch_probability(&plan, longest));
    rlhfsim_scenario_free(scenario);
}
END_TEST

/* ---- conservation ---------------------------------------------------------------------------- */

static double sum_of(const double table[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT], int from,
                     int to) {
    double sum = 0.0;
    for (int owner = 0; owner < ALGORITHM_ROLE_COUNT; owner++)
        for (int category = from; category <= to; category++)
            sum += table[owner][category];
    return sum;
}

/* Random layouts: what offload takes off the GPUs of models at rest appears on their hosts, to the
 * byte; and the stages of a pipeline hold together what one would. */
START_TEST(offload_conserves_bytes) {
    static const char *const offloads[] = {"optimizer", "parameters", "optimizer+parameters"};
    unsigned seed = 12345;
    printf("seed %u\n", seed);
    for (int round = 0; round < 24; round++) {
        char sets_text[6][64];
        const char *sets[7] = {NULL};
        unsigned draw[6];
        for (int i = 0; i < 6; i++) {
            seed = seed * 1664525u + 1013904223u;
            draw[i] = seed >> 16;
        }
        snprintf(sets_text[0], 64, "training.zero_stage=%u", draw[0] % 4);
        snprintf(sets_text[1], 64, "training.tp=%u", 1u << draw[1] % 3);
        snprintf(sets_text[2], 64, "training.microbatch_samples=%u", 1u << draw[2] % 3);
        snprintf(sets_text[3], 64, "training.recompute=%s", draw[3] % 2 ? "full" : "none");
        snprintf(sets_text[4], 64, "models.actor.lora_rank=%u", draw[4] % 3 * 16);
        for (int i = 0; i < 5; i++)
            sets[i] = sets_text[i];
        struct rlhfsim_scenario *here =
            testing_scenario("scenarios/ppo-llama2-7b-8xa100.yaml", sets);
        snprintf(sets_text[5], 64, "training.offload=%s", offloads[draw[5] % 3]);
        sets[5] = sets_text[5];
        struct rlhfsim_scenario *away =
            testing_scenario("scenarios/ppo-llama2-7b-8xa100.yaml", sets);
        struct forecast_plan plans[2];
        forecast_plan_make(here, &plans[0]);
        forecast_plan_make(away, &plans[1]);
        for (size_t step = 0; step < plans[0].step_count; step++) {
            if (plans[0].steps[step].work != ALGORITHM_WORK_GENERATE)
                continue; /* models at rest */
            double gpu[2], host[2];
            for (int i = 0; i < 2; i++) {
                gpu[i] = sum_of(plans[i].memory[step].gpu, 0, FORECAST_CATEGORY_OPTIMIZER);
                host[i] = sum_of(plans[i].memory[step].host, 0, FORECAST_CATEGORY_OPTIMIZER);
            }
            assert_relative(gpu[1] + host[1], gpu[0] + host[0], 1e-12);
            ck_assert_double_gt(host[1], host[0]);
        }
        rlhfsim_scenario_free(here);
        rlhfsim_scenario_free(away);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("forecast.advice");
    TCase *rules = tcase_create("rules");
    tcase_add_checked_fixture(rules, setup, teardown);
    tcase_set_timeout(rules, 60);
    tcase_add_test(rules, ppo_7b_fits_from_four);
    tcase_add_test(rules, dpo_7b_fits_from_two);
    tcase_add_test(rules, lora_70b_fits_four);
    tcase_add_test(rules, packed_weights);
    tcase_add_test(rules, ppo_70b_needs_the_host);
    tcase_add_test(rules, changes_do_what_they_say);
    tcase_add_test(rules, nothing_to_change_where_it_fits);
    tcase_add_test(rules, largest_micro_batch);
    tcase_add_test(rules, marginal_near_the_limit);
    tcase_add_test(rules, tail_of_lengths);
    tcase_add_test(rules, longest_that_fits);
    tcase_add_test(rules, offload_conserves_bytes);
    suite_add_tcase(suite, rules);
    return suite;
}

TESTING_MAIN(suite)
