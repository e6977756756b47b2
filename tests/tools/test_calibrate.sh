#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# calibrate kernels: the file it makes, the same twice and read back as a catalog; validate kernels: what
# is compared and what is left out; bad input. Numbers of the fits are in
# tests/models/calibration/test_kernels.c.
source tests/tools/lib.sh

# Times of a product that takes 2 m n k over 200 TFLOP/s plus 4 us, or its bytes over 1,500 GB/s.
mkdir "$scratch/in"
table=$scratch/in/gemm.csv
echo "source,gpu,framework,dtype,m,n,k,time_us,notes" >"$table"
awk 'BEGIN {
    for (m = 1; m <= 4096; m *= 4) for (n = 1024; n <= 16384; n *= 2) for (k = 1024; k <= 16384; k *= 4) {
        compute = 2 * m * n * k / 200e12; memory = 2 * (m * k + n * k + m * n) / 1500e9
        printf "made @12ab words,A100,engine 1,bf16,%d,%d,%d,%.6f,\n", m, n, k, 1e6 * (compute > memory ? compute : memory) + 4
    }
    print "made,A100,,bf16,8,8,,5,"; print "made,A100,,bf16,8,8,8,,"; print "made,Z9,,bf16,8,8,8,5,"
    print "made,A100,,fp8,8,8,8,5,"; print "made,A100,,int8,8,8,8,5,"
}' >>"$table"

# ---- calibrate --------------------------------------------------------------------------------
rlhfsim calibrate kernels "$table" --out "$scratch/mine/kernels.csv"
expect_status 0
expect_empty stderr
expect_stdout "A100-SXM4-80GB gemm_bf16"
expect_stdout "1: the catalog has no such GPU"
expect_stdout "1: the GPU does not support the number format"
cp "$scratch/mine/kernels.csv" "$scratch/first.csv"
[[ $(wc -l <"$scratch/first.csv") == 2 ]] || fail "not one law"
grep -q '"made @12ab","rlhfsim calibrate kernels gemm.csv; engine 1"$' "$scratch/first.csv" ||
    fail "no source and command"

rlhfsim calibrate kernels "$table"
expect_status 0
expect_same "$scratch/first.csv" "$scratch/stdout"

# ---- the file is a catalog, and its law is the one that is validated ----------------------------
rlhfsim validate kernels "$table" --catalog "$scratch/mine" --out "$scratch/out" --json
expect_status 0
expect_stdout '"overall": {"rows": 110, "compared": 105, "skipped": 5,'
expect_stdout '"metrics": {'
expect_stdout '"time_us": {"rows": 109, "compared": 105, "skipped": 4,'
grep -q '^made,bf16 64 x 4096 x 1024,time_us,[0-9.]*,[0-9.]*,[-0-9.e]*,assumed,$' \
    "$scratch/out/validation.csv" && fail "an own law is labelled assumed"
grep -q '^made,bf16 64 x 4096 x 1024,time_us,[0-9.]*,[0-9.]*,[-0-9.e]*,measured,$' \
    "$scratch/out/validation.csv" || fail "no case with its law"
grep -q 'a dimension is missing$' "$scratch/out/validation.csv" || fail "no reason"
error=$(rlhfsim validate kernels "$table" --catalog "$scratch/mine" --out "$scratch/out" --json
    sed -n 's/.*"overall".*"median_abs_error": \([0-9.e-]*\),.*/\1/p' "$scratch/stdout")
awk -v error="$error" 'BEGIN { exit !(error < 0.03) }' || fail "the median error is $error"

# ---- operators of a layer: the first unit is ms -------------------------------------------------
cat >"$scratch/in/layer.csv" <<'END'
source,gpu,model,tp,num_tokens,op,time_ms
made,A100,meta-llama/Llama-2-7b-hf,1,4096,input_layernorm,0.1
made,A100,meta-llama/Llama-2-7b-hf,2,4096,mlp_up_proj,1.5
made,A100,meta-llama/Llama-2-7b-hf,2,4096,mystery,1.5
made,A100,no-such-model,2,4096,add,1.5
END
rlhfsim validate kernels "$scratch/in/layer.csv" --out "$scratch/out"
expect_status 0
expect_stdout "1: the catalog has no such model"
expect_stdout "1: the operator is not known"
grep -q '^made,input_layernorm meta-llama/Llama-2-7b-hf tp 1 tokens 4096,time_ms,0.1,0.[01]' \
    "$scratch/out/validation.csv" || fail "no operator in ms"

# ---- the shipped laws of operators are what the published table gives ----------------------------
published=${RLHFSIM_SHARED:-../shared}/measurements/components/kernel_layer_vidur.csv
if [[ -f $published ]]; then
    rlhfsim calibrate kernels "$published"
    expect_status 0
    laws='^[^,]*,(norm|add|activation|rotary|embedding),'
    grep -E "$laws" scenarios/catalog/kernels.csv | cut -d, -f 1-21 >"$scratch/shipped.csv"
    grep -E "$laws" "$scratch/stdout" | cut -d, -f 1-21 >"$scratch/refitted.csv"
    [[ $(wc -l <"$scratch/refitted.csv") == 15 ]] || fail "not five operators on three GPUs"
    expect_same "$scratch/shipped.csv" "$scratch/refitted.csv"
else
    echo "skipped: no published table of operators"
fi

# ---- bad input ---------------------------------------------------------------------------------
refused() {
    local text=$1
    shift
    rlhfsim calibrate "$@"
    expect_status 2
    expect_stderr "$text"
    expect_empty stdout
}
refused "the KIND is missing"
refused "a PATH is missing" kernels
refused "unknown kind 'kernel'; expected kernels, " kernel "$table"
refused "expected a directory of catalogs, got '/nowhere'" kernels x.csv --catalog /nowhere
refused "/nowhere/gemm.csv: error: " kernels /nowhere/gemm.csv
printf 'gpu,m,n,k,time_us\nA100,1,2,3,4\n' >"$scratch/in/columns.csv"
refused "columns.csv:1:1: error: these are not the columns of measured kernels" kernels \
    "$scratch/in/columns.csv"
printf 'gpu,dtype,m,n,k,time_us\nA100,bf16,1,2,x,4\n' >"$scratch/in/number.csv"
refused "number.csv:2:15: error: k is 'x', expected a whole number above 0" kernels \
    "$scratch/in/number.csv" --out "$scratch/none/kernels.csv"
expect_absent "$scratch/none"
for cells in '0.5,2,3,4' '1,2,-3,4' '1,2,nan,4' '1,2,3,1e-320' '1,2,3,inf' '1,1e300,3,4'; do
    printf 'gpu,dtype,m,n,k,time_us\nA100,bf16,%s\n' "$cells" >"$scratch/in/number.csv"
    refused "number.csv:2:" kernels "$scratch/in/number.csv"
done
: >"$scratch/in/nought.csv"
refused "nought.csv:1:1: error: the file is empty" kernels "$scratch/in/nought.csv"
printf 'gpu,dtype,m,n,k,k,time_us\nA100,bf16,1,2,3,3,4\n' >"$scratch/in/twice.csv"
refused "twice.csv:1:17: error: column 'k' is written twice" kernels "$scratch/in/twice.csv"
refused "in: error: cannot be read: Is a directory" kernels "$scratch/in"
printf 'gpu,dtype,m,n,k,time_us\nZ9,bf16,1,2,3,4\n' >"$scratch/in/unknown.csv"
refused "there is no row that a law could be fitted to" kernels "$scratch/in/unknown.csv"
refused "the calibration was not written" kernels "$table" --out "$scratch/in/"
finish
