/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_DRAFT_H
#define MODELS_SCENARIO_DRAFT_H

/*
 * A scenario on its way from the values of the file to something complete and legal. Each stage
 * fills what it can and reports what is wrong; a later stage looks only at what is known by then,
 * so that one mistake is not reported again in other words. load.c has the order of the stages.
 */

#include "models/scenario/columns.h"
#include "models/scenario/scenario.h"
#include "models/scenario/values.h"

/* The largest p99 over the mean that a log-normal law has: exp(z^2 / 2) with z of 99 %. */
#define SCENARIO_MOST_P99 14.9

struct scenario_draft {
    struct rlhfsim_scenario *scenario; /* stored values are in it from the start */
    struct scenario_values values;
    const struct catalog *catalog;
    struct rlhfsim_diagnostics *diagnostics;
    const char *path; /* of the scenario file */
    /* What is resolved: the algorithm (its type is set), the node with its GPU, each model's
     * architecture, the two lengths, samples of a step and of a mini-batch. */
    bool algorithm_known, cluster_known, model_known[ALGORITHM_ROLE_COUNT];
    bool prompt_known, response_known, samples_known, minibatch_known;
    bool placement_known;                /* the pools are legal */
    struct column_row node_row, gpu_row; /* with cluster_known */
    struct catalog_offer offer;          /* of the node, with offer_known */
    bool offer_known;
    bool engine_known;
    enum rlhfsim_status fatal; /* RLHFSIM_NO_MEMORY and the like from a reader; else RLHFSIM_OK */
};

/* ---- stages, in this order ------------------------------------------------------------------- */

void scenario_resolve_algorithm(struct scenario_draft *draft); /* and keys it has no use for */
void scenario_resolve_framework(struct scenario_draft *draft);
void scenario_resolve_cluster(struct scenario_draft *draft);
void scenario_resolve_topology(struct scenario_draft *draft);  /* by the stage before */
void scenario_check_background(struct scenario_draft *draft);  /* a neighbour for a time */
void scenario_check_zones(struct scenario_draft *draft);       /* who may not cross them */
void scenario_resolve_attention(struct scenario_draft *draft); /* the kernel's rates on the GPU */
void scenario_resolve_software(struct scenario_draft *draft);  /* the framework's family */
void scenario_resolve_stores(struct scenario_draft *draft);    /* of checkpoints */
void scenario_resolve_memory(struct scenario_draft *draft);    /* what software holds */
void scenario_resolve_models(struct scenario_draft *draft);    /* and the KL term */
void scenario_resolve_lengths(struct scenario_draft *draft);
void scenario_resolve_prices(struct scenario_draft *draft);
void scenario_resolve_batches(struct scenario_draft *draft);   /* samples, mini-batches, steps */
void scenario_resolve_engine(struct scenario_draft *draft);    /* and its options */
void scenario_resolve_holding(struct scenario_draft *draft);   /* memory beside the trainer */
void scenario_check_engine(struct scenario_draft *draft);      /* how replicas are cut */
void scenario_resolve_placement(struct scenario_draft *draft); /* pools of GPUs */
void scenario_resolve_bands(struct scenario_draft *draft);     /* of the model's own error */
void scenario_check_turns(struct scenario_draft *draft);       /* and of tools */
void scenario_check_layout(struct scenario_draft *draft); /* tp, dp, micro-batches on the GPUs */
void scenario_check_known(struct scenario_draft *draft);  /* gaps of the rows that are used */
void scenario_check_memory(struct scenario_draft *draft); /* keys that would change nothing */
void scenario_check_use(struct scenario_draft *draft);    /* precision, context, companions */

/* ---- what the stages share ------------------------------------------------------------------- */

/* Whether the user meant to write the key, so that it is not missing; whether it stands there under
 * its own name; whether it has a legal value, written or by default. */
bool scenario_given(const struct scenario_draft *draft, enum scenario_key key);
bool scenario_written(const struct scenario_draft *draft, enum scenario_key key);
bool scenario_known(const struct scenario_draft *draft, enum scenario_key key);

/* Adds an error at the value of a key, or at the key itself; where the key is not written, at its
 * section. */
void scenario_blame(struct scenario_draft *draft, enum scenario_key key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void scenario_blame_key(struct scenario_draft *draft, enum scenario_key key, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));

/* Adds "KEY is NAME, which the catalog does not have" with the nearest name, else with those that
 * there are. */
void scenario_blame_name(struct scenario_draft *draft, enum scenario_key key,
                         enum catalog_kind kind);

/* Whether so many ranks can share the heads of a role's model; blames the key where they cannot. */
bool scenario_check_heads(struct scenario_draft *draft, enum scenario_key key, int tp,
                          enum algorithm_role role);

/* Part of scenario_check_layout: tp, pp, cp and ep over heads, layers, experts and GPUs. True when
 * the data parallel ranks are known. */
bool scenario_check_parallel(struct scenario_draft *draft);

/* GPUs of one data parallel rank: tp x cp x pp. */
int scenario_rank_gpus(const struct rlhfsim_scenario *scenario);

/* Whether master weights and moments of a model are offloaded. */
bool scenario_offloads_optimizer(const struct rlhfsim_scenario *scenario);

/* Whether a step of the algorithm updates the role's model. */
bool scenario_trains(const struct algorithm_type *type, enum algorithm_role role);

/* Tokens of the longest prompt that can come; a law without a longest length may fill what the
 * context of the models leaves beside the response. Needs models, lengths known. */
int64_t scenario_longest_prompt(const struct scenario_draft *draft);

#endif
