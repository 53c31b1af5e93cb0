#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# without.sh SOURCE CMAKE CC: where something is not here, what is built without it is said: what works all the same,
# and the command that gets it; and by tools/deps, where nobody may install, what root has to run.
set -euo pipefail
source=$1 cmake=$2 cc=$3
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

says() # FILE WORDS
{
    if ! grep -qF -- "$2" "$1"; then echo "FAILED: it does not say: $2" && cat "$1" && exit 1; fi
}

# Neither zlib nor bzip2 nor pkg-config, which finds all others, nor the page's parts.
"$cmake" -S "$source" -B "$room/build" "-DCMAKE_C_COMPILER=$cc" -DWEIR_TESTS=OFF -DWEIR_PAGE=OFF \
    -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON -DCMAKE_DISABLE_FIND_PACKAGE_BZip2=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON >"$room/log" 2>&1 || { cat "$room/log"; exit 1; }
for words in \
    'the pages of weir replay --html and of weir serve (reports are text or JSON, the service answers and has' \
    'To have it: tools/page && make' \
    'logs compressed by gzip, bzip2 for weir replay and weir pace --at (they read them from a pipe of what unpacks' \
    'weir serve, which needs libuv, libyaml (the libraries and all other commands are there).' \
    'libweir-redis, weir engine and engine:, which need hiredis (limits of one machine, and weir.lua for engines, are' \
    'To have it: tools/deps build && make'; do
    says "$room/log" "$words"
    says "$room/build/without.txt" "$words"
done

# A machine of Debian's where nothing is installed yet, and a user who may not.
mkdir "$room/bin"
for tool in bash dirname; do ln -s "$(command -v $tool)" "$room/bin/$tool"; done
printf '#!/bin/sh\nexit 1\n' >"$room/bin/apt-get"
printf '#!/bin/sh\necho 1000\n' >"$room/bin/id"
chmod +x "$room/bin/apt-get" "$room/bin/id"
if PATH=$room/bin "$source/tools/deps" build >"$room/log" 2>&1; then echo 'FAILED: tools/deps is content' && exit 1; fi
says "$room/log" 'weir: to build, these are missing: cmake gcc'
says "$room/log" 'as root,   apt-get update && apt-get install cmake gcc'
if grep -q 'not found' "$room/log"; then echo 'FAILED: it says what it could not run' && cat "$room/log" && exit 1; fi
