/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/draft.h"

#include "models/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define MESSAGE_BYTES 1024
#define NAMES_SHOWN 8

bool scenario_given(const struct scenario_draft *draft, enum scenario_key key) {
    return draft->values.at[key].given;
}

bool scenario_written(const struct scenario_draft *draft, enum scenario_key key) {
    return draft->values.at[key].given && !draft->values.at[key].misspelt;
}

bool scenario_known(const struct scenario_draft *draft, enum scenario_key key) {
    return draft->values.at[key].known;
}

__attribute__((format(printf, 3, 0))) static void blame_place(struct scenario_draft *draft,
                                                              struct tree_place place,
                                                              const char *format,
                                                              va_list arguments) {
    char message[MESSAGE_BYTES];
    (void)vsnprintf(message, sizeof message, format, arguments);
    (void)tree_error(draft->diagnostics, place, "%s", message);
}

void scenario_blame(struct scenario_draft *draft, enum scenario_key key, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    blame_place(draft, draft->values.at[key].place, format, arguments);
    va_end(arguments);
}

void scenario_blame_key(struct scenario_draft *draft, enum scenario_key key, const char *format,
                        ...) {
    va_list arguments;
    va_start(arguments, format);
    blame_place(draft, draft->values.at[key].key, format, arguments);
    va_end(arguments);
}

/* "; known are a, b, c", cut short where there are many. */
static void list_names(const struct catalog *catalog, enum catalog_kind kind, char *buffer,
                       size_t size) {
    size_t used = 0;
    const char *name;
    buffer[0] = '\0';
    for (size_t i = 0; (name = catalog_name_at(catalog, kind, i)) != NULL && used < size; i++) {
        bool last = i == NAMES_SHOWN;
        int length = snprintf(buffer + used, size - used, "%s%s", i == 0 ? "; known are " : ", ",
                              last ? "..." : name);
        used += length > 0 ? (size_t)length : 0;
        if (last)
            return;
    }
}

void scenario_blame_name(struct scenario_draft *draft, enum scenario_key key,
                         enum catalog_kind kind) {
    char quoted[BASE_QUOTE_SIZE], hint[512];
    const char *name = draft->values.at[key].text;
    const char *near = catalog_nearest(draft->catalog, kind, name);
    if (near != NULL)
        (void)snprintf(hint, sizeof hint, "; did you mean '%s'?", near);
    else
        list_names(draft->catalog, kind, hint, sizeof hint);
    scenario_blame(draft, key, "%s is %s, which the catalog does not have%s",
                   scenario_schema_at(key)->path, base_quote(name, quoted), hint);
}

bool scenario_offloads_optimizer(const struct rlhfsim_scenario *scenario) {
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        enum training_offload offload = scenario->models[role].offload;
        if (scenario->models[role].present && (offload == TRAINING_OFFLOAD_OPTIMIZER ||
                                               offload == TRAINING_OFFLOAD_OPTIMIZER_PARAMETERS))
            return true;
    }
    return false;
}

bool scenario_trains(const struct algorithm_type *type, enum algorithm_role role) {
    for (size_t i = 0; i < type->step_count; i++)
        if (type->steps[i].work == ALGORITHM_WORK_UPDATE && type->steps[i].role == role)
            return true;
    return false;
}

/* The shortest context among the models that are known; 0 without any. */
static int64_t shortest_context(const struct scenario_draft *draft) {
    int64_t shortest = 0;
    for (int role = 0; role < ALGORITHM_ROLE_COUNT; role++) {
        int64_t context = draft->scenario->models[role].architecture.max_position;
        if (draft->model_known[role] && (shortest == 0 || context < shortest))
            shortest = context;
    }
    return shortest;
}

int64_t scenario_longest_prompt(const struct scenario_draft *draft) {
    double longest = generation_lengths_longest(&draft->scenario->rollout.prompt.fitted);
    int64_t room = shortest_context(draft) - draft->scenario->rollout.max_new_tokens;
    if (longest > 0.0)
        return llround(longest);
    return room > 1 ? room : 1;
}
