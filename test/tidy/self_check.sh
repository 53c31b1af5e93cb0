#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# self_check.sh CC NM: a check that finds nothing may be blind.  Each must find what is planted here, and only that.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
cc=$1 nm=$2
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
status=0

fresh()
{
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/src/{core,share,host,api/table,cli/{pace,replay/{log,other}},nowhere}
    mkdir -p "$tree"/src/{serve/{http,net,config},redis/{client,micro}}
}

plant() # FILE, its text on stdin
{
    {
        echo '/* SPDX-License-Identifier: MIT */'
        cat
    } >"$tree/src/$1"
}

finds() # WORDS CHECK ARGUMENT...
{
    local words=$1 said
    shift
    if said=$(bash "$here/$@" 2>&1) || ! grep -qF -- "$words" <<<"$said"; then
        echo "$1 does not find: $words"
        status=1
    fi
}

passes() # CHECK ARGUMENT...
{
    local said
    if ! said=$(bash "$here/$@" 2>&1); then
        echo "$1 complains of what is right: $said"
        status=1
    fi
}

# includes: what each may not include, by the row of the innermost folder that has one
while read -r file include component; do
    fresh
    plant "$file" <<<"#include $include"
    finds "src/$file:2: ${component:-${file%%/*}} may not include $include" includes.sh "$tree"
done <<'END'
core/a.c <stdio.h>
core/a.c "share/word.h"
core/a.c "word.h"
core/a.h "core/../host/clock.h"
share/a.c <stdatomic.h>
share/a.c "host/clock.h"
host/a.c "core/clock.h"
api/a.c <unistd.h>
api/a.c "cli/main.h"
cli/a.c "../test/help.h"
nowhere/a.c <string.h>
redis/a.c <string.h>
redis/micro/a.c "redis/client/pool.h" redis/micro
redis/client/a.c "cli/common/json.h" redis/client
api/table/a.c "api/limiter.h" api/table
api/table/a.c <unistd.h> api/table
serve/http/a.c "serve/net/conn.h" serve/http
serve/http/a.c "serve/worker.h" serve/http
serve/http/a.c <unistd.h> serve/http
serve/http/a.c "serve/http/../net/conn.h" serve/http
serve/config/a.h "serve/net/tls.h" serve/config
cli/pace/a.c "cli/take/take.h" cli/pace
cli/replay/log/a.c "cli/replay/work.h" cli/replay/log
cli/replay/other/a.c "cli/pace/pace.h" cli/replay
END
fresh
echo '#include "host/clock.h" /* why */' | plant api/a.c
echo '#include <sys/mman.h>' | plant host/a.c
echo '#  include <stdatomic.h>' | plant share/atomic.h
echo '#include <weir/weir.h>' | plant core/a.h
echo '#include "share/table/table.h"' | plant api/table/a.c
echo '#include "serve/net/conn.h"' | plant serve/worker.c
echo '#include <unistd.h>' | plant serve/net/conn.c
echo '#include "serve/net/tls.h"' | plant serve/config/reload.h
echo '#include "format/http.h"' | plant serve/http/a.c
echo '#include "cli/replay/log/source.h"' | plant cli/replay/other/a.c
echo '#include <unistd.h>' | plant cli/replay/log/a.c
passes includes.sh "$tree"

# names: by the objects of a build
fresh
mkdir -p "$tree/build/CMakeFiles/a.dir/src/share/table"
named() # FILE, C on stdin
{
    plant "$1"
    "$cc" -c -o "$tree/build/CMakeFiles/a.dir/src/$1.o" "$tree/src/$1"
}
mkdir -p "$tree/src/share/table"
named share/table/keep.c <<<'int drop(void); int drop(void) { return 1; }'
finds 'src/share/table/keep.c: drop is visible' names.sh "$tree" "$tree/build" "$nm"
echo 'int cells;' | plant share/cells.h
named share/table/keep.c <<<'int keep_all(void), table_drop(void), cell_of(void), weir_a(void);
static int drop(void) { return 1; }
int keep_all(void) { return drop(); }
int table_drop(void) { return 1; }
int cell_of(void) { return 1; }
int weir_a(void) { return 1; }'
passes names.sh "$tree" "$tree/build" "$nm"
rm "$tree/src/share/table/keep.c"
finds 'no object' names.sh "$tree" "$tree/build" "$nm"

# style
style() # WORDS, the planted text on stdin
{
    fresh
    plant core/a.c
    finds "$1" style.sh "$tree"
}
style 'a tab' <<<$'int\ta;'
style 'an extern variable' <<<'extern int a;'
style 'left to do' <<<'/* TO''DO: a */'
style '120 characters' < <(printf '/* %0120d */\n' 0)
style '60 lines' < <(echo 'int a(void)'; echo '{'; printf '    b();\n%.0s' {1..61}; echo '}')
style '600 lines' < <(printf 'int a;\n%.0s' {1..600})
fresh
for name in {1..26}; do plant "share/$name.c" <<<'int a;'; done
finds 'src/share: 26 files, more than 25' style.sh "$tree"
fresh
for name in {1..25}; do plant "share/$name.c" <<<'int a;'; done
plant host/a.c <<<'int a;'
passes style.sh "$tree"
fresh
echo 'int a;' >"$tree/src/core/a.c"
finds 'no SPDX' style.sh "$tree"
fresh
plant core/a.c < <(echo 'extern int c(void);'; echo 'int a(void)'; echo '{'; printf '    b();\n%.0s' {1..60}; echo '}'
    printf '/* %0112d ä */\n' 0; echo 'char name[] = "XX''XXXX";')
passes style.sh "$tree"

# purity
compile() # FILE
{
    "$cc" -std=c11 -O2 -fPIC -c "$tree/src/core/$1.c" -o "$tree/$1.o"
}
fresh
plant core/a.c <<<'int b(void); int a(void); int a(void) { return b(); }'
plant core/b.c <<<'int b(void); int b(void) { return 1; }'
plant core/c.c <<<'int puts(const char *); int c(void); int c(void) { return puts("c"); }'
compile a && compile b && compile c
passes purity.sh "$nm" "$tree/a.o" "$tree/b.o" --
passes purity.sh "$nm" "$tree/a.o" -- "$tree/b.o"
finds 'a.o may not use: b' purity.sh "$nm" "$tree/a.o" --
finds 'c.o may not use: puts' purity.sh "$nm" "$tree/a.o" "$tree/c.o" -- "$tree/b.o"

# symbols: in the header, the map, the libraries and Debian's list
library() # the map's text on stdin; $symbols is Debian's
{
    cat >"$tree/a.map"
    printf ' %s 0.1.0\n' $symbols >"$tree/a.symbols"
    "$cc" -shared -fPIC "-Wl,--version-script=$tree/a.map" -o "$tree/a.so" "$tree/src/host/a.c"
    "$cc" -c -o "$tree/a.o" "$tree/src/host/a.c"
    looked=(symbols.sh "$tree/a.h" "$tree/a.map" "$tree/a.symbols" "$nm" "$tree/a.o" "$tree/a.so")
}
fresh
plant host/a.c <<<'int weir_a(void); int weir_b(void); int weir_a(void) { return 1; } int weir_b(void) { return 2; }'
printf 'WEIR_API int weir_%s(void);\n' a b >"$tree/a.h"
symbols='weir_a@WEIR_1 weir_b@WEIR_1_1'
library < <(printf 'WEIR_1 {\n    global:\n        weir_a;\n    local: *;\n};\n'
    printf 'WEIR_1_1 {\n    global:\n        weir_b;\n} WEIR_1;\n')
passes "${looked[@]}"
symbols='weir_a@WEIR_1 weir_b@WEIR_1'
printf ' %s 0.1.0\n' $symbols >"$tree/a.symbols"
finds '< weir_b@WEIR_1_1' "${looked[@]}"
library < <(printf 'WEIR_1 {\n    global:\n        weir_a;\n        weir_b;\n    local: *;\n};\n')
passes "${looked[@]}"
printf 'WEIR_API int weir_c(void);\n' >>"$tree/a.h"
finds '< weir_c' "${looked[@]}"
printf 'WEIR_API int weir_a(void);\n' >"$tree/a.h"
finds '> weir_b' "${looked[@]}"
printf 'WEIR_API int weir_%s(void);\n' a b >"$tree/a.h"
library < <(printf 'WEIR_1 {\n    global:\n        weir_a;\n        weir_*;\n    local: *;\n};\n')
finds '> a wildcard' "${looked[@]}"

# abi: layouts, functions and nodes, beside a field more at the end of what says its size
abi() # CHECK WORDS HEADER SED_SCRIPT
{
    fresh
    (cd "$here/../.." && tar -cf - CMakeLists.txt include cmake/*.map) | tar -xf - -C "$tree"
    mkdir -p "$tree/test/compat/abi"
    bash "$here/abi.sh" "$tree" "$cc" --write
    sed -i.kept "$4" "$tree/$3"
    if cmp -s "$tree/$3" "$tree/$3.kept"; then echo "$3 has nothing to plant at: $4"; status=1; fi
    rm "$tree/$3.kept"
    if [ "$1" = passes ]; then passes abi.sh "$tree" "$cc"; else finds "$2" abi.sh "$tree" "$cc"; fi
}
if command -v abidiff >/dev/null && command -v abidw >/dev/null; then
    anew='programs would have to be compiled anew with'
    more='s/^} weir_[a-z_]*\(options\|stats\|latency\);/uint64_t planted; &/'
    abi passes '' include/weir/weir.h "$more"
    abi passes '' include/weir/redis.h "$more"
    abi finds "$anew libweir:" include/weir/weir.h 's/^} weir_decision;/uint64_t planted; &/'
    abi finds "$anew libweir:" include/weir/lease.h 's/^struct weir_lease {/& uint64_t planted;/'
    abi finds "$anew libweir-redis:" include/weir/redis.h "$more; s/uint64_t late; /uint32_t late; /"
    abi finds "$anew libweir-redis:" include/weir/redis.h 's/^    unsigned nodes;/    unsigned nodes, planted;/'
    abi finds "$anew libweir:" include/weir/weir.h '/^WEIR_API int weir_plan_limits/d'
    abi finds "$anew libweir:" cmake/weir.map \
        '/weir_plan_limits;$/d; $s/$/ WEIR_1_1 { global: weir_plan_limits; } WEIR_1;/'
fi

# amalgamation: a function and a constant, a macro and a type, of the same name
repeats() # NAME TEXT TEXT
{
    fresh
    mkdir -p "$tree"/tools "$tree"/include/weir
    cp "$here/../../tools/amalgamation" "$tree/tools/"
    touch "$tree/include/weir/weir.h"
    plant share/a.c <<<"$2"
    plant host/b.c <<<"$3"
    finds "$1 src/share/a.c src/host/b.c" amalgamation.sh "$tree" "$cc" "$nm"
}
if command -v python3 >/dev/null; then
    repeats lock 'static int lock(int a) { return a; }' 'enum { TRY = 1, lock };'
    repeats LENGTH '#define LENGTH 3' '# define LENGTH(a) sizeof(a)'
    repeats node 'struct node { int a; };' 'typedef int node;'
    repeats table 'static const struct { int a; } table[] = {{1}};' 'static _Thread_local int *table;'
fi

exit $status
