/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

/*
 * Numbers as people read them: three significant digits, a unit that suits the size, thousands
 * with commas. A text is returned by value, so that it can stand in a printf call:
 *
 *     printf("%s\n", text_duration(5400).chars);    90.0 min
 */

#include <rlhfsim/summary.h>

#include <stdint.h>

struct text {
    char chars[128];
};

/* 0.25 s, 61.3 s, 85.2 min, 12.4 h, 5.21 d: up to two minutes in s, two hours in min, two days
 * in h. */
struct text text_duration(double seconds);
struct text text_gb(double bytes);         /* 71.3 GB; GB = 1e9 bytes */
struct text text_bytes(double bytes);      /* 71.3 GB (66.4 GiB); GiB = 2^30 bytes */
struct text text_usd(double usd);          /* 4,312 USD; 31.25 USD below 100 USD */
struct text text_percent(double fraction); /* 31.4 % */
struct text text_number(double number);    /* 0.0123, 8.41, 1,234 */
struct text text_gpu_hours(double hours);  /* 1,003 GPU-hours */
struct text text_tokens(double tokens);    /* 183 tokens */
struct text text_token_rate(double rate);  /* 412 tokens/s/GPU */
struct text text_sample_rate(double rate); /* 8.36 samples/s */
struct text text_count(int64_t count);     /* 264,292 */

/* A figure: "61.3 s (P10 60.9, P90 61.8)", only the middle where the three read the same; a number
 * alone; "unknown" for a value that is not known. */
typedef struct text(text_function)(double number);
struct text text_figure(const struct rlhfsim_value *value, text_function *function);

#endif
