/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a page looks like, character by character, on a stream that is no terminal. */
#include "tests/testing.h"
#include "tools/page.h"

#include <stdlib.h>

struct paper {
    struct page page;
    FILE *stream;
    char *text;
    size_t size;
};

static void paper_start(struct paper *paper) {
    paper->stream = open_memstream(&paper->text, &paper->size);
    ck_assert_ptr_nonnull(paper->stream);
    page_start(&paper->page, paper->stream);
}

static void paper_expect(struct paper *paper, const char *expected) {
    fclose(paper->stream);
    ck_assert_str_eq(paper->text, expected);
    free(paper->text);
}

START_TEST(labels_stand_beside_their_text) {
    struct paper paper;
    paper_start(&paper);
    page_title(&paper.page, "name");
    page_paragraph(&paper.page, "Time", "%d s", 5);
    page_paragraph(&paper.page, "", "more");
    page_row(&paper.page, "%-3s|%3d", "a", 7);
    paper_expect(&paper, "name\n"
                         "Time        5 s\n"
                         "            more\n"
                         "            a  |  7\n");
}
END_TEST

START_TEST(punctuation_stands_close) {
    struct paper paper;
    paper_start(&paper);
    page_label(&paper.page, "L");
    page_words(&paper.page, "one");
    page_words(&paper.page, ", two");
    page_words(&paper.page, "; three:");
    page_words(&paper.page, "four");
    page_end(&paper.page);
    paper_expect(&paper, "L           one, two; three: four\n");
}
END_TEST

/* Words of nine letters after an indent of 12: the n-th ends in column 12 + 10 n - 1, so that eight
 * end in column 91 and the ninth would pass column 96. */
START_TEST(lines_break_between_words) {
    struct paper paper;
    paper_start(&paper);
    page_label(&paper.page, "Label");
    for (int i = 0; i < 9; i++)
        page_words(&paper.page, "abcdefghi");
    page_end(&paper.page);
    paper_expect(&paper, "Label       abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi "
                         "abcdefghi abcdefghi\n"
                         "            abcdefghi\n");
}
END_TEST

/* Eight such words leave five columns: "12" would still fit there, "12 GB" does not. */
START_TEST(a_number_stays_with_its_unit) {
    struct paper paper;
    paper_start(&paper);
    page_label(&paper.page, "Label");
    for (int i = 0; i < 8; i++)
        page_words(&paper.page, "abcdefghi");
    page_words(&paper.page, "12 GB are left");
    page_end(&paper.page);
    paper_expect(&paper, "Label       abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi "
                         "abcdefghi abcdefghi\n"
                         "            12 GB are left\n");
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("page");
    TCase *tcase = tcase_create("page");
    tcase_add_test(tcase, labels_stand_beside_their_text);
    tcase_add_test(tcase, punctuation_stands_close);
    tcase_add_test(tcase, lines_break_between_words);
    tcase_add_test(tcase, a_number_stays_with_its_unit);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(suite)
