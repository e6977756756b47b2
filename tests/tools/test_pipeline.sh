#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Pipelines: stages are runs of their own that load and save, totals are sums, the first stage that
# does not fit ends a run, and mistakes are found before anything is run.
source tests/tools/lib.sh

mkdir "$scratch/in"
cp scenarios/sft-llama2-7b-8xa100.yaml "$scratch/in/sft.yaml"
cp scenarios/ppo-llama2-7b-8xa100.yaml "$scratch/in/ppo.yaml"
chain=$scratch/in/chain.yaml
cat >"$chain" <<'END'
name: chain
pipeline:
  - {stage: sft, scenario: sft.yaml, set: {dataset.pairs: 2000}}
  - repeat: 3
    stages:
      - {stage: ppo, scenario: ppo.yaml, set: {steps: 4}}
      - {stage: again, scenario: sft.yaml, set: {dataset.pairs: 1000, checkpoint.load: none}}
END

figure() { # FILE EXPRESSION over `s`, the parsed JSON
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

rlhfsim run "$chain" --out "$scratch/out" --quiet
expect_status 0
expect_empty stderr
expect_stdout "^chain$"
expect_stdout "3 times"
expect_stdout "^Together"

# The same stages by hand: what they do by default is written out.
save="--set checkpoint.every_steps=1000000000"
rlhfsim run "$scratch/in/sft.yaml" --set dataset.pairs=2000 --set checkpoint.load=weights $save --out "$scratch/a" --quiet
rlhfsim run "$scratch/in/ppo.yaml" --set steps=4 --set checkpoint.load=weights --out "$scratch/b" --quiet
rlhfsim run "$scratch/in/sft.yaml" --set dataset.pairs=1000 $save --out "$scratch/c" --quiet
for pair in sft:a ppo:b again:c; do
    cmp "$scratch/out/${pair%:*}/summary.json" "$scratch/${pair#*:}/summary.json" || fail "$pair differs"
    cmp "$scratch/out/${pair%:*}/timeline.csv" "$scratch/${pair#*:}/timeline.csv" || fail "$pair differs"
done
grep -q ',load,' "$scratch/out/sft/phases.csv" || fail "a stage does not load"
grep -q ',checkpoint,' "$scratch/out/sft/phases.csv" || fail "a stage does not save"
grep -q ',load,' "$scratch/out/again/phases.csv" && fail "a stage loads although it says not to"
for path in "['time']['total_s']['p50']" "['cost']['total_usd']['p50']" "['gpu_hours']['p50']"; do
    whole=$(figure "$scratch/out/summary.json" "s$path")
    for part in a b c; do figure "$scratch/$part/summary.json" "s$path"; done >"$scratch/parts"
    python3 -c 'import sys
whole, a, b, c = map(float, sys.argv[1:])
sys.exit(abs(whole - (a + 3 * b + 3 * c)) > 1e-7 * whole)' "$whole" $(cat "$scratch/parts") ||
        fail "the total of $path is no sum"
done

rlhfsim run "$chain" --json --quiet --set training.microbatch_samples=2
expect_status 0
python3 -m json.tool "$scratch/stdout" >/dev/null || fail "no JSON"
rlhfsim check "$chain"
expect_status 0
expect_stdout "ppo +fits: peak [0-9.]+ GB; 3 times"

# ---- what does not fit ------------------------------------------------------------------------
rlhfsim run "$chain" --out "$scratch/full" --quiet --set training.offload=none --set cluster.gpus_per_node=1
expect_status 1
expect_stdout "does not fit"
expect_stdout "not reached"
figure "$scratch/full/summary.json" "s['time']['total_s'] is None and not s['memory']['fits']" | grep -q True ||
    fail "an infeasible pipeline has a time"
expect_absent "$scratch/full/ppo"

# ---- mistakes ---------------------------------------------------------------------------------
mistake() { # LINES MESSAGE
    printf "$1" >"$scratch/in/bad.yaml"
    rlhfsim run "$scratch/in/bad.yaml" --out "$scratch/none"
    expect_status 2
    expect_stderr "$2"
    expect_absent "$scratch/none"
}
bad=$scratch/in/bad.yaml
mistake 'name: x\npipeline: sft\n' "$bad:2:11: error: expected a list of stages"
mistake 'name: x\npipeline:\n  - {stage: a, scenari: sft.yaml}\n' "$bad:3:16: error: unknown key 'scenari' of a pipeline; did you mean 'scenario'"
mistake 'name: x\npipeline:\n  - {stage: a, scenario: no.yaml}\n' "$scratch/in/no.yaml"
mistake 'name: x\npipeline:\n  - {stage: a, scenario: sft.yaml}\n  - {stage: a, scenario: sft.yaml}\n' "$bad:4:5: error: stage 'a' is written twice, first on line 3"
mistake 'name: x\npipeline:\n  - {stage: a/b, scenario: sft.yaml}\n' "$bad:3:13: error: stage is 'a/b', expected"
mistake 'name: x\npipeline:\n  - {stage: summary.json, scenario: sft.yaml}\n' "$bad:3:13: error: stage is 'summary.json', expected"
mistake 'name: x\npipeline:\n  - {stage: a, scenario: bad.yaml}\n' "$bad:3:5: error: stage 'a' is not legal, see above"
mistake 'name: x\npipeline:\n  - {stage: a, scenario: sft.yaml, set: {nonsense: 1}}\n' "$bad:3:5: error: stage 'a' is not legal, see above"
mistake 'name: x\npipeline:\n  - {repeat: 0, stages: [{stage: a, scenario: sft.yaml}]}\n' "$bad:3:14: error: repeat is '0', expected a whole number from 1"
mistake 'name: x\nsteps: 3\npipeline:\n  - {stage: a, scenario: sft.yaml}\n' "$bad:2:1: error: unknown key 'steps' of a pipeline"
rlhfsim sweep "$chain" --vary seed=1,2
expect_status 2
expect_stderr "$chain:2:1: error: this is a pipeline of scenarios"

# ---- those that come along --------------------------------------------------------------------
for chain in scenarios/pipelines/*.yaml; do
    rlhfsim check "$chain"
    expect_status 0
    expect_empty stderr
done
