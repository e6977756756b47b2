/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Transfers that share a store are played here from one end to the next: between two ends the rates
 * are constant, and fair by filling up (whoever is held by its own clients gets these, the others
 * share what is left alike). A run plays the same as flows of sim/flow.h.
 */

#include "models/reliability/store.h"

#include "sim/contract.h"

#include <math.h>
#include <stdbool.h>

double store_client_limit(const struct store *store, enum store_direction direction) {
    return direction == STORE_WRITE ? store->client_write_bytes_per_s
                                    : store->client_read_bytes_per_s;
}

double store_shared_limit(const struct store *store, enum store_direction direction) {
    return direction == STORE_WRITE ? store->write_bytes_per_s : store->read_bytes_per_s;
}

static double or_none(double limit) {
    return limit > 0.0 ? limit : (double)INFINITY;
}

/* What the clients of a transfer can do together. */
static double clients_limit(const struct store *store, enum store_direction direction,
                            int clients) {
    CONTRACT(clients >= 1, "a transfer without clients");
    return clients * or_none(store_client_limit(store, direction));
}

double store_rate(const struct store *store, enum store_direction direction, int clients) {
    double rate = fmin(clients_limit(store, direction, clients),
                       or_none(store_shared_limit(store, direction)));
    CONTRACT(rate > 0.0 && isfinite(rate), "a store whose rate nothing says");
    return rate;
}

double store_transfer_s(const struct store *store, enum store_direction direction, int clients,
                        double bytes) {
    CONTRACT(bytes >= 0.0, "a negative number of bytes");
    return bytes == 0.0 ? 0.0 : store->latency_s + bytes / store_rate(store, direction, clients);
}

double store_capacity(const struct store *store, int clients) {
    CONTRACT(clients >= 1, "a store that nobody writes to");
    return fmin(clients * or_none(store->client_capacity_bytes), or_none(store->capacity_bytes));
}

double store_write_requests(const struct store *store, int clients, double bytes) {
    CONTRACT(clients >= 1 && bytes >= 0.0, "requests of nobody, or for less than nothing");
    return store->part_bytes > 0.0 ? clients * ceil(bytes / clients / store->part_bytes) : 0.0;
}

/* ---- several at once ------------------------------------------------------------------------- */

struct sharing {
    double left[STORE_TRANSFERS], limit[STORE_TRANSFERS], rate[STORE_TRANSFERS];
    size_t count;
};

/* Raises all rates together; one that has reached its limit stays there. */
static void share(struct sharing *sharing, double capacity) {
    bool settled[STORE_TRANSFERS] = {false};
    size_t open = 0;
    for (size_t i = 0; i < sharing->count; i++) {
        sharing->rate[i] = 0.0;
        settled[i] = sharing->left[i] <= 0.0;
        open += !settled[i];
    }
    for (bool changed = true; changed && open > 0;) {
        double level = capacity / (double)open;
        changed = false;
        for (size_t i = 0; i < sharing->count; i++) {
            if (settled[i])
                continue;
            sharing->rate[i] = fmin(level, sharing->limit[i]);
            if (sharing->limit[i] > level)
                continue;
            settled[i] = changed = true;
            capacity -= sharing->limit[i];
            open--;
        }
    }
}

/* Seconds to the next end; infinite when all are over. */
static double next_end_s(const struct sharing *sharing) {
    double next_s = (double)INFINITY;
    for (size_t i = 0; i < sharing->count; i++)
        if (sharing->left[i] > 0.0)
            next_s = fmin(next_s, sharing->left[i] / sharing->rate[i]);
    return next_s;
}

/* Those that end now are set to 0, so that rounding leaves no crumb. */
static void advance(struct sharing *sharing, double seconds, double now_s, double *finish_s) {
    for (size_t i = 0; i < sharing->count; i++) {
        if (sharing->left[i] <= 0.0)
            continue;
        bool ends = sharing->left[i] / sharing->rate[i] <= seconds;
        sharing->left[i] = ends ? 0.0 : sharing->left[i] - seconds * sharing->rate[i];
        if (ends && finish_s != NULL)
            finish_s[i] = now_s;
    }
}

double store_shared_s(const struct store *store, enum store_direction direction,
                      const struct store_transfer *transfers, size_t count, double *finish_s) {
    struct sharing sharing = {.count = count};
    double now_s = 0.0, seconds;
    CONTRACT(count <= STORE_TRANSFERS, "too many transfers at once");
    for (size_t i = 0; i < count; i++) {
        sharing.left[i] = transfers[i].bytes;
        sharing.limit[i] = fmin(clients_limit(store, direction, transfers[i].clients),
                                store_rate(store, direction, transfers[i].clients));
        if (finish_s != NULL)
            finish_s[i] = 0.0;
        if (transfers[i].bytes > 0.0)
            now_s = store->latency_s;
    }
    for (;;) {
        share(&sharing, or_none(store_shared_limit(store, direction)));
        seconds = next_end_s(&sharing);
        if (isinf(seconds))
            return now_s;
        now_s += seconds;
        advance(&sharing, seconds, now_s, finish_s);
    }
}
