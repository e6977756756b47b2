/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/kv_cache.h"

#include "sim/contract.h"

#include <string.h>

void generation_kv_cache_reset(struct generation_kv_cache *cache, int64_t blocks,
                               int64_t block_tokens, uint32_t *counts) {
    *cache = (struct generation_kv_cache){
        .block_tokens = block_tokens, .free_blocks = blocks, .counts = counts};
    memset(counts, 0, (size_t)block_tokens * sizeof *counts);
}

int64_t generation_kv_cache_blocks(const struct generation_kv_cache *cache, int64_t tokens) {
    return (tokens + cache->block_tokens - 1) / cache->block_tokens;
}

/* Where sequences at `offset` of their last block are counted now. */
static size_t slot_of(const struct generation_kv_cache *cache, int64_t offset) {
    int64_t slot = offset - cache->shift;
    return (size_t)(slot < 0 ? slot + cache->block_tokens : slot);
}

void generation_kv_cache_join(struct generation_kv_cache *cache, int64_t tokens) {
    cache->counts[slot_of(cache, (tokens - 1) % cache->block_tokens)]++;
    cache->sequences++;
}

void generation_kv_cache_leave(struct generation_kv_cache *cache, int64_t tokens) {
    size_t slot = slot_of(cache, (tokens - 1) % cache->block_tokens);
    INVARIANT(cache->counts[slot] > 0, "a sequence leaves that is not there");
    cache->counts[slot]--;
    cache->sequences--;
}

int64_t generation_kv_cache_growth(const struct generation_kv_cache *cache, int64_t iterations) {
    int64_t rest = iterations % cache->block_tokens;
    int64_t blocks = iterations / cache->block_tokens * cache->sequences;
    for (int64_t offset = cache->block_tokens - rest; offset < cache->block_tokens; offset++)
        blocks += cache->counts[slot_of(cache, offset)];
    return blocks;
}

int64_t generation_kv_cache_iterations(const struct generation_kv_cache *cache, int64_t wanted) {
    int64_t block = cache->block_tokens, sequences = cache->sequences;
    /* is there a block for everyone, as often as anyone may ask? */
    if (sequences == 0 || (wanted + block - 1) / block <= cache->free_blocks / sequences)
        return wanted;
    int64_t left = cache->free_blocks % sequences;
    int64_t offset = block;
    while (left >= 0 && offset > 0)
        left -= cache->counts[slot_of(cache, --offset)];
    INVARIANT(left < 0, "a full round takes a block for each sequence");
    /* those at `offset` would be one too many in the iteration that lifts them over the edge */
    int64_t iterations = cache->free_blocks / sequences * block + (block - offset - 1);
    return iterations < wanted ? iterations : wanted;
}

void generation_kv_cache_advance(struct generation_kv_cache *cache, int64_t iterations) {
    cache->free_blocks -= generation_kv_cache_growth(cache, iterations);
    INVARIANT(cache->free_blocks >= 0, "more blocks taken than there are");
    cache->shift = (cache->shift + iterations) % cache->block_tokens;
}
