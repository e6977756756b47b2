/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_TRAINING_WORDS_H
#define MODELS_VALIDATION_TRAINING_WORDS_H

/* Free words of a table of training steps (sharding, precision, recomputation, remarks) into the
 * plan of a row; what is not said is the trainer's way. */

#include "models/validation/training_rows.h"

/* False with the reason in the row. `trainer` may be NULL. */
bool training_words_read(const struct training_cells *cells, const struct catalog_trainer *trainer,
                         struct training_row *row);

#endif
