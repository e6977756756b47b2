/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/training/frame.h"

#include "models/training/links.h"

static struct training_weights weights_of(const struct training_plan *plan, bool backward,
                                          const struct training_segment *segment) {
    struct training_weights weights = {0};
    if (plan->zero_stage >= TRAINING_SHARDED_WEIGHTS) {
        weights.gather_s = training_gather_s(plan, segment);
        weights.gather_bytes = training_gather_bytes(plan, segment);
        weights.gather_zone_bytes = training_gather_zone_bytes(plan, segment);
    }
    if (backward) {
        weights.reduce_s = training_reduce_s(plan, segment);
        weights.reduce_bytes = training_reduce_bytes(plan, segment);
        weights.reduce_zone_bytes = training_reduce_zone_bytes(plan, segment);
    }
    return weights;
}

void training_frame_make(const struct training_plan *plan, bool backward,
                         struct training_frame *frame) {
    *frame = (struct training_frame){.plan = plan};
    frame->count = training_segments(plan, frame->segments);
    for (int i = 0; i < frame->count; i++)
        frame->weights[i] = weights_of(plan, backward, &frame->segments[i]);
}
