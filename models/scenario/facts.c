/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <rlhfsim/facts.h>

#include "models/scenario/scenario.h"
#include "models/scenario/steps.h"

void rlhfsim_scenario_facts(const struct rlhfsim_scenario *scenario, struct rlhfsim_facts *facts) {
    bool offline = !scenario->algorithm.type->has_rollout;
    *facts = (struct rlhfsim_facts){.algorithm = scenario->algorithm.type->name,
                                    .framework = scenario->framework.name,
                                    .node = scenario->cluster.node.name,
                                    .gpu = scenario->cluster.gpu.name,
                                    .nodes = scenario->cluster.nodes,
                                    .gpus = hardware_cluster_gpus(&scenario->cluster),
                                    .topology = scenario->topology,
                                    .offline = offline,
                                    .prompts_per_step = scenario->algorithm.prompts_per_step,
                                    .samples_per_prompt = scenario->algorithm.samples_per_prompt,
                                    .minibatch_samples = scenario->algorithm.minibatch_samples,
                                    .epochs = offline ? scenario->dataset.epochs
                                                      : scenario->algorithm.epochs,
                                    .short_prompts = scenario_short_prompts(scenario),
                                    .dropped_prompts = scenario_dropped_prompts(scenario)};
}

/* Critic and reward model give one number a token where the others give a vocabulary. */
enum llm_head scenario_head(const struct algorithm_type *type, enum algorithm_role role) {
    bool scalar = role == ALGORITHM_ROLE_CRITIC || role == ALGORITHM_ROLE_REWARD ||
                  (role == ALGORITHM_ROLE_ACTOR && type->scalar_head);
    return scalar ? LLM_HEAD_SCALAR : LLM_HEAD_VOCABULARY;
}

static void describe(const struct scenario_model *model, enum llm_head head,
                     enum algorithm_role role, struct rlhfsim_model_facts *facts) {
    const struct llm_architecture *architecture = &model->architecture;
    bool trained = role == ALGORITHM_ROLE_ACTOR || role == ALGORITHM_ROLE_CRITIC;
    int64_t parameters = llm_parameters(architecture, head);
    int64_t lora_rank = trained ? model->lora_rank : 0;
    struct training_plan adapters = {
        .architecture = architecture, .lora_rank = lora_rank, .lora_targets = model->lora_targets};
    int64_t trained_parameters =
        lora_rank > 0 ? (int64_t)training_lora_parameters(&adapters) : parameters;
    *facts = (struct rlhfsim_model_facts){.role = algorithm_role_name(role),
                                          .model = architecture->name,
                                          .parameters = parameters,
                                          .trained_parameters = trained ? trained_parameters : 0,
                                          .lora_rank = lora_rank};
}

bool rlhfsim_scenario_model(const struct rlhfsim_scenario *scenario, size_t index,
                            struct rlhfsim_model_facts *facts) {
    size_t present = 0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        if (scenario->models[role].present && present++ == index) {
            describe(&scenario->models[role],
                     scenario_head(scenario->algorithm.type, (enum algorithm_role)role),
                     (enum algorithm_role)role, facts);
            return true;
        }
    }
    return false;
}
