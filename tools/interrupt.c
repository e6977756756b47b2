/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

/* The one variable of the program that belongs to no object: a signal handler has no argument to
 * hang it from. */
static volatile sig_atomic_t requested;

static void request(int signal_number) {
    (void)signal_number;
    requested = 1;
}

static void watch(int signal_number) {
    struct sigaction old, action = {.sa_handler = request, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    if (sigaction(signal_number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(signal_number, &action, NULL);
}

void interrupt_watch(void) {
    watch(SIGINT);
    watch(SIGTERM);
    watch(SIGHUP);
}

bool interrupt_requested(void) {
    return requested != 0;
}
