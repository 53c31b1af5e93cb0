#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rooms.sh TREE: holds every #include of TREE/src against rooms.txt.
set -euo pipefail
table=$(dirname "$(realpath "$0")")/rooms.txt
cd "$1/src"

find . -name '*.[ch]' -printf '%P\n' | sort | xargs awk '
    # The innermost folder around the file that has a row; where none has, nothing is allowed.
    function room_of(file,    folder) {
        folder = file
        while (sub(/\/[^\/]*$/, "", folder)) if (folder in rows) return folder
        sub(/\/.*/, "", file)
        return file
    }

    function is_allowed(place, name,    folder) {
        if ((place, name) in allowed || (name ~ /^</ && (place, "<*>") in allowed)) return 1
        if (name !~ /^"[a-z_\/]+\.h"$/) return 0
        for (folder = name; sub(/[^\/]*\/?$/, "", folder) && folder != "";) {
            if ((place, folder "\"") in allowed) return 1
        }
        return 0
    }

    FILENAME == table {
        if ($0 !~ /^#/) {
            rows[$1] = 1
            for (i = 2; i <= NF; i++) allowed[$1, $i] = 1
        }
        next
    }
    FNR == 1 { room = room_of(FILENAME) }
    !/^[ \t]*#[ \t]*include/ { next }
    {
        name = $0
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
        sub(/[ \t]*(\/\*.*)?$/, "", name)
        if (is_allowed(room, name) || is_allowed(FILENAME, name)) next
        printf "src/%s:%d: %s may not include %s (test/tidy/rooms.txt)\n", FILENAME, FNR, room, name
        wrong = 1
    }
    END { exit wrong }
' table="$table" "$table"
