/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/algorithms/algorithm.h"

#include "models/algorithms/list.h"

#include <string.h>

#define ALGORITHM_ADDRESS(name) &algorithm_##name,
static const struct algorithm_type *const types[] = {ALGORITHM_LIST(ALGORITHM_ADDRESS)};
#undef ALGORITHM_ADDRESS

#define TYPES (sizeof(types) / sizeof(types[0]))

const struct algorithm_type *algorithm_at(size_t index) {
    return index < TYPES ? types[index] : NULL;
}

const struct algorithm_type *algorithm_find(const char *name) {
    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    return NULL;
}

bool algorithm_has_work(const struct algorithm_type *type, enum algorithm_work work) {
    for (size_t i = 0; i < type->step_count; i++)
        if (type->steps[i].work == work)
            return true;
    return false;
}
