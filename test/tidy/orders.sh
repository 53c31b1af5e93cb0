#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# orders.sh TREE: the table of memory orders has each atomic operation of src/share with its order, and no other.  What
# is planted in a copy is found: one more, one less, another order, a row without an answer; lines that move are not.
set -euo pipefail
command -v python3 >/dev/null || { echo "skipped: tidy/orders: python3 is not here; cure: tools/deps test"; exit 77; }
status=0
python3 "$1/tools/orders" --check || status=1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

planted() # WORDS FILE SED_SCRIPT: no words, and it passes
{
    local said=
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/{src,tools,test/model}
    cp -r "$kept/src/share" "$tree/src"
    cp "$kept/tools/orders" "$tree/tools"
    cp "$kept/test/model/orders.tsv" "$tree/test/model"
    sed -i "$3" "$tree/$2"
    if cmp -s "$tree/$2" "$kept/$2"; then echo "$2 has nothing to plant at: $3"; status=1; fi
    said=$(python3 "$tree/tools/orders" --check) || true
    [ "${said:-}" != "" ] && [ "$1" != "" ] && grep -qF -- "$1" <<<"$said" && return
    [ "$said$1" = "" ] || { echo "planted at $3: expected \"$1\", said \"$said\""; status=1; }
}
kept=$1
released='    atom_store_release(lock, 0);'
planted '' src/share/lock.h "s/^$released/\n\n&/"
new='no row for src/share/lock.h, lock_release'
planted "$new: atom_load(lock)" src/share/lock.h "s/^$released/&\n    atom_load(lock);/"
planted "$new: atom_store(lock, 0)" src/share/lock.h "s/^$released/    atom_store(lock, 0);/"
planted 'no such operation any more: src/share/lock.h, lock_release' src/share/lock.h "/^$released/d"
planted 'no answer for src/share/lock.h, lock_release' test/model/orders.tsv '/lock_release/s/\trelaxed:.*/\t\t/'
exit $status
