/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/verdict.h"
#include "models/forecast/footprint.h"

#include "models/scenario/placement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum shortage { SHORTAGE_NONE, SHORTAGE_GPU, SHORTAGE_HOST, SHORTAGE_DISK, SHORTAGE_ENGINE };

static enum shortage shortage_of(const struct forecast_plan *plan) {
    if (forecast_gpu_fill(plan) > 1.0)
        return SHORTAGE_GPU;
    if (forecast_host_fill(plan) > 1.0)
        return SHORTAGE_HOST;
    if (forecast_disk_fill(plan) > 1.0)
        return SHORTAGE_DISK;
    return plan->kv_missing_bytes > 0.0 ? SHORTAGE_ENGINE : SHORTAGE_NONE;
}

static int compare_rows(const void *a, const void *b) {
    const struct rlhfsim_memory_row *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    int owners = strcmp(x->owner, y->owner);
    return owners != 0 ? owners : strcmp(x->category, y->category);
}

static void fill_rows(struct forecast_verdict *verdict,
                      double held[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT]) {
    for (uint32_t owner = 0; owner < FORECAST_OWNER_COUNT; owner++) {
        for (uint32_t category = 0; category < FORECAST_CATEGORY_COUNT; category++) {
            if (held[owner][category] <= 0.0)
                continue;
            verdict->rows[verdict->row_count++] = (struct rlhfsim_memory_row){
                forecast_owner_name(owner), forecast_category_name(category),
                held[owner][category]};
        }
    }
    qsort(verdict->rows, verdict->row_count, sizeof *verdict->rows, compare_rows);
}

/* " of the rollout pool"; nothing where there is one pool. */
static const char *pool_words(const struct forecast_plan *plan, char *buffer, size_t size) {
    size_t pool = plan->fullest[forecast_gpu_peak(plan).step].pool;
    buffer[0] = '\0';
    if (plan->pool_count > 1)
        snprintf(buffer, size, " of the %s pool", scenario_pool_name(plan->pools[pool].kind));
    return buffer;
}

static void explain_shortage(struct forecast_verdict *verdict, const char *phase,
                             const struct forecast_plan *plan, enum shortage shortage,
                             double missing_bytes) {
    size_t size = sizeof verdict->reason;
    char pools[64];
    switch (shortage) {
    case SHORTAGE_NONE:
        break;
    case SHORTAGE_GPU:
        snprintf(verdict->reason, size, "every GPU%s lacks %.2f GB in phase %s",
                 pool_words(plan, pools, sizeof pools), missing_bytes / 1e9, phase);
        break;
    case SHORTAGE_HOST:
        snprintf(verdict->reason, size, "the host memory of every node lacks %.2f GB in phase %s",
                 missing_bytes / 1e9, phase);
        break;
    case SHORTAGE_DISK:
        snprintf(verdict->reason, size,
                 "the NVMe disks of every node (nvme_gb) lack %.2f GB for offloaded optimizers",
                 missing_bytes / 1e9);
        break;
    case SHORTAGE_ENGINE:
        snprintf(verdict->reason, size,
                 "the engine's share (rollout.memory_fraction %g of %s) lacks %.2f GB for the KV "
                 "cache of one sequence of %lld tokens",
                 plan->scenario->rollout.memory_fraction,
                 plan->scenario->rollout.memory_fraction_of == SCENARIO_SHARE_FREE ? "what is free"
                                                                                   : "a GPU",
                 plan->kv_missing_bytes / 1e9,
                 (long long)(plan->prompt_limit + plan->response_limit));
        break;
    }
}

/* Within 5 % of the limit, of a GPU or of a host, no yes or no is certain: the forecast's own
 * spread says how likely it fits. What lacks room for one sequence's cache does not. */
#define MARGIN 0.05

double forecast_fit_probability(double bytes, double capacity, double spread) {
    if (spread <= 0.0 || bytes <= 0.0)
        return bytes <= capacity ? 1.0 : 0.0;
    return 0.5 * erfc(-log(capacity / bytes) / (spread * sqrt(2.0)));
}

bool forecast_fit_is_marginal(double bytes, double capacity) {
    return fabs(bytes / capacity - 1.0) <= MARGIN;
}

/* Both must fit. */
static double fit_probability(const struct forecast_plan *plan, enum shortage shortage) {
    double spread = plan->scenario->training.memory_spread;
    if (shortage == SHORTAGE_ENGINE || shortage == SHORTAGE_DISK)
        return 0.0;
    return forecast_fit_probability(forecast_gpu_fill(plan), 1.0, spread) *
           forecast_fit_probability(forecast_host_fill(plan), 1.0, spread);
}

static bool is_marginal(const struct forecast_plan *plan, enum shortage shortage) {
    return shortage != SHORTAGE_ENGINE && shortage != SHORTAGE_DISK &&
           forecast_fit_is_marginal(fmax(forecast_gpu_fill(plan), forecast_host_fill(plan)), 1.0);
}

/* What does not fit, or may not, else the GPUs. */
static bool is_about_host(const struct forecast_plan *plan, enum shortage shortage) {
    if (shortage != SHORTAGE_NONE)
        return shortage == SHORTAGE_HOST;
    return forecast_host_fill(plan) > forecast_gpu_fill(plan) && is_marginal(plan, shortage);
}

double forecast_verdict_probability(const struct forecast_plan *plan) {
    enum shortage shortage = shortage_of(plan);
    if (is_marginal(plan, shortage))
        return fit_probability(plan, shortage);
    return shortage == SHORTAGE_NONE ? 1.0 : 0.0;
}

static const char *verdict_word(const struct forecast_plan *plan, enum shortage shortage) {
    if (is_marginal(plan, shortage))
        return "marginal";
    return shortage == SHORTAGE_NONE ? "fits" : "does not fit";
}

/* The fullest GPU, or the host or the disks where these are what does not fit, or the host where
 * that is marginal. */
void forecast_verdict_make(const struct forecast_plan *plan, struct rlhfsim_summary *summary,
                           struct forecast_verdict *verdict) {
    const struct hardware_cluster *cluster = &plan->scenario->cluster;
    enum shortage shortage = shortage_of(plan);
    bool host = is_about_host(plan, shortage), disk = shortage == SHORTAGE_DISK;
    struct forecast_memory_peak peak = disk   ? forecast_disk_peak(plan)
                                       : host ? forecast_host_peak(plan)
                                              : forecast_gpu_peak(plan);
    struct forecast_memory_state state = plan->memory[peak.step];
    if (host || disk)
        forecast_host_at(plan, peak.step, peak.device, &state);
    enum algorithm_phase phase = forecast_memory_phase(plan, peak.step);
    summary->memory.known = true;
    summary->memory.fits = shortage == SHORTAGE_NONE;
    summary->memory.peak_bytes = results_figure_exact(peak.bytes);
    summary->memory.host_peak_bytes = results_figure_exact(forecast_host_peak(plan).bytes);
    summary->memory.capacity_bytes = disk   ? cluster->node.nvme_bytes
                                     : host ? cluster->node.host_memory_bytes
                                            : cluster->gpu.memory_bytes;
    snprintf(summary->memory.phase, sizeof summary->memory.phase, "%s",
             algorithm_phase_name(phase));
    snprintf(summary->memory.device, sizeof summary->memory.device,
             disk   ? "node%d/nvme"
             : host ? "node%d/host"
                    : "gpu%d",
             peak.device);
    snprintf(summary->memory.verdict, sizeof summary->memory.verdict, "%s",
             verdict_word(plan, shortage));
    summary->memory.fit_probability = results_figure_exact(fit_probability(plan, shortage));
    fill_rows(verdict, disk ? state.disk : host ? state.host : state.gpu);
    explain_shortage(verdict, summary->memory.phase, plan, shortage,
                     peak.bytes - summary->memory.capacity_bytes);
}
