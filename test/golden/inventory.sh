#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# inventory.sh WEIR: tools/inventory lists all there is, twice the same, and what is taken away is missing in it.
. "$(dirname "$0")/lib/check.sh" "$@"
inventory=$tree/tools/inventory
build=$(dirname "$weir")
if grep -q '__asan_\|__tsan_\|__ubsan_' "$build/libweir.a" 2>/dev/null; then
    skip_test 'sanitizers add symbols of their own' 'tools/test test runs it in the release build'
fi

run 'all of it' "$inventory" "$build"
if [ "$status" = 77 ]; then skip_test "$(head -n 1 err)"; fi
ends 0
silent err
mv out whole
what='a fact of each kind'
for kind in command option help exit exit-manual manual default yaml resp reply http http-header json metric explain \
    symbol soname declaration constant size macro installed environment message says; do
    if ! grep -q "^$kind | " whole; then fail "there is no $kind"; fi
done
run 'sorted, each once' sort -cu whole
ends 0

# Three parts with servers, threads and clocks, once more.
run 'the same again' "$inventory" "$build" resp http metrics
ends 0
mv out again
run 'what the first time did not say' comm -23 again whole
silent out

# A build whose weir knows one option less, and does not show another in its help.
mkdir poorer
ln -s "$build"/{CMakeCache.txt,lib*,weir-redis.so,weir-bench} poorer
cat >poorer/weir <<END
#!/usr/bin/env bash
case " \$* " in
*" --peek"*) "$weir" "\${@//--peek/--zzzzzzzz}" 2>&1 | sed s/--zzzzzzzz/--peek/ >&2 ;;
*" --help "*) "$weir" "\$@" | sed '/^ *--svg FILE/d' ;;
*) exec "$weir" "\$@" ;;
esac
END
chmod +x poorer/weir
run 'options of a build that has fewer' "$inventory" poorer options
ends 0
cat >expected <<'END'
> disagree | explain --svg | not in the help
> disagree | take --peek | not in the program
< help | explain | --svg FILE write the plot to FILE as SVG, and print nothing
< option | explain --svg | FILE write the plot to FILE as SVG, and print nothing
< option | take --peek | accepted, flag
END
diff <(grep -E '^(disagree|help|option) ' whole) <(grep -E '^(disagree|help|option) ' out) | grep '^[<>]' >found
mv found out
same out expected

# What cannot be listed is an error, not a shorter list.
rm poorer/weir-redis.so
run 'a build without the module' "$inventory" poorer options
ends 77
silent out
says err 'weir-redis.so is not built: tools/build --preset release'
run 'no such part' "$inventory" "$build" nosuch
ends 2
silent out
