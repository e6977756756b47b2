/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The line that names a sweep and its shard: written, read back, refused when it is anything else.
 */
#include "tests/testing.h"
#include "tools/identity.h"

#include <string.h>

START_TEST(a_line_reads_back) {
    const struct identity identity = {UINT64_C(0x0123456789abcdef), 25, 2, 7};
    struct identity read;
    char line[IDENTITY_TEXT];
    size_t length = identity_print(&identity, line);
    ck_assert_str_eq(line, "rlhfsim-sweep 1 0123456789abcdef 25 2/7\n");
    ck_assert_uint_eq(length, strlen(line));
    ck_assert(identity_read(line, &read));
    ck_assert_uint_eq(read.fingerprint, identity.fingerprint);
    ck_assert_uint_eq(read.points, 25);
    ck_assert_uint_eq(read.shard, 2);
    ck_assert_uint_eq(read.shards, 7);
    line[length - 1] = '\0';
    ck_assert(identity_read(line, &read));
}
END_TEST

START_TEST(other_lines_are_refused) {
    static const char *const lines[] = {
        "",
        "point,training.tp,status",
        "rlhfsim-sweep 2 0123456789abcdef 25 0/1",
        "rlhfsim-sweep 1 0123456789abcde 25 0/1",
        "rlhfsim-sweep 1 0123456789ABCDEF 25 0/1",
        "rlhfsim-sweep 1 0123456789abcdef 25",
        "rlhfsim-sweep 1 0123456789abcdef -25 0/1",
        "rlhfsim-sweep 1 0123456789abcdef 25 1/1",
        "rlhfsim-sweep 1 0123456789abcdef 25 0/0",
        "rlhfsim-sweep 1 0123456789abcdef 25 00/1",
        "rlhfsim-sweep 1 0123456789abcdef 25 0/1 ",
        "rlhfsim-sweep 1 0123456789abcdef 25 0/1\nmore",
    };
    struct identity read;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(!identity_read(lines[i], &read), "read: %s", lines[i]);
}
END_TEST

/* The shards of every sweep share its points out: each point is in one of them, and the shares are
 * what a count says. */
START_TEST(shards_share_the_points_out) {
    for (size_t points = 0; points <= 13; points++)
        for (size_t shards = 1; shards <= 15; shards++) {
            size_t all = 0;
            for (size_t shard = 0; shard < shards; shard++) {
                const struct identity identity = {1, points, shard, shards};
                size_t counted = 0;
                for (size_t point = 0; point < 20; point++)
                    counted += identity_has(&identity, point);
                ck_assert_uint_eq(identity_share(&identity), counted);
                all += counted;
            }
            ck_assert_uint_eq(all, points);
        }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("identity");
    TCase *tcase = tcase_create("identity");
    tcase_add_test(tcase, a_line_reads_back);
    tcase_add_test(tcase, other_lines_are_refused);
    tcase_add_test(tcase, shards_share_the_points_out);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
