/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_STANDARD_STREAMS_H
#define TOOLS_STANDARD_STREAMS_H

/*
 * stdin, stdout and stderr can be closed from the start, or full. A closed one would give its
 * number to the next file that is opened, whose content would then be mixed with what is printed;
 * and what a full disk swallows must not end in exit status 0. A limit on the size of files is met
 * like a full disk: with an error, not with a signal that leaves unfinished files behind.
 */

/* Fills the closed ones with a file that refuses to be written, and makes the program's exit say
 * "error" and give status 3 when stdout could not be written. Called first in main. */
void standard_streams_guard(void);

#endif
