/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_PLOT_H
#define TOOLS_PLOT_H

#include <stdbool.h>

/* Draws DIR/validation.svg from DIR/validation.csv by gnuplot: forecast against measured seconds
 * on logarithmic axes, with bands of 10 and 30 %. False where there is no gnuplot, or it failed;
 * an older picture then stays. */
bool plot_validation(const char *directory);

#endif
