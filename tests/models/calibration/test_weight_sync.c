/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured weight syncs: which row of the catalog they are of, the fit, and each sync left out. */
#define _GNU_SOURCE
#include "models/calibration/weight_sync.h"

#include "models/scenario/catalog_load.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct rlhfsim_diagnostics *diagnostics;
    struct catalog *catalog;
    struct validation_run run;
    struct sync_fit fit;
};

static void open_world(struct world *world) {
    world->diagnostics = rlhfsim_diagnostics_new();
    world->catalog = catalog_new();
    ck_assert_int_eq(catalog_load(world->catalog, "scenarios/catalog", true, world->diagnostics),
                     RLHFSIM_OK);
    world->run =
        (struct validation_run){validation_new(), world->catalog, world->diagnostics, NULL};
    world->fit = (struct sync_fit){0};
}

static void close_world(struct world *world) {
    sync_fit_release(&world->fit);
    rlhfsim_validation_free(world->run.validation);
    catalog_free(world->catalog);
    rlhfsim_diagnostics_free(world->diagnostics);
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct kept {
    struct sync_row rows[16];
    size_t count;
};

static bool keep(void *subject, const struct sync_row *row) {
    struct kept *kept = subject;
    kept->rows[kept->count++] = *row;
    return true;
}

START_TEST(words_of_a_row) {
    struct world world;
    struct kept k = {0};
    char path[] = "/tmp/rlhfsim-syncs-XXXXXX";
    open_world(&world);
    FILE *file = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "source,kind,model,params,gpu,num_gpus,method,time_s\n"
                  "MoonshotAI/checkpoint-engine x,weight sync,DeepSeek-V3.1 (FP8),,H20,16,update "
                  "broadcast,10.19\n"
                  "MoonshotAI/checkpoint-engine x,weight sync (a),Qwen3-32B (BF16),,H800,8,update "
                  "p2p,4\n"
                  "MoonshotAI/checkpoint-engine x,checkpoint save,Qwen3-32B,,H800,8,update p2p,4\n"
                  "MoonshotAI/checkpoint-engine x,weight sync,Qwen3-32B,,H800,thousands,update "
                  "p2p,4\n"
                  "who knows,weight sync,Qwen3-32B,,H800,8,by hand,4\n");
    fclose(file);
    ck_assert_int_eq(sync_rows_read(&world.run, path, keep, &k), RLHFSIM_OK);
    remove(path);
    ck_assert_uint_eq(k.count, 4); /* the save is none of it */
    ck_assert_ptr_null(k.rows[0].skipped);
    ck_assert_str_eq(k.rows[0].row->name, "checkpoint-engine-broadcast");
    ck_assert_int_eq(k.rows[0].cluster.nodes, 2);
    /* 671,026,419,200 parameters of a byte, and a scale beside each tensor. */
    assert_relative(k.rows[0].request.total_bytes, 671.03e9, 1e-4);
    ck_assert_str_eq(k.rows[1].row->name, "checkpoint-engine-p2p");
    assert_relative(k.rows[1].request.total_bytes, 2 * 32.76e9, 1e-3);
    ck_assert_ptr_nonnull(k.rows[2].skipped);
    ck_assert_str_eq(k.rows[3].skipped, SYNC_SINGLE_POINT);
    close_world(&world);
}
END_TEST

/* ---- the shared measurements ----------------------------------------------------------------- */

static bool read_shared(struct world *world) {
    static const char *const files[] = {"components/weight_sync_and_checkpoint.csv",
                                        "runs/figures.csv"};
    const char *shared = testing_shared_directory();
    char path[4096];
    if (shared == NULL) {
        printf("skipped: no shared measurements\n");
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/measurements/%s", shared, files[i]);
        ck_assert_int_eq(sync_rows_read(&world->run, path, sync_fit_add, &world->fit), RLHFSIM_OK);
    }
    return true;
}

/* Per mechanism with three and more syncs, each left out in turn: 25 %. */
static void assert_left_out(const struct world *world) {
    static const char *const rows[] = {"checkpoint-engine-broadcast", "checkpoint-engine-p2p",
                                       "checkpoint-engine-metas", "nemo-rl-ipc", "nemo-rl-reshard"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double error = sync_fit_error(&world->fit, rows[i]);
        ck_assert_msg(error < 0.25, "%s: %g", rows[i], error);
    }
}

static void assert_shipped(const struct world *world) {
    char *text = NULL, *shipped = NULL;
    size_t size = 0, room = 0;
    FILE *stream = open_memstream(&text, &size);
    FILE *file = fopen("scenarios/catalog/weight_sync.csv", "r");
    ck_assert(stream != NULL && file != NULL);
    sync_fit_write(&world->fit, world->catalog, stream);
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
        sync_fit_leave_out(&world.fit);
        assert_left_out(&world);
        assert_shipped(&world);
    }
    close_world(&world);
}
END_TEST

/* ---- the order of mechanisms, and nodes -------------------------------------------------------
 */

static double sync_s(const struct world *world, const char *row, const char *model, double bytes,
                     int nodes) {
    const struct llm_architecture *architecture = catalog_model(world->catalog, model);
    const struct hardware_node *node = catalog_node(world->catalog, "hgx-h20-8");
    struct hardware_cluster cluster = {.gpu = *catalog_gpu(world->catalog, node->gpu),
                                       .node = *node,
                                       .nodes = nodes,
                                       .gpus_per_node = 8};
    struct network_weight_sync_request request = {
        .cluster = &cluster,
        .total_bytes = bytes * (double)llm_parameters(architecture, LLM_HEAD_VOCABULARY),
        .tensors = (double)llm_tensors(architecture, LLM_HEAD_VOCABULARY),
        .trainer_ranks = 4 * nodes,
        .engine_ranks = 4 * nodes};
    const struct catalog_weight_sync *sync = catalog_weight_sync(world->catalog, row);
    return sync->type->duration_s(&sync->cost, &request);
}

/* As published for one model (30B with experts on 32 GPUs, 235B on 128): shards 0.9 s, then
 * checkpoint-engine 4.4 and 23.7 s, then NCCL from rank 0 at 15.8 and 58.6 s (verl
 * docs/advance/fully_async.md @v0.7.0, NeMo-RL docs nccl-reshard-refit.md @7ea279abf). */
START_TEST(the_order_of_mechanisms) {
    static const char *const order[] = {"nemo-rl-reshard", "verl-checkpoint-engine", "verl-nccl"};
    static const double measured[2][3] = {{0.87, 4.38, 15.76}, {NAN, 23.7, 58.57}};
    struct world world;
    open_world(&world);
    for (int i = 0; i < 2; i++) {
        const char *model = i == 0 ? "Qwen3-30B-A3B" : "Qwen3-235B-A22B";
        double before = 0.0;
        for (size_t j = 0; j < 3; j++) {
            double seconds = sync_s(&world, order[j], model, 2.0, i == 0 ? 4 : 16);
            ck_assert_double_gt(seconds, before);
            if (!isnan(measured[i][j]))
                assert_relative(seconds, measured[i][j], 0.35);
            before = seconds;
        }
    }
    close_world(&world);
}
END_TEST

/* 671 GB of DeepSeek-V3 by broadcast took 1.1 s longer on 32 nodes than on 2 (10.19 and 11.33 s),
 * and 1027 GB of Kimi-K2 1.7 s (14.36 and 16.04); reading from peers as long (11.80 and 11.81 s;
 * checkpoint-engine README @59a3c4f). */
START_TEST(more_nodes_cost_what_was_measured) {
    struct world world;
    open_world(&world);
    double broadcast = sync_s(&world, "checkpoint-engine-broadcast", "DeepSeek-V3", 1.0, 32) -
                       sync_s(&world, "checkpoint-engine-broadcast", "DeepSeek-V3", 1.0, 2);
    double peers = sync_s(&world, "checkpoint-engine-p2p", "DeepSeek-V3", 1.0, 32) /
                   sync_s(&world, "checkpoint-engine-p2p", "DeepSeek-V3", 1.0, 2);
    ck_assert(broadcast > 1.0 && broadcast < 1.8);
    assert_relative(peers, 11.81 / 11.80, 0.01);
    close_world(&world);
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("calibration_weight_sync");
    TCase *tests = tcase_create("weight sync");
    tcase_add_test(tests, words_of_a_row);
    tcase_add_test(tests, the_fit_of_the_shared_measurements);
    tcase_add_test(tests, the_order_of_mechanisms);
    tcase_add_test(tests, more_nodes_cost_what_was_measured);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
