/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_NETWORK_COLLECTIVE_H
#define MODELS_NETWORK_COLLECTIVE_H

/*
 * Time of a collective over a group of GPUs, alone on its links. `bytes` is the total buffer, as
 * nccl-tests counts it (all-gather, reduce-scatter, gather: the gathered size; all-to-all: what one
 * GPU holds; send/recv: the message).
 *
 *     t = max(floor, host + a + T + E(T))
 *
 *     a   latency: start of the kernel, and the steps that wait for each other
 *     T   bytes over the slowest link / its bandwidth
 *     E   filling and emptying of the pipeline of chunks, 2 sqrt(chunk T) with the best chunk size
 *
 * and of the algorithms that the collective and the group permit (algorithm.h: ring, tree,
 * reduction in the switch, all at once) the fastest counts, as the libraries' own tuning wants it.
 *
 * Members that NVLink joins are a domain: a node, or more of them (`domain_gpus`). Groups that run
 * at the same time in a domain share its NICs: a group with m of its GPUs has that part of them.
 *
 * Left out: contention with other traffic (topology.h), protocols below the chunk.
 */

#include "models/network/algorithm.h"

#include <stdbool.h>

/* How it is called. All 0 is a call from a CUDA graph or behind other kernels, left to the
 * library's choice of algorithm. */
struct network_call {
    double host_s;  /* what the host adds that nothing hides */
    double floor_s; /* the host's own time where it is called anew each time: nothing is faster */
    bool copied;    /* the buffer is first copied to where others can read it */
    unsigned algorithms; /* bits (1 << enum network_algorithm) that are permitted; 0: all that the
                            library has, which excludes NETWORK_DIRECT */
    double skew;         /* all-to-all: bytes of the busiest pair of GPUs / the mean; 0: even */
};

struct network_estimate {
    enum network_algorithm algorithm;
    double seconds;     /* the sum of all */
    double latency_s;   /* host and a */
    double transfer_s;  /* T */
    double pipeline_s;  /* E */
    double uncertainty; /* 9 of 10 measured calls of this kind were within seconds x (1 +- this); 0
                           where the fabric has none */
};

/* Bytes/s of the slowest link of the group's ring, efficiencies included; 0 where domains have no
 * network between them. */
double network_ring_bandwidth(const struct hardware_cluster *cluster, struct network_group group);

/* Seconds 0 for a group of one or no bytes, infinite where the group spans domains without a
 * network. `call` may be NULL. */
struct network_estimate network_collective_estimate(const struct hardware_cluster *cluster,
                                                    enum network_collective kind,
                                                    struct network_group group, double bytes,
                                                    const struct network_call *call);

/* The seconds of that. */
double network_collective_s(const struct hardware_cluster *cluster, enum network_collective kind,
                            struct network_group group, double bytes);

#endif
