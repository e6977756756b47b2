/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline.h"

#include "catalog_path.h"
#include "diagnose.h"
#include "interrupt.h"
#include "page.h"
#include "progress.h"
#include "text.h"
#include "verdict.h"
#include "whole_file.h"

#include <stdlib.h>
#include <string.h>

struct stage {
    struct rlhfsim_stage plan;
    struct rlhfsim_scenario *scenario;
    struct rlhfsim_forecast *forecast; /* NULL: not reached */
};

/* Sums over the stages, each as often as it runs. */
struct total {
    struct rlhfsim_value time, money, gpu_hours;
};

struct run {
    const struct pipeline_request *request;
    struct stage *stages;
    size_t count;
};

/* ---- reading --------------------------------------------------------------------------------- */

static enum rlhfsim_status load_stage(const struct run *run, size_t index, const char *catalog) {
    const struct options *options = run->request->options;
    struct stage *stage = &run->stages[index];
    size_t count = stage->plan.set_count + options->set_count;
    const char **sets = malloc((count + 1) * sizeof *sets);
    if (sets == NULL)
        return RLHFSIM_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        sets[i] = i < stage->plan.set_count ? stage->plan.sets[i]
                                            : options->sets[i - stage->plan.set_count];
    struct rlhfsim_scenario_options how = {.catalog_directory = catalog,
                                           .user_directories = options->catalogs,
                                           .user_directory_count = options->catalog_count,
                                           .sets = sets,
                                           .set_count = count,
                                           .calibration = options->calibration,
                                           .seed = options->has_seed ? &options->seed : NULL};
    enum rlhfsim_status status =
        rlhfsim_scenario_load(stage->plan.path, &how, run->request->diagnostics, &stage->scenario);
    if (status == RLHFSIM_INVALID)
        status = rlhfsim_pipeline_blame(run->request->pipeline, index, run->request->diagnostics);
    free(sets);
    return status;
}

static enum rlhfsim_status load_stages(struct run *run) {
    char catalog[PATH_MAX];
    struct rlhfsim_stage plan;
    while (rlhfsim_pipeline_stage(run->request->pipeline, run->count, &plan))
        run->count++;
    run->stages = calloc(run->count, sizeof *run->stages);
    if (run->stages == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status worst = catalog_path_find(catalog, run->request->diagnostics);
    for (size_t i = 0; i < run->count && (worst == RLHFSIM_OK || worst == RLHFSIM_INVALID); i++) {
        (void)rlhfsim_pipeline_stage(run->request->pipeline, i, &run->stages[i].plan);
        enum rlhfsim_status status = load_stage(run, i, catalog);
        worst = status == RLHFSIM_OK ? worst : status;
    }
    return worst;
}

/* ---- running --------------------------------------------------------------------------------- */

/* A bar over all stages: each has an equal part. */
struct part {
    struct progress *progress;
    double done, share;
};

static bool update(void *subject, double share_done) {
    struct part *part = subject;
    return progress_update(part->progress, part->done + part->share * share_done);
}

static enum rlhfsim_status forecast_stage(const struct run *run, size_t index,
                                          struct progress *progress) {
    const struct pipeline_request *request = run->request;
    struct stage *stage = &run->stages[index];
    struct part part = {progress, (double)index / (double)run->count, 1.0 / (double)run->count};
    char *folder = NULL;
    if (request->replicates == 0)
        return rlhfsim_forecast_check(stage->scenario, request->diagnostics, &stage->forecast);
    if (request->out != NULL && (folder = whole_file_path(request->out, stage->plan.name)) == NULL)
        return RLHFSIM_NO_MEMORY;
    struct rlhfsim_forecast_options how = {.replicates = request->replicates,
                                           .ignore_memory = request->options->ignore_memory,
                                           .output_directory = folder,
                                           .progress = update,
                                           .progress_subject = &part};
    enum rlhfsim_status status =
        rlhfsim_forecast_run(stage->scenario, &how, request->diagnostics, &stage->forecast);
    free(folder);
    return status;
}

/* A check goes on behind a stage that does not fit, a run cannot. */
static enum rlhfsim_status forecast_stages(const struct run *run) {
    struct progress progress;
    enum rlhfsim_status worst = RLHFSIM_OK;
    interrupt_watch();
    progress_start(&progress, run->request->options->quiet);
    for (size_t i = 0; i < run->count; i++) {
        enum rlhfsim_status status = forecast_stage(run, i, &progress);
        if (status == RLHFSIM_INFEASIBLE && run->request->replicates == 0 &&
            run->request->options->ignore_memory)
            status = RLHFSIM_OK;
        worst = status == RLHFSIM_OK ? worst : status;
        if (worst != RLHFSIM_OK && (worst != RLHFSIM_INFEASIBLE || run->request->replicates > 0))
            break;
    }
    progress_finish(&progress);
    return worst;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static struct rlhfsim_value value_of(const struct stage *stage, const char *path) {
    struct rlhfsim_value unknown = {.kind = RLHFSIM_VALUE_UNKNOWN};
    return stage->forecast == NULL ? unknown
                                   : verdict_value(rlhfsim_forecast_summary(stage->forecast), path);
}

/* Quantiles add where the stages are short and long together: the band of the sum is at most that
 * wide. Unknown where one is. */
static struct rlhfsim_value sum_of(const struct run *run, const char *path) {
    struct rlhfsim_value sum = {.kind = RLHFSIM_VALUE_FIGURE};
    for (size_t i = 0; i < run->count; i++) {
        struct rlhfsim_value value = value_of(&run->stages[i], path);
        double times = (double)run->stages[i].plan.times;
        if (value.kind != RLHFSIM_VALUE_FIGURE)
            return (struct rlhfsim_value){.kind = RLHFSIM_VALUE_UNKNOWN};
        sum.p10 += times * value.p10;
        sum.p50 += times * value.p50;
        sum.p90 += times * value.p90;
    }
    return sum;
}

static struct total total_of(const struct run *run) {
    return (struct total){sum_of(run, "time.total_s"), sum_of(run, "cost.total_usd"),
                          sum_of(run, "gpu_hours")};
}

/* ---- the note -------------------------------------------------------------------------------- */

static const char *fits_word(const struct stage *stage) {
    struct rlhfsim_value fits = value_of(stage, "memory.fits");
    return fits.kind != RLHFSIM_VALUE_FLAG ? "not reached" : fits.flag ? "fits" : "does not fit";
}

static void note_stage(struct page *page, const struct stage *stage, bool ran) {
    struct rlhfsim_value time = value_of(stage, "time.total_s");
    struct rlhfsim_value money = value_of(stage, "cost.total_usd");
    struct rlhfsim_value peak = value_of(stage, "memory.peak_bytes");
    page_label(page, stage->plan.name);
    if (strlen(stage->plan.name) >= PAGE_INDENT) {
        page_end(page);
        page_label(page, "");
    }
    page_words(page, "%s", fits_word(stage));
    if (stage->forecast != NULL)
        page_words(page, ": peak %s", text_figure(&peak, text_gb).chars);
    if (ran && time.kind == RLHFSIM_VALUE_FIGURE)
        page_words(page, "; %s; %s", text_figure(&time, text_duration).chars,
                   text_figure(&money, text_usd).chars);
    if (stage->plan.times > 1)
        page_words(page, "; %s times", text_count(stage->plan.times).chars);
    page_end(page);
}

static void note(const struct run *run) {
    struct page page;
    struct total total = total_of(run);
    bool ran = run->request->replicates > 0;
    page_start(&page, stdout);
    page_title(&page, rlhfsim_pipeline_name(run->request->pipeline));
    for (size_t i = 0; i < run->count; i++)
        note_stage(&page, &run->stages[i], ran);
    if (ran && total.time.kind == RLHFSIM_VALUE_FIGURE)
        page_paragraph(&page, "Together", "%s; %s; %s",
                       text_figure(&total.time, text_duration).chars,
                       text_figure(&total.money, text_usd).chars,
                       text_figure(&total.gpu_hours, text_gpu_hours).chars);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_figure(FILE *stream, const char *name, struct rlhfsim_value value) {
    fprintf(stream, "\"%s\": ", name);
    if (value.kind == RLHFSIM_VALUE_FIGURE)
        fprintf(stream, "{\"p10\": %.9g, \"p50\": %.9g, \"p90\": %.9g}", value.p10, value.p50,
                value.p90);
    else
        fputs("null", stream);
}

static void put_flag(FILE *stream, const char *name, struct rlhfsim_value value) {
    fprintf(stream, "\"%s\": %s", name,
            value.kind != RLHFSIM_VALUE_FLAG ? "null"
            : value.flag                     ? "true"
                                             : "false");
}

/* Names of stages and of the pipeline have no sign that JSON would mind. */
static void put_stage(FILE *stream, const struct stage *stage) {
    fprintf(stream, "    {\"stage\": \"%s\", \"times\": %lld, ", stage->plan.name,
            (long long)stage->plan.times);
    put_flag(stream, "fits", value_of(stage, "memory.fits"));
    fputs(", ", stream);
    put_figure(stream, "total_s", value_of(stage, "time.total_s"));
    fputs(", ", stream);
    put_figure(stream, "total_usd", value_of(stage, "cost.total_usd"));
    fputs(", ", stream);
    put_figure(stream, "gpu_hours", value_of(stage, "gpu_hours"));
    putc('}', stream);
}

static struct rlhfsim_value all_fit(const struct run *run) {
    struct rlhfsim_value all = {.kind = RLHFSIM_VALUE_FLAG, .flag = true};
    for (size_t i = 0; i < run->count; i++) {
        struct rlhfsim_value fits = value_of(&run->stages[i], "memory.fits");
        if (fits.kind == RLHFSIM_VALUE_FLAG && fits.flag)
            continue;
        if (fits.kind == RLHFSIM_VALUE_FLAG)
            return fits;
        all = fits;
    }
    return all;
}

static void put_json(FILE *stream, const void *subject) {
    const struct run *run = subject;
    struct total total = total_of(run);
    fprintf(stream, "{\n  \"name\": \"%s\",\n  \"time\": {",
            rlhfsim_pipeline_name(run->request->pipeline));
    put_figure(stream, "total_s", total.time);
    fputs("},\n  \"cost\": {", stream);
    put_figure(stream, "total_usd", total.money);
    fputs("},\n  ", stream);
    put_figure(stream, "gpu_hours", total.gpu_hours);
    fputs(",\n  \"memory\": {", stream);
    put_flag(stream, "fits", all_fit(run));
    fputs("},\n  \"stages\": [\n", stream);
    for (size_t i = 0; i < run->count; i++) {
        put_stage(stream, &run->stages[i]);
        fputs(i + 1 < run->count ? ",\n" : "\n", stream);
    }
    fputs("  ]\n}\n", stream);
}

/* ---- all ------------------------------------------------------------------------------------- */

static enum rlhfsim_status print(const struct run *run, enum rlhfsim_status status) {
    enum rlhfsim_status written = RLHFSIM_OK;
    if (status != RLHFSIM_OK && status != RLHFSIM_INFEASIBLE)
        return status;
    if (run->request->out != NULL)
        written = whole_file_write(run->request->out, "summary.json", put_json, run,
                                   run->request->diagnostics);
    if (written != RLHFSIM_OK)
        return written;
    if (run->request->options->json)
        put_json(stdout, run);
    else
        note(run);
    return status;
}

enum rlhfsim_status pipeline_find(struct pipeline_request *request) {
    request->diagnostics = rlhfsim_diagnostics_new();
    enum rlhfsim_status status =
        request->diagnostics == NULL
            ? RLHFSIM_NO_MEMORY
            : rlhfsim_pipeline_read(request->options->scenario, request->diagnostics,
                                    &request->pipeline);
    if (status != RLHFSIM_OK)
        diagnose_all(request->options->program, status, request->diagnostics);
    if (status != RLHFSIM_OK || request->pipeline == NULL)
        rlhfsim_diagnostics_free(request->diagnostics);
    return status;
}

void pipeline_drop(struct pipeline_request *request) {
    if (request->pipeline != NULL)
        rlhfsim_diagnostics_free(request->diagnostics);
    rlhfsim_pipeline_free(request->pipeline);
    request->pipeline = NULL;
}

int pipeline_execute(const struct pipeline_request *request) {
    struct run run = {.request = request};
    enum rlhfsim_status status = load_stages(&run);
    if (status == RLHFSIM_OK && request->out != NULL)
        status = whole_file_folder(request->out, request->diagnostics);
    if (status == RLHFSIM_OK)
        status = print(&run, forecast_stages(&run));
    if (status != RLHFSIM_OK && status != RLHFSIM_INFEASIBLE)
        diagnose_all(request->options->program, status, request->diagnostics);
    for (size_t i = 0; run.stages != NULL && i < run.count; i++) {
        rlhfsim_forecast_free(run.stages[i].forecast);
        rlhfsim_scenario_free(run.stages[i].scenario);
    }
    free(run.stages);
    rlhfsim_pipeline_free(request->pipeline);
    rlhfsim_diagnostics_free(request->diagnostics);
    return rlhfsim_status_exit(status);
}
