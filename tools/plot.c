/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plot.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PICTURE "validation.svg"
#define DRAFT ".validation.svg.tmp"

static bool is_executable(const char *folder, size_t length, const char *name) {
    char path[PATH_MAX];
    int written = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
    return written > 0 && (size_t)written < sizeof path && access(path, X_OK) == 0;
}

static bool has_program(const char *name) {
    const char *folders = getenv("PATH");
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        if (length > 0 && is_executable(folders, length, name))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* A path as gnuplot quotes it: 'it''s'. */
static void put_path(FILE *gnuplot, const char *directory, const char *name) {
    fputc('\'', gnuplot);
    for (const char *c = directory; *c != '\0'; c++)
        fputs(*c == '\'' ? "''" : (char[]){*c, '\0'}, gnuplot);
    fprintf(gnuplot, "/%s'", name);
}

static const char axes[] =
    "set terminal svg size 720,720 name 'validation'\n"
    "set datafile separator ','\n"
    "set logscale xy\n"
    "set size square\n"
    "set key top left\n"
    "set grid\n"
    "set xlabel 'measured (s)'\n"
    "set ylabel 'forecast (s)'\n"
    "set xrange [0.01:1e4]\n"
    "set yrange [0.01:1e4]\n"
    "is_time(m) = substr(m, strlen(m) - 1, strlen(m)) eq '_s' && m ne 'tokens_per_s'\n"
    "step(m) = m eq 'step_s' || m eq 'microbatch_s'\n";

static const char bands[] = "plot x with lines linecolor 'black' title 'equal', "
                            "1.1 * x with lines dashtype 2 linecolor 'gray40' title '10 %', "
                            "x / 1.1 with lines dashtype 2 linecolor 'gray40' notitle, "
                            "1.3 * x with lines dashtype 3 linecolor 'gray60' title '30 %', "
                            "x / 1.3 with lines dashtype 3 linecolor 'gray60' notitle, ";

static void put_points(FILE *gnuplot, const char *directory, const char *condition,
                       const char *style) {
    put_path(gnuplot, directory, "validation.csv");
    fprintf(gnuplot, " every ::1 using (%s ? $4 : NaN):5 with points %s", condition, style);
}

static void put_script(FILE *gnuplot, const char *directory) {
    fputs(axes, gnuplot);
    fputs("set output ", gnuplot);
    put_path(gnuplot, directory, DRAFT);
    fputc('\n', gnuplot);
    fputs(bands, gnuplot);
    put_points(gnuplot, directory, "is_time(strcol(3)) && !step(strcol(3))",
               "pointtype 6 pointsize 0.5 linecolor 'steelblue' title 'phases'");
    fputs(", ", gnuplot);
    put_points(gnuplot, directory, "step(strcol(3))",
               "pointtype 7 pointsize 0.5 linecolor 'dark-red' title 'steps'");
    fputc('\n', gnuplot);
}

bool plot_validation(const char *directory) {
    char draft[PATH_MAX], picture[PATH_MAX];
    int lengths[] = {snprintf(draft, sizeof draft, "%s/" DRAFT, directory),
                     snprintf(picture, sizeof picture, "%s/" PICTURE, directory)};
    if (lengths[0] >= PATH_MAX || lengths[1] >= PATH_MAX || !has_program("gnuplot"))
        return false;
    FILE *gnuplot = popen("gnuplot >/dev/null 2>&1", "w");
    if (gnuplot == NULL)
        return false;
    put_script(gnuplot, directory);
    bool good = pclose(gnuplot) == 0 && rename(draft, picture) == 0;
    if (!good)
        (void)unlink(draft);
    return good;
}
