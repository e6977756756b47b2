/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Wall time of one training step of Llama 3.1 405B on 2,048 H100s (TP 8 with sequence parallelism,
 * PP 16, DP 16, ZeRO-1, 64 micro-batches of one sequence of 8,192), plain and interleaved with 8
 * chunks a stage. The best of five; what was forecast goes to stderr.
 */

#include "models/training/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUNS 5
#define MICROBATCHES 64
#define TOKENS 8192.0

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Public datasheets: 989 TFLOP/s of bf16, 3.35 TB/s, NVLink 450 GB/s, a 400 Gbit/s NIC a GPU. */
static struct hardware_cluster h100s(void) {
    struct hardware_cluster cluster = {.gpu = {.matmul_efficiency = 0.75,
                                               .attention_efficiency = 0.6,
                                               .attention_backward_efficiency = 0.5,
                                               .memory_bytes = 80e9,
                                               .memory_bandwidth_bytes_per_s = 3.35e12,
                                               .memory_efficiency = 0.9,
                                               .scaleup_bandwidth_bytes_per_s = 4.5e11,
                                               .host_bandwidth_bytes_per_s = 5e10,
                                               .kernel_launch_s = 3e-6},
                                       .node = {.gpus = 8,
                                                .network_bandwidth_bytes_per_s = 4e11,
                                                .scaleup_efficiency = 0.8,
                                                .network_efficiency = 0.8,
                                                .scaleup_latency_s = 2e-6,
                                                .network_latency_s = 1e-5,
                                                .collective_start_s = 1e-5},
                                       .nodes = 256,
                                       .gpus_per_node = 8};
    cluster.gpu.peak_flops_per_s[HARDWARE_BF16] = 9.89e14;
    return cluster;
}

static const struct llm_architecture llama31_405b = {.name = "Llama 3.1 405B",
                                                     .layers = 126,
                                                     .hidden = 16384,
                                                     .heads = 128,
                                                     .kv_heads = 8,
                                                     .head_dim = 128,
                                                     .ffn = 53248,
                                                     .vocab = 128256,
                                                     .gated_ffn = true};

static double best_s(const struct training_plan *plan, struct training_step *step) {
    struct llm_batch batch = {.sequences = 1.0,
                              .tokens = TOKENS,
                              .score_pairs = llm_causal_pairs(TOKENS, 0.0),
                              .logit_tokens = TOKENS};
    struct training_work work = {&batch, MICROBATCHES, true};
    double best = INFINITY;
    for (int run = 0; run < RUNS; run++) {
        double start_s = now_s();
        if (training_step(plan, &work, step) != SIM_OK)
            exit(EXIT_FAILURE);
        double seconds = now_s() - start_s;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static void bench(const char *name, const struct training_plan *plan) {
    struct training_step step;
    double seconds = best_s(plan, &step);
    fprintf(stderr, "%s: a step of %.3f s, of which bubble %.3f s, %.1f TFLOP/s a GPU\n", name,
            step.total_s, step.bubble_s,
            step.flops * plan->dp / step.total_s / training_gpus(plan) / 1e12);
    printf("{\"name\": \"%s\", \"value\": %.6f, \"unit\": \"s\"}\n", name, seconds);
}

int main(void) {
    struct hardware_cluster cluster = h100s();
    struct training_plan plan;
    training_plan_default(&plan);
    plan.cluster = &cluster;
    plan.architecture = &llama31_405b;
    plan.tp = 8;
    plan.pp = 16;
    plan.dp = 16;
    plan.zero_stage = 1;
    bench("training_405b_step_wall_s", &plan);
    plan.vpp = 8;
    bench("training_405b_interleaved_step_wall_s", &plan);
    return EXIT_SUCCESS;
}
