/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rlhfsim sweep: one forecast for every combination of some keys' values. The scenario and the
 * catalogs are read once; a point only sets its keys, so that points share nothing that is written
 * and any thread may do any of them.
 */
#include "catalog_path.h"
#include "command.h"
#include "diagnose.h"
#include "glance.h"
#include "grid.h"
#include "interrupt.h"
#include "journal.h"
#include "options.h"
#include "pool.h"
#include "row.h"
#include "table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_JOBS 4096
#define MOST_REPLICATES 100000

enum { KEY_VARY = 512, KEY_OUT, KEY_JOBS, KEY_RESUME, KEY_SHARD, KEY_REPLICATES };

/* The command line. */
struct request {
    struct options options;
    const char **varies;
    size_t vary_count;
    const char *out; /* NULL: the table goes to stdout */
    bool resume;
    uint64_t jobs, replicates, shard, shards;
};

/* The sweep at work. */
struct sweep {
    const struct request *request;
    struct rlhfsim_diagnostics *diagnostics;
    struct rlhfsim_source *source;
    struct grid grid;
    struct table table;
    struct journal journal;
    pthread_mutex_t mutex; /* of the journal */
    size_t *points;        /* to do */
    size_t point_count;
};

static const struct argp_option table[] = {
    {.name = "vary",
     .key = KEY_VARY,
     .arg = "KEY=SPEC",
     .doc =
         "Give a key several values: 4,8,16 or 256:4096:x2 or 0:1:+0.1 (repeatable; the first is "
         "the slowest)"},
    {.name = "out", .key = KEY_OUT, .arg = "DIR", .doc = "Write sweep.csv there, not to stdout"},
    {.name = "jobs",
     .key = KEY_JOBS,
     .arg = "N",
     .doc = "Points at a time (default: the processors there are)"},
    {.name = "resume",
     .key = KEY_RESUME,
     .doc = "Keep the points that an interrupted sweep left in DIR, which is refused without it"},
    {.name = "shard",
     .key = KEY_SHARD,
     .arg = "I/N",
     .doc = "Only the points with number % N = I, I from 0 to N-1; see rlhfsim merge"},
    {.name = "replicates",
     .key = KEY_REPLICATES,
     .arg = "N",
     .doc = "Independent repetitions behind each figure, of which the table has the P50 (default "
            "1: points share their random numbers, so that they compare well with one)"},
    {0}};

static const char documentation[] =
    "Forecasts the run that the file SCENARIO describes for every combination of the values of "
    "some keys, and writes a table with a row for each: the keys, whether it fits, time, money and "
    "memory."
    "\v"
    "Examples:\n"
    "  rlhfsim sweep grpo.yaml --vary algorithm.samples_per_prompt=4,8,16\n"
    "  rlhfsim sweep grpo.yaml --vary cluster.nodes=1:16:x2 --vary rollout.tp=1,2\n"
    "  rlhfsim sweep grpo.yaml --vary rollout.memory_fraction=0.3:0.9:+0.1 --out o\n"
    "  rlhfsim sweep grpo.yaml --vary cluster.nodes=1:16:x2 --shard 0/4 --out s0\n"
    "\n"
    "Ranges include their end when they hit it. Points that do not fit (infeasible)\n"
    "or combine what cannot be combined (illegal) have rows with the reason.\n"
    "\n"
    "Exit status: 0 every point has a row; 2 bad usage or input, nothing is written;\n"
    "3 this machine failed; 130 interrupted, DIR keeps what is done for --resume.";

/* ---- the command line ------------------------------------------------------------------------ */

static error_t read_shard(const char *argument, struct request *request) {
    struct identity identity;
    char line[IDENTITY_TEXT];
    (void)snprintf(line, sizeof line, "rlhfsim-sweep 1 %016d 0 %s", 0, argument);
    if (strlen(argument) < IDENTITY_TEXT / 2 && identity_read(line, &identity) &&
        identity.shards <= IDENTITY_SHARDS_MOST) {
        request->shard = identity.shard;
        request->shards = identity.shards;
        return 0;
    }
    diagnose_value("--shard", "expected I/N with I from 0 to N-1, such as 0/4, got '%s'", argument);
    return EINVAL;
}

static error_t check_request(const struct request *request) {
    if (request->vary_count == 0) {
        diagnose_usage(request->options.program, "a --vary KEY=SPEC is missing");
        return EINVAL;
    }
    if (request->resume && request->out == NULL) {
        diagnose_usage(request->options.program,
                       "--resume goes on with what is in a folder: --out DIR is missing");
        return EINVAL;
    }
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->options;
        return 0;
    case KEY_VARY:
        request->varies[request->vary_count++] = argument;
        return 0;
    case KEY_OUT:
        return options_text("--out", "a directory", argument, &request->out);
    case KEY_JOBS:
        return options_number("--jobs", argument, 1, MOST_JOBS, &request->jobs);
    case KEY_RESUME:
        request->resume = true;
        return 0;
    case KEY_SHARD:
        return read_shard(argument, request);
    case KEY_REPLICATES:
        return options_number("--replicates", argument, 1, MOST_REPLICATES, &request->replicates);
    case ARGP_KEY_SUCCESS:
        return check_request(request);
    default:
        return options_scenario(key, argument, &request->options);
    }
}

/* ---- what is swept --------------------------------------------------------------------------- */

static bool varies_seed(const struct sweep *sweep) {
    for (size_t i = 0; i < sweep->grid.axis_count; i++)
        if (strcmp(sweep->grid.axes[i].key, "seed") == 0)
            return true;
    return false;
}

static enum rlhfsim_status read_grid(struct sweep *sweep) {
    const struct request *request = sweep->request;
    enum rlhfsim_status worst = RLHFSIM_OK;
    if (!grid_start(&sweep->grid, request->vary_count))
        return RLHFSIM_NO_MEMORY;
    for (size_t i = 0; i < request->vary_count && worst != RLHFSIM_NO_MEMORY; i++) {
        enum rlhfsim_status status = grid_add(&sweep->grid, request->varies[i], sweep->diagnostics);
        worst = status == RLHFSIM_OK ? worst : status;
    }
    if (worst == RLHFSIM_OK && request->options.has_seed && varies_seed(sweep))
        worst =
            rlhfsim_diagnostics_add(sweep->diagnostics, RLHFSIM_INVALID, "--vary", 1, 1,
                                    "seed is varied and given by --seed; leave one of them out");
    return worst;
}

/* The settings of a point. NULL when memory is exhausted; the strings follow the pointers. */
static const char **settings_of(const struct grid *grid, size_t point) {
    size_t size = grid->axis_count * sizeof(char *);
    for (size_t i = 0; i < grid->axis_count; i++)
        size += strlen(grid->axes[i].key) + strlen(grid_value(grid, point, i)) + 2;
    const char **settings = malloc(size);
    if (settings == NULL)
        return NULL;
    char *text = (char *)(settings + grid->axis_count);
    for (size_t i = 0; i < grid->axis_count; i++) {
        settings[i] = text;
        text = stpcpy(stpcpy(stpcpy(text, grid->axes[i].key), "="), grid_value(grid, point, i)) + 1;
    }
    return settings;
}

static enum rlhfsim_status load_point(const struct sweep *sweep, size_t point,
                                      struct rlhfsim_diagnostics *diagnostics,
                                      struct rlhfsim_scenario **scenario) {
    const char **settings = settings_of(&sweep->grid, point);
    if (settings == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = rlhfsim_source_scenario(
        sweep->source, settings, sweep->grid.axis_count, diagnostics, scenario);
    free(settings);
    return status;
}

static const char *first_message(const struct rlhfsim_diagnostics *errors) {
    return rlhfsim_diagnostics_count(errors) == 0 ? ""
                                                  : rlhfsim_diagnostics_get(errors, 0)->message;
}

/* RLHFSIM_INVALID when every point is refused for the very reason that the scenario is. */
static enum rlhfsim_status compare_points(const struct sweep *sweep, const char *reason) {
    enum rlhfsim_status status = RLHFSIM_INVALID;
    for (size_t i = 0; status == RLHFSIM_INVALID && i < sweep->grid.point_count; i++) {
        struct rlhfsim_scenario *scenario = NULL;
        struct rlhfsim_diagnostics *errors = rlhfsim_diagnostics_new();
        if (errors == NULL)
            return RLHFSIM_NO_MEMORY;
        status = load_point(sweep, i, errors, &scenario);
        if (status == RLHFSIM_INVALID && strcmp(first_message(errors), reason) != 0)
            status = RLHFSIM_OK;
        rlhfsim_scenario_free(scenario);
        rlhfsim_diagnostics_free(errors);
    }
    return status;
}

/* A mistake of the scenario that the varied keys have nothing to do with, such as a misspelt key,
 * is bad input and not a table of illegal points. */
static enum rlhfsim_status check_scenario(struct sweep *sweep) {
    struct rlhfsim_scenario *scenario;
    struct rlhfsim_diagnostics *errors = rlhfsim_diagnostics_new();
    if (errors == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = rlhfsim_source_scenario(sweep->source, NULL, 0, errors, &scenario);
    rlhfsim_scenario_free(scenario);
    if (status == RLHFSIM_INVALID)
        status = compare_points(sweep, first_message(errors));
    struct rlhfsim_diagnostics *dropped = status == RLHFSIM_OK ? errors : sweep->diagnostics;
    sweep->diagnostics = status == RLHFSIM_OK ? sweep->diagnostics : errors;
    rlhfsim_diagnostics_free(dropped);
    return status;
}

/* For the files that the values name: a value may stay as it is while its file changes. */
static uint64_t fingerprint_values(const struct sweep *sweep) {
    uint64_t sum = 0;
    const struct grid *grid = &sweep->grid;
    for (size_t i = 0; i < grid->axis_count; i++)
        for (size_t k = 0; k < grid->axes[i].count; k++)
            sum = 31 * sum + rlhfsim_source_value_fingerprint(sweep->source, grid->axes[i].key,
                                                              grid->axes[i].values[k]);
    return sum;
}

/* Everything that the rows depend on. */
static enum rlhfsim_status identify(const struct sweep *sweep, const char *header,
                                    struct identity *identity) {
    const struct request *request = sweep->request;
    char replicates[32], files[32];
    size_t count = 0;
    const char **texts = calloc(request->vary_count + 4, sizeof *texts);
    if (texts == NULL)
        return RLHFSIM_NO_MEMORY;
    (void)snprintf(replicates, sizeof replicates, "%llu", (unsigned long long)request->replicates);
    (void)snprintf(files, sizeof files, "%016llx", (unsigned long long)fingerprint_values(sweep));
    texts[count++] = header;
    texts[count++] = files;
    texts[count++] = replicates;
    texts[count++] = request->options.ignore_memory ? "ignore-memory" : "";
    for (size_t i = 0; i < request->vary_count; i++)
        texts[count++] = request->varies[i];
    *identity =
        (struct identity){.fingerprint = rlhfsim_source_fingerprint(sweep->source, texts, count),
                          .points = sweep->grid.point_count,
                          .shard = (size_t)request->shard,
                          .shards = (size_t)request->shards};
    free(texts);
    return RLHFSIM_OK;
}

static enum rlhfsim_status start_table(struct sweep *sweep) {
    struct identity identity;
    char *header = row_header(&sweep->grid);
    if (header == NULL || identify(sweep, header, &identity) != RLHFSIM_OK) {
        free(header);
        return RLHFSIM_NO_MEMORY;
    }
    return table_start(&sweep->table, &identity, header) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

/* ---- one point ------------------------------------------------------------------------------- */

static enum rlhfsim_status row_of_illegal(const struct sweep *sweep, size_t point,
                                          const struct rlhfsim_diagnostics *errors, char **row) {
    size_t count = rlhfsim_diagnostics_count(errors);
    const char *first = first_message(errors);
    char *reason = NULL;
    int length = count > 1 ? asprintf(&reason, "%s (and %zu more error%s)", first, count - 1,
                                      count == 2 ? "" : "s")
                           : asprintf(&reason, "%s", first);
    if (length < 0)
        return RLHFSIM_NO_MEMORY;
    *row = row_print(&sweep->grid, point, ROW_ILLEGAL, reason, NULL);
    free(reason);
    return *row == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
}

static enum rlhfsim_status row_of_scenario(const struct sweep *sweep, size_t point,
                                           const struct rlhfsim_scenario *scenario,
                                           const struct pool_job *job,
                                           struct rlhfsim_diagnostics *errors, char **row) {
    struct rlhfsim_forecast *forecast;
    struct rlhfsim_forecast_options how = {.replicates = (int)sweep->request->replicates,
                                           .ignore_memory = sweep->request->options.ignore_memory,
                                           .skip_limit = true,
                                           .progress = job->progress,
                                           .progress_subject = job->progress_subject};
    enum rlhfsim_status status = rlhfsim_forecast_run(scenario, &how, errors, &forecast);
    if (forecast == NULL)
        return status;
    bool feasible = status == RLHFSIM_OK;
    *row = row_print(&sweep->grid, point, feasible ? ROW_OK : ROW_INFEASIBLE,
                     feasible ? NULL : rlhfsim_forecast_shortage(forecast),
                     rlhfsim_forecast_summary(forecast));
    rlhfsim_forecast_free(forecast);
    return *row == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
}

static enum rlhfsim_status make_row(const struct sweep *sweep, size_t point,
                                    const struct pool_job *job, char **row) {
    struct rlhfsim_scenario *scenario;
    struct rlhfsim_diagnostics *errors = rlhfsim_diagnostics_new();
    if (errors == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = load_point(sweep, point, errors, &scenario);
    if (status == RLHFSIM_OK)
        status = row_of_scenario(sweep, point, scenario, job, errors, row);
    if (status == RLHFSIM_INVALID)
        status = row_of_illegal(sweep, point, errors, row);
    else
        diagnose_copy(errors, job->diagnostics);
    rlhfsim_scenario_free(scenario);
    rlhfsim_diagnostics_free(errors);
    return status;
}

/* A pool_func. */
static enum rlhfsim_status do_point(void *subject, const struct pool_job *job) {
    struct sweep *sweep = subject;
    size_t point = sweep->points[job->index];
    char *row = NULL;
    enum rlhfsim_status status = make_row(sweep, point, job, &row);
    if (status != RLHFSIM_OK)
        return status;
    pthread_mutex_lock(&sweep->mutex);
    status = journal_add(&sweep->journal, row, job->diagnostics);
    pthread_mutex_unlock(&sweep->mutex);
    sweep->table.rows[point] = row;
    return status;
}

/* ---- all points ------------------------------------------------------------------------------ */

static enum rlhfsim_status list_points(struct sweep *sweep) {
    const struct identity *identity = &sweep->table.identity;
    sweep->points = malloc((identity_share(identity) + 1) * sizeof *sweep->points);
    if (sweep->points == NULL)
        return RLHFSIM_NO_MEMORY;
    for (size_t i = identity->shard; i < identity->points; i += identity->shards)
        if (sweep->table.rows[i] == NULL)
            sweep->points[sweep->point_count++] = i;
    return RLHFSIM_OK;
}

static enum rlhfsim_status run_points(struct sweep *sweep) {
    const struct request *request = sweep->request;
    struct progress progress;
    size_t jobs = request->jobs > 0 ? (size_t)request->jobs : pool_processors();
    if (pthread_mutex_init(&sweep->mutex, NULL) != 0)
        return RLHFSIM_NO_MEMORY;
    interrupt_watch();
    progress_start(&progress, request->options.quiet);
    enum rlhfsim_status status =
        pool_run(jobs, sweep->point_count, do_point, sweep, &progress, sweep->diagnostics);
    progress_finish(&progress);
    pthread_mutex_destroy(&sweep->mutex);
    return status;
}

/* What stays in the folder when the sweep did not come to its end. */
static void say_kept(const struct sweep *sweep, enum rlhfsim_status status) {
    size_t kept = 0;
    for (size_t i = 0; i < sweep->table.identity.points; i++)
        kept += sweep->table.rows[i] != NULL;
    if (sweep->journal.descriptor >= 0 && rlhfsim_status_exit(status) != EXIT_USAGE)
        fprintf(stderr, "%s: %zu of %zu points are done; --resume goes on with the others\n",
                sweep->request->options.program, kept, identity_share(&sweep->table.identity));
}

static enum rlhfsim_status run_table(struct sweep *sweep) {
    const struct request *request = sweep->request;
    enum rlhfsim_status status =
        journal_open(&sweep->journal, request->out, &sweep->table.identity, sweep->table.header,
                     request->resume, sweep->diagnostics, sweep->table.rows);
    if (status == RLHFSIM_OK)
        status = list_points(sweep);
    if (status == RLHFSIM_OK)
        status = run_points(sweep);
    if (status == RLHFSIM_OK)
        status = table_deliver(&sweep->table, request->out, sweep->diagnostics);
    if (status == RLHFSIM_OK && request->out != NULL && !request->options.quiet)
        glance_print(stdout, &sweep->table);
    if (status != RLHFSIM_OK)
        say_kept(sweep, status);
    journal_close(&sweep->journal, status == RLHFSIM_OK);
    free(sweep->points);
    return status;
}

static enum rlhfsim_status run_source(struct sweep *sweep, const char *catalog) {
    const struct options *options = &sweep->request->options;
    struct rlhfsim_scenario_options how = {.catalog_directory = catalog,
                                           .user_directories = options->catalogs,
                                           .user_directory_count = options->catalog_count,
                                           .sets = options->sets,
                                           .set_count = options->set_count,
                                           .calibration = options->calibration,
                                           .seed = options->has_seed ? &options->seed : NULL};
    enum rlhfsim_status status =
        rlhfsim_source_read(options->scenario, &how, sweep->diagnostics, &sweep->source);
    if (status == RLHFSIM_OK)
        status = grid_refuse_repeats(&sweep->grid, sweep->source, sweep->diagnostics);
    if (status == RLHFSIM_OK)
        status = check_scenario(sweep);
    if (status == RLHFSIM_OK)
        status = start_table(sweep);
    if (status == RLHFSIM_OK)
        status = run_table(sweep);
    table_end(&sweep->table);
    rlhfsim_source_free(sweep->source);
    return status;
}

static int execute(const struct request *request) {
    char catalog[PATH_MAX];
    struct sweep sweep = {.request = request, .diagnostics = rlhfsim_diagnostics_new()};
    enum rlhfsim_status status = sweep.diagnostics == NULL ? RLHFSIM_NO_MEMORY : read_grid(&sweep);
    if (status == RLHFSIM_OK)
        status = catalog_path_find(catalog, sweep.diagnostics);
    if (status == RLHFSIM_OK)
        status = run_source(&sweep, catalog);
    if (status != RLHFSIM_OK)
        diagnose_all(request->options.program, status, sweep.diagnostics);
    grid_end(&sweep.grid);
    rlhfsim_diagnostics_free(sweep.diagnostics);
    return rlhfsim_status_exit(status);
}

static int sweep_main(int argc, char **argv) {
    static const struct argp_child children[] = {{.argp = &options_argp}, {0}};
    static const struct argp argp = {table, parse, "SCENARIO", documentation, children, NULL, NULL};
    struct request request = {.replicates = 1, .shards = 1};
    if (!options_start(&request.options, argc, argv[0]))
        return rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    int status = rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    request.varies = calloc((size_t)argc + 1, sizeof *request.varies);
    if (request.varies == NULL)
        diagnose_all(argv[0], RLHFSIM_NO_MEMORY, NULL);
    else
        status = options_parse(&argp, argc, argv, &request) ? execute(&request) : EXIT_USAGE;
    free(request.varies);
    options_end(&request.options);
    return status;
}

const struct command sweep_command = {"sweep", "forecast every combination of some keys' values",
                                      sweep_main};
