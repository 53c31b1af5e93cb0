#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pages.sh TREE BUILD: what the documents name is there: tests, files, pages and sections; lines of prose are short
# enough to be read.  BUILD is - where not all tests are built: then none is looked for.
set -euo pipefail
cd "$1"
build=$2
export LC_ALL=C
status=0
wrong() # WORDS
{
    echo "$*"
    status=1
}

# As GitHub makes them of headings.
sections() # PAGE
{
    sed -nE 's/^#+ //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

pages=(*.md doc/*.md)

is_test() # NAME: or, where that cannot be known, what may be one
{
    if [ "$build" = - ]; then [[ $1 != *.* ]]; else grep -qxF -- "$1" <<<"$known"; fi
}

# ---- tests ----
if [ "$build" != - ]; then
    # Not by ctest -N, which would empty the log of the run that this is part of.
    known=$(sed -nE 's/^add_test\((\[=\[|")?([a-z]+\/[A-Za-z0-9_-]+).*/\2/p' "$build/CTestTestfile.cmake")
    kinds='bindings|unit|property|model|simulate|stress|golden|serve|engine|clock|compat|vectors|tidy|page|bench'
    kinds+='|install'
    for page in "${pages[@]}"; do
        for test in $(grep -oE "\`($kinds)/[a-z_-]+\`" "$page" | tr -d '`' | sort -u); do
            is_test "$test" || [ -e "$test" ] || wrong "$page: there is no test $test"
        done
    done
    for page in SECURITY.md ARCHITECTURE.md; do
        grep -qE "^\|.*\`($kinds)/" "$page" || wrong "$page names no test"
    done
fi

# ---- files: a name in capitals stands for many ----
for page in "${pages[@]}"; do
    if [ "$page" = CHANGELOG.md ]; then continue; fi # it names what there was
    for file in $(grep -oE '`(src|include|test|tools|bench|examples|cmake|doc)/[A-Za-z0-9_./-]+`' "$page" | tr -d '`' |
        grep -vE '[A-Z]{3}' | sort -u); do
        [ -e "$file" ] || is_test "$file" || wrong "$page: there is no $file"
    done
done

# ---- links ----
for page in "${pages[@]}"; do
    while read -r link; do
        file=${link%%#*}
        path=$page
        if [ -n "$file" ]; then path=$(dirname "$page")/$file; fi
        if [ ! -e "$path" ]; then
            wrong "$page: a link to $file, which is not there"
        elif [ "$link" != "$file" ] && [[ $path == *.md ]]; then
            sections "$path" | grep -qxF -- "${link#*#}" || wrong "$page: a link to $link, and there is no such section"
        fi
    done < <(sed '/^```/,/^```/d' "$page" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' |
        grep -vE '^(https?|mailto):' | sort -u)
done

# ---- bindings: `weir` is another's package on PyPI, npm and in the Rust registry ----
others='(pip3? install|npm (install|i|add)|yarn add|pnpm add|cargo (add|install)) +(-[a-zA-Z-]+ +)*weir([^a-z./-]|$)'
while read -r found; do wrong "$found: that installs another's package; ours is libweir"; done < <(
    grep -rnE --exclude-dir=node_modules --exclude-dir=target -- "$others" "${pages[@]}" doc/man bindings examples \
        src/cli)

# ---- prose: no tables, no examples, nothing that a program has filled in ----
for page in "${pages[@]}"; do
    if [ "$page" = CHANGELOG.md ]; then continue; fi
    awk -v page="$page" '
        /^ *```/ { fenced = !fenced }
        /^<!-- bench/ { filled = 1 }
        /^<!-- end/ { filled = 0 }
        fenced || filled || /^[|]/ || /^    / || /^machine:/ { next }
        {
            line = $0
            gsub(/[\200-\277]/, "", line) # what is left of a UTF-8 character is its first byte
            if (length(line) > 120) { printf "%s:%d: a line of more than 120 characters\n", page, FNR; wrong = 1 }
        }
        END { exit wrong }' "$page" || status=1
done
exit $status
