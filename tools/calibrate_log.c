/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calibrate_log.h"

#include "catalog_path.h"
#include "diagnose.h"
#include "gaps.h"

#include <stdio.h>

static void note(const struct rlhfsim_comparison *comparison, const char *out) {
    struct page page;
    page_start(&page, stdout);
    page_title(&page, "log");
    gaps_table(&page, comparison, true);
    gaps_factors(&page, comparison);
    gaps_notes(&page, comparison);
    page_paragraph(&page, "Written", "%s", out);
}

static enum rlhfsim_status put(const struct calibrate_log *request,
                               const struct rlhfsim_comparison *comparison,
                               struct rlhfsim_diagnostics *diagnostics) {
    if (request->out == NULL) {
        fputs(rlhfsim_comparison_text(comparison), stdout);
        return RLHFSIM_OK;
    }
    enum rlhfsim_status status = rlhfsim_comparison_write(comparison, request->out, diagnostics);
    if (status == RLHFSIM_OK)
        note(comparison, request->out);
    return status;
}

int calibrate_log(const struct calibrate_log *request) {
    char catalog[PATH_MAX];
    struct rlhfsim_comparison *comparison = NULL;
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario_options load = {.catalog_directory = catalog,
                                            .user_directories = request->catalogs,
                                            .user_directory_count = request->catalog_count,
                                            .sets = request->sets,
                                            .set_count = request->set_count};
    struct rlhfsim_comparison_options options = {.scenario = request->scenario,
                                                 .load = &load,
                                                 .logs = request->logs,
                                                 .log_count = request->log_count,
                                                 .fit = true};
    enum rlhfsim_status status =
        diagnostics == NULL ? RLHFSIM_NO_MEMORY : catalog_path_find(catalog, diagnostics);
    if (status == RLHFSIM_OK)
        status = rlhfsim_comparison_make(&options, diagnostics, &comparison);
    if (status == RLHFSIM_OK)
        status = put(request, comparison, diagnostics);
    if (status != RLHFSIM_OK)
        diagnose_all(request->program, status, diagnostics);
    rlhfsim_comparison_free(comparison);
    rlhfsim_diagnostics_free(diagnostics);
    return rlhfsim_status_exit(status);
}
