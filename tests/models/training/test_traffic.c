/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Bytes of weights and gradients that a GPU sends in a step, for layouts drawn at random, against
 * sums that are written here again: a ring of n ranks sends (n - 1) / n of its buffer to gather or
 * to scatter, twice that to reduce for all.
 */

#include "models/training/step.h"

#include "tests/models/training/fixtures.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double ring(double ranks) {
    return (ranks - 1.0) / ranks;
}

/* How often weights are gathered and gradients reduced in a step of M micro-batches. */
static double gathers(const struct training_plan *plan, double microbatches) {
    if (plan->zero_stage < 3)
        return plan->zero_stage > 0 ? 1.0 : 0.0; /* the new ones */
    if (plan->reshard_after_forward)
        return 2.0 * microbatches;
    return plan->pp > 1 ? 1.0 : microbatches;
}

static double reductions(const struct training_plan *plan, double microbatches) {
    if (plan->reduction == TRAINING_REDUCE_BY_STAGE)
        return plan->zero_stage >= 2 ? microbatches : 1.0;
    return plan->reduction == TRAINING_REDUCE_ONCE ? 1.0 : microbatches;
}

/* Of P bytes that `ranks` hold alike, `sharing` of them a copy. */
static double sent(const struct training_plan *plan, double bytes, double ranks, double sharing,
                   double microbatches) {
    double scattered = ring(sharing) + 2.0 * ring(ranks / sharing) / sharing;
    if (plan->zero_stage == 0)
        scattered = 2.0 * ring(ranks);
    return bytes * (gathers(plan, microbatches) * ring(sharing) +
                    reductions(plan, microbatches) * scattered);
}

static double expected_bytes(const struct training_plan *plan, double microbatches) {
    double all = 0.0, experts = 0.0;
    struct training_segment segments[TRAINING_SEGMENTS];
    int count = training_segments(plan, segments);
    for (int i = 0; i < count; i++) {
        all += (double)segments[i].blocks * training_segment_parameters(plan, &segments[i]);
        experts +=
            (double)segments[i].blocks * training_segment_expert_parameters(plan, &segments[i]);
    }
    double ranks = (double)plan->dp * plan->cp, parts = (double)plan->ep * plan->expert_tp;
    double expert_ranks = ranks * plan->tp / parts;
    double sharing = plan->shard_ranks > 0 ? plan->shard_ranks : (double)INFINITY;
    double stages = (double)plan->pp;
    return sent(plan, 2.0 * (all - experts) / (plan->tp * stages), ranks, fmin(sharing, ranks),
                microbatches) +
           sent(plan, 2.0 * experts / (parts * stages), expert_ranks, fmin(sharing, expert_ranks),
                microbatches);
}

static int power_of_2(int most) {
    return 1 << rand() % (most + 1);
}

/* Of a model of 12 layers, 8 of them with 32 experts, on up to 64 nodes. */
static void draw(struct training_plan *plan) {
    static const enum training_reduction reductions_of[] = {
        TRAINING_REDUCE_BY_STAGE, TRAINING_REDUCE_ONCE, TRAINING_REDUCE_EVERY_MICROBATCH};
    plan->tp = power_of_2(3);
    plan->pp = 1 + rand() % 4;
    plan->vpp = plan->pp > 1 && 12 % (2 * plan->pp) == 0 ? power_of_2(1) : 1;
    plan->cp = power_of_2(2);
    plan->context = rand() % 2 ? TRAINING_CONTEXT_RING : TRAINING_CONTEXT_ULYSSES;
    plan->dp = power_of_2(3);
    plan->expert_tp = rand() % 2 ? plan->tp : 1;
    int most = plan->dp * plan->cp * plan->tp / plan->expert_tp;
    plan->ep = power_of_2(5);
    while (plan->ep > most)
        plan->ep /= 2;
    plan->zero_stage = rand() % 4;
    plan->reshard_after_forward = rand() % 2;
    plan->reduction = reductions_of[rand() % 3];
    plan->shard_ranks = rand() % 2 ? power_of_2(4) : 0;
    if (plan->shard_ranks >= plan->dp * plan->cp || plan->shard_ranks == 1 || plan->ep > 1)
        plan->shard_ranks = 0;
    plan->recompute = rand() % 2 ? TRAINING_RECOMPUTE_FULL : TRAINING_RECOMPUTE_NONE;
    plan->prefetch = rand() % 2;
    plan->overlap_reduction = rand() % 2;
    plan->overlap_update = rand() % 2;
}

START_TEST(any_layout_sends_its_closed_form) {
    struct hardware_cluster cluster = round_cluster(512);
    unsigned seed = 20261201u;
    printf("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 2000; i++) {
        struct training_plan plan = plain_plan(&cluster, &expert_model);
        draw(&plan);
        size_t microbatches = (size_t)(1 + rand() % 6);
        struct llm_batch batch = whole_batch(1.0, 64.0);
        struct training_work work = {&batch, microbatches, true};
        struct training_step step;
        ck_assert_int_eq(training_step(&plan, &work, &step), SIM_OK);
        double expected = expected_bytes(&plan, (double)microbatches);
        ck_assert_msg(fabs(step.data_bytes - expected) <= 1e-9 * (expected + 1.0),
                      "tp %d pp %d vpp %d cp %d dp %d ep %d expert_tp %d zero %d reshard %d "
                      "reduction %d shard %d, %zu micro-batches: %g, expected %g",
                      plan.tp, plan.pp, plan.vpp, plan.cp, plan.dp, plan.ep, plan.expert_tp,
                      plan.zero_stage, plan.reshard_after_forward, (int)plan.reduction,
                      plan.shard_ranks, microbatches, step.data_bytes, expected);
    }
}
END_TEST

static Suite *traffic_suite(void) {
    Suite *suite = suite_create("training traffic");
    TCase *tests = tcase_create("layouts");
    tcase_set_timeout(tests, 60.0);
    tcase_add_test(tests, any_layout_sends_its_closed_form);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(traffic_suite)
