/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Wall time of the command line as a user waits for it: `rlhfsim sweep` of 25 points, K = 2 to 32
 * answers a prompt x 256 to 4,096 tokens at most, of tests/bench/grpo-sweep.yaml, on all
 * processors. The best of three; starting the program, reading the catalog and printing are
 * included.
 */

#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS 3
#define POINTS 25

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static pid_t start(int stdout_descriptor) {
    static char *const arguments[] = {"rlhfsim",
                                      "sweep",
                                      RLHFSIM_SOURCE_DIRECTORY "/tests/bench/grpo-sweep.yaml",
                                      "--vary",
                                      "algorithm.samples_per_prompt=2,4,8,16,32",
                                      "--vary",
                                      "rollout.max_new_tokens=256:4096:x2",
                                      NULL};
    pid_t process = -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, stdout_descriptor, STDOUT_FILENO);
    if (posix_spawn(&process, RLHFSIM_PROGRAM, &actions, NULL, arguments, environ) != 0)
        process = -1;
    posix_spawn_file_actions_destroy(&actions);
    return process;
}

/* The lines whose third comma is followed by "ok,": point, two keys, status. */
static int count_good(FILE *table) {
    int good = 0;
    char line[4096];
    rewind(table);
    while (fgets(line, sizeof line, table) != NULL) {
        const char *cell = line;
        for (int i = 0; i < 3 && cell != NULL; i++)
            cell = strchr(cell, ',') == NULL ? NULL : strchr(cell, ',') + 1;
        good += cell != NULL && strncmp(cell, "ok,", 3) == 0;
    }
    return good;
}

/* Seconds of one sweep; below 0 when it failed. */
static double sweep_s(void) {
    int status = -1;
    FILE *table = tmpfile();
    if (table == NULL)
        return -1.0;
    double start_s = now_s();
    pid_t process = start(fileno(table));
    if (process > 0)
        waitpid(process, &status, 0);
    double wall_s = now_s() - start_s;
    bool good = process > 0 && status == 0 && count_good(table) == POINTS;
    fclose(table);
    return good ? wall_s : -1.0;
}

int main(void) {
    double best_s = -1.0;
    for (int i = 0; i < RUNS; i++) {
        double wall_s = sweep_s();
        if (wall_s < 0.0) {
            fputs("the sweep failed\n", stderr);
            return EXIT_FAILURE;
        }
        best_s = best_s < 0.0 || wall_s < best_s ? wall_s : best_s;
    }
    printf("{\"name\":\"sweep_25_wall_s\",\"value\":%.6g,\"unit\":\"s\"}\n", best_s);
    return EXIT_SUCCESS;
}
