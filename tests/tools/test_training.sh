#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# validate training: rows that are compared, derived or left out, with the field they lack; calibrate
# training: the file it makes, the same twice and read back as a catalog; tables that are no such
# tables. What rows become is in tests/models/validation/test_training_rows.c, what the fit finds in
# tests/models/calibration/test_training_fit.c.
source tests/tools/lib.sh

mkdir "$scratch/in"
steps=$scratch/in/steps.csv
cat >"$steps" <<'END'
source,model,gpu,num_gpus,seq_len,global_batch_tokens,microbatch,tp,pp,cp,sharding,precision,tokens_per_s_per_gpu,step_s
one/made @12 words,Llama 3.1 8b,H100,8,8192,524288,1,1,1,1,ZeRO-1,bf16,,7.5
one/made @12 words,Llama 3.1 8b,H100,16,8192,1048576,1,1,1,1,ZeRO-1,bf16,,7.6
one/made @12 words,Llama 3.1 8b,H100,8,8192,524288,1,1,1,1,ZeRO-1,bf16,8192,
two,Llama 3.1 70b,H100,64,4096,524288,1,8,1,1,ZeRO-1,bf16,,8
two,Llama 3.1 70b,H100,64,4096,524288,1,8,1,1,ZeRO-1,fp8,,6
two,Llama 3.1 70b,H100,64,4096,524288,,8,,1,ZeRO-1,fp8,,6
two,Llama 3.1 70b,H100,64,4096,524288,1,8,1,1,ZeRO-1,fp8,,
two,Llama 3.1 70b,H100,several,4096,524288,1,8,1,1,ZeRO-1,fp8,,6
two,Zebra,H100,64,4096,524288,1,8,1,1,ZeRO-1,fp8,,6
END

# Tables as other programs write them: a byte order mark, line ends of two bytes.
printf '\357\273\277' | cat - "$steps" >"$scratch/in/marked.csv"
sed 's/$/\r/' "$steps" >"$scratch/in/crlf.csv"
for variant in marked crlf; do
    rlhfsim validate training "$scratch/in/$variant.csv" --out "$scratch/$variant"
    expect_status 0
    rlhfsim validate training "$steps" --out "$scratch/plain"
    expect_same "$scratch/plain/validation.csv" "$scratch/$variant/validation.csv"
done

# Figures whose quotients would not be numbers, and others that are none, are reasons.
{
    sed -n 1p "$steps"
    echo 'x,Llama 3.1 8b,H100,8,8192,524288,1,1,1,1,ZeRO-1,bf16,,1e-320'
    echo 'x,Llama 3.1 8b,H100,8,8192,524288,1,1,1,1,ZeRO-1,bf16,,1e308'
    echo 'x,Llama 3.1 8b,H100,8,8192,524288,1,1,1,1,ZeRO-1,bf16,1e-310,'
    echo 'x,Llama 3.1 8b,H100,8,8192,524288,1,1,1,1,ZeRO-1,bf16,inf,'
    echo 'x,Llama 3.1 8b,H100,nan,8192,524288,1,1,1,1,ZeRO-1,bf16,8192,'
    echo 'x,Llama 3.1 8b,H100,8,8192,,1,1,1,1,ZeRO-1,bf16,8192,'
} >"$scratch/in/hostile.csv"
rlhfsim validate training "$scratch/in/hostile.csv" --out "$scratch/hostile"
expect_status 0
expect_empty stderr
for reason in "step_s is 1e-320" "step_s is 1e308" "tokens_per_s_per_gpu is 1e-310" \
    "tokens_per_s_per_gpu is 'inf'" "num_gpus is 'nan'" "not stated: global_batch_tokens"; do
    expect_stdout "1: $reason"
done

# ---- validate ----------------------------------------------------------------------------------
rlhfsim validate training "$steps" --out "$scratch/out" --json
expect_status 0
expect_empty stderr
expect_stdout '"overall": {"rows": 9, "compared": 5, "skipped": 4,'
expect_stdout '"one/made": {"rows": 3, "compared": 3, "skipped": 0,'
expect_stdout '"step_s": {"rows": 8, "compared": 5, "skipped": 3,'
table=$scratch/out/validation.csv
# 524,288 tokens at 8,192 a second on each of 8 GPUs are 8 s.
grep -q '^one/made,"Llama 3.1 8b, 8 x H100 bf16, .*",step_s,8,[0-9.]*,[-0-9.e]*,interpolated,$' \
    "$table" || fail "no derived step"
grep -q ',step_s,6,,,,"not stated: pp, microbatch"$' "$table" || fail "no field that is lacking"
grep -q ",step_s,6,,,,num_gpus is 'several'$" "$table" || fail "no field that is wrong"
grep -q ",step_s,6,,,,the catalog has no model 'Zebra'$" "$table" || fail "no model"
grep -q ',,,,,,no measured value$' "$table" || fail "no row without a value"
rlhfsim validate training "$steps" --out "$scratch/again"
expect_status 0
expect_stdout "1: not stated: pp, microbatch"
expect_same "$table" "$scratch/again/validation.csv"

# ---- calibrate ---------------------------------------------------------------------------------
rlhfsim calibrate training "$steps" --out "$scratch/mine/training.csv"
expect_status 0
expect_empty stderr
expect_stdout "dense, projects left out"
expect_stdout "1: not stated: pp, microbatch"
cp "$scratch/mine/training.csv" "$scratch/first.csv"
[[ $(wc -l <"$scratch/first.csv") == $(wc -l <scenarios/catalog/training.csv) ]] ||
    fail "not the rows of the catalog"
grep -q '^matmul_share,Hopper@bf16,[0-9.]*,.*,4 steps,median .*,rlhfsim calibrate training steps.csv,measured,"one/made; two",' \
    "$scratch/first.csv" || fail "no step count, command and source"
# Nothing speaks of A100: its start.
grep -q '^matmul_share,Ampere,0.9,0.9,.*,0 steps,,.*,assumed,' "$scratch/first.csv" ||
    fail "a coefficient that no step speaks of has moved"
rlhfsim calibrate training "$steps"
expect_status 0
expect_same "$scratch/first.csv" "$scratch/stdout"
rlhfsim validate training "$steps" --catalog "$scratch/mine" --out "$scratch/out" --json
expect_status 0
error=$(sed -n 's/.*"overall".*"median_abs_error": \([0-9.e-]*\),.*/\1/p' "$scratch/stdout")
awk -v error="$error" 'BEGIN { exit !(error < 0.05) }' || fail "the median error is $error"

# ---- bad input ---------------------------------------------------------------------------------
refused() {
    local text=$1
    shift
    rlhfsim "$@" --out "$scratch/none/x"
    expect_status 2
    expect_stderr "$text"
    expect_empty stdout
    expect_absent "$scratch/none"
}
echo 'source,model,gpu,num_gpus,seq_len,microbatch,tp,pp,step_s' >"$scratch/in/columns.csv"
for command in validate calibrate; do
    refused "columns.csv:1:1: error: column 'global_batch_tokens' is missing" $command training \
        "$scratch/in/columns.csv"
    refused "/nowhere/steps.csv: error: " $command training /nowhere/steps.csv
    printf 'source,model\n"a' >"$scratch/in/quote.csv"
    : >"$scratch/in/nought.csv"
    refused "nought.csv:1:1: error: the file is empty" $command training "$scratch/in/nought.csv"
    sed 's/step_s$/tp/' "$steps" >"$scratch/in/twice.csv"
    refused "twice.csv:1:110: error: column 'tp' is written twice" $command training \
        "$scratch/in/twice.csv"
    refused "in: error: cannot be read: Is a directory" $command training "$scratch/in"
    refused "quote.csv:2:" $command training "$scratch/in/quote.csv"
done
grep -v '^one\|bf16\|fp8,,6' "$steps" >"$scratch/in/nothing.csv"
refused "no step of a dense model can be forecast" calibrate training "$scratch/in/nothing.csv"
mkdir "$scratch/bad"
sed 's/^matmul_share,Ampere,/matmul_shore,Ampere,/' "$scratch/first.csv" >"$scratch/bad/training.csv"
refused "coefficient is 'matmul_shore', which is not known; did you mean 'matmul_share'?" \
    validate training "$steps" --catalog "$scratch/bad"
sed 's/^matmul_share,Ampere,/matmul_share,Ampere@,/' "$scratch/first.csv" >"$scratch/bad/training.csv"
refused "scope is 'Ampere@', expected words joined by '@'" validate training "$steps" \
    --catalog "$scratch/bad"
