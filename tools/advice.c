/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "advice.h"

#include "text.h"

#include <inttypes.h>
#include <string.h>

#define SETS_SIZE 384

/* "--set A=1 --set B=2" of "A=1 B=2". */
static void set_words(char *buffer, size_t size, const char *settings) {
    size_t used = 0;
    for (const char *word = settings; *word != '\0' && used < size;) {
        size_t length = strcspn(word, " ");
        int written = snprintf(buffer + used, size - used, "%s--set %.*s", used == 0 ? "" : " ",
                               (int)length, word);
        used += written > 0 ? (size_t)written : 0;
        word += length + strspn(word + length, " ");
    }
}

/* Never a bare yes within 5 % of the limit. */
static const char *marginal_text(double probability, char *text, size_t size) {
    text[0] = '\0';
    if (probability < 1.0)
        (void)snprintf(text, size, " (marginal: fits with a probability of %.2g)", probability);
    return text;
}

/* ---- notes ----------------------------------------------------------------------------------- */

void advice_changes(struct page *page, const struct rlhfsim_advice *advice) {
    struct rlhfsim_change change;
    size_t count = 0;
    for (; rlhfsim_advice_change(advice, count, &change); count++) {
        char sets[SETS_SIZE], note[64];
        set_words(sets, sizeof sets, change.settings);
        if (count == 0)
            page_paragraph(page, "Would fit",
                           "with one of these changes, cheapest first (time and money of a few "
                           "steps, scaled to the run, without checkpoints):");
        page_row(page, "%-33.33s %10s  %12s  %9s a GPU", change.what,
                 text_duration(change.time_s).chars, text_usd(change.cost_usd).chars,
                 text_gb(change.peak_bytes).chars);
        page_row(page, "  %s%s", sets, marginal_text(change.fit_probability, note, sizeof note));
    }
    if (count == 0)
        page_paragraph(page, "Would fit", "with no single change that is known");
}

static void search_effort(struct page *page, const struct rlhfsim_search *search) {
    if (search->illegal > 0)
        page_words(page, "(%zu values looked at, %zu of them not legal)", search->tried,
                   search->illegal);
    else
        page_words(page, "(%zu values looked at)", search->tried);
    page_end(page);
}

static void search_found(struct page *page, const struct rlhfsim_search *search) {
    char sets[SETS_SIZE], note[64];
    set_words(sets, sizeof sets, search->settings);
    page_words(page, "%s, peak %s of %s%s", sets, text_gb(search->peak_bytes).chars,
               text_gb(search->capacity_bytes).chars,
               marginal_text(search->fit_probability, note, sizeof note));
}

void advice_min_gpus(struct page *page, const struct rlhfsim_search *search) {
    page_label(page, "Least GPUs");
    if (search->found) {
        page_words(page, "%d:", search->gpus);
        search_found(page, search);
    } else {
        page_words(page, "none: it fits no number of GPUs");
    }
    search_effort(page, search);
}

void advice_max_microbatch(struct page *page, const struct rlhfsim_search *search) {
    page_label(page, "Micro-batch");
    if (search->found && search->samples > 0)
        page_words(page, "at most %" PRId64 " samples:", search->samples);
    else if (search->found)
        page_words(page, "at most %s tokens:", text_count(search->tokens).chars);
    else
        page_words(page, "none fits, not even the smallest");
    if (search->found)
        search_found(page, search);
    search_effort(page, search);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void advice_search_json(FILE *stream, const char *name, const struct rlhfsim_search *search) {
    fprintf(stream, ",\n  \"%s\": {\"found\": %s", name, search->found ? "true" : "false");
    if (search->found)
        fprintf(stream,
                ", \"settings\": \"%s\", \"gpus\": %d, \"microbatch_samples\": %" PRId64
                ", \"microbatch_tokens\": %" PRId64
                ", \"peak_bytes\": %.17g, \"capacity_bytes\": %.17g, \"fit_probability\": %.17g",
                search->settings, search->gpus, search->samples, search->tokens, search->peak_bytes,
                search->capacity_bytes, search->fit_probability);
    fprintf(stream, ", \"tried\": %zu, \"illegal\": %zu}", search->tried, search->illegal);
}

void advice_changes_json(FILE *stream, const struct rlhfsim_advice *advice) {
    struct rlhfsim_change change;
    fputs(",\n  \"changes\": [", stream);
    for (size_t i = 0; rlhfsim_advice_change(advice, i, &change); i++)
        fprintf(stream,
                "%s\n    {\"what\": \"%s\", \"settings\": \"%s\", \"gpus\": %d, \"peak_bytes\": "
                "%.17g, \"fit_probability\": %.17g, \"time_s\": %.17g, \"cost_usd\": %.17g}",
                i == 0 ? "" : ",", change.what, change.settings, change.gpus, change.peak_bytes,
                change.fit_probability, change.time_s, change.cost_usd);
    fputs("]", stream);
}
