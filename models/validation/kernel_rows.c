/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Shapes of rows. Prompts are causal and whole, s (s + 1) / 2 pairs each, and are put into a cache;
 * in decode seq_len is the context that the one new token sees. fp8 products of an inference
 * engine (`framework`) hold the cast of their inputs.
 *
 * Traffic of a token through an operator of a layer, 2 bytes an element, on one of tp GPUs: norms
 * and embeddings read and write the hidden row, a residual add reads two and writes one, a gated
 * activation reads two and writes one of ffn / tp (a plain one reads and writes one), rotary reads
 * and writes queries and keys.
 */

#include "models/validation/kernel_rows.h"

#include "models/base/text.h"
#include "models/llm/architecture.h"
#include "models/validation/kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ELEMENT_BYTES 2.0
#define MICRO 1e-6
#define MILLI 1e-3

double kernel_shape_s(const struct hardware_gpu *gpu, const struct kernel_shape *shape) {
    switch (shape->kind) {
    case KERNEL_PREFILL:
        return hardware_attention_prefill_s(gpu, &shape->attention);
    case KERNEL_DECODE:
        return hardware_attention_decode_s(gpu, &shape->attention);
    case KERNEL_OPERATOR:
        return hardware_operator_s(gpu, shape->operator_kind, shape->rows, shape->row_bytes);
    case KERNEL_GEMM:
        break;
    }
    double product_s = hardware_gemm_s(gpu, shape->precision, shape->m, shape->n, shape->k);
    return shape->quantised
               ? product_s + hardware_quantise_s(gpu, shape->precision, shape->m * shape->k)
               : product_s;
}

/* ---- columns --------------------------------------------------------------------------------- */

enum { SOURCE, GPU, FRAMEWORK, TIME, FIRST };
enum { GEMM_DTYPE = FIRST, GEMM_M, GEMM_N, GEMM_K };
enum { PHASE = FIRST, BATCH, SEQ_LEN, Q_HEADS, KV_HEADS, HEAD_DIM, KV_DTYPE };
enum { OP = FIRST, MODEL, TP, NUM_TOKENS };

static const struct layout {
    const char *columns[KERNEL_COLUMN_LIMIT + 1]; /* up to NULL; in the order above */
    double unit_s;
} layouts[] = {
    [KERNEL_PRODUCTS] = {{"source", "gpu", "framework", "time_us", "dtype", "m", "n", "k"}, MICRO},
    [KERNEL_ATTENTIONS] = {{"source", "gpu", "framework", "time_us", "phase", "batch", "seq_len",
                            "q_heads", "kv_heads", "head_dim", "kv_dtype"},
                           MICRO},
    [KERNEL_OPERATORS] = {{"source", "gpu", "framework", "time_ms", "op", "model", "tp",
                           "num_tokens"},
                          MILLI},
};
#define LAYOUTS (sizeof layouts / sizeof *layouts)

const char *kernel_table_metric(enum kernel_table_kind kind) {
    return layouts[kind].columns[TIME];
}

double kernel_table_unit_s(enum kernel_table_kind kind) {
    return layouts[kind].unit_s;
}

static bool match(const struct csv_table *table, const struct layout *layout,
                  size_t column[KERNEL_COLUMN_LIMIT]) {
    for (size_t i = 0; layout->columns[i] != NULL; i++) {
        column[i] = validation_column(table, layout->columns[i]);
        bool optional = i == SOURCE || i == FRAMEWORK;
        if (column[i] == VALIDATION_NO_COLUMN && !optional)
            return false;
    }
    return true;
}

enum rlhfsim_status kernel_table_find(const struct csv_table *table, const char *path,
                                      struct rlhfsim_diagnostics *diagnostics,
                                      struct kernel_table *result) {
    for (size_t i = 0; i < LAYOUTS; i++) {
        result->kind = (enum kernel_table_kind)i;
        if (match(table, &layouts[i], result->column))
            return RLHFSIM_OK;
    }
    return rlhfsim_diagnostics_add(
        diagnostics, RLHFSIM_INVALID, path, 1, 1,
        "these are not the columns of measured kernels, expected gpu and dtype, m, n, k, time_us; "
        "or phase, batch, seq_len, q_heads, kv_heads, head_dim, kv_dtype, time_us; or model, tp, "
        "num_tokens, op, time_ms");
}

/* ---- cells ----------------------------------------------------------------------------------- */

struct reading {
    const struct kernel_table *table;
    const struct csv_row *cells;
    const struct catalog *catalog;
    struct rlhfsim_diagnostics *diagnostics;
    struct kernel_row *row;
    const char *reason; /* why there is no shape */
    bool good;
};

static const char *text_of(const struct reading *reading, int column) {
    return validation_cell(reading->cells, reading->table->column[column]);
}

/* Shorter times are slips, and quotients with them no numbers. */
#define LEAST_TIME 1e-9
#define LARGEST_NUMBER 1e12

/* Whether a number can be what its column is called: dimensions are whole. */
static bool is_possible(double number, int column) {
    if (column == TIME)
        return number >= LEAST_TIME && number < LARGEST_NUMBER;
    return number >= 1.0 && number < LARGEST_NUMBER && floor(number) == number;
}

/* A time above 0 or a whole number; an empty cell is a reason, anything else an error. */
static double number_of(struct reading *reading, int column) {
    const char *text = text_of(reading, column);
    char quoted[BASE_QUOTE_SIZE];
    double number = 0.0;
    if (*text == '\0') {
        reading->reason = "a dimension is missing";
        return 1.0;
    }
    if (base_number_read(text, &number) == BASE_NUMBER_OK && is_possible(number, column))
        return number;
    reading->good = false;
    (void)tree_error(
        reading->diagnostics, reading->cells->cells[reading->table->column[column]].place,
        "%s is %s, expected a %s above 0", layouts[reading->table->kind].columns[column],
        base_quote(text, quoted), column == TIME ? "number" : "whole number");
    return 1.0;
}

static void read_measured(struct reading *reading) {
    reading->row->measured =
        *text_of(reading, TIME) == '\0' ? (double)NAN : number_of(reading, TIME);
}

static const struct {
    const char *name;
    enum hardware_precision precision;
} dtypes[] = {{"bfloat16", HARDWARE_BF16}, {"bf16", HARDWARE_BF16},    {"float16", HARDWARE_FP16},
              {"fp16", HARDWARE_FP16},     {"float32", HARDWARE_FP32}, {"fp32", HARDWARE_FP32},
              {"fp8", HARDWARE_FP8}};

static enum hardware_precision dtype_of(struct reading *reading, int column) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, text_of(reading, column)) == 0)
            return dtypes[i].precision;
    reading->reason = "the number format is not one of bf16, fp16, fp32, fp8";
    return HARDWARE_BF16;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void read_product(struct reading *reading) {
    struct kernel_shape *shape = &reading->row->shape;
    shape->kind = KERNEL_GEMM;
    shape->precision = dtype_of(reading, GEMM_DTYPE);
    shape->m = number_of(reading, GEMM_M);
    shape->n = number_of(reading, GEMM_N);
    shape->k = number_of(reading, GEMM_K);
    shape->quantised = shape->precision == HARDWARE_FP8 && *text_of(reading, FRAMEWORK) != '\0';
    (void)snprintf(reading->row->name, KERNEL_NAME_SIZE, "%s %.0f x %.0f x %.0f",
                   hardware_precision_name(shape->precision), shape->m, shape->n, shape->k);
}

static void read_attention(struct reading *reading) {
    struct kernel_shape *shape = &reading->row->shape;
    struct hardware_attention *attention = &shape->attention;
    bool prefill = strcmp(text_of(reading, PHASE), "prefill") == 0;
    double batch = number_of(reading, BATCH), length = number_of(reading, SEQ_LEN);
    double width = number_of(reading, HEAD_DIM);
    enum hardware_precision kept = dtype_of(reading, KV_DTYPE);
    if (!prefill && strcmp(text_of(reading, PHASE), "decode") != 0)
        reading->reason = "the phase is neither prefill nor decode";
    shape->kind = prefill ? KERNEL_PREFILL : KERNEL_DECODE;
    *attention = (struct hardware_attention){
        .score_pairs = batch * (prefill ? length * (length + 1.0) / 2.0 : length),
        .tokens = batch * (prefill ? length : 1.0),
        .sequences = batch,
        .context_tokens = batch * length,
        .cached_tokens = batch * (prefill ? length : 1.0),
        .heads = number_of(reading, Q_HEADS),
        .kv_heads = number_of(reading, KV_HEADS),
        .score_dim = width,
        .value_dim = width,
        .element_bytes = ELEMENT_BYTES,
        .warm = true, /* the tables are of kernels that were repeated */
    };
    attention->kv_token_bytes = attention->kv_heads * 2.0 * width * hardware_precision_bytes(kept);
    (void)snprintf(reading->row->name, KERNEL_NAME_SIZE, "%s %.0f x %.0f heads %.0f/%.0f",
                   prefill ? "prefill" : "decode", batch, length, attention->heads,
                   attention->kv_heads);
}

/* Elements of one token on one GPU. */
static double rotary_columns(const struct llm_architecture *model, double tp) {
    return (double)(llm_query_columns(model) + llm_key_columns(model)) / tp;
}

static void set_operator(struct kernel_shape *shape, enum hardware_operator kind, double elements) {
    shape->kind = KERNEL_OPERATOR;
    shape->operator_kind = kind;
    shape->rows = shape->m;
    shape->row_bytes = ELEMENT_BYTES * elements;
}

static void set_product(struct kernel_shape *shape, double n, double k) {
    shape->kind = KERNEL_GEMM;
    shape->precision = HARDWARE_FP16;
    shape->n = n;
    shape->k = k;
}

static bool shape_operator(struct kernel_shape *shape, const char *op,
                           const struct llm_architecture *model, double tp) {
    double hidden = (double)model->hidden, ffn = (double)model->ffn / tp;
    double queries = (double)llm_query_columns(model) / tp;
    double projected = (model->gated_ffn ? 2.0 : 1.0) * ffn;
    if (strcmp(op, "emb") == 0)
        set_operator(shape, HARDWARE_EMBEDDING, 2.0 * hidden);
    else if (strcmp(op, "input_layernorm") == 0 || strcmp(op, "post_attention_layernorm") == 0)
        set_operator(shape, HARDWARE_NORM, 2.0 * hidden);
    else if (strcmp(op, "add") == 0)
        set_operator(shape, HARDWARE_ADD, 3.0 * hidden);
    else if (strcmp(op, "mlp_act") == 0)
        set_operator(shape, HARDWARE_ACTIVATION, projected + ffn);
    else if (strcmp(op, "attn_rope") == 0)
        set_operator(shape, HARDWARE_ROTARY, 2.0 * rotary_columns(model, tp));
    else if (strcmp(op, "attn_pre_proj") == 0)
        set_product(shape, queries + 2.0 * (double)llm_key_columns(model) / tp, hidden);
    else if (strcmp(op, "attn_post_proj") == 0)
        set_product(shape, hidden, queries);
    else if (strcmp(op, "mlp_up_proj") == 0)
        set_product(shape, projected, hidden);
    else if (strcmp(op, "mlp_down_proj") == 0)
        set_product(shape, hidden, ffn);
    else
        return false;
    return true;
}

static void read_operator(struct reading *reading) {
    const char *op = text_of(reading, OP), *name = text_of(reading, MODEL);
    const struct llm_architecture *model = catalog_model(reading->catalog, name);
    double tp = number_of(reading, TP);
    reading->row->shape.m = number_of(reading, NUM_TOKENS);
    if (model == NULL)
        reading->reason = "the catalog has no such model";
    else if (!shape_operator(&reading->row->shape, op, model, tp))
        reading->reason = "the operator is not known";
    (void)snprintf(reading->row->name, KERNEL_NAME_SIZE, "%.60s %.60s tp %.0f tokens %.0f", op,
                   name, tp, reading->row->shape.m);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_known(const struct hardware_gpu *gpu, const struct kernel_shape *shape) {
    double peak = gpu->peak_flops_per_s[HARDWARE_BF16];
    if (shape->kind == KERNEL_GEMM)
        peak = gpu->peak_flops_per_s[shape->precision];
    return isfinite(peak * gpu->memory_bandwidth_bytes_per_s * gpu->memory_efficiency *
                    gpu->matmul_efficiency * gpu->attention_efficiency * gpu->kernel_launch_s);
}

static void find_gpu(struct reading *reading) {
    const struct hardware_gpu *gpu = catalog_gpu(reading->catalog, text_of(reading, GPU));
    const struct kernel_shape *shape = &reading->row->shape;
    reading->row->gpu = gpu;
    if (gpu == NULL)
        reading->reason = "the catalog has no such GPU";
    else if (!is_known(gpu, shape))
        reading->reason = "the catalog lacks a rate of the GPU";
    else if (shape->kind == KERNEL_GEMM && gpu->peak_flops_per_s[shape->precision] == 0.0)
        reading->reason = "the GPU does not support the number format";
}

enum rlhfsim_status kernel_row_read(const struct kernel_table *table, const struct csv_row *cells,
                                    const struct catalog *catalog,
                                    struct rlhfsim_diagnostics *diagnostics, struct kernel_row *row,
                                    const char **reason) {
    struct reading reading = {table, cells, catalog, diagnostics, row, NULL, true};
    *row = (struct kernel_row){.source = text_of(&reading, SOURCE),
                               .framework = text_of(&reading, FRAMEWORK)};
    read_measured(&reading);
    if (table->kind == KERNEL_PRODUCTS)
        read_product(&reading);
    else if (table->kind == KERNEL_ATTENTIONS)
        read_attention(&reading);
    else
        read_operator(&reading);
    if (reading.reason == NULL)
        find_gpu(&reading);
    *reason = reading.reason;
    return reading.good ? RLHFSIM_OK : RLHFSIM_INVALID;
}
