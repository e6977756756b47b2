/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/length_file.h"

#include "models/base/file.h"
#include "models/base/hash.h"
#include "models/base/text.h"
#include "models/scenario/csv_table.h"
#include "models/scenario/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 3
#define ERRORS 50 /* of one file; more nobody reads */
#define LONGEST 1e9

/* ---- a file as a table ------------------------------------------------------------------------
 */

struct column_rule {
    const char *name;
    bool optional, whole, text;
    double least, most;
};

struct table_file {
    struct scenario_draft *draft;
    char path[SCENARIO_PATH_BYTES];
    struct base_arena arena;
    struct base_file file;
    struct csv_table table;
    const struct column_rule *rules; /* COLUMNS of them; name NULL: none */
    size_t position[COLUMNS];        /* in the file; SIZE_MAX: not there */
    size_t rows;
    int errors;
};

static bool is_there(const struct table_file *file, size_t column) {
    return file->position[column] != SIZE_MAX;
}

static const struct csv_cell *cell(const struct table_file *file, const struct csv_row *row,
                                   size_t column) {
    return &row->cells[file->position[column]];
}

static bool locate(struct table_file *file, enum scenario_key key) {
    char quoted[BASE_QUOTE_SIZE];
    struct scenario_draft *draft = file->draft;
    const struct scenario_value *value = &draft->values.at[key];
    if (scenario_model_file_locate(draft->path, value->text, value->place, file->path,
                                   sizeof file->path) &&
        base_file_exists(file->path))
        return true;
    scenario_blame(draft, key, "%s is %s, but there is no such file", scenario_schema_at(key)->path,
                   base_quote(value->text, quoted));
    return false;
}

/* "from, to and weight", of the optional ones "and, where known, group". */
static void list_columns(const struct column_rule *rules, char *buffer, size_t size) {
    buffer[0] = '\0';
    for (int i = 0; i < COLUMNS && rules[i].name != NULL; i++) {
        size_t used = strlen(buffer);
        bool last = i + 1 == COLUMNS || rules[i + 1].name == NULL;
        (void)snprintf(buffer + used, size - used, "%s%s%s",
                       i == 0              ? ""
                       : rules[i].optional ? " and, where known, "
                       : last              ? " and "
                                           : ", ",
                       rules[i].name, "");
    }
}

static bool match_column(struct table_file *file, size_t index) {
    const struct csv_cell *header = &file->table.header[index];
    char quoted[BASE_QUOTE_SIZE], expected[128];
    for (int i = 0; i < COLUMNS && file->rules[i].name != NULL; i++) {
        if (strcmp(file->rules[i].name, header->text) != 0)
            continue;
        if (!is_there(file, (size_t)i)) {
            file->position[i] = index;
            return true;
        }
        (void)tree_error(file->draft->diagnostics, header->place, "a second column %s",
                         header->text);
        return false;
    }
    list_columns(file->rules, expected, sizeof expected);
    (void)tree_error(file->draft->diagnostics, header->place,
                     "unknown column %s, expected the columns %s", base_quote(header->text, quoted),
                     expected);
    return false;
}

static bool match_header(struct table_file *file) {
    bool good = true;
    for (int i = 0; i < COLUMNS; i++)
        file->position[i] = SIZE_MAX;
    for (size_t i = 0; i < file->table.columns; i++)
        good = match_column(file, i) && good;
    for (size_t i = 0; good && i < COLUMNS && file->rules[i].name != NULL; i++) {
        if (is_there(file, i) || file->rules[i].optional)
            continue;
        (void)tree_error(file->draft->diagnostics, file->table.header[0].place,
                         "the column %s is missing", file->rules[i].name);
        good = false;
    }
    return good;
}

/* The table of a file, its header checked. Close it whatever comes out. */
static bool open_table(struct table_file *file, struct scenario_draft *draft, enum scenario_key key,
                       const struct column_rule *rules) {
    *file = (struct table_file){.draft = draft, .rules = rules};
    if (!locate(file, key))
        return false;
    enum rlhfsim_status status = base_file_read(file->path, draft->diagnostics, &file->file);
    if (status == RLHFSIM_OK)
        status = csv_table_read(&file->arena, file->path, file->file.text, file->file.length,
                                draft->diagnostics, &file->table);
    if (status != RLHFSIM_OK && status != RLHFSIM_INVALID)
        draft->fatal = status;
    if (status != RLHFSIM_OK || !match_header(file))
        return false;
    for (const struct csv_row *row = file->table.rows; row != NULL; row = row->next)
        file->rows++;
    if (file->rows == 0)
        (void)tree_error(draft->diagnostics, file->table.header[0].place,
                         "no rows, expected at least one below the header");
    return file->rows > 0;
}

static void close_table(struct table_file *file) {
    base_file_release(&file->file);
    base_arena_release(&file->arena);
}

static bool lost(struct table_file *file) {
    file->draft->fatal = RLHFSIM_NO_MEMORY;
    return false;
}

static bool refuse_cell(struct table_file *file, const struct csv_cell *at, const char *name,
                        const char *expected) {
    char quoted[BASE_QUOTE_SIZE];
    file->errors++;
    (void)tree_error(file->draft->diagnostics, at->place, "%s is %s, expected %s", name,
                     base_quote(at->text, quoted), expected);
    return false;
}

static bool read_cell(struct table_file *file, const struct csv_row *row, size_t column,
                      double *number) {
    const struct column_rule *rule = &file->rules[column];
    const struct csv_cell *at = cell(file, row, column);
    char expected[96];
    int64_t whole = 0;
    bool read = rule->whole ? base_integer_read(at->text, &whole) == BASE_NUMBER_OK
                            : base_number_read(at->text, number) == BASE_NUMBER_OK;
    if (rule->whole)
        *number = (double)whole;
    if (read && *number >= rule->least && *number <= rule->most)
        return true;
    (void)snprintf(expected, sizeof expected, "a %snumber from %g to %g",
                   rule->whole ? "whole " : "", rule->least, rule->most);
    return refuse_cell(file, at, rule->name, expected);
}

/* The numbers of all rows, column after column: at[column * rows + row]; NULL after errors. */
static double *read_numbers(struct table_file *file) {
    double *at = calloc(COLUMNS * file->rows, sizeof *at);
    size_t index = 0;
    if (at == NULL)
        (void)lost(file);
    for (const struct csv_row *row = file->table.rows;
         at != NULL && row != NULL && file->errors < ERRORS; row = row->next, index++)
        for (size_t column = 0; column < COLUMNS; column++)
            if (file->rules[column].name != NULL && !file->rules[column].text)
                (void)read_cell(file, row, column, &at[column * file->rows + index]);
    if (file->errors == 0)
        return at;
    free(at);
    return NULL;
}

/* ---- histograms --------------------------------------------------------------------------------
 */

static bool check_bins(struct table_file *file, const double *at) {
    const double *from = at, *to = at + file->rows, *weight = to + file->rows;
    const struct csv_row *row = file->table.rows;
    double total = 0.0;
    for (size_t i = 0; i < file->rows && file->errors < ERRORS; i++, row = row->next) {
        char expected[96];
        if (to[i] < from[i]) {
            (void)snprintf(expected, sizeof expected, "at least from (%g)", from[i]);
            (void)refuse_cell(file, cell(file, row, 1), "to", expected);
        }
        if (i > 0 && from[i] < to[i - 1]) {
            (void)snprintf(expected, sizeof expected, "at least where the bin before ends (%g)",
                           to[i - 1]);
            (void)refuse_cell(file, cell(file, row, 0), "from", expected);
        }
        total += weight[i];
    }
    if (file->errors == 0 && total == 0.0)
        (void)refuse_cell(file, cell(file, file->table.rows, 2), "weight",
                          "a weight above 0 in some row");
    return file->errors == 0;
}

bool scenario_read_histogram(struct scenario_draft *draft, enum scenario_key key,
                             struct generation_length_bins **bins) {
    static const struct column_rule rules[COLUMNS] = {{.name = "from", .least = 0, .most = LONGEST},
                                                      {.name = "to", .least = 0, .most = LONGEST},
                                                      {.name = "weight", .least = 0, .most = 1e15}};
    struct table_file file;
    double *at = open_table(&file, draft, key, rules) ? read_numbers(&file) : NULL;
    *bins = NULL;
    if (at != NULL && check_bins(&file, at)) {
        *bins = generation_length_bins_new(at, at + file.rows, at + 2 * file.rows, file.rows);
        if (*bins == NULL)
            (void)lost(&file);
    }
    free(at);
    close_table(&file);
    return *bins != NULL;
}

/* ---- drifts ------------------------------------------------------------------------------------
 */

static bool check_rising(struct table_file *file, const double *step) {
    const struct csv_row *row = file->table.rows;
    for (size_t i = 0; i < file->rows && file->errors < ERRORS; i++, row = row->next)
        if (i > 0 && step[i] <= step[i - 1])
            (void)refuse_cell(file, cell(file, row, 0), "step", "one above that of the row before");
    return file->errors == 0;
}

bool scenario_read_drift(struct scenario_draft *draft, enum scenario_key key,
                         struct generation_length_drift *drift) {
    static const struct column_rule rules[COLUMNS] = {
        {.name = "step", .whole = true, .least = 1, .most = LONGEST},
        {.name = "mean", .least = 1, .most = LONGEST}};
    struct table_file file;
    double *at = open_table(&file, draft, key, rules) ? read_numbers(&file) : NULL;
    bool good = at != NULL && check_rising(&file, at);
    if (good) {
        drift->count = file.rows;
        drift->table_step = at;
        drift->table_mean = at + file.rows;
    } else {
        free(at);
    }
    close_table(&file);
    return good;
}

/* ---- traces ------------------------------------------------------------------------------------
 */

/* One row on its way into its group, or among those without groups by its prompt. */
struct trace_row {
    const struct csv_row *row;
    const char *group; /* NULL: the trace has none */
    size_t index;      /* in the file */
    uint32_t prompt, response;
};

static int by_place(const void *a, const void *b) {
    const struct trace_row *x = a, *y = b;
    int order = x->group != NULL ? strcmp(x->group, y->group)
                                 : (x->prompt > y->prompt) - (x->prompt < y->prompt);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static bool begins_group(const struct trace_row *rows, size_t i) {
    return rows[i].group != NULL && (i == 0 || strcmp(rows[i].group, rows[i - 1].group) != 0);
}

static struct trace_row *sort_rows(struct table_file *file, const double *at) {
    struct trace_row *rows = calloc(file->rows, sizeof *rows);
    size_t i = 0;
    for (const struct csv_row *row = file->table.rows; rows != NULL && row != NULL;
         row = row->next, i++) {
        rows[i] = (struct trace_row){row, is_there(file, 2) ? cell(file, row, 2)->text : NULL, i,
                                     (uint32_t)at[i], (uint32_t)at[file->rows + i]};
        if (rows[i].group != NULL && rows[i].group[0] == '\0' && file->errors < ERRORS)
            (void)refuse_cell(file, cell(file, row, 2), "group", "a name");
    }
    if (rows == NULL)
        (void)lost(file);
    else
        qsort(rows, file->rows, sizeof *rows, by_place);
    return rows;
}

/* The number of groups, each of which has one prompt. */
static size_t check_groups(struct table_file *file, const struct trace_row *rows) {
    size_t groups = 0;
    for (size_t i = 0; i < file->rows && file->errors < ERRORS; i++) {
        char expected[96];
        bool first = begins_group(rows, i);
        groups += first;
        if (first || rows[i].group == NULL || rows[i].prompt == rows[i - 1].prompt)
            continue;
        (void)snprintf(expected, sizeof expected, "%u as in the other rows of its group",
                       rows[i - 1].prompt);
        (void)refuse_cell(file, cell(file, rows[i].row, 0), "prompt", expected);
    }
    return groups;
}

static struct generation_trace *make_trace(struct table_file *file, const struct trace_row *rows) {
    size_t groups = check_groups(file, rows), group = 0;
    if (file->errors > 0)
        return NULL;
    struct generation_trace *trace = generation_trace_new(file->rows, groups);
    if (trace == NULL) {
        (void)lost(file);
        return NULL;
    }
    for (size_t i = 0; i < file->rows; i++) {
        if (begins_group(rows, i))
            trace->first[group++] = i;
        trace->prompt[i] = rows[i].prompt;
        trace->response[i] = rows[i].response;
    }
    trace->first[groups] = file->rows;
    return trace;
}

bool scenario_read_trace(struct scenario_draft *draft, enum scenario_key key,
                         struct generation_trace **trace) {
    static const struct column_rule rules[COLUMNS] = {
        {.name = "prompt", .whole = true, .least = 1, .most = LONGEST},
        {.name = "response", .whole = true, .least = 0, .most = LONGEST},
        {.name = "group", .optional = true, .text = true}};
    struct table_file file;
    double *at = open_table(&file, draft, key, rules) ? read_numbers(&file) : NULL;
    struct trace_row *rows = at != NULL ? sort_rows(&file, at) : NULL;
    *trace = rows != NULL ? make_trace(&file, rows) : NULL;
    free(rows);
    free(at);
    close_table(&file);
    return *trace != NULL;
}

/* ---- ownership and fingerprints
 * ------------------------------------------------------------------ */

static void release(struct scenario_lengths *lengths) {
    generation_lengths_release(&lengths->fitted);
    generation_length_bins_free(lengths->bins);
    free(lengths->drift.table_step); /* the means are behind the steps */
}

void scenario_release_lengths(struct rlhfsim_scenario *scenario) {
    release(&scenario->rollout.prompt);
    release(&scenario->rollout.response);
    generation_trace_free(scenario->rollout.trace);
}

static const enum scenario_key file_keys[] = {KEY_PROMPT_TOKENS_FILE, KEY_RESPONSE_TOKENS_FILE,
                                              KEY_RESPONSE_TOKENS_DRIFT_FILE};
#define FILE_KEYS (sizeof file_keys / sizeof file_keys[0])

/* What is wrong with the file is told when a scenario is made of it. */
static uint64_t hash_file(uint64_t hash, const char *scenario_path, const struct tree_node *node) {
    char path[SCENARIO_PATH_BYTES];
    struct base_file file = {0};
    if (node == NULL || node->kind != TREE_TEXT ||
        !scenario_model_file_locate(scenario_path, node->text, node->place, path, sizeof path))
        return hash;
    struct rlhfsim_diagnostics *unseen = rlhfsim_diagnostics_new();
    if (unseen != NULL && base_file_read(path, unseen, &file) == RLHFSIM_OK)
        hash = base_hash_bytes(hash, file.text, file.length);
    base_file_release(&file);
    rlhfsim_diagnostics_free(unseen);
    return hash;
}

/* The value at a dotted path. */
static const struct tree_node *find(const struct tree_node *root, const char *path) {
    char key[64];
    const struct tree_node *node = root;
    while (node != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, path);
        const struct tree_entry *entry = tree_find(node, key);
        node = entry == NULL ? NULL : entry->value;
        path += length + (path[length] == '.');
    }
    return node;
}

uint64_t scenario_length_files_hash(uint64_t hash, const char *scenario_path,
                                    const struct tree_node *root) {
    for (size_t i = 0; i < FILE_KEYS; i++)
        hash = hash_file(hash, scenario_path, find(root, scenario_schema_at(file_keys[i])->path));
    return hash;
}

/* What is left of the path of a file's key behind `key`, "" where they are one; NULL where it is
 * not below: `rollout={response_tokens: {law: trace, file: a.csv}}` names a file, too. */
static const char *rest(enum scenario_key file_key, const char *key) {
    const char *path = scenario_schema_at(file_key)->path;
    size_t length = strlen(key);
    if (strncmp(path, key, length) != 0 || (path[length] != '.' && path[length] != '\0'))
        return NULL;
    return path[length] == '.' ? path + length + 1 : "";
}

bool scenario_length_file_named(const char *key) {
    for (size_t i = 0; i < FILE_KEYS; i++)
        if (rest(file_keys[i], key) != NULL)
            return true;
    return false;
}

uint64_t scenario_length_file_hash(uint64_t hash, const char *scenario_path, const char *key,
                                   const struct tree_node *value) {
    for (size_t i = 0; i < FILE_KEYS; i++) {
        const char *path = rest(file_keys[i], key);
        if (path != NULL)
            hash = hash_file(hash, scenario_path, find(value, path));
    }
    return hash;
}
