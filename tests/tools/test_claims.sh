#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/claims: every claim has a forecast and a verdict, the forecasts are those of the program, and
# a claim on time does hold at the epochs that are named.
source tests/tools/lib.sh
try tools/claims "$program"
expect_status 0
expect_empty stderr
cp "$scratch/stdout" "$scratch/claims"

# The claims of the two articles.
claims=$(grep -c '^[^ ]' "$scratch/claims")
((claims == 19)) || fail "$claims claims, expected 19"
[[ $(grep -c '^    forecast   ' "$scratch/claims") == "$claims" ]] || fail "a claim has no forecast"
[[ $(grep -cE '^    verdict    (holds|holds if .*|does not hold.*)$' "$scratch/claims") == "$claims" ]] ||
    fail "a claim has no verdict"
! grep -qiE 'nan|inf\b' "$scratch/claims" || fail "a figure that is no number"

# Time and price as the program says them.
figure() {
    "$program" run "$1" --replicates 1 --quiet --json "${@:3}" |
        sed -n "/\"$2\": {/,/}/s/.*\"p50\": *\([^,]*\),*/\1/p"
}
ppo=scenarios/ppo-llama2-7b-8xa100.yaml
seconds=$(figure "$ppo" total_s)
days=$(awk "BEGIN { printf \"%.3g\", $seconds / 86400 }")
grep -A1 '^7B PPO on 8 A100 takes' "$scratch/claims" | grep -q "forecast   $days days" ||
    fail "the time of 7B PPO is not $days days"
dear=$(figure "$ppo" total_usd)
cheap=$(figure scenarios/dpo-llama2-7b-8xa100.yaml total_usd)
ratio=$(awk "BEGIN { printf \"%.3g\", $dear / $cheap }")
grep -A1 '^DPO is an order' "$scratch/claims" | grep -q "forecast   $ratio times cheaper" ||
    fail "DPO is not $ratio times cheaper"

# 2 x (2 x 6738415616 + 2 x 6607347712) bytes.
grep -A1 '^Four 7B models' "$scratch/claims" | grep -q 'forecast   53.38 GB' || fail "not 53.38 GB"

# At the epochs that are named, rounded up, the claim holds.
epochs=$(grep -A3 '^7B PPO on 8 A100 takes' "$scratch/claims" |
    sed -n 's/.*would hold at \([0-9.]*\) to.*/\1/p')
[[ -n $epochs ]] || fail "no epochs"
later=$(figure "$ppo" total_s --set "dataset.epochs=$(awk "BEGIN { print int($epochs) + 1 }")")
awk "BEGIN { exit !($later >= 3 * 86400 && $later <= 7 * 86400) }" ||
    fail "7B PPO takes $later s at the epochs that are named"
finish
