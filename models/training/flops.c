/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/flops.h"

#include "models/training/block_products.h"
#include "sim/contract.h"

static double attention_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    return llm_attention_flops(plan->architecture, batch);
}

/* Weights of adapters that a token is multiplied with: of the experts, those it goes through. */
static double adapter_weights(const struct training_plan *plan) {
    const struct llm_architecture *a = plan->architecture;
    double all = training_lora_parameters(plan);
    if (plan->lora_targets == TRAINING_LORA_QKV)
        return all;
    double idle = (double)(a->moe_layers * (a->experts - a->experts_per_token));
    double expert =
        (double)plan->lora_rank * (a->gated_ffn ? 3.0 : 2.0) * (double)(a->hidden + a->moe_ffn);
    return all - idle * expert;
}

static double adapter_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    bool merged = plan->lora_merged && !plan->trained;
    if (plan->lora_rank == 0 || merged)
        return 0.0;
    return 2.0 * batch->tokens * adapter_weights(plan);
}

double training_forward_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    return llm_forward_flops(plan->architecture, plan->head, batch) + adapter_flops(plan, batch);
}

/* Twice the forward's, but for the products with frozen matrices, whose weight gradients nobody
 * wants: once. Attention and adapters have both of their gradients in any case. */
double training_backward_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    double forward = training_forward_flops(plan, batch);
    if (plan->lora_rank == 0)
        return 2.0 * forward;
    return forward + attention_flops(plan, batch) + adapter_flops(plan, batch);
}

double training_recompute_flops(const struct training_plan *plan, const struct llm_batch *batch) {
    double matrices = (double)llm_matrix_parameters(plan->architecture);
    switch (plan->recompute) {
    case TRAINING_RECOMPUTE_NONE:
        return 0.0;
    case TRAINING_RECOMPUTE_SELECTIVE:
    case TRAINING_RECOMPUTE_ATTENTION:
        return attention_flops(plan, batch);
    case TRAINING_RECOMPUTE_OPERATORS:
        return 2.0 * training_alternate_parameters(plan->architecture) * batch->tokens;
    case TRAINING_RECOMPUTE_FULL:
        return 2.0 * matrices * batch->tokens + attention_flops(plan, batch) +
               adapter_flops(plan, batch);
    }
    CONTRACT(false, "unknown recomputation");
    return 0.0;
}
