/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of a YAML text: places, aliases, what is refused, and files made to do harm. */
#include "tests/models/scenario/fixture.h"

#include "models/scenario/tree.h"

#include <time.h>

static struct base_arena arena;
static struct rlhfsim_diagnostics *list;
static struct tree_node *root;

static void setup(void) {
    arena = (struct base_arena){0};
    list = rlhfsim_diagnostics_new();
    root = NULL;
}

static void teardown(void) {
    rlhfsim_diagnostics_free(list);
    base_arena_release(&arena);
}

static enum rlhfsim_status read_bytes(const char *text, size_t length) {
    struct tree_source source = {"s.yaml", text, length, 1};
    return tree_read(&arena, &source, list, &root);
}

static enum rlhfsim_status read_text(const char *text) {
    return read_bytes(text, strlen(text));
}

static void expect_place(struct tree_place place, int line, int column) {
    ck_assert_int_eq(place.line, line);
    ck_assert_int_eq(place.column, column);
}

/* ---- the tree -------------------------------------------------------------------------------- */

START_TEST(test_places) {
    ck_assert_int_eq(read_text("# \xC3\xA9\n"
                               "a: 1\n"
                               "\xC3\xA9\xC3\xA9: {b: \"x\", c: [y, z]}\n"),
                     RLHFSIM_OK);
    ck_assert_int_eq(root->kind, TREE_MAPPING);
    const struct tree_entry *a = root->first, *e = a->next;
    ck_assert_str_eq(a->key, "a");
    expect_place(a->place, 2, 1);
    expect_place(a->value->place, 2, 4);
    /* Two letters of two bytes each: the colon is the third character. */
    expect_place(e->value->place, 3, 5);
    const struct tree_entry *b = e->value->first, *c = b->next;
    expect_place(b->place, 3, 6);
    ck_assert(b->value->quoted);
    expect_place(c->value->place, 3, 17);
    ck_assert_str_eq(c->value->first->next->value->text, "z");
    expect_place(c->value->first->next->value->place, 3, 21);
    ck_assert_ptr_null(e->next);
    ck_assert_ptr_eq(tree_find(root, "a"), a);
    ck_assert_ptr_null(tree_find(root, "b"));
    ck_assert_ptr_null(tree_find(a->value, "b"));
}
END_TEST

START_TEST(test_crlf_and_block_text) {
    ck_assert_int_eq(read_text("a: |\r\n  one\r\n  two\r\nb: 2\r\n"), RLHFSIM_OK);
    ck_assert_str_eq(root->first->value->text, "one\ntwo\n");
    ck_assert(root->first->value->quoted);
    expect_place(root->first->next->place, 4, 1);
}
END_TEST

START_TEST(test_aliases_share) {
    ck_assert_int_eq(read_text("a: &x {k: [1, 2]}\nb: *x\nc: &x 3\nd: *x\n"), RLHFSIM_OK);
    ck_assert_ptr_eq(tree_find(root, "a")->value, tree_find(root, "b")->value);
    /* An anchor may be used again; the later one holds from there. */
    ck_assert_str_eq(tree_find(root, "d")->value->text, "3");
    /* root 1, a: mapping, list, 1, 2 = 4, b the same again, c and d 1 each */
    ck_assert_uint_eq(root->expanded, 1 + 4 + 4 + 1 + 1);
}
END_TEST

START_TEST(test_empty_values) {
    ck_assert_int_eq(read_text("a:\nb: ~\nc: null\nd: \"\"\ne: 'null'\n"), RLHFSIM_OK);
    ck_assert(tree_is_empty(tree_find(root, "a")->value));
    ck_assert(tree_is_empty(tree_find(root, "b")->value));
    ck_assert(tree_is_empty(tree_find(root, "c")->value));
    ck_assert(!tree_is_empty(tree_find(root, "d")->value));
    ck_assert(!tree_is_empty(tree_find(root, "e")->value));
}
END_TEST

START_TEST(test_no_document) {
    ck_assert_int_eq(read_text("# only a comment\n"), RLHFSIM_OK);
    ck_assert(tree_is_empty(root));
    ck_assert_int_eq(read_text(""), RLHFSIM_OK);
    ck_assert(tree_is_empty(root));
}
END_TEST

START_TEST(test_copy_and_put) {
    ck_assert_int_eq(read_text("a: 1\nb: 2\n"), RLHFSIM_OK);
    struct tree_place place = {"--set", 1, 1};
    struct tree_node *copy = tree_copy_mapping(&arena, root);
    ck_assert_ptr_nonnull(tree_put(&arena, copy, "b", place, root->first->value));
    ck_assert_ptr_nonnull(tree_put(&arena, copy, "c", place, root->first->value));
    ck_assert_str_eq(tree_find(copy, "b")->value->text, "1");
    ck_assert_str_eq(tree_find(copy, "c")->place.file, "--set");
    ck_assert_str_eq(tree_find(root, "b")->value->text, "2");
    ck_assert_ptr_null(tree_find(root, "c"));
}
END_TEST

/* After a mistake that leaves a tree, the rest can still be looked through. */
START_TEST(test_rest_of_the_tree) {
    ck_assert_int_eq(read_text("a: 1\na: 2\nb: *x\n<<: {c: 3}\n"), RLHFSIM_INVALID);
    ck_assert_ptr_nonnull(root);
    ck_assert_str_eq(tree_find(root, "a")->value->text, "1");
    ck_assert(tree_find(root, "b")->value->broken);
    ck_assert_ptr_null(tree_find(root, "<<"));
    ck_assert_uint_eq(rlhfsim_diagnostics_count(list), 3);
}
END_TEST

/* ---- refused --------------------------------------------------------------------------------- */

struct bad_case {
    const char *text, *error;
};

static const struct bad_case cases[] = {
    {"a: 1\nb: 2\na: 3\n", "s.yaml:3:1: error: duplicate key 'a', first written at 1:1"},
    {"{a: 1, b: {a: 1, a: 2}}\n", "s.yaml:1:18: error: duplicate key 'a', first written at 1:12"},
    {"a: !!int 4\n", "s.yaml:1:4: error: tags such as '!!int' are not supported; leave it out"},
    {"a: !mine {b: 1}\n",
     "s.yaml:1:4: error: tags such as '!mine' are not supported; leave it out"},
    {"a: ! x\n", "s.yaml:1:4: error: tags such as '!' are not supported; leave it out"},
    {"a: &x {c: 1}\nb:\n  <<: *x\n", "s.yaml:3:3: error: merge keys ('<<') are not supported; "
                                     "write the keys out, or use an alias for "
                                     "a whole value"},
    {"a: *x\n", "s.yaml:1:4: error: no anchor 'x' comes before its alias"},
    {"a: &x [1, *x]\n", "s.yaml:1:11: error: alias 'x' stands inside the value it refers to"},
    {"a: &x *x\n", "s.yaml:1:7: error: an alias ('*') cannot stand here; behind an anchor ('&') "
                   "comes a value of its own"},
    {"a: [&x *x]\n", "s.yaml:1:8: error: an alias ('*') cannot stand here; behind an anchor ('&') "
                     "comes a value of its own"},
    {"a: &x 1\n*x : 2\n", "s.yaml:2:1: error: an alias cannot be a key, expected plain text"},
    {"[a, b]: 2\n", "s.yaml:1:1: error: a list or a mapping cannot be a key, expected plain text"},
    {"&x a: 2\n", "s.yaml:1:1: error: a key cannot have an anchor"},
    {"a: 1\n---\nb: 2\n", "s.yaml:2:1: error: a second document starts here, expected exactly one"},
    {"a: \"\\0\"\n", "s.yaml:1:4: error: the text contains a NUL byte, expected UTF-8 text"},
    {"\"\\e[2J\": 1\n", "s.yaml:1:1: error: the text contains a control character"},
    {"a:\n\tb: 1\n", "s.yaml:2:1: error: a tab cannot indent, expected spaces"},
    {"a: @b\n", "s.yaml:1:4: error: text cannot start with '@'; put it in quotes"},
    {"a: `b`\n", "s.yaml:1:4: error: text cannot start with '`'; put it in quotes"},
    {"a: %b\n", "s.yaml:1:4: error: text cannot start with '%'; put it in quotes"},
    {"a: b: c\n",
     "s.yaml:1:5: error: a ':' cannot stand here; check the indentation, and quote text "
     "that contains ': '"},
    {"a: 1\n b: 2\n",
     "s.yaml:2:3: error: a ':' cannot stand here; check the indentation, and quote "
     "text that contains ': '"},
    {"  a: 1\n b: 2\n",
     "s.yaml:2:2: error: text after the end of the document; check the indentation"},
    {"a: [1, 2\nb: 3\n", "s.yaml:2:2: error: expected ',' or ']' (in the list that starts at 1:4)"},
    {"a: {b: 1\n", "s.yaml:2:1: error: expected ',' or '}' (in the mapping that starts at 1:4)"},
    {"a: {b: 1", "s.yaml:1:9: error: expected ',' or '}' (in the mapping that starts at 1:4)"},
    {"a: \"b\n",
     "s.yaml:2:1: error: the file ends before the closing quote (in the quoted text that "
     "starts at 1:4)"},
    {"a: \"\\q\"\n", "s.yaml:1:5: error: unknown escape sequence in quoted text"},
    {"a\nb: 1\n",
     "s.yaml:2:2: error: a ':' cannot stand here; check the indentation, and quote text "
     "that contains ': '"},
    {"%YAML 9.9\n---\na: 1\n", "s.yaml:1:1: error: expected YAML version 1.1 or 1.2"},
};

static const char *only_error(void) {
    static char text[1024];
    ck_assert_uint_eq(rlhfsim_diagnostics_count(list), 1);
    rlhfsim_error_format(rlhfsim_diagnostics_get(list, 0), text, sizeof text);
    return text;
}

START_TEST(test_refused) {
    ck_assert_int_eq(read_text(cases[_i].text), RLHFSIM_INVALID);
    ck_assert_str_eq(only_error(), cases[_i].error);
}
END_TEST

/* ---- made to do harm ------------------------------------------------------------------------- */

/* Nine anchors of nine aliases each would write out to 9^9 values. */
START_TEST(test_alias_bomb) {
    char text[2048];
    size_t used = (size_t)snprintf(text, sizeof text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s*a%d", j == 0 ? "" : ", ",
                                     i - 1);
        used += (size_t)snprintf(text + used, sizeof text - used, "]\n");
    }
    ck_assert_int_eq(read_text(text), RLHFSIM_INVALID);
    ck_assert_ptr_null(root);
    /* 10, 91, 820, 7381, 66430 values; the first four lists of the last, 265,721 values with the
     * list around them, are more than the limit. */
    ck_assert_str_eq(only_error(), "s.yaml:6:25: error: the aliases write out to more than 200000 "
                                   "values");
}
END_TEST

static char *repeat(const char *unit, size_t count) {
    size_t size = strlen(unit);
    char *text = malloc(size * count + 1);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * size, unit, size);
    text[size * count] = '\0';
    return text;
}

static void expect_refusal(char *text, const char *error) {
    clock_t start = clock();
    ck_assert_int_eq(read_text(text), RLHFSIM_INVALID);
    free(text);
    ck_assert_str_eq(only_error(), error);
    /* Processor time, a thousand times what it takes: what is guarded against are minutes. */
    ck_assert_double_lt((double)(clock() - start) / CLOCKS_PER_SEC, 20.0);
}

START_TEST(test_depth) {
    expect_refusal(repeat("[", 1000000), "s.yaml:1:33: error: nested deeper than 32 levels");
}
END_TEST

START_TEST(test_depth_of_mappings) {
    expect_refusal(repeat("{a: ", 1000000), "s.yaml:1:129: error: nested deeper than 32 levels");
}
END_TEST

START_TEST(test_depth_of_blocks) {
    expect_refusal(repeat("- ", 1000000), "s.yaml:1:65: error: nested deeper than 32 levels");
}
END_TEST

START_TEST(test_depth_limit_itself) {
    char text[128];
    snprintf(text, sizeof text, "%.32s%.32s", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
             "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    ck_assert_int_eq(read_text(text), RLHFSIM_OK);
}
END_TEST

START_TEST(test_nodes) {
    /* The list itself is a value too. */
    expect_refusal(repeat("- 1\n", 300000), "s.yaml:200000:3: error: more than 200000 values");
}
END_TEST

START_TEST(test_anchors) {
    expect_refusal(repeat("- &a 1\n", 1000), "s.yaml:257:3: error: more than 256 anchors");
}
END_TEST

/* Every key twice, in a mapping as long as it may be: found by sorting, not by comparing all. */
START_TEST(test_many_duplicates) {
    char *text = malloc(4000000);
    size_t used = 0;
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < 150000; i++)
        used += (size_t)snprintf(text + used, 4000000 - used, "k%d: 1\n", i % 75000);
    clock_t start = clock();
    ck_assert_int_eq(read_text(text), RLHFSIM_INVALID);
    free(text);
    ck_assert_uint_eq(rlhfsim_diagnostics_count(list), 200);
    ck_assert_double_lt((double)(clock() - start) / CLOCKS_PER_SEC, 20.0);
}
END_TEST

/* ---- files, as a whole program reads them ---------------------------------------------------- */

static struct fixture fixture;

static void setup_files(void) {
    fixture_open(&fixture);
}

static void teardown_files(void) {
    fixture_close(&fixture);
}

struct file_case {
    const char *bytes;
    size_t length; /* 0: to the terminator */
    const char *errors;
};

static const struct file_case files[] = {
    {"", 0, "s.yaml:1:1: error: the file is empty, expected a scenario\n"},
    {"\xEF\xBB\xBF# mark\n", 0, "s.yaml:1:1: error: the file is empty, expected a scenario\n"},
    {"---\n...\n", 0, "s.yaml:2:1: error: the file is empty, expected a scenario\n"},
    {"name: \xFF\n", 0, "s.yaml:1:7: error: the text is not valid UTF-8\n"},
    {"name: a\0b\n", 10, "s.yaml:1:8: error: the text contains a NUL byte, expected UTF-8 text\n"},
    {"\xFF\xFEn\0", 4, "s.yaml:1:1: error: the text is UTF-16 or UTF-32, expected UTF-8\n"},
    {"n\0a\0", 4, "s.yaml:1:2: error: the text contains a NUL byte, expected UTF-8 text\n"},
    {"name: a\n\tseed: 1\n", 0, "s.yaml:2:1: error: a tab cannot indent, expected spaces\n"},
    {"name: a\n---\nname: b\n", 0,
     "s.yaml:2:1: error: a second document starts here, expected exactly one\n"},
    {"k:4\n", 0,
     "s.yaml:1:1: error: the scenario is 'k:4', expected a mapping with the keys name, seed, "
     "framework, steps, algorithm, models, cluster, placement, ...; a space is missing after the "
     "':'\n"},
    {"[name, seed]\n", 0,
     "s.yaml:1:1: error: the scenario is a list, expected a mapping with the keys name, seed, "
     "framework, steps, algorithm, models, cluster, placement, ...\n"},
};

START_TEST(test_files) {
    const struct file_case *row = &files[_i];
    fixture_write_bytes("s.yaml", row->bytes, row->length > 0 ? row->length : strlen(row->bytes));
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, row->errors);
}
END_TEST

START_TEST(test_file_of_17_mib) {
    char *text = repeat("# 16 characters\n", (size_t)17 * 65536);
    fixture_write("s.yaml", text);
    free(text);
    ck_assert_int_eq(fixture_load(&fixture, NULL), RLHFSIM_INVALID);
    ck_assert_str_eq(fixture.errors, "s.yaml: error: the file is larger than 16 MiB\n");
}
END_TEST

static Suite *tree_suite(void) {
    Suite *suite = suite_create("scenario.yaml_tree");
    TCase *trees = tcase_create("trees");
    tcase_add_checked_fixture(trees, setup, teardown);
    tcase_set_timeout(trees, 120);
    tcase_add_test(trees, test_places);
    tcase_add_test(trees, test_crlf_and_block_text);
    tcase_add_test(trees, test_aliases_share);
    tcase_add_test(trees, test_empty_values);
    tcase_add_test(trees, test_no_document);
    tcase_add_test(trees, test_copy_and_put);
    tcase_add_test(trees, test_rest_of_the_tree);
    tcase_add_loop_test(trees, test_refused, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(trees, test_alias_bomb);
    tcase_add_test(trees, test_depth);
    tcase_add_test(trees, test_depth_of_mappings);
    tcase_add_test(trees, test_depth_of_blocks);
    tcase_add_test(trees, test_depth_limit_itself);
    tcase_add_test(trees, test_nodes);
    tcase_add_test(trees, test_anchors);
    tcase_add_test(trees, test_many_duplicates);
    suite_add_tcase(suite, trees);
    TCase *whole = tcase_create("files");
    tcase_add_checked_fixture(whole, setup_files, teardown_files);
    tcase_set_timeout(whole, 120);
    tcase_add_loop_test(whole, test_files, 0, sizeof files / sizeof files[0]);
    tcase_add_test(whole, test_file_of_17_mib);
    suite_add_tcase(suite, whole);
    return suite;
}

TESTING_MAIN(tree_suite)
