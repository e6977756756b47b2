/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The catalog: rows in SI units, several folders, look-ups, and every way in which a file is wrong.
 */
#include "tests/models/scenario/fixture.h"

#include "models/base/diagnostics.h"
#include "models/scenario/catalog_load.h"
#include "models/scenario/csv_table.h"

#include <math.h>
#include <sys/stat.h>

static struct fixture fixture;
static struct catalog *catalog;
static struct rlhfsim_diagnostics *list;

static void setup(void) {
    fixture_open(&fixture);
    catalog = catalog_new();
    list = rlhfsim_diagnostics_new();
}

static void teardown(void) {
    catalog_free(catalog);
    rlhfsim_diagnostics_free(list);
    fixture_close(&fixture);
}

static void load(const char *directory, bool complete) {
    enum rlhfsim_status status = catalog_load(catalog, directory, complete, list);
    fixture_collect(&fixture, list);
    ck_assert_msg(status == RLHFSIM_OK, "%s", fixture.errors);
}

/* ---- rows ------------------------------------------------------------------------------------ */

START_TEST(test_gpu_in_si) {
    load(".", true);
    const struct hardware_gpu *gpu = catalog_gpu(catalog, "G80");
    ck_assert_ptr_nonnull(gpu);
    assert_relative(gpu->peak_flops_per_s[HARDWARE_BF16], 300e12, 1e-15);
    assert_relative(gpu->peak_flops_per_s[HARDWARE_FP32], 20e12, 1e-15);
    ck_assert_double_eq(gpu->peak_flops_per_s[HARDWARE_FP8], 0.0);
    assert_relative(gpu->matmul_efficiency, 240.0 / 300.0, 1e-15);
    assert_relative(gpu->memory_efficiency, 1500.0 / 2000.0, 1e-15);
    ck_assert_double_eq(gpu->attention_efficiency, 0.5);
    ck_assert_double_eq(gpu->attention_backward_efficiency, 0.3);
    assert_relative(gpu->memory_bytes, 80.0 * 1073741824.0, 1e-15);
    assert_relative(gpu->memory_bandwidth_bytes_per_s, 2e12, 1e-15);
    assert_relative(gpu->scaleup_bandwidth_bytes_per_s, 300e9, 1e-15);
    assert_relative(gpu->host_bandwidth_bytes_per_s, 25e9, 1e-15);
    assert_relative(gpu->kernel_launch_s, 5e-6, 1e-15);
    ck_assert_double_eq(gpu->power_w, 400.0);
}
END_TEST

START_TEST(test_node_in_si) {
    load(".", true);
    const struct hardware_node *node = catalog_node(catalog, "box");
    ck_assert_str_eq(node->gpu, "G80");
    ck_assert_int_eq(node->gpus, 8);
    assert_relative(node->host_memory_bytes, 1000.0 * 1073741824.0, 1e-15);
    assert_relative(node->nvme_bytes, 8e12, 1e-15);
    assert_relative(node->network_bandwidth_bytes_per_s, 50e9, 1e-15); /* 400 Gbit/s */
    ck_assert_double_eq(node->scaleup_efficiency, 0.7);
    ck_assert_double_eq(node->network_efficiency, 0.8);
    assert_relative(node->scaleup_latency_s, 1e-6, 1e-15);
    assert_relative(node->network_latency_s, 20e-6, 1e-15);
    assert_relative(node->collective_start_s, 8e-6, 1e-15);
    assert_relative(node->storage_bandwidth_bytes_per_s, 2e9, 1e-15);
    const struct catalog_offer *offer = catalog_node_offer(catalog, "box");
    ck_assert_str_eq(offer->provider, "cloud");
    ck_assert_str_eq(offer->instance, "box.large");
    ck_assert_str_eq(offer->region, "north");
}
END_TEST

START_TEST(test_framework_in_si) {
    load(".", true);
    const struct catalog_framework *framework = catalog_framework(catalog, "fast");
    ck_assert_double_eq(framework->training.matmul_share, 0.5);
    assert_relative(framework->training.microbatch_host_s, 0.040, 1e-15);
    assert_relative(framework->training.optimizer_host_s, 0.050, 1e-15);
    ck_assert_double_eq(framework->step_host_s, 2.0);
    assert_relative(framework->iteration_host_s, 0.003, 1e-15);
    assert_relative(framework->sequence_host_s, 20e-6, 1e-15);
    ck_assert_double_eq(framework->transition_s_per_sqrt_gb, 0.07);
    ck_assert_str_eq(framework->weight_sync->name, "ipc_bucket");
    ck_assert_double_eq(framework->weight_sync_cost.pause_s, 3.2);
    assert_relative(framework->weight_sync_cost.tensor_s, 0.7e-3, 1e-15);
    assert_relative(framework->weight_sync_cost.load_bandwidth_bytes_per_s, 13e9, 1e-15);
    assert_relative(framework->engine_residue_bytes, 1.5 * 1073741824.0, 1e-15);
    assert_relative(framework->context_bytes, 2.0 * 1073741824.0, 1e-15);
    ck_assert_double_eq(framework->fragmentation_fraction, 0.06);
}
END_TEST

START_TEST(test_model_and_price) {
    load(".", true);
    const struct llm_architecture *model = catalog_model(catalog, "odd");
    ck_assert_str_eq(model->family, "llama");
    ck_assert_int_eq(model->layers, 2);
    ck_assert_int_eq(model->hidden, 96);
    ck_assert_int_eq(model->heads, 12);
    ck_assert_int_eq(model->kv_heads, 4);
    ck_assert_int_eq(model->head_dim, 8);
    ck_assert_int_eq(model->ffn, 128);
    ck_assert_int_eq(model->vocab, 1000);
    ck_assert_int_eq(model->max_position, 1024);
    ck_assert(!model->tied_embeddings && model->gated_ffn && !model->qkv_bias);
    ck_assert(!model->output_bias && !model->ffn_bias && !model->qk_norm);
    const struct catalog_price *price =
        catalog_price(catalog, "cloud", "south", "box.large on-demand");
    ck_assert_double_eq(price->usd, 36.0);
    ck_assert_str_eq(price->unit, "node-hour");
    ck_assert_str_eq(price->date, "2024-05-01");
    ck_assert_ptr_null(catalog_price(catalog, "cloud", "moon", "box.large on-demand"));
}
END_TEST

/* The shape of "small" with layer norms: five shifts of 64 more. The column is optional: the
 * fixture has none. */
START_TEST(test_traits) {
    fixture_write("models.csv",
                  "name,family,layers,hidden,heads,kv_heads,head_dim,ffn,vocab,max_position,"
                  "tied_embeddings,gated_ffn,qkv_bias,output_bias,ffn_bias,qk_norm,traits,"
                  "parameters,provenance,source,notes\n"
                  "m,llama,2,64,8,4,8,128,1000,1024,no,yes,no,no,no,no,norm=layer,202368,measured,"
                  "a page,\n");
    ck_assert_int_eq(catalog_load(catalog, ".", true, list), RLHFSIM_OK);
    ck_assert_int_eq(catalog_model(catalog, "m")->norm, LLM_NORM_LAYER);
}
END_TEST

START_TEST(test_look_ups) {
    load(".", true);
    ck_assert_str_eq(catalog_nearest(catalog, CATALOG_GPUS, "g81"), "G80");
    ck_assert_str_eq(catalog_nearest(catalog, CATALOG_MODELS, "smalll"), "small");
    ck_assert_ptr_null(catalog_nearest(catalog, CATALOG_NODES, "zeppelin"));
    ck_assert_str_eq(catalog_source(catalog, CATALOG_NODES, "box"), "a page");
    ck_assert_str_eq(catalog_provenance(catalog, CATALOG_NODES, "box"), "interpolated");
    ck_assert_str_eq(catalog_source(catalog, CATALOG_PRICES, "cloud/north/box.large spot"), "list");
    ck_assert_ptr_null(catalog_source(catalog, CATALOG_NODES, "none"));
    ck_assert_ptr_null(catalog_provenance(catalog, CATALOG_NODES, "none"));
    ck_assert_str_eq(catalog_name_at(catalog, CATALOG_NODES, 1), "six");
    ck_assert_ptr_null(catalog_name_at(catalog, CATALOG_NODES, 3));
}
END_TEST

/* Columns in another order, cells in quotes, CRLF, a blank line and a mark: the same rows. */
START_TEST(test_free_form) {
    fixture_write(
        "prices.csv",
        "\xEF\xBB\xBFprice_usd,provider,region,item,unit,date,provenance,source,notes\r\n"
        "\r\n"
        "7.5,cloud,\"north, \"\"new\"\"\",box,node-hour,2024,assumed,me,\"two\nlines\"\r\n");
    load(".", true);
    ck_assert_double_eq(catalog_price(catalog, "cloud", "north, \"new\"", "box")->usd, 7.5);
}
END_TEST

/* ---- several folders ------------------------------------------------------------------------- */

static void make_second_folder(const char *file, const char *text) {
    ck_assert_int_eq(mkdir("mine", 0700), 0);
    if (file != NULL)
        fixture_write(file, text);
}

static void remove_second_folder(const char *file) {
    if (file != NULL)
        unlink(file);
    rmdir("mine");
}

START_TEST(test_later_folder_wins) {
    make_second_folder("mine/prices.csv", FIXTURE_PRICE_HEADER
                       "cloud,north,box.large on-demand,node-hour,1,2025,assumed,me,\n"
                       "attic,home,box,node-hour,2,2025,assumed,me,\n");
    load(".", true);
    load("mine/", false);
    remove_second_folder("mine/prices.csv");
    ck_assert_double_eq(catalog_price(catalog, "cloud", "north", "box.large on-demand")->usd, 1.0);
    ck_assert_str_eq(catalog_source(catalog, CATALOG_PRICES, "cloud/north/box.large on-demand"),
                     "me");
    ck_assert_double_eq(catalog_price(catalog, "attic", "home", "box")->usd, 2.0);
    ck_assert_double_eq(catalog_price(catalog, "cloud", "north", "box.large spot")->usd, 12.5);
}
END_TEST

/* A node of the user's may have a GPU of the installation's. */
START_TEST(test_node_with_known_gpu) {
    make_second_folder("mine/nodes.csv", FIXTURE_NODE_HEADER
                       "own,me,own,cellar,G90,4,500,0,100,0.7,0.8,1,20,8,2,assumed,me,\n");
    load(".", true);
    load("mine", false);
    remove_second_folder("mine/nodes.csv");
    ck_assert_str_eq(catalog_node(catalog, "own")->gpu, "G90");
}
END_TEST

START_TEST(test_folder_without_files) {
    make_second_folder(NULL, NULL);
    ck_assert_int_eq(catalog_load(catalog, "mine", false, list), RLHFSIM_INVALID);
    fixture_collect(&fixture, list);
    remove_second_folder(NULL);
    ck_assert_str_eq(
        fixture.errors,
        "mine: error: no catalog file here, expected gpus.csv, nodes.csv, models.csv, "
        "prices.csv, frameworks.csv, fabrics.csv, weight_sync.csv, engines.csv, "
        "stores.csv, aliases.csv, attention.csv, kernels.csv, training.csv, trainers.csv, "
        "lengths.csv, memory.csv, stated.csv or bands.csv\n");
}
END_TEST

/* A field that is not known, and a count that is none. */
START_TEST(test_statements) {
    make_second_folder("mine/stated.csv",
                       "name,table,model,remark,field,value,provenance,source,notes\n"
                       "a,t,,,colour,red,measured,me,\n"
                       "b,t,,,tp,1.5,measured,me,\n"
                       "c,t,,,tp,2,measured,me,\n");
    load(".", true);
    ck_assert_int_eq(catalog_load(catalog, "mine", false, list), RLHFSIM_INVALID);
    fixture_collect(&fixture, list);
    remove_second_folder("mine/stated.csv");
    ck_assert_str_eq(fixture.errors,
                     "mine/stated.csv:2:7: error: field is 'colour', expected one of "
                     "longest_seq_len, microbatch, tp, pp, sharding, precision, "
                     "activation_checkpointing, fusion, logits, optimizer, loads, unsupported\n"
                     "mine/stated.csv:3:10: error: value is 1.5, expected a whole number from 1 "
                     "to 1e9\n");
    ck_assert_double_eq(catalog_stated_at(catalog, 0)->number, 2.0);
    ck_assert_ptr_null(catalog_stated_at(catalog, 1));
}
END_TEST

START_TEST(test_missing_file) {
    unlink("models.csv");
    ck_assert_int_eq(catalog_load(catalog, ".", true, list), RLHFSIM_INVALID);
    fixture_collect(&fixture, list);
    ck_assert_str_eq(fixture.errors,
                     "./models.csv: error: cannot be read: No such file or directory\n");
}
END_TEST

/* ---- loose names and aliases ----------------------------------------------------------------- */

#define ALIAS_HEADER "kind,alias,name,source\n"

START_TEST(test_loose_names) {
    static const char *const spellings[] = {"G80", "g80", "G-80", " g_8 0", "some-vendor/G80"};
    load(".", true);
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        ck_assert_ptr_eq(catalog_gpu(catalog, spellings[i]), catalog_gpu(catalog, "G80"));
    ck_assert_str_eq(catalog_name(catalog, CATALOG_NODES, "B o-x"), "box");
    /* A path is no name with an owner, nor is a remark with a slash in it; prices are exact. */
    ck_assert_ptr_null(catalog_model(catalog, "/small"));
    ck_assert_ptr_null(catalog_model(catalog, "./small"));
    ck_assert_ptr_null(catalog_model(catalog, "a/b/small"));
    ck_assert_ptr_null(catalog_model(catalog, "see a/small"));
    ck_assert_ptr_null(catalog_model(catalog, "a/small.json"));
    ck_assert_ptr_null(catalog_price(catalog, "Cloud", "north", "box.large spot"));
}
END_TEST

START_TEST(test_aliases) {
    fixture_write("aliases.csv", ALIAS_HEADER "gpu,Old Eighty (two),G80,a page\n"
                                              "model,tiny,small,a page\n"
                                              "node,G80,box,one spelling may stand for two kinds\n"
                                              "framework,quick,fast,a page\n");
    load(".", true);
    ck_assert_ptr_eq(catalog_gpu(catalog, "old-eighty(two)"), catalog_gpu(catalog, "G80"));
    ck_assert_ptr_eq(catalog_model(catalog, "org/TINY"), catalog_model(catalog, "small"));
    ck_assert_ptr_eq(catalog_node(catalog, "g80"), catalog_node(catalog, "box"));
    ck_assert_ptr_eq(catalog_framework(catalog, "Quick"), catalog_framework(catalog, "fast"));
    ck_assert_ptr_null(catalog_framework(catalog, "tiny"));
    ck_assert_str_eq(catalog_nearest(catalog, CATALOG_FRAMEWORKS, "quik"), "fast");
    ck_assert_str_eq(catalog_source(catalog, CATALOG_GPUS, "old eighty (two)"), "a page");
}
END_TEST

/* A user's alias for a row of the installation's. */
START_TEST(test_alias_of_another_folder) {
    make_second_folder("mine/aliases.csv", ALIAS_HEADER "node,ours,box,me\n");
    load(".", true);
    load("mine", false);
    remove_second_folder("mine/aliases.csv");
    ck_assert_ptr_eq(catalog_node(catalog, "ours"), catalog_node(catalog, "box"));
}
END_TEST

/* ---- gaps ------------------------------------------------------------------------------------ */

START_TEST(test_unknown_figures) {
    char *gpus = fixture_replace(fixture_gpus, "G80,300,300,20,0,240", "G80,300,300,,0,");
    char *nodes = fixture_replace(fixture_nodes, "1000,8000,400", ",,");
    fixture_write("gpus.csv", gpus);
    fixture_write("nodes.csv", nodes);
    load(".", true);
    const struct hardware_gpu *gpu = catalog_gpu(catalog, "G80");
    ck_assert(isnan(gpu->peak_flops_per_s[HARDWARE_FP32]) && isnan(gpu->matmul_efficiency));
    ck_assert_double_eq(gpu->peak_flops_per_s[HARDWARE_FP8], 0.0);
    ck_assert(isnan(catalog_node(catalog, "box")->network_bandwidth_bytes_per_s));
    ck_assert_double_eq(catalog_node(catalog, "box")->host_memory_bytes, 0.0);
    free(gpus);
    free(nodes);
}
END_TEST

/* Without bf16 the efficiencies are shares of the fp16 peak. */
START_TEST(test_gpu_before_bf16) {
    char *gpus = fixture_replace(fixture_gpus, "G80,300,300,20,0,240", "G80,0,120,15,0,90");
    fixture_write("gpus.csv", gpus);
    load(".", true);
    assert_relative(catalog_gpu(catalog, "G80")->matmul_efficiency, 90.0 / 120.0, 1e-15);
    free(gpus);
}
END_TEST

/* ---- bad files ------------------------------------------------------------------------------- */

#define TRAITS_HEADER                                                                    \
    "name,family,layers,hidden,heads,kv_heads,head_dim,ffn,vocab,max_position,"          \
    "tied_embeddings,gated_ffn,qkv_bias,output_bias,ffn_bias,qk_norm,traits,parameters," \
    "provenance,source,notes\n"
#define TRAITS_ROW "m,llama,2,64,8,4,8,128,1000,1024,no,yes,no,no,no,no,"

struct bad_case {
    const char *file, *text; /* of the fixture */
    const char *find, *with; /* what is replaced in it */
    const char *errors;
};

static const struct bad_case cases[] = {
    /* header */
    {"gpus.csv", fixture_gpus, "fp8_tflops", "fp8_tflop",
     "./gpus.csv:1:1: error: column 'fp8_tflops' is missing\n"
     "./gpus.csv:1:42: error: unknown column 'fp8_tflop'; did you mean 'fp8_tflops'?\n"},
    {"gpus.csv", fixture_gpus, "notes", "name",
     "./gpus.csv:1:1: error: column 'notes' is missing\n"
     "./gpus.csv:1:283: error: column 'name' is written twice\n"},
    {"gpus.csv", fixture_gpus, fixture_gpus, "",
     "./gpus.csv:1:1: error: the file is empty, expected a header line\n"},
    /* rows */
    {"gpus.csv", fixture_gpus, "measured,a page,", "measured,a page",
     "./gpus.csv:2:1: error: a row of 17 cells, but the header has 18\n"},
    {"gpus.csv", fixture_gpus, "measured,a page,", "measured,a page,,",
     "./gpus.csv:2:1: error: a row of 19 cells, but the header has 18\n"},
    {"gpus.csv", fixture_gpus, "measured,a page,", "measured,,",
     "./gpus.csv:2:65: error: source is empty, expected text of at most 1023 bytes\n"},
    {"gpus.csv", fixture_gpus, "measured,a page,", "guessed,a page,",
     "./gpus.csv:2:56: error: provenance is 'guessed', expected one of measured, interpolated, "
     "extrapolated, assumed\n"},
    {"gpus.csv", fixture_gpus, "G90,", "G80,",
     "./gpus.csv:3:1: error: GPU 'G80' is written twice, first on line 2\n"},
    {"gpus.csv", fixture_gpus, "G90,", ",",
     "./gpus.csv:3:1: error: name is empty, expected text of at most 63 bytes\n"},
    /* numbers */
    {"gpus.csv", fixture_gpus, "G80,300", "G80,fast",
     "./gpus.csv:2:5: error: bf16_tflops is 'fast', expected a number from 0 to 1e+15, "
     "or nothing where it is not known\n"},
    {"gpus.csv", fixture_gpus, "G80,300", "G80,0x12",
     "./gpus.csv:2:5: error: bf16_tflops is '0x12', expected a number from 0 to 1e+15, "
     "or nothing where it is not known\n"},
    {"nodes.csv", fixture_nodes, "G80,8", "G80,",
     "./nodes.csv:2:31: error: gpus is empty, expected a whole number from 1 to 1024\n"},
    {"aliases.csv", ALIAS_HEADER "gpu,eighty,G80,me\n", "gpu,", "price,",
     "./aliases.csv:2:1: error: kind is 'price', expected one of gpu, node, model, framework, "
     "fabric, "
     "weight sync, engine\n"},
    {"aliases.csv", ALIAS_HEADER "gpu,eighty,G80,me\n", ",G80", ",G81",
     "./aliases.csv:2:12: error: alias 'eighty' stands for GPU 'G81', which is not in gpus.csv; "
     "did you mean 'G80'?\n"},
    {"aliases.csv", ALIAS_HEADER "gpu,eighty,G80,me\n", "me\n", "me\ngpu,Eigh-ty,G90,me\n",
     "./aliases.csv:3:1: error: alias 'GPU/eighty' is written twice, first on line 2\n"},
    {"gpus.csv", fixture_gpus, "0.5,0.3", "1.5,0.3",
     "./gpus.csv:2:22: error: attention_efficiency is 1.5, expected a number above 0 and at most "
     "1, or nothing where it is not known\n"},
    {"gpus.csv", fixture_gpus, "240", "340",
     "./gpus.csv:2:18: error: matmul_tflops_measured is 340, above the peak it is a share of "
     "(300)\n"},
    {"gpus.csv", fixture_gpus, "2000,1500", "2000,2500",
     "./gpus.csv:2:38: error: memory_bandwidth_measured_gb_per_s is 2500, above the peak it is a "
     "share of (2000)\n"},
    {"nodes.csv", fixture_nodes, "G80,8", "G80,8.5",
     "./nodes.csv:2:31: error: gpus is 8.5, expected a whole number from 1 to 1024\n"},
    {"nodes.csv", fixture_nodes, "G90", "G91",
     "./nodes.csv:4:1: error: node 'new' has GPU 'G91', which is not in gpus.csv; did you mean "
     "'G90'?\n"},
    /* models */
    {"models.csv", fixture_models, "202048", "202049",
     "./models.csv:2:57: error: parameters is 202049, but the shape of 'small' has 202048\n"},
    {"models.csv", fixture_models, "64,8,4", "64,8,3",
     "./models.csv:2:20: error: kv_heads is 3, expected a divisor of heads (8)\n"},
    {"models.csv", fixture_models, fixture_models,
     TRAITS_HEADER TRAITS_ROW "norm=layer;expert=8,202048,measured,a page,\n",
     "./models.csv:2:64: error: traits: unknown trait 'expert'; did you mean 'experts'?\n"},
    {"models.csv", fixture_models, fixture_models,
     TRAITS_HEADER TRAITS_ROW "experts=8,202048,measured,a page,\n",
     "./models.csv:2:53: error: traits: experts, experts_per_token, moe_ffn and moe_layers come "
     "together\n"},
    {"models.csv", fixture_models, fixture_models,
     TRAITS_HEADER TRAITS_ROW "norm=layer,202048,measured,a page,\n",
     "./models.csv:2:64: error: parameters is 202048, but the shape of 'm' has 202368\n"},
    {"models.csv", fixture_models, "no,yes", "maybe,yes",
     "./models.csv:2:38: error: tied_embeddings is 'maybe', expected yes or no\n"},
    /* frameworks */
    {"frameworks.csv", fixture_frameworks, "ipc_bucket", "ipc_buckets",
     "./frameworks.csv:2:28: error: weight_sync is 'ipc_buckets', which is not known; did you mean "
     "'ipc_bucket'?\n"},
    /* syntax */
    {"prices.csv", fixture_prices, "north,box", "\"north,box",
     "./prices.csv:2:7: error: the quote that opens this cell is not closed\n"},
    {"prices.csv", fixture_prices, "north", "no\"rth",
     "./prices.csv:2:9: error: a quote in the wrong place; a cell with quotes or commas is put in "
     "quotes, and quotes inside are doubled\n"},
    {"prices.csv", fixture_prices, "cloud", "cl\xFFoud",
     "./prices.csv:2:3: error: the text is not valid UTF-8\n"},
};

START_TEST(test_bad_catalog) {
    const struct bad_case *row = &cases[_i];
    char *text = fixture_replace(row->text, row->find, row->with);
    fixture_write(row->file, text);
    free(text);
    ck_assert_int_eq(catalog_load(catalog, ".", true, list), RLHFSIM_INVALID);
    base_diagnostics_sort(list, 0, "");
    fixture_collect(&fixture, list);
    ck_assert_str_eq(fixture.errors, row->errors);
}
END_TEST

/* Mistakes of several rows and files come together. */
START_TEST(test_all_at_once) {
    char *gpus = fixture_replace(fixture_gpus, "G80,300", "G80,-300");
    char *worse = fixture_replace(gpus, "G90,900", "G90,x");
    char *prices = fixture_replace(fixture_prices, "12.5", "free");
    fixture_write("gpus.csv", worse);
    fixture_write("prices.csv", prices);
    free(gpus);
    free(worse);
    free(prices);
    ck_assert_int_eq(catalog_load(catalog, ".", true, list), RLHFSIM_INVALID);
    fixture_collect(&fixture, list);
    ck_assert_str_eq(
        fixture.errors,
        "./gpus.csv:2:5: error: bf16_tflops is -300, expected a number from 0 to 1e+15, "
        "or nothing where it is not known\n"
        "./gpus.csv:3:5: error: bf16_tflops is 'x', expected a number from 0 to 1e+15, "
        "or nothing where it is not known\n"
        "./prices.csv:3:38: error: price_usd is 'free', expected a number from 0 to "
        "1e+15\n");
}
END_TEST

/* ---- CSV itself ------------------------------------------------------------------------------ */

/* Cells and their places; the second row has a line end in a cell, so that the third is on line 4.
 */
START_TEST(test_places_of_cells) {
    struct base_arena arena = {0};
    struct csv_table table;
    const char *text = "a,b\n\xC3\xA9,\"x\ny\"\n1,\"2\"\n";
    ck_assert_int_eq(csv_table_read(&arena, "t.csv", text, strlen(text), list, &table), RLHFSIM_OK);
    ck_assert_uint_eq(table.columns, 2);
    const struct csv_cell *first = table.rows->cells, *second = table.rows->next->cells;
    ck_assert_str_eq(first[1].text, "x\ny");
    ck_assert_int_eq(first[1].place.line, 2);
    ck_assert_int_eq(first[1].place.column, 3); /* behind one letter of two bytes and the comma */
    ck_assert_int_eq(second[0].place.line, 4);
    ck_assert_int_eq(second[0].place.column, 1);
    ck_assert_str_eq(second[1].text, "2");
    ck_assert_int_eq(second[1].place.column, 3);
    ck_assert_ptr_null(table.rows->next->next);
    base_arena_release(&arena);
}
END_TEST

START_TEST(test_too_many_columns) {
    struct base_arena arena = {0};
    struct csv_table table;
    char text[256];
    memset(text, ',', sizeof text);
    ck_assert_int_eq(csv_table_read(&arena, "t.csv", text, sizeof text, list, &table),
                     RLHFSIM_INVALID);
    fixture_collect(&fixture, list);
    ck_assert_str_eq(fixture.errors, "t.csv:1:65: error: more than 64 columns\n");
    base_arena_release(&arena);
}
END_TEST

/* No two rows of the project's catalog are one name but for case and signs: the first would hide
 * the second from loose spellings. */
START_TEST(test_own_names_differ) {
    ck_assert_int_eq(chdir(fixture.start), 0);
    load("scenarios/catalog", true);
    ck_assert_int_eq(chdir(fixture.directory), 0);
    for (int kind = 0; kind < CATALOG_KIND_COUNT; kind++) {
        const char *name;
        for (size_t i = 0; kind != CATALOG_PRICES && kind < CATALOG_ALIASES &&
                           (name = catalog_name_at(catalog, (enum catalog_kind)kind, i)) != NULL;
             i++) {
            char other[256];
            snprintf(other, sizeof other, "x/%s ", name);
            ck_assert_pstr_eq(catalog_name(catalog, (enum catalog_kind)kind, other), name);
        }
    }
}
END_TEST

/* Attention kernels by the beginning of a GPU's name: FlashAttention-2 is what A100 was measured
 * with; on H100 it has 333 of the 602 TFLOP/s of FlashAttention-3. A kernel without a row for the
 * GPU, and a kernel that nobody knows, have no rates. */
START_TEST(test_attention_kernels) {
    ck_assert_int_eq(chdir(fixture.start), 0);
    load("scenarios/catalog", true);
    ck_assert_int_eq(chdir(fixture.directory), 0);
    struct training_attention_rates rates = catalog_attention(catalog, "A100-SXM4-80GB", "flash_2");
    ck_assert_double_eq(rates.forward_share, 1.0);
    rates = catalog_attention(catalog, "H100-SXM5-80GB", "flash_2");
    ck_assert_double_eq_tol(rates.forward_share, 333.0 / 602.0, 5e-4);
    ck_assert_double_eq_tol(rates.backward_share, 318.0 / 646.0, 5e-4);
    rates = catalog_attention(catalog, "GB200", "flash_2");
    ck_assert_double_lt(rates.forward_share, 0.4);
    ck_assert_double_eq(catalog_attention(catalog, "A100-SXM4-80GB", "flash_3").forward_share, 0.0);
    ck_assert_double_eq(catalog_attention(catalog, "MI300X", "flash_2").backward_share, 0.0);
    ck_assert_double_eq(catalog_attention(catalog, "H100-SXM5-80GB", "flash").forward_share, 0.0);
}
END_TEST

/* The catalog that comes with the project. */
START_TEST(test_own_catalog) {
    ck_assert_int_eq(chdir(fixture.start), 0);
    load("scenarios/catalog", true);
    ck_assert_int_eq(chdir(fixture.directory), 0);
    for (int kind = 0; kind < CATALOG_KIND_COUNT; kind++) {
        const char *name;
        size_t count = 0;
        while ((name = catalog_name_at(catalog, (enum catalog_kind)kind, count)) != NULL) {
            ck_assert_str_ne(catalog_source(catalog, (enum catalog_kind)kind, name), "");
            count++;
        }
        ck_assert_uint_gt(count, 0);
    }
    /* Spellings of public tables. */
    static const struct {
        enum catalog_kind kind;
        const char *spelling, *name;
    } rows[] = {{CATALOG_GPUS, "H100 80GB SXM (DGX Cloud)", "H100-SXM5-80GB"},
                {CATALOG_GPUS, "a100_40gb", "A100-SXM4-40GB"},
                {CATALOG_GPUS, "GB200 (per GPU)", "GB200"},
                {CATALOG_GPUS, "RTX 3090 (280 W)", "RTX-3090"},
                {CATALOG_NODES, "AWS p5 (EKS example, 2 nodes)", "aws-p5.48xlarge"},
                {CATALOG_NODES, "h100_dgx", "dgx-h100"},
                {CATALOG_MODELS, "meta-llama/Llama-2-7b-hf", "Llama-2-7b-hf"},
                {CATALOG_MODELS, "Llama 2 7 B LoRA/adapter", "Llama-2-7b-hf"},
                {CATALOG_MODELS, "meta-llama/Meta-Llama-3-70B", "Llama-3-70B"},
                {CATALOG_MODELS, "deepseek-ai/deepseek-llm-7b-chat", "deepseek-llm-7b"},
                {CATALOG_MODELS, "Grok 1 314b", "Grok-1"},
                {CATALOG_MODELS, "GPT 175B (96 layers, h12288)", "gpt3-175b"},
                {CATALOG_FRAMEWORKS, "NeMo RL", "nemo-rl"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_pstr_eq(catalog_name(catalog, rows[i].kind, rows[i].spelling), rows[i].name);
    /* Touvron et al., 2023: the sizes of Llama 2 as published, to the digit. */
    ck_assert_int_eq(llm_parameters(catalog_model(catalog, "Llama-2-7b-hf"), LLM_HEAD_VOCABULARY),
                     6738415616);
}
END_TEST

static Suite *catalog_suite(void) {
    Suite *suite = suite_create("scenario.catalog");
    TCase *tests = tcase_create("catalog");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_gpu_in_si);
    tcase_add_test(tests, test_node_in_si);
    tcase_add_test(tests, test_framework_in_si);
    tcase_add_test(tests, test_model_and_price);
    tcase_add_test(tests, test_traits);
    tcase_add_test(tests, test_look_ups);
    tcase_add_test(tests, test_loose_names);
    tcase_add_test(tests, test_aliases);
    tcase_add_test(tests, test_alias_of_another_folder);
    tcase_add_test(tests, test_unknown_figures);
    tcase_add_test(tests, test_gpu_before_bf16);
    tcase_add_test(tests, test_free_form);
    tcase_add_test(tests, test_later_folder_wins);
    tcase_add_test(tests, test_node_with_known_gpu);
    tcase_add_test(tests, test_folder_without_files);
    tcase_add_test(tests, test_statements);
    tcase_add_test(tests, test_missing_file);
    tcase_add_loop_test(tests, test_bad_catalog, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(tests, test_all_at_once);
    tcase_add_test(tests, test_places_of_cells);
    tcase_add_test(tests, test_too_many_columns);
    tcase_add_test(tests, test_own_names_differ);
    tcase_add_test(tests, test_attention_kernels);
    tcase_add_test(tests, test_own_catalog);
    suite_add_tcase(suite, tests);
    return suite;
}

TESTING_MAIN(catalog_suite)
