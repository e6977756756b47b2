/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_SESSION_H
#define TOOLS_SESSION_H

/*
 * What a command that reads a scenario does before and after its own work:
 *
 *     status = session_load(&session, &options);
 *     if (status == RLHFSIM_OK)
 *         status = rlhfsim_forecast_...(session.scenario, ..., &session.forecast);
 *     return session_end(&session, status, note);
 */

#include "options.h"

#include <rlhfsim/rlhfsim.h>

#include <stdio.h>

struct session {
    const struct options *options;
    struct rlhfsim_diagnostics *diagnostics;
    struct rlhfsim_scenario *scenario;
    struct rlhfsim_forecast *forecast;
    struct rlhfsim_advice *advice;             /* where memory does not fit; of session_advise */
    bool wants_min_gpus, wants_max_microbatch; /* set by the command before session_advise */
    struct rlhfsim_search min_gpus, max_microbatch;
};

/* Loads the scenario with the catalogs, settings and seed of the options, which must outlive the
 * session. session_end follows, whatever the status. */
enum rlhfsim_status session_load(struct session *session, const struct options *options);

/* Finds what makes the scenario fit where it does not, and what the command wants to know. */
enum rlhfsim_status session_advise(struct session *session, enum rlhfsim_status status);

typedef void(session_note)(FILE *stream, const struct rlhfsim_scenario *scenario,
                           const struct rlhfsim_forecast *forecast);

/* Prints the forecast on stdout, as its note or as JSON; without one, the errors on stderr. Frees
 * everything and gives the exit status. */
int session_end(struct session *session, enum rlhfsim_status status, session_note *note);

#endif
