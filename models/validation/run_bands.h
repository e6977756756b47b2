/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_RUN_BANDS_H
#define MODELS_VALIDATION_RUN_BANDS_H

/*
 * Which band of models/scenario/bands.h a printed figure belongs to:
 *
 *     step      step_s; tokens_per_s and tokens_per_s_per_gpu, as reciprocals
 *     rollout   generation_s
 *     update    actor_update_s, critic_update_s
 *     logprob   actor_logprob_s, reference_logprob_s, values_s, experience_s
 */

#include "models/scenario/bands.h"

/* SCENARIO_BANDS where it belongs to none; *rate: it falls where seconds rise. */
enum scenario_band_metric run_band_metric(const char *metric, bool *rate);

#endif
