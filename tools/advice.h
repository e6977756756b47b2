/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_ADVICE_H
#define TOOLS_ADVICE_H

/* What to do about memory, as lines of a note and as members of a JSON object. */

#include "page.h"

#include <rlhfsim/advice.h>

#include <stdio.h>

/* Single changes that make it fit, cheapest first, or that there is none. */
void advice_changes(struct page *page, const struct rlhfsim_advice *advice);

/* Answers of the searches, under a label ("Least GPUs"). */
void advice_min_gpus(struct page *page, const struct rlhfsim_search *search);
void advice_max_microbatch(struct page *page, const struct rlhfsim_search *search);

/* `, "NAME": {...}`: a member more of an object that has one. */
void advice_search_json(FILE *stream, const char *name, const struct rlhfsim_search *search);
void advice_changes_json(FILE *stream, const struct rlhfsim_advice *advice);

#endif
