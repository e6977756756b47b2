/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_TRAINING_SHAPE_H
#define MODELS_VALIDATION_TRAINING_SHAPE_H

/*
 * The model of a row of a table of training steps. Most are in the catalog. Two kinds are not what
 * their name says: a PROXY has the width of a model and fewer of its layers (notes: "PROXY model
 * with 7 of 126 layers"), and prototypes of BLOOM were tried in many widths and depths, which stand
 * in the notes of the table ("NHIDDEN=13824 / NLAYERS=84").
 */

#include "models/llm/architecture.h"
#include "models/scenario/catalog.h"
#include "models/validation/training_cells.h"

#define TRAINING_REASON_SIZE 192

/* False with the reason in `reason`. */
bool training_shape(const struct catalog *catalog, const struct training_cells *cells,
                    struct llm_architecture *architecture, char reason[TRAINING_REASON_SIZE]);

#endif
