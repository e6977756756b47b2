/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rlhfsim validate: forecasts of measured cases, and how far off they are. */
#include "catalog_path.h"
#include "command.h"
#include "diagnose.h"
#include "options.h"
#include "page.h"
#include "plot.h"
#include "spelling.h"
#include "text.h"

#include <rlhfsim/rlhfsim.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_OUT = 512, KEY_JSON, KEY_CATALOG, KEY_EMIT };

struct validate {
    const char *program, *kind, *out, *scenarios;
    const char **paths, **catalogs; /* room for all arguments */
    size_t path_count, catalog_count;
    bool json;
};

static const struct argp_option table[] = {
    {.name = "out", .key = KEY_OUT, .arg = "DIR", .doc = "Write validation.csv there (default .)"},
    {.name = "json", .key = KEY_JSON, .doc = "Print the errors as JSON in place of the note"},
    {.name = "catalog",
     .key = KEY_CATALOG,
     .arg = "DIR",
     .doc = "Read catalogs of your own; their rows replace those of the same name (repeatable)"},
    {.name = "emit-scenarios",
     .key = KEY_EMIT,
     .arg = "DIR",
     .doc = "Kind runs: write the scenario of every run there, with what was assumed"},
    {.key = 'h', .flags = OPTION_HIDDEN, .doc = "Give this help list"},
    {0}};

static const char documentation[] =
    "Forecasts the measured cases in the files PATH and says how far off the forecasts are, by "
    "source, and what was skipped and why. KIND is: parameters (tables of models: name, "
    "config_json, the path of one, and computed_params), kernels (tables of kernel times), "
    "training (tables of training steps), "
    "generation (tables of serving speed), collectives (sweeps as nccl-tests prints them), "
    "weight-sync (times of weight syncs, or figures.csv of runs), memory (training steps with "
    "mem_gb, or memory cases with outcome) or runs (folders with runs.csv and figures.csv: whole "
    "runs that others measured)."
    "\v"
    "Examples:\n"
    "  rlhfsim validate parameters models.csv\n"
    "  rlhfsim validate kernels gemm.csv attention.csv\n"
    "  rlhfsim validate training steps.csv --out errors\n"
    "  rlhfsim validate generation serving.csv\n"
    "  rlhfsim validate parameters models.csv --out errors --json\n"
    "  rlhfsim validate collectives sweeps.csv\n"
    "  rlhfsim validate memory memory.csv\n"
    "  rlhfsim validate runs measured --out errors --emit-scenarios scenarios\n"
    "\n"
    "Exit status: 0 done, whatever the errors; 2 bad usage or input; 3 this machine\n"
    "failed (files, memory).";

/* ---- the command line ------------------------------------------------------------------------ */

static error_t add_catalog(struct validate *validate, const char *directory) {
    if (!catalog_path_is_directory(directory)) {
        diagnose_value("--catalog", "expected a directory of catalogs, got '%s'", directory);
        return EINVAL;
    }
    validate->catalogs[validate->catalog_count++] = directory;
    return 0;
}

static bool is_kind(const char *name) {
    const char *kind;
    for (size_t i = 0; (kind = rlhfsim_validation_kind(i)) != NULL; i++)
        if (strcmp(kind, name) == 0)
            return true;
    return false;
}

static error_t add_argument(struct validate *validate, const char *argument) {
    if (validate->kind != NULL) {
        validate->paths[validate->path_count++] = argument;
        return 0;
    }
    validate->kind = argument;
    if (is_kind(argument))
        return 0;
    diagnose_kind(validate->program, argument, rlhfsim_validation_kind);
    return EINVAL;
}

static error_t check_complete(const struct validate *validate) {
    if (validate->path_count > 0)
        return 0;
    diagnose_usage(validate->program,
                   validate->kind == NULL ? "the KIND is missing" : "a PATH is missing");
    return EINVAL;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct validate *validate = state->input;
    switch (key) {
    case KEY_OUT:
        return options_text("--out", "a directory", argument, &validate->out);
    case KEY_JSON:
        validate->json = true;
        return 0;
    case KEY_EMIT:
        return options_text("--emit-scenarios", "a directory", argument, &validate->scenarios);
    case KEY_CATALOG:
        return add_catalog(validate, argument);
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARG:
        return add_argument(validate, argument);
    case ARGP_KEY_END:
        return check_complete(validate);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- the note -------------------------------------------------------------------------------- */

static struct text share(double fraction) {
    return isfinite(fraction) ? text_percent(fraction) : (struct text){"-"};
}

static void note_row(struct page *page, const struct rlhfsim_validation_errors *errors) {
    struct text tau =
        isfinite(errors->kendall_tau) ? text_number(errors->kendall_tau) : (struct text){"-"};
    page_row(page, "%-40.40s %6zu %6zu  %9s %9s %9s %7s", errors->name, errors->compared,
             errors->skipped, share(errors->median_abs_error).chars,
             share(errors->p90_abs_error).chars, share(errors->bias).chars, tau.chars);
}

/* Nothing where no curve is. */
static void note_curves(struct page *page, const char *label, const char *what,
                        const struct rlhfsim_validation_curves *curves) {
    if (curves->curves == 0)
        return;
    page_paragraph(
        page, label, "%zu %s %s, %zu pairs of sizes: tau %s by tokens a second, %s by step time",
        curves->curves, what, curves->curves == 1 ? "curve" : "curves", curves->pairs,
        text_number(curves->kendall_tau).chars, text_number(curves->time_kendall_tau).chars);
}

static void note_scaling(struct page *page, const struct rlhfsim_validation *validation) {
    struct rlhfsim_validation_curves strong, weak;
    if (!rlhfsim_validation_scaling(validation, &strong, &weak))
        return;
    note_curves(page, "Scaling", "strong", &strong);
    note_curves(page, strong.curves == 0 ? "Scaling" : "", "weak", &weak);
}

/* Where measured values were expected, and how many were there. */
static void note_ranges(struct page *page, const struct rlhfsim_validation *validation) {
    struct rlhfsim_validation_range range;
    for (size_t i = 0; rlhfsim_validation_range(validation, i, &range); i++) {
        if (i == 0) {
            page_label(page, "Ranges");
            page_words(page, "P10 to P90 by runs of other sources, and of inputs that are missing");
            page_end(page);
            page_row(page, "%-30s %7s %6s %7s %9s %7s  %s", "", "figures", "tried", "inside",
                     "high/low", "needed", "widened most by");
        }
        struct text inside = share((double)range.inside / (double)range.tried);
        struct text width = range.tried == 0 ? (struct text){"-"} : text_number(range.median_width);
        struct text needed =
            range.tried == 0 ? (struct text){"-"} : text_number(range.needed_width);
        page_row(page, "%-30.30s %7zu %6zu %7s %9s %7s  %s", range.name, range.figures, range.tried,
                 inside.chars, width.chars, needed.chars, range.input == NULL ? "-" : range.input);
    }
}

static void note(const struct rlhfsim_validation *validation, const char *kind, const char *out) {
    struct page page;
    struct rlhfsim_validation_errors errors;
    const char *reason;
    size_t count;
    page_start(&page, stdout);
    page_title(&page, kind);
    page_label(&page, "Errors");
    page_words(&page, "(forecast - measured) / measured");
    page_end(&page);
    page_row(&page, "%-40s %6s %6s  %9s %9s %9s %7s", "", "cases", "left", "median", "P90", "bias",
             "tau");
    for (size_t i = 0; rlhfsim_validation_source(validation, i, &errors); i++)
        note_row(&page, &errors);
    if (rlhfsim_validation_overall(validation, &errors))
        note_row(&page, &errors);
    note_scaling(&page, validation);
    note_ranges(&page, validation);
    for (size_t i = 0; rlhfsim_validation_skipped(validation, i, &reason, &count); i++)
        page_paragraph(&page, i == 0 ? "Left out" : "", "%zu: %s", count, reason);
    page_paragraph(&page, "Cases", "%s/validation.csv", out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum rlhfsim_status print(const struct validate *validate,
                                 const struct rlhfsim_validation *validation) {
    if (!validate->json) {
        note(validation, validate->kind, validate->out);
        return RLHFSIM_OK;
    }
    char *json = rlhfsim_validation_json(validation);
    if (json == NULL)
        return RLHFSIM_NO_MEMORY;
    fputs(json, stdout);
    free(json);
    return RLHFSIM_OK;
}

static int execute(const struct validate *validate) {
    char catalog[PATH_MAX];
    struct rlhfsim_validation *validation = NULL;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_validation_options options = {.catalog_directory = catalog,
                                                 .user_directories = validate->catalogs,
                                                 .user_directory_count = validate->catalog_count,
                                                 .scenario_directory = validate->scenarios};
    enum rlhfsim_status status =
        diagnostics == NULL ? RLHFSIM_NO_MEMORY : catalog_path_find(catalog, diagnostics);
    if (status == RLHFSIM_OK)
        status = rlhfsim_validation_run(validate->kind, validate->paths, validate->path_count,
                                        &options, diagnostics, &validation);
    if (status == RLHFSIM_OK)
        status = rlhfsim_validation_write(validation, validate->out, diagnostics);
    if (status == RLHFSIM_OK && strcmp(validate->kind, "runs") == 0)
        (void)plot_validation(validate->out); /* a machine without gnuplot has no picture */
    if (status == RLHFSIM_OK)
        status = print(validate, validation);
    if (status != RLHFSIM_OK)
        diagnose_all(validate->program, status, diagnostics);
    rlhfsim_validation_free(validation);
    rlhfsim_diagnostics_free(diagnostics);
    return rlhfsim_status_exit(status);
}

static int validate_main(int argc, char **argv) {
    static const struct argp argp = {
        .options = table, .parser = parse, .args_doc = "KIND PATH...", .doc = documentation};
    struct validate validate = {.program = argv[0], .out = "."};
    int status = EXIT_USAGE;
    validate.paths = calloc((size_t)argc + 1, sizeof *validate.paths);
    validate.catalogs = calloc((size_t)argc + 1, sizeof *validate.catalogs);
    if (validate.paths == NULL || validate.catalogs == NULL) {
        diagnose_all(validate.program, RLHFSIM_NO_MEMORY, NULL);
        status = rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    } else if (options_parse(&argp, argc, argv, &validate)) {
        status = execute(&validate);
    }
    free(validate.paths);
    free(validate.catalogs);
    return status;
}

const struct command validate_command = {"validate", "hold forecasts against measured cases",
                                         validate_main};
