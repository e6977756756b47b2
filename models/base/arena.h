/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_BASE_ARENA_H
#define MODELS_BASE_ARENA_H

/*
 * Memory that is given back all at once. A request that cannot be met returns NULL and is
 * remembered, so that a builder may check once at its end.
 */

#include <stdbool.h>
#include <stddef.h>

struct base_arena_block;

struct base_arena {
    struct base_arena_block *blocks;
    bool failed;
};

/* Zeroed memory, aligned for anything; NULL when memory is exhausted. A zeroed arena is empty. */
void *base_arena_allocate(struct base_arena *arena, size_t size);

/* A terminated copy of `length` bytes. */
char *base_arena_text(struct base_arena *arena, const char *text, size_t length);

void base_arena_release(struct base_arena *arena);

#endif
