/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/hardware/cluster.h"

#include "sim/contract.h"

#include <limits.h>

void hardware_scale_launches(struct hardware_gpu *gpu, double factor) {
    gpu->kernel_launch_s *= factor;
    for (int i = 0; i < HARDWARE_KERNEL_COUNT; i++)
        *hardware_kernel_coefficient(&gpu->kernels, (enum hardware_kernel)i, HARDWARE_LAUNCH) *=
            factor;
    gpu->kernels.gemm[HARDWARE_FP16].launch_s *= factor;
}

double hardware_host_link(const struct hardware_cluster *cluster, int gpus) {
    double link = cluster->gpu.host_bandwidth_bytes_per_s;
    double host = cluster->node.host_bandwidth_bytes_per_s;
    CONTRACT(gpus >= 1, "a transfer of no GPU");
    return host > 0.0 && host / gpus < link ? host / gpus : link;
}

int hardware_domain_gpus(const struct hardware_cluster *cluster) {
    int nodes = 1;
    if (cluster->node.domain_gpus > cluster->node.gpus)
        nodes = cluster->node.domain_gpus / cluster->node.gpus;
    return nodes * cluster->gpus_per_node;
}

int hardware_cluster_gpus(const struct hardware_cluster *cluster) {
    CONTRACT(cluster->nodes >= 0 && cluster->gpus_per_node >= 0, "a count below 0");
    CONTRACT(cluster->gpus_per_node == 0 || cluster->nodes <= INT_MAX / cluster->gpus_per_node,
             "more GPUs than an int counts");
    return cluster->nodes * cluster->gpus_per_node;
}
