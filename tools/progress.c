/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "progress.h"

#include "interrupt.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BAR 30            /* columns */
#define FIRST_AFTER_S 1.0 /* shorter runs show nothing */
#define INTERVAL_S 0.1

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress_start(struct progress *progress, bool quiet) {
    progress->visible = !quiet && isatty(STDERR_FILENO);
    progress->start_s = progress->last_s = now_s();
    progress->width = 0;
}

/* Whole seconds: finer ones only flicker. */
static struct text left(double seconds) {
    struct text text = text_duration(ceil(seconds));
    if (seconds < 100)
        snprintf(text.chars, sizeof text.chars, "%.0f s", ceil(seconds));
    return text;
}

int progress_line(char *buffer, size_t size, double share_done, double elapsed_s) {
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(share_done * BAR) ? '#' : '.';
    bar[BAR] = '\0';
    int percent = (int)(share_done * 100);
    if (share_done <= 0)
        return snprintf(buffer, size, "forecasting [%s] %3d %%", bar, percent);
    return snprintf(buffer, size, "forecasting [%s] %3d %%, about %s left", bar, percent,
                    left(elapsed_s * (1 - share_done) / share_done).chars);
}

static void show(struct progress *progress, double share_done, double elapsed_s) {
    char line[128];
    int width = progress_line(line, sizeof line, share_done, elapsed_s);
    int rest = progress->width > width ? progress->width - width : 0;
    fprintf(stderr, "\r%s%*s", line, rest, "");
    fflush(stderr);
    progress->width = width;
}

bool progress_update(void *subject, double share_done) {
    struct progress *progress = subject;
    if (progress->visible) {
        double now = now_s();
        double elapsed_s = now - progress->start_s;
        if (elapsed_s >= FIRST_AFTER_S && now - progress->last_s >= INTERVAL_S) {
            show(progress, share_done, elapsed_s);
            progress->last_s = now;
        }
    }
    return !interrupt_requested();
}

void progress_finish(struct progress *progress) {
    if (progress->width > 0)
        fprintf(stderr, "\r%*s\r", progress->width, "");
    progress->width = 0;
}
