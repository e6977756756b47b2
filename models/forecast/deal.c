/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/deal.h"

#include "sim/contract.h"

size_t forecast_share(size_t count, size_t ranks, size_t rank) {
    return count / ranks + (rank < count % ranks);
}

/* Does sample a come before b: longer, or as long and earlier? */
static bool comes_before(const double *tokens, uint32_t a, uint32_t b) {
    return tokens[a] != tokens[b] ? tokens[a] > tokens[b] : a < b;
}

/* Lets the sample in place `root` of a heap of `count` sink: the one that comes last is on top. */
static void sink(const double *tokens, uint32_t *heap, size_t root, size_t count) {
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && comes_before(tokens, heap[child], heap[child + 1]))
            child++;
        if (!comes_before(tokens, heap[root], heap[child]))
            return;
        uint32_t sinking = heap[root];
        heap[root] = heap[child];
        heap[child] = sinking;
        root = child;
    }
}

/* Longest first, by a heap: no memory of its own, and the same order everywhere. */
static void sort(const struct forecast_deal *deal) {
    uint32_t *sorted = deal->sorted;
    for (size_t i = 0; i < deal->samples; i++)
        sorted[i] = (uint32_t)i;
    for (size_t root = deal->samples / 2; root-- > 0;)
        sink(deal->tokens, sorted, root, deal->samples);
    for (size_t count = deal->samples; count > 1; count--) {
        uint32_t last = sorted[0];
        sorted[0] = sorted[count - 1];
        sorted[count - 1] = last;
        sink(deal->tokens, sorted, 0, count - 1);
    }
}

static size_t lightest_with_room(const struct forecast_deal *deal) {
    size_t lightest = deal->ranks;
    for (size_t rank = 0; rank < deal->ranks; rank++) {
        if (deal->rank_counts[rank] == forecast_share(deal->samples, deal->ranks, rank))
            continue;
        if (lightest == deal->ranks || deal->rank_tokens[rank] < deal->rank_tokens[lightest])
            lightest = rank;
    }
    CONTRACT(lightest < deal->ranks, "more samples than there is room for");
    return lightest;
}

static size_t first_place(const struct forecast_deal *deal, size_t rank) {
    size_t more = deal->samples % deal->ranks;
    return rank * (deal->samples / deal->ranks) + (rank < more ? rank : more);
}

void forecast_deal_balanced(const struct forecast_deal *deal, uint32_t *dealt) {
    sort(deal);
    for (size_t rank = 0; rank < deal->ranks; rank++) {
        deal->rank_tokens[rank] = 0.0;
        deal->rank_counts[rank] = 0;
    }
    for (size_t i = 0; i < deal->samples; i++) {
        uint32_t sample = deal->sorted[i];
        size_t rank = lightest_with_room(deal);
        dealt[first_place(deal, rank) + deal->rank_counts[rank]++] = sample;
        deal->rank_tokens[rank] += deal->tokens[sample];
    }
}
