/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_CATALOG_KERNELS_H
#define MODELS_SCENARIO_CATALOG_KERNELS_H

/* The laws of kernels.csv and the GPUs they are of. */

#include "models/scenario/catalog.h"

/* Fills gpu->kernels: the laws of the rows of its name; for a kernel without one that of the GPU
 * nearest in rates which has one (hardware/transfer.h). Nothing where the catalog has no law of a
 * kernel. sustained_share is kept where it is a number, else it gets its default. */
void catalog_kernels_join(const struct catalog *catalog, struct hardware_gpu *gpu);

/* Where the laws of products and attention come from: the provenance of the GPU's own rows, or
 * "assumed" where one is of another GPU or of none. A static string. */
const char *catalog_kernels_provenance(const struct catalog *catalog, const char *gpu);

#endif
