/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * kernels.csv from measured kernels: the law of each set (kernel_fit.c), its errors on the points
 * that it was fitted to and on shapes that were left out, and what a GPU without points of its own
 * would have instead: the law of the nearest GPU that has one (hardware/transfer.c).
 */

#include "models/calibration/kernel_fit.h"
#include "models/hardware/transfer.h"
#include "models/scenario/columns.h"
#include "models/validation/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONG_TOKENS 1024.0

/* Room for one number a sample, thrice. */
struct scratch {
    double *errors, *held_out, *sorted;
};

static bool scratch_start(struct scratch *scratch, size_t count) {
    double *numbers = calloc(3 * count, sizeof *numbers);
    *scratch = numbers == NULL ? (struct scratch){0}
                               : (struct scratch){numbers, numbers + count, numbers + 2 * count};
    return numbers != NULL;
}

static void scratch_release(struct scratch *scratch) {
    free(scratch->errors);
}

struct fitted {
    struct fitted *next;
    const struct kernel_set *set;
    struct kernel_law_fit law;
    struct rlhfsim_calibration_line all; /* of all its samples */
    struct scratch scratch;
};

/* ---- errors ---------------------------------------------------------------------------------- */

/* Products have no length of their own: all sizes are of one set of lines. */
static bool has_long(enum hardware_kernel kernel) {
    return kernel != HARDWARE_KERNEL_GEMM_BF16 && kernel != HARDWARE_KERNEL_GEMM_FP8;
}

static bool is_long(const struct kernel_sample *sample) {
    const struct hardware_attention *attention = &sample->shape.attention;
    if (sample->shape.kind == KERNEL_OPERATOR)
        return sample->shape.rows >= LONG_TOKENS;
    return attention->sequences > 0.0 &&
           attention->context_tokens / attention->sequences > LONG_TOKENS;
}

static size_t quantiles(const struct kernel_set *set, const double *errors, bool only_long,
                        double *sorted, double *median, double *p90) {
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++)
        if (!only_long || is_long(&set->samples[i]))
            sorted[count++] = errors[i];
    validation_sort(sorted, count);
    *median = validation_quantile(sorted, count, 0.5);
    *p90 = validation_quantile(sorted, count, 0.9);
    return count;
}

/* Every sample's error under a law that has not seen its shape. */
static bool hold_out(const struct kernel_set *set, double *errors) {
    for (unsigned fold = 0; fold < KERNEL_FOLDS; fold++) {
        struct kernel_law_fit law;
        if (!kernel_law_fit(set, fold, &law))
            return false;
        for (size_t i = 0; i < set->count; i++)
            if (set->samples[i].fold == fold)
                errors[i] = kernel_law_error(&law.gpu, &set->samples[i]);
    }
    return true;
}

static void errors_of(const struct kernel_set *set, const struct hardware_gpu *gpu,
                      double *errors) {
    for (size_t i = 0; i < set->count; i++)
        errors[i] = kernel_law_error(gpu, &set->samples[i]);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* `from` NULL: the set's own law, with its held-out errors. */
static bool add_line(struct calibration_run *run, const struct kernel_set *set, const char *from,
                     const struct scratch *scratch, bool only_long) {
    char subject[160];
    struct base_arena *arena = &run->calibration->arena;
    struct rlhfsim_calibration_line line = {.held_out_median_error = (double)NAN,
                                            .held_out_p90_error = (double)NAN};
    (void)snprintf(subject, sizeof subject, "%s %s%s", set->gpu->name,
                   hardware_kernel_name(set->kernel), only_long ? " long" : "");
    line.subject = base_arena_text(arena, subject, strlen(subject));
    line.from = from == NULL ? NULL : base_arena_text(arena, from, strlen(from));
    line.points = quantiles(set, scratch->errors, only_long, scratch->sorted, &line.median_error,
                            &line.p90_error);
    if (from == NULL)
        (void)quantiles(set, scratch->held_out, only_long, scratch->sorted,
                        &line.held_out_median_error, &line.held_out_p90_error);
    return line.subject != NULL && (from == NULL || line.from != NULL) &&
           calibration_add_line(run->calibration, &line);
}

static bool add_lines(struct calibration_run *run, const struct kernel_set *set, const char *from,
                      const struct scratch *scratch) {
    return add_line(run, set, from, scratch, false) &&
           (!has_long(set->kernel) || add_line(run, set, from, scratch, true));
}

static bool fit(struct calibration_run *run, struct fitted *fitted) {
    const struct kernel_set *set = fitted->set;
    struct rlhfsim_calibration_line *all = &fitted->all;
    struct scratch *scratch = &fitted->scratch;
    if (!scratch_start(scratch, set->count) || !kernel_law_fit(set, KERNEL_FOLDS, &fitted->law) ||
        !hold_out(set, scratch->held_out))
        return false;
    kernel_law_round(&fitted->law);
    errors_of(set, &fitted->law.gpu, scratch->errors);
    all->points = quantiles(set, scratch->errors, false, scratch->sorted, &all->median_error,
                            &all->p90_error);
    (void)quantiles(set, scratch->held_out, false, scratch->sorted, &all->held_out_median_error,
                    &all->held_out_p90_error);
    return add_lines(run, set, NULL, scratch);
}

/* ---- all GPUs -------------------------------------------------------------------------------- */

/* The samples and errors of a kernel on all GPUs as one set. */
static void gather(const struct fitted *all, struct kernel_set *set, struct scratch *scratch) {
    set->count = 0;
    for (const struct fitted *one = all; one != NULL; one = one->next) {
        if (one->set->kernel != set->kernel)
            continue;
        size_t bytes = one->set->count * sizeof(double);
        memcpy(set->samples + set->count, one->set->samples,
               one->set->count * sizeof *set->samples);
        memcpy(scratch->errors + set->count, one->scratch.errors, bytes);
        memcpy(scratch->held_out + set->count, one->scratch.held_out, bytes);
        set->count += one->set->count;
    }
}

static bool pool(struct calibration_run *run, const struct fitted *all,
                 enum hardware_kernel kernel) {
    static const struct hardware_gpu any = {.name = "all"};
    struct kernel_set set = {.gpu = &any, .kernel = kernel};
    struct scratch scratch = {0};
    size_t gpus = 0;
    for (const struct fitted *one = all; one != NULL; one = one->next) {
        bool member = one->set->kernel == kernel;
        gpus += member;
        set.room += member ? one->set->count : 0;
    }
    if (gpus < 2)
        return true;
    set.samples = calloc(set.room, sizeof *set.samples);
    bool good = set.samples != NULL && scratch_start(&scratch, set.room);
    if (good) {
        gather(all, &set, &scratch);
        good = add_lines(run, &set, NULL, &scratch);
    }
    scratch_release(&scratch);
    free(set.samples);
    return good;
}

static bool pool_all(struct calibration_run *run, const struct fitted *all) {
    for (int kernel = 0; kernel < HARDWARE_KERNEL_COUNT; kernel++)
        if (!pool(run, all, (enum hardware_kernel)kernel))
            return false;
    return true;
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* The nearest other GPU that has the law; NULL where there is none. */
static const struct fitted *nearest_other(const struct fitted *all, const struct fitted *to) {
    const struct fitted *nearest = NULL;
    for (const struct fitted *from = all; from != NULL; from = from->next) {
        if (from == to || from->set->kernel != to->set->kernel)
            continue;
        if (nearest == NULL || hardware_distance(from->set->gpu, to->set->gpu) <
                                   hardware_distance(nearest->set->gpu, to->set->gpu))
            nearest = from;
    }
    return nearest;
}

static bool judge_transfer(struct calibration_run *run, const struct fitted *from,
                           const struct fitted *to) {
    struct scratch scratch;
    struct hardware_gpu gpu = to->law.gpu;
    bool good = scratch_start(&scratch, to->set->count);
    if (good) {
        hardware_transfer_law(&from->law.gpu, to->set->kernel, &gpu);
        gpu.kernels.gemm[HARDWARE_FP16] = gpu.kernels.gemm[HARDWARE_BF16];
        errors_of(to->set, &gpu, scratch.errors);
        good = add_lines(run, to->set, from->set->gpu->name, &scratch);
    }
    scratch_release(&scratch);
    return good;
}

static bool judge_transfers(struct calibration_run *run, const struct fitted *all) {
    for (const struct fitted *to = all; to != NULL; to = to->next) {
        const struct fitted *from = nearest_other(all, to);
        if (from != NULL && !judge_transfer(run, from, to))
            return false;
    }
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_header(FILE *text) {
    size_t count;
    const struct column *columns = catalog_columns(CATALOG_KERNELS, &count);
    for (size_t i = 0; i < count; i++)
        fprintf(text, "%s%s", i == 0 ? "" : ",", columns[i].name);
    fputc('\n', text);
}

/* A text cell: always quoted, since sources have commas. */
static void put_cell(FILE *text, const char *cell) {
    fputs(",\"", text);
    for (; *cell != '\0'; cell++)
        fprintf(text, *cell == '"' ? "\"\"" : "%c", *cell);
    fputc('"', text);
}

static void put_coefficients(FILE *text, const struct kernel_law_fit *law) {
    for (size_t coefficient = 0, i = 0; coefficient < HARDWARE_COEFFICIENT_COUNT; coefficient++) {
        fputc(',', text);
        if (i < law->coefficients && law->order[i] == (enum hardware_coefficient)coefficient)
            fprintf(text, "%.6g", law->values[i++]);
    }
}

static void put_row(const struct calibration_run *run, const struct fitted *fitted) {
    const struct rlhfsim_calibration_line *all = &fitted->all;
    FILE *text = run->text;
    fprintf(text, "%s,%s", fitted->set->gpu->name, hardware_kernel_name(fitted->set->kernel));
    put_coefficients(text, &fitted->law);
    fprintf(text, ",%zu,%.4f,%.4f,%.4f,%.4f,measured", all->points, all->median_error,
            all->p90_error, all->held_out_median_error, all->held_out_p90_error);
    put_cell(text, fitted->set->sources[0] == '\0' ? "measurements without a source"
                                                   : fitted->set->sources);
    fprintf(text, ",\"");
    calibration_put_command(run, text);
    if (fitted->set->frameworks[0] != '\0')
        fprintf(text, "; %s", fitted->set->frameworks);
    fputs("\"\n", text);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static enum rlhfsim_status fit_sets(struct calibration_run *run, const struct kernel_set *sets,
                                    struct fitted **all) {
    struct fitted **link = all;
    for (const struct kernel_set *set = sets; set != NULL; set = set->next) {
        *link = calloc(1, sizeof **link);
        if (*link == NULL)
            return RLHFSIM_NO_MEMORY;
        (*link)->set = set;
        if (!fit(run, *link))
            return RLHFSIM_NO_MEMORY;
        link = &(*link)->next;
    }
    return pool_all(run, *all) && judge_transfers(run, *all) ? RLHFSIM_OK : RLHFSIM_NO_MEMORY;
}

static void fitted_free(struct fitted *all) {
    while (all != NULL) {
        struct fitted *next = all->next;
        scratch_release(&all->scratch);
        free(all);
        all = next;
    }
}

static enum rlhfsim_status run_kernels(struct calibration_run *run) {
    struct kernel_set *sets = NULL;
    struct fitted *all = NULL;
    enum rlhfsim_status status = kernel_sets_read(run, &sets);
    if (status == RLHFSIM_OK && sets == NULL)
        status = rlhfsim_diagnostics_add(run->diagnostics, RLHFSIM_INVALID, run->paths[0], 0, 0,
                                         "there is no row that a law could be fitted to");
    if (status == RLHFSIM_OK)
        status = fit_sets(run, sets, &all);
    if (status == RLHFSIM_OK) {
        put_header(run->text);
        for (const struct fitted *fitted = all; fitted != NULL; fitted = fitted->next)
            put_row(run, fitted);
    }
    fitted_free(all);
    kernel_sets_free(sets);
    return status;
}

const struct calibration_kind calibration_kernels = {"kernels", "kernels.csv", run_kernels};
