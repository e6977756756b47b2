#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sweeps: the table against the contract and against single runs, the same bytes whatever the jobs,
# the shards and the interruptions, and mistakes that leave nothing behind.
source tests/tools/lib.sh
scenario=scenarios/grpo-qwen2.5-7b-8xh100.yaml
few=(--set algorithm.prompts_per_step=16 --set steps=2 --quiet)
# shellcheck disable=SC2054 # the commas are the values'
grid=(--vary algorithm.samples_per_prompt=2,4,8,16,32 --vary rollout.max_new_tokens=256:4096:x2)
header="point,algorithm.samples_per_prompt,rollout.max_new_tokens,status,reason,time.step_s"
for phase in rollout transition reward actor_logprob reference_logprob values critic_update \
    actor_update weight_sync checkpoint validation; do
    header+=",time.phases_s.$phase"
done
header+=",time.total_s,cost.total_usd,memory.peak_bytes,memory.fits,rollout.share_cut,band.expected_step_s.p10,band.expected_step_s.p90"

sweep() {
    rlhfsim sweep "$scenario" "${few[@]}" "$@"
}

# ---- 25 points, as they are on the issue's own command line ------------------------------------------
sweep "${grid[@]}" --out "$scratch/all"
expect_status 0
expect_empty stderr
expect_stdout "$scratch/all/sweep.csv: 25 points, 25 ok"
expect_files "$scratch/all" sweep.csv
[[ $(head -n 1 "$scratch/all/sweep.csv") == "$header" ]] || fail "another header"
[[ $(wc -l <"$scratch/all/sweep.csv") == 26 ]] || fail "not 25 rows"
cut -d, -f1-4 "$scratch/all/sweep.csv" | tail -n +2 >"$scratch/points"
point=0
for k in 2 4 8 16 32; do
    for cap in 256 512 1024 2048 4096; do
        echo "$point,$k,$cap,ok"
        point=$((point + 1))
    done
done >"$scratch/expected"
expect_same "$scratch/points" "$scratch/expected"

# ---- the main figures at a glance, aligned, unless --quiet ------------------------------------------
"$program" sweep "$scenario" "${few[@]:0:4}" --vary "tags.team=a b,'c\"d'" --vary training.zero_stage=3,0 \
    --out "$scratch/glance" >"$scratch/stdout" 2>"$scratch/stderr"
ran="sweep at a glance"
expect_stdout "4 points, 2 ok, 2 infeasible"
grep -qE '^point  tags.team  training.zero_stage  status      +step +time +money +peak$' "$scratch/stdout" ||
    fail "no heads"
grep -qE '^0      a b        3                    ok          +[0-9.]+ s +[0-9.]+ s +[0-9.]+ USD +[0-9.]+ GB$' \
    "$scratch/stdout" || fail "no row of point 0"
grep -qE "^3      'c\"d'      0                    infeasible  +- +- +- +[0-9.]+ GB\$" "$scratch/stdout" ||
    fail "no row of point 3"
[[ $(sed 1d "$scratch/stdout" | awk '{ print length }' | sort -u | wc -l) == 1 ]] || fail "not aligned"

# ---- without --out the same on stdout; whatever the number of threads --------------------------------
for jobs in 1 2 7; do
    sweep "${grid[@]}" --jobs "$jobs"
    expect_status 0
    expect_same "$scratch/stdout" "$scratch/all/sweep.csv"
done

# ---- shards and their merge; three shards of 25 points have 9, 8 and 8 -------------------------------
for shard in 0 1 2; do
    sweep "${grid[@]}" --shard "$shard/3" --out "$scratch/shard$shard"
    expect_status 0
    expect_files "$scratch/shard$shard" sweep.csv sweep.shard
    tail -n +2 "$scratch/shard$shard/sweep.csv" | awk -F, -v shard="$shard" \
        '$1 % 3 != shard { exit 1 }' || fail "a point of another shard"
done
[[ $(cat "$scratch"/shard?/sweep.csv | wc -l) == 28 ]] || fail "not 25 rows in all shards"
rlhfsim merge "$scratch"/shard2 "$scratch"/shard0 "$scratch"/shard1 --out "$scratch/merged"
expect_status 0
expect_files "$scratch/merged" sweep.csv
expect_same "$scratch/merged" "$scratch/all"
rlhfsim merge "$scratch"/shard?
expect_status 0
expect_same "$scratch/stdout" "$scratch/all/sweep.csv"

# More shards than points: some have none.
for shard in 0 1 2 3; do
    sweep --vary algorithm.samples_per_prompt=2,4 --shard "$shard/4" --out "$scratch/many$shard"
    expect_status 0
done
rlhfsim merge "$scratch"/many?
expect_status 0
[[ $(wc -l <"$scratch/stdout") == 3 ]] || fail "not two rows"

# What cannot be merged.
refused() {
    local text=$1
    shift
    rlhfsim merge "$@" --out "$scratch/none"
    expect_status 2
    expect_stderr "$text"
    expect_empty stdout
    expect_absent "$scratch/none"
}
refused "error: shard 1/3 is missing" "$scratch/shard0" "$scratch/shard2"
refused "$scratch/shard0: error: shard 0/3 is given twice: '$scratch/shard0' is it, too" \
    "$scratch"/shard{0,1,0}
# A folder to merge is no folder for the result: its shard would be gone.
rlhfsim merge "$scratch"/shard{0,1,2} --out "$scratch/./shard1"
expect_status 2
expect_stderr "--out:1:1: error: '$scratch/./shard1' is one of the folders to merge"
[[ -e $scratch/shard1/sweep.shard ]] || fail "a shard is lost"
refused "$scratch/many0: error: this is a shard of another sweep" "$scratch/shard0" "$scratch/many0"
refused "$scratch/all/sweep.shard: error: cannot be read" "$scratch/all"
cp -r "$scratch/shard1" "$scratch/short"
sed -i '$d' "$scratch/short/sweep.csv"
refused "$scratch/short: error: sweep.csv lacks rows" "$scratch"/shard{0,2} "$scratch/short"
sed -i '$s/^[0-9]*/24/' "$scratch/short/sweep.csv"
refused "$scratch/short: error: sweep.csv has a row" "$scratch"/shard{0,2} "$scratch/short"
rlhfsim merge
expect_status 2
expect_stderr "the folders of the shards are missing"

# A whole sweep in a shard's folder is no shard any more.
cp -r "$scratch/shard0" "$scratch/was"
sweep --vary algorithm.samples_per_prompt=2,4 --out "$scratch/was"
expect_files "$scratch/was" sweep.csv

# ---- every kind of row, with a CSV reader of its own; figures are those of single runs ---------------
# ZeRO-0 leaves 7.6e9 x 14 bytes and more on a GPU of 85e9: infeasible. 3 GPUs for a group are no
# divisor of 8, memory_fraction 1 is out of range: illegal.
sweep --vary training.zero_stage=3,0 --vary training.tp=1,3 --vary rollout.memory_fraction=.6,1 \
    --out "$scratch/kinds"
expect_status 0
expect_stdout "8 points, 1 ok, 1 infeasible, 6 illegal"
"$program" run "$scenario" "${few[@]}" --replicates 1 --set training.zero_stage=3 \
    --set training.tp=1 --set rollout.memory_fraction=.6 --json >"$scratch/good.json"
"$program" run "$scenario" "${few[@]}" --replicates 1 --set training.zero_stage=0 \
    --set training.tp=1 --set rollout.memory_fraction=.6 --json >"$scratch/big.json" || true
cat >"$scratch/read.py" <<'END'
import csv, json, sys
folder = sys.argv[1]
rows = list(csv.DictReader(open(folder + "/kinds/sweep.csv", newline="")))
kinds = {("3", "1", ".6"): "ok", ("0", "1", ".6"): "infeasible"}
figures = list(rows[0])[list(rows[0]).index("reason") + 1:]
def same(cell, value):
    if isinstance(value, dict):
        value = value["p50"]
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return cell == ("true" if value else "false")
    return cell != "" and float(cell) == float(value)
for number, row in enumerate(rows):
    key = tuple(row[k] for k in ("training.zero_stage", "training.tp", "rollout.memory_fraction"))
    kind = kinds.get(key, "illegal")
    assert row["point"] == str(number) and row["status"] == kind, row
    assert (row["reason"] == "") == (kind == "ok"), row
    if kind == "illegal":
        assert all(row[path] == "" for path in figures), row
        continue
    summary = json.load(open(folder + ("/good.json" if kind == "ok" else "/big.json")))
    for path in figures:
        value = summary
        for name in path.split("."):
            value = value[name] if value is not None else None
        assert same(row[path], value), (row["point"], path, row[path], value)
assert "lacks" in next(row for row in rows if row["status"] == "infeasible")["reason"]
assert [row["reason"] for row in rows if row["training.tp"] == "3"][0].startswith("training.tp is 3")
print(len(rows), "rows")
END
if command -v python3 >/dev/null; then
    try python3 "$scratch/read.py" "$scratch"
    expect_status 0
    expect_stdout "8 rows"
fi

# --ignore-memory forecasts what does not fit as well.
sweep --vary training.zero_stage=3,0 --ignore-memory
expect_status 0
[[ $(cut -d, -f3 "$scratch/stdout" | tail -n +2 | xargs) == "ok ok" ]] || fail "not both are ok"
[[ $(awk -F, 'NR > 1 && $17 > 0 { print $(NF - 3) }' "$scratch/stdout" | xargs) == "true false" ]] ||
    fail "memory.fits or time.total_s is wrong"

# A range of decimals has decimals; a text is written as it is written, whatever it begins with.
sweep --vary logging.sampling_rate=0:1:+0.1 --set logging.bytes_per_sample=1kB
expect_status 0
[[ $(cut -d, -f2 "$scratch/stdout" | tail -n +2 | xargs) == "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1" ]] ||
    fail "not 11 clean values"
sweep --vary tags.team==a,+b,-1,b
expect_status 0
[[ $(cut -d, -f2 "$scratch/stdout" | tail -n +2 | xargs) == "=a +b -1 b" ]] ||
    fail "a text is not as it was written"

# Another seed gives other rows, by either door; two replicates as well.
sweep "${grid[@]}" --seed 2 --out "$scratch/seed"
expect_differ "$scratch/seed/sweep.csv" "$scratch/all/sweep.csv"
sweep "${grid[@]}" --set seed=2
expect_same "$scratch/stdout" "$scratch/seed/sweep.csv"
sweep --vary seed=1,2
expect_status 0
sweep "${grid[@]}" --replicates 2 --out "$scratch/two"
expect_differ "$scratch/two/sweep.csv" "$scratch/all/sweep.csv"

# ---- interrupted and resumed -------------------------------------------------------------------------
slow=(--set algorithm.prompts_per_step=256 --set steps=20 --quiet)
partial=$scratch/cut/.sweep.csv.partial

lines_of_partial() {
    if [[ -f $partial ]]; then wc -l <"$partial" 2>/dev/null || echo 0; else echo 0; fi
}

# Starts the sweep in the background and sends it a signal when it has written three lines or more.
# False when it was done before the signal came.
start_and_signal() {
    local signal=$1 process wanted=$(($(lines_of_partial) + 3))
    shift
    "$program" sweep "$scenario" "${slow[@]}" "${grid[@]}" --jobs 1 --out "$scratch/cut" "$@" \
        >"$scratch/stdout" 2>"$scratch/stderr" &
    process=$!
    while kill -0 "$process" 2>/dev/null && [[ $(lines_of_partial) -lt $wanted ]]; do
        sleep 0.01
    done
    kill "-$signal" "$process" 2>/dev/null || true
    status=0
    wait "$process" 2>/dev/null || status=$?
    [[ $status != 0 ]]
}

# On a busy machine the signal may come too late; then once more from where it was.
interrupt() {
    ran="sweep interrupted by $1"
    rm -rf "$scratch/begin"
    mkdir -p "$scratch/cut"
    cp -r "$scratch/cut" "$scratch/begin"
    for ((attempt = 0; attempt < 20; attempt++)); do
        start_and_signal "$@" && return
        rm -rf "$scratch/cut"
        cp -r "$scratch/begin" "$scratch/cut"
    done
    fail "it always ends before it can be interrupted"
}
rlhfsim sweep "$scenario" "${slow[@]}" "${grid[@]}" --out "$scratch/whole"
expect_status 0

interrupt KILL
expect_status 137
expect_files "$scratch/cut" .sweep.csv.partial
cp -r "$scratch/cut" "$scratch/killed"
interrupt TERM --resume
expect_status 130
expect_stderr "interrupted"
expect_stderr "of 25 points are done; --resume goes on"
expect_empty stdout
expect_files "$scratch/cut" .sweep.csv.partial
[[ $(wc -l <"$partial") -ge $(($(wc -l <"$scratch/killed/.sweep.csv.partial") + 3)) ]] ||
    fail "points were lost"
head -n 3 "$partial" >"$scratch/first"
head -n 3 "$scratch/killed/.sweep.csv.partial" >"$scratch/killed-first"
expect_same "$scratch/first" "$scratch/killed-first"
# A line that was cut short while it was written is done again.
truncate -s -20 "$partial"
rlhfsim sweep "$scenario" "${slow[@]}" "${grid[@]}" --out "$scratch/cut" --resume --jobs 1
expect_status 0
expect_same "$scratch/cut" "$scratch/whole"
# So is one that was never a row.
cp -r "$scratch/killed" "$scratch/odd"
printf '7,nonsense\n\n99,1,2,ok\n' >>"$scratch/odd/.sweep.csv.partial"
rlhfsim sweep "$scenario" "${slow[@]}" "${grid[@]}" --out "$scratch/odd" --resume
expect_status 0
expect_same "$scratch/odd" "$scratch/whole"
# A limit of 2 KiB on the size of its files cuts a row in the middle, as a full disk does.
try bash -c 'ulimit -c 0 -f 2; "$@"' bash "$program" sweep "$scenario" "${slow[@]}" "${grid[@]}" \
    --out "$scratch/torn" --jobs 1
expect_status 3
expect_stderr "$scratch/torn/.sweep.csv.partial: error: cannot write it: File too large"
expect_empty stdout
expect_files "$scratch/torn" .sweep.csv.partial
[[ $(tail -c 1 "$scratch/torn/.sweep.csv.partial") != "" ]] || fail "no row was cut short"
rlhfsim sweep "$scenario" "${slow[@]}" "${grid[@]}" --out "$scratch/torn" --resume
expect_status 0
expect_same "$scratch/torn" "$scratch/whole"
# With nothing to resume it is a sweep like any other.
rlhfsim sweep "$scenario" "${few[@]}" "${grid[@]}" --out "$scratch/new" --resume
expect_status 0
expect_same "$scratch/new" "$scratch/all"

# Another sweep does not go on with it: the scenario's text, settings, seed, keys, catalogs.
sed 's/^steps:.*//' "$scenario" >"$scratch/changed.yaml"
echo "# more" >>"$scratch/changed.yaml"
mkdir "$scratch/mine"
head -n 2 scenarios/catalog/gpus.csv >"$scratch/mine/gpus.csv"
cp -r "$scratch/killed" "$scratch/before"
mismatch() {
    local file=$1
    shift
    rlhfsim sweep "$file" "${slow[@]}" "$@" --out "$scratch/killed" --resume
    expect_status 2
    expect_stderr "$scratch/killed/.sweep.csv.partial: error: this is "
    expect_empty stdout
    expect_same "$scratch/killed" "$scratch/before"
}
mismatch "$scratch/changed.yaml" "${grid[@]}"
mismatch "$scenario" "${grid[@]}" --set training.zero_stage=2
mismatch "$scenario" "${grid[@]}" --seed 1
mismatch "$scenario" "${grid[@]}" --vary rollout.tp=2
mismatch "$scenario" "${grid[@]}" --replicates 2
mismatch "$scenario" "${grid[@]}" --ignore-memory
mismatch "$scenario" "${grid[@]}" --shard 0/2
mismatch "$scenario" "${grid[@]}" --catalog "$scratch/mine"
# A config.json that changes under a sweep, named by the scenario or by a value: its points are of
# another model.
cat >"$scratch/q.json" <<'END'
{"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584,
 "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
 "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": false,
 "max_position_embeddings": 32768}
END
for how in set vary; do
    model=("--$how" "models.actor.model=$scratch/q.json" --vary training.zero_stage=3,2)
    for shard in 0 1; do
        sweep "${model[@]}" --shard "$shard/2" --out "$scratch/$how-same$shard"
        expect_status 0
        expect_stdout "1 point, 1 ok"
    done
    rlhfsim merge "$scratch/$how-same0" "$scratch/$how-same1"
    expect_status 0
    sed 's/"num_hidden_layers": 28/"num_hidden_layers": 14/' "$scratch/q.json" >"$scratch/half.json"
    cp "$scratch/q.json" "$scratch/full.json"
    cp "$scratch/half.json" "$scratch/q.json"
    sweep "${model[@]}" --shard 1/2 --out "$scratch/$how-other"
    expect_status 0
    refused "$scratch/$how-other: error: this is a shard of another sweep" \
        "$scratch/$how-same0" "$scratch/$how-other"
    cp "$scratch/full.json" "$scratch/q.json"
done
# Without --resume, whatever the sweep, it is refused and loses nothing; with the file gone it starts
# anew. A journal without a point has nothing to lose.
for points in "${grid[*]}" "--vary rollout.tp=1,2"; do
    # shellcheck disable=SC2086 # several words
    rlhfsim sweep "$scenario" "${few[@]}" $points --out "$scratch/killed"
    expect_status 2
    expect_stderr "$scratch/killed/.sweep.csv.partial: error: an interrupted sweep left \
$(($(wc -l <"$scratch/before/.sweep.csv.partial") - 1)) finished points here; go on with --resume"
    expect_empty stdout
    expect_same "$scratch/killed" "$scratch/before"
done
head -n 1 "$scratch/before/.sweep.csv.partial" >"$scratch/killed/.sweep.csv.partial"
rlhfsim sweep "$scenario" "${few[@]}" "${grid[@]}" --out "$scratch/killed"
expect_status 0
expect_same "$scratch/killed" "$scratch/all"

# ---- mistakes: exit 2, where, nothing is written ------------------------------------------------------
mistaken() {
    local text=$1
    shift
    rlhfsim sweep "$@" --out "$scratch/none"
    expect_status 2
    expect_stderr "$text"
    expect_empty stdout
    expect_absent "$scratch/none"
}
good=(--vary training.tp=1)
mistaken "rlhfsim sweep: error: a --vary KEY=SPEC is missing" "$scenario"
mistaken "--vary:1:10: error: unknown key 'zero_stag' in training; did you mean 'training.zero_stage'?" \
    "$scenario" --vary training.zero_stag=1
mistaken "--vary:1:1: error: budget is not supported by this version" "$scenario" --vary budget.stop=1
mistaken "--vary:1:15: error: training.tp is 'x', expected a whole number" "$scenario" --vary training.tp=1,x
mistaken "--vary:1:1: error: this key is varied twice" "$scenario" "${good[@]}" --vary training.tp=2
# A value twice, in the same or another spelling, would be two equal points; both are named.
repeated() {
    mistaken "--vary:1:$1: error: '$2' is a value of ${4%%=*} already, $3" "$scenario" --vary "$4"
}
repeated 16 1 "at column 12" rollout.tp=1,2,1
repeated 29 .50 "as '0.5', at column 25" rollout.memory_fraction=0.5,.50
repeated 38 0.4 "at column 25" rollout.memory_fraction=0.2:0.6:+0.2,0.4
repeated 30 1000MB "as '1GB', at column 26" logging.bytes_per_sample=1GB,1000MB
repeated 31 Qwen/qwen2.5_7b "as 'Qwen2.5-7B', at column 20" models.actor.model=Qwen2.5-7B,Qwen/qwen2.5_7b
repeated 36 1024 "as '1 TiB', at column 30" "cluster.node.host_memory_gib=1 TiB,1024"
repeated 29 True "as 'true', at column 24" rollout.prefix_caching=true,True
repeated 13 b "at column 11" tags.team=b,b
mistaken "--vary:1:1: error: seed is varied and given by --seed" "$scenario" --vary seed=1,2 --seed 3
mistaken "--set:1:10: error: " "$scenario" "${good[@]}" --set training.nonsense=1
mistaken "$scratch/absent.yaml: error: cannot be read" "$scratch/absent.yaml" "${good[@]}"
printf 'name: [\n' >"$scratch/broken.yaml"
mistaken "$scratch/broken.yaml:" "$scratch/broken.yaml" "${good[@]}"
# A mistake that has nothing to do with the keys that vary is one of the scenario.
mistaken "expected a divisor" "$scenario" --set algorithm.minibatch_samples=7 --vary steps=1,2
sweep --set algorithm.minibatch_samples=7 --vary algorithm.samples_per_prompt=6,7
expect_status 0
expect_stdout "0,6,illegal,"
for bad in 0/0 1/1 2/1 a/2 1 1/ /2 -1/2 01/2 1/2x "" 0/1000001; do
    mistaken "--shard:1:1: error: expected I/N with I from 0 to N-1, such as 0/4, got '$bad'" \
        "$scenario" "${good[@]}" --shard "$bad"
done
for bad in 0 4097 x; do
    mistaken "--jobs:1:1: error: expected a whole number from 1 to 4096, got '$bad'" \
        "$scenario" "${good[@]}" --jobs "$bad"
done
mistaken "--replicates:1:1: error: " "$scenario" "${good[@]}" --replicates 0
mistaken "unknown option '--json'" "$scenario" "${good[@]}" --json
rlhfsim sweep "$scenario" "${good[@]}" --resume
expect_status 2
expect_stderr "--out DIR is missing"

# ---- the machine fails: exit 3 ---------------------------------------------------------------------
touch "$scratch/file"
sweep "${good[@]}" --out "$scratch/file/below"
expect_status 3
expect_stderr "$scratch/file"
expect_empty stdout
try bash -c '"$@" >/dev/full' bash "$program" sweep "$scenario" "${few[@]}" "${good[@]}"
expect_status 3
# A folder in which another sweep is at work is left to it.
mkdir "$scratch/busy"
touch "$scratch/busy/.sweep.csv.partial"
if command -v flock >/dev/null; then
    try flock "$scratch/busy/.sweep.csv.partial" "$program" sweep "$scenario" "${few[@]}" \
        "${good[@]}" --out "$scratch/busy"
    expect_status 2
    expect_stderr "another sweep is writing to this folder"
    expect_files "$scratch/busy" .sweep.csv.partial
fi

finish
