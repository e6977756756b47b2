/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/engine.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * What a rollout costs to simulate, on a calendar. One JSON object a line: name, value, unit; the
 * best of three runs.
 *
 * - generation_sequences_per_s: 100,000 sequences of Llama-3.1-8B on one replica that runs 1,024 at
 *   once: prompts of 64 to 128 tokens, one for 8 answers of 1 to 512, prompts cached.
 *
 * The workload is frozen: change it and its numbers cannot be compared with older ones.
 */

#define REPEATS 3
#define SEQUENCES 100000u
#define SAMPLES 8u

static const struct llm_architecture model = {.name = "Llama-3.1-8B",
                                              .layers = 32,
                                              .hidden = 4096,
                                              .heads = 32,
                                              .kv_heads = 8,
                                              .head_dim = 128,
                                              .ffn = 14336,
                                              .vocab = 128256,
                                              .gated_ffn = true};
static const struct hardware_cluster cluster = {
    .gpu = {.peak_flops_per_s = {67e12, 989e12, 989e12, 1979e12},
            .matmul_efficiency = 0.8,
            .attention_efficiency = 0.7,
            .memory_bandwidth_bytes_per_s = 3350e9,
            .memory_efficiency = 0.88,
            .host_bandwidth_bytes_per_s = 51e9,
            .kernel_launch_s = 3e-6},
    .node = {.gpus = 8},
    .nodes = 1,
    .gpus_per_node = 8};

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "bench_generation: %s\n", what);
    exit(EXIT_FAILURE);
}

static uint32_t draw(uint64_t *state, uint32_t low, uint32_t high) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return low + (uint32_t)((z ^ z >> 32) % (high - low + 1));
}

static void count_batch(struct sim *sim, void *subject, uint64_t argument,
                        const struct generation_outcome *outcome) {
    uint64_t *tokens = subject;
    (void)sim, (void)argument;
    *tokens += outcome->decoded_tokens;
}

static double run_s(const struct generation_request *requests, uint64_t expected) {
    struct generation_plan plan = {.cluster = &cluster,
                                   .architecture = &model,
                                   .software = {.chunked_prefill = true,
                                                .prefix_caching = true,
                                                .block_tokens = 16,
                                                .graph_step = 8,
                                                .graph_dense = 512,
                                                .graph_limit = 512,
                                                .launch_factor = 1.0,
                                                .product_efficiency = 1.0,
                                                .kv_efficiency = 1.0,
                                                .compute_efficiency = 1.0,
                                                .fp4_efficiency = 1.0,
                                                .expert_efficiency = 1.0,
                                                .activation_share = 1.0,
                                                .exchange_factor = 1.0,
                                                .collective_factor = 1.0},
                                   .tp = 1,
                                   .pp = 1,
                                   .dp = 1,
                                   .ep = 1,
                                   .format = GENERATION_BF16,
                                   .kv_element_bytes = 2.0,
                                   .max_sequences = 1024,
                                   .max_batched_tokens = 8192,
                                   .kv_blocks = 60000};
    struct sim *sim = sim_new(NULL);
    struct generation_replica *replica = sim == NULL ? NULL : generation_replica_new(sim, &plan);
    uint64_t tokens = 0;
    require(replica != NULL, "out of memory");
    double start = cpu_s();
    require(generation_replica_start(replica, requests, SEQUENCES, count_batch, &tokens, 0) ==
                SIM_OK,
            "out of memory");
    require(sim_run(sim, SIM_TIME_MAX) == SIM_OK, "the run failed");
    double elapsed = cpu_s() - start;
    require(tokens == expected, "tokens are lost");
    generation_replica_free(replica);
    sim_free(sim);
    return elapsed;
}

int main(void) {
    struct generation_request *requests = calloc(SEQUENCES, sizeof *requests);
    require(requests != NULL, "out of memory");
    uint64_t state = 1, expected = 0;
    double best = 0.0;
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        requests[i] = (struct generation_request){
            .prompt_tokens =
                i % SAMPLES == 0 ? draw(&state, 64, 128) : requests[i - 1].prompt_tokens,
            .response_tokens = draw(&state, 1, 512),
            .group = i / SAMPLES};
        expected += requests[i].response_tokens;
    }
    for (int i = 0; i < REPEATS; i++)
        best = fmax(best, SEQUENCES / run_s(requests, expected));
    printf("{\"name\": \"generation_sequences_per_s\", \"value\": %.0f, \"unit\": \"1/s\"}\n",
           best);
    free(requests);
    return EXIT_SUCCESS;
}
