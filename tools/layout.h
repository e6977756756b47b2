/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_LAYOUT_H
#define TOOLS_LAYOUT_H

/* The parts of the note of `check` that say how the work is laid out. */

#include "page.h"

#include <rlhfsim/rlhfsim.h>

/* What a GPU holds in each phase, by category. */
void layout_phases(struct page *page, const struct rlhfsim_forecast *forecast);

/* When a checkpoint is written, and how long that takes on what grounds; nothing where none is. */
void layout_saves(struct page *page, const struct rlhfsim_forecast *forecast);

/* What a weight sync moves for an actor with LoRA adapters; nothing where it has none. */
void layout_adapters(struct page *page, const struct rlhfsim_scenario *scenario,
                     const struct rlhfsim_forecast *forecast);

/* Ranks and micro-batches of the trainer; replicas of the engine and its cache; what is moved and
 * stored; the price of an hour. */
void layout_lines(struct page *page, const struct rlhfsim_forecast *forecast);

#endif
