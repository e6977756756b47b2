/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/llm/traits.h"
#include "tests/testing.h"

#include <stdio.h>
#include <string.h>

static struct llm_architecture read_good(const char *text) {
    struct llm_architecture a = {0};
    char fault[LLM_TRAIT_FAULT_SIZE] = "";
    size_t position = 0;
    ck_assert_msg(llm_traits_read(text, &a, fault, &position), "%s: %s", text, fault);
    return a;
}

START_TEST(traits_are_read) {
    struct llm_architecture a = read_good("norm=layer;positions=2050;block_norms=one;head_bias");
    ck_assert(a.norm == LLM_NORM_LAYER && a.positions == 2050 && a.head_bias &&
              a.block_norms == LLM_BLOCK_NORMS_ONE && !a.sinks);
    struct llm_architecture moe = read_good("experts=128;experts_per_token=8;moe_ffn=768");
    ck_assert(moe.experts == 128 && moe.experts_per_token == 8 && moe.moe_ffn == 768);
    struct llm_architecture none = read_good("");
    ck_assert(none.experts == 0 && none.norm == LLM_NORM_RMS);
}
END_TEST

/* Each trait alone, at its limit, is written as it was read; and all of them together. */
START_TEST(traits_are_written_as_they_are_read) {
    char all[2048] = "", one[128], text[2048];
    const struct llm_trait *trait;
    for (size_t i = 0; (trait = llm_trait_at(i)) != NULL; i++) {
        ck_assert_uint_gt(strlen(trait->meaning), 0);
        if (trait->kind == LLM_TRAIT_NUMBER)
            snprintf(one, sizeof one, "%s=%lld", trait->name, (long long)trait->limit);
        else if (trait->kind == LLM_TRAIT_FLAG)
            snprintf(one, sizeof one, "%s", trait->name);
        else
            snprintf(one, sizeof one, "%s=%s", trait->name, strrchr(trait->words, ',') + 1);
        struct llm_architecture a = read_good(one);
        ck_assert_int_eq(llm_traits_format(&a, text, sizeof text), (int)strlen(one));
        ck_assert_str_eq(text, one);
        strcat(strcat(all, i == 0 ? "" : ";"), one);
    }
    struct llm_architecture a = read_good(all);
    ck_assert_int_eq(llm_traits_format(&a, text, sizeof text), (int)strlen(all));
    ck_assert_str_eq(text, all);
    /* too little room: cut, with the length that it would have */
    ck_assert_int_eq(llm_traits_format(&a, text, 10), (int)strlen(all));
    ck_assert_uint_eq(strlen(text), 9);
}
END_TEST

START_TEST(wrong_traits_are_placed) {
    static const struct {
        const char *text, *fault;
        size_t position;
    } wrong[] = {
        {"expert=8", "unknown trait 'expert'; did you mean 'experts'?", 0},
        {"norm=layer;colour=red", "unknown trait 'colour'", 11},
        {"experts", "experts: expected \"experts=N\", N a whole number from 1 to 65536", 0},
        {"experts=0", "experts: expected \"experts=N\", N a whole number from 1 to 65536", 0},
        {"experts=1.5", "experts: expected \"experts=N\", N a whole number from 1 to 65536", 0},
        {"experts=65537", "experts: expected \"experts=N\", N a whole number from 1 to 65536", 0},
        {"sinks;experts=", "experts: expected \"experts=N\", N a whole number from 1 to 65536", 6},
        {"sinks=yes", "sinks: stands alone, without a value", 0},
        {"norm", "norm: expected \"norm=WORD\", WORD one of rms,layer", 0},
        {"norm=batch", "norm: expected \"norm=WORD\", WORD one of rms,layer", 0},
        {"sinks;sinks", "sinks is written twice", 6},
        {";sinks", "expected traits such as \"experts=8\" between semicolons", 0},
        {"sinks;", "expected traits such as \"experts=8\" between semicolons", 6},
        {"sinks;;norm=rms", "expected traits such as \"experts=8\" between semicolons", 6},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct llm_architecture a = {0};
        char fault[LLM_TRAIT_FAULT_SIZE] = "";
        size_t position = 99;
        ck_assert(!llm_traits_read(wrong[i].text, &a, fault, &position));
        ck_assert_str_eq(fault, wrong[i].fault);
        ck_assert_uint_eq(position, wrong[i].position);
    }
}
END_TEST

START_TEST(long_items_are_refused) {
    char text[512], fault[LLM_TRAIT_FAULT_SIZE] = "";
    struct llm_architecture a = {0};
    size_t position = 0;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    ck_assert(!llm_traits_read(text, &a, fault, &position));
}
END_TEST

static Suite *suite(void) {
    Suite *result = suite_create("llm_traits");
    TCase *tests = tcase_create("traits");
    tcase_add_test(tests, traits_are_read);
    tcase_add_test(tests, traits_are_written_as_they_are_read);
    tcase_add_test(tests, wrong_traits_are_placed);
    tcase_add_test(tests, long_items_are_refused);
    suite_add_tcase(result, tests);
    return result;
}

TESTING_MAIN(suite)
