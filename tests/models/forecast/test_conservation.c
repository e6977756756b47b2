/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * memory.csv of random runs, added up again change by change: at every instant what is there on all
 * devices together is what the models have, wherever it is.
 *
 *     master weights and moments    12 bytes a parameter, once from ZeRO-1 on, else on every rank
 *     weights                       2 bytes, once under ZeRO-3, else on every rank; on the host as
 *                                   much as the GPUs lack, and while a phase fetches them on both
 *     an engine that sleeps         its weights are on the GPUs, or on the host, or were discarded
 *
 * and every GPU holds exactly what the plan says of one phase: nothing of an earlier one is left.
 */

#include "models/forecast/footprint.h"
#include "models/forecast/planning.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"
#define GPUS 8
#define HOST GPUS /* the index of the node's host */
#define ACTOR 6738415616.0
#define CRITIC 6607347712.0
#define ROUNDS 48

typedef double table[FORECAST_OWNER_COUNT][FORECAST_CATEGORY_COUNT];

static struct rlhfsim_scenario *scenario;
static struct forecast_plan plan;
static table held[GPUS + 1];

/* ---- random scenarios ------------------------------------------------------------------------ */

static uint64_t state;

static unsigned draw(unsigned below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static const char *one_of(const char *const *words, unsigned count) {
    return words[draw(count)];
}

#define ONE_OF(...)                            \
    one_of((const char *const[]){__VA_ARGS__}, \
           (unsigned)(sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *const)))

struct settings {
    char at[24][80];
    const char *list[25];
    size_t count;
};

static void add(struct settings *settings, const char *key, const char *value) {
    snprintf(settings->at[settings->count], 80, "%s=%s", key, value);
    settings->list[settings->count] = settings->at[settings->count];
    settings->list[++settings->count] = NULL;
}

static void add_pools(struct settings *settings) {
    bool critic = draw(2) == 1, reward = draw(3) == 1;
    const char *mode = ONE_OF("split", "one_step_off", "async");
    add(settings, "placement.mode", mode);
    if (strcmp(mode, "async") == 0)
        add(settings, "placement.staleness_versions", ONE_OF("0.5", "1"));
    add(settings, "placement.train_gpus", critic || reward ? "2" : "4");
    add(settings, "placement.rollout_gpus", critic && reward ? "2" : "4");
    if (critic)
        add(settings, "placement.critic_gpus", "2");
    if (reward)
        add(settings, "placement.reward_gpus", "2");
    add(settings, "rollout.weight_sync", "verl-nccl");
}

static void random_settings(struct settings *settings) {
    settings->count = 0;
    add(settings, "steps", "2");
    add(settings, "algorithm.prompts_per_step", "32");
    add(settings, "algorithm.minibatch_samples", "16");
    add(settings, "training.microbatch_samples", ONE_OF("1", "2"));
    add(settings, "training.zero_stage", ONE_OF("0", "1", "2", "3"));
    add(settings, "training.recompute", ONE_OF("none", "selective", "full"));
    add(settings, "training.offload",
        ONE_OF("none", "optimizer", "parameters", "optimizer+parameters"));
    add(settings, "training.offload_activations", ONE_OF("true", "false"));
    add(settings, "training.load", ONE_OF("sharded", "first_rank", "every_rank"));
    add(settings, "models.reference.offload", ONE_OF("none", "parameters"));
    add(settings, "checkpoint.every_steps", ONE_OF("0", "1", "2"));
    add(settings, "checkpoint.mode", ONE_OF("synchronous", "asynchronous"));
    add(settings, "rollout.memory_fraction_of", ONE_OF("total", "free"));
    add(settings, "rollout.tp", ONE_OF("1", "2"));
    if (draw(2) == 1) {
        add_pools(settings);
    } else {
        add(settings, "rollout.sleeping_weights", ONE_OF("host", "discarded"));
        add(settings, "rollout.wake", ONE_OF("staged", "whole"));
    }
}

/* ---- what must be there ---------------------------------------------------------------------- */

static double everywhere(int owner, enum forecast_category category) {
    double sum = 0.0;
    for (int device = 0; device <= HOST; device++)
        sum += held[device][owner][category];
    return sum;
}

static void check_role(int role, const char *text) {
    bool trained = role == ALGORITHM_ROLE_ACTOR || role == ALGORITHM_ROLE_CRITIC;
    bool column = role == ALGORITHM_ROLE_CRITIC || role == ALGORITHM_ROLE_REWARD;
    double parameters = column ? CRITIC : ACTOR, ranks = plan.pools[plan.role_pool[role]].dp;
    int stage = scenario->training.zero_stage;
    double weights = 2.0 * parameters * (stage == 3 ? 1.0 : ranks);
    double moved = everywhere(role, FORECAST_CATEGORY_WEIGHTS);
    double optimizer = everywhere(role, FORECAST_CATEGORY_MASTER_WEIGHTS) +
                       everywhere(role, FORECAST_CATEGORY_OPTIMIZER);
    double expected = trained ? 12.0 * parameters * (stage >= 1 ? 1.0 : ranks) : 0.0;
    ck_assert_msg(fabs(optimizer - expected) <= 64.0, "%s: %s has %.0f of its optimizer, not %.0f",
                  text, algorithm_role_name((enum algorithm_role)role), optimizer, expected);
    bool there = fabs(moved - weights) <= 64.0 || fabs(moved - 2.0 * weights) <= 64.0;
    ck_assert_msg(there, "%s: %s has %.0f of its weights, not %.0f", text,
                  algorithm_role_name((enum algorithm_role)role), moved, weights);
    ck_assert_msg(held[HOST][role][FORECAST_CATEGORY_LOADING] == 0.0, "%s: copies after the load",
                  text);
}

static void check_engine(const char *text) {
    double gpus = 0.0, host = held[HOST][FORECAST_OWNER_ENGINE][FORECAST_CATEGORY_WEIGHTS];
    for (int gpu = 0; gpu < GPUS; gpu++)
        gpus += held[gpu][FORECAST_OWNER_ENGINE][FORECAST_CATEGORY_WEIGHTS];
    double weights = 2.0 * ACTOR * plan.replicas;
    bool discards = scenario->rollout.sleeping_weights == SCENARIO_SLEEPING_DISCARDED;
    bool there = fabs(gpus + host - weights) <= 64.0;
    ck_assert_msg(there || (gpus + host == 0.0 && discards && plan.pool_count == 1),
                  "%s: the engine has %.0f + %.0f, not %.0f", text, gpus, host, weights);
}

static bool same_as(int gpu, size_t step) {
    struct forecast_memory_state expected;
    forecast_memory_at(&plan, step, forecast_place_of(&plan, gpu), 32, &expected);
    for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            if (fabs(held[gpu][owner][category] - expected.gpu[owner][category]) > 1.0)
                return false;
    return true;
}

/* Each GPU is in one phase or other. */
static void check_gpus(const char *text) {
    for (int gpu = 0; gpu < GPUS; gpu++) {
        bool found = same_as(gpu, FORECAST_SAVING);
        for (size_t step = 0; step < plan.step_count && !found; step++)
            found = same_as(gpu, step);
        ck_assert_msg(found, "%s: gpu%d holds what no phase does", text, gpu);
    }
}

static void check_instant(const char *text) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        check_role(role, text);
    check_engine(text);
    check_gpus(text);
}

/* ---- memory.csv ------------------------------------------------------------------------------ */

static int index_of(const char *name, const char *(*name_of)(uint32_t), int count) {
    int index = 0;
    while (index < count && strcmp(name_of((uint32_t)index), name) != 0)
        index++;
    ck_assert_msg(index < count, "unknown: %s", name);
    return index;
}

/* Returns the number of instants. */
static int add_up(const char *path, const char *seed) {
    char line[256], device[32], owner[32], category[32], text[96];
    double time, before = 0.0, bytes;
    int instants = 0;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    memset(held, 0, sizeof held);
    while (fgets(line, sizeof line, file) != NULL) {
        ck_assert_int_eq(
            sscanf(line, "%lf,%31[^,],%31[^,],%31[^,],%lf", &time, device, owner, category, &bytes),
            5);
        if (time > before) {
            snprintf(text, sizeof text, "%s, until %.3f s", seed, time);
            check_instant(text);
            instants++;
        }
        before = time;
        int index = strncmp(device, "gpu", 3) == 0 ? atoi(device + 3) : HOST;
        held[index][index_of(owner, forecast_owner_name, FORECAST_OWNER_COUNT)]
            [index_of(category, forecast_category_name, FORECAST_CATEGORY_COUNT)] = bytes;
    }
    fclose(file);
    check_instant("the end");
    return instants + 1;
}

static void remove_folder(const char *folder) {
    char path[512];
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (directory != NULL)
        closedir(directory);
    (void)rmdir(folder);
}

START_TEST(nothing_is_lost_and_nothing_is_left) {
    char folder[] = "/tmp/rlhfsim-memory-XXXXXX", path[64], seed[48];
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct settings settings;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    state = (uint64_t)_i + 1;
    random_settings(&settings);
    snprintf(seed, sizeof seed, "seed %d", _i + 1);
    scenario = testing_scenario(PPO, settings.list);
    forecast_plan_make(scenario, &plan);
    const struct rlhfsim_forecast_options options = {
        .replicates = 1, .ignore_memory = true, .skip_limit = true, .output_directory = folder};
    struct rlhfsim_forecast *forecast;
    ck_assert_int_eq(rlhfsim_forecast_run(scenario, &options, diagnostics, &forecast), RLHFSIM_OK);
    rlhfsim_forecast_free(forecast);
    snprintf(path, sizeof path, "%s/memory.csv", folder);
    ck_assert_int_gt(add_up(path, seed), 4);
    remove_folder(folder);
    rlhfsim_scenario_free(scenario);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("forecast.conservation");
    TCase *tests = tcase_create("conservation");
    tcase_add_loop_test(tests, nothing_is_lost_and_nothing_is_left, 0, ROUNDS);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(suite)
