/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 * 1024)

struct base_arena_block {
    struct base_arena_block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

static struct base_arena_block *block_new(struct base_arena *arena, size_t size) {
    size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct base_arena_block *block = calloc(1, sizeof *block + room);
    if (block == NULL)
        return NULL;
    block->size = room;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *base_arena_allocate(struct base_arena *arena, size_t size) {
    size_t alignment = alignof(max_align_t);
    struct base_arena_block *block = arena->blocks;
    if (size > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    size = (size + alignment - 1) / alignment * alignment;
    if (block == NULL || block->size - block->used < size)
        block = block_new(arena, size);
    if (block == NULL) {
        arena->failed = true;
        return NULL;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    return memory;
}

char *base_arena_text(struct base_arena *arena, const char *text, size_t length) {
    char *copy = base_arena_allocate(arena, length + 1);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

void base_arena_release(struct base_arena *arena) {
    while (arena->blocks != NULL) {
        struct base_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->failed = false;
}
