/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/graph_range.h"

#include "models/base/text.h"

#include <stdio.h>
#include <string.h>

/* A whole number without leading zeros; moves the text behind it. */
static bool read_number(const char **text, uint32_t *number) {
    size_t length = strspn(*text, "0123456789");
    char digits[8];
    int64_t value = 0;
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, *text, length);
    digits[length] = '\0';
    if (base_integer_read(digits, &value) != BASE_NUMBER_OK)
        return false;
    *number = (uint32_t)value;
    *text += length;
    return true;
}

static bool read_nic(const char **text, int *nic) {
    static const char mark[] = ".nic";
    uint32_t number = 0;
    *nic = -1;
    if (strncmp(*text, mark, sizeof mark - 1) != 0)
        return true;
    *text += sizeof mark - 1;
    if (!read_number(text, &number))
        return false;
    *nic = (int)number;
    return true;
}

bool graph_range_read(const char *text, struct graph_range *range) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t length = strspn(text, letters), stem = length;
    const char *at = text + length;
    while (stem > 0 && text[stem - 1] >= '0' && text[stem - 1] <= '9')
        stem--;
    if (stem == 0 || length >= GRAPH_NAME_BYTES)
        return false;
    *range = (struct graph_range){.nic = -1};
    (void)snprintf(range->stem, sizeof range->stem, "%.*s", (int)stem, text);
    const char *digits = text + stem;
    range->numbered = stem < length && read_number(&digits, &range->first);
    range->last = range->first;
    if (stem < length && !range->numbered)
        (void)snprintf(range->stem, sizeof range->stem, "%.*s", (int)length, text);
    if (strncmp(at, "..", 2) == 0) {
        at += 2;
        if (!range->numbered || !read_number(&at, &range->last) || range->last < range->first)
            return false;
    }
    return read_nic(&at, &range->nic) && *at == '\0';
}

bool graph_range_is_node(const struct graph_range *range) {
    return range->numbered && strcmp(range->stem, "node") == 0;
}

void graph_range_name(const struct graph_range *range, uint32_t number,
                      char name[static GRAPH_VERTEX_BYTES]) {
    if (range->numbered)
        (void)snprintf(name, GRAPH_VERTEX_BYTES, "%s%u", range->stem, number);
    else
        (void)snprintf(name, GRAPH_VERTEX_BYTES, "%s", range->stem);
}
