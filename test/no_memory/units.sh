#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# units.sh LIBRARY PROGRAM...: in the unit tests the n-th allocation fails.  See each.py.
set -euo pipefail
folder=$(dirname "$(realpath "$0")")
. "$folder/../lib/skip.sh"
needs python3 readelf addr2line

library=$1
shift
exec python3 "$folder/each.py" "$library" "$folder/../unit" "$@"
