/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_HARDWARE_CLUSTER_H
#define MODELS_HARDWARE_CLUSTER_H

/*
 * What is rented: one kind of GPU in one kind of node, so many of them. Rates are per second and
 * bytes are bytes (GB = 1e9). Datasheet peaks are dense (no sparsity); the shares beside them are
 * measured, and every figure of the catalog row has its source there.
 */

#include "models/hardware/kernel_law.h"

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

struct hardware_node {
    char name[64];
    char gpu[64];
    int gpus;
    double host_memory_bytes;
    double nvme_bytes;
    double network_bandwidth_bytes_per_s; /* all NICs together, one direction */
    double scaleup_efficiency;            /* share of the NVLink rate that ring collectives reach */
    double network_efficiency;            /* share of the NIC rate */
    double scaleup_latency_s;             /* of one ring step inside the node */
    double network_latency_s;             /* of one ring step between nodes */
    double collective_start_s;            /* once a collective */
    double storage_bandwidth_bytes_per_s; /* of one node to the checkpoint store */
};

struct hardware_cluster {
    struct hardware_gpu gpu;
    struct hardware_node node;
    int nodes;
    int gpus_per_node; /* used ones; at most node.gpus */
};

/* Multiplies what launches cost, of the plain roofline and of every law. */
void hardware_scale_launches(struct hardware_gpu *gpu, double factor);

int hardware_cluster_gpus(const struct hardware_cluster *cluster);

#endif
