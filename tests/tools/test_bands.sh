#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bands of the model's own error, from measured runs to a forecast's: figures that are the forecasts
# of shipped coefficients times known factors give bands of those factors.
source tests/tools/lib.sh
runs=$scratch/runs
mkdir "$runs"

# Three sources of six runs each; a framework without fitted coefficients, so that no source that is
# left out changes what the others forecast.
awk 'BEGIN {
    print "run_key,source_key,framework,algorithm,actor_model,reference_model,gpu,num_gpus,gpus_per_node,placement,train_backend,train_tp,train_pp,train_cp,zero_stage,recompute,packing,rollout_tp,prompts_per_step,samples_per_prompt,mean_prompt_tokens,max_prompt_tokens,mean_response_tokens,max_response_tokens,minibatch_samples,microbatch_samples"
    for (s = 0; s < 3; s++)
        for (r = 0; r < 6; r++)
            printf "%c%d,%c,trl,grpo,Qwen2.5-0.5B,no,H100-SXM5-80GB,8,8,colocated,fsdp,1,1,1,3,none,yes,1,16,8,100,512,%d,1024,64,4\n", 65 + s, r, 65 + s, 200 + 20 * r
}' >"$runs/runs.csv"
awk 'BEGIN {
    print "run_key,metric,value"
    for (s = 0; s < 3; s++)
        for (r = 0; r < 6; r++)
            printf "%c%d,step_s,1\n", 65 + s, r
}' >"$runs/figures.csv"
rlhfsim validate runs "$runs" --out "$scratch/first"
expect_status 0

# Measured: forecast x 0.8, 0.9 .. 1.3 in each source.
awk -F, 'BEGIN { print "run_key,metric,value" }
    FNR > 1 { printf "%s,step_s,%.12g\n", $2, $5 * (0.8 + 0.1 * substr($2, 2)) }' \
    "$scratch/first/validation.csv" >"$runs/figures.csv"
rlhfsim calibrate bands "$runs" --out "$scratch/mine/bands.csv"
expect_status 0
expect_stdout "colocated step"

# 18 logarithms: P10 is at place 1.7 of three 0.8 (0 to 2), the median between 1.0 and 1.1, P90 at
# 15.3 of three 1.3 (15 to 17). Of two sources P10 is at 1.1, between 0.8 (0, 1) and 0.9 (2, 3):
# 0.8 x (0.9 / 0.8)^0.1 = 0.8095; P90 at 9.9, between 1.2 (8, 9) and 1.3 (10, 11): 1.2 x (1.3 /
# 1.2)^0.9 = 1.290. That holds four of a source's six.
grep -qx 'colocated,step,,18,3,0.8,1.049,1.3,[0-9.]*,18,12,measured,rlhfsim calibrate bands runs,' \
    "$scratch/mine/bands.csv" || fail "another band: $(cat "$scratch/mine/bands.csv")"
grep -qx 'colocated,step,B,12,2,0.8095,1.049,1.29,,6,4,measured,rlhfsim calibrate bands runs,' \
    "$scratch/mine/bands.csv" || fail "another band without B: $(cat "$scratch/mine/bands.csv")"
[[ $(wc -l <"$scratch/mine/bands.csv") == 5 ]] || fail "not a band and three without a source"
cp "$scratch/mine/bands.csv" "$scratch/again.csv"
rlhfsim calibrate bands "$runs"
expect_same "$scratch/again.csv" "$scratch/stdout"

# ---- validate takes the band of the other sources -------------------------------------------------
rlhfsim validate runs "$runs" --out "$scratch/second" --catalog "$scratch/mine" --json
expect_status 0
expect_stdout '"complete colocated step": {"figures": 18, "tried": 18, "inside": 12, "median_width": 1.59'
awk -F, 'NR == 1 { exit !($0 ~ /,skipped,low,high,widest_input$/) }' "$scratch/second/validation.csv" ||
    fail "no columns of ranges"
awk -F, '$2 == "B0" && ($9 / $5 < 0.809 || $9 / $5 > 0.810 || $10 / $5 < 1.28 || $10 / $5 > 1.30) { bad = 1 }
    END { exit bad }' "$scratch/second/validation.csv" || fail "another range of B0"

# ---- a forecast has it ----------------------------------------------------------------------------
scenario=scenarios/grpo-qwen2.5-7b-8xh100.yaml
few=(--set steps=2 --set algorithm.prompts_per_step=16 --replicates 1 --quiet)
rlhfsim run "$scenario" "${few[@]}" --catalog "$scratch/mine" --json
expect_status 0
expect_stdout '"basis": "18 measured steps of 3 sources"'
tr -d ' \n' <"$scratch/stdout" | sed 's/.*"time":{"total_s":{"p10":\([^,]*\),.*"band":{"expected_total_s":{"p10":\([^,]*\),"p50":[^,]*,"p90":\([^}]*\)}.*/\1 \2 \3/' |
    awk '{ exit !($2 / $1 > 0.7999 && $2 / $1 < 0.8001 && $3 / $1 > 1.2999 && $3 / $1 < 1.3001) }' ||
    fail "the band is not 0.8 to 1.3 times the time"
rlhfsim run "$scenario" "${few[@]}" --catalog "$scratch/mine"
expect_stdout "a measured step is expected at"

# The shipped table has one run of a split: too few.
rlhfsim run "$scenario" "${few[@]}" --json --set placement.mode=split --set placement.train_gpus=4 \
    --set placement.rollout_gpus=4 --ignore-memory
expect_status 0
expect_stdout '"basis": "unvalidated"'

# ---- bad input ------------------------------------------------------------------------------------
rlhfsim calibrate bands "$runs" "$scratch/mine"
expect_status 2
expect_stderr "$scratch/mine: error: is a second folder, expected one"
head -n 2 "$runs/runs.csv" >"$scratch/first/runs.csv"
cp "$runs/figures.csv" "$scratch/first"
rlhfsim calibrate bands "$scratch/first"
expect_status 2
expect_stderr "too few runs with known lengths for a band"

# Replaces a word of the first band and expects an error.
refused() {
    sed "2s/$1/$2/" "$scratch/again.csv" >"$scratch/mine/bands.csv"
    rlhfsim run "$scenario" "${few[@]}" --catalog "$scratch/mine"
    expect_status 2
    expect_stderr "$scratch/mine/bands.csv:2:$3"
}
refused colocated together "1: error: placement is 'together', expected colocated, split or async"
refused step stairs "11: error: metric is 'stairs', expected step, rollout, update or logprob"
refused 1.049 1.5 "26: error: p50 is 1.5, expected p10, p50 and p90 in order, or none of them"
refused ,18,12, ,18,19, "46: error: inside is 19, expected at most as many as tried"
finish
