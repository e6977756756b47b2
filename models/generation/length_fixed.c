/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every length is the mean: a law without a width, which never calls what follows. */
#include "models/generation/length_type.h"

const struct generation_length_type generation_length_fixed = {
    .law = GENERATION_LENGTH_FIXED, .name = "fixed", .title = "fixed"};
