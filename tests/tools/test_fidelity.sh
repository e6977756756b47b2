#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The band and the table of assumed inputs of tools/fidelity, on figures whose answers are known. A
# stands at 1.0, 1.1 .. 2.0 times its forecast, so its P10 to P90 is the second to the tenth: 1.1 to
# 1.9, which holds all eleven figures of B, at 1.5. B's band is 1.5 alone, which holds one of A: 12
# of 22, and widths of 1.9 / 1.1 and 1, median 1.36. Errors of A are 0 to 0.5, (f - m) / m; those
# of B, whose prompts are assumed, all a third.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/runs"

cat >"$work/program" <<'END'
#!/bin/sh
[ "$1 $2 $4" = "validate runs --out" ] || exit 2
awk 'BEGIN {
    print "source,case,metric,measured,forecast,error,provenance,skipped"
    for (i = 0; i <= 10; i++) {
        printf "A,a%d,step_s,%d,100,%.9f,measured,\n", i, 100 + 10 * i, 100 / (100 + 10 * i) - 1
        printf "B,b%d,step_s,150,100,%.9f,assumed: mean_prompt_tokens train_tp,\n", i, 100 / 150 - 1
    }
}' >"$5/validation.csv"
echo '{}'
END
chmod +x "$work/program"
awk 'BEGIN {
    print "run_key,placement"
    for (i = 0; i <= 10; i++)
        printf "a%d,colocated\nb%d,async\n", i, i
}' >"$work/runs/runs.csv"

RLHFSIM_PROGRAM="$work/program" sh "$root/tools/fidelity" -o "$work/page.md" "$work/runs"
expect() {
    grep -qxF "$1" "$work/page.md" || { echo "no line: $1" && cat "$work/page.md" && exit 1; }
}
expect '| step_s | known | 22 of 22 | 2 | 55 % | 1.36 |'
expect '| mean_prompt_tokens | 11 | 33.3 % | 11 | 33.3 % |'
expect '| train_tp | 11 | 33.3 % | 11 | 33.3 % |'
expect '| step_s (colocated) | 11 | 33.3 % | 47.4 % |'
expect '| step_s (async) | 11 | 33.3 % | 33.3 % |'
