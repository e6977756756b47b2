/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_CATALOG_PATH_H
#define TOOLS_CATALOG_PATH_H

/*
 * Where the catalog of the installation is: $RLHFSIM_CATALOG; else the one installed beside the
 * program (PREFIX/bin/rlhfsim looks in PREFIX/share/rlhfsim/scenarios/catalog), so that an
 * installation can be moved; else that of the source tree the program was built from.
 */

#include <rlhfsim/diagnostics.h>

#include <limits.h>

/* Fills `path`. RLHFSIM_INVALID when $RLHFSIM_CATALOG is no directory, RLHFSIM_IO when no place
 * has a catalog; the error names what was tried. */
enum rlhfsim_status catalog_path_find(char path[PATH_MAX], struct rlhfsim_diagnostics *diagnostics);

/* Whether there is a directory of that name. */
int catalog_path_is_directory(const char *path);

#endif
