/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/results/output.h"

#include "models/results/csv.h"
#include "tests/testing.h"

#include <csv.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_output_XXXXXX";

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static const char *inside(const char *name, char path[256]) {
    snprintf(path, 256, "%s/%s", folder, name);
    return path;
}

/* Every test leaves the folder empty. */
static void teardown(void) {
    ck_assert_int_eq(rmdir(folder), 0);
    strcpy(strrchr(folder, '_') + 1, "XXXXXX");
}

static size_t file_count(void) {
    size_t count = 0;
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2; /* without . and .. */
}

static void expect_file(const char *name, const char *text) {
    char path[256], found[256] = "";
    FILE *file = fopen(inside(name, path), "r");
    ck_assert_msg(file != NULL, "%s is missing", path);
    size_t length = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_str_eq(found, text);
}

static void remove_inside(const char *name) {
    char path[256];
    ck_assert_int_eq(unlink(inside(name, path)), 0);
}

static void write_whole(const char *name, const char *text) {
    struct results_output output;
    ck_assert_int_eq(results_output_open(&output, folder, name), 0);
    results_output_text(&output, text);
    ck_assert_int_eq(results_output_close(&output), 0);
    ck_assert_int_eq(results_output_publish(&output), 0);
    results_output_free(&output);
}

/* ---- files -----------------------------------------------------------------------------------*/

START_TEST(file_appears_when_published) {
    struct results_output output;
    char path[256];
    ck_assert_int_eq(results_output_open(&output, folder, "a.csv"), 0);
    results_output_text(&output, "x,");
    results_output_write(&output, "y\n", 2);
    ck_assert_int_eq(access(inside("a.csv", path), F_OK), -1);
    ck_assert_int_eq(access(inside(".a.csv.0.tmp", path), F_OK), 0);
    ck_assert_int_eq(results_output_close(&output), 0);
    ck_assert_int_eq(access(inside("a.csv", path), F_OK), -1);
    ck_assert_int_eq(results_output_publish(&output), 0);
    results_output_free(&output);
    expect_file("a.csv", "x,y\n");
    ck_assert_uint_eq(file_count(), 1);
    remove_inside("a.csv");
}
END_TEST

START_TEST(older_file_stays_until_then) {
    struct results_output output;
    write_whole("a.csv", "old");
    ck_assert_int_eq(results_output_open(&output, folder, "a.csv"), 0);
    results_output_text(&output, "new");
    expect_file("a.csv", "old");
    results_output_free(&output);
    expect_file("a.csv", "old");
    ck_assert_uint_eq(file_count(), 1);
    write_whole("a.csv", "new");
    expect_file("a.csv", "new");
    remove_inside("a.csv");
}
END_TEST

/* What is larger than the buffer, in one piece and in many. */
START_TEST(large_files_are_complete) {
    enum { SIZE = 300000 };
    char *large = malloc(SIZE);
    char path[256];
    struct results_output output;
    ck_assert_ptr_nonnull(large);
    for (size_t i = 0; i < SIZE; i++)
        large[i] = (char)('a' + i % 23);
    ck_assert_int_eq(results_output_open(&output, folder, "a"), 0);
    results_output_text(&output, "first");
    results_output_write(&output, large, SIZE);
    for (size_t i = 0; i < SIZE; i += 1000)
        results_output_write(&output, large + i, 1000);
    ck_assert_int_eq(results_output_close(&output), 0);
    ck_assert_int_eq(results_output_publish(&output), 0);
    results_output_free(&output);
    char *found = malloc(2 * SIZE + 10);
    FILE *file = fopen(inside("a", path), "r");
    ck_assert_ptr_nonnull(found);
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(found, 1, 2 * SIZE + 10, file), 2 * SIZE + 5);
    fclose(file);
    ck_assert_int_eq(memcmp(found, "first", 5), 0);
    ck_assert_int_eq(memcmp(found + 5, large, SIZE), 0);
    ck_assert_int_eq(memcmp(found + 5 + SIZE, large, SIZE), 0);
    free(found);
    free(large);
    remove_inside("a");
}
END_TEST

/* Not even by two runs of one process. */
START_TEST(hidden_names_are_not_shared) {
    struct results_output first, second;
    char path[256];
    ck_assert_int_eq(results_output_open(&first, folder, "a"), 0);
    ck_assert_int_eq(results_output_open(&second, folder, "a"), 0);
    ck_assert_int_eq(access(inside(".a.1.tmp", path), F_OK), 0);
    results_output_free(&first);
    ck_assert_uint_eq(file_count(), 1);
    results_output_free(&second);
}
END_TEST

static void leave_behind(const char *name) {
    char path[256];
    FILE *file = fopen(inside(name, path), "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
}

/* What a killed run left goes, whatever its number; what a living one holds stays until it has its
 * name, and so does what is no such file. */
START_TEST(leftovers_are_removed) {
    struct results_output living, output;
    char path[256];
    ck_assert_int_eq(results_output_open(&living, folder, "a"), 0);
    results_output_text(&living, "living");
    leave_behind(".a.1.tmp");
    leave_behind(".a.2.tmp");
    leave_behind(".b.0.tmp");
    ck_assert_int_eq(symlink("nowhere", inside(".a.3.tmp", path)), 0);
    ck_assert_int_eq(results_output_close(&living), 0);
    ck_assert_int_eq(results_output_open(&output, folder, "a"), 0);
    ck_assert_int_eq(access(inside(".a.0.tmp", path), F_OK), 0);
    ck_assert_int_eq(access(inside(".a.1.tmp", path), F_OK), 0); /* the new one */
    ck_assert_int_eq(access(inside(".a.2.tmp", path), F_OK), -1);
    ck_assert_int_eq(access(inside(".b.0.tmp", path), F_OK), 0);
    ck_assert_int_eq(results_output_publish(&living), 0);
    expect_file("a", "living");
    results_output_free(&living);
    results_output_free(&output);
    remove_inside(".a.3.tmp");
    remove_inside(".b.0.tmp");
    remove_inside("a");
}
END_TEST

/* A file may grow to 1000 bytes here, as on a disk with no more room. */
START_TEST(full_disk_is_reported_once_closed) {
    struct rlimit before, small;
    struct results_output output;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(results_output_open(&output, folder, "a"), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 100000; i++)
        results_output_text(&output, "0123456789");
    int error = results_output_close(&output);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(error, EFBIG);
    results_output_free(&output);
    ck_assert_uint_eq(file_count(), 0);
}
END_TEST

START_TEST(missing_directory_is_reported) {
    struct results_output output;
    char path[256];
    ck_assert_int_eq(results_output_open(&output, inside("none", path), "a"), ENOENT);
    results_output_free(&output);
}
END_TEST

/* ---- directories -----------------------------------------------------------------------------*/

START_TEST(directories_are_made_and_unmade) {
    char path[256];
    size_t made;
    ck_assert_int_eq(results_directory_make(inside("a/b//c/", path), &made), 0);
    ck_assert_uint_eq(made, 3);
    ck_assert_int_eq(access(inside("a/b/c", path), F_OK), 0);
    ck_assert_int_eq(results_directory_make(inside("a/b/d", path), &made), 0);
    ck_assert_uint_eq(made, 1);
    results_directory_unmake(path, made);
    ck_assert_int_eq(access(inside("a/b/d", path), F_OK), -1);
    ck_assert_int_eq(access(inside("a/b/c", path), F_OK), 0);
    results_directory_unmake(inside("a/b//c/", path), 3);
    ck_assert_uint_eq(file_count(), 0);
}
END_TEST

START_TEST(directory_that_is_there_stays) {
    size_t made;
    ck_assert_int_eq(results_directory_make(folder, &made), 0);
    ck_assert_uint_eq(made, 0);
    results_directory_unmake(folder, made);
    ck_assert_int_eq(access(folder, F_OK), 0);
}
END_TEST

/* With files in it a directory is not removed. */
START_TEST(used_directory_stays) {
    char path[256];
    size_t made;
    ck_assert_int_eq(results_directory_make(inside("a/b", path), &made), 0);
    FILE *file = fopen(inside("a/x", path), "w");
    ck_assert_ptr_nonnull(file);
    fputs("text", file);
    ck_assert_int_eq(fclose(file), 0);
    results_directory_unmake(inside("a/b", path), made);
    ck_assert_int_eq(access(inside("a/b", path), F_OK), -1);
    expect_file("a/x", "text");
    remove_inside("a/x");
    ck_assert_int_eq(rmdir(inside("a", path)), 0);
}
END_TEST

START_TEST(directory_below_a_file_is_refused) {
    char path[256];
    size_t made;
    write_whole("a", "text");
    ck_assert_int_eq(results_directory_make(inside("a", path), &made), ENOTDIR);
    ck_assert_int_eq(results_directory_make(inside("a/b", path), &made), ENOTDIR);
    ck_assert_uint_eq(made, 0);
    ck_assert_int_eq(results_directory_make("", &made), ENOENT);
    remove_inside("a");
}
END_TEST

/* What fails half way leaves nothing: a name has at most 255 bytes. */
START_TEST(half_a_path_is_not_left) {
    char path[600];
    size_t made;
    snprintf(path, sizeof path, "%s/a/b/%0300d", folder, 0);
    ck_assert_int_eq(results_directory_make(path, &made), ENAMETOOLONG);
    ck_assert_uint_eq(file_count(), 0);
}
END_TEST

/* ---- CSV -------------------------------------------------------------------------------------*/

START_TEST(csv_fields_are_quoted) {
    struct results_output output;
    struct results_csv csv = {.output = &output};
    ck_assert_int_eq(results_output_open(&output, folder, "a"), 0);
    static const char *const texts[] = {"plain", "", "a,b", "say \"no\"", "two\nlines", " space "};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        results_csv_text(&csv, texts[i]);
    results_csv_end(&csv);
    results_csv_seconds(&csv, 1500000000);
    results_csv_integer(&csv, -3);
    results_csv_number(&csv, -0.25);
    results_csv_end(&csv);
    ck_assert_int_eq(results_output_close(&output), 0);
    ck_assert_int_eq(results_output_publish(&output), 0);
    results_output_free(&output);
    expect_file("a", "plain,,\"a,b\",\"say \"\"no\"\"\",\"two\nlines\", space \n"
                     "1.5,-3,-0.25\n");
    remove_inside("a");
}
END_TEST

/* Only text is disarmed: the negative numbers above are not. */
START_TEST(csv_formulas_are_disarmed) {
    struct results_output output;
    struct results_csv csv = {.output = &output};
    ck_assert_int_eq(results_output_open(&output, folder, "a"), 0);
    static const char *const texts[] = {"=1+1", "+1", "-1", "@A1", "=f(\"x\",1)", "team=a", "\tx"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        results_csv_text(&csv, texts[i]);
    results_csv_end(&csv);
    ck_assert_int_eq(results_output_close(&output), 0);
    ck_assert_int_eq(results_output_publish(&output), 0);
    results_output_free(&output);
    expect_file("a", "'=1+1,'+1,'-1,'@A1,\"'=f(\"\"x\"\",1)\",team=a,'\tx\n");
    remove_inside("a");
}
END_TEST

/* What an independent reader makes of random text is what was written. */
struct fields {
    char (*wanted)[8];
    size_t count;
};

static void compare_field(void *bytes, size_t length, void *subject) {
    struct fields *fields = subject;
    const char *wanted = fields->wanted[fields->count++];
    ck_assert_msg(length == strlen(wanted) && memcmp(bytes, wanted, length) == 0,
                  "field %zu: '%.*s', not '%s'", fields->count, (int)length, (char *)bytes, wanted);
}

static void end_row(int terminator, void *subject) {
    (void)terminator;
    (void)subject;
}

START_TEST(csv_reads_back) {
    enum { FIELDS = 5000 };
    static char texts[FIELDS][8];
    struct results_output output;
    struct results_csv csv = {.output = &output};
    unsigned state = 12345; /* the seed; linear congruential, high bits */
    ck_assert_int_eq(results_output_open(&output, folder, "a"), 0);
    for (size_t i = 0; i < FIELDS; i++) {
        static const char alphabet[] = "ab,\"\n\r1";
        strcpy(texts[i], "x"); /* no field is blank, and none begins a formula */
        for (size_t k = 1; k < 6; k++) {
            state = state * 1664525u + 1013904223u;
            texts[i][k] = alphabet[(state >> 16) % (sizeof alphabet - 1)];
        }
        texts[i][6] = '\0';
        results_csv_text(&csv, texts[i]);
        if (i % 10 == 9)
            results_csv_end(&csv);
    }
    ck_assert_int_eq(results_output_close(&output), 0);
    ck_assert_int_eq(results_output_publish(&output), 0);
    results_output_free(&output);

    struct csv_parser parser;
    struct fields fields = {.wanted = texts};
    static char found[200000];
    char path[256];
    FILE *file = fopen(inside("a", path), "r");
    ck_assert_ptr_nonnull(file);
    size_t length = fread(found, 1, sizeof found, file);
    fclose(file);
    ck_assert_uint_lt(length, sizeof found);
    ck_assert_int_eq(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI), 0);
    ck_assert_uint_eq(csv_parse(&parser, found, length, compare_field, end_row, &fields), length);
    ck_assert_int_eq(csv_fini(&parser, compare_field, end_row, &fields), 0);
    csv_free(&parser);
    ck_assert_uint_eq(fields.count, FIELDS);
    remove_inside("a");
}
END_TEST

static Suite *output_suite(void) {
    Suite *suite = suite_create("output");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, file_appears_when_published);
    tcase_add_test(files, older_file_stays_until_then);
    tcase_add_test(files, large_files_are_complete);
    tcase_add_test(files, hidden_names_are_not_shared);
    tcase_add_test(files, leftovers_are_removed);
    tcase_add_test(files, full_disk_is_reported_once_closed);
    tcase_add_test(files, missing_directory_is_reported);
    suite_add_tcase(suite, files);
    TCase *directories = tcase_create("directories");
    tcase_add_checked_fixture(directories, setup, teardown);
    tcase_add_test(directories, directories_are_made_and_unmade);
    tcase_add_test(directories, directory_that_is_there_stays);
    tcase_add_test(directories, used_directory_stays);
    tcase_add_test(directories, directory_below_a_file_is_refused);
    tcase_add_test(directories, half_a_path_is_not_left);
    suite_add_tcase(suite, directories);
    TCase *csv = tcase_create("csv");
    tcase_add_checked_fixture(csv, setup, teardown);
    tcase_add_test(csv, csv_fields_are_quoted);
    tcase_add_test(csv, csv_formulas_are_disarmed);
    tcase_add_test(csv, csv_reads_back);
    suite_add_tcase(suite, csv);
    return suite;
}

TESTING_MAIN(output_suite)
