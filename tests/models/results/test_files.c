/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A small run on the engine, recorded in files and held against the contract by the independent
 * checker. A step of two GPUs:
 *
 *   rollout        gpu0 for 10.1 s, gpu1 for 6 s and a nanosecond
 *   reward         three tasks of 3, 4 and 1 s on the two workers of node0/cpu, so 4 s: the third
 *                  starts when the first ends
 *   actor_update   both GPUs for 6 s
 *
 * 20.1 s; a GPU is busy (10.1 + 6.000000001) / 2 = 8.0500000005 s in the rollout, never in the
 * reward, and all the time in the update.
 */
#include "models/results/files.h"

#include "sim/memory.h"
#include "sim/recorder.h"
#include "tests/testing.h"
#include "tests/tools/check_output.h"

#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROLLOUT_NS INT64_C(10100000000)
#define SHORT_ROLLOUT_NS INT64_C(6000000001)
#define REWARD_NS INT64_C(4000000000)
#define UPDATE_NS INT64_C(6000000000)
#define STEP_NS (ROLLOUT_NS + REWARD_NS + UPDATE_NS)

/* ---- names -----------------------------------------------------------------------------------*/

static const char *activity_name(uint32_t activity) {
    return algorithm_phase_name((enum algorithm_phase)activity);
}

static const char *owner_name(uint32_t owner) {
    static const char *const names[] = {"actor", "engine", ""};
    return names[owner];
}

static const char *category_name(uint32_t category) {
    static const char *const names[] = {"weights", "kv_cache", "activations"};
    return names[category];
}

static const struct results_names names = {activity_name, owner_name, category_name,
                                           "=team,a=\"b\""};

/* ---- folders ---------------------------------------------------------------------------------*/

static const char *const all[] = {"timeline.csv", "phases.csv", "memory.csv",
                                  "cost.csv",     "trace.json", "summary.json"};
#define ALL (sizeof all / sizeof all[0])

static char folder[] = "/tmp/test_files_XXXXXX";

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(const char *directory) {
    char path[512];
    for (size_t i = 0; i < ALL; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, all[i]);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(directory), 0);
}

static void teardown(void) {
    remove_folder(folder);
    strcpy(strrchr(folder, '_') + 1, "XXXXXX");
}

static char *read_file(const char *directory, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    ck_assert_msg(file != NULL, "%s is missing", path);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    return text;
}

static size_t file_count(const char *path) {
    size_t count = 0;
    DIR *directory = opendir(path);
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2; /* without . and .. */
}

static void expect_good_folder(const char *directory, size_t files) {
    char *report = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&report, &size);
    size_t faults = check_output(directory, stream);
    fclose(stream);
    ck_assert_msg(faults == 0, "%s", report);
    free(report);
    ck_assert_uint_eq(file_count(directory), files);
}

/* ---- the run ---------------------------------------------------------------------------------*/

enum { ACTOR, ENGINE, NOBODY, OWNERS };
enum { WEIGHTS, KV_CACHE, ACTIVATIONS, CATEGORIES };

struct run {
    struct sim *sim;
    struct results_files *files;
    sim_resource_id gpu, cpu;
    sim_memory_id memory, host;
    int32_t step;
};

static void add_task(struct run *run, enum algorithm_phase phase, uint32_t owner,
                     sim_time duration_ns, sim_resource_id resource, uint32_t count) {
    struct sim_task_spec spec = {.duration_ns = duration_ns, .recorded = true};
    sim_task_id task;
    spec.tag = (struct sim_task_tag){.activity = (uint32_t)phase,
                                     .owner = owner,
                                     .step = run->step,
                                     .bytes = 1.5e9,
                                     .flops = owner == ACTOR ? 2.5e15 / 3.0 : 0.0};
    ck_assert_int_eq(sim_task_new(run->sim, &spec, &task), SIM_OK);
    ck_assert_int_eq(sim_task_demand_range(run->sim, task, resource, count), SIM_OK);
    sim_task_release(run->sim, task);
}

/* Runs what was added to its end and reports the phase. */
static void end_phase(struct run *run, enum algorithm_phase phase, double busy_s, double idle_s) {
    sim_time start = sim_now(run->sim);
    ck_assert_int_eq(sim_run(run->sim, SIM_TIME_MAX), SIM_OK);
    results_files_phase(run->files, run->step, phase, start, sim_now(run->sim), busy_s, idle_s);
}

static void set_memory(struct run *run, uint32_t owner, uint32_t category, double bytes) {
    sim_memory_set(run->sim, run->memory, owner, category, bytes);
    sim_memory_set(run->sim, run->memory + 1, owner, category, bytes);
}

static void run_step(struct run *run) {
    set_memory(run, ENGINE, KV_CACHE, 50e9);
    set_memory(run, ACTOR, ACTIVATIONS, 0.0);
    add_task(run, ALGORITHM_PHASE_ROLLOUT, ENGINE, ROLLOUT_NS, run->gpu, 1);
    add_task(run, ALGORITHM_PHASE_ROLLOUT, ENGINE, SHORT_ROLLOUT_NS, run->gpu + 1, 1);
    end_phase(run, ALGORITHM_PHASE_ROLLOUT, 8.0500000005, 2.0499999995);
    add_task(run, ALGORITHM_PHASE_REWARD, NOBODY, 3000000000, run->cpu, 1);
    add_task(run, ALGORITHM_PHASE_REWARD, NOBODY, 4000000000, run->cpu, 1);
    add_task(run, ALGORITHM_PHASE_REWARD, NOBODY, 1000000000, run->cpu, 1);
    end_phase(run, ALGORITHM_PHASE_REWARD, 0.0, 4.0);
    set_memory(run, ACTOR, ACTIVATIONS, 64e9 / 3.0);
    set_memory(run, ENGINE, KV_CACHE, 0.0);
    add_task(run, ALGORITHM_PHASE_ACTOR_UPDATE, ACTOR, UPDATE_NS, run->gpu, 2);
    end_phase(run, ALGORITHM_PHASE_ACTOR_UPDATE, 6.0, 0.0);
}

static void make_memory(struct run *run, const char *name, sim_memory_id *id) {
    ck_assert_int_eq(sim_memory_new(run->sim, name, 80e9, OWNERS, CATEGORIES, id), SIM_OK);
}

static void make_resource(struct run *run, const char *name, uint32_t capacity,
                          sim_resource_id *id) {
    ck_assert_int_eq(sim_resource_new(run->sim, name, capacity, SIM_QUEUE_FIFO, id), SIM_OK);
}

/* `directory` with `steps` steps streamed to its hidden files. */
static struct results_files *record(const char *directory, int steps) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct run run = {.sim = sim_new(NULL)};
    uint32_t ignored;
    ck_assert_ptr_nonnull(run.sim);
    ck_assert_int_eq(results_files_open(directory, &names, diagnostics, &run.files), RLHFSIM_OK);
    make_resource(&run, "gpu0", 1, &run.gpu);
    make_resource(&run, "gpu1", 1, &ignored);
    make_resource(&run, "node0/cpu", 2, &run.cpu);
    make_memory(&run, "gpu0", &run.memory);
    make_memory(&run, "gpu1", &ignored);
    make_memory(&run, "node0/host", &run.host);
    ck_assert_int_eq(results_files_attach(run.files, run.sim), SIM_OK);
    set_memory(&run, ACTOR, WEIGHTS, 14e9);
    sim_memory_set(run.sim, run.host, ACTOR, WEIGHTS, 28e9);
    for (run.step = 1; run.step <= steps; run.step++)
        run_step(&run);
    sim_free(run.sim);
    rlhfsim_diagnostics_free(diagnostics);
    return run.files;
}

static double seconds(sim_time ns) {
    return (double)ns / 1e9;
}

static void fill_memory(struct rlhfsim_summary *summary) {
    summary->memory.known = true;
    summary->memory.fits = true;
    summary->memory.peak_bytes = results_figure_exact(14e9 + 50e9);
    summary->memory.capacity_bytes = 80e9;
    summary->memory.host_peak_bytes = results_figure_exact(28e9);
    strcpy(summary->memory.phase, "rollout");
    strcpy(summary->memory.device, "gpu0");
}

static void fill_time(struct rlhfsim_summary *summary, int steps) {
    summary->time.total_s = results_figure_exact(seconds(steps * STEP_NS));
    summary->time.step_s = results_figure_exact(seconds(STEP_NS));
    for (size_t i = 0; i < ALGORITHM_PHASE_COUNT; i++)
        summary->time.phases_s[i] = results_figure_exact(0.0);
    summary->time.phases_s[ALGORITHM_PHASE_ROLLOUT] = results_figure_exact(seconds(ROLLOUT_NS));
    summary->time.phases_s[ALGORITHM_PHASE_REWARD] = results_figure_exact(seconds(REWARD_NS));
    summary->time.phases_s[ALGORITHM_PHASE_ACTOR_UPDATE] = results_figure_exact(seconds(UPDATE_NS));
    summary->gpu_hours = results_figure_exact(2.0 * seconds(steps * STEP_NS) / 3600.0);
    summary->idle_fraction = results_figure_exact(1.0 - (8.0500000005 + 6.0) / seconds(STEP_NS));
    summary->compute.total_flops = results_figure_exact(1e15);
    summary->critical_path_count = 1;
    summary->critical_path[0] =
        (struct results_path_share){ALGORITHM_PHASE_ROLLOUT, results_figure_exact(0.5)};
}

static void fill_rates(struct rlhfsim_summary *summary) {
    summary->throughput.tokens_per_s_per_gpu = results_figure_exact(1000.0);
    summary->throughput.samples_per_s = results_figure_exact(3.0);
    summary->throughput.mfu_training = results_figure_exact(0.4);
    summary->throughput.mfu_overall = results_figure_exact(0.2);
}

/* Three quarters of a node hour at 4 dollars, and 10 GB at 10 cents. */
static struct cost_ledger make_ledger(void) {
    struct cost_ledger ledger = {.count = 2, .total_usd = 4.0, .formula_usd = 4.5};
    ledger.items[0] = (struct cost_item){
        0.0, 20.1, "accelerators", "node hours", 0.75, "node hour", 4.0, 3.0, "list, as printed"};
    ledger.items[1] =
        (struct cost_item){0.0, 20.1, "logs", "ingested", 10.0, "GB", 0.1, 1.0, "list"};
    return ledger;
}

static void fill_cost(struct rlhfsim_summary *summary, const struct cost_ledger *ledger) {
    summary->cost.total_usd = results_figure_exact(ledger->total_usd);
    summary->cost.formula_usd = results_figure_exact(ledger->formula_usd);
    for (size_t i = 0; i < ledger->count; i++)
        results_summary_add_item(summary, ledger->items[i].item,
                                 results_figure_exact(ledger->items[i].amount_usd));
}

static enum rlhfsim_status commit(struct results_files *files, int steps,
                                  struct rlhfsim_diagnostics *diagnostics) {
    struct rlhfsim_summary summary = {.name = "three phases", .events = 12};
    struct cost_ledger ledger = make_ledger();
    fill_memory(&summary);
    fill_time(&summary, steps);
    fill_rates(&summary);
    fill_cost(&summary, &ledger);
    return results_files_commit(files, &ledger, &summary, diagnostics);
}

static void write_run(const char *directory, int steps) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_int_eq(commit(record(directory, steps), steps, diagnostics), RLHFSIM_OK);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 0);
    rlhfsim_diagnostics_free(diagnostics);
}

static void write_infeasible_run(const char *directory) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_summary summary = {.name = "three phases", .events = -1};
    fill_memory(&summary);
    summary.memory.fits = false;
    ck_assert_int_eq(results_files_commit(record(directory, 1), NULL, &summary, diagnostics),
                     RLHFSIM_OK);
    rlhfsim_diagnostics_free(diagnostics);
}

/* ---- what is written -------------------------------------------------------------------------*/

START_TEST(run_agrees_with_itself) {
    write_run(folder, 3);
    expect_good_folder(folder, 6);
}
END_TEST

START_TEST(tables_are_as_written_by_hand) {
    static const struct {
        const char *name, *text;
    } wanted[] = {
        {"timeline.csv", "start_s,end_s,step,resource,phase,model,bytes,flops\n"
                         "0,6.000000001,1,gpu1,rollout,engine,1500000000,0\n"
                         "0,10.1,1,gpu0,rollout,engine,1500000000,0\n"
                         "10.1,13.1,1,node0/cpu,reward,,1500000000,0\n"
                         "10.1,14.1,1,node0/cpu,reward,,1500000000,0\n"
                         "13.1,14.1,1,node0/cpu,reward,,1500000000,0\n"
                         "14.1,20.1,1,gpu0,actor_update,actor,1500000000,833333333333333.4\n"
                         "14.1,20.1,1,gpu1,actor_update,actor,1500000000,833333333333333.4\n"},
        {"phases.csv", "step,phase,start_s,end_s,busy_s,idle_s\n"
                       "1,rollout,0,10.1,8.0500000005,2.0499999995\n"
                       "1,reward,10.1,14.1,0,4\n"
                       "1,actor_update,14.1,20.1,6,0\n"},
        {"memory.csv", "time_s,device,owner,category,bytes\n"
                       "0,gpu0,actor,weights,14000000000\n"
                       "0,gpu1,actor,weights,14000000000\n"
                       "0,node0/host,actor,weights,28000000000\n"
                       "0,gpu0,engine,kv_cache,50000000000\n"
                       "0,gpu1,engine,kv_cache,50000000000\n"
                       "14.1,gpu0,actor,activations,21333333333.333332\n"
                       "14.1,gpu1,actor,activations,21333333333.333332\n"
                       "14.1,gpu0,engine,kv_cache,0\n"
                       "14.1,gpu1,engine,kv_cache,0\n"},
        {"cost.csv",
         "start_s,end_s,item,dimension,quantity,unit,unit_price_usd,amount_usd,tags,source\n"
         "0,20.1,accelerators,node hours,0.75,node hour,4,3,\"'=team,a=\"\"b\"\"\","
         "\"list, as printed\"\n"
         "0,20.1,logs,ingested,10,GB,0.1,1,\"'=team,a=\"\"b\"\"\",list\n"},
    };
    write_run(folder, 1);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char *text = read_file(folder, wanted[i].name);
        ck_assert_str_eq(text, wanted[i].text);
        free(text);
    }
}
END_TEST

START_TEST(same_run_same_bytes) {
    char *first[ALL];
    write_run(folder, 2);
    for (size_t i = 0; i < ALL; i++)
        first[i] = read_file(folder, all[i]);
    write_run(folder, 2);
    for (size_t i = 0; i < ALL; i++) {
        char *second = read_file(folder, all[i]);
        ck_assert_str_eq(second, first[i]);
        free(second);
        free(first[i]);
    }
}
END_TEST

/* ---- trace.json ------------------------------------------------------------------------------*/

static json_t *read_trace(void) {
    char *text = read_file(folder, "trace.json");
    json_error_t error;
    json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(trace != NULL, "line %d: %s", error.line, error.text);
    free(text);
    return trace;
}

static const char *string_of(const json_t *event, const char *key) {
    const char *text = json_string_value(json_object_get(event, key));
    return text != NULL ? text : "";
}

/* The n-th (from 0) event of a kind and name; NULL when there are fewer. */
static json_t *find_event(const json_t *trace, const char *ph, const char *name, int n) {
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
        if (strcmp(string_of(event, "ph"), ph) == 0 &&
            strcmp(string_of(event, "name"), name) == 0 && n-- == 0)
            return event;
    }
    return NULL;
}

static void expect_name(const json_t *trace, const char *what, int n, const char *name) {
    const json_t *event = find_event(trace, "M", what, n);
    ck_assert_msg(event != NULL, "%s %d is missing", what, n);
    ck_assert_str_eq(string_of(json_object_get(event, "args"), "name"), name);
}

START_TEST(trace_names_processes_and_threads) {
    write_run(folder, 2);
    json_t *trace = read_trace();
    expect_name(trace, "process_name", 0, "gpu");
    expect_name(trace, "process_name", 1, "node0");
    ck_assert_ptr_null(find_event(trace, "M", "process_name", 2));
    /* In the order in which they first end something; the third and fourth are the two workers. */
    expect_name(trace, "thread_name", 0, "gpu1");
    expect_name(trace, "thread_name", 1, "gpu0");
    expect_name(trace, "thread_name", 2, "node0/cpu");
    expect_name(trace, "thread_name", 3, "node0/cpu 2");
    ck_assert_ptr_null(find_event(trace, "M", "thread_name", 4));
    json_decref(trace);
}
END_TEST

START_TEST(trace_has_spans_in_microseconds) {
    write_run(folder, 1);
    json_t *trace = read_trace();
    const json_t *span = find_event(trace, "X", "rollout", 0);
    ck_assert_str_eq(string_of(span, "cat"), "engine");
    ck_assert(json_number_value(json_object_get(span, "ts")) == 0.0);
    ck_assert(json_number_value(json_object_get(span, "dur")) == 6000000.001);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(span, "args"), "step")), 1);
    span = find_event(trace, "X", "actor_update", 1);
    ck_assert(json_number_value(json_object_get(span, "ts")) == 14100000.0);
    ck_assert(json_number_value(json_object_get(span, "dur")) == 6000000.0);
    ck_assert_ptr_null(find_event(trace, "X", "actor_update", 2));
    json_decref(trace);
}
END_TEST

static double counter(const json_t *event, const char *owner) {
    const json_t *value = json_object_get(json_object_get(event, "args"), owner);
    ck_assert(json_is_number(value));
    return json_number_value(value);
}

/* One event an instant, although several amounts change: 14 + 50 GB at 0, 14 + 64/3 GB at 14.1 s.
 */
START_TEST(trace_counts_memory_by_owner) {
    write_run(folder, 1);
    json_t *trace = read_trace();
    const json_t *first = find_event(trace, "C", "gpu1 memory", 0);
    const json_t *second = find_event(trace, "C", "gpu1 memory", 1);
    ck_assert(json_number_value(json_object_get(first, "ts")) == 0.0);
    ck_assert(counter(first, "actor") == 14e9 && counter(first, "engine") == 50e9);
    ck_assert(json_number_value(json_object_get(second, "ts")) == 14100000.0);
    assert_relative(counter(second, "actor"), 14e9 + 64e9 / 3.0, 1e-15);
    ck_assert(counter(second, "engine") == 0.0);
    ck_assert_ptr_null(find_event(trace, "C", "gpu1 memory", 2));
    ck_assert(counter(find_event(trace, "C", "node0/host memory", 0), "actor") == 28e9);
    json_decref(trace);
}
END_TEST

/* ---- whole or not at all ---------------------------------------------------------------------*/

START_TEST(nothing_appears_before_the_commit) {
    char path[256];
    struct results_files *files = record(folder, 1);
    snprintf(path, sizeof path, "%s/timeline.csv", folder);
    ck_assert_int_eq(access(path, F_OK), -1);
    results_files_discard(files);
    ck_assert_uint_eq(file_count(folder), 0);
    results_files_discard(NULL);
}
END_TEST

START_TEST(discard_keeps_an_earlier_run) {
    write_run(folder, 1);
    char *before = read_file(folder, "timeline.csv");
    results_files_discard(record(folder, 2));
    char *after = read_file(folder, "timeline.csv");
    ck_assert_str_eq(after, before);
    expect_good_folder(folder, 6);
    free(before);
    free(after);
}
END_TEST

START_TEST(discard_removes_the_directories_it_made) {
    char path[256];
    snprintf(path, sizeof path, "%s/a/b/", folder);
    struct results_files *files = record(path, 1);
    ck_assert_int_eq(access(path, F_OK), 0);
    results_files_discard(files);
    ck_assert_uint_eq(file_count(folder), 0);
}
END_TEST

START_TEST(commit_keeps_the_directories_it_made) {
    char path[256];
    snprintf(path, sizeof path, "%s/a", folder);
    write_run(path, 1);
    expect_good_folder(path, 6);
    remove_folder(path);
}
END_TEST

/* The folder never mixes two runs: the time-lines of the first would say nothing of the second. */
START_TEST(infeasible_run_leaves_two_files) {
    write_run(folder, 1);
    write_infeasible_run(folder);
    expect_good_folder(folder, 2);
    write_run(folder, 1);
    expect_good_folder(folder, 6);
}
END_TEST

/* ---- errors ----------------------------------------------------------------------------------*/

/* Files may grow to `bytes` while it holds, as on a disk that is nearly full. Nothing is asserted
 * until it is lifted: Check notes every assertion in a file, which is limited, too. */
static struct rlimit limit_files(rlim_t bytes) {
    struct rlimit before, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = bytes;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &small) != 0)
        abort();
    return before;
}

START_TEST(full_disk_leaves_the_earlier_run) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    char expected[256];
    write_run(folder, 1);
    struct results_files *files = record(folder, 2);
    struct rlimit before = limit_files(300);
    enum rlhfsim_status status = commit(files, 2, diagnostics);
    int lifted = setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(lifted, 0);
    ck_assert_int_eq(status, RLHFSIM_IO);
    const struct rlhfsim_error *error = rlhfsim_diagnostics_get(diagnostics, 0);
    ck_assert_int_eq(error->status, RLHFSIM_IO);
    snprintf(expected, sizeof expected, "%s/timeline.csv", folder);
    ck_assert_str_eq(error->file, expected);
    ck_assert_str_eq(error->message, "cannot write it: File too large");
    rlhfsim_diagnostics_free(diagnostics);
    expect_good_folder(folder, 6);
}
END_TEST

/* The streams fit; only trace.json and summary.json exceed 1,500 bytes. */
START_TEST(full_disk_at_the_last_file) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct results_files *files = record(folder, 1);
    struct rlimit before = limit_files(1500);
    enum rlhfsim_status status = commit(files, 1, diagnostics);
    int lifted = setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(lifted, 0);
    ck_assert_int_eq(status, RLHFSIM_IO);
    const char *file = rlhfsim_diagnostics_get(diagnostics, 0)->file;
    ck_assert_str_eq(strrchr(file, '/'), "/trace.json");
    rlhfsim_diagnostics_free(diagnostics);
    ck_assert_uint_eq(file_count(folder), 0);
}
END_TEST

START_TEST(directory_that_cannot_be) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct results_files *files = (struct results_files *)diagnostics;
    ck_assert_int_eq(results_files_open("/dev/null/out", &names, diagnostics, &files), RLHFSIM_IO);
    ck_assert_ptr_null(files);
    const struct rlhfsim_error *error = rlhfsim_diagnostics_get(diagnostics, 0);
    ck_assert_str_eq(error->file, "/dev/null/out");
    ck_assert_str_eq(error->message, "cannot create the directory: Not a directory");
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

/* A name is taken by a directory: nothing of the run is published, nothing is left. */
START_TEST(file_that_cannot_take_its_name) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    char path[256], inner[300];
    snprintf(path, sizeof path, "%s/trace.json", folder);
    snprintf(inner, sizeof inner, "%s/inside", path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(mkdir(inner, 0700), 0);
    ck_assert_int_eq(commit(record(folder, 1), 1, diagnostics), RLHFSIM_IO);
    const struct rlhfsim_error *error = rlhfsim_diagnostics_get(diagnostics, 0);
    ck_assert_str_eq(error->file, path);
    ck_assert_ptr_nonnull(strstr(error->message, "cannot put it in place: "));
    ck_assert_uint_eq(file_count(folder), 1);
    ck_assert_int_eq(rmdir(inner), 0);
    ck_assert_int_eq(rmdir(path), 0);
    rlhfsim_diagnostics_free(diagnostics);
}
END_TEST

static Suite *files_suite(void) {
    Suite *suite = suite_create("files");
    TCase *written = tcase_create("written");
    tcase_add_checked_fixture(written, setup, teardown);
    tcase_add_test(written, run_agrees_with_itself);
    tcase_add_test(written, tables_are_as_written_by_hand);
    tcase_add_test(written, same_run_same_bytes);
    tcase_add_test(written, trace_names_processes_and_threads);
    tcase_add_test(written, trace_has_spans_in_microseconds);
    tcase_add_test(written, trace_counts_memory_by_owner);
    suite_add_tcase(suite, written);
    TCase *whole = tcase_create("whole");
    tcase_add_checked_fixture(whole, setup, teardown);
    tcase_add_test(whole, nothing_appears_before_the_commit);
    tcase_add_test(whole, discard_keeps_an_earlier_run);
    tcase_add_test(whole, discard_removes_the_directories_it_made);
    tcase_add_test(whole, commit_keeps_the_directories_it_made);
    tcase_add_test(whole, infeasible_run_leaves_two_files);
    suite_add_tcase(suite, whole);
    TCase *errors = tcase_create("errors");
    tcase_add_checked_fixture(errors, setup, teardown);
    tcase_add_test(errors, full_disk_leaves_the_earlier_run);
    tcase_add_test(errors, full_disk_at_the_last_file);
    tcase_add_test(errors, directory_that_cannot_be);
    tcase_add_test(errors, file_that_cannot_take_its_name);
    suite_add_tcase(suite, errors);
    return suite;
}

TESTING_MAIN(files_suite)
