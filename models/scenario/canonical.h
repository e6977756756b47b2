/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CANONICAL_H
#define MODELS_SCENARIO_CANONICAL_H

/*
 * One form for all spellings of a value: "1 GB" and "1000 MB", 0.5 and .50, an alias and the name
 * of the row it stands for.
 */

#include "models/scenario/catalog.h"

/* The form of `value`, written as behind `--set KEY=`; the caller frees it, NULL without memory.
 * What is not of the key's type, and a value of a free name (tags), is its own form. */
char *scenario_canonical(const struct catalog *catalog, const char *key, const char *value);

#endif
