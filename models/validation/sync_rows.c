/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/sync_rows.h"

#include "models/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum field {
    SOURCE,
    KIND,
    MODEL,
    PARAMS,
    GPU,
    GPUS,
    METHOD,
    TIME_S,
    KEY,
    METRIC,
    VALUE,
    SOURCE_KEY,
    FRAMEWORK,
    ACTOR,
    PLACEMENT,
    TRAIN_GPUS,
    ROLLOUT_GPUS,
    PRECISION,
    NOTES,
    FIELDS
};

static const char *const names[FIELDS] = {
    [SOURCE] = "source",
    [KIND] = "kind",
    [MODEL] = "model",
    [PARAMS] = "params",
    [GPU] = "gpu",
    [GPUS] = "num_gpus",
    [METHOD] = "method",
    [TIME_S] = "time_s",
    [KEY] = "run_key",
    [METRIC] = "metric",
    [VALUE] = "value",
    [SOURCE_KEY] = "source_key",
    [FRAMEWORK] = "framework",
    [ACTOR] = "actor_model",
    [PLACEMENT] = "placement",
    [TRAIN_GPUS] = "train_gpus",
    [ROLLOUT_GPUS] = "rollout_gpus",
    [PRECISION] = "rollout_precision",
    [NOTES] = "notes",
};

struct reading {
    struct validation_run *run;
    const char *path;
    size_t column[FIELDS];
};

struct draft {
    struct reading *reading;
    const char *text[FIELDS];
    struct sync_row row;
};

static void find_columns(struct reading *reading, const struct csv_table *table) {
    for (int field = 0; field < FIELDS; field++)
        reading->column[field] = validation_column(table, names[field]);
}

static void read_cells(struct draft *draft, const struct csv_row *row) {
    for (int field = 0; field < FIELDS; field++)
        draft->text[field] = validation_cell(row, draft->reading->column[field]);
}

/* ---- which row of weight_sync.csv ------------------------------------------------------------ */

struct words {
    const char *who;  /* in the source or framework */
    const char *what; /* in the method or the notes */
    const char *row;
};

/* The first that is found counts. */
static const struct words known[] = {
    {"checkpoint-engine", "gather metas", "checkpoint-engine-metas"},
    {"checkpoint-engine", "p2p", "checkpoint-engine-p2p"},
    {"checkpoint-engine", "update", "checkpoint-engine-broadcast"},
    {"other", "peer to peer: host", "checkpoint-engine-p2p"},
    {"other", "broadcast: host", "checkpoint-engine-broadcast"},
    {"verl", "checkpoint-engine off", "verl-nccl"},
    {"verl", "checkpoint-engine on", "verl-checkpoint-engine"},
    {"verl", "NCCL", "verl-nccl-receive"},
    {"nemo-rl", "nccl_reshard", "nemo-rl-reshard"},
    {"nemo-rl", "nccl-async", "nemo-rl-broadcast"},
    {"nemo-rl", "nccl-sync", "nemo-rl-broadcast"},
    {"nemo-rl", "nixl-", "nemo-rl-nixl"},
    {"nemo-rl", "colocated", "nemo-rl-ipc"},
};

static bool says(const struct draft *draft, const char *word) {
    return strstr(draft->text[METHOD], word) != NULL || strstr(draft->text[NOTES], word) != NULL ||
           strstr(draft->text[PLACEMENT], word) != NULL;
}

static bool is_from(const struct draft *draft, const char *who) {
    return strstr(draft->text[SOURCE], who) != NULL || strstr(draft->text[FRAMEWORK], who) != NULL;
}

static const char *find_row(struct draft *draft) {
    const struct catalog *catalog = draft->reading->run->catalog;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_from(draft, known[i].who) && says(draft, known[i].what)) {
            draft->row.row = catalog_weight_sync(catalog, known[i].row);
            break;
        }
    if (draft->row.row == NULL)
        return SYNC_SINGLE_POINT; /* a mechanism that no row describes */
    return draft->row.row->points < SYNC_FEWEST_POINTS ? SYNC_SINGLE_POINT : NULL;
}

/* ---- where and what -------------------------------------------------------------------------- */

static int count_of(const char *text) {
    int64_t count = 0;
    bool read = base_integer_read(text, &count) == BASE_NUMBER_OK && count > 0 && count < 1000000;
    return read ? (int)count : 0;
}

/* A node that anyone may own with such GPUs, of eight where there are several. */
static const struct hardware_node *node_with(const struct catalog *catalog, const char *gpu) {
    const struct hardware_node *found = NULL;
    const char *name;
    for (size_t i = 0; (name = catalog_name_at(catalog, CATALOG_NODES, i)) != NULL; i++) {
        const struct hardware_node *node = catalog_node(catalog, name);
        bool generic = strcmp(catalog_node_offer(catalog, name)->provider, "generic") == 0;
        if (generic && strcmp(node->gpu, gpu) == 0 && (found == NULL || node->gpus == 8))
            found = node;
    }
    return found;
}

static const char *read_cluster(struct draft *draft) {
    const struct catalog *catalog = draft->reading->run->catalog;
    const struct hardware_gpu *gpu = catalog_gpu(catalog, draft->text[GPU]);
    int train = count_of(draft->text[TRAIN_GPUS]), rollout = count_of(draft->text[ROLLOUT_GPUS]);
    int gpus = count_of(draft->text[GPUS]);
    gpus = gpus > 0 ? gpus : train + rollout;
    if (gpu == NULL)
        return "the GPU is not stated, or not in the catalog";
    const struct hardware_node *node = node_with(catalog, gpu->name);
    if (node == NULL)
        return "the catalog has no node with that GPU";
    if (gpus == 0)
        return "the number of GPUs is not stated";
    int per_node = gpus < node->gpus ? gpus : node->gpus;
    draft->row.cluster = (struct hardware_cluster){.gpu = *gpu,
                                                   .node = *node,
                                                   .nodes = (gpus + per_node - 1) / per_node,
                                                   .gpus_per_node = per_node};
    draft->row.request.trainer_ranks = train > 0 ? train : gpus;
    draft->row.request.engine_ranks = rollout > 0 ? rollout : gpus;
    return NULL;
}

static bool is_fp8(const struct draft *draft) {
    return strcmp(draft->text[PRECISION], "fp8") == 0 || strstr(draft->text[MODEL], "FP8") != NULL;
}

/* The name without what stands in brackets behind it. */
static const struct llm_architecture *model_of(const struct draft *draft) {
    const char *text = *draft->text[ACTOR] != '\0' ? draft->text[ACTOR] : draft->text[MODEL];
    char name[96];
    const char *bracket = strstr(text, " (");
    size_t length = bracket == NULL ? strlen(text) : (size_t)(bracket - text);
    if (length >= sizeof name)
        return NULL;
    memcpy(name, text, length);
    name[length] = '\0';
    return catalog_model(draft->reading->run->catalog, name);
}

/* FP8 weights come with a scale each. */
static const char *read_model(struct draft *draft) {
    const struct llm_architecture *model = model_of(draft);
    double bytes = is_fp8(draft) ? 1.0 : 2.0;
    if (model == NULL)
        return "the catalog has no model of that name";
    draft->row.request.total_bytes = bytes * (double)llm_parameters(model, LLM_HEAD_VOCABULARY);
    draft->row.request.tensors =
        (is_fp8(draft) ? 2.0 : 1.0) * (double)llm_tensors(model, LLM_HEAD_VOCABULARY);
    return NULL;
}

static const char *read_known(struct draft *draft) {
    const char *reason = find_row(draft);
    if (reason == NULL)
        reason = read_model(draft);
    if (reason == NULL)
        reason = read_cluster(draft);
    bool quantises = reason == NULL && is_fp8(draft) &&
                     strcmp(draft->row.row->type->name, "shard_to_shard") == 0;
    return quantises ? SYNC_SINGLE_POINT : reason; /* a conversion on the way that no other has */
}

double sync_row_seconds(const struct sync_row *row, const struct network_weight_sync_cost *cost) {
    struct network_weight_sync_request request = row->request;
    request.cluster = &row->cluster;
    return row->row->type->duration_s(cost, &request);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static enum rlhfsim_status add_row(struct draft *draft, const struct csv_cell *cell,
                                   const char *source, const char *name, sync_row_func *func,
                                   void *subject) {
    struct validation_run *run = draft->reading->run;
    char text[256], quoted[BASE_QUOTE_SIZE];
    draft->row.source = validation_source_name(run->validation, source);
    (void)snprintf(text, sizeof text, "%.60s %.60s %.60s", name, draft->text[METHOD],
                   draft->text[GPUS]);
    draft->row.name = base_arena_text(&run->validation->arena, text, strlen(text));
    if (draft->row.source == NULL || draft->row.name == NULL)
        return RLHFSIM_NO_MEMORY;
    if (*cell->text != '\0' &&
        (base_number_read(cell->text, &draft->row.measured_s) != BASE_NUMBER_OK ||
         draft->row.measured_s < 0.0))
        return tree_error(run->diagnostics, cell->place, "%s is %s, expected seconds",
                          draft->row.metric, base_quote(cell->text, quoted));
    draft->row.skipped = read_known(draft);
    return func(subject, &draft->row) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static enum rlhfsim_status read_components(struct reading *reading, const struct csv_table *table,
                                           sync_row_func *func, void *subject) {
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (const struct csv_row *cells = table->rows; cells != NULL; cells = cells->next) {
        struct draft draft = {.reading = reading, .row = {.metric = names[TIME_S]}};
        read_cells(&draft, cells);
        if (strncmp(draft.text[KIND], "weight sync", strlen("weight sync")) != 0)
            continue;
        enum rlhfsim_status status = add_row(&draft, &cells->cells[reading->column[TIME_S]],
                                             draft.text[SOURCE], draft.text[MODEL], func, subject);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

/* ---- figures of runs ------------------------------------------------------------------------- */

#define PATH_SIZE 4096

static enum rlhfsim_status read_runs(struct reading *runs, struct csv_table *table) {
    char path[PATH_SIZE];
    const char *slash = strrchr(runs->path, '/');
    int folder = slash == NULL ? 0 : (int)(slash - runs->path) + 1;
    int length = snprintf(path, sizeof path, "%.*sruns.csv", folder, runs->path);
    if (length < 0 || length >= PATH_SIZE)
        return rlhfsim_diagnostics_add(runs->run->diagnostics, RLHFSIM_INVALID, runs->path, 0, 0,
                                       "the path is too long");
    enum rlhfsim_status status = validation_read_table(runs->run, path, table);
    if (status != RLHFSIM_OK)
        return status;
    find_columns(runs, table);
    if (runs->column[KEY] != VALIDATION_NO_COLUMN)
        return RLHFSIM_OK;
    return rlhfsim_diagnostics_add(runs->run->diagnostics, RLHFSIM_INVALID, path, 1, 1,
                                   "column '%s' is missing", names[KEY]);
}

static const struct csv_row *find_run(const struct reading *runs, const struct csv_table *table,
                                      const char *key) {
    const struct csv_row *row = table->rows;
    while (row != NULL && strcmp(validation_cell(row, runs->column[KEY]), key) != 0)
        row = row->next;
    return row;
}

static enum rlhfsim_status read_figure(struct reading *figures, struct reading *runs,
                                       const struct csv_table *table, const struct csv_row *cells,
                                       sync_row_func *func, void *subject) {
    const char *key = validation_cell(cells, figures->column[KEY]);
    const struct csv_cell *value = &cells->cells[figures->column[VALUE]];
    const struct csv_row *run = find_run(runs, table, key);
    struct draft draft = {.reading = runs, .row = {.metric = "weight_sync_s"}};
    char quoted[BASE_QUOTE_SIZE];
    if (run == NULL)
        return tree_error(runs->run->diagnostics, cells->cells[figures->column[KEY]].place,
                          "run_key is %s, which runs.csv does not have", base_quote(key, quoted));
    read_cells(&draft, run);
    return add_row(&draft, value, draft.text[SOURCE_KEY], key, func, subject);
}

static enum rlhfsim_status read_figures(struct reading *figures, const struct csv_table *table,
                                        sync_row_func *func, void *subject) {
    struct reading runs = {.run = figures->run, .path = figures->path};
    struct csv_table run_table;
    enum rlhfsim_status worst = read_runs(&runs, &run_table);
    if (worst != RLHFSIM_OK)
        return worst;
    for (const struct csv_row *cells = table->rows; cells != NULL; cells = cells->next) {
        if (strcmp(validation_cell(cells, figures->column[METRIC]), "weight_sync_s") != 0)
            continue;
        enum rlhfsim_status status = read_figure(figures, &runs, &run_table, cells, func, subject);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

static bool has(const struct reading *reading, const enum field *fields, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (reading->column[fields[i]] == VALIDATION_NO_COLUMN)
            return false;
    return true;
}

enum rlhfsim_status sync_rows_read(struct validation_run *run, const char *path,
                                   sync_row_func *func, void *subject) {
    static const enum field components[] = {KIND, MODEL, GPU, GPUS, METHOD, TIME_S};
    static const enum field figures[] = {KEY, METRIC, VALUE};
    struct reading reading = {.run = run, .path = path};
    struct csv_table table;
    enum rlhfsim_status status = validation_read_table(run, path, &table);
    if (status != RLHFSIM_OK)
        return status;
    find_columns(&reading, &table);
    if (has(&reading, components, sizeof components / sizeof *components))
        return read_components(&reading, &table, func, subject);
    if (has(&reading, figures, sizeof figures / sizeof *figures))
        return read_figures(&reading, &table, func, subject);
    return rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, path, 1, 1,
                                   "expected the columns kind, model, gpu, num_gpus, method and "
                                   "time_s, or run_key, metric and value");
}
