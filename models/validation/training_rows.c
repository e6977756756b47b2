/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/training_rows.h"

#include "models/base/text.h"
#include "models/validation/training_forecast.h"
#include "models/validation/training_words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Notes the first reason; false, for the caller to return. */
static bool skip(struct training_row *row, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool skip(struct training_row *row, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (row->reason[0] == '\0')
        (void)vsnprintf(row->reason, sizeof row->reason, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* The first node of the catalog with that GPU that is nobody's product, else the first one. */
const struct hardware_node *training_row_node(const struct catalog *catalog, const char *gpu) {
    const struct hardware_node *first = NULL;
    const char *name;
    for (size_t i = 0; (name = catalog_name_at(catalog, CATALOG_NODES, i)) != NULL; i++) {
        const struct hardware_node *node = catalog_node(catalog, name);
        if (strcmp(node->gpu, gpu) != 0)
            continue;
        if (strcmp(catalog_node_offer(catalog, name)->provider, "generic") == 0)
            return node;
        first = first == NULL ? node : first;
    }
    return first;
}

/* GPUs of each node when the nodes are used evenly: the most that divides them all. */
static int used_per_node(int gpus, int node_gpus) {
    int used = gpus < node_gpus ? gpus : node_gpus;
    while (gpus % used != 0)
        used--;
    return used;
}

static bool read_cluster(const struct catalog *catalog, const struct training_cells *cells,
                         const struct catalog_trainer *trainer, struct training_row *row) {
    const char *spelling = cells->text[TRAINING_GPU];
    const char *name = catalog_name(catalog, CATALOG_GPUS, spelling);
    const struct hardware_gpu *gpu = name == NULL ? NULL : catalog_gpu(catalog, name);
    const struct hardware_node *node = name == NULL ? NULL : training_row_node(catalog, name);
    double gpus = cells->number[TRAINING_NUM_GPUS];
    if (*spelling == '\0')
        return skip(row, "not stated: gpu");
    if (gpu == NULL)
        return skip(row, "the catalog has no GPU '%.80s'", spelling);
    if (node == NULL)
        return skip(row, "the catalog has no node with '%s'", name);
    if (!row->only_memory && (isnan(gpu->matmul_efficiency) || isnan(gpu->attention_efficiency)))
        return skip(row, "the catalog does not know how fast '%s' is", name);
    if (gpus > 1e6)
        return skip(row, "num_gpus is above 1000000");
    row->cluster = (struct hardware_cluster){.gpu = *gpu, .node = *node};
    row->cluster.gpus_per_node = used_per_node((int)gpus, node->gpus);
    row->cluster.nodes = (int)gpus / row->cluster.gpus_per_node;
    if (trainer != NULL && !isnan(trainer->network_bytes_per_s))
        row->cluster.node.network_bandwidth_bytes_per_s = trainer->network_bytes_per_s;
    if (!row->only_memory && row->cluster.nodes > 1 &&
        isnan(row->cluster.node.network_bandwidth_bytes_per_s))
        return skip(row, "the catalog does not know the network between nodes with '%s'", name);
    return true;
}

/* ---- the layout ------------------------------------------------------------------------------ */

/* A count that may be left out: 1 then. */
static int count_or_one(const struct training_cells *cells, enum training_number number) {
    double value = cells->number[number];
    return isnan(value) ? 1 : (int)fmin(value, 1e6);
}

static bool read_layout(const struct training_cells *cells, struct training_row *row) {
    struct training_plan *plan = &row->plan;
    int gpus = hardware_cluster_gpus(&row->cluster);
    plan->tp = count_or_one(cells, TRAINING_TP);
    plan->pp = count_or_one(cells, TRAINING_PP);
    plan->cp = count_or_one(cells, TRAINING_CP);
    plan->ep = count_or_one(cells, TRAINING_EP);
    plan->vpp = count_or_one(cells, TRAINING_VPP);
    int64_t ranks = (int64_t)plan->tp * plan->pp * plan->cp;
    if (ranks > gpus || gpus % ranks != 0)
        return skip(row, "num_gpus is not a multiple of tp x pp x cp");
    double dp = cells->number[TRAINING_DP];
    int replicas = (int)(gpus / ranks);
    if (isnan(cells->number[TRAINING_CP]) && !isnan(dp) && dp < replicas &&
        replicas % (int)dp == 0 && plan->ep == 1) {
        plan->cp = replicas / (int)dp;
        replicas = (int)dp;
    }
    plan->dp = replicas;
    return true;
}

static bool check_shape(struct training_row *row) {
    const struct llm_architecture *a = &row->architecture;
    struct training_plan *plan = &row->plan;
    if (a->heads % plan->tp != 0 || a->heads < plan->tp)
        return skip(row, "tp does not divide the model's heads");
    if ((int64_t)plan->pp * plan->vpp > a->layers + 2)
        return skip(row, "pp x vpp is above the model's layers");
    if (plan->ep > 1 && (a->experts == 0 || a->experts % plan->ep != 0))
        return skip(row, "ep does not divide the model's experts");
    /* Experts are whole where their ranks do not fit beside tensor parallelism. */
    plan->expert_tp = plan->tp;
    if (a->experts > 0 && plan->ep > 1)
        plan->expert_tp = (plan->dp * plan->cp) % plan->ep == 0 ? plan->tp : 1;
    if (a->experts > 0 && (plan->tp * plan->cp * plan->dp) % (plan->ep * plan->expert_tp) != 0)
        return skip(row, "ep does not divide the ranks of a stage");
    return true;
}

/* ---- the batch ------------------------------------------------------------------------------- */

static bool read_batch(const struct training_cells *cells, const struct catalog_trainer *trainer,
                       struct training_row *row) {
    struct training_plan *plan = &row->plan;
    double microbatch = cells->number[TRAINING_MICROBATCH];
    if (isnan(microbatch))
        microbatch =
            trainer == NULL || trainer->microbatch == 0 ? (double)NAN : (double)trainer->microbatch;
    bool local = trainer != NULL && trainer->local_batch;
    double batch = cells->number[TRAINING_GLOBAL_BATCH_TOKENS] / cells->number[TRAINING_SEQ_LEN];
    if (isnan(batch) && local)
        batch = microbatch * plan->dp;
    if (local && plan->pp > 1)
        microbatch /= plan->pp;
    double microbatches = batch / (microbatch * plan->dp);
    row->sequence_tokens = cells->number[TRAINING_SEQ_LEN];
    row->microbatch_sequences = microbatch;
    row->microbatches = (int64_t)(microbatches + 0.5);
    if (row->only_memory && isnan(batch)) { /* enough to fill a pipeline */
        row->microbatches = 4 * (int64_t)plan->pp;
        return true;
    }
    if (!(microbatches >= 0.99) || fabs(microbatches - (double)row->microbatches) > 0.01)
        return skip(row,
                    "global_batch_tokens is not a whole number of micro-batches on every rank");
    return true;
}

/* The step's seconds where the row has a rate and no batch. */
static void measure_by_batch(const struct training_cells *cells, struct training_row *row) {
    double tokens = row->sequence_tokens * row->microbatch_sequences * (double)row->microbatches *
                    (double)row->plan.dp;
    if (!isnan(row->measured_s))
        return;
    row->measured_s =
        tokens / (cells->number[TRAINING_TOKENS_PER_S] * cells->number[TRAINING_NUM_GPUS]);
    row->derived = true;
}

/* A pipeline is played in nanoseconds of 63 bits, and software makes nothing a thousand times
 * longer. */
#define LONGEST_S 1e6

/* ---- the row --------------------------------------------------------------------------------- */

static bool check_stated(const struct training_cells *cells, const struct catalog_trainer *trainer,
                         struct training_row *row) {
    static const enum training_number needed[] = {TRAINING_NUM_GPUS,
                                                  TRAINING_SEQ_LEN,
                                                  TRAINING_TP,
                                                  TRAINING_PP,
                                                  TRAINING_GLOBAL_BATCH_TOKENS,
                                                  TRAINING_MICROBATCH};
    struct training_cells stated = *cells;
    char lacking[TRAINING_REASON_SIZE - 16];
    if (cells->broken != NULL) {
        char quoted[BASE_QUOTE_SIZE];
        return skip(row, "%s is %s", cells->broken, base_quote(cells->broken_text, quoted));
    }
    if (trainer != NULL && trainer->microbatch > 0)
        stated.number[TRAINING_MICROBATCH] = 1.0;
    if (row->only_memory)
        stated.number[TRAINING_GLOBAL_BATCH_TOKENS] = 1.0;
    if (trainer != NULL && trainer->local_batch)
        stated.number[TRAINING_GLOBAL_BATCH_TOKENS] = 1.0;
    if (training_cells_lack(&stated, needed, sizeof needed / sizeof *needed, lacking,
                            sizeof lacking))
        return skip(row, "not stated: %s", lacking);
    return true;
}

void training_row_read(const struct catalog *catalog, const struct training_cells *cells,
                       struct training_row *row) {
    const char *gpu = catalog_name(catalog, CATALOG_GPUS, cells->text[TRAINING_GPU]);
    const struct catalog_trainer *trainer =
        catalog_trainer(catalog, cells->text[TRAINING_SOURCE_TEXT], gpu == NULL ? "" : gpu);
    row->reason[0] = '\0';
    row->measured_s = training_cells_measured(cells, &row->derived);
    training_plan_default(&row->plan);
    row->plan.cluster = &row->cluster;
    row->plan.architecture = &row->architecture;
    row->plan.trained = true;
    if (!check_stated(cells, trainer, row) || !read_cluster(catalog, cells, trainer, row) ||
        !training_shape(catalog, cells, &row->architecture, row->reason) ||
        !read_layout(cells, row) || !training_words_read(cells, trainer, row) ||
        !check_shape(row) || !read_batch(cells, trainer, row))
        return;
    row->counts = trainer == NULL ? TRAINING_RESERVED : trainer->counts;
    if (row->only_memory)
        return;
    row->plan.attention_rates = catalog_attention(catalog, row->cluster.gpu.name,
                                                  training_attention_name(row->plan.attention));
    measure_by_batch(cells, row);
    if (isnan(row->measured_s))
        (void)skip(row, "no measured value");
    else if (!(training_forecast_quick_s(row) < LONGEST_S))
        (void)skip(row, "the step would take longer than %.0f s", LONGEST_S);
}

void training_row_name(const struct training_cells *cells, char *buffer, size_t size) {
    static const struct {
        enum training_number number;
        const char *label;
    } parts[] = {{TRAINING_SEQ_LEN, "seq"},   {TRAINING_GLOBAL_BATCH_TOKENS, "batch tokens"},
                 {TRAINING_MICROBATCH, "mb"}, {TRAINING_TP, "tp"},
                 {TRAINING_PP, "pp"},         {TRAINING_CP, "cp"},
                 {TRAINING_EP, "ep"},         {TRAINING_VPP, "vpp"}};
    int used =
        snprintf(buffer, size, "%.60s, %.0f x %.40s %.20s", cells->text[TRAINING_MODEL],
                 isnan(cells->number[TRAINING_NUM_GPUS]) ? 0.0 : cells->number[TRAINING_NUM_GPUS],
                 cells->text[TRAINING_GPU], cells->text[TRAINING_PRECISION]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!isnan(cells->number[parts[i].number]) && used >= 0 && (size_t)used < size)
            used += snprintf(buffer + used, size - (size_t)used, ", %s %.0f", parts[i].label,
                             cells->number[parts[i].number]);
}
