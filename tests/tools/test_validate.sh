#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# validate parameters: exact counts, relative paths, what is skipped and why, JSON and CSV, exit 0
# whatever the errors, nothing written on bad input.
source tests/tools/lib.sh

mkdir "$scratch/in" "$scratch/in/configs"
cat >"$scratch/in/configs/tiny.json" <<'END'
{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 8,
 "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 1000}
END
echo '{"model_type": "mamba"}' >"$scratch/in/configs/other.json"
# tiny has 202,048 parameters: embedding and head 128,000, two layers of 36,992, a norm of 64. half
# is said to have twice as many (error -0.5), more 101,024 (error 1). |errors| 0, 0, 0.5, 1: median
# 0.25, P90 at place 2.7: 0.85 (0.7 is rounded up); of the first source 0, 0, 0.5: P90 0.4. Its tau: of
# three pairs two are in order and one has equal forecasts, 2 / sqrt(3 x 2).
cat >"$scratch/in/models.csv" <<'END'
name,computed_params,config_json,source,notes
tiny,202048,configs/tiny.json,github.com/a/b@1234:file,
half,404096,configs/tiny.json,github.com/a/b other words,
more,101024,configs/tiny.json,"c, quoted",
Llama-2-7b-hf,6738415616,,github.com/a/b@1234:file,by its name
unknown,1,,c,
other,1,configs/other.json,c,
absent,1,configs/absent.json,c,
empty,,configs/tiny.json,c,
zero,0,configs/tiny.json,c,
END

rlhfsim validate parameters "$scratch/in/models.csv" --out "$scratch/out" --json
expect_status 0
expect_empty stderr
cat >"$scratch/expected.json" <<'END'
{
  "overall": {"rows": 9, "compared": 4, "skipped": 5, "median_abs_error": 0.25, "p90_abs_error": 0.8500000000000001, "bias": 0, "kendall_tau": 0.8164965809277261},
  "sources": {
    "github.com/a/b": {"rows": 3, "compared": 3, "skipped": 0, "median_abs_error": 0, "p90_abs_error": 0.4, "bias": 0, "kendall_tau": 0.8164965809277261},
    "c,": {"rows": 1, "compared": 1, "skipped": 0, "median_abs_error": 1, "p90_abs_error": 1, "bias": 1, "kendall_tau": null},
    "c": {"rows": 5, "compared": 0, "skipped": 5, "median_abs_error": null, "p90_abs_error": null, "bias": null, "kendall_tau": null}
  },
  "metrics": {
    "computed_params": {"rows": 8, "compared": 4, "skipped": 4, "median_abs_error": 0.25, "p90_abs_error": 0.8500000000000001, "bias": 0, "kendall_tau": 0.8164965809277261}
  }
}
END
expect_same "$scratch/expected.json" "$scratch/stdout"
expect_files "$scratch/out" validation.csv
cat >"$scratch/expected.csv" <<END
source,case,metric,measured,forecast,error,provenance,skipped
github.com/a/b,tiny,computed_params,202048,202048,0,measured,
github.com/a/b,half,computed_params,404096,202048,-0.5,measured,
"c,",more,computed_params,101024,202048,1,measured,
github.com/a/b,Llama-2-7b-hf,computed_params,6738415616,6738415616,0,measured,
c,unknown,computed_params,1,,,,"no config_json, and the catalog has no model of that name"
c,other,computed_params,1,,,,"config_json: model_type is ""mamba"", which is not modelled: expected a family such as ""llama"""
c,absent,computed_params,1,,,,config_json: cannot read the model's config: No such file or directory
c,empty,,,,,,no measured value
c,zero,computed_params,0,,,,the measured value is 0
END
expect_same "$scratch/expected.csv" "$scratch/out/validation.csv"

# ---- the note, and the default place ----------------------------------------------------------
here=$PWD
cd "$scratch/in"
try env RLHFSIM_CATALOG="$here/scenarios/catalog" "$program" validate parameters models.csv
cd "$here"
expect_status 0
expect_stdout "overall"
expect_stdout "1: the measured value is 0"
expect_same "$scratch/expected.csv" "$scratch/in/validation.csv"

# ---- several tables ----------------------------------------------------------------------------
rlhfsim validate parameters "$scratch/in/models.csv" "$scratch/in/models.csv" --out "$scratch/two"
expect_status 0
[[ $(wc -l <"$scratch/two/validation.csv") == 19 ]] || fail "two tables are not 18 cases"

# ---- collectives and weight syncs ---------------------------------------------------------------
# Of 4 rows two are compared: all-reduce on 8 H100 at 445 and 72 GB/s of bus bandwidth
# (ai-dynamo/aiconfigurator @095f58a51, systems/data/h100_sxm, NCCL 2.29.2).
cat >"$scratch/in/sweep.csv" <<'END'
source,collective,gpu_system,num_gpus,nodes,interconnect,bytes,time_us,algbw_GBps,busbw_GBps,dtype,notes
ai-dynamo/aiconfigurator x,all_reduce,h100_sxm,8,1,NVLink4,536870912,2111.0,,,half,
ai-dynamo/aiconfigurator x,all_reduce,h100_sxm,8,1,NVLink4,1048576,25.4,,,half,
ai-dynamo/aiconfigurator x,moe_dispatch,h100_sxm,8,1,NVLink4,1048576,25.4,,,half,
ai-dynamo/aiconfigurator x,all_reduce,abacus,8,1,NVLink4,1048576,25.4,,,half,
END
rlhfsim validate collectives "$scratch/in/sweep.csv" --out "$scratch/links"
expect_status 0
expect_empty stderr
expect_stdout "1: no such collective is modelled"
expect_stdout "1: the catalog has no node of that name"
awk -F, 'NR > 1 && $8 == "" { n++; if ($6 > 0.3 || $6 < -0.3) bad = 1 } END { exit n != 2 || bad }' \
    "$scratch/links/validation.csv" || fail "two all-reduces are not within 30 %"
cat >"$scratch/in/syncs.csv" <<'END'
source,kind,model,params,gpu,num_gpus,method,time_s
MoonshotAI/checkpoint-engine x,weight sync,DeepSeek-V3.1 (FP8),,H20,16,update broadcast,10.19
nobody,weight sync,DeepSeek-V3.1 (FP8),,H20,16,by hand,1
END
rlhfsim validate weight-sync "$scratch/in/syncs.csv" --out "$scratch/syncs"
expect_status 0
expect_stdout "1: single point, x2"
grep -q '^MoonshotAI/checkpoint-engine,DeepSeek.*,time_s,10.19,' "$scratch/syncs/validation.csv" ||
    fail "the sync is not compared"

# ---- bad input ---------------------------------------------------------------------------------
refused() {
    local text=$1
    shift
    rlhfsim validate "$@" --out "$scratch/none"
    expect_status 2
    expect_stderr "$text"
    expect_empty stdout
    expect_absent "$scratch/none"
}
refused "the KIND is missing"
refused "a PATH is missing" parameters
refused "unknown kind 'parameter'; expected parameters, kernels, " parameter "$scratch/in/models.csv"
refused "expected a directory of catalogs, got '/nowhere'" parameters x.csv --catalog /nowhere
printf 'name,config_json\na,b\n' >"$scratch/in/columns.csv"
refused "models.csv:1:1: error: column 'collective' is missing" collectives "$scratch/in/models.csv"
refused "models.csv:1:1: error: expected the columns kind, model, gpu, num_gpus, method and" \
    weight-sync "$scratch/in/models.csv"
refused "columns.csv:1:1: error: column 'computed_params' is missing" parameters "$scratch/in/columns.csv"
printf 'computed_params,config_json\n1,b\n' >"$scratch/in/name.csv"
refused "name.csv:1:1: error: column 'name' is missing" parameters "$scratch/in/name.csv"
printf 'name,computed_params\na,many\n' >"$scratch/in/number.csv"
refused "number.csv:2:3: error: computed_params is 'many', expected a whole number" \
    parameters "$scratch/in/number.csv"
: >"$scratch/in/nothing.csv"
refused "nothing.csv" parameters "$scratch/in/nothing.csv"

rlhfsim validate parameters /nowhere/models.csv --out "$scratch/none"
expect_status 2
expect_stderr "/nowhere/models.csv: error: "
expect_absent "$scratch/none"
finish
