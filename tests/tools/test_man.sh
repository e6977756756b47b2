#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command has a manual page with exactly the options of its --help, and the main page lists
# the commands. Where scdoc is there, the pages are made without a complaint.
source tests/tools/lib.sh

options() {
    sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z][a-z-]*\).*/\2/p' "$scratch/stdout" | sort
}

documented() {
    sed -n '/^# OPTIONS/,/^# EXIT/s/^\(\*-.\*, \)\{0,1\}\*\(--[a-z][a-z-]*\)\*.*/\2/p' "$1" | sort
}

compare() {
    local page=tools/man/$1.1.scd
    [[ -f $page ]] || {
        fail "no page $page"
        return
    }
    options >"$scratch/help"
    documented "$page" >"$scratch/man"
    [[ -s $scratch/help ]] || fail "no options in --help"
    expect_same "$scratch/help" "$scratch/man"
}

rlhfsim --help
compare rlhfsim
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' "$scratch/stdout")
for command in $commands; do
    grep -qx "\*$command\*" tools/man/rlhfsim.1.scd || fail "rlhfsim.1 lacks $command"
    rlhfsim "$command" --help
    compare "rlhfsim-$command"
done
for page in tools/man/*.scd; do
    command=$(basename "$page" .1.scd)
    [[ $command == rlhfsim || " ${commands//$'\n'/ } " == *" ${command#rlhfsim-} "* ]] ||
        fail "$page is of no command"
done

if command -v scdoc >/dev/null; then
    for page in tools/man/*.scd; do
        ran="scdoc <$page"
        scdoc <"$page" >"$scratch/stdout" 2>"$scratch/stderr" || fail "scdoc refuses $page"
        expect_empty stderr
        grep -q '^\.TH' "$scratch/stdout" || fail "no manual page"
    done
    ran="the pages of the build"
    [[ -s $RLHFSIM_BUILD/man/rlhfsim.1 ]] || fail "the build has no manual pages"
fi
finish
