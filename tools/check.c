/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rlhfsim check: what can be said without the run. */
#include "command.h"
#include "diagnose.h"
#include "note.h"
#include "session.h"
#include "verdict.h"

static const char documentation[] =
    "Says everything that can be said without simulating about the run that the file SCENARIO "
    "describes: whether it is legal and fits in memory, and if not, in which phase and by how "
    "much; "
    "how the work is divided, what a step moves, what an hour costs."
    "\v"
    "Examples:\n"
    "  rlhfsim check ppo.yaml\n"
    "  rlhfsim check ppo.yaml --set training.zero_stage=2\n"
    "  rlhfsim check ppo.yaml --json\n"
    "\n"
    "Exit status: 0 it fits (or --ignore-memory was given); 1 it does not; 2 bad usage\n"
    "or input; 3 this machine failed (files, memory).";

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = state->child_inputs[1] = options;
        return 0;
    }
    return options_scenario(key, argument, options);
}

static bool only_memory_is_wrong(const struct session *session) {
    if (session->forecast == NULL)
        return false;
    struct rlhfsim_value fits =
        verdict_value(rlhfsim_forecast_summary(session->forecast), "memory.fits");
    return fits.kind == RLHFSIM_VALUE_FLAG && !fits.flag;
}

static int execute(const struct options *options) {
    struct session session;
    enum rlhfsim_status status = session_load(&session, options);
    if (status == RLHFSIM_OK)
        status = rlhfsim_forecast_check(session.scenario, session.diagnostics, &session.forecast);
    if (status == RLHFSIM_INFEASIBLE && options->ignore_memory && only_memory_is_wrong(&session))
        status = RLHFSIM_OK;
    return session_end(&session, status, note_check);
}

static int check_main(int argc, char **argv) {
    static const struct argp_child children[] = {
        {.argp = &options_argp}, {.argp = &options_json_argp}, {0}};
    static const struct argp argp = {NULL, parse, "SCENARIO", documentation, children, NULL, NULL};
    struct options options;
    if (!options_start(&options, argc, argv[0]))
        return rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    int status = options_parse(&argp, argc, argv, &options) ? execute(&options) : EXIT_USAGE;
    options_end(&options);
    return status;
}

const struct command check_command = {"check", "say without simulating whether it fits, and how",
                                      check_main};
