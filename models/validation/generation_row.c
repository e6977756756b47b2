/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What published tables leave to their reader, as it is read here:
 *
 *   - The number format of keys and values: TensorRT-LLM's published fp8 and fp4 checkpoints have
 *     theirs in fp8; elsewhere they are in 2 bytes. No format printed means bf16.
 *   - "silicon_sample" rows give GPUs as tp x attention_dp and the experts' degrees as moe_tp x ep.
 *     Where moe_tp x ep is more, the groups of attention_dp are not said: there are as many as fill
 *     it. Where both come to more than the 8 GPUs of the node that they were taken on, the degree
 *     was counted twice, once for each; the larger of moe_tp and ep is what ran.
 *   - TensorRT-LLM's offline tables run models with experts under attention data parallelism over
 *     all GPUs of a stage, queue as many requests as their document says for each pair of lengths,
 *     and pad batches to powers of two.
 *   - Tables of offline speed without a number of requests have 1,000; a concurrency is one batch.
 */

#include "models/validation/generation_row.h"

#include "models/base/text.h"
#include "models/validation/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_GPUS 8
#define OFFLINE_REQUESTS 1000
/* litgpt's defaults: "Hello, my name is", and 50 new tokens. */
#define LITGPT_PROMPT 5
#define LITGPT_ANSWER 50

enum rlhfsim_status generation_columns_find(const struct csv_table *table, const char *path,
                                            struct rlhfsim_diagnostics *diagnostics,
                                            struct generation_columns *c) {
    const struct {
        const char *name;
        size_t *column;
        bool required;
    } names[] = {{"source", &c->source, false},
                 {"engine", &c->engine, true},
                 {"model", &c->model, true},
                 {"gpu", &c->gpu, true},
                 {"tp", &c->tp, true},
                 {"ep", &c->ep, false},
                 {"pp", &c->pp, false},
                 {"input_len", &c->input_len, true},
                 {"output_len", &c->output_len, true},
                 {"concurrency", &c->concurrency, true},
                 {"precision", &c->precision, false},
                 {"notes", &c->notes, false},
                 {"tpot_ms", &c->tpot_ms, false},
                 {"ttft_ms", &c->ttft_ms, false},
                 {"output_tokens_per_s", &c->output_tokens_per_s, false}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        *names[i].column = validation_column(table, names[i].name);
        if (names[i].required && *names[i].column == VALIDATION_NO_COLUMN)
            return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, path, 1, 1,
                                           "column '%s' is missing", names[i].name);
    }
    return RLHFSIM_OK;
}

struct reading {
    const struct catalog *catalog;
    const struct generation_columns *columns;
    const struct csv_row *row;
    struct serving_case *serving;
};

static const char *cell(const struct reading *reading, size_t column) {
    return validation_cell(reading->row, column);
}

static int64_t whole(const struct reading *reading, size_t column, int64_t otherwise) {
    int64_t number = 0;
    return base_integer_read(cell(reading, column), &number) == BASE_NUMBER_OK ? number : otherwise;
}

/* The number behind "NAME=" in the notes; 0 where there is none. */
static int note(const struct reading *reading, const char *name) {
    const char *found = strstr(cell(reading, reading->columns->notes), name);
    return found == NULL ? 0 : atoi(found + strlen(name));
}

/* ---- engine, model, GPU ---------------------------------------------------------------------- */

/* "trtllm 1.0.0rc3" is trtllm; a name of several words is looked for whole first. */
static const struct catalog_engine *find_engine(const struct reading *reading) {
    char first[64];
    const char *name = cell(reading, reading->columns->engine);
    const struct catalog_engine *engine = catalog_engine(reading->catalog, name);
    size_t length = strcspn(name, " ");
    if (engine != NULL || length >= sizeof first)
        return engine;
    memcpy(first, name, length);
    first[length] = '\0';
    return catalog_engine(reading->catalog, first);
}

/* The smallest node of no provider that has the GPU and enough of them. */
static const struct hardware_node *find_node(const struct catalog *catalog, const char *gpu,
                                             int gpus) {
    const struct hardware_node *found = NULL;
    const char *name;
    for (size_t i = 0; (name = catalog_name_at(catalog, CATALOG_NODES, i)) != NULL; i++) {
        const struct hardware_node *node = catalog_node(catalog, name);
        bool generic = strcmp(catalog_node_offer(catalog, name)->provider, "generic") == 0;
        if (strcmp(node->gpu, gpu) == 0 && generic && (found == NULL || found->gpus < gpus))
            found = node;
    }
    return found;
}

static const char *find_hardware(struct reading *reading, int gpus) {
    struct hardware_cluster *cluster = &reading->serving->cluster;
    const struct hardware_gpu *gpu =
        catalog_gpu(reading->catalog, cell(reading, reading->columns->gpu));
    if (gpu == NULL)
        return "the catalog has no GPU of that name";
    const struct hardware_node *node = find_node(reading->catalog, gpu->name, gpus);
    if (node == NULL)
        return "the catalog has no node with that GPU";
    *cluster = (struct hardware_cluster){
        .gpu = *gpu, .node = *node, .nodes = 1, .gpus_per_node = node->gpus};
    if (gpus > node->gpus)
        return "more GPUs than a node, and how they are connected is not said";
    return isnan(gpu->memory_bandwidth_bytes_per_s * gpu->matmul_efficiency)
               ? "the catalog's GPU has gaps"
               : NULL;
}

static const char *find_model(struct reading *reading) {
    const struct llm_architecture *model =
        catalog_model(reading->catalog, cell(reading, reading->columns->model));
    if (model == NULL)
        return "the catalog has no model of that name";
    reading->serving->architecture = *model;
    return NULL;
}

/* ---- formats --------------------------------------------------------------------------------- */

static const char *read_format(struct reading *reading) {
    static const struct {
        const char *text;
        enum generation_format format;
    } formats[] = {{"", GENERATION_BF16},   {"bf16", GENERATION_BF16}, {"fp16", GENERATION_FP16},
                   {"FP8", GENERATION_FP8}, {"fp8", GENERATION_FP8},   {"FP4", GENERATION_FP4},
                   {"fp4", GENERATION_FP4}};
    const char *text = cell(reading, reading->columns->precision);
    struct generation_plan *plan = &reading->serving->plan;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(text, formats[i].text) != 0)
            continue;
        plan->format = formats[i].format;
        plan->fp4_flops_per_s = reading->serving->cluster.gpu.fp4_flops_per_s;
        bool small = plan->format == GENERATION_FP8 || plan->format == GENERATION_FP4;
        bool checkpoint = strncmp(plan->software.name, "trtllm", 6) == 0 && small;
        plan->kv_element_bytes = checkpoint ? 1.0 : 2.0;
        enum hardware_precision products = generation_format_products(plan->format);
        return reading->serving->cluster.gpu.peak_flops_per_s[products] > 0.0
                   ? NULL
                   : "the GPU does not compute in that precision";
    }
    return "a precision that is not modelled";
}

/* ---- layout ---------------------------------------------------------------------------------- */

static int larger(int a, int b) {
    return a > b ? a : b;
}

static const char *read_layout(struct reading *reading) {
    const struct generation_columns *columns = reading->columns;
    struct generation_plan *plan = &reading->serving->plan;
    bool experts = reading->serving->architecture.moe_layers > 0;
    int dp = larger(1, note(reading, "attention_dp=")), moe_tp = note(reading, "moe_tp=");
    int ep = larger(1, (int)whole(reading, columns->ep, 1));
    plan->tp = (int)whole(reading, columns->tp, 0);
    plan->pp = larger(1, (int)whole(reading, columns->pp, 1));
    if (plan->tp < 1)
        return "tp is not given";
    if (experts && moe_tp * ep > plan->tp * dp && moe_tp * ep % plan->tp == 0)
        dp = moe_tp * ep / plan->tp;
    if (experts && plan->tp * dp > NODE_GPUS) {
        int gpus = larger(moe_tp, ep);
        plan->tp = dp > 1 ? 1 : gpus;
        dp = dp > 1 ? gpus : 1;
    }
    if (experts && reading->serving->mode == SERVING_QUEUED) {
        dp = plan->tp;
        plan->tp = 1;
    }
    plan->dp = experts ? dp : 1;
    plan->ep = experts && (ep > 1 || dp > 1) ? plan->tp * plan->dp : 1;
    return reading->serving->architecture.heads % plan->tp == 0 ? NULL : "tp does not divide heads";
}

/* ---- lengths and requests -------------------------------------------------------------------- */

/* Requests of TensorRT-LLM's offline tables (docs/source/performance/perf-overview.md @00f37686,
 * "Preparing a Dataset"). */
static int64_t table_requests(int64_t in, int64_t out) {
    static const struct {
        int in, out, requests;
    } rows[] = {{128, 128, 30000}, {128, 2048, 3000},  {128, 4096, 1500}, {1000, 2000, 1500},
                {2048, 128, 3000}, {2048, 2048, 1500}, {5000, 500, 1500}, {1000, 1000, 3000},
                {500, 2000, 3000}, {20000, 2000, 1000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].in == in && rows[i].out == out)
            return rows[i].requests;
    return OFFLINE_REQUESTS;
}

static const char *read_requests(struct reading *reading) {
    const struct generation_columns *columns = reading->columns;
    struct serving_case *serving = reading->serving;
    const char *concurrency = cell(reading, columns->concurrency);
    bool served = *cell(reading, columns->tpot_ms) != '\0';
    serving->input_tokens = whole(reading, columns->input_len, 0);
    serving->output_tokens = whole(reading, columns->output_len, 0);
    serving->requests = whole(reading, columns->concurrency, 0);
    if (strncmp(cell(reading, columns->engine), "litgpt", 6) == 0) {
        serving->input_tokens = LITGPT_PROMPT;
        serving->output_tokens = LITGPT_ANSWER;
    }
    if (serving->input_tokens < 1 || serving->output_tokens < 1)
        return "lengths are not given";
    bool queued = strncmp(concurrency, "max", 3) == 0;
    serving->mode = served                  ? SERVING_CLIENTS
                    : serving->requests > 0 ? SERVING_BATCH
                                            : SERVING_QUEUED;
    if (queued)
        serving->requests = table_requests(serving->input_tokens, serving->output_tokens);
    else if (*concurrency == '\0')
        serving->requests = OFFLINE_REQUESTS;
    return serving->requests > 0 ? NULL : "the number of requests is not given";
}

static void apply_engine(struct serving_case *serving, const struct catalog_engine *engine) {
    struct generation_plan *plan = &serving->plan;
    plan->software = engine->software;
    plan->software.prefix_caching = false;
    plan->max_batched_tokens = engine->max_num_batched_tokens;
    serving->reserved_bytes = engine->reserved_bytes;
    /* TensorRT-LLM shares out what is free, the others the whole GPU. */
    serving->of_free = strncmp(engine->software.name, "trtllm", 6) == 0;
}

const char *generation_row_read(const struct catalog *catalog,
                                const struct generation_columns *columns, const struct csv_row *row,
                                struct serving_case *serving,
                                const struct catalog_engine **engine) {
    struct reading reading = {catalog, columns, row, serving};
    *serving = (struct serving_case){.memory_fraction = 0.92};
    *engine = find_engine(&reading);
    if (*engine == NULL)
        return "the catalog has no engine of that name";
    apply_engine(serving, *engine);
    const char *reason = read_requests(&reading);
    if (reason == NULL)
        reason = find_model(&reading);
    if (reason == NULL)
        reason = read_layout(&reading);
    if (reason == NULL)
        reason = find_hardware(&reading, generation_plan_gpus(&serving->plan));
    if (reason == NULL)
        reason = read_format(&reading);
    if (reason != NULL)
        return reason;
    if (serving->mode == SERVING_QUEUED) {
        serving->plan.software.graph_dense = serving->plan.software.graph_step;
        serving->reserved_bytes += serving->plan.dp > 1 ? (*engine)->reserved_groups_bytes : 0.0;
    }
    return serving_case_size(serving) ? NULL : "the weights leave no room for a request";
}
