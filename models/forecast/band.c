/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/band.h"

#include <math.h>

struct results_figure forecast_band_of(const struct results_figure *figure,
                                       const struct scenario_band *band) {
    if (!figure->known || !(figure->p10 > 0.0) || !(band->p10 > 0.0))
        return (struct results_figure){.known = false};
    double below = hypot(log(figure->p50 / figure->p10), log(band->p50 / band->p10));
    double above = hypot(log(figure->p90 / figure->p50), log(band->p90 / band->p50));
    double middle = figure->p50 * band->p50;
    return (struct results_figure){
        .known = true, .p10 = middle * exp(-below), .p50 = middle, .p90 = middle * exp(above)};
}
