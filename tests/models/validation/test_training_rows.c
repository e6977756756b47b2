/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/catalog_load.h"
#include "models/validation/training_rows.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                         \
    "source,model,gpu,num_gpus,seq_len,global_batch_tokens,microbatch,tp,pp,cp,ep,dp," \
    "sharding,vpp,precision,activation_checkpointing,tokens_per_s_per_gpu,step_s,params,notes\n"

static struct catalog *catalog;
static struct rlhfsim_diagnostics *diagnostics;
static struct base_arena arena;
static struct training_row row;
static struct training_cells cells;

static void setup(void) {
    catalog = catalog_new();
    diagnostics = rlhfsim_diagnostics_new();
    arena = (struct base_arena){0};
    ck_assert_int_eq(catalog_load(catalog, "scenarios/catalog", true, diagnostics), RLHFSIM_OK);
}

static void teardown(void) {
    catalog_free(catalog);
    rlhfsim_diagnostics_free(diagnostics);
    base_arena_release(&arena);
}

/* Reads one row behind HEADER into `cells` and `row`. */
static void read_row(const char *text) {
    char file[2048];
    struct csv_table table;
    struct training_columns columns;
    int length = snprintf(file, sizeof file, HEADER "%s\n", text);
    ck_assert_int_eq(csv_table_read(&arena, "t.csv", file, (size_t)length, diagnostics, &table),
                     RLHFSIM_OK);
    ck_assert_int_eq(training_columns_find(&table, "t.csv", diagnostics, &columns), RLHFSIM_OK);
    training_cells_read(&columns, table.rows, &cells);
    training_row_read(catalog, &cells, &row);
}

/* NVIDIA/dgxc-benchmarking@v24.11.1 llama3.1/README_70b.md. 64 GPUs over tp 4, pp 4, cp 2 are 2
 * replicas; 1,048,576 / 8192 = 128 sequences, 64 a replica. */
START_TEST(a_plain_row) {
    read_row("NVIDIA/dgxc-benchmarking llama3.1/README_70b.md @v24.11.1,Llama 3.1 70b,"
             "H100 80GB SXM (DGX Cloud),64,8192,1048576,1,4,4,2,,,,5,bf16,,1113,14.72,,");
    ck_assert_str_eq(row.reason, "");
    ck_assert_str_eq(row.architecture.name, "Llama-3.1-70B");
    ck_assert_int_eq(row.architecture.layers, 80);
    ck_assert_int_eq(row.plan.tp, 4);
    ck_assert_int_eq(row.plan.pp, 4);
    ck_assert_int_eq(row.plan.cp, 2);
    ck_assert_int_eq(row.plan.dp, 2);
    ck_assert_int_eq(row.plan.vpp, 5);
    ck_assert_int_eq(row.plan.zero_stage, 1); /* not stated: the trainer's */
    ck_assert_int_eq(row.plan.recompute, TRAINING_RECOMPUTE_NONE);
    ck_assert(row.plan.sequence_parallel);
    ck_assert_int_eq(row.microbatches, 64);
    ck_assert_double_eq(row.microbatch_sequences, 1.0);
    ck_assert_double_eq(row.measured_s, 14.72);
    ck_assert(!row.derived);
    ck_assert_str_eq(row.family, "megatron");
    ck_assert_int_eq(row.cluster.nodes, 8);
    ck_assert_double_eq(row.cluster.node.network_bandwidth_bytes_per_s, 400e9);
}
END_TEST

/* The same project: 7 of 126 layers. And what the notes must not be. */
START_TEST(a_proxy_has_fewer_layers) {
    read_row("NVIDIA/dgxc-benchmarking llama3.1/README_405b.md @v24.11.1,Llama 3.1 405b,"
             "H100 80GB SXM (DGX Cloud),32,8192,1032192,1,8,1,2,,,,,fp8,,5566.2,5.8,,"
             "GBS=126; PROXY model with 7 of 126 layers (params column is the full model)");
    ck_assert_str_eq(row.reason, "");
    ck_assert_int_eq(row.architecture.layers, 7);
    ck_assert_int_eq(row.architecture.hidden, 16384);
    ck_assert_int_eq(row.microbatches, 63); /* 126 sequences on two replicas */
    ck_assert_int_eq(row.plan.precision, HARDWARE_FP8);
    read_row("NVIDIA/dgxc-benchmarking x @1,Llama 3.1 405b,H100,32,8192,1032192,1,8,1,2,,,,,fp8,,"
             "5566.2,5.8,,PROXY model with 7 of 64 layers");
    ck_assert_str_eq(row.reason, "the notes have no layers of the proxy");
    /* Experts go with the layers: 16 of Grok's 64. */
    read_row("NVIDIA/dgxc-benchmarking grok1/README_314b.md @v24.11.1,Grok 1 314b,"
             "H100 80GB SXM (DGX Cloud),128,8192,8388608,1,4,2,2,8,1,,8,bf16,,3175.2,20.64,,"
             "PROXY model with 16 of 64 layers");
    ck_assert_str_eq(row.reason, "");
    ck_assert_int_eq(row.architecture.layers, 16);
    ck_assert_int_eq(row.architecture.moe_layers, 16);
    ck_assert_int_eq(row.plan.dp, 8); /* 128 / (4 x 2 x 2), though the table says 1 */
    ck_assert_int_eq(row.plan.ep, 8);
    ck_assert_int_eq(row.plan.expert_tp, 4);
    ck_assert(row.scope.experts);
}
END_TEST

/* torchtitan@b5bcd76c6: a local batch of 32 is cut in the pipeline's 8; the schedule that is called
 * interleaved has two chunks a stage; weights stay between forward and backward. */
START_TEST(local_batches_are_cut_by_the_pipeline) {
    read_row("torchtitan benchmarks/x.md @b5bcd76c6,Llama 3.1 405B,H100 96GB HBM2e 500W (Grand "
             "Teton),512,8192,2097152,32,8,8,1,,8,FSDP2,,float8,full,128,32,,Table 5 3D "
             "Interleaved 1F1B+AsyncTP+compile; local batch 32");
    ck_assert_str_eq(row.reason, "");
    ck_assert_double_eq(row.microbatch_sequences, 4.0);
    ck_assert_int_eq(row.microbatches, 8);
    ck_assert_int_eq(row.plan.vpp, 2);
    ck_assert_int_eq(row.plan.zero_stage, 3);
    ck_assert(!row.plan.reshard_after_forward);
    ck_assert_int_eq(row.plan.fusion, TRAINING_FUSION_COMPILED);
    ck_assert_int_eq(row.plan.attention, TRAINING_ATTENTION_FLASH_2);
    ck_assert_str_eq(row.cluster.gpu.name, "H100-SXM-96GB-HBM2e");
    /* Without a batch: 12 sequences of 8192 tokens on each of 8 replicas; 786,432 tokens at 4378
     * a second and GPU on 64 GPUs. */
    read_row(
        "torchtitan benchmarks/y.md @b5bcd76c6,Llama 3.1 8B,H100 96GB HBM2e 500W (Grand "
        "Teton),64,8192,,12,8,1,1,,8,FSDP2,,float8 rowwise,per-op selective,4378,,,vanilla TP");
    ck_assert_str_eq(row.reason, "");
    ck_assert(row.derived);
    assert_relative(row.measured_s, 786432.0 / (4378.0 * 64.0), 1e-12);
    ck_assert_str_eq(row.tags, "rowwise ");
    ck_assert_int_eq(row.plan.fusion, TRAINING_FUSION_EAGER); /* nobody says compile */
    ck_assert_int_eq(row.plan.recompute, TRAINING_RECOMPUTE_OPERATORS);
}
END_TEST

START_TEST(context_parallelism_may_only_show_in_dp) {
    read_row("torchtitan x @1,Llama 3.1 8B,H100,8,131072,262144,1,1,1,,,2,FSDP2,,float8,full,1071,"
             "30.6,,compile");
    ck_assert_str_eq(row.reason, "");
    ck_assert_int_eq(row.plan.cp, 4);
    ck_assert_int_eq(row.plan.dp, 2);
    ck_assert_int_eq(row.microbatches, 1);
}
END_TEST

START_TEST(words_of_sharding) {
    static const struct {
        const char *word;
        int stage, ranks;
        bool reshard;
        enum training_offload offload;
    } words[] = {{"FSDP FULL_SHARD", 3, 0, true, TRAINING_OFFLOAD_NONE},
                 {"FSDP SHARD_GRAD_OP", 3, 0, false, TRAINING_OFFLOAD_NONE},
                 {"HSDP", 3, 8, true, TRAINING_OFFLOAD_NONE},
                 {"FSDP=32", 3, 32, true, TRAINING_OFFLOAD_NONE},
                 {"FSDP=64", 3, 0, true, TRAINING_OFFLOAD_NONE}, /* all of them */
                 {"ZeRO-1", 1, 0, true, TRAINING_OFFLOAD_NONE},
                 {"ZeRO-2", 2, 0, true, TRAINING_OFFLOAD_NONE},
                 {"DDP (full copy)", 0, 0, true, TRAINING_OFFLOAD_NONE},
                 {"ZeRO-3 + CPU AdamW offload", 3, 0, true, TRAINING_OFFLOAD_OPTIMIZER},
                 {"FSDP full shard + CPU offload of parameters", 3, 0, true,
                  TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "llm-foundry x @1,MPT-7b,h100_80gb,64,2048,1048576,8,1,1,1,,64,%s,,amp_bf16,full,,"
                 "1,,",
                 words[i].word);
        read_row(text);
        ck_assert_str_eq(row.reason, "");
        ck_assert_int_eq(row.plan.zero_stage, words[i].stage);
        ck_assert_int_eq(row.plan.shard_ranks, words[i].ranks);
        ck_assert(row.plan.reshard_after_forward == words[i].reshard);
        ck_assert_int_eq(row.plan.offload, words[i].offload);
    }
}
END_TEST

/* bigscience "chronicles-prequel": each way in which the notes say what a prototype is. */
START_TEST(prototypes_of_bloom) {
    static const struct {
        const char *model, *params, *pp, *notes;
        int64_t hidden, layers, heads;
    } models[] = {
        /* no width: 14,400; 191B: 77 layers are 191.6e9 without the embedding */
        {"191B", "1.91e+11", "7", "section=topology; NHIDDEN= NHEADS= layers= async=; ;", 14400, 77,
         96},
        /* 195B on 11 stages: the same layers with the embedding, 195.2e9 */
        {"195B", "1.95e+11", "11", "section=topology; NHIDDEN= NHEADS= layers= async=; ;", 14400,
         77, 96},
        /* the width in its column: 13824, 80 layers are 183.5e9, 186.9e9 with the embedding */
        {"187B", "1.87e+11", "10", "section=tile; NHIDDEN=13824 NHEADS= layers= async=; ;", 13824,
         80, 64},
        /* of two pairs the one of the printed size: 84 x 12 x 13824^2 + 250880 x 13824 = 196.1e9 */
        {"196B", "1.96e+11", "12",
         "section=48; NHIDDEN= NHEADS= layers= async=; NHIDDEN=14336 / NLAYERS=72; NHIDDEN=13824 / "
         "NLAYERS=84; note=",
         13824, 84, 64},
        /* depth before width, heads in the list */
        {"181B", "1.81e+11", "12",
         "section=GBS; NHIDDEN= NHEADS= layers= async=; NLAYERS=72; NHIDDEN=14336; NHEADS=64; "
         "note=",
         14336, 72, 64},
        /* heads in the column; 106 layers and the two of partition 'transformer|embed' */
        {"195B", "1.95e+11", "12",
         "section=Re-do; NHIDDEN= NHEADS=96 layers= async=; NHIDDEN=13824 / NLAYERS=78; "
         "HIDDEN=12288; NLAYERS=106; regex",
         12288, 106, 96},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "bigscience train/x.md @1,BLOOM-proto %s,A100 SXM 80GB,1056,2048,4325376,1,8,%s,1,,,"
            "ZeRO-1,,,full,,100,%s,%s",
            models[i].model, models[i].pp, models[i].params, models[i].notes);
        read_row(text);
        ck_assert_int_eq(row.architecture.hidden, models[i].hidden);
        ck_assert_int_eq(row.architecture.layers, models[i].layers);
        ck_assert_int_eq(row.architecture.heads, models[i].heads);
        ck_assert_int_eq(row.architecture.ffn, 4 * models[i].hidden);
        ck_assert_int_eq(row.architecture.vocab, 250880);
        if (row.reason[0] != '\0') /* of stages that do not divide the GPUs */
            continue;
        /* DeepSpeed's pipeline: fp32 sums, all-reduced behind the last backward. */
        ck_assert(row.plan.reduces_whole);
        ck_assert(!row.plan.overlap_reduction);
        ck_assert_double_eq(row.plan.gradient_bytes, 4.0);
    }
    read_row("bigscience train/x.md @1,BLOOM-proto 18B,A100 SXM 80GB,8,2048,4194304,2,8,1,1,,,"
             "ZeRO-1,,,full,,119,1.8e10,section=48; NHIDDEN= NHEADS= layers=10 async=; "
             "NHIDDEN=14336 / NLAYERS=6");
    ck_assert_str_eq(row.reason, "the notes have no width and depth of the prototype's size");
}
END_TEST

/* Adapters by the model's name; the micro-batch of fine-tuning tables is the trainer's. A garbled
 * pp is said. */
START_TEST(adapters_and_defaults) {
    read_row("NVIDIA/dgxc-benchmarking llama3/finetuning/README_70b.md @v25.02.02,"
             "Llama3 70b Finetuning LORA,H100 80GB SXM (DGX Cloud),8,4096,131072,,2,4,1,,,,20,bf16,"
             ",,4,,");
    ck_assert_str_eq(row.reason, "");
    ck_assert_int_eq(row.plan.lora_rank, 16);
    ck_assert_double_eq(row.microbatch_sequences, 1.0);
    ck_assert_int_eq(row.microbatches, 32);
    read_row(
        "NVIDIA/dgxc-benchmarking llama3/finetuning/README_8b.md @v25.02.02,"
        "Llama3 8b Finetuning LORA,H100 80GB SXM (DGX Cloud),8,4096,131072,,1,41,1,,,,,bf16,,,4"
        ",,");
    ck_assert_str_eq(row.reason, "num_gpus is not a multiple of tp x pp x cp");
}
END_TEST

/* Every row that cannot be forecast says what it lacks. */
START_TEST(reasons) {
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"s,Llama 3.1 8b,H100,8,,,,1,,,,,,,bf16,,,1,,",
         "not stated: seq_len, pp, global_batch_tokens, microbatch"},
        {"s,Llama 3.1 8b,H100,128-512,8192,131072,1,1,1,,,,,,bf16,,,1,,", "num_gpus is '128-512'"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,OOM,1,1,,,,,,bf16,,,1,,", "microbatch is 'OOM'"},
        {"s,Llama 3.1 8b,H100,8.5,8192,131072,1,1,1,,,,,,bf16,,,1,,", "num_gpus is 8.5"},
        {"s,Llama 3.1 8b,H100,-8,8192,131072,1,1,1,,,,,,bf16,,,1,,", "num_gpus is -8"},
        {"s,Llama 3.1 8b,H100,1e300,8192,131072,1,1,1,,,,,,bf16,,,1,,", "num_gpus is 1e300"},
        {"s,Llama 3.1 8b,,8,8192,131072,1,1,1,,,,,,bf16,,,1,,", "not stated: gpu"},
        {"s,Llama 3.1 8b,Z80,8,8192,131072,1,1,1,,,,,,bf16,,,1,,", "the catalog has no GPU 'Z80'"},
        {"s,Zebra-7B,H100,8,8192,131072,1,1,1,,,,,,bf16,,,1,,",
         "the catalog has no model 'Zebra-7B'"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,1,3,1,,,,,,bf16,,,1,,",
         "num_gpus is not a multiple of tp x pp x cp"},
        {"s,Llama 3.1 8b,H100,24,8192,131072,1,3,1,,,,,,bf16,,,1,,",
         "tp does not divide the model's heads"},
        {"s,Llama 3.1 8b,H100,64,8192,524288,1,1,64,,,,,,bf16,,,1,,",
         "pp x vpp is above the model's layers"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,1,1,1,,8,,,,bf16,,,1,,",
         "ep does not divide the model's experts"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,3,1,1,,,,,,bf16,,,1,,",
         "global_batch_tokens is not a whole number of micro-batches on every rank"},
        {"s,Llama 3.1 8b,H100,16,8192,73728,1,1,8,,,,,2,bf16,,,1,,",
         "global_batch_tokens is not a whole number of micro-batches on every rank"},
        {"s,Llama 3.1 8b,H100,16,100000000000,800000000000,1,1,2,,,8,,,bf16,,,1,,",
         "the step would take longer than 1000000 s"},
        {"s,Llama 3.1 8b,H100,16,8192,819200000000,1,1,2,,,8,,,bf16,,,1,,",
         "the step would take longer than 1000000 s"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,1,1,1000000,,,,,1000000,bf16,,,1,,",
         "num_gpus is not a multiple of tp x pp x cp"},
        {"s,Llama 3.1 8b,A100,8,8192,131072,1,1,1,,,,,,fp8,,,1,,",
         "the GPU does not compute in fp8"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,1,1,1,,,,,,int3,,,1,,",
         "precision is 'int3', which is not known"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,1,1,1,,,,magic,,bf16,,,1,,",
         "sharding is 'magic', which is not known"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,1,1,1,,,,,,bf16,maybe,,1,,",
         "activation_checkpointing is 'maybe', which is not known"},
        {"s,Llama 3.1 8b,H100,8,8192,131072,1,1,1,,,,,,bf16,,,,,", "no measured value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_row(rows[i].text);
        ck_assert_msg(strcmp(row.reason, rows[i].reason) == 0, "%s: '%s', expected '%s'",
                      rows[i].text, row.reason, rows[i].reason);
    }
}
END_TEST

START_TEST(columns_that_are_needed) {
    struct csv_table table;
    struct training_columns columns;
    static const char text[] = "source,model,gpu,num_gpus,seq_len,microbatch,tp,pp\n";
    ck_assert_int_eq(csv_table_read(&arena, "t.csv", text, strlen(text), diagnostics, &table),
                     RLHFSIM_OK);
    ck_assert_int_eq(training_columns_find(&table, "t.csv", diagnostics, &columns),
                     RLHFSIM_INVALID);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(diagnostics), 2);
    ck_assert_str_eq(rlhfsim_diagnostics_get(diagnostics, 0)->message,
                     "column 'global_batch_tokens' is missing");
    ck_assert_str_eq(rlhfsim_diagnostics_get(diagnostics, 1)->message,
                     "column 'step_s' is missing");
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("rows");
    Suite *suite = suite_create("validation.training_rows");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_plain_row);
    tcase_add_test(tests, a_proxy_has_fewer_layers);
    tcase_add_test(tests, local_batches_are_cut_by_the_pipeline);
    tcase_add_test(tests, context_parallelism_may_only_show_in_dp);
    tcase_add_test(tests, words_of_sharding);
    tcase_add_test(tests, prototypes_of_bloom);
    tcase_add_test(tests, adapters_and_defaults);
    tcase_add_test(tests, reasons);
    tcase_add_test(tests, columns_that_are_needed);
    suite_add_tcase(suite, tests);
    return testing_run(suite);
}
