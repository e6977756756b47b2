/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal.h"

#include "row.h"
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char file_name[] = ".sweep.csv.partial";

static enum rlhfsim_status failed(const struct journal *journal, const char *what, int error,
                                  struct rlhfsim_diagnostics *diagnostics) {
    return whole_file_failed(journal->path, what, error, diagnostics);
}

static enum rlhfsim_status lock(const struct journal *journal,
                                struct rlhfsim_diagnostics *diagnostics) {
    if (flock(journal->descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return RLHFSIM_OK; /* a file system without locks is no reason to refuse */
    return rlhfsim_diagnostics_add(
        diagnostics, RLHFSIM_INVALID, journal->path, 0, 0,
        "another sweep is writing to this folder; give each its own "
        "--out, with --shard I/N (such as one a rank of mpirun or srun) for "
        "parts that rlhfsim merge puts together");
}

static enum rlhfsim_status write_all(const struct journal *journal, const char *bytes,
                                     size_t length, struct rlhfsim_diagnostics *diagnostics) {
    while (length > 0) {
        ssize_t written = write(journal->descriptor, bytes, length);
        if (written < 0 && errno != EINTR)
            return failed(journal, "cannot write it", errno, diagnostics);
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return RLHFSIM_OK;
}

static int64_t clock_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec;
}

/* A file system that cannot do it is no reason to stop: the rows are written all the same. */
static void sync_rows(const struct journal *journal) {
    (void)fdatasync(journal->descriptor);
}

/* ---- an earlier journal ---------------------------------------------------------------------- */

struct earlier {
    FILE *stream;
    char *line;
    size_t room;
    off_t good; /* bytes of complete lines */
};

/* False at the end, or at a line that was cut short. */
static bool next_line(struct earlier *earlier) {
    ssize_t length = getline(&earlier->line, &earlier->room, earlier->stream);
    if (length <= 0 || earlier->line[length - 1] != '\n' || strlen(earlier->line) != (size_t)length)
        return false;
    earlier->good += length;
    return true;
}

static bool take_row(const struct earlier *earlier, const struct identity *identity,
                     const char *header, char **rows) {
    size_t point;
    enum row_status status;
    if (!row_read(header, earlier->line, &point, &status) || !identity_has(identity, point))
        return true;
    free(rows[point]);
    rows[point] = strdup(earlier->line);
    return rows[point] != NULL;
}

static enum rlhfsim_status check_identity(const struct journal *journal, const char *line,
                                          const struct identity *identity,
                                          struct rlhfsim_diagnostics *diagnostics) {
    struct identity found;
    bool same_sweep = identity_read(line, &found) && found.fingerprint == identity->fingerprint &&
                      found.points == identity->points;
    if (!same_sweep)
        return rlhfsim_diagnostics_add(
            diagnostics, RLHFSIM_INVALID, journal->path, 0, 0,
            "this is of another sweep: the scenario, a config.json, a catalog, an option that "
            "changes results or "
            "the version of rlhfsim differs; give another --out, or remove this file to start "
            "anew");
    if (found.shard != identity->shard || found.shards != identity->shards)
        return rlhfsim_diagnostics_add(diagnostics, RLHFSIM_INVALID, journal->path, 0, 0,
                                       "this is shard %zu/%zu of the sweep, expected %zu/%zu",
                                       found.shard, found.shards, identity->shard,
                                       identity->shards);
    return RLHFSIM_OK;
}

/* Leaves *good at the end of what counts; 0 when there is nothing. */
static enum rlhfsim_status read_earlier(const struct journal *journal,
                                        const struct identity *identity, const char *header,
                                        struct rlhfsim_diagnostics *diagnostics, char **rows,
                                        off_t *good) {
    struct earlier earlier = {.stream = fopen(journal->path, "re")};
    enum rlhfsim_status status = RLHFSIM_OK;
    *good = 0;
    if (earlier.stream == NULL)
        return failed(journal, "cannot read it", errno, diagnostics);
    if (next_line(&earlier))
        status = check_identity(journal, earlier.line, identity, diagnostics);
    while (status == RLHFSIM_OK && earlier.good > 0 && next_line(&earlier))
        if (!take_row(&earlier, identity, header, rows))
            status = RLHFSIM_NO_MEMORY;
    if (status == RLHFSIM_OK && ferror(earlier.stream))
        status = failed(journal, "cannot read it", errno, diagnostics);
    *good = earlier.good;
    free(earlier.line);
    fclose(earlier.stream);
    return status;
}

/* A sweep that starts anew would lose what another has done. */
static enum rlhfsim_status refuse_earlier(const struct journal *journal,
                                          struct rlhfsim_diagnostics *diagnostics) {
    struct earlier earlier = {.stream = fopen(journal->path, "re")};
    size_t lines = 0;
    if (earlier.stream == NULL)
        return failed(journal, "cannot read it", errno, diagnostics);
    while (next_line(&earlier))
        lines++;
    int error = ferror(earlier.stream) ? errno : 0;
    free(earlier.line);
    fclose(earlier.stream);
    if (error != 0)
        return failed(journal, "cannot read it", error, diagnostics);
    if (lines < 2) /* the first is no point */
        return RLHFSIM_OK;
    return rlhfsim_diagnostics_add(
        diagnostics, RLHFSIM_INVALID, journal->path, 0, 0,
        "an interrupted sweep left %zu finished point%s here; go on with --resume, give another "
        "--out, or remove this file to start anew",
        lines - 1, lines == 2 ? "" : "s");
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Cuts the file behind its last complete line; an empty one gets its first. */
static enum rlhfsim_status go_on(const struct journal *journal, off_t good,
                                 const struct identity *identity,
                                 struct rlhfsim_diagnostics *diagnostics) {
    char line[IDENTITY_TEXT];
    size_t length = identity_print(identity, line);
    if (ftruncate(journal->descriptor, good) != 0)
        return failed(journal, "cannot write it", errno, diagnostics);
    return good > 0 ? RLHFSIM_OK : write_all(journal, line, length, diagnostics);
}

enum rlhfsim_status journal_open(struct journal *journal, const char *directory,
                                 const struct identity *identity, const char *header, bool resume,
                                 struct rlhfsim_diagnostics *diagnostics, char **rows) {
    off_t good = 0;
    *journal = (struct journal){.descriptor = -1};
    if (directory == NULL)
        return RLHFSIM_OK;
    enum rlhfsim_status status = whole_file_folder(directory, diagnostics);
    if (status != RLHFSIM_OK)
        return status;
    journal->path = whole_file_path(directory, file_name);
    if (journal->path == NULL)
        return RLHFSIM_NO_MEMORY;
    journal->descriptor = open(journal->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (journal->descriptor < 0)
        return failed(journal, "cannot create it", errno, diagnostics);
    status = lock(journal, diagnostics);
    if (status == RLHFSIM_OK)
        status = resume ? read_earlier(journal, identity, header, diagnostics, rows, &good)
                        : refuse_earlier(journal, diagnostics);
    return status == RLHFSIM_OK ? go_on(journal, good, identity, diagnostics) : status;
}

enum rlhfsim_status journal_add(struct journal *journal, const char *row,
                                struct rlhfsim_diagnostics *diagnostics) {
    if (journal->descriptor < 0)
        return RLHFSIM_OK;
    enum rlhfsim_status status = write_all(journal, row, strlen(row), diagnostics);
    int64_t now_s = clock_s();
    if (now_s != journal->synced_s)
        sync_rows(journal);
    journal->synced_s = now_s;
    return status;
}

void journal_close(struct journal *journal, bool done) {
    if (journal->descriptor >= 0) {
        if (done)
            unlink(journal->path);
        else
            sync_rows(journal);
        close(journal->descriptor);
    }
    free(journal->path);
    *journal = (struct journal){.descriptor = -1};
}
