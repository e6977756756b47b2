/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/testing.h"

#include "models/base/units.h"

#include <stdio.h>

struct good_case {
    const char *text;
    enum base_dimension dimension;
    double si;
};

/* 2^10 = 1024, 2^20 = 1048576, 2^30 = 1073741824, 2^40 = 1099511627776. */
static const struct good_case goods[] = {
    {"0", BASE_BYTES, 0.0},
    {"7 B", BASE_BYTES, 7.0},
    {"4 kB", BASE_BYTES, 4000.0},
    {"4 KiB", BASE_BYTES, 4096.0},
    {"1 MB", BASE_BYTES, 1e6},
    {"1MiB", BASE_BYTES, 1048576.0},
    {"24 GB", BASE_BYTES, 24e9},
    {"24 GiB", BASE_BYTES, 24.0 * 1073741824.0},
    {"1.5 TB", BASE_BYTES, 1.5e12},
    {"1 TiB", BASE_BYTES, 1099511627776.0},
    {"1 PB", BASE_BYTES, 1e15},
    {"10ms", BASE_TIME, 0.010},
    {"5 ns", BASE_TIME, 5e-9},
    {"2.5 us", BASE_TIME, 2.5e-6},
    {"1 s", BASE_TIME, 1.0},
    {"2 min", BASE_TIME, 120.0},
    {"3 h", BASE_TIME, 10800.0},
    {"1 d", BASE_TIME, 86400.0},
    {"1e-3   s", BASE_TIME, 1e-3},
    {"2 GB/s", BASE_BYTE_RATE, 2e9},
    {"1 GiB/s", BASE_BYTE_RATE, 1073741824.0},
    {"400 Gbit/s", BASE_BYTE_RATE, 50e9},
    {"8 Mbit/s", BASE_BYTE_RATE, 1e6},
};

START_TEST(test_good) {
    const struct good_case *row = &goods[_i];
    char message[256] = "";
    double si = -1.0;
    bool read = base_quantity_read(row->text, row->dimension, &si, message, sizeof message);
    ck_assert_msg(read, "'%s': %s", row->text, message);
    assert_relative(si, row->si, 1e-15);
}
END_TEST

struct bad_case {
    const char *text;
    enum base_dimension dimension;
    const char *message;
};

static const struct bad_case bads[] = {
    {"", BASE_TIME, "expected a number with a unit of time such as '10 ms'"},
    {"fast", BASE_TIME, "expected a number with a unit of time such as '10 ms'"},
    {"10", BASE_TIME, "a unit of time is missing (ns, us, ms, s, min, h, d)"},
    {"0x10 s", BASE_TIME, "unknown unit 'x10 s', expected one of ns, us, ms, s, min, h, d"},
    {"nan s", BASE_TIME, "expected a number with a unit of time such as '10 ms'"},
    {"1e999 s", BASE_TIME, "the number is too large"},
    {"10 sec", BASE_TIME, "unknown unit 'sec', expected one of ns, us, ms, s, min, h, d"},
    {"10 minn", BASE_TIME, "unknown unit 'minn'; did you mean 'min'?"},
    {"24 gb", BASE_BYTES, "unknown unit 'gb'; did you mean 'GB'?"},
    {"24 GB/s", BASE_BYTES,
     "'GB/s' is a unit of bytes per second, expected a unit of bytes (B, kB, MB, GB, TB, PB, KiB, "
     "MiB, GiB, TiB)"},
    {"24 s", BASE_BYTE_RATE,
     "'s' is a unit of time, expected a unit of bytes per second (kB/s, MB/s, GB/s, TB/s, MiB/s, "
     "GiB/s, Gbit/s)"},
    {"0 s", BASE_BYTES,
     "'s' is a unit of time, expected a unit of bytes (B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB)"},
};

START_TEST(test_bad) {
    const struct bad_case *row = &bads[_i];
    char message[256] = "";
    double si = -1.0;
    ck_assert(!base_quantity_read(row->text, row->dimension, &si, message, sizeof message));
    ck_assert_str_eq(message, row->message);
    ck_assert_double_eq(si, -1.0);
}
END_TEST

/* Every unit reads as itself, and no two have one name. */
START_TEST(test_table) {
    const struct base_unit *unit, *other;
    char text[32], message[256];
    for (size_t i = 0; (unit = base_unit_at(i)) != NULL; i++) {
        double si = 0.0;
        snprintf(text, sizeof text, "3 %s", unit->name);
        ck_assert(base_quantity_read(text, unit->dimension, &si, message, sizeof message));
        assert_relative(si, 3.0 * unit->si, 1e-15);
        for (size_t j = 0; j < i && (other = base_unit_at(j)) != NULL; j++)
            ck_assert_str_ne(unit->name, other->name);
    }
}
END_TEST

static Suite *units_suite(void) {
    Suite *suite = suite_create("base.units");
    TCase *cases = tcase_create("units");
    tcase_add_loop_test(cases, test_good, 0, sizeof goods / sizeof goods[0]);
    tcase_add_loop_test(cases, test_bad, 0, sizeof bads / sizeof bads[0]);
    tcase_add_test(cases, test_table);
    suite_add_tcase(suite, cases);
    return suite;
}

TESTING_MAIN(units_suite)
