/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/scenarios.h"

#include <check.h>
#include <stdio.h>

static void print_errors(const struct rlhfsim_diagnostics *diagnostics) {
    char text[1024];
    for (size_t i = 0; i < rlhfsim_diagnostics_count(diagnostics); i++) {
        rlhfsim_error_format(rlhfsim_diagnostics_get(diagnostics, i), text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
}

struct rlhfsim_scenario *testing_scenario(const char *path, const char *const *sets) {
    struct rlhfsim_scenario_options options = {.catalog_directory = "scenarios/catalog",
                                               .sets = sets};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario *scenario = NULL;
    ck_assert_ptr_nonnull(diagnostics);
    while (sets != NULL && sets[options.set_count] != NULL)
        options.set_count++;
    enum rlhfsim_status status = rlhfsim_scenario_load(path, &options, diagnostics, &scenario);
    print_errors(diagnostics);
    rlhfsim_diagnostics_free(diagnostics);
    ck_assert_msg(status == RLHFSIM_OK, "%s: %s", path, rlhfsim_status_text(status));
    return scenario;
}
