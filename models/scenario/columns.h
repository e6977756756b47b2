/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_COLUMNS_H
#define MODELS_SCENARIO_COLUMNS_H

/*
 * The columns of the catalog's files: one table a file with the name, type, range and unit of each.
 * A file has exactly these columns, in any order; it may lack those that are optional. A cell of
 * some may be empty: the figure is not known, and a run that needs it is refused (check_known.c).
 */

#include "models/scenario/catalog.h"
#include "models/scenario/csv_table.h"

enum column_type {
    COLUMN_TEXT,       /* at most `most` bytes, not empty */
    COLUMN_NOTE,       /* any text, may be empty */
    COLUMN_NUMBER,     /* `minimum` to `maximum`, see below */
    COLUMN_INTEGER,    /* the same, whole */
    COLUMN_BOOLEAN,    /* yes or no */
    COLUMN_PROVENANCE, /* measured, interpolated, extrapolated or assumed */
    COLUMN_KIND        /* gpu, node, model, framework or engine: what an alias stands for */
};

struct column {
    const char *name;
    size_t most;
    double minimum, maximum;
    enum column_type type;
    bool above;           /* the minimum itself is outside */
    bool optional;        /* a file may lack it; its cells are empty then */
    bool unknown;         /* an empty cell is a figure that is not known */
    const char *unit;     /* as people write it: "GiB", "TFLOPS"; NULL without */
    const char *fallback; /* what a row written in a scenario has without the key; NULL: nothing */
};

#define COLUMN_LIMIT 40

enum gpu_column {
    GPU_NAME,
    GPU_BF16_TFLOPS,
    GPU_FP16_TFLOPS,
    GPU_FP32_TFLOPS,
    GPU_FP8_TFLOPS,
    GPU_MATMUL_TFLOPS_MEASURED,
    GPU_ATTENTION_EFFICIENCY,
    GPU_ATTENTION_BACKWARD_EFFICIENCY,
    GPU_MEMORY_GIB,
    GPU_MEMORY_BANDWIDTH_GB_PER_S,
    GPU_MEMORY_BANDWIDTH_MEASURED_GB_PER_S,
    GPU_SCALEUP_GB_PER_S,
    GPU_HOST_BANDWIDTH_GB_PER_S,
    GPU_KERNEL_LAUNCH_US,
    GPU_POWER_W,
    GPU_FP4_TFLOPS,
    GPU_SUSTAINED_SHARE,
    GPU_PROVENANCE,
    GPU_SOURCE,
    GPU_NOTES,
    GPU_COLUMNS
};

enum node_column {
    NODE_NAME,
    NODE_PROVIDER,
    NODE_INSTANCE,
    NODE_REGION,
    NODE_GPU,
    NODE_GPUS,
    NODE_HOST_MEMORY_GIB,
    NODE_NVME_GB,
    NODE_NETWORK_GBIT_PER_S,
    NODE_SCALEUP_EFFICIENCY,
    NODE_NETWORK_EFFICIENCY,
    NODE_SCALEUP_LATENCY_US,
    NODE_NETWORK_LATENCY_US,
    NODE_COLLECTIVE_START_US,
    NODE_STORAGE_GB_PER_S,
    NODE_DOMAIN_GPUS,
    NODE_SCALEUP_FABRIC,
    NODE_NETWORK_FABRIC,
    NODE_NVME_READ_GB_PER_S,
    NODE_NVME_WRITE_GB_PER_S,
    NODE_HOST_GB_PER_S,
    NODE_PROVENANCE,
    NODE_SOURCE,
    NODE_NOTES,
    NODE_COLUMNS
};

enum model_column {
    MODEL_NAME,
    MODEL_FAMILY,
    MODEL_LAYERS,
    MODEL_HIDDEN,
    MODEL_HEADS,
    MODEL_KV_HEADS,
    MODEL_HEAD_DIM,
    MODEL_FFN,
    MODEL_VOCAB,
    MODEL_MAX_POSITION,
    MODEL_TIED_EMBEDDINGS,
    MODEL_GATED_FFN,
    MODEL_QKV_BIAS,
    MODEL_OUTPUT_BIAS,
    MODEL_FFN_BIAS,
    MODEL_QK_NORM,
    MODEL_TRAITS,
    MODEL_PARAMETERS,
    MODEL_PROVENANCE,
    MODEL_SOURCE,
    MODEL_NOTES,
    MODEL_COLUMNS
};

enum price_column {
    PRICE_PROVIDER,
    PRICE_REGION,
    PRICE_ITEM,
    PRICE_UNIT,
    PRICE_PRICE_USD,
    PRICE_DATE,
    PRICE_PROVENANCE,
    PRICE_SOURCE,
    PRICE_NOTES,
    PRICE_COLUMNS
};

enum attention_column {
    ATTENTION_KERNEL,
    ATTENTION_GPUS,
    ATTENTION_FORWARD_SHARE,
    ATTENTION_BACKWARD_SHARE,
    ATTENTION_PROVENANCE,
    ATTENTION_SOURCE,
    ATTENTION_NOTES,
    ATTENTION_COLUMNS
};

enum framework_column {
    FRAMEWORK_NAME,
    FRAMEWORK_MATMUL_SHARE,
    FRAMEWORK_MICROBATCH_HOST_MS,
    FRAMEWORK_OPTIMIZER_HOST_MS,
    FRAMEWORK_STEP_HOST_S,
    FRAMEWORK_ITERATION_HOST_MS,
    FRAMEWORK_SEQUENCE_HOST_US,
    FRAMEWORK_TRANSITION_S_PER_SQRT_GB,
    FRAMEWORK_WEIGHT_SYNC,
    FRAMEWORK_SYNC_PAUSE_S,
    FRAMEWORK_SYNC_TENSOR_MS,
    FRAMEWORK_SYNC_LOAD_GB_PER_S,
    FRAMEWORK_ENGINE_RESIDUE_GIB,
    FRAMEWORK_CONTEXT_GIB,
    FRAMEWORK_FRAGMENTATION_FRACTION,
    FRAMEWORK_DROP_LAST_PROMPTS,
    FRAMEWORK_DROP_LAST_PAIRS,
    FRAMEWORK_FAMILY,
    FRAMEWORK_LAYER_HOST_MS,
    FRAMEWORK_EXPERT_LAYER_MS,
    FRAMEWORK_SPLIT_WEIGHT_SYNC,
    FRAMEWORK_FUSION,
    FRAMEWORK_ENGINE,
    FRAMEWORK_PROVENANCE,
    FRAMEWORK_SOURCE,
    FRAMEWORK_NOTES,
    FRAMEWORK_COLUMNS
};

enum fabric_column {
    FABRIC_NAME,
    FABRIC_USE,
    FABRIC_FITTED_WITH,
    FABRIC_EFFICIENCY,
    FABRIC_LATENCY_US,
    FABRIC_START_US,
    FABRIC_CHUNK_US,
    FABRIC_OWN_COPY,
    FABRIC_RING_OF_2,
    FABRIC_RING_OF_4,
    FABRIC_ALLTOALL,
    FABRIC_ALLTOALL_OF_2,
    FABRIC_ALLTOALL_OF_4,
    FABRIC_ALLTOALL_START_US,
    FABRIC_ALLTOALL_LOSS,
    FABRIC_SWITCH_REDUCE,
    FABRIC_SWITCH_CHUNK_US,
    FABRIC_SWITCH_MEMBERS,
    FABRIC_TREE,
    FABRIC_TREE_INSIDE,
    FABRIC_PAIR_INSIDE,
    FABRIC_DIRECT_START_US,
    FABRIC_DIRECT,
    FABRIC_DIRECT_OF_2,
    FABRIC_DIRECT_SECOND_US,
    FABRIC_UNCERTAINTY,
    FABRIC_UNCERTAINTY_SMALL,
    FABRIC_UNCERTAINTY_ALLTOALL,
    FABRIC_UNCERTAINTY_SEND,
    FABRIC_PROVENANCE,
    FABRIC_SOURCE,
    FABRIC_NOTES,
    FABRIC_COLUMNS
};

enum store_column {
    STORE_NAME,
    STORE_TIER,
    STORE_WRITE_GB_PER_S,
    STORE_READ_GB_PER_S,
    STORE_CLIENT_WRITE_GB_PER_S,
    STORE_CLIENT_READ_GB_PER_S,
    STORE_LATENCY_MS,
    STORE_CAPACITY_GB,
    STORE_CLIENT_CAPACITY_GB,
    STORE_USD_PER_GB_MONTH,
    STORE_USD_PER_1000_WRITES,
    STORE_PART_MB,
    STORE_USD_PER_GB_READ,
    STORE_PROVENANCE,
    STORE_SOURCE,
    STORE_NOTES,
    STORE_COLUMNS
};

enum sync_column {
    SYNC_NAME,
    SYNC_MECHANISM,
    SYNC_PAUSE_S,
    SYNC_TENSOR_MS,
    SYNC_LOAD_GB_PER_S,
    SYNC_BUCKET_GB,
    SYNC_BUCKET_MS,
    SYNC_HOP_S,
    SYNC_CHANGED_FRACTION,
    SYNC_POINTS,
    SYNC_UNCERTAINTY,
    SYNC_PROVENANCE,
    SYNC_SOURCE,
    SYNC_NOTES,
    SYNC_COLUMNS
};

enum engine_column {
    ENGINE_NAME,
    ENGINE_BATCHING,
    ENGINE_PREFILL,
    ENGINE_CHUNKED_PREFILL,
    ENGINE_PREFIX_CACHING,
    ENGINE_PREEMPTION,
    ENGINE_BLOCK_TOKENS,
    ENGINE_MAX_NUM_SEQS,
    ENGINE_MAX_NUM_BATCHED_TOKENS,
    ENGINE_GRAPH_STEP,
    ENGINE_GRAPH_DENSE,
    ENGINE_GRAPH_LIMIT,
    ENGINE_ITERATION_HOST_MS,
    ENGINE_SEQUENCE_HOST_US,
    ENGINE_LAUNCH_FACTOR,
    ENGINE_EXPERT_LAYER_US,
    ENGINE_EAGER_LAYER_US,
    ENGINE_PRODUCT_EFFICIENCY,
    ENGINE_KV_EFFICIENCY,
    ENGINE_COMPUTE_EFFICIENCY,
    ENGINE_FP4_EFFICIENCY,
    ENGINE_EXPERT_EFFICIENCY,
    ENGINE_ACTIVATION_SHARE,
    ENGINE_EXCHANGE_FACTOR,
    ENGINE_COLLECTIVE_FACTOR,
    ENGINE_RESERVED_GB,
    ENGINE_RESERVED_GROUPS_GB,
    ENGINE_PROVENANCE,
    ENGINE_SOURCE,
    ENGINE_NOTES,
    ENGINE_COLUMNS
};

enum law_column {
    LAW_GPU,
    LAW_KERNEL,
    LAW_FIRST_COEFFICIENT, /* in the order of enum hardware_coefficient */
    LAW_POINTS = LAW_FIRST_COEFFICIENT + HARDWARE_COEFFICIENT_COUNT,
    LAW_MEDIAN_ERROR,
    LAW_P90_ERROR,
    LAW_HELD_OUT_MEDIAN_ERROR,
    LAW_HELD_OUT_P90_ERROR,
    LAW_PROVENANCE,
    LAW_SOURCE,
    LAW_NOTES,
    LAW_COLUMNS
};

enum training_column {
    TRAINING_COEFFICIENT,
    TRAINING_SCOPE,
    TRAINING_VALUE,
    TRAINING_START,
    TRAINING_UNIT,
    TRAINING_FITTED,
    TRAINING_MEANING,
    TRAINING_FIXED_BY,
    TRAINING_ERROR,
    TRAINING_COMMAND,
    TRAINING_PROVENANCE,
    TRAINING_SOURCE,
    TRAINING_NOTES,
    TRAINING_COLUMNS
};

enum trainer_column {
    TRAINER_NAME,
    TRAINER_GPU,
    TRAINER_FAMILY,
    TRAINER_NETWORK_GBIT_PER_S,
    TRAINER_ATTENTION,
    TRAINER_FUSION,
    TRAINER_SEQUENCE_PARALLEL,
    TRAINER_RECOMPUTE,
    TRAINER_SHARDING,
    TRAINER_PRECISION,
    TRAINER_MICROBATCH,
    TRAINER_LOCAL_BATCH,
    TRAINER_LORA_RANK,
    TRAINER_COUNTS,
    TRAINER_LOGITS,
    TRAINER_PROVENANCE,
    TRAINER_SOURCE,
    TRAINER_NOTES,
    TRAINER_COLUMNS
};

enum statement_column {
    STATEMENT_NAME,
    STATEMENT_TABLE,
    STATEMENT_MODEL,
    STATEMENT_REMARK,
    STATEMENT_FIELD,
    STATEMENT_VALUE,
    STATEMENT_PROVENANCE,
    STATEMENT_SOURCE,
    STATEMENT_NOTES,
    STATEMENT_COLUMNS
};

enum length_column {
    LENGTH_NAME,
    LENGTH_WHAT,
    LENGTH_MODEL,
    LENGTH_REQUESTS,
    LENGTH_MEAN,
    LENGTH_CV,
    LENGTH_P50,
    LENGTH_P90,
    LENGTH_P99,
    LENGTH_MAX,
    LENGTH_LIMIT,
    LENGTH_PROVENANCE,
    LENGTH_SOURCE,
    LENGTH_NOTES,
    LENGTH_COLUMNS
};

enum band_column {
    BAND_PLACEMENT,
    BAND_METRIC,
    BAND_LEFT_OUT,
    BAND_FIGURES,
    BAND_SOURCES,
    BAND_P10,
    BAND_P50,
    BAND_P90,
    BAND_MEDIAN_ERROR,
    BAND_TRIED,
    BAND_INSIDE,
    BAND_PROVENANCE,
    BAND_SOURCE,
    BAND_NOTES,
    BAND_COLUMNS
};

enum alias_column { ALIAS_KIND, ALIAS_ALIAS, ALIAS_NAME, ALIAS_SOURCE, ALIAS_COLUMNS };

/* The columns of a file in the order of the enums above; `count` of them. */
const struct column *catalog_columns(enum catalog_kind kind, size_t *count);

/* "gpus.csv", ... and "GPU", ... for messages. */
const char *catalog_file_name(enum catalog_kind kind);
const char *catalog_kind_name(enum catalog_kind kind);

/* One row in the order of the columns, whatever their order in the file. */
struct column_row {
    const char *text[COLUMN_LIMIT];
    double number[COLUMN_LIMIT]; /* numbers (not known: NAN), booleans (0 or 1), words (index) */
    struct tree_place place[COLUMN_LIMIT];
};

#define COLUMN_ABSENT SIZE_MAX

/* Finds the columns of a table: `position[i]` is where column i stands in the file, COLUMN_ABSENT
 * where it lacks an optional one. False after the
 * errors: unknown, repeated, missing columns. */
bool catalog_match_header(enum catalog_kind kind, const struct csv_table *table, const char *file,
                          struct rlhfsim_diagnostics *diagnostics, size_t position[COLUMN_LIMIT]);

/* Checks and reads one row. False after the errors of its cells. */
bool catalog_read_row(enum catalog_kind kind, const struct csv_row *cells,
                      const size_t position[COLUMN_LIMIT], struct rlhfsim_diagnostics *diagnostics,
                      struct column_row *row);

/* Checks one cell. False after the error at `place`, which calls the column `title`. */
bool catalog_read_cell(const struct column *column, const char *title, const char *text,
                       struct tree_place place, struct rlhfsim_diagnostics *diagnostics,
                       double *number);

/* The index of a column by name; `count` where the kind has none of that name. */
size_t catalog_find_column(enum catalog_kind kind, const char *name);

/* The row behind a name (or an alias of it), NULL when there is none. Lives with the catalog. */
const struct column_row *catalog_row(const struct catalog *catalog, enum catalog_kind kind,
                                     const char *name);

/* The text of a provenance index; the string is static. */
const char *catalog_provenance_name(int provenance);

#endif
