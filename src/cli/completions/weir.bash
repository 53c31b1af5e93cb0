# SPDX-License-Identifier: MIT
# bash: what may follow is asked of the command itself, which says with status 1 that it is a file.
_weir()
{
    local IFS=$'\n'
    COMPREPLY=($("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)) || compopt -o default
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
}
complete -F _weir weir weir-bench
