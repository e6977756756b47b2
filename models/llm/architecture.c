/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Parameter counts by adding up the tensors of a block,
 *
 *     attention  (heads + 2 kv_heads) x head_dim x hidden   queries, keys, values
 *                heads x head_dim x hidden                  output
 *     latent     hidden x q_lora + q_lora x heads x head_dim      queries, down and up
 *                hidden x (kv_lora + rope)                        the latent vector
 *                kv_lora x heads x (head_dim - rope + v)          keys and values from it
 *                heads x v x hidden                               output
 *     indexer    q_lora x heads x dim + hidden x dim + hidden x heads, and a layer norm of dim
 *     ffn        3 x hidden x ffn                           gate, up, down (2 without a gate)
 *     experts    hidden x experts, experts x ffn, shared ffn
 *     norms      2 x hidden, 2 x head_dim with qk_norm, q_lora and kv_lora with latent attention
 *
 * and the biases that the family has. tests/models/llm/ holds the sum against a listing of tensors
 * and against published totals, to the digit.
 */

#include "models/llm/architecture.h"

#include <stdio.h>

bool llm_is_latent(const struct llm_architecture *architecture) {
    return architecture->kv_lora_rank > 0;
}

int64_t llm_query_columns(const struct llm_architecture *architecture) {
    return architecture->heads * architecture->head_dim;
}

int64_t llm_value_columns(const struct llm_architecture *architecture) {
    return architecture->heads *
           (llm_is_latent(architecture) ? architecture->v_head_dim : architecture->head_dim);
}

int64_t llm_key_columns(const struct llm_architecture *architecture) {
    return llm_is_latent(architecture) ? llm_query_columns(architecture)
                                       : architecture->kv_heads * architecture->head_dim;
}

int64_t llm_expanded_value_columns(const struct llm_architecture *architecture) {
    return llm_is_latent(architecture) ? llm_value_columns(architecture)
                                       : llm_key_columns(architecture);
}

/* Projections from hidden to ffn: gate and up, or up alone. */
static int64_t ffn_inputs(const struct llm_architecture *architecture) {
    return architecture->gated_ffn ? 2 : 1;
}

static int64_t norm_parameters(const struct llm_architecture *architecture, int64_t width) {
    return architecture->norm == LLM_NORM_LAYER ? 2 * width : width;
}

static int64_t norm_tensors(const struct llm_architecture *architecture) {
    return architecture->norm == LLM_NORM_LAYER ? 2 : 1;
}

static int64_t block_norms(const struct llm_architecture *architecture) {
    switch (architecture->block_norms) {
    case LLM_BLOCK_NORMS_FOUR:
        return 4;
    case LLM_BLOCK_NORMS_ONE:
        return 1;
    case LLM_BLOCK_NORMS_TWO:
        break;
    }
    return 2;
}

/* ---- layers ---------------------------------------------------------------------------------- */

int llm_layer_kinds(const struct llm_architecture *architecture,
                    struct llm_layer_kind kinds[LLM_LAYER_KINDS]) {
    int64_t moe = architecture->moe_layers, windowed = architecture->window_layers;
    int64_t both = architecture->window_moe_layers;
    const struct llm_layer_kind all[LLM_LAYER_KINDS] = {
        {architecture->layers - moe - windowed + both, false, false},
        {windowed - both, false, true},
        {moe - both, true, false},
        {both, true, true},
    };
    int count = 0;
    for (int i = 0; i < LLM_LAYER_KINDS; i++)
        if (all[i].count > 0)
            kinds[count++] = all[i];
    return count;
}

typedef int64_t layer_function(const struct llm_architecture *architecture,
                               const struct llm_layer_kind *kind);

static int64_t over_layers(const struct llm_architecture *architecture, layer_function *function) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int64_t sum = 0;
    int count = llm_layer_kinds(architecture, kinds);
    for (int i = 0; i < count; i++)
        sum += kinds[i].count * function(architecture, &kinds[i]);
    return sum;
}

/* ---- attention of a block -------------------------------------------------------------------- */

static int64_t latent_matrices(const struct llm_architecture *a) {
    int64_t query = llm_query_columns(a), value = llm_value_columns(a);
    int64_t keys_and_values = query - a->heads * a->rope_head_dim + value;
    int64_t queries = a->q_lora_rank > 0 ? a->q_lora_rank * (a->hidden + query) : a->hidden * query;
    return queries + a->hidden * (a->kv_lora_rank + a->rope_head_dim) +
           a->kv_lora_rank * keys_and_values + value * a->hidden;
}

static int64_t indexer_matrices(const struct llm_architecture *a) {
    return a->q_lora_rank * a->index_heads * a->index_head_dim + a->hidden * a->index_head_dim +
           a->hidden * a->index_heads;
}

static int64_t attention_matrices(const struct llm_architecture *a) {
    if (llm_is_latent(a))
        return latent_matrices(a) + indexer_matrices(a);
    return a->hidden * (2 * llm_query_columns(a) + 2 * llm_key_columns(a));
}

/* Biases, norms and sinks. */
static int64_t attention_vectors(const struct llm_architecture *a) {
    int64_t count = 0;
    if (llm_is_latent(a))
        count += a->q_lora_rank + a->kv_lora_rank + 2 * a->index_head_dim;
    if (a->qkv_bias)
        count += llm_query_columns(a) + 2 * llm_key_columns(a);
    if (a->output_bias)
        count += a->hidden;
    if (a->qk_norm)
        count += 2 * a->head_dim;
    if (a->sinks)
        count += a->heads;
    return count;
}

/* ---- feed-forward of a block ----------------------------------------------------------------- */

static int64_t expert_matrices(const struct llm_architecture *a) {
    return (ffn_inputs(a) + 1) * a->hidden * a->moe_ffn;
}

static int64_t expert_vectors(const struct llm_architecture *a) {
    return a->expert_bias ? ffn_inputs(a) * a->moe_ffn + a->hidden : 0;
}

static int64_t shared_matrices(const struct llm_architecture *a) {
    return (ffn_inputs(a) + 1) * a->hidden * a->shared_ffn + (a->shared_gate ? a->hidden : 0);
}

/* Matrices of a feed-forward with so many of its experts. */
static int64_t ffn_matrices(const struct llm_architecture *a, bool moe, int64_t experts) {
    if (!moe)
        return (ffn_inputs(a) + 1) * a->hidden * a->ffn;
    return a->hidden * a->experts + experts * expert_matrices(a) + shared_matrices(a);
}

static int64_t ffn_vectors(const struct llm_architecture *a, bool moe) {
    if (moe)
        return (a->router_bias ? a->experts : 0) + a->experts * expert_vectors(a);
    return a->ffn_bias ? ffn_inputs(a) * a->ffn + a->hidden : 0;
}

/* ---- parameters ------------------------------------------------------------------------------ */

int64_t llm_embedding_width(const struct llm_architecture *a) {
    return a->embedding_width > 0 ? a->embedding_width : a->hidden;
}

/* One of the two projections between the embedding's width and hidden. */
static int64_t width_projection(const struct llm_architecture *a) {
    return a->embedding_width > 0 ? a->embedding_width * a->hidden : 0;
}

int64_t llm_embedding_parameters(const struct llm_architecture *a) {
    return a->vocab * llm_embedding_width(a) + a->positions * a->hidden + width_projection(a) +
           (a->embedding_norm ? norm_parameters(a, a->hidden) : 0);
}

int64_t llm_layer_matrix_parameters(const struct llm_architecture *a,
                                    const struct llm_layer_kind *kind) {
    return attention_matrices(a) + ffn_matrices(a, kind->moe, a->experts_per_token);
}

int64_t llm_matrix_parameters(const struct llm_architecture *a) {
    return over_layers(a, llm_layer_matrix_parameters);
}

int64_t llm_layer_parameters(const struct llm_architecture *a, const struct llm_layer_kind *kind) {
    return attention_matrices(a) + attention_vectors(a) + ffn_matrices(a, kind->moe, a->experts) +
           ffn_vectors(a, kind->moe) + block_norms(a) * norm_parameters(a, a->hidden);
}

int64_t llm_layer_expert_parameters(const struct llm_architecture *a,
                                    const struct llm_layer_kind *kind) {
    return kind->moe ? a->experts * (expert_matrices(a) + expert_vectors(a)) : 0;
}

int64_t llm_head_parameters(const struct llm_architecture *a, enum llm_head head) {
    return llm_embedding_width(a) * (head == LLM_HEAD_SCALAR ? 1 : a->vocab);
}

/* Does the head have a matrix of its own? */
static bool has_own_head(const struct llm_architecture *a, enum llm_head head) {
    return head == LLM_HEAD_SCALAR || !a->tied_embeddings;
}

static bool has_head_bias(const struct llm_architecture *a, enum llm_head head) {
    return head == LLM_HEAD_VOCABULARY && a->head_bias;
}

int64_t llm_parameters(const struct llm_architecture *a, enum llm_head head) {
    int64_t parameters =
        llm_embedding_parameters(a) + over_layers(a, llm_layer_parameters) + width_projection(a);
    if (!a->no_final_norm)
        parameters += norm_parameters(a, a->hidden);
    if (has_own_head(a, head))
        parameters += llm_head_parameters(a, head);
    if (has_head_bias(a, head))
        parameters += a->vocab;
    return parameters;
}

int64_t llm_active_parameters(const struct llm_architecture *a, enum llm_head head) {
    int64_t idle = a->experts - a->experts_per_token;
    return llm_parameters(a, head) -
           a->moe_layers * idle * (expert_matrices(a) + expert_vectors(a));
}

double llm_pretraining_flops(const struct llm_architecture *architecture) {
    return 6.0 * (double)llm_active_parameters(architecture, LLM_HEAD_VOCABULARY) *
           (double)architecture->pretraining_tokens;
}

/* ---- LoRA ------------------------------------------------------------------------------------ */

/* Inputs + outputs of the linear layers of attention, and how many they are. */
static int64_t attention_sides(const struct llm_architecture *a) {
    int64_t hidden = a->hidden, query = llm_query_columns(a), value = llm_value_columns(a);
    if (!llm_is_latent(a))
        return 4 * hidden + 2 * query + 2 * llm_key_columns(a);
    int64_t queries = a->q_lora_rank > 0 ? hidden + 2 * a->q_lora_rank + query : hidden + query;
    int64_t latent = hidden + a->kv_lora_rank + a->rope_head_dim;
    int64_t expanded = a->kv_lora_rank + query - a->heads * a->rope_head_dim + value;
    return queries + latent + expanded + value + hidden;
}

static int64_t attention_projections(const struct llm_architecture *a) {
    return llm_is_latent(a) ? (a->q_lora_rank > 0 ? 5 : 4) : 4;
}

static int64_t ffn_sides(const struct llm_architecture *a, int64_t width) {
    return (ffn_inputs(a) + 1) * (a->hidden + width);
}

int64_t llm_layer_expert_lora_parameters(const struct llm_architecture *a,
                                         const struct llm_layer_kind *kind, int64_t rank) {
    return kind->moe ? rank * a->experts * ffn_sides(a, a->moe_ffn) : 0;
}

int64_t llm_layer_lora_parameters(const struct llm_architecture *a,
                                  const struct llm_layer_kind *kind, int64_t rank) {
    int64_t sides = attention_sides(a);
    if (!kind->moe)
        return rank * (sides + ffn_sides(a, a->ffn));
    sides += a->experts * ffn_sides(a, a->moe_ffn);
    if (a->shared_ffn > 0)
        sides += ffn_sides(a, a->shared_ffn);
    return rank * sides;
}

int64_t llm_lora_parameters(const struct llm_architecture *a, int64_t rank) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int64_t sum = 0;
    int count = llm_layer_kinds(a, kinds);
    for (int i = 0; i < count; i++)
        sum += kinds[i].count * llm_layer_lora_parameters(a, &kinds[i], rank);
    return sum;
}

/* Linear layers of a block that carry adapters. */
static int64_t layer_projections(const struct llm_architecture *a,
                                 const struct llm_layer_kind *kind) {
    int64_t ffns = kind->moe ? a->experts + (a->shared_ffn > 0 ? 1 : 0) : 1;
    return attention_projections(a) + ffns * (ffn_inputs(a) + 1);
}

int64_t llm_lora_tensors(const struct llm_architecture *a) {
    return 2 * over_layers(a, layer_projections);
}

/* ---- tensors of the checkpoint --------------------------------------------------------------- */

static int64_t attention_tensors(const struct llm_architecture *a) {
    int64_t separate = a->fused_qkv ? 1 : 3;
    int64_t tensors = llm_is_latent(a) ? attention_projections(a) + 1 : separate + 1;
    if (llm_is_latent(a) && a->q_lora_rank > 0)
        tensors += 1; /* the norm of the queries; that of the latent vector is counted above */
    if (a->index_heads > 0)
        tensors += 5; /* three matrices, scale and shift of a norm */
    return tensors + (a->qkv_bias ? separate : 0) + (a->output_bias ? 1 : 0) +
           (a->qk_norm ? 2 : 0) + (a->sinks ? 1 : 0);
}

/* Tensors of one feed-forward, or of all experts where they are packed. */
static int64_t projection_tensors(const struct llm_architecture *a, bool bias) {
    int64_t matrices = (a->fused_up ? 1 : ffn_inputs(a)) + 1;
    return matrices * (bias ? 2 : 1);
}

static int64_t ffn_tensors(const struct llm_architecture *a, bool moe) {
    if (!moe)
        return projection_tensors(a, a->ffn_bias);
    int64_t experts = (a->packed_experts ? 1 : a->experts) * projection_tensors(a, a->expert_bias);
    int64_t shared = a->shared_ffn > 0 ? projection_tensors(a, false) : 0;
    return 1 + (a->router_bias ? 1 : 0) + experts + shared + (a->shared_gate ? 1 : 0);
}

static int64_t layer_tensors(const struct llm_architecture *a, const struct llm_layer_kind *kind) {
    return attention_tensors(a) + ffn_tensors(a, kind->moe) + block_norms(a) * norm_tensors(a);
}

int64_t llm_tensors(const struct llm_architecture *a, enum llm_head head) {
    int64_t tensors = 1 + over_layers(a, layer_tensors); /* the embedding */
    if (a->positions > 0)
        tensors += 1;
    if (a->embedding_width > 0)
        tensors += 2;
    if (a->embedding_norm)
        tensors += norm_tensors(a);
    if (!a->no_final_norm)
        tensors += norm_tensors(a);
    return tensors + (has_own_head(a, head) ? 1 : 0) + (has_head_bias(a, head) ? 1 : 0);
}

/* ---- cache ----------------------------------------------------------------------------------- */

double llm_kv_bytes_per_token(const struct llm_architecture *a, double element_bytes) {
    if (llm_is_latent(a))
        return (double)(a->layers * (a->kv_lora_rank + a->rope_head_dim)) * element_bytes;
    return 2.0 * (double)(a->layers * llm_key_columns(a)) * element_bytes;
}

/* ---- sense ----------------------------------------------------------------------------------- */

/* Sums and products that could pass 2^63 as integers, as doubles: an upper bound of the count. */
static double upper_bound(const struct llm_architecture *a) {
    double hidden = (double)a->hidden, heads = (double)a->heads;
    double head = (double)a->head_dim + (double)a->v_head_dim;
    double ranks = (double)a->kv_lora_rank + (double)a->rope_head_dim + (double)a->q_lora_rank;
    double index = (double)a->index_heads * (double)a->index_head_dim;
    double experts = (double)(a->experts + 1) * (double)(a->moe_ffn + 1);
    double ffn = 4.0 * ((double)a->ffn + experts + (double)a->shared_ffn + 4.0);
    double layer = hidden * (4.0 * heads * head + ranks + index + ffn + (double)a->experts) +
                   ranks * (2.0 * heads * head + index);
    double rows = (double)a->vocab + (double)a->positions + (double)a->embedding_width;
    return (double)a->layers * layer + 3.0 * rows * (hidden + (double)a->embedding_width);
}

struct rule {
    bool broken;
    const char *fault;
};

bool llm_architecture_check(const struct llm_architecture *a, char fault[LLM_FAULT_SIZE]) {
    bool moe = a->moe_layers > 0, latent = llm_is_latent(a);
    const struct rule rules[] = {
        {a->heads % a->kv_heads != 0, "kv_heads must divide heads"},
        {moe != (a->experts > 0) || moe != (a->experts_per_token > 0) || moe != (a->moe_ffn > 0),
         "experts, experts_per_token, moe_ffn and moe_layers come together"},
        {a->experts_per_token > a->experts, "experts_per_token is more than there are experts"},
        {a->moe_layers > a->layers, "moe_layers are more than layers"},
        {a->window_layers > a->layers, "window_layers are more than layers"},
        {(a->window_layers > 0) != (a->window > 0), "window and window_layers come together"},
        {a->window_moe_layers > a->moe_layers || a->window_moe_layers > a->window_layers ||
             a->moe_layers + a->window_layers - a->window_moe_layers > a->layers,
         "window_moe_layers do not go with moe_layers, window_layers and layers"},
        {!moe && (a->shared_ffn > 0 || a->shared_gate || a->router_bias || a->expert_bias),
         "shared_ffn, shared_gate, router_bias and expert_bias need experts"},
        {a->shared_gate && a->shared_ffn == 0, "shared_gate needs shared_ffn"},
        {a->moe_layers < a->layers && a->ffn == 0, "ffn is missing for the dense layers"},
        {latent != (a->v_head_dim > 0) || latent != (a->rope_head_dim > 0),
         "kv_lora_rank, rope_head_dim and v_head_dim come together"},
        {latent && a->kv_heads != 1, "kv_heads must be 1 with kv_lora_rank: one vector for all"},
        {latent && a->rope_head_dim >= a->head_dim, "rope_head_dim must be below head_dim"},
        {latent && (a->qkv_bias || a->qk_norm || a->fused_qkv || a->window_layers > 0),
         "qkv_bias, qk_norm, fused_qkv and windows do not go with kv_lora_rank"},
        {a->q_lora_rank > 0 && !latent, "q_lora_rank needs kv_lora_rank"},
        {(a->index_heads > 0) != (a->index_head_dim > 0) ||
             (a->index_heads > 0) != (a->index_topk > 0),
         "index_heads, index_head_dim and index_topk come together"},
        {a->index_heads > 0 && a->q_lora_rank == 0, "index_heads need q_lora_rank"},
        {!(upper_bound(a) < 9007199254740992.0), "the sizes multiply to more than 2^53 parameters"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].broken)
            continue;
        (void)snprintf(fault, LLM_FAULT_SIZE, "%s", rules[i].fault);
        return false;
    }
    return true;
}
