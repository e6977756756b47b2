#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# validate memory and calibrate memory: what is compared and under which metric, what is left out and
# why; the file that a calibration makes is a catalog.
source tests/tools/lib.sh

mkdir "$scratch/in"
steps=$scratch/in/steps.csv
cat >"$steps" <<'END'
source,model,gpu,num_gpus,seq_len,global_batch_tokens,microbatch,tp,pp,cp,dp,sharding,precision,activation_checkpointing,step_s,mem_gb,mem_unit,notes
stas00/ml-engineering x @744d01e,Llama-3.1-8B,H200 SXM,8,131072,1048576,1,1,1,1,8,ZeRO-3 + CPU AdamW offload,bf16,full,,66.5,GiB,
stas00/ml-engineering x @744d01e,Llama-3.1-8B,H200 SXM,8,65536,524288,1,1,1,1,8,ZeRO-3 + CPU AdamW offload,bf16,full,,37.5,GiB,
litgpt x @y,gemma-7b lora,A10G,1,512,,1,1,1,,1,,bf16,,,OOM,GB,
litgpt x @y,llama-3-8b lora,A10G,1,,,1,1,1,,1,,bf16,,,19.7,GB,
litgpt x @y,llama-3-8b lora,A10G,1,512,,1,1,1,,1,,bf16,,12,,,
END
cases=$scratch/in/cases.csv
cat >"$cases" <<'END'
run_key,source_key,framework,algorithm,actor_model,critic_model,reward_model,reference_model,gpu,num_gpus,gpus_per_node,placement,train_backend,train_tp,train_pp,train_cp,zero_stage,train_precision,recompute,offload,lora_rank,packing,rollout_tp,max_prompt_tokens,mean_response_tokens,max_response_tokens,minibatch_samples,microbatch_samples,microbatch_tokens,outcome,value,unit,counts,notes
A,RUNS,verl,grpo,Qwen2.5-7B,,rule,yes,H100-SXM5-80GB,8,8,colocated,fsdp,1,1,,3,bf16,full,optimizer+params,0,yes,2,512,,1024,256,,16384,fits,,,,
B,RUNS,verl,grpo,Qwen2.5-7B,,rule,yes,H100-SXM5-80GB,8,8,split,fsdp,1,1,,3,bf16,full,none,0,yes,2,512,,1024,256,,16384,oom,,,,
D,RUNS,verl,grpo,Qwen2.5-14B,,rule,,H100-SXM5-80GB,8,8,colocated,fsdp,1,1,,3,bf16,full,none,0,yes,8,512,,512,,,24000,oom,,,,user report (verl issue 855)
E,RUNS,verl,grpo,Qwen2.5-14B,,rule,,H100-SXM5-80GB,8,8,colocated,fsdp,1,1,,3,bf16,full,none,0,yes,8,512,,512,,,24000,fits,,,,user report (verl issue 1855)
F,RUNS,verl,grpo,Qwen2.5-14B,,rule,,H100-SXM5-80GB,8,8,colocated,fsdp,1,1,,3,bf16,full,none,0,yes,8,512,,512,64,,24000,fits,,,,user report (verl issue 855)
C,TRAINERS,prime-rl,sft,Qwen3-0.6B,,,no,H100-SXM5-80GB,1,1,,fsdp2,1,1,1,3,bf16,full,none,0,yes,,,,65536,2,1,,oom,,,,
END

rlhfsim validate memory "$steps" "$cases" --out "$scratch/out" --json
expect_status 0
expect_empty stderr
# Rows: 3 peaks and a row without a measured value in overall; flags stand apart.
expect_stdout '"overall": {"rows": 4, "compared": 2, "skipped": 2,'
expect_stdout '"peak_reserved_bytes": {"rows": 2, "compared": 2, "skipped": 0,'
expect_stdout '"fits": {"rows": 10, "compared": 8, "skipped": 2,'
grep -q 'not stated: seq_len$' "$scratch/out/validation.csv" || fail "no field is named"
grep -q '^RUNS,B,fits,0,,,,placement is split$' "$scratch/out/validation.csv" || fail "no reason"
grep -q '^RUNS,A,fits,1,1,0,' "$scratch/out/validation.csv" || fail "a run that fits does not"
# 24,000 tokens of 152,064 logits: 36 GB with the entropy that was in every update then, 22 without.
# A mini-batch of 8 samples a rank does not fill the budget.
grep -q '^RUNS,D,fits,0,0,0,' "$scratch/out/validation.csv" || fail "no entropy"
grep -q '^RUNS,E,fits,1,1,0,' "$scratch/out/validation.csv" || fail "entropy where none is"
grep -q '^RUNS,F,fits,1,1,0,' "$scratch/out/validation.csv" || fail "a budget that is not filled"
grep -q '^TRAINERS,C,fits,0,0,0,' "$scratch/out/validation.csv" || fail "no run out of memory"
grep -q '^litgpt,.*,fits,0,0\.[0-9]*,' "$scratch/out/validation.csv" || fail "no probability"

rlhfsim validate memory "$cases" --out "$scratch/out"
expect_status 0
expect_stdout "1: placement is split"

echo "a,b" >"$scratch/in/other.csv"
rlhfsim validate memory "$scratch/in/other.csv" --out "$scratch/none"
expect_status 2
expect_stderr "expected a column 'mem_gb' (training steps) or 'outcome' (memory cases)"
expect_absent "$scratch/none/validation.csv"

# ---- calibrate --------------------------------------------------------------------------------
rlhfsim calibrate memory "$steps" "$cases" --out "$scratch/mine/memory.csv"
expect_status 0
expect_stdout "stas00/ml-engineering"
expect_stdout "all peaks"
expect_stdout "5: of a run with a rollout engine"
grep -q ',2 printed peaks,.*,rlhfsim calibrate memory steps.csv cases.csv,' "$scratch/mine/memory.csv" ||
    fail "no command"
rlhfsim validate memory "$steps" --catalog "$scratch/mine" --out "$scratch/out"
expect_status 0
rlhfsim calibrate memory "$cases" --out "$scratch/none/memory.csv"
expect_status 2
expect_stderr "no peak to fit to in the files"

# Optimizers on local disks: 12 bytes of each of the 6,738,415,616 parameters of the actor and the
# 6,607,347,712 of the critic, there from the start, and once.
rlhfsim run scenarios/ppo-llama2-7b-8xa100.yaml --set cluster.node=azure-ND96isr_H100_v5 \
    --set prices.node_usd_per_hour=98 --set training.offload=optimizer \
    --set training.offload_optimizer_to=nvme --set steps=2 --out "$scratch/disks" --quiet
expect_status 0
grep /nvme, "$scratch/disks/memory.csv" >"$scratch/disks.csv"
diff - "$scratch/disks.csv" <<'END' || fail "memory.csv has other bytes on disks"
0,node0/nvme,actor,optimizer,80860987392
0,node0/nvme,critic,optimizer,79288172544
END

finish
