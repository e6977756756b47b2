/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table itself: complete, in agreement with the structure it fills, with legal defaults. */
#include "tests/testing.h"

#include "models/scenario/scenario.h"
#include "models/scenario/schema.h"
#include "models/scenario/value.h"

#include <stdio.h>
#include <string.h>

START_TEST(test_complete) {
    size_t count = 0;
    const struct scenario_schema_entry *entry;
    for (; (entry = scenario_schema_at(count)) != NULL; count++) {
        ck_assert_msg(entry->path != NULL, "key %zu has no entry", count);
        ck_assert_msg(entry->meaning != NULL && strlen(entry->meaning) > 4, "%s", entry->path);
        ck_assert_int_eq(scenario_schema_find(entry->path), (int)count);
    }
    ck_assert_uint_eq(count, KEY_COUNT);
    ck_assert_int_eq(scenario_schema_find("training"), KEY_COUNT);
    ck_assert_int_eq(scenario_schema_find(""), KEY_COUNT);
}
END_TEST

/* A field has the size that its type is stored with. */
START_TEST(test_fields) {
    const struct scenario_schema_entry *entry;
    for (size_t key = 0; (entry = scenario_schema_at(key)) != NULL; key++) {
        bool integer = entry->size == sizeof(int) || entry->size == sizeof(int64_t);
        bool fits = entry->size == 0;
        if (entry->type == SCENARIO_TYPE_INTEGER)
            fits = fits || (integer && (entry->size == 8 || entry->most <= INT32_MAX));
        else if (entry->type == SCENARIO_TYPE_CHOICE)
            fits = fits || entry->size == sizeof(int);
        else if (entry->type == SCENARIO_TYPE_BOOLEAN)
            fits = fits || entry->size == sizeof(bool);
        else if (entry->type == SCENARIO_TYPE_NUMBER || entry->type == SCENARIO_TYPE_QUANTITY)
            fits = fits || entry->size == sizeof(double);
        else
            fits = fits || entry->size == (size_t)entry->most + 1;
        ck_assert_msg(fits, "%s has a field of %zu bytes", entry->path, entry->size);
        ck_assert_msg(entry->offset + entry->size <= sizeof(struct rlhfsim_scenario), "%s",
                      entry->path);
    }
}
END_TEST

START_TEST(test_defaults_are_legal) {
    const struct scenario_schema_entry *entry;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    for (size_t key = 0; (entry = scenario_schema_at(key)) != NULL; key++) {
        struct scenario_value value = {0};
        struct tree_node node = {.kind = TREE_TEXT, .text = entry->fallback};
        if (entry->fallback == NULL)
            continue;
        ck_assert_msg(!entry->required, "%s is required and has a default", entry->path);
        ck_assert_msg(scenario_value_read(entry, &node, diagnostics, &value), "%s", entry->path);
    }
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 0);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

/* The index of a choice is the value of an enum: their names agree. */
static void check_choices(enum scenario_key key, const char *(*name_of)(int), int count) {
    const char *const *choices = scenario_schema_at(key)->choices;
    for (int i = 0; i < count; i++)
        ck_assert_str_eq(choices[i], name_of(i));
    ck_assert_ptr_null(choices[count]);
}

static const char *precision_name(int value) {
    return hardware_precision_name((enum hardware_precision)value);
}

static const char *format_name(int value) {
    return generation_format_name((enum generation_format)value);
}

static const char *recompute_name(int value) {
    return training_recompute_name((enum training_recompute)value);
}

static const char *offload_name(int value) {
    return training_offload_name((enum training_offload)value);
}

START_TEST(test_choices) {
    check_choices(KEY_TRAINING_PRECISION, precision_name, HARDWARE_PRECISION_COUNT);
    check_choices(KEY_ROLLOUT_PRECISION, format_name, GENERATION_FORMAT_COUNT);
    check_choices(KEY_TRAINING_RECOMPUTE, recompute_name, TRAINING_RECOMPUTE_OPERATORS + 1);
    check_choices(KEY_TRAINING_OFFLOAD, offload_name, TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS + 1);
    const char *const *kl = scenario_schema_at(KEY_ALGORITHM_KL)->choices;
    ck_assert_str_eq(kl[SCENARIO_KL_NONE], "none");
    ck_assert_str_eq(kl[SCENARIO_KL_REWARD], "reward");
    ck_assert_str_eq(kl[SCENARIO_KL_LOSS], "loss");
    const char *const *reference = scenario_schema_at(KEY_ALGORITHM_REFERENCE_LOGPROBS)->choices;
    ck_assert_str_eq(reference[SCENARIO_REFERENCE_EVERY_STEP], "every_step");
    ck_assert_str_eq(reference[SCENARIO_REFERENCE_PRECOMPUTED], "precomputed");
    const char *const *law = scenario_schema_at(KEY_PROMPT_TOKENS_LAW)->choices;
    ck_assert_str_eq(law[GENERATION_LENGTH_FIXED], "fixed");
    ck_assert_str_eq(law[GENERATION_LENGTH_LOGNORMAL], "lognormal");
}
END_TEST

/* What says how old samples may be says in what: versions, or verl's fraction of a version. */
START_TEST(test_staleness_has_its_unit) {
    int found = 0;
    for (int key = 0; key < KEY_COUNT; key++) {
        const char *path = scenario_schema_at((enum scenario_key)key)->path;
        if (strstr(path, "stale") == NULL)
            continue;
        ck_assert_msg(strstr(path, "_versions") != NULL || strstr(path, "_fraction") != NULL, "%s",
                      path);
        found++;
    }
    ck_assert_int_gt(found, 0);
}
END_TEST

START_TEST(test_model_keys) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        static const char *const fields[] = {"model", "lora_rank", "lora_targets", "offload"};
        for (int field = 0; field < SCENARIO_MODEL_FIELDS; field++) {
            char path[64];
            snprintf(path, sizeof path, "models.%s.%s",
                     algorithm_role_name((enum algorithm_role)role), fields[field]);
            enum scenario_key key =
                scenario_model_key((enum algorithm_role)role, (enum scenario_model_field)field);
            ck_assert_str_eq(scenario_schema_at(key)->path, path);
        }
    }
}
END_TEST

START_TEST(test_sections) {
    ck_assert(scenario_schema_is_section("training"));
    ck_assert(scenario_schema_is_section("models.actor"));
    ck_assert(!scenario_schema_is_section("train"));
    ck_assert(!scenario_schema_is_section("training.tp"));
    ck_assert(!scenario_schema_is_section("tags"));
}
END_TEST

struct expectation_case {
    enum scenario_key key;
    const char *text;
};

static const struct expectation_case expectations[] = {
    {KEY_NAME, "one line of text of at most 127 bytes"},
    {KEY_STEPS, "a whole number from 1 to 1000000000"},
    {KEY_TRAINING_ZERO_STAGE, "a whole number from 0 to 3"},
    {KEY_ROLLOUT_PP, "a whole number from 1 to 1024"},
    {KEY_ALGORITHM_KL, "one of none, reward, loss"},
    {KEY_ROLLOUT_ENGINE, "one line of text of at most 31 bytes"},
    {KEY_ROLLOUT_MEMORY_FRACTION, "a number between 0 and 1, neither included"},
    {KEY_LOGGING_SAMPLING_RATE, "a number from 0 to 1"},
    {KEY_PROMPT_TOKENS_MEAN, "a number from 1 to 1000000000"},
    {KEY_TRAINING_PACKING, "true or false"},
    {KEY_REWARD_SAMPLE_TIME, "a quantity from 0 to 864000 s (units ns, us, ms, s, min, h, d)"},
    {KEY_CHECKPOINT_STORE_BANDWIDTH,
     "a quantity above 0 and at most 1e+15 bytes/s (units kB/s, MB/s, GB/s, "
     "TB/s, MiB/s, GiB/s, Gbit/s)"},
    {KEY_TAGS, "a mapping of names to texts"},
    {KEY_BUDGET, "nothing: a later version supports it"},
};

START_TEST(test_expectations) {
    char text[256];
    scenario_schema_expectation(scenario_schema_at(expectations[_i].key), text, sizeof text);
    ck_assert_str_eq(text, expectations[_i].text);
}
END_TEST

static Suite *schema_suite(void) {
    Suite *suite = suite_create("scenario.schema");
    TCase *cases = tcase_create("schema");
    tcase_add_test(cases, test_complete);
    tcase_add_test(cases, test_fields);
    tcase_add_test(cases, test_defaults_are_legal);
    tcase_add_test(cases, test_choices);
    tcase_add_test(cases, test_staleness_has_its_unit);
    tcase_add_test(cases, test_model_keys);
    tcase_add_test(cases, test_sections);
    tcase_add_loop_test(cases, test_expectations, 0, sizeof expectations / sizeof expectations[0]);
    suite_add_tcase(suite, cases);
    return suite;
}

TESTING_MAIN(schema_suite)
