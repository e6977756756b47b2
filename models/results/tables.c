/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/results/tables.h"

#include "models/results/csv.h"

/* ---- timeline.csv ----------------------------------------------------------------------------*/

void results_timeline_header(struct results_output *output) {
    results_output_text(output, "start_s,end_s,step,resource,phase,model,bytes,flops\n");
}

void results_timeline_row(struct results_output *output, const struct results_names *names,
                          const struct sim *sim, const struct sim_span *span) {
    struct results_csv csv = {.output = output};
    results_csv_seconds(&csv, span->start);
    results_csv_seconds(&csv, span->end);
    results_csv_integer(&csv, span->tag.step);
    results_csv_text(&csv, sim_resource_name(sim, span->resource));
    results_csv_text(&csv, names->activity(span->tag.activity));
    results_csv_text(&csv, names->owner(span->tag.owner));
    results_csv_number(&csv, span->tag.bytes);
    results_csv_number(&csv, span->tag.flops);
    results_csv_end(&csv);
}

/* ---- memory.csv ------------------------------------------------------------------------------*/

void results_memory_header(struct results_output *output) {
    results_output_text(output, "time_s,device,owner,category,bytes\n");
}

void results_memory_row(struct results_output *output, const struct results_names *names,
                        const struct sim *sim, const struct sim_memory_change_record *change) {
    struct results_csv csv = {.output = output};
    results_csv_seconds(&csv, change->time);
    results_csv_text(&csv, sim_memory_name(sim, change->memory));
    results_csv_text(&csv, names->owner(change->owner));
    results_csv_text(&csv, names->category(change->category));
    results_csv_number(&csv, change->bytes);
    results_csv_end(&csv);
}

/* ---- phases.csv ------------------------------------------------------------------------------*/

void results_phases_header(struct results_output *output) {
    results_output_text(output, "step,phase,start_s,end_s,busy_s,idle_s\n");
}

void results_phases_row(struct results_output *output, int64_t step, enum algorithm_phase phase,
                        sim_time start, sim_time end, double busy_s, double idle_s) {
    struct results_csv csv = {.output = output};
    results_csv_integer(&csv, step);
    results_csv_text(&csv, algorithm_phase_name(phase));
    results_csv_seconds(&csv, start);
    results_csv_seconds(&csv, end);
    results_csv_number(&csv, busy_s);
    results_csv_number(&csv, idle_s);
    results_csv_end(&csv);
}

/* ---- cost.csv --------------------------------------------------------------------------------*/

static void cost_row(struct results_output *output, const struct results_names *names,
                     const struct cost_item *item) {
    struct results_csv csv = {.output = output};
    results_csv_number(&csv, item->start_s);
    results_csv_number(&csv, item->end_s);
    results_csv_text(&csv, item->item);
    results_csv_text(&csv, item->dimension);
    results_csv_number(&csv, item->quantity);
    results_csv_text(&csv, item->unit);
    results_csv_number(&csv, item->unit_price_usd);
    results_csv_number(&csv, item->amount_usd);
    results_csv_text(&csv, names->tags);
    results_csv_text(&csv, item->source);
    results_csv_end(&csv);
}

void results_cost_table(struct results_output *output, const struct results_names *names,
                        const struct cost_ledger *ledger) {
    results_output_text(output, "start_s,end_s,item,dimension,quantity,unit,unit_price_usd,"
                                "amount_usd,tags,source\n");
    for (size_t i = 0; i < ledger->count; i++)
        cost_row(output, names, &ledger->items[i]);
}
