/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_FORECAST_BAND_H
#define MODELS_FORECAST_BAND_H

#include "models/results/summary.h"
#include "models/scenario/bands.h"

/*
 * Where a measured time is expected: what chance makes of the run (the figure's quantiles over
 * replicates) and the model's own error (the band) as independent factors. Distances from the
 * middle add up as squares of logarithms, which is exact where both are lognormal:
 *
 *     p50 = figure.p50 x band.p50
 *     p90 = p50 x exp(sqrt(ln(figure.p90 / figure.p50)^2 + ln(band.p90 / band.p50)^2))
 *
 * Unknown where the figure is not above 0, or no run tells the band.
 */
struct results_figure forecast_band_of(const struct results_figure *figure,
                                       const struct scenario_band *band);

#endif
