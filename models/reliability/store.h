/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_RELIABILITY_STORE_H
#define MODELS_RELIABILITY_STORE_H

/*
 * What checkpoints, weights and data are written to and read from: a parallel file system, an
 * object store, the disks of the nodes. All clients (nodes) share its bandwidth, each direction for
 * itself, and each has a limit of its own:
 *
 *     t = latency + bytes / min(clients x limit of one, what the store takes)
 *
 * Disks of the nodes are a store without a shared limit. Transfers at the same time share max-min
 * fairly. Room is what the store has in all, and of disks of the nodes what those of the writing
 * nodes have together:
 *
 *     capacity = min(clients x capacity of one, that of the store)
 *
 * A store with prices has a bill of its own: what is stored by the GB-month, what is written by the
 * request (each client cuts its part of a checkpoint into pieces of `part_bytes`), what is read by
 * the GB. Left out: bursts on credits, caches, the time of each file beyond the latency, traffic of
 * the store on the NICs of the collectives, requests that read.
 */

#include <stddef.h>

struct store {
    char name[48];                   /* of stores.csv; "" for the node's figure */
    double write_bytes_per_s;        /* from all clients together; 0: only they limit */
    double read_bytes_per_s;         /* likewise */
    double client_write_bytes_per_s; /* of one client; 0: only the store limits */
    double client_read_bytes_per_s;  /* likewise */
    double latency_s;                /* once a transfer: opening, creating, committing */
    double capacity_bytes;           /* of all of it; 0: no limit, or not known */
    double client_capacity_bytes;    /* of one client's disks; likewise */
    double part_bytes;               /* of a writing request; 0: requests are not counted */
    /* US dollars: of 1 GB (1e9 bytes) kept for a month (730 hours), of a writing request, of 1 GB
     * read. NaN: the store does not say. */
    double gb_month_usd, write_usd, read_gb_usd;
};

enum store_direction { STORE_WRITE, STORE_READ };

/* Bytes/s of one client at its limit, and of all clients together; 0 where there is none. */
double store_client_limit(const struct store *store, enum store_direction direction);
double store_shared_limit(const struct store *store, enum store_direction direction);

/* Bytes/s of a transfer alone on the store, above 0; `clients` is at least 1. */
double store_rate(const struct store *store, enum store_direction direction, int clients);

/* Seconds of a transfer alone on the store; 0 for no bytes. */
double store_transfer_s(const struct store *store, enum store_direction direction, int clients,
                        double bytes);

/* Bytes that there is room for where `clients` (at least 1) write; infinite without a limit. */
double store_capacity(const struct store *store, int clients);

/* Requests that write `bytes`, an equal part by each client; 0 where they are not counted. */
double store_write_requests(const struct store *store, int clients, double bytes);

struct store_transfer {
    double bytes;
    int clients; /* that take part, alike */
};

#define STORE_TRANSFERS 8

/* Seconds until the last of some transfers (at most STORE_TRANSFERS) is over that start together;
 * those of each in `finish_s` unless it is NULL. */
double store_shared_s(const struct store *store, enum store_direction direction,
                      const struct store_transfer *transfers, size_t count, double *finish_s);

#endif
