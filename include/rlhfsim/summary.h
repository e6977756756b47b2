/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_SUMMARY_H
#define RLHFSIM_SUMMARY_H

/*
 * The summary of one forecast: what `summary.json` holds, readable by the same dotted paths
 * ("time.step_s", "memory.peak_bytes", "cost.items_usd.accelerators").
 *
 * A forecast figure is a triple of quantiles over the replicates (type 7), three equal values where
 * nothing is random. Flags, names, capacities and counts are plain. Everything can be unknown:
 * a scenario that does not fit has no time and no price.
 */

#include <rlhfsim/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rlhfsim_value_kind {
    RLHFSIM_VALUE_UNKNOWN, /* null in summary.json */
    RLHFSIM_VALUE_FIGURE,  /* p10, p50, p90 */
    RLHFSIM_VALUE_NUMBER,  /* number */
    RLHFSIM_VALUE_COUNT,   /* count */
    RLHFSIM_VALUE_FLAG,    /* flag */
    RLHFSIM_VALUE_TEXT     /* text, which lives as long as the summary */
};

struct rlhfsim_value {
    enum rlhfsim_value_kind kind;
    const char *unit; /* of figures and numbers: "s", "USD", "bytes", "1" */
    double p10, p50, p90;
    double number;
    int64_t count;
    bool flag;
    const char *text;
};

struct rlhfsim_summary;

/* The value at `path`. False when there is no such path; *value is then untouched. */
RLHFSIM_API bool rlhfsim_summary_get(const struct rlhfsim_summary *summary, const char *path,
                                     struct rlhfsim_value *value);

/* All paths in the order of summary.json; NULL past the last one. The lists (critical_path,
 * provenance, items_usd) appear as their members: "critical_path.0.phase", "critical_path.0.share",
 * "provenance.KEY". The string lives as long as the summary. */
RLHFSIM_API const char *rlhfsim_summary_path(const struct rlhfsim_summary *summary, size_t index);

/* The text of summary.json. The caller frees it with free(); NULL when memory is exhausted. */
RLHFSIM_API char *rlhfsim_summary_json(const struct rlhfsim_summary *summary);

#endif
