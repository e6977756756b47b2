/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the framework's software holds in memory, from memory.csv, and what the optimizer keeps. */
#include "models/scenario/draft.h"

/* Two moments of 8 bits, with a scale for every block of 256. */
#define EIGHT_BIT_MOMENTS (2.0 + 8.0 / 256.0)

static void apply_optimizer(enum scenario_optimizer optimizer, struct training_memory *memory) {
    if (optimizer == SCENARIO_OPTIMIZER_ADAM_8BIT)
        memory->moment_bytes = EIGHT_BIT_MOMENTS;
    if (optimizer == SCENARIO_OPTIMIZER_SGD)
        memory->moment_bytes = 0.0;
}

void scenario_resolve_memory(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    struct training_plan plan;
    size_t count;
    const struct training_memory_row *rows = catalog_memory(draft->catalog, &count);
    struct training_scope scope = {.gpu = scenario->cluster.gpu.name,
                                   .family = scenario->framework.name,
                                   .tags = scenario->framework.family,
                                   .attention = scenario->training.attention,
                                   .fusion = scenario->training.fusion,
                                   .precision = scenario->training.precision};
    training_plan_default(&plan);
    training_memory_apply(rows, count, &scope, &plan);
    scenario->training.memory = plan.memory;
    if (scenario->training.entropy_loss)
        scenario->training.memory.logit_update_bytes +=
            training_memory_value(rows, count, TRAINING_LOGIT_ENTROPY_BYTES, &scope);
    scenario->training.memory_spread =
        training_memory_value(rows, count, TRAINING_MEMORY_SPREAD, &scope);
    apply_optimizer(scenario->training.optimizer, &scenario->training.memory);
}

static bool has_adapters(const struct rlhfsim_scenario *scenario) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        if (scenario->models[role].lora_rank > 0)
            return true;
    return false;
}

/* Passes without gradients: log-probs, values, scores of a reward model. */
static bool has_forward_passes(const struct rlhfsim_scenario *scenario) {
    const struct algorithm_type *type = scenario->algorithm.type;
    for (size_t i = 0; i < type->step_count; i++)
        if (type->steps[i].work == ALGORITHM_WORK_FORWARD ||
            type->steps[i].work == ALGORITHM_WORK_SCORE)
            return true;
    return scenario->algorithm.reference == SCENARIO_REFERENCE_PRECOMPUTED;
}

static void check_forward_microbatch(struct scenario_draft *draft, enum scenario_key key) {
    if (scenario_written(draft, key))
        scenario_blame_key(draft, key,
                           "%s is not used by %s, which has no passes without gradients; leave it "
                           "out",
                           scenario_schema_at(key)->path, draft->scenario->algorithm.type->name);
}

/* A key that would change nothing is a mistake of whoever wrote it. */
void scenario_check_memory(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    bool adapters = has_adapters(scenario);
    if (scenario->training.base_weights != SCENARIO_BASE_UNPACKED && !adapters)
        scenario_blame_key(draft, KEY_TRAINING_BASE_WEIGHTS,
                           "training.base_weights is nf4, which no model uses: none has a "
                           "lora_rank; leave it out");
    if (draft->algorithm_known && !scenario_offloads_optimizer(scenario) &&
        scenario_written(draft, KEY_TRAINING_OFFLOAD_OPTIMIZER_TO))
        scenario_blame_key(draft, KEY_TRAINING_OFFLOAD_OPTIMIZER_TO,
                           "training.offload_optimizer_to is not used: no model offloads its "
                           "optimizer (training.offload); leave it out");
    if (scenario->training.lora_merged && !adapters)
        scenario_blame_key(draft, KEY_TRAINING_LORA_MERGED,
                           "training.lora_merged is true, but there is nothing to merge: no model "
                           "has a lora_rank; leave it out");
    if (!draft->algorithm_known || has_forward_passes(scenario))
        return;
    check_forward_microbatch(draft, KEY_TRAINING_LOGPROB_MICROBATCH_SAMPLES);
    check_forward_microbatch(draft, KEY_TRAINING_LOGPROB_MICROBATCH_TOKENS);
}
