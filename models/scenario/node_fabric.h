/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_NODE_FABRIC_H
#define MODELS_SCENARIO_NODE_FABRIC_H

/* A node names its fabrics; here their figures come to it. */

#include "models/scenario/columns.h"

/* Fills what `node` has from the fabrics that `row` names. What the row gives itself stays; in the
 * row the gaps are filled as well, so that check_known.c sees what is still unknown. False after
 * an error at the name: there is no such fabric, or it is one for another use. */
bool node_fabric_fill(const struct catalog *catalog, struct column_row *row,
                      struct hardware_node *node, struct rlhfsim_diagnostics *diagnostics);

#endif
