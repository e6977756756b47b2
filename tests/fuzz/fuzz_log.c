/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libFuzzer: a log of steps, console or table, and the same bytes as a calibration file. Both are
 * read from a file in memory.
 */
#include "models/calibration/log_read.h"
#include "models/scenario/calibration.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    struct log_steps steps = {0};
    struct scenario_calibration calibration;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    int file = memfd_create("log", 0);
    if (diagnostics != NULL && file >= 0 && write(file, data, size) == (ssize_t)size) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        (void)log_read(&steps, path, diagnostics);
        (void)scenario_calibration_read(path, diagnostics, &calibration);
    }
    if (file >= 0)
        (void)close(file);
    log_steps_release(&steps);
    rlhfsim_diagnostics_free(diagnostics);
    return 0;
}
