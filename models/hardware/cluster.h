/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_HARDWARE_CLUSTER_H
#define MODELS_HARDWARE_CLUSTER_H

/*
 * What is rented: one kind of GPU in one kind of node, so many of them. Rates are per second and
 * bytes are bytes (GB = 1e9). Datasheet peaks are dense (no sparsity); the shares beside them are
 * measured, and every figure of the catalog row has its source there.
 */

#include "models/hardware/kernel_law.h"

#include <stdbool.h>

struct hardware_gpu {
    char name[64];
    double peak_flops_per_s[HARDWARE_PRECISION_COUNT]; /* 0: the format is not supported */
    double fp4_flops_per_s;      /* peak of products in 4 bits; 0: there is none */
    double matmul_efficiency;    /* sustained share of the peak that large matrix products reach */
    double attention_efficiency; /* share of the bf16 (else fp16) peak, forward kernel */
    double attention_backward_efficiency; /* the same for the backward kernel */
    double memory_bytes;                  /* HBM that a process can use */
    double memory_bandwidth_bytes_per_s;
    double memory_efficiency;             /* sustained share of that bandwidth (stream) */
    double scaleup_bandwidth_bytes_per_s; /* NVLink, all links of one GPU, one direction */
    double host_bandwidth_bytes_per_s;    /* PCIe, one direction, as measured */
    double kernel_launch_s;               /* what a kernel costs beside its work */
    double power_w;
    struct hardware_kernel_laws kernels; /* kernel times by shape; zero: not known */
};

/*
 * How the collectives' software uses a link, beyond the figures of the node: a row of fabrics.csv.
 * Shares are of what the ring over 8 and more members reaches (scaleup_efficiency,
 * network_efficiency); 0 is "the same", or "there is no such way". network/algorithm.c has the
 * laws.
 */
struct hardware_fabric {
    char name[48];
    double ring_of_2, ring_of_4; /* share with fewer members */
    double chunk_s;              /* overhead of one chunk in a pipeline of chunks */
    double own_copy;             /* what copying a member's own part costs of sending it */
    double alltoall, alltoall_of_2, alltoall_of_4;
    double alltoall_start_s; /* in place of the start of a ring */
    double alltoall_loss;    /* of the share, per GPU of the group: 1 / (1 + loss x GPUs) */
    double switch_reduce;    /* NVLS: reduced bytes a second, as a share of the link's rate */
    double switch_chunk_s;
    int switch_members;            /* NVLS is taken from so many members on; 0: never */
    double tree, tree_inside;      /* a tree over 3 and more domains: of the NICs, of NVLink */
    double pair_inside;            /* an all-reduce of two domains: share of NVLink */
    double direct_start_s, direct; /* all members read all others: start, share of the link */
    double direct_of_2;            /* the share where one other is read */
    double direct_second_s;        /* what its second round adds */
    double uncertainty;            /* 9 of 10 measured calls from 1 MiB on are within it */
    double uncertainty_small;      /* the same below 1 MiB */
    double uncertainty_alltoall, uncertainty_send; /* the same of these kinds; 0: as the others */
};

struct hardware_node {
    char name[64];
    char gpu[64];
    int gpus;
    double host_memory_bytes;
    double nvme_bytes; /* of all local disks together; 0: not known */
    double nvme_read_bytes_per_s, nvme_write_bytes_per_s; /* of all of them; NAN: not known */
    double network_bandwidth_bytes_per_s;                 /* all NICs together, one direction */
    int domain_gpus;                      /* joined by NVLink, over several nodes; 0: `gpus` */
    double scaleup_efficiency;            /* share of the NVLink rate that ring collectives reach */
    double network_efficiency;            /* share of the NIC rate */
    double scaleup_latency_s;             /* of one ring step inside the node */
    double network_latency_s;             /* of one ring step between nodes */
    double collective_start_s;            /* once a collective */
    double storage_bandwidth_bytes_per_s; /* of one node to the checkpoint store */
    double host_bandwidth_bytes_per_s;    /* what its host moves for all GPUs together, one
                                             direction; 0: as much as their links */
    struct hardware_fabric scaleup, network;
};

struct network_topology_type;
struct network_graph;

/* A job that uses part of the links between blocks for a time of the run. */
struct hardware_neighbour {
    double share; /* below 1; 0: there is none */
    double from_s, until_s;
};

/* What lies between the nodes (network/topology.h). */
struct hardware_topology {
    const struct network_topology_type *type; /* NULL: nothing slower than the NICs */
    int block_nodes;                          /* of a leaf, pod or group */
    double oversubscription;                  /* of a block's uplinks; 1: none */
    int shape[3];                             /* of a torus */
    double background;                        /* part of these links that others use, below 1 */
    struct hardware_neighbour neighbour;      /* likewise for a time; one of the two is 0 */
    bool spread;                              /* neighbours are in different blocks */
    bool by_rail;                             /* NICs of one number meet in a leaf */
    struct network_graph *graph;              /* of the kind graph, whoever made it owns it */
};

/* Equal parts of the nodes, with a network of their own between them (network/zones.h). */
struct hardware_zones {
    int count;                    /* 0 and 1: one zone */
    double bandwidth_bytes_per_s; /* that leaves a zone, one direction */
    double latency_s;             /* of one crossing */
};

struct hardware_cluster {
    struct hardware_gpu gpu;
    struct hardware_node node;
    int nodes;
    int gpus_per_node; /* used ones; at most node.gpus */
    struct hardware_topology topology;
    struct hardware_zones zones;
};

/* Multiplies what launches cost, of the plain roofline and of every law. */
void hardware_scale_launches(struct hardware_gpu *gpu, double factor);

/* Bytes/s between a GPU and its host, one direction, while `gpus` of the node's GPUs (at least 1)
 * move as much: its own link, or its part of what the host moves for all, min(link, host / gpus).
 * All of them share switches, sockets and the host's memory alike. */
double hardware_host_link(const struct hardware_cluster *cluster, int gpus);

int hardware_cluster_gpus(const struct hardware_cluster *cluster);

/* GPUs in use of one NVLink domain. */
int hardware_domain_gpus(const struct hardware_cluster *cluster);

#endif
