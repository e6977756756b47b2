#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The completion offers what the program's --help lists.
source tests/tools/lib.sh
source tools/rlhfsim-completion.bash

# The words offered for a command line whose last word is being typed, sorted, on one line.
offered() {
    COMP_WORDS=("$program" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _rlhfsim
    printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}

expect_offered() {
    local wanted=$1 found
    shift
    ran="completion of: $*"
    : >"$scratch/stdout"
    : >"$scratch/stderr"
    found=$(offered "$@")
    [[ $found == "$wanted" ]] || fail "offers '$found', expected '$wanted'"
}

expect_offered "calibrate catalog check compare merge run sweep validate" ""
expect_offered "check" "ch"
expect_offered "--help --usage --version" "--"
expect_offered "--seed --set" run "--se"
expect_offered "--out" run a.yaml "--o"
expect_offered "--replicates --resume" sweep a.yaml "--re"
expect_offered "--help --out --usage --version" merge "--"
expect_offered "" check a.yaml "--o"
expect_offered "--calibration --catalog --help --ignore-memory --json --max-microbatch --min-gpus --quiet --seed --set --usage --version" check "--"
expect_offered "--catalog --help --json --usage --version" catalog "--"
expect_offered "algorithms engines fabrics frameworks gpus kernels keys lengths models nodes prices stores topologies training weight-sync weight-sync-rows" catalog ""
expect_offered "gpus" catalog g
expect_offered "dapo dpo dr_grpo" catalog algorithms d
expect_offered "training.packing training.pp training.precision training.prefetch" catalog keys training.p
expect_offered "MI300X MI308X" catalog gpus MI30
expect_offered "" catalog prices ""

mkdir "$scratch/work" "$scratch/work/folder"
touch "$scratch/work/a.yaml" "$scratch/work/b.yml" "$scratch/work/c.txt"
cd "$scratch/work"
expect_offered "a.yaml b.yml folder" run ""
expect_offered "folder" run a.yaml --out ""
touch "$scratch/work/m.csv"
touch "$scratch/work/t.log"
expect_offered "folder m.csv t.log" validate parameters ""
expect_offered "a.yaml b.yml folder" compare ""
expect_offered "folder m.csv t.log" compare a.yaml ""
expect_offered "folder m.csv t.log" calibrate log ""
expect_offered "a.yaml b.yml folder" calibrate log t.log --scenario ""
expect_offered "folder m.csv" run a.yaml --calibration ""
rm "$scratch/work/m.csv" "$scratch/work/t.log"
expect_offered "" run a.yaml --seed ""
expect_offered "training.packing= training.pp= training.precision= training.prefetch=" sweep a.yaml --vary training.p
expect_offered "training.packing= training.pp= training.precision= training.prefetch=" run a.yaml --set training.p
expect_offered "collectives generation kernels memory parameters runs training weight-sync" validate ""
expect_offered "bands collectives generation kernels log memory runs training weight-sync" calibrate ""
expect_offered "folder" merge ""

finish
