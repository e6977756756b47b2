/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_VALUES_H
#define MODELS_SCENARIO_VALUES_H

/*
 * The values of a scenario file, one for each key of the schema, each checked by itself and with
 * the place that is to blame for it.
 */

#include "models/scenario/schema.h"
#include "models/scenario/tree.h"

#include <rlhfsim/scenario.h>

struct scenario_value {
    bool given;              /* written by the user, rightly or wrongly */
    bool misspelt;           /* given under a name that most likely stands for this one */
    bool known;              /* has a legal value: the user's or the default */
    struct tree_place key;   /* of the key; not given: of the nearest section that was written */
    struct tree_place place; /* of the value; not given: as above */
    const char *text;        /* as written; NULL for a mapping */
    const struct tree_node *mapping; /* in place of a name: a row of the catalog, written here */
    const struct tree_node *list;    /* of a list */
    int64_t integer;                 /* integers; index of a choice; 0 or 1 */
    double number;                   /* numbers, quantities in SI */
};

struct scenario_values {
    struct scenario_value at[KEY_COUNT];
    char tags[256]; /* "team=nlp;run=7", in the order written */
};

/* Checks every key and value of the tree. False after an error; all are added. The texts live as
 * long as the tree. */
bool scenario_values_read(const struct tree_node *root, struct rlhfsim_diagnostics *diagnostics,
                          struct scenario_values *values);

/* Copies the known values that have a field of their own into the scenario, and the tags. */
void scenario_values_store(const struct scenario_values *values, struct rlhfsim_scenario *scenario);

#endif
