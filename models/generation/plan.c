/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/plan.h"

#include "models/hardware/precision.h"
#include "sim/contract.h"

#include <math.h>

/* ---- formats ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    double bytes;
    enum hardware_precision products;
} formats[GENERATION_FORMAT_COUNT] = {
    [GENERATION_FP32] = {"fp32", 4.0, HARDWARE_FP32},
    [GENERATION_BF16] = {"bf16", 2.0, HARDWARE_BF16},
    [GENERATION_FP16] = {"fp16", 2.0, HARDWARE_FP16},
    [GENERATION_FP8] = {"fp8", 1.0, HARDWARE_FP8},
    [GENERATION_INT4] = {"int4", 0.5 + 2.0 / 128.0, HARDWARE_BF16},
    [GENERATION_FP4] = {"fp4", 0.5 + 1.0 / 16.0, HARDWARE_BF16},
};

static bool is_format(enum generation_format format) {
    return (unsigned)format < GENERATION_FORMAT_COUNT;
}

double generation_format_bytes(enum generation_format format) {
    CONTRACT(is_format(format), "not a format");
    return formats[format].bytes;
}

const char *generation_format_name(enum generation_format format) {
    CONTRACT(is_format(format), "not a format");
    return formats[format].name;
}

enum hardware_precision generation_format_products(enum generation_format format) {
    CONTRACT(is_format(format), "not a format");
    return formats[format].products;
}

/* ---- speculation -------------------------------------------------------------------------- */

double generation_speculation_yield(const struct generation_speculation *speculation) {
    double yield = 1.0, share = 1.0;
    for (int i = 0; i < speculation->tokens; i++) {
        share *= speculation->acceptance;
        yield += share;
    }
    return yield;
}

/* ---- room --------------------------------------------------------------------------------- */

int generation_plan_gpus(const struct generation_plan *plan) {
    return plan->tp * plan->pp * plan->dp;
}

/* Matrices of a layer's experts, and all its parameters. */
static double expert_parameters(const struct llm_architecture *model,
                                const struct llm_layer_kind *kind) {
    struct llm_gemm gemms[LLM_LAYER_GEMMS];
    int count = llm_layer_gemms(model, kind, gemms);
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        if (gemms[i].experts > 0)
            sum += (double)gemms[i].experts * (double)gemms[i].n * (double)gemms[i].k;
    return sum;
}

/* Experts are shared by all GPUs of a stage, the rest by the tp of a group. The first or last of
 * several stages has the embedding or the head besides its share of the layers. */
double generation_held_weight_bytes(const struct generation_plan *plan) {
    const struct llm_architecture *model = plan->architecture;
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int count = llm_layer_kinds(model, kinds);
    double shared = 0.0, experts = 0.0;
    for (int i = 0; i < count; i++) {
        double all = (double)kinds[i].count * (double)llm_layer_parameters(model, &kinds[i]);
        double routed = (double)kinds[i].count * expert_parameters(model, &kinds[i]);
        shared += all - routed;
        experts += routed;
    }
    double ends = (double)llm_parameters(model, LLM_HEAD_VOCABULARY) - shared - experts;
    double wide = fmax(2.0, generation_format_bytes(plan->format));
    if (plan->pp > 1)
        ends = fmax((double)llm_embedding_parameters(model),
                    (double)llm_head_parameters(model, LLM_HEAD_VOCABULARY));
    return (shared / plan->tp + experts / (plan->tp * plan->dp)) / plan->pp *
               generation_format_bytes(plan->format) +
           ends / plan->tp * wide;
}

/* Heads of keys and values are dealt out; there are copies where tp is larger. A latent vector is
 * on every GPU. */
double generation_held_block_bytes(const struct generation_plan *plan) {
    double split = fmin(plan->tp, (double)plan->architecture->kv_heads);
    return llm_kv_bytes_per_token(plan->architecture, plan->kv_element_bytes) / split / plan->pp *
           (double)plan->software.block_tokens;
}

int64_t generation_request_tokens(const struct generation_request *request) {
    int64_t tokens = (int64_t)request->prompt_tokens +
                     (request->response_tokens > 0 ? request->response_tokens : 1);
    for (uint32_t i = 0; i < request->turn_count; i++)
        tokens += (int64_t)request->turns[i].observation_tokens +
                  (request->turns[i].response_tokens > 0 ? request->turns[i].response_tokens : 1);
    return tokens;
}

bool generation_request_fits(const struct generation_plan *plan, int64_t tokens) {
    int64_t block = plan->software.block_tokens;
    return (tokens + block - 1) / block <= plan->kv_blocks / plan->dp;
}
