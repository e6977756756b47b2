/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_MACHINE 3

/* Runs at exit, so that it also covers the help that argp prints. */
static void close_stdout(void) {
    int failed_before = ferror(stdout);
    errno = 0;
    if (fclose(stdout) == 0 && !failed_before)
        return;
    fprintf(stderr, "rlhfsim: error: cannot write to standard output%s%s\n", errno != 0 ? ": " : "",
            errno != 0 ? strerror(errno) : "");
    _exit(EXIT_MACHINE);
}

/* open gives the lowest free number: with those below filled, that is `descriptor`. */
static void fill(int descriptor, int access) {
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF && open("/dev/null", access) == -1)
        _exit(EXIT_MACHINE);
}

void standard_streams_guard(void) {
    fill(STDIN_FILENO, O_WRONLY);
    fill(STDOUT_FILENO, O_RDONLY);
    fill(STDERR_FILENO, O_RDONLY);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (atexit(close_stdout) != 0)
        _exit(EXIT_MACHINE);
}
