/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gaps.h"

#include "text.h"

#include <math.h>

struct cell {
    char chars[16];
};

static struct cell seconds(double value) {
    struct cell cell = {"-"};
    if (isfinite(value))
        (void)snprintf(cell.chars, sizeof cell.chars, "%.2f s", value);
    return cell;
}

/* "+4.2 %", (forecast - measured) / measured. */
static struct cell error(double forecast_s, double measured_s) {
    struct cell cell = {"-"};
    double percent = 100.0 * (forecast_s - measured_s) / measured_s;
    if (isfinite(percent))
        (void)snprintf(cell.chars, sizeof cell.chars, "%+.1f %%", percent);
    return cell;
}

/* "x1.24", measured over forecast. */
static struct cell ratio(double measured_s, double forecast_s) {
    struct cell cell = {"-"};
    if (isfinite(measured_s / forecast_s))
        (void)snprintf(cell.chars, sizeof cell.chars, "x%.2f", measured_s / forecast_s);
    return cell;
}

void gaps_table(struct page *page, const struct rlhfsim_comparison *comparison, bool fitted) {
    struct rlhfsim_comparison_phase phase;
    page_label(page, "Errors");
    page_words(page, "%s; the median of %zu step%s",
               fitted ? "(forecast - measured) / measured, before and after"
                      : "ratio: measured / forecast",
               rlhfsim_comparison_steps(comparison),
               rlhfsim_comparison_steps(comparison) == 1 ? "" : "s");
    page_end(page);
    if (fitted)
        page_row(page, "%-18s %11s %11s %9s %11s %9s", "phase", "measured", "before", "", "after",
                 "");
    else
        page_row(page, "%-18s %11s %11s %8s", "phase", "measured", "forecast", "ratio");
    for (size_t i = 0; rlhfsim_comparison_phase(comparison, i, &phase); i++) {
        if (fitted)
            page_row(page, "%-18s %11s %11s %9s %11s %9s", phase.name,
                     seconds(phase.measured_s).chars, seconds(phase.forecast_s).chars,
                     error(phase.forecast_s, phase.measured_s).chars, seconds(phase.fitted_s).chars,
                     error(phase.fitted_s, phase.measured_s).chars);
        else
            page_row(page, "%-18s %11s %11s %8s", phase.name, seconds(phase.measured_s).chars,
                     seconds(phase.forecast_s).chars,
                     ratio(phase.measured_s, phase.forecast_s).chars);
    }
}

void gaps_causes(struct page *page, const struct rlhfsim_comparison *comparison) {
    struct rlhfsim_comparison_phase phase;
    size_t shown = 0;
    for (size_t i = 0; rlhfsim_comparison_phase(comparison, i, &phase); i++)
        if (phase.cause != NULL)
            page_paragraph(page, shown++ == 0 ? "Likely" : "", "%s: %s", phase.name, phase.cause);
}

void gaps_factors(struct page *page, const struct rlhfsim_comparison *comparison) {
    struct rlhfsim_comparison_factor factor;
    page_label(page, "Factors");
    for (size_t i = 0; rlhfsim_comparison_factor(comparison, i, &factor); i++) {
        if (factor.fitted)
            page_words(page, "%s%s x %.4g", i == 0 ? "" : ", ", factor.part, factor.factor);
        else
            page_words(page, "%s%s x 1 (not in the log)", i == 0 ? "" : ", ", factor.part);
    }
    page_end(page);
}

void gaps_notes(struct page *page, const struct rlhfsim_comparison *comparison) {
    const char *text;
    size_t times;
    for (size_t i = 0; (text = rlhfsim_comparison_note(comparison, i, &times)) != NULL; i++) {
        page_label(page, i == 0 ? "Notes" : "");
        if (times > 1)
            page_words(page, "%zu x: ", times);
        page_words(page, "%s", text);
        page_end(page);
    }
}
