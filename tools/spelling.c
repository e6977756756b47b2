/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spelling.h"

#include "diagnose.h"
#include "nearest.h"

#include <stdint.h>
#include <string.h>

/* What argp adds to every parser. */
static const struct argp_option built_in[] = {
    {.name = "help", .key = '?'}, {.name = "usage"}, {.name = "version", .key = 'V'}, {0}};

typedef bool(visit_function)(const struct argp_option *option, void *subject);

static bool is_end(const struct argp_option *option) {
    return option->name == NULL && option->key == 0 && option->doc == NULL;
}

/* Visits all options, those of children and of argp itself included, until `visit` says true. */
static const struct argp_option *find_in(const struct argp_option *options, visit_function *visit,
                                         void *subject) {
    for (; options != NULL && !is_end(options); options++) {
        if (visit(options, subject))
            return options;
    }
    return NULL;
}

static const struct argp_option *find(const struct argp *argp, visit_function *visit,
                                      void *subject) {
    const struct argp_option *found = find_in(argp->options, visit, subject);
    const struct argp_child *child = argp->children;
    for (; found == NULL && child != NULL && child->argp != NULL; child++)
        found = find_in(child->argp->options, visit, subject);
    return found != NULL ? found : find_in(built_in, visit, subject);
}

struct word {
    char text[64];
};

static bool is_called(const struct argp_option *option, void *subject) {
    const struct word *word = subject;
    return option->name != NULL && strcmp(option->name, word->text) == 0;
}

static bool begins_with(const struct argp_option *option, void *subject) {
    const struct word *word = subject;
    return option->name != NULL && strncmp(option->name, word->text, strlen(word->text)) == 0;
}

static bool has_letter(const struct argp_option *option, void *subject) {
    const char *letter = subject;
    return option->key == *letter;
}

struct search {
    const char *word;
    const struct argp_option *best;
    size_t distance;
};

static bool keep_nearest(const struct argp_option *option, void *subject) {
    struct search *search = subject;
    if (option->name != NULL) {
        size_t distance = nearest_distance(search->word, option->name);
        if (distance < search->distance) {
            search->distance = distance;
            search->best = option;
        }
    }
    return false;
}

static bool refuse_unknown(const struct argp *argp, const char *program, struct word *word) {
    const struct argp_option *whole = find(argp, begins_with, word);
    struct search search = {.word = word->text, .distance = SIZE_MAX};
    find(argp, keep_nearest, &search);
    if (whole != NULL)
        diagnose_usage(program, "options are not abbreviated: write '--%s' for '--%s'", whole->name,
                       word->text);
    else if (nearest_is_near(word->text, search.distance))
        diagnose_usage(program, "unknown option '--%s'; did you mean '--%s'?", word->text,
                       search.best->name);
    else
        diagnose_usage(program, "unknown option '--%s'", word->text);
    return false;
}

static bool refuse_letters(const struct argp *argp, const char *program, const char *argument) {
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        char wanted = *letter;
        if (find(argp, has_letter, &wanted) == NULL) {
            diagnose_usage(program, "unknown option '%s'", argument);
            return false;
        }
    }
    return true;
}

/* Looks at the long option argv[*index] and, when its value is the next argument, moves on to it.
 */
static bool check_long(const struct argp *argp, int argc, char **argv, int *index) {
    const char *name = argv[*index] + 2;
    size_t length = strcspn(name, "=");
    struct word word = {0};
    memcpy(word.text, name, length < sizeof word.text ? length : sizeof word.text - 1);
    const struct argp_option *option = find(argp, is_called, &word);
    if (option == NULL)
        return refuse_unknown(argp, argv[0], &word);
    bool has_value = name[length] == '=';
    if (option->arg == NULL && has_value) {
        diagnose_usage(argv[0], "'--%s' takes no value", option->name);
        return false;
    }
    if (option->arg != NULL && !has_value && ++*index >= argc) {
        diagnose_usage(argv[0], "'--%s' needs a value: --%s %s", option->name, option->name,
                       option->arg);
        return false;
    }
    return true;
}

bool spelling_check(const struct argp *argp, int argc, char **argv, bool in_order) {
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        bool is_option = argument[0] == '-' && argument[1] != '\0';
        if (strcmp(argument, "--") == 0 || (!is_option && in_order))
            return true;
        if (!is_option)
            continue;
        bool good = argument[1] == '-' ? check_long(argp, argc, argv, &i)
                                       : refuse_letters(argp, argv[0], argument);
        if (!good)
            return false;
    }
    return true;
}
