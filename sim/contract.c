/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/contract.h"

#include <stdio.h>
#include <stdlib.h>

/* The one place of the library that prints and ends the program: going on would be undefined. */
_Noreturn void sim_contract_failed(const char *file, int line, const char *condition,
                                   const char *message) {
    (void)fprintf(stderr, "%s:%d: contract broken: %s (%s)\n", file, line, message, condition);
    abort();
}
