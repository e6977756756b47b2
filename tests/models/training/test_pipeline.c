/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Pipelines: closed forms of bubbles, cases by hand, and the brute-force twin. */

#include "models/training/pipeline.h"

#include "models/training/overlap.h"
#include "tests/oracle/pipeline_twin.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_PASSES 4096
#define MOST_STAGES 32

struct tables {
    double forward_s[MOST_PASSES], backward_s[MOST_PASSES], send_s[MOST_PASSES];
};

static struct tables tables;

static struct training_pipeline equal_pipeline(int stages, int chunks_per_stage,
                                               size_t microbatches, double forward_s,
                                               double backward_s, double send_s) {
    size_t passes = (size_t)(stages * chunks_per_stage) * microbatches;
    ck_assert_uint_le(passes, MOST_PASSES);
    ck_assert_int_le(stages, MOST_STAGES);
    for (size_t i = 0; i < passes; i++) {
        tables.forward_s[i] = forward_s;
        tables.backward_s[i] = backward_s;
        tables.send_s[i] = send_s;
    }
    return (struct training_pipeline){.stages = stages,
                                      .chunks_per_stage = chunks_per_stage,
                                      .microbatches = microbatches,
                                      .backward = true,
                                      .forward_s = tables.forward_s,
                                      .backward_s = tables.backward_s,
                                      .send_s = tables.send_s};
}

static double end_of(const struct training_pipeline *pipeline, bool with_reductions) {
    struct training_stage_end ends[MOST_STAGES];
    double end_s = 0.0;
    ck_assert_int_eq(training_pipeline_play(pipeline, ends), SIM_OK);
    for (int s = 0; s < pipeline->stages; s++)
        end_s = fmax(end_s, with_reductions ? ends[s].reductions_s : ends[s].passes_s);
    return end_s;
}

/* ---- bubbles ------------------------------------------------------------------------------- */

/* M (f + b) of work and (p - 1)(f + b) of waiting: a share of (p - 1)/(M + p - 1). */
START_TEST(bubble_of_1f1b) {
    const int stages[] = {1, 2, 4, 7, 16};
    const size_t microbatches[] = {1, 3, 8, 64};
    double f = 0.25, b = 0.75;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++) {
            double p = stages[i], m = (double)microbatches[j];
            struct training_pipeline pipeline =
                equal_pipeline(stages[i], 1, microbatches[j], f, b, 0.0);
            double total_s = end_of(&pipeline, false);
            assert_relative(1.0 - m * (f + b) / total_s + 1.0, (p - 1.0) / (m + p - 1.0) + 1.0,
                            1e-12);
        }
}
END_TEST

/* Of v chunks a stage, each takes a v-th: M (f + b) of work, (p - 1)(f + b)/v of waiting, a share
 * of (p - 1)/(v M + p - 1). */
START_TEST(bubble_of_interleaved_1f1b) {
    const int chunks[] = {2, 3, 8};
    for (size_t i = 0; i < 3; i++)
        for (int p = 2; p <= 8; p += 2)
            for (int groups = 1; groups <= 4; groups++) {
                double v = chunks[i], m = p * groups, f = 0.25, b = 0.75;
                struct training_pipeline pipeline =
                    equal_pipeline(p, chunks[i], (size_t)(p * groups), f, b, 0.0);
                double total_s = end_of(&pipeline, false);
                assert_relative(1.0 - m * v * (f + b) / total_s, (p - 1.0) / (v * m + p - 1.0),
                                1e-9);
            }
}
END_TEST

/* M forwards, and p - 1 more until the last stage has its first. */
START_TEST(forwards_alone) {
    struct training_pipeline pipeline = equal_pipeline(4, 1, 6, 0.5, 9.0, 0.0);
    pipeline.backward = false;
    assert_relative(end_of(&pipeline, false), 0.5 * (6.0 + 3.0), 1e-12);
}
END_TEST

/* Two stages, two micro-batches, f = 1, b = 2, a send takes 0.5. Stage 0: F0 0-1, F1 1-2. Stage 1:
 * F0 1.5-2.5, B0 2.5-4.5, F1 4.5-5.5, B1 5.5-7.5. Gradients of 0 arrive at 5, B0 5-7; those of 1 at
 * 8, B1 8-10. */
START_TEST(two_stages_by_hand) {
    struct training_pipeline pipeline = equal_pipeline(2, 1, 2, 1.0, 2.0, 0.5);
    struct training_stage_end ends[2];
    ck_assert_int_eq(training_pipeline_play(&pipeline, ends), SIM_OK);
    assert_relative(ends[0].passes_s, 10.0, 1e-12);
    assert_relative(ends[1].passes_s, 7.5, 1e-12);
    assert_relative(ends[1].reductions_s, 7.5, 1e-12);
}
END_TEST

/* One slow micro-batch: the other stages wait for it. p = 2, M = 3, f = b = 1, the second takes 3 a
 * pass. Stage 0: F0 0-1, F1 1-4, then waits for B0 of stage 1. Stage 1: F0 1-2, B0 2-3, F1 4-7, B1
 * 7-10, F2 10-11, B2 11-12. Stage 0: B0 4-5, F2 5-6, B1 10-13, B2 13-14. */
START_TEST(a_slow_microbatch_makes_stages_wait) {
    struct training_pipeline pipeline = equal_pipeline(2, 1, 3, 1.0, 1.0, 0.0);
    for (int i = 2; i < 4; i++)
        tables.forward_s[i] = tables.backward_s[i] = 3.0;
    struct training_stage_end ends[2];
    ck_assert_int_eq(training_pipeline_play(&pipeline, ends), SIM_OK);
    assert_relative(ends[0].passes_s, 14.0, 1e-12);
    assert_relative(ends[1].passes_s, 12.0, 1e-12);
}
END_TEST

/* ---- the twin ------------------------------------------------------------------------------ */

static double uniform(void) {
    return (double)rand() / (double)RAND_MAX;
}

/* Milliseconds in whole microseconds: the engine counts nanoseconds. */
static double random_seconds(void) {
    return uniform() < 0.1 ? 0.0 : 1e-6 * (double)(1 + rand() % 5000);
}

START_TEST(random_pipelines_are_as_the_twin_says) {
    unsigned seed = 20260401u;
    printf("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 300; i++) {
        int stages = 1 + rand() % 5, chunks = 1 + rand() % 3;
        size_t microbatches = (size_t)(1 + rand() % 4);
        if (chunks > 1)
            microbatches *= (size_t)stages;
        struct training_pipeline pipeline =
            equal_pipeline(stages, chunks, microbatches, 0.0, 0.0, 0.0);
        size_t passes = (size_t)(stages * chunks) * microbatches;
        for (size_t at = 0; at < passes; at++) {
            tables.forward_s[at] = random_seconds();
            tables.backward_s[at] = random_seconds();
            tables.send_s[at] = 0.2 * random_seconds();
        }
        pipeline.backward = rand() % 4 > 0;
        struct pipeline_twin twin = {stages,
                                     chunks,
                                     (int)microbatches,
                                     pipeline.backward,
                                     tables.forward_s,
                                     tables.backward_s,
                                     tables.send_s};
        struct training_stage_end ends[MOST_STAGES];
        double twin_s[MOST_STAGES];
        ck_assert_int_eq(training_pipeline_play(&pipeline, ends), SIM_OK);
        pipeline_twin_ends(&twin, twin_s);
        for (int s = 0; s < stages; s++)
            ck_assert_msg(fabs(ends[s].passes_s - twin_s[s]) < 1e-6,
                          "case %d stage %d of %d: %.9f, twin %.9f", i, s, stages, ends[s].passes_s,
                          twin_s[s]);
    }
}
END_TEST

/* ---- gathers and reductions ------------------------------------------------------------------ */

/* n equal blocks as two pieces, alone on a stage: what overlap.h says of resident weights. */
START_TEST(pieces_are_the_closed_form) {
    for (int n = 2; n < 6; n++)
        for (double r = 0.25; r < 5.0; r *= 2.0) {
            struct training_stage stage = {.blocks = n, .compute_s = 1.0, .reduce_s = r};
            struct training_pieces reducing = {{{1.0, (n - 1) * r}, {n - 1, r}}, 2};
            struct training_pieces renewing = {{{n - 1, r}, {1.0, (n - 1) * r}}, 2};
            struct training_pipeline pipeline = equal_pipeline(1, 1, 1, 3.0, n, 0.0);
            pipeline.reducing = &reducing;
            double expected = training_overlap_reduced_s(&stage, 1);
            assert_relative(end_of(&pipeline, true), 3.0 + expected, 1e-9);
            assert_relative(end_of(&pipeline, false), 3.0 + n, 1e-9);
            pipeline.reducing = NULL;
            pipeline.renewing = &renewing; /* the same backwards in time */
            assert_relative(end_of(&pipeline, true), expected + n, 1e-9);
        }
}
END_TEST

/* Two chunks on one stage: the second one's reductions (done first) run behind the first one's
 * backward. Forwards 0-2; backward of chunk 1 2-4, reduced 4-9; of chunk 0 4-6, reduced 9-14. */
START_TEST(reductions_run_behind_other_chunks) {
    struct training_pipeline pipeline = equal_pipeline(1, 2, 1, 1.0, 2.0, 0.0);
    struct training_pieces reducing[2] = {{{{2.0, 5.0}}, 1}, {{{2.0, 5.0}}, 1}};
    pipeline.reducing = reducing;
    assert_relative(end_of(&pipeline, false), 6.0, 1e-12);
    assert_relative(end_of(&pipeline, true), 14.0, 1e-12);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("pipeline");
    TCase *bubbles = tcase_create("bubbles");
    tcase_add_test(bubbles, bubble_of_1f1b);
    tcase_add_test(bubbles, bubble_of_interleaved_1f1b);
    tcase_add_test(bubbles, forwards_alone);
    tcase_add_test(bubbles, two_stages_by_hand);
    tcase_add_test(bubbles, a_slow_microbatch_makes_stages_wait);
    suite_add_tcase(suite, bubbles);
    TCase *twin = tcase_create("twin");
    tcase_set_timeout(twin, 60.0);
    tcase_add_test(twin, random_pipelines_are_as_the_twin_says);
    suite_add_tcase(suite, twin);
    TCase *pieces = tcase_create("pieces");
    tcase_add_test(pieces, pieces_are_the_closed_form);
    tcase_add_test(pieces, reductions_run_behind_other_chunks);
    suite_add_tcase(suite, pieces);
    return suite;
}

TESTING_MAIN(suite)
