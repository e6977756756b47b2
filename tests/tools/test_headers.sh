#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone, and twice: it includes what it needs and is guarded. The public ones
# do so with nothing but the public include folder.
source tests/tools/lib.sh

compile() {
    local header=$1
    shift
    printf '#include "%s"\n#include "%s"\n' "$PWD/$header" "$PWD/$header" >"$scratch/alone.c"
    try gcc -std=c17 -Wall -Wextra -Werror -fsyntax-only "$@" "$scratch/alone.c"
    expect_status 0
}

count=0
while read -r header; do
    case $header in
    include/*) compile "$header" -Iinclude ;;
    *) compile "$header" -D_GNU_SOURCE -DHAVE_INLINE -Iinclude -I. ;;
    esac
    count=$((count + 1))
done < <(find include sim models tools tests -name '*.h')
((count > 20)) || fail "found only $count headers"

finish
