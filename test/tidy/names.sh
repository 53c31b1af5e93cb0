#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# names.sh TREE BUILD NM: a function or variable of src that is visible outside its file begins with the name of its
# file, or of a folder or header around it (address_ of address_text.c, kind_ of kinds.h), or with weir_; or it ends as
# the rows of a table do.
set -euo pipefail
export LC_ALL=C
tree=$1 build=$2 nm=$3

# What is of a file that has been removed since is not looked at.
find "$build/CMakeFiles" -path '*.dir/src/*.c.o' -print0 | xargs -0 "$nm" -A -g --defined-only | awk '
    function begins(symbol, prefix) {
        if (symbol == prefix || index(symbol, prefix "_") == 1) return 1
        return sub(/s$/, "", prefix) && begins(symbol, prefix)
    }

    function fits(file, symbol,    folder, count, i, word) {
        word = file
        sub(/^.*\//, "", word)
        sub(/\.c$/, "", word)
        if (begins(symbol, word) || (sub(/_.*/, "", word) && begins(symbol, word)) || begins(symbol, "weir")) return 1
        for (folder = file; sub(/\/[^\/]*$/, "", folder) && folder != "src";) {
            count = split(near[folder], words, " ")
            for (i = 1; i <= count; i++) {
                if (begins(symbol, words[i])) return 1
            }
        }
        return 0
    }

    FNR == NR { # first the files: a folder has its own name and those of its headers
        sources[$0] = 1
        folder = word = $0
        sub(/\/[^\/]*$/, "", folder)
        sub(/^.*\//, "", word)
        own = folder
        sub(/^.*\//, "", own)
        if (!(folder in near)) near[folder] = own
        if (sub(/\.h$/, "", word)) near[folder] = near[folder] " " word
        next
    }
    {
        file = $1
        sub(/^.*\.dir\//, "", file)
        sub(/\.o:.*$/, "", file)
        if (!(file in sources) || seen[file, $NF]++) next
        count++
        if ($NF ~ /_(algorithm|kind|command|run|route)$|^RedisModule_/ || $NF ~ known || fits(file, $NF)) next
        word = file
        sub(/^.*\//, "", word)
        sub(/\.c$/, "", word)
        printf "%s: %s is visible outside: expected a name that begins with %s_\n", file, $NF, word
        wrong = 1
    }
    END {
        if (!count) print "no object"
        exit wrong || !count
    }
' known='^(trouble|limit_trouble|next_option|print_help|read_count|read_count_argument|read_time_argument)$' \
    <(cd "$tree" && find src -name '*.[ch]') -
