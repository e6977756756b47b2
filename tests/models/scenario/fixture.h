/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_MODELS_SCENARIO_FIXTURE_H
#define TESTS_MODELS_SCENARIO_FIXTURE_H

/*
 * A folder of its own for every test, with a small catalog and a small good scenario that the tests
 * break in one place at a time. Errors come back as one text, one a line, as a user sees them.
 */

#include "tests/testing.h"

#include "models/scenario/catalog.h"

#include <rlhfsim/scenario.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char directory[64], start[4096];
    char errors[32768];
    struct rlhfsim_scenario *scenario; /* of the last load */
};

static const char fixture_scenario[] = "name: base\n"
                                       "framework: fast\n"
                                       "steps: 10\n"
                                       "algorithm:\n"
                                       "  name: ppo\n"
                                       "  prompts_per_step: 64\n"
                                       "  samples_per_prompt: 1\n"
                                       "  minibatch_samples: 32\n"
                                       "  kl: reward\n"
                                       "models:\n"
                                       "  actor: {model: small}\n"
                                       "  critic: {model: small}\n"
                                       "  reference: {model: small}\n"
                                       "cluster:\n"
                                       "  node: box\n"
                                       "  nodes: 1\n"
                                       "training:\n"
                                       "  tp: 1\n"
                                       "  zero_stage: 3\n"
                                       "  microbatch_samples: 4\n"
                                       "rollout:\n"
                                       "  tp: 2\n"
                                       "  max_new_tokens: 512\n"
                                       "  prompt_tokens: {law: fixed, mean: 256}\n"
                                       "  response_tokens: {law: lognormal, mean: 200, p99: 450}\n";

#define FIXTURE_GPU_HEADER                                                                     \
    "name,bf16_tflops,fp16_tflops,fp32_tflops,fp8_tflops,matmul_tflops_measured,"              \
    "attention_efficiency,attention_backward_efficiency,memory_gib,memory_bandwidth_gb_per_s," \
    "memory_bandwidth_measured_gb_per_s,scaleup_gb_per_s,host_bandwidth_gb_per_s,"             \
    "kernel_launch_us,power_w,provenance,source,notes\n"
#define FIXTURE_NODE_HEADER                                                              \
    "name,provider,instance,region,gpu,gpus,host_memory_gib,nvme_gb,network_gbit_per_s," \
    "scaleup_efficiency,network_efficiency,scaleup_latency_us,network_latency_us,"       \
    "collective_start_us,storage_gb_per_s,provenance,source,notes\n"
#define FIXTURE_MODEL_HEADER                                                                 \
    "name,family,layers,hidden,heads,kv_heads,head_dim,ffn,vocab,max_position,"              \
    "tied_embeddings,gated_ffn,qkv_bias,output_bias,ffn_bias,qk_norm,parameters,provenance," \
    "source,notes\n"
#define FIXTURE_PRICE_HEADER "provider,region,item,unit,price_usd,date,provenance,source,notes\n"
#define FIXTURE_FRAMEWORK_HEADER                                                            \
    "name,matmul_share,microbatch_host_ms,optimizer_host_ms,step_host_s,iteration_host_ms," \
    "sequence_host_us,transition_s_per_sqrt_gb,weight_sync,sync_pause_s,sync_tensor_ms,"    \
    "sync_load_gb_per_s,engine_residue_gib,context_gib,fragmentation_fraction,provenance,"  \
    "source,notes\n"

static const char fixture_gpus[] =
    FIXTURE_GPU_HEADER "G80,300,300,20,0,240,0.5,0.3,80,2000,1500,300,25,5,400,measured,a page,\n"
                       "G90,900,900,60,1800,720,0.6,0.4,80,3000,2700,450,50,3,700,assumed,b,\n";
static const char fixture_nodes[] = FIXTURE_NODE_HEADER
    "box,cloud,box.large,north,G80,8,1000,8000,400,0.7,0.8,1,20,8,2,interpolated,a page,\n"
    "six,cloud,six.large,north,G80,6,1000,8000,400,0.7,0.8,1,20,8,2,measured,a page,\n"
    "new,cloud,new.large,north,G90,8,1000,8000,400,0.7,0.8,1,20,8,2,measured,a page,\n";
/* small: embedding and head 1000 x 64 each = 128,000; a layer has q and o 64 x 64, k and v 64 x 32,
 * gate, up, down 64 x 128, two norms of 64: 8192 + 4096 + 24576 + 128 = 36,992; two layers and a
 * last norm: 128,000 + 73,984 + 64 = 202,048. odd: 12 heads and 4 key-value heads of 8 on a hidden
 * state of 96: 96,000 x 2 + 2 x (2 x 9216 + 2 x 3072 + 3 x 12288 + 192) + 96 = 315,360. long: as
 * small. */
static const char fixture_models[] = FIXTURE_MODEL_HEADER
    "small,llama,2,64,8,4,8,128,1000,1024,no,yes,no,no,no,no,202048,measured,a page,\n"
    "odd,llama,2,96,12,4,8,128,1000,1024,no,yes,no,no,no,no,315360,measured,a page,\n"
    "long,llama,2,64,8,4,8,128,1000,100000,no,yes,no,no,no,no,202048,measured,a page,\n";
static const char fixture_prices[] =
    FIXTURE_PRICE_HEADER "cloud,north,box.large on-demand,node-hour,32,2024-05-01,measured,list,\n"
                         "cloud,north,box.large spot,node-hour,12.5,2024-05-01,measured,list,\n"
                         "cloud,south,box.large on-demand,node-hour,36,2024-05-01,measured,list,\n"
                         "cloud,north,six.large on-demand,node-hour,20,2024-05-01,measured,list,\n"
                         "cloud,north,new.large on-demand,node-hour,90,2024-05-01,measured,list,\n"
                         "cloud,east,box.large on-demand,gpu-hour,4,2024-05-01,measured,list,\n"
                         "cloud,north,object storage,GB-month,0.02,2024-05-01,measured,list,\n"
                         "cloud,north,log ingest,GB,0.5,2024-05-01,measured,list,\n";
static const char fixture_frameworks[] = FIXTURE_FRAMEWORK_HEADER
    "fast,0.5,40,50,2,3,20,0.07,ipc_bucket,3.2,0.7,13,1.5,2,0.06,extrapolated,a page,\n";

/* One inside, one between; what other columns mean is told where the catalog is tested. */
static const char fixture_fabrics[] =
    "name,use,fitted_with,efficiency,latency_us,start_us,chunk_us,own_copy,ring_of_2,ring_of_4,"
    "alltoall,alltoall_of_2,alltoall_of_4,alltoall_start_us,alltoall_loss,switch_reduce,"
    "switch_chunk_us,switch_members,tree,tree_inside,pair_inside,direct_start_us,direct,"
    "direct_of_2,direct_second_us,uncertainty_percent,uncertainty_small_percent,"
    "uncertainty_alltoall_percent,uncertainty_send_percent,provenance,source,notes\n"
    "wire,inside,,0.6,2,9,3,0.2,0.8,0.9,1,0.7,0.85,11,,0.5,4,6,,,,5,0.4,0.3,2,10,20,30,40,"
    "measured,me,\n"
    "net,between,,0.7,30,,50,,,,1.1,,,,0.01,,,,0.75,0.5,0.9,,,,,15,25,35,45,measured,me,\n";

#define FIXTURE_ENGINE_HEADER                                                               \
    "name,batching,prefill,chunked_prefill,prefix_caching,preemption,block_tokens,"         \
    "max_num_seqs,max_num_batched_tokens,graph_step,graph_dense,graph_limit,"               \
    "iteration_host_ms,sequence_host_us,launch_factor,expert_layer_us,eager_layer_us,"      \
    "product_efficiency,kv_efficiency,compute_efficiency,fp4_efficiency,expert_efficiency," \
    "activation_share,exchange_factor,collective_factor,reserved_gb,reserved_groups_gb,"    \
    "provenance,source,notes\n"
static const char fixture_engines[] =
    FIXTURE_ENGINE_HEADER "vllm,continuous,mixed,yes,yes,recompute,16,256,8192,8,512,512,0,0,1,0,0,"
                          "1,1,1,1,1,1,1,1,0,0,measured,a "
                          "page,\n"
                          "plain,padded_to_batch,first,no,no,recompute,1,32,8192,0,0,0,1,5,1,0,90,"
                          "1,1,1,1,1,1,1,1,0,0,assumed,b,\n";

static inline void fixture_write_bytes(const char *name, const char *bytes, size_t length) {
    FILE *stream = fopen(name, "wb");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, length, stream), length);
    ck_assert_int_eq(fclose(stream), 0);
}

static inline void fixture_write(const char *name, const char *text) {
    fixture_write_bytes(name, text, strlen(text));
}

static const char fixture_weight_sync[] =
    "name,mechanism,pause_s,tensor_ms,load_gb_per_s,bucket_gb,bucket_ms,hop_s,changed_fraction,"
    "points,uncertainty_percent,provenance,source,notes\n"
    "buckets,ipc_bucket,2,0.5,10,,,,,5,20,measured,me,\n"
    "engine,checkpoint_engine,1,,50,2,3,0.25,,4,15,measured,me,\n";

static inline void fixture_write_catalog(void) {
    fixture_write("gpus.csv", fixture_gpus);
    fixture_write("nodes.csv", fixture_nodes);
    fixture_write("models.csv", fixture_models);
    fixture_write("prices.csv", fixture_prices);
    fixture_write("frameworks.csv", fixture_frameworks);
    fixture_write("engines.csv", fixture_engines);
}

/* Makes the folder and goes there. */
static inline void fixture_open(struct fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    ck_assert_ptr_nonnull(getcwd(fixture->start, sizeof fixture->start));
    strcpy(fixture->directory, "/tmp/rlhfsim-scenario-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fixture->directory));
    ck_assert_int_eq(chdir(fixture->directory), 0);
    fixture_write_catalog();
}

static inline void fixture_close(struct fixture *fixture) {
    static const char *const names[] = {"gpus.csv",        "nodes.csv",      "models.csv",
                                        "prices.csv",      "frameworks.csv", "s.yaml",
                                        "config.json",     "aliases.csv",    "fabrics.csv",
                                        "weight_sync.csv", "attention.csv",  "engines.csv"};
    rlhfsim_scenario_free(fixture->scenario);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(names[i]);
    ck_assert_int_eq(chdir(fixture->start), 0);
    rmdir(fixture->directory);
}

static inline void fixture_collect(struct fixture *fixture,
                                   const struct rlhfsim_diagnostics *diagnostics) {
    size_t used = 0;
    fixture->errors[0] = '\0';
    for (size_t i = 0; i < rlhfsim_diagnostics_count(diagnostics); i++) {
        size_t room = sizeof fixture->errors - used - 1;
        int length = rlhfsim_error_format(rlhfsim_diagnostics_get(diagnostics, i),
                                          fixture->errors + used, room);
        ck_assert(length >= 0 && (size_t)length < room);
        used += (size_t)length;
        strcpy(fixture->errors + used++, "\n");
    }
}

/* Loads s.yaml as it is; `sets` ends in NULL and may be NULL. */
static inline enum rlhfsim_status fixture_load(struct fixture *fixture, const char *const *sets) {
    struct rlhfsim_scenario_options options = {.catalog_directory = ".", .sets = sets};
    while (sets != NULL && sets[options.set_count] != NULL)
        options.set_count++;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    rlhfsim_scenario_free(fixture->scenario);
    enum rlhfsim_status status =
        rlhfsim_scenario_load("s.yaml", &options, diagnostics, &fixture->scenario);
    fixture_collect(fixture, diagnostics);
    rlhfsim_diagnostics_free(diagnostics);
    ck_assert((status == RLHFSIM_OK) == (fixture->scenario != NULL));
    ck_assert((status == RLHFSIM_OK) == (fixture->errors[0] == '\0'));
    return status;
}

/* A text with the first `find` replaced; the caller frees it. */
static inline char *fixture_replace(const char *text, const char *find, const char *with) {
    const char *at = strstr(text, find);
    ck_assert_msg(at != NULL, "the text has no '%s'", find);
    size_t size = strlen(text) + strlen(with) + 1;
    char *result = malloc(size);
    ck_assert_ptr_nonnull(result);
    snprintf(result, size, "%.*s%s%s", (int)(at - text), text, with, at + strlen(find));
    return result;
}

#endif
