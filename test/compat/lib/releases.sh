#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# releases.sh, sourced behind check.sh of the golden tests: the state of older versions, to work on.
compat=$tree/test/compat
build=${WEIR_BUILD:-$(dirname "$weir")}
needs gzip

# The releases whose state is kept: their folders.
releases()
{
    (cd "$compat" && ls -d [0-9]*.[0-9]*.[0-9]*)
}

# Of rows from standard input those that a release has, three columns; the fourth is the first release that has a row.
rows_of() # RELEASE
{
    awk -F '|' -v OFS='|' -v release="$1" '$4 <= release { print $1, $2, $3 }'
}

# LIMIT|KEY|COST of each take that is in the files of a release.
taken() # RELEASE
{
    rows_of "$1" <"$compat/lib/taken"
}

# The files of a release as they were when they were written, for their owner alone.
unpack() # RELEASE tables|state FOLDER
{
    local file
    rm -rf "$3"
    mkdir "$3"
    for file in "$compat/$1/$2"/*.gz; do gzip -dc "$file" >"$3/$(basename "$file" .gz)"; done
    chmod 600 "$3"/*
}
