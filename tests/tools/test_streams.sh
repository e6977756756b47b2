#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# stdout that cannot be written is the machine's failure: exit 3 and a message. A stdout that is
# closed must not give its number to a result file, which would then hold the note as well.
source tests/tools/lib.sh
scenario=scenarios/ppo-llama2-7b-8xa100.yaml
few=(--set steps=2 --replicates 1)

for arguments in "--help" "--version" "run --help" "check $scenario" "check $scenario --json"; do
    # shellcheck disable=SC2086
    try bash -c '"$@" >/dev/full' bash "$program" $arguments
    expect_status 3
    expect_stderr "rlhfsim: error: cannot write to standard output"
done

try bash -c '"$@" >&-' bash "$program" run "$scenario" "${few[@]}" --out "$scratch/closed"
expect_status 3
expect_stderr "rlhfsim: error: cannot write to standard output"
rlhfsim run "$scenario" "${few[@]}" --out "$scratch/open"
expect_status 0
expect_same "$scratch/closed" "$scratch/open"

# Nobody reads stderr: the answer is the same.
try bash -c '"$@" 2>&- <&-' bash "$program" run "$scenario" "${few[@]}" --out "$scratch/silent"
expect_status 0
expect_same "$scratch/silent" "$scratch/open"

# Plain text when stdout is no terminal; no progress line when stderr is none.
rlhfsim run "$scenario" "${few[@]}"
expect_status 0
expect_empty stderr
! grep -q $'\033' "$scratch/stdout" || fail "colour without a terminal"
[[ $(wc -L <"$scratch/stdout") -le 100 ]] || fail "a line is longer than 100 columns"

finish
