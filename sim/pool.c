/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/pool.h"

#include <string.h>

#define MOST_CHUNKS (UINT32_MAX / SIM_POOL_CHUNK)
#define FIRST_CHUNKS 16u

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

void sim_pool_free(struct sim_pool *pool) {
    size_t chunk_size = (size_t)pool->size * SIM_POOL_CHUNK;
    for (uint32_t i = 0; i < pool->chunk_count; i++)
        reallocate(pool, pool->chunks[i], chunk_size, 0);
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
    size_t chunk_size = (size_t)pool->size * SIM_POOL_CHUNK;
    if (pool->chunk_count == MOST_CHUNKS)
        return false;
    if (pool->chunk_count == pool->chunk_capacity && !grow_table(pool))
        return false;
    void *chunk = reallocate(pool, NULL, 0, chunk_size);
    if (chunk == NULL)
        return false;
    memset(chunk, 0, chunk_size);
    pool->chunks[pool->chunk_count++] = chunk;
    return true;
}
