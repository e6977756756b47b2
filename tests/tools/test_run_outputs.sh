#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every scenario that users start from is run, and what it writes is held against the contract and
# against itself by the independent checker (tests/tools/check_output.h says how). With one replicate
# every figure of the summary is one of the files; one scenario, of 516 steps, is also run as it stands.
source tests/tools/lib.sh
checker=${RLHFSIM_BUILD:?the build folder}/tests/check_output

run_and_check() {
    rlhfsim run "$@" --out "$scratch/out" --quiet
    expect_status 0
    expect_empty stderr
    try "$checker" "$scratch/out"
    expect_status 0
    rm -rf "$scratch/out"
}

# Thousands of phases of a 70B model differ in nothing but their lengths: these runs end some steps
# behind their first checkpoints, the second behind its first epoch of 478 steps.
for scenario in scenarios/*.yaml; do
    short=()
    case $scenario in
    */ppo-llama2-70b-32xh100.yaml) short=(--set steps=220) ;;
    */dpo-lora-llama2-70b-8xa100.yaml) short=(--set steps=500) ;;
    esac
    run_and_check "$scenario" --replicates 1 "${short[@]}"
done
run_and_check scenarios/ppo-llama2-7b-8xa100.yaml

# Short last steps, with idle ranks and replicas, offline and on line: the files still add up.
rest=(--replicates 1 --set dataset.drop_last=false)
run_and_check scenarios/grpo-qwen2.5-7b-8xh100.yaml "${rest[@]}" --set dataset.prompts=1 \
    --set dataset.epochs=3
run_and_check scenarios/ppo-llama2-7b-8xa100.yaml "${rest[@]}" --set dataset.prompts=525
run_and_check scenarios/dpo-llama2-7b-8xa100.yaml "${rest[@]}" --set dataset.pairs=133 \
    --set algorithm.reference_logprobs=precomputed

# A neighbour on the spine for a minute is a span of its own.
rlhfsim run scenarios/ppo-llama2-70b-32xh100.yaml --replicates 1 --set steps=2 --quiet \
    --set "cluster.topology={kind: leaf_spine, block_nodes: 2, oversubscription: 7, background: 0.5, \
background_from: 30 s, background_until: 90 s}" --out "$scratch/shared"
expect_status 0
try "$checker" "$scratch/shared"
expect_status 0
# 4 nodes x 400 GB/s / 7 x 0.5 x 60 s.
try grep '^30,90,0,neighbour,background,system,685714' "$scratch/shared/timeline.csv"
expect_status 0

# A run that does not fit: unsharded states of two trained 7B models, 16 bytes a parameter.
rlhfsim run scenarios/ppo-llama2-7b-8xa100.yaml --set training.zero_stage=0 --out "$scratch/big" \
    --quiet
expect_status 1
try "$checker" "$scratch/big"
expect_status 0

# It removes the time-lines of a run before it in the same folder, and the next run brings them back.
few=(--set steps=2 --quiet)
for attempt in fits does-not fits; do
    extra=()
    wanted=0
    if [[ $attempt == does-not ]]; then
        extra=(--set training.zero_stage=0)
        wanted=1
    fi
    rlhfsim run scenarios/ppo-llama2-7b-8xa100.yaml "${few[@]}" "${extra[@]}" --out "$scratch/same"
    expect_status "$wanted"
    try "$checker" "$scratch/same"
    expect_status 0
done

# A run that is killed leaves hidden files, which the next one in the folder removes; those of one that
# lives stay.
start_run() {
    "$program" run scenarios/ppo-llama2-70b-32xh100.yaml --out "$scratch/killed" --replicates 1000 \
        >/dev/null 2>&1 &
    process=$!
    while kill -0 "$process" 2>/dev/null && [[ ! -e $scratch/killed/.summary.json.$1.tmp ]]; do
        sleep 0.01
    done
}
start_run 0
kill -KILL "$process"
wait "$process" 2>/dev/null || true
expect_files "$scratch/killed" .cost.csv.0.tmp .memory.csv.0.tmp .phases.csv.0.tmp \
    .summary.json.0.tmp .timeline.csv.0.tmp .trace.json.0.tmp
touch "$scratch/killed/.phases.csv.1.tmp"
rlhfsim run scenarios/ppo-llama2-7b-8xa100.yaml "${few[@]}" --out "$scratch/killed"
expect_status 0
whole=(cost.csv memory.csv phases.csv summary.json timeline.csv trace.json)
expect_files "$scratch/killed" "${whole[@]}"
start_run 0
rlhfsim run scenarios/ppo-llama2-7b-8xa100.yaml "${few[@]}" --out "$scratch/killed"
expect_status 0
expect_files "$scratch/killed" .cost.csv.0.tmp .memory.csv.0.tmp .phases.csv.0.tmp \
    .summary.json.0.tmp .timeline.csv.0.tmp .trace.json.0.tmp "${whole[@]}"
kill -TERM "$process"
status=0
wait "$process" || status=$?
expect_status 130
expect_files "$scratch/killed" "${whole[@]}"

finish
