/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/testing.h"

#include <stdlib.h>
#include <sys/stat.h>

int testing_run(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

const char *testing_shared_directory(void) {
    const char *directory = getenv("RLHFSIM_SHARED");
    struct stat status;
    if (directory == NULL)
        directory = "../shared";
    return stat(directory, &status) == 0 && S_ISDIR(status.st_mode) ? directory : NULL;
}
