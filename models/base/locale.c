/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/locale.h"

bool base_locale_enter(struct base_locale *locale) {
    locale->own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (locale->own == (locale_t)0)
        return false;
    locale->previous = uselocale(locale->own);
    return true;
}

void base_locale_leave(struct base_locale *locale) {
    (void)uselocale(locale->previous);
    freelocale(locale->own);
}
