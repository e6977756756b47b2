/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/kernel_sets.h"

#include "models/base/hash.h"
#include "models/base/text.h"
#include "models/validation/kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which set, which fold ------------------------------------------------------------------- */

/* Products of an operator table are whole layers of an engine of their own: they are left for
 * validation. */
static const char *kernel_of(const struct kernel_table *table, const struct kernel_shape *shape,
                             enum hardware_kernel *kernel) {
    switch (shape->kind) {
    case KERNEL_PREFILL:
        *kernel = HARDWARE_KERNEL_PREFILL;
        return NULL;
    case KERNEL_DECODE:
        *kernel = HARDWARE_KERNEL_DECODE;
        return NULL;
    case KERNEL_OPERATOR:
        *kernel = (enum hardware_kernel)(HARDWARE_KERNEL_NORM + (int)shape->operator_kind);
        return NULL;
    case KERNEL_GEMM:
        break;
    }
    *kernel =
        shape->precision == HARDWARE_FP8 ? HARDWARE_KERNEL_GEMM_FP8 : HARDWARE_KERNEL_GEMM_BF16;
    if (table->kind == KERNEL_OPERATORS)
        return "products of tables of operators are validated, not fitted to";
    return shape->precision == HARDWARE_FP32 ? "there is no law of fp32 products" : NULL;
}

static unsigned fold_of(const struct kernel_shape *shape) {
    const struct hardware_attention *attention = &shape->attention;
    double keys[] = {
        shape->n,        shape->k, attention->sequences, attention->heads, attention->kv_heads,
        shape->row_bytes};
    uint64_t hash = BASE_HASH_START;
    size_t count = sizeof keys / sizeof *keys;
    for (size_t i = shape->kind == KERNEL_GEMM ? 0 : 2; i < count; i++)
        hash = base_hash_number(hash, (uint64_t)keys[i]);
    return (unsigned)(hash >> 32) % KERNEL_FOLDS;
}

/* ---- origins --------------------------------------------------------------------------------- */

/* Adds a text to a list, unless it is there or the list is full. */
static void add_origin(char list[static KERNEL_ORIGIN_SIZE], const char *text) {
    size_t used = strlen(list);
    if (*text == '\0' || strstr(list, text) != NULL || used + strlen(text) + 3 > KERNEL_ORIGIN_SIZE)
        return;
    if (used > 0)
        memcpy(list + used, "; ", 3);
    base_text_copy(list + strlen(list), KERNEL_ORIGIN_SIZE - strlen(list), text);
}

/* The project and the commit of a source: "aiconfigurator @095f58a51" of a longer cell. */
static void add_source(char list[static KERNEL_ORIGIN_SIZE], const char *cell) {
    char text[KERNEL_ORIGIN_SIZE];
    const char *commit = strchr(cell, '@');
    size_t project = strcspn(cell, " @");
    size_t hash = commit == NULL ? 0 : strcspn(commit, " ");
    (void)snprintf(text, sizeof text, "%.*s%s%.*s", (int)(project < 200 ? project : 200), cell,
                   hash == 0 ? "" : " ", (int)(hash < 200 ? hash : 200),
                   commit == NULL ? "" : commit);
    add_origin(list, text);
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct kernel_set *claim_set(struct kernel_set **sets, const struct hardware_gpu *gpu,
                                    enum hardware_kernel kernel) {
    struct kernel_set **link = sets;
    while (*link != NULL && ((*link)->gpu != gpu || (*link)->kernel != kernel))
        link = &(*link)->next;
    if (*link == NULL)
        *link = calloc(1, sizeof **link);
    if (*link != NULL) {
        (*link)->gpu = gpu;
        (*link)->kernel = kernel;
    }
    return *link;
}

static bool add_sample(struct kernel_set *set, const struct kernel_row *row, double unit_s) {
    if (set->count == set->room) {
        size_t room = set->room == 0 ? 256 : 2 * set->room;
        struct kernel_sample *samples = realloc(set->samples, room * sizeof *samples);
        if (samples == NULL)
            return false;
        set->samples = samples;
        set->room = room;
    }
    set->samples[set->count++] =
        (struct kernel_sample){row->shape, row->measured * unit_s, fold_of(&row->shape)};
    return true;
}

static enum rlhfsim_status read_row(struct calibration_run *run, const struct kernel_table *table,
                                    const struct csv_row *cells, struct kernel_set **sets) {
    struct kernel_row row;
    const char *reason;
    enum hardware_kernel kernel = HARDWARE_KERNEL_COUNT;
    enum rlhfsim_status status =
        kernel_row_read(table, cells, run->catalog, run->diagnostics, &row, &reason);
    if (status != RLHFSIM_OK)
        return status;
    if (reason == NULL)
        reason = isnan(row.measured) ? "no measured value" : kernel_of(table, &row.shape, &kernel);
    if (reason != NULL)
        return calibration_count_skip(run->calibration, reason) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
    struct kernel_set *set = claim_set(sets, row.gpu, kernel);
    if (set == NULL || !add_sample(set, &row, kernel_table_unit_s(table->kind)))
        return RLHFSIM_NO_MEMORY;
    add_source(set->sources, row.source);
    add_origin(set->frameworks, row.framework);
    return RLHFSIM_OK;
}

static enum rlhfsim_status read_file(struct calibration_run *run, struct validation_run *reader,
                                     const char *path, struct kernel_set **sets) {
    struct csv_table table;
    struct kernel_table kernels;
    enum rlhfsim_status worst = validation_read_table(reader, path, &table);
    if (worst == RLHFSIM_OK)
        worst = kernel_table_find(&table, path, run->diagnostics, &kernels);
    if (worst != RLHFSIM_OK)
        return worst;
    for (const struct csv_row *row = table.rows; row != NULL; row = row->next) {
        enum rlhfsim_status status = read_row(run, &kernels, row, sets);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

enum rlhfsim_status kernel_sets_read(struct calibration_run *run, struct kernel_set **sets) {
    /* The texts of the tables are needed until the rows are read. */
    struct validation_run reader = {validation_new(), run->catalog, run->diagnostics, NULL};
    enum rlhfsim_status worst = reader.validation == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    *sets = NULL;
    for (size_t i = 0; i < run->path_count && worst != RLHFSIM_NO_MEMORY; i++) {
        enum rlhfsim_status status = read_file(run, &reader, run->paths[i], sets);
        worst = status == RLHFSIM_OK ? worst : status;
    }
    rlhfsim_validation_free(reader.validation);
    return worst;
}

void kernel_sets_free(struct kernel_set *sets) {
    while (sets != NULL) {
        struct kernel_set *next = sets->next;
        free(sets->samples);
        free(sets);
        sets = next;
    }
}
