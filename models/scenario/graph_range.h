/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_SCENARIO_GRAPH_RANGE_H
#define MODELS_SCENARIO_GRAPH_RANGE_H

/* Names of switches and nodes in a graph, one or many: "spine", "leaf0..3", "node0..7.nic2". */

#include <stdbool.h>
#include <stdint.h>

#define GRAPH_NAME_BYTES 32
#define GRAPH_VERTEX_BYTES 48 /* with any number */

/* The part before the number, and first and last number: without "..", both are the one at the end,
 * or `numbered` is false (a number with leading zeros is part of the name). */
struct graph_range {
    char stem[GRAPH_NAME_BYTES];
    bool numbered;
    uint32_t first, last;
    int nic; /* -1: none */
};

/* False where the text is none of that; a range does not run backwards. */
bool graph_range_read(const char *text, struct graph_range *range);

/* Whether it names nodes: "node" and a number. */
bool graph_range_is_node(const struct graph_range *range);

/* The name with one of its numbers, without the NIC. */
void graph_range_name(const struct graph_range *range, uint32_t number,
                      char name[static GRAPH_VERTEX_BYTES]);

#endif
