#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# check: what would make a scenario fit, searches over legal values, the verdict near the limit; the
# script that stacks memory.csv.
source tests/tools/lib.sh

scenario=scenarios/ppo-llama2-7b-8xa100.yaml

# ---- changes ----------------------------------------------------------------------------------
rlhfsim check "$scenario" --set rollout.memory_fraction=0.9
expect_status 1
expect_stdout "DOES NOT FIT"
expect_stdout "Would fit   with one of these changes, cheapest first"
expect_stdout "--set rollout.memory_fraction=0."
change=$(sed -n 's/^ *--set \(rollout.memory_fraction=[0-9.]*\)$/\1/p' "$scratch/stdout")
rlhfsim check "$scenario" --set "$change"
expect_status 0
grep -qE '^Memory +(fits|MARGINAL)' "$scratch/stdout" || fail "it does not fit"
! grep -q "Would fit" "$scratch/stdout" || fail "changes of a scenario that fits"

# `run` prints no price of anything where it does not fit.
rlhfsim run "$scenario" --set rollout.memory_fraction=0.9 --set steps=1 --replicates 1 --quiet
expect_status 1
! grep -q USD "$scratch/stdout" || fail "a price of an infeasible run"

# ---- searches ---------------------------------------------------------------------------------
rlhfsim check "$scenario" --min-gpus --max-microbatch
expect_status 0
expect_stdout "Least GPUs  "
expect_stdout "Micro-batch at most 16 samples: --set training.microbatch_samples=16"

rlhfsim check "$scenario" --min-gpus --max-microbatch --json
expect_status 0
expect_stdout '"min_gpus": {"found": true, "settings": "cluster.nodes=1 cluster.gpus_per_node='
expect_stdout '"max_microbatch": {"found": true, "settings": "training.microbatch_samples=16"'
rlhfsim check "$scenario" --set rollout.memory_fraction=0.9 --json
expect_status 1
expect_stdout '"changes": ['
expect_stdout '"settings": "rollout.memory_fraction='
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); assert s["changes"] and s["memory"]["fits"] is False' \
        "$scratch/stdout" || fail "not JSON"
fi

# A token budget is searched by tokens.
rlhfsim check scenarios/grpo-qwen2.5-7b-8xh100.yaml --max-microbatch
expect_status 0
expect_stdout "Micro-batch at most "
expect_stdout " tokens: --set training.microbatch_tokens="

# ---- a network written out ---------------------------------------------------------------------
link='{from: node0..1, to: leaf, bandwidth: 200 Gbit/s, cables: 4}'
rlhfsim check "$scenario" --set cluster.nodes=2 \
    --set "cluster.topology={kind: graph, switches: [leaf], links: [$link]}"
expect_status 0
expect_stdout "Network     graph: 2 nodes, 1 switch; 8 links to nodes and 0 between switches; routes by"
rlhfsim check "$scenario" --set cluster.nodes=2 \
    --set "cluster.topology={kind: graph, switches: [leaf, lone], links: [$link]}"
expect_status 2
expect_stderr "error: switch 'lone' is not joined to any node"

# ---- the chart --------------------------------------------------------------------------------
rlhfsim run "$scenario" --set steps=1 --replicates 1 --quiet --out "$scratch/out"
expect_status 0
try tools/plot-memory -g "$scratch/out"
expect_status 0
expect_stdout 'time_s,actor weights,'
expect_stdout 'with filledcurves'
# The top of the stack at any time is what the device holds in all.
top=$(sed -n '/^0,/{p;q}' "$scratch/stdout" | awk -F, '{ print $NF }')
held=$(awk -F, 'NR > 1 && $2 == "gpu0" && $1 == 0 { sum += $5 } END { printf "%.6f", sum / 1e9 }' \
    "$scratch/out/memory.csv")
awk -v a="$top" -v b="$held" 'BEGIN { exit !(a - b < 1e-5 && b - a < 1e-5) }' ||
    fail "the stack is $top GB, memory.csv holds $held"
try tools/plot-memory -d gpu99 -g "$scratch/out"
expect_status 2
try tools/plot-memory "$scratch"
expect_status 2
if command -v gnuplot >/dev/null; then
    try tools/plot-memory "$scratch/out"
    expect_status 0
    [[ -s $scratch/out/memory.svg ]] || fail "no chart"
fi

finish
