/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

/*
 * Ctrl-C (SIGINT), SIGTERM and SIGHUP (the terminal is gone) while a forecast runs: the first one
 * asks it to stop, so that it can remove its unfinished files; the second one kills the program as
 * usual. A signal that was ignored from the start (nohup, a shell's background jobs) stays ignored.
 */

#include <stdbool.h>

void interrupt_watch(void);
bool interrupt_requested(void);

#endif
