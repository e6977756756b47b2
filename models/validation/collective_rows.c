/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/collective_rows.h"

#include "models/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GB 1e9
#define MICRO 1e-6

enum field {
    SOURCE,
    COLLECTIVE,
    SYSTEM,
    GPUS,
    NODES,
    INTERCONNECT,
    BYTES,
    TIME_US,
    ALGBW,
    BUSBW,
    DTYPE,
    NOTES,
    FIELDS
};

static const char *const names[FIELDS][2] = {
    [SOURCE] = {"source", NULL},
    [COLLECTIVE] = {"collective", NULL},
    [SYSTEM] = {"gpu_system", "platform"},
    [GPUS] = {"num_gpus", "ranks"},
    [NODES] = {"nodes", NULL},
    [INTERCONNECT] = {"interconnect", NULL},
    [BYTES] = {"bytes", NULL},
    [TIME_US] = {"time_us", NULL},
    [ALGBW] = {"algbw_GBps", "algbw_gbps"},
    [BUSBW] = {"busbw_GBps", "busbw_gbps"},
    [DTYPE] = {"dtype", NULL},
    [NOTES] = {"notes", NULL},
};

struct reading {
    struct validation_run *run;
    const char *path;
    size_t column[FIELDS];
};

/* A row while it is read. */
struct draft {
    struct reading *reading;
    const char *text[FIELDS];
    double number[FIELDS]; /* NAN: not given */
    struct collective_row row;
};

/* ---- the table ------------------------------------------------------------------------------- */

static enum rlhfsim_status find_columns(struct reading *reading, const struct csv_table *table) {
    for (int field = 0; field < FIELDS; field++) {
        reading->column[field] = validation_column(table, names[field][0]);
        if (reading->column[field] == VALIDATION_NO_COLUMN && names[field][1] != NULL)
            reading->column[field] = validation_column(table, names[field][1]);
    }
    static const enum field needed[] = {COLLECTIVE, SYSTEM, GPUS, NODES, BYTES};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (reading->column[needed[i]] == VALIDATION_NO_COLUMN)
            return rlhfsim_diagnostics_add(reading->run->diagnostics, RLHFSIM_INVALID,
                                           reading->path, 1, 1, "column '%s' is missing",
                                           names[needed[i]][0]);
    return RLHFSIM_OK;
}

static enum rlhfsim_status read_number(struct draft *draft, const struct csv_row *row,
                                       enum field field) {
    struct reading *reading = draft->reading;
    char quoted[BASE_QUOTE_SIZE];
    draft->number[field] = (double)NAN;
    if (*draft->text[field] == '\0')
        return RLHFSIM_OK;
    if (base_number_read(draft->text[field], &draft->number[field]) == BASE_NUMBER_OK &&
        draft->number[field] >= 0.0)
        return RLHFSIM_OK;
    return tree_error(reading->run->diagnostics, row->cells[reading->column[field]].place,
                      "%s is %s, expected a number of at least 0", names[field][0],
                      base_quote(draft->text[field], quoted));
}

static enum rlhfsim_status read_cells(struct draft *draft, const struct csv_row *row) {
    static const enum field numbers[] = {GPUS, NODES, BYTES, TIME_US, ALGBW, BUSBW};
    enum rlhfsim_status worst = RLHFSIM_OK;
    for (int field = 0; field < FIELDS; field++)
        draft->text[field] = validation_cell(row, draft->reading->column[field]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        enum rlhfsim_status status = read_number(draft, row, numbers[i]);
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Whether any cell that people write in has the word. */
static bool says(const struct draft *draft, const char *word) {
    return strstr(draft->text[SOURCE], word) != NULL ||
           strstr(draft->text[INTERCONNECT], word) != NULL ||
           strstr(draft->text[NOTES], word) != NULL;
}

struct collective_name {
    const char *name;
    enum network_collective kind;
};

static bool find_kind(struct draft *draft) {
    static const struct collective_name known[] = {{"all_reduce", NETWORK_ALL_REDUCE},
                                                   {"all_gather", NETWORK_ALL_GATHER},
                                                   {"reduce_scatter", NETWORK_REDUCE_SCATTER},
                                                   {"alltoall", NETWORK_ALL_TO_ALL},
                                                   {"all_to_all", NETWORK_ALL_TO_ALL},
                                                   {"broadcast", NETWORK_BROADCAST},
                                                   {"gather", NETWORK_GATHER},
                                                   {"send_recv", NETWORK_SEND_RECV},
                                                   {"sendrecv", NETWORK_SEND_RECV}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, draft->text[COLLECTIVE]) == 0) {
            draft->row.kind = known[i].kind;
            return true;
        }
    return false;
}

struct word {
    const char *word, *also; /* `also` may be NULL */
    const char *fabric;
};

/* The first that is found counts. "" is the node's own network. */
static const struct word network_words[] = {
    {"SHARP", NULL, "infiniband-sharp"},
    {"RoCE", NULL, "roce"},
    {"TCPXO", NULL, "tcpxo"},
    {"TCPX", NULL, "tcpx"},
    {"TCP ", NULL, "tcp"},
};

static const struct word host_words[] = {
    {"vllm_eager", "vllm/0.14", "host-engine-eager-0.14"},
    {"vllm_eager", "gb200", "host-engine-eager-grace"},
    {"vllm_eager", NULL, "host-engine-eager"},
    {"vllm_graph", NULL, "host-graph"},
    {"all_reduce_bench", NULL, "host-torch"},
    {"AI-benchmarking-guide", "_GB", "host-nccl-tests"},
    {"AI-benchmarking-guide", NULL, "host-virtual"},
    {"aiconfigurator", NULL, "host-graph"},
};

static const char *find_word(const struct draft *draft, const struct word *words, size_t count,
                             const char *otherwise) {
    for (size_t i = 0; i < count; i++)
        if (says(draft, words[i].word) && (words[i].also == NULL || says(draft, words[i].also)))
            return words[i].fabric;
    return otherwise;
}

/* 0: whatever the library takes. */
static unsigned forced_algorithms(const struct draft *draft) {
    bool integers = strstr(draft->text[DTYPE], "int") != NULL;
    if (says(draft, "custom_allreduce"))
        return 1U << NETWORK_ALGORITHM_COUNT; /* all; see read_call */
    if (says(draft, "default = "))
        return 0;
    if (says(draft, "nvlstree"))
        return 1U << NETWORK_TREE;
    if (says(draft, "algo NVLS"))
        return 1U << NETWORK_SWITCH;
    return integers || says(draft, "algo Ring") || says(draft, "NVLS off") ? 1U << NETWORK_RING : 0;
}

/* ---- how it was called ----------------------------------------------------------------------- */

static void read_call(struct draft *draft) {
    struct collective_row *row = &draft->row;
    const struct catalog *catalog = draft->reading->run->catalog;
    const char *host =
        find_word(draft, host_words, sizeof host_words / sizeof *host_words, "host-nccl-tests");
    unsigned all = (1U << NETWORK_ALGORITHM_COUNT) - 1U;
    unsigned forced = forced_algorithms(draft);
    bool others = row->kind != NETWORK_ALL_REDUCE;
    row->host = catalog_fabric(catalog, host);
    row->call.algorithms = others ? 0 : forced > all ? all : forced;
    bool eager = strncmp(host, "host-engine-eager", strlen("host-engine-eager")) == 0;
    row->call.copied = eager;
    if (row->host != NULL)
        *(eager ? &row->call.floor_s : &row->call.host_s) = row->host->start_s;
}

/* ---- who took part --------------------------------------------------------------------------- */

/* The number of GPUs that the two bandwidths of an all-reduce belong to, where their digits are
 * enough to tell it from the printed one. */
static int true_ranks(const struct draft *draft, int printed) {
    double algbw = draft->number[ALGBW], busbw = draft->number[BUSBW];
    double ratio = busbw / algbw, digit = 0.006;
    if (draft->row.kind != NETWORK_ALL_REDUCE || !(algbw > 50.0) || !(ratio < 2.0))
        return printed;
    double margin = ratio * (digit / algbw + digit / busbw);
    int counted = (int)lround(2.0 / (2.0 - ratio));
    if (printed > 0 && fabs(ratio - network_bus_factor(NETWORK_ALL_REDUCE, printed)) <= margin)
        return printed;
    double other = network_bus_factor(NETWORK_ALL_REDUCE, counted);
    return counted >= 2 && fabs(ratio - other) <= margin ? counted : printed;
}

/* "2 domains x 8 nodes": 2; 0 where it is not said. */
static int printed_domains(const struct draft *draft) {
    const char *found = strstr(draft->text[INTERCONNECT], " domains x");
    int domains = 0;
    if (found == NULL || found == draft->text[INTERCONNECT])
        return 0;
    domains = found[-1] - '0';
    return domains >= 1 && domains <= 9 ? domains : 0;
}

static bool is_cut_off(const struct draft *draft) {
    return says(draft, "RDMA only") || says(draft, "cross-domain") ||
           says(draft, "cross-NVLink-domain");
}

/* GPUs of one domain that take part. */
static int members_of(struct draft *draft, int ranks) {
    int domains = printed_domains(draft);
    int nodes = isnan(draft->number[NODES]) ? 0 : (int)draft->number[NODES];
    if (is_cut_off(draft))
        draft->row.cluster.node.domain_gpus = 0;
    int domain = hardware_domain_gpus(&draft->row.cluster);
    if (domains == 0 && domain > draft->row.cluster.node.gpus)
        domains = (ranks + domain - 1) / domain;
    if (domains == 0)
        domains = nodes > 0 ? nodes : (ranks + domain - 1) / domain;
    if (draft->row.cluster.node.gpus > 8 && printed_domains(draft) == 0)
        domains = (ranks + domain - 1) / domain; /* a rack that counts as one node */
    return ranks / domains > 0 ? ranks / domains : 1;
}

static const char *read_group(struct draft *draft) {
    struct collective_row *row = &draft->row;
    int printed = isnan(draft->number[GPUS]) ? 0 : (int)draft->number[GPUS];
    int ranks = true_ranks(draft, printed);
    if (ranks < 2)
        return "the number of GPUs is not stated";
    int members = members_of(draft, ranks);
    if (members > hardware_domain_gpus(&row->cluster))
        return "more GPUs than the nodes have";
    row->group = (struct network_group){.ranks = ranks, .ranks_per_node = members};
    return NULL;
}

/* ---- where ----------------------------------------------------------------------------------- */

/* A network that the row names replaces the node's. */
static void read_network(struct draft *draft) {
    struct collective_row *row = &draft->row;
    const char *name = find_word(draft, network_words, sizeof network_words / sizeof *network_words,
                                 row->cluster.node.network.name);
    row->scaleup = catalog_fabric(draft->reading->run->catalog, row->cluster.node.scaleup.name);
    row->network = catalog_fabric(draft->reading->run->catalog, name);
    if (row->network == NULL || strcmp(name, row->cluster.node.network.name) == 0)
        return;
    row->cluster.node.network = row->network->fabric;
    row->cluster.node.network_efficiency = row->network->efficiency;
    row->cluster.node.network_latency_s = row->network->latency_s;
}

static const char *read_cluster(struct draft *draft) {
    const struct catalog *catalog = draft->reading->run->catalog;
    struct collective_row *row = &draft->row;
    const struct hardware_node *node = catalog_node(catalog, draft->text[SYSTEM]);
    if (node == NULL)
        return "the catalog has no node of that name";
    const struct hardware_gpu *gpu = catalog_gpu(catalog, node->gpu);
    if (gpu == NULL)
        return "the catalog has no GPU of that name";
    row->cluster = (struct hardware_cluster){
        .gpu = *gpu, .node = *node, .nodes = 1, .gpus_per_node = node->gpus};
    row->provenance = catalog_provenance(catalog, CATALOG_NODES, draft->text[SYSTEM]);
    read_network(draft);
    return NULL;
}

/* What has to be known for a group over several nodes. */
static const char *check_network(const struct draft *draft) {
    const struct collective_row *row = &draft->row;
    bool nodes = draft->number[NODES] > 1.0;
    if (nodes && says(draft, "not stated"))
        return "where the nodes are, or what joins them, is not stated";
    if (row->group.ranks <= row->group.ranks_per_node)
        return NULL;
    if (draft->reading->column[INTERCONNECT] != VALIDATION_NO_COLUMN &&
        strstr(draft->text[SOURCE], "Vidur") != NULL)
        return "where the nodes are, or what joins them, is not stated";
    return isnan(row->cluster.node.network_bandwidth_bytes_per_s)
               ? "the catalog does not know the node's network"
               : NULL;
}

/* ---- the row --------------------------------------------------------------------------------- */

static void read_measured(struct draft *draft) {
    struct collective_row *row = &draft->row;
    double bytes = draft->number[BYTES];
    double factor = row->group.ranks > 0 ? network_bus_factor(row->kind, row->group.ranks) : 0.0;
    if (draft->number[TIME_US] > 0.0)
        row->measured_s = draft->number[TIME_US] * MICRO;
    else if (draft->number[ALGBW] > 0.0)
        row->measured_s = bytes / (draft->number[ALGBW] * GB);
    else if (draft->number[BUSBW] > 0.0)
        row->measured_s = factor * bytes / (draft->number[BUSBW] * GB);
}

static const char *read_known(struct draft *draft) {
    struct collective_row *row = &draft->row;
    const char *reason;
    if (!find_kind(draft))
        return "no such collective is modelled";
    if (!(draft->number[BYTES] > 0.0))
        return "the number of bytes is not stated";
    row->bytes = draft->number[BYTES];
    reason = read_cluster(draft);
    if (reason == NULL)
        reason = read_group(draft);
    if (reason == NULL)
        reason = check_network(draft);
    if (reason == NULL)
        read_call(draft);
    read_measured(draft);
    return reason;
}

static const char *name_row(const struct draft *draft) {
    char text[256];
    (void)snprintf(text, sizeof text, "%.20s %.60s %.10s %.20s", draft->text[COLLECTIVE],
                   draft->text[SYSTEM], draft->text[GPUS], draft->text[BYTES]);
    return base_arena_text(&draft->reading->run->validation->arena, text, strlen(text));
}

static enum rlhfsim_status read_row(struct reading *reading, const struct csv_row *cells,
                                    collective_row_func *func, void *subject) {
    struct draft draft = {.reading = reading};
    enum rlhfsim_status status = read_cells(&draft, cells);
    if (status != RLHFSIM_OK)
        return status;
    draft.row.source = validation_source_name(reading->run->validation, draft.text[SOURCE]);
    draft.row.name = name_row(&draft);
    if (draft.row.source == NULL || draft.row.name == NULL)
        return RLHFSIM_NO_MEMORY;
    draft.row.skipped = read_known(&draft);
    return func(subject, &draft.row) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

enum rlhfsim_status collective_rows_read(struct validation_run *run, const char *path,
                                         collective_row_func *func, void *subject) {
    struct reading reading = {.run = run, .path = path};
    struct csv_table table;
    enum rlhfsim_status worst = validation_read_table(run, path, &table);
    if (worst == RLHFSIM_OK)
        worst = find_columns(&reading, &table);
    if (worst != RLHFSIM_OK)
        return worst;
    for (const struct csv_row *row = table.rows; row != NULL; row = row->next) {
        enum rlhfsim_status status = read_row(&reading, row, func, subject);
        if (status == RLHFSIM_NO_MEMORY)
            return status;
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}
