/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/training_words.h"

#include "models/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NF4_BYTES 0.52 /* see struct training_plan */

/* Blind to case. */
static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (
            i < length && text[i] != '\0' &&
            (text[i] == word[i] || (text[i] >= 'A' && text[i] <= 'Z' && text[i] + 32 == word[i])))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

/* ---- sharding -------------------------------------------------------------------------------- */

struct sharding {
    const char *word;
    int stage;
    bool reshard; /* weights are dropped between forward and backward */
    bool in_node; /* ranks of a node share a copy */
};

/* The first word that a text has. */
static const struct sharding shardings[] = {{"shard_grad_op", 3, false, false},
                                            {"fsdp/hsdp", 3, true, false},
                                            {"hsdp", 3, true, true},
                                            {"fsdp", 3, true, false},
                                            {"full shard", 3, true, false},
                                            {"zero-3", 3, true, false},
                                            {"fully-sharded", 3, true, false},
                                            {"replicated", 0, true, false},
                                            {"zero-2", 2, true, false},
                                            {"zero-1", 1, true, false},
                                            {"distributed optimizer", 1, true, false},
                                            {"zero-offload", 2, true, false},
                                            {"superoffload", 2, true, false},
                                            {"ddp", 0, true, false},
                                            {"zero-0", 0, true, false},
                                            {"none", 0, true, false}};

/* Ranks that share a copy: "FSDP=128". */
static int stated_group(const char *text) {
    const char *equals = strchr(text, '=');
    long group = equals == NULL ? 0 : strtol(equals + 1, NULL, 10);
    return group > 0 && group < 1000000 ? (int)group : 0;
}

static bool read_sharding(const char *stated, const struct catalog_trainer *trainer,
                          struct training_row *row) {
    bool said = *stated != '\0' && strcmp(stated, "-") != 0;
    const char *text = said ? stated : trainer == NULL ? "zero-1" : trainer->sharding;
    struct training_plan *plan = &row->plan;
    size_t i = 0, count = sizeof shardings / sizeof *shardings;
    while (i < count && !has_word(text, shardings[i].word))
        i++;
    if (i == count) {
        char quoted[BASE_QUOTE_SIZE];
        (void)snprintf(row->reason, sizeof row->reason, "sharding is %s, which is not known",
                       base_quote(text, quoted));
        return false;
    }
    plan->zero_stage = shardings[i].stage;
    plan->reshard_after_forward = shardings[i].reshard;
    plan->shard_ranks = shardings[i].in_node ? row->cluster.gpus_per_node : stated_group(text);
    if (plan->shard_ranks >= plan->dp * plan->cp || plan->zero_stage == 0)
        plan->shard_ranks = 0;
    /* A pipeline would gather its weights for every micro-batch: torchtitan keeps them. */
    if (plan->zero_stage == 3 && plan->pp > 1)
        plan->reshard_after_forward = false;
    bool weights = has_word(text, "parameters") || has_word(text, "shard + cpu offload");
    if (has_word(text, "offload"))
        plan->offload =
            weights ? TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS : TRAINING_OFFLOAD_OPTIMIZER;
    plan->memory.streams_weights = weights;
    return true;
}

/* ---- precision ------------------------------------------------------------------------------- */

static bool read_precision(const char *text, const struct catalog_trainer *trainer,
                           struct training_row *row) {
    static const struct {
        const char *word;
        enum hardware_precision precision;
    } words[] = {{"fp8", HARDWARE_FP8},   {"float8", HARDWARE_FP8}, {"bf16", HARDWARE_BF16},
                 {"fp16", HARDWARE_FP16}, {"fp32", HARDWARE_FP32},  {"tf32", HARDWARE_FP32},
                 {"nf4", HARDWARE_BF16}}; /* what frozen weights are unpacked to */
    struct training_plan *plan = &row->plan;
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && !has_word(text, words[i].word))
        i++;
    plan->precision = i < count         ? words[i].precision
                      : trainer == NULL ? HARDWARE_BF16
                                        : trainer->precision;
    if (*text != '\0' && i == count) {
        char quoted[BASE_QUOTE_SIZE];
        (void)snprintf(row->reason, sizeof row->reason, "precision is %s, which is not known",
                       base_quote(text, quoted));
        return false;
    }
    if (has_word(text, "nf4"))
        plan->base_bytes = NF4_BYTES;
    if (!(row->cluster.gpu.peak_flops_per_s[plan->precision] > 0.0)) {
        (void)snprintf(row->reason, sizeof row->reason, "the GPU does not compute in %s",
                       hardware_precision_name(plan->precision));
        return false;
    }
    return true;
}

/* ---- recomputation --------------------------------------------------------------------------- */

/* The part of the blocks that is made again, by what the utilisations of hardware and model say: a
 * whole forward is a third of the model's FLOPs. 0 where one of them is not stated. */
static double recomputed_part(const struct training_cells *cells) {
    const char *hfu = strstr(cells->text[TRAINING_NOTE_TEXT], "hfu=");
    double mfu = cells->number[TRAINING_MFU];
    double hardware = hfu == NULL ? 0.0 : strtod(hfu + 4, NULL);
    return hardware > 0.0 && mfu > 0.0 ? 3.0 * (hardware / mfu - 1.0) : 0.0;
}

#define MOSTLY_RECOMPUTED 0.6

static bool read_recompute(const struct training_cells *cells,
                           const struct catalog_trainer *trainer, struct training_row *row) {
    const char *stated = cells->text[TRAINING_RECOMPUTATION];
    const char *text = *stated != '\0' ? stated : trainer == NULL ? "none" : trainer->recompute;
    struct training_plan *plan = &row->plan;
    bool torchtitan = trainer != NULL && strcmp(trainer->family, "torchtitan") == 0;
    if (has_word(text, "selective") && recomputed_part(cells) > MOSTLY_RECOMPUTED)
        plan->recompute = TRAINING_RECOMPUTE_FULL;
    else if (has_word(text, "selective") || has_word(text, "seqsel"))
        plan->recompute = torchtitan || has_word(text, "per-op") ? TRAINING_RECOMPUTE_OPERATORS
                                                                 : TRAINING_RECOMPUTE_ATTENTION;
    else if (has_word(text, "full") || has_word(text, "yes"))
        plan->recompute = TRAINING_RECOMPUTE_FULL;
    else if (has_word(text, "none") || has_word(text, "no"))
        plan->recompute = TRAINING_RECOMPUTE_NONE;
    else {
        char quoted[BASE_QUOTE_SIZE];
        (void)snprintf(row->reason, sizeof row->reason,
                       "activation_checkpointing is %s, which is not known",
                       base_quote(text, quoted));
        return false;
    }
    return true;
}

/* ---- remarks --------------------------------------------------------------------------------- */

/* Its engine adds gradients up in fp32 beside bf16 weights, and all-reduces the sums after the last
 * backward, ZeRO-1 or not (PipelineEngine._exec_reduce_grads, _bf16_reduce_grads). */
static void read_pipeline_of_deepspeed(struct training_plan *plan) {
    plan->reduces_whole = true;
    plan->overlap_reduction = plan->pp == 1;
    if (plan->precision == HARDWARE_BF16)
        plan->gradient_bytes = 4.0;
}

static void read_remarks(const struct training_cells *cells, const struct catalog_trainer *trainer,
                         struct training_row *row) {
    const char *notes = cells->text[TRAINING_NOTE_TEXT], *model = cells->text[TRAINING_MODEL];
    struct training_plan *plan = &row->plan;
    (void)snprintf(row->tags, sizeof row->tags, "%s%s",
                   has_word(cells->text[TRAINING_PRECISION], "rowwise") ? "rowwise " : "",
                   has_word(notes, "asynctp") || has_word(notes, "async tp") ? "async_tp" : "");
    /* Composer's DEFAULT and torchtitan reduce gradients in fp32. */
    if (has_word(notes, "mp_mode=default") ||
        (trainer != NULL && strcmp(trainer->family, "torchtitan") == 0))
        plan->gradient_bytes = 4.0;
    if (trainer != NULL && strcmp(trainer->family, "megatron-deepspeed") == 0)
        read_pipeline_of_deepspeed(plan);
    plan->sequence_parallel = trainer == NULL || trainer->sequence_parallel;
    if (has_word(cells->text[TRAINING_RECOMPUTATION], "sequence parallel") ||
        has_word(cells->text[TRAINING_RECOMPUTATION], "seqsel"))
        plan->sequence_parallel = true;
    if (trainer != NULL) {
        plan->attention = trainer->attention;
        plan->logits = trainer->logits;
        plan->fusion = trainer->fusion;
    }
    if (has_word(model, "lora"))
        plan->lora_rank = trainer == NULL ? 16 : trainer->lora_rank;
    if (has_word(model, "qlora"))
        plan->base_bytes = NF4_BYTES;
    if (trainer != NULL && strcmp(trainer->family, "torchtitan") == 0) {
        bool compiled = has_word(notes, "compile") && !has_word(notes, "no compile");
        plan->fusion = compiled ? TRAINING_FUSION_COMPILED : TRAINING_FUSION_EAGER;
        /* Its interleaved schedule puts two chunks on a stage. */
        if (plan->pp > 1 && plan->vpp == 1 && has_word(notes, "interleaved"))
            plan->vpp = 2;
    }
}

bool training_words_read(const struct training_cells *cells, const struct catalog_trainer *trainer,
                         struct training_row *row) {
    if (!read_sharding(cells->text[TRAINING_SHARDING], trainer, row) ||
        !read_precision(cells->text[TRAINING_PRECISION], trainer, row) ||
        !read_recompute(cells, trainer, row))
        return false;
    read_remarks(cells, trainer, row);
    row->family = trainer != NULL             ? trainer->family
                  : row->plan.zero_stage == 3 ? "fsdp"
                                              : "megatron";
    row->scope = (struct training_scope){.gpu = row->cluster.gpu.name,
                                         .family = row->family,
                                         .attention = row->plan.attention,
                                         .fusion = row->plan.fusion,
                                         .precision = row->plan.precision,
                                         .experts = row->architecture.experts > 0,
                                         .tags = row->tags};
    return true;
}
