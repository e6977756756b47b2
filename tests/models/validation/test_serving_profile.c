/* SPDX-License-Identifier: GPL-3.0-or-later */

/* A run as kinds of iterations against the run itself, with coefficients that it was not made with.
 */

#include "models/validation/serving_profile.h"
#include "tests/models/generation/fixture.h"
#include "tests/testing.h"

static void queued(struct serving_case *serving, int64_t in, int64_t out, int64_t requests) {
    *serving = (struct serving_case){.plan = fixture_plan(),
                                     .cluster = fixture_h100,
                                     .architecture = fixture_llama_3_8b,
                                     .mode = SERVING_QUEUED,
                                     .input_tokens = in,
                                     .output_tokens = out,
                                     .requests = requests,
                                     .memory_fraction = 0.9};
    serving->cluster.gpu.memory_bytes = 80e9;
    ck_assert(serving_case_size(serving));
}

/* With the coefficients that it was made with the profile is the run. With others the iterations
 * are the same and only their times change: kinds that are 19 % wide stand for them within 1 %. */
START_TEST(test_other_coefficients) {
    static const int64_t lengths[][2] = {{128, 128}, {1000, 300}, {200, 900}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct serving_case serving;
        struct serving_profile profile;
        struct serving_forecast forecast;
        queued(&serving, lengths[i][0], lengths[i][1], 2000);
        ck_assert(serving_profile_make(&profile, &serving));
        ck_assert_int_le(profile.count, SERVING_PROFILE_KINDS);
        assert_relative(profile.correction, 1.0, 0.05);
        ck_assert(serving_case_forecast(&serving, &forecast));
        assert_relative(serving_profile_rate(&profile, &serving), forecast.output_tokens_per_s,
                        1e-9);
        serving.plan.software.sequence_host_s *= 3.0;
        serving.plan.software.eager_layer_s *= 2.0;
        serving.plan.software.compute_efficiency *= 0.7;
        ck_assert(serving_case_forecast(&serving, &forecast));
        assert_relative(serving_profile_rate(&profile, &serving), forecast.output_tokens_per_s,
                        0.01);
    }
}
END_TEST

/* Every iteration of the run is of some kind: the tokens of all answers and prompts are there. */
START_TEST(test_nothing_is_lost) {
    struct serving_case serving;
    struct serving_profile profile;
    double prompts = 0.0, tokens = 0.0;
    queued(&serving, 700, 50, 900);
    ck_assert(serving_profile_make(&profile, &serving));
    for (int i = 0; i < profile.count; i++) {
        prompts += profile.kinds[i].iterations * profile.kinds[i].step.prefill_tokens;
        tokens += profile.kinds[i].sequences + profile.kinds[i].finished;
    }
    assert_relative(prompts, 900.0 * 700.0, 1e-9);
    assert_relative(tokens, 900.0 * 50.0, 1e-9);
}
END_TEST

START_TEST(test_clients_have_none) {
    struct serving_case serving;
    struct serving_profile profile;
    queued(&serving, 100, 100, 8);
    serving.mode = SERVING_CLIENTS;
    ck_assert(!serving_profile_make(&profile, &serving));
    serving.mode = SERVING_BATCH;
    serving.plan.software.batching = GENERATION_PADDED_TO_BATCH;
    ck_assert(!serving_profile_make(&profile, &serving));
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("serving profile");
    TCase *cases = tcase_create("runs");
    tcase_set_timeout(cases, 120.0);
    tcase_add_test(cases, test_other_coefficients);
    tcase_add_test(cases, test_nothing_is_lost);
    tcase_add_test(cases, test_clients_have_none);
    suite_add_tcase(s, cases);
    return s;
}

TESTING_MAIN(suite)
