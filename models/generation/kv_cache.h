/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_KV_CACHE_H
#define MODELS_GENERATION_KV_CACHE_H

/*
 * Blocks of the KV cache while a batch decodes. A sequence of t tokens holds ceil(t / block) blocks
 * and every iteration makes each decoding sequence one token longer, so what n sequences need after
 * j more iterations is
 *
 *     growth(j) = sum over i of floor((r_i + j) / block),   r_i = (t_i - 1) mod block
 *               = n floor(j / block) + #{ i : r_i >= block - j mod block }.
 *
 * Only how many sequences stand at each offset r of their last block is kept. All of them move on
 * together, so the counts stay where they are and a shift says where offset 0 is. Joining and
 * leaving are O(1), the growth and its inverse O(block), whatever the number of sequences.
 */

#include <stdint.h>

struct generation_kv_cache {
    int64_t block_tokens;
    int64_t free_blocks; /* taken and given back by the owner; decoding takes by itself */
    int64_t sequences;   /* that decode */
    int64_t shift;       /* iterations done, modulo block_tokens */
    uint32_t *counts;    /* counts[k]: sequences at offset (k + shift) mod block_tokens */
};

/* An empty cache; `counts` has room for block_tokens and is the caller's. */
void generation_kv_cache_reset(struct generation_kv_cache *cache, int64_t blocks,
                               int64_t block_tokens, uint32_t *counts);

/* Blocks that hold `tokens`. */
int64_t generation_kv_cache_blocks(const struct generation_kv_cache *cache, int64_t tokens);

/* A sequence of `tokens` (at least 1), whose blocks are accounted for, starts or stops decoding. */
void generation_kv_cache_join(struct generation_kv_cache *cache, int64_t tokens);
void generation_kv_cache_leave(struct generation_kv_cache *cache, int64_t tokens);

/* Blocks that the decoding sequences take in the next `iterations`. */
int64_t generation_kv_cache_growth(const struct generation_kv_cache *cache, int64_t iterations);

/* The most iterations, up to `wanted`, that the free blocks allow. */
int64_t generation_kv_cache_iterations(const struct generation_kv_cache *cache, int64_t wanted);

/* Takes the growth of `iterations`, which the free blocks allow. */
void generation_kv_cache_advance(struct generation_kv_cache *cache, int64_t iterations);

#endif
