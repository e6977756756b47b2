/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/calibration/pattern_search.h"

#include "sim/contract.h"

#include <math.h>

#define SOFT 0.1
#define FIRST_STEP 0.2
#define LAST_STEP 0.001
#define ROUNDS 400

double search_case_loss(double forecast, double measured) {
    double error = log(forecast / measured) / SOFT;
    return sqrt(1.0 + error * error) - 1.0;
}

struct search {
    struct search_coefficient *coefficients;
    size_t count;
    search_loss_func *loss;
    void *subject;
    double best;
};

static double total_loss(const struct search *search) {
    double loss = search->loss(search->subject);
    for (size_t i = 0; i < search->count; i++) {
        double away = log(*search->coefficients[i].value / search->coefficients[i].usual);
        loss += search->coefficients[i].hold * away * away;
    }
    return loss;
}

/* Tries a factor on one coefficient and keeps it if the loss falls. */
static bool try_factor(struct search *search, struct search_coefficient *coefficient,
                       double factor) {
    double kept = *coefficient->value;
    double next = fmin(fmax(kept * factor, coefficient->lowest), coefficient->highest);
    if (next == kept)
        return false;
    *coefficient->value = next;
    double loss = total_loss(search);
    if (loss < search->best) {
        search->best = loss;
        return true;
    }
    *coefficient->value = kept;
    return false;
}

/* As far along one coefficient as it pays. */
static bool move(struct search *search, struct search_coefficient *coefficient, double step) {
    for (int sign = 0; sign < 2; sign++) {
        double stride = sign == 0 ? step : -step;
        if (!try_factor(search, coefficient, exp(stride)))
            continue;
        while (try_factor(search, coefficient, exp(stride *= 2.0)))
            continue;
        return true;
    }
    return false;
}

double search_minimise(struct search_coefficient *coefficients, size_t count,
                       search_loss_func *loss, void *subject) {
    struct search search = {coefficients, count, loss, subject, 0.0};
    double step = FIRST_STEP;
    for (size_t i = 0; i < count; i++) {
        CONTRACT(coefficients[i].usual > 0.0, "a coefficient of 0 or below");
        *coefficients[i].value = coefficients[i].usual;
    }
    search.best = total_loss(&search);
    for (int round = 0; round < ROUNDS && step >= LAST_STEP; round++) {
        double before = search.best;
        for (size_t i = 0; i < count; i++)
            (void)move(&search, &coefficients[i], step);
        if (search.best > before * (1.0 - 0.1 * step))
            step *= 0.5;
    }
    return search.best;
}
