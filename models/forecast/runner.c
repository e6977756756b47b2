/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/runner.h"

bool runner_checks_each(const struct rlhfsim_scenario *scenario) {
    return scenario->reward.sample_p99_s > 0.0 || scenario->reward.timeout_s > 0.0 ||
           scenario->reward.calls_per_s > 0.0 || scenario->reward.during_rollout;
}

/* The steps under way do not count. */
static bool report_progress(const struct forecast_runner *runner) {
    const struct forecast_run_options *options = runner->options;
    double share = (double)runner->steps_done / (double)options->steps;
    if (options->progress == NULL)
        return true;
    return options->progress(options->progress_subject,
                             options->progress_from +
                                 share * (options->progress_to - options->progress_from));
}

bool runner_go_on(struct forecast_runner *runner) {
    if (!runner->cancelled && report_progress(runner))
        return true;
    runner->cancelled = true;
    sim_stop(runner->sim);
    return false;
}

/* Not every time: a rollout has very many ends. */
#define LISTENED 64

void runner_listen(struct forecast_runner *runner) {
    if (++runner->listened % LISTENED == 0)
        (void)runner_go_on(runner);
}

enum algorithm_phase runner_phase_of(const struct forecast_lane *lane) {
    const struct forecast_plan *plan = lane->runner->plan;
    if (lane->runner->loading)
        return ALGORITHM_PHASE_LOAD;
    return lane->phase == plan->step_count ? ALGORITHM_PHASE_CHECKPOINT
                                           : plan->steps[lane->phase].phase;
}

const struct algorithm_step *runner_current(const struct forecast_lane *lane) {
    return &lane->runner->plan->steps[lane->phase];
}

struct sim_task_tag runner_tag(const struct forecast_lane *lane, double bytes, double flops) {
    const struct algorithm_step *step = runner_current(lane);
    return (struct sim_task_tag){.activity = step->phase,
                                 .owner = step->role,
                                 .step = (int32_t)lane->flight->step,
                                 .bytes = bytes,
                                 .flops = flops};
}
