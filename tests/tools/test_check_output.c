/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * The checker of output folders must see what is wrong. A small folder made by hand is good; every
 * row of the table below spoils it in one place and names what the report has to say.
 *
 * The run: one step on two GPUs. A rollout from 0 to 10 s keeps gpu0 busy all the time and gpu1 for
 * 6 s: busy (10 + 6) / 2 = 8 s, idle 2 s. An update from 10 to 16 s keeps both busy. Altogether
 * 16 s, 2 x 16 / 3600 GPU hours, idle 2 / 16 = 0.125. A GPU holds 100 + 50 bytes at first and
 * 100 + 80 from 10 s on (for an instant 100 + 50 + 80, which does not count).
 */
#include "tests/testing.h"
#include "tests/tools/check_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIGURE(x) "{\"p10\": " x ", \"p50\": " x ", \"p90\": " x "}"

/* The formatter would indent these ever deeper. */
/* clang-format off */
static const char summary_json[] =
    "{\"name\": \"made by hand\",\"time\": {\"total_s\": " FIGURE("16.0") ", \"step_s\": "
    FIGURE("16.0") ", \"phases_s\": {\"rollout\": " FIGURE("10.0") ", \"transition\": "
    FIGURE("0.0") ",\"reward\": " FIGURE("0.0") ", \"actor_logprob\": " FIGURE("0.0")
    ",\"reference_logprob\": " FIGURE("0.0") ", \"values\": " FIGURE("0.0") ",\"critic_update\": "
    FIGURE("0.0") ", \"actor_update\": " FIGURE("6.0") ",\"weight_sync\": " FIGURE("0.0")
    ", \"checkpoint\": " FIGURE("0.0") ",\"validation\": " FIGURE("0.0") ",\"load\": " FIGURE("0.0")
    "}, \"offload_s\": null},\"steps\": {\"rollout\": 1, \"optimizer\": 4},"
    "\"throughput\": {\"tokens_per_s_per_gpu\": " FIGURE("50.5") ",\"samples_per_s\": "
    FIGURE("2.5") ", \"mfu_training\": " FIGURE("0.4") ",\"mfu_overall\": " FIGURE("0.2")
    "},\"rollout\": {\"mean_response_tokens\": " FIGURE("120.0") ",\"p99_response_tokens\": "
    FIGURE("400.0") ", \"share_cut\": " FIGURE("0.01") ",\"tail_idle_s\": " FIGURE("2.0")
    ",\"p50_response_tokens\": " FIGURE("150.0") ",\"p90_response_tokens\": " FIGURE("300.0")
    ",\"max_response_tokens\": " FIGURE("512.0") ",\"useless_tokens\": " FIGURE("0.0")
    ", \"tail_floor_s\": " FIGURE("1.0")
    ", \"rounds\": " FIGURE("1.0") ", \"wasted_share\": " FIGURE("0.0")
    ", \"exhausted_share\": " FIGURE("0.0")
    "},\"staleness\": {\"mean_versions\": " FIGURE("0.0")
    ", \"distribution\": [{\"versions\": 0, \"share\": " FIGURE("1.0") "}]"
    "},\"memory\": {\"fits\": true, \"peak_bytes\": " FIGURE("180.0")
    ", \"capacity_bytes\": 200.0,\"phase\": \"actor_update\", \"device\": \"gpu0\","
    " \"host_peak_bytes\": " FIGURE("10.0") ", \"verdict\": \"fits\","
    " \"fit_probability\": " FIGURE("0.9375") "},\"cost\": {\"total_usd\": " FIGURE("3.0")
    ", \"items_usd\": {\"accelerators\": " FIGURE("2.0") ", \"logs\": " FIGURE("1.0")
    "}, \"formula_usd\": " FIGURE("3.5") "},\"gpu_hours\": " FIGURE("0.0088888888888888889")
    ",\"idle_fraction\": " FIGURE("0.125") ",\"pools\": null,\"compute\": {\"total_flops\": " FIGURE("1e15")
    ", \"pretraining_fraction\": null},\"limit\": {\"resource\": \"hbm_bandwidth\","
    " \"gain_fraction\": " FIGURE("0.1")
    "},\"scaling\": {\"faster_fraction\": null, \"dearer_fraction\": null,"
    " \"phase\": null, \"phase_share\": null, \"phase_shorter_fraction\": null},"
    " \"critical_path\": [{\"phase\": \"rollout\", \"share\": " FIGURE("0.625")
    "},{\"phase\": \"actor_update\", \"share\": " FIGURE("0.375")
    "}],\"events\": 42, \"calibration\": null, \"band\": {\"expected_total_s\": null, \"expected_step_s\": null, \"expected_rollout_s\": null, "
    "\"expected_update_s\": null, \"expected_logprob_s\": null, \"basis\": null}, \"provenance\": {\"cluster.gpu\": \"measured\"}}";
/* clang-format on */

static const char phases_csv[] = "step,phase,start_s,end_s,busy_s,idle_s\n"
                                 "1,rollout,0,10,8,2\n"
                                 "1,actor_update,10,16,6,0\n";

static const char timeline_csv[] = "start_s,end_s,step,resource,phase,model,bytes,flops\n"
                                   "0,6,1,gpu1,rollout,engine,1e3,2e6\n"
                                   "0,10,1,gpu0,rollout,engine,1e3,2e6\n"
                                   "10,16,1,gpu0,actor_update,actor,0,5e6\n"
                                   "10,16,1,gpu1,actor_update,actor,0,5e6\n";

static const char memory_csv[] = "time_s,device,owner,category,bytes\n"
                                 "0,gpu0,actor,weights,100\n"
                                 "0,gpu0,engine,kv_cache,50\n"
                                 "0,gpu1,actor,weights,100\n"
                                 "0,node0/host,actor,optimizer,10\n"
                                 "10,gpu0,actor,activations,80\n"
                                 "10,gpu0,engine,kv_cache,0\n";

static const char cost_csv[] =
    "start_s,end_s,item,dimension,quantity,unit,unit_price_usd,amount_usd,tags,source\n"
    "0,16,accelerators,node hours,0.5,node hour,4,2,team=a,\"a list, printed\"\n"
    "0,16,logs,ingested,10,GB,0.1,1,team=a,a list\n";

static const char trace_json[] =
    "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
    "{\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 1, \"tid\": 0,"
    " \"args\": {\"name\": \"gpu\"}},\n"
    "{\"name\": \"rollout\", \"ph\": \"X\", \"ts\": 0, \"dur\": 6000000, \"pid\": 1, \"tid\": 2},\n"
    "{\"name\": \"rollout\", \"ph\": \"X\", \"ts\": 0, \"dur\": 1e7, \"pid\": 1, \"tid\": 1},\n"
    "{\"name\": \"update\", \"ph\": \"X\", \"ts\": 1e7, \"dur\": 6e6, \"pid\": 1, \"tid\": 1},\n"
    "{\"name\": \"update\", \"ph\": \"X\", \"ts\": 1e7, \"dur\": 6e6, \"pid\": 1, \"tid\": 2},\n"
    "{\"name\": \"gpu0\", \"ph\": \"C\", \"ts\": 0, \"pid\": 1, \"tid\": 0,"
    " \"args\": {\"actor\": 100}}]}";

struct text_file {
    const char *name;
    const char *text;
};

static const struct text_file good_files[] = {
    {"summary.json", summary_json}, {"phases.csv", phases_csv}, {"timeline.csv", timeline_csv},
    {"memory.csv", memory_csv},     {"cost.csv", cost_csv},     {"trace.json", trace_json},
};
#define GOOD_FILES (sizeof good_files / sizeof good_files[0])

/* ---- folders ---------------------------------------------------------------------------------*/

static char folder[] = "/tmp/check_output_XXXXXX";

static const char *path_in_folder(const char *name, char path[256]) {
    snprintf(path, 256, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    char path[256];
    FILE *file = fopen(path_in_folder(name, path), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_good_folder(void) {
    strcpy(strrchr(folder, '_') + 1, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (size_t i = 0; i < GOOD_FILES; i++)
        write_file(good_files[i].name, good_files[i].text);
}

static void remove_file(const char *name) {
    char path[256];
    unlink(path_in_folder(name, path));
}

static void remove_folder(void) {
    for (size_t i = 0; i < GOOD_FILES; i++)
        remove_file(good_files[i].name);
    remove_file(".timeline.csv.0.tmp");
    ck_assert_int_eq(rmdir(folder), 0);
}

/* The report has to hold `expected`; NULL: there is no fault. */
static void expect_report(const char *expected) {
    char *report = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&report, &size);
    size_t faults = check_output(folder, stream);
    fclose(stream);
    if (expected == NULL)
        ck_assert_msg(faults == 0, "%s", report);
    else
        ck_assert_msg(faults > 0 && strstr(report, expected) != NULL, "expected '%s', got:\n%s",
                      expected, report);
    free(report);
}

/* ---- one fault each --------------------------------------------------------------------------*/

static const struct spoilt {
    const char *file, *from, *to, *expected;
} spoilt[] = {
    {"summary.json", "\"name\": \"made by hand\",", "", "name is missing"},
    {"summary.json", "\"name\": \"made by hand\"", "\"name\": 1", "name is of the wrong kind"},
    {"summary.json", "\"events\": 42", "\"events\": -1", "events is of the wrong kind"},
    {"summary.json", "\"events\": 42", "\"events\": null", "events is null"},
    {"summary.json", "\"calibration\": null", "\"calibration\": 1", "calibration is of the wrong"},
    {"summary.json", "\"fits\": true", "\"fits\": 1", "memory.fits is of the wrong kind"},
    {"summary.json", "\"validation\": {", "\"evaluation\": {", "validation is missing"},
    {"summary.json", "\"p10\": 50.5, ", "", "tokens_per_s_per_gpu is not {p10, p50, p90}"},
    {"summary.json", "\"p10\": 50.5", "\"p10\": 51.5", "p10, p50 and p90 are not in order"},
    {"summary.json", "\"p10\": 2.5", "\"p10\": -2.5", "samples_per_s.p10 is missing or out"},
    {"summary.json", "\"p90\": 0.4}", "\"p90\": 1.4}", "mfu_training.p90 is missing or out"},
    {"summary.json", "\"measured\"", "\"guessed\"", "provenance.cluster.gpu is no known word"},
    {"summary.json", "\"phase\": \"rollout\"", "\"phase\": \"tea\"", "no such phase"},
    {"summary.json", "\"events\"", "events", "not a JSON object"},
    {"summary.json", "\"total_s\": " FIGURE("16.0"), "\"total_s\": " FIGURE("16.001"),
     "time.total_s is 16.001"},
    {"summary.json", "\"step_s\": " FIGURE("16.0"), "\"step_s\": " FIGURE("8.0"),
     "time.step_s is 8"},
    {"summary.json", "\"actor_update\": " FIGURE("6.0"), "\"actor_update\": " FIGURE("6.5"),
     "time.phases_s.actor_update is 6.5"},
    {"summary.json", FIGURE("0.125"), FIGURE("0.126"), "idle_fraction is 0.126"},
    {"summary.json", FIGURE("0.0088888888888888889"), FIGURE("0.01"), "gpu_hours is 0.01"},
    {"summary.json", FIGURE("180.0"), FIGURE("230.0"), "memory.peak_bytes is 230"},
    {"summary.json", FIGURE("10.0") ", \"verdict", FIGURE("11.0") ", \"verdict",
     "memory.host_peak_bytes is 11"},
    {"summary.json", "\"capacity_bytes\": 200.0", "\"capacity_bytes\": 150.0",
     "it fits, but gpu0 holds more"},
    {"summary.json", "\"device\": \"gpu0\"", "\"device\": \"gpu1\"", "gpu1 is not the fullest"},
    {"summary.json", FIGURE("3.0"), FIGURE("3.1"), "cost.total_usd is 3.1"},
    {"summary.json", "\"logs\": " FIGURE("1.0"), "\"traces\": " FIGURE("1.0"),
     "cost.items_usd.logs is missing"},
    {"summary.json", "\"logs\": " FIGURE("1.0"), "\"logs\": " FIGURE("0.9"),
     "cost.items_usd.logs is 0.9"},
    {"summary.json", "\"total_s\": " FIGURE("16.0"), "\"total_s\": null", "must be null"},

    {"phases.csv", "busy_s,idle_s", "idle_s,busy_s", "phases.csv: the header is not"},
    {"phases.csv", "1,actor_update", "1,\"actor_update", "not a CSV file"},
    {"phases.csv", ",6,0", ",6", "row 2 has 5 cells, the header 6"},
    {"phases.csv", "1,rollout", "1,tea", "no phase is called 'tea'"},
    {"phases.csv", "8,2", "8,1.99", "row 1: busy + idle is not end - start"},
    {"phases.csv", "8,2", "11,-1", "row 1: negative time"},
    {"phases.csv", "8,2", "7,3", "busy_s is 7.000000000, the spans say 8.000000000"},
    {"phases.csv", "update,10,", "update,9,", "starts before the one above has ended"},
    {"phases.csv", "update,10,16", "update,16,10", "row 2 ends before it starts"},
    {"phases.csv", "1,actor", "3,actor", "step 3 does not follow step 1"},
    {"phases.csv", "1,actor", "0,actor", "step 0 does not follow step 1"},
    {"phases.csv", ",0,10,", ",-1,10,", "'-1' is not a time"},
    {"phases.csv", ",0,10,", ",0,10.0000000001,", "is not a time"},
    {"phases.csv", "8,2", "nan,2", "'nan' is not a finite number"},
    {"phases.csv", "1,rollout", "1.5,rollout", "'1.5' is not a whole number"},

    {"timeline.csv", "10,16,1,gpu0", "9,16,1,gpu0", "gpu0 is busy twice at 9.000000000 s"},
    {"timeline.csv", "10,16,1,gpu0", "10,16.000000001,1,gpu0", "row 3 is in no 'actor_update'"},
    {"timeline.csv", "10,16,1,gpu0", "10,16,2,gpu0", "row 3 is in no 'actor_update' of step 2"},
    {"timeline.csv", "10,16,1,gpu0", "16,10,1,gpu0", "row 3 ends before it starts"},
    {"timeline.csv", "gpu1,rollout", "gpu1,reward", "row 1 is in no 'reward'"},
    {"timeline.csv", "actor,0,5e6\n1", "actor,-1,5e6\n1", "negative bytes or flops"},
    {"timeline.csv", "0,6,1,gpu1", "0,5,1,gpu1", "the spans say 7.500000000"},
    {"timeline.csv", "1e3,2e6\n0,10", "inf,2e6\n0,10", "'inf' is not a finite number"},
    {"timeline.csv", "0,6,1,gpu1,rollout,engine,1e3,2e6\n", "", "4 spans, timeline.csv has 3"},

    {"memory.csv", "gpu0,engine,kv_cache,0", "gpu0,engine,kv_cache,-1", "negative bytes"},
    {"memory.csv", "gpu0,engine,kv_cache,0", "gpu0,engine,kv_cache,50", "row 6 changes nothing"},
    {"memory.csv", "gpu1,actor,weights,100", "gpu1,actor,weights,0", "row 3 changes nothing"},
    {"memory.csv", "10,gpu0,engine", "9,gpu0,engine", "row 6 goes back in time"},
    {"memory.csv", "activations,80", "activations,81", "the files say 181"},

    {"cost.csv", ",0.1,1,", ",0.1,1.5,", "row 2: amount is not quantity x unit price"},
    {"cost.csv", ",10,GB,0.1,1,", ",-10,GB,-0.1,1,", "negative quantity or price"},
    {"cost.csv", "0,16,logs", "17,16,logs", "row 2 ends before it starts"},
    {"cost.csv", ",10,GB,", ",10,,", "row 2 has no unit or no source"},
    {"cost.csv", "16,logs", "16,extras", "cost.items_usd.extras is missing"},

    {"trace.json", "\"ph\": \"M\", ", "", "event 1 lacks name, ph, pid, tid or a finite ts"},
    {"trace.json", "\"ts\": 0, \"pid\"", "\"pid\"", "event 1 lacks"},
    {"trace.json", "\"ts\": 0, \"dur\": 6000000", "\"dur\": 6000000", "event 2 lacks"},
    {"trace.json", "\"tid\": 2}", "\"tid\": \"2\"}", "event 2 lacks"},
    {"trace.json", ", \"pid\": 1, \"tid\": 2}", ", \"tid\": 2}", "event 2 lacks"},
    {"trace.json", "\"dur\": 1e7, ", "", "event 3: dur is not at least 0"},
    {"trace.json", "\"dur\": 1e7", "\"dur\": -1", "event 3: dur is not at least 0"},
    {"trace.json", "\"dur\": 1e7", "\"dur\": 10000000.002", "spans of thread 1 overlap at 100000"},
    {"trace.json", "\"ph\": \"C\"", "\"ph\": \"Q\"", "event 6: ph is 'Q'"},
    {"trace.json", "{\"actor\": 100}", "{\"actor\": \"all\"}", "counter actor is no finite number"},
    {"trace.json", "{\"actor\": 100}", "{}", "a counter without args"},
    {"trace.json", "100}}]}", "100}}]", "not a JSON object with traceEvents"},
    {"trace.json", "100}}]}", "100}}]}x", "not a JSON object with traceEvents"},
    {"trace.json", "\"traceEvents\"", "\"events\"", "not a JSON object with traceEvents"},
    {"trace.json", "\"tid\": 2},", "\"tid\": 2}", "not a JSON object with traceEvents"},
};
#define SPOILT (sizeof spoilt / sizeof spoilt[0])

static const char *good_text(const char *name) {
    for (size_t i = 0; i < GOOD_FILES; i++)
        if (strcmp(good_files[i].name, name) == 0)
            return good_files[i].text;
    ck_abort_msg("no file is called %s", name);
}

static void write_spoilt(const struct spoilt *fault) {
    const char *text = good_text(fault->file);
    const char *place = strstr(text, fault->from);
    ck_assert_msg(place != NULL, "%s lacks '%s'", fault->file, fault->from);
    char *changed = malloc(strlen(text) + strlen(fault->to) + 1);
    ck_assert_ptr_nonnull(changed);
    sprintf(changed, "%.*s%s%s", (int)(place - text), text, fault->to, place + strlen(fault->from));
    write_file(fault->file, changed);
    free(changed);
}

START_TEST(good_folder_has_no_fault) {
    write_good_folder();
    expect_report(NULL);
    remove_folder();
}
END_TEST

START_TEST(every_fault_is_seen) {
    write_good_folder();
    write_spoilt(&spoilt[_i]);
    expect_report(spoilt[_i].expected);
    remove_folder();
}
END_TEST

START_TEST(every_file_must_be_there) {
    char expected[64];
    write_good_folder();
    remove_file(good_files[_i].name);
    snprintf(expected, sizeof expected, "%s: missing", good_files[_i].name);
    expect_report(expected);
    remove_folder();
}
END_TEST

START_TEST(hidden_files_are_left_behind) {
    write_good_folder();
    write_file(".timeline.csv.0.tmp", "start_s");
    expect_report(".timeline.csv.0.tmp: left behind");
    remove_folder();
}
END_TEST

/* Spans that lie within each other are fine on one thread of a trace. */
START_TEST(nested_spans_are_fine) {
    write_good_folder();
    write_spoilt(&(struct spoilt){.file = "trace.json",
                                  .from = "\"ts\": 1e7, \"dur\": 6e6, \"pid\": 1, \"tid\": 1",
                                  .to = "\"ts\": 1e6, \"dur\": 9e6, \"pid\": 1, \"tid\": 1"});
    expect_report(NULL);
    remove_folder();
}
END_TEST

/* ---- an infeasible run -----------------------------------------------------------------------*/

/* All figures but those of the memory are null. */
/* The formatter would indent these ever deeper. */
/* clang-format off */
static const char infeasible_json[] =
    "{\"name\": \"too big\", \"time\": {\"total_s\": null, \"step_s\": null,"
    " \"phases_s\": {\"rollout\": null, \"transition\": null, \"reward\": null,"
    " \"actor_logprob\": null,\"reference_logprob\": null, \"values\": null,"
    " \"critic_update\": null,\"actor_update\": null, \"weight_sync\": null,"
    " \"checkpoint\": null, \"validation\": null, \"load\": null},\"offload_s\": null},\"steps\": {\"rollout\": 1,"
    " \"optimizer\": 4}, \"throughput\": {\"tokens_per_s_per_gpu\": null,"
    " \"samples_per_s\": null, \"mfu_training\": null,\"mfu_overall\": null},"
    " \"rollout\": {\"mean_response_tokens\": null,\"p99_response_tokens\": null,"
    " \"share_cut\": null, \"tail_idle_s\": null, \"p50_response_tokens\": null,"
    " \"p90_response_tokens\": null, \"max_response_tokens\": null, \"useless_tokens\": null,"
    " \"tail_floor_s\": null, \"rounds\": null, \"wasted_share\": null,"
    " \"exhausted_share\": null},"
    " \"staleness\": {\"mean_versions\": null, \"distribution\": null},"
    " \"memory\": {\"fits\": false,\"peak_bytes\": " FIGURE("180.0")
    ", \"capacity_bytes\": 150.0, \"phase\": \"actor_update\",\"device\": \"gpu0\","
    " \"host_peak_bytes\": " FIGURE("10.0") ", \"verdict\": \"does not fit\","
    " \"fit_probability\": " FIGURE("0.0")
    "}, \"cost\": {\"total_usd\": null, \"items_usd\": null, \"formula_usd\": null},"
    " \"gpu_hours\": null,\"idle_fraction\": null, \"pools\": null, \"compute\": {\"total_flops\": null,"
    " \"pretraining_fraction\": null}, \"limit\": {\"resource\": null,"
    " \"gain_fraction\": null}, \"scaling\": {\"faster_fraction\": null, \"dearer_fraction\": null,"
    " \"phase\": null, \"phase_share\": null, \"phase_shorter_fraction\": null},"
    " \"critical_path\": null, \"events\": null, \"calibration\": null, \"band\": {\"expected_total_s\": null, \"expected_step_s\": null, \"expected_rollout_s\": null, "
    "\"expected_update_s\": null, \"expected_logprob_s\": null, \"basis\": null},"
    " \"provenance\": {\"prices\": \"assumed\"}}";
/* clang-format on */

static void write_infeasible_folder(void) {
    write_good_folder();
    write_file("summary.json", infeasible_json);
}

START_TEST(infeasible_run_has_two_files) {
    write_infeasible_folder();
    expect_report("timeline.csv: must not be there, the run is infeasible");
    static const char *const others[] = {"timeline.csv", "phases.csv", "cost.csv", "trace.json"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        remove_file(others[i]);
    expect_report(NULL);
    remove_folder();
}
END_TEST

START_TEST(infeasible_run_has_no_price) {
    write_infeasible_folder();
    char *changed = strdup(infeasible_json);
    ck_assert_ptr_nonnull(changed);
    memcpy(strstr(changed, "\"formula_usd\": null"), "\"formula_usd\": 1234", 19);
    write_file("summary.json", changed);
    free(changed);
    expect_report("cost.formula_usd must be null");
    remove_folder();
}
END_TEST

static Suite *check_output_suite(void) {
    Suite *suite = suite_create("check_output");
    TCase *tests = tcase_create("folders");
    tcase_add_test(tests, good_folder_has_no_fault);
    tcase_add_loop_test(tests, every_fault_is_seen, 0, (int)SPOILT);
    tcase_add_loop_test(tests, every_file_must_be_there, 0, (int)GOOD_FILES);
    tcase_add_test(tests, hidden_files_are_left_behind);
    tcase_add_test(tests, nested_spans_are_fine);
    tcase_add_test(tests, infeasible_run_has_two_files);
    tcase_add_test(tests, infeasible_run_has_no_price);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(check_output_suite)
