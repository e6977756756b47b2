/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_BASE_LOCALE_H
#define MODELS_BASE_LOCALE_H

/*
 * Numbers are read and written with a decimal point whatever locale the calling program has set.
 * The switch is per thread: nothing else in the process notices.
 */

#include <locale.h>
#include <stdbool.h>

struct base_locale {
    locale_t own, previous;
};

/* Switches the calling thread to the C locale. False when memory is exhausted; then nothing is
 * switched and nothing needs to be left. */
bool base_locale_enter(struct base_locale *locale);
void base_locale_leave(struct base_locale *locale);

#endif
