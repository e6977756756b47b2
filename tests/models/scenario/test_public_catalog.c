/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The catalog as other programs see it. */
#include "tests/models/scenario/fixture.h"

#include "models/scenario/schema.h"

#include <rlhfsim/catalog.h>

static struct fixture fixture;
static struct rlhfsim_diagnostics *list;
static struct rlhfsim_catalog *catalog;

static void setup(void) {
    fixture_open(&fixture);
    fixture_write("aliases.csv", "kind,alias,name,source\n"
                                 "gpu,Eighty,G80,me\n"
                                 "node,Eighty,box,me\n"
                                 "gpu,Old One,G80,me\n");
    fixture_write("fabrics.csv", fixture_fabrics);
    fixture_write("weight_sync.csv", fixture_weight_sync);
    fixture_write("stores.csv", fixture_stores);
    fixture_write("kernels.csv", "gpu,kernel,efficiency,memory_efficiency,launch_us,fill,fill_n,"
                                 "serial_ns,sharpness,unit_ns,cache_write,quantise_efficiency,"
                                 "row_ns_per_kb,ramp_us,cache_mb,warm_rate,points,median_error,"
                                 "p90_error,held_out_median_error,held_out_p90_error,provenance,"
                                 "source,notes\n"
                                 "G80,gemm_bf16,0.8,0.9,4,100,1,0.2,4,,,,,,,,9,,,,,measured,me,\n");
    fixture_write("training.csv",
                  "coefficient,scope,value,start,unit,fitted,meaning,fixed_by,"
                  "error,command,provenance,source,notes\n"
                  "matmul_share,all,0.9,0.9,share,yes,of the law,,,,measured,me,\n");
    fixture_write("lengths.csv", "name,what,model,requests,mean,cv,p50,p90,p99,max,limit,"
                                 "provenance,source,notes\n"
                                 "chat,response,,,211.1,,,424,,,,measured,a page,\n");
    list = rlhfsim_diagnostics_new();
}

static void teardown(void) {
    rlhfsim_catalog_free(catalog);
    catalog = NULL;
    rlhfsim_diagnostics_free(list);
    unlink("lengths.csv");
    fixture_close(&fixture);
}

static void load(void) {
    ck_assert_int_eq(rlhfsim_catalog_load(".", NULL, 0, list, &catalog), RLHFSIM_OK);
}

/* Every cell of every row of every kind is there, and nothing behind the last. */
START_TEST(test_every_cell) {
    load();
    for (int index = 0; index < RLHFSIM_CATALOG_KINDS; index++) {
        enum rlhfsim_catalog_kind kind = (enum rlhfsim_catalog_kind)index;
        struct rlhfsim_catalog_column column;
        struct rlhfsim_catalog_cell cell;
        const char *name;
        size_t rows = 0;
        for (; (name = rlhfsim_catalog_name(catalog, kind, rows)) != NULL; rows++) {
            size_t columns = 0;
            ck_assert_pstr_eq(rlhfsim_catalog_find(catalog, kind, name), name);
            for (; rlhfsim_catalog_column(kind, columns, &column); columns++)
                ck_assert(rlhfsim_catalog_cell(catalog, kind, name, columns, &cell));
            ck_assert(!rlhfsim_catalog_cell(catalog, kind, name, columns, &cell));
        }
        ck_assert_uint_gt(rows, 0);
        ck_assert(!rlhfsim_catalog_cell(catalog, kind, "none of this name", 0, &cell));
        ck_assert_ptr_null(rlhfsim_catalog_find(catalog, kind, "none of this name"));
    }
}
END_TEST

START_TEST(test_types_of_cells) {
    struct rlhfsim_catalog_column column;
    struct rlhfsim_catalog_cell cell;
    char *gpus = fixture_replace(fixture_gpus, "240,0.5", "240,");
    fixture_write("gpus.csv", gpus);
    free(gpus);
    load();
    ck_assert(rlhfsim_catalog_column(RLHFSIM_CATALOG_GPUS, 8, &column));
    ck_assert_str_eq(column.name, "memory_gib");
    ck_assert_str_eq(column.unit, "GiB");
    ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_GPUS, "G80", 8, &cell));
    ck_assert_int_eq(cell.type, RLHFSIM_CATALOG_NUMBER);
    ck_assert_double_eq(cell.number, 80.0);
    ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_GPUS, "G80", 6, &cell));
    ck_assert_int_eq(cell.type, RLHFSIM_CATALOG_UNKNOWN);
    ck_assert_str_eq(cell.text, "");
    ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_MODELS, "small", 11, &cell));
    ck_assert_int_eq(cell.type, RLHFSIM_CATALOG_FLAG); /* gated_ffn */
    ck_assert(cell.flag);
    ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_ALGORITHMS, "grpo", 4, &cell));
    ck_assert_int_eq(cell.type, RLHFSIM_CATALOG_TEXT);
    ck_assert_str_eq(cell.text, "2 or more");
    ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_LENGTHS, "chat", 7, &cell));
    ck_assert_double_eq(cell.number, 424.0);
    ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_LENGTHS, "chat", 8, &cell));
    ck_assert_int_eq(cell.type, RLHFSIM_CATALOG_UNKNOWN);
    ck_assert(rlhfsim_catalog_column(RLHFSIM_CATALOG_ALGORITHMS, 4, &column));
    ck_assert_ptr_null(column.unit);
}
END_TEST

/* Every key of the schema is listed with what the schema says of it. */
START_TEST(test_keys) {
    const struct scenario_schema_entry *entry;
    struct rlhfsim_catalog_cell cell;
    char expected[256];
    size_t index = 0;
    load();
    for (; (entry = scenario_schema_at(index)) != NULL; index++) {
        const char *name = rlhfsim_catalog_name(catalog, RLHFSIM_CATALOG_KEYS, index);
        ck_assert_pstr_eq(name, entry->path);
        ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_KEYS, name, 1, &cell));
        ck_assert_str_eq(cell.text, entry->fallback == NULL ? "" : entry->fallback);
        ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_KEYS, name, 2, &cell));
        ck_assert_str_eq(cell.text, entry->required ? "yes" : "no");
        scenario_schema_expectation(entry, expected, sizeof expected);
        ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_KEYS, name, 3, &cell));
        ck_assert_str_eq(cell.text, expected);
        ck_assert(rlhfsim_catalog_cell(catalog, RLHFSIM_CATALOG_KEYS, name, 5, &cell));
        ck_assert_str_eq(cell.text, entry->meaning);
    }
    ck_assert_ptr_null(rlhfsim_catalog_name(catalog, RLHFSIM_CATALOG_KEYS, index));
    ck_assert_pstr_eq(rlhfsim_catalog_find(catalog, RLHFSIM_CATALOG_KEYS, "Training.TP"),
                      "training.tp");
    ck_assert_pstr_eq(rlhfsim_catalog_nearest(catalog, RLHFSIM_CATALOG_KEYS, "training.zero_stag"),
                      "training.zero_stage");
}
END_TEST

START_TEST(test_names) {
    load();
    ck_assert_pstr_eq(rlhfsim_catalog_find(catalog, RLHFSIM_CATALOG_GPUS, "old-one"), "G80");
    ck_assert_pstr_eq(rlhfsim_catalog_find(catalog, RLHFSIM_CATALOG_NODES, "eighty"), "box");
    ck_assert_pstr_eq(rlhfsim_catalog_find(catalog, RLHFSIM_CATALOG_WEIGHT_SYNC, "IPC-bucket"),
                      "ipc_bucket");
    ck_assert_pstr_eq(rlhfsim_catalog_nearest(catalog, RLHFSIM_CATALOG_ALGORITHMS, "grop"), "grpo");
    ck_assert_pstr_eq(rlhfsim_catalog_alias(catalog, RLHFSIM_CATALOG_GPUS, "G80", 1), "Old One");
    ck_assert_ptr_null(rlhfsim_catalog_alias(catalog, RLHFSIM_CATALOG_GPUS, "G80", 2));
    ck_assert_ptr_null(rlhfsim_catalog_alias(catalog, RLHFSIM_CATALOG_GPUS, "G90", 0));
    ck_assert_ptr_null(rlhfsim_catalog_alias(catalog, RLHFSIM_CATALOG_LENGTHS, "fixed", 0));
    ck_assert_str_eq(rlhfsim_catalog_kind_name(RLHFSIM_CATALOG_WEIGHT_SYNC), "weight-sync");
}
END_TEST

START_TEST(test_bad_files) {
    unlink("prices.csv");
    ck_assert_int_eq(rlhfsim_catalog_load(".", NULL, 0, list, &catalog), RLHFSIM_INVALID);
    ck_assert_ptr_null(catalog);
    fixture_collect(&fixture, list);
    ck_assert_str_eq(fixture.errors,
                     "./prices.csv: error: cannot be read: No such file or directory\n");
}
END_TEST

static Suite *public_catalog_suite(void) {
    Suite *suite = suite_create("scenario.public_catalog");
    TCase *tests = tcase_create("public catalog");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_every_cell);
    tcase_add_test(tests, test_types_of_cells);
    tcase_add_test(tests, test_keys);
    tcase_add_test(tests, test_names);
    tcase_add_test(tests, test_bad_files);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(public_catalog_suite)
