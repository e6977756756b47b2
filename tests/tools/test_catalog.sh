#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# rlhfsim catalog: lists, single rows, JSON, catalogs of the user's, mistakes.
source tests/tools/lib.sh
header=name,bf16_tflops,fp16_tflops,fp32_tflops,fp8_tflops,matmul_tflops_measured
header+=,attention_efficiency,attention_backward_efficiency,memory_gib,memory_bandwidth_gb_per_s
header+=,memory_bandwidth_measured_gb_per_s,scaleup_gb_per_s,host_bandwidth_gb_per_s
header+=,kernel_launch_us,power_w,provenance,source,notes

# The rows of a CSV file; that a list has as many lines and a header shows that nothing is left out.
rows() {
    sed 1d "scenarios/catalog/$1.csv" | wc -l
}

expect_lines() {
    local found
    found=$(wc -l <"$scratch/stdout")
    ((found == $1)) || fail "$found lines, expected $1"
}

# ---- kinds and lists -------------------------------------------------------------------------
rlhfsim catalog
expect_status 0
expect_lines 16
for kind in gpus nodes models prices frameworks engines fabrics lengths stores kernels training; do
    grep -qE "^$kind +$(rows $kind), such as " "$scratch/stdout" || fail "no count of $kind"
    try "$program" catalog "$kind"
    expect_status 0
    expect_lines $(($(rows $kind) + 1))
    expect_empty stderr
    rlhfsim catalog
done
grep -q "^topologies  *7, such as full" "$scratch/stdout" || fail "no topologies"

# Columns stand below their heads: the figure ends where the head ends.
rlhfsim catalog gpus
head=$(sed -n 1p "$scratch/stdout")
row=$(grep '^MI300X ' "$scratch/stdout")
upto=${head%%bf16 TFLOPS*}"bf16 TFLOPS"
[[ ${row:0:${#upto}} == *" 1307" ]] || fail "the bf16 column is not aligned"
grep -q '^Ascend-910B  *-  *-' "$scratch/stdout" || fail "a gap is not shown as -"

# ---- one row -------------------------------------------------------------------------------
rlhfsim catalog gpus h100_sxm5_80gb
expect_status 0
grep -qE '^name +H100-SXM5-80GB$' "$scratch/stdout" || fail "no name"
grep -qE '^memory_bandwidth_gb_per_s +3350 GB/s$' "$scratch/stdout" || fail "no figure with unit"
grep -qE '^provenance +assumed$' "$scratch/stdout" || fail "no provenance"
expect_stdout "stas00/ml-engineering@744d01e18b79"
expect_stdout "also called H100; "
rlhfsim catalog gpus "H100 80GB SXM (DGX Cloud)"
grep -qE '^name +H100-SXM5-80GB$' "$scratch/stdout" || fail "an alias is not found"
rlhfsim catalog gpus RTX-5090
grep -qE '^bf16_tflops +not known$' "$scratch/stdout" || fail "a gap is not said"
rlhfsim catalog prices "aws/us-east-1/p5.48xlarge on-demand"
grep -qE '^price_usd +55.04 USD$' "$scratch/stdout" || fail "no price"
grep -qE '^date ' "$scratch/stdout" || fail "no date"
rlhfsim catalog algorithms DPO
expect_stdout "reference_logprob (unless precomputed), actor_update"
rlhfsim catalog weight-sync ipc-bucket
grep -qE '^name +ipc_bucket$' "$scratch/stdout" || fail "no mechanism"
rlhfsim catalog kernels H100-SXM5-80GB/gemm_bf16
expect_status 0
grep -qE '^gpu +H100-SXM5-80GB$' "$scratch/stdout" || fail "the law of another GPU"
grep -qE '^kernel +gemm_bf16$' "$scratch/stdout" || fail "another kernel"
grep -qE '^launch_us +[0-9.]+ us$' "$scratch/stdout" || fail "no launch"
expect_stdout "aiconfigurator"
rlhfsim catalog training matmul_share/jax
grep -qE '^scope +jax$' "$scratch/stdout" || fail "another scope"
rlhfsim catalog lengths azure-2023-conversation-response
expect_stdout "AzureLLMInferenceTrace_conv.csv"
rlhfsim catalog lengths
expect_lines $(($(rows lengths) + 1))

# ---- keys ------------------------------------------------------------------------------------
rlhfsim catalog keys training.TP
expect_status 0
grep -qE '^default +1$' "$scratch/stdout" || fail "no default"
grep -qE '^expected +a whole number from 1 to 1024$' "$scratch/stdout" || fail "no range"
expect_stdout "tensor parallel GPUs of one training replica"
rlhfsim catalog keys rollout.prompt_tokens
expect_status 0
expect_lines 10
rlhfsim catalog keys
in_training=$(grep -c '^training\.' "$scratch/stdout")
rlhfsim catalog keys training
expect_lines $((in_training + 1))
rlhfsim catalog keys trainin.tp
expect_status 2
expect_stderr "unknown name 'trainin.tp' in keys; did you mean 'training.tp'?"

# ---- JSON ----------------------------------------------------------------------------------
json() {
    python3 - "$scratch/stdout" "$1" <<'END' || fail "JSON is not $1"
import json, sys
value = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}
if command -v python3 >/dev/null; then
    rlhfsim catalog --json
    json 'list(value) == "gpus nodes models prices algorithms weight-sync frameworks engines lengths keys fabrics weight-sync-rows topologies stores kernels training".split()'
    json "len(value['nodes']) == $(rows nodes)"
    rlhfsim catalog keys --json
    json 'all(key["meaning"] and key["expected"] for key in value)'
    json '[key["default"] for key in value if key["name"] == "checkpoint.keep"] == ["3"]'
    rlhfsim catalog keys rollout.prompt_tokens --json
    json '[key["name"].split(".")[-1] for key in value] == "law mean p99 p90 cv uncut_cv limit uncut file".split()'
    rlhfsim catalog gpus --json
    json "len(value) == $(rows gpus) and value[0]['bf16_tflops'] == 312"
    rlhfsim catalog gpus rtx-5090 --json
    json 'value["bf16_tflops"] is None and value["memory_bandwidth_gb_per_s"] == 1792'
    rlhfsim catalog models "Llama 2 7B" --json
    json 'value["parameters"] == 6738415616 and value["gated_ffn"] is True'
fi

# ---- a catalog of the user's -----------------------------------------------------------------
mkdir "$scratch/mine"
printf '%s\n%s\n' "$header" 'MI300X,1,1,,,1,0.5,0.3,1,1,1,,,1,,assumed,"me, ""myself""",' \
    >"$scratch/mine/gpus.csv"
rlhfsim catalog gpus MI300X --catalog "$scratch/mine"
expect_status 0
expect_stdout 'me, "myself"'
grep -qE '^bf16_tflops +1 TFLOPS$' "$scratch/stdout" || fail "the user's row does not win"
rlhfsim catalog gpus MI300X --catalog "$scratch/mine" --json
expect_stdout '"source": "me, \"myself\""'
sed -i 's/,1,1,,,1,/,1,1,,,x,/' "$scratch/mine/gpus.csv"
rlhfsim catalog gpus --catalog "$scratch/mine"
expect_status 2
expect_empty stdout
expect_stderr "gpus.csv:2:14: error: matmul_tflops_measured is 'x'"

# ---- mistakes --------------------------------------------------------------------------------
refused() {
    local text=$1
    shift
    rlhfsim catalog "$@"
    expect_status 2
    expect_stderr "$text"
    expect_empty stdout
}
refused "unknown kind 'gpu'; did you mean 'gpus'?" gpu
refused "unknown kind 'H100'; did you mean 'catalog gpus H100-SXM5-80GB'?" H100
refused "unknown kind 'people'" people
refused "unknown name 'h1000' in gpus; did you mean 'H100-SXM5-80GB'?" gpus h1000
refused "unknown name 'zeppelin' in nodes" nodes zeppelin
refused "unknown name 'gemm_bf17' in kernels" kernels gemm_bf17
refused "one NAME at a time: 'b' is a second one" gpus a b
refused "unknown option '--set'" gpus --set a=b
refused "--catalog:1:1: error: expected a directory of catalogs, got 'nowhere'" --catalog nowhere

finish
