/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "note.h"

#include "layout.h"
#include "page.h"
#include "text.h"
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COST_ITEMS 3 /* the largest ones are named */
#define ITEM_LIMIT 32

static bool is_known(const struct rlhfsim_value *value) {
    return value->kind != RLHFSIM_VALUE_UNKNOWN;
}

static void time_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value total = verdict_value(summary, "time.total_s");
    struct rlhfsim_value gpu_hours = verdict_value(summary, "gpu_hours");
    page_paragraph(page, "Time", "%s; %s", text_figure(&total, text_duration).chars,
                   text_figure(&gpu_hours, text_gpu_hours).chars);
}

/* What chance and the model's own error together leave open. */
static void band_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value step = verdict_value(summary, "band.expected_step_s");
    struct rlhfsim_value basis = verdict_value(summary, "band.basis");
    if (!is_known(&basis))
        return;
    if (is_known(&step))
        page_paragraph(page, "Band", "a measured step is expected at %s to %s (P10 to P90; %s)",
                       text_duration(step.p10).chars, text_duration(step.p90).chars, basis.text);
    else
        page_paragraph(page, "Band", "%s: no measured runs with this placement", basis.text);
}

/* ---- money ----------------------------------------------------------------------------------- */

struct cost {
    const char *name;
    double usd;
};

static int by_usd(const void *a, const void *b) {
    double x = ((const struct cost *)a)->usd, y = ((const struct cost *)b)->usd;
    return (x < y) - (x > y);
}

/* The items that cost something, the dearest first. */
static size_t collect_costs(const struct rlhfsim_summary *summary, struct cost *costs) {
    static const char prefix[] = "cost.items_usd.";
    size_t count = 0;
    const char *path;
    for (size_t i = 0; (path = rlhfsim_summary_path(summary, i)) != NULL; i++) {
        if (strncmp(path, prefix, sizeof prefix - 1) != 0 || count == ITEM_LIMIT)
            continue;
        struct rlhfsim_value value = verdict_value(summary, path);
        double usd = verdict_middle(&value, 0);
        if (usd > 0)
            costs[count++] = (struct cost){path + sizeof prefix - 1, usd};
    }
    qsort(costs, count, sizeof *costs, by_usd);
    return count;
}

static void money_lines(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value total = verdict_value(summary, "cost.total_usd");
    struct rlhfsim_value formula = verdict_value(summary, "cost.formula_usd");
    struct cost costs[ITEM_LIMIT];
    size_t count = collect_costs(summary, costs);
    page_label(page, "Money");
    page_words(page, "%s", text_figure(&total, text_usd).chars);
    for (size_t i = 0; i < count && i < COST_ITEMS; i++)
        page_words(page, "%s %s %s", i == 0 ? "=" : "+", costs[i].name,
                   text_usd(costs[i].usd).chars);
    if (count > COST_ITEMS)
        page_words(page, "+ smaller items");
    page_end(page);
    page_paragraph(page, "",
                   "The closed formula (node price x time + surcharges + logs) says %s; it has all "
                   "checkpoints stored from the start.",
                   text_figure(&formula, text_usd).chars);
}

/* ---- the step -------------------------------------------------------------------------------- */

static const char phases_prefix[] = "time.phases_s.";

static void phase_row(struct page *page, const char *name, double seconds, double step_s) {
    page_row(page, "%-33s %8.2f s   %7s", name, seconds, text_percent(seconds / step_s).chars);
}

/* Phases that the algorithm has, then what a step spends between them. */
static void phase_table(struct page *page, const struct rlhfsim_summary *summary, double step_s) {
    double between_s = step_s;
    const char *path;
    for (size_t i = 0; (path = rlhfsim_summary_path(summary, i)) != NULL; i++) {
        if (strncmp(path, phases_prefix, sizeof phases_prefix - 1) != 0)
            continue;
        struct rlhfsim_value value = verdict_value(summary, path);
        double seconds = verdict_middle(&value, 0);
        if (seconds > 0)
            phase_row(page, path + sizeof phases_prefix - 1, seconds, step_s);
        between_s -= seconds;
    }
    if (between_s > 0.005 * step_s)
        phase_row(page, "between phases", between_s, step_s);
}

static void step_lines(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value step = verdict_value(summary, "time.step_s");
    double step_s = verdict_middle(&step, 0);
    if (step_s <= 0)
        return;
    page_paragraph(page, "Step", "%s on average:", text_figure(&step, text_duration).chars);
    phase_table(page, summary, step_s);
}

static void idle_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value idle = verdict_value(summary, "idle_fraction");
    struct rlhfsim_value tail = verdict_value(summary, "rollout.tail_idle_s");
    page_label(page, "Idle");
    page_words(page, "%s of GPU time", text_figure(&idle, text_percent).chars);
    if (verdict_middle(&tail, 0) > 0)
        page_words(page, "; %s a step while the longest samples finish",
                   text_figure(&tail, text_duration).chars);
    page_end(page);
}

/* What no number of replicas gets below. */
static void floor_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value floor = verdict_value(summary, "rollout.tail_floor_s");
    struct rlhfsim_value rollout = verdict_value(summary, "time.phases_s.rollout");
    if (verdict_middle(&floor, 0) <= 0 || verdict_middle(&rollout, 0) <= 0)
        return;
    page_paragraph(page, "Tail floor",
                   "%s of the %s of rollout: the longest sample alone on its engine, which more "
                   "GPUs do not shorten",
                   text_figure(&floor, text_duration).chars,
                   text_figure(&rollout, text_duration).chars);
}

static void offload_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value offload = verdict_value(summary, "time.offload_s");
    if (verdict_middle(&offload, 0) > 0)
        page_paragraph(
            page, "Offload",
            "costs %s a step: work on the host and what moves over PCIe (and to and from "
            "local disks) in place of HBM",
            text_figure(&offload, text_duration).chars);
}

/* ---- a split --------------------------------------------------------------------------------- */

static struct rlhfsim_value member(const struct rlhfsim_summary *summary, const char *list,
                                   size_t index, const char *key) {
    char path[96];
    snprintf(path, sizeof path, "%s.%zu.%s", list, index, key);
    return verdict_value(summary, path);
}

/* Who sits on how many GPUs, and how long they wait. */
static void pools_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value name;
    page_label(page, "Pools");
    for (size_t i = 0; name = member(summary, "pools", i, "name"), is_known(&name); i++) {
        struct rlhfsim_value gpus = member(summary, "pools", i, "gpus");
        struct rlhfsim_value idle = member(summary, "pools", i, "idle_fraction");
        page_words(page, i == 0 ? "%s on %lld GPUs, idle %s" : "; %s on %lld GPUs, idle %s",
                   name.text, (long long)gpus.count, text_figure(&idle, text_percent).chars);
    }
    page_end(page);
}

/* The chain of phases that the length of the run is made of. */
static void path_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value phase;
    page_label(page, "Path");
    for (size_t i = 0; phase = member(summary, "critical_path", i, "phase"), is_known(&phase);
         i++) {
        struct rlhfsim_value share = member(summary, "critical_path", i, "share");
        page_words(page, i == 0 ? "%s %s" : ", %s %s", phase.text,
                   text_figure(&share, text_percent).chars);
    }
    page_words(page, "of the run, the other phases beside them");
    page_end(page);
}

static void staleness_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value mean = verdict_value(summary, "staleness.mean_versions");
    struct rlhfsim_value wasted = verdict_value(summary, "rollout.wasted_share");
    if (!is_known(&mean))
        return;
    page_label(page, "Staleness");
    page_words(page, "samples are %.3g weight syncs behind on average", mean.p50);
    if (verdict_middle(&wasted, 0) > 0)
        page_words(page, "; %s of the answers are not trained",
                   text_figure(&wasted, text_percent).chars);
    page_end(page);
}

static void split_lines(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value pool = member(summary, "pools", 0, "name");
    if (!is_known(&pool))
        return;
    pools_line(page, summary);
    path_line(page, summary);
    staleness_line(page, summary);
}

/* ---- samples, throughput, limit, sources -------------------------------------------------------
 */

static void samples_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value mean = verdict_value(summary, "rollout.mean_response_tokens");
    struct rlhfsim_value p99 = verdict_value(summary, "rollout.p99_response_tokens");
    struct rlhfsim_value longest = verdict_value(summary, "rollout.max_response_tokens");
    struct rlhfsim_value cut = verdict_value(summary, "rollout.share_cut");
    struct rlhfsim_value useless = verdict_value(summary, "rollout.useless_tokens");
    if (verdict_middle(&mean, 0) <= 0)
        return;
    page_label(page, "Samples");
    page_words(page, "mean response %s, p99 %s, longest %s; %s cut at the limit",
               text_figure(&mean, text_tokens).chars, text_figure(&p99, text_tokens).chars,
               text_figure(&longest, text_tokens).chars, text_figure(&cut, text_percent).chars);
    if (verdict_middle(&useless, 0) > 0)
        page_words(page, "; %s of a response after the useful answer",
                   text_figure(&useless, text_tokens).chars);
    page_end(page);
}

static void throughput_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value tokens = verdict_value(summary, "throughput.tokens_per_s_per_gpu");
    struct rlhfsim_value samples = verdict_value(summary, "throughput.samples_per_s");
    struct rlhfsim_value training = verdict_value(summary, "throughput.mfu_training");
    struct rlhfsim_value overall = verdict_value(summary, "throughput.mfu_overall");
    page_paragraph(
        page, "Throughput", "%s; %s; MFU %s in training, %s over the whole run",
        text_figure(&tokens, text_token_rate).chars, text_figure(&samples, text_sample_rate).chars,
        text_figure(&training, text_percent).chars, text_figure(&overall, text_percent).chars);
}

/* The gain is what the run's time loses when the resource alone is 10 % faster. */
static void compute_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value flops = verdict_value(summary, "compute.total_flops");
    struct rlhfsim_value share = verdict_value(summary, "compute.pretraining_fraction");
    page_label(page, "Compute");
    page_words(page, "%.3g model FLOP", flops.p50);
    if (is_known(&share))
        page_words(page, ", %.2g %% of what the actor's pre-training took", 100.0 * share.p50);
    page_end(page);
}

static void limit_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value resource = verdict_value(summary, "limit.resource");
    struct rlhfsim_value gain = verdict_value(summary, "limit.gain_fraction");
    if (resource.kind != RLHFSIM_VALUE_TEXT)
        return;
    page_label(page, "Limit");
    page_words(page, "%s", resource.text);
    if (verdict_middle(&gain, 0) > 0)
        page_words(page, ": 10 %% faster, it would shorten the run by %s",
                   text_figure(&gain, text_percent).chars);
    page_end(page);
}

static void scaling_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value faster = verdict_value(summary, "scaling.faster_fraction");
    struct rlhfsim_value dearer = verdict_value(summary, "scaling.dearer_fraction");
    struct rlhfsim_value phase = verdict_value(summary, "scaling.phase");
    struct rlhfsim_value share = verdict_value(summary, "scaling.phase_share");
    struct rlhfsim_value shorter = verdict_value(summary, "scaling.phase_shorter_fraction");
    if (!is_known(&faster))
        return;
    page_paragraph(
        page, "Scaling",
        "twice the GPUs: a step takes %s less time and costs %s %s; %s is %s of it then, "
        "and %s %s",
        text_percent(faster.p50).chars,
        text_percent(dearer.p50 < 0 ? -dearer.p50 : dearer.p50).chars,
        dearer.p50 < 0 ? "less" : "more", phase.text, text_percent(share.p50).chars,
        text_percent(shorter.p50 < 0 ? -shorter.p50 : shorter.p50).chars,
        shorter.p50 < 0 ? "longer" : "shorter");
}

/* All keys of one kind of source, after its name; nothing where there are none. */
static bool sources_of(struct page *page, const struct rlhfsim_summary *summary, const char *kind,
                       bool first) {
    static const char prefix[] = "provenance.";
    bool any = false;
    const char *path;
    for (size_t i = 0; (path = rlhfsim_summary_path(summary, i)) != NULL; i++) {
        struct rlhfsim_value value = verdict_value(summary, path);
        if (strncmp(path, prefix, sizeof prefix - 1) != 0 || value.kind != RLHFSIM_VALUE_TEXT ||
            strcmp(value.text, kind) != 0)
            continue;
        if (!any)
            page_words(page, first ? "%s:" : "; %s:", kind);
        page_words(page, any ? ", %s" : "%s", path + sizeof prefix - 1);
        any = true;
    }
    return any;
}

static void sources_line(struct page *page, const struct rlhfsim_summary *summary) {
    static const char *const kinds[] = {"unvalidated", "assumed", "extrapolated", "interpolated",
                                        "measured"};
    bool any = false;
    page_label(page, "Sources");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        any |= sources_of(page, summary, kinds[i], !any);
    page_end(page);
}

static void calibration_line(struct page *page, const struct rlhfsim_summary *summary) {
    struct rlhfsim_value calibration = verdict_value(summary, "calibration");
    if (calibration.kind == RLHFSIM_VALUE_TEXT)
        page_paragraph(page, "Calibrated", "%s", calibration.text);
}

/* ---- the notes ------------------------------------------------------------------------------- */

void note_forecast(FILE *stream, const struct rlhfsim_scenario *scenario,
                   const struct rlhfsim_forecast *forecast) {
    const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
    struct rlhfsim_value total = verdict_value(summary, "time.total_s");
    struct page page;
    page_start(&page, stream);
    verdict_title(&page, scenario);
    if (!is_known(&total)) {
        verdict_memory(&page, forecast);
        page_paragraph(&page, "",
                       "No time and no price for a run that does not fit; "
                       "--ignore-memory forecasts it all the same, and check says what would "
                       "make it fit.");
        return;
    }
    time_line(&page, summary);
    money_lines(&page, summary);
    verdict_memory(&page, forecast);
    step_lines(&page, summary);
    band_line(&page, summary);
    idle_line(&page, summary);
    split_lines(&page, summary);
    floor_line(&page, summary);
    offload_line(&page, summary);
    samples_line(&page, summary);
    verdict_steps(&page, scenario, summary);
    layout_saves(&page, forecast);
    layout_adapters(&page, scenario, forecast);
    throughput_line(&page, summary);
    compute_line(&page, summary);
    limit_line(&page, summary);
    scaling_line(&page, summary);
    calibration_line(&page, summary);
    sources_line(&page, summary);
}

void note_check(FILE *stream, const struct rlhfsim_scenario *scenario,
                const struct rlhfsim_forecast *forecast) {
    const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
    struct page page;
    page_start(&page, stream);
    verdict_title(&page, scenario);
    verdict_memory(&page, forecast);
    layout_phases(&page, forecast);
    verdict_models(&page, scenario);
    verdict_steps(&page, scenario, summary);
    layout_lines(&page, forecast);
    layout_adapters(&page, scenario, forecast);
    calibration_line(&page, summary);
    sources_line(&page, summary);
}
