/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RESULTS_SUMMARY_H
#define MODELS_RESULTS_SUMMARY_H

/*
 * The contents of summary.json in one struct. summary.c has one table of paths, kinds, units and
 * offsets; the JSON writer and the access by path both walk it, so they cannot disagree.
 *
 * Unknown is: a figure that is not `known`, a negative count, an empty text, a list without
 * members, and the flag and capacity of `memory` while `memory.known` is false. In summary.json
 * every key stands whatever is known; what is unknown is null (a run that does not fit has
 * `"time": {"total_s": null, ...}`).
 */

#include "models/algorithms/phase.h"
#include "models/cost/ledger.h"

#include <rlhfsim/summary.h>

/* Known figures have three finite quantiles. Zero-initialised means unknown. */
struct results_figure {
    bool known;
    double p10, p50, p90;
};

/* The 0.1, 0.5 and 0.9 quantiles of n >= 1 finite values, which are sorted in place. Type 7 of
 * Hyndman and Fan (1996): with h = (n - 1) p, linear between the order statistics floor(h) and
 * floor(h) + 1 counted from 0. Equal values give exactly that value. */
struct results_figure results_figure_of(double *values, size_t n);
/* The same finite value three times. */
struct results_figure results_figure_exact(double value);

struct results_path_share {
    enum algorithm_phase phase;
    struct results_figure share;
};

/* Samples that were trained with an actor `versions` newer than the weights that they began with.
 */
struct results_stale_share {
    int64_t versions;
    struct results_figure share; /* of all samples */
};

/* GPUs with work of their own in a split. */
struct results_pool {
    const char *name; /* "train", ...; static */
    int64_t gpus;
    struct results_figure idle_fraction; /* of their time */
    struct results_figure peak_bytes;    /* of its fullest GPU */
};

#define RESULTS_STALENESS_LIMIT 17
#define RESULTS_POOL_LIMIT 4
#define RESULTS_PROVENANCE_LIMIT 16
#define RESULTS_PATH_SIZE 96

struct rlhfsim_summary {
    char name[128];

    struct {
        struct results_figure total_s, step_s, phases_s[ALGORITHM_PHASE_COUNT];
        struct results_figure offload_s; /* of a step, because of offload; unknown without any */
    } time;
    struct { /* where measured times are expected; see models/scenario/bands.h */
        struct results_figure expected_total_s, expected_step_s, expected_rollout_s,
            expected_update_s, expected_logprob_s;
        char basis[64]; /* "49 figures of 6 sources", or "unvalidated" */
    } band;
    struct {
        int64_t rollout, optimizer;
    } steps;
    struct {
        struct results_figure tokens_per_s_per_gpu, samples_per_s, mfu_training, mfu_overall;
    } throughput;
    struct {
        struct results_figure mean_response_tokens, p99_response_tokens, share_cut, tail_idle_s;
        struct results_figure p50_response_tokens, p90_response_tokens, max_response_tokens;
        struct results_figure useless_tokens; /* of a response, after the useful answer */
        struct results_figure tail_floor_s;   /* the longest sequence of a step, alone */
        /* Rollouts a step; share of the responses that no step trains on; share of the steps whose
         * rounds ended before there were enough prompts. */
        struct results_figure rounds, wasted_share, exhausted_share;
    } rollout;
    struct {
        struct results_figure mean_versions;
        size_t share_count;
        struct results_stale_share shares[RESULTS_STALENESS_LIMIT];
    } staleness;
    struct {
        bool known;
        bool fits;
        struct results_figure peak_bytes;
        double capacity_bytes;
        char phase[32], device[64];
        struct results_figure host_peak_bytes;
        char verdict[16]; /* "fits", "marginal", "does not fit" */
        struct results_figure fit_probability;
    } memory;
    struct {
        struct results_figure total_usd, formula_usd;
        size_t item_count; /* filled by results_summary_add_item */
        const char *item_names[COST_ITEMS];
        struct results_figure item_usd[COST_ITEMS];
        char item_paths[COST_ITEMS][RESULTS_PATH_SIZE]; /* "cost.items_usd.NAME" */
    } cost;
    struct results_figure gpu_hours, idle_fraction;
    size_t pool_count; /* 0: colocated */
    struct results_pool pools[RESULTS_POOL_LIMIT];
    struct {
        struct results_figure total_flops;          /* model FLOPs of the whole run */
        struct results_figure pretraining_fraction; /* of what the actor's pre-training took */
    } compute;
    struct {
        char resource[48]; /* empty: unknown */
        struct results_figure gain_fraction;
    } limit;
    struct { /* twice the GPUs */
        struct results_figure faster_fraction, dearer_fraction;
        char phase[32]; /* that takes most of the time then; empty: unknown */
        struct results_figure phase_share, phase_shorter_fraction;
    } scaling;
    size_t critical_path_count;
    struct results_path_share critical_path[ALGORITHM_PHASE_COUNT];
    int64_t events;          /* below 0: unknown */
    char calibration[256];   /* the user's factors; empty: none */
    size_t provenance_count; /* filled by results_summary_add_provenance */
    struct {
        const char *key, *value;
        char path[RESULTS_PATH_SIZE]; /* "provenance.KEY" */
    } provenance[RESULTS_PROVENANCE_LIMIT];
};

/* Append to the lists whose members have names. The strings must outlive the summary (those of the
 * ledger and of the catalogs' provenance are static); at most COST_ITEMS and
 * RESULTS_PROVENANCE_LIMIT members, names short enough for RESULTS_PATH_SIZE. */
void results_summary_add_item(struct rlhfsim_summary *summary, const char *name,
                              struct results_figure usd);
void results_summary_add_provenance(struct rlhfsim_summary *summary, const char *key,
                                    const char *value);

#endif
