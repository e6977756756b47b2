/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_MEMORY_H
#define MODELS_TRAINING_MEMORY_H

/*
 * What software adds to the memory that follows from shapes, as rows of memory.csv: a coefficient,
 * the scope in which it holds, and its value. Scopes are those of training/coefficients.h (a family
 * or framework, a fusion, "experts", ...); a coefficient of a plan is the product of all of its
 * rows whose scope fits, and keeps its neutral value without any.
 *
 * Tools do not count the same bytes. Of what is asked of the allocator (allocated) it reserves some
 * more (reserved); the device holds the context of the driver and the buffers of the communicators
 * beside it:
 *
 *     allocated = sum x (1 + allocated_share) + allocated_base
 *     reserved  = sum x (1 + reserved_share)  + reserved_base
 *     device    = reserved + device_base
 */

#include "models/training/coefficients.h"

enum training_memory_coefficient {
    TRAINING_BLOCK_FACTOR,
    TRAINING_PACKED_FACTOR,
    TRAINING_ROUTED_COPIES,
    TRAINING_GATHERED_INPUTS,
    TRAINING_SCORE_BYTES,
    TRAINING_MASK_BYTES,
    TRAINING_GRADIENT_BYTES,
    TRAINING_MASTER_BYTES,
    TRAINING_MOMENT_BYTES,
    TRAINING_UPDATE_BYTES,
    TRAINING_REDUCE_BYTES,
    TRAINING_FROZEN_BYTES,
    TRAINING_LOGIT_FORWARD_BYTES,
    TRAINING_LOGIT_UPDATE_BYTES,
    TRAINING_LOGIT_ENTROPY_BYTES,
    TRAINING_SLEEPING_WEIGHTS,
    TRAINING_WOKEN_CACHE,
    TRAINING_FREE_SHARE,
    TRAINING_LOAD_FIRST_BYTES,
    TRAINING_LOAD_EVERY_BYTES,
    TRAINING_ALLOCATED_SHARE,
    TRAINING_ALLOCATED_BASE,
    TRAINING_RESERVED_SHARE,
    TRAINING_RESERVED_BASE,
    TRAINING_DEVICE_BASE,
    TRAINING_MEMORY_SPREAD,
    TRAINING_MEMORY_COEFFICIENTS
};

struct training_memory_type {
    const char *name, *unit, *meaning;
    double minimum, maximum; /* a product of rows is kept in between */
    double neutral;          /* without a row */
};

const struct training_memory_type *training_memory_type(enum training_memory_coefficient which);

/* TRAINING_MEMORY_COEFFICIENTS where there is none of that name. */
enum training_memory_coefficient training_memory_find(const char *name);

struct training_memory_row {
    enum training_memory_coefficient coefficient;
    char scope[TRAINING_SCOPE_SIZE];
    double value, start;
    bool fitted; /* free in a calibration */
};

double training_memory_value(const struct training_memory_row *rows, size_t count,
                             enum training_memory_coefficient which,
                             const struct training_scope *scope);

/* All that a plan has of them: `plan->memory`, and the bytes of a frozen weight under LoRA where
 * the plan has none of its own. */
void training_memory_apply(const struct training_memory_row *rows, size_t count,
                           const struct training_scope *scope, struct training_plan *plan);

/* What a tool reports. */
enum training_counts { TRAINING_ALLOCATED, TRAINING_RESERVED, TRAINING_DEVICE };

/* "allocated", "reserved", "device". */
const char *training_counts_name(enum training_counts counts);
bool training_counts_find(const char *name, enum training_counts *counts);

/* Bytes that a device must have where models hold `sum` on it: the allocator gives back what it has
 * cached and tries again before it fails (PyTorch's does), so that of the above what is asked
 * counts, with what lies beside the allocator: allocated + device_base. */
double training_needed_bytes(const struct training_memory_row *rows, size_t count,
                             const struct training_scope *scope, double sum);

/* The bytes that it reports where models hold `sum` on a GPU. */
double training_counted_bytes(const struct training_memory_row *rows, size_t count,
                              const struct training_scope *scope, enum training_counts counts,
                              double sum);

#endif
