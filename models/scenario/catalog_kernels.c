/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/catalog_kernels.h"

#include "models/hardware/transfer.h"
#include "models/scenario/catalog_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *law_name(const char *gpu, enum hardware_kernel kernel,
                            char buffer[static CATALOG_NAME_BYTES]) {
    (void)snprintf(buffer, CATALOG_NAME_BYTES, "%s/%s", gpu, hardware_kernel_name(kernel));
    return buffer;
}

static const struct catalog_law *own_law(const struct catalog *catalog, const char *gpu,
                                         enum hardware_kernel kernel) {
    char buffer[CATALOG_NAME_BYTES];
    return catalog_law(catalog, law_name(gpu, kernel, buffer));
}

/* The law of the GPU nearest in rates, the earlier of two. */
static const struct catalog_law *nearest_law(const struct catalog *catalog,
                                             const struct hardware_gpu *gpu,
                                             enum hardware_kernel kernel) {
    const char *name;
    double least = (double)INFINITY;
    const struct catalog_law *nearest = NULL;
    for (size_t i = 0; (name = catalog_name_at(catalog, CATALOG_KERNELS, i)) != NULL; i++) {
        const struct catalog_law *law = catalog_law(catalog, name);
        double distance = hardware_distance(gpu, catalog_gpu(catalog, law->gpu));
        if (law->kernel != kernel || (nearest != NULL && !(distance < least)))
            continue;
        least = distance;
        nearest = law;
    }
    return nearest;
}

void catalog_kernels_join(const struct catalog *catalog, struct hardware_gpu *gpu) {
    for (int i = 0; i < HARDWARE_KERNEL_COUNT; i++) {
        enum hardware_kernel kernel = (enum hardware_kernel)i;
        const struct catalog_law *law = own_law(catalog, gpu->name, kernel);
        if (law == NULL)
            law = nearest_law(catalog, gpu, kernel);
        if (law == NULL)
            continue;
        struct hardware_gpu donor =
            strcmp(law->gpu, gpu->name) == 0 ? *gpu : *catalog_gpu(catalog, law->gpu);
        donor.kernels = law->laws;
        hardware_transfer_law(&donor, kernel, gpu);
    }
    gpu->kernels.gemm[HARDWARE_FP16] = gpu->kernels.gemm[HARDWARE_BF16];
    if (isnan(gpu->kernels.sustained_share))
        gpu->kernels.sustained_share = hardware_sustained_share(gpu);
}

const char *catalog_kernels_provenance(const struct catalog *catalog, const char *gpu) {
    static const enum hardware_kernel main_kernels[] = {
        HARDWARE_KERNEL_GEMM_BF16, HARDWARE_KERNEL_PREFILL, HARDWARE_KERNEL_DECODE};
    const char *result = NULL;
    for (size_t i = 0; i < sizeof main_kernels / sizeof *main_kernels; i++) {
        char buffer[CATALOG_NAME_BYTES];
        const char *provenance =
            catalog_provenance(catalog, CATALOG_KERNELS, law_name(gpu, main_kernels[i], buffer));
        if (provenance == NULL)
            return "assumed";
        /* the weaker of two: the words are in that order */
        if (result == NULL || strcmp(provenance, "measured") != 0)
            result = provenance;
    }
    return result;
}
