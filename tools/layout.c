/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "layout.h"

#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CELL_MOST 1024

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Names of at most six letters for the heads of the columns. */
static const char *const heads[][2] = {
    {"weights", "weight"},          {"master_weights", "master"},      {"gradients", "grads"},
    {"optimizer", "optim"},         {"gathered_parameters", "gather"}, {"activations", "activ"},
    {"kv_cache", "cache"},          {"engine_residue", "engine"},      {"context", "contxt"},
    {"allocator_reserve", "reserv"}};

static void head_of(const char *category, char head[8]) {
    (void)snprintf(head, 8, "%.6s", category);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (strcmp(heads[i][0], category) == 0)
            (void)snprintf(head, 8, "%s", heads[i][1]);
}

static bool is_used(const struct rlhfsim_forecast *forecast, size_t category) {
    const char *name;
    double bytes;
    for (size_t phase = 0;
         rlhfsim_forecast_phase_category(forecast, phase, category, &name, &bytes); phase++)
        if (bytes > 0.0)
            return true;
    return false;
}

/* Category columns that some phase has anything in, after the total. */
static void phase_head(struct page *page, const struct rlhfsim_forecast *forecast) {
    char line[CELL_MOST], head[8];
    const char *name;
    double bytes;
    size_t used = (size_t)snprintf(line, sizeof line, "  %-17s %6s", "", "total");
    for (size_t c = 0; rlhfsim_forecast_phase_category(forecast, 0, c, &name, &bytes); c++) {
        head_of(name, head);
        if (is_used(forecast, c))
            used += (size_t)snprintf(line + used, sizeof line - used, " %6s", head);
    }
    page_wide_row(page, "%s", line);
}

static void phase_row(struct page *page, const struct rlhfsim_forecast *forecast, size_t phase,
                      const struct rlhfsim_phase_memory *memory) {
    char line[CELL_MOST];
    const char *name;
    double bytes;
    size_t used = (size_t)snprintf(line, sizeof line, "  %-17s %6.1f", memory->phase,
                                   memory->gpu_bytes / 1e9);
    for (size_t c = 0; rlhfsim_forecast_phase_category(forecast, phase, c, &name, &bytes); c++) {
        if (!is_used(forecast, c))
            continue;
        used += bytes > 0.0
                    ? (size_t)snprintf(line + used, sizeof line - used, " %6.1f", bytes / 1e9)
                    : (size_t)snprintf(line + used, sizeof line - used, " %6s", "-");
    }
    page_wide_row(page, "%s", line);
}

void layout_phases(struct page *page, const struct rlhfsim_forecast *forecast) {
    struct rlhfsim_phase_memory memory;
    page_paragraph(page, "Phases", "GB on each GPU:");
    phase_head(page, forecast);
    for (size_t i = 0; rlhfsim_forecast_phase(forecast, i, &memory); i++)
        phase_row(page, forecast, i, &memory);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* "tp 2, pp 4, " where a rank's GPUs share more than tensors. */
static const char *parallel_text(const struct rlhfsim_layout *layout, char *text, size_t size) {
    const struct {
        const char *name;
        int ranks;
    } parts[] = {{"tp", layout->train_tp},
                 {"cp", layout->train_cp},
                 {"pp", layout->train_pp},
                 {"vpp", layout->train_vpp},
                 {"ep", layout->train_ep}};
    size_t used = 0;
    text[0] = '\0';
    if (layout->train_cp * layout->train_pp * layout->train_ep == 1)
        return text;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && used < size; i++)
        if (parts[i].ranks > 1)
            used += (size_t)snprintf(text + used, size - used, "%s %d, ", parts[i].name,
                                     parts[i].ranks);
    return text;
}

static void trainer_line(struct page *page, const struct rlhfsim_layout *layout) {
    char parallel[96];
    page_label(page, "Trainer");
    int gpus = layout->train_tp * layout->train_cp * layout->train_pp;
    page_words(page, "%d data parallel rank%s x %d GPU%s (%sZeRO stage %d);", layout->ranks,
               plural(layout->ranks), gpus, plural(gpus),
               parallel_text(layout, parallel, sizeof parallel), layout->zero_stage);
    if (layout->replicas > 0)
        page_words(page, "%s optimizer step%s a rollout step;",
                   text_count(layout->optimizer_steps).chars, plural(layout->optimizer_steps));
    page_words(page, "of each a rank takes %s %s", text_count(layout->rank_samples).chars,
               layout->replicas > 0 ? "samples" : "pairs");
    if (layout->microbatch_samples > 0)
        page_words(
            page, "in %s micro-batch%s of %s", text_count((int64_t)layout->microbatches).chars,
            layout->microbatches > 1.0 ? "es" : "", text_count(layout->microbatch_samples).chars);
    else
        page_words(page, "in about %s micro-batches of up to %s tokens",
                   text_count((int64_t)ceil(layout->microbatches)).chars,
                   text_count(layout->microbatch_tokens).chars);
    page_end(page);
}

static void engine_line(struct page *page, const struct rlhfsim_layout *layout) {
    if (layout->replicas == 0)
        return;
    page_label(page, "Engine");
    page_words(page, "%d replica%s x %d GPU%s;", layout->replicas, plural(layout->replicas),
               layout->rollout_tp, plural(layout->rollout_tp));
    page_words(page,
               "the KV cache of each has room for %s tokens, so %s of the longest sequences "
               "(%s tokens) run at once",
               text_count(layout->kv_tokens).chars, text_count(layout->longest_at_once).chars,
               text_count(layout->longest_tokens).chars);
    page_words(page,
               layout->longest_at_once == layout->max_num_seqs ? "(all of rollout.max_num_seqs)"
                                                               : "(rollout.max_num_seqs is %d)",
               layout->max_num_seqs);
    page_end(page);
}

static void bytes_line(struct page *page, const struct rlhfsim_layout *layout) {
    page_label(page, "Moved");
    if (layout->weight_sync != NULL)
        page_words(page, "%s a weight sync (%s);", text_gb(layout->weight_sync_bytes).chars,
                   layout->weight_sync);
    page_words(page, "a checkpoint has %s", text_gb(layout->checkpoint_bytes).chars);
    if (layout->checkpoint_every_steps > 0)
        page_words(page, ", every %s step%s, the last %s kept",
                   text_count(layout->checkpoint_every_steps).chars,
                   plural(layout->checkpoint_every_steps),
                   text_count(layout->checkpoint_keep).chars);
    else
        page_words(page, ", none is written");
    page_end(page);
}

void layout_saves(struct page *page, const struct rlhfsim_forecast *forecast) {
    const struct rlhfsim_layout *layout = rlhfsim_forecast_layout(forecast);
    if (layout->checkpoint_every_steps == 0)
        return;
    page_label(page, "Saves");
    page_words(page, "a checkpoint after every %s step%s and after the last step; %s each%s",
               text_count(layout->checkpoint_every_steps).chars,
               plural(layout->checkpoint_every_steps), text_duration(layout->checkpoint_s).chars,
               layout->checkpoint_write_s > 0.0 ? ", then" : " at");
    if (layout->node_store_bytes_per_s > 0.0)
        page_words(page, "%s GB/s a node to the store (%s)",
                   text_number(layout->node_store_bytes_per_s / 1e9).chars,
                   layout->node_store_provenance);
    if (layout->shared_store_bytes_per_s > 0.0)
        page_words(page,
                   layout->node_store_bytes_per_s > 0.0 ? "and at most %s GB/s of all nodes"
                                                        : "%s GB/s to the store",
                   text_number(layout->shared_store_bytes_per_s / 1e9).chars);
    if (layout->checkpoint_write_s > 0.0)
        page_words(page, "in %s in the background",
                   text_duration(layout->checkpoint_write_s).chars);
    page_end(page);
}

static bool actor_has_adapters(const struct rlhfsim_scenario *scenario) {
    struct rlhfsim_model_facts model;
    for (size_t i = 0; rlhfsim_scenario_model(scenario, i, &model); i++)
        if (strcmp(model.role, "actor") == 0)
            return model.lora_rank > 0;
    return false;
}

void layout_adapters(struct page *page, const struct rlhfsim_scenario *scenario,
                     const struct rlhfsim_forecast *forecast) {
    const struct rlhfsim_layout *layout = rlhfsim_forecast_layout(forecast);
    if (layout->weight_sync == NULL || !actor_has_adapters(scenario))
        return;
    if (layout->weight_sync_adapters)
        page_paragraph(page, "LoRA", "a weight sync moves the adapters alone (%s)",
                       layout->weight_sync);
    else
        page_paragraph(page, "LoRA",
                       "a weight sync moves the whole model, adapters merged into it (%s); only a "
                       "framework with adapters_only would send the adapters alone",
                       layout->weight_sync);
}

void layout_lines(struct page *page, const struct rlhfsim_forecast *forecast) {
    const struct rlhfsim_layout *layout = rlhfsim_forecast_layout(forecast);
    trainer_line(page, layout);
    engine_line(page, layout);
    bytes_line(page, layout);
    layout_saves(page, forecast);
    page_paragraph(page, "Price", "%s an hour, %s a node (%s)",
                   text_usd(layout->usd_per_hour).chars, text_usd(layout->node_usd_per_hour).chars,
                   layout->price_source);
}
