/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RESULTS_SUMMARY_H
#define MODELS_RESULTS_SUMMARY_H

/*
 * The contents of summary.json in one struct. summary.c has one table of paths, kinds, units and
 * offsets; the JSON writer and the access by path both walk it, so they cannot disagree.
 */

#include "models/algorithms/phase.h"
#include "models/cost/ledger.h"

#include <rlhfsim/summary.h>

/* Known figures have three finite quantiles. Zero-initialised means unknown. */
struct results_figure {
    bool known;
    double p10, p50, p90;
};

/* Type-7 quantiles of n >= 1 values, which are sorted in place. */
struct results_figure results_figure_of(double *values, size_t n);
struct results_figure results_figure_exact(double value);

struct results_path_share {
    enum algorithm_phase phase;
    struct results_figure share;
};

#define RESULTS_PROVENANCE_LIMIT 16

struct rlhfsim_summary {
    char name[128];

    struct {
        struct results_figure total_s, step_s, phases_s[ALGORITHM_PHASE_COUNT];
    } time;
    struct {
        int64_t rollout, optimizer;
    } steps;
    struct {
        struct results_figure tokens_per_s_per_gpu, samples_per_s, mfu_training, mfu_overall;
    } throughput;
    struct {
        struct results_figure mean_response_tokens, p99_response_tokens, share_cut, tail_idle_s;
    } rollout;
    struct {
        struct results_figure mean_versions;
    } staleness;
    struct {
        bool known;
        bool fits;
        struct results_figure peak_bytes;
        double capacity_bytes;
        char phase[32], device[64];
        struct results_figure host_peak_bytes;
    } memory;
    struct {
        struct results_figure total_usd, formula_usd;
        size_t item_count;
        const char *item_names[COST_ITEMS]; /* of the ledger */
        struct results_figure item_usd[COST_ITEMS];
    } cost;
    struct results_figure gpu_hours, idle_fraction;
    struct {
        char resource[48]; /* empty: unknown */
        struct results_figure gain_fraction;
    } limit;
    size_t critical_path_count;
    struct results_path_share critical_path[ALGORITHM_PHASE_COUNT];
    int64_t events; /* below 0: unknown */
    size_t provenance_count;
    struct {
        const char *key, *value; /* static strings */
    } provenance[RESULTS_PROVENANCE_LIMIT];
};

#endif
