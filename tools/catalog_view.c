/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "catalog_view.h"

#include "page.h"
#include "text.h"

#include <string.h>

#define COLUMNS_SHOWN 8
#define LABEL_WIDTH 36

struct shown {
    const char *column;
    const char *label; /* with the unit */
};

/* The main figures of a kind; the name stands in front of them. */
static const struct shown shown[RLHFSIM_CATALOG_KINDS][COLUMNS_SHOWN] = {
    [RLHFSIM_CATALOG_GPUS] = {{"bf16_tflops", "bf16 TFLOPS"},
                              {"fp8_tflops", "fp8 TFLOPS"},
                              {"memory_gib", "memory GiB"},
                              {"memory_bandwidth_gb_per_s", "memory GB/s"},
                              {"scaleup_gb_per_s", "scale-up GB/s"},
                              {"power_w", "W"}},
    [RLHFSIM_CATALOG_NODES] = {{"gpus", "GPUs"},
                               {"gpu", "GPU"},
                               {"host_memory_gib", "host GiB"},
                               {"network_gbit_per_s", "network Gbit/s"},
                               {"provider", "provider"},
                               {"region", "region"}},
    [RLHFSIM_CATALOG_MODELS] = {{"parameters", "parameters"},
                                {"family", "family"},
                                {"layers", "layers"},
                                {"hidden", "hidden"},
                                {"max_position", "context tokens"}},
    [RLHFSIM_CATALOG_PRICES] = {{"price_usd", "USD"}, {"unit", "per"}, {"date", "date"}},
    [RLHFSIM_CATALOG_ALGORITHMS] = {{"meaning", "meaning"}},
    [RLHFSIM_CATALOG_WEIGHT_SYNC] = {{"meaning", "meaning"}},
    [RLHFSIM_CATALOG_FRAMEWORKS] = {{"matmul_share", "matmul share"},
                                    {"iteration_host_ms", "iteration ms"},
                                    {"microbatch_host_ms", "micro-batch ms"},
                                    {"weight_sync", "weight sync"},
                                    {"provenance", "provenance"}},
    [RLHFSIM_CATALOG_ENGINES] = {{"batching", "batching"},
                                 {"max_num_seqs", "sequences"},
                                 {"iteration_host_ms", "iteration ms"},
                                 {"sequence_host_us", "sequence us"},
                                 {"provenance", "provenance"}},
    [RLHFSIM_CATALOG_LENGTHS] = {{"what", "what"},
                                 {"model", "model"},
                                 {"mean", "mean"},
                                 {"cv", "cv"},
                                 {"p99", "p99"},
                                 {"max", "max"},
                                 {"limit", "limit"}},
    [RLHFSIM_CATALOG_KEYS] = {{"required", "required"},
                              {"default", "default"},
                              {"expected", "expected"}},
    [RLHFSIM_CATALOG_TOPOLOGIES] = {{"keys", "keys"}, {"meaning", "meaning"}},
    [RLHFSIM_CATALOG_WEIGHT_SYNCS] = {{"mechanism", "mechanism"},
                                      {"pause_s", "pause s"},
                                      {"tensor_ms", "tensor ms"},
                                      {"load_gb_per_s", "load GB/s"},
                                      {"points", "points"},
                                      {"provenance", "provenance"}},
    [RLHFSIM_CATALOG_STORES] = {{"tier", "tier"},
                                {"write_gb_per_s", "write GB/s"},
                                {"client_write_gb_per_s", "a client GB/s"},
                                {"read_gb_per_s", "read GB/s"},
                                {"client_read_gb_per_s", "a client GB/s"},
                                {"provenance", "provenance"}},
    [RLHFSIM_CATALOG_KERNELS] = {{"efficiency", "of the peak"},
                                 {"memory_efficiency", "of memory"},
                                 {"launch_us", "launch us"},
                                 {"points", "points"},
                                 {"held_out_median_error", "held out"},
                                 {"held_out_p90_error", "held out P90"},
                                 {"provenance", "provenance"}},
    [RLHFSIM_CATALOG_TRAINING] = {{"value", "value"},
                                  {"unit", "unit"},
                                  {"fitted", "fitted"},
                                  {"provenance", "provenance"},
                                  {"fixed_by", "fixed by"}},
    [RLHFSIM_CATALOG_FABRICS] = {{"use", "use"},
                                 {"efficiency", "ring share"},
                                 {"latency_us", "step us"},
                                 {"start_us", "start us"},
                                 {"uncertainty_percent", "uncertainty %"},
                                 {"provenance", "provenance"}},
};

static size_t row_count(const struct rlhfsim_catalog *catalog, enum rlhfsim_catalog_kind kind) {
    size_t count = 0;
    while (rlhfsim_catalog_name(catalog, kind, count) != NULL)
        count++;
    return count;
}

void catalog_view_kinds(FILE *stream, const struct rlhfsim_catalog *catalog) {
    for (int index = 0; index < RLHFSIM_CATALOG_KINDS; index++) {
        enum rlhfsim_catalog_kind kind = (enum rlhfsim_catalog_kind)index;
        const char *first = rlhfsim_catalog_name(catalog, kind, 0);
        fprintf(stream, "%-12s %4zu%s%s\n", rlhfsim_catalog_kind_name(kind),
                row_count(catalog, kind), first == NULL ? "" : ", such as ",
                first == NULL ? "" : first);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static size_t column_index(enum rlhfsim_catalog_kind kind, const char *name) {
    struct rlhfsim_catalog_column column;
    size_t index = 0;
    while (rlhfsim_catalog_column(kind, index, &column) && strcmp(column.name, name) != 0)
        index++;
    return index;
}

static struct rlhfsim_catalog_cell cell_of(const struct rlhfsim_catalog *catalog,
                                           enum rlhfsim_catalog_kind kind, const char *row,
                                           const char *column) {
    struct rlhfsim_catalog_cell cell = {.type = RLHFSIM_CATALOG_UNKNOWN, .text = ""};
    rlhfsim_catalog_cell(catalog, kind, row, column_index(kind, column), &cell);
    return cell;
}

/* Large whole numbers get their commas, everything else is as it is written. */
static struct text cell_text(const struct rlhfsim_catalog_cell *cell) {
    struct text text;
    if (cell->type == RLHFSIM_CATALOG_NUMBER && cell->number >= 1e6)
        return text_count((int64_t)cell->number);
    snprintf(text.chars, sizeof text.chars, "%s",
             cell->type == RLHFSIM_CATALOG_UNKNOWN ? "-" : cell->text);
    return text;
}

struct layout {
    enum rlhfsim_catalog_kind kind;
    int name_width, width[COLUMNS_SHOWN]; /* without the space between */
    bool right[COLUMNS_SHOWN];            /* figures stand to the right */
};

static int wider(int width, const char *text) {
    int length = (int)strlen(text);
    return length > width ? length : width;
}

bool catalog_view_is_below(const char *section, const char *name) {
    size_t length = section == NULL ? 0 : strlen(section);
    return section == NULL || (strncmp(name, section, length) == 0 && name[length] == '.');
}

static struct layout measure(const struct rlhfsim_catalog *catalog, enum rlhfsim_catalog_kind kind,
                             const char *section) {
    struct layout layout = {.kind = kind, .name_width = (int)strlen("name")};
    const char *name;
    for (size_t i = 0; i < COLUMNS_SHOWN && shown[kind][i].column != NULL; i++)
        layout.width[i] = (int)strlen(shown[kind][i].label);
    for (size_t row = 0; (name = rlhfsim_catalog_name(catalog, kind, row)) != NULL; row++) {
        if (!catalog_view_is_below(section, name))
            continue;
        layout.name_width = wider(layout.name_width, name);
        for (size_t i = 0; i < COLUMNS_SHOWN && shown[kind][i].column != NULL; i++) {
            struct rlhfsim_catalog_cell cell = cell_of(catalog, kind, name, shown[kind][i].column);
            layout.right[i] = layout.right[i] || cell.type == RLHFSIM_CATALOG_NUMBER;
            layout.width[i] = wider(layout.width[i], cell_text(&cell).chars);
        }
    }
    return layout;
}

/* The last column of words needs no width: nothing stands behind it. */
static void print_cell(FILE *stream, const struct layout *layout, size_t column, const char *text) {
    bool last = column + 1 == COLUMNS_SHOWN || shown[layout->kind][column + 1].column == NULL;
    int width = layout->width[column];
    if (layout->right[column])
        fprintf(stream, "  %*s", width, text);
    else
        fprintf(stream, "  %-*s", last ? 0 : width, text);
}

static void print_header(FILE *stream, const struct layout *layout) {
    fprintf(stream, "%-*s", layout->name_width, "name");
    for (size_t i = 0; i < COLUMNS_SHOWN && shown[layout->kind][i].column != NULL; i++)
        print_cell(stream, layout, i, shown[layout->kind][i].label);
    fputc('\n', stream);
}

void catalog_view_list(FILE *stream, const struct rlhfsim_catalog *catalog,
                       enum rlhfsim_catalog_kind kind, const char *section) {
    struct layout layout = measure(catalog, kind, section);
    const char *name;
    print_header(stream, &layout);
    for (size_t row = 0; (name = rlhfsim_catalog_name(catalog, kind, row)) != NULL; row++) {
        if (!catalog_view_is_below(section, name))
            continue;
        fprintf(stream, "%-*s", layout.name_width, name);
        for (size_t i = 0; i < COLUMNS_SHOWN && shown[kind][i].column != NULL; i++) {
            struct rlhfsim_catalog_cell cell = cell_of(catalog, kind, name, shown[kind][i].column);
            print_cell(stream, &layout, i, cell_text(&cell).chars);
        }
        fputc('\n', stream);
    }
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Long texts stand below the figures, broken into lines. */
static bool is_prose(const char *column) {
    return strcmp(column, "source") == 0 || strcmp(column, "notes") == 0 ||
           strcmp(column, "meaning") == 0;
}

static void print_figure(FILE *stream, const struct rlhfsim_catalog_column *column,
                         const struct rlhfsim_catalog_cell *cell) {
    bool known = cell->type != RLHFSIM_CATALOG_UNKNOWN;
    bool figure = cell->type == RLHFSIM_CATALOG_NUMBER && column->unit != NULL;
    fprintf(stream, "%-*s %s%s%s\n", LABEL_WIDTH, column->name,
            known ? cell_text(cell).chars : "not known", figure ? " " : "",
            figure ? column->unit : "");
}

static void print_aliases(struct page *page, const struct rlhfsim_catalog *catalog,
                          enum rlhfsim_catalog_kind kind, const char *name) {
    const char *alias;
    for (size_t i = 0; (alias = rlhfsim_catalog_alias(catalog, kind, name, i)) != NULL; i++) {
        if (i == 0)
            page_label(page, "also called");
        page_words(page, i == 0 ? "%s" : "; %s", alias);
    }
    if (rlhfsim_catalog_alias(catalog, kind, name, 0) != NULL)
        page_end(page);
}

void catalog_view_row(FILE *stream, const struct rlhfsim_catalog *catalog,
                      enum rlhfsim_catalog_kind kind, const char *name) {
    struct page page;
    struct rlhfsim_catalog_column column;
    struct rlhfsim_catalog_cell cell;
    page_start(&page, stream);
    for (size_t i = 0; rlhfsim_catalog_column(kind, i, &column); i++)
        if (!is_prose(column.name) && rlhfsim_catalog_cell(catalog, kind, name, i, &cell))
            print_figure(stream, &column, &cell);
    for (size_t i = 0; rlhfsim_catalog_column(kind, i, &column); i++)
        if (is_prose(column.name) && rlhfsim_catalog_cell(catalog, kind, name, i, &cell) &&
            cell.text[0] != '\0')
            page_paragraph(&page, column.name, "%s", cell.text);
    print_aliases(&page, catalog, kind, name);
}
