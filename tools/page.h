/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TOOLS_PAGE_H
#define TOOLS_PAGE_H

/*
 * A page of text for the terminal: labels in a narrow column on the left, text beside them, lines
 * broken between words before they pass 96 columns. Labels are bold where the stream is a terminal
 * and neither NO_COLOR nor TERM=dumb speaks against it.
 */

#include <stdbool.h>
#include <stdio.h>

#define PAGE_WIDTH 96
#define PAGE_INDENT 12 /* of the text beside the labels */

struct page {
    FILE *stream;
    bool bold;
    int column;
};

void page_start(struct page *page, FILE *stream);

/* A line of its own, bold. */
void page_title(struct page *page, const char *title);

/* Begins a paragraph beside a label; page_words goes on with it and page_end ends its line. With
 * label "" the paragraph stands under the one before. */
void page_label(struct page *page, const char *label);
/* Text of words, broken where the line would become too long; a number stays with its unit, and
 * text that begins with one of , ; : . stands close to what is before it. */
void page_words(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_end(struct page *page);

/* page_label, page_words and page_end in one. */
void page_paragraph(struct page *page, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A line under the text column that is printed as it is: a row of a table. */
void page_row(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same from the first column on: a table that needs the width. */
void page_wide_row(struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
