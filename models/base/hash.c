/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/hash.h"

#include <string.h>

static uint64_t mix(uint64_t hash, const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Byte by byte from the lowest, whatever the machine's order. */
uint64_t base_hash_number(uint64_t hash, uint64_t number) {
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    return mix(hash, bytes, sizeof bytes);
}

uint64_t base_hash_bytes(uint64_t hash, const void *bytes, size_t length) {
    return mix(base_hash_number(hash, length), bytes, length);
}

uint64_t base_hash_text(uint64_t hash, const char *text) {
    return base_hash_bytes(hash, text, strlen(text));
}
