/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_MODELS_LLM_CONFIG_FIXTURE_H
#define TESTS_MODELS_LLM_CONFIG_FIXTURE_H

/* Reading config.json files from texts, and the table of models of the shared catalog. */

#include "models/llm/config_json.h"
#include "tests/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config_outcome {
    enum rlhfsim_status status;
    size_t errors;
    int line, column; /* of the first error */
    char message[512];
    struct llm_architecture architecture;
};

static inline struct config_outcome config_read_path(const char *path) {
    struct config_outcome outcome = {0};
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    ck_assert_ptr_nonnull(diagnostics);
    outcome.status = llm_config_read(path, diagnostics, &outcome.architecture);
    outcome.errors = rlhfsim_diagnostics_count(diagnostics);
    if (outcome.errors > 0) {
        const struct rlhfsim_error *error = rlhfsim_diagnostics_get(diagnostics, 0);
        ck_assert_str_eq(error->file, path);
        outcome.line = error->line;
        outcome.column = error->column;
        snprintf(outcome.message, sizeof(outcome.message), "%s", error->message);
    }
    rlhfsim_diagnostics_free(diagnostics);
    ck_assert_msg((outcome.status == RLHFSIM_OK) == (outcome.errors == 0), "%s: status %d with %zu",
                  path, (int)outcome.status, outcome.errors);
    return outcome;
}

static inline struct config_outcome config_read_bytes(const char *text, size_t length) {
    char path[] = "/tmp/rlhfsim_config_XXXXXX";
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    FILE *file = fdopen(descriptor, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
    struct config_outcome outcome = config_read_path(path);
    unlink(path);
    return outcome;
}

static inline struct config_outcome config_read_text(const char *text) {
    return config_read_bytes(text, strlen(text));
}

/* The smallest file of a family, with more keys (each ending in a comma) in front. */
static inline struct config_outcome config_read_with(const char *model_type, const char *keys) {
    char text[2048];
    snprintf(text, sizeof(text),
             "{%s \"model_type\": \"%s\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"
             " \"num_attention_heads\": 32, \"intermediate_size\": 100, \"vocab_size\": 1000}",
             keys, model_type);
    return config_read_text(text);
}

/* Refused, with one error (at no line) that holds both texts. */
static inline void config_assert_refused(struct config_outcome outcome, const char *key,
                                         const char *value) {
    ck_assert_int_eq(outcome.status, RLHFSIM_INVALID);
    ck_assert_msg(outcome.errors == 1, "%zu errors, the first: %s", outcome.errors,
                  outcome.message);
    ck_assert_int_eq(outcome.line, 0);
    ck_assert_msg(strstr(outcome.message, key) != NULL && strstr(outcome.message, value) != NULL,
                  "\"%s\" lacks %s or %s", outcome.message, key, value);
}

/* ---- models.csv of the shared catalog -------------------------------------------------------- */

enum {
    MODELS_NAME = 0,
    MODELS_PUBLISHED = 3,
    MODELS_COMPUTED = 5,
    MODELS_ACTIVE = 6,
    MODELS_CONFIG = 24,
    MODELS_COLUMNS = 27
};

/* Cuts the next line at its commas (the catalog has no quotes); the fields live until the next
 * call's line. False at the end. */
static inline bool models_table_next(FILE *table, char *fields[MODELS_COLUMNS]) {
    static char text[4096];
    char *line = fgets(text, sizeof(text), table);
    if (line == NULL)
        return false;
    text[strcspn(text, "\n")] = '\0';
    for (size_t i = 0; i < MODELS_COLUMNS; i++) {
        fields[i] = line;
        char *comma = line == NULL ? NULL : strchr(line, ',');
        if (comma != NULL)
            *comma++ = '\0';
        line = comma;
    }
    return true;
}

/* Behind the header, which is checked; NULL (and a word about it) where the catalog is absent. */
static inline FILE *models_table_open(void) {
    char path[1024], *fields[MODELS_COLUMNS];
    const char *shared = testing_shared_directory();
    if (shared == NULL) {
        printf("skipped: no shared catalog\n");
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/catalog/models.csv", shared);
    FILE *table = fopen(path, "r");
    ck_assert_ptr_nonnull(table);
    ck_assert(models_table_next(table, fields));
    ck_assert_str_eq(fields[MODELS_NAME], "name");
    ck_assert_str_eq(fields[MODELS_PUBLISHED], "published_params");
    ck_assert_str_eq(fields[MODELS_COMPUTED], "computed_params");
    ck_assert_str_eq(fields[MODELS_ACTIVE], "active_params_computed");
    ck_assert_str_eq(fields[MODELS_CONFIG], "config_json");
    return table;
}

#endif
