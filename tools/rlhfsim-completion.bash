#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Completion of rlhfsim in bash. What is offered is read from the program's own --help, so that it
# never knows more or less than the program does. Installed as
# PREFIX/share/bash-completion/completions/rlhfsim; to try it: source tools/rlhfsim-completion.bash

_rlhfsim_commands() {
    "$1" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'
}

_rlhfsim_options() {
    "$@" --help | sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z][a-z-]*\).*/\2/p'
}

# Fills COMPREPLY with the kinds of the catalog, or with the names of a kind (of prices none: they
# have spaces).
_rlhfsim_catalog() {
    local program=$1 word=$2 kind=$3
    if [[ -z $kind ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" catalog 2>/dev/null |
            sed 's/ .*//')" -- "$word")
    elif [[ $kind != prices ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" catalog "$kind" 2>/dev/null |
            sed '1d; s/ .*//')" -- "$word")
    fi
}

# The kinds of validate and calibrate, as the program names them when it is given none of them.
_rlhfsim_kinds() {
    "$1" "$2" '?' 2>&1 | sed -n "s/.*unknown kind '?'; expected //p" | sed 's/, \| or /\n/g'
}

# Fills COMPREPLY with the folders that begin with the word, and the files that have one of the
# endings behind it.
_rlhfsim_files() {
    local word=$1 ending
    shift
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(
        compgen -d -- "$word"
        for ending; do
            compgen -f -X "!*.$ending" -- "$word"
        done
    )
}

_rlhfsim() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} command="" argument="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} != -* ]] || continue
        if [[ -z $command ]]; then
            command=${COMP_WORDS[i]}
        elif [[ -z $argument ]]; then
            argument=${COMP_WORDS[i]}
        fi
    done
    COMPREPLY=()
    case $previous in
    --out | --catalog | --emit-scenarios)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    --calibration)
        _rlhfsim_files "$word" csv
        return
        ;;
    --scenario)
        _rlhfsim_files "$word" yaml yml
        return
        ;;
    --set | --vary)
        compopt -o nospace 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -S = -W "$("$program" catalog keys 2>/dev/null |
            sed '1d; s/ .*//')" -- "$word")
        return
        ;;
    --seed | --replicates | --jobs | --shard) return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(
            # shellcheck disable=SC2086
            compgen -W "$(_rlhfsim_options "$program" $command)" -- "$word"
        )
    elif [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_rlhfsim_commands "$program")" -- "$word")
    elif [[ $command == catalog ]]; then
        _rlhfsim_catalog "$program" "$word" "$argument"
    elif [[ $command == validate || $command == calibrate ]] && [[ -z $argument ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_rlhfsim_kinds "$program" "$command")" -- "$word")
    elif [[ $command == validate || $command == calibrate || ($command == compare && -n $argument) ]]; then
        _rlhfsim_files "$word" csv log
    elif [[ $command == merge ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
    else
        _rlhfsim_files "$word" yaml yml
    fi
}

complete -F _rlhfsim rlhfsim
