/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct text text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static struct text text_format(const char *format, ...) {
    struct text text;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text.chars, sizeof text.chars, format, arguments);
    va_end(arguments);
    return text;
}

/* Puts a comma before each group of three digits of the integer part. */
static struct text grouped(struct text plain) {
    struct text text;
    size_t start = plain.chars[0] == '-' ? 1 : 0;
    size_t digits = strspn(plain.chars + start, "0123456789");
    size_t used = 0;
    for (size_t i = 0; plain.chars[i] != '\0' && used + 2 < sizeof text.chars; i++) {
        bool inside = i > start && i < start + digits;
        if (inside && (start + digits - i) % 3 == 0)
            text.chars[used++] = ',';
        text.chars[used++] = plain.chars[i];
    }
    text.chars[used] = '\0';
    return text;
}

/* Three significant digits; all digits of the integer part from 100 on. */
struct text text_number(double number) {
    double size = fabs(number);
    if (size < 0.9995)
        return text_format("%.3g", number);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return grouped(text_format("%.*f", decimals, number));
}

static struct text with_unit(double number, const char *unit) {
    return text_format("%s %s", text_number(number).chars, unit);
}

struct text text_duration(double seconds) {
    if (seconds < 120)
        return with_unit(seconds, "s");
    if (seconds < 2 * 3600.0)
        return with_unit(seconds / 60, "min");
    if (seconds < 48 * 3600.0)
        return with_unit(seconds / 3600, "h");
    return with_unit(seconds / 86400, "d");
}

struct text text_gb(double bytes) {
    return with_unit(bytes / 1e9, "GB");
}

struct text text_bytes(double bytes) {
    return text_format("%s GB (%s GiB)", text_number(bytes / 1e9).chars,
                       text_number(bytes / 1073741824.0).chars);
}

struct text text_usd(double usd) {
    struct text amount = grouped(text_format("%.*f", fabs(usd) < 100 ? 2 : 0, usd));
    return text_format("%s USD", amount.chars);
}

struct text text_percent(double fraction) {
    return text_format("%.1f %%", fraction * 100);
}

struct text text_gpu_hours(double hours) {
    return with_unit(hours, "GPU-hours");
}

struct text text_tokens(double tokens) {
    return with_unit(tokens, "tokens");
}

struct text text_token_rate(double rate) {
    return with_unit(rate, "tokens/s/GPU");
}

struct text text_sample_rate(double rate) {
    return with_unit(rate, "samples/s");
}

struct text text_count(int64_t count) {
    return grouped(text_format("%lld", (long long)count));
}

/* Where the unit of "61.3 s" begins; where there is none, the end. */
static const char *unit_of(const struct text *text) {
    return text->chars + strcspn(text->chars, " ");
}

/* Low and high go without their unit where all three have the same. */
static struct text three(const struct rlhfsim_value *value, text_function *function) {
    struct text low = function(value->p10), middle = function(value->p50);
    struct text high = function(value->p90);
    const char *unit = unit_of(&middle);
    if (strcmp(low.chars, middle.chars) == 0 && strcmp(high.chars, middle.chars) == 0)
        return middle;
    if (strcmp(unit_of(&low), unit) != 0 || strcmp(unit_of(&high), unit) != 0)
        return text_format("%s (P10 %s, P90 %s)", middle.chars, low.chars, high.chars);
    int low_width = (int)(unit_of(&low) - low.chars),
        high_width = (int)(unit_of(&high) - high.chars);
    return text_format("%s (P10 %.*s, P90 %.*s)", middle.chars, low_width, low.chars, high_width,
                       high.chars);
}

struct text text_figure(const struct rlhfsim_value *value, text_function *function) {
    if (value->kind == RLHFSIM_VALUE_FIGURE)
        return three(value, function);
    if (value->kind == RLHFSIM_VALUE_NUMBER)
        return function(value->number);
    if (value->kind == RLHFSIM_VALUE_COUNT)
        return function((double)value->count);
    return text_format("unknown");
}
