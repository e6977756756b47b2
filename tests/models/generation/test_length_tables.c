/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Histograms, traces and drifts by hand. */
#include "models/generation/length_drift.h"
#include "models/generation/length_table.h"
#include "models/generation/lengths.h"
#include "tests/testing.h"

/* ---- histograms ----------------------------------------------------------------------------- */

/* A quarter at exactly 10, a half evenly over (20, 60), nothing over (60, 80), a quarter over
 * (100, 300). Mean 10/4 + 40/2 + 200/4 = 72.5. */
static struct generation_length_bins *example(void) {
    static const double low[] = {10, 20, 60, 100}, high[] = {10, 60, 80, 300},
                        weight[] = {3, 6, 0, 3};
    struct generation_length_bins *bins = generation_length_bins_new(low, high, weight, 4);
    ck_assert_ptr_nonnull(bins);
    return bins;
}

START_TEST(test_histogram_by_hand) {
    struct generation_length_bins *bins = example();
    struct generation_lengths law =
        generation_lengths_of_bins(GENERATION_LENGTH_HISTOGRAM, bins, 0.0);
    assert_relative(generation_lengths_mean(&law), 72.5, 1e-15);
    ck_assert(generation_lengths_longest(&law) == 300.0);
    ck_assert(generation_lengths_above(&law, 9.0) == 1.0);
    ck_assert(generation_lengths_above(&law, 15.0) == 0.75);
    ck_assert(generation_lengths_above(&law, 30.0) == 0.625);
    ck_assert(generation_lengths_above(&law, 70.0) == 0.25);
    ck_assert(generation_lengths_above(&law, 250.0) == 0.0625);
    ck_assert(generation_lengths_above(&law, 300.0) == 0.0);
    /* u: 1/8 lies in the first bin, 3/8 a quarter into the second, 15/16 three into the last */
    ck_assert_uint_eq(generation_length_at(&law, 0.125, NULL), 10);
    ck_assert_uint_eq(generation_length_at(&law, 0.375, NULL), 30);
    ck_assert_uint_eq(generation_length_at(&law, 0.9375, NULL), 250);
    generation_length_bins_free(bins);
}
END_TEST

/* Cut at 200: 1/8 of the lengths are, and those of (100, 200) have a mean of 150:
 * 2.5 + 20 + 150/8 + 200/8 = 66.25. At 40: 2.5 + 30/4 + 40/2 = 30. */
START_TEST(test_histogram_cut) {
    struct generation_length_bins *bins = example();
    struct generation_lengths law =
        generation_lengths_of_bins(GENERATION_LENGTH_HISTOGRAM, bins, 200.0);
    bool cut;
    assert_relative(generation_lengths_mean(&law), 66.25, 1e-15);
    ck_assert(generation_lengths_share_cut(&law) == 0.125);
    ck_assert_uint_eq(generation_length_at(&law, 0.9375, &cut), 200);
    ck_assert(cut);
    law.limit = 40.0;
    assert_relative(generation_lengths_mean(&law), 30.0, 1e-15);
    law.cap_share = 0.5; /* half at 40 and half of mean 30 */
    assert_relative(generation_lengths_mean(&law), 35.0, 1e-15);
    ck_assert(generation_lengths_longest(&law) == 40.0);
    ck_assert_uint_eq(generation_length_at(&law, 0.0625, NULL), 10); /* 1/8 of the other half */
    generation_length_bins_free(bins);
}
END_TEST

/* Stretched by 2 and cut at 200 the example has the mean 5 + 40 + 200/4 = 95, since its last bin
 * begins at the limit. */
START_TEST(test_stretching) {
    struct generation_length_bins *bins = example();
    struct generation_lengths law =
        generation_lengths_of_bins(GENERATION_LENGTH_HISTOGRAM, bins, 200.0);
    struct generation_lengths stretched;
    ck_assert(generation_lengths_stretch(&law, 95.0, &stretched));
    assert_relative(stretched.scale, 2.0, 1e-12);
    assert_relative(generation_lengths_mean(&stretched), 95.0, 1e-12);
    ck_assert(!generation_lengths_stretch(&law, 200.0, &stretched));
    ck_assert(!generation_lengths_stretch(&law, 0.0, &stretched));
    generation_length_bins_free(bins);
}
END_TEST

/* A law that is uncut is stretched before the cut; otherwise what is seen has the mean, with its
 * share at the limit. */
START_TEST(test_stretching_of_a_fit) {
    struct generation_length_moments moments = {
        .law = GENERATION_LENGTH_GAMMA, .mean = 600.0, .cv = 0.9, .limit = 2048.0};
    struct generation_lengths law, stretched;
    char message[512];
    moments.cap_share = 0.01;
    ck_assert(generation_lengths_fit(&moments, &law, message, sizeof message));
    ck_assert(generation_lengths_stretch(&law, 1500.0, &stretched));
    assert_relative(generation_lengths_mean(&stretched), 1500.0, 1e-12);
    ck_assert(stretched.width == law.width);
    ck_assert(!generation_lengths_stretch(&law, 20.0, &stretched)); /* 20.48 of the share alone */
    moments.uncut = true;
    ck_assert(generation_lengths_fit(&moments, &law, message, sizeof message));
    ck_assert(generation_lengths_stretch(&law, 5000.0, &stretched));
    assert_relative(stretched.scale / law.scale, 5000.0 / 600.0, 1e-12);
    assert_relative(generation_lengths_stated_mean(&stretched), 5000.0, 1e-12);
}
END_TEST

/* ---- traces --------------------------------------------------------------------------------- */

static struct generation_trace *trace_of(const uint32_t *prompt, const uint32_t *response,
                                         size_t rows, const size_t *first, size_t groups) {
    struct generation_trace *trace = generation_trace_new(rows, groups);
    ck_assert_ptr_nonnull(trace);
    for (size_t i = 0; i < rows; i++) {
        trace->prompt[i] = prompt[i];
        trace->response[i] = response[i];
    }
    for (size_t i = 0; groups > 0 && i <= groups; i++)
        trace->first[i] = first[i];
    return trace;
}

static const uint32_t prompts[] = {5, 5, 7, 7, 7, 90}, responses[] = {1, 2, 30, 31, 32, 400};

START_TEST(test_values_as_a_law) {
    struct generation_length_bins *bins = generation_length_bins_of_values(prompts, 6);
    struct generation_lengths law = generation_lengths_of_bins(GENERATION_LENGTH_TRACE, bins, 50.0);
    ck_assert_uint_eq(bins->count, 3);
    assert_relative(generation_lengths_mean(&law), (2 * 5 + 3 * 7 + 50) / 6.0, 1e-15);
    assert_relative(generation_lengths_share_cut(&law), 1.0 / 6.0, 1e-14);
    ck_assert(generation_lengths_longest(&law) == 50.0);
    ck_assert_uint_eq(generation_length_at(&law, 0.34, NULL), 7);
    generation_length_bins_free(bins);
}
END_TEST

/* With one sample the row that is picked is the row that answers. */
START_TEST(test_rows_stay_together) {
    struct generation_trace *trace = trace_of(prompts, responses, 6, NULL, 0);
    for (size_t row = 0; row < 6; row++) {
        ck_assert_uint_eq(generation_trace_pick(trace, ((double)row + 0.5) / 6.0), row);
        ck_assert_uint_eq(generation_trace_answer(trace, row, 0.99, 0, 1), row);
    }
    generation_trace_free(trace);
}
END_TEST

/* K samples without groups: the K rows around, each once, within the table. */
START_TEST(test_answers_are_the_nearest_rows) {
    struct generation_trace *trace = trace_of(prompts, responses, 6, NULL, 0);
    static const size_t first_of[] = {0, 0, 1, 2, 3, 3}; /* of 3 rows around each */
    for (size_t row = 0; row < 6; row++)
        for (int begin = 0; begin < 3; begin++) {
            unsigned seen = 0;
            for (size_t copy = 0; copy < 3; copy++)
                seen |= 1U << generation_trace_answer(trace, row, (begin + 0.5) / 3.0, copy, 3);
            ck_assert_uint_eq(seen, 7U << first_of[row]);
        }
    /* more samples than rows: all of them, and again */
    ck_assert_uint_eq(generation_trace_answer(trace, 2, 0.01, 7, 8), 1);
    generation_trace_free(trace);
}
END_TEST

START_TEST(test_groups_answer_themselves) {
    static const size_t first[] = {0, 2, 5, 6};
    struct generation_trace *trace = trace_of(prompts, responses, 6, first, 3);
    ck_assert_uint_eq(generation_trace_pick(trace, 0.3), 0);
    ck_assert_uint_eq(generation_trace_pick(trace, 0.6), 2);
    ck_assert_uint_eq(generation_trace_pick(trace, 0.9), 5);
    static const size_t expected[] = {3, 4, 2, 3}; /* from its second row on, around */
    for (size_t copy = 0; copy < 4; copy++)
        ck_assert_uint_eq(generation_trace_answer(trace, 2, 0.5, copy, 4), expected[copy]);
    ck_assert_uint_eq(generation_trace_answer(trace, 5, 0.5, 3, 4), 5);
    ck_assert_uint_eq(generation_trace_answer(trace, 0, 0.7, 0, 4), 1);
    generation_trace_free(trace);
}
END_TEST

/* ---- drifts --------------------------------------------------------------------------------- */

START_TEST(test_drifts_by_hand) {
    struct generation_length_drift drift = {
        .kind = GENERATION_LENGTH_DRIFT_LINEAR, .mean = 300.0, .steps = 101.0};
    ck_assert(generation_length_drift_mean(&drift, 100.0, 1) == 100.0);
    ck_assert(generation_length_drift_mean(&drift, 100.0, 26) == 150.0);
    ck_assert(generation_length_drift_mean(&drift, 100.0, 101) == 300.0);
    ck_assert(generation_length_drift_mean(&drift, 100.0, 1000) == 300.0);
    drift.steps = 1.0;
    ck_assert(generation_length_drift_mean(&drift, 100.0, 1) == 300.0);
    drift = (struct generation_length_drift){
        GENERATION_LENGTH_DRIFT_LOGISTIC, 300.0, 40.0, 50.0, 0, NULL, NULL};
    /* half at the midpoint, a tenth 20 steps before and nine tenths 20 after it */
    assert_relative(generation_length_drift_mean(&drift, 100.0, 50), 200.0, 1e-14);
    assert_relative(generation_length_drift_mean(&drift, 100.0, 30), 120.0, 1e-14);
    assert_relative(generation_length_drift_mean(&drift, 100.0, 70), 280.0, 1e-14);
    drift.kind = GENERATION_LENGTH_DRIFT_NONE;
    ck_assert(generation_length_drift_mean(&drift, 100.0, 70) == 100.0);
}
END_TEST

START_TEST(test_drift_table_is_exact) {
    double steps[] = {3, 10, 11, 50}, means[] = {100, 170, 400, 10};
    struct generation_length_drift drift = {.kind = GENERATION_LENGTH_DRIFT_TABLE,
                                            .count = 4,
                                            .table_step = steps,
                                            .table_mean = means};
    static const struct {
        int64_t step;
        double mean;
    } expected[] = {{1, 100},  {3, 100},  {5, 120}, {10, 170},
                    {11, 400}, {31, 200}, {50, 10}, {60, 10}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_relative(generation_length_drift_mean(&drift, 7.0, expected[i].step),
                        expected[i].mean, 1e-15);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("length tables");
    TCase *t = tcase_create("tables");
    tcase_add_test(t, test_histogram_by_hand);
    tcase_add_test(t, test_histogram_cut);
    tcase_add_test(t, test_stretching);
    tcase_add_test(t, test_stretching_of_a_fit);
    tcase_add_test(t, test_values_as_a_law);
    tcase_add_test(t, test_rows_stay_together);
    tcase_add_test(t, test_answers_are_the_nearest_rows);
    tcase_add_test(t, test_groups_answer_themselves);
    tcase_add_test(t, test_drifts_by_hand);
    tcase_add_test(t, test_drift_table_is_exact);
    suite_add_tcase(s, t);
    return s;
}

TESTING_MAIN(suite)
