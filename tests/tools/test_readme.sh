#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The scenario that README.md shows is accepted and fits.
source tests/tools/lib.sh
# shellcheck disable=SC2016
sed -n '/^```yaml$/,/^```$/{/^```/!p}' README.md >"$scratch/readme.yaml"
[[ $(wc -l <"$scratch/readme.yaml") -gt 10 ]] || {
    echo "README.md shows no scenario"
    exit 1
}
rlhfsim check "$scratch/readme.yaml"
expect_status 0
expect_empty stderr
expect_stdout my-grpo
finish
