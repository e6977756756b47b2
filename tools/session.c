/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include "advice.h"
#include "catalog_path.h"
#include "diagnose.h"

#include <stdlib.h>
#include <string.h>

static struct rlhfsim_scenario_options how_to_load(const struct options *options,
                                                   const char *catalog) {
    return (struct rlhfsim_scenario_options){.catalog_directory = catalog,
                                             .user_directories = options->catalogs,
                                             .user_directory_count = options->catalog_count,
                                             .sets = options->sets,
                                             .set_count = options->set_count,
                                             .calibration = options->calibration,
                                             .seed = options->has_seed ? &options->seed : NULL};
}

enum rlhfsim_status session_load(struct session *session, const struct options *options) {
    char catalog[PATH_MAX];
    *session = (struct session){.options = options, .diagnostics = rlhfsim_diagnostics_new()};
    if (session->diagnostics == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = catalog_path_find(catalog, session->diagnostics);
    if (status != RLHFSIM_OK)
        return status;
    struct rlhfsim_scenario_options how = how_to_load(options, catalog);
    return rlhfsim_scenario_load(options->scenario, &how, session->diagnostics, &session->scenario);
}

/* ---- advice ---------------------------------------------------------------------------------- */

static enum rlhfsim_status ask(struct session *session, const struct rlhfsim_source *source,
                               bool changes) {
    struct rlhfsim_diagnostics *diagnostics = session->diagnostics;
    enum rlhfsim_status status = RLHFSIM_OK;
    if (changes)
        status = rlhfsim_advice_find(source, diagnostics, &session->advice);
    if (status == RLHFSIM_OK && session->wants_min_gpus)
        status = rlhfsim_search_min_gpus(source, diagnostics, &session->min_gpus);
    if (status == RLHFSIM_OK && session->wants_max_microbatch)
        status = rlhfsim_search_max_microbatch(source, diagnostics, &session->max_microbatch);
    return status;
}

enum rlhfsim_status session_advise(struct session *session, enum rlhfsim_status status) {
    char catalog[PATH_MAX];
    struct rlhfsim_source *source = NULL;
    bool changes = status == RLHFSIM_INFEASIBLE;
    bool searches = session->wants_min_gpus || session->wants_max_microbatch;
    if (session->forecast == NULL || (!changes && !searches))
        return status;
    enum rlhfsim_status asked = catalog_path_find(catalog, session->diagnostics);
    struct rlhfsim_scenario_options how = how_to_load(session->options, catalog);
    if (asked == RLHFSIM_OK)
        asked =
            rlhfsim_source_read(session->options->scenario, &how, session->diagnostics, &source);
    if (asked == RLHFSIM_OK)
        asked = ask(session, source, changes);
    rlhfsim_source_free(source);
    return asked == RLHFSIM_OK ? status : asked;
}

static void note_advice(const struct session *session) {
    struct page page;
    page_start(&page, stdout);
    if (session->advice != NULL)
        advice_changes(&page, session->advice);
    if (session->wants_min_gpus)
        advice_min_gpus(&page, &session->min_gpus);
    if (session->wants_max_microbatch)
        advice_max_microbatch(&page, &session->max_microbatch);
}

/* Members more of the summary's object, whose last line is its brace. */
static void print_advice_json(const struct session *session) {
    if (session->advice != NULL)
        advice_changes_json(stdout, session->advice);
    if (session->wants_min_gpus)
        advice_search_json(stdout, "min_gpus", &session->min_gpus);
    if (session->wants_max_microbatch)
        advice_search_json(stdout, "max_microbatch", &session->max_microbatch);
}

static enum rlhfsim_status print_json(const struct session *session) {
    char *json = rlhfsim_summary_json(rlhfsim_forecast_summary(session->forecast));
    if (json == NULL)
        return RLHFSIM_NO_MEMORY;
    char *brace = strrchr(json, '}');
    size_t body = (size_t)(brace - json);
    while (body > 0 && json[body - 1] == '\n')
        body--;
    fwrite(json, 1, body, stdout);
    print_advice_json(session);
    printf("\n%s", brace);
    free(json);
    return RLHFSIM_OK;
}

int session_end(struct session *session, enum rlhfsim_status status, session_note *note) {
    enum rlhfsim_status printed = RLHFSIM_OK;
    if (session->forecast != NULL && session->options->json) {
        printed = print_json(session);
    } else if (session->forecast != NULL) {
        note(stdout, session->scenario, session->forecast);
        note_advice(session);
    }
    if (printed != RLHFSIM_OK)
        status = printed;
    if (session->forecast == NULL || printed != RLHFSIM_OK)
        diagnose_all(session->options->program, status, session->diagnostics);
    rlhfsim_advice_free(session->advice);
    rlhfsim_forecast_free(session->forecast);
    rlhfsim_scenario_free(session->scenario);
    rlhfsim_diagnostics_free(session->diagnostics);
    return rlhfsim_status_exit(status);
}
