/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SIM_POOL_H
#define SIM_POOL_H

/*
 * Records of one size, taken and given back by index. They live in chunks that never move, so that
 * a pointer to a record holds while others are taken, and growing copies nothing. A record given
 * back is the next one taken. Known to the files of sim/ only.
 */

#include "sim/sim.h"

#define SIM_POOL_NONE UINT32_MAX
#define SIM_POOL_CHUNK 4096u /* records */

struct sim_pool {
    unsigned char **chunks;
    uint32_t chunk_count, chunk_capacity;
    uint32_t free; /* first record given back */
    uint32_t used; /* records ever taken: those from here on are untouched */
    uint32_t size; /* of a record */
    uint32_t link; /* offset in a record of the uint32_t that chains the free ones */
    const struct sim_allocator *allocator;
};

/* `size` a multiple of the records' alignment. The allocator must outlive the pool. */
void sim_pool_init(struct sim_pool *pool, const struct sim_allocator *allocator, size_t size,
                   size_t link);
void sim_pool_free(struct sim_pool *pool);

/* Makes room for one more chunk. False when memory is exhausted. */
bool sim_pool_grow(struct sim_pool *pool);

/* The record of an index; cast to its type. */
static inline void *sim_pool_at(const struct sim_pool *pool, uint32_t index, size_t size) {
    return pool->chunks[index / SIM_POOL_CHUNK] + (index % SIM_POOL_CHUNK) * size;
}

static inline uint32_t *sim_pool_link(const struct sim_pool *pool, uint32_t index) {
    void *record = sim_pool_at(pool, index, pool->size);
    return (uint32_t *)(void *)((unsigned char *)record + pool->link);
}

/* SIM_POOL_NONE when memory is exhausted. What a record holds is what it held when it was given
 * back, but for its link; anything the first time, when the index is what `used` was. */
static inline uint32_t sim_pool_take(struct sim_pool *pool) {
    uint32_t index = pool->free;
    if (index != SIM_POOL_NONE) {
        pool->free = *sim_pool_link(pool, index);
        return index;
    }
    if (pool->used == pool->chunk_count * SIM_POOL_CHUNK && !sim_pool_grow(pool))
        return SIM_POOL_NONE;
    return pool->used++;
}

static inline void sim_pool_give(struct sim_pool *pool, uint32_t index) {
    *sim_pool_link(pool, index) = pool->free;
    pool->free = index;
}

#endif
