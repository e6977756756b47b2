#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An installation is complete and can be moved: a client compiles against it by pkg-config and by
# find_package, and the program runs from another folder with the installed scenario and catalog.
source tests/tools/lib.sh
: "${RLHFSIM_BUILD:?the build folder}"

# The library of a build with sanitizers wants them in its clients, too.
sanitizers=$(sed -n 's/^RLHFSIM_SANITIZE:STRING=//p' "$RLHFSIM_BUILD/CMakeCache.txt")
flags=()
[[ -z $sanitizers ]] || flags=("-fsanitize=$sanitizers")

# It is installed under one name and used under another.
try cmake --install "$RLHFSIM_BUILD" --prefix "$scratch/first"
expect_status 0
prefix=$scratch/moved
mv "$scratch/first" "$prefix"
pc=$(find "$prefix" -name rlhfsim.pc)
[[ -n $pc ]] || fail "no rlhfsim.pc"
mkdir "$scratch/client"
cd "$scratch/client"

cat >client.c <<'END'
#include <rlhfsim/rlhfsim.h>

#include <stdio.h>

int main(int argc, char **argv) {
    struct rlhfsim_diagnostics *diagnostics = rlhfsim_diagnostics_new();
    struct rlhfsim_scenario_options options = {.catalog_directory = argv[2]};
    struct rlhfsim_scenario *scenario = NULL;
    if (argc == 3 && rlhfsim_scenario_load(argv[1], &options, diagnostics, &scenario) == RLHFSIM_OK)
        printf("%s %s\n", rlhfsim_version(), rlhfsim_scenario_name(scenario));
    rlhfsim_scenario_free(scenario);
    rlhfsim_diagnostics_free(diagnostics);
    return scenario == NULL;
}
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(client LANGUAGES C)
find_package(rlhfsim REQUIRED)
add_executable(client client.c)
target_link_libraries(client PRIVATE rlhfsim::rlhfsim)
END

scenario=$prefix/share/rlhfsim/scenarios/ppo-llama2-7b-8xa100.yaml
catalog=$prefix/share/rlhfsim/scenarios/catalog
expected="$("$program" --version | sed 's/^rlhfsim //') ppo-llama2-7b-8xa100"

# ---- pkg-config -----------------------------------------------------------------------------------
export PKG_CONFIG_PATH=${pc%/*}
try pkg-config --static --cflags --libs rlhfsim
expect_status 0
read -ra options <"$scratch/stdout"
try gcc -std=c17 "${flags[@]}" client.c -o client "${options[@]}"
expect_status 0
try ./client "$scenario" "$catalog"
expect_status 0
expect_stdout "$expected"

# ---- find_package ---------------------------------------------------------------------------------
try cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="${flags[*]}"
expect_status 0
try cmake --build build
expect_status 0
try build/client "$scenario" "$catalog"
expect_status 0
expect_stdout "$expected"

# ---- the program ----------------------------------------------------------------------------------
try env -u RLHFSIM_CATALOG "$prefix/bin/rlhfsim" check "$scenario"
expect_status 0
expect_stdout ppo-llama2-7b-8xa100
# It takes its own catalog, not that of the source tree.
mv "$catalog/gpus.csv" "$scratch/gpus.csv"
try env -u RLHFSIM_CATALOG "$prefix/bin/rlhfsim" check "$scenario"
[[ $status != 0 ]] || fail "it does not read the catalog it was installed with"
expect_stderr "$catalog/gpus.csv"

[[ -f $prefix/share/bash-completion/completions/rlhfsim ]] || fail "no completion"

finish
