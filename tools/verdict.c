/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "verdict.h"

#include "text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define OWNER_ROWS 10 /* of the memory table; what is left is one row more */

struct rlhfsim_value verdict_value(const struct rlhfsim_summary *summary, const char *path) {
    struct rlhfsim_value value = {.kind = RLHFSIM_VALUE_UNKNOWN};
    rlhfsim_summary_get(summary, path, &value);
    return value;
}

double verdict_middle(const struct rlhfsim_value *value, double otherwise) {
    switch (value->kind) {
    case RLHFSIM_VALUE_FIGURE:
        return value->p50;
    case RLHFSIM_VALUE_NUMBER:
        return value->number;
    case RLHFSIM_VALUE_COUNT:
        return (double)value->count;
    case RLHFSIM_VALUE_UNKNOWN:
    case RLHFSIM_VALUE_FLAG:
    case RLHFSIM_VALUE_TEXT:
        break;
    }
    return otherwise;
}

static const char *word(const struct rlhfsim_value *value) {
    return value->kind == RLHFSIM_VALUE_TEXT && value->text[0] != '\0' ? value->text : "unknown";
}

void verdict_title(struct page *page, const struct rlhfsim_scenario *scenario) {
    struct rlhfsim_facts facts;
    char algorithm[32];
    rlhfsim_scenario_facts(scenario, &facts);
    snprintf(algorithm, sizeof algorithm, "%s", facts.algorithm);
    for (char *letter = algorithm; *letter != '\0'; letter++)
        *letter = (char)toupper((unsigned char)*letter);
    page_title(page, rlhfsim_scenario_name(scenario));
    page_paragraph(page, "Run", "%s with %s on %d x %s (%d x %s)", algorithm, facts.framework,
                   facts.gpus, facts.gpu, facts.nodes, facts.node);
    if (facts.nodes > 1)
        page_paragraph(page, "Network", "%s", facts.topology);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void owner_row(struct page *page, const char *owner, const char *category, double bytes,
                      double peak) {
    page_row(page, "%-12s %-20s %8.2f GB  %7s", owner, category, bytes / 1e9,
             text_percent(bytes / peak).chars);
}

static void owner_table(struct page *page, const struct rlhfsim_forecast *forecast, double peak) {
    struct rlhfsim_memory_row row;
    double rest = 0;
    for (size_t i = 0; rlhfsim_forecast_memory_row(forecast, i, &row); i++) {
        if (i < OWNER_ROWS)
            owner_row(page, row.owner, row.category, row.bytes, peak);
        else
            rest += row.bytes;
    }
    if (rest > 0)
        owner_row(page, "others", "", rest, peak);
}

/* The phase in which a host is fullest. */
static const char *host_phase(const struct rlhfsim_forecast *forecast) {
    struct rlhfsim_phase_memory memory;
    const char *phase = "";
    double most = 0.0;
    for (size_t i = 0; rlhfsim_forecast_phase(forecast, i, &memory); i++) {
        if (memory.host_bytes <= most)
            continue;
        most = memory.host_bytes;
        phase = memory.phase;
    }
    return phase;
}

static void host_memory(struct page *page, const struct rlhfsim_forecast *forecast) {
    struct rlhfsim_value host =
        verdict_value(rlhfsim_forecast_summary(forecast), "memory.host_peak_bytes");
    double capacity = rlhfsim_forecast_layout(forecast)->host_bytes;
    double peak = verdict_middle(&host, 0);
    if (peak <= 0)
        return;
    page_label(page, "Host memory");
    if (capacity <= 0) {
        page_words(page, "peak %s a node in %s; how much a node has is not known",
                   text_figure(&host, text_bytes).chars, host_phase(forecast));
        page_end(page);
        return;
    }
    page_words(page, "peak %s of %s a node in %s", text_figure(&host, text_bytes).chars,
               text_bytes(capacity).chars, host_phase(forecast));
    if (peak <= capacity)
        page_words(page, "; %s (%s) are left", text_gb(capacity - peak).chars,
                   text_percent(1 - peak / capacity).chars);
    page_end(page);
}

/* What waits on local disks is there throughout. */
static void local_disks(struct page *page, const struct rlhfsim_forecast *forecast) {
    const struct rlhfsim_layout *layout = rlhfsim_forecast_layout(forecast);
    if (layout->nvme_peak_bytes <= 0)
        return;
    page_label(page, "NVMe");
    page_words(page, "%s of %s a node", text_bytes(layout->nvme_peak_bytes).chars,
               text_bytes(layout->nvme_bytes).chars);
    page_end(page);
}

static const char *reason_of(const struct rlhfsim_forecast *forecast) {
    const char *reason = rlhfsim_forecast_shortage(forecast);
    return reason != NULL ? reason : "the reason is unknown";
}

static struct text probability(double p) {
    struct text text;
    if (p > 0.0 && p < 0.001)
        (void)snprintf(text.chars, sizeof text.chars, "below 0.001");
    else if (p < 1.0 && p > 0.999)
        (void)snprintf(text.chars, sizeof text.chars, "above 0.999");
    else
        (void)snprintf(text.chars, sizeof text.chars, "%.3g", p);
    return text;
}

/* Never a bare yes or no within 5 % of the limit. */
static void memory_word(struct page *page, const struct rlhfsim_forecast *forecast, bool fits) {
    const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
    struct rlhfsim_value verdict = verdict_value(summary, "memory.verdict");
    struct rlhfsim_value chance = verdict_value(summary, "memory.fit_probability");
    bool marginal = strcmp(word(&verdict), "marginal") == 0;
    if (marginal)
        page_words(page,
                   "MARGINAL: it fits with a probability of %s, being within 5 %% of the "
                   "limit",
                   probability(verdict_middle(&chance, 0)).chars);
    if (marginal && fits)
        page_words(page, "; peak");
    else if (marginal)
        page_words(page, "; by the forecast %s. The peak is", reason_of(forecast));
    else if (fits)
        page_words(page, "fits: peak");
    else
        page_words(page, "DOES NOT FIT: %s. The peak is", reason_of(forecast));
}

/* The batch that the verdict is about, and how likely it is. */
static void worst_batch(struct page *page, const struct rlhfsim_forecast *forecast, bool fits) {
    const struct rlhfsim_layout *layout = rlhfsim_forecast_layout(forecast);
    page_label(page, "Worst batch");
    page_words(page,
               "%s sequence%s, %s together; one as large occurs within the run with a "
               "probability of %s",
               text_count((int64_t)layout->largest_sequences).chars,
               layout->largest_sequences == 1.0 ? "" : "s",
               text_tokens(layout->largest_tokens).chars,
               probability(layout->largest_probability).chars);
    if (!fits && layout->fitting_tokens > 0)
        page_words(page,
                   "; sequences of up to %s fit, a longer one occurs with a probability of "
                   "%s",
                   text_tokens((double)layout->fitting_tokens).chars,
                   probability(layout->overflow_probability).chars);
    page_end(page);
}

void verdict_memory(struct page *page, const struct rlhfsim_forecast *forecast) {
    const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
    struct rlhfsim_value fits = verdict_value(summary, "memory.fits");
    struct rlhfsim_value peak = verdict_value(summary, "memory.peak_bytes");
    struct rlhfsim_value capacity = verdict_value(summary, "memory.capacity_bytes");
    struct rlhfsim_value device = verdict_value(summary, "memory.device");
    struct rlhfsim_value phase = verdict_value(summary, "memory.phase");
    double peak_bytes = verdict_middle(&peak, 0), capacity_bytes = verdict_middle(&capacity, 0);
    if (fits.kind != RLHFSIM_VALUE_FLAG || peak_bytes <= 0 || capacity_bytes <= 0)
        return;
    page_label(page, "Memory");
    memory_word(page, forecast, fits.flag);
    page_words(page, "%s of %s on %s in %s", text_figure(&peak, text_bytes).chars,
               text_bytes(capacity_bytes).chars, word(&device), word(&phase));
    if (peak_bytes <= capacity_bytes)
        page_words(page, "; %s (%s) are left", text_gb(capacity_bytes - peak_bytes).chars,
                   text_percent(1 - peak_bytes / capacity_bytes).chars);
    page_end(page);
    owner_table(page, forecast, peak_bytes);
    worst_batch(page, forecast, fits.flag);
    host_memory(page, forecast);
    local_disks(page, forecast);
}

/* ---- models and steps ------------------------------------------------------------------------ */

static void model_row(struct page *page, const char *label,
                      const struct rlhfsim_model_facts *model) {
    page_label(page, label);
    page_words(page, "%s %s, %s parameters,", model->role, model->model,
               text_count(model->parameters).chars);
    if (model->trained_parameters == 0)
        page_words(page, "frozen");
    else if (model->lora_rank > 0)
        page_words(page, "%s of them trained (LoRA of rank %" PRId64 ")",
                   text_count(model->trained_parameters).chars, model->lora_rank);
    else
        page_words(page, "all trained");
    page_end(page);
}

void verdict_models(struct page *page, const struct rlhfsim_scenario *scenario) {
    struct rlhfsim_model_facts model;
    for (size_t i = 0; rlhfsim_scenario_model(scenario, i, &model); i++)
        model_row(page, i == 0 ? "Models" : "", &model);
}

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

/* What a pass over the data set does with the prompts that do not fill a step. */
static void rest_of_epoch(struct page *page, const struct rlhfsim_facts *facts) {
    int64_t rest = facts->short_prompts > 0 ? facts->short_prompts : facts->dropped_prompts;
    const char *what = facts->offline ? "pair" : "prompt";
    if (facts->short_prompts > 0)
        page_words(page, "; the last step of each pass over the data set is short: %s %s%s",
                   text_count(rest).chars, what, plural(rest));
    else if (rest > 0)
        page_words(page, "; each pass over the data set leaves out %s %s%s (dataset.drop_last)",
                   text_count(rest).chars, what, plural(rest));
}

static void offline_steps(struct page *page, const struct rlhfsim_facts *facts, int64_t optimizer) {
    page_label(page, "Steps");
    page_words(page, "%s optimizer step%s of %s pairs on all GPUs together, %s epoch%s; no rollout",
               text_count(optimizer).chars, plural(optimizer),
               text_count(facts->minibatch_samples).chars, text_count(facts->epochs).chars,
               plural(facts->epochs));
    rest_of_epoch(page, facts);
    page_end(page);
}

static void online_steps(struct page *page, const struct rlhfsim_facts *facts, int64_t rollout,
                         int64_t optimizer) {
    page_label(page, "Steps");
    page_words(
        page,
        "%s rollout step%s of %s prompts x %s sample%s; %s optimizer step%s of %s samples on all "
        "GPUs together, %s epoch%s over each rollout",
        text_count(rollout).chars, plural(rollout), text_count(facts->prompts_per_step).chars,
        text_count(facts->samples_per_prompt).chars, plural(facts->samples_per_prompt),
        text_count(optimizer).chars, plural(optimizer), text_count(facts->minibatch_samples).chars,
        text_count(facts->epochs).chars, plural(facts->epochs));
    rest_of_epoch(page, facts);
    page_end(page);
}

void verdict_steps(struct page *page, const struct rlhfsim_scenario *scenario,
                   const struct rlhfsim_summary *summary) {
    struct rlhfsim_facts facts;
    struct rlhfsim_value rollout = verdict_value(summary, "steps.rollout");
    struct rlhfsim_value optimizer = verdict_value(summary, "steps.optimizer");
    rlhfsim_scenario_facts(scenario, &facts);
    if (optimizer.kind != RLHFSIM_VALUE_COUNT)
        return;
    if (facts.offline)
        offline_steps(page, &facts, optimizer.count);
    else
        online_steps(page, &facts, rollout.count, optimizer.count);
}
