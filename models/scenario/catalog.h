/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CATALOG_H
#define MODELS_SCENARIO_CATALOG_H

/*
 * The catalogs: CSV files of one directory (gpus, nodes, models, prices, frameworks, engines,
 * fabrics, weight_sync, stores, aliases, attention, kernels, training, trainers, lengths, memory,
 * bands), each row with its source. Several directories may be loaded; a later row replaces an
 * earlier one of its name. A name that no row has exactly is looked for without regard to case,
 * spaces, '-', '_' and an owner in front, then among the aliases; prices are matched exactly. The
 * nearest known name is offered when there is no match. columns.c has the columns of each file;
 * units of the files become SI here.
 */

#include "models/cost/ledger.h"
#include "models/generation/software.h"
#include "models/hardware/cluster.h"
#include "models/llm/architecture.h"
#include "models/network/weight_sync.h"
#include "models/reliability/store.h"
#include "models/training/memory.h"

#include <rlhfsim/diagnostics.h>

/* What the software of a training framework adds to the physics, per row of frameworks.csv. */
struct catalog_framework {
    char name[48];
    struct training_software training;
    char family[48];                 /* of training.csv, see resolve_software.c; "": none */
    enum training_fusion fusion;     /* of the modules it trains */
    char engine[32];                 /* that it generates with by default; "": vllm */
    double step_host_s;              /* driver work once a rollout step */
    double iteration_host_s;         /* rollout engine, per iteration */
    double sequence_host_s;          /* rollout engine, per iteration and running sequence */
    double transition_s_per_sqrt_gb; /* sleep + wake: x square root of the engine's weights in GB */
    char weight_sync_name[64];       /* of a mechanism, or of a row of weight_sync.csv */
    const struct network_weight_sync_type *weight_sync; /* colocated */
    struct network_weight_sync_cost weight_sync_cost;
    char split_weight_sync[64];    /* of a row of weight_sync.csv, between pools; "": not known */
    double engine_residue_bytes;   /* of a sleeping engine: CUDA graphs and context */
    double context_bytes;          /* CUDA context and collective buffers of the trainer */
    double fragmentation_fraction; /* allocator reserve beyond what is allocated */
    bool drop_last_prompts;        /* of an epoch: what does not fill a step is left out */
    bool drop_last_pairs;          /* offline, likewise */
};

/* A row of weight_sync.csv: a mechanism as a framework has it. */
struct catalog_weight_sync {
    char name[48];
    const struct network_weight_sync_type *type;
    struct network_weight_sync_cost cost;
    int points;         /* measured syncs behind it */
    double uncertainty; /* 9 of 10 syncs are within 1 +- this; 1 is a factor of 2 */
};

/* A row of fabrics.csv: `fabric` and, beside it, the figures that a node may give itself. */
struct catalog_fabric {
    struct hardware_fabric fabric;
    enum catalog_fabric_use {
        CATALOG_FABRIC_INSIDE,  /* joins the GPUs of a domain */
        CATALOG_FABRIC_BETWEEN, /* joins domains */
        CATALOG_FABRIC_HOST     /* a way of calling: `start_s` only */
    } use;
    double efficiency, latency_s, start_s; /* NAN: not known */
    char fitted_with[48]; /* the fabric whose coefficients these are; "": its own */
};

/* An inference engine, and what it does where a scenario says nothing. */
struct catalog_engine {
    struct generation_software software;
    int max_num_seqs;
    int64_t max_num_batched_tokens;
    double reserved_bytes;        /* of a GPU, besides weights and cache: activations, graphs */
    double reserved_groups_bytes; /* more in offline runs with attention data parallelism */
};

struct catalog_price {
    char provider[32], region[48], item[96], unit[32];
    double usd;
    char date[32]; /* of the price list */
};

/* Who rents a node out, as what, and where by default. */
struct catalog_offer {
    char provider[32], instance[64], region[48];
};

/* How fast an attention kernel is on some GPUs. */
struct catalog_attention_row {
    char kernel[32];
    char gpus[256]; /* beginnings of their names, joined by ';' */
    struct training_attention_rates rates;
};

/* What software and machine a published table of training steps is from, and what the software
 * does where a row of the table does not say. */
struct catalog_trainer {
    char name[96];              /* the `source` cells of such tables begin with it */
    char gpu[64];               /* of the catalog, or "any" */
    char family[48];            /* of the coefficients, see training/coefficients.h */
    double network_bytes_per_s; /* of a node, one direction; NAN: as the generic node of the GPU */
    enum training_attention attention;
    enum training_fusion fusion;
    bool sequence_parallel;
    char recompute[32], sharding[32]; /* words as in the tables */
    enum hardware_precision precision;
    int64_t microbatch; /* sequences; 0: a row must say it */
    bool local_batch;   /* `microbatch` is all of a rank's sequences; a pipeline cuts it in pp */
    int64_t lora_rank;
    enum training_counts counts; /* what its memory figures count */
    enum training_logits logits;
};

enum catalog_stated_field {
    STATED_LONGEST_SEQ_LEN, /* tokens of the longest sequence of a micro-batch: of memory alone */
    STATED_MICROBATCH,
    STATED_TP,
    STATED_PP,
    STATED_SHARDING,
    STATED_PRECISION,
    STATED_RECOMPUTATION,
    STATED_FUSION,
    STATED_LOGITS,
    STATED_OPTIMIZER,
    STATED_LOADS,       /* "whole": every rank has the whole model before it is cut */
    STATED_UNSUPPORTED, /* why the steps are no cases */
    STATED_FIELDS
};

/* An input of published steps that their source states beside its table. */
struct catalog_stated {
    char table[96];  /* the `source` cells of such steps begin with it */
    char model[64];  /* so does their model; "": any */
    char remark[64]; /* their notes have it; "": any */
    enum catalog_stated_field field;
    char value[96];
    double number; /* of a field that is one */
};

/* A row of bands.csv: quantiles of measured / forecast seconds of published runs. */
struct catalog_band {
    int figures, sources;
    double p10, p50, p90; /* NAN: too few figures */
    double median_error;  /* of |ln(measured / forecast)| */
    int tried, inside;    /* figures held against the bands of the other sources */
};

struct catalog;

/* NULL when memory is exhausted. */
struct catalog *catalog_new(void);
void catalog_free(struct catalog *catalog);

/* A number that stands for the text of all files that were loaded, in their order. */
uint64_t catalog_fingerprint(const struct catalog *catalog);

/* NULL when there is none of that name. The rows live as long as the catalog. */
const struct hardware_gpu *catalog_gpu(const struct catalog *catalog, const char *name);
const struct hardware_node *catalog_node(const struct catalog *catalog, const char *name);
const struct catalog_offer *catalog_node_offer(const struct catalog *catalog, const char *name);
const struct llm_architecture *catalog_model(const struct catalog *catalog, const char *name);
const struct catalog_framework *catalog_framework(const struct catalog *catalog, const char *name);
const struct catalog_weight_sync *catalog_weight_sync(const struct catalog *catalog,
                                                      const char *name);
const struct catalog_fabric *catalog_fabric(const struct catalog *catalog, const char *name);
/* The rates of an attention kernel ("flash_2") on a GPU, by its name in the catalog; both 0 where
 * there is no row for it. */
struct training_attention_rates catalog_attention(const struct catalog *catalog, const char *gpu,
                                                  const char *kernel);
/* The band of a placement and a metric (bands.h), made without the runs of one source; "" of all
 * sources. */
const struct catalog_band *catalog_band(const struct catalog *catalog, const char *placement,
                                        const char *metric, const char *left_out);
const struct catalog_engine *catalog_engine(const struct catalog *catalog, const char *name);
const struct catalog_price *catalog_price(const struct catalog *catalog, const char *provider,
                                          const char *region, const char *item);

/* The rows of training.csv; *count of them. They live as long as the catalog, in one piece. NULL
 * where memory is exhausted or there are none. */
const struct training_coefficient_row *catalog_coefficients(const struct catalog *catalog,
                                                            size_t *count);

/* The same of memory.csv. */
const struct training_memory_row *catalog_memory(const struct catalog *catalog, size_t *count);

/* The trainer with the longest name that a `source` cell begins with, and that GPU rather than
 * "any"; NULL where there is none. */
const struct catalog_trainer *catalog_trainer(const struct catalog *catalog, const char *source,
                                              const char *gpu);

/* The statements in the order of their file; NULL past the last one. */
const struct catalog_stated *catalog_stated_at(const struct catalog *catalog, size_t index);

enum catalog_kind {
    CATALOG_GPUS,
    CATALOG_NODES,
    CATALOG_MODELS,
    CATALOG_PRICES,
    CATALOG_FRAMEWORKS,
    CATALOG_FABRICS,
    CATALOG_WEIGHT_SYNCS,
    CATALOG_ENGINES,
    CATALOG_STORES,
    CATALOG_ALIASES,
    CATALOG_ATTENTION, /* rates of attention kernels by generation of GPUs */
    CATALOG_KERNELS,   /* "GPU/KERNEL"; catalog_kernels.h has what they are for */
    CATALOG_TRAINING,  /* coefficients of the training step, see training/coefficients.h */
    CATALOG_TRAINERS,  /* what software and machine a published table of step times is from */
    CATALOG_LENGTHS,   /* published statistics, for people: no run reads them */
    CATALOG_MEMORY,    /* coefficients of memory, see training/memory.h */
    CATALOG_STATED,    /* what sources of published steps state beside their tables */
    CATALOG_BANDS,     /* how far off forecasts of measured runs were, by placement */
    CATALOG_KIND_COUNT
};

/* The name of the row that a spelling stands for; NULL when there is none. */
const char *catalog_name(const struct catalog *catalog, enum catalog_kind kind,
                         const char *spelling);

/* Other spellings of a row by index, in the order of aliases.csv; NULL past the last one. */
const char *catalog_alias_at(const struct catalog *catalog, enum catalog_kind kind,
                             const char *name, size_t index);

/* The names of a kind in the order of the files; NULL past the last one. A price is named
 * "PROVIDER/REGION/ITEM". */
const char *catalog_name_at(const struct catalog *catalog, enum catalog_kind kind, size_t index);

/* The source of a row and what kind of figure it is ("measured", "interpolated", "extrapolated",
 * "assumed", a static string), NULL when there is no such row; the known name nearest to a mistyped
 * one (NULL when nothing is near). */
const char *catalog_source(const struct catalog *catalog, enum catalog_kind kind, const char *name);
const char *catalog_provenance(const struct catalog *catalog, enum catalog_kind kind,
                               const char *name);
const char *catalog_nearest(const struct catalog *catalog, enum catalog_kind kind,
                            const char *name);

#endif
