/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_NOTE_H
#define TOOLS_NOTE_H

/*
 * What a run comes to, as a note that an engineer would write: every line from the summary by its
 * path, with units. Figures that are not known are left out, never shown as zero.
 */

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>

/* The whole forecast; for one that does not fit its memory, the verdict alone. */
void note_forecast(FILE *stream, const struct rlhfsim_scenario *scenario,
                   const struct rlhfsim_forecast *forecast);

/* What can be said without running: the verdict, the models, the steps. */
void note_check(FILE *stream, const struct rlhfsim_scenario *scenario,
                const struct rlhfsim_forecast *forecast);

#endif
