/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/tools/check_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of up to a few hundred durations, each rounded to a nanosecond, against sums in seconds. */
#define SECONDS_TOLERANCE 1e-6

struct phase_row {
    int64_t step, start, end; /* ns */
    const char *phase;
    double busy_s;
    double gpu_ns; /* spans of all GPUs in it */
    int gpus;      /* of its pools; 0: of all */
};

struct phases {
    struct phase_row *rows;
    size_t count;
    bool ordered; /* rows can be searched by time */
    bool overlap; /* they cannot: phases of several pools */
};

static double seconds(double ns) {
    return ns / 1e9;
}

/* ---- phases.csv ------------------------------------------------------------------------------*/

/* GPUs of a pool, or of the trainer's where it has none. */
static int pool_gpus(const struct check *check, const char *name) {
    for (size_t i = 0; i < check->pool_count; i++)
        if (strcmp(check->pools[i].name, name) == 0)
            return check->pools[i].gpus;
    return check->pools[0].gpus;
}

static bool is_one_of(const char *phase, const char *const *names) {
    while (*names != NULL && strcmp(phase, *names) != 0)
        names++;
    return *names != NULL;
}

/* GPUs that a phase of a split keeps busy; 0 without pools. A checkpoint has no span on a GPU, and
 * is idle time of all that trained. */
static int gpus_of_phase(const struct check *check, const char *phase) {
    static const char *const critics[] = {"values", "critic_update", NULL};
    if (check->pool_count == 0)
        return 0;
    if (strcmp(phase, "rollout") == 0)
        return pool_gpus(check, "rollout");
    if (strcmp(phase, "weight_sync") == 0)
        return pool_gpus(check, "train") + pool_gpus(check, "rollout");
    if (is_one_of(phase, critics))
        return pool_gpus(check, "critic");
    return pool_gpus(check, strcmp(phase, "reward") == 0 ? "reward" : "train");
}

static void check_phase_row(struct check *check, const struct check_table *table, size_t i,
                            struct phase_row *row, double *idle_s) {
    *row = (struct phase_row){.step = check_integer(check, table, i, 0),
                              .phase = check_cell(table, i, 1),
                              .start = check_nanoseconds(check, table, i, 2),
                              .end = check_nanoseconds(check, table, i, 3),
                              .busy_s = check_number(check, table, i, 4)};
    row->gpus = gpus_of_phase(check, row->phase);
    *idle_s = check_number(check, table, i, 5);
    double length_s = seconds((double)(row->end - row->start));
    if (!check_is_phase(row->phase))
        check_fault(check, "phases.csv: row %zu: no phase is called '%s'", i + 1, row->phase);
    if (row->end < row->start)
        check_fault(check, "phases.csv: row %zu ends before it starts", i + 1);
    if (row->busy_s < 0.0 || *idle_s < 0.0)
        check_fault(check, "phases.csv: row %zu: negative time", i + 1);
    if (!check_near(row->busy_s + *idle_s, length_s, 0.0, SECONDS_TOLERANCE))
        check_fault(check, "phases.csv: row %zu: busy + idle is not end - start", i + 1);
}

static void check_order(struct check *check, struct phases *phases) {
    phases->ordered = true;
    for (size_t i = 1; i < phases->count && check->pool_count > 0; i++)
        if (phases->rows[i].end < phases->rows[i - 1].end)
            check_fault(check, "phases.csv: row %zu ends before the one above", i + 1);
    for (size_t i = 1; i < phases->count && check->pool_count == 0; i++) {
        const struct phase_row *row = &phases->rows[i];
        if (row[0].start < row[-1].end) {
            check_fault(check, "phases.csv: row %zu starts before the one above has ended", i + 1);
            phases->ordered = false;
        }
        if (row[0].step < row[-1].step || row[0].step > row[-1].step + 1)
            check_fault(check, "phases.csv: row %zu: step %lld does not follow step %lld", i + 1,
                        (long long)row[0].step, (long long)row[-1].step);
    }
}

/* Step 0 is what runs before the first step. */
static double step_count(const struct check *check, const struct phases *phases) {
    double steps = 0.0;
    if (check->pool_count > 0) { /* rows of steps are mixed; the last row is of the last step */
        for (size_t i = 0; i < phases->count; i++)
            steps = fmax(steps, (double)phases->rows[i].step);
        return steps;
    }
    for (size_t i = 0; i < phases->count; i++)
        if (phases->rows[i].step > 0 &&
            (i == 0 || phases->rows[i - 1].step != phases->rows[i].step))
            steps += 1.0;
    return steps;
}

static double phase_total_ns(const struct phases *phases, const char *name) {
    double total = 0.0;
    for (size_t i = 0; i < phases->count; i++)
        if (name == NULL || strcmp(phases->rows[i].phase, name) == 0)
            total += (double)(phases->rows[i].end - phases->rows[i].start);
    return total;
}

static void check_sums(struct check *check, const struct phases *phases, double idle_s) {
    double steps = step_count(check, phases), total_s = seconds(phase_total_ns(phases, NULL));
    if (check->pool_count > 0) {
        double busy_s = 0.0; /* of all GPUs */
        total_s = phases->count > 0 ? seconds((double)phases->rows[phases->count - 1].end) : 0.0;
        for (size_t i = 0; i < phases->count; i++)
            busy_s += phases->rows[i].busy_s * phases->rows[i].gpus;
        idle_s = total_s - busy_s / check->gpus;
    }
    if (steps < 1.0 || total_s <= 0.0) {
        check_fault(check, "phases.csv: no step");
        return;
    }
    check_agrees(check, "time.total_s", total_s);
    check_agrees(check, "time.step_s", total_s / steps);
    check_agrees(check, "gpu_hours", total_s * check->gpus / 3600.0);
    double idle_fraction;
    if (check_exact_figure(check, "idle_fraction", &idle_fraction) &&
        !check_near(idle_fraction, idle_s / total_s, 0.0, 1e-6))
        check_fault(check, "summary.json: idle_fraction is %.17g, the files say %.17g",
                    idle_fraction, idle_s / total_s);
    for (size_t i = 0; check_phases[i] != NULL; i++) {
        char path[64];
        snprintf(path, sizeof path, "time.phases_s.%s", check_phases[i]);
        check_agrees(check, path, seconds(phase_total_ns(phases, check_phases[i])) / steps);
    }
}

/* ---- timeline.csv ----------------------------------------------------------------------------*/

struct span {
    int gpu;
    int64_t start, end;
};

static int compare_spans(const void *left, const void *right) {
    const struct span *a = left, *b = right;
    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static void check_overlaps(struct check *check, struct span *spans, size_t count) {
    qsort(spans, count, sizeof *spans, compare_spans);
    for (size_t i = 1; i < count; i++)
        if (spans[i].gpu == spans[i - 1].gpu && spans[i].start < spans[i - 1].end)
            check_fault(check, "timeline.csv: gpu%d is busy twice at %.9f s", spans[i].gpu,
                        seconds((double)spans[i].start));
}

/* The last row that starts no later than `start`; count when there is none. */
static size_t row_at(const struct phases *phases, int64_t start) {
    size_t low = 0, high = phases->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (phases->rows[middle].start <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : phases->count;
}

/* Rows may touch and may be empty, so more than one can hold a span that has no length. */
static struct phase_row *find_row(const struct phases *phases, int64_t step, const char *phase,
                                  int64_t start, int64_t end) {
    for (size_t i = 0; i < phases->count && phases->overlap; i++) {
        struct phase_row *row = &phases->rows[i];
        if (row->step == step && row->start <= start && end <= row->end &&
            strcmp(row->phase, phase) == 0)
            return row;
    }
    if (phases->overlap)
        return NULL;
    for (size_t i = row_at(phases, start); i < phases->count; i--) {
        struct phase_row *row = &phases->rows[i];
        if (row->end < start)
            return NULL;
        if (row->step == step && end <= row->end && strcmp(row->phase, phase) == 0)
            return row;
    }
    return NULL;
}

/* A checkpoint written in the background starts in its phase and ends after it. */
static bool in_background(const struct phases *phases, int64_t step, const char *resource,
                          const char *phase, int64_t start) {
    return strcmp(resource, "store") == 0 && strcmp(phase, "checkpoint") == 0 &&
           find_row(phases, step, phase, start, start) != NULL;
}

/* What a neighbour does belongs to no phase. */
static bool is_neighbour(const char *resource, const char *phase) {
    return strcmp(resource, "neighbour") == 0 && strcmp(phase, "background") == 0;
}

static struct span check_span(struct check *check, const struct check_table *table, size_t i,
                              const struct phases *phases) {
    int64_t start = check_nanoseconds(check, table, i, 0);
    int64_t end = check_nanoseconds(check, table, i, 1);
    int64_t step = check_integer(check, table, i, 2);
    int gpu = check_gpu_number(check_cell(table, i, 3));
    const char *phase = check_cell(table, i, 4);
    if (end < start)
        check_fault(check, "timeline.csv: row %zu ends before it starts", i + 1);
    if (check_number(check, table, i, 6) < 0.0 || check_number(check, table, i, 7) < 0.0)
        check_fault(check, "timeline.csv: row %zu: negative bytes or flops", i + 1);
    struct phase_row *row = find_row(phases, step, phase, start, end);
    if (row == NULL && !is_neighbour(check_cell(table, i, 3), phase) &&
        !in_background(phases, step, check_cell(table, i, 3), phase, start))
        check_fault(check, "timeline.csv: row %zu is in no '%s' of step %lld in phases.csv", i + 1,
                    phase, (long long)step);
    else if (row != NULL && gpu >= 0)
        row->gpu_ns += (double)(end - start);
    if (gpu >= check->gpus)
        check->gpus = gpu + 1;
    return (struct span){gpu, start, end};
}

static void check_busy(struct check *check, const struct phases *phases) {
    for (size_t i = 0; i < phases->count; i++) {
        int gpus = phases->rows[i].gpus > 0 ? phases->rows[i].gpus : check->gpus;
        double busy_s = seconds(phases->rows[i].gpu_ns) / (gpus > 0 ? gpus : 1);
        if (!check_near(phases->rows[i].busy_s, busy_s, 1e-6, SECONDS_TOLERANCE))
            check_fault(check, "phases.csv: row %zu: busy_s is %.9f, the spans say %.9f", i + 1,
                        phases->rows[i].busy_s, busy_s);
    }
}

static void check_spans(struct check *check, const struct phases *phases) {
    struct check_table table;
    if (!check_table_read(check, "timeline.csv",
                          "start_s,end_s,step,resource,phase,model,bytes,flops", &table))
        return;
    struct span *spans = calloc(table.rows + 1, sizeof *spans);
    size_t count = 0;
    check->spans = table.rows;
    for (size_t i = 0; i < table.rows; i++) {
        struct span span = check_span(check, &table, i, phases);
        if (span.gpu >= 0)
            spans[count++] = span;
    }
    check_overlaps(check, spans, count);
    check_busy(check, phases);
    free(spans);
    check_table_free(&table);
}

void check_timelines(struct check *check) {
    struct check_table table;
    if (!check_table_read(check, "phases.csv", "step,phase,start_s,end_s,busy_s,idle_s", &table))
        return;
    struct phases phases = {.rows = calloc(table.rows + 1, sizeof *phases.rows),
                            .count = table.rows,
                            .overlap = check->pool_count > 0};
    double idle_s = 0.0;
    for (size_t i = 0; i < table.rows; i++) {
        double row_idle_s;
        check_phase_row(check, &table, i, &phases.rows[i], &row_idle_s);
        idle_s += row_idle_s;
    }
    check_order(check, &phases);
    if (phases.ordered)
        check_spans(check, &phases);
    check_sums(check, &phases, idle_s);
    free(phases.rows);
    check_table_free(&table);
}
