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

# rooms: what each may not include, by the row of the innermost folder that has one
while read -r file include room; do
    fresh
    plant "$file" <<<"#include $include"
    finds "src/$file:2: ${room:-${file%%/*}} may not include $include" rooms.sh "$tree"
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
passes rooms.sh "$tree"

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
