/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_SPELLING_H
#define TOOLS_SPELLING_H

/*
 * Options are taken as they are written, or refused. argp would take "--see 3" for "--seed 3", so
 * that a script breaks, or changes its meaning, on the day a second option begins like that.
 */

#include <argp.h>
#include <stdbool.h>

/* Looks through argv before argp does. Unknown and abbreviated options, options without their
 * value, and values for options that take none are said on stderr with the nearest option that
 * there is; then it gives false. Stops at "--", and at the first argument that is no option when
 * `in_order`. */
bool spelling_check(const struct argp *argp, int argc, char **argv, bool in_order);

#endif
