/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/run_outcome.h"

#include "models/base/text.h"
#include "models/forecast/footprint.h"
#include "models/forecast/planning.h"
#include "models/forecast/run.h"
#include "models/training/flops.h"
#include "models/validation/training_forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a whole run ----------------------------------------------------------------------------- */

#define ENOUGH_SAMPLES 1024
#define MOST_STEPS 4

static int64_t steps_of(const struct rlhfsim_scenario *scenario) {
    int64_t samples = scenario->algorithm.prompts_per_step * scenario->algorithm.samples_per_prompt;
    int64_t steps = (ENOUGH_SAMPLES + samples - 1) / samples;
    return steps < MOST_STEPS ? steps : MOST_STEPS;
}

/* The engine's share of a GPU is not in the tables: the first of these that holds its weights and
 * one sequence. */
static const double engine_shares[] = {0.5, 0.6, 0.7, 0.8, 0.9};

static void make_plan(struct rlhfsim_scenario *scenario, struct forecast_plan *plan) {
    for (size_t i = 0; i < sizeof engine_shares / sizeof *engine_shares; i++) {
        scenario->rollout.memory_fraction = engine_shares[i];
        forecast_plan_make(scenario, plan);
        if (plan->kv_missing_bytes <= 0.0)
            return;
    }
}

/* What the trainer's allocator sees: models and its reserve, not the engine's pool. */
static double trainer_peak(const struct forecast_plan *plan) {
    double most = 0.0;
    for (size_t i = 0; i < plan->step_count; i++) {
        double sum = plan->memory[i].gpu[FORECAST_OWNER_SYSTEM][FORECAST_CATEGORY_RESERVE];
        for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
            for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
                sum += plan->memory[i].gpu[role][category];
        most = fmax(most, sum);
    }
    return most;
}

static void take_measures(const struct forecast_plan *plan,
                          const struct forecast_measures *measures, struct run_outcome *outcome) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    double steps = (double)measures->steps;
    *outcome = (struct run_outcome){
        .steps = steps,
        .step_s = measures->total_s / steps,
        .driver_s = scenario->framework.step_host_s,
        .microbatch_s = (double)NAN,
        .gpus = plan->gpus,
        .peak_flops_per_s = scenario->cluster.gpu.peak_flops_per_s[scenario->training.precision],
        .samples = measures->samples / steps,
        .tokens = measures->tokens / steps,
        .response_tokens = measures->response_tokens / steps,
        .training_flops = measures->training_flops / steps,
        .training_gpu_s = measures->training_gpu_s / steps,
        .peak_bytes = trainer_peak(plan),
        .host_bytes = forecast_host_peak(plan).bytes,
    };
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        outcome->phase_s[phase] = measures->phase_s[phase] / steps;
}

/* Of a scenario that is only read: the engine's share is set in a copy. */
static enum rlhfsim_status simulate(struct rlhfsim_scenario *scenario, int64_t steps,
                                    struct forecast_plan *plan,
                                    struct rlhfsim_diagnostics *diagnostics,
                                    struct forecast_measures *measures) {
    struct forecast_run_options options = {.steps = steps};
    scenario->steps = steps;
    make_plan(scenario, plan);
    return forecast_run(plan, &options, diagnostics, measures);
}

/* Where pools work at once the first steps fill the queue between them: they are taken off. */
#define FILLING_STEPS 2
#define STEADY_STEPS 4

static void take_off(struct forecast_measures *measures, const struct forecast_measures *first) {
    measures->steps -= first->steps;
    measures->total_s -= first->total_s;
    for (int phase = 0; phase < ALGORITHM_PHASE_COUNT; phase++)
        measures->phase_s[phase] -= first->phase_s[phase];
    measures->samples -= first->samples;
    measures->tokens -= first->tokens;
    measures->response_tokens -= first->response_tokens;
    measures->training_flops -= first->training_flops;
    measures->training_gpu_s -= first->training_gpu_s;
}

static bool overlaps(const struct rlhfsim_scenario *scenario) {
    return scenario->placement.mode == SCENARIO_ONE_STEP_OFF ||
           scenario->placement.mode == SCENARIO_ASYNC;
}

static enum rlhfsim_status forecast_scenario(const struct rlhfsim_scenario *scenario,
                                             struct rlhfsim_diagnostics *diagnostics,
                                             struct run_outcome *outcome) {
    struct rlhfsim_scenario *copy = malloc(sizeof *copy);
    struct forecast_plan *plan = malloc(sizeof *plan);
    struct forecast_measures measures;
    enum rlhfsim_status status = copy == NULL || plan == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    if (status == RLHFSIM_OK) {
        *copy = *scenario;
        struct forecast_measures first;
        if (overlaps(scenario))
            status = simulate(copy, FILLING_STEPS, plan, diagnostics, &first);
        int64_t steps = overlaps(scenario) ? FILLING_STEPS + STEADY_STEPS : steps_of(scenario);
        if (status == RLHFSIM_OK)
            status = simulate(copy, steps, plan, diagnostics, &measures);
        if (status == RLHFSIM_OK && overlaps(scenario))
            take_off(&measures, &first);
    }
    if (status == RLHFSIM_OK)
        take_measures(plan, &measures, outcome);
    free(plan);
    free(copy);
    return status;
}

bool run_fits(const struct run_case *run, enum rlhfsim_status *status) {
    struct rlhfsim_scenario *copy = malloc(sizeof *copy);
    struct forecast_plan *plan = malloc(sizeof *plan);
    bool fits = false;
    *status = copy == NULL || plan == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    if (*status == RLHFSIM_OK) {
        *copy = *run->scenario;
        make_plan(copy, plan);
        fits = forecast_plan_fits(plan);
    }
    free(plan);
    free(copy);
    return fits;
}

/* ---- a trainer alone ------------------------------------------------------------------------- */

static enum rlhfsim_status forecast_trainer(const struct run_case *run,
                                            struct run_outcome *outcome) {
    const struct training_row *row = run->trainer;
    const struct training_plan *plan = &row->plan;
    double gpus = hardware_cluster_gpus(&row->cluster), step_s = training_forecast_s(row);
    struct llm_batch batch =
        llm_batch_of(plan->architecture, row->microbatch_sequences, row->sequence_tokens);
    double flops = training_forward_flops(plan, &batch) + training_backward_flops(plan, &batch);
    double passes = (double)row->microbatches * plan->dp;
    if (isnan(step_s))
        return RLHFSIM_NO_MEMORY;
    *outcome = (struct run_outcome){
        .steps = 1.0,
        .step_s = step_s,
        .microbatch_s = step_s / (double)row->microbatches,
        .gpus = gpus,
        .peak_flops_per_s = row->cluster.gpu.peak_flops_per_s[plan->precision],
        .samples = batch.sequences * passes,
        .tokens = batch.tokens * passes,
        .response_tokens = batch.tokens * passes,
        .training_flops = flops * passes,
        .training_gpu_s = step_s * gpus,
        .peak_bytes = run->peak_bytes,
        .host_bytes = (double)NAN,
    };
    return RLHFSIM_OK;
}

enum rlhfsim_status run_forecast(const struct run_case *run,
                                 struct rlhfsim_diagnostics *diagnostics,
                                 struct run_outcome *outcome) {
    if (run->trainer != NULL)
        return forecast_trainer(run, outcome);
    return forecast_scenario(run->scenario, diagnostics, outcome);
}

/* ---- figures --------------------------------------------------------------------------------- */

struct view {
    const struct run_case *run;
    const struct run_figure *figure;
    const struct run_outcome *outcome;
};

static bool says(const struct view *view, const char *words) {
    return strstr(view->figure->notes, words) != NULL;
}

static double phase_s(const struct view *view, enum algorithm_phase phase) {
    return view->outcome->phase_s[phase];
}

static double step_s(const struct view *view) {
    return view->outcome->step_s;
}

static double sync_s(const struct view *view) {
    return phase_s(view, ALGORITHM_PHASE_WEIGHT_SYNC);
}

/* The driver's work of a step is in the transition and in no timer of generation. */
static double generation_s(const struct view *view) {
    double seconds = phase_s(view, ALGORITHM_PHASE_ROLLOUT);
    const char *framework = run_case_cell(view->run, "framework");
    bool inside = strcmp(framework, "verl") == 0 || strcmp(framework, "easyr1") == 0;
    if (!inside)
        return seconds;
    seconds += phase_s(view, ALGORITHM_PHASE_TRANSITION) - view->outcome->driver_s;
    return run_case_has(view->run, "weight_sync_s") ? seconds : seconds + sync_s(view);
}

static double logprobs_s(const struct view *view) {
    return phase_s(view, ALGORITHM_PHASE_ACTOR_LOGPROB) +
           phase_s(view, ALGORITHM_PHASE_REFERENCE_LOGPROB);
}

static double experience_s(const struct view *view) {
    return logprobs_s(view) + phase_s(view, ALGORITHM_PHASE_VALUES) +
           phase_s(view, ALGORITHM_PHASE_REWARD);
}

static double training_s(const struct view *view) {
    double seconds =
        phase_s(view, ALGORITHM_PHASE_ACTOR_UPDATE) + phase_s(view, ALGORITHM_PHASE_CRITIC_UPDATE);
    return says(view, "log-prob") ? seconds + logprobs_s(view) : seconds;
}

static double actor_logprob_s(const struct view *view) {
    return phase_s(view, ALGORITHM_PHASE_ACTOR_LOGPROB);
}

static double reference_logprob_s(const struct view *view) {
    return phase_s(view, ALGORITHM_PHASE_REFERENCE_LOGPROB);
}

static double values_s(const struct view *view) {
    return phase_s(view, ALGORITHM_PHASE_VALUES);
}

static double reward_s(const struct view *view) {
    return phase_s(view, ALGORITHM_PHASE_REWARD);
}

static double actor_update_s(const struct view *view) {
    return phase_s(view, ALGORITHM_PHASE_ACTOR_UPDATE);
}

static double critic_update_s(const struct view *view) {
    return phase_s(view, ALGORITHM_PHASE_CRITIC_UPDATE);
}

/* What is left of a step beside the trainer's own phases. */
static double wait_s(const struct view *view) {
    double busy_s = experience_s(view) + sync_s(view) +
                    phase_s(view, ALGORITHM_PHASE_ACTOR_UPDATE) +
                    phase_s(view, ALGORITHM_PHASE_CRITIC_UPDATE);
    return fmax(0.0, view->outcome->step_s - busy_s);
}

static double microbatch_s(const struct view *view) {
    return view->outcome->microbatch_s;
}

static double tokens_per_s(const struct view *view) {
    bool responses = says(view, "response tokens") && !says(view, "prompt + response");
    return (responses ? view->outcome->response_tokens : view->outcome->tokens) /
           view->outcome->step_s;
}

static double tokens_per_s_per_gpu(const struct view *view) {
    return tokens_per_s(view) / view->outcome->gpus;
}

/* Of the peak that the notes name ("relative to 312 TFLOPS"), else of the GPU's. */
static double mfu(const struct view *view) {
    const struct run_outcome *outcome = view->outcome;
    const char *peak = strstr(view->figure->notes, "relative to ");
    double stated = peak == NULL ? 0.0 : strtod(peak + strlen("relative to "), NULL) * 1e12;
    double flops_per_s = outcome->training_flops / outcome->training_gpu_s;
    return flops_per_s / (stated > 0.0 ? stated : outcome->peak_flops_per_s);
}

#define GIBIBYTE 1073741824.0
#define GIGABYTE 1e9

static double unit_of(const struct view *view) {
    return says(view, "GiB") ? GIBIBYTE : GIGABYTE;
}

static double peak_memory_gb(const struct view *view) {
    return view->outcome->peak_bytes / unit_of(view);
}

static double host_memory_gb(const struct view *view) {
    return view->outcome->host_bytes / unit_of(view);
}

/* "steps=100", "samples=204800": the work that was done in those hours. */
static double hours_total(const struct view *view) {
    const char *notes = view->figure->notes;
    double steps = (double)NAN;
    if (strncmp(notes, "steps=", 6) == 0)
        steps = strtod(notes + 6, NULL);
    else if (strncmp(notes, "samples=", 8) == 0 || strncmp(notes, "rollouts=", 9) == 0)
        steps = strtod(strchr(notes, '=') + 1, NULL) / view->outcome->samples;
    return steps * view->outcome->step_s / 3600.0;
}

static const struct {
    const char *metric;
    double (*value)(const struct view *view);
    const char *reason; /* where there is no value */
} figures[] = {
    {"step_s", step_s, ""},
    {"generation_s", generation_s, ""},
    {"actor_update_s", actor_update_s, ""},
    {"critic_update_s", critic_update_s, ""},
    {"training_s", training_s, ""},
    {"actor_logprob_s", actor_logprob_s, ""},
    {"reference_logprob_s", reference_logprob_s, ""},
    {"values_s", values_s, ""},
    {"reward_s", reward_s, ""},
    {"experience_s", experience_s, ""},
    {"weight_sync_s", sync_s, ""},
    {"reshard_s", sync_s, ""},
    {"wait_s", wait_s, ""},
    {"exposed_generation_s", wait_s, ""},
    {"microbatch_s", microbatch_s, "a micro-batch is timed of a trainer alone"},
    {"tokens_per_s", tokens_per_s, ""},
    {"tokens_per_s_per_gpu", tokens_per_s_per_gpu, ""},
    {"mfu", mfu, ""},
    {"peak_memory_gb", peak_memory_gb, "the memory of the trainer is not known"},
    {"host_memory_gb", host_memory_gb, "a trainer alone has no host memory in its plan"},
    {"hours_total", hours_total, "the steps done in those hours are not stated"},
};

double run_figure_forecast(const struct run_case *run, const struct run_figure *figure,
                           const struct run_outcome *outcome, const char **reason) {
    struct view view = {run, figure, outcome};
    *reason = "the metric is not forecast";
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (strcmp(figures[i].metric, figure->metric) != 0)
            continue;
        double value = figures[i].value(&view);
        *reason = value == 0.0 ? "the forecast has no such phase" : figures[i].reason;
        return value > 0.0 ? value : (double)NAN;
    }
    return (double)NAN;
}
