# SPDX-License-Identifier: MIT
# fish: what may follow is asked of the command itself, which says with status 1 that it is a file.
function __weir_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    $words[1] complete $words[2..-1] "$word" 2>/dev/null
    or __fish_complete_path "$word"
end
complete -c weir -f -a '(__weir_complete)'
complete -c weir-bench -f -a '(__weir_complete)'
