/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The sum form: kernels are rooflines, collectives those of network/collective.h; what an engine
 * adds comes with the plan (generation/software.h).
 *
 * Launches. The products carry their own launch. Besides them a layer has two fused residual-add
 * norms, the rotary embedding and the activation, and an attention step that is several kernels
 * (cache write, split, combine): at contexts of a few tokens, where nothing is left to read, decode
 * attention takes 11.4 us on H100 and 12.6 (batch 1) to 20 us (batch 8) on A100 (aiconfigurator
 * @095f58a51, vLLM 0.24 and 0.14), which is 4 launches of the 3 and 5 us that a kernel costs there.
 *
 * Stages. An engine with pp stages keeps pp micro-batches under way, each of 1 / pp of the tokens.
 * Every sequence gets its next token when its micro-batch has gone round, which takes pp turns of
 * the slowest stage: pp x (layers / pp) x a layer of the small batch, and for the last stage pp
 * heads. Fewer sequences than stages leave stages idle and go round alone.
 *
 * Groups. With dp groups each has its share of the sequences and contexts, and its own copy of all
 * but the experts, which see the tokens of all groups: these are gathered before the experts and
 * summed up behind them.
 *
 * Speculation. An iteration checks the drafts of all sequences: tokens + 1 rows each, the cache
 * read once, and tokens x draft_cost of a plain iteration for the drafts. It yields 1 + a + ... of
 * them, so a token costs that part of an iteration. On average: sequences do not run ahead of each
 * other by luck.
 *
 * Latent attention (MLA) makes keys and values in full for prompts, and works on the cached latent
 * vector in decode, which every GPU of a group has whole.
 *
 * On 460 published serving rows adding the groups did as well as overlapping host and GPU, and the
 * sum is what the closed form needs. How far off it is, |forecast / measured - 1|, median and 90th
 * percentile, of 1,578 published values (`rlhfsim validate generation`; the coefficients of
 * engines.csv are fitted to most of them):
 *
 *     served, TensorRT-LLM                       dense models 4 / 19 %, with experts 11 / 28 %
 *     served, vLLM                               dense 5 / 90 %, with experts 9 / 30 %
 *     served, SGLang                             dense 5 / 24 %, with experts 10 / 30 %
 *     offline tables, TensorRT-LLM  10 / 29 %    dense 8 / 20 %, with experts 13 / 33 %
 *     1 to 4 clients                10 / 19 %
 *     all                            8 / 28 %    each model left out in turn 15 / 39 %
 *
 * 21 rows of vLLM have prompts that were cached.
 *
 * Worst: experts on RTX PRO 6000 (too slow: its collectives over PCIe), on GB200 (too fast: its
 * CPU) and on 80 GB H100 in offline tables (too fast), fp4 experts on B200. Setting memory aside
 * for the activations of the whole token budget, in place of a constant, makes those of H100 worse
 * (28 to 60 % too fast for 22 to 28 %): budgets are small there.
 *
 * Left out: experts that are chosen unevenly, the choice of a sparse attention (see
 * llm_attention_limit), flash attention's slow start on short prompts.
 */

#include "models/generation/iteration.h"

#include "models/generation/products.h"
#include "models/hardware/kernel.h"
#include "models/network/collective.h"
#include "sim/contract.h"

#include <math.h>

#define SMALL_KERNELS 4.0
#define ATTENTION_KERNELS 4.0
/* Assumed, from what has to be done: norms of the compressed queries and of the latent vector. */
#define LATENT_KERNELS 2.0
/* Assumed in the same way: choice of experts, sorting of tokens (two kernels), adding up what comes
 * back, around the two products and the activation. */
#define EXPERT_KERNELS 4.0

/* Activations, keys and values of prompts under way. */
#define ELEMENT_BYTES 2.0

/* More GPUs than key-value heads keep copies of them. */
static double kv_split(const struct generation_plan *plan) {
    return fmin(plan->tp, (double)plan->architecture->kv_heads);
}

/* ---- small kernels ------------------------------------------------------------------------ */

/* Traffic of a token through one layer's small kernels. The norms are done in full by every GPU:
 * each reads the residual and the layer's output, writes the sum and the normed values; norms
 * behind attention and feed-forward read and write once more. The rotary embedding reads and writes
 * queries and keys (of latent attention, its rotated part alone, with the norms of the latents).
 * The activation reads gate and up, writes one. Tokens are sent to their experts and added up
 * again. */
static double small_token_bytes(const struct generation_plan *plan,
                                const struct llm_layer_kind *kind) {
    const struct llm_architecture *model = plan->architecture;
    double hidden = (double)model->hidden;
    double norms = 2.0 * 4.0 * hidden;
    double queries = (double)llm_query_columns(model) / plan->tp;
    double keys = (double)(model->kv_heads * model->head_dim) / kv_split(plan);
    double activation =
        (model->gated_ffn ? 3.0 : 2.0) * (double)llm_ffn_columns(model, kind) / plan->tp;
    if (model->block_norms == LLM_BLOCK_NORMS_FOUR)
        norms += 2.0 * 2.0 * hidden;
    if (llm_is_latent(model)) {
        queries =
            (double)(model->heads * model->rope_head_dim) / plan->tp + (double)model->q_lora_rank;
        keys = (double)(model->rope_head_dim + model->kv_lora_rank);
    }
    double sent = kind->moe ? 2.0 * (1.0 + (double)model->experts_per_token) * hidden : 0.0;
    return ELEMENT_BYTES * (norms + 2.0 * (queries + keys) + activation + sent);
}

static double small_kernels(const struct generation_plan *plan, const struct llm_layer_kind *kind) {
    const struct llm_architecture *model = plan->architecture;
    double kernels = SMALL_KERNELS + ATTENTION_KERNELS;
    if (model->block_norms == LLM_BLOCK_NORMS_FOUR)
        kernels += 2.0;
    if (llm_is_latent(model))
        kernels += LATENT_KERNELS;
    return kernels + (kind->moe ? EXPERT_KERNELS : 0.0);
}

static double small_s(const struct generation_plan *plan, const struct llm_layer_kind *kind,
                      double tokens, bool eager) {
    const struct generation_software *software = &plan->software;
    double bytes = software->activation_share * tokens * small_token_bytes(plan, kind);
    return hardware_memory_s(&plan->cluster->gpu, bytes,
                             small_kernels(plan, kind) * software->launch_factor) +
           (kind->moe ? software->expert_layer_s : 0.0) + (eager ? software->eager_layer_s : 0.0);
}

/* ---- collectives -------------------------------------------------------------------------- */

/* Engines have an all-reduce of their own for small buffers beside those of the library; in a graph
 * the buffer is first copied to where the others can read it. */
static double all_reduce_s(const struct generation_plan *plan, double tokens) {
    static const struct network_call call = {.copied = true,
                                             .algorithms = 1u << NETWORK_RING | 1u << NETWORK_TREE |
                                                           1u << NETWORK_SWITCH |
                                                           1u << NETWORK_DIRECT};
    double bytes = tokens * (double)plan->architecture->hidden * ELEMENT_BYTES;
    if (plan->tp == 1)
        return 0.0;
    struct network_group group = network_group_strided(plan->cluster, plan->tp, 1);
    return plan->software.collective_factor *
           network_collective_estimate(plan->cluster, NETWORK_ALL_REDUCE, group, bytes, &call)
               .seconds;
}

/* The tokens of all groups to all GPUs with experts, and their sums back. */
static double expert_exchange_s(const struct generation_plan *plan, double all_tokens) {
    struct network_group group = network_group_strided(plan->cluster, plan->tp * plan->dp, 1);
    double bytes = all_tokens * (double)plan->architecture->hidden * ELEMENT_BYTES;
    return plan->software.exchange_factor *
           (network_collective_s(plan->cluster, NETWORK_ALL_GATHER, group, bytes) +
            network_collective_s(plan->cluster, NETWORK_REDUCE_SCATTER, group, bytes));
}

static double layer_collectives_s(const struct generation_plan *plan,
                                  const struct llm_layer_kind *kind, double tokens,
                                  double all_tokens) {
    if (kind->moe && plan->dp > 1)
        return all_reduce_s(plan, tokens) + expert_exchange_s(plan, all_tokens);
    return 2.0 * all_reduce_s(plan, tokens);
}

static double logits_gather_s(const struct generation_plan *plan, double logits) {
    if (plan->tp == 1)
        return 0.0;
    struct network_group group = network_group_strided(plan->cluster, plan->tp, 1);
    return network_collective_s(plan->cluster, NETWORK_ALL_GATHER, group,
                                logits * (double)plan->architecture->vocab * ELEMENT_BYTES);
}

/* From a stage to the next: hidden of a micro-batch, once for every stage. */
static double stages_s(const struct generation_plan *plan, double tokens) {
    if (plan->pp == 1)
        return 0.0;
    struct network_group group = network_group_strided(plan->cluster, 2, plan->tp * plan->dp);
    return plan->pp *
           network_collective_s(plan->cluster, NETWORK_BROADCAST, group,
                                tokens * (double)plan->architecture->hidden * ELEMENT_BYTES);
}

/* ---- everything but attention ------------------------------------------------------------- */

/* The largest of `parts` equal shares of a number of tokens: at least one token is whole. */
static double share(double tokens, int parts) {
    return tokens <= 0.0 ? 0.0 : fmax(tokens / parts, fmin(tokens, 1.0));
}

/* `tokens` go through the layers, `logits` of them through the head. */
static double common_s(const struct generation_plan *plan, double tokens, double logits,
                       bool eager) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int count = llm_layer_kinds(plan->architecture, kinds);
    double all = share(tokens, plan->pp), mine = share(all, plan->dp);
    double heads = share(share(logits, plan->pp), plan->dp);
    double seconds = stages_s(plan, mine) + plan->pp * plan->software.iteration_host_s;
    for (int i = 0; i < count; i++)
        seconds += (double)kinds[i].count * (generation_linear_s(plan, &kinds[i], mine, all) +
                                             small_s(plan, &kinds[i], mine, eager) +
                                             layer_collectives_s(plan, &kinds[i], mine, all));
    return seconds + generation_width_s(plan, mine, heads) +
           fmin(plan->pp, fmax(tokens, 1.0)) *
               (generation_head_s(plan, heads) + logits_gather_s(plan, heads));
}

static double sequences_host_s(const struct generation_plan *plan, double sequences) {
    return plan->software.sequence_host_s * share(sequences, plan->dp);
}

/* ---- attention ---------------------------------------------------------------------------- */

/* Share of the layers that have a window. */
static double window_share(const struct llm_architecture *model) {
    return (double)model->window_layers / (double)model->layers;
}

int64_t generation_window(const struct generation_plan *plan) {
    return llm_window(plan->architecture);
}

static double token_bytes(const struct generation_plan *plan) {
    return llm_kv_bytes_per_token(plan->architecture, plan->kv_element_bytes) / kv_split(plan);
}

double generation_kv_token_bytes(const struct generation_plan *plan) {
    return token_bytes(plan) * (1.0 - window_share(plan->architecture));
}

double generation_window_token_bytes(const struct generation_plan *plan) {
    return token_bytes(plan) * window_share(plan->architecture);
}

/* Reading the cache for one token of context, all layers. In latent attention all heads work on the
 * one vector that is read, scores over latent and rotated part and sums over the latent part, so
 * that compute may be what limits. */
static double token_s(const struct generation_plan *plan) {
    const struct llm_architecture *model = plan->architecture;
    const struct hardware_gpu *gpu = &plan->cluster->gpu;
    double read_s = token_bytes(plan) / (gpu->memory_bandwidth_bytes_per_s *
                                         gpu->memory_efficiency * plan->software.kv_efficiency);
    if (!llm_is_latent(model))
        return read_s;
    double width = (double)(2 * model->kv_lora_rank + model->rope_head_dim);
    double flops = 2.0 * (double)(model->layers * model->heads) / plan->tp * width;
    double rate = gpu->peak_flops_per_s[HARDWARE_BF16] * gpu->attention_efficiency;
    return fmax(read_s, flops / rate);
}

static double prefill_attention_s(const struct generation_plan *plan,
                                  const struct generation_step *step) {
    const struct llm_architecture *model = plan->architecture;
    double heads = (double)model->heads / plan->tp;
    double kv_heads = (llm_is_latent(model) ? heads : (double)model->kv_heads / kv_split(plan));
    double width = llm_score_width(model), parts = plan->dp * plan->pp;
    double windowed = (double)model->window_layers, whole = (double)model->layers - windowed;
    struct hardware_attention attention = {
        .score_pairs = step->prefill_pairs / parts,
        .tokens = step->prefill_tokens / parts,
        .sequences = 1.0,
        .context_tokens = step->prefill_tokens / parts,
        .cached_tokens = step->prefill_tokens / parts,
        .heads = heads,
        .kv_heads = kv_heads,
        .score_dim = width,
        .value_dim = width,
        .element_bytes = ELEMENT_BYTES,
        /* latent attention has keys and values in full here */
        .kv_token_bytes = ELEMENT_BYTES * kv_heads * 2.0 * width,
    };
    double seconds = whole * hardware_attention_prefill_s(&plan->cluster->gpu, &attention);
    if (windowed == 0.0)
        return seconds;
    attention.score_pairs = step->window_pairs / parts;
    return seconds + windowed * hardware_attention_prefill_s(&plan->cluster->gpu, &attention);
}

/* ---- iterations --------------------------------------------------------------------------- */

/* Graphs are of the batch of one dp group and micro-batch; groups without a sequence run along with
 * the others. */
static double graph_tokens(const struct generation_plan *plan, int64_t sequences, int64_t rows,
                           bool *eager) {
    int64_t rounds = sequences < plan->pp ? sequences : plan->pp, parts = plan->dp * rounds;
    int64_t tokens = (sequences * rows + parts - 1) / parts;
    *eager = !generation_has_graph(&plan->software, tokens);
    if (*eager)
        return (double)(sequences * rows);
    return (double)(parts * generation_graph_batch(&plan->software, tokens));
}

/* A decode iteration of `rows` tokens for each sequence. */
static void rows_cost(const struct generation_plan *plan, int64_t sequences, int64_t rows,
                      struct generation_decode_cost *cost) {
    bool eager;
    double tokens = graph_tokens(plan, sequences, rows, &eager);
    double kv_s = token_s(plan) / (plan->dp * fmin(plan->pp, (double)sequences));
    double windowed = window_share(plan->architecture);
    *cost = (struct generation_decode_cost){
        .base_s = common_s(plan, tokens, tokens, eager) + sequences_host_s(plan, (double)sequences),
        .kv_token_s = kv_s * (1.0 - windowed),
        .window_token_s = kv_s * windowed,
    };
}

static void decode_cost(const struct generation_plan *plan, int64_t sequences,
                        struct generation_decode_cost *cost) {
    const struct generation_speculation *speculation = &plan->speculation;
    CONTRACT(sequences >= 1, "a decode iteration has at least one sequence");
    if (speculation->tokens == 0) {
        rows_cost(plan, sequences, 1, cost);
        return;
    }
    struct generation_decode_cost plain;
    double drafts = speculation->tokens * speculation->draft_cost;
    double yield = generation_speculation_yield(speculation);
    rows_cost(plan, sequences, 1, &plain);
    rows_cost(plan, sequences, speculation->tokens + 1, cost);
    cost->base_s = (cost->base_s + drafts * plain.base_s) / yield;
    cost->kv_token_s = (cost->kv_token_s + drafts * plain.kv_token_s) / yield;
    cost->window_token_s = (cost->window_token_s + drafts * plain.window_token_s) / yield;
}

static double decode_s(const struct generation_plan *plan, const struct generation_step *step) {
    struct generation_decode_cost cost;
    decode_cost(plan, step->sequences, &cost);
    return cost.base_s + cost.kv_token_s * step->context_tokens +
           cost.window_token_s * step->window_tokens;
}

/* What prompts add to the sequences that decode beside them: with speculation those are checked in
 * the same iteration, but for one token only a part of it is theirs. */
static double added_prefill_s(const struct generation_plan *plan,
                              const struct generation_step *step) {
    double rows = (double)step->sequences * (plan->speculation.tokens + 1);
    double alone_s = common_s(plan, rows, rows, true);
    return common_s(plan, rows + step->prefill_tokens, rows + (double)step->prompts_finished,
                    true) -
           alone_s + (double)plan->architecture->layers * plan->software.eager_layer_s;
}

static double iteration_s(const struct generation_plan *plan, const struct generation_step *step) {
    double sequences = (double)step->sequences, finished = (double)step->prompts_finished;
    CONTRACT(step->sequences >= 0 && step->prompts_finished >= 0 &&
                 sequences + step->prefill_tokens >= 1.0,
             "an empty iteration");
    if (step->prefill_tokens == 0.0)
        return decode_s(plan, step);
    double attention_s = prefill_attention_s(plan, step);
    if (plan->speculation.tokens > 0 && step->sequences > 0)
        return decode_s(plan, step) + added_prefill_s(plan, step) + attention_s;
    double kv_s = token_s(plan) / (plan->dp * plan->pp), part = window_share(plan->architecture);
    return common_s(plan, sequences + step->prefill_tokens, sequences + finished, true) +
           sequences_host_s(plan, sequences + finished) + attention_s +
           kv_s * ((1.0 - part) * step->context_tokens + part * step->window_tokens);
}

static double time_factor(const struct generation_plan *plan) {
    return plan->time_factor > 0.0 ? plan->time_factor : 1.0;
}

void generation_decode_cost(const struct generation_plan *plan, int64_t sequences,
                            struct generation_decode_cost *cost) {
    double factor = time_factor(plan);
    decode_cost(plan, sequences, cost);
    cost->base_s *= factor;
    cost->kv_token_s *= factor;
    cost->window_token_s *= factor;
}

double generation_iteration_s(const struct generation_plan *plan,
                              const struct generation_step *step) {
    return time_factor(plan) * iteration_s(plan, step);
}

double generation_swap_block_s(const struct generation_plan *plan) {
    return generation_held_block_bytes(plan) /
           hardware_host_link(plan->cluster, plan->cluster->gpus_per_node);
}

/* ---- traffic ------------------------------------------------------------------------------ */

double generation_weight_bytes(const struct generation_plan *plan) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int count = llm_layer_kinds(plan->architecture, kinds);
    double head = (double)llm_head_parameters(plan->architecture, LLM_HEAD_VOCABULARY) *
                  fmax(2.0, generation_format_bytes(plan->format)) / plan->tp;
    for (int i = 0; i < count; i++)
        head += (double)kinds[i].count * generation_shared_matrix_bytes(plan, &kinds[i]);
    return head;
}

double generation_expert_bytes(const struct generation_plan *plan, double tokens) {
    struct llm_layer_kind kinds[LLM_LAYER_KINDS];
    int count = llm_layer_kinds(plan->architecture, kinds);
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        if (kinds[i].moe)
            sum += (double)kinds[i].count *
                   generation_expert_matrix_bytes(plan, &kinds[i], share(tokens, plan->pp));
    return sum;
}
