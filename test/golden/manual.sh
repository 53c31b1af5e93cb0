#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manual.sh WEIR: the manual against what it tells of: the header, the options, and its own example programs.
. "$(dirname "$0")/lib/check.sh" "$@"
pages=$tree/doc/man
tools=$tree/test/manual
what=manual

# Every public function is in the NAME of a page of section 3, and in its SYNOPSIS just as the header declares it.
what='functions of the headers and of the pages (< headers, > pages)'
awk -f "$tools/prototypes.awk" "$tree"/include/weir/{weir,redis}.h | sort >expected
awk -f "$tools/prototypes.awk" "$pages"/*.3 | sort >out
if [ "$(wc -l <expected)" -lt 20 ]; then fail 'the header has hardly any functions'; fi
same out expected
what='names of the pages'
grep -oE 'weir_[a-z_]+\(' expected | tr -d '(' | sort >names
awk '/^\.Sh/ { in_name = $2 == "NAME" } in_name && /^\.Nm/ { print $2 }' "$pages"/*.3 | sort >out
same out names

# Every option of the help is in the page, with its short form and the same word for its value, and the other way round;
# and the page's synopsis has the words of the help's in the same order.
synopsis_words() # what stands in brackets, or may be repeated, is as good as what does not
{
    tr -d '[].,' | tr '|\n' '  ' | tr '[:lower:]' '[:upper:]' | tr -s ' '
    echo
}
for command in pace explain take replay serve engine bench; do
    program=("$weir" $command)
    if [ $command = bench ]; then program=("$weir-bench"); fi
    if "${program[@]}" --help | grep -q '(not built in)'; then continue; fi
    what="options of weir $command (< help, > page)"
    "${program[@]}" --help | grep -E '^  (-., |    )--' |
        awk '{ short = substr($0, 3, 1) == "-" ? substr($0, 4, 1) : ""; sub(/^  (-., |    )--/, "")
               split(substr($0, 1, 18), part, " "); print part[1], short, (part[2] ~ /^[A-Z]+$/ ? part[2] : "") }' |
        sort >expected
    awk '/^\.It .*Fl \\-/ { short = $3 ~ /^.$/ ? $3 : ""; value = / Ar / ? toupper($NF) : ""
             sub(/.*Fl \\-/, ""); sub(/ .*/, ""); gsub(/\\/, ""); print $0, short, value }' \
        "$pages/weir-$command.1" | sort >out
    if [ "$(wc -l <expected)" -lt 3 ]; then fail 'the help has hardly any options'; fi
    same out expected
    what="synopsis of weir $command (< help, > page)"
    "${program[@]}" --help | sed -n 's/^usage: //p' | synopsis_words >expected
    sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/{/^\.Sh/d;s/^\.//;s/\\-/-/g;s/Fl -/--/g;p}' "$pages/weir-$command.1" |
        sed -E 's/(^| )(Nm|Ar|Op|Cm|Li|Ns)( |$)/\1/g; s/(^| )(Nm|Ar|Op|Cm|Li|Ns)( |$)/\1/g' | synopsis_words >out
    same out expected
done

# weir(1) has every command, and where to read on.
what='commands of weir --help (< help, > weir.1)'
"$weir" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >expected
sed -n 's/^\.It Cm \([a-z]*\)$/\1/p' "$pages/weir.1" >out
same out expected
while read -r command; do
    if [ "$(grep -c "^\.Xr weir-$command 1" "$pages/weir.1")" = 2 ]; then continue; fi
    fail "weir-$command(1) is not referred to"
done <expected

# What a page refers to is there.
what='references'
for page in "$pages"/*.[1-9]; do basename "$page" | sed 's/\.\([1-9]\)$/ \1/'; done >there
sed 's/$/ 3/' names >>there
while read -r name section; do
    if ! grep -qx "$name $section" there; then fail "there is no $name($section)"; fi
done < <(grep -hoE '^\.Xr weir[a-z._-]* [0-9]' "$pages"/*.[1-9] | cut -d ' ' -f 2- | sort -u)

# Mistakes that weir-limit(7) shows are those that weir makes.
what='mistakes shown in weir-limit(7)'
sed -n 's/\\-/-/g; s/^\([0-9].*[^ ]\)  *\(column [0-9]*: .*\)$/\1|\2/p' "$pages/weir-limit.7" >shown
if [ "$(wc -l <shown)" -lt 5 ]; then fail 'it shows hardly any'; fi
while IFS='|' read -r text message; do
    text=$(sed 's/ *$//' <<<"$text")
    "$weir" explain "$text" >out 2>err
    echo "weir: $message" >expected
    head -n 1 err >out
    same out expected
done <shown

# The formatters find nothing to complain of.  Every system with manual pages has one of them.
if ! has_tool groff && ! has_tool mandoc; then
    skip_part 'golden/manual: formatters' 'neither groff nor mandoc is here'
fi
for page in "$pages"/*.[1-9]; do
    what=$(basename "$page")
    if command -v groff >/dev/null; then
        groff -mdoc -Tutf8 -ww "$page" >/dev/null 2>err
        if [ -s err ]; then fail 'groff complains'; fi
    fi
    if command -v mandoc >/dev/null; then
        mandoc -Tlint -Wwarning "$page" >err 2>&1 || fail 'mandoc complains'
    fi
done

# Every example program compiles without a warning, and prints what the page shows.
archive=$(dirname "$weir")/libweir.a
needs_built "$archive" 'a C compiler'
sanitized=()
if grep -q __asan_ "$archive"; then sanitized=(-fsanitize=address,undefined); fi
if grep -q __tsan_ "$archive"; then sanitized=(-fsanitize=thread); fi
counted=() # by tools/mutate
if grep -q __gcov_init "$archive"; then counted=(-lgcov); fi
# Those of libweir-redis run where it was built: their engine is away.
of_engine=()
redis=$(dirname "$weir")/libweir-redis.a
if [ -e "$redis" ]; then
    read -ra of_engine < <(pkg-config --libs hiredis openssl 2>/dev/null || pkg-config --libs hiredis)
    of_engine=("$redis" "${of_engine[@]}")
fi
for page in "$pages"/*.3; do
    name=$(basename "$page" .3)
    if [ "$name" = weir_engine ] && [ ${#of_engine[@]} = 0 ]; then continue; fi
    mkdir "$name"
    awk -v to="$name" -f "$tools/programs.awk" "$page"
    what="$name(3)"
    if [ ! -e "$name/1.c" ]; then fail 'no example program'; fi
    for program in "$name"/*.c; do
        what="$name(3), example $(basename "$program" .c)"
        if ! "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "${sanitized[@]}" "-I$tree/include" "$program" \
            "${of_engine[@]}" "$archive" "${counted[@]}" -pthread -o example >out 2>err; then
            fail 'does not compile'
        fi
        run "$what" ./example
        ends 0
        silent err
        if [ ! -e "${program%.c}.txt" ]; then fail 'the page does not show what it prints'; fi
        same out "${program%.c}.txt"
    done
done
