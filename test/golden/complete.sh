#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# complete.sh WEIR: what bash, zsh and fish complete, by the files that they load.
. "$(dirname "$0")/lib/check.sh" "$@"
PATH=$(dirname "$weir"):$PATH
files=$tree/src/cli/completions

by_bash() # WORD...: the last is to be completed; a file name is FILES
{
    bash -c '. "$0"; compopt() { echo FILES; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weir "$1"
        for word in "${COMPREPLY[@]}"; do [ -z "$word" ] || echo "$word"; done' "$files/weir.bash" "$@"
}

by_zsh()
{
    zsh -fc '_describe() { print -rl -- "${(@)${(@P)2}%%:*}"; }; _files() { print FILES; }
        complete_here() { . "$1"; }; words=("${@[2,-1]}"); CURRENT=$#words; complete_here "$1"' zsh "$files/_weir" "$@"
}

by_fish()
{
    fish --no-config -c 'function __fish_complete_path; echo FILES; end; source $argv[1]; complete -C "$argv[2..-1]"' \
        "$files/weir.fish" "$@" | cut -f 1
}

completes() # EXPECTED WORD...
{
    local expected=$1
    shift
    what="$shell: $*"
    by_$shell "$@" 2>err | sort | tr '\n' ' ' >out
    tr ' ' '\n' <<<"$expected" | sort | tr '\n' ' ' >expected
    same out expected
}

for shell in bash zsh fish; do
    if ! has_tool $shell; then
        skip_part "golden/complete: $shell" "$shell is not here" "apt-get install $shell"
        continue
    fi
    completes 'pace explain take replay serve engine help --help --version' weir ''
    completes 'replay' weir re
    completes 'pace explain take replay serve engine' weir help ''
    completes '--window' weir explain 10/s --w
    completes '--nodes' weir replay 10/s --nod
    completes 'nginx haproxy envoy redis-cell' weir explain --as ''
    completes 'random' weir replay 10/s --spread r
    completes 'combined common csv' weir replay 10/s -f c
    completes 'install check' weir engine ''
    completes 'FILES' weir serve ''
    completes 'FILES' weir explain --svg ''
    completes 'FILES' weir take 3/h x -- ''
    completes 'TERM' weir take 3/h x --lost-signal T
    completes 'grant deny clock pace table' weir-bench ''
    completes '--rate --rounds' weir-bench --r
    case $shell in
    bash) completes 'nginx' weir explain --as = ng ;; # as it splits words
    *) completes '--as=nginx' weir explain --as=ng ;;
    esac
done

# Each option that the help has is completed.
for command in pace explain take replay; do
    what="options of weir $command (< help, > completed)"
    "$weir" $command --help | sed -nE 's/^  (-., |    )(--[a-z-]+).*/\2/p' | sort >expected
    "$weir" complete $command -- | cut -f 1 | sort >out
    if [ "$(wc -l <expected)" -lt 4 ]; then fail 'the help has hardly any options'; fi
    same out expected
done
