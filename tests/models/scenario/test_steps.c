/* SPDX-License-Identifier: GPL-3.0-or-later */

/* The prompts of every step against a data loader played prompt by prompt. */

#include "models/scenario/steps.h"
#include "tests/testing.h"

#include <stdlib.h>

static int64_t pick(uint64_t *state, int64_t most) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return 1 + (int64_t)(*state >> 33) % most;
}

/* A loader that fills a batch with one prompt after another; an epoch's last batch is let go with
 * drop_last. Gives the number of optimizer steps, counted sample by sample. */
static int64_t play_loader(struct rlhfsim_scenario *s) {
    int64_t step = 0, updates = 0;
    for (int64_t epoch = 0; epoch < s->dataset.epochs; epoch++) {
        int64_t place = 0;
        while (place < s->dataset.prompts) {
            int64_t first = place, taken = 0;
            while (place < s->dataset.prompts && taken < s->algorithm.prompts_per_step)
                place++, taken++;
            if (taken < s->algorithm.prompts_per_step && s->dataset.drop_last)
                break;
            struct scenario_step at = scenario_step_at(s, ++step);
            ck_assert_int_eq(at.first, first);
            ck_assert_int_eq(at.prompts, taken);
            for (int64_t pass = 0; pass < s->algorithm.epochs; pass++)
                for (int64_t i = 0; i < taken * s->algorithm.samples_per_prompt; i++)
                    updates += i % s->algorithm.minibatch_samples == 0;
        }
    }
    ck_assert_int_eq(step, s->steps);
    return updates;
}

START_TEST(steps_are_those_of_a_loader) {
    uint64_t state = 20240607;
    struct rlhfsim_scenario *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    s->algorithm.type = algorithm_find("grpo");
    for (int round = 0; round < 2000; round++) {
        uint64_t seed = state;
        int64_t parts = pick(&state, 4), full = pick(&state, 6);
        s->algorithm.samples_per_prompt = pick(&state, 4);
        s->algorithm.kept_samples_per_prompt = s->algorithm.samples_per_prompt;
        s->algorithm.prompts_per_step = parts * full;
        s->algorithm.minibatch_samples = full * s->algorithm.samples_per_prompt;
        s->algorithm.epochs = pick(&state, 3);
        s->dataset.epochs = pick(&state, 4);
        s->dataset.prompts = pick(&state, 70);
        s->dataset.drop_last = pick(&state, 2) == 1;
        int64_t rest = s->dataset.prompts % s->algorithm.prompts_per_step;
        int64_t whole = s->dataset.prompts / s->algorithm.prompts_per_step;
        s->dataset.epoch_steps = whole + (rest > 0 && !s->dataset.drop_last);
        s->steps = s->dataset.epoch_steps * s->dataset.epochs;
        if (s->steps == 0)
            continue; /* refused when a scenario is read */
        int64_t updates = play_loader(s);
        ck_assert_msg(scenario_optimizer_steps(s) == updates, "seed %llu",
                      (unsigned long long)seed);
        ck_assert_int_eq(scenario_short_prompts(s), s->dataset.drop_last ? 0 : rest);
        ck_assert_int_eq(scenario_dropped_prompts(s), s->dataset.drop_last ? rest : 0);
    }
    free(s);
}
END_TEST

/* Steps that are written are full, one after another. */
START_TEST(written_steps_are_full) {
    struct rlhfsim_scenario *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    s->algorithm.type = algorithm_find("dpo");
    s->algorithm.prompts_per_step = s->algorithm.minibatch_samples = 16;
    s->algorithm.samples_per_prompt = s->algorithm.kept_samples_per_prompt = 1;
    s->algorithm.epochs = s->dataset.epochs = 1;
    s->dataset.pairs = 20;
    s->dataset.drop_last = true;
    s->steps = 5;
    for (int64_t step = 1; step <= 5; step++) {
        struct scenario_step at = scenario_step_at(s, step);
        ck_assert_int_eq(at.first, 16 * (step - 1));
        ck_assert_int_eq(at.prompts, 16);
    }
    ck_assert_int_eq(scenario_optimizer_steps(s), 5);
    ck_assert_int_eq(scenario_short_prompts(s), 0);
    ck_assert_int_eq(scenario_dropped_prompts(s), 0);
    free(s);
}
END_TEST

static Suite *steps_suite(void) {
    Suite *suite = suite_create("scenario/steps");
    TCase *tcase = tcase_create("steps");
    tcase_add_test(tcase, steps_are_those_of_a_loader);
    tcase_add_test(tcase, written_steps_are_full);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(steps_suite)
