#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rooms.sh TREE: holds every #include of TREE/src against rooms.txt.
set -euo pipefail
table=$(dirname "$(realpath "$0")")/rooms.txt
cd "$1/src"

find . -name '*.[ch]' -printf '%P\n' | sort | xargs awk '
    FILENAME == table {
        if ($0 !~ /^#/) for (i = 2; i <= NF; i++) allowed[$1, $i] = 1
        next
    }
    FNR == 1 { room = FILENAME; sub(/\/.*/, "", room) }
    !/^[ \t]*#[ \t]*include/ { next }
    {
        name = $0
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
        sub(/[ \t]*(\/\*.*)?$/, "", name)
        rooted = name
        sub(/\/.*/, "/\"", rooted)
        if ((room, name) in allowed || (FILENAME, name) in allowed) next
        if (name ~ /^</ && ((room, "<*>") in allowed || (FILENAME, "<*>") in allowed)) next
        if (name ~ /^"[a-z]+\/[^.]*\.h"$/ && (room, rooted) in allowed) next
        printf "src/%s:%d: %s may not include %s (test/tidy/rooms.txt)\n", FILENAME, FNR, room, name
        wrong = 1
    }
    END { exit wrong }
' table="$table" "$table"
