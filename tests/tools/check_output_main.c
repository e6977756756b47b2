/* SPDX-License-Identifier: GPL-3.0-or-later */

/* check_output DIR...: prints the faults of each folder; the exit status is 0 when there are none.
 */
#include "tests/tools/check_output.h"

#include <stdlib.h>

int main(int argc, char **argv) {
    size_t faults = 0;
    for (int i = 1; i < argc; i++) {
        size_t found = check_output(argv[i], stdout);
        printf("%s: %zu faults\n", argv[i], found);
        faults += found;
    }
    if (argc < 2)
        fputs("usage: check_output DIR...\n", stderr);
    return argc >= 2 && faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
