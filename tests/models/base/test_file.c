/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/testing.h"

#include "models/base/arena.h"
#include "models/base/file.h"
#include "models/base/locale.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/rlhfsim-file-XXXXXX";
static char path[64];
static struct rlhfsim_diagnostics *list;

static void setup(void) {
    strcpy(directory, "/tmp/rlhfsim-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/s.yaml", directory);
    list = rlhfsim_diagnostics_new();
}

static void teardown(void) {
    rlhfsim_diagnostics_free(list);
    unlink(path);
    rmdir(directory);
}

static void write_file(const char *bytes, size_t length) {
    FILE *stream = fopen(path, "wb");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, length, stream), length);
    ck_assert_int_eq(fclose(stream), 0);
}

static void expect_error(enum rlhfsim_status expected, const char *message) {
    struct base_file file;
    ck_assert_int_eq(base_file_read(path, list, &file), expected);
    ck_assert_ptr_null(file.text);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(list), 1);
    ck_assert_str_eq(rlhfsim_diagnostics_get(list, 0)->message, message);
    ck_assert_str_eq(rlhfsim_diagnostics_get(list, 0)->file, path);
}

START_TEST(test_reads) {
    struct base_file file;
    write_file("name: x\n", 8);
    ck_assert_int_eq(base_file_read(path, list, &file), RLHFSIM_OK);
    ck_assert_str_eq(file.text, "name: x\n");
    ck_assert_uint_eq(file.length, 8);
    base_file_release(&file);
}
END_TEST

START_TEST(test_mark_is_taken_off) {
    struct base_file file;
    write_file("\xEF\xBB\xBFname", 7);
    ck_assert_int_eq(base_file_read(path, list, &file), RLHFSIM_OK);
    ck_assert_str_eq(file.text, "name");
    ck_assert_uint_eq(file.length, 4);
    base_file_release(&file);
}
END_TEST

START_TEST(test_missing) {
    expect_error(RLHFSIM_INVALID, "cannot be read: No such file or directory");
}
END_TEST

START_TEST(test_directory) {
    snprintf(path, sizeof path, "%s", directory);
    expect_error(RLHFSIM_INVALID, "cannot be read: Is a directory");
}
END_TEST

/* A pipe to which nobody writes is refused, not waited for. */
START_TEST(test_named_pipe) {
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_error(RLHFSIM_INVALID, "is a named pipe, expected a file");
}
END_TEST

START_TEST(test_bad_text) {
    write_file("a\nb\xFF", 4);
    expect_error(RLHFSIM_INVALID, "the text is not valid UTF-8");
    ck_assert_int_eq(rlhfsim_diagnostics_get(list, 0)->line, 2);
    ck_assert_int_eq(rlhfsim_diagnostics_get(list, 0)->column, 2);
}
END_TEST

static char *spaces(size_t length) {
    char *bytes = malloc(length);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, ' ', length);
    return bytes;
}

/* The limit itself is allowed, one byte more is not. */
START_TEST(test_limit) {
    char *bytes = spaces(BASE_FILE_LIMIT + 1);
    struct base_file file;
    write_file(bytes, BASE_FILE_LIMIT);
    ck_assert_int_eq(base_file_read(path, list, &file), RLHFSIM_OK);
    ck_assert_uint_eq(file.length, BASE_FILE_LIMIT);
    base_file_release(&file);
    write_file(bytes, BASE_FILE_LIMIT + 1);
    free(bytes);
    expect_error(RLHFSIM_INVALID, "the file is larger than 16 MiB");
}
END_TEST

/* ---- arena ----------------------------------------------------------------------------------- */

START_TEST(test_arena) {
    struct base_arena arena = {0};
    for (size_t size = 1; size < 200000; size = 2 * size + 1) {
        unsigned char *memory = base_arena_allocate(&arena, size);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % _Alignof(max_align_t), 0);
        ck_assert(memory[0] == 0 && memory[size - 1] == 0);
        memset(memory, 0xAA, size);
    }
    ck_assert_str_eq(base_arena_text(&arena, "abcdef", 3), "abc");
    ck_assert(!arena.failed);
    base_arena_release(&arena);
    ck_assert_ptr_null(arena.blocks);
}
END_TEST

START_TEST(test_arena_refuses) {
    struct base_arena arena = {0};
    ck_assert_ptr_null(base_arena_allocate(&arena, SIZE_MAX - 8));
    ck_assert(arena.failed);
    base_arena_release(&arena);
}
END_TEST

/* ---- locale ---------------------------------------------------------------------------------- */

START_TEST(test_locale_comes_back) {
    struct base_locale locale;
    locale_t before = uselocale((locale_t)0);
    ck_assert(base_locale_enter(&locale));
    ck_assert_str_eq(localeconv()->decimal_point, ".");
    ck_assert(uselocale((locale_t)0) != before);
    base_locale_leave(&locale);
    ck_assert(uselocale((locale_t)0) == before);
}
END_TEST

static Suite *file_suite(void) {
    Suite *suite = suite_create("base.file");
    TCase *cases = tcase_create("file");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, test_reads);
    tcase_add_test(cases, test_mark_is_taken_off);
    tcase_add_test(cases, test_missing);
    tcase_add_test(cases, test_directory);
    tcase_add_test(cases, test_named_pipe);
    tcase_add_test(cases, test_bad_text);
    tcase_add_test(cases, test_limit);
    tcase_add_test(cases, test_arena);
    tcase_add_test(cases, test_arena_refuses);
    tcase_add_test(cases, test_locale_comes_back);
    suite_add_tcase(suite, cases);
    return suite;
}

TESTING_MAIN(file_suite)
