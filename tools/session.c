/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include "catalog_path.h"
#include "diagnose.h"

#include <stdlib.h>

enum rlhfsim_status session_load(struct session *session, const struct options *options) {
    char catalog[PATH_MAX];
    *session = (struct session){.options = options, .diagnostics = rlhfsim_diagnostics_new()};
    if (session->diagnostics == NULL)
        return RLHFSIM_NO_MEMORY;
    enum rlhfsim_status status = catalog_path_find(catalog, session->diagnostics);
    if (status != RLHFSIM_OK)
        return status;
    struct rlhfsim_scenario_options how = {.catalog_directory = catalog,
                                           .user_directories = options->catalogs,
                                           .user_directory_count = options->catalog_count,
                                           .sets = options->sets,
                                           .set_count = options->set_count,
                                           .seed = options->has_seed ? &options->seed : NULL};
    return rlhfsim_scenario_load(options->scenario, &how, session->diagnostics, &session->scenario);
}

static enum rlhfsim_status print_json(const struct rlhfsim_forecast *forecast) {
    char *json = rlhfsim_summary_json(rlhfsim_forecast_summary(forecast));
    if (json == NULL)
        return RLHFSIM_NO_MEMORY;
    fputs(json, stdout);
    free(json);
    return RLHFSIM_OK;
}

int session_end(struct session *session, enum rlhfsim_status status, session_note *note) {
    enum rlhfsim_status printed = RLHFSIM_OK;
    if (session->forecast != NULL && session->options->json)
        printed = print_json(session->forecast);
    else if (session->forecast != NULL)
        note(stdout, session->scenario, session->forecast);
    if (printed != RLHFSIM_OK)
        status = printed;
    if (session->forecast == NULL || printed != RLHFSIM_OK)
        diagnose_all(session->options->program, status, session->diagnostics);
    rlhfsim_forecast_free(session->forecast);
    rlhfsim_scenario_free(session->scenario);
    rlhfsim_diagnostics_free(session->diagnostics);
    return rlhfsim_status_exit(status);
}
