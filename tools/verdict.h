/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_VERDICT_H
#define TOOLS_VERDICT_H

/* The parts that the note of a run and that of a check share. */

#include "page.h"

#include <rlhfsim/rlhfsim.h>

/* The value at `path`, with kind RLHFSIM_VALUE_UNKNOWN where there is none. */
struct rlhfsim_value verdict_value(const struct rlhfsim_summary *summary, const char *path);

/* The middle of a figure, or the number or count; `otherwise` where it is not known. */
double verdict_middle(const struct rlhfsim_value *value, double otherwise);

/* The scenario's name, and what it trains on what. */
void verdict_title(struct page *page, const struct rlhfsim_scenario *scenario);

/* Whether it fits, where and when the peak is, by how much, and who holds what then. */
void verdict_memory(struct page *page, const struct rlhfsim_forecast *forecast);

/* Rollout steps and optimizer steps, and what each consists of. */
void verdict_steps(struct page *page, const struct rlhfsim_scenario *scenario,
                   const struct rlhfsim_summary *summary);

/* The models with their parameter counts. */
void verdict_models(struct page *page, const struct rlhfsim_scenario *scenario);

#endif
