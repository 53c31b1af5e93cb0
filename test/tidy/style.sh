#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# style.sh TREE: what can be counted of the style.  Prints every offence with its place.
set -euo pipefail
rules=$(dirname "$(realpath "$0")")/style.awk
cd "$1"
export LC_ALL=C

# In a checkout, what git knows or would add; else all there is.
files()
{
    local folders=() folder
    for folder in src include test bench tools examples cmake web .ci; do
        if [ -d "$folder" ]; then folders+=("$folder"); fi
    done
    if [ -e .git ] && command -v git >/dev/null; then
        git -c core.quotePath=off ls-files -co --exclude-standard -- "${folders[@]}"
    else
        find "${folders[@]}" -name node_modules -prune -o -type f -print
    fi | sort
}

# Sources and scripts; data (vectors, expected outputs, corpora) has no room for comments.
is_source() # FILE
{
    case $1 in
    *.[ch] | *.sh | *.awk | *.py | *.lua | *.cmake | */CMakeLists.txt) ;;
    *.go | *.rs | *.java | *.js | *.css | *.cc | *.cpp) ;;
    *) [ "$(head -c 2 "$1" | tr -d '\0')" = '#!' ] ;;
    esac
}

status=0
files | while read -r file; do
    if [ -s "$file" ] && is_source "$file"; then echo "$file"; fi
done | tr '\n' '\0' | xargs -0 awk -f "$rules" || status=1

# So many can be taken in at a glance.
files | while read -r file; do
    if [ -e "$file" ]; then echo "$file"; fi
done | awk -F / '
    $1 == "src" { sub(/\/[^\/]*$/, ""); many[$0]++ }
    END {
        for (folder in many) {
            if (many[folder] <= 25) continue
            printf "%s: %d files, more than 25\n", folder, many[folder]
            wrong = 1
        }
        exit wrong
    }' || status=1
exit $status
