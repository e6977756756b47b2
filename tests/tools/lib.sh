#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the test scripts share: a scratch folder, runs of the program with their streams kept apart,
# and expectations that go on after a failure. A script ends with "finish".
set -euo pipefail
program=${RLHFSIM_PROGRAM:?the path of the program}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
status=0
ran=""

# Runs the command; its streams go to $scratch/stdout and $scratch/stderr, its exit to $status.
try() {
    ran=$*
    status=0
    "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
}

# try with the program in front.
rlhfsim() {
    try "$program" "$@"
}

fail() {
    failures=$((failures + 1))
    printf 'FAILED after: %s\n  %s\n' "$ran" "$*"
    sed -n '1,20s/^/  stdout: /p' "$scratch/stdout"
    sed -n '1,20s/^/  stderr: /p' "$scratch/stderr"
}

expect_status() {
    [[ $status == "$1" ]] || fail "exit status $status, expected $1"
}

# The stream holds the text, literally.
expect_stderr() {
    grep -qF -- "$1" "$scratch/stderr" || fail "stderr lacks: $1"
}

expect_stdout() {
    grep -qF -- "$1" "$scratch/stdout" || fail "stdout lacks: $1"
}

expect_empty() {
    [[ ! -s $scratch/$1 ]] || fail "$1 is not empty"
}

expect_absent() {
    [[ ! -e $1 ]] || fail "$1 exists"
}

# Two files or folders are the same, byte by byte.
expect_same() {
    diff -r "$1" "$2" >"$scratch/difference" 2>&1 ||
        fail "$1 and $2 differ: $(head -n 5 "$scratch/difference")"
}

expect_differ() {
    [[ -f $1 && -f $2 ]] || fail "$1 or $2 is missing"
    ! cmp -s "$1" "$2" || fail "$1 and $2 are the same"
}

# The folder holds exactly these files, hidden ones included.
expect_files() {
    local folder=$1 found wanted
    shift
    found=$(find "$folder" -mindepth 1 -printf '%P\n' | sort | xargs)
    wanted=$(printf '%s\n' "$@" | sort | xargs)
    [[ $found == "$wanted" ]] || fail "$folder holds '$found', expected '$wanted'"
}

finish() {
    ((failures == 0)) || {
        echo "$failures expectations failed"
        exit 1
    }
}
