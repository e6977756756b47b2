#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bad usage: exit 2, the mistake and what is nearest on stderr, nothing on stdout, nothing written.
# Help and version: exit 0, on stdout.
source tests/tools/lib.sh
scenario=scenarios/ppo-llama2-7b-8xa100.yaml

# Refused with exit 2 and this text.
refused() {
    local text=$1
    shift
    rlhfsim "$@"
    expect_status 2
    expect_stderr "$text"
    expect_empty stdout
}

# ---- help and version ---------------------------------------------------------------------------
rlhfsim --version
expect_status 0
grep -qE '^rlhfsim [0-9]+\.[0-9]+\.[0-9]+$' "$scratch/stdout" || fail "no version"

for help in --help '-?' -h; do
    rlhfsim "$help"
    expect_status 0
    expect_stdout "Usage: rlhfsim "
    expect_stdout "  run "
    expect_stdout "  check "
    expect_stdout "  validate "
    expect_stdout "  calibrate "
    expect_stdout "  catalog "
    expect_stdout "  sweep "
    expect_stdout "  merge "
    expect_stdout "Examples:"
    expect_empty stderr
done
# Only what is built is offered.
for absent in plan import review report; do
    ! grep -qE "^  $absent " "$scratch/stdout" || fail "$absent is listed"
done

for command in run check; do
    rlhfsim "$command" --help
    expect_status 0
    expect_stdout "Usage: rlhfsim $command [OPTION...] SCENARIO"
    # Examples come after the options.
    options=$(grep -n -- '--set=KEY=VALUE' "$scratch/stdout" | cut -d: -f1)
    examples=$(grep -n '^Examples:' "$scratch/stdout" | cut -d: -f1)
    ((options < examples)) || fail "no examples after the options"
    for option in --set= --seed= --catalog= --calibration= --ignore-memory --quiet --json; do
        expect_stdout "$option"
    done
    [[ $(wc -L <"$scratch/stdout") -le 80 ]] || fail "a line is longer than 80 columns"
done
rlhfsim sweep --help
expect_status 0
expect_stdout "Usage: rlhfsim sweep [OPTION...] SCENARIO"
for option in --vary= --out= --jobs= --resume --shard= --replicates= --set= --seed= --catalog= \
    --ignore-memory --quiet; do
    expect_stdout "$option"
done
! grep -q -- '--json' "$scratch/stdout" || fail "sweep offers --json"
[[ $(wc -L <"$scratch/stdout") -le 80 ]] || fail "a line is longer than 80 columns"
rlhfsim merge --help
expect_status 0
expect_stdout "Usage: rlhfsim merge [OPTION...] DIR..."
expect_stdout "--out="
[[ $(wc -L <"$scratch/stdout") -le 80 ]] || fail "a line is longer than 80 columns"
rlhfsim check --help
! grep -qE -- '--(out|replicates)' "$scratch/stdout" || fail "check offers an option of run"

# ---- commands -----------------------------------------------------------------------------------
refused "a command is missing"
refused "unknown command 'rnu'; did you mean 'run'?" rnu
refused "unknown command 'chek'; did you mean 'check'?" chek
refused "unknown command 'frobnicate'" frobnicate
refused "unknown option '--verbose'" --verbose run "$scenario"

# ---- options ------------------------------------------------------------------------------------
for command in run check; do
    refused "rlhfsim $command: error: the SCENARIO file is missing" "$command"
    refused "Try 'rlhfsim $command --help'" "$command"
    refused "'b.yaml' is a second one" "$command" a.yaml b.yaml
    refused "unknown option '--sede'; did you mean '--seed'?" "$command" "$scenario" --sede 3
    refused "options are not abbreviated: write '--seed' for '--see'" "$command" --see 3 "$scenario"
    refused "options are not abbreviated: write '--ignore-memory' for '--ignore'" \
        "$command" "$scenario" --ignore
    refused "cannot be read: No such file" "$command" "$scenario" --calibration file
    refused "expected a file, got nothing" "$command" "$scenario" --calibration ''
    refused "unknown option '-x'" "$command" -x "$scenario"
    refused "'--seed' needs a value: --seed N" "$command" "$scenario" --seed
    refused "'--json' takes no value" "$command" "$scenario" --json=yes
    for bad in abc -1 +1 1.5 0x10 1e3 ' 1' 007 18446744073709551616 ''; do
        refused "--seed:1:1: error: expected a whole number from 0 to 9223372036854775807, got '$bad'" \
            "$command" "$scenario" "--seed=$bad"
    done
    refused "--catalog:1:1: error: expected a directory of catalogs, got 'nowhere'" \
        "$command" "$scenario" --catalog nowhere
done
for bad in 0 -5 many 100001; do
    refused "--replicates:1:1: error: expected a whole number from 1 to 100000, got '$bad'" \
        run "$scenario" "--replicates=$bad"
done
refused "--out:1:1: error: expected a directory, got nothing" run "$scenario" --out ''
refused "unknown option '--out'" check "$scenario" --out dir

# After "--" a name may begin with "-"; a file that is not there is bad input.
rlhfsim run -- --seed
expect_status 2
expect_stderr "--seed"

# ---- the catalog --------------------------------------------------------------------------------
try env RLHFSIM_CATALOG="$scratch/none" "$program" check "$scenario"
expect_status 2
expect_stderr "RLHFSIM_CATALOG:1:1: error: expected a directory of catalogs, got '$scratch/none'"

finish
