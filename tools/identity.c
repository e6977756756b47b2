/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t identity_print(const struct identity *identity, char text[IDENTITY_TEXT]) {
    int length =
        snprintf(text, IDENTITY_TEXT, "rlhfsim-sweep 1 %016" PRIx64 " %zu %zu/%zu\n",
                 identity->fingerprint, identity->points, identity->shard, identity->shards);
    return (size_t)length;
}

/* What was read must print as the line: no sign, space or leading zero slips through. */
bool identity_read(const char *line, struct identity *identity) {
    struct identity read;
    char again[IDENTITY_TEXT];
    if (sscanf(line, "rlhfsim-sweep 1 %16" SCNx64 " %zu %zu/%zu", &read.fingerprint, &read.points,
               &read.shard, &read.shards) != 4)
        return false;
    size_t length = identity_print(&read, again) - 1;
    bool same = strncmp(line, again, length) == 0;
    if (!same || line[length + strspn(line + length, "\n")] != '\0' || read.shard >= read.shards)
        return false;
    *identity = read;
    return true;
}

bool identity_has(const struct identity *identity, size_t point) {
    return point < identity->points && point % identity->shards == identity->shard;
}

size_t identity_share(const struct identity *identity) {
    size_t whole = identity->points / identity->shards;
    return whole + (identity->points % identity->shards > identity->shard);
}
