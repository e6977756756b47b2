/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rlhfsim calibrate: coefficients fitted to measurements, as a file of the catalog. */
#include "calibrate_log.h"
#include "catalog_path.h"
#include "command.h"
#include "diagnose.h"
#include "options.h"
#include "page.h"
#include "spelling.h"
#include "text.h"

#include <rlhfsim/rlhfsim.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_OUT = 512, KEY_CATALOG, KEY_SCENARIO, KEY_SET };

struct calibrate {
    const char *program, *kind, *out, *scenario;
    const char **paths, **catalogs, **sets; /* room for all arguments */
    size_t path_count, catalog_count, set_count;
};

static const struct argp_option table[] = {
    {.name = "out",
     .key = KEY_OUT,
     .arg = "FILE",
     .doc = "Write the coefficients there; without it they are printed"},
    {.name = "catalog",
     .key = KEY_CATALOG,
     .arg = "DIR",
     .doc = "Read catalogs of your own; their rows replace those of the same name (repeatable)"},
    {.name = "scenario",
     .key = KEY_SCENARIO,
     .arg = "SCENARIO",
     .doc = "log: the scenario of the run that was logged"},
    {.name = "set",
     .key = KEY_SET,
     .arg = "KEY=VALUE",
     .doc = "log: set one key of the scenario (repeatable)"},
    {.key = 'h', .flags = OPTION_HIDDEN, .doc = "Give this help list"},
    {0}};

static const char documentation[] =
    "Fits coefficients to the measurements in the files PATH and writes them as a file of the "
    "catalog, each row with its source, the command and its error, also on shapes that were left "
    "out of the fit. KIND is: kernels (tables of kernel times; makes kernels.csv), training "
    "(tables of training steps; training.csv), generation (tables of serving speed; engines.csv), "
    "collectives (sweeps as nccl-tests prints them; fabrics.csv), weight-sync (times of weight "
    "syncs; weight_sync.csv), memory (printed peaks of trainers; memory.csv), runs (a folder of "
    "published runs; frameworks.csv), bands (the same folder; bands.csv, how far off forecasts of "
    "sources are that were left out) or log (steps of a run of your own, as verl's console prints "
    "them or as CSV, against its SCENARIO; a file that run, check and sweep multiply times by)."
    "\v"
    "Examples:\n"
    "  rlhfsim calibrate kernels gemm.csv attention.csv --out mine/kernels.csv\n"
    "  rlhfsim calibrate training steps.csv --out mine/training.csv\n"
    "  rlhfsim calibrate collectives sweeps.csv --out mine/fabrics.csv\n"
    "  rlhfsim calibrate runs measured --out mine/frameworks.csv\n"
    "  rlhfsim calibrate bands measured --out mine/bands.csv\n"
    "  rlhfsim run my-run.yaml --catalog mine\n"
    "  rlhfsim calibrate log train.log --scenario my-run.yaml --out mine.csv\n"
    "  rlhfsim run my-next-run.yaml --calibration mine.csv\n"
    "\n"
    "Exit status: 0 done, whatever the errors; 2 bad usage or input; 3 this machine\n"
    "failed (files, memory).";

/* ---- the command line ------------------------------------------------------------------------ */

static error_t add_catalog(struct calibrate *calibrate, const char *directory) {
    if (!catalog_path_is_directory(directory)) {
        diagnose_value("--catalog", "expected a directory of catalogs, got '%s'", directory);
        return EINVAL;
    }
    calibrate->catalogs[calibrate->catalog_count++] = directory;
    return 0;
}

static const char log_kind[] = "log";

/* Those of the library, then the one that needs a scenario. */
static const char *kind_name(size_t index) {
    size_t count = 0;
    while (rlhfsim_calibration_kind(count) != NULL)
        count++;
    return index == count ? log_kind : rlhfsim_calibration_kind(index);
}

static bool is_kind(const char *name) {
    const char *kind;
    for (size_t i = 0; (kind = kind_name(i)) != NULL; i++)
        if (strcmp(kind, name) == 0)
            return true;
    return false;
}

static bool is_log(const struct calibrate *calibrate) {
    return calibrate->kind != NULL && strcmp(calibrate->kind, log_kind) == 0;
}

static error_t add_argument(struct calibrate *calibrate, const char *argument) {
    if (calibrate->kind != NULL) {
        calibrate->paths[calibrate->path_count++] = argument;
        return 0;
    }
    calibrate->kind = argument;
    if (is_kind(argument))
        return 0;
    diagnose_kind(calibrate->program, argument, kind_name);
    return EINVAL;
}

static error_t check_complete(const struct calibrate *calibrate) {
    const char *fault = NULL;
    if (calibrate->kind == NULL)
        fault = "the KIND is missing";
    else if (calibrate->path_count == 0)
        fault = "a PATH is missing";
    else if (is_log(calibrate) && calibrate->scenario == NULL)
        fault = "calibrate log needs --scenario SCENARIO, the run that was logged";
    else if (!is_log(calibrate) && (calibrate->scenario != NULL || calibrate->set_count > 0))
        fault = "--scenario and --set are for calibrate log";
    if (fault == NULL)
        return 0;
    diagnose_usage(calibrate->program, "%s", fault);
    return EINVAL;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct calibrate *calibrate = state->input;
    switch (key) {
    case KEY_OUT:
        return options_text("--out", "a file", argument, &calibrate->out);
    case KEY_CATALOG:
        return add_catalog(calibrate, argument);
    case KEY_SCENARIO:
        return options_text("--scenario", "a file", argument, &calibrate->scenario);
    case KEY_SET:
        calibrate->sets[calibrate->set_count++] = argument;
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARG:
        return add_argument(calibrate, argument);
    case ARGP_KEY_END:
        return check_complete(calibrate);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- the note -------------------------------------------------------------------------------- */

static struct text share(double fraction) {
    return isfinite(fraction) ? text_percent(fraction) : (struct text){"-"};
}

static void note_line(struct page *page, const struct rlhfsim_calibration_line *line) {
    char subject[128];
    (void)snprintf(subject, sizeof subject, "%s%s%s", line->subject,
                   line->from == NULL ? "" : " from ", line->from == NULL ? "" : line->from);
    page_row(page, "%-60.60s %6zu  %7s %7s  %7s %7s", subject, line->points,
             share(line->median_error).chars, share(line->p90_error).chars,
             share(line->held_out_median_error).chars, share(line->held_out_p90_error).chars);
}

static void note_own(struct page *page, const struct rlhfsim_calibration *calibration) {
    struct rlhfsim_calibration_line line;
    page_row(page, "%-60s %6s  %7s %7s  %7s %7s", "fitted", "points", "median", "P90", "held out",
             "P90");
    for (size_t i = 0; rlhfsim_calibration_line(calibration, i, &line); i++)
        if (line.from == NULL)
            note_line(page, &line);
}

static void note_transferred(struct page *page, const struct rlhfsim_calibration *calibration) {
    struct rlhfsim_calibration_line line;
    size_t shown = 0;
    for (size_t i = 0; rlhfsim_calibration_line(calibration, i, &line); i++) {
        if (line.from == NULL)
            continue;
        if (shown++ == 0)
            page_row(page, "%-60s %6s  %7s %7s", "of another GPU", "points", "median", "P90");
        note_line(page, &line);
    }
}

static void note(const struct rlhfsim_calibration *calibration, const char *kind, const char *out) {
    struct page page;
    const char *reason;
    size_t count;
    page_start(&page, stdout);
    page_title(&page, kind);
    page_label(&page, "Errors");
    page_words(&page, "|fitted / measured - 1|; held out: what the fit had not seen");
    page_end(&page);
    note_own(&page, calibration);
    note_transferred(&page, calibration);
    for (size_t i = 0; rlhfsim_calibration_skipped(calibration, i, &reason, &count); i++)
        page_paragraph(&page, i == 0 ? "Left out" : "", "%zu: %s", count, reason);
    page_paragraph(&page, "Written", "%s", out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum rlhfsim_status put(const struct calibrate *calibrate,
                               const struct rlhfsim_calibration *calibration,
                               struct rlhfsim_diagnostics *diagnostics) {
    if (calibrate->out == NULL) {
        fputs(rlhfsim_calibration_text(calibration), stdout);
        return RLHFSIM_OK;
    }
    enum rlhfsim_status status =
        rlhfsim_calibration_write(calibration, calibrate->out, diagnostics);
    if (status == RLHFSIM_OK)
        note(calibration, calibrate->kind, calibrate->out);
    return status;
}

static int execute_log(const struct calibrate *calibrate) {
    struct calibrate_log request = {.program = calibrate->program,
                                    .scenario = calibrate->scenario,
                                    .out = calibrate->out,
                                    .logs = calibrate->paths,
                                    .log_count = calibrate->path_count,
                                    .catalogs = calibrate->catalogs,
                                    .catalog_count = calibrate->catalog_count,
                                    .sets = calibrate->sets,
                                    .set_count = calibrate->set_count};
    return calibrate_log(&request);
}

static int execute(const struct calibrate *calibrate) {
    char catalog[PATH_MAX];
    struct rlhfsim_calibration *calibration = NULL;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_calibration_options options = {.catalog_directory = catalog,
                                                  .user_directories = calibrate->catalogs,
                                                  .user_directory_count = calibrate->catalog_count};
    enum rlhfsim_status status =
        diagnostics == NULL ? RLHFSIM_NO_MEMORY : catalog_path_find(catalog, diagnostics);
    if (status == RLHFSIM_OK)
        status = rlhfsim_calibration_run(calibrate->kind, calibrate->paths, calibrate->path_count,
                                         &options, diagnostics, &calibration);
    if (status == RLHFSIM_OK)
        status = put(calibrate, calibration, diagnostics);
    if (status != RLHFSIM_OK)
        diagnose_all(calibrate->program, status, diagnostics);
    rlhfsim_calibration_free(calibration);
    rlhfsim_diagnostics_free(diagnostics);
    return rlhfsim_status_exit(status);
}

static int calibrate_main(int argc, char **argv) {
    static const struct argp argp = {
        .options = table, .parser = parse, .args_doc = "KIND PATH...", .doc = documentation};
    struct calibrate calibrate = {.program = argv[0]};
    int status = EXIT_USAGE;
    calibrate.paths = calloc((size_t)argc + 1, sizeof *calibrate.paths);
    calibrate.catalogs = calloc((size_t)argc + 1, sizeof *calibrate.catalogs);
    calibrate.sets = calloc((size_t)argc + 1, sizeof *calibrate.sets);
    if (calibrate.paths == NULL || calibrate.catalogs == NULL || calibrate.sets == NULL) {
        diagnose_all(calibrate.program, RLHFSIM_NO_MEMORY, NULL);
        status = rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    } else if (options_parse(&argp, argc, argv, &calibrate)) {
        status = is_log(&calibrate) ? execute_log(&calibrate) : execute(&calibrate);
    }
    free(calibrate.paths);
    free(calibrate.catalogs);
    free(calibrate.sets);
    return status;
}

const struct command calibrate_command = {"calibrate", "fit coefficients to measurements",
                                          calibrate_main};
