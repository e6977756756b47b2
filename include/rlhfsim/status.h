/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RLHFSIM_STATUS_H
#define RLHFSIM_STATUS_H

/*
 * What a call of this library can come to. One table holds the name, the exit status that the
 * command line gives it, and its text, so that the three cannot drift apart.
 */

/* Everything else of the library is hidden. */
#define RLHFSIM_API __attribute__((visibility("default")))

#define RLHFSIM_STATUS_MAP(XX)                                                       \
    XX(OK, 0, "done")                                                                \
    XX(INFEASIBLE, 1, "the scenario cannot run: it does not fit or breaks a budget") \
    XX(INVALID, 2, "bad input")                                                      \
    XX(IO, 3, "reading or writing a file failed")                                    \
    XX(NO_MEMORY, 3, "this machine is out of memory")                                \
    XX(INTERNAL, 3, "a defect of rlhfsim itself")                                    \
    XX(CANCELLED, 130, "interrupted")

enum rlhfsim_status {
#define RLHFSIM_STATUS_ENUM(name, exit_status, text) RLHFSIM_##name,
    RLHFSIM_STATUS_MAP(RLHFSIM_STATUS_ENUM)
#undef RLHFSIM_STATUS_ENUM
};

/* The text of a status, and the exit status that the command line reports for it: 0 to 3, and 130
 * (128 + SIGINT, as shells have it) for a run that its user stopped. */
RLHFSIM_API const char *rlhfsim_status_text(enum rlhfsim_status status);
RLHFSIM_API int rlhfsim_status_exit(enum rlhfsim_status status);

/* The version of the library, such as "0.1.0". */
RLHFSIM_API const char *rlhfsim_version(void);

#endif
