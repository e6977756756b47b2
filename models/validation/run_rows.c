/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/run_rows.h"

#include "models/base/text.h"
#include "models/scenario/load.h"
#include "models/scenario/schema.h"
#include "models/validation/training_rows.h"

#include <rlhfsim/diagnostics.h>

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const struct catalog *catalog;
    const struct csv_table *table;
    const struct csv_row *row;
    bool only_memory;
    struct run_settings *settings;
    int gpus, gpus_per_node; /* of the run */
    int tp, pp, cp, dp;      /* of the trainer */
};

static const char *cell(const struct reading *reading, const char *name) {
    return validation_cell(reading->row, validation_column(reading->table, name));
}

static bool is(const struct reading *reading, const char *name, const char *word) {
    return strcmp(cell(reading, name), word) == 0;
}

static bool stated(const struct reading *reading, const char *name) {
    return *cell(reading, name) != '\0';
}

/* A positive number of a cell; 0 where there is none. */
static double number(const struct reading *reading, const char *name) {
    double value;
    return base_number_read(cell(reading, name), &value) == BASE_NUMBER_OK && value > 0.0 ? value
                                                                                          : 0.0;
}

static int count_or(const struct reading *reading, const char *name, int otherwise) {
    double value = number(reading, name);
    return value >= 1.0 && value <= 1e6 ? (int)value : otherwise;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void set(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool skip(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void set(struct reading *reading, const char *format, ...) {
    struct run_settings *settings = reading->settings;
    va_list arguments;
    va_start(arguments, format);
    if (settings->count < RUN_SETTINGS)
        (void)vsnprintf(settings->at[settings->count++], RUN_SETTING_SIZE, format, arguments);
    va_end(arguments);
}

/* Notes the first reason; false, for the caller to return. */
static bool skip(struct reading *reading, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (reading->settings->reason[0] == '\0')
        (void)vsnprintf(reading->settings->reason, RUN_REASON_SIZE, format, arguments);
    va_end(arguments);
    return false;
}

static void copy(struct reading *reading, const char *key, const char *column) {
    if (stated(reading, column))
        set(reading, "%s=%s", key, cell(reading, column));
}

/* ---- what must be there ---------------------------------------------------------------------- */

static bool check_stated(struct reading *reading) {
    static const char *const needed[] = {
        "actor_model", "gpu", "num_gpus", "zero_stage", "max_response_tokens", "rollout_tp"};
    static const char *const for_time[] = {"prompts_per_step", "samples_per_prompt",
                                           "minibatch_samples"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!stated(reading, needed[i]))
            return skip(reading, "not stated: %s", needed[i]);
    for (size_t i = 0; i < sizeof for_time / sizeof *for_time && !reading->only_memory; i++)
        if (!stated(reading, for_time[i]))
            return skip(reading, "not stated: %s", for_time[i]);
    if (!stated(reading, "microbatch_samples") && !stated(reading, "microbatch_tokens"))
        return skip(reading, "not stated: microbatch_samples, microbatch_tokens");
    return true;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* GPUs of a node that are used. A rack that is one domain of NVLink (72 GPUs) is a node here,
 * though its trays of 4 are what a run calls one: then the most that divides the GPUs. */
static int used_per_node(const struct reading *reading, const struct hardware_node *node) {
    int stated_nodes = count_or(reading, "gpus_per_node", node->gpus);
    int used = stated_nodes < reading->gpus ? stated_nodes : reading->gpus;
    if (node->gpus <= 16 || reading->only_memory)
        return used;
    for (int more = used; more <= node->gpus && more <= reading->gpus; more += stated_nodes)
        if (reading->gpus % more == 0)
            used = more;
    return used;
}

/* An engine replica over several nodes: for memory alone one large node in their place. */
static bool set_cluster(struct reading *reading) {
    const char *name = catalog_name(reading->catalog, CATALOG_GPUS, cell(reading, "gpu"));
    const struct hardware_node *node =
        name == NULL ? NULL : training_row_node(reading->catalog, name);
    int engine = count_or(reading, "rollout_tp", 1);
    if (node == NULL)
        return skip(reading, "the catalog has no node with GPUs '%.80s'", cell(reading, "gpu"));
    reading->gpus = count_or(reading, "num_gpus", 1);
    int per_node = used_per_node(reading, node);
    bool spans = engine > per_node && reading->only_memory && reading->gpus % engine == 0;
    if (spans) {
        double nodes = (double)engine / (double)node->gpus;
        per_node = engine;
        set(reading, "cluster.node.like=%s", node->name);
        set(reading, "cluster.node.gpus=%d", per_node);
        set(reading, "cluster.node.host_memory_gib=%.17g",
            node->host_memory_bytes * nodes / 1073741824.0);
    } else {
        set(reading, "cluster.node=%s", node->name);
    }
    if (reading->gpus % per_node != 0)
        return skip(reading, "num_gpus is not a multiple of gpus_per_node");
    reading->gpus_per_node = per_node;
    set(reading, "cluster.nodes=%d", reading->gpus / per_node);
    set(reading, "cluster.gpus_per_node=%d", per_node);
    return true;
}

/* ---- pools ----------------------------------------------------------------------------------- */

static bool is_parted(const struct reading *reading) {
    return stated(reading, "placement") && !is(reading, "placement", "colocated");
}

/* Pools of their own, in turns or at once. A bound on staleness that is not printed is one version:
 * what frameworks have by default. */
static bool set_placement(struct reading *reading) {
    bool async = is(reading, "placement", "async");
    bool one_step_off = strstr(cell(reading, "framework_version"), "one_step_off") != NULL;
    if (!is_parted(reading))
        return true;
    if (!stated(reading, "train_gpus") || !stated(reading, "rollout_gpus"))
        return skip(reading, "not stated: train_gpus, rollout_gpus");
    set(reading, "placement.mode=%s", !async ? "split" : one_step_off ? "one_step_off" : "async");
    copy(reading, "placement.train_gpus", "train_gpus");
    copy(reading, "placement.rollout_gpus", "rollout_gpus");
    if (async && !one_step_off)
        set(reading, "placement.staleness_versions=%s",
            stated(reading, "staleness_steps") ? cell(reading, "staleness_steps") : "1");
    return true;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* verl up to 0.3, and what was forked from it: vLLM V0. */
static bool is_old(const struct reading *reading) {
    static const char *const versions[] = {"2024", "v0.1", "v0.2", "v0.3", "0.1.", "0.2.", "0.3."};
    const char *version = cell(reading, "framework_version");
    bool old = strstr(version, "fork") != NULL;
    for (size_t i = 0; i < sizeof versions / sizeof *versions && !old; i++)
        old = strncmp(version, versions[i], strlen(versions[i])) == 0;
    return old && is(reading, "framework", "verl");
}

/* The preset of a framework and its trainer. EasyR1 is a fork of a later verl. */
static const char *framework_of(const struct reading *reading) {
    bool megatron = is(reading, "train_backend", "megatron");
    bool dtensor = is(reading, "train_backend", "dtensor");
    if (is(reading, "framework", "verl") || is(reading, "framework", "easyr1"))
        return is_old(reading) ? (megatron ? "verl-0.3-megatron" : "verl-0.3")
                               : (megatron ? "verl-megatron" : "verl");
    bool first = strncmp(cell(reading, "framework_version"), "v0.3", 4) == 0;
    if (is(reading, "framework", "nemo-rl"))
        return dtensor ? "nemo-rl-dtensor" : first ? "nemo-rl-0.3" : "nemo-rl";
    return cell(reading, "framework");
}

/* A run beyond the positions of its model has stretched them, as configurations do. */
static void set_model(struct reading *reading, const char *role, const char *name) {
    const struct llm_architecture *model = catalog_model(reading->catalog, name);
    double prompt =
        fmax(number(reading, "max_prompt_tokens"), number(reading, "mean_prompt_tokens"));
    double longest = prompt + number(reading, "max_response_tokens");
    if (model == NULL || longest <= (double)model->max_position) {
        set(reading, "models.%s.model=%s", role, name);
        return;
    }
    set(reading, "models.%s.model.like=%s", role, name);
    set(reading, "models.%s.model.max_position=%.0f", role, longest);
}

/* Adapters that are switched off are the reference. */
static void set_models(struct reading *reading) {
    const char *actor = cell(reading, "actor_model"), *reward = cell(reading, "reward_model");
    bool adapters = number(reading, "lora_rank") > 0.0;
    bool reference = is(reading, "reference_model", "yes") && !adapters;
    bool away = strstr(cell(reading, "offload"), "params") != NULL ||
                strstr(cell(reading, "offload"), "reference") != NULL;
    set_model(reading, "actor", actor);
    if (adapters)
        copy(reading, "models.actor.lora_rank", "lora_rank");
    if (stated(reading, "critic_model"))
        set_model(reading, "critic", cell(reading, "critic_model"));
    if (*reward != '\0' && strcmp(reward, "rule") != 0)
        set(reading, "models.reward.model=%s", reward);
    if (reference)
        set_model(reading, "reference", actor);
    if (reference && away)
        set(reading, "models.reference.offload=parameters");
}

/* Without its further rounds of sampling a step of DAPO is one of GRPO. */
static void set_algorithm(struct reading *reading) {
    bool dapo = is(reading, "algorithm", "dapo");
    set(reading, "algorithm.name=%s", dapo ? "grpo" : cell(reading, "algorithm"));
}

/* ---- the trainer ----------------------------------------------------------------------------- */

/* verl had the entropy in every update until its pull request 1100 (April 2025); reports are dated
 * by their numbers. */
static bool has_entropy(const struct reading *reading) {
    const char *report = strstr(cell(reading, "notes"), "verl issue ");
    long number = report == NULL ? 0 : strtol(report + strlen("verl issue "), NULL, 10);
    return number > 0 && number < 1100;
}

static bool set_trainer(struct reading *reading) {
    const char *offload = cell(reading, "offload");
    int ep = count_or(reading, "train_ep", 1);
    reading->tp = count_or(reading, "train_tp", 1);
    reading->pp = count_or(reading, "train_pp", 1);
    reading->cp = count_or(reading, "train_cp", 1);
    int ranks = reading->tp * reading->pp * reading->cp;
    int gpus = is_parted(reading) ? count_or(reading, "train_gpus", 1) : reading->gpus;
    if (ranks < 1 || gpus % ranks != 0)
        return skip(reading, "%s is not a multiple of train_tp x train_pp x train_cp",
                    is_parted(reading) ? "train_gpus" : "num_gpus");
    reading->dp = gpus / ranks;
    set(reading, "training.tp=%d", reading->tp);
    set(reading, "training.pp=%d", reading->pp);
    copy(reading, "training.vpp", "train_vpp");
    set(reading, "training.cp=%d", reading->cp);
    if (reading->cp > 1 && strncmp(framework_of(reading), "verl", 4) == 0)
        set(reading, "training.context=ulysses");
    if (is(reading, "train_backend", "dtensor")) { /* its plans for tensor parallelism have none */
        set(reading, "training.sequence_parallel=false");
        set(reading, "training.fusion=eager");
    }
    if (is(reading, "train_backend", "megatron"))
        set(reading, "training.fusion=compiled");
    if (has_entropy(reading))
        set(reading, "training.entropy_loss=true");
    if (ep > 1)
        set(reading, "training.ep=%d", ep);
    if (ep > 1 && (reading->dp * reading->cp) % ep != 0)
        set(reading, "training.expert_tp=1");
    copy(reading, "training.zero_stage", "zero_stage");
    copy(reading, "training.precision", "train_precision");
    copy(reading, "training.recompute", "recompute");
    if (strcmp(offload, "optimizer") == 0)
        set(reading, "training.offload=optimizer");
    else if (strcmp(offload, "optimizer+params") == 0)
        set(reading, "training.offload=optimizer+parameters");
    set(reading, "training.packing=%s",
        is(reading, "packing", "yes") || stated(reading, "microbatch_tokens") ? "true" : "false");
    if (stated(reading, "microbatch_tokens") && !reading->only_memory)
        set(reading, "training.balance_ranks=true");
    copy(reading,
         stated(reading, "microbatch_tokens") ? "training.microbatch_tokens"
                                              : "training.microbatch_samples",
         stated(reading, "microbatch_tokens") ? "microbatch_tokens" : "microbatch_samples");
    return true;
}

/* ---- batches and lengths --------------------------------------------------------------------- */

/* Samples that one micro-batch has at most: as stated, or of the longest as many as fill the
 * budget, where a mini-batch has so many. */
static double microbatch_samples(const struct reading *reading) {
    double longest = number(reading, "max_prompt_tokens") + number(reading, "max_response_tokens");
    double filled = ceil(number(reading, "microbatch_tokens") / fmax(1.0, longest));
    double rank = ceil(number(reading, "minibatch_samples") / reading->dp);
    if (rank > 0.0)
        filled = fmin(filled, rank);
    return fmax(fmax(1.0, filled), number(reading, "microbatch_samples"));
}

/* For memory alone a step of one micro-batch on every rank: it divides whatever the layout. */
static void set_batches(struct reading *reading) {
    int64_t samples = (int64_t)microbatch_samples(reading) * reading->dp;
    int64_t group = 8;
    if (!reading->only_memory) {
        copy(reading, "algorithm.prompts_per_step", "prompts_per_step");
        copy(reading, "algorithm.samples_per_prompt", "samples_per_prompt");
        copy(reading, "algorithm.minibatch_samples", "minibatch_samples");
    } else {
        set(reading, "algorithm.prompts_per_step=%" PRId64, samples);
        set(reading, "algorithm.samples_per_prompt=%" PRId64, group);
        set(reading, "algorithm.minibatch_samples=%" PRId64,
            stated(reading, "microbatch_tokens") ? samples : samples * group);
    }
    copy(reading, "algorithm.epochs", "ppo_epochs");
    /* A pass of its own adapters switched off holds nothing more; nor does an unknown reference. */
    bool adapters = reading->only_memory && number(reading, "lora_rank") > 0.0;
    bool unknown = reading->only_memory && !stated(reading, "reference_model");
    if (is(reading, "reference_model", "no") || adapters || unknown)
        set(reading, "algorithm.kl=none");
}

static void set_length(struct reading *reading, const char *key, double mean, double cap) {
    set(reading, "rollout.%s.law=%s", key, "fixed");
    set(reading, "rollout.%s.mean=%.17g", key,
        mean > 0.0 && !reading->only_memory ? fmin(mean, cap) : cap);
}

/* Responses vary, and some reach the cap: published runs print neither. With a law of standard
 * deviation 0.86 over mean before the cut and 0.4 % that do not end, generation times of the runs
 * that print them come out; a law without that tail misses them by a third. */
#define RESPONSE_CV 0.86
#define RESPONSE_CAP_SHARE 0.004

/* Of prompts of mathematics, standard deviation over mean. The cap is what padding fills. */
#define PROMPT_CV 0.4

static void set_prompts(struct reading *reading, double mean, double cap) {
    if (reading->only_memory || mean <= 0.0 || 2.0 * mean >= cap) {
        set_length(reading, "prompt_tokens", mean, cap);
        return;
    }
    set(reading, "rollout.prompt_tokens.law=lognormal");
    set(reading, "rollout.prompt_tokens.mean=%.17g", mean);
    set(reading, "rollout.prompt_tokens.uncut_cv=%.17g", PROMPT_CV);
    set(reading, "rollout.prompt_tokens.limit=%.17g", cap);
}

static void set_responses(struct reading *reading, double mean, double cap) {
    bool fixed = is(reading, "fixed_length", "yes") || mean <= 0.0 || mean >= cap;
    if (reading->only_memory || fixed) {
        set_length(reading, "response_tokens", mean, cap);
        return;
    }
    set(reading, "rollout.response_tokens.law=lognormal");
    set(reading, "rollout.response_tokens.mean=%.17g", mean);
    set(reading, "rollout.response_tokens.uncut_cv=%.17g", RESPONSE_CV);
    set(reading, "rollout.response_tokens.cap_share=%.17g", RESPONSE_CAP_SHARE);
}

/* Means of runs that print one (NVIDIA-NeMo/RL@7ea279abf, verl-project/verl-data@21b4c31fc,
 * verl-project/verl@v0.7.0): prompts of mathematics, and responses of models that do not think, by
 * their cap. */
#define TYPICAL_PROMPT 130.0

static double typical_response(double cap) {
    return fmin(0.65 * cap, 10.0 * sqrt(cap));
}

static bool thinks(const char *model) {
    return strstr(model, "Qwen3") != NULL || strstr(model, "R1") != NULL ||
           strstr(model, "DeepSeek-V3") != NULL;
}

/* Packed micro-batches of so many samples are as long as what was drawn, not as long as it could
 * be. */
static bool is_drawn(const struct reading *reading) {
    return reading->only_memory && is(reading, "packing", "yes") &&
           number(reading, "microbatch_samples") >= 1.0 && !stated(reading, "microbatch_tokens") &&
           !stated(reading, "mean_response_tokens") && !is(reading, "fixed_length", "yes") &&
           !thinks(cell(reading, "actor_model"));
}

/* Per sample of the longest of very many such batches: the mean of n lengths that vary as much as
 * they are long, and three deviations of it. */
static double longest_drawn(const struct reading *reading, double typical, double cap) {
    return fmin(cap, ceil(typical * (1.0 + 3.0 / sqrt(number(reading, "microbatch_samples")))));
}

/* "prompt + response capped at 4096": one token of it is a prompt. */
static bool set_lengths(struct reading *reading) {
    double prompt = number(reading, "max_prompt_tokens");
    double response = number(reading, "max_response_tokens");
    bool together = strstr(cell(reading, "notes"), "prompt + response capped") != NULL;
    if (prompt == 0.0 && together) {
        prompt = 1.0;
        response -= 1.0;
    }
    if (prompt == 0.0 || response < 1.0)
        return skip(reading, "not stated: max_prompt_tokens");
    if (is_drawn(reading)) {
        prompt = longest_drawn(reading, TYPICAL_PROMPT, prompt);
        response = longest_drawn(reading, typical_response(response), response);
    }
    set(reading, "rollout.max_new_tokens=%.17g", response);
    set_prompts(reading, number(reading, "mean_prompt_tokens"), prompt);
    set_responses(reading, number(reading, "mean_response_tokens"), response);
    return true;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* The place of a setting's key in the format; columns of a row stand where its key does. */
static size_t place_of(const char *setting) {
    char path[RUN_SETTING_SIZE];
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(setting, "="), setting);
    for (;;) {
        enum scenario_key key = scenario_schema_find(path);
        char *dot = strrchr(path, '.');
        if (key != KEY_COUNT || dot == NULL)
            return (size_t)key;
        *dot = '\0';
    }
}

/* Stable, so that columns keep their order. */
static void sort_settings(struct run_settings *settings) {
    for (size_t i = 1; i < settings->count; i++) {
        char moved[RUN_SETTING_SIZE];
        size_t at = i;
        memcpy(moved, settings->at[i], sizeof moved);
        for (; at > 0 && place_of(settings->at[at - 1]) > place_of(moved); at--)
            memcpy(settings->at[at], settings->at[at - 1], RUN_SETTING_SIZE);
        memcpy(settings->at[at], moved, sizeof moved);
    }
}

/* ---- the row --------------------------------------------------------------------------------- */

void run_row_read(const struct catalog *catalog, const struct csv_table *table,
                  const struct csv_row *row, bool only_memory, struct run_settings *settings) {
    struct reading reading = {catalog, table, row, only_memory, settings, 0, 0, 0, 0, 0, 0};
    settings->count = 0;
    settings->reason[0] = '\0';
    if (!check_stated(&reading))
        return;
    if (is_parted(&reading) && only_memory) {
        (void)skip(&reading, "placement is %s", cell(&reading, "placement"));
        return;
    }
    copy(&reading, "name", "run_key");
    set(&reading, "framework=%s", framework_of(&reading));
    set(&reading, "steps=1");
    set_algorithm(&reading);
    set_models(&reading);
    if (!set_cluster(&reading) || !set_placement(&reading) || !set_trainer(&reading))
        return;
    set_batches(&reading);
    copy(&reading, "rollout.tp", "rollout_tp");
    copy(&reading, "rollout.precision", "rollout_precision");
    if (!only_memory) /* what vLLM takes on GPUs of 70 GB and more */
        set(&reading, "rollout.max_num_seqs=1024");
    if (!only_memory && is_old(&reading))
        set(&reading, "rollout.engine=vllm-v0");
    if (!set_lengths(&reading))
        return;
    set(&reading, "prices.node_usd_per_hour=0");
    sort_settings(settings);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void note_mistake(const struct rlhfsim_diagnostics *diagnostics,
                         struct run_settings *settings) {
    bool found = rlhfsim_diagnostics_count(diagnostics) > 0;
    (void)snprintf(settings->reason, sizeof settings->reason, "%.*s", RUN_REASON_SIZE - 1,
                   found ? rlhfsim_diagnostics_get(diagnostics, 0)->message : "no legal scenario");
}

enum rlhfsim_status run_scenario_load(const struct catalog *catalog, struct run_settings *settings,
                                      struct rlhfsim_scenario **scenario) {
    const char *sets[RUN_SETTINGS];
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    *scenario = NULL;
    if (diagnostics == NULL)
        return RLHFSIM_NO_MEMORY;
    for (size_t i = 0; i < settings->count; i++)
        sets[i] = settings->at[i];
    enum rlhfsim_status status =
        scenario_load_sets(catalog, "row", sets, settings->count, diagnostics, scenario);
    if (status == RLHFSIM_INVALID) {
        note_mistake(diagnostics, settings);
        status = RLHFSIM_OK;
    }
    rlhfsim_diagnostics_free(diagnostics);
    return status;
}

/* ---- as a file ------------------------------------------------------------------------------- */

struct writing {
    char *text;
    size_t used, room;
};

static void put(struct writing *writing, size_t indent, const char *bytes, size_t count,
                const char *end) {
    size_t needed = writing->used + indent + count + strlen(end) + 1;
    if (writing->text == NULL || needed > writing->room)
        return;
    writing->used += (size_t)snprintf(writing->text + writing->used, writing->room - writing->used,
                                      "%*s%.*s%s", (int)indent, "", (int)count, bytes, end);
}

/* Names that two paths share from the front. */
static size_t shared_sections(const char *a, const char *b) {
    size_t shared = 0;
    for (size_t i = 0; a[i] != '\0' && a[i] == b[i] && a[i] != '='; i++)
        shared += a[i] == '.';
    return shared;
}

char *run_settings_yaml(const struct run_settings *settings) {
    size_t room = settings->count * (RUN_SETTING_SIZE + 64) + 1;
    struct writing writing = {malloc(room), 0, room};
    const char *before = "";
    if (writing.text != NULL)
        writing.text[0] = '\0';
    for (size_t i = 0; i < settings->count; i++) {
        const char *name = settings->at[i], *value = strchr(name, '=') + 1;
        size_t depth = 0, shared = shared_sections(before, settings->at[i]);
        for (size_t length; (length = strcspn(name, ".=")), name[length] == '.';
             name += length + 1) {
            if (depth >= shared)
                put(&writing, 2 * depth, name, length, ":\n");
            depth++;
        }
        put(&writing, 2 * depth, name, strcspn(name, "="), ": ");
        put(&writing, 0, value, strlen(value), "\n");
        before = settings->at[i];
    }
    return writing.text;
}
