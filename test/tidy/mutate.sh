#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mutate.sh TREE: tools/mutate on a small project, of which each mutant's verdict is known.
set -euo pipefail
for tool in python3 gcov cmake ctest; do
    command -v "$tool" >/dev/null || { echo "skipped: tidy/mutate: $tool is not here; cure: tools/deps test"; exit 77; }
done
mutate=$1/tools/mutate
tree=$(mktemp -d)
trap 'rm -rf "$tree" "$tree.room"' EXIT
status=0

mkdir "$tree/src"
cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(small LANGUAGES C)
enable_testing()
add_library(count STATIC src/count.c src/down.c)
add_executable(ask ask.c)
target_link_libraries(ask count)
add_test(NAME unit/ask COMMAND ask)
set_tests_properties(unit/ask PROPERTIES LABELS unit)
END
cat >"$tree/src/count.c" <<'END'
#define LESS(a, b) ((a) < (b)) /* the preprocessor's lines, declarations, "strings" and a < b here are left alone */
_Static_assert(1 < 2, "1 < 2");
enum { TEN = 10 };
int sum(int a, int b);
int large(int a);
unsigned same(unsigned a);
int unasked(int a);
int sum(int a, int b)
{
    int total[2];
    total[0] = a;
    return total[0] + b;
}
int large(int a)
{
    const char *text = "a < b";
    return text[a > TEN] == ' ';
}
unsigned same(unsigned a)
{
    if (a > 0u) return a;
    return 0;
}
int unasked(int a)
{
    return a << 3;
}
END
cat >"$tree/src/down.c" <<'END'
int down(int a);
int down(int a)
{
    while (a != 3) a--;
    return a;
}
END
cat >"$tree/ask.c" <<'END'
int sum(int a, int b), large(int a), down(int a);
unsigned same(unsigned a);
int main(void)
{
    return sum(2, 1) == 3 && large(11) && !large(1) && same(1) == 1 && same(0) == 0 && down(5) == 3 ? 0 : 1;
}
END

mutate() { python3 "$mutate" --tree "$tree" --labels unit "$@"; }
judge() { mutate --seed 1 --count 999 --in src/count.c --grace 60 "$@"; }

wrong()
{
    echo "$*"
    status=1
}

# ---- which mutants there are ----
judge --list >"$tree/list"
judge --list | cmp - "$tree/list" || wrong "the same seed draws other mutants"
judge --seed 2 --list | cmp -s - "$tree/list" && wrong "each seed draws the same"
sed -i '1i /* a line more */' "$tree/src/count.c"
judge --list | cut -d ' ' -f 1 | cmp - <(cut -d ' ' -f 1 "$tree/list") || wrong "an edit elsewhere changes the IDs"
sed -i 1d "$tree/src/count.c"
made=$(sed 's/^[^ ]*  //; s/^src.count.c://' "$tree/list" | sort -n)
expected='11  total[0] = a;  ->  ;
11  total[0] = a;  ->  total[1] = a;
12  return total[0] + b;  ->  return 0;
12  return total[0] + b;  ->  return total[0] - b;
12  return total[0] + b;  ->  return total[1] + b;
17  return text[a > TEN] == '\'' '\'';  ->  return 0;
17  return text[a > TEN] == '\'' '\'';  ->  return text[a > TEN] != '\'' '\'';
17  return text[a > TEN] == '\'' '\'';  ->  return text[a >= TEN] == '\'' '\'';
21  if (a > 0u) return a;  ->  if (!(a > 0u)) return a;
21  if (a > 0u) return a;  ->  if (a > 0u) return 0;
21  if (a > 0u) return a;  ->  if (a > 1u) return a;
21  if (a > 0u) return a;  ->  if (a >= 0u) return a;
22  return 0;  ->  return 1;
26  return a << 3;  ->  return 0;
26  return a << 3;  ->  return a << 4;
26  return a << 3;  ->  return a >> 3;'
diff <(sort <<<"$expected") <(sort <<<"$made") || wrong "these mutants were not expected"

mutate --one src/count.c:000000:rel1 2>/dev/null && wrong "there is no such mutant"
[ $? = 2 ] || wrong "the status of what cannot be done is not 2"

# ---- what becomes of them ----
verdict() # VERDICT PLACE WORDS: the mutant whose change contains the words
{
    local id
    id=$(grep -F -- "count.c:$2 " "$tree/list" | grep -F -- "$3" | cut -d ' ' -f 1)
    grep -qE "^$1 +$id " "$tree/said" || wrong "line $2, $3: not $1 but $(grep -F " $id " "$tree/said")"
}

judge >"$tree/said" && wrong "survivors, and the status says that there are none"
verdict found 12 'total[0] - b'
verdict found 17 '!='
verdict survived 17 '>='
verdict survived 26 '>>'
verdict same-object 21 'a >= 0u'
grep -q '^-    return text\[a > TEN\]' "$tree/said" || wrong "a survivor is not shown"
grep -q '^survived: no test executes it' "$tree/said" || wrong "a line that no test executes is not named"

# ---- again: only what changed ----
judge >"$tree/again" || true
grep -q 'judged now' "$tree/again" && wrong "judged twice, though nothing has changed"
sed -i 's/large(11) \&\&/large(11) \&\& !large(10) \&\&/' "$tree/ask.c"
judge >"$tree/said" && wrong "the line that no test executes still survives"
verdict found 17 '>='

# ---- all of them, where some are named as equivalent ----
id_of() # PLACE WORDS
{
    grep -F -- "count.c:$1 " "$tree/list" | grep -F -- "$2" | cut -d ' ' -f 1
}
unseen=$(id_of 26 '>>')
seen=$(id_of 12 'total[0] - b')
mkdir "$tree/test"
printf '%s\ta\tb\n' '# why' "$unseen" "$seen" src/count.c:000000:rel1 >"$tree/test/mutants.tsv"
all() { mutate --all --in src/count.c --grace 60 --room "$tree.room" "$@"; }
all >"$tree/said" && wrong "--all: survivors, and the status says that there are none"
verdict equivalent 26 '>>'
verdict survived 26 '4'
verdict found 17 '>='
grep -q "^  listed as equivalent .*, but found: $seen" "$tree/said" || wrong "one that is listed and found is not told"
echo '/* another test */' >>"$tree/ask.c"
all >"$tree/again" || true
grep -qE '^(found|equivalent) ' "$tree/again" && wrong "--all judges again what was found, or is named"
all --report >"$tree/again" && wrong "--report: survivors, and the status says that there are none"
grep -q 'there is no mutant src/count.c:000000:rel1' "$tree/again" || wrong "a name of none is not told"
grep -qE '^src/count.c +[0-9]+ +0 +[0-9]+ +1 ' "$tree/again" || wrong "no row says how many are equivalent"

# ---- a hang ----
judge --in src/down.c --list >"$tree/list"
id=$(grep -F -- 'while (a != 3) ;' "$tree/list" | cut -d ' ' -f 1)
mutate --one "$id" --grace 2 >"$tree/said" || wrong "a hang is not found"
grep -q "^timeout *$id " "$tree/said" || wrong "a hang is found as something else"

[ "$status" = 0 ] || cat "$tree/said"
exit "$status"
