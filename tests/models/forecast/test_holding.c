/* SPDX-License-Identifier: GPL-3.0-or-later */

/* What software holds beside the trainer's steps, by owner and category: the engine's share of a
 * GPU, its weights while it sleeps, its cache while it wakes, models while they are loaded.
 * Llama-2-7b on 8 A100: 6,738,415,616 parameters with a vocabulary, 6,607,347,712 with a column. */

#include "models/forecast/footprint.h"
#include "models/forecast/planning.h"
#include "tests/scenarios.h"
#include "tests/testing.h"

#include <rlhfsim/rlhfsim.h>

#include <string.h>

#define PPO "scenarios/ppo-llama2-7b-8xa100.yaml"
#define DPO "scenarios/dpo-llama2-7b-8xa100.yaml"

#define ACTOR 6738415616.0
#define CRITIC 6607347712.0
#define GIB 1073741824.0

static struct rlhfsim_scenario *scenario;
static struct forecast_plan plan;

static void plan_with(const char *path, const char *const *sets) {
    rlhfsim_scenario_free(scenario);
    scenario = testing_scenario(path, sets);
    forecast_plan_make(scenario, &plan);
}

static void teardown(void) {
    rlhfsim_scenario_free(scenario);
    scenario = NULL;
}

static size_t step_of(enum algorithm_work work) {
    for (size_t i = 0; i < plan.step_count; i++)
        if (plan.steps[i].work == work)
            return i;
    ck_abort_msg("no such work");
    return 0;
}

static double on_gpu(enum algorithm_work work, enum forecast_category category) {
    return plan.memory[step_of(work)].gpu[FORECAST_OWNER_ENGINE][category];
}

static double engine_on_host(enum algorithm_work work) {
    struct forecast_memory_state host;
    forecast_host_at(&plan, step_of(work), 0, &host);
    return host.host[FORECAST_OWNER_ENGINE][FORECAST_CATEGORY_WEIGHTS];
}

static double gpu_sum(size_t step) {
    double sum = 0.0;
    for (int owner = 0; owner < FORECAST_OWNER_COUNT; owner++)
        for (int category = 0; category < FORECAST_CATEGORY_COUNT; category++)
            sum += plan.memory[step].gpu[owner][category];
    return sum;
}

static void refused(const char *path, const char *const *sets, const char *text) {
    struct rlhfsim_scenario_options options = {.catalog_directory = "scenarios/catalog",
                                               .sets = sets};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *none = NULL;
    while (sets[options.set_count] != NULL)
        options.set_count++;
    ck_assert_int_eq(rlhfsim_scenario_load(path, &options, diagnostics, &none), RLHFSIM_INVALID);
    const char *message = rlhfsim_diagnostics_get(diagnostics, 0)->message;
    ck_assert_msg(strstr(message, text) != NULL, "'%s' is not in '%s'", text, message);
    rlhfsim_diagnostics_free(diagnostics);
}

/* ---- the engine's share -----------------------------------------------------------------------
 */

/* A token has 2 x 32 x 4,096 elements of 2 bytes in the cache: 524,288. vLLM's half of 79.15 GiB
 * has weights and graphs in it. SGLang's is half of what is free: of the four models' shards (2
 * bytes a parameter, and 4 of the two trained ones) and the trainer's context the rest, with the
 * weights in it and the graphs beside. */
START_TEST(share_of_all_or_of_what_is_free) {
    static const char *const none[] = {NULL};
    static const char *const sglang[] = {"rollout.engine=sglang", NULL};
    plan_with(PPO, none);
    double capacity = scenario->cluster.gpu.memory_bytes;
    double residue = scenario->framework.engine_residue_bytes;
    double context = scenario->framework.context_bytes;
    double room = 0.5 * capacity - 2.0 * ACTOR - residue;
    ck_assert_int_eq(plan.generation.kv_blocks, (int64_t)(room / (16.0 * 524288.0)));
    plan_with(PPO, sglang);
    double trainer = (2.0 * 2.0 * (ACTOR + CRITIC) + 4.0 * (ACTOR + CRITIC)) / 8.0 + context;
    room = 0.5 * (capacity - trainer) - 2.0 * ACTOR;
    ck_assert_int_eq(plan.generation.kv_blocks, (int64_t)(room / 524288.0));
    /* Said, an engine does as another. */
    static const char *const said[] = {"rollout.memory_fraction_of=free", NULL};
    plan_with(PPO, said);
    ck_assert_int_eq(plan.generation.kv_blocks, (int64_t)(room / (16.0 * 524288.0)));
}
END_TEST

/* On GPUs of its own all is free: then only the graphs make a difference. */
START_TEST(all_is_free_on_gpus_of_its_own) {
    static const char *const split[] = {"placement.mode=split",          "placement.train_gpus=4",
                                        "placement.rollout_gpus=4",      "rollout.engine=sglang",
                                        "rollout.weight_sync=verl-nccl", NULL};
    plan_with(PPO, split);
    double room = 0.5 * scenario->cluster.gpu.memory_bytes - 2.0 * ACTOR;
    ck_assert_int_eq(plan.generation.kv_blocks, (int64_t)(room / 524288.0));
}
END_TEST

/* ---- asleep -----------------------------------------------------------------------------------
 */

/* Level 1 of vLLM's sleep mode: 8 replicas' weights wait in their node's memory, in every phase in
 * which they are not on the GPUs, and nowhere twice; discarded ones are nowhere. */
START_TEST(weights_of_a_sleeping_engine) {
    static const char *const host[] = {"rollout.sleeping_weights=host", NULL};
    static const char *const framework[] = {"framework=openrlhf", NULL};
    static const char *const gone[] = {NULL};
    const char *const *const sets[] = {host, framework, gone};
    for (size_t i = 0; i < 3; i++) {
        plan_with(PPO, sets[i]);
        for (size_t step = 0; step < plan.step_count; step++) {
            enum algorithm_work work = plan.steps[step].work;
            bool trains = work == ALGORITHM_WORK_FORWARD || work == ALGORITHM_WORK_UPDATE ||
                          work == ALGORITHM_WORK_SCORE;
            ck_assert_double_eq(on_gpu(work, FORECAST_CATEGORY_WEIGHTS),
                                trains ? 0.0 : 2.0 * ACTOR);
            ck_assert_double_eq(engine_on_host(work), trains && i < 2 ? 8.0 * 2.0 * ACTOR : 0.0);
            ck_assert_double_eq(on_gpu(work, FORECAST_CATEGORY_RESIDUE), 1.5 * GIB);
        }
    }
}
END_TEST

/* Where only adapters are sent, what they belong to cannot be discarded. */
START_TEST(weights_that_must_stay) {
    static const char *const adapters[] = {"models.actor.lora_rank=16",
                                           "rollout.weight_sync=lora-adapters", NULL};
    static const char *const lost[] = {"models.actor.lora_rank=16",
                                       "rollout.weight_sync=lora-adapters",
                                       "rollout.sleeping_weights=discarded", NULL};
    plan_with(PPO, adapters);
    ck_assert_int_eq(scenario->rollout.sleeping_weights, SCENARIO_SLEEPING_HOST);
    ck_assert_double_eq(engine_on_host(ALGORITHM_WORK_UPDATE), 8.0 * 2.0 * ACTOR);
    refused(PPO, lost, "rollout.sleeping_weights is discarded, but a weight sync (adapters_only)");
}
END_TEST

START_TEST(an_engine_that_never_sleeps) {
    static const char *const keys[] = {"rollout.sleeping_weights=host", "rollout.wake=whole"};
    for (size_t i = 0; i < 2; i++) {
        const char *const sets[] = {"placement.mode=split",
                                    "placement.train_gpus=4",
                                    "placement.rollout_gpus=4",
                                    "rollout.weight_sync=verl-nccl",
                                    keys[i],
                                    NULL};
        refused(PPO, sets, "is not used: the engine has GPUs of its own");
    }
}
END_TEST

/* ---- awake ------------------------------------------------------------------------------------
 */

/* Woken whole, the cache is there while the trainer still gathers new weights: the fullest instant
 * of all, by what is gathered (two blocks and the allocator's share on them) above the rollout. In
 * two stages it never is; NVIDIA-NeMo/RL issue 191 was that difference. */
START_TEST(woken_before_the_trainer_has_let_go) {
    static const char *const staged[] = {"rollout.wake=staged", NULL};
    static const char *const whole[] = {"rollout.wake=whole", NULL};
    plan_with(PPO, staged);
    double rollout = gpu_sum(step_of(ALGORITHM_WORK_GENERATE));
    ck_assert_double_eq(on_gpu(ALGORITHM_WORK_SYNC, FORECAST_CATEGORY_KV_CACHE), 0.0);
    ck_assert_double_lt(gpu_sum(step_of(ALGORITHM_WORK_SYNC)), rollout);
    plan_with(PPO, whole);
    double layer = 4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0 + 2.0 * 4096.0;
    double gathered = 2.0 * 2.0 * layer * (1.0 + scenario->framework.fragmentation_fraction);
    assert_relative(gpu_sum(step_of(ALGORITHM_WORK_SYNC)), rollout + gathered, 1e-9);
    ck_assert_uint_eq(forecast_gpu_peak(&plan).step, step_of(ALGORITHM_WORK_SYNC));
    /* A GPU between the two. */
    scenario->cluster.gpu.memory_bytes = rollout + 0.5 * gathered;
    double capacity = scenario->cluster.gpu.memory_bytes;
    ck_assert_double_gt(forecast_gpu_peak(&plan).bytes, capacity);
    ck_assert(!forecast_plan_fits(&plan));
}
END_TEST

/* ---- while models are loaded ------------------------------------------------------------------
 */

static double loading_peak(void) {
    struct forecast_memory_state host;
    double sum = 0.0;
    forecast_host_at(&plan, FORECAST_LOADING, 0, &host);
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        sum += host.host[role][FORECAST_CATEGORY_LOADING];
    return sum;
}

/* One model after the other, so never two copies of a rank: TRL's first rank has 13.5 GB, eight
 * ranks 108 GB; who reads parts has nothing. verl's first rank reads what is trained in fp32. */
START_TEST(copies_while_loading) {
    static const char *const first[] = {NULL};
    static const char *const every[] = {"training.load=every_rank", NULL};
    static const char *const parts[] = {"training.load=sharded", NULL};
    plan_with(DPO, first);
    ck_assert_int_eq(scenario->training.load, SCENARIO_RANK_LOAD_FIRST);
    assert_relative(loading_peak(), 2.0 * ACTOR, 1e-12);
    plan_with(DPO, every);
    assert_relative(loading_peak(), 8.0 * 2.0 * ACTOR, 1e-12);
    plan_with(DPO, parts);
    ck_assert_double_eq(loading_peak(), 0.0);
    ck_assert_uint_eq(forecast_memory_instants(&plan), plan.step_count + 1); /* and it saves */
    plan_with(PPO, first);
    assert_relative(loading_peak(), 4.0 * ACTOR, 1e-12);
}
END_TEST

/* What the ranks of several nodes load: the first node has the first rank's copy, the others none;
 * of all ranks each node its own. */
START_TEST(copies_by_node) {
    static const char *const first[] = {"cluster.nodes=2", "training.load=first_rank", NULL};
    static const char *const every[] = {"cluster.nodes=2", "training.load=every_rank", NULL};
    plan_with(PPO, first);
    assert_relative(forecast_host_bytes(&plan, FORECAST_LOADING, 0), 4.0 * ACTOR, 1e-12);
    ck_assert_double_eq(forecast_host_bytes(&plan, FORECAST_LOADING, 1), 0.0);
    plan_with(PPO, every);
    for (int node = 0; node < 2; node++)
        assert_relative(forecast_host_bytes(&plan, FORECAST_LOADING, node), 8.0 * 4.0 * ACTOR,
                        1e-12);
}
END_TEST

/* A model that is offloaded is on the host while the next one is loaded: the actor's 2 bytes of
 * every parameter, then a copy of the critic, then the reward model and the reference. */
START_TEST(copies_beside_what_is_offloaded) {
    static const char *const sets[] = {"training.offload=parameters", "training.load=every_rank",
                                       NULL};
    plan_with(PPO, sets);
    double host = forecast_host_bytes(&plan, FORECAST_LOADING, 0);
    assert_relative(host, 2.0 * ACTOR + 8.0 * 4.0 * CRITIC, 1e-12);
}
END_TEST

/* Eight copies of 70B do not fit a terabyte: the verdict names the phase and who holds it. */
START_TEST(a_host_that_is_full_while_loading) {
    static const char *const sets[] = {"training.load=every_rank", NULL};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_forecast *forecast;
    struct rlhfsim_value phase, device, peak;
    struct rlhfsim_memory_row row;
    plan_with("scenarios/dpo-lora-llama2-70b-8xa100.yaml", sets);
    scenario->cluster.node.host_memory_bytes = 1e12;
    ck_assert_int_eq(rlhfsim_forecast_check(scenario, diagnostics, &forecast), RLHFSIM_INFEASIBLE);
    const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
    ck_assert(rlhfsim_summary_get(summary, "memory.phase", &phase));
    ck_assert(rlhfsim_summary_get(summary, "memory.device", &device));
    ck_assert(rlhfsim_summary_get(summary, "memory.peak_bytes", &peak));
    ck_assert_str_eq(phase.text, "load");
    ck_assert_str_eq(device.text, "node0/host");
    assert_relative(peak.p50, 8.0 * 2.0 * 68976648192.0, 1e-2); /* and its adapters */
    ck_assert(rlhfsim_forecast_memory_row(forecast, 0, &row));
    ck_assert_str_eq(row.category, "loading");
    assert_relative(row.bytes, peak.p50, 1e-12);
    rlhfsim_forecast_free(forecast);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

/* ---- while a checkpoint is saved ---------------------------------------------------------------
 */

static double staged(size_t instant) {
    struct forecast_memory_state host;
    forecast_host_at(&plan, instant, 0, &host);
    return host.host[FORECAST_OWNER_SYSTEM][FORECAST_CATEGORY_STAGING];
}

/* 14 bytes a trained parameter go through the host while the run waits, and at no other time; the
 * 12 of an optimizer that is there already do not go anywhere. Behind the run, a copy of all is
 * there in every phase. */
START_TEST(copies_of_a_checkpoint) {
    static const char *const here[] = {"checkpoint.mode=synchronous", NULL};
    static const char *const away[] = {"training.offload=optimizer", NULL};
    static const char *const behind[] = {"training.offload=optimizer",
                                         "checkpoint.mode=asynchronous", NULL};
    const char *const *const sets[] = {here, away, behind};
    const double bytes[] = {14.0, 2.0, 14.0};
    for (size_t i = 0; i < 3; i++) {
        plan_with(PPO, sets[i]);
        assert_relative(staged(FORECAST_SAVING), bytes[i] * (ACTOR + CRITIC), 1e-9);
        for (size_t step = 0; step < plan.step_count; step++)
            assert_relative(1.0 + staged(step), 1.0 + (i == 2 ? staged(FORECAST_SAVING) : 0.0),
                            1e-12);
    }
    plan_with(PPO, away);
    assert_relative(forecast_host_peak(&plan).bytes, 14.0 * (ACTOR + CRITIC), 1e-9);
    ck_assert_int_eq(forecast_memory_phase(&plan, forecast_host_peak(&plan).step),
                     ALGORITHM_PHASE_CHECKPOINT);
}
END_TEST

/* ---- near the limit of a host ------------------------------------------------------------------
 */

/* Of the host as of a GPU: within 5 % no yes, but how likely it is; who holds it is told. */
START_TEST(a_host_that_is_nearly_full) {
    static const char *const none[] = {NULL};
    static const double shares[] = {0.90, 0.97, 1.03, 1.10};
    static const char *const words[] = {"fits", "marginal", "marginal", "does not fit"};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    plan_with(PPO, none);
    double peak = forecast_host_peak(&plan).bytes, spread = scenario->training.memory_spread;
    scenario->cluster.gpu.memory_bytes = 10.0 * forecast_gpu_peak(&plan).bytes;
    for (size_t i = 0; i < 4; i++) {
        struct rlhfsim_forecast *forecast;
        struct rlhfsim_value verdict, device, chance;
        scenario->cluster.node.host_memory_bytes = peak / shares[i];
        scenario->rollout.memory_fraction = 0.05; /* of ten times the memory */
        enum rlhfsim_status status = rlhfsim_forecast_check(scenario, diagnostics, &forecast);
        ck_assert_int_eq(status, shares[i] <= 1.0 ? RLHFSIM_OK : RLHFSIM_INFEASIBLE);
        const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
        ck_assert(rlhfsim_summary_get(summary, "memory.verdict", &verdict));
        ck_assert(rlhfsim_summary_get(summary, "memory.device", &device));
        ck_assert(rlhfsim_summary_get(summary, "memory.fit_probability", &chance));
        ck_assert_str_eq(verdict.text, words[i]);
        ck_assert_str_eq(device.text, i == 0 ? "gpu0" : "node0/host");
        double room = -log(shares[i]) / spread;
        assert_relative(chance.p50, 0.5 * (1.0 + erf(room / sqrt(2.0))), 1e-9);
        rlhfsim_forecast_free(forecast);
    }
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

/* A host of unknown memory limits nothing. */
START_TEST(a_host_that_is_not_known) {
    static const char *const none[] = {"training.offload=optimizer", NULL};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_forecast *forecast;
    struct rlhfsim_value device, chance;
    plan_with(PPO, none);
    scenario->cluster.node.host_memory_bytes = 0.0;
    ck_assert(forecast_plan_fits(&plan));
    ck_assert_int_eq(rlhfsim_forecast_check(scenario, diagnostics, &forecast), RLHFSIM_OK);
    const struct rlhfsim_summary *summary = rlhfsim_forecast_summary(forecast);
    ck_assert(rlhfsim_summary_get(summary, "memory.device", &device));
    ck_assert(rlhfsim_summary_get(summary, "memory.fit_probability", &chance));
    ck_assert_str_eq(device.text, "gpu0");
    ck_assert_double_gt(chance.p50, 0.99);
    rlhfsim_forecast_free(forecast);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("forecast.holding");
    TCase *tests = tcase_create("holding");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, share_of_all_or_of_what_is_free);
    tcase_add_test(tests, all_is_free_on_gpus_of_its_own);
    tcase_add_test(tests, weights_of_a_sleeping_engine);
    tcase_add_test(tests, weights_that_must_stay);
    tcase_add_test(tests, an_engine_that_never_sleeps);
    tcase_add_test(tests, woken_before_the_trainer_has_let_go);
    tcase_add_test(tests, copies_while_loading);
    tcase_add_test(tests, copies_by_node);
    tcase_add_test(tests, copies_beside_what_is_offloaded);
    tcase_add_test(tests, a_host_that_is_full_while_loading);
    tcase_add_test(tests, copies_of_a_checkpoint);
    tcase_add_test(tests, a_host_that_is_nearly_full);
    tcase_add_test(tests, a_host_that_is_not_known);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(suite)
