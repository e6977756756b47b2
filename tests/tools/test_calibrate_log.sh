#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# calibrate log, compare, and --calibration of run, check and sweep: the whole way from a log to a
# forecast that hits it, and what is said of bad ones. Numbers of the fit are in
# tests/models/calibration/test_log_fit.c, forms of logs in test_log_steps.c.
source tests/tools/lib.sh
scenario=$scratch/run.yaml
cp scenarios/grpo-qwen2.5-7b-8xh100.yaml "$scenario"

# P50 of a figure of summary.json on stdout.
p50() {
    tr -d ' \n' <"$scratch/stdout" | sed -n "s/.*\"$1\":{\"p10\":[^,]*,\"p50\":\([^,]*\),.*/\1/p"
}

# Whether two numbers differ by less than a share.
near() {
    awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN { exit !(a > b * (1 - share) && a < b * (1 + share)) }' ||
        fail "$1 is not within $3 of $2"
}

rlhfsim run "$scenario" --set steps=8 --set checkpoint.every_steps=0 --set checkpoint.load=none --replicates 1 --json --quiet
expect_status 0
grep -q '"calibration": null' "$scratch/stdout" || fail "a calibration from nowhere"
step=$(p50 step_s) rollout=$(p50 rollout) update=$(p50 actor_update)
logprob=$(p50 actor_logprob) reference=$(p50 reference_logprob) sync=$(p50 weight_sync)
transition=$(p50 transition) reward=$(p50 reward)

# The log is 8 steps of the run, the fit forecasts 4: their longest answers differ by 2 %.

# ---- a log of a run whose rollout takes 1.5 times, its trainer 0.8 times as long ------------------
times() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.6f", a * b }'
}
rollout=$(times "$rollout" 1.5) update=$(times "$update" 0.8)
logprob=$(times "$logprob" 0.8) reference=$(times "$reference" 0.8)
total=$(awk "BEGIN { printf \"%.6f\", $rollout + $update + $logprob + $reference + $sync + $transition + $reward }")
mkdir "$scratch/logs"
log=$scratch/logs/train.log
printf '\033[36m(TaskRunner pid=7)\033[0m step:1 - timing_s/update_actor:%s - timing_s/old_log_prob:%s - timing_s/ref:%s - timing_s/rollout:%s - timing_s/update_weights:%s - timing_s/transition:%s - timing_s/reward:%s - timing_s/step:%s\r\n' \
    "$update" "$logprob" "$reference" "$rollout" "$sync" "$transition" "$reward" "$total" >"$log"
rlhfsim calibrate log "$log" --scenario "$scenario" --out "$scratch/mine/own.csv"
expect_status 0
expect_empty stderr
expect_stdout "the median of 1 step"
expect_stdout "Written"
expect_files "$scratch/mine" own.csv
cp "$scratch/mine/own.csv" "$scratch/first.csv"
head -n 1 "$scratch/first.csv" | grep -qx 'part,factor,fitted,phases,steps,log,scenario' || fail "no header"
[[ $(wc -l <"$scratch/first.csv") == 5 ]] || fail "not four factors"
grep -q '^rollout,.*,yes,rollout,1,train.log,' "$scratch/first.csv" || fail "no provenance"
near "$(sed -n 's/^rollout,\([^,]*\),.*/\1/p' "$scratch/first.csv")" 1.5 0.03
near "$(sed -n 's/^training,\([^,]*\),.*/\1/p' "$scratch/first.csv")" 0.8 0.01
rlhfsim calibrate log "$log" --scenario "$scenario"
expect_status 0
expect_same "$scratch/first.csv" "$scratch/stdout"

# ---- compare says what is off, and nothing with the factors ---------------------------------------
rlhfsim compare "$scenario" "$log"
expect_status 0
grep -Eq '^ *rollout .* x1\.(4[6-9]|5[0-4])$' "$scratch/stdout" || fail "no ratio of the rollout"
expect_stdout "rollout: responses are longer"
rlhfsim compare "$scenario" "$log" --calibration "$scratch/mine/own.csv"
expect_status 0
expect_stdout "x1.00"
! grep -q Likely "$scratch/stdout" || fail "a cause of no gap"

# ---- the forecast hits the log; it says whose factors it has ---------------------------------------
rlhfsim run "$scenario" --set steps=8 --set checkpoint.every_steps=0 --set checkpoint.load=none --replicates 1 --json --quiet --calibration "$scratch/mine/own.csv"
expect_status 0
near "$(p50 step_s)" "$total" 0.02
near "$(p50 rollout)" "$rollout" 0.03
expect_stdout '"calibration.rollout": "measured"'
grep -q '"calibration": "rollout x .* from train.log"' "$scratch/stdout" || fail "no calibration in the summary"
rlhfsim run "$scenario" --set steps=8 --set checkpoint.every_steps=0 --set checkpoint.load=none --replicates 1 --quiet --calibration "$scratch/mine/own.csv" --out "$scratch/out"
expect_status 0
expect_stdout "Calibrated"
rlhfsim check "$scenario" --calibration "$scratch/mine/own.csv"
expect_status 0
expect_stdout "Calibrated"
rlhfsim sweep "$scenario" --set steps=2 --vary cluster.nodes=1,2 --quiet
cp "$scratch/stdout" "$scratch/plain"
rlhfsim sweep "$scenario" --set steps=2 --vary cluster.nodes=1,2 --quiet --calibration "$scratch/mine/own.csv"
expect_status 0
expect_differ "$scratch/plain" "$scratch/stdout"

# A sweep that goes on must have the same factors.
rlhfsim sweep "$scenario" --set steps=2 --vary cluster.nodes=1,2 --quiet --shard 0/2 --out "$scratch/a"
rlhfsim sweep "$scenario" --set steps=2 --vary cluster.nodes=1,2 --quiet --shard 1/2 --out "$scratch/b" \
    --calibration "$scratch/mine/own.csv"
rlhfsim merge "$scratch/a" "$scratch/b"
expect_status 2

# ---- lengths of a log ------------------------------------------------------------------------------
printf 'step,rollout,actor_update,step_s,response_tokens\n1,30,20,80,700\n2,31,21,81,704\n' >"$scratch/logs/wide.csv"
rlhfsim compare "$scenario" "$scratch/logs/wide.csv"
expect_status 0
expect_stdout "the median of 2 steps"
tr -s ' \n' ' ' <"$scratch/stdout" | grep -q "mean of 702 is taken for rollout.response_tokens" ||
    fail "lengths are not taken over, or not said"

# ---- a log of another run ---------------------------------------------------------------------------
printf 'phase,seconds\nrollout,3000\nstep,3100\n' >"$scratch/logs/other.csv"
rlhfsim calibrate log "$scratch/logs/other.csv" --scenario "$scenario" --out "$scratch/other.csv"
expect_status 0
expect_stdout "is it the same run?"

# ---- bad logs: said, exit 2, nothing written -------------------------------------------------------
printf 'no step in here\n' >"$scratch/logs/none.log"
printf 'step,phase,seconds\n1,rolout,3\n' >"$scratch/logs/name.csv"
for bad in none.log name.csv missing.csv; do
    rlhfsim calibrate log "$scratch/logs/$bad" --scenario "$scenario" --out "$scratch/none/own.csv"
    expect_status 2
    expect_empty stdout
    expect_stderr "$bad:"
    expect_absent "$scratch/none"
    rlhfsim compare "$scenario" "$scratch/logs/$bad"
    expect_status 2
    expect_empty stdout
done
rlhfsim compare "$scenario" "$scratch/logs/name.csv"
expect_stderr "name.csv:2:3: error: 'rolout' is no phase that is known; did you mean 'rollout'?"
printf 'step,phase,seconds\n1,critic_update,3\n' >"$scratch/logs/critic.csv"
rlhfsim compare "$scenario" "$scratch/logs/critic.csv"
expect_status 2
expect_stderr "has no timer of a phase that the scenario has"

# A file that the disk has no room for, and a directory in its place.
rlhfsim calibrate log "$log" --scenario "$scenario" --out "$scratch/mine"
expect_status 2
expect_files "$scratch/mine" own.csv

rlhfsim calibrate log "$log" --scenario "$scenario" --out /dev/null
expect_status 2
expect_stderr "/dev/null: error: is a device or a pipe, expected a file"
[[ -c /dev/null ]] || fail "the device is gone"

# ---- a log from a pipe -----------------------------------------------------------------------------
try bash -c '"$1" compare "$2" <(cat "$3")' bash "$program" "$scenario" "$log"
expect_status 0
expect_stdout "the median of 1 step"
try bash -c '"$1" compare "$2" <(cat "$3")' bash "$program" "$scenario" "$scratch/logs/wide.csv"
expect_status 0
expect_stdout "the median of 2 steps"

# ---- bad usage -------------------------------------------------------------------------------------
rlhfsim calibrate log "$log"
expect_status 2
expect_stderr "calibrate log needs --scenario"
rlhfsim calibrate kernels "$log" --scenario "$scenario"
expect_status 2
expect_stderr "--scenario and --set are for calibrate log"
rlhfsim compare
expect_status 2
expect_stderr "the SCENARIO file is missing"
rlhfsim compare "$scenario"
expect_status 2
expect_stderr "a LOG is missing"
rlhfsim compare "$scratch/none.yaml" "$log"
expect_status 2
rlhfsim run "$scenario" --calibration "$scratch/none.csv"
expect_status 2
expect_stderr "none.csv"
printf 'part,factor,fitted\nrollout,-1,yes\n' >"$scratch/bad.csv"
rlhfsim run "$scenario" --calibration "$scratch/bad.csv" --out "$scratch/nothing"
expect_status 2
expect_stderr "bad.csv:2:9: error: factor is -1"
expect_absent "$scratch/nothing"
finish
