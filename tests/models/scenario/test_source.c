/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios made of a source are those that loading gives; the fingerprint notices what changed. */
#include "tests/models/scenario/fixture.h"

#include "models/scenario/scenario.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct fixture fixture;
static struct rlhfsim_diagnostics *diagnostics;

static void setup(void) {
    fixture_open(&fixture);
    fixture_write("s.yaml", fixture_scenario);
    diagnostics = rlhfsim_diagnostics_new();
}

static void teardown(void) {
    rlhfsim_diagnostics_free(diagnostics);
    fixture_close(&fixture);
}

static const struct rlhfsim_scenario_options plain = {.catalog_directory = "."};

static struct rlhfsim_source *read_source(const struct rlhfsim_scenario_options *options) {
    struct rlhfsim_source *source;
    ck_assert_int_eq(rlhfsim_source_read("s.yaml", options, diagnostics, &source), RLHFSIM_OK);
    return source;
}

static uint64_t fingerprint(const struct rlhfsim_scenario_options *options) {
    struct rlhfsim_source *source = read_source(options);
    uint64_t number = rlhfsim_source_fingerprint(source, NULL, 0);
    rlhfsim_source_free(source);
    return number;
}

START_TEST(settings_of_source_and_scenario_add_up) {
    const char *const base[] = {"training.tp=2", "cluster.nodes=2"};
    const char *const more[] = {"cluster.nodes=1", "rollout.max_new_tokens=500"};
    const uint64_t seed = 99;
    const struct rlhfsim_scenario_options options = {
        .catalog_directory = ".", .sets = base, .set_count = 2, .seed = &seed};
    struct rlhfsim_source *source = read_source(&options);
    struct rlhfsim_scenario *scenario;
    ck_assert_int_eq(rlhfsim_source_scenario(source, more, 2, diagnostics, &scenario), RLHFSIM_OK);
    ck_assert_int_eq(scenario->training.tp, 2);
    ck_assert_int_eq(scenario->cluster.nodes, 1);
    ck_assert_int_eq(scenario->rollout.max_new_tokens, 500);
    ck_assert_uint_eq(scenario->seed, 99);
    rlhfsim_scenario_free(scenario);
    /* What one scenario was told is forgotten in the next. */
    ck_assert_int_eq(rlhfsim_source_scenario(source, NULL, 0, diagnostics, &scenario), RLHFSIM_OK);
    ck_assert_int_eq(scenario->cluster.nodes, 2);
    ck_assert_int_eq(scenario->rollout.max_new_tokens, 512);
    rlhfsim_scenario_free(scenario);
    rlhfsim_source_free(source);
}
END_TEST

START_TEST(mistakes_of_a_scenario) {
    const char *const wrong[] = {"training.tp=5"};
    struct rlhfsim_source *source = read_source(&plain);
    struct rlhfsim_scenario *scenario;
    ck_assert_int_eq(rlhfsim_source_scenario(source, wrong, 1, diagnostics, &scenario),
                     RLHFSIM_INVALID);
    ck_assert_ptr_null(scenario);
    ck_assert_str_eq(rlhfsim_diagnostics_get(diagnostics, 0)->file, "--set");
    rlhfsim_source_free(source);
}
END_TEST

START_TEST(mistakes_of_a_source) {
    struct rlhfsim_source *source;
    const struct rlhfsim_scenario_options nowhere = {.catalog_directory = "nowhere"};
    ck_assert_int_eq(rlhfsim_source_read("absent.yaml", &plain, diagnostics, &source),
                     RLHFSIM_INVALID);
    ck_assert_ptr_null(source);
    ck_assert_int_eq(rlhfsim_source_read("s.yaml", &nowhere, diagnostics, &source),
                     RLHFSIM_INVALID);
    ck_assert_ptr_null(source);
    fixture_write("s.yaml", "name: [");
    ck_assert_int_eq(rlhfsim_source_read("s.yaml", &plain, diagnostics, &source), RLHFSIM_INVALID);
    ck_assert_ptr_null(source);
    rlhfsim_source_free(NULL);
}
END_TEST

START_TEST(fingerprints) {
    const char *const sets[] = {"training.tp=1"}, *const others[] = {"training.tp=2"};
    const uint64_t seed = 1, other_seed = 2;
    struct rlhfsim_scenario_options set = plain, other_set = plain, seeded = plain, other = plain;
    set.sets = sets;
    other_set.sets = others;
    set.set_count = other_set.set_count = 1;
    seeded.seed = &seed;
    other.seed = &other_seed;
    uint64_t numbers[8] = {fingerprint(&plain), fingerprint(&set), fingerprint(&other_set),
                           fingerprint(&seeded), fingerprint(&other)};
    ck_assert_uint_eq(numbers[0], fingerprint(&plain));
    fixture_write("s.yaml", "# a comment\n");
    numbers[5] = fingerprint(&plain);
    fixture_write("s.yaml", fixture_scenario);
    ck_assert_uint_eq(numbers[0], fingerprint(&plain));
    ck_assert_int_eq(mkdir("mine", 0777), 0);
    const char *const mine[] = {"mine"};
    struct rlhfsim_scenario_options user = plain;
    user.user_directories = mine;
    user.user_directory_count = 1;
    fixture_write("mine/gpus.csv", FIXTURE_GPU_HEADER);
    numbers[6] = fingerprint(&user);
    fixture_write("mine/gpus.csv", FIXTURE_GPU_HEADER "\n");
    numbers[7] = fingerprint(&user);
    unlink("mine/gpus.csv");
    rmdir("mine");
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(numbers[i] != numbers[j], "%zu and %zu are the same", i, j);
}
END_TEST

START_TEST(texts_are_part_of_the_fingerprint) {
    const char *const a[] = {"x", "yz"}, *const b[] = {"xy", "z"};
    struct rlhfsim_source *source = read_source(&plain);
    uint64_t none = rlhfsim_source_fingerprint(source, NULL, 0);
    uint64_t first = rlhfsim_source_fingerprint(source, a, 2);
    ck_assert_uint_ne(none, first);
    ck_assert_uint_ne(first, rlhfsim_source_fingerprint(source, b, 2));
    ck_assert_uint_eq(first, rlhfsim_source_fingerprint(source, a, 2));
    rlhfsim_source_free(source);
}
END_TEST

/* Any texts will do: the file is not understood, only compared. */
START_TEST(files_of_models_are_part_of_the_fingerprint) {
    const char *const sets[] = {"models.actor.model=a.json"};
    struct rlhfsim_scenario_options named = plain;
    named.sets = sets;
    named.set_count = 1;
    uint64_t absent = fingerprint(&named);
    fixture_write("a.json", "{\"layers\": 28}");
    uint64_t first = fingerprint(&named), other = fingerprint(&plain);
    ck_assert_uint_eq(first, fingerprint(&named));
    fixture_write("a.json", "{\"layers\": 14}");
    uint64_t second = fingerprint(&named);
    ck_assert_uint_ne(absent, first);
    ck_assert_uint_ne(first, second);
    ck_assert_uint_ne(absent, second);
    ck_assert_uint_eq(other, fingerprint(&plain)); /* which does not name it */
    unlink("a.json");
    ck_assert_uint_eq(absent, fingerprint(&named));
}
END_TEST

/* A scenario in another folder: its own names start there, those of sets where the program is. */
START_TEST(files_are_looked_for_where_they_are_read) {
    struct rlhfsim_source *source;
    ck_assert_int_eq(mkdir("sub", 0777), 0);
    fixture_write("sub/s.yaml", "models: {reference: {model: ./a.json}}\n");
    uint64_t numbers[3];
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            fixture_write(i == 1 ? "a.json" : "sub/a.json", "{}");
        ck_assert_int_eq(rlhfsim_source_read("sub/s.yaml", &plain, diagnostics, &source),
                         RLHFSIM_OK);
        numbers[i] = rlhfsim_source_fingerprint(source, NULL, 0);
        rlhfsim_source_free(source);
    }
    ck_assert_uint_eq(numbers[0], numbers[1]);
    ck_assert_uint_ne(numbers[1], numbers[2]);
    unlink("a.json");
    unlink("sub/a.json");
    unlink("sub/s.yaml");
    rmdir("sub");
}
END_TEST

START_TEST(fingerprints_of_values) {
    struct rlhfsim_source *source = read_source(&plain);
    const char *const key = "models.actor.model";
    ck_assert_uint_eq(rlhfsim_source_value_fingerprint(source, key, "a.json"), 0);
    fixture_write("a.json", "{}");
    uint64_t number = rlhfsim_source_value_fingerprint(source, key, "a.json");
    ck_assert_uint_ne(number, 0);
    ck_assert_uint_eq(rlhfsim_source_value_fingerprint(source, key, "\"a.json\""), number);
    ck_assert_uint_eq(rlhfsim_source_value_fingerprint(source, "models.critic.model", "./a.json"),
                      number);
    ck_assert_uint_eq(rlhfsim_source_value_fingerprint(source, "name", "a.json"), 0);
    ck_assert_uint_eq(rlhfsim_source_value_fingerprint(source, "models.actor.no", "a.json"), 0);
    ck_assert_uint_eq(rlhfsim_source_value_fingerprint(source, key, "small"), 0);
    ck_assert_uint_eq(rlhfsim_source_value_fingerprint(source, key, "[a.json"), 0);
    fixture_write("a.json", "{ }");
    ck_assert_uint_ne(rlhfsim_source_value_fingerprint(source, key, "a.json"), number);
    unlink("a.json");
    rlhfsim_source_free(source);
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 50

static void expect_form(const struct rlhfsim_source *source, const char *key, const char *value,
                        const char *form) {
    char *found = rlhfsim_source_canonical_value(source, key, value);
    ck_assert_msg(found != NULL && strcmp(found, form) == 0, "%s=%s has the form %s, not %s", key,
                  value, found, form);
    free(found);
}

/* 1 GB = 1e9 bytes; 1 TiB = 1024 GiB; 400 Gbit/s = 50e9 bytes/s. */
START_TEST(forms_of_values) {
    static const char *const forms[][3] = {
        {"training.tp", "4", "4"},
        {"training.tp", "99999999999", "99999999999"}, /* out of range, and a number */
        {"rollout.memory_fraction", ".50", "0.5"},
        {"rollout.memory_fraction", "5e-1", "0.5"},
        {"rollout.memory_fraction", "-0", "0"},
        {"logging.bytes_per_sample", "1000 MB", "1000000000"},
        {"logging.bytes_per_sample", "1GB", "1000000000"},
        {"checkpoint.store_bandwidth", "400 Gbit/s", "50000000000"},
        {"rollout.prefix_caching", "TRUE", "1"},
        {"training.recompute", "full", "2"},
        {"training.recompute", "'full'", "2"},
        {"training.recompute", "some", "some"}, /* no such word */
        {"name", "'1.0'", "1.0"},
        {"cluster.node", "B-O-X", "box"},
        {"tags.team", "1.0", "1.0"},
        {"cluster.node.host_memory_gib", "1 TiB", "1024"},
        {"cluster.node.host_memory_gib", "1024.0", "1024"},
        {"models.actor.model.qkv_bias", "true", "yes"},
        {"models.actor.model", "a/config.json", "a/config.json"},
        {"models.actor.model", "{layers: 1}", "{layers: 1}"},
    };
    struct rlhfsim_source *source = read_source(&plain);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        expect_form(source, forms[i][0], forms[i][1], forms[i][2]);
    rlhfsim_source_free(source);
}
END_TEST

static void *make_many(void *subject) {
    const struct rlhfsim_source *source = subject;
    size_t wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char set[64];
        const char *const sets[] = {set};
        struct rlhfsim_scenario *scenario;
        struct rlhfsim_diagnostics *errors = rlhfsim_diagnostics_new();
        (void)snprintf(set, sizeof set, "rollout.max_new_tokens=%d", 500 + round);
        bool made = rlhfsim_source_scenario(source, sets, 1, errors, &scenario) == RLHFSIM_OK;
        wrong += !made || scenario->rollout.max_new_tokens != 500 + round;
        rlhfsim_scenario_free(scenario);
        rlhfsim_diagnostics_free(errors);
    }
    return (void *)wrong;
}

START_TEST(several_threads_at_once) {
    struct rlhfsim_source *source = read_source(&plain);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_many, source), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
        ck_assert_uint_eq((size_t)wrong, 0);
    }
    rlhfsim_source_free(source);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("source");
    TCase *tcase = tcase_create("source");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, settings_of_source_and_scenario_add_up);
    tcase_add_test(tcase, mistakes_of_a_scenario);
    tcase_add_test(tcase, mistakes_of_a_source);
    tcase_add_test(tcase, fingerprints);
    tcase_add_test(tcase, texts_are_part_of_the_fingerprint);
    tcase_add_test(tcase, files_of_models_are_part_of_the_fingerprint);
    tcase_add_test(tcase, files_are_looked_for_where_they_are_read);
    tcase_add_test(tcase, fingerprints_of_values);
    tcase_add_test(tcase, forms_of_values);
    tcase_add_test(tcase, several_threads_at_once);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
