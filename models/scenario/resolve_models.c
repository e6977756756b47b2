/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which models the run has. The algorithm says which it needs; whether it needs the reference
 * follows from the KL term, which costs nothing more than that model and its pass. An offline
 * algorithm always compares with a reference. With LoRA the actor itself is one, its adapters
 * switched off, unless a model is named.
 */
#include "models/base/file.h"
#include "models/base/text.h"
#include "models/llm/config_json.h"
#include "models/scenario/catalog_rows.h"
#include "models/scenario/draft.h"
#include "models/scenario/inline_row.h"
#include "models/scenario/model_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the KL term ----------------------------------------------------------------------------- */

static bool has_kl(const struct algorithm_type *type) {
    for (size_t i = 0; i < type->step_count; i++)
        if (type->steps[i].condition == ALGORITHM_IF_KL)
            return true;
    return false;
}

/* With a critic the penalty belongs in the rewards that it learns from (Ouyang et al., 2022),
 * without one in the loss (Shao et al., 2024). */
static void resolve_kl(struct scenario_draft *draft) {
    const struct algorithm_type *type = draft->scenario->algorithm.type;
    if (!has_kl(type))
        draft->scenario->algorithm.kl = SCENARIO_KL_NONE;
    else if (!scenario_given(draft, KEY_ALGORITHM_KL))
        draft->scenario->algorithm.kl = (enum scenario_kl)type->kl;
    if (type->has_rollout && !has_kl(type) && scenario_written(draft, KEY_ALGORITHM_KL))
        scenario_blame_key(draft, KEY_ALGORITHM_KL,
                           "algorithm.kl is not used by %s, which has no KL term; leave it out",
                           type->name);
}

/* ---- which roles ----------------------------------------------------------------------------- */

/* The first key of the role that is written; KEY_COUNT when none is. */
static enum scenario_key first_given(const struct scenario_draft *draft, enum algorithm_role role) {
    for (int field = 0; field < SCENARIO_MODEL_FIELDS; field++) {
        enum scenario_key key = scenario_model_key(role, (enum scenario_model_field)field);
        if (scenario_written(draft, key))
            return key;
    }
    return KEY_COUNT;
}

static const char *kl_word(const struct scenario_draft *draft) {
    return scenario_schema_at(KEY_ALGORITHM_KL)->choices[draft->scenario->algorithm.kl];
}

static enum algorithm_need reference_need(const struct scenario_draft *draft) {
    const struct algorithm_type *type = draft->scenario->algorithm.type;
    enum algorithm_need need = type->needs[ALGORITHM_ROLE_REFERENCE];
    bool adapters = draft->scenario->models[ALGORITHM_ROLE_ACTOR].lora_rank > 0;
    enum scenario_key key = has_kl(type) ? KEY_ALGORITHM_KL : KEY_MODELS_ACTOR_LORA_RANK;
    if (need != ALGORITHM_OPTIONAL)
        return need;
    /* What could not be read leaves the need open. */
    if (scenario_given(draft, key) && !scenario_known(draft, key))
        return ALGORITHM_OPTIONAL;
    if (has_kl(type) && draft->scenario->algorithm.kl == SCENARIO_KL_NONE)
        return ALGORITHM_FORBIDDEN;
    return adapters ? ALGORITHM_OPTIONAL : ALGORITHM_REQUIRED;
}

static void missing_model(struct scenario_draft *draft, enum algorithm_role role) {
    const struct algorithm_type *type = draft->scenario->algorithm.type;
    enum scenario_key key = scenario_model_key(role, SCENARIO_MODEL_MODEL);
    const char *path = scenario_schema_at(key)->path;
    if (role == ALGORITHM_ROLE_REFERENCE && has_kl(type))
        scenario_blame_key(
            draft, key,
            "%s is required: algorithm.kl is %s%s, which compares with a reference "
            "model; name it, set algorithm.kl: none, or give the actor LoRA adapters "
            "that can be switched off",
            path, kl_word(draft), scenario_given(draft, KEY_ALGORITHM_KL) ? "" : " by default");
    else if (role == ALGORITHM_ROLE_REFERENCE)
        scenario_blame_key(draft, key,
                           "%s is required by %s, unless the actor has LoRA adapters that can be "
                           "switched off",
                           path, type->name);
    else
        scenario_blame_key(draft, key, "%s is required by %s", path, type->name);
}

static void unused_model(struct scenario_draft *draft, enum algorithm_role role,
                         enum scenario_key key) {
    const struct algorithm_type *type = draft->scenario->algorithm.type;
    bool by_kl = role == ALGORITHM_ROLE_REFERENCE && has_kl(type);
    if (by_kl)
        scenario_blame_key(draft, key, "%s is not used: algorithm.kl is none; leave it out",
                           scenario_schema_at(key)->path);
    else
        scenario_blame_key(draft, key, "%s is not used by %s; leave it out",
                           scenario_schema_at(key)->path, type->name);
}

/* Whether the role is there, with the errors of a model too few or too many. */
static bool check_need(struct scenario_draft *draft, enum algorithm_role role) {
    enum scenario_key model = scenario_model_key(role, SCENARIO_MODEL_MODEL);
    enum scenario_key given = first_given(draft, role);
    enum algorithm_need need = role == ALGORITHM_ROLE_REFERENCE
                                   ? reference_need(draft)
                                   : draft->scenario->algorithm.type->needs[role];
    if (need == ALGORITHM_FORBIDDEN && given != KEY_COUNT)
        unused_model(draft, role, given);
    else if (need == ALGORITHM_REQUIRED && !scenario_given(draft, model))
        missing_model(draft, role);
    else if (given != KEY_COUNT && !scenario_given(draft, model))
        scenario_blame_key(draft, given, "%s is written, but %s is not",
                           scenario_schema_at(given)->path, scenario_schema_at(model)->path);
    return need != ALGORITHM_FORBIDDEN && scenario_given(draft, model);
}

/* ---- architectures --------------------------------------------------------------------------- */

static bool read_config(struct scenario_draft *draft, enum scenario_key key,
                        struct llm_architecture *architecture) {
    char path[SCENARIO_PATH_BYTES], quoted[BASE_QUOTE_SIZE];
    const struct scenario_value *value = &draft->values.at[key];
    if (!scenario_model_file_locate(draft->path, value->text, value->place, path, sizeof path) ||
        !base_file_exists(path)) {
        const char *near = catalog_nearest(draft->catalog, CATALOG_MODELS, value->text);
        scenario_blame(draft, key, "%s is %s, but there is no such file%s%s%s",
                       scenario_schema_at(key)->path, base_quote(value->text, quoted),
                       near == NULL ? "" : "; the catalog has '", near == NULL ? "" : near,
                       near == NULL ? "" : "'");
        return false;
    }
    enum rlhfsim_status status = llm_config_read(path, draft->diagnostics, architecture);
    if (status != RLHFSIM_OK && status != RLHFSIM_INVALID)
        draft->fatal = status;
    if (status == RLHFSIM_OK && architecture->name[0] == '\0')
        base_text_copy(architecture->name, sizeof architecture->name, value->text);
    return status == RLHFSIM_OK;
}

static bool read_inline(struct scenario_draft *draft, enum scenario_key key,
                        struct llm_architecture *architecture) {
    struct inline_request request = {scenario_schema_at(key)->path, CATALOG_MODELS, draft->catalog,
                                     draft->diagnostics};
    struct column_row row;
    return inline_row_read(&request, draft->values.at[key].mapping, &row) &&
           catalog_row_fill(CATALOG_MODELS, &row, draft->diagnostics, architecture);
}

static bool resolve_architecture(struct scenario_draft *draft, enum scenario_key key,
                                 struct llm_architecture *architecture) {
    if (!scenario_known(draft, key))
        return false;
    if (draft->values.at[key].mapping != NULL)
        return read_inline(draft, key, architecture);
    const char *name = draft->values.at[key].text;
    const struct llm_architecture *row = catalog_model(draft->catalog, name);
    if (row != NULL)
        *architecture = *row;
    else if (scenario_model_file_named(name))
        return read_config(draft, key, architecture);
    else
        scenario_blame_name(draft, key, CATALOG_MODELS);
    return row != NULL;
}

/* ---- adapters and offload -------------------------------------------------------------------- */

static void check_lora(struct scenario_draft *draft, enum algorithm_role role) {
    const struct scenario_model *model = &draft->scenario->models[role];
    enum scenario_key key = scenario_model_key(role, SCENARIO_MODEL_LORA_RANK);
    bool trained = scenario_trains(draft->scenario->algorithm.type, role);
    if (!trained && model->lora_rank > 0)
        scenario_blame(draft, key, "%s is %" PRId64 ", but the %s model is frozen in %s",
                       scenario_schema_at(key)->path, model->lora_rank, algorithm_role_name(role),
                       draft->scenario->algorithm.type->name);
    else if (draft->model_known[role] && model->lora_rank > model->architecture.hidden)
        scenario_blame(draft, key, "%s is %" PRId64 ", above the %" PRId64 " of the hidden state",
                       scenario_schema_at(key)->path, model->lora_rank, model->architecture.hidden);
}

static void check_targets(struct scenario_draft *draft, enum algorithm_role role) {
    const struct scenario_model *model = &draft->scenario->models[role];
    enum scenario_key key = scenario_model_key(role, SCENARIO_MODEL_LORA_TARGETS);
    const char *path = scenario_schema_at(key)->path;
    bool latent = draft->model_known[role] && llm_is_latent(&model->architecture);
    if (scenario_written(draft, key) && model->lora_rank == 0)
        scenario_blame_key(draft, key, "%s is written, but models.%s has no lora_rank", path,
                           algorithm_role_name(role));
    else if (model->lora_targets == TRAINING_LORA_QKV && latent)
        scenario_blame(draft, key,
                       "%s is qkv, but the model of models.%s has latent attention, whose "
                       "queries, keys and values are no one product; expected all_linear",
                       path, algorithm_role_name(role));
}

static void resolve_offload(struct scenario_draft *draft, enum algorithm_role role) {
    struct scenario_model *model = &draft->scenario->models[role];
    enum scenario_key key = scenario_model_key(role, SCENARIO_MODEL_OFFLOAD);
    bool trained = scenario_trains(draft->scenario->algorithm.type, role);
    model->offload = trained ? draft->scenario->training.offload : TRAINING_OFFLOAD_NONE;
    if (!scenario_known(draft, key))
        return;
    model->offload = (enum training_offload)draft->values.at[key].integer;
    bool optimizer = model->offload == TRAINING_OFFLOAD_OPTIMIZER ||
                     model->offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS;
    if (!trained && optimizer)
        scenario_blame(draft, key,
                       "%s is %s, but the %s model is frozen and has no optimizer; expected none "
                       "or parameters",
                       scenario_schema_at(key)->path, draft->values.at[key].text,
                       algorithm_role_name(role));
}

static void resolve_role(struct scenario_draft *draft, enum algorithm_role role) {
    struct scenario_model *model = &draft->scenario->models[role];
    model->present = check_need(draft, role);
    if (!model->present)
        return;
    enum scenario_key key = scenario_model_key(role, SCENARIO_MODEL_MODEL);
    draft->model_known[role] = resolve_architecture(draft, key, &model->architecture);
    check_lora(draft, role);
    check_targets(draft, role);
    resolve_offload(draft, role);
}

void scenario_resolve_models(struct scenario_draft *draft) {
    if (!draft->algorithm_known)
        return;
    resolve_kl(draft);
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++)
        resolve_role(draft, (enum algorithm_role)role);
}
