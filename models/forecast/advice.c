/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Single changes that make a scenario fit. A kind of change is a ladder of values from mild to
 * drastic; the first that is legal and fits, and is no marginal case, is the answer of its kind.
 * Kinds that change nothing (the scenario has that value) have an empty ladder. Each answer is
 * simulated for a few steps, and the cheapest comes first.
 */

#include "models/forecast/footprint.h"
#include "models/forecast/planning.h"
#include "models/forecast/variant.h"
#include "models/forecast/verdict.h"

#include <rlhfsim/advice.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SETTINGS_SIZE 192
#define ADVICE_LIMIT 24

struct advised {
    char settings[SETTINGS_SIZE];
    struct rlhfsim_change change;
};

struct rlhfsim_advice {
    struct advised at[ADVICE_LIMIT];
    size_t count;
};

/* ---- ladders --------------------------------------------------------------------------------- */

/* The settings of the rung, counted from 0, into `settings`; false past the last one. */
typedef bool ladder_func(const struct forecast_plan *plan, int rung, char *settings);

static bool write_count(char *settings, const char *key, int64_t value) {
    (void)snprintf(settings, SETTINGS_SIZE, "%s=%" PRId64, key, value);
    return true;
}

static bool write_word(char *settings, const char *key, const char *word) {
    (void)snprintf(settings, SETTINGS_SIZE, "%s=%s", key, word);
    return true;
}

static bool micro_batch(const struct forecast_plan *plan, int rung, char *settings) {
    int64_t samples = plan->scenario->training.microbatch_samples, found = samples;
    for (int i = 0; i <= rung; i++)
        do
            found--;
        while (found > 0 && samples % found != 0);
    return found > 0 && write_count(settings, "training.microbatch_samples", found);
}

/* By eighths, down to the longest sequence. */
static bool token_budget(const struct forecast_plan *plan, int rung, char *settings) {
    int64_t longest = plan->prompt_limit + plan->response_limit;
    int64_t budget = plan->scenario->training.microbatch_tokens * (7 - rung) / 8;
    return rung < 7 && budget >= longest &&
           write_count(settings, "training.microbatch_tokens", budget);
}

static bool recompute(const struct forecast_plan *plan, int rung, char *settings) {
    bool none = plan->scenario->training.recompute == TRAINING_RECOMPUTE_NONE;
    if (plan->scenario->training.recompute == TRAINING_RECOMPUTE_FULL || rung > (none ? 1 : 0))
        return false;
    return write_word(settings, "training.recompute", none && rung == 0 ? "selective" : "full");
}

static bool zero_stage(const struct forecast_plan *plan, int rung, char *settings) {
    int stage = plan->scenario->training.zero_stage + 1 + rung;
    return stage <= 3 && write_count(settings, "training.zero_stage", stage);
}

static bool offload_training(const struct forecast_plan *plan, int rung, char *settings) {
    static const char *const words[] = {"optimizer", "parameters", "optimizer+parameters"};
    bool any = plan->scenario->training.offload != TRAINING_OFFLOAD_NONE;
    int word = any ? rung + 2 : rung;
    if (plan->scenario->training.offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS || word > 2)
        return false;
    return write_word(settings, "training.offload", words[word]);
}

/* Everything that is trained back on the GPUs, where hosts or disks are what is full. */
static bool bring_back(const struct forecast_plan *plan, int rung, char *settings) {
    return rung == 0 && plan->scenario->training.offload != TRAINING_OFFLOAD_NONE &&
           !forecast_uses_disks(plan) && write_word(settings, "training.offload", "none");
}

static bool optimizer_to_host(const struct forecast_plan *plan, int rung, char *settings) {
    return rung == 0 && forecast_uses_disks(plan) &&
           write_word(settings, "training.offload_optimizer_to", "host");
}

/* Optimizers from the host to the disks, where the node has some. */
static bool optimizer_to_disk(const struct forecast_plan *plan, int rung, char *settings) {
    enum training_offload offload = plan->scenario->training.offload;
    const struct hardware_node *node = &plan->scenario->cluster.node;
    bool optimizer =
        offload == TRAINING_OFFLOAD_OPTIMIZER || offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS;
    return rung == 0 && optimizer && !forecast_uses_disks(plan) && node->nvme_bytes > 0.0 &&
           node->nvme_read_bytes_per_s > 0.0 && node->nvme_write_bytes_per_s > 0.0 &&
           write_word(settings, "training.offload_optimizer_to", "nvme");
}

static bool offload_frozen(const struct forecast_plan *plan, int rung, char *settings,
                           enum algorithm_role role) {
    const struct scenario_model *model = &plan->scenario->models[role];
    if (rung > 0 || !model->present || model->offload != TRAINING_OFFLOAD_NONE)
        return false;
    (void)snprintf(settings, SETTINGS_SIZE, "models.%s.offload=parameters",
                   algorithm_role_name(role));
    return true;
}

static bool offload_reference(const struct forecast_plan *plan, int rung, char *settings) {
    return offload_frozen(plan, rung, settings, ALGORITHM_ROLE_REFERENCE);
}

static bool offload_reward(const struct forecast_plan *plan, int rung, char *settings) {
    return offload_frozen(plan, rung, settings, ALGORITHM_ROLE_REWARD);
}

static bool offload_activations(const struct forecast_plan *plan, int rung, char *settings) {
    return rung == 0 && !plan->scenario->training.offload_activations &&
           write_word(settings, "training.offload_activations", "true");
}

/* Twice, four times, ... as many ranks. */
static bool more_ranks(int ranks, int most, int rung, const char *key, char *settings) {
    int64_t more = (int64_t)ranks << (rung + 1);
    return rung < 10 && more <= most && write_count(settings, key, more);
}

static bool train_tp(const struct forecast_plan *plan, int rung, char *settings) {
    return more_ranks(plan->scenario->training.tp, plan->scenario->cluster.gpus_per_node, rung,
                      "training.tp", settings);
}

static bool train_pp(const struct forecast_plan *plan, int rung, char *settings) {
    return more_ranks(plan->scenario->training.pp, plan->pools[0].gpus, rung, "training.pp",
                      settings);
}

static bool train_cp(const struct forecast_plan *plan, int rung, char *settings) {
    return more_ranks(plan->scenario->training.cp, plan->pools[0].gpus, rung, "training.cp",
                      settings);
}

static bool rollout_tp(const struct forecast_plan *plan, int rung, char *settings) {
    return plan->replicas > 0 &&
           more_ranks(plan->scenario->rollout.tp, plan->scenario->cluster.gpus_per_node, rung,
                      "rollout.tp", settings);
}

/* In steps of 5 %, up where the engine lacks room, else down. */
static bool engine_share(const struct forecast_plan *plan, int rung, char *settings) {
    double step = plan->kv_missing_bytes > 0.0 ? 0.05 : -0.05;
    double share = plan->scenario->rollout.memory_fraction + step * (rung + 1);
    if (plan->replicas == 0 || share < 0.05 - 1e-9 || share > 0.95 + 1e-9)
        return false;
    (void)snprintf(settings, SETTINGS_SIZE, "rollout.memory_fraction=%.2f", share);
    return true;
}

static bool chunked_logits(const struct forecast_plan *plan, int rung, char *settings) {
    return rung == 0 && plan->scenario->training.logits == TRAINING_LOGITS_WHOLE &&
           write_word(settings, "training.logits", "chunked");
}

static bool small_optimizer(const struct forecast_plan *plan, int rung, char *settings) {
    return rung == 0 && plan->scenario->training.optimizer == SCENARIO_OPTIMIZER_ADAM &&
           write_word(settings, "training.optimizer", "adam_8bit");
}

/* Of both trained models. */
static bool adapters(const struct forecast_plan *plan, int rung, char *settings) {
    bool critic = plan->scenario->models[ALGORITHM_ROLE_CRITIC].present;
    if (rung > 0 || plan->scenario->models[ALGORITHM_ROLE_ACTOR].lora_rank > 0)
        return false;
    (void)snprintf(settings, SETTINGS_SIZE, "models.actor.lora_rank=32%s",
                   critic ? " models.critic.lora_rank=32" : "");
    return true;
}

/* Copies of whole models on the hosts. */
static bool load_parts(const struct forecast_plan *plan, int rung, char *settings) {
    static const char *const words[] = {"sharded", "first_rank"};
    int left = (int)plan->scenario->training.load - 1 - rung; /* less and less, down to parts */
    return left >= 0 && write_word(settings, "training.load", words[left]);
}

static bool wake_in_stages(const struct forecast_plan *plan, int rung, char *settings) {
    return rung == 0 && plan->replicas > 0 && plan->pool_count == 1 &&
           plan->scenario->rollout.wake == SCENARIO_WAKE_WHOLE &&
           write_word(settings, "rollout.wake", "staged");
}

static bool discard_weights(const struct forecast_plan *plan, int rung, char *settings) {
    return rung == 0 && plan->replicas > 0 && plan->pool_count == 1 &&
           plan->scenario->rollout.sleeping_weights == SCENARIO_SLEEPING_HOST &&
           write_word(settings, "rollout.sleeping_weights", "discarded");
}

/* Up to eight times as many nodes, pools in the same proportions. */
static bool more_nodes(const struct forecast_plan *plan, int rung, char *settings) {
    const struct hardware_cluster *cluster = &plan->scenario->cluster;
    for (int nodes = cluster->nodes + 1; nodes <= 8 * cluster->nodes; nodes++)
        if (forecast_variant_gpus(plan, nodes * cluster->node.gpus, settings, SETTINGS_SIZE) &&
            rung-- == 0)
            return true;
    return false;
}

static const struct {
    const char *what;
    ladder_func *ladder;
} kinds[] = {
    {"smaller micro-batches", micro_batch},
    {"a smaller token budget", token_budget},
    {"more recomputation", recompute},
    {"a higher ZeRO stage", zero_stage},
    {"offload of what is trained", offload_training},
    {"nothing trained offloaded", bring_back},
    {"offloaded optimizers on NVMe", optimizer_to_disk},
    {"offloaded optimizers on the host", optimizer_to_host},
    {"offload of the reference", offload_reference},
    {"offload of the reward model", offload_reward},
    {"offload of activations", offload_activations},
    {"tensor parallelism", train_tp},
    {"pipeline stages", train_pp},
    {"context parallelism", train_cp},
    {"tensor parallelism of the engine", rollout_tp},
    {"another share for the engine", engine_share},
    {"logits in slices", chunked_logits},
    {"an 8-bit optimizer", small_optimizer},
    {"LoRA adapters", adapters},
    {"models loaded in parts", load_parts},
    {"an engine that wakes in stages", wake_in_stages},
    {"an engine that drops its weights", discard_weights},
    {"more GPUs", more_nodes},
};

/* ---- finding --------------------------------------------------------------------------------- */

/* The mildest rung that is no marginal case, else the mildest that fits; below 0: none does. */
static enum rlhfsim_status best_rung(const struct forecast_plan *plan, ladder_func *ladder,
                                     struct forecast_variant *variant, int *best) {
    char settings[SETTINGS_SIZE];
    *best = -1;
    for (int rung = 0; ladder(plan, rung, settings); rung++) {
        enum rlhfsim_status status = forecast_variant_try(variant, settings);
        if (status != RLHFSIM_OK)
            return status;
        if (!forecast_variant_fits(variant))
            continue;
        bool certain = forecast_verdict_probability(&variant->plan) >= 1.0;
        if (certain || *best < 0)
            *best = rung;
        if (certain)
            break;
    }
    return RLHFSIM_OK;
}

static enum rlhfsim_status climb(const struct forecast_plan *plan, size_t kind,
                                 struct forecast_variant *variant, struct rlhfsim_advice *advice) {
    struct advised *advised = &advice->at[advice->count];
    int rung;
    enum rlhfsim_status status = best_rung(plan, kinds[kind].ladder, variant, &rung);
    if (status != RLHFSIM_OK || rung < 0)
        return status;
    (void)kinds[kind].ladder(plan, rung, advised->settings);
    status = forecast_variant_try(variant, advised->settings);
    if (status != RLHFSIM_OK)
        return status;
    advised->change = (struct rlhfsim_change){
        .what = kinds[kind].what,
        .settings = advised->settings,
        .peak_bytes = forecast_gpu_peak(&variant->plan).bytes,
        .fit_probability = forecast_verdict_probability(&variant->plan),
        .gpus = variant->plan.gpus,
    };
    status = forecast_variant_cost(variant, &advised->change.time_s, &advised->change.cost_usd);
    advice->count += status == RLHFSIM_OK;
    return status == RLHFSIM_INVALID ? RLHFSIM_OK : status; /* fits, and never ends */
}

static int by_cost(const void *a, const void *b) {
    const struct rlhfsim_change *x = &((const struct advised *)a)->change;
    const struct rlhfsim_change *y = &((const struct advised *)b)->change;
    if (x->cost_usd != y->cost_usd)
        return x->cost_usd < y->cost_usd ? -1 : 1;
    return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

static enum rlhfsim_status find_all(const struct rlhfsim_source *source,
                                    const struct rlhfsim_scenario *scenario,
                                    struct rlhfsim_advice *advice) {
    struct forecast_plan *plan = malloc(sizeof *plan);
    struct forecast_variant *variant = forecast_variant_new(source);
    enum rlhfsim_status status = plan == NULL || variant == NULL ? RLHFSIM_NO_MEMORY : RLHFSIM_OK;
    if (status == RLHFSIM_OK) {
        forecast_plan_make(scenario, plan);
        bool fits = forecast_plan_fits(plan);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == RLHFSIM_OK && !fits; i++)
            status = climb(plan, i, variant, advice);
    }
    forecast_variant_free(variant);
    free(plan);
    return status;
}

enum rlhfsim_status rlhfsim_advice_find(const struct rlhfsim_source *source,
                                        struct rlhfsim_diagnostics *diagnostics,
                                        struct rlhfsim_advice **advice) {
    struct rlhfsim_scenario *scenario;
    *advice = NULL;
    enum rlhfsim_status status = rlhfsim_source_scenario(source, NULL, 0, diagnostics, &scenario);
    if (status != RLHFSIM_OK)
        return status;
    struct rlhfsim_advice *found = calloc(1, sizeof *found);
    status = found == NULL ? RLHFSIM_NO_MEMORY : find_all(source, scenario, found);
    rlhfsim_scenario_free(scenario);
    if (status != RLHFSIM_OK) {
        free(found);
        return status;
    }
    qsort(found->at, found->count, sizeof *found->at, by_cost);
    *advice = found;
    return RLHFSIM_OK;
}

void rlhfsim_advice_free(struct rlhfsim_advice *advice) {
    free(advice);
}

bool rlhfsim_advice_change(const struct rlhfsim_advice *advice, size_t index,
                           struct rlhfsim_change *change) {
    if (index >= advice->count)
        return false;
    *change = advice->at[index].change;
    change->settings = advice->at[index].settings; /* sorting moved the texts */
    return true;
}
