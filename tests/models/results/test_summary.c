/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/results/summary.h"

#include "tests/testing.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- quantiles -------------------------------------------------------------------------------*/

/* Type 7 by hand: of n sorted values the quantile p is at place (n - 1) p, counted from 0.
 * n = 5: places 0.4, 2, 3.6 of {2, 3, 5, 7, 11}: 2 + 0.4 x 1, 5, 7 + 0.6 x 4.
 * n = 2: places 0.1, 0.5, 0.9 of {10, 20}. */
START_TEST(quantiles_of_few) {
    double five[] = {7.0, 11.0, 2.0, 5.0, 3.0};
    struct results_figure figure = results_figure_of(five, 5);
    ck_assert(figure.known);
    assert_relative(figure.p10, 2.4, 1e-15);
    assert_relative(figure.p50, 5.0, 0.0);
    assert_relative(figure.p90, 9.4, 1e-15);
    double two[] = {20.0, 10.0};
    figure = results_figure_of(two, 2);
    assert_relative(figure.p10, 11.0, 1e-15);
    assert_relative(figure.p50, 15.0, 1e-15);
    assert_relative(figure.p90, 19.0, 1e-15);
}
END_TEST

/* Of 0, 1, ..., 100 the quantile p is 100 p: places are whole numbers. */
START_TEST(quantiles_of_101) {
    double values[101];
    for (int i = 0; i <= 100; i++)
        values[i] = (double)((i * 37) % 101); /* 37 and 101 have no common factor: all, shuffled */
    struct results_figure figure = results_figure_of(values, 101);
    assert_relative(figure.p10, 10.0, 1e-14);
    assert_relative(figure.p50, 50.0, 1e-14);
    assert_relative(figure.p90, 90.0, 1e-14);
}
END_TEST

/* Where nothing is random the three are exactly equal, whatever the value. */
START_TEST(quantiles_of_equals) {
    double values[] = {0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2};
    for (size_t n = 1; n <= 4; n++) {
        struct results_figure figure = results_figure_of(values, n);
        ck_assert(figure.p10 == 0.1 + 0.2 && figure.p50 == 0.1 + 0.2 && figure.p90 == 0.1 + 0.2);
    }
    struct results_figure figure = results_figure_exact(1.0 / 3.0);
    ck_assert(figure.known && figure.p10 == 1.0 / 3.0);
    ck_assert(figure.p50 == 1.0 / 3.0 && figure.p90 == 1.0 / 3.0);
}
END_TEST

/* ---- a summary in which every figure is another one ------------------------------------------*/

static struct results_figure next_figure(double *value) {
    *value += 1.0 / 7.0;
    return (struct results_figure){true, *value, *value + 0.01, *value + 0.1};
}

static void fill_full_memory(struct rlhfsim_summary *summary, double *value) {
    summary->memory.known = summary->memory.fits = true;
    summary->memory.peak_bytes = next_figure(value);
    summary->memory.capacity_bytes = 85899345920.0;
    strcpy(summary->memory.phase, "actor_update");
    strcpy(summary->memory.device, "gpu0");
    summary->memory.host_peak_bytes = next_figure(value);
    strcpy(summary->memory.verdict, "fits");
    summary->memory.fit_probability = results_figure_exact(1.0);
}

static void fill_full(struct rlhfsim_summary *summary) {
    double value = 0.0;
    *summary = (struct rlhfsim_summary){.name = "a \"quoted\" name, \xc3\xa9"};
    summary->time.total_s = next_figure(&value);
    summary->time.step_s = next_figure(&value);
    for (size_t i = 0; i < ALGORITHM_PHASE_COUNT; i++)
        summary->time.phases_s[i] = next_figure(&value);
    summary->time.offload_s = next_figure(&value);
    summary->steps.rollout = 517;
    summary->steps.optimizer = 8272;
    summary->throughput.tokens_per_s_per_gpu = next_figure(&value);
    summary->throughput.samples_per_s = next_figure(&value);
    summary->throughput.mfu_training = next_figure(&value);
    summary->throughput.mfu_overall = next_figure(&value);
    summary->rollout.mean_response_tokens = next_figure(&value);
    summary->rollout.p99_response_tokens = next_figure(&value);
    summary->rollout.share_cut = next_figure(&value);
    summary->rollout.tail_idle_s = next_figure(&value);
    summary->rollout.p50_response_tokens = next_figure(&value);
    summary->rollout.p90_response_tokens = next_figure(&value);
    summary->rollout.max_response_tokens = next_figure(&value);
    summary->rollout.useless_tokens = next_figure(&value);
    summary->rollout.tail_floor_s = next_figure(&value);
    summary->rollout.rounds = next_figure(&value);
    summary->rollout.wasted_share = next_figure(&value);
    summary->rollout.exhausted_share = next_figure(&value);
    summary->staleness.mean_versions = next_figure(&value);
    summary->staleness.share_count = 2;
    summary->staleness.shares[0] = (struct results_stale_share){0, next_figure(&value)};
    summary->staleness.shares[1] = (struct results_stale_share){3, next_figure(&value)};
    fill_full_memory(summary, &value);
    summary->cost.total_usd = next_figure(&value);
    results_summary_add_item(summary, "accelerators", next_figure(&value));
    results_summary_add_item(summary, "logs", next_figure(&value));
    summary->cost.formula_usd = next_figure(&value);
    summary->gpu_hours = next_figure(&value);
    summary->idle_fraction = next_figure(&value);
    summary->pool_count = 2;
    summary->pools[0] =
        (struct results_pool){"train", 24, next_figure(&value), next_figure(&value)};
    summary->pools[1] =
        (struct results_pool){"rollout", 8, next_figure(&value), next_figure(&value)};
    summary->compute.total_flops = next_figure(&value);
    summary->compute.pretraining_fraction = next_figure(&value);
    strcpy(summary->limit.resource, "hbm_bandwidth");
    summary->limit.gain_fraction = next_figure(&value);
    summary->scaling.faster_fraction = next_figure(&value);
    summary->scaling.dearer_fraction = next_figure(&value);
    strcpy(summary->scaling.phase, "rollout");
    summary->scaling.phase_share = next_figure(&value);
    summary->scaling.phase_shorter_fraction = next_figure(&value);
    summary->critical_path_count = 2;
    summary->critical_path[0] =
        (struct results_path_share){ALGORITHM_PHASE_ROLLOUT, next_figure(&value)};
    summary->critical_path[1] =
        (struct results_path_share){ALGORITHM_PHASE_ACTOR_UPDATE, next_figure(&value)};
    summary->events = 123456789012;
    summary->band.expected_total_s = next_figure(&value);
    summary->band.expected_step_s = next_figure(&value);
    summary->band.expected_rollout_s = next_figure(&value);
    summary->band.expected_update_s = next_figure(&value);
    summary->band.expected_logprob_s = next_figure(&value);
    strcpy(summary->band.basis, "49 measured steps of 6 sources");
    results_summary_add_provenance(summary, "cluster.gpu", "measured");
    results_summary_add_provenance(summary, "prices", "assumed");
}

/* What an infeasible run knows. */
static void fill_infeasible(struct rlhfsim_summary *summary) {
    *summary = (struct rlhfsim_summary){.name = "too big", .events = -1};
    summary->steps.rollout = 10;
    summary->steps.optimizer = 40;
    summary->memory.known = true;
    summary->memory.peak_bytes = results_figure_exact(9e10);
    summary->memory.capacity_bytes = 8.5e10;
    strcpy(summary->memory.phase, "critic_update");
    strcpy(summary->memory.device, "gpu0");
    summary->memory.host_peak_bytes = results_figure_exact(1e9);
    strcpy(summary->memory.verdict, "does not fit");
    summary->memory.fit_probability = results_figure_exact(0.0);
    results_summary_add_provenance(summary, "cluster.gpu", "measured");
}

static json_t *reread(const struct rlhfsim_summary *summary) {
    json_error_t error;
    char *text = rlhfsim_summary_json(summary);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(object != NULL, "line %d: %s", error.line, error.text);
    free(text);
    return object;
}

/* ---- the contract: all keys, in this order ---------------------------------------------------*/

static const char *const contract[] = {
    "name",
    "time.total_s",
    "time.step_s",
    "time.phases_s.rollout",
    "time.phases_s.transition",
    "time.phases_s.reward",
    "time.phases_s.actor_logprob",
    "time.phases_s.reference_logprob",
    "time.phases_s.values",
    "time.phases_s.critic_update",
    "time.phases_s.actor_update",
    "time.phases_s.weight_sync",
    "time.phases_s.checkpoint",
    "time.phases_s.validation",
    "time.phases_s.load",
    "time.offload_s",
    "steps.rollout",
    "steps.optimizer",
    "throughput.tokens_per_s_per_gpu",
    "throughput.samples_per_s",
    "throughput.mfu_training",
    "throughput.mfu_overall",
    "rollout.mean_response_tokens",
    "rollout.p99_response_tokens",
    "rollout.share_cut",
    "rollout.tail_idle_s",
    "rollout.p50_response_tokens",
    "rollout.p90_response_tokens",
    "rollout.max_response_tokens",
    "rollout.useless_tokens",
    "rollout.tail_floor_s",
    "rollout.rounds",
    "rollout.wasted_share",
    "rollout.exhausted_share",
    "staleness.mean_versions",
    "staleness.distribution.0.versions",
    "staleness.distribution.0.share",
    "staleness.distribution.1.versions",
    "staleness.distribution.1.share",
    "memory.fits",
    "memory.peak_bytes",
    "memory.capacity_bytes",
    "memory.phase",
    "memory.device",
    "memory.host_peak_bytes",
    "memory.verdict",
    "memory.fit_probability",
    "cost.total_usd",
    "cost.items_usd.accelerators",
    "cost.items_usd.logs",
    "cost.formula_usd",
    "gpu_hours",
    "idle_fraction",
    "pools.0.name",
    "pools.0.gpus",
    "pools.0.idle_fraction",
    "pools.0.peak_bytes",
    "pools.1.name",
    "pools.1.gpus",
    "pools.1.idle_fraction",
    "pools.1.peak_bytes",
    "compute.total_flops",
    "compute.pretraining_fraction",
    "limit.resource",
    "limit.gain_fraction",
    "scaling.faster_fraction",
    "scaling.dearer_fraction",
    "scaling.phase",
    "scaling.phase_share",
    "scaling.phase_shorter_fraction",
    "critical_path.0.phase",
    "critical_path.0.share",
    "critical_path.1.phase",
    "critical_path.1.share",
    "events",
    "calibration",
    "band.expected_total_s",
    "band.expected_step_s",
    "band.expected_rollout_s",
    "band.expected_update_s",
    "band.expected_logprob_s",
    "band.basis",
    "provenance.cluster.gpu",
    "provenance.prices",
};
#define CONTRACT_PATHS (sizeof contract / sizeof contract[0])

START_TEST(paths_are_the_contract) {
    struct rlhfsim_summary summary;
    fill_full(&summary);
    for (size_t i = 0; i < CONTRACT_PATHS; i++) {
        ck_assert_ptr_nonnull(rlhfsim_summary_path(&summary, i));
        ck_assert_str_eq(rlhfsim_summary_path(&summary, i), contract[i]);
    }
    ck_assert_ptr_null(rlhfsim_summary_path(&summary, CONTRACT_PATHS));
    ck_assert_ptr_null(rlhfsim_summary_path(&summary, SIZE_MAX));
}
END_TEST

START_TEST(unknown_paths_are_refused) {
    static const char *const wrong[] = {"",
                                        "time",
                                        "time.",
                                        "time.total",
                                        "time.total_s.p50",
                                        "cost.items_usd",
                                        "cost.items_usd.lunch",
                                        "critical_path",
                                        "critical_path.2.phase",
                                        "provenance.cluster"};
    struct rlhfsim_summary summary;
    fill_full(&summary);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct rlhfsim_value value = {.count = 42};
        ck_assert_msg(!rlhfsim_summary_get(&summary, wrong[i], &value), "%s", wrong[i]);
        ck_assert_int_eq(value.count, 42);
    }
}
END_TEST

/* ---- JSON and access by path agree -----------------------------------------------------------*/

/* Follows a path; "N" is an index of an array, and a key may hold dots. */
static json_t *follow(json_t *value, const char *path) {
    char key[96];
    if (json_is_null(value))
        return value; /* a group that is null stands for its members */
    if (json_is_array(value)) {
        char *rest;
        json_t *member = json_array_get(value, strtoul(path, &rest, 10));
        return follow(member, rest + 1);
    }
    json_t *whole = json_object_get(value, path);
    if (whole != NULL || strchr(path, '.') == NULL)
        return whole;
    size_t length = strcspn(path, ".");
    memcpy(key, path, length);
    key[length] = '\0';
    return follow(json_object_get(value, key), path + length + 1);
}

static void assert_member(const json_t *figure, const char *name, double value) {
    ck_assert(json_is_real(json_object_get(figure, name)));
    ck_assert_msg(json_real_value(json_object_get(figure, name)) == value, "%s: not %.17g", name,
                  value);
}

static void assert_same(const json_t *json, const struct rlhfsim_value *value, const char *path) {
    ck_assert_msg(json != NULL, "summary.json lacks %s", path);
    switch (value->kind) {
    case RLHFSIM_VALUE_FIGURE:
        ck_assert_uint_eq(json_object_size(json), 3);
        assert_member(json, "p10", value->p10);
        assert_member(json, "p50", value->p50);
        assert_member(json, "p90", value->p90);
        ck_assert_ptr_nonnull(value->unit);
        break;
    case RLHFSIM_VALUE_NUMBER:
        ck_assert(json_is_real(json) && json_real_value(json) == value->number);
        ck_assert_ptr_nonnull(value->unit);
        break;
    case RLHFSIM_VALUE_COUNT:
        ck_assert(json_is_integer(json));
        ck_assert_int_eq(json_integer_value(json), value->count);
        break;
    case RLHFSIM_VALUE_FLAG:
        ck_assert(json_is_boolean(json) && json_is_true(json) == value->flag);
        break;
    case RLHFSIM_VALUE_TEXT:
        ck_assert_str_eq(json_string_value(json), value->text);
        break;
    case RLHFSIM_VALUE_UNKNOWN:
        ck_assert_msg(json_is_null(json), "%s is not null", path);
    }
}

/* Leaves of the JSON: what is no object or array, or a figure, counts as one. */
static size_t leaf_count(json_t *json) {
    size_t count = 0, i;
    const char *key;
    json_t *member;
    if (json_object_get(json, "p50") != NULL || !(json_is_object(json) || json_is_array(json)))
        return 1;
    json_object_foreach(json, key, member) {
        count += leaf_count(member);
    }
    json_array_foreach(json, i, member) {
        count += leaf_count(member);
    }
    return count;
}

static void assert_json_agrees(const struct rlhfsim_summary *summary) {
    json_t *object = reread(summary);
    size_t i = 0;
    for (const char *path; (path = rlhfsim_summary_path(summary, i)) != NULL; i++) {
        struct rlhfsim_value value;
        ck_assert(rlhfsim_summary_get(summary, path, &value));
        assert_same(follow(object, path), &value, path);
    }
    if (json_is_object(json_object_get(object, "time"))) /* else groups stand for their leaves */
        ck_assert_uint_eq(leaf_count(object), i);
    json_decref(object);
}

START_TEST(json_agrees_with_paths) {
    struct rlhfsim_summary full, infeasible, empty = {.events = -1};
    fill_full(&full);
    fill_infeasible(&infeasible);
    assert_json_agrees(&full);
    assert_json_agrees(&infeasible);
    assert_json_agrees(&empty);
}
END_TEST

START_TEST(values_come_from_their_fields) {
    struct rlhfsim_summary summary;
    struct rlhfsim_value value;
    fill_full(&summary);
    ck_assert(rlhfsim_summary_get(&summary, "time.phases_s.weight_sync", &value));
    ck_assert_int_eq(value.kind, RLHFSIM_VALUE_FIGURE);
    ck_assert(value.p50 == summary.time.phases_s[ALGORITHM_PHASE_WEIGHT_SYNC].p50);
    ck_assert_str_eq(value.unit, "s");
    ck_assert(rlhfsim_summary_get(&summary, "cost.items_usd.logs", &value));
    ck_assert(value.p90 == summary.cost.item_usd[1].p90);
    ck_assert_str_eq(value.unit, "USD");
    ck_assert(rlhfsim_summary_get(&summary, "critical_path.1.phase", &value));
    ck_assert_str_eq(value.text, "actor_update");
    ck_assert(rlhfsim_summary_get(&summary, "events", &value));
    ck_assert_int_eq(value.count, 123456789012);
    ck_assert(rlhfsim_summary_get(&summary, "memory.capacity_bytes", &value));
    ck_assert(value.kind == RLHFSIM_VALUE_NUMBER && value.number == 85899345920.0);
    ck_assert(rlhfsim_summary_get(&summary, "provenance.cluster.gpu", &value));
    ck_assert_str_eq(value.text, "measured");
}
END_TEST

/* Figures of staleness have their unit in their name: versions, or shares of the samples. */
START_TEST(staleness_has_its_unit) {
    int found = 0;
    for (size_t i = 0; i < CONTRACT_PATHS; i++) {
        const char *path = contract[i], *name = strrchr(path, '.');
        if (strstr(path, "stale") == NULL)
            continue;
        ck_assert_msg(name != NULL &&
                          (strcmp(name, ".mean_versions") == 0 || strcmp(name, ".versions") == 0 ||
                           strcmp(name, ".share") == 0),
                      "%s", path);
        found++;
    }
    ck_assert_int_gt(found, 0);
}
END_TEST

/* A run that does not fit: memory stands, time, price and throughput are null, no key is missing.
 */
START_TEST(infeasible_is_null_not_absent) {
    struct rlhfsim_summary summary;
    fill_infeasible(&summary);
    json_t *object = reread(&summary);
    for (size_t i = 0; i < CONTRACT_PATHS; i++) {
        const char *path = contract[i];
        bool known = strncmp(path, "memory.", 7) == 0 || strncmp(path, "steps.", 6) == 0 ||
                     strcmp(path, "name") == 0 || strcmp(path, "provenance.cluster.gpu") == 0;
        if (strncmp(path, "critical_path.", 14) == 0 || strcmp(path, "provenance.prices") == 0 ||
            strncmp(path, "cost.items_usd.", 15) == 0)
            continue; /* members of the other summary's lists */
        ck_assert_msg(follow(object, path) != NULL, "%s is absent", path);
        ck_assert_msg(json_is_null(follow(object, path)) == !known, "%s", path);
    }
    ck_assert(json_is_null(json_object_get(object, "critical_path")));
    ck_assert(json_is_null(json_object_get(object, "time")));
    ck_assert(json_is_null(json_object_get(object, "throughput")));
    ck_assert(json_is_null(json_object_get(object, "cost")));
    ck_assert(json_is_object(json_object_get(object, "rollout")));
    ck_assert(json_is_false(follow(object, "memory.fits")));
    json_decref(object);
}
END_TEST

/* ---- the text --------------------------------------------------------------------------------*/

START_TEST(text_is_stable_and_ordered) {
    struct rlhfsim_summary summary;
    fill_full(&summary);
    char *text = rlhfsim_summary_json(&summary);
    char *again = rlhfsim_summary_json(&summary);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(again);
    ck_assert_str_eq(text, again);
    static const char start[] = "{\n  \"name\": \"a \\\"quoted\\\" name, \xc3\xa9\",\n";
    ck_assert_int_eq(strncmp(text, start, strlen(start)), 0);
    static const char *const order[] = {
        "\"name\"",       "\"time\"",          "\"steps\"",  "\"throughput\"",
        "\"rollout\": {", "\"staleness\"",     "\"memory\"", "\"cost\"",
        "\"gpu_hours\"",  "\"idle_fraction\"", "\"limit\"",  "\"critical_path\"",
        "\"events\"",     "\"calibration\"",   "\"band\"",   "\"provenance\""};
    const char *place = text;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        place = strstr(place, order[i]);
        ck_assert_msg(place != NULL, "%s is not in its place", order[i]);
    }
    free(text);
    free(again);
}
END_TEST

/* A name that was cut within a character is still readable. */
START_TEST(broken_utf8_is_replaced) {
    struct rlhfsim_summary summary = {.name = "caf\xc3", .events = -1};
    json_t *object = reread(&summary);
    ck_assert_str_eq(json_string_value(json_object_get(object, "name")), "caf?");
    json_decref(object);
}
END_TEST

static Suite *summary_suite(void) {
    Suite *suite = suite_create("summary");
    TCase *quantiles = tcase_create("quantiles");
    tcase_add_test(quantiles, quantiles_of_few);
    tcase_add_test(quantiles, quantiles_of_101);
    tcase_add_test(quantiles, quantiles_of_equals);
    suite_add_tcase(suite, quantiles);
    TCase *paths = tcase_create("paths");
    tcase_add_test(paths, paths_are_the_contract);
    tcase_add_test(paths, unknown_paths_are_refused);
    tcase_add_test(paths, values_come_from_their_fields);
    tcase_add_test(paths, staleness_has_its_unit);
    suite_add_tcase(suite, paths);
    TCase *json = tcase_create("json");
    tcase_add_test(json, json_agrees_with_paths);
    tcase_add_test(json, infeasible_is_null_not_absent);
    tcase_add_test(json, text_is_stable_and_ordered);
    tcase_add_test(json, broken_utf8_is_replaced);
    suite_add_tcase(suite, json);
    return suite;
}

TESTING_MAIN(summary_suite)
