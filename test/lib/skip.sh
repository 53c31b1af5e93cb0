# SPDX-License-Identifier: MIT
# skip.sh, sourced: what a test cannot do here.
#
# Whatever is skipped prints one line, which tools/test counts:
#
#     skipped: WHAT: WHY; cure: COMMAND
#
# A test with nothing left to do then ends with status 77; a test of which only a part is skipped goes on.  For tests in
# C see test/unit/skip.h.
test_tools='tools/deps test'
build_all='tools/deps build && tools/build'

skip_part() # WHAT WHY [CURE]
{
    echo "skipped: $1: $2; cure: ${3:-$test_tools}"
}

skip_test() # WHY [CURE]
{
    skip_part "$(basename "$(dirname "$0")")/$(basename "$0" .sh)" "$@"
    exit 77
}

# A function of the same name (test/lib/wait.sh has one for redis-cli) is not the tool.
has_tool() # TOOL
{
    type -P "$1" >/dev/null
}

needs() # TOOL...
{
    local tool
    for tool in "$@"; do
        if ! has_tool "$tool"; then skip_test "$tool is not here"; fi
    done
}

needs_python() # MODULE...
{
    local python_module
    for python_module in "$@"; do
        if ! /usr/bin/python3 -c "import $python_module" 2>/dev/null; then
            skip_test "Python's module $python_module is not here"
        fi
    done
}

needs_built() # FILE WHAT_IT_WANTS
{
    if [ ! -e "$1" ]; then skip_test "$(basename "$1") is not built" "$build_all # it wants $2"; fi
}

# Those of weir serve are signed by OpenSSL, which a build may lack; then the line for what cannot be tested is printed.
has_receipts() # WHAT
{
    local file answer
    file=$(mktemp)
    echo 'limits: {api: 1/s}' >"$file"
    answer=$("$weir" serve "$file" --check)
    rm "$file"
    if [[ $answer != *'no receipts'* ]]; then return 0; fi
    skip_part "$1" 'weir is built without OpenSSL' "$build_all"
    return 1
}

# A part of the command that a build may lack.
needs_part() # serve|engine
{
    if "$weir" "$1" --help 2>&1 | grep -q 'this build has no'; then
        skip_test "weir $1 is not built" "$build_all"
    fi
}
