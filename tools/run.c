/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rlhfsim run: one forecast. */
#include "command.h"
#include "diagnose.h"
#include "interrupt.h"
#include "note.h"
#include "pipeline.h"
#include "progress.h"
#include "session.h"

#define DEFAULT_REPLICATES 5
#define MOST_REPLICATES 100000

enum { KEY_OUT = 512, KEY_REPLICATES };

struct run {
    struct options options;
    const char *out; /* NULL: no files */
    uint64_t replicates;
};

static const struct argp_option table[] = {
    {.name = "out",
     .key = KEY_OUT,
     .arg = "DIR",
     .doc = "Write summary.json, timeline.csv, phases.csv, memory.csv, cost.csv and trace.json "
            "there"},
    {.name = "replicates",
     .key = KEY_REPLICATES,
     .arg = "N",
     .doc = "Independent repetitions behind P10, P50 and P90 (default 5)"},
    {0}};

static const char documentation[] =
    "Simulates the run that the file SCENARIO describes, and says how long it takes, what it "
    "costs, "
    "whether it fits in memory and where the time goes. A file with a pipeline runs its stages one "
    "after the other."
    "\v"
    "Examples:\n"
    "  rlhfsim run ppo.yaml\n"
    "  rlhfsim run ppo.yaml --out out --replicates 20\n"
    "  rlhfsim run ppo.yaml --set rollout.max_new_tokens=1024 --set cluster.nodes=2\n"
    "  rlhfsim run ppo.yaml --json --quiet > summary.json\n"
    "\n"
    "Exit status: 0 done; 1 it does not fit (the verdict is printed, and DIR gets\n"
    "summary.json and memory.csv); 2 bad usage or input, nothing is written; 3 this\n"
    "machine failed (files, memory); 130 interrupted.";

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct run *run = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &run->options;
        return 0;
    case KEY_OUT:
        return options_text("--out", "a directory", argument, &run->out);
    case KEY_REPLICATES:
        return options_number("--replicates", argument, 1, MOST_REPLICATES, &run->replicates);
    default:
        return options_scenario(key, argument, &run->options);
    }
}

static enum rlhfsim_status forecast(const struct run *run, struct session *session) {
    struct progress progress;
    struct rlhfsim_forecast_options how = {.replicates = (int)run->replicates,
                                           .ignore_memory = run->options.ignore_memory,
                                           .output_directory = run->out,
                                           .progress = progress_update,
                                           .progress_subject = &progress};
    interrupt_watch();
    progress_start(&progress, run->options.quiet);
    enum rlhfsim_status status =
        rlhfsim_forecast_run(session->scenario, &how, session->diagnostics, &session->forecast);
    progress_finish(&progress);
    return status;
}

static int execute(const struct run *run) {
    struct session session;
    struct pipeline_request chain = {
        .options = &run->options, .replicates = (int)run->replicates, .out = run->out};
    enum rlhfsim_status status = pipeline_find(&chain);
    if (status != RLHFSIM_OK)
        return rlhfsim_status_exit(status);
    if (chain.pipeline != NULL)
        return pipeline_execute(&chain);
    status = session_load(&session, &run->options);
    if (status == RLHFSIM_OK)
        status = forecast(run, &session);
    return session_end(&session, status, note_forecast);
}

static int run_main(int argc, char **argv) {
    static const struct argp_child children[] = {
        {.argp = &options_argp}, {.argp = &options_json_argp}, {0}};
    static const struct argp argp = {table, parse, "SCENARIO", documentation, children, NULL, NULL};
    struct run run = {.replicates = DEFAULT_REPLICATES};
    if (!options_start(&run.options, argc, argv[0]))
        return rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    int status = options_parse(&argp, argc, argv, &run) ? execute(&run) : EXIT_USAGE;
    options_end(&run.options);
    return status;
}

const struct command run_command = {"run", "forecast one run: time, money, memory", run_main};
