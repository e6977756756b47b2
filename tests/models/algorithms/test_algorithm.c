/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/algorithms/algorithm.h"
#include "tests/testing.h"

#include <stdio.h>
#include <string.h>

/* Spelt out by hand from the contract of the result files. */
START_TEST(phases_have_the_names_of_the_result_files) {
    static const char *const names[] = {"rollout",       "transition",        "reward",
                                        "actor_logprob", "reference_logprob", "values",
                                        "critic_update", "actor_update",      "weight_sync",
                                        "checkpoint",    "validation",        "load"};
    ck_assert_int_eq(ALGORITHM_PHASE_COUNT, 12);
    for (int i = 0; i < ALGORITHM_PHASE_COUNT; i++)
        ck_assert_str_eq(algorithm_phase_name((enum algorithm_phase)i), names[i]);
    static const char *const roles[] = {"actor", "critic", "reward", "reference"};
    ck_assert_int_eq(ALGORITHM_ROLE_COUNT, 4);
    for (int i = 0; i < ALGORITHM_ROLE_COUNT; i++)
        ck_assert_str_eq(algorithm_role_name((enum algorithm_role)i), roles[i]);
}
END_TEST

START_TEST(algorithms_are_found_by_name) {
    static const char *const names[] = {"ppo",
                                        "grpo",
                                        "dr_grpo",
                                        "gspo",
                                        "dapo",
                                        "rloo",
                                        "reinforce_plus_plus",
                                        "reinforce_plus_plus_baseline",
                                        "remax",
                                        "rejection_sampling",
                                        "online_dpo",
                                        "dpo",
                                        "ipo",
                                        "kto",
                                        "cpo",
                                        "simpo",
                                        "orpo",
                                        "sft",
                                        "reward_model"};
    const size_t count = sizeof names / sizeof names[0];
    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_nonnull(algorithm_at(i));
        ck_assert_str_eq(algorithm_at(i)->name, names[i]);
        ck_assert_ptr_eq(algorithm_find(names[i]), algorithm_at(i));
        ck_assert(strlen(algorithm_at(i)->meaning) > 0);
    }
    ck_assert_ptr_null(algorithm_at(count));
    ck_assert_ptr_null(algorithm_find("PPO"));
    ck_assert_ptr_null(algorithm_find(""));
}
END_TEST

/* A step as one word, "phase:work:role?condition", in an order that is written out below. */
static void assert_steps(const char *name, const char *const *expected, size_t count) {
    static const char *const works[] = {
        [ALGORITHM_WORK_GENERATE] = "generate", [ALGORITHM_WORK_GREEDY] = "greedy",
        [ALGORITHM_WORK_WAKE] = "wake",         [ALGORITHM_WORK_SLEEP] = "sleep",
        [ALGORITHM_WORK_SCORE] = "score",       [ALGORITHM_WORK_FORWARD] = "forward",
        [ALGORITHM_WORK_UPDATE] = "update",     [ALGORITHM_WORK_SYNC] = "sync"};
    static const char *const conditions[] = {[ALGORITHM_ALWAYS] = "",
                                             [ALGORITHM_IF_KL] = "?kl",
                                             [ALGORITHM_IF_REFERENCE_EVERY_STEP] = "?every_step",
                                             [ALGORITHM_IF_OLD_LOGPROBS] = "?old",
                                             [ALGORITHM_IF_LATER_ROUND] = "?later"};
    const struct algorithm_type *type = algorithm_find(name);
    ck_assert_ptr_nonnull(type);
    ck_assert_uint_eq(type->step_count, count);
    for (size_t i = 0; i < count; i++) {
        const struct algorithm_step *step = &type->steps[i];
        char word[128];
        snprintf(word, sizeof(word), "%s:%s:%s%s", algorithm_phase_name(step->phase),
                 works[step->work], algorithm_role_name(step->role), conditions[step->condition]);
        ck_assert_str_eq(word, expected[i]);
    }
}

/* verl: generate, sleep, reward, log-probs, reference, values, critic, actor, sync with wake-up. */
START_TEST(ppo_in_verls_order) {
    static const char *const steps[] = {
        "rollout:generate:actor",
        "transition:sleep:actor",
        "reward:score:reward",
        "actor_logprob:forward:actor?old",
        "reference_logprob:forward:reference?kl",
        "values:forward:critic",
        "critic_update:update:critic",
        "actor_update:update:actor",
        "weight_sync:sync:actor",
        "transition:wake:actor",
    };
    assert_steps("ppo", steps, sizeof(steps) / sizeof(*steps));
}
END_TEST

START_TEST(grpo_is_ppo_without_the_critic) {
    const struct algorithm_type *ppo = algorithm_find("ppo"), *grpo = algorithm_find("grpo");
    size_t next = 0;
    for (size_t i = 0; i < ppo->step_count; i++) {
        if (ppo->steps[i].role == ALGORITHM_ROLE_CRITIC)
            continue;
        ck_assert_uint_lt(next, grpo->step_count);
        ck_assert_int_eq(grpo->steps[next].phase, ppo->steps[i].phase);
        ck_assert_int_eq(grpo->steps[next].work, ppo->steps[i].work);
        ck_assert_int_eq(grpo->steps[next].role, ppo->steps[i].role);
        ck_assert_int_eq(grpo->steps[next].condition, ppo->steps[i].condition);
        next++;
    }
    ck_assert_uint_eq(next, grpo->step_count);
    ck_assert_uint_eq(next, 8);
    ck_assert_int_eq(grpo->min_samples_per_prompt, 2);
    ck_assert_int_eq(grpo->needs[ALGORITHM_ROLE_CRITIC], ALGORITHM_FORBIDDEN);
    ck_assert_int_eq(grpo->needs[ALGORITHM_ROLE_REWARD], ALGORITHM_OPTIONAL);
}
END_TEST

START_TEST(dpo_has_a_reference_pass_and_an_update) {
    static const char *const steps[] = {"reference_logprob:forward:reference?every_step",
                                        "actor_update:update:actor"};
    assert_steps("dpo", steps, sizeof(steps) / sizeof(*steps));
    const struct algorithm_type *dpo = algorithm_find("dpo");
    ck_assert(!dpo->has_rollout);
    ck_assert_int_eq(dpo->sequences_per_sample, 2);
    ck_assert_int_eq(dpo->needs[ALGORITHM_ROLE_CRITIC], ALGORITHM_FORBIDDEN);
    ck_assert_int_eq(dpo->needs[ALGORITHM_ROLE_REWARD], ALGORITHM_FORBIDDEN);
}
END_TEST

static size_t count_work(const struct algorithm_type *type, enum algorithm_work work) {
    size_t count = 0;
    for (size_t i = 0; i < type->step_count; i++)
        count += type->steps[i].work == work;
    return count;
}

/* What must hold of any algorithm, those to come included. */
START_TEST(every_table_is_consistent) {
    for (size_t i = 0; algorithm_at(i) != NULL; i++) {
        const struct algorithm_type *type = algorithm_at(i);
        ck_assert_uint_ge(count_work(type, ALGORITHM_WORK_UPDATE), 1);
        /* A rollout and only a rollout needs an engine: it sleeps, wakes and gets weights. */
        size_t rollouts = type->has_rollout ? 1 : 0;
        ck_assert_uint_eq(count_work(type, ALGORITHM_WORK_GENERATE), rollouts);
        ck_assert_uint_eq(count_work(type, ALGORITHM_WORK_SYNC), rollouts);
        ck_assert_uint_eq(count_work(type, ALGORITHM_WORK_SLEEP), rollouts);
        /* Rounds of rollouts wake the engine again. */
        ck_assert_uint_eq(count_work(type, ALGORITHM_WORK_WAKE),
                          type->selection == ALGORITHM_SELECT_MIXED ? 2 * rollouts : rollouts);
        ck_assert_int_ge(type->sequences_per_sample, 1);
        ck_assert_int_ge(type->min_samples_per_prompt, 1);
        ck_assert_int_eq(type->needs[ALGORITHM_ROLE_ACTOR], ALGORITHM_REQUIRED);
        /* A role that works may be named; one that never works may not. */
        bool works[ALGORITHM_ROLE_COUNT] = {false};
        for (size_t j = 0; j < type->step_count; j++)
            works[type->steps[j].role] = true;
        for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
            ck_assert(works[role] == (type->needs[role] != ALGORITHM_FORBIDDEN));
        /* Checkpoints and validation belong to the run, not to the algorithm. */
        for (size_t j = 0; j < type->step_count; j++)
            ck_assert(type->steps[j].phase != ALGORITHM_PHASE_CHECKPOINT &&
                      type->steps[j].phase != ALGORITHM_PHASE_VALIDATION);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("algorithms");
    TCase *tests = tcase_create("tables");
    tcase_add_test(tests, phases_have_the_names_of_the_result_files);
    tcase_add_test(tests, algorithms_are_found_by_name);
    tcase_add_test(tests, ppo_in_verls_order);
    tcase_add_test(tests, grpo_is_ppo_without_the_critic);
    tcase_add_test(tests, dpo_has_a_reference_pass_and_an_update);
    tcase_add_test(tests, every_table_is_consistent);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
