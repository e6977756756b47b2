#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# On a terminal (a pseudo-terminal of script(1)): bold labels unless NO_COLOR or TERM=dumb is set, and
# a progress line after a second that is gone in the end.
source tests/tools/lib.sh
command -v script >/dev/null || {
    echo "skipped: no script(1) for a pseudo-terminal"
    exit 77
}
scenario=scenarios/ppo-llama2-7b-8xa100.yaml

# Runs a shell line on a pseudo-terminal; what appears there goes to $scratch/stdout.
on_terminal() {
    try script -qec "$1" /dev/null
}

check="'$program' check $scenario"
on_terminal "TERM=xterm NO_COLOR= $check"
expect_status 0
grep -qF $'\033[1m' "$scratch/stdout" || fail "no bold label on a terminal"
for quiet in "TERM=xterm NO_COLOR=1" "TERM=dumb NO_COLOR="; do
    on_terminal "$quiet $check"
    expect_status 0
    ! grep -q $'\033' "$scratch/stdout" || fail "colour with $quiet"
done

# Enough replicates for a few seconds; Ctrl-C ends it when it has shown its progress.
long="exec '$program' run $scenario --replicates 100000"
on_terminal "timeout --preserve-status -s INT --foreground 5 bash -c \"$long\" >$scratch/result"
expect_status 130
tr '\r' '\n' <"$scratch/stdout" >"$scratch/lines"
grep -qE '^forecasting \[[#.]{30}\] +[0-9]+ %' "$scratch/lines" || fail "no progress line"
on_terminal "timeout --preserve-status -s INT --foreground 5 bash -c \"$long --quiet\" >$scratch/result"
expect_status 130
! grep -q forecasting "$scratch/stdout" || fail "progress although --quiet"

# A sweep shows its progress over all points.
sweep="exec '$program' sweep $scenario --replicates 100000 --vary algorithm.samples_per_prompt=1,2"
on_terminal "timeout --preserve-status -s INT --foreground 3 bash -c \"$sweep\" >$scratch/result"
expect_status 130
tr '\r' '\n' <"$scratch/stdout" >"$scratch/lines"
grep -qE '^forecasting \[[#.]{30}\] +[0-9]+ %' "$scratch/lines" || fail "no progress line"

# A short one shows none.
on_terminal "'$program' run $scenario --set steps=1 --replicates 1 >$scratch/result"
expect_status 0
expect_empty stdout

finish
