/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_BASE_HASH_H
#define MODELS_BASE_HASH_H

/*
 * A 64-bit number that stands for a sequence of texts and numbers, to notice that one of them
 * changed. FNV-1a: for each byte, h = (h xor byte) x 1099511628211 mod 2^64 (Fowler, Noll and Vo;
 * RFC 9923). Every part is preceded by its length, so that "ab", "c" and "a", "bc" differ. It
 * guards against mistakes, not against somebody who looks for collisions.
 */

#include <stddef.h>
#include <stdint.h>

#define BASE_HASH_START UINT64_C(14695981039346656037)

uint64_t base_hash_bytes(uint64_t hash, const void *bytes, size_t length);
uint64_t base_hash_text(uint64_t hash, const char *text);
uint64_t base_hash_number(uint64_t hash, uint64_t number);

#endif
