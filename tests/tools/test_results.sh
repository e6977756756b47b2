#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What run and check leave behind: which files, the same bytes for the same seed, nothing at all
# after a mistake, a failure of the machine or an interruption.
source tests/tools/lib.sh
scenario=scenarios/ppo-llama2-7b-8xa100.yaml
few=(--set steps=2 --replicates 2)
all_files=(summary.json timeline.csv phases.csv memory.csv cost.csv trace.json)
# Adam's states of both trained models, not divided over the GPUs: 2 x 7e9 x 16 bytes > 80 GB.
too_big=(--set training.zero_stage=0)

# ---- a run --------------------------------------------------------------------------------------
rlhfsim run "$scenario" "${few[@]}" --out "$scratch/a"
expect_status 0
expect_empty stderr
expect_files "$scratch/a" "${all_files[@]}"
for label in Time Money Memory Step Idle Samples Steps Throughput Limit Sources; do
    grep -q "^$label " "$scratch/stdout" || fail "the note lacks $label"
done
cp "$scratch/stdout" "$scratch/note"

# Options may stand before the scenario as well; a folder that is there is written into.
rlhfsim run --out "$scratch/a" "${few[@]}" "$scenario"
expect_status 0
expect_files "$scratch/a" "${all_files[@]}"

# --json prints what summary.json holds, and --out does not change the answer.
rlhfsim run "$scenario" "${few[@]}" --json
expect_status 0
expect_same "$scratch/stdout" "$scratch/a/summary.json"

# ---- the same seed, the same bytes; another seed, others -------------------------------------------
rlhfsim run "$scenario" "${few[@]}" --out "$scratch/b"
expect_status 0
expect_same "$scratch/stdout" "$scratch/note"
expect_same "$scratch/a" "$scratch/b"
for seed in 2 9223372036854775807; do
    rlhfsim run "$scenario" "${few[@]}" --seed "$seed" --out "$scratch/seed$seed"
    expect_status 0
    expect_differ "$scratch/a/timeline.csv" "$scratch/seed$seed/timeline.csv"
done
expect_differ "$scratch/seed2/timeline.csv" "$scratch/seed9223372036854775807/timeline.csv"
# --set reaches the same seed by the other door.
rlhfsim run "$scenario" "${few[@]}" --set seed=2 --out "$scratch/set"
expect_status 0
expect_same "$scratch/seed2" "$scratch/set"

# ---- what does not fit ------------------------------------------------------------------------------
rlhfsim check "$scenario" "${too_big[@]}"
expect_status 1
expect_stdout "DOES NOT FIT"
expect_empty stderr
rlhfsim check "$scenario" "${too_big[@]}" --ignore-memory
expect_status 0
expect_stdout "DOES NOT FIT"
rlhfsim run "$scenario" "${few[@]}" "${too_big[@]}" --out "$scratch/big"
expect_status 1
expect_stdout "DOES NOT FIT"
expect_stdout "every GPU lacks "
expect_stdout "GB in phase "
! grep -qE '^(Time|Money|Step) ' "$scratch/stdout" || fail "time or price of an infeasible run"
! grep -q USD "$scratch/stdout" || fail "a price of an infeasible run"
expect_files "$scratch/big" summary.json memory.csv
rlhfsim run "$scenario" "${few[@]}" "${too_big[@]}" --json
expect_status 1
expect_same "$scratch/stdout" "$scratch/big/summary.json"
rlhfsim run "$scenario" "${few[@]}" "${too_big[@]}" --ignore-memory --out "$scratch/forced"
expect_status 0
expect_stdout "DOES NOT FIT"
grep -q '^Time ' "$scratch/stdout" || fail "--ignore-memory gives no time"
expect_files "$scratch/forced" "${all_files[@]}"

# ---- check ------------------------------------------------------------------------------------------
rlhfsim check "$scenario"
expect_status 0
expect_stdout "fits:"
# 2 x 32000 x 4096 + 32 x (4 x 4096^2 + 3 x 4096 x 11008 + 2 x 4096) + 4096; the critic's head is one
# row of 4096 in place of 32000.
expect_stdout "6,738,415,616 parameters"
expect_stdout "6,607,347,712 parameters"
! grep -qE '^(Time|Money) ' "$scratch/stdout" || fail "check gives a time or a price"
# All that follows without running: 128 samples of an optimizer step on 8 ranks, 8 a pass; bf16
# weights of 2 x 6.74e9 bytes; 14 bytes a parameter of actor and critic in a checkpoint.
grep -qE '^Phases +GB on each GPU:$' "$scratch/stdout" || fail "no table of phases"
grep -qE '^  actor_update +[0-9.]+ ' "$scratch/stdout" || fail "no row of a phase"
tr -s '\n ' ' ' <"$scratch/stdout" >"$scratch/words"
for text in "8 data parallel ranks x 1 GPU (ZeRO stage 3)" \
    "each a rank takes 16 samples in 2 micro-batches of 8" "8 replicas x 1 GPU" \
    "of the longest sequences (768 tokens) run at once" "13.5 GB a weight sync (ipc_bucket)" \
    "a checkpoint has 187 GB, every 100 steps, the last 3 kept" "27.45 USD an hour" \
    "after every 100 steps and after the last step; 2.60 min each at 1.20 GB/s a node to the store (assumed)" \
    "each pass over the data set leaves out 100 prompts (dataset.drop_last)"; do
    grep -qF -- "$text" "$scratch/words" || fail "check lacks: $text"
done
[[ $(wc -L <"$scratch/stdout") -le 104 ]] || fail "a line of check is too long"
rlhfsim check "$scenario" --json
expect_status 0
for unknown in time cost throughput; do
    expect_stdout "\"$unknown\": null"
done
# 264,292 / 512 = 516 full steps of 512 / 128 optimizer steps; verl drops the rest of 100 prompts.
expect_stdout '"optimizer": 2064'

# ---- the end of an epoch, and adapters --------------------------------------------------------------
# GSM8K: 7,473 problems are 7 steps of 1,024 and 305; verl drops these, so 15 x 7 steps.
grpo=scenarios/grpo-qwen2.5-7b-8xh100.yaml
check_says() {
    local text=$1
    shift
    rlhfsim check "$@"
    expect_status 0
    tr -s '\n ' ' ' <"$scratch/stdout" >"$scratch/words"
    grep -qF -- "$text" "$scratch/words" || fail "check lacks: $text"
}
check_says "105 rollout steps of 1,024 prompts x 5" "$grpo"
check_says "leaves out 305 prompts (dataset.drop_last)" "$grpo"
check_says "120 rollout steps of 1,024 prompts x 5" "$grpo" --set dataset.drop_last=false
check_says "data set is short: 305 prompts" "$grpo" --set dataset.drop_last=false
check_says "data set is short: 79 pairs" scenarios/dpo-llama2-7b-8xa100.yaml
check_says "moves the whole model, adapters merged into it (ipc_bucket)" "$grpo" \
    --set models.actor.lora_rank=16
check_says "models.actor.lora_rank" "$grpo" --set models.actor.lora_rank=16
check_says "cluster.node.storage_gb_per_s" "$grpo"
rlhfsim check "$grpo"
! grep -qE "^LoRA" "$scratch/stdout" || fail "adapters without any"
rlhfsim check "$grpo" --set dataset.prompts=1
expect_status 2
expect_stderr "dataset.drop_last"
expect_empty stdout

# ---- mistakes: exit 2, where, what, what is nearest; nothing is written -----------------------------
for command in check "run --out $scratch/none"; do
    # "training.zero_stag" is wrong from its second part on, the value 9 stands in column 21.
    # shellcheck disable=SC2086
    rlhfsim $command "$scenario" --set training.zero_stag=1 --set training.zero_stage=9
    expect_status 2
    expect_empty stdout
    expect_stderr "--set:1:10: error: "
    expect_stderr "zero_stage"
    expect_stderr "--set:1:21: error: "
    # shellcheck disable=SC2086
    rlhfsim $command "$scenario" --set novalue
    expect_status 2
    expect_stderr "--set:1:"
    # All mistakes of a file are said at once, each where it stands.
    printf 'name: x\nseed: -1\nnonsense: 1\n' >"$scratch/bad.yaml"
    # shellcheck disable=SC2086
    rlhfsim $command "$scratch/bad.yaml"
    expect_status 2
    expect_stderr "$scratch/bad.yaml:2:7: error: "
    expect_stderr "$scratch/bad.yaml:3:1: error: "
    expect_empty stdout
done
expect_absent "$scratch/none"
rlhfsim run "$scratch/absent.yaml"
expect_status 2
expect_stderr "$scratch/absent.yaml: error: cannot be read: No such file or directory"

# ---- the machine fails: exit 3, nothing is left ----------------------------------------------------
touch "$scratch/file"
rlhfsim run "$scenario" "${few[@]}" --out "$scratch/file/below"
expect_status 3
expect_stderr "$scratch/file"
expect_empty stdout
# Files may grow to 1024 bytes and no further.
try bash -c 'ulimit -c 0 -f 1; "$@"' bash "$program" run "$scenario" "${few[@]}" \
    --out "$scratch/small" --quiet
expect_status 3
grep -q 'error: ' "$scratch/stderr" || fail "no message"
[[ ! -e $scratch/small ]] || expect_files "$scratch/small"

# ---- interrupted: 130, nothing is left -------------------------------------------------------------
ran="an interrupted run"
mkdir "$scratch/stopped"
"$program" run "$scenario" --replicates 100000 --out "$scratch/stopped" \
    >"$scratch/stdout" 2>"$scratch/stderr" &
process=$!
# It listens to signals before it opens its files; until it has, there is nothing to interrupt.
until [[ -n $(find "$scratch/stopped" -name '.*.tmp') ]] || ! kill -0 "$process" 2>/dev/null; do
    sleep 0.05
done
kill -TERM "$process"
status=0
wait "$process" || status=$?
expect_status 130
expect_stderr "interrupted"
expect_empty stdout
expect_files "$scratch/stopped"

finish
