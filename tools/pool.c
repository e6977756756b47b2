/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pool.h"

#include "diagnose.h"
#include "interrupt.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INTERVAL_NS 100000000L /* between two looks at the progress */
#define SHARE 1000             /* of one job, in whole numbers */

struct worker {
    struct pool *pool;
    pthread_t thread;
    struct rlhfsim_diagnostics *diagnostics;
    atomic_int share_done; /* of the job it is at */
};

struct pool {
    pool_func *function;
    void *subject;
    size_t count, worker_count;
    struct worker *workers;
    atomic_size_t next, done;
    atomic_bool stopped;

    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t ended;
    size_t running;
    enum rlhfsim_status status; /* the first that is not RLHFSIM_OK */
    const struct worker *blamed;
};

size_t pool_processors(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 1 ? (size_t)count : 1;
}

/* ---- a thread -------------------------------------------------------------------------------- */

/* An rlhfsim_progress_func. */
static bool note_share(void *subject, double share_done) {
    struct worker *worker = subject;
    atomic_store(&worker->share_done, (int)(share_done * SHARE));
    return !atomic_load(&worker->pool->stopped) && !interrupt_requested();
}

static void fail(struct worker *worker, enum rlhfsim_status status) {
    struct pool *pool = worker->pool;
    pthread_mutex_lock(&pool->mutex);
    if (pool->status == RLHFSIM_OK) {
        pool->status = status;
        pool->blamed = worker;
    }
    pthread_mutex_unlock(&pool->mutex);
    atomic_store(&pool->stopped, true);
}

static void *work(void *subject) {
    struct worker *worker = subject;
    struct pool *pool = worker->pool;
    struct pool_job job = {
        .progress = note_share, .progress_subject = worker, .diagnostics = worker->diagnostics};
    while (note_share(worker, 0.0)) {
        job.index = atomic_fetch_add(&pool->next, 1);
        if (job.index >= pool->count)
            break;
        enum rlhfsim_status status = pool->function(pool->subject, &job);
        if (status != RLHFSIM_OK)
            fail(worker, status);
        else
            atomic_fetch_add(&pool->done, 1);
    }
    pthread_mutex_lock(&pool->mutex);
    pool->running--;
    pthread_cond_signal(&pool->ended);
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* ---- the calling thread ---------------------------------------------------------------------- */

static double share_done(struct pool *pool) {
    double done = (double)atomic_load(&pool->done);
    for (size_t i = 0; i < pool->worker_count; i++)
        done += atomic_load(&pool->workers[i].share_done) / (double)SHARE;
    double share = done / (double)pool->count;
    return share < 1.0 ? share : 1.0;
}

static void wait_for_end(struct pool *pool, struct progress *progress) {
    struct timespec until;
    pthread_mutex_lock(&pool->mutex);
    while (pool->running > 0) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += INTERVAL_NS;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&pool->ended, &pool->mutex, &until);
        pthread_mutex_unlock(&pool->mutex);
        (void)progress_update(progress, share_done(pool));
        pthread_mutex_lock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}

static bool start_clock(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool good = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return good;
}

/* As many threads as can be had; 0 or the errno of the first that could not. */
static int start_threads(struct pool *pool, size_t threads) {
    int error = 0;
    for (size_t i = 0; i < threads && error == 0; i++) {
        struct worker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->diagnostics = rlhfsim_diagnostics_new();
        pthread_mutex_lock(&pool->mutex);
        error =
            worker->diagnostics == NULL ? -1 : pthread_create(&worker->thread, NULL, work, worker);
        pool->running += error == 0;
        pool->worker_count += error == 0;
        pthread_mutex_unlock(&pool->mutex);
        if (error != 0)
            rlhfsim_diagnostics_free(worker->diagnostics);
    }
    return error;
}

static enum rlhfsim_status result(const struct pool *pool,
                                  struct rlhfsim_diagnostics *diagnostics) {
    if (pool->status == RLHFSIM_OK)
        return interrupt_requested() && atomic_load(&pool->done) < pool->count ? RLHFSIM_CANCELLED
                                                                               : RLHFSIM_OK;
    diagnose_copy(pool->blamed->diagnostics, diagnostics);
    return pool->status;
}

static enum rlhfsim_status run(struct pool *pool, size_t threads, struct progress *progress,
                               struct rlhfsim_diagnostics *diagnostics) {
    int error = start_threads(pool, threads);
    wait_for_end(pool, progress);
    for (size_t i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i].thread, NULL);
    enum rlhfsim_status status = result(pool, diagnostics);
    for (size_t i = 0; i < pool->worker_count; i++)
        rlhfsim_diagnostics_free(pool->workers[i].diagnostics);
    if (pool->worker_count > 0)
        return status;
    return error < 0 ? RLHFSIM_NO_MEMORY
                     : rlhfsim_diagnostics_add(diagnostics, RLHFSIM_IO, NULL, 0, 0,
                                               "cannot start a thread: %s", strerror(error));
}

enum rlhfsim_status pool_run(size_t threads, size_t count, pool_func *function, void *subject,
                             struct progress *progress, struct rlhfsim_diagnostics *diagnostics) {
    struct pool pool = {.function = function, .subject = subject, .count = count};
    enum rlhfsim_status status = RLHFSIM_NO_MEMORY;
    if (count == 0)
        return RLHFSIM_OK;
    if (threads > count)
        threads = count;
    pool.workers = calloc(threads, sizeof *pool.workers);
    if (pool.workers == NULL)
        return RLHFSIM_NO_MEMORY;
    if (pthread_mutex_init(&pool.mutex, NULL) != 0)
        goto fail_mutex;
    if (!start_clock(&pool.ended))
        goto fail_clock;
    status = run(&pool, threads, progress, diagnostics);
    pthread_cond_destroy(&pool.ended);
fail_clock:
    pthread_mutex_destroy(&pool.mutex);
fail_mutex:
    free(pool.workers);
    return status;
}
