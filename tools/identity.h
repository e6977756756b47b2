/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_IDENTITY_H
#define TOOLS_IDENTITY_H

/*
 * Which sweep some rows belong to, and which part of it they are: one line of text, the first of an
 * unfinished sweep's file and the whole of a shard's.
 *
 *     rlhfsim-sweep 1 f00dc0de12345678 25 0/3
 *
 * (format, fingerprint, points of the whole sweep, shard I of N; 0/1 is all of it).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct identity {
    uint64_t fingerprint; /* of the scenario, its catalogs, settings, varied keys, the version */
    size_t points;        /* of the whole sweep */
    size_t shard, shards; /* it has the points with point % shards == shard */
};

#define IDENTITY_TEXT 96
#define IDENTITY_SHARDS_MOST 1000000

/* The line with its end; its length. */
size_t identity_print(const struct identity *identity, char text[IDENTITY_TEXT]);

/* Reads such a line, with or without its end. */
bool identity_read(const char *line, struct identity *identity);

/* Whether the point is one of the shard's; how many it has. */
bool identity_has(const struct identity *identity, size_t point);
size_t identity_share(const struct identity *identity);

#endif
