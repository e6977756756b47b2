/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenario/yaml_error.h"

#include "models/base/utf8.h"

#include <stdio.h>
#include <string.h>

#define TAB "a tab cannot indent, expected spaces"

struct wording {
    const char *theirs, *ours;
};

/* What libyaml calls a problem, and what helps. Anything else is passed on as it is. */
static const struct wording problems[] = {
    {"mapping values are not allowed in this context",
     "a ':' cannot stand here; check the indentation, and quote text that contains ': '"},
    {"did not find expected key", "expected a key; check the indentation"},
    {"did not find expected '-' indicator", "expected '- '; check the indentation"},
    {"did not find expected ',' or ']'", "expected ',' or ']'"},
    {"did not find expected ',' or '}'", "expected ',' or '}'"},
    {"did not find expected node content", "expected a value"},
    {"did not find expected <document start>",
     "text after the end of the document; check the indentation"},
    {"could not find expected ':'", "expected ':' after the key"},
    {"found unexpected end of stream", "the file ends before the closing quote"},
    {"block sequence entries are not allowed in this context", "a list cannot start here"},
    {"found unknown escape character", "unknown escape sequence in quoted text"},
    {"found a tab character that violates indentation", TAB},
    {"found a tab character where an indentation space is expected", TAB},
    {"found duplicate %YAML directive", "a second %YAML line"},
    {"found incompatible YAML document", "expected YAML version 1.1 or 1.2"},
};

static const struct wording contexts[] = {
    {"while parsing a flow sequence", "the list"},
    {"while parsing a flow mapping", "the mapping"},
    {"while parsing a block mapping", "the mapping"},
    {"while parsing a block collection", "the list"},
    {"while scanning a quoted scalar", "the quoted text"},
    {"while scanning a simple key", "the key"},
};

static const char *reword(const struct wording *rows, size_t count, const char *theirs) {
    for (size_t i = 0; theirs != NULL && i < count; i++)
        if (strcmp(rows[i].theirs, theirs) == 0)
            return rows[i].ours;
    return NULL;
}

struct tree_place yaml_place(const struct tree_source *source, const yaml_mark_t *mark) {
    int shift = mark->line == 0 ? source->column : 1;
    return (struct tree_place){source->file, (int)mark->line + 1, (int)mark->column + shift};
}

/* Just behind the last character. */
static struct tree_place end_of(const struct tree_source *source) {
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < source->length; i++) {
        bool line_end = source->text[i] == '\n';
        bool inside = ((unsigned char)source->text[i] & 0xC0U) == 0x80U;
        mark.line += line_end ? 1 : 0;
        mark.column = line_end ? 0 : mark.column + (inside ? 0 : 1);
    }
    return yaml_place(source, &mark);
}

/* Where the problem is. At the end of a text without a last line end libyaml supposes one and names
 * a line that is not there. */
static struct tree_place problem_place(const yaml_parser_t *parser,
                                       const struct tree_source *source) {
    struct tree_place place = yaml_place(source, &parser->problem_mark);
    struct tree_place end = end_of(source);
    return place.line > end.line ? end : place;
}

/* The character at a mark, whose index counts characters; 0 past the end. */
static unsigned character_at(const struct tree_source *source, const yaml_mark_t *mark) {
    size_t offset = 0;
    unsigned code = 0;
    for (size_t left = mark->index + 1; left > 0; left--) {
        size_t step = offset < source->length
                          ? base_utf8_decode(source->text + offset, source->length - offset, &code)
                          : 0;
        if (step == 0)
            return 0;
        offset += step;
    }
    return code;
}

/* A character that cannot start anything is a tab, or a special one that wants quotes. */
static enum rlhfsim_status bad_character(const yaml_parser_t *parser,
                                         const struct tree_source *source,
                                         struct rlhfsim_diagnostics *diagnostics) {
    struct tree_place place = problem_place(parser, source);
    unsigned code = character_at(source, &parser->problem_mark);
    if (code == '\t')
        return tree_error(diagnostics, place, TAB);
    if (code > ' ' && code < 0x7F)
        return tree_error(diagnostics, place, "text cannot start with '%c'; put it in quotes",
                          (char)code);
    return tree_error(diagnostics, place, "unexpected character");
}

/* An anchor takes the value behind it, which no alias can be: "&x *x". */
static bool is_alias(const yaml_parser_t *parser, const struct tree_source *source) {
    return strncmp(parser->problem == NULL ? "" : parser->problem, "did not find expected", 21) ==
               0 &&
           character_at(source, &parser->problem_mark) == '*';
}

enum rlhfsim_status yaml_error_add(const yaml_parser_t *parser, const struct tree_source *source,
                                   struct rlhfsim_diagnostics *diagnostics) {
    if (parser->error == YAML_MEMORY_ERROR)
        return RLHFSIM_NO_MEMORY;
    const char *problem = parser->problem != NULL ? parser->problem : "this is not YAML";
    if (strcmp(problem, "found character that cannot start any token") == 0)
        return bad_character(parser, source, diagnostics);
    if (is_alias(parser, source))
        return tree_error(diagnostics, problem_place(parser, source),
                          "an alias ('*') cannot stand here; behind an anchor ('&') comes a value "
                          "of its own");
    const char *ours = reword(problems, sizeof problems / sizeof problems[0], problem);
    const char *context = reword(contexts, sizeof contexts / sizeof contexts[0], parser->context);
    struct tree_place place = problem_place(parser, source);
    if (context == NULL)
        return tree_error(diagnostics, place, "%s", ours != NULL ? ours : problem);
    struct tree_place start = yaml_place(source, &parser->context_mark);
    return tree_error(diagnostics, place, "%s (in %s that starts at %d:%d)",
                      ours != NULL ? ours : problem, context, start.line, start.column);
}
