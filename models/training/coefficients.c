/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/coefficients.h"

#include "sim/contract.h"

#include <string.h>

static const struct training_coefficient_type types[TRAINING_COEFFICIENTS] = {
    [TRAINING_MATMUL_SHARE] = {"matmul_share", "share",
                               "of the kernel law's rate that matrix products of a whole training "
                               "step reach",
                               0.05, 2.0, 1.0},
    [TRAINING_ATTENTION_SHARE] = {"attention_share", "share",
                                  "of the kernel law's rate that attention reaches, forward and "
                                  "backward together",
                                  0.05, 5.0, 1.0},
    [TRAINING_ELEMENTWISE_FACTOR] =
        {"elementwise_factor", "passes",
         "bytes that element-wise work moves, in those of fused kernels", 0.1, 20.0, 1.0},
    [TRAINING_MISALIGNED_FACTOR] = {"misaligned_factor", "times",
                                    "that products take whose width or depth on a GPU is no "
                                    "multiple of 64",
                                    1.0, 4.0, 1.0},
    [TRAINING_CONTENTION_SHARE] = {"contention_share", "share",
                                   "of a collective behind kernels that these lose to it", 0.0, 2.0,
                                   0.0},
    [TRAINING_MICROBATCH_HOST] = {"microbatch_host", "s",
                                  "host time a micro-batch and pass that the GPU waits for", 0.0,
                                  10.0, 0.0},
    [TRAINING_OPTIMIZER_HOST] = {"optimizer_host", "s",
                                 "host time an optimizer step: data, logging, scheduler", 0.0, 10.0,
                                 0.0},
    [TRAINING_TENSOR_OVERLAP_CHUNKS] = {"tensor_overlap_chunks", "pieces",
                                        "in which a product and its tensor-parallel collective are "
                                        "pipelined; 1: all of the collective is exposed",
                                        1.0, 64.0, 1.0},
    [TRAINING_JITTER] = {"jitter_per_doubling", "share",
                         "that a step is longer for every doubling of the GPUs beyond 8", 0.0, 0.2,
                         0.0},
};

const struct training_coefficient_type *
training_coefficient_type(enum training_coefficient coefficient) {
    CONTRACT(coefficient < TRAINING_COEFFICIENTS, "an unknown coefficient");
    return &types[coefficient];
}

enum training_coefficient training_coefficient_find(const char *name) {
    int index = 0;
    while (index < TRAINING_COEFFICIENTS && strcmp(types[index].name, name) != 0)
        index++;
    return (enum training_coefficient)index;
}

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const attentions[] = {
    [TRAINING_ATTENTION_MEASURED] = "measured", [TRAINING_ATTENTION_UNFUSED] = "unfused",
    [TRAINING_ATTENTION_FLASH_1] = "flash_1",   [TRAINING_ATTENTION_FLASH_2] = "flash_2",
    [TRAINING_ATTENTION_FLASH_3] = "flash_3",   [TRAINING_ATTENTION_FLASH_4] = "flash_4",
    [TRAINING_ATTENTION_CUDNN] = "cudnn",
};
static const char *const fusions[] = {
    [TRAINING_FUSION_COMPILED] = "compiled", [TRAINING_FUSION_EAGER] = "eager"};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static size_t find_word(const char *const *words, size_t count, const char *name) {
    size_t index = 0;
    while (index < count && strcmp(words[index], name) != 0)
        index++;
    return index;
}

const char *training_attention_name(enum training_attention attention) {
    CONTRACT((size_t)attention < COUNT(attentions), "an unknown attention kernel");
    return attentions[attention];
}

bool training_attention_find(const char *name, enum training_attention *attention) {
    size_t index = find_word(attentions, COUNT(attentions), name);
    *attention = (enum training_attention)(index < COUNT(attentions) ? index : 0);
    return index < COUNT(attentions);
}

const char *training_fusion_name(enum training_fusion fusion) {
    CONTRACT((size_t)fusion < COUNT(fusions), "an unknown fusion");
    return fusions[fusion];
}

bool training_fusion_find(const char *name, enum training_fusion *fusion) {
    size_t index = find_word(fusions, COUNT(fusions), name);
    *fusion = (enum training_fusion)(index < COUNT(fusions) ? index : 0);
    return index < COUNT(fusions);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static const struct {
    const char *gpu, *generation;
} generations[] = {{"A100", "Ampere"},     {"A800", "Ampere"},    {"H100", "Hopper"},
                   {"H200", "Hopper"},     {"H800", "Hopper"},    {"H20", "Hopper"},
                   {"GH200", "Hopper"},    {"B200", "Blackwell"}, {"B300", "Blackwell"},
                   {"GB200", "Blackwell"}, {"GB300", "Blackwell"}};

/* Whether `word` of `length` bytes is `name` up to its first "-". */
static bool is_gpu(const char *name, const char *word, size_t length) {
    return strcspn(name, "-") == length && strncmp(name, word, length) == 0;
}

const char *training_generation(const char *gpu) {
    for (size_t i = 0; i < COUNT(generations); i++)
        if (is_gpu(gpu, generations[i].gpu, strlen(generations[i].gpu)))
            return generations[i].generation;
    return "";
}

static bool is_word(const char *name, const char *word, size_t length) {
    return strlen(name) == length && strncmp(name, word, length) == 0;
}

static bool has_tag(const char *tags, const char *word, size_t length) {
    while (tags != NULL && *tags != '\0') {
        size_t tag = strcspn(tags, " ");
        if (tag == length && strncmp(tags, word, length) == 0)
            return true;
        tags += tag + strspn(tags + tag, " ");
    }
    return false;
}

static bool word_fits(const char *word, size_t length, const struct training_scope *against) {
    return is_word("all", word, length) || is_gpu(against->gpu, word, length) ||
           is_word(training_generation(against->gpu), word, length) ||
           is_word(against->family, word, length) ||
           is_word(training_attention_name(against->attention), word, length) ||
           is_word(training_fusion_name(against->fusion), word, length) ||
           is_word(hardware_precision_name(against->precision), word, length) ||
           (against->precision == HARDWARE_FP16 && is_word("bf16", word, length)) ||
           is_word(against->experts ? "experts" : "dense", word, length) ||
           has_tag(against->tags, word, length);
}

bool training_scope_fits(const char *scope, const struct training_scope *against) {
    for (const char *word = scope;; word += strcspn(word, "@") + 1) {
        size_t length = strcspn(word, "@");
        if (!word_fits(word, length, against))
            return false;
        if (word[length] == '\0')
            return true;
    }
}

bool training_scope_check(const char *scope) {
    for (const char *word = scope;; word += strcspn(word, "@") + 1) {
        size_t length = strcspn(word, "@");
        if (length == 0)
            return false;
        if (word[length] == '\0')
            return true;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static double clamp(double value, double minimum, double maximum) {
    if (value < minimum)
        return minimum;
    return value > maximum ? maximum : value;
}

double training_coefficient_value(const struct training_coefficient_row *rows, size_t count,
                                  enum training_coefficient coefficient,
                                  const struct training_scope *scope) {
    const struct training_coefficient_type *type = training_coefficient_type(coefficient);
    double product = 1.0;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].coefficient != coefficient || !training_scope_fits(rows[i].scope, scope))
            continue;
        product *= rows[i].value;
        found = true;
    }
    return found ? clamp(product, type->minimum, type->maximum) : type->neutral;
}

void training_coefficients_apply(const struct training_coefficient_row *rows, size_t count,
                                 const struct training_scope *scope,
                                 struct training_software *software) {
    double values[TRAINING_COEFFICIENTS];
    for (int i = 0; i < TRAINING_COEFFICIENTS; i++)
        values[i] = training_coefficient_value(rows, count, (enum training_coefficient)i, scope);
    *software = (struct training_software){
        .matmul_share = values[TRAINING_MATMUL_SHARE],
        .attention_share = values[TRAINING_ATTENTION_SHARE],
        .elementwise_factor = values[TRAINING_ELEMENTWISE_FACTOR],
        .misaligned_factor = values[TRAINING_MISALIGNED_FACTOR],
        .contention_share = values[TRAINING_CONTENTION_SHARE],
        .unpack_share = 1.0,
        .microbatch_host_s = values[TRAINING_MICROBATCH_HOST],
        .optimizer_host_s = values[TRAINING_OPTIMIZER_HOST],
        .tensor_overlap_chunks = values[TRAINING_TENSOR_OVERLAP_CHUNKS],
        .jitter_per_doubling = values[TRAINING_JITTER],
    };
}
