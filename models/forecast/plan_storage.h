/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_PLAN_STORAGE_H
#define MODELS_FORECAST_PLAN_STORAGE_H

/*
 * What a run writes to its store and reads from it: see plan_storage.c.
 */

#include "models/forecast/plan.h"

/* Fills plan->checkpoint and plan->load. */
void forecast_plan_storage(struct forecast_plan *plan);

/* What is loaded: bytes read, and seconds until the last is there. */
double forecast_load_bytes(const struct forecast_plan *plan);
double forecast_load_s(const struct forecast_plan *plan);

/* What gathering one checkpoint sends from zone to zone, in bytes. */
double forecast_save_zone_bytes(const struct forecast_plan *plan);

#endif
