/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of measured collectives as cases, the fit of their coefficients, and how good it is on the
 * shared measurements. */
#define _GNU_SOURCE
#include "models/calibration/collectives.h"

#include "models/calibration/fabric_table.h"
#include "models/scenario/catalog_load.h"
#include "models/validation/statistics.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

struct world {
    struct rlhfsim_diagnostics *diagnostics;
    struct catalog *catalog;
    struct validation_run run;
    struct collective_fit fit;
};

static void open_world(struct world *world) {
    world->diagnostics = rlhfsim_diagnostics_new();
    world->catalog = catalog_new();
    ck_assert_int_eq(catalog_load(world->catalog, "scenarios/catalog", true, world->diagnostics),
                     RLHFSIM_OK);
    world->run =
        (struct validation_run){validation_new(), world->catalog, world->diagnostics, NULL};
    ck_assert(collective_fit_start(&world->fit, world->catalog));
}

static void close_world(struct world *world) {
    collective_fit_release(&world->fit);
    rlhfsim_validation_free(world->run.validation);
    catalog_free(world->catalog);
    rlhfsim_diagnostics_free(world->diagnostics);
}

static void read(struct world *world, const char *path) {
    ck_assert_int_eq(collective_rows_read(&world->run, path, collective_fit_add, &world->fit),
                     RLHFSIM_OK);
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct kept {
    struct collective_row rows[16];
    size_t count;
};

static bool keep(void *subject, const struct collective_row *row) {
    struct kept *kept = subject;
    kept->rows[kept->count++] = *row;
    return true;
}

static struct kept read_text(struct world *world, const char *rows) {
    struct kept kept = {0};
    char path[] = "/tmp/rlhfsim-collectives-XXXXXX";
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "source,collective,gpu_system,num_gpus,nodes,interconnect,bytes,time_us,"
            "algbw_GBps,busbw_GBps,dtype,notes\n%s",
            rows);
    fclose(file);
    ck_assert_int_eq(collective_rows_read(&world->run, path, keep, &kept), RLHFSIM_OK);
    remove(path);
    return kept;
}

START_TEST(words_of_a_row) {
    struct world world;
    open_world(&world);
    struct kept k = read_text(
        &world,
        "a,all_reduce,h100_sxm,8,1,NVLink4,1000000,100,,,half,\n"
        "a,all_gather,GCP a4x-highgpu-4g (GB200),144,36,x 2 domains x 18 nodes RoCE,72e8,,,674,,\n"
        "a,all_reduce,GCP a4x-highgpu-4g (GB200),8,2,RDMA only RoCE,1e9,,,300,,\n"
        "a,all_reduce,GCP a4x-highgpu-4g (GB200),8,2,one rack,1e9,,,800,,\n"
        "a,all_reduce,GB200 NVL72,144,36,NVL72 + IB,17179869184,42067,408.40,810.41,float,\n"
        "a,all_reduce,hgx-h200-8,8,1,NVLink4,1e9,,,400,,algo Ring; NVLS off\n"
        "a,all_reduce,hgx-h200-8,8,1,NVLink4,1e9,,,400,int8,\n"
        "a,moe_dispatch,hgx-h200-8,8,1,NVLink4,1e9,,,400,,\n"
        "a,all_reduce,no-such-node,8,1,NVLink4,1e9,,,400,,\n"
        "a,all_reduce,hgx-h200-8,16,2,not stated,1e9,,,400,,\n");
    ck_assert_uint_eq(k.count, 10);
    ck_assert_ptr_null(k.rows[0].skipped);
    assert_relative(k.rows[0].measured_s, 1e-4, 1e-12);
    ck_assert(k.rows[0].group.ranks == 8 && k.rows[0].group.ranks_per_node == 8);
    /* Two domains of 72; 143/144 of the bytes at 674 GB/s. */
    ck_assert(k.rows[1].group.ranks == 144 && k.rows[1].group.ranks_per_node == 72);
    assert_relative(k.rows[1].measured_s, 7.2e9 * 143 / 144 / 674e9, 1e-12);
    ck_assert_str_eq(k.rows[1].network->fabric.name, "roce");
    ck_assert_int_eq(k.rows[2].group.ranks_per_node, 4); /* trays without their NVLink */
    ck_assert_int_eq(k.rows[3].group.ranks_per_node, 8);
    /* 810.41 / 408.40 = 1.98436 = 2 x 127/128, not 2 x 143/144. */
    ck_assert(k.rows[4].group.ranks == 128 && k.rows[4].group.ranks_per_node == 64);
    ck_assert_uint_eq(k.rows[5].call.algorithms, 1U << NETWORK_RING);
    ck_assert_uint_eq(k.rows[6].call.algorithms, 1U << NETWORK_RING);
    for (int i = 7; i < 10; i++)
        ck_assert_ptr_nonnull(k.rows[i].skipped);
    close_world(&world);
}
END_TEST

/* ---- the shared measurements ----------------------------------------------------------------- */

static bool read_shared(struct world *world) {
    const char *shared = testing_shared_directory();
    char path[4096];
    if (shared == NULL) {
        printf("skipped: no shared measurements\n");
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/measurements/components/collectives.csv", shared);
    read(world, path);
    (void)snprintf(path, sizeof path, "%s/catalog/nccl_measured.csv", shared);
    read(world, path);
    read(world, "tests/validation/collectives_tcp.csv");
    return true;
}

/* The quantile of the errors of some cases; a size class of 0 is below 1 MiB, 1 from there on, -1
 * both. */
static double error_quantile(const struct world *world, bool across, int large, double p) {
    double *errors = calloc(world->fit.case_count + 1, sizeof *errors);
    size_t count = 0;
    for (size_t i = 0; i < world->fit.case_count; i++) {
        const struct collective_case *c = &world->fit.cases[i];
        bool is_across = c->row.group.ranks > c->row.group.ranks_per_node;
        if (is_across == across && (large < 0 || (c->row.bytes >= MIB) == (large == 1)))
            errors[count++] = fabs(c->forecast_s / c->row.measured_s - 1.0);
    }
    validation_sort(errors, count);
    double result = validation_quantile(errors, count, p);
    free(errors);
    return result;
}

/* Inside a domain: median 6 %, P90 21 %; between: 8 % from 1 MiB on, 20 % below. */
static void assert_errors(const struct world *world) {
    ck_assert_double_lt(error_quantile(world, false, -1, 0.5), 0.06);
    ck_assert_double_lt(error_quantile(world, false, -1, 0.9), 0.21);
    ck_assert_double_lt(error_quantile(world, true, 1, 0.5), 0.08);
    ck_assert_double_lt(error_quantile(world, true, 0, 0.5), 0.20);
}

/* The shipped coefficients are what the command gives: nothing was turned by hand. */
static void assert_shipped(const struct world *world) {
    char *text = NULL, *shipped = NULL;
    size_t size = 0, room = 0;
    FILE *stream = open_memstream(&text, &size);
    FILE *file = fopen("scenarios/catalog/fabrics.csv", "r");
    ck_assert(stream != NULL && file != NULL);
    fabric_table_write(&world->fit, world->catalog, stream);
    fclose(stream);
    ck_assert_int_gt((int)getdelim(&shipped, &room, '\0', file), 0);
    fclose(file);
    ck_assert_str_eq(text, shipped);
    free(text);
    free(shipped);
}

START_TEST(the_fit_of_the_shared_measurements) {
    struct world world;
    open_world(&world);
    if (read_shared(&world)) {
        collective_fit_run(&world.fit);
        assert_errors(&world);
        assert_shipped(&world);
    }
    close_world(&world);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("calibration_collectives");
    TCase *tests = tcase_create("collectives");
    tcase_add_test(tests, words_of_a_row);
    tcase_add_test(tests, the_fit_of_the_shared_measurements);
    tcase_set_timeout(tests, 300);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
