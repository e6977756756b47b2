/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Parameter counts by adding up the tensors of a block,
 *
 *     attention  (heads + 2 kv_heads) x head_dim x hidden   queries, keys, values
 *                heads x head_dim x hidden                  output
 *     ffn        3 x hidden x ffn                           gate, up, down (2 without a gate)
 *     norms      2 x hidden, and 2 x head_dim with qk_norm  RMS norms: a scale, no shift
 *
 * and the biases that the family has. The published totals in tests/models/llm/ check the sum to
 * the digit. Sizes that config_json.c accepts keep every count below 2^60.
 */

#include "models/llm/architecture.h"

static int64_t query_columns(const struct llm_architecture *architecture) {
    return architecture->heads * architecture->head_dim;
}

static int64_t key_columns(const struct llm_architecture *architecture) {
    return architecture->kv_heads * architecture->head_dim;
}

static int64_t qkv_columns(const struct llm_architecture *architecture) {
    return query_columns(architecture) + 2 * key_columns(architecture);
}

/* Projections from hidden to ffn: gate and up, or up alone. */
static int64_t ffn_inputs(const struct llm_architecture *architecture) {
    return architecture->gated_ffn ? 2 : 1;
}

static int64_t layer_biases(const struct llm_architecture *architecture) {
    int64_t biases = 0;
    if (architecture->qkv_bias)
        biases += qkv_columns(architecture);
    if (architecture->output_bias)
        biases += architecture->hidden;
    if (architecture->ffn_bias)
        biases += ffn_inputs(architecture) * architecture->ffn + architecture->hidden;
    return biases;
}

static int64_t layer_norms(const struct llm_architecture *architecture) {
    return 2 * architecture->hidden + (architecture->qk_norm ? 2 * architecture->head_dim : 0);
}

int64_t llm_embedding_parameters(const struct llm_architecture *architecture) {
    return architecture->vocab * architecture->hidden;
}

int64_t llm_layer_matrix_parameters(const struct llm_architecture *architecture) {
    return architecture->hidden * (qkv_columns(architecture) + query_columns(architecture)) +
           (ffn_inputs(architecture) + 1) * architecture->hidden * architecture->ffn;
}

int64_t llm_layer_parameters(const struct llm_architecture *architecture) {
    return llm_layer_matrix_parameters(architecture) + layer_biases(architecture) +
           layer_norms(architecture);
}

int64_t llm_head_parameters(const struct llm_architecture *architecture, enum llm_head head) {
    return head == LLM_HEAD_SCALAR ? architecture->hidden : llm_embedding_parameters(architecture);
}

/* Does the head have a tensor of its own? */
static bool has_own_head(const struct llm_architecture *architecture, enum llm_head head) {
    return head == LLM_HEAD_SCALAR || !architecture->tied_embeddings;
}

int64_t llm_parameters(const struct llm_architecture *architecture, enum llm_head head) {
    int64_t parameters = llm_embedding_parameters(architecture) +
                         architecture->layers * llm_layer_parameters(architecture) +
                         architecture->hidden; /* the final norm */
    if (has_own_head(architecture, head))
        parameters += llm_head_parameters(architecture, head);
    return parameters;
}

int64_t llm_lora_parameters(const struct llm_architecture *architecture, int64_t rank) {
    int64_t hidden = architecture->hidden;
    int64_t query = hidden + query_columns(architecture); /* the output projection: the same */
    int64_t key = hidden + key_columns(architecture);     /* the value projection: the same */
    int64_t ffn = hidden + architecture->ffn;
    return architecture->layers * rank *
           (2 * query + 2 * key + (ffn_inputs(architecture) + 1) * ffn);
}

/* Linear layers of a block, queries, keys and values apart. */
static int64_t layer_projections(const struct llm_architecture *architecture) {
    return 4 + ffn_inputs(architecture) + 1;
}

int64_t llm_lora_tensors(const struct llm_architecture *architecture) {
    return architecture->layers * 2 * layer_projections(architecture);
}

int64_t llm_tensors(const struct llm_architecture *architecture, enum llm_head head) {
    int64_t layer = layer_projections(architecture) + 2; /* two norms */
    if (architecture->qkv_bias)
        layer += 3;
    if (architecture->output_bias)
        layer += 1;
    if (architecture->ffn_bias)
        layer += ffn_inputs(architecture) + 1;
    if (architecture->qk_norm)
        layer += 2;
    /* The embedding, the final norm, and a head that is not tied. */
    return architecture->layers * layer + 2 + (has_own_head(architecture, head) ? 1 : 0);
}

double llm_kv_bytes_per_token(const struct llm_architecture *architecture, double element_bytes) {
    return 2.0 * (double)(architecture->layers * key_columns(architecture)) * element_bytes;
}
