/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_TRAINING_ROWS_H
#define MODELS_VALIDATION_TRAINING_ROWS_H

/*
 * One row of a table of published training steps as a plan of models/training, with what
 * trainers.csv says of its software and machine where the row itself does not. Traps of the tables
 * that are read rightly here:
 *
 * - PROXY rows have fewer layers than their model (training_shape.h);
 * - data-parallel ranks are num_gpus / (tp pp cp), whatever `dp` says (a Grok row says 1 and has
 * 8), but context parallelism that is only visible in `dp` is taken from there;
 * - the micro-batch of torchtitan is a rank's whole batch, which a pipeline cuts in pp;
 * - sharding inside a node or a group (HSDP, "FSDP=128"), gradients only (SHARD_GRAD_OP: weights
 *   are sharded but stay whole between forward and backward);
 * - "selective" recomputation is attention alone in Megatron, every second product in torchtitan,
 * and a part of the blocks in fms-fsdp, which only shows in hardware over model FLOPs utilisation
 *   (hfu in the notes): 1 + part / 3; from three fifths on it is taken as full;
 * - a model name that ends in LoRA or QLoRA trains adapters;
 * - rates without a batch: the batch is then what the data-parallel ranks hold.
 */

#include "models/scenario/catalog.h"
#include "models/training/coefficients.h"
#include "models/validation/training_cells.h"
#include "models/validation/training_shape.h"

struct training_row {
    const char *source, *name; /* of the case; in the arena of the reading */
    size_t line;
    struct llm_architecture architecture;
    struct hardware_cluster cluster;
    struct training_plan plan; /* points to the two above: a row does not move */
    struct training_scope scope;
    double sequence_tokens;
    double microbatch_sequences;
    int64_t microbatches; /* of a rank and optimizer step */
    double measured_s;    /* NAN: none */
    bool derived;         /* from a rate */
    char tags[48];        /* of the scope: "rowwise", "async_tp" */
    const char *family;
    bool only_memory; /* set by the caller: a batch and the machine's rates are not needed */
    enum training_counts counts; /* what its memory figure counts */
    struct training_memory said; /* what its remarks say of memory: fields above 0 and flags */
    double said_base_bytes;      /* of a frozen weight, by its words; 0: not said */
    int64_t lora_rank;           /* set by the caller: of adapters that the model's name lacks */
    bool whole_logits;           /* set by the caller: whatever its trainer does else */
    bool loads_whole;            /* every rank has the whole model before it is cut */
    char reason[TRAINING_REASON_SIZE]; /* why the row is skipped; "" where it is not */
};

/* Reads a row. What it cannot be forecast for is in `reason`. `row->source` and `name` are for the
 * caller. */
void training_row_read(const struct catalog *catalog, const struct training_cells *cells,
                       struct training_row *row);

/* The node of the catalog that a row with that GPU is put on; NULL where there is none. */
const struct hardware_node *training_row_node(const struct catalog *catalog, const char *gpu);

/* Writes what the row is into `buffer`: "Llama 3.1 70b, 512 H100-SXM5-80GB, tp 4 pp 4 cp 2, ...".
 */
void training_row_name(const struct training_cells *cells, char *buffer, size_t size);

#endif
