/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <rlhfsim/status.h>

struct status_row {
    int exit_status;
    const char *text;
};

static const struct status_row rows[] = {
#define STATUS_ROW(name, exit_status, text) [RLHFSIM_##name] = {exit_status, text},
    RLHFSIM_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

/* A value that is none of the enum's reads as a defect of ours. */
static const struct status_row *row_of(enum rlhfsim_status status) {
    unsigned index = (unsigned)status;
    return &rows[index < sizeof rows / sizeof rows[0] ? index : RLHFSIM_INTERNAL];
}

const char *rlhfsim_status_text(enum rlhfsim_status status) {
    return row_of(status)->text;
}

int rlhfsim_status_exit(enum rlhfsim_status status) {
    return row_of(status)->exit_status;
}

const char *rlhfsim_version(void) {
    return RLHFSIM_VERSION;
}
