#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# options.sh TREE: weir-limit(7) has the options of src/plan/option.c, all of them and no others; `shadow` and `hold`
# are known, and not built.
set -euo pipefail
rows=$(sed -nE 's/^ *\[OPTION_[A-Z_]+\] = \{"([a-z-]+)", TYPE_[A-Z]+.*/\1/p' "$1/src/plan/option.c" |
    grep -vxE 'shadow|hold' | sort)
told=$(sed -n '/^\.It Cm burst Ns/,/^\.El/s/^\.It Cm/Cm/p' "$1/doc/man/weir-limit.7" |
    grep -oE '(^|, )(Cm )?[a-z-]+ Ns =|(^|, )Cm [a-z-]+$|, Cm [a-z-]+' | sed -E 's/^(, )?(Cm )?//; s/ Ns =//' | sort -u)
[ "$(wc -l <<<"$rows")" -gt 10 ] || { echo 'src/plan/option.c: no rows are found'; exit 1; }
diff <(echo "$rows") <(echo "$told") || { echo 'src/plan/option.c (<) and weir-limit(7) (>) differ'; exit 1; }
