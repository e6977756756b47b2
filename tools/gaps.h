/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_GAPS_H
#define TOOLS_GAPS_H

/* A comparison of measured steps with their forecast, as a table for the terminal. */

#include "page.h"

#include <rlhfsim/rlhfsim.h>

/* The phases: measured, forecast, and with `fitted` the errors before and after. */
void gaps_table(struct page *page, const struct rlhfsim_comparison *comparison, bool fitted);

/* What large gaps most likely come from. */
void gaps_causes(struct page *page, const struct rlhfsim_comparison *comparison);

/* The factors that were found; what was taken over and left out. */
void gaps_factors(struct page *page, const struct rlhfsim_comparison *comparison);
void gaps_notes(struct page *page, const struct rlhfsim_comparison *comparison);

#endif
