/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * FLOPs of a forward pass: 2 for each weight that a token is multiplied with, and 4 x heads x
 * head_dim for each query-key pair (a dot product and a weighted sum). With as many logit tokens as
 * tokens and no pairs, three passes (one forward, two for backward) are the 6 N D of Kaplan et al.
 * (2020), N without the embedding's rows and the norms. Norms, rotary embedding, softmax and
 * activation are left out: they are linear in hidden where the products are quadratic, and
 * published utilisations (MFU) leave them out as well.
 */

#include "models/llm/work.h"

void llm_layer_gemms(const struct llm_architecture *architecture,
                     struct llm_gemm gemms[LLM_LAYER_GEMMS]) {
    int64_t hidden = architecture->hidden;
    int64_t query = architecture->heads * architecture->head_dim;
    int64_t key = architecture->kv_heads * architecture->head_dim;
    int64_t up = (architecture->gated_ffn ? 2 : 1) * architecture->ffn;
    gemms[0] = (struct llm_gemm){"qkv", query + 2 * key, hidden, true};
    gemms[1] = (struct llm_gemm){"attention_output", hidden, query, false};
    gemms[2] = (struct llm_gemm){"ffn_up", up, hidden, true};
    gemms[3] = (struct llm_gemm){"ffn_down", hidden, architecture->ffn, false};
}

double llm_causal_pairs(double tokens, double context) {
    return tokens * context + tokens * (tokens + 1.0) / 2.0;
}

double llm_forward_flops(const struct llm_architecture *architecture, enum llm_head head,
                         const struct llm_batch *batch) {
    double layers = (double)architecture->layers;
    double matrices = layers * (double)llm_layer_matrix_parameters(architecture);
    double columns = (double)(architecture->heads * architecture->head_dim);
    double head_weights = (double)llm_head_parameters(architecture, head);
    return 2.0 * matrices * batch->tokens + 4.0 * batch->score_pairs * columns * layers +
           2.0 * head_weights * batch->logit_tokens;
}
