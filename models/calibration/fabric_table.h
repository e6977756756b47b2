/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_CALIBRATION_FABRIC_TABLE_H
#define MODELS_CALIBRATION_FABRIC_TABLE_H

/* A fit of collectives as the text of a fabrics.csv. */

#include "models/calibration/collectives.h"

#include <stdio.h>

/* Writes the table: the rows and columns of the catalog in its order, fitted figures with four
 * digits, everything else as the catalog has it. A fabric without rows in the fit keeps its text
 * unless it is fitted with another. Errors of writing show in the stream. */
void fabric_table_write(const struct collective_fit *fit, const struct catalog *catalog,
                        FILE *stream);

#endif
