#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rows.sh TREE: the manual has what the tables of the sources have, all of it and nothing else, in the same words:
# the options of a limit, the commands and paths of the service.
# Each metric that documents name is in the table of metrics, and each copy of the version is that of weir.h.
set -euo pipefail
tree=$1

same() # WHAT ROWS_FILE PAGE ROWS TOLD LEAST
{
    if [ "$(wc -l <<<"$4")" -le "$6" ]; then echo "$2: no $1 are found"; exit 1; fi
    diff <(echo "$4") <(echo "$5") || { echo "$1: $2 (<) and $3 (>) differ"; exit 1; }
}

# `shadow` and `hold` are known, and not built.
rows=$(sed -nE 's/^ *\[OPTION_[A-Z_]+\] = \{"([a-z-]+)", TYPE_[A-Z]+.*/\1/p' "$tree/src/plan/option.c" |
    grep -vxE 'shadow|hold' | sort)
told=$(sed -n '/^\.It Cm burst Ns/,/^\.El/s/^\.It Cm/Cm/p' "$tree/doc/man/weir-limit.7" |
    grep -oE '(^|, )(Cm )?[a-z-]+ Ns =|(^|, )Cm [a-z-]+$|, Cm [a-z-]+' | sed -E 's/^(, )?(Cm )?//; s/ Ns =//' | sort -u)
same options src/plan/option.c 'weir-limit(7)' "$rows" "$told" 10

# A row for each subcommand; those that Redis has as well are only named, but for AUTH.
rows=$(awk '/^    \{NAME\(/, /\},$/ { printf "%s", $0; if (/\},$/) print "" }' \
    "$tree/src/serve/resp/commands.c" |
    awk -F'"' '{ syntax = $8; example = $0 !~ /NULL\},$/ || $2 == "AUTH"
                 if (!example) { print $2; next }
                 count = split(syntax, each, / \| /)
                 for (i = 1; i <= count; i++) print $2 " " each[i] }' | sort)
told=$(sed -n '/^\.Sh REDIS/,/^\.Sh HTTP/s/^\.It Cm //p' "$tree/doc/man/weir-serve.1" |
    sed -E 's/ , /\n/g; s/\<Cm //g; s/\<Ar //g; s/Oo /[/g; s/ Oc\>/]/g; s/Op ([^ ]+)$/[\1]/' | sort)
same commands src/serve/resp/commands.c 'weir-serve(1)' "$rows" "$told" 20

rows=$(sed -nE 's/^.*\{"(\/[a-z0-9\/]*)", (NULL|"([A-Z, ]+)"),.*/\1 \3/p' "$tree/src/serve/http/routes.c" |
    awk '{ path = $1; sub(/^[^ ]* ?/, ""); sub(/, HEAD/, ""); count = split($0 == "" ? "GET" : $0, method, ", ")
           for (i = 1; i <= count; i++) print method[i], path }' | sort)
told=$(sed -n '/^\.Sh HTTP/,/^Headers of a response/s/^\.It Li //p' "$tree/doc/man/weir-serve.1" |
    awk '{ for (i = 2; i <= NF; i++) if ($i ~ /^\//) print $1, $i }' | sort)
same 'HTTP paths' src/serve/http/routes.c 'weir-serve(1)' "$rows" "$told" 10

# Those of doc/operate.md, alerts and dashboard are held against a running service by serve/alerts.
rows=$(sed -nE 's/^ *\{"([a-z_]+)",.*/\1/p' "$tree/src/serve/stats/figures.c" | sort -u)
told=$(cd "$tree" && sort -u <(grep -ohE 'weir_[a-z_]+_(total|seconds|bytes)\b' README.md SECURITY.md doc/*.md \
    doc/man/*.[157]))
if [ "$(wc -l <<<"$told")" -le 10 ]; then echo 'documents name hardly any metrics'; exit 1; fi
unknown=$(comm -13 <(echo "$rows") <(echo "$told"))
if [ -n "$unknown" ]; then echo "src/serve/stats/figures.c has no metric of these names:" $unknown; exit 1; fi

# What cannot read the version from weir.h. The rows of .symbols and the `since` of COMMAND DOCS keep the version in
# which a name came.
version=$(sed -n 's/^#define WEIR_VERSION "\(.*\)"/\1/p' "$tree/include/weir/weir.h")
if [ -z "$version" ]; then echo 'weir.h has no version'; exit 1; fi
status=0
while read -r file pattern; do
    said=$(sed -nE "s/.*$pattern.*/\1/p" "$tree/$file" | sort -u)
    if [ "$said" != "$version" ]; then
        echo "$file: the version is ${said:-not found}, weir.h has $version"
        status=1
    fi
done <<'END'
src/redis/script/weir.lua ^local VERSION = '([^']*)'
bindings/rust/Cargo.toml ^version = "([^"]*)"
bindings/rust/libweir/Cargo.toml ^libweir-sys = [{] version = "=([^"]*)"
bindings/node/package.json ^ *"version": "([^"]*)"
bindings/go/README.md go@v([0-9.]+)
bindings/go/test module@v([0-9.]+)
bindings/go/compare/zip/main.go Version: "v([^"]*)"
END
for file in bindings/rust/Cargo.lock bindings/rust/compare/Cargo.lock; do
    said=$(sed -n '/^name = "libweir\(-sys\)\?"$/{n;p;}' "$tree/$file")
    if [ "$said" != "version = \"$version\""$'\n'"version = \"$version\"" ]; then
        echo "$file: libweir and libweir-sys are not both $version, as weir.h has it: run cargo build there"
        status=1
    fi
done
exit $status
