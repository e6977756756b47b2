/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_ADVICE_H
#define RLHFSIM_ADVICE_H

/*
 * What to do about memory: single changes that make a scenario fit, and searches over legal values.
 * Every answer is a scenario that was loaded with all checks, planned, and, where time and money
 * are given, simulated for a few steps; none is estimated from another.
 */

#include <rlhfsim/diagnostics.h>
#include <rlhfsim/scenario.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- single changes -------------------------------------------------------------------------- */

struct rlhfsim_advice;

/* Of each kind of change the mildest value that is no marginal case (verdict), else the mildest
 * that fits. */
struct rlhfsim_change {
    const char *what;       /* "smaller micro-batches" */
    const char *settings;   /* as behind --set; several with spaces between them */
    double peak_bytes;      /* on the fullest GPU */
    double fit_probability; /* 1, or less within 5 % of the limit */
    int gpus;
    double time_s;   /* of the whole run: a few steps, scaled, without checkpoints */
    double cost_usd; /* of its nodes for that time */
};

/* Finds the changes, cheapest first (equal costs: fastest first). There are none where the scenario
 * fits. RLHFSIM_OK with *advice owned by the caller; else as rlhfsim_source_scenario. */
RLHFSIM_API enum rlhfsim_status rlhfsim_advice_find(const struct rlhfsim_source *source,
                                                    struct rlhfsim_diagnostics *diagnostics,
                                                    struct rlhfsim_advice **advice);
RLHFSIM_API void rlhfsim_advice_free(struct rlhfsim_advice *advice);

/* False past the last one. The strings live as long as the advice. */
RLHFSIM_API bool rlhfsim_advice_change(const struct rlhfsim_advice *advice, size_t index,
                                       struct rlhfsim_change *change);

/* ---- searches -------------------------------------------------------------------------------- */

struct rlhfsim_search {
    bool found;
    char settings[192];      /* of what was found, as rlhfsim_change */
    int gpus;                /* least GPUs: how many */
    int64_t samples, tokens; /* largest micro-batch: one of the two */
    double peak_bytes;       /* on the fullest GPU */
    double capacity_bytes;   /* of a GPU */
    double fit_probability;  /* 1, or less within 5 % of the limit */
    size_t tried, illegal;   /* values that were looked at, and how many of them are not legal */
};

/* Least GPUs on which the scenario fits: fewer GPUs of one node, then whole nodes, up to 1,024
 * nodes; pools keep their proportions. Values that are not legal (a batch that does not divide) are
 * passed over. */
RLHFSIM_API enum rlhfsim_status rlhfsim_search_min_gpus(const struct rlhfsim_source *source,
                                                        struct rlhfsim_diagnostics *diagnostics,
                                                        struct rlhfsim_search *search);

/* Largest training.microbatch_samples, or training.microbatch_tokens where the scenario has a token
 * budget, that fits. Samples divide what a rank has in an optimizer step; a budget is between the
 * longest sequence and all tokens of that. */
RLHFSIM_API enum rlhfsim_status
rlhfsim_search_max_microbatch(const struct rlhfsim_source *source,
                              struct rlhfsim_diagnostics *diagnostics,
                              struct rlhfsim_search *search);

#endif
