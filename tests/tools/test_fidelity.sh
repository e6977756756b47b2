#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The ranges and the table of assumed inputs of tools/fidelity, on figures whose answers are known.
# Errors of A are 0 to 0.5, (f - m) / m; those of B, whose prompts are assumed, all a third. A band of
# 1.1 to 1.9 with a median |ln| of 0.14384 is ln(1.9 / 1.1) / (3.8 x 0.14384) = 1.00 of its need.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/runs"

cat >"$work/program" <<'END'
#!/bin/sh
[ "$1 $2 $4" = "validate runs --out" ] || exit 2
awk 'BEGIN {
    print "source,case,metric,measured,forecast,error,provenance,skipped,low,high,widest_input"
    for (i = 0; i <= 10; i++) {
        printf "A,a%d,step_s,%d,100,%.9f,measured,,,,\n", i, 100 + 10 * i, 100 / (100 + 10 * i) - 1
        printf "B,b%d,step_s,150,100,%.9f,assumed: mean_prompt_tokens train_tp=2,,90,200,\n", i, 100 / 150 - 1
    }
    print "B,b11,step_s,150,,,,\"no such model, sorry\",,,"
}' >"$5/validation.csv"
cat <<'JSON'
{
  "metrics": {
    "step_s": {"rows": 22, "compared": 22, "skipped": 0}
  },
  "ranges": {
    "complete": {"figures": 22, "tried": 20, "inside": 16, "median_width": 1.5, "needed_width": 1.25, "input": null, "input_count": 0},
    "incomplete": {"figures": 4, "tried": 3, "inside": 2, "median_width": 2.5, "needed_width": 2, "input": "gpu", "input_count": 2},
    "complete colocated step": {"figures": 2, "tried": 0, "inside": 0, "median_width": null, "needed_width": null, "input": null, "input_count": 0}
  }
}
JSON
END
chmod +x "$work/program"
awk 'BEGIN {
    print "run_key,placement"
    for (i = 0; i <= 10; i++)
        printf "a%d,colocated\nb%d,async\n", i, i
}' >"$work/runs/runs.csv"

cat >"$work/bands.csv" <<'END'
placement,metric,left_out,figures,sources,p10,p50,p90,median_error,tried,inside
colocated,step,,22,2,1.1,1.5,1.9,0.14384,20,15
colocated,step,A,11,1,1.5,1.5,1.5,,11,1
split,step,,1,1,,,,0.1,0,0
END

RLHFSIM_PROGRAM="$work/program" sh "$root/tools/fidelity" -b "$work/bands.csv" -o "$work/page.md" "$work/runs"
expect() {
    grep -qxF -- "$1" "$work/page.md" || { echo "no line: $1" && cat "$work/page.md" && exit 1; }
}
expect '| complete | 20 of 22 | 80 % | 1.50 | 1.25 |'
expect '| complete colocated step | 0 of 2 | - | - | - |'
expect '| incomplete | 3 of 4 | 67 % | 2.50 | 2.00 | gpu (2) |'
expect '| colocated | step | 22 | 2 | 1.10 | 1.50 | 1.90 | 75 % of 20 | 1.00 |'
expect '- 1 figures: no such model, sorry'
expect '| mean_prompt_tokens | 11 | 33.3 % | 11 | 33.3 % |'
expect '| train_tp | 11 | 33.3 % | 11 | 33.3 % |'
expect '| step_s (colocated) | 11 | 33.3 % | 47.4 % |'
expect '| step_s (async) | 11 | 33.3 % | 33.3 % |'
