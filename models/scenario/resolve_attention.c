/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The attention kernel of the trainer: its rates on the GPU that is rented. */
#include "models/scenario/draft.h"

static bool has_rates(enum training_attention attention) {
    return attention != TRAINING_ATTENTION_MEASURED && attention != TRAINING_ATTENTION_UNFUSED;
}

void scenario_resolve_attention(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    if (!draft->cluster_known || !scenario_known(draft, KEY_TRAINING_ATTENTION) ||
        !has_rates(scenario->training.attention))
        return;
    const char *gpu = scenario->cluster.gpu.name;
    const char *kernel =
        scenario_schema_at(KEY_TRAINING_ATTENTION)->choices[scenario->training.attention];
    scenario->training.attention_rates = catalog_attention(draft->catalog, gpu, kernel);
    if (scenario->training.attention_rates.forward_share == 0.0)
        scenario_blame(draft, KEY_TRAINING_ATTENTION,
                       "training.attention is '%s', of which the catalog has no rates on %s "
                       "(attention.csv); expected measured, unfused, or one that has",
                       kernel, gpu);
}
