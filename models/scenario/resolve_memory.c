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

void scenario_check_memory(struct scenario_draft *draft) {
    const struct rlhfsim_scenario *scenario = draft->scenario;
    bool adapters = false;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        adapters = adapters || scenario->models[role].lora_rank > 0;
    if (scenario->training.base_weights != SCENARIO_BASE_UNPACKED && !adapters)
        scenario_blame_key(draft, KEY_TRAINING_BASE_WEIGHTS,
                           "training.base_weights is nf4, which no model uses: none has a "
                           "lora_rank; leave it out");
    if (scenario->training.lora_merged && !adapters)
        scenario_blame_key(draft, KEY_TRAINING_LORA_MERGED,
                           "training.lora_merged is true, but no model has a lora_rank; leave it "
                           "out");
}
