/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What all laws share: the scale, the cut, the share that reaches the limit, whole tokens. With
 * c = cap_share and L the limit, lengths are L with probability c and else min(X, L):
 *
 *     mean = c L + (1 - c) E min(X, L),   share cut = c + (1 - c) P(X > L),
 *
 * and the length of probability u is that of X at u / (1 - c), above 1 - c the limit.
 */
#include "models/generation/lengths.h"

#include "models/generation/length_table.h"
#include "models/generation/length_type.h"
#include "sim/contract.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#define LONGEST_LENGTH 4294967295.0

/* The uniform variates next to 0 and 1 (sim/random.h). */
#define LEAST_U 0x1p-53
#define LARGEST_U (1.0 - 0x1p-53)

static const struct generation_length_type *const types[GENERATION_LENGTH_LAWS] = {
    [GENERATION_LENGTH_FIXED] = &generation_length_fixed,
    [GENERATION_LENGTH_LOGNORMAL] = &generation_length_lognormal,
    [GENERATION_LENGTH_GAMMA] = &generation_length_gamma,
    [GENERATION_LENGTH_WEIBULL] = &generation_length_weibull,
    [GENERATION_LENGTH_HISTOGRAM] = &generation_length_histogram,
    [GENERATION_LENGTH_TRACE] = &generation_length_trace,
};

const char *generation_length_law_name(enum generation_length_law law) {
    return types[law]->name;
}

struct generation_lengths generation_lengths_of_bins(enum generation_length_law law,
                                                     const struct generation_length_bins *bins,
                                                     double limit) {
    return (struct generation_lengths){
        .type = types[law], .scale = 1.0, .limit = limit, .bins = bins};
}

bool generation_lengths_tabulate(struct generation_lengths *lengths) {
    if (lengths->width == 0.0 || lengths->type->tabulate == NULL)
        return true;
    lengths->quantiles = lengths->type->tabulate(lengths);
    return lengths->quantiles != NULL;
}

void generation_lengths_release(struct generation_lengths *lengths) {
    free((void *)(uintptr_t)lengths->quantiles);
    lengths->quantiles = NULL;
}

/* ---- one length --------------------------------------------------------------------------- */

static bool is_constant(const struct generation_lengths *lengths) {
    return lengths->width == 0.0 && lengths->bins == NULL;
}

double generation_length_quantile(const struct generation_lengths *law, double u) {
    if (is_constant(law))
        return 1.0;
    return law->type->quantile != NULL ? law->type->quantile(law, u)
                                       : law->type->score(law, gsl_cdf_ugaussian_Pinv(u));
}

static uint32_t whole_tokens(double length) {
    if (length < 1.0)
        return 1;
    return length >= LONGEST_LENGTH ? UINT32_MAX : (uint32_t)(length + 0.5);
}

uint32_t generation_length_rounded(const struct generation_lengths *lengths, double length,
                                   bool *cut) {
    bool is_cut = lengths->limit > 0.0 && length > lengths->limit;
    if (cut != NULL)
        *cut = is_cut;
    if (is_cut)
        return (uint32_t)lengths->limit;
    uint32_t tokens = whole_tokens(length);
    /* does rounding lead over a limit that is no whole number? */
    return lengths->limit > 0.0 && tokens > lengths->limit ? (uint32_t)lengths->limit : tokens;
}

uint32_t generation_length_at(const struct generation_lengths *lengths, double u, bool *cut) {
    CONTRACT(u > 0.0 && u < 1.0, "a probability lies between 0 and 1, both excluded");
    if (lengths->cap_share > 0.0) {
        u /= 1.0 - lengths->cap_share;
        if (u >= 1.0)
            return generation_length_rounded(lengths, HUGE_VAL, cut);
    }
    return generation_length_rounded(lengths,
                                     lengths->scale * generation_length_quantile(lengths, u), cut);
}

uint32_t generation_length_at_score(const struct generation_lengths *lengths, double z, bool *cut) {
    if (lengths->cap_share == 0.0 && lengths->width > 0.0 && lengths->type->score != NULL)
        return generation_length_rounded(lengths, lengths->scale * lengths->type->score(lengths, z),
                                         cut);
    double u = gsl_cdf_ugaussian_P(z);
    return generation_length_at(lengths, fmin(fmax(u, LEAST_U), LARGEST_U), cut);
}

/* ---- closed forms ------------------------------------------------------------------------- */

double generation_length_moment(const struct generation_lengths *law, double limit, int order) {
    double x = limit > 0.0 ? limit / law->scale : HUGE_VAL;
    double power = order == 1 ? law->scale : law->scale * law->scale;
    if (is_constant(law))
        return x >= 1.0 ? power : order == 1 ? limit : limit * limit;
    return power * law->type->moment(law, x, order);
}

static double mixed(const struct generation_lengths *lengths, int order) {
    double c = lengths->cap_share, cap = order == 1 ? lengths->limit : pow(lengths->limit, 2.0);
    double moment = generation_length_moment(lengths, lengths->limit, order);
    return c == 0.0 ? moment : c * cap + (1.0 - c) * moment;
}

double generation_lengths_mean(const struct generation_lengths *lengths) {
    return mixed(lengths, 1);
}

double generation_lengths_cv(const struct generation_lengths *lengths) {
    if (lengths->bins != NULL)
        return (double)NAN;
    double mean = mixed(lengths, 1);
    return sqrt(fmax(0.0, mixed(lengths, 2) / (mean * mean) - 1.0));
}

static double law_above(const struct generation_lengths *lengths, double x) {
    if (is_constant(lengths))
        return lengths->scale > x ? 1.0 : 0.0;
    return x <= 0.0 ? 1.0 : lengths->type->above(lengths, x / lengths->scale);
}

double generation_lengths_above(const struct generation_lengths *lengths, double x) {
    if (lengths->limit > 0.0 && x >= lengths->limit)
        return 0.0;
    return lengths->cap_share + (1.0 - lengths->cap_share) * law_above(lengths, x);
}

double generation_lengths_share_cut(const struct generation_lengths *lengths) {
    if (lengths->limit <= 0.0)
        return 0.0;
    return lengths->cap_share + (1.0 - lengths->cap_share) * law_above(lengths, lengths->limit);
}

double generation_lengths_longest(const struct generation_lengths *lengths) {
    double longest = is_constant(lengths) ? lengths->scale
                     : lengths->type->longest != NULL
                         ? lengths->scale * lengths->type->longest(lengths)
                         : 0.0;
    if (lengths->limit == 0.0)
        return longest;
    return longest == 0.0 || lengths->cap_share > 0.0 ? lengths->limit
                                                      : fmin(longest, lengths->limit);
}

double generation_lengths_stated_mean(const struct generation_lengths *lengths) {
    return lengths->uncut ? generation_length_moment(lengths, 0.0, 1)
                          : generation_lengths_mean(lengths);
}
