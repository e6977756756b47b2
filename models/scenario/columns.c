/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/columns.h"

#include "models/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT(bytes) .type = COLUMN_TEXT, .most = (bytes)
#define ABOVE(from, to) .type = COLUMN_NUMBER, .minimum = (from), .maximum = (to), .above = true
#define NUMBER(from, to) .type = COLUMN_NUMBER, .minimum = (from), .maximum = (to)
#define INTEGER(from, to) .type = COLUMN_INTEGER, .minimum = (from), .maximum = (to)
#define SHARE ABOVE(0, 1)
#define BOOLEAN .type = COLUMN_BOOLEAN
#define UNKNOWN .unknown = true
#define OPTIONAL .unknown = true, .optional = true
#define UNIT(name) .unit = (name)
#define ELSE(text) .fallback = (text)
#define LARGE 1e15
#define ORIGIN                                                  \
    {"provenance", .type = COLUMN_PROVENANCE, ELSE("assumed")}, \
        {"source", TEXT(1023), ELSE("the scenario")}, {         \
        "notes", .type = COLUMN_NOTE, ELSE("")                  \
    }

/* A text is at most as long as its field (see catalog.h, cluster.h, architecture.h). */
static const struct column gpu_columns[GPU_COLUMNS] = {
    {"name", TEXT(63), ELSE("inline GPU")},
    {"bf16_tflops", NUMBER(0, LARGE), UNKNOWN, UNIT("TFLOPS")},
    {"fp16_tflops", NUMBER(0, LARGE), UNKNOWN, UNIT("TFLOPS")},
    {"fp32_tflops", NUMBER(0, LARGE), UNKNOWN, UNIT("TFLOPS")},
    {"fp8_tflops", NUMBER(0, LARGE), UNKNOWN, UNIT("TFLOPS")},
    {"matmul_tflops_measured", ABOVE(0, LARGE), UNKNOWN, UNIT("TFLOPS")},
    {"attention_efficiency", SHARE, UNKNOWN},
    {"attention_backward_efficiency", SHARE, UNKNOWN},
    {"memory_gib", ABOVE(0, LARGE), UNKNOWN, UNIT("GiB")},
    {"memory_bandwidth_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"memory_bandwidth_measured_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"scaleup_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"host_bandwidth_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"kernel_launch_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"power_w", NUMBER(0, LARGE), UNKNOWN, UNIT("W")},
    {"fp4_tflops", NUMBER(0, LARGE), UNKNOWN, .optional = true, UNIT("TFLOPS"), ELSE("0")},
    {"sustained_share", SHARE, UNKNOWN, .optional = true, ELSE("")},
    ORIGIN};

static const struct column node_columns[NODE_COLUMNS] = {
    {"name", TEXT(63), ELSE("inline node")},
    {"provider", TEXT(31), ELSE("own")},
    {"instance", TEXT(63), ELSE("inline node")},
    {"region", TEXT(47), ELSE("here")},
    {"gpu", TEXT(63)},
    {"gpus", INTEGER(1, 1024)},
    {"host_memory_gib", ABOVE(0, LARGE), UNKNOWN, UNIT("GiB")},
    {"nvme_gb", NUMBER(0, LARGE), UNKNOWN, UNIT("GB")},
    {"network_gbit_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("Gbit/s")},
    {"scaleup_efficiency", SHARE, UNKNOWN},
    {"network_efficiency", SHARE, UNKNOWN},
    {"scaleup_latency_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"network_latency_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"collective_start_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"storage_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"domain_gpus", INTEGER(1, 1024), OPTIONAL},
    {"scaleup_fabric", .type = COLUMN_NOTE, .most = 47, .optional = true, ELSE("")},
    {"network_fabric", .type = COLUMN_NOTE, .most = 47, .optional = true, ELSE("")},
    {"nvme_read_gb_per_s", ABOVE(0, LARGE), UNKNOWN, .optional = true, UNIT("GB/s"), ELSE("")},
    {"nvme_write_gb_per_s", ABOVE(0, LARGE), UNKNOWN, .optional = true, UNIT("GB/s"), ELSE("")},
    {"host_gb_per_s", ABOVE(0, LARGE), OPTIONAL, UNIT("GB/s")},
    ORIGIN};

static const struct column fabric_columns[FABRIC_COLUMNS] = {
    {"name", TEXT(47)},
    {"use", TEXT(15)},
    {"fitted_with", .type = COLUMN_NOTE, .most = 47, ELSE("")},
    {"efficiency", SHARE, UNKNOWN},
    {"latency_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"start_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"chunk_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"own_copy", NUMBER(0, 1), UNKNOWN},
    {"ring_of_2", ABOVE(0, 100), UNKNOWN},
    {"ring_of_4", ABOVE(0, 100), UNKNOWN},
    {"alltoall", ABOVE(0, 100), UNKNOWN},
    {"alltoall_of_2", ABOVE(0, 100), UNKNOWN},
    {"alltoall_of_4", ABOVE(0, 100), UNKNOWN},
    {"alltoall_start_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"alltoall_loss", NUMBER(0, 1), UNKNOWN},
    {"switch_reduce", SHARE, UNKNOWN},
    {"switch_chunk_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"switch_members", INTEGER(2, 1024), UNKNOWN},
    {"tree", SHARE, UNKNOWN},
    {"tree_inside", SHARE, UNKNOWN},
    {"pair_inside", SHARE, UNKNOWN},
    {"direct_start_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"direct", SHARE, UNKNOWN},
    {"direct_of_2", SHARE, UNKNOWN},
    {"direct_second_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"uncertainty_percent", NUMBER(0, LARGE), UNKNOWN, UNIT("%")},
    {"uncertainty_small_percent", NUMBER(0, LARGE), UNKNOWN, UNIT("%")},
    {"uncertainty_alltoall_percent", NUMBER(0, LARGE), UNKNOWN, UNIT("%")},
    {"uncertainty_send_percent", NUMBER(0, LARGE), UNKNOWN, UNIT("%")},
    ORIGIN};

/* The limits of the shapes keep the parameter count within 63 bits, see architecture.h. */
static const struct column model_columns[MODEL_COLUMNS] = {
    {"name", TEXT(95), ELSE("inline model")},
    {"family", TEXT(31), ELSE("llama")},
    {"layers", INTEGER(1, LLM_LAYERS_LIMIT)},
    {"hidden", INTEGER(1, LLM_HIDDEN_LIMIT)},
    {"heads", INTEGER(1, LLM_HEADS_LIMIT)},
    {"kv_heads", INTEGER(1, LLM_HEADS_LIMIT)},
    {"head_dim", INTEGER(1, LLM_HEAD_DIM_LIMIT)},
    {"ffn", INTEGER(1, LLM_FFN_LIMIT)},
    {"vocab", INTEGER(1, LLM_VOCAB_LIMIT)},
    {"max_position", INTEGER(1, 1e9), UNIT("tokens")},
    {"tied_embeddings", BOOLEAN, ELSE("no")},
    {"gated_ffn", BOOLEAN, ELSE("yes")},
    {"qkv_bias", BOOLEAN, ELSE("no")},
    {"output_bias", BOOLEAN, ELSE("no")},
    {"ffn_bias", BOOLEAN, ELSE("no")},
    {"qk_norm", BOOLEAN, ELSE("no")},
    {"traits", .type = COLUMN_NOTE, .optional = true, ELSE("")},
    {"parameters", INTEGER(1, 9e15), UNKNOWN},
    ORIGIN};

static const struct column price_columns[PRICE_COLUMNS] = {
    {"provider", TEXT(31)},
    {"region", TEXT(47)},
    {"item", TEXT(95)},
    {"unit", TEXT(31)},
    {"price_usd", NUMBER(0, LARGE), UNIT("USD")},
    {"date", TEXT(31)},
    ORIGIN};

static const struct column framework_columns[FRAMEWORK_COLUMNS] = {
    {"name", TEXT(47)},
    {"matmul_share", ABOVE(0, 4)},
    {"microbatch_host_ms", NUMBER(0, LARGE), UNIT("ms")},
    {"optimizer_host_ms", NUMBER(0, LARGE), UNIT("ms")},
    {"step_host_s", NUMBER(0, LARGE), UNIT("s")},
    {"iteration_host_ms", NUMBER(0, LARGE), UNIT("ms")},
    {"sequence_host_us", NUMBER(0, LARGE), UNIT("us")},
    {"transition_s_per_sqrt_gb", NUMBER(0, LARGE), UNIT("s/sqrt(GB)")},
    {"weight_sync", TEXT(63)},
    {"sync_pause_s", NUMBER(0, LARGE), UNKNOWN, UNIT("s")},
    {"sync_tensor_ms", NUMBER(0, LARGE), UNKNOWN, UNIT("ms")},
    {"sync_load_gb_per_s", NUMBER(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"engine_residue_gib", NUMBER(0, LARGE), UNIT("GiB")},
    {"context_gib", NUMBER(0, LARGE), UNIT("GiB")},
    {"fragmentation_fraction", NUMBER(0, 1)},
    {"drop_last_prompts", BOOLEAN, .optional = true, ELSE("no")},
    {"drop_last_pairs", BOOLEAN, .optional = true, ELSE("no")},
    {"family", .type = COLUMN_NOTE, .optional = true, ELSE("")},
    {"layer_host_ms", NUMBER(0, LARGE), UNIT("ms"), .optional = true, ELSE("0")},
    {"expert_layer_ms", NUMBER(0, LARGE), UNIT("ms"), .optional = true, ELSE("0")},
    {"split_weight_sync", .type = COLUMN_NOTE, .optional = true, ELSE("")},
    {"fusion", .type = COLUMN_NOTE, .optional = true, ELSE("")},
    {"engine", .type = COLUMN_NOTE, .optional = true, ELSE("")},
    ORIGIN};

static const struct column sync_columns[SYNC_COLUMNS] = {
    {"name", TEXT(47)},
    {"mechanism", TEXT(63)},
    {"pause_s", NUMBER(0, LARGE), UNKNOWN, UNIT("s")},
    {"tensor_ms", NUMBER(0, LARGE), UNKNOWN, UNIT("ms")},
    {"load_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"bucket_gb", ABOVE(0, LARGE), UNKNOWN, UNIT("GB")},
    {"bucket_ms", NUMBER(0, LARGE), UNKNOWN, UNIT("ms")},
    {"hop_s", NUMBER(0, LARGE), UNKNOWN, UNIT("s")},
    {"changed_fraction", NUMBER(0, 1), UNKNOWN},
    {"points", INTEGER(0, 1e6)},
    {"uncertainty_percent", NUMBER(0, LARGE), UNIT("%")},
    ORIGIN};
static const struct column store_columns[STORE_COLUMNS] = {
    {"name", TEXT(47), ELSE("inline store")},
    {"tier", TEXT(47), ELSE("file system")},
    {"write_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"read_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"client_write_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"client_read_gb_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("GB/s")},
    {"latency_ms", NUMBER(0, LARGE), UNKNOWN, UNIT("ms")},
    {"capacity_gb", ABOVE(0, LARGE), OPTIONAL, UNIT("GB")},
    {"client_capacity_gb", ABOVE(0, LARGE), OPTIONAL, UNIT("GB")},
    {"usd_per_gb_month", NUMBER(0, LARGE), OPTIONAL},
    {"usd_per_1000_writes", NUMBER(0, LARGE), OPTIONAL},
    {"part_mb", ABOVE(0, LARGE), OPTIONAL, UNIT("MB")},
    {"usd_per_gb_read", NUMBER(0, LARGE), OPTIONAL},
    ORIGIN};
static const struct column attention_columns[ATTENTION_COLUMNS] = {{"kernel", TEXT(31)},
                                                                   {"gpus", TEXT(255)},
                                                                   {"forward_share", ABOVE(0, 4)},
                                                                   {"backward_share", ABOVE(0, 4)},
                                                                   ORIGIN};
static const struct column engine_columns[ENGINE_COLUMNS] = {
    {"name", TEXT(31)},
    {"batching", TEXT(31)},
    {"prefill", TEXT(31)},
    {"chunked_prefill", BOOLEAN},
    {"prefix_caching", BOOLEAN},
    {"preemption", TEXT(31)},
    {"block_tokens", INTEGER(1, 4096)},
    {"max_num_seqs", INTEGER(1, 1000000)},
    {"max_num_batched_tokens", INTEGER(1, 1000000000)},
    {"graph_step", INTEGER(0, 4096)},
    {"graph_dense", INTEGER(0, 1000000)},
    {"graph_limit", INTEGER(0, 1000000)},
    {"iteration_host_ms", NUMBER(0, LARGE), UNIT("ms")},
    {"sequence_host_us", NUMBER(0, LARGE), UNIT("us")},
    {"launch_factor", ABOVE(0, 100)},
    {"expert_layer_us", NUMBER(0, LARGE), UNIT("us")},
    {"eager_layer_us", NUMBER(0, LARGE), UNIT("us")},
    {"product_efficiency", ABOVE(0, 10)},
    {"kv_efficiency", ABOVE(0, 10)},
    {"compute_efficiency", ABOVE(0, 10)},
    {"fp4_efficiency", ABOVE(0, 10)},
    {"expert_efficiency", ABOVE(0, 10)},
    {"activation_share", NUMBER(0, 1)},
    {"exchange_factor", ABOVE(0, 100)},
    {"collective_factor", ABOVE(0, 100)},
    {"reserved_gb", NUMBER(0, 1000), UNIT("GB")},
    {"reserved_groups_gb", NUMBER(0, 1000), UNIT("GB")},
    ORIGIN};

static const struct column training_columns[TRAINING_COLUMNS] = {{"coefficient", TEXT(47)},
                                                                 {"scope", TEXT(63)},
                                                                 {"value", ABOVE(0, LARGE)},
                                                                 {"start", ABOVE(0, LARGE)},
                                                                 {"unit", TEXT(31)},
                                                                 {"fitted", BOOLEAN},
                                                                 {"meaning", TEXT(1023)},
                                                                 {"fixed_by", .type = COLUMN_NOTE},
                                                                 {"error", .type = COLUMN_NOTE},
                                                                 {"command", .type = COLUMN_NOTE},
                                                                 ORIGIN};

/* The same columns as training.csv; here a value may be 0. */
static const struct column memory_columns[TRAINING_COLUMNS] = {{"coefficient", TEXT(47)},
                                                               {"scope", TEXT(63)},
                                                               {"value", NUMBER(0, LARGE)},
                                                               {"start", NUMBER(0, LARGE)},
                                                               {"unit", TEXT(31)},
                                                               {"fitted", BOOLEAN},
                                                               {"meaning", TEXT(1023)},
                                                               {"fixed_by", .type = COLUMN_NOTE},
                                                               {"error", .type = COLUMN_NOTE},
                                                               {"command", .type = COLUMN_NOTE},
                                                               ORIGIN};

static const struct column trainer_columns[TRAINER_COLUMNS] = {
    {"name", TEXT(95)},
    {"gpu", TEXT(63)},
    {"family", TEXT(47)},
    {"network_gbit_per_s", ABOVE(0, LARGE), UNKNOWN, UNIT("Gbit/s")},
    {"attention", TEXT(31)},
    {"fusion", TEXT(31)},
    {"sequence_parallel", BOOLEAN},
    {"recompute", TEXT(31)},
    {"sharding", TEXT(31)},
    {"precision", TEXT(15)},
    {"microbatch", INTEGER(1, 1e6), UNKNOWN, UNIT("sequences")},
    {"local_batch", BOOLEAN},
    {"lora_rank", INTEGER(1, 65536)},
    {"counts", TEXT(15)},
    {"logits", TEXT(15)},
    ORIGIN};

static const struct column statement_columns[STATEMENT_COLUMNS] = {{"name", TEXT(63)},
                                                                   {"table", TEXT(95)},
                                                                   {"model", .type = COLUMN_NOTE},
                                                                   {"remark", .type = COLUMN_NOTE},
                                                                   {"field", TEXT(31)},
                                                                   {"value", TEXT(95)},
                                                                   ORIGIN};

static const struct column length_columns[LENGTH_COLUMNS] = {
    {"name", TEXT(63)},
    {"what", TEXT(31)},
    {"model", .type = COLUMN_NOTE},
    {"requests", INTEGER(1, LARGE), UNKNOWN},
    {"mean", NUMBER(0, LARGE), UNKNOWN, UNIT("tokens")},
    {"cv", NUMBER(0, LARGE), UNKNOWN},
    {"p50", NUMBER(0, LARGE), UNKNOWN, UNIT("tokens")},
    {"p90", NUMBER(0, LARGE), UNKNOWN, UNIT("tokens")},
    {"p99", NUMBER(0, LARGE), UNKNOWN, UNIT("tokens")},
    {"max", NUMBER(0, LARGE), UNKNOWN, UNIT("tokens")},
    {"limit", NUMBER(0, LARGE), UNKNOWN, UNIT("tokens")},
    ORIGIN};

/* Without quantiles: too few figures for a band. */
static const struct column band_columns[BAND_COLUMNS] = {
    {"placement", TEXT(15)},
    {"metric", TEXT(15)},
    {"left_out", .type = COLUMN_NOTE},
    {"figures", INTEGER(0, 1e6)},
    {"sources", INTEGER(0, 1e6)},
    {"p10", ABOVE(0, LARGE), UNKNOWN},
    {"p50", ABOVE(0, LARGE), UNKNOWN},
    {"p90", ABOVE(0, LARGE), UNKNOWN},
    {"median_error", NUMBER(0, LARGE), UNKNOWN},
    {"tried", INTEGER(0, 1e6)},
    {"inside", INTEGER(0, 1e6)},
    ORIGIN};

static const struct column alias_columns[ALIAS_COLUMNS] = {
    {"kind", .type = COLUMN_KIND}, {"alias", TEXT(95)}, {"name", TEXT(95)}, {"source", TEXT(1023)}};

/* Coefficients that a law does not have are empty. */
static const struct column law_columns[LAW_COLUMNS] = {
    {"gpu", TEXT(63)},
    {"kernel", TEXT(31)},
    {"efficiency", SHARE, UNKNOWN},
    {"memory_efficiency", SHARE, UNKNOWN},
    {"launch_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"fill", NUMBER(0, LARGE), UNKNOWN},
    {"fill_n", NUMBER(0, LARGE), UNKNOWN},
    {"serial_ns", NUMBER(0, LARGE), UNKNOWN, UNIT("ns")},
    {"sharpness", NUMBER(1, LARGE), UNKNOWN},
    {"unit_ns", NUMBER(0, LARGE), UNKNOWN, UNIT("ns")},
    {"cache_write", NUMBER(0, LARGE), UNKNOWN},
    {"quantise_efficiency", SHARE, UNKNOWN},
    {"row_ns_per_kb", NUMBER(0, LARGE), UNKNOWN, UNIT("ns/kB")},
    {"ramp_us", NUMBER(0, LARGE), UNKNOWN, UNIT("us")},
    {"cache_mb", ABOVE(0, LARGE), UNKNOWN, UNIT("MB")},
    {"warm_rate", ABOVE(0, LARGE), UNKNOWN},
    {"points", INTEGER(1, 1e9), UNKNOWN},
    {"median_error", NUMBER(0, LARGE), UNKNOWN},
    {"p90_error", NUMBER(0, LARGE), UNKNOWN},
    {"held_out_median_error", NUMBER(0, LARGE), UNKNOWN},
    {"held_out_p90_error", NUMBER(0, LARGE), UNKNOWN},
    ORIGIN};

struct kind_row {
    const char *file, *name;
    const struct column *columns;
    size_t count;
};

static const struct kind_row kinds[CATALOG_KIND_COUNT] = {
    [CATALOG_GPUS] = {"gpus.csv", "GPU", gpu_columns, GPU_COLUMNS},
    [CATALOG_NODES] = {"nodes.csv", "node", node_columns, NODE_COLUMNS},
    [CATALOG_MODELS] = {"models.csv", "model", model_columns, MODEL_COLUMNS},
    [CATALOG_PRICES] = {"prices.csv", "price", price_columns, PRICE_COLUMNS},
    [CATALOG_FRAMEWORKS] = {"frameworks.csv", "framework", framework_columns, FRAMEWORK_COLUMNS},
    [CATALOG_FABRICS] = {"fabrics.csv", "fabric", fabric_columns, FABRIC_COLUMNS},
    [CATALOG_WEIGHT_SYNCS] = {"weight_sync.csv", "weight sync", sync_columns, SYNC_COLUMNS},
    [CATALOG_LENGTHS] = {"lengths.csv", "length", length_columns, LENGTH_COLUMNS},
    [CATALOG_ENGINES] = {"engines.csv", "engine", engine_columns, ENGINE_COLUMNS},
    [CATALOG_STORES] = {"stores.csv", "store", store_columns, STORE_COLUMNS},
    [CATALOG_ALIASES] = {"aliases.csv", "alias", alias_columns, ALIAS_COLUMNS},
    [CATALOG_ATTENTION] = {"attention.csv", "attention kernel", attention_columns,
                           ATTENTION_COLUMNS},
    [CATALOG_KERNELS] = {"kernels.csv", "law", law_columns, LAW_COLUMNS},
    [CATALOG_TRAINING] = {"training.csv", "coefficient", training_columns, TRAINING_COLUMNS},
    [CATALOG_TRAINERS] = {"trainers.csv", "trainer", trainer_columns, TRAINER_COLUMNS},
    [CATALOG_MEMORY] = {"memory.csv", "coefficient", memory_columns, TRAINING_COLUMNS},
    [CATALOG_STATED] = {"stated.csv", "statement", statement_columns, STATEMENT_COLUMNS},
    [CATALOG_BANDS] = {"bands.csv", "band", band_columns, BAND_COLUMNS},
};

static const char *const provenances[] = {"measured", "interpolated", "extrapolated", "assumed",
                                          NULL};
/* In the order of enum catalog_kind; prices have no aliases. */
static const char *const alias_kinds[] = {"gpu",    "node",        "model",  "price", "framework",
                                          "fabric", "weight sync", "engine", "store", NULL};
static const char *const booleans[] = {"no", "yes", NULL};

const struct column *catalog_columns(enum catalog_kind kind, size_t *count) {
    *count = kinds[kind].count;
    return kinds[kind].columns;
}

const char *catalog_file_name(enum catalog_kind kind) {
    return kinds[kind].file;
}

const char *catalog_kind_name(enum catalog_kind kind) {
    return kinds[kind].name;
}

const char *catalog_provenance_name(int provenance) {
    return provenances[provenance];
}

/* ---- header ---------------------------------------------------------------------------------- */

static size_t find_column(const struct kind_row *kind, const char *name) {
    size_t index = 0;
    while (index < kind->count && strcmp(kind->columns[index].name, name) != 0)
        index++;
    return index;
}

static void unknown_column(const struct kind_row *kind, const struct csv_cell *cell,
                           struct rlhfsim_diagnostics *diagnostics) {
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    base_nearest_start(&nearest, cell->text);
    for (size_t i = 0; i < kind->count; i++)
        base_nearest_offer(&nearest, kind->columns[i].name);
    const char *near = base_nearest_name(&nearest);
    (void)tree_error(diagnostics, cell->place, "unknown column %s%s%s%s",
                     base_quote(cell->text, quoted), near == NULL ? "" : "; did you mean '",
                     near == NULL ? "" : near, near == NULL ? "" : "'?");
}

bool catalog_match_header(enum catalog_kind kind, const struct csv_table *table, const char *file,
                          struct rlhfsim_diagnostics *diagnostics, size_t position[COLUMN_LIMIT]) {
    const struct kind_row *row = &kinds[kind];
    bool found[COLUMN_LIMIT] = {false};
    bool good = true;
    for (size_t i = 0; i < table->columns; i++) {
        size_t index = find_column(row, table->header[i].text);
        if (index == row->count)
            unknown_column(row, &table->header[i], diagnostics);
        else if (found[index])
            (void)tree_error(diagnostics, table->header[i].place, "column '%s' is written twice",
                             row->columns[index].name);
        good = good && index < row->count && !found[index];
        if (index == row->count)
            continue;
        found[index] = true;
        position[index] = i;
    }
    for (size_t index = 0; index < row->count; index++) {
        if (found[index])
            continue;
        position[index] = COLUMN_ABSENT;
        if (row->columns[index].optional)
            continue;
        (void)tree_error(diagnostics, (struct tree_place){file, 1, 1}, "column '%s' is missing",
                         row->columns[index].name);
        good = false;
    }
    return good;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static int find_word(const char *const *words, const char *text) {
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    return -1;
}

static void describe_range(const struct column *column, char *buffer, size_t size) {
    const char *what = column->type == COLUMN_INTEGER ? "a whole number" : "a number";
    (void)snprintf(buffer, size, "%s %s %.10g %s %.10g", what, column->above ? "above" : "from",
                   column->minimum, column->above ? "and at most" : "to", column->maximum);
}

static void describe(const struct column *column, char *buffer, size_t size) {
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_NOTE:
        (void)snprintf(buffer, size, "text of at most %zu bytes", column->most);
        break;
    case COLUMN_NUMBER:
    case COLUMN_INTEGER:
        describe_range(column, buffer, size);
        break;
    case COLUMN_BOOLEAN:
        (void)snprintf(buffer, size, "yes or no");
        break;
    case COLUMN_PROVENANCE:
        (void)snprintf(buffer, size, "one of measured, interpolated, extrapolated, assumed");
        break;
    case COLUMN_KIND:
        (void)snprintf(buffer, size,
                       "one of gpu, node, model, framework, fabric, weight sync, engine");
        break;
    }
}

static bool read_number(const struct column *column, const char *text, double *number) {
    int64_t whole = 0;
    bool read = column->type == COLUMN_INTEGER ? base_integer_read(text, &whole) == BASE_NUMBER_OK
                                               : base_number_read(text, number) == BASE_NUMBER_OK;
    if (column->type == COLUMN_INTEGER)
        *number = (double)whole;
    bool low = column->above ? *number > column->minimum : *number >= column->minimum;
    return read && low && *number <= column->maximum;
}

static bool read_cell(const struct column *column, const char *text, double *number) {
    int index = 0;
    switch (column->type) {
    case COLUMN_TEXT:
        return *text != '\0' && strlen(text) <= column->most;
    case COLUMN_NOTE:
        return true;
    case COLUMN_NUMBER:
    case COLUMN_INTEGER:
        return read_number(column, text, number);
    case COLUMN_BOOLEAN:
        index = find_word(booleans, text);
        break;
    case COLUMN_PROVENANCE:
        index = find_word(provenances, text);
        break;
    case COLUMN_KIND:
        index = find_word(alias_kinds, text);
        index = index == CATALOG_PRICES ? -1 : index;
        break;
    }
    *number = index;
    return index >= 0;
}

bool catalog_read_cell(const struct column *column, const char *title, const char *text,
                       struct tree_place place, struct rlhfsim_diagnostics *diagnostics,
                       double *number) {
    char expected[128], quoted[BASE_QUOTE_SIZE];
    if (column->unknown && *text == '\0') {
        *number = (double)NAN;
        return true;
    }
    if (read_cell(column, text, number))
        return true;
    describe(column, expected, sizeof expected);
    (void)tree_error(diagnostics, place, "%s is %s, expected %s%s", title,
                     *text == '\0' ? "empty" : base_quote(text, quoted), expected,
                     column->unknown ? ", or nothing where it is not known" : "");
    return false;
}

size_t catalog_find_column(enum catalog_kind kind, const char *name) {
    return find_column(&kinds[kind], name);
}

bool catalog_read_row(enum catalog_kind kind, const struct csv_row *cells,
                      const size_t position[COLUMN_LIMIT], struct rlhfsim_diagnostics *diagnostics,
                      struct column_row *row) {
    bool good = true;
    *row = (struct column_row){0};
    for (size_t i = 0; i < kinds[kind].count; i++) {
        const struct column *column = &kinds[kind].columns[i];
        if (position[i] == COLUMN_ABSENT) {
            row->text[i] = "";
            row->number[i] = column->unknown ? (double)NAN : 0.0;
            row->place[i] = cells->cells[0].place;
            row->number[i] = column->unknown ? (double)NAN : 0.0;
            continue;
        }
        const struct csv_cell *cell = &cells->cells[position[i]];
        row->text[i] = cell->text;
        row->place[i] = cell->place;
        good = catalog_read_cell(column, column->name, cell->text, cell->place, diagnostics,
                                 &row->number[i]) &&
               good;
    }
    return good;
}
