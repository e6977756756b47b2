/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARAGRAPH 4096 /* bytes of one page_words; more is cut */

static bool wants_bold(FILE *stream) {
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    if (no_color != NULL && no_color[0] != '\0')
        return false;
    return isatty(fileno(stream)) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

void page_start(struct page *page, FILE *stream) {
    page->stream = stream;
    page->bold = wants_bold(stream);
    page->column = 0;
}

static void print_bold(struct page *page, const char *text) {
    fprintf(page->stream, page->bold ? "\033[1m%s\033[0m" : "%s", text);
}

void page_title(struct page *page, const char *title) {
    print_bold(page, title);
    page_end(page);
}

static void indent_to(struct page *page, int column) {
    fprintf(page->stream, "%*s", column - page->column, "");
    page->column = column;
}

void page_label(struct page *page, const char *label) {
    if (label[0] != '\0')
        print_bold(page, label);
    page->column = (int)strlen(label);
    indent_to(page, PAGE_INDENT);
}

static void print_word(struct page *page, const char *word, int length) {
    bool follows = page->column > PAGE_INDENT && strchr(",;:.", word[0]) == NULL;
    if (follows && page->column + 1 + length > PAGE_WIDTH) {
        page_end(page);
        indent_to(page, PAGE_INDENT);
    } else if (follows) {
        indent_to(page, page->column + 1);
    }
    fprintf(page->stream, "%.*s", length, word);
    page->column += length;
}

/* A number and what follows it, mostly its unit, are one word. */
static size_t word_length(const char *word) {
    size_t length = strcspn(word, " ");
    bool is_number = isdigit((unsigned char)word[word[0] == '(']);
    return is_number && word[length] == ' ' ? length + 1 + strcspn(word + length + 1, " ") : length;
}

static void print_words(struct page *page, const char *format, va_list arguments) {
    char text[PARAGRAPH];
    vsnprintf(text, sizeof text, format, arguments);
    for (const char *word = text + strspn(text, " "); *word != '\0'; word += strspn(word, " ")) {
        size_t length = word_length(word);
        print_word(page, word, (int)length);
        word += length;
    }
}

void page_words(struct page *page, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_words(page, format, arguments);
    va_end(arguments);
}

void page_end(struct page *page) {
    fputc('\n', page->stream);
    page->column = 0;
}

void page_paragraph(struct page *page, const char *label, const char *format, ...) {
    va_list arguments;
    page_label(page, label);
    va_start(arguments, format);
    print_words(page, format, arguments);
    va_end(arguments);
    page_end(page);
}

void page_row(struct page *page, const char *format, ...) {
    va_list arguments;
    indent_to(page, PAGE_INDENT);
    va_start(arguments, format);
    vfprintf(page->stream, format, arguments);
    va_end(arguments);
    page_end(page);
}

void page_wide_row(struct page *page, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(page->stream, format, arguments);
    va_end(arguments);
    page_end(page);
}
