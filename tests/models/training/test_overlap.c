/* SPDX-License-Identifier: GPL-3.0-or-later */

/* The closed forms of two overlapping streams, by hand and against the task-by-task twin. */

#include "models/training/overlap.h"

#include "tests/oracle/two_streams.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>

#define CASES 2000
#define MOST_BLOCKS 64
#define STAGES 3

/* Four equal blocks, by hand. Compute 5, gather 3, reduce 1: the links keep up, so the end is the
 * first gather, four computations and the last reduction. Compute 2: the links gather at 0-3 and
 * 3-6, reduce and gather at 6-10 and 10-14, reduce at 14-15; the last block computes at 14-16, and
 * its gradients are reduced at 16-17. */
START_TEST(equal_blocks_by_hand) {
    struct training_stage stage = {.blocks = 4, .compute_s = 5.0, .gather_s = 3.0, .reduce_s = 1.0};
    assert_relative(training_overlap_gathered_s(&stage, 1), 3.0 + 4.0 * 5.0 + 1.0, 1e-15);
    stage.compute_s = 2.0;
    assert_relative(training_overlap_gathered_s(&stage, 1), 17.0, 1e-15);
}
END_TEST

/* The textbook form of a prefetched forward pass: g + (L-1) max(c, g) + c. */
START_TEST(forward_is_the_textbook_form) {
    for (int layers = 1; layers <= 8; layers++) {
        struct training_stage stage = {.blocks = layers, .compute_s = 0.7, .gather_s = 1.1};
        assert_relative(training_overlap_gathered_s(&stage, 1), 1.1 + (layers - 1) * 1.1 + 0.7,
                        1e-15);
        stage.gather_s = 0.3;
        assert_relative(training_overlap_gathered_s(&stage, 1), 0.3 + (layers - 1) * 0.7 + 0.7,
                        1e-15);
    }
}
END_TEST

/* Resident weights: reductions that are shorter than a block leave only the last one exposed;
 * longer ones queue, and only the first block is computed with idle links. */
START_TEST(reduction_by_hand) {
    struct training_stage stage = {.blocks = 6, .compute_s = 2.0, .reduce_s = 0.5};
    assert_relative(training_overlap_reduced_s(&stage, 1), 6.0 * 2.0 + 0.5, 1e-15);
    stage.reduce_s = 3.0;
    assert_relative(training_overlap_reduced_s(&stage, 1), 2.0 + 6.0 * 3.0, 1e-15);
    stage.reduce_s = 0.0;
    assert_relative(training_overlap_reduced_s(&stage, 1), 12.0, 1e-15);
}
END_TEST

static double uniform(void) {
    return (double)rand() / (double)RAND_MAX;
}

/* Magnitudes from 1e-3 to 1e1, and nothing at all now and then. */
static double random_seconds(void) {
    return uniform() < 0.1 ? 0.0 : pow(10.0, -3.0 + 4.0 * uniform());
}

static struct training_stage random_stage(int64_t blocks) {
    return (struct training_stage){.blocks = blocks,
                                   .compute_s = random_seconds(),
                                   .gather_s = random_seconds(),
                                   .reduce_s = random_seconds()};
}

static void assert_both(const struct training_stage *stages, int count, int trial) {
    double compute[STAGES * MOST_BLOCKS], gather[STAGES * MOST_BLOCKS],
        reduce[STAGES * MOST_BLOCKS];
    int blocks = 0;
    for (int i = 0; i < count; i++)
        for (int64_t j = 0; j < stages[i].blocks; j++, blocks++) {
            compute[blocks] = stages[i].compute_s;
            gather[blocks] = stages[i].gather_s;
            reduce[blocks] = stages[i].reduce_s;
        }
    double gathered = two_streams_gathered_s(blocks, compute, gather, reduce);
    double reduced = two_streams_reduced_s(blocks, compute, reduce);
    double gathered_law = training_overlap_gathered_s(stages, count);
    double reduced_law = training_overlap_reduced_s(stages, count);
    if (fabs(gathered_law - gathered) > 1e-12 * gathered ||
        fabs(reduced_law - reduced) > 1e-12 * reduced)
        printf("case %d: %d stages, %d blocks\n", trial, count, blocks);
    assert_relative(gathered_law, gathered, 1e-12);
    assert_relative(reduced_law, reduced, 1e-12);
}

/* rand() is seeded with the number of the case, which is printed when one fails. */
START_TEST(equal_blocks_match_the_twin) {
    for (int trial = 0; trial < CASES; trial++) {
        srand((unsigned)trial);
        struct training_stage stage = random_stage(1 + rand() % MOST_BLOCKS);
        assert_both(&stage, 1, trial);
    }
}
END_TEST

START_TEST(unequal_stages_match_the_twin) {
    for (int trial = 0; trial < CASES; trial++) {
        srand((unsigned)(CASES + trial));
        struct training_stage stages[STAGES];
        int count = 1 + rand() % STAGES;
        for (int i = 0; i < count; i++)
            stages[i] = random_stage(uniform() < 0.4 ? 1 : 1 + rand() % MOST_BLOCKS);
        assert_both(stages, count, trial);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("training overlap");
    TCase *tcase = tcase_create("overlap");
    tcase_add_test(tcase, equal_blocks_by_hand);
    tcase_add_test(tcase, forward_is_the_textbook_form);
    tcase_add_test(tcase, reduction_by_hand);
    tcase_add_test(tcase, equal_blocks_match_the_twin);
    tcase_add_test(tcase, unequal_stages_match_the_twin);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
