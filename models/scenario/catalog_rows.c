/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/catalog_rows.h"

#include "models/scenario/bands.h"

#include "models/base/text.h"
#include "models/llm/traits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GIB 1073741824.0
#define GB 1e9
#define MEGA 1e6
#define TERA 1e12
#define MICRO 1e-6
#define MILLI 1e-3
#define BITS_PER_BYTE 8.0
#define PERCENT 0.01

#define COPY(field, text) base_text_copy((field), sizeof(field), (text))

/* A measured rate is a share of the peak that stands in another column; NAN where one of the two is
 * not known. */
static bool share(const struct column_row *row, size_t measured, size_t peak, const char *what,
                  struct rlhfsim_diagnostics *diagnostics, double *result) {
    double ratio = row->number[measured] / row->number[peak];
    *result = ratio;
    if (!(ratio > 1.0))
        return true;
    (void)tree_error(diagnostics, row->place[measured],
                     "%s is %s, above the peak it is a share of (%s)", what, row->text[measured],
                     row->text[peak]);
    return false;
}

static double known_or_zero(double number) {
    return isnan(number) ? 0.0 : number;
}

static bool fill_gpu(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                     void *item) {
    struct hardware_gpu *gpu = item;
    const double *number = row->number;
    COPY(gpu->name, row->text[GPU_NAME]);
    gpu->peak_flops_per_s[HARDWARE_BF16] = number[GPU_BF16_TFLOPS] * TERA;
    gpu->peak_flops_per_s[HARDWARE_FP16] = number[GPU_FP16_TFLOPS] * TERA;
    gpu->peak_flops_per_s[HARDWARE_FP32] = number[GPU_FP32_TFLOPS] * TERA;
    gpu->peak_flops_per_s[HARDWARE_FP8] = number[GPU_FP8_TFLOPS] * TERA;
    gpu->attention_efficiency = number[GPU_ATTENTION_EFFICIENCY];
    gpu->attention_backward_efficiency = number[GPU_ATTENTION_BACKWARD_EFFICIENCY];
    gpu->memory_bytes = number[GPU_MEMORY_GIB] * GIB;
    gpu->memory_bandwidth_bytes_per_s = number[GPU_MEMORY_BANDWIDTH_GB_PER_S] * GB;
    gpu->scaleup_bandwidth_bytes_per_s = number[GPU_SCALEUP_GB_PER_S] * GB;
    gpu->host_bandwidth_bytes_per_s = number[GPU_HOST_BANDWIDTH_GB_PER_S] * GB;
    gpu->kernel_launch_s = number[GPU_KERNEL_LAUNCH_US] * MICRO;
    gpu->power_w = number[GPU_POWER_W];
    gpu->fp4_flops_per_s = known_or_zero(number[GPU_FP4_TFLOPS]) * TERA;
    gpu->kernels.sustained_share = number[GPU_SUSTAINED_SHARE];
    /* Before bf16 there was fp16 at the same rate. */
    size_t dense = number[GPU_BF16_TFLOPS] == 0.0 ? GPU_FP16_TFLOPS : GPU_BF16_TFLOPS;
    bool compute = share(row, GPU_MATMUL_TFLOPS_MEASURED, dense, "matmul_tflops_measured",
                         diagnostics, &gpu->matmul_efficiency);
    bool memory = share(row, GPU_MEMORY_BANDWIDTH_MEASURED_GB_PER_S, GPU_MEMORY_BANDWIDTH_GB_PER_S,
                        "memory_bandwidth_measured_gb_per_s", diagnostics, &gpu->memory_efficiency);
    return compute && memory;
}

/* ---- fabrics --------------------------------------------------------------------------------- */

static bool fabric_use(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                       enum catalog_fabric_use *use) {
    static const char *const words[] = {"inside", "between", "host"};
    char quoted[BASE_QUOTE_SIZE];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *use = (enum catalog_fabric_use)i;
        if (strcmp(words[i], row->text[FABRIC_USE]) == 0)
            return true;
    }
    (void)tree_error(diagnostics, row->place[FABRIC_USE],
                     "use is %s, expected one of inside, between, host",
                     base_quote(row->text[FABRIC_USE], quoted));
    return false;
}

static bool fill_fabric(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                        void *item) {
    struct catalog_fabric *result = item;
    double known[FABRIC_COLUMNS];
    for (size_t i = 0; i < FABRIC_COLUMNS; i++)
        known[i] = known_or_zero(row->number[i]);
    result->efficiency = row->number[FABRIC_EFFICIENCY];
    result->latency_s = row->number[FABRIC_LATENCY_US] * MICRO;
    result->start_s = row->number[FABRIC_START_US] * MICRO;
    result->fabric = (struct hardware_fabric){
        .ring_of_2 = known[FABRIC_RING_OF_2],
        .ring_of_4 = known[FABRIC_RING_OF_4],
        .own_copy = known[FABRIC_OWN_COPY],
        .chunk_s = known[FABRIC_CHUNK_US] * MICRO,
        .alltoall = known[FABRIC_ALLTOALL],
        .alltoall_of_2 = known[FABRIC_ALLTOALL_OF_2],
        .alltoall_of_4 = known[FABRIC_ALLTOALL_OF_4],
        .alltoall_start_s = known[FABRIC_ALLTOALL_START_US] * MICRO,
        .alltoall_loss = known[FABRIC_ALLTOALL_LOSS],
        .switch_reduce = known[FABRIC_SWITCH_REDUCE],
        .switch_chunk_s = known[FABRIC_SWITCH_CHUNK_US] * MICRO,
        .switch_members = (int)known[FABRIC_SWITCH_MEMBERS],
        .tree = known[FABRIC_TREE],
        .tree_inside = known[FABRIC_TREE_INSIDE],
        .pair_inside = known[FABRIC_PAIR_INSIDE],
        .direct_start_s = known[FABRIC_DIRECT_START_US] * MICRO,
        .direct = known[FABRIC_DIRECT],
        .direct_of_2 = known[FABRIC_DIRECT_OF_2],
        .direct_second_s = known[FABRIC_DIRECT_SECOND_US] * MICRO,
        .uncertainty = known[FABRIC_UNCERTAINTY] * PERCENT,
        .uncertainty_small = known[FABRIC_UNCERTAINTY_SMALL] * PERCENT,
        .uncertainty_alltoall = known[FABRIC_UNCERTAINTY_ALLTOALL] * PERCENT,
        .uncertainty_send = known[FABRIC_UNCERTAINTY_SEND] * PERCENT,
    };
    COPY(result->fabric.name, row->text[FABRIC_NAME]);
    COPY(result->fitted_with, row->text[FABRIC_FITTED_WITH]);
    return fabric_use(row, diagnostics, &result->use);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool fill_node(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                      void *item) {
    struct catalog_node_row *result = item;
    struct hardware_node *node = &result->node;
    const double *number = row->number;
    (void)diagnostics;
    COPY(node->name, row->text[NODE_NAME]);
    COPY(node->gpu, row->text[NODE_GPU]);
    COPY(node->scaleup.name, row->text[NODE_SCALEUP_FABRIC]);
    COPY(node->network.name, row->text[NODE_NETWORK_FABRIC]);
    node->domain_gpus = (int)known_or_zero(number[NODE_DOMAIN_GPUS]);
    node->gpus = (int)number[NODE_GPUS];
    /* A room that is not known has nothing in it: who needs it is refused. */
    node->host_memory_bytes = known_or_zero(number[NODE_HOST_MEMORY_GIB]) * GIB;
    node->nvme_bytes = known_or_zero(number[NODE_NVME_GB]) * GB;
    node->nvme_read_bytes_per_s = number[NODE_NVME_READ_GB_PER_S] * GB;
    node->nvme_write_bytes_per_s = number[NODE_NVME_WRITE_GB_PER_S] * GB;
    node->network_bandwidth_bytes_per_s = number[NODE_NETWORK_GBIT_PER_S] * GB / BITS_PER_BYTE;
    node->scaleup_efficiency = number[NODE_SCALEUP_EFFICIENCY];
    node->network_efficiency = number[NODE_NETWORK_EFFICIENCY];
    node->scaleup_latency_s = number[NODE_SCALEUP_LATENCY_US] * MICRO;
    node->network_latency_s = number[NODE_NETWORK_LATENCY_US] * MICRO;
    node->collective_start_s = number[NODE_COLLECTIVE_START_US] * MICRO;
    node->storage_bandwidth_bytes_per_s = number[NODE_STORAGE_GB_PER_S] * GB;
    node->host_bandwidth_bytes_per_s = known_or_zero(number[NODE_HOST_GB_PER_S]) * GB;
    COPY(result->offer.provider, row->text[NODE_PROVIDER]);
    COPY(result->offer.instance, row->text[NODE_INSTANCE]);
    COPY(result->offer.region, row->text[NODE_REGION]);
    return true;
}

/* The published count is the proof that the shape was copied rightly. */
static bool check_parameters(const struct column_row *row, const struct llm_architecture *model,
                             struct rlhfsim_diagnostics *diagnostics) {
    int64_t counted = llm_parameters(model, LLM_HEAD_VOCABULARY);
    if (isnan(row->number[MODEL_PARAMETERS]) || counted == (int64_t)row->number[MODEL_PARAMETERS])
        return true;
    (void)tree_error(diagnostics, row->place[MODEL_PARAMETERS],
                     "parameters is %s, but the shape of '%s' has %" PRId64,
                     row->text[MODEL_PARAMETERS], model->name, counted);
    return false;
}

/* The place of a byte of a cell: an error in a list stands where it is. */
static struct tree_place place_in(struct tree_place place, size_t byte) {
    place.column += (int)byte;
    return place;
}

static bool read_traits(const struct column_row *row, struct llm_architecture *model,
                        struct rlhfsim_diagnostics *diagnostics) {
    char fault[LLM_TRAIT_FAULT_SIZE];
    size_t position = 0;
    if (llm_traits_read(row->text[MODEL_TRAITS], model, fault, &position))
        return true;
    (void)tree_error(diagnostics, place_in(row->place[MODEL_TRAITS], position), "traits: %s",
                     fault);
    return false;
}

static bool check_shape(const struct column_row *row, const struct llm_architecture *model,
                        struct rlhfsim_diagnostics *diagnostics) {
    char fault[LLM_FAULT_SIZE];
    if (model->heads % model->kv_heads != 0) {
        (void)tree_error(diagnostics, row->place[MODEL_KV_HEADS],
                         "kv_heads is %s, expected a divisor of heads (%s)",
                         row->text[MODEL_KV_HEADS], row->text[MODEL_HEADS]);
        return false;
    }
    if (llm_architecture_check(model, fault))
        return true;
    (void)tree_error(diagnostics, row->place[MODEL_TRAITS], "traits: %s", fault);
    return false;
}

static bool fill_model(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                       void *item) {
    struct llm_architecture *model = item;
    const double *number = row->number;
    COPY(model->name, row->text[MODEL_NAME]);
    COPY(model->family, row->text[MODEL_FAMILY]);
    model->layers = (int64_t)number[MODEL_LAYERS];
    model->hidden = (int64_t)number[MODEL_HIDDEN];
    model->heads = (int64_t)number[MODEL_HEADS];
    model->kv_heads = (int64_t)number[MODEL_KV_HEADS];
    model->head_dim = (int64_t)number[MODEL_HEAD_DIM];
    model->ffn = (int64_t)number[MODEL_FFN];
    model->vocab = (int64_t)number[MODEL_VOCAB];
    model->max_position = (int64_t)number[MODEL_MAX_POSITION];
    model->tied_embeddings = number[MODEL_TIED_EMBEDDINGS] > 0.0;
    model->gated_ffn = number[MODEL_GATED_FFN] > 0.0;
    model->qkv_bias = number[MODEL_QKV_BIAS] > 0.0;
    model->output_bias = number[MODEL_OUTPUT_BIAS] > 0.0;
    model->ffn_bias = number[MODEL_FFN_BIAS] > 0.0;
    model->qk_norm = number[MODEL_QK_NORM] > 0.0;
    return read_traits(row, model, diagnostics) && check_shape(row, model, diagnostics) &&
           check_parameters(row, model, diagnostics);
}

static bool fill_price(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                       void *item) {
    struct catalog_price *price = item;
    (void)diagnostics;
    COPY(price->provider, row->text[PRICE_PROVIDER]);
    COPY(price->region, row->text[PRICE_REGION]);
    COPY(price->item, row->text[PRICE_ITEM]);
    COPY(price->unit, row->text[PRICE_UNIT]);
    COPY(price->date, row->text[PRICE_DATE]);
    price->usd = row->number[PRICE_PRICE_USD];
    return true;
}

/* ---- weight sync ----------------------------------------------------------------------------- */

bool catalog_find_mechanism(const char *name, struct tree_place place, const char *column,
                            struct rlhfsim_diagnostics *diagnostics,
                            const struct network_weight_sync_type **result) {
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    const struct network_weight_sync_type *type;
    *result = network_weight_sync_find(name);
    if (*result != NULL)
        return true;
    base_nearest_start(&nearest, name);
    for (unsigned i = 0; (type = network_weight_sync_at(i)) != NULL; i++)
        base_nearest_offer(&nearest, type->name);
    const char *near = base_nearest_name(&nearest);
    (void)tree_error(diagnostics, place, "%s is %s, which is not known%s%s%s", column,
                     base_quote(name, quoted), near == NULL ? "" : "; did you mean '",
                     near == NULL ? "" : near, near == NULL ? "" : "'?");
    return false;
}

/* Where a mechanism loads, the rate must be there. */
static bool check_load(const struct network_weight_sync_type *type, double load,
                       struct tree_place place, struct rlhfsim_diagnostics *diagnostics) {
    if (!type->loads || load > 0.0)
        return true;
    (void)tree_error(diagnostics, place, "%s needs a load rate above 0", type->name);
    return false;
}

static bool fill_sync(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                      void *item) {
    struct catalog_weight_sync *sync = item;
    double known[SYNC_COLUMNS];
    for (size_t i = 0; i < SYNC_COLUMNS; i++)
        known[i] = known_or_zero(row->number[i]);
    COPY(sync->name, row->text[SYNC_NAME]);
    sync->cost = (struct network_weight_sync_cost){
        .pause_s = known[SYNC_PAUSE_S],
        .tensor_s = known[SYNC_TENSOR_MS] * MILLI,
        .load_bandwidth_bytes_per_s = known[SYNC_LOAD_GB_PER_S] * GB,
        .bucket_bytes = known[SYNC_BUCKET_GB] * GB,
        .bucket_s = known[SYNC_BUCKET_MS] * MILLI,
        .hop_s = known[SYNC_HOP_S],
        .changed_fraction = known[SYNC_CHANGED_FRACTION]};
    sync->points = (int)known[SYNC_POINTS];
    sync->uncertainty = known[SYNC_UNCERTAINTY] * PERCENT;
    return catalog_find_mechanism(row->text[SYNC_MECHANISM], row->place[SYNC_MECHANISM],
                                  "mechanism", diagnostics, &sync->type) &&
           check_load(sync->type, sync->cost.load_bandwidth_bytes_per_s,
                      row->place[SYNC_LOAD_GB_PER_S], diagnostics);
}

/* ---- stores ---------------------------------------------------------------------------------- */

static bool fill_store(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                       void *item) {
    struct store *store = item;
    const double *number = row->number;
    (void)diagnostics;
    *store = (struct store){
        .write_bytes_per_s = known_or_zero(number[STORE_WRITE_GB_PER_S]) * GB,
        .read_bytes_per_s = known_or_zero(number[STORE_READ_GB_PER_S]) * GB,
        .client_write_bytes_per_s = known_or_zero(number[STORE_CLIENT_WRITE_GB_PER_S]) * GB,
        .client_read_bytes_per_s = known_or_zero(number[STORE_CLIENT_READ_GB_PER_S]) * GB,
        .latency_s = known_or_zero(number[STORE_LATENCY_MS]) * MILLI,
        .capacity_bytes = known_or_zero(number[STORE_CAPACITY_GB]) * GB,
        .client_capacity_bytes = known_or_zero(number[STORE_CLIENT_CAPACITY_GB]) * GB,
        .part_bytes = known_or_zero(number[STORE_PART_MB]) * MEGA,
        .gb_month_usd = number[STORE_USD_PER_GB_MONTH],
        .write_usd = number[STORE_USD_PER_1000_WRITES] * MILLI,
        .read_gb_usd = number[STORE_USD_PER_GB_READ]};
    COPY(store->name, row->text[STORE_NAME]);
    return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool blame_word(const struct column_row *row, size_t column, const char *name,
                       const char *expected, struct rlhfsim_diagnostics *diagnostics) {
    char quoted[BASE_QUOTE_SIZE];
    (void)tree_error(diagnostics, row->place[column], "%s is %s, expected %s", name,
                     base_quote(row->text[column], quoted), expected);
    return false;
}

/* ---- frameworks ------------------------------------------------------------------------------ */

static bool fill_framework(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                           void *item) {
    struct catalog_framework *framework = item;
    const double *number = row->number;
    COPY(framework->name, row->text[FRAMEWORK_NAME]);
    framework->training = (struct training_software){
        .matmul_share = number[FRAMEWORK_MATMUL_SHARE],
        .attention_share = number[FRAMEWORK_MATMUL_SHARE],
        .elementwise_factor = 1.0,
        .unpack_share = 1.0,
        .tensor_overlap_chunks = 1,
        .microbatch_host_s = number[FRAMEWORK_MICROBATCH_HOST_MS] * MILLI,
        .optimizer_host_s = number[FRAMEWORK_OPTIMIZER_HOST_MS] * MILLI,
        .layer_host_s = number[FRAMEWORK_LAYER_HOST_MS] * MILLI,
        .expert_layer_s = number[FRAMEWORK_EXPERT_LAYER_MS] * MILLI};
    COPY(framework->family, row->text[FRAMEWORK_FAMILY]);
    framework->step_host_s = number[FRAMEWORK_STEP_HOST_S];
    framework->iteration_host_s = number[FRAMEWORK_ITERATION_HOST_MS] * MILLI;
    framework->sequence_host_s = number[FRAMEWORK_SEQUENCE_HOST_US] * MICRO;
    framework->transition_s_per_sqrt_gb = number[FRAMEWORK_TRANSITION_S_PER_SQRT_GB];
    framework->weight_sync_cost = (struct network_weight_sync_cost){
        .pause_s = known_or_zero(number[FRAMEWORK_SYNC_PAUSE_S]),
        .tensor_s = known_or_zero(number[FRAMEWORK_SYNC_TENSOR_MS]) * MILLI,
        .load_bandwidth_bytes_per_s = known_or_zero(number[FRAMEWORK_SYNC_LOAD_GB_PER_S]) * GB};
    COPY(framework->weight_sync_name, row->text[FRAMEWORK_WEIGHT_SYNC]);
    framework->weight_sync = network_weight_sync_find(framework->weight_sync_name);
    COPY(framework->engine, row->text[FRAMEWORK_ENGINE]);
    COPY(framework->split_weight_sync, row->text[FRAMEWORK_SPLIT_WEIGHT_SYNC]);
    framework->engine_residue_bytes = number[FRAMEWORK_ENGINE_RESIDUE_GIB] * GIB;
    framework->context_bytes = number[FRAMEWORK_CONTEXT_GIB] * GIB;
    framework->fragmentation_fraction = number[FRAMEWORK_FRAGMENTATION_FRACTION];
    framework->drop_last_prompts = number[FRAMEWORK_DROP_LAST_PROMPTS] > 0.0;
    framework->drop_last_pairs = number[FRAMEWORK_DROP_LAST_PAIRS] > 0.0;
    framework->fusion = TRAINING_FUSION_COMPILED;
    if (row->text[FRAMEWORK_FUSION][0] != '\0' &&
        !training_fusion_find(row->text[FRAMEWORK_FUSION], &framework->fusion))
        return blame_word(row, FRAMEWORK_FUSION, "fusion", "compiled or eager", diagnostics);
    return framework->weight_sync == NULL || /* a row of weight_sync.csv; see catalog.c */
           check_load(framework->weight_sync,
                      framework->weight_sync_cost.load_bandwidth_bytes_per_s,
                      row->place[FRAMEWORK_SYNC_LOAD_GB_PER_S], diagnostics);
}

/* The index of a word; -1 after the error. */
static int find_word(const struct column_row *row, size_t column, const char *const *words,
                     struct rlhfsim_diagnostics *diagnostics) {
    char quoted[BASE_QUOTE_SIZE], known[128] = "";
    size_t used = 0;
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], row->text[column]) == 0)
            return i;
        int length =
            snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", words[i]);
        used += length > 0 ? (size_t)length : 0;
    }
    size_t count;
    (void)tree_error(diagnostics, row->place[column], "%s is %s, expected one of %s",
                     catalog_columns(CATALOG_ENGINES, &count)[column].name,
                     base_quote(row->text[column], quoted), known);
    return -1;
}

static const char *const batching_words[] = {"continuous", "padded_to_batch", "padded_to_limit",
                                             NULL};
static const char *const prefill_words[] = {"mixed", "first", NULL};
static const char *const preemption_words[] = {"recompute", "swap", NULL};

static bool fill_engine(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                        void *item) {
    struct catalog_engine *engine = item;
    const double *number = row->number;
    int batching = find_word(row, ENGINE_BATCHING, batching_words, diagnostics);
    int prefill = find_word(row, ENGINE_PREFILL, prefill_words, diagnostics);
    int preemption = find_word(row, ENGINE_PREEMPTION, preemption_words, diagnostics);
    engine->max_num_seqs = (int)number[ENGINE_MAX_NUM_SEQS];
    engine->max_num_batched_tokens = (int64_t)number[ENGINE_MAX_NUM_BATCHED_TOKENS];
    engine->reserved_bytes = number[ENGINE_RESERVED_GB] * GB;
    engine->reserved_groups_bytes = number[ENGINE_RESERVED_GROUPS_GB] * GB;
    engine->software =
        (struct generation_software){.batching = (enum generation_batching)batching,
                                     .prefill = (enum generation_prefill)prefill,
                                     .preemption = (enum generation_preemption)preemption,
                                     .chunked_prefill = number[ENGINE_CHUNKED_PREFILL] > 0.0,
                                     .prefix_caching = number[ENGINE_PREFIX_CACHING] > 0.0,
                                     .block_tokens = (int64_t)number[ENGINE_BLOCK_TOKENS],
                                     .graph_step = (int64_t)number[ENGINE_GRAPH_STEP],
                                     .graph_dense = (int64_t)number[ENGINE_GRAPH_DENSE],
                                     .graph_limit = (int64_t)number[ENGINE_GRAPH_LIMIT],
                                     .iteration_host_s = number[ENGINE_ITERATION_HOST_MS] * MILLI,
                                     .sequence_host_s = number[ENGINE_SEQUENCE_HOST_US] * MICRO,
                                     .launch_factor = number[ENGINE_LAUNCH_FACTOR],
                                     .expert_layer_s = number[ENGINE_EXPERT_LAYER_US] * MICRO,
                                     .eager_layer_s = number[ENGINE_EAGER_LAYER_US] * MICRO,
                                     .product_efficiency = number[ENGINE_PRODUCT_EFFICIENCY],
                                     .kv_efficiency = number[ENGINE_KV_EFFICIENCY],
                                     .compute_efficiency = number[ENGINE_COMPUTE_EFFICIENCY],
                                     .fp4_efficiency = number[ENGINE_FP4_EFFICIENCY],
                                     .expert_efficiency = number[ENGINE_EXPERT_EFFICIENCY],
                                     .activation_share = number[ENGINE_ACTIVATION_SHARE],
                                     .exchange_factor = number[ENGINE_EXCHANGE_FACTOR],
                                     .collective_factor = number[ENGINE_COLLECTIVE_FACTOR]};
    COPY(engine->software.name, row->text[ENGINE_NAME]);
    return batching >= 0 && prefill >= 0 && preemption >= 0;
}

/* An alias is its row: catalog.c looks it up by the row's name. */
static bool fill_alias(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                       void *item) {
    struct catalog_alias *alias = item;
    (void)diagnostics;
    alias->kind = (enum catalog_kind)row->number[ALIAS_KIND];
    COPY(alias->name, row->text[ALIAS_NAME]);
    COPY(alias->alias, row->text[ALIAS_ALIAS]);
    return true;
}

static bool fill_attention(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                           void *item) {
    struct catalog_attention_row *attention = item;
    (void)diagnostics;
    COPY(attention->kernel, row->text[ATTENTION_KERNEL]);
    COPY(attention->gpus, row->text[ATTENTION_GPUS]);
    attention->rates = (struct training_attention_rates){row->number[ATTENTION_FORWARD_SHARE],
                                                         row->number[ATTENTION_BACKWARD_SHARE]};
    return true;
}

static bool find_kernel(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                        enum hardware_kernel *kernel) {
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    const char *name = row->text[LAW_KERNEL];
    base_nearest_start(&nearest, name);
    for (int i = 0; i < HARDWARE_KERNEL_COUNT; i++) {
        *kernel = (enum hardware_kernel)i;
        if (strcmp(hardware_kernel_name(*kernel), name) == 0)
            return true;
        base_nearest_offer(&nearest, hardware_kernel_name(*kernel));
    }
    const char *near = base_nearest_name(&nearest);
    (void)tree_error(diagnostics, row->place[LAW_KERNEL],
                     "kernel is %s, expected gemm_bf16, gemm_fp8, prefill, decode, norm, add, "
                     "activation, rotary or embedding%s%s%s",
                     base_quote(name, quoted), near == NULL ? "" : "; did you mean '",
                     near == NULL ? "" : near, near == NULL ? "" : "'?");
    return false;
}

/* Exactly the coefficients of the law are filled. */
static bool fill_law(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                     void *item) {
    struct catalog_law *law = item;
    bool good = true;
    COPY(law->gpu, row->text[LAW_GPU]);
    if (!find_kernel(row, diagnostics, &law->kernel))
        return false;
    for (int i = 0; i < HARDWARE_COEFFICIENT_COUNT; i++) {
        size_t column = LAW_FIRST_COEFFICIENT + (size_t)i;
        enum hardware_coefficient coefficient = (enum hardware_coefficient)i;
        double *value = hardware_kernel_coefficient(&law->laws, law->kernel, coefficient);
        if (value != NULL)
            *value = row->number[column] * hardware_coefficient_si(coefficient);
        if ((value == NULL) == isnan(row->number[column]))
            continue;
        good = false;
        (void)tree_error(diagnostics, row->place[column], "%s is %s the law of %s",
                         hardware_coefficient_name(coefficient),
                         value == NULL ? "no coefficient of" : "missing in", row->text[LAW_KERNEL]);
    }
    return good;
}

static bool find_coefficient(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                             enum training_coefficient *coefficient) {
    const char *name = row->text[TRAINING_COEFFICIENT];
    char quoted[BASE_QUOTE_SIZE];
    struct base_nearest nearest;
    *coefficient = training_coefficient_find(name);
    if (*coefficient != TRAINING_COEFFICIENTS)
        return true;
    base_nearest_start(&nearest, name);
    for (int i = 0; i < TRAINING_COEFFICIENTS; i++)
        base_nearest_offer(&nearest, training_coefficient_type((enum training_coefficient)i)->name);
    const char *near = base_nearest_name(&nearest);
    (void)tree_error(diagnostics, row->place[TRAINING_COEFFICIENT],
                     "coefficient is %s, which is not known%s%s%s", base_quote(name, quoted),
                     near == NULL ? "" : "; did you mean '", near == NULL ? "" : near,
                     near == NULL ? "" : "'?");
    return false;
}

static bool fill_training(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                          void *item) {
    struct training_coefficient_row *result = item;
    if (!find_coefficient(row, diagnostics, &result->coefficient))
        return false;
    const struct training_coefficient_type *type = training_coefficient_type(result->coefficient);
    COPY(result->scope, row->text[TRAINING_SCOPE]);
    result->value = row->number[TRAINING_VALUE];
    result->start = row->number[TRAINING_START];
    result->fitted = row->number[TRAINING_FITTED] > 0.0;
    if (!training_scope_check(row->text[TRAINING_SCOPE]))
        return blame_word(row, TRAINING_SCOPE, "scope", "words joined by '@'", diagnostics);
    return strcmp(row->text[TRAINING_UNIT], type->unit) == 0 ||
           blame_word(row, TRAINING_UNIT, "unit", type->unit, diagnostics);
}

static bool fill_memory(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                        void *item) {
    struct training_memory_row *result = item;
    result->coefficient = training_memory_find(row->text[TRAINING_COEFFICIENT]);
    if (result->coefficient == TRAINING_MEMORY_COEFFICIENTS)
        return blame_word(row, TRAINING_COEFFICIENT, "coefficient",
                          "one of models/training/memory.h", diagnostics);
    COPY(result->scope, row->text[TRAINING_SCOPE]);
    result->value = row->number[TRAINING_VALUE];
    result->start = row->number[TRAINING_START];
    result->fitted = row->number[TRAINING_FITTED] > 0.0;
    if (!training_scope_check(row->text[TRAINING_SCOPE]))
        return blame_word(row, TRAINING_SCOPE, "scope", "words joined by '@'", diagnostics);
    const char *unit = training_memory_type(result->coefficient)->unit;
    return strcmp(row->text[TRAINING_UNIT], unit) == 0 ||
           blame_word(row, TRAINING_UNIT, "unit", unit, diagnostics);
}

static bool find_precision(const char *name, enum hardware_precision *precision) {
    for (int i = 0; i < HARDWARE_PRECISION_COUNT; i++) {
        *precision = (enum hardware_precision)i;
        if (strcmp(hardware_precision_name(*precision), name) == 0)
            return true;
    }
    return false;
}

static bool fill_trainer(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                         void *item) {
    struct catalog_trainer *trainer = item;
    const double *number = row->number;
    COPY(trainer->name, row->text[TRAINER_NAME]);
    COPY(trainer->gpu, row->text[TRAINER_GPU]);
    COPY(trainer->family, row->text[TRAINER_FAMILY]);
    COPY(trainer->recompute, row->text[TRAINER_RECOMPUTE]);
    COPY(trainer->sharding, row->text[TRAINER_SHARDING]);
    trainer->network_bytes_per_s = number[TRAINER_NETWORK_GBIT_PER_S] * GB / BITS_PER_BYTE;
    trainer->sequence_parallel = number[TRAINER_SEQUENCE_PARALLEL] > 0.0;
    trainer->microbatch = (int64_t)known_or_zero(number[TRAINER_MICROBATCH]);
    trainer->local_batch = number[TRAINER_LOCAL_BATCH] > 0.0;
    trainer->lora_rank = (int64_t)number[TRAINER_LORA_RANK];
    if (!training_attention_find(row->text[TRAINER_ATTENTION], &trainer->attention))
        return blame_word(row, TRAINER_ATTENTION, "attention",
                          "one of measured, unfused, flash_1, flash_2, flash_3, flash_4, cudnn",
                          diagnostics);
    if (!training_counts_find(row->text[TRAINER_COUNTS], &trainer->counts))
        return blame_word(row, TRAINER_COUNTS, "counts", "allocated, reserved or device",
                          diagnostics);
    if (!training_logits_find(row->text[TRAINER_LOGITS], &trainer->logits))
        return blame_word(row, TRAINER_LOGITS, "logits", "whole, chunked or fused", diagnostics);
    if (!training_fusion_find(row->text[TRAINER_FUSION], &trainer->fusion))
        return blame_word(row, TRAINER_FUSION, "fusion", "compiled or eager", diagnostics);
    return find_precision(row->text[TRAINER_PRECISION], &trainer->precision) ||
           blame_word(row, TRAINER_PRECISION, "precision", "one of fp32, bf16, fp16, fp8",
                      diagnostics);
}

static bool fill_length(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                        void *item) {
    struct catalog_length *length = item;
    (void)diagnostics;
    COPY(length->name, row->text[LENGTH_NAME]);
    return true;
}

static const struct {
    const char *name;
    bool counts; /* a whole number from 1 on */
} stated_fields[STATED_FIELDS] = {[STATED_LONGEST_SEQ_LEN] = {"longest_seq_len", true},
                                  [STATED_MICROBATCH] = {"microbatch", true},
                                  [STATED_TP] = {"tp", true},
                                  [STATED_PP] = {"pp", true},
                                  [STATED_SHARDING] = {"sharding", false},
                                  [STATED_PRECISION] = {"precision", false},
                                  [STATED_RECOMPUTATION] = {"activation_checkpointing", false},
                                  [STATED_FUSION] = {"fusion", false},
                                  [STATED_LOGITS] = {"logits", false},
                                  [STATED_OPTIMIZER] = {"optimizer", false},
                                  [STATED_LOADS] = {"loads", false},
                                  [STATED_UNSUPPORTED] = {"unsupported", false}};

#define LARGEST_STATED 1e9

static bool fill_stated(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                        void *item) {
    struct catalog_stated *stated = item;
    int field = 0;
    COPY(stated->table, row->text[STATEMENT_TABLE]);
    COPY(stated->model, row->text[STATEMENT_MODEL]);
    COPY(stated->remark, row->text[STATEMENT_REMARK]);
    COPY(stated->value, row->text[STATEMENT_VALUE]);
    while (field < STATED_FIELDS &&
           strcmp(stated_fields[field].name, row->text[STATEMENT_FIELD]) != 0)
        field++;
    if (field == STATED_FIELDS)
        return blame_word(row, STATEMENT_FIELD, "field",
                          "one of longest_seq_len, microbatch, tp, pp, sharding, precision, "
                          "activation_checkpointing, fusion, logits, optimizer, loads, unsupported",
                          diagnostics);
    stated->field = (enum catalog_stated_field)field;
    if (!stated_fields[field].counts)
        return true;
    if (base_number_read(stated->value, &stated->number) == BASE_NUMBER_OK &&
        stated->number >= 1.0 && stated->number <= LARGEST_STATED &&
        floor(stated->number) == stated->number)
        return true;
    return blame_word(row, STATEMENT_VALUE, "value", "a whole number from 1 to 1e9", diagnostics);
}

/* A band that is none would be shown as one. */
static bool fill_band(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics,
                      void *item) {
    const double *number = row->number;
    struct catalog_band *band = item;
    *band = (struct catalog_band){.figures = (int)number[BAND_FIGURES],
                                  .sources = (int)number[BAND_SOURCES],
                                  .p10 = number[BAND_P10],
                                  .p50 = number[BAND_P50],
                                  .p90 = number[BAND_P90],
                                  .median_error = number[BAND_MEDIAN_ERROR],
                                  .tried = (int)number[BAND_TRIED],
                                  .inside = (int)number[BAND_INSIDE]};
    if (!scenario_is_band_placement(row->text[BAND_PLACEMENT]))
        return blame_word(row, BAND_PLACEMENT, "placement", "colocated, split or async",
                          diagnostics);
    if (scenario_band_find(row->text[BAND_METRIC]) == SCENARIO_BANDS)
        return blame_word(row, BAND_METRIC, "metric", "step, rollout, update or logprob",
                          diagnostics);
    bool none = isnan(band->p10) && isnan(band->p50) && isnan(band->p90);
    if (!none && !(band->p10 <= band->p50 && band->p50 <= band->p90))
        return blame_word(row, BAND_P50, "p50", "p10, p50 and p90 in order, or none of them",
                          diagnostics);
    return band->inside <= band->tried ||
           blame_word(row, BAND_INSIDE, "inside", "at most as many as tried", diagnostics);
}

struct row_type {
    size_t size, provenance;
    bool (*fill)(const struct column_row *row, struct rlhfsim_diagnostics *diagnostics, void *item);
};

static const struct row_type types[CATALOG_KIND_COUNT] = {
    [CATALOG_GPUS] = {sizeof(struct hardware_gpu), GPU_PROVENANCE, fill_gpu},
    [CATALOG_NODES] = {sizeof(struct catalog_node_row), NODE_PROVENANCE, fill_node},
    [CATALOG_MODELS] = {sizeof(struct llm_architecture), MODEL_PROVENANCE, fill_model},
    [CATALOG_PRICES] = {sizeof(struct catalog_price), PRICE_PROVENANCE, fill_price},
    [CATALOG_FRAMEWORKS] = {sizeof(struct catalog_framework), FRAMEWORK_PROVENANCE, fill_framework},
    [CATALOG_FABRICS] = {sizeof(struct catalog_fabric), FABRIC_PROVENANCE, fill_fabric},
    [CATALOG_WEIGHT_SYNCS] = {sizeof(struct catalog_weight_sync), SYNC_PROVENANCE, fill_sync},
    [CATALOG_ENGINES] = {sizeof(struct catalog_engine), ENGINE_PROVENANCE, fill_engine},
    [CATALOG_STORES] = {sizeof(struct store), STORE_PROVENANCE, fill_store},
    [CATALOG_ALIASES] = {sizeof(struct catalog_alias), ALIAS_COLUMNS, fill_alias},
    [CATALOG_ATTENTION] = {sizeof(struct catalog_attention_row), ATTENTION_PROVENANCE,
                           fill_attention},
    [CATALOG_KERNELS] = {sizeof(struct catalog_law), LAW_PROVENANCE, fill_law},
    [CATALOG_TRAINING] = {sizeof(struct training_coefficient_row), TRAINING_PROVENANCE,
                          fill_training},
    [CATALOG_TRAINERS] = {sizeof(struct catalog_trainer), TRAINER_PROVENANCE, fill_trainer},
    [CATALOG_LENGTHS] = {sizeof(struct catalog_length), LENGTH_PROVENANCE, fill_length},
    [CATALOG_MEMORY] = {sizeof(struct training_memory_row), TRAINING_PROVENANCE, fill_memory},
    [CATALOG_STATED] = {sizeof(struct catalog_stated), STATEMENT_PROVENANCE, fill_stated},
    [CATALOG_BANDS] = {sizeof(struct catalog_band), BAND_PROVENANCE, fill_band},
};

size_t catalog_row_size(enum catalog_kind kind) {
    return types[kind].size;
}

bool catalog_row_fill(enum catalog_kind kind, const struct column_row *row,
                      struct rlhfsim_diagnostics *diagnostics, void *item) {
    return types[kind].fill(row, diagnostics, item);
}

size_t catalog_provenance_column(enum catalog_kind kind) {
    return types[kind].provenance;
}

void catalog_row_name(enum catalog_kind kind, const struct column_row *row, char *buffer,
                      size_t size) {
    if (kind == CATALOG_PRICES)
        (void)snprintf(buffer, size, "%s/%s/%s", row->text[PRICE_PROVIDER], row->text[PRICE_REGION],
                       row->text[PRICE_ITEM]);
    else if (kind == CATALOG_ATTENTION)
        (void)snprintf(buffer, size, "%s/%.120s", row->text[ATTENTION_KERNEL],
                       row->text[ATTENTION_GPUS]);
    else if (kind == CATALOG_KERNELS)
        (void)snprintf(buffer, size, "%s/%s", row->text[LAW_GPU], row->text[LAW_KERNEL]);
    else if (kind == CATALOG_TRAINING || kind == CATALOG_TRAINERS || kind == CATALOG_MEMORY)
        (void)snprintf(buffer, size, "%s/%s", row->text[0], row->text[1]);
    else if (kind == CATALOG_BANDS)
        (void)snprintf(buffer, size, "%s/%s/%.80s", row->text[BAND_PLACEMENT],
                       row->text[BAND_METRIC], row->text[BAND_LEFT_OUT]);
    else if (kind == CATALOG_ALIASES)
        catalog_alias_name((enum catalog_kind)row->number[ALIAS_KIND], row->text[ALIAS_ALIAS],
                           buffer, size);
    else
        base_text_copy(buffer, size, row->text[0]);
}

/* ---- loose names ----------------------------------------------------------------------------- */

/* Behind the owner in OWNER/NAME; a path is no such name, nor is a remark with a slash in it. */
static const char *without_owner(const char *name) {
    size_t owner = strcspn(name, "/ "), length = strlen(name);
    const char *rest = name + owner + 1;
    bool json = length > 5 && strcmp(name + length - 5, ".json") == 0;
    if (owner == 0 || name[owner] != '/' || *name == '.' || json)
        return name;
    return *rest != '\0' && strchr(rest, '/') == NULL ? rest : name;
}

void catalog_loose_name(const char *name, char *buffer, size_t size) {
    size_t used = 0;
    for (const char *c = without_owner(name); *c != '\0' && used + 1 < size; c++) {
        bool dropped = *c == ' ' || *c == '-' || *c == '_';
        bool capital = *c >= 'A' && *c <= 'Z';
        if (!dropped)
            buffer[used++] = capital ? (char)(*c - 'A' + 'a') : *c;
    }
    buffer[used] = '\0';
}

void catalog_alias_name(enum catalog_kind kind, const char *alias, char *buffer, size_t size) {
    char loose[CATALOG_NAME_BYTES];
    catalog_loose_name(alias, loose, sizeof loose);
    (void)snprintf(buffer, size, "%s/%s", catalog_kind_name(kind), loose);
}
