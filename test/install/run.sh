#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD CMAKE CC: installs into an empty folder and builds a user's program on it, each way there is.
set -euo pipefail
build=$1 cmake=$2 cc=$3
here=$(dirname "$(realpath "$0")")
room=$(mktemp -d)
# What was really installed from this build stays known to make uninstall.
manifest=$build/install_manifest.txt
if [ -e "$manifest" ]; then cp "$manifest" "$room/manifest"; fi
trap 'rm -f "$manifest"; if [ -e "$room/manifest" ]; then cp "$room/manifest" "$manifest"; fi; rm -rf "$room"' EXIT
to=$room/usr
. "$here/../lib/skip.sh"

"$cmake" --install "$build" --prefix "$to" >"$room/log" || { cat "$room/log"; exit 1; }
libraries=$(dirname "$(find "$to" -name libweir.a)")
export LD_LIBRARY_PATH=$libraries

runs() # PROGRAM: what a user would see
{
    local said
    said=$("$1")
    if [ "$said" != "$version allow" ]; then
        echo "$1 said '$said', not '$version allow'"
        exit 1
    fi
}

version=$(sed -n 's/^#define WEIR_VERSION "\(.*\)"/\1/p' "$to/include/weir/weir.h")
if [ -x "$to/bin/weir" ]; then
    echo "with the command"
    for file in bash-completion/completions/weir{,-bench} fish/vendor_completions.d/weir{,-bench}.fish \
        zsh/site-functions/_weir; do
        if [ ! -s "$to/share/$file" ]; then echo "$file is not installed"; exit 1; fi
    done
    if [ "$("$to/bin/weir" --version)" != "weir $version" ]; then echo "weir does not find the whole of it"; exit 1; fi
    if [ "$("$to/bin/weir-bench" --version)" != "weir-bench $version" ]; then echo "it has no weir-bench"; exit 1; fi
fi

if ! has_tool pkg-config; then
    skip_part 'install/consumer: by pkg-config' 'pkg-config is not here'
else
    export PKG_CONFIG_PATH=$libraries/pkgconfig
    if [ "$(pkg-config --modversion weir)" != "$version" ]; then echo "weir.pc has another version"; exit 1; fi
    "$cc" -std=c11 "$here/consumer.c" -o "$room/by-pkg-config" $(pkg-config --cflags --libs weir)
    runs "$room/by-pkg-config"
    "$cc" -std=c11 "$here/consumer.c" -o "$room/by-archive" $(pkg-config --cflags weir) "$libraries/libweir.a" -pthread
    runs "$room/by-archive"
fi

# What engines are given.
if [ ! -s "$to/share/weir/weir.lua" ]; then echo "weir.lua is not installed"; exit 1; fi
if [ -e "$build/weir-redis.so" ] && [ ! -x "$libraries/weir/weir-redis.so" ]; then
    echo "weir-redis.so is not installed so that an engine loads it"
    exit 1
fi

# libweir-redis, beside libweir and alone with its archive.
if command -v pkg-config >/dev/null && [ -e "$libraries/pkgconfig/weir-redis.pc" ]; then
    echo "with libweir-redis"
    "$cc" -std=c11 "$here/engine.c" -o "$room/engine" $(pkg-config --cflags --libs weir-redis)
    runs "$room/engine"
    "$cc" -std=c11 "$here/engine.c" -o "$room/engine-archive" $(pkg-config --cflags weir) \
        "$libraries/libweir-redis.a" "$libraries/libweir.a" -pthread \
        $(pkg-config --libs $(pkg-config --print-requires-private weir-redis))
    runs "$room/engine-archive"
fi

by_cmake() # WANTED: the version that the user's project asks for
{
    "$cmake" -S "$here" -B "$room/cmake" "-DWANTED=$1" "-DCMAKE_PREFIX_PATH=$to" "-DCMAKE_C_COMPILER=$cc" \
        >"$room/log" 2>&1
}
IFS=. read -r major minor _ <<<"$version"
others=($((major + 1)).0 "$major.$((minor + 1))")
if [ "$major" -gt 0 ]; then others+=($((major - 1)).9); fi
for wanted in "${others[@]}"; do
    if by_cmake "$wanted"; then echo "$version was found where $wanted was wanted"; exit 1; fi
    if ! grep -q "requested version \"$wanted\"" "$room/log"; then cat "$room/log"; exit 1; fi
done
by_cmake "$major.0" && "$cmake" --build "$room/cmake" >>"$room/log" || { cat "$room/log"; exit 1; }
runs "$room/cmake/shared"
runs "$room/cmake/static"
if [ -e "$libraries/libweir-redis.so" ]; then runs "$room/cmake/redis"; fi
if [ "$(ldd "$room/cmake/static" | grep -c libweir || true)" != 0 ]; then echo "static wants libweir.so"; exit 1; fi

# make uninstall: what was installed goes, and nothing else.
if has_tool make; then
    echo mine >"$to/include/weir/mine.h"
    make -s -C "$here/../.." uninstall BUILD="$build" >"$room/log" || { cat "$room/log"; exit 1; }
    left=$(cd "$to" && find . -type f)
    if [ "$left" != ./include/weir/mine.h ]; then echo "make uninstall leaves: $left"; exit 1; fi
fi
