/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/summarise.h"
#include "models/forecast/band.h"
#include "models/forecast/footprint.h"
#include "models/forecast/plan_storage.h"

#include "models/scenario/placement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void forecast_ledger(const struct forecast_plan *plan, const struct forecast_measures *measures,
                     struct cost_ledger *ledger) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    const struct store *store = &plan->checkpoint.store;
    struct cost_usage usage = {
        .duration_s = measures->total_s,
        .nodes = scenario->cluster.nodes,
        .storage_byte_s = measures->storage_byte_s,
        .storage_peak_bytes = measures->stored_bytes, /* it only grows */
        .network_bytes = (double)scenario->checkpoint.exported * plan->checkpoint.bytes,
        .log_bytes = measures->samples * scenario->logging.bytes_per_sample *
                     scenario->logging.sampling_rate,
        .zones = scenario->cluster.zones.count > 1,
        .zone_bytes = measures->zone_bytes,
        .store_writes = store->part_bytes > 0.0,
        .store_requests =
            (double)measures->saves *
            store_write_requests(store, plan->checkpoint.clients, plan->checkpoint.bytes),
        .store_reads = scenario->prices.store_read_gb_usd > 0.0,
        .store_read_bytes = forecast_load_bytes(plan),
    };
    cost_ledger_fill(&scenario->prices, &usage, ledger);
}

struct figure_context {
    const struct forecast_plan *plan;
    const struct forecast_measures *measures; /* by replicate */
    struct cost_ledger *ledgers;              /* likewise */
    size_t replicates, shown;
    double *values; /* scratch */
};

typedef double(figure_func)(const struct figure_context *context, size_t replicate, size_t index);

static struct results_figure figure(const struct figure_context *context, figure_func *value,
                                    size_t index) {
    for (size_t r = 0; r < context->replicates; r++)
        context->values[r] = value(context, r, index);
    return results_figure_of(context->values, context->replicates);
}

static double gpus_of(const struct figure_context *context) {
    return context->plan->gpus;
}

static double peak_of(const struct figure_context *context) {
    const struct rlhfsim_scenario *scenario = context->plan->scenario;
    return scenario->cluster.gpu.peak_flops_per_s[scenario->training.precision];
}

/* Of the actor's weights; 0: not known. */
static double pretraining_flops(const struct figure_context *context) {
    return llm_pretraining_flops(
        &context->plan->scenario->models[ALGORITHM_ROLE_ACTOR].architecture);
}

static double pool_gpus(const struct figure_context *context, size_t pool) {
    return context->plan->pools[pool].gpus;
}

/* Each takes the replicate's measures as m and an index i where there are several of a kind. */
#define FIGURE(name, expression)                                                           \
    static double name(const struct figure_context *context, size_t replicate, size_t i) { \
        const struct forecast_measures *m = &context->measures[replicate];                 \
        const struct cost_ledger *ledger = &context->ledgers[replicate];                   \
        (void)m, (void)ledger, (void)i;                                                    \
        return expression;                                                                 \
    }

static double ratio(double a, double b) {
    return b > 0.0 ? a / b : 0.0;
}

FIGURE(total_s, m->total_s)
FIGURE(step_s, m->total_s / (double)m->steps)
FIGURE(phase_s, m->phase_s[i] / (double)m->steps)
FIGURE(phase_share, fmin(1.0, m->critical_s[i] / m->total_s)) /* up to rounding */
FIGURE(token_rate, m->tokens / m->total_s / gpus_of(context))
FIGURE(sample_rate, m->samples / m->total_s)
FIGURE(mfu_training, ratio(m->training_flops, m->training_gpu_s *peak_of(context)))
FIGURE(mfu_overall, m->flops / (m->total_s * gpus_of(context) * peak_of(context)))
FIGURE(mean_response, m->response_tokens / m->responses)
FIGURE(p50_response, m->response_p50)
FIGURE(p90_response, m->response_p90)
FIGURE(p99_response, m->response_p99)
FIGURE(max_response, m->response_max)
FIGURE(useless_tokens,
       context->plan->scenario->rollout.response.useless_share * m->response_tokens / m->responses)
FIGURE(share_cut, m->cut / m->responses)
FIGURE(rounds, m->rounds / (double)m->steps)
FIGURE(wasted_share, 1.0 - ratio(m->trained_responses, m->responses))
FIGURE(exhausted_share, m->exhausted / (double)m->steps)
FIGURE(tail_idle_s, m->tail_idle_s / (double)m->steps)
FIGURE(tail_floor_s, m->tail_floor_s / (double)m->steps)
FIGURE(total_flops, m->flops)
FIGURE(pretraining_fraction, m->flops / pretraining_flops(context))
FIGURE(gpu_hours, m->total_s *gpus_of(context) / 3600.0)
FIGURE(idle_fraction, fmax(0.0, 1.0 - m->busy_gpu_s / (m->total_s * gpus_of(context))))
FIGURE(pool_idle, fmax(0.0, 1.0 - m->pool_busy_gpu_s[i] / (m->total_s * pool_gpus(context, i))))
FIGURE(mean_versions, ratio(m->stale_versions, m->samples))
FIGURE(stale_share, ratio(m->stale_samples[i], m->samples))
FIGURE(total_usd, ledger->total_usd)
FIGURE(formula_usd, ledger->formula_usd)
FIGURE(item_usd, ledger->items[i].amount_usd)

FIGURE(update_s,
       (m->phase_s[ALGORITHM_PHASE_ACTOR_UPDATE] + m->phase_s[ALGORITHM_PHASE_CRITIC_UPDATE]) /
           (double)m->steps)
FIGURE(logprob_s,
       (m->phase_s[ALGORITHM_PHASE_ACTOR_LOGPROB] + m->phase_s[ALGORITHM_PHASE_REFERENCE_LOGPROB] +
        m->phase_s[ALGORITHM_PHASE_VALUES]) /
           (double)m->steps)

static void fill_time(const struct figure_context *context, struct rlhfsim_summary *summary) {
    summary->time.total_s = figure(context, total_s, 0);
    summary->time.step_s = figure(context, step_s, 0);
    summary->critical_path_count = 0;
    for (size_t phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++) {
        summary->time.phases_s[phase] = figure(context, phase_s, phase);
        if (context->measures[context->shown].critical_s[phase] > 0.0)
            summary->critical_path[summary->critical_path_count++] = (struct results_path_share){
                (enum algorithm_phase)phase, figure(context, phase_share, phase)};
    }
    summary->gpu_hours = figure(context, gpu_hours, 0);
    summary->idle_fraction = figure(context, idle_fraction, 0);
    summary->compute.total_flops = figure(context, total_flops, 0);
    if (pretraining_flops(context) > 0.0)
        summary->compute.pretraining_fraction = figure(context, pretraining_fraction, 0);
    summary->events = (int64_t)context->measures[context->shown].events;
}

/* A step's error is that of all its steps: what is off is off in each. */
static void fill_band(const struct figure_context *context, struct rlhfsim_summary *summary) {
    const struct scenario_band *bands = context->plan->scenario->bands;
    const struct scenario_band *step = &bands[SCENARIO_BAND_STEP];
    struct results_figure update = figure(context, update_s, 0);
    struct results_figure logprob = figure(context, logprob_s, 0);
    summary->band.expected_total_s = forecast_band_of(&summary->time.total_s, step);
    summary->band.expected_step_s = forecast_band_of(&summary->time.step_s, step);
    summary->band.expected_rollout_s = forecast_band_of(
        &summary->time.phases_s[ALGORITHM_PHASE_ROLLOUT], &bands[SCENARIO_BAND_ROLLOUT]);
    summary->band.expected_update_s = forecast_band_of(&update, &bands[SCENARIO_BAND_UPDATE]);
    summary->band.expected_logprob_s = forecast_band_of(&logprob, &bands[SCENARIO_BAND_LOGPROB]);
    (void)snprintf(summary->band.basis, sizeof summary->band.basis, "unvalidated");
    if (step->figures > 0)
        (void)snprintf(summary->band.basis, sizeof summary->band.basis,
                       "%d measured steps of %d sources", step->figures, step->sources);
}

static void fill_rates(const struct figure_context *context, struct rlhfsim_summary *summary) {
    summary->throughput.tokens_per_s_per_gpu = figure(context, token_rate, 0);
    summary->throughput.samples_per_s = figure(context, sample_rate, 0);
    summary->throughput.mfu_training = figure(context, mfu_training, 0);
    summary->throughput.mfu_overall = figure(context, mfu_overall, 0);
    summary->rollout.mean_response_tokens = figure(context, mean_response, 0);
    summary->rollout.p50_response_tokens = figure(context, p50_response, 0);
    summary->rollout.p90_response_tokens = figure(context, p90_response, 0);
    summary->rollout.p99_response_tokens = figure(context, p99_response, 0);
    summary->rollout.max_response_tokens = figure(context, max_response, 0);
    summary->rollout.useless_tokens = figure(context, useless_tokens, 0);
    summary->rollout.share_cut = figure(context, share_cut, 0);
    summary->rollout.tail_idle_s = figure(context, tail_idle_s, 0);
    if (context->plan->replicas > 0)
        summary->rollout.tail_floor_s = figure(context, tail_floor_s, 0);
}

static void fill_placement(const struct figure_context *context, struct rlhfsim_summary *summary) {
    const struct forecast_plan *plan = context->plan;
    if (plan->replicas > 0) {
        summary->rollout.rounds = figure(context, rounds, 0);
        summary->rollout.wasted_share = figure(context, wasted_share, 0);
        summary->rollout.exhausted_share = figure(context, exhausted_share, 0);
    }
    summary->staleness.mean_versions = figure(context, mean_versions, 0);
    for (size_t bin = 0; bin < FORECAST_STALENESS_BINS; bin++)
        if (context->measures[context->shown].stale_samples[bin] > 0.0)
            summary->staleness.shares[summary->staleness.share_count++] =
                (struct results_stale_share){(int64_t)bin, figure(context, stale_share, bin)};
    for (size_t pool = 0; plan->pool_count > 1 && pool < plan->pool_count; pool++)
        summary->pools[summary->pool_count++] = (struct results_pool){
            scenario_pool_name(plan->pools[pool].kind), plan->pools[pool].gpus,
            figure(context, pool_idle, pool), results_figure_exact(forecast_pool_peak(plan, pool))};
}

static void fill_cost(const struct figure_context *context, struct rlhfsim_summary *summary) {
    summary->cost.total_usd = figure(context, total_usd, 0);
    summary->cost.formula_usd = figure(context, formula_usd, 0);
    for (size_t i = 0; i < context->ledgers[0].count; i++)
        results_summary_add_item(summary, context->ledgers[0].items[i].item,
                                 figure(context, item_usd, i));
}

enum rlhfsim_status forecast_summarise(const struct forecast_plan *plan,
                                       const struct forecast_measures *measures, size_t replicates,
                                       size_t shown, struct rlhfsim_summary *summary) {
    struct cost_ledger *ledgers = calloc(replicates, sizeof *ledgers);
    double *values = calloc(replicates, sizeof *values);
    enum rlhfsim_status status = RLHFSIM_NO_MEMORY;
    if (ledgers == NULL || values == NULL)
        goto done;
    for (size_t r = 0; r < replicates; r++)
        forecast_ledger(plan, &measures[r], &ledgers[r]);
    struct figure_context context = {plan, measures, ledgers, replicates, shown, values};
    fill_time(&context, summary);
    fill_band(&context, summary);
    fill_rates(&context, summary);
    fill_placement(&context, summary);
    fill_cost(&context, summary);
    status = RLHFSIM_OK;
done:
    free(values);
    free(ledgers);
    return status;
}
