#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# No include runs upward: the engine has never heard of the domain, the domain not of the tools, the
# tools know the public headers only; libraries that read and write files stay where files are read
# and written; the folders of the domain do not include each other in circles.
source tests/tools/lib.sh

# "FILE INCLUDED" for every include of a tree, as they are written, without brackets and quotes.
includes_of() {
    (cd "$1" && grep -rHoE --include='*.[ch]' '^#[[:space:]]*include[[:space:]]+[<"][^>"]+' \
        include sim models tools) | sed -E 's/^([^:]+):#[[:space:]]*include[[:space:]]+[<"]/\1 /'
}

# Prints includes of $scratch/includes in files that match a pattern, of what matches another one,
# but for files that match a third one.
forbid() {
    local why=$1 files=$2 included=$3 except=${4:-^$}
    awk -v files="$files" -v included="$included" -v except="$except" -v why="$why" \
        '$1 ~ files && $2 ~ included && $1 !~ except { print why ": " $1 " includes " $2 }' \
        "$scratch/includes"
}

# tsort complains about "input contains a loop" and names its members.
forbid_circles() {
    sed -nE 's|^models/([^/]+)/[^ ]* models/([^/]+)/.*|\1 \2|p' "$scratch/includes" |
        awk '$1 != $2' | sort -u | { tsort 2>&1 >/dev/null || true; } |
        sed -n 's/^tsort: \([a-z_]*\)$/circle of folders: \1/p'
}

violations() {
    includes_of "$1" >"$scratch/includes"
    forbid "engine" '^sim/' '^(models|tools|tests|rlhfsim)/'
    forbid "domain" '^models/' '^(tools|tests)/'
    forbid "public header" '^include/' '^(sim|models|tools|tests|gsl)/'
    forbid "tool" '^tools/' '^(sim|models|tests|gsl)/'
    forbid "YAML" . '^yaml[.]h$' '^models/scenario/'
    forbid "JSON" . '^jansson[.]h$' '^models/(llm/config|results/)'
    forbid "CSV" . '^csv[.]h$' '^models/(scenario|results)/'
    forbid "command line" . '^argp[.]h$' '^tools/'
    forbid_circles
}

# ---- the test sees what it is for: a small tree with one of each -----------------------------------
tree=$scratch/tree
mkdir -p "$tree"/{include,sim,tools,models/{llm,cost,scenario}}
echo '#include "models/cost/a.h"' >"$tree/sim/a.c"
echo '#include "tools/a.h"' >"$tree/models/cost/b.c"
printf '#include "models/llm/a.h"\n#include <yaml.h>\n' >"$tree/models/cost/a.h"
echo '#  include "models/cost/a.h"' >"$tree/models/llm/a.h"
printf '#include <yaml.h>\n#include "models/cost/a.h"\n' >"$tree/models/scenario/a.c"
echo '#include "sim/a.h"' >"$tree/include/a.h"
printf '#include "sim/a.h"\n#include <rlhfsim/a.h>\n' >"$tree/tools/a.c"
echo '#include <argp.h>' >"$tree/models/llm/b.c"
cat >"$scratch/expected" <<'END'
YAML: models/cost/a.h includes yaml.h
circle of folders: cost
circle of folders: llm
command line: models/llm/b.c includes argp.h
domain: models/cost/b.c includes tools/a.h
engine: sim/a.c includes models/cost/a.h
public header: include/a.h includes sim/a.h
tool: tools/a.c includes sim/a.h
END
violations "$tree" | LC_ALL=C sort >"$scratch/found"
expect_same "$scratch/expected" "$scratch/found"

# ---- the project ----------------------------------------------------------------------------------
violations . >"$scratch/found"
[[ $(wc -l <"$scratch/includes") -gt 100 ]] || fail "found hardly any include"
try cat "$scratch/found"
[[ ! -s $scratch/found ]] || fail "includes that the layers forbid"

finish
