/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What the trainer's software takes from the physics. A framework without a family has it all in
 * its row of frameworks.csv, fitted to runs as they are. One with a family has the coefficients of
 * training.csv for the GPU, the attention kernel and the precision of the scenario; of its own row,
 * matmul_share then is a share in addition (of products and attention), and host times stay. All
 * coefficients are of dense models.
 */

#include "models/scenario/draft.h"

void scenario_resolve_software(struct scenario_draft *draft) {
    struct rlhfsim_scenario *scenario = draft->scenario;
    struct catalog_framework *framework = &scenario->framework;
    size_t count = 0;
    if (!scenario_given(draft, KEY_TRAINING_FUSION))
        scenario->training.fusion = framework->fusion;
    const struct training_coefficient_row *rows = catalog_coefficients(draft->catalog, &count);
    if (!draft->cluster_known || framework->family[0] == '\0')
        return;
    struct training_scope scope = {.gpu = scenario->cluster.gpu.name,
                                   .family = framework->family,
                                   .attention = scenario->training.attention,
                                   .fusion = TRAINING_FUSION_COMPILED,
                                   .precision = scenario->training.precision};
    struct training_software own = framework->training;
    training_coefficients_apply(rows, count, &scope, &framework->training);
    framework->training.matmul_share *= own.matmul_share;
    framework->training.attention_share *= own.matmul_share;
    framework->training.microbatch_host_s = own.microbatch_host_s;
    framework->training.optimizer_host_s = own.optimizer_host_s;
    framework->training.layer_host_s = own.layer_host_s;
    framework->training.expert_layer_s = own.expert_layer_s;
}
