#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# includes.sh TREE: holds every #include of TREE/src against components.txt.
set -euo pipefail
table=$(dirname "$(realpath "$0")")/components.txt
cd "$1/src"

find . -name '*.[ch]' -printf '%P\n' | sort | xargs awk '
    function has_row(place, name,    folder) {
        if ((place, name) in allowed || (name ~ /^</ && (place, "<*>") in allowed)) return 1
        if (name !~ /^"[a-z_\/]+\.h"$/) return 0
        for (folder = name; sub(/[^\/]*\/?$/, "", folder) && folder != "";) {
            if ((place, folder "\"") in allowed) return 1
        }
        return 0
    }

    # By the innermost folder around the file that has a row; and by those around it, but for what is inside them.
    function is_allowed(file, name,    folder) {
        if (has_row(file, name)) return 1
        folder = file
        component = ""
        while (sub(/\/[^\/]*$/, "", folder)) {
            if (!(folder in rows)) continue
            if ((component == "" || index(name, "\"" folder "/") != 1) && has_row(folder, name)) return 1
            if (component == "") component = folder
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
    !/^[ \t]*#[ \t]*include/ { next }
    {
        name = $0
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
        sub(/[ \t]*(\/\*.*)?$/, "", name)
        if (is_allowed(FILENAME, name)) next
        if (component == "") {
            component = FILENAME
            sub(/\/.*/, "", component)
        }
        printf "src/%s:%d: %s may not include %s (test/tidy/components.txt)\n", FILENAME, FNR, component, name
        wrong = 1
    }
    END { exit wrong }
' table="$table" "$table"
