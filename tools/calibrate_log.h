/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_CALIBRATE_LOG_H
#define TOOLS_CALIBRATE_LOG_H

/* rlhfsim calibrate log: factors of the user's own from measured steps. */

#include <stddef.h>

struct calibrate_log {
    const char *program, *scenario;
    const char *out; /* NULL: the file is printed in place of the note */
    const char *const *logs;
    size_t log_count;
    const char *const *catalogs;
    size_t catalog_count;
    const char *const *sets;
    size_t set_count;
};

/* Gives the exit status. */
int calibrate_log(const struct calibrate_log *request);

#endif
