/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rlhfsim merge: the shards of a sweep put together. */
#include "command.h"
#include "diagnose.h"
#include "options.h"
#include "row.h"
#include "spelling.h"
#include "table.h"
#include "whole_file.h"

#include <rlhfsim/rlhfsim.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEY_OUT = 512 };

struct request {
    const char *program;
    const char **directories;
    size_t count;
    const char *out; /* NULL: stdout */
};

struct merge {
    const struct request *request;
    struct rlhfsim_diagnostics *diagnostics;
    struct table table;   /* of the whole sweep, from the first shard on */
    const char **origins; /* by shard: the folder it came from; NULL as long as it is missing */
};

static const struct argp_option table[] = {
    {.name = "out", .key = KEY_OUT, .arg = "DIR", .doc = "Write sweep.csv there, not to stdout"},
    {.key = 'h', .flags = OPTION_HIDDEN, .doc = "Give this help list"},
    {0}};

static const char documentation[] =
    "Puts the shards of a sweep, each the --out folder of rlhfsim sweep --shard I/N, together into "
    "the table of the whole sweep, byte by byte as one sweep would have written it."
    "\v"
    "Examples:\n"
    "  rlhfsim merge shard0 shard1 shard2 --out out\n"
    "  rlhfsim merge shard*\n"
    "\n"
    "Exit status: 0 done; 2 bad usage or input: a folder that is no finished shard,\n"
    "shards of different sweeps, a shard missing or given twice; 3 this machine failed.";

/* ---- reading a shard ------------------------------------------------------------------------- */

static enum rlhfsim_status bad(const struct merge *merge, const char *directory, const char *what) {
    return rlhfsim_diagnostics_add(merge->diagnostics, RLHFSIM_INVALID, directory, 0, 0, "%s",
                                   what);
}

/* What cannot be opened is no shard. */
static enum rlhfsim_status open_file(const struct merge *merge, const char *directory,
                                     const char *name, FILE **stream) {
    char *path = whole_file_path(directory, name);
    if (path == NULL)
        return RLHFSIM_NO_MEMORY;
    *stream = fopen(path, "re");
    enum rlhfsim_status status =
        *stream != NULL
            ? RLHFSIM_OK
            : rlhfsim_diagnostics_add(merge->diagnostics, RLHFSIM_INVALID, path, 0, 0,
                                      "cannot be read: %s; expected the folder of a finished "
                                      "rlhfsim sweep --shard I/N",
                                      strerror(errno));
    free(path);
    return status;
}

static enum rlhfsim_status read_identity(const struct merge *merge, const char *directory,
                                         struct identity *identity) {
    char line[IDENTITY_TEXT + 2] = "";
    FILE *stream;
    enum rlhfsim_status status = open_file(merge, directory, TABLE_SHARD_FILE, &stream);
    if (status != RLHFSIM_OK)
        return status;
    bool good = fgets(line, sizeof line, stream) != NULL && identity_read(line, identity) &&
                identity->shards <= IDENTITY_SHARDS_MOST && identity->points <= GRID_POINTS_MOST;
    fclose(stream);
    return good ? RLHFSIM_OK
                : bad(merge, directory, TABLE_SHARD_FILE " is not of this version of rlhfsim");
}

/* The first shard says what the sweep is. */
static enum rlhfsim_status expect_same_sweep(struct merge *merge, const char *directory,
                                             const struct identity *identity) {
    struct identity *whole = &merge->table.identity;
    if (merge->origins == NULL) {
        *whole = *identity;
        merge->origins = calloc(identity->shards, sizeof *merge->origins);
        merge->table.rows = calloc(identity->points + 1, sizeof *merge->table.rows);
        return merge->origins == NULL || merge->table.rows == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    }
    if (identity->fingerprint != whole->fingerprint || identity->points != whole->points ||
        identity->shards != whole->shards)
        return rlhfsim_diagnostics_add(merge->diagnostics, RLHFSIM_INVALID, directory, 0, 0,
                                       "this is a shard of another sweep than '%s'",
                                       merge->request->directories[0]);
    const char *earlier = merge->origins[identity->shard];
    if (earlier != NULL)
        return rlhfsim_diagnostics_add(merge->diagnostics, RLHFSIM_INVALID, directory, 0, 0,
                                       "shard %zu/%zu is given twice: '%s' is it, too",
                                       identity->shard, identity->shards, earlier);
    return RLHFSIM_OK;
}

static enum rlhfsim_status take_header(struct merge *merge, const char *directory,
                                       const char *line) {
    if (merge->table.header == NULL) {
        merge->table.header = strdup(line);
        return merge->table.header == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    }
    return strcmp(line, merge->table.header) == 0
               ? RLHFSIM_OK
               : bad(merge, directory, TABLE_FILE " has other columns than the first shard's");
}

static enum rlhfsim_status take_row(struct merge *merge, const char *directory,
                                    const struct identity *identity, const char *line) {
    size_t point;
    enum row_status status;
    if (!row_read(merge->table.header, line, &point, &status) || !identity_has(identity, point) ||
        merge->table.rows[point] != NULL || line[strlen(line) - 1] != '\n')
        return bad(merge, directory, TABLE_FILE " has a row that is not of this shard");
    merge->table.rows[point] = strdup(line);
    return merge->table.rows[point] == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
}

static enum rlhfsim_status read_rows(struct merge *merge, const char *directory,
                                     const struct identity *identity) {
    FILE *stream;
    char *line = NULL;
    size_t room = 0, lines = 0;
    enum rlhfsim_status status = open_file(merge, directory, TABLE_FILE, &stream);
    if (status != RLHFSIM_OK)
        return status;
    for (; status == RLHFSIM_OK && getline(&line, &room, stream) > 0; lines++)
        status = lines == 0 ? take_header(merge, directory, line)
                            : take_row(merge, directory, identity, line);
    if (status == RLHFSIM_OK && ferror(stream))
        status = whole_file_failed(directory, "cannot read " TABLE_FILE, errno, merge->diagnostics);
    if (status == RLHFSIM_OK && lines != identity_share(identity) + 1)
        status = bad(merge, directory, TABLE_FILE " lacks rows of this shard");
    free(line);
    fclose(stream);
    return status;
}

static enum rlhfsim_status read_shard(struct merge *merge, const char *directory) {
    struct identity identity;
    enum rlhfsim_status status = read_identity(merge, directory, &identity);
    if (status == RLHFSIM_OK)
        status = expect_same_sweep(merge, directory, &identity);
    if (status == RLHFSIM_OK)
        status = read_rows(merge, directory, &identity);
    if (status == RLHFSIM_OK)
        merge->origins[identity.shard] = directory;
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum rlhfsim_status expect_complete(const struct merge *merge) {
    const struct identity *whole = &merge->table.identity;
    for (size_t i = 0; i < whole->shards; i++)
        if (merge->origins[i] == NULL)
            return rlhfsim_diagnostics_add(merge->diagnostics, RLHFSIM_INVALID, NULL, 0, 0,
                                           "shard %zu/%zu is missing", i, whole->shards);
    return RLHFSIM_OK;
}

/* The merged table is no shard any more: in a shard's folder it would take the shard's place. */
static enum rlhfsim_status expect_apart(const struct merge *merge) {
    const struct request *request = merge->request;
    struct stat out, in;
    if (request->out == NULL || stat(request->out, &out) != 0)
        return RLHFSIM_OK;
    for (size_t i = 0; i < request->count; i++)
        if (stat(request->directories[i], &in) == 0 && in.st_dev == out.st_dev &&
            in.st_ino == out.st_ino)
            return rlhfsim_diagnostics_add(merge->diagnostics, RLHFSIM_INVALID, "--out", 1, 1,
                                           "'%s' is one of the folders to merge, whose shard would "
                                           "be lost; expected another one",
                                           request->out);
    return RLHFSIM_OK;
}

static enum rlhfsim_status run(struct merge *merge) {
    const struct request *request = merge->request;
    enum rlhfsim_status status = expect_apart(merge);
    for (size_t i = 0; i < request->count && status == RLHFSIM_OK; i++)
        status = read_shard(merge, request->directories[i]);
    if (status == RLHFSIM_OK)
        status = expect_complete(merge);
    if (status == RLHFSIM_OK && request->out != NULL)
        status = whole_file_folder(request->out, merge->diagnostics);
    if (status != RLHFSIM_OK)
        return status;
    merge->table.identity.shard = 0;
    merge->table.identity.shards = 1;
    return table_deliver(&merge->table, request->out, merge->diagnostics);
}

static int execute(const struct request *request) {
    struct merge merge = {.request = request, .diagnostics = rlhfsim_diagnostics_new()};
    enum rlhfsim_status status = merge.diagnostics == NULL ? RLHFSIM_NO_MEMORY : run(&merge);
    if (status != RLHFSIM_OK)
        diagnose_all(request->program, status, merge.diagnostics);
    table_end(&merge.table);
    free(merge.origins);
    rlhfsim_diagnostics_free(merge.diagnostics);
    return rlhfsim_status_exit(status);
}

/* ---- the command line ------------------------------------------------------------------------ */

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case KEY_OUT:
        return options_text("--out", "a directory", argument, &request->out);
    case ARGP_KEY_ARG:
        request->directories[request->count++] = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        diagnose_usage(request->program, "the folders of the shards are missing");
        return EINVAL;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int merge_main(int argc, char **argv) {
    static const struct argp argp = {
        .options = table, .parser = parse, .args_doc = "DIR...", .doc = documentation};
    struct request request = {.program = argv[0]};
    request.directories = calloc((size_t)argc + 1, sizeof *request.directories);
    if (request.directories == NULL) {
        diagnose_all(argv[0], RLHFSIM_NO_MEMORY, NULL);
        return rlhfsim_status_exit(RLHFSIM_NO_MEMORY);
    }
    int status = options_parse(&argp, argc, argv, &request) ? execute(&request) : EXIT_USAGE;
    free(request.directories);
    return status;
}

const struct command merge_command = {"merge", "put the shards of a sweep together", merge_main};
