/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * One table of rows says what a summary holds, in the order of summary.json. A row is a scalar at
 * an offset of the struct, or a list whose members are made into rows of their own. From a row
 * comes a value (struct rlhfsim_value), and from the value its JSON, so that a script that reads
 * the file and one that asks by path see the same.
 */
#include "models/results/summary.h"

#include "sim/contract.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- quantiles -------------------------------------------------------------------------------*/

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile(const double *sorted, size_t n, double p) {
    double place = (double)(n - 1) * p;
    size_t below = (size_t)place;
    size_t above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

struct results_figure results_figure_of(double *values, size_t n) {
    CONTRACT(n > 0, "a figure is the summary of at least one value");
    qsort(values, n, sizeof *values, compare_doubles);
    CONTRACT(isfinite(values[0]) && isfinite(values[n - 1]), "a figure's values are finite");
    return (struct results_figure){.known = true,
                                   .p10 = quantile(values, n, 0.1),
                                   .p50 = quantile(values, n, 0.5),
                                   .p90 = quantile(values, n, 0.9)};
}

struct results_figure results_figure_exact(double value) {
    CONTRACT(isfinite(value), "a figure's value is finite");
    return (struct results_figure){.known = true, .p10 = value, .p50 = value, .p90 = value};
}

/* ---- named members of lists ------------------------------------------------------------------*/

#define ITEMS_PATH "cost.items_usd"
#define PROVENANCE_PATH "provenance"
#define CRITICAL_PATH "critical_path"
#define STALE_PATH "staleness.distribution"
#define POOLS_PATH "pools"

static void join_path(char path[RESULTS_PATH_SIZE], const char *list, const char *name) {
    int length = snprintf(path, RESULTS_PATH_SIZE, "%s.%s", list, name);
    CONTRACT(length > 0 && length < RESULTS_PATH_SIZE, "the member's name fits its path");
}

void results_summary_add_item(struct rlhfsim_summary *summary, const char *name,
                              struct results_figure usd) {
    size_t i = summary->cost.item_count;
    CONTRACT(i < COST_ITEMS, "a summary has at most COST_ITEMS items of cost");
    join_path(summary->cost.item_paths[i], ITEMS_PATH, name);
    summary->cost.item_names[i] = name;
    summary->cost.item_usd[i] = usd;
    summary->cost.item_count++;
}

void results_summary_add_provenance(struct rlhfsim_summary *summary, const char *key,
                                    const char *value) {
    size_t i = summary->provenance_count;
    CONTRACT(i < RESULTS_PROVENANCE_LIMIT, "a summary has RESULTS_PROVENANCE_LIMIT provenances");
    join_path(summary->provenance[i].path, PROVENANCE_PATH, key);
    summary->provenance[i].key = key;
    summary->provenance[i].value = value;
    summary->provenance_count++;
}

/* ---- values of the fields --------------------------------------------------------------------*/

static void figure_value(const struct results_figure *figure, const char *unit,
                         struct rlhfsim_value *value) {
    *value = (struct rlhfsim_value){.unit = unit};
    if (!figure->known)
        return;
    CONTRACT(isfinite(figure->p10) && isfinite(figure->p50) && isfinite(figure->p90),
             "known figures are finite");
    value->kind = RLHFSIM_VALUE_FIGURE;
    value->p10 = figure->p10;
    value->p50 = figure->p50;
    value->p90 = figure->p90;
}

static void text_value(const char *text, struct rlhfsim_value *value) {
    *value = (struct rlhfsim_value){0};
    if (text[0] == '\0')
        return;
    value->kind = RLHFSIM_VALUE_TEXT;
    value->text = text;
}

static void count_value(int64_t count, struct rlhfsim_value *value) {
    *value = (struct rlhfsim_value){0};
    if (count < 0)
        return;
    value->kind = RLHFSIM_VALUE_COUNT;
    value->count = count;
}

/* ---- lists: how many leaves, and the path and value of each ----------------------------------*/

struct list_type {
    bool is_array; /* members are "N.KEY" of an array of objects, not "KEY" of one object */
    size_t (*count)(const struct rlhfsim_summary *summary);
    const char *(*path)(const struct rlhfsim_summary *summary, size_t index);
    void (*value)(const struct rlhfsim_summary *summary, size_t index, struct rlhfsim_value *value);
};

static size_t item_count(const struct rlhfsim_summary *summary) {
    return summary->cost.item_count;
}

static const char *item_path(const struct rlhfsim_summary *summary, size_t index) {
    return summary->cost.item_paths[index];
}

static void item_value(const struct rlhfsim_summary *summary, size_t index,
                       struct rlhfsim_value *value) {
    figure_value(&summary->cost.item_usd[index], "USD", value);
}

static const struct list_type item_list = {false, item_count, item_path, item_value};

static size_t provenance_count(const struct rlhfsim_summary *summary) {
    return summary->provenance_count;
}

static const char *provenance_path(const struct rlhfsim_summary *summary, size_t index) {
    return summary->provenance[index].path;
}

static void provenance_value(const struct rlhfsim_summary *summary, size_t index,
                             struct rlhfsim_value *value) {
    text_value(summary->provenance[index].value, value);
}

static const struct list_type provenance_list = {false, provenance_count, provenance_path,
                                                 provenance_value};

/* Two leaves a member: the phase and its share. */
static size_t critical_path_count(const struct rlhfsim_summary *summary) {
    return 2 * summary->critical_path_count;
}

#define CRITICAL_PATHS(i) CRITICAL_PATH "." #i ".phase", CRITICAL_PATH "." #i ".share"

static const char *critical_path_path(const struct rlhfsim_summary *summary, size_t index) {
    static const char *const paths[] = {
        CRITICAL_PATHS(0), CRITICAL_PATHS(1), CRITICAL_PATHS(2),  CRITICAL_PATHS(3),
        CRITICAL_PATHS(4), CRITICAL_PATHS(5), CRITICAL_PATHS(6),  CRITICAL_PATHS(7),
        CRITICAL_PATHS(8), CRITICAL_PATHS(9), CRITICAL_PATHS(10), CRITICAL_PATHS(11),
    };
    _Static_assert(sizeof paths / sizeof paths[0] == 2 * ALGORITHM_PHASE_COUNT,
                   "every phase may be on the critical path");
    (void)summary;
    return paths[index];
}

static void critical_path_value(const struct rlhfsim_summary *summary, size_t index,
                                struct rlhfsim_value *value) {
    const struct results_path_share *member = &summary->critical_path[index / 2];
    if (index % 2 == 0)
        text_value(algorithm_phase_name(member->phase), value);
    else
        figure_value(&member->share, "1", value);
}

static const struct list_type critical_path_list = {true, critical_path_count, critical_path_path,
                                                    critical_path_value};

/* Two leaves a member: versions and share. */
static size_t stale_count(const struct rlhfsim_summary *summary) {
    return 2 * summary->staleness.share_count;
}

#define STALE_PATHS(i) STALE_PATH "." #i ".versions", STALE_PATH "." #i ".share"

static const char *stale_path(const struct rlhfsim_summary *summary, size_t index) {
    static const char *const paths[] = {
        STALE_PATHS(0),  STALE_PATHS(1),  STALE_PATHS(2),  STALE_PATHS(3),  STALE_PATHS(4),
        STALE_PATHS(5),  STALE_PATHS(6),  STALE_PATHS(7),  STALE_PATHS(8),  STALE_PATHS(9),
        STALE_PATHS(10), STALE_PATHS(11), STALE_PATHS(12), STALE_PATHS(13), STALE_PATHS(14),
        STALE_PATHS(15), STALE_PATHS(16),
    };
    _Static_assert(sizeof paths / sizeof paths[0] == 2 * RESULTS_STALENESS_LIMIT,
                   "every share has its paths");
    (void)summary;
    return paths[index];
}

static void stale_value(const struct rlhfsim_summary *summary, size_t index,
                        struct rlhfsim_value *value) {
    const struct results_stale_share *member = &summary->staleness.shares[index / 2];
    if (index % 2 == 0)
        count_value(member->versions, value);
    else
        figure_value(&member->share, "1", value);
}

static const struct list_type stale_list = {true, stale_count, stale_path, stale_value};

/* Four leaves a member. */
static size_t pool_count(const struct rlhfsim_summary *summary) {
    return 4 * summary->pool_count;
}

#define POOL_PATHS(i)                                                                         \
    POOLS_PATH "." #i ".name", POOLS_PATH "." #i ".gpus", POOLS_PATH "." #i ".idle_fraction", \
        POOLS_PATH "." #i ".peak_bytes"

static const char *pool_path(const struct rlhfsim_summary *summary, size_t index) {
    static const char *const paths[] = {POOL_PATHS(0), POOL_PATHS(1), POOL_PATHS(2), POOL_PATHS(3)};
    _Static_assert(sizeof paths / sizeof paths[0] == 4 * RESULTS_POOL_LIMIT,
                   "every pool has its paths");
    (void)summary;
    return paths[index];
}

static void pool_value(const struct rlhfsim_summary *summary, size_t index,
                       struct rlhfsim_value *value) {
    const struct results_pool *pool = &summary->pools[index / 4];
    if (index % 4 == 0)
        text_value(pool->name, value);
    else if (index % 4 == 1)
        count_value(pool->gpus, value);
    else if (index % 4 == 2)
        figure_value(&pool->idle_fraction, "1", value);
    else
        figure_value(&pool->peak_bytes, "bytes", value);
}

static const struct list_type pool_list = {true, pool_count, pool_path, pool_value};

/* ---- the table -------------------------------------------------------------------------------*/

enum row_kind { ROW_FIGURE, ROW_COUNT, ROW_TEXT, ROW_MEMORY_FLAG, ROW_MEMORY_NUMBER, ROW_LIST };

struct row {
    const char *path;
    enum row_kind kind;
    const char *unit;             /* of figures and numbers */
    size_t offset;                /* of the field; lists have none */
    const struct list_type *list; /* of lists */
};

#define FIELD(path, kind, unit, field) \
    { path, kind, unit, offsetof(struct rlhfsim_summary, field), NULL }
#define FIGURE(field, unit) FIELD(#field, ROW_FIGURE, unit, field)
#define COUNT(field) FIELD(#field, ROW_COUNT, NULL, field)
#define TEXT(field) FIELD(#field, ROW_TEXT, NULL, field)
#define LIST(path, type) \
    { path, ROW_LIST, NULL, 0, &(type) }
#define PHASE_ROW(name, text) \
    FIELD("time.phases_s." text, ROW_FIGURE, "s", time.phases_s[ALGORITHM_PHASE_##name]),

static const struct row rows[] = {
    TEXT(name),
    FIGURE(time.total_s, "s"),
    FIGURE(time.step_s, "s"),
    ALGORITHM_PHASE_MAP(PHASE_ROW) /* one row a phase */
    FIGURE(time.offload_s, "s"),
    COUNT(steps.rollout),
    COUNT(steps.optimizer),
    FIGURE(throughput.tokens_per_s_per_gpu, "tokens/s"),
    FIGURE(throughput.samples_per_s, "samples/s"),
    FIGURE(throughput.mfu_training, "1"),
    FIGURE(throughput.mfu_overall, "1"),
    FIGURE(rollout.mean_response_tokens, "tokens"),
    FIGURE(rollout.p99_response_tokens, "tokens"),
    FIGURE(rollout.share_cut, "1"),
    FIGURE(rollout.tail_idle_s, "s"),
    FIGURE(rollout.p50_response_tokens, "tokens"),
    FIGURE(rollout.p90_response_tokens, "tokens"),
    FIGURE(rollout.max_response_tokens, "tokens"),
    FIGURE(rollout.useless_tokens, "tokens"),
    FIGURE(rollout.tail_floor_s, "s"),
    FIGURE(rollout.rounds, "1"),
    FIGURE(rollout.wasted_share, "1"),
    FIGURE(rollout.exhausted_share, "1"),
    FIGURE(staleness.mean_versions, "versions"),
    LIST(STALE_PATH, stale_list),
    FIELD("memory.fits", ROW_MEMORY_FLAG, NULL, memory.fits),
    FIGURE(memory.peak_bytes, "bytes"),
    FIELD("memory.capacity_bytes", ROW_MEMORY_NUMBER, "bytes", memory.capacity_bytes),
    TEXT(memory.phase),
    TEXT(memory.device),
    FIGURE(memory.host_peak_bytes, "bytes"),
    TEXT(memory.verdict),
    FIGURE(memory.fit_probability, "1"),
    FIGURE(cost.total_usd, "USD"),
    LIST(ITEMS_PATH, item_list),
    FIGURE(cost.formula_usd, "USD"),
    FIGURE(gpu_hours, "h"),
    FIGURE(idle_fraction, "1"),
    LIST(POOLS_PATH, pool_list),
    FIGURE(compute.total_flops, "FLOP"),
    FIGURE(compute.pretraining_fraction, "1"),
    TEXT(limit.resource),
    FIGURE(limit.gain_fraction, "1"),
    FIGURE(scaling.faster_fraction, "1"),
    FIGURE(scaling.dearer_fraction, "1"),
    TEXT(scaling.phase),
    FIGURE(scaling.phase_share, "1"),
    FIGURE(scaling.phase_shorter_fraction, "1"),
    LIST(CRITICAL_PATH, critical_path_list),
    COUNT(events),
    TEXT(calibration),
    FIGURE(band.expected_total_s, "s"),
    FIGURE(band.expected_step_s, "s"),
    FIGURE(band.expected_rollout_s, "s"),
    FIGURE(band.expected_update_s, "s"),
    FIGURE(band.expected_logprob_s, "s"),
    TEXT(band.basis),
    LIST(PROVENANCE_PATH, provenance_list),
};
#define ROW_COUNT_ALL (sizeof rows / sizeof rows[0])

static void memory_value(const struct rlhfsim_summary *summary, const struct row *row,
                         struct rlhfsim_value *value) {
    *value = (struct rlhfsim_value){.unit = row->unit};
    if (!summary->memory.known)
        return;
    if (row->kind == ROW_MEMORY_FLAG) {
        value->kind = RLHFSIM_VALUE_FLAG;
        value->flag = summary->memory.fits;
    } else {
        value->kind = RLHFSIM_VALUE_NUMBER;
        value->number = summary->memory.capacity_bytes;
    }
}

/* The value of a row that is no list. */
static void row_value(const struct rlhfsim_summary *summary, const struct row *row,
                      struct rlhfsim_value *value) {
    const void *field = (const char *)summary + row->offset;
    switch (row->kind) {
    case ROW_FIGURE:
        figure_value(field, row->unit, value);
        break;
    case ROW_COUNT:
        count_value(*(const int64_t *)field, value);
        break;
    case ROW_TEXT:
        text_value(field, value);
        break;
    case ROW_MEMORY_FLAG:
    case ROW_MEMORY_NUMBER:
        memory_value(summary, row, value);
        break;
    case ROW_LIST:
        CONTRACT(false, "a list has no value of its own");
    }
}

/* ---- access by path --------------------------------------------------------------------------*/

/* One leaf of summary.json. A list without members is a leaf itself, and unknown. */
struct leaf {
    const struct row *row;
    size_t member; /* of a list that has some */
    const char *path;
};

static size_t row_leaves(const struct rlhfsim_summary *summary, const struct row *row) {
    size_t members = row->kind == ROW_LIST ? row->list->count(summary) : 1;
    return members > 0 ? members : 1;
}

static bool is_empty_list(const struct rlhfsim_summary *summary, const struct row *row) {
    return row->kind == ROW_LIST && row->list->count(summary) == 0;
}

static bool leaf_at(const struct rlhfsim_summary *summary, size_t index, struct leaf *leaf) {
    for (const struct row *row = rows; row < rows + ROW_COUNT_ALL; row++) {
        size_t leaves = row_leaves(summary, row);
        if (index >= leaves) {
            index -= leaves;
            continue;
        }
        bool is_member = row->kind == ROW_LIST && !is_empty_list(summary, row);
        *leaf = (struct leaf){row, index, is_member ? row->list->path(summary, index) : row->path};
        CONTRACT(leaf->path[0] != '\0', "members are added by results_summary_add_*");
        return true;
    }
    return false;
}

static void leaf_value(const struct rlhfsim_summary *summary, const struct leaf *leaf,
                       struct rlhfsim_value *value) {
    if (is_empty_list(summary, leaf->row))
        *value = (struct rlhfsim_value){0};
    else if (leaf->row->kind == ROW_LIST)
        leaf->row->list->value(summary, leaf->member, value);
    else
        row_value(summary, leaf->row, value);
}

const char *rlhfsim_summary_path(const struct rlhfsim_summary *summary, size_t index) {
    struct leaf leaf;
    return leaf_at(summary, index, &leaf) ? leaf.path : NULL;
}

bool rlhfsim_summary_get(const struct rlhfsim_summary *summary, const char *path,
                         struct rlhfsim_value *value) {
    struct leaf leaf;
    for (size_t i = 0; leaf_at(summary, i, &leaf); i++) {
        if (strcmp(leaf.path, path) != 0)
            continue;
        leaf_value(summary, &leaf, value);
        return true;
    }
    return false;
}

/* ---- JSON ------------------------------------------------------------------------------------*/

/* A name that is no UTF-8 (cut within a character, say) keeps its ASCII; json_string refuses it. */
static json_t *text_json(const char *text) {
    json_t *json = json_string(text);
    if (json != NULL)
        return json;
    char *ascii = strdup(text);
    if (ascii == NULL)
        return NULL;
    for (char *c = ascii; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    json = json_string(ascii);
    free(ascii);
    return json;
}

static json_t *value_json(const struct rlhfsim_value *value) {
    switch (value->kind) {
    case RLHFSIM_VALUE_FIGURE:
        return json_pack("{s:f, s:f, s:f}", "p10", value->p10, "p50", value->p50, "p90",
                         value->p90);
    case RLHFSIM_VALUE_NUMBER:
        return json_real(value->number);
    case RLHFSIM_VALUE_COUNT:
        return json_integer((json_int_t)value->count);
    case RLHFSIM_VALUE_FLAG:
        return json_boolean(value->flag);
    case RLHFSIM_VALUE_TEXT:
        return text_json(value->text);
    case RLHFSIM_VALUE_UNKNOWN:
        break;
    }
    return json_null();
}

/* Puts "N.KEY" of a list into an array of objects; N is the last one or the next. */
static bool array_put(json_t *array, const char *member, json_t *json) {
    char *key;
    size_t place = (size_t)strtoul(member, &key, 10);
    if (place == json_array_size(array) && json_array_append_new(array, json_object()) != 0) {
        json_decref(json);
        return false;
    }
    return json_object_set_new(json_array_get(array, place), key + 1, json) == 0;
}

static json_t *list_json(const struct rlhfsim_summary *summary, const struct row *row) {
    if (is_empty_list(summary, row))
        return json_null();
    json_t *list = row->list->is_array ? json_array() : json_object();
    bool done = list != NULL;
    for (size_t i = 0; done && i < row->list->count(summary); i++) {
        struct rlhfsim_value value;
        row->list->value(summary, i, &value);
        const char *member = row->list->path(summary, i) + strlen(row->path) + 1;
        json_t *json = value_json(&value);
        done = row->list->is_array ? array_put(list, member, json)
                                   : json_object_set_new(list, member, json) == 0;
    }
    if (done)
        return list;
    json_decref(list);
    return NULL;
}

/* Puts `json` at the dotted path, with the objects on the way; takes the reference. */
static bool object_put(json_t *object, const char *path, json_t *json) {
    const char *dot = strchr(path, '.');
    if (dot == NULL)
        return json_object_set_new(object, path, json) == 0;
    char key[RESULTS_PATH_SIZE];
    CONTRACT(dot - path < RESULTS_PATH_SIZE, "the table's paths are short");
    memcpy(key, path, (size_t)(dot - path));
    key[dot - path] = '\0';
    json_t *child = json_object_get(object, key);
    if (child == NULL) {
        child = json_object();
        if (json_object_set_new(object, key, child) != 0) {
            json_decref(json);
            return false;
        }
    }
    return object_put(child, dot + 1, json);
}

static bool all_null(json_t *json) {
    const char *key;
    json_t *value;
    if (!json_is_object(json))
        return json_is_null(json);
    json_object_foreach(json, key, value) {
        if (!all_null(value))
            return false;
    }
    return true;
}

/* An infeasible run has no time, price or throughput: the groups themselves are null then. */
static bool fold_unknown_groups(json_t *object) {
    static const char *const groups[] = {"time", "throughput", "cost"};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (all_null(json_object_get(object, groups[i])) &&
            json_object_set_new(object, groups[i], json_null()) != 0)
            return false;
    return true;
}

static json_t *summary_object(const struct rlhfsim_summary *summary) {
    json_t *object = json_object();
    bool done = object != NULL;
    for (const struct row *row = rows; done && row < rows + ROW_COUNT_ALL; row++) {
        struct rlhfsim_value value;
        if (row->kind == ROW_LIST) {
            done = object_put(object, row->path, list_json(summary, row));
        } else {
            row_value(summary, row, &value);
            done = object_put(object, row->path, value_json(&value));
        }
    }
    if (done && fold_unknown_groups(object))
        return object;
    json_decref(object);
    return NULL;
}

/* The buffer comes from malloc even where the host program gave jansson another allocator. */
char *rlhfsim_summary_json(const struct rlhfsim_summary *summary) {
    const size_t flags = JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17);
    json_t *object = summary_object(summary);
    if (object == NULL)
        return NULL;
    size_t size = json_dumpb(object, NULL, 0, flags);
    char *text = size > 0 ? malloc(size + 2) : NULL;
    if (text != NULL && json_dumpb(object, text, size, flags) == size) {
        text[size] = '\n';
        text[size + 1] = '\0';
    } else {
        free(text);
        text = NULL;
    }
    json_decref(object);
    return text;
}
