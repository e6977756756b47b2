/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What blocks wait for besides their own kernels: tensor, context and expert parallelism, PCIe. One
 * or two rates of the round machine are finite, so that times are bytes or FLOPs over them.
 */

#include "models/training/links.h"
#include "models/training/step.h"

#include "tests/models/training/fixtures.h"
#include "tests/testing.h"

#define INFINITE 1e30

static struct training_cost forward(const struct training_plan *plan, struct llm_batch batch) {
    struct training_cost cost;
    training_forward(plan, &batch, &cost);
    return cost;
}

static struct training_cost update(const struct training_plan *plan, struct llm_batch batch) {
    struct training_cost cost;
    training_forward_backward(plan, &batch, false, &cost);
    return cost;
}

/* Products at 5e13 FLOP/s, attention at 2.5e13 (backward 2e13), NVLink at 1e11 bytes/s. */
static struct hardware_cluster products_and_links(void) {
    struct hardware_cluster cluster = round_cluster(1);
    cluster.gpu.memory_bandwidth_bytes_per_s = INFINITE;
    return cluster;
}

static struct hardware_cluster only_links(void) {
    struct hardware_cluster cluster = products_and_links();
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = INFINITE;
    return cluster;
}

/* ---- tensor parallelism -------------------------------------------------------------------- */

/* Products of Llama-2-7B on 4 ranks, rows x columns / 4, and one collective of 3/4 of t x 4096 x 2
 * bytes: in k pieces, max(P, T) + min(P, T)/k. */
START_TEST(products_and_collectives_in_pieces) {
    struct hardware_cluster cluster = products_and_links();
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    double t = 2000.0, collective_s = 0.75 * t * 4096.0 * 2.0 / 1e11;
    const double sizes[4] = {4096.0 * 12288.0, 4096.0 * 4096.0, 4096.0 * 22016.0, 11008.0 * 4096.0};
    plan.tp = 4;
    for (int k = 1; k <= 8; k *= 2) {
        double expected_s = 2.0 * collective_s; /* embedding and head */
        for (int i = 0; i < 4; i++) {
            double product_s = 2.0 * t * sizes[i] / 4.0 / 5e13;
            expected_s += 32.0 * (fmax(product_s, collective_s) +
                                  fmin(product_s, collective_s) / k - product_s);
        }
        plan.software.tensor_overlap_chunks = k;
        struct training_cost cost = forward(&plan, whole_batch(1.0, t));
        assert_relative(cost.exposed.tensor_s, expected_s, 1e-12);
        assert_relative(cost.exposed_communication_s, expected_s, 1e-9);
    }
}
END_TEST

/* Two all-reduces a block and direction are as many bytes as two reductions and two gathers; so is
 * the one behind the embedding, and before it in the backward the one in front of the head. */
START_TEST(all_reduces_without_sequence_parallelism) {
    struct hardware_cluster cluster = only_links();
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.tp = 4;
    struct training_cost with = update(&plan, whole_batch(1.0, 1000.0));
    plan.sequence_parallel = false;
    struct training_cost without = update(&plan, whole_batch(1.0, 1000.0));
    assert_relative(without.bytes, with.bytes, 1e-12);
    assert_relative(without.exposed.tensor_s, with.exposed.tensor_s, 1e-12);
    cluster.node.collective_start_s = 1e-3; /* half as many, but for the ends */
    double started = update(&plan, whole_batch(1.0, 1000.0)).exposed.tensor_s;
    assert_relative(started - without.exposed.tensor_s, 1e-3 * (2.0 * 64.0 + 2.0), 1e-9);
}
END_TEST

/* ---- context parallelism -------------------------------------------------------------------- */

START_TEST(context_parallelism_divides_the_work) {
    struct hardware_cluster cluster = only_links();
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = 1e14;
    cluster.gpu.scaleup_bandwidth_bytes_per_s = INFINITE;
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct training_cost one = update(&plan, whole_batch(1.0, 8192.0));
    plan.cp = 4;
    struct training_cost four = update(&plan, whole_batch(1.0, 8192.0));
    assert_relative(four.compute_s, one.compute_s / 4.0, 1e-12);
    ck_assert_double_eq(four.flops, one.flops);
}
END_TEST

/* Keys and values of t tokens, 2 x 4096 x 2 bytes each, but for a rank's own fourth, at 1e11
 * bytes/s; in the backward twice that. Three fourths of a rank's attention hide them. */
START_TEST(the_ring_is_hidden_under_attention) {
    struct hardware_cluster cluster = products_and_links();
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.cp = 4;
    for (double t = 64.0; t < 100000.0; t *= 4.0) {
        double ring_s = 0.75 * t * 2.0 * 4096.0 * 2.0 / 1e11;
        double work = 4.0 * 4096.0 * t * (t + 1.0) / 2.0 / 4.0;
        double there_s = fmax(0.0, ring_s - 0.75 * work / 2.5e13);
        double back_s = fmax(0.0, 2.0 * ring_s - 0.75 * 2.5 * work / 2e13);
        struct training_cost cost = update(&plan, whole_batch(1.0, t));
        ck_assert_double_eq_tol(cost.exposed.context_s, 32.0 * (there_s + back_s), 1e-12);
        assert_relative(cost.bytes, 32.0 * 3.0 * ring_s * 1e11, 1e-12);
    }
}
END_TEST

/* Queries, keys, values and outputs of a rank's tokens, t/4 x 4 x 4096 x 2 bytes, three fourths of
 * which go to others; nothing hides them. */
START_TEST(ulysses_sends_all_to_all) {
    struct hardware_cluster cluster = products_and_links();
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.cp = 4;
    plan.context = TRAINING_CONTEXT_ULYSSES;
    double bytes = 0.75 * 50000.0 / 4.0 * 4.0 * 4096.0 * 2.0;
    struct training_cost cost = update(&plan, whole_batch(1.0, 50000.0));
    assert_relative(cost.exposed.context_s, 32.0 * 2.0 * bytes / 1e11, 1e-12);
    assert_relative(cost.bytes, 32.0 * 2.0 * bytes, 1e-12);
}
END_TEST

/* Llama-3.1-8B has 8 key heads; on 2 x 8 ranks each is copied once. Queries and outputs 4096, keys
 * and values 2 x 1024 x 2, over tp = 2. */
START_TEST(ulysses_copies_few_key_heads) {
    struct hardware_cluster cluster = round_cluster(2);
    struct training_plan plan = plain_plan(&cluster, &llama31_8b);
    plan.tp = 2;
    plan.cp = 8;
    plan.context = TRAINING_CONTEXT_ULYSSES;
    struct llm_batch batch = whole_batch(1.0, 8000.0);
    double columns = (2.0 * 4096.0 + 2.0 * 2.0 * 1024.0) / 2.0;
    assert_relative(training_context_bytes(&plan, &batch, false),
                    7.0 / 8.0 * 1000.0 * columns * 2.0, 1e-12);
}
END_TEST

/* ---- experts --------------------------------------------------------------------------------- */

/* Four of 32 experts, four experts a rank: the mean number of ranks over all choices. */
static double ranks_met(void) {
    double choices = 0.0, met = 0.0;
    for (int a = 0; a < 32; a++)
        for (int b = a + 1; b < 32; b++)
            for (int c = b + 1; c < 32; c++)
                for (int d = c + 1; d < 32; d++) {
                    unsigned ranks = 1u << (a / 4) | 1u << (b / 4) | 1u << (c / 4) | 1u << (d / 4);
                    for (choices += 1.0; ranks != 0; ranks &= ranks - 1)
                        met += 1.0;
                }
    return met / choices;
}

/* Tokens of 1024 x 2 bytes go out to those ranks and come back, in 8 layers and both directions. */
START_TEST(tokens_go_to_distinct_ranks) {
    struct hardware_cluster cluster = only_links();
    struct training_plan plan = plain_plan(&cluster, &expert_model);
    plan.dp = plan.ep = 8;
    struct training_cost cost = update(&plan, whole_batch(1.0, 1000.0));
    double bytes = 8.0 * 2.0 * 2.0 * ranks_met() * 1000.0 * 2048.0 * 7.0 / 8.0;
    assert_relative(cost.bytes, bytes, 1e-12);
    assert_relative(cost.exposed.expert_s, bytes / 1e11, 1e-12);
}
END_TEST

/* Experts on ranks of their own do the same products, fewer of them with more tokens. */
START_TEST(expert_parallelism_moves_work_not_more_of_it) {
    struct hardware_cluster cluster = products_and_links();
    struct training_plan plan = plain_plan(&cluster, &expert_model);
    plan.dp = 8;
    double alone_s = update(&plan, whole_batch(1.0, 500.0)).compute_s;
    for (plan.ep = 2; plan.ep <= 8; plan.ep *= 2)
        assert_relative(update(&plan, whole_batch(1.0, 500.0)).compute_s, alone_s, 1e-12);
    plan.dp = 1;
    plan.tp = 8;
    plan.ep = 1;
    double divided_s = update(&plan, whole_batch(1.0, 500.0)).compute_s;
    plan.ep = 8;
    plan.expert_tp = 1; /* whole experts on the tensor-parallel ranks, each with its own tokens */
    assert_relative(update(&plan, whole_batch(1.0, 500.0)).compute_s, divided_s, 1e-12);
}
END_TEST

/* Experts divided both ways, 8 over 4 ranks of 2 GPUs: the GPUs of a rank gather and reduce what
 * came in from all ranks, 1/2 of t x 1024 x 2 bytes for each rank that a token goes to. All-to-alls
 * move the half of the tokens that a GPU has. */
START_TEST(experts_gather_what_came_in) {
    struct hardware_cluster cluster = only_links();
    struct llm_architecture eight = expert_model;
    struct training_plan plan = plain_plan(&cluster, &eight);
    eight.experts = 8; /* two a rank; of four choices a rank is missed by C(6,4)/C(8,4) = 3/14 */
    plan.tp = 2;
    plan.dp = plan.ep = 4;
    double met = 4.0 * 11.0 / 14.0, token = 1024.0 * 2.0, t = 1000.0;
    double dense = 0.5 * t * token * (4.0 * 4.0 + 2.0 * 8.0 + 2.0); /* attention, ends, 4 layers */
    double sparse = 0.5 * t * token * 2.0 * 8.0 * met;
    double expert = 2.0 * 8.0 * 0.75 * met * t / 2.0 * token;
    struct training_cost cost = forward(&plan, whole_batch(1.0, t));
    assert_relative(cost.exposed.tensor_s, (dense + sparse) / 1e11, 1e-12);
    assert_relative(cost.exposed.expert_s, expert / 1e11, 1e-12);
    assert_relative(cost.bytes, dense + sparse + expert, 1e-12);
}
END_TEST

/* Experts: 8 layers of 32 x 3 x 1024 x 512. On 8 ranks of which each has its own, nobody shares
 * their gradients; on 4, two do. Every other weight is on all 8. */
START_TEST(experts_are_reduced_over_their_own_copies) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &expert_model);
    struct llm_batch batch = whole_batch(1.0, 16.0);
    struct training_work work = {&batch, 1, true};
    struct training_step step;
    double experts = 8.0 * 32.0 * 3.0 * 1024.0 * 512.0;
    double others = (double)llm_parameters(&expert_model, LLM_HEAD_VOCABULARY) - experts;
    plan.dp = 8;
    plan.zero_stage = 1;
    plan.ep = 8;
    ck_assert_int_eq(training_step(&plan, &work, &step), SIM_OK);
    assert_relative(step.data_bytes, 2.0 * 2.0 * 7.0 / 8.0 * others, 1e-12);
    plan.ep = 4;
    ck_assert_int_eq(training_step(&plan, &work, &step), SIM_OK);
    assert_relative(step.data_bytes, 2.0 * 2.0 * (7.0 / 8.0 * others + 0.5 * experts / 4.0), 1e-12);
    ck_assert_int_eq(training_expert_replicas(&plan), 2);
    ck_assert_double_eq(training_expert_shards(&plan, TRAINING_SHARDED_OPTIMIZER), 8.0);
}
END_TEST

/* ---- PCIe and jitter ---------------------------------------------------------------------------
 */

/* Full recomputation keeps t x 4096 x 2 bytes of each block: down and up again at 2e10 bytes/s. */
START_TEST(offloaded_activations_take_pcie) {
    struct hardware_cluster cluster = only_links();
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    plan.recompute = TRAINING_RECOMPUTE_FULL;
    plan.offload_activations = true;
    struct training_cost cost = update(&plan, whole_batch(1.0, 1000.0));
    double transfers_s = 2.0 * 32.0 * 1000.0 * 4096.0 * 2.0 / 2e10;
    assert_relative(cost.exposed.offload_s, transfers_s, 1e-9);
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = 1e14; /* longer than the transfers */
    ck_assert_double_eq(update(&plan, whole_batch(1.0, 1000.0)).exposed.offload_s, 0.0);
}
END_TEST

/* 64 GPUs are three doublings of 8. */
START_TEST(jitter_by_doublings) {
    struct hardware_cluster cluster = round_cluster(8);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(1.0, 512.0);
    struct training_work work = {&batch, 4, true};
    struct training_step calm, jittery;
    plan.tp = 8;
    plan.dp = 4;
    plan.pp = 2;
    ck_assert_int_eq(training_step(&plan, &work, &calm), SIM_OK);
    plan.software.jitter_per_doubling = 0.01;
    ck_assert_int_eq(training_step(&plan, &work, &jittery), SIM_OK);
    assert_relative(jittery.total_s, 1.03 * calm.total_s, 1e-12);
    assert_relative(jittery.bubble_s, 1.03 * calm.bubble_s, 1e-12);
}
END_TEST

/* A crowded GPU is slower in the passes of an update, not in its optimizer, whose activations are
 * gone, nor in passes without a backward. On one stage and on two. */
START_TEST(crowded_updates_are_slower) {
    struct hardware_cluster cluster = round_cluster(2);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(1.0, 512.0);
    struct training_work work = {&batch, 4, true};
    plan.software.jitter_per_doubling = 0.01;
    plan.tp = 8;
    for (plan.pp = 1; plan.pp <= 2; plan.pp++) {
        struct training_step calm, crowded, scored[2];
        plan.crowded = 0.0;
        ck_assert_int_eq(training_step(&plan, &work, &calm), SIM_OK);
        ck_assert_int_eq(training_step_forward(&plan, &work, &scored[0]), SIM_OK);
        plan.crowded = 0.25;
        ck_assert_int_eq(training_step(&plan, &work, &crowded), SIM_OK);
        ck_assert_int_eq(training_step_forward(&plan, &work, &scored[1]), SIM_OK);
        assert_relative(crowded.total_s - crowded.optimizer_s,
                        1.25 * (calm.total_s - calm.optimizer_s), 1e-12);
        ck_assert_double_eq(crowded.optimizer_s, calm.optimizer_s);
        ck_assert_double_eq(scored[0].total_s, scored[1].total_s);
    }
    plan.pp = 1;
    double crowded_s = update(&plan, batch).total_s;
    plan.crowded = 0.0;
    assert_relative(crowded_s, 1.25 * update(&plan, batch).total_s, 1e-12);
}
END_TEST

/* New weights come in behind the first forward instead of after the update. */
START_TEST(the_update_overlaps_the_next_forward) {
    struct hardware_cluster cluster = round_cluster(1);
    struct training_plan plan = plain_plan(&cluster, &llama2_7b);
    struct llm_batch batch = whole_batch(4.0, 4096.0);
    struct training_work work = {&batch, 2, true};
    struct training_step after, behind;
    plan.dp = 8;
    plan.zero_stage = 1;
    ck_assert_int_eq(training_step(&plan, &work, &after), SIM_OK);
    plan.overlap_update = true;
    ck_assert_int_eq(training_step(&plan, &work, &behind), SIM_OK);
    double gather_s = 2.0 * 6738415616.0 * 7.0 / 8.0 / 1e11;
    assert_relative(after.optimizer_s - behind.optimizer_s, gather_s, 1e-9);
    /* The embedding's rows, 32000 x 4096, and the first block's have nothing in front of them. */
    double exposed_s = 2.0 * (32000.0 * 4096.0 + 202383360.0) * 7.0 / 8.0 / 1e11;
    ck_assert_double_le(behind.bubble_s, exposed_s * 1.0001);
    ck_assert_double_gt(behind.bubble_s, 0.8 * exposed_s);
    ck_assert_double_eq(behind.data_bytes, after.data_bytes);
}
END_TEST

static TCase *context_case(void) {
    TCase *context = tcase_create("context");
    tcase_add_test(context, context_parallelism_divides_the_work);
    tcase_add_test(context, the_ring_is_hidden_under_attention);
    tcase_add_test(context, ulysses_sends_all_to_all);
    tcase_add_test(context, ulysses_copies_few_key_heads);
    return context;
}

static Suite *suite(void) {
    Suite *suite = suite_create("waits");
    TCase *tensor = tcase_create("tensor");
    tcase_add_test(tensor, products_and_collectives_in_pieces);
    tcase_add_test(tensor, all_reduces_without_sequence_parallelism);
    suite_add_tcase(suite, tensor);
    suite_add_tcase(suite, context_case());
    TCase *experts = tcase_create("experts");
    tcase_add_test(experts, tokens_go_to_distinct_ranks);
    tcase_add_test(experts, experts_gather_what_came_in);
    tcase_add_test(experts, expert_parallelism_moves_work_not_more_of_it);
    tcase_add_test(experts, experts_are_reduced_over_their_own_copies);
    suite_add_tcase(suite, experts);
    TCase *rest = tcase_create("rest");
    tcase_add_test(rest, offloaded_activations_take_pcie);
    tcase_add_test(rest, jitter_by_doublings);
    tcase_add_test(rest, crowded_updates_are_slower);
    tcase_add_test(rest, the_update_overlaps_the_next_forward);
    suite_add_tcase(suite, rest);
    return suite;
}

TESTING_MAIN(suite)
