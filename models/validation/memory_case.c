/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation/memory_case.h"

#include <math.h>
#include <string.h>

static const struct validation_metric fits = {"fits", false, true};
static const struct validation_metric unknown_peak = {"peak_bytes", true, false};
static const struct validation_metric peaks[] = {
    [TRAINING_ALLOCATED] = {"peak_allocated_bytes", true, false},
    [TRAINING_RESERVED] = {"peak_reserved_bytes", true, false},
    [TRAINING_DEVICE] = {"peak_device_bytes", true, false},
};

static enum rlhfsim_status add(struct validation_run *run, const struct memory_case *found,
                               const struct validation_metric *metric, double measured,
                               double forecast) {
    struct validation_case added = {.source = found->source,
                                    .name = found->name,
                                    .metric = metric,
                                    .measured = measured,
                                    .forecast = forecast,
                                    .provenance = found->provenance};
    if (found->reason[0] == '\0' && metric != &fits)
        added.skipped = found->peak_reason;
    if (found->reason[0] != '\0') {
        added.skipped =
            base_arena_text(&run->validation->arena, found->reason, strlen(found->reason));
        if (added.skipped == NULL)
            return RLHFSIM_NO_MEMORY;
    }
    return validation_add(run->validation, &added) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

enum rlhfsim_status memory_case_add(struct validation_run *run, const struct memory_case *found) {
    const struct memory_measured *measured = &found->measured;
    enum rlhfsim_status status = RLHFSIM_OK;
    if (!measured->peak && !measured->outcome)
        return add(run, found, NULL, (double)NAN, (double)NAN);
    if (measured->peak)
        status = add(run, found, found->counted ? &peaks[found->counts] : &unknown_peak,
                     measured->bytes, found->peak_bytes);
    if (status == RLHFSIM_OK && measured->outcome)
        status = add(run, found, &fits, measured->fits ? 1.0 : 0.0, found->fits);
    return status;
}
