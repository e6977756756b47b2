/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Defaults for what a published run leaves open, in the order in which they are applied (a later
 * one may rest on an earlier one). The two laws of the mean response were drawn from the runs of
 * NVIDIA-NeMo/RL@7ea279abf, verl-project/verl-data@21b4c31fc and verl-project/verl@v0.7.0 that
 * print a mean: about 17 pairs of model and cap, within a factor of 0.4 to 1.2 of each (P10, P90).
 * A cap says little: where it is far above what is written, the law of the root keeps the mean low.
 */

#include "models/validation/run_defaults.h"

#include "models/base/text.h"
#include "models/llm/work.h"
#include "models/validation/kind.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const columns[] = {"run_key",
                                      "source_key",
                                      "framework",
                                      "framework_version",
                                      "algorithm",
                                      "actor_model",
                                      "critic_model",
                                      "reward_model",
                                      "reference_model",
                                      "gpu",
                                      "num_gpus",
                                      "gpus_per_node",
                                      "placement",
                                      "staleness_steps",
                                      "train_gpus",
                                      "rollout_gpus",
                                      "train_backend",
                                      "train_tp",
                                      "train_pp",
                                      "train_vpp",
                                      "train_cp",
                                      "train_ep",
                                      "zero_stage",
                                      "train_precision",
                                      "recompute",
                                      "offload",
                                      "lora_rank",
                                      "packing",
                                      "rollout_backend",
                                      "rollout_tp",
                                      "rollout_pp",
                                      "rollout_ep",
                                      "rollout_precision",
                                      "prompts_per_step",
                                      "samples_per_prompt",
                                      "mean_prompt_tokens",
                                      "max_prompt_tokens",
                                      "mean_response_tokens",
                                      "max_response_tokens",
                                      "fixed_length",
                                      "minibatch_samples",
                                      "microbatch_samples",
                                      "microbatch_tokens",
                                      "ppo_epochs",
                                      "notes"};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

struct filling {
    struct base_arena *arena;
    const struct catalog *catalog;
    const struct run_printed *printed;
    struct run_complete *complete;
};

/* ---- cells ----------------------------------------------------------------------------------- */

static struct csv_cell *cell_at(const struct filling *filling, const char *name) {
    return &filling->complete->row.cells[validation_column(&filling->complete->table, name)];
}

static const char *cell(const struct filling *filling, const char *name) {
    return cell_at(filling, name)->text;
}

static bool is(const struct filling *filling, const char *name, const char *word) {
    return strcmp(cell(filling, name), word) == 0;
}

/* 0 where there is none. */
static double number(const struct filling *filling, const char *name) {
    double value;
    return base_number_read(cell(filling, name), &value) == BASE_NUMBER_OK ? value : 0.0;
}

static const char *text(const struct filling *filling, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *text(const struct filling *filling, const char *format, ...) {
    char buffer[64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    return base_arena_text(filling->arena, buffer, strlen(buffer));
}

static bool contains(const char *name, const char *word) {
    size_t length = strlen(word);
    for (; *name != '\0'; name++) {
        size_t same = 0;
        while (same < length &&
               tolower((unsigned char)name[same]) == tolower((unsigned char)word[same]))
            same++;
        if (same == length)
            return true;
    }
    return false;
}

/* The number behind some words of the notes; 0 where they are not there. */
static double noted(const struct filling *filling, const char *words) {
    const char *found = strstr(cell(filling, "notes"), words);
    return found == NULL ? 0.0 : fmax(0.0, strtod(found + strlen(words), NULL));
}

static bool is_megatron(const struct filling *filling) {
    return is(filling, "train_backend", "megatron");
}

static double samples(const struct filling *filling) {
    return number(filling, "prompts_per_step") * number(filling, "samples_per_prompt");
}

static const struct llm_architecture *actor(const struct filling *filling) {
    return catalog_model(filling->catalog, cell(filling, "actor_model"));
}

/* ---- rules: the text of the cell, NULL where the rule does not apply ---------------------------
 */

/* The kind whose peak lies nearest to the one that the MFU was worked out with: 6 FLOPs a
 * parameter and token, which is what frameworks count but for attention. */
static const char *gpu_of_mfu(const struct filling *filling) {
    static const char *const kinds[] = {"A100-SXM4-80GB", "H100-SXM5-80GB", "H20-SXM5-96GB",
                                        "B200-SXM6"};
    const struct run_printed *printed = filling->printed;
    const struct llm_architecture *model = actor(filling);
    const char *nearest = NULL;
    double gap = 0.3; /* in log: none is that near */
    double length = number(filling, "mean_prompt_tokens") + number(filling, "mean_response_tokens");
    double flops = model == NULL
                       ? 0.0
                       : 6.0 * (double)llm_active_parameters(model, LLM_HEAD_VOCABULARY) * length;
    double peak =
        flops * samples(filling) / (printed->update_s * number(filling, "num_gpus") * printed->mfu);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct hardware_gpu *gpu = catalog_gpu(filling->catalog, kinds[i]);
        double away =
            gpu == NULL ? (double)INFINITY : fabs(log(gpu->peak_flops_per_s[HARDWARE_BF16] / peak));
        if (!(away < gap))
            continue;
        gap = away;
        nearest = kinds[i];
    }
    return nearest;
}

static const char *gpu(const struct filling *filling) {
    (void)filling;
    return "H100-SXM5-80GB";
}

static const char *yes(const struct filling *filling) {
    (void)filling;
    return "yes";
}

static const char *bf16(const struct filling *filling) {
    (void)filling;
    return "bf16";
}

static const char *backend(const struct filling *filling) {
    return is(filling, "framework", "nemo-rl") ? "megatron" : "fsdp";
}

static const char *stage(const struct filling *filling) {
    return is_megatron(filling) ? "1" : "3";
}

#define SEQUENCE_TOKENS 8192.0

/* Ulysses, until a GPU has no more than so many tokens of the longest sequence. */
static const char *context(const struct filling *filling) {
    const struct llm_architecture *model = actor(filling);
    double longest = number(filling, "max_prompt_tokens") + number(filling, "max_response_tokens");
    double gpus = number(filling, "num_gpus");
    int64_t cp = 1;
    if (is_megatron(filling) || model == NULL)
        return "1";
    while (longest / (double)cp > SEQUENCE_TOKENS && model->heads % (2 * cp) == 0 &&
           fmod(gpus, 2.0 * (double)cp) == 0.0 && cp < 8)
        cp *= 2;
    return text(filling, "%.0f", (double)cp);
}

static const char *recompute(const struct filling *filling) {
    return is_megatron(filling) ? "none" : "full";
}

static const char *one(const struct filling *filling) {
    (void)filling;
    return "1";
}

/* verl's scripts up to 0.6 have use_remove_padding off unless they say so; those that do are
 * stated. */
static const char *packing(const struct filling *filling) {
    const char *version = cell(filling, "framework_version");
    bool old =
        is(filling, "framework", "verl") && (strncmp(version, "2024", 4) == 0 || *version == '\0');
    return old && number(filling, "microbatch_tokens") == 0.0 ? "no" : "yes";
}

/* Of a GPU's memory, that an engine's weights may take. */
#define WEIGHT_SHARE 0.35

static const char *rollout_tp(const struct filling *filling) {
    const struct llm_architecture *model = actor(filling);
    const struct hardware_gpu *kind = catalog_gpu(filling->catalog, cell(filling, "gpu"));
    double gpus = number(filling, "num_gpus"), tp = 1.0;
    if (model == NULL || kind == NULL)
        return NULL;
    double weights = 2.0 * (double)llm_parameters(model, LLM_HEAD_VOCABULARY);
    while (weights / tp > WEIGHT_SHARE * kind->memory_bytes && 2.0 * tp <= gpus)
        tp *= 2.0;
    return text(filling, "%.0f", tp);
}

static const char *minibatch(const struct filling *filling) {
    return samples(filling) > 0.0 ? text(filling, "%.0f", samples(filling)) : NULL;
}

/* A budget of one longest sequence, at least 16,384 tokens. */
static const char *budget(const struct filling *filling) {
    double longest = number(filling, "max_prompt_tokens") + number(filling, "max_response_tokens");
    bool stated = number(filling, "microbatch_samples") > 0.0;
    return stated ? NULL : text(filling, "%.0f", fmax(16384.0, longest));
}

static const char *implied_prompt(const struct filling *filling) {
    double tokens = noted(filling, "implied mean prompt ");
    return tokens > 0.0 ? text(filling, "%.0f", tokens) : NULL;
}

#define MEAN_PROMPT 130.0

static const char *mean_prompt(const struct filling *filling) {
    double longest = number(filling, "max_prompt_tokens");
    return text(filling, "%.0f", longest > 0.0 ? fmin(MEAN_PROMPT, longest) : MEAN_PROMPT);
}

/* Prompt and response share one cap: the prompts' mean is taken from it. */
static bool shares_cap(const struct filling *filling) {
    const char *said = strstr(cell(filling, "notes"), "prompt + response ");
    return said != NULL &&
           (strncmp(said + 18, "capped", 6) == 0 || strncmp(said + 18, "together capped", 15) == 0);
}

static const char *max_prompt(const struct filling *filling) {
    double mean = number(filling, "mean_prompt_tokens");
    return text(filling, "%.0f", ceil(shares_cap(filling) ? mean : fmax(1024.0, mean)));
}

/* Tokens per second times seconds are tokens. */
static const char *recovered_response(const struct filling *filling) {
    const struct run_printed *printed = filling->printed;
    double tokens = printed->tokens_per_s * printed->step_s / samples(filling);
    double response = tokens - number(filling, "mean_prompt_tokens");
    return response >= 1.0 ? text(filling, "%.4g", response) : NULL;
}

static bool thinks(const char *model) {
    static const char *const words[] = {"Thinking", "R1", "Distill", "QwQ", "gpt-oss"};
    static const char *const never[] = {"Instruct", "Base", "Math"};
    bool says = contains(model, "Qwen3") || contains(model, "DeepSeek-V3");
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        says = says && !contains(model, never[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        says = says || contains(model, words[i]);
    return says;
}

static const char *mean_response(const struct filling *filling) {
    double cap = number(filling, "max_response_tokens");
    if (cap <= 0.0)
        return NULL;
    double mean = thinks(cell(filling, "actor_model")) ? fmin(0.78 * cap, 70.0 * sqrt(cap))
                                                       : fmin(0.65 * cap, 10.0 * sqrt(cap));
    return text(filling, "%.0f", fmax(1.0, mean));
}

static const struct {
    const char *column;
    const char *(*value)(const struct filling *filling);
    const char *why;
    bool derived; /* from what the source prints */
} defaults[] = {
    {"gpu", gpu_of_mfu, "the kind whose peak rate the printed MFU was worked out with", true},
    {"gpu", gpu, "H100 with 80 GB", false},
    {"reference_model", yes, "log-probs of a reference are made", false},
    {"train_backend", backend, "nemo-rl: Megatron; others: FSDP", false},
    {"zero_stage", stage, "Megatron: the distributed optimizer; others: full shards", false},
    {"train_tp", one, "Megatron: of the legal plans that fit the fastest; others: 1", false},
    {"train_pp", one, "Megatron: of the legal plans that fit the fastest; others: 1", false},
    {"train_cp", context, "FSDP: Ulysses, at most 8,192 tokens of a sequence on a GPU", false},
    {"train_precision", bf16, "bf16", false},
    {"rollout_precision", bf16, "bf16", false},
    {"recompute", recompute, "Megatron: none; others: full", false},
    {"packing", packing, "yes, but in verl of 2024", false},
    {"rollout_tp", rollout_tp, "the smallest power of 2 with weights under 35 % of the memory",
     false},
    {"mean_prompt_tokens", implied_prompt, "implied by the printed rate and step, as noted", true},
    {"mean_prompt_tokens", mean_prompt, "130, at most the longest", false},
    {"max_prompt_tokens", max_prompt, "1,024; the mean where prompt and response share a cap",
     false},
    {"mean_response_tokens", recovered_response, "printed tokens per second times seconds", true},
    {"mean_response_tokens", mean_response,
     "models that think: min(0.78 cap, 70 sqrt cap); others: min(0.65 cap, 10 sqrt cap)", false},
    {"minibatch_samples", minibatch, "all samples of a step", false},
    {"microbatch_tokens", budget, "16,384 tokens, or the longest sequence", false},
    {"ppo_epochs", one, "each sample is used once", false},
};

#define DEFAULT_COUNT (sizeof defaults / sizeof *defaults)

bool run_default_at(size_t index, const char **column, const char **why) {
    if (index >= DEFAULT_COUNT)
        return false;
    *column = defaults[index].column;
    *why = defaults[index].why;
    return true;
}

/* ---- the row --------------------------------------------------------------------------------- */

static void assume(struct filling *filling, const char *column, const char *value, const char *why,
                   bool derived) {
    struct run_complete *complete = filling->complete;
    cell_at(filling, column)->text = value;
    if (complete->assumed_count < RUN_ASSUMPTIONS)
        complete->assumed[complete->assumed_count++] =
            (struct run_assumption){column, value, why, !derived, false};
}

/* The cap of the response where it is one with the prompt. */
static void part_cap(struct filling *filling, bool prompt_was_stated) {
    double cap = number(filling, "max_response_tokens");
    double prompt = number(filling, "max_prompt_tokens");
    if (!shares_cap(filling) || prompt_was_stated || cap <= prompt + 1.0)
        return;
    const char *rest = text(filling, "%.0f", cap - prompt);
    if (rest != NULL)
        assume(filling, "max_response_tokens", rest, "what the prompts leave of the common cap",
               true);
}

static bool copy_cells(struct filling *filling, const struct csv_table *table,
                       const struct csv_row *row) {
    struct run_complete *complete = filling->complete;
    struct csv_cell *header =
        base_arena_allocate(filling->arena, COLUMN_COUNT * sizeof(struct csv_cell));
    struct csv_cell *cells =
        base_arena_allocate(filling->arena, COLUMN_COUNT * sizeof(struct csv_cell));
    if (header == NULL || cells == NULL)
        return false;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        size_t column = validation_column(table, columns[i]);
        header[i] = table->header[0];
        header[i].text = columns[i];
        cells[i] = row->cells[column == VALIDATION_NO_COLUMN ? 0 : column];
        cells[i].text = validation_cell(row, column);
    }
    complete->row = (struct csv_row){.cells = cells};
    complete->table = (struct csv_table){header, COLUMN_COUNT, &complete->row};
    return true;
}

bool run_row_complete(struct base_arena *arena, const struct catalog *catalog,
                      const struct csv_table *table, const struct csv_row *row,
                      const struct run_printed *printed, struct run_complete *complete) {
    struct filling filling = {arena, catalog, printed, complete};
    *complete = (struct run_complete){.assumed_count = 0};
    if (!copy_cells(&filling, table, row))
        return false;
    bool prompt_was_stated = *cell(&filling, "max_prompt_tokens") != '\0';
    for (size_t i = 0; i < DEFAULT_COUNT; i++) {
        if (*cell(&filling, defaults[i].column) != '\0')
            continue;
        const char *value = defaults[i].value(&filling);
        if (value != NULL)
            assume(&filling, defaults[i].column, value, defaults[i].why, defaults[i].derived);
    }
    part_cap(&filling, prompt_was_stated);
    return !arena->failed;
}

const char *run_assumptions_text(struct base_arena *arena, const struct run_complete *complete) {
    char joined[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < complete->assumed_count && used < sizeof joined; i++) {
        const struct run_assumption *assumed = &complete->assumed[i];
        used += (size_t)snprintf(
            joined + used, sizeof joined - used, "%s%s%s%s", i == 0 ? "assumed: " : " ",
            assumed->column, assumed->searched ? "=" : "", assumed->searched ? assumed->value : "");
    }
    return base_arena_text(arena, joined, strlen(joined));
}
