/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every job is done once, whatever the number of threads; the first failure stops the others. */
#include "tests/testing.h"
#include "tools/pool.h"

#include <stdatomic.h>
#include <string.h>

#define JOBS 1000

struct work {
    atomic_int done[JOBS];
    size_t failing; /* JOBS: none */
};

static enum rlhfsim_status job(void *subject, const struct pool_job *job) {
    struct work *work = subject;
    atomic_fetch_add(&work->done[job->index], 1);
    if (job->index == work->failing)
        return rlhfsim_diagnostics_add(job->diagnostics, RLHFSIM_IO, "file", 0, 0, "job %zu failed",
                                       job->index);
    return job->progress(job->progress_subject, 0.5) ? RLHFSIM_OK : RLHFSIM_CANCELLED;
}

static enum rlhfsim_status run(size_t threads, size_t count, struct work *work,
                               struct rlhfsim_diagnostics *diagnostics) {
    struct progress progress;
    progress_start(&progress, true);
    return pool_run(threads, count, job, work, &progress, diagnostics);
}

START_TEST(every_job_once) {
    static const size_t threads[] = {1, 2, 3, 16, 2 * JOBS};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        struct work work = {.failing = JOBS};
        struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
        ck_assert_int_eq(run(threads[i], JOBS, &work, diagnostics), RLHFSIM_OK);
        ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 0);
        for (size_t k = 0; k < JOBS; k++)
            ck_assert_int_eq(atomic_load(&work.done[k]), 1);
        rlhfsim_diagnostics_free(diagnostics);
    }
}
END_TEST

START_TEST(nothing_to_do) {
    struct work work = {.failing = JOBS};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(run(4, 0, &work, diagnostics), RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

/* With one thread nothing after the failing job is begun; with more, nothing is done twice, and the
 * error is the failing job's. */
START_TEST(a_failure_stops_all) {
    for (size_t threads = 1; threads <= 4; threads++) {
        struct work work = {.failing = 10};
        struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
        ck_assert_int_eq(run(threads, JOBS, &work, diagnostics), RLHFSIM_IO);
        ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 1);
        ck_assert_str_eq(rlhfsim_diagnostics_get(diagnostics, 0)->message, "job 10 failed");
        int most = 0, begun = 0;
        for (size_t k = 0; k < JOBS; k++) {
            int done = atomic_load(&work.done[k]);
            most = done > most ? done : most;
            begun += done;
        }
        ck_assert_int_eq(most, 1);
        if (threads == 1)
            ck_assert_int_eq(begun, 11);
        rlhfsim_diagnostics_free(diagnostics);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("pool");
    tcase_add_test(tcase, every_job_once);
    tcase_add_test(tcase, nothing_to_do);
    tcase_add_test(tcase, a_failure_stops_all);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
