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

# Fills COMPREPLY with the scenario files and folders that begin with the word.
_rlhfsim_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(
        compgen -d -- "$1"
        compgen -f -X '!*.yaml' -- "$1"
        compgen -f -X '!*.yml' -- "$1"
    )
}

_rlhfsim() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} command="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} != -* ]]; then
            command=${COMP_WORDS[i]}
            break
        fi
    done
    COMPREPLY=()
    case $previous in
    --out | --catalog)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    --set | --seed | --replicates | --vary | --jobs | --shard) return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(
            # shellcheck disable=SC2086
            compgen -W "$(_rlhfsim_options "$program" $command)" -- "$word"
        )
    elif [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_rlhfsim_commands "$program")" -- "$word")
    elif [[ $command == merge ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
    else
        _rlhfsim_files "$word"
    fi
}

complete -F _rlhfsim rlhfsim
