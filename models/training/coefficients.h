/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_COEFFICIENTS_H
#define MODELS_TRAINING_COEFFICIENTS_H

/*
 * What software takes from the physics, as rows of training.csv: a coefficient, the scope in which
 * it holds, and its value. A coefficient of a plan is the product of all of its rows whose scope
 * fits the plan; without any it keeps its neutral value. A scope is "all" or words joined by "@",
 * each of which must fit: a generation of GPUs ("Ampere", "Hopper", "Blackwell"), a GPU ("H100":
 * the name up to the first "-"), a family of software ("megatron"), an attention kernel
 * ("flash_2"), a format ("bf16", which fp16 fits as well, since the same units multiply both;
 * "fp8"), a fusion ("compiled", "eager"), "experts" or "dense", or a way of working ("rowwise",
 * "async_tp").
 *
 * Global to a generation, a family or a kernel: no row can name a model or a run.
 */

#include "models/training/training.h"

/* In the order of the table in coefficients.c. */
enum training_coefficient {
    TRAINING_MATMUL_SHARE,
    TRAINING_ATTENTION_SHARE,
    TRAINING_ELEMENTWISE_FACTOR,
    TRAINING_MISALIGNED_FACTOR,
    TRAINING_CONTENTION_SHARE,
    TRAINING_MICROBATCH_HOST,
    TRAINING_OPTIMIZER_HOST,
    TRAINING_TENSOR_OVERLAP_CHUNKS,
    TRAINING_JITTER,
    TRAINING_COEFFICIENTS
};

struct training_coefficient_type {
    const char *name, *unit;
    const char *meaning;
    double minimum, maximum; /* a product of rows is kept in between */
    double neutral;          /* without a row */
};

const struct training_coefficient_type *
training_coefficient_type(enum training_coefficient coefficient);

/* TRAINING_COEFFICIENTS where there is none of that name. */
enum training_coefficient training_coefficient_find(const char *name);

#define TRAINING_SCOPE_SIZE 64

struct training_coefficient_row {
    enum training_coefficient coefficient;
    char scope[TRAINING_SCOPE_SIZE];
    double value; /* above 0, in the unit of the coefficient */
    double start; /* what physics or a neighbour says without a fit: where a calibration begins, and
                     stays where no row speaks against it */
    bool fitted;  /* free in a calibration */
};

/* What the words of a scope are held against. */
struct training_scope {
    const char *gpu;    /* of the catalog: "H100-SXM5-80GB" */
    const char *family; /* of software; "" where it is not known */
    enum training_attention attention;
    enum training_fusion fusion;
    enum hardware_precision precision;
    bool experts;
    const char *tags; /* further words with spaces between them: "rowwise async_tp"; or NULL */
};

/* "unfused", "flash_1", ..., "cudnn", "measured"; "compiled", "eager". */
const char *training_attention_name(enum training_attention attention);
bool training_attention_find(const char *name, enum training_attention *attention);
const char *training_fusion_name(enum training_fusion fusion);
bool training_fusion_find(const char *name, enum training_fusion *fusion);

/* "Ampere", ... of a GPU of the catalog; "" where it belongs to none of those. */
const char *training_generation(const char *gpu);

bool training_scope_fits(const char *scope, const struct training_scope *against);

/* Whether a scope is "all" or words that are not empty. Names of families and GPUs are not known
 * here: a word that fits nothing is not found out. */
bool training_scope_check(const char *scope);

double training_coefficient_value(const struct training_coefficient_row *rows, size_t count,
                                  enum training_coefficient coefficient,
                                  const struct training_scope *scope);

/* All fields of `software`. */
void training_coefficients_apply(const struct training_coefficient_row *rows, size_t count,
                                 const struct training_scope *scope,
                                 struct training_software *software);

#endif
