/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rlhfsim check: what can be said without the run. */
#include "command.h"
#include "diagnose.h"
#include "note.h"
#include "pipeline.h"
#include "session.h"
#include "verdict.h"

static const char documentation[] =
    "Says everything that can be said without simulating about the run that the file SCENARIO "
    "describes: whether it is legal and fits in memory, and if not, in which phase and by how "
    "much, "
    "and what would make it fit; how the work is divided, what a step moves, what an hour costs."
    "\v"
    "Examples:\n"
    "  rlhfsim check ppo.yaml\n"
    "  rlhfsim check ppo.yaml --set training.zero_stage=2\n"
    "  rlhfsim check ppo.yaml --min-gpus --max-microbatch\n"
    "  rlhfsim check ppo.yaml --json\n"
    "\n"
    "Exit status: 0 it fits (or --ignore-memory was given); 1 it does not; 2 bad usage\n"
    "or input; 3 this machine failed (files, memory).";

enum { KEY_MIN_GPUS = 512, KEY_MAX_MICROBATCH };

struct check {
    struct options options;
    bool min_gpus, max_microbatch;
};

static const struct argp_option table[] = {
    {.name = "min-gpus", .key = KEY_MIN_GPUS, .doc = "Find the least GPUs on which it fits"},
    {.name = "max-microbatch",
     .key = KEY_MAX_MICROBATCH,
     .doc = "Find the largest micro-batch, or token budget, that fits"},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct check *check = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &check->options;
        return 0;
    case KEY_MIN_GPUS:
        check->min_gpus = true;
        return 0;
    case KEY_MAX_MICROBATCH:
        check->max_microbatch = true;
        return 0;
    default:
        return options_scenario(key, argument, &check->options);
    }
}

static bool only_memory_is_wrong(const struct session *session) {
    if (session->forecast == NULL)
        return false;
    struct rlhfsim_value fits =
        verdict_value(rlhfsim_forecast_summary(session->forecast), "memory.fits");
    return fits.kind == RLHFSIM_VALUE_FLAG && !fits.flag;
}

static int execute(const struct check *check) {
    const struct options *options = &check->options;
    struct session session;
    struct pipeline_request chain = {.options = options};
    enum rlhfsim_status status = pipeline_find(&chain);
    if (status != RLHFSIM_OK)
        return rlhfsim_status_exit(status);
    if (chain.pipeline != NULL && !check->min_gpus && !check->max_microbatch)
        return pipeline_execute(&chain);
    pipeline_drop(&chain);
    status = session_load(&session, options);
    session.wants_min_gpus = check->min_gpus;
    session.wants_max_microbatch = check->max_microbatch;
    if (status == RLHFSIM_OK)
        status = rlhfsim_forecast_check(session.scenario, session.diagnostics, &session.forecast);
    status = session_advise(&session, status);
    if (status == RLHFSIM_INFEASIBLE && options->ignore_memory && only_memory_is_wrong(&session))
        status = RLHFSIM_OK;
    return session_end(&session, status, note_check);
}

static int check_main(int argc, char **argv) {
    static const struct argp_child children[] = {
        {.argp = &options_argp}, {.argp = &options_json_argp}, {0}};
    static const struct argp argp = {table, parse, "SCENARIO", documentation, children, NULL, NULL};
    struct check check = {0};
    if (!options_start(&check.options, argc, argv[0]))
        return rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    int status = options_parse(&argp, argc, argv, &check) ? execute(&check) : EXIT_USAGE;
    options_end(&check.options);
    return status;
}

const struct command check_command = {"check", "say without simulating whether it fits, and how",
                                      check_main};
