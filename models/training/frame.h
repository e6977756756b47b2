/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_TRAINING_FRAME_H
#define MODELS_TRAINING_FRAME_H

/*
 * What all passes of a plan have in common whatever their micro-batch: the segments of the model
 * and the collectives of their weights and gradients. Made once where many passes are costed.
 */

#include "models/training/training.h"

/* Of one block of a segment. */
struct training_weights {
    double gather_s, gather_bytes;               /* ZeRO-3; 0 where weights are resident */
    double reduce_s, reduce_bytes;               /* 0 without a backward */
    double gather_zone_bytes, reduce_zone_bytes; /* of these, from zone to zone */
};

struct training_frame {
    const struct training_plan *plan;
    int count; /* segments of the model */
    struct training_segment segments[TRAINING_SEGMENTS];
    struct training_weights weights[TRAINING_SEGMENTS];
};

/* `plan` must outlive the frame; `backward` says that gradients will be reduced. */
void training_frame_make(const struct training_plan *plan, bool backward,
                         struct training_frame *frame);

#endif
