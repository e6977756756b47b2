/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/pool.h"

#define MOST_CHUNKS (UINT32_MAX / SIM_POOL_CHUNK)
#define FIRST_CHUNKS 16u
#define LINE 64u

void sim_pool_init(struct sim_pool *pool, const struct sim_allocator *allocator, size_t size,
                   size_t link) {
    *pool = (struct sim_pool){.free = SIM_POOL_NONE,
                              .size = (uint32_t)size,
                              .link = (uint32_t)link,
                              .allocator = allocator};
}

static void *reallocate(struct sim_pool *pool, void *block, size_t old_size, size_t new_size) {
    return pool->allocator->reallocate(pool->allocator->subject, block, old_size, new_size);
}

static size_t chunk_size(const struct sim_pool *pool) {
    return (size_t)pool->size * SIM_POOL_CHUNK + LINE;
}

/* Chunks start a cache line; the byte before one says how far into its block that is. */
static unsigned char *chunk_new(struct sim_pool *pool) {
    unsigned char *block = reallocate(pool, NULL, 0, chunk_size(pool));
    if (block == NULL)
        return NULL;
    unsigned shift = (unsigned)(LINE - (uintptr_t)block % LINE);
    block[shift - 1] = (unsigned char)shift;
    return block + shift;
}

static void chunk_free(struct sim_pool *pool, unsigned char *chunk) {
    reallocate(pool, chunk - chunk[-1], chunk_size(pool), 0);
}

void sim_pool_free(struct sim_pool *pool) {
    for (uint32_t i = 0; i < pool->chunk_count; i++)
        chunk_free(pool, pool->chunks[i]);
    if (pool->chunks != NULL)
        reallocate(pool, pool->chunks, pool->chunk_capacity * sizeof *pool->chunks, 0);
    sim_pool_init(pool, pool->allocator, pool->size, pool->link);
}

static bool grow_table(struct sim_pool *pool) {
    uint32_t capacity = pool->chunk_capacity == 0 ? FIRST_CHUNKS : 2 * pool->chunk_capacity;
    size_t entry = sizeof *pool->chunks;
    void *table = reallocate(pool, pool->chunks, pool->chunk_capacity * entry, capacity * entry);
    if (table == NULL)
        return false;
    pool->chunks = table;
    pool->chunk_capacity = capacity;
    return true;
}

bool sim_pool_grow(struct sim_pool *pool) {
    if (pool->chunk_count == MOST_CHUNKS)
        return false;
    if (pool->chunk_count == pool->chunk_capacity && !grow_table(pool))
        return false;
    unsigned char *chunk = chunk_new(pool);
    if (chunk == NULL)
        return false;
    pool->chunks[pool->chunk_count++] = chunk;
    return true;
}
