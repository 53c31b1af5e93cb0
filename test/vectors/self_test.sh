#!/bin/sh
# SPDX-License-Identifier: MIT
# self_test.sh RUNNER - is the vector runner able to fail?  Right, tampered, malformed and absent vectors, with the
# numbers, the messages and the exit status checked.  Touches only a directory of its own under TMPDIR.
set -u

if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "usage: self_test.sh RUNNER (an executable; got \"${1:-}\")" >&2
    exit 2
fi
runner=$1
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
failures=0

fail() {
    echo "self_test: $1" >&2
    failures=$((failures + 1))
}

run() { # DIR: fills $dir/out, $dir/err and $status
    "$runner" "$1" >"$dir/out" 2>"$dir/err"
    status=$?
}

expect_status() { # WHAT STATUS
    [ "$status" -eq "$2" ] || fail "$1: status $status, expected $2"
}

expect_line() { # WHAT FILE LINE: the whole line is there
    grep -Fqx -- "$3" "$dir/$2" || {
        fail "$1: std$2 lacks the line: $3"
        sed 's/^/    /' "$dir/$2" >&2
    }
}

expect_text() { # WHAT FILE TEXT: some line holds it
    grep -Fq -- "$3" "$dir/$2" || {
        fail "$1: std$2 lacks: $3"
        sed 's/^/    /' "$dir/$2" >&2
    }
}

expect_lines() { # WHAT FILE PATTERN COUNT
    lines=$(grep -c -- "$3" "$dir/$2")
    [ "$lines" -eq "$4" ] || fail "$1: $lines lines of std$2 match $3, expected $4"
}

mkdir "$dir/right" "$dir/tampered" "$dir/many" "$dir/malformed" "$dir/empty" "$dir/other"

# Files of several families.  Run: governor 3, go 3, pool 3.  Skipped: a quirk, an op, a limiter key, an answer that
# no adapter knows, a rate that is no number; and a system without an adapter.
cat >"$dir/right/b_governor.json" <<'EOF'
{"system": "governor (tiny)", "cases": [
 {"name": "two at once", "limiter": {"emission_interval_ns": 100000000, "burst": 2}, "tolerance_ns": 0, "steps": [
  {"t_ns": -5, "op": "try", "n": 2, "expect": {"allowed": true, "remaining": 0}},
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"allowed": false, "retry_after_ns": 100000000}},
  {"t_ns": 0, "op": "try", "n": 3, "expect": {"allowed": false, "never": true, "capacity": 2}},
  {"t_ns": 0, "op": "try", "n": 0, "expect": {"mood": "fair"}}]},
 {"name": "quirk", "peer_quirk": true, "limiter": {"emission_interval_ns": 1, "burst": 1}, "steps": [
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"allowed": false}},
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"allowed": false}}]},
 {"name": "dance", "limiter": {"emission_interval_ns": 1, "burst": 1}, "steps": [
  {"t_ns": 0, "op": "dance", "expect": {"allowed": false}}]},
 {"name": "limiter", "limiter": {"emission_interval_ns": 1, "burst": 1, "phase_ns": 7}, "steps": [
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"allowed": false}}]}]}
EOF
cat >"$dir/right/a_go.json" <<'EOF'
{"system": "golang.org/x/time/rate", "cases": [
 {"name": "a third", "tolerance_ns": 2, "limiter": {"rate_per_s": 0.3333333333333333, "burst": 1, "initial_tokens": 1},
  "steps": [
  {"t_ns": 0, "op": "try", "n": 1, "max_wait_ns": 0, "expect": {"allowed": true}, "state_after": {"tokens": 0}},
  {"t_ns": 0, "op": "reserve", "n": 1, "expect": {"allowed": true, "wait_ns": 2999999999}},
  {"t_ns": 1500000000, "op": "tokens", "expect": {"tokens": -0.5}}]},
 {"name": "none", "tolerance_ns": 2, "limiter": {"rate_per_s": "nan", "burst": 1, "initial_tokens": 1}, "steps": [
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"allowed": false}}]}]}
EOF
cat >"$dir/right/c_pool.json" <<'EOF'
{"system": "nosqlbench/EngineBlock token pool", "cases": [
 {"name": "pool", "limiter": {"pool_size": 1000, "burst_ratio": 1.25}, "steps": [
  {"t_ns": 2000, "op": "refill", "tokens": 2000, "expect": {"total": 2000},
   "state_after": {"active": 1250, "waiting": 750}},
  {"t_ns": 2000, "op": "try_take", "tokens": 1251, "expect": {"allowed": false}},
  {"t_ns": 2000, "op": "restart", "expect": {"dropped": 2000}, "state_after": {"active": 0, "waiting": 0}}]}]}
EOF
cat >"$dir/right/d_other.json" <<'EOF'
{"system": "a limiter of the future", "cases": [
 {"name": "x", "limiter": {}, "steps": [{"t_ns": 0, "op": "try"}, {"t_ns": 1, "op": "try"}]}]}
EOF
cat >"$dir/right/e_throttled.json" <<'EOF'
{"system": "throttled", "cases": [
 {"name": "peek and never", "limiter": {"emission_interval_ns": 10, "max_burst": 2, "limit": 3}, "steps": [
  {"t_ns": 7, "op": "try", "n": 1, "expect": {"allowed": true, "limit": 3, "remaining": 2, "reset_in_ns": 10}},
  {"t_ns": 9, "op": "try", "n": 0, "expect": {"allowed": true, "remaining": 2, "reset_in_ns": 8}},
  {"t_ns": 9, "op": "try", "n": 4, "expect": {"allowed": false, "never": true, "remaining": 3, "reset_in_ns": 0}}]},
 {"name": "no interval", "limiter": {"emission_interval_ns": 0, "max_burst": 2}, "steps": [
  {"t_ns": 0, "op": "create", "expect": {"error": "refused"}}]}]}
EOF
cat >"$dir/right/f_cell.json" <<'EOF'
{"system": "redis-cell", "cases": [
 {"name": "three a second", "limiter": {"max_burst": 0, "count": 3, "period_s": 1}, "steps": [
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"reply": [0, 1, 0, -1, 1], "allowed": true, "reset_in_ns": 333333333}},
  {"t_ns": 333333000, "op": "try", "n": 1, "expect": {"reply": [1, 1, 1, 0, 0], "retry_after_ns": 333}}]},
 {"name": "forgotten in whole ms", "limiter": {"max_burst": 0, "count": 1000000, "period_s": 1500}, "steps": [
  {"t_ns": 600000, "op": "try", "n": 1, "expect": {"reply": [0, 1, 0, -1, 1], "allowed": true}},
  {"t_ns": 1999999, "op": "try", "n": 1, "expect": {"allowed": false, "retry_after_ns": 100001}},
  {"t_ns": 2000000, "op": "try", "n": 1, "expect": {"allowed": true}}]},
 {"name": "no period", "limiter": {"max_burst": 1, "count": 10, "period_s": 0}, "steps": [
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"error": "refused"}}]}]}
EOF

cat >"$dir/right/g_guava.json" <<'EOF'
{"system": "Guava SmoothBursty", "cases": [
 {"name": "state", "tolerance_ns": 1000, "limiter": {"rate_per_s": 5.0, "max_burst_s": 1.0}, "steps": [
  {"t_ns": 0, "op": "acquire", "n": 1, "expect": {"allowed": true},
   "state_after": {"stored_permits": 0.0, "max_permits": 5.0, "next_free_ns": 200000000}},
  {"t_ns": 800000000, "op": "acquire", "n": 1, "expect": {"allowed": true},
   "state_after": {"stored_permits": 2.0, "max_permits": 5.0, "next_free_ns": 800000000}}]},
 {"name": "beyond 64 bits", "tolerance_ns": 4000, "limiter": {"rate_per_s": 0.1, "max_burst_s": 1.0}, "steps": [
  {"t_ns": 0, "op": "acquire", "n": -1, "expect": {"error": "a \"18446744073709551616\""}},
  {"t_ns": 0, "op": "acquire", "n": 2147483647, "expect": {"allowed": true, "wait_ns": 0}},
  {"t_ns": 0, "op": "try", "n": 1, "max_wait_ns": 21474836469999990000, "expect": {"allowed": false}},
  {"t_ns": 0, "op": "try", "n": 1, "max_wait_ns": 21474836470000010000,
   "expect": {"allowed": true, "wait_ns": 21474836470000000000}},
  {"t_ns": 21474836470000000000, "op": "acquire", "n": 1, "expect": {"allowed": true, "wait_ns": 10000000000}}]},
 {"name": "no rate", "limiter": {"rate_per_s": 0.0, "max_burst_s": 1.0}, "steps": [
  {"t_ns": 0, "op": "create", "expect": {"error": "refused"}}]}]}
EOF

cat >"$dir/right/h_sliding.json" <<'EOF'
{"system": "limits (Python) sliding window counter", "cases": [
 {"name": "state", "limiter": {"limit": 3, "window_ns": 1000000000}, "steps": [
  {"t_ns": 0, "op": "try", "n": 3, "expect": {"allowed": true}, "state_after": {"previous": 0, "current": 3}},
  {"t_ns": 1000000000, "op": "try", "n": 4, "expect": {"allowed": false}, "state_after": {"previous": 3, "current": 0}}
 ]}]}
EOF

run "$dir/right"
expect_status right 0
cat >"$dir/wanted" <<'EOF'
a_go.json: 3 steps, 0 mismatches, 1 skipped, 2 by the core
b_governor.json: 3 steps, 0 mismatches, 5 skipped, 3 by the core
c_pool.json: 3 steps, 0 mismatches, 0 skipped, 3 by test/peers, 0 by the core
d_other.json: 0 steps, 0 mismatches, 2 skipped, 0 by the core
e_throttled.json: 4 steps, 0 mismatches, 0 skipped, 4 by the core
f_cell.json: 6 steps, 0 mismatches, 0 skipped, 6 by the core
g_guava.json: 8 steps, 0 mismatches, 0 skipped, 7 by the core
h_sliding.json: 2 steps, 0 mismatches, 0 skipped, 2 by the core
EOF
diff "$dir/wanted" "$dir/out" >&2 || fail "right: other lines than expected"
expect_line right err \
    "  skipped: 1 not yet (answer mood), 2 peer_quirk, 1 not yet (dance), 1 not yet (limiter phase_ns)"
expect_line right err "  skipped: 2 not yet (no adapter for this system)"
expect_lines right err ': case "' 0

# One number changed in each file: each must be caught, and named.
tamper() { # FILE OLD NEW
    sed "s/$2/$3/" "$dir/right/$1" >"$dir/tampered/$1"
    ! cmp -s "$dir/right/$1" "$dir/tampered/$1" || fail "tamper: $1 holds no $2"
}
tamper a_go.json '"wait_ns": 2999999999' '"wait_ns": 2999999997'
tamper b_governor.json '"retry_after_ns": 100000000' '"retry_after_ns": 100000001'
tamper c_pool.json '"waiting": 750' '"waiting": 751'
tamper e_throttled.json '"remaining": 2, "reset_in_ns": 8' '"remaining": 1, "reset_in_ns": 9'
tamper f_cell.json '\[1, 1, 1, 0, 0\]' '[1, 1, 1, 0, 1]'
tamper g_guava.json '"wait_ns": 21474836470000000000' '"wait_ns": 21474836470000006000'
sed -i 's/"stored_permits": 2.0/"stored_permits": 2.1/' "$dir/tampered/g_guava.json"
tamper h_sliding.json '"previous": 3' '"previous": 2'
run "$dir/tampered"
expect_status tampered 1
expect_line tampered out 'a_go.json: 3 steps, 1 mismatches, 1 skipped, 2 by the core'
expect_line tampered out 'b_governor.json: 3 steps, 1 mismatches, 5 skipped, 3 by the core'
expect_line tampered out 'c_pool.json: 3 steps, 1 mismatches, 0 skipped, 3 by test/peers, 0 by the core'
expect_line tampered out 'e_throttled.json: 4 steps, 2 mismatches, 0 skipped, 4 by the core'
expect_line tampered out 'f_cell.json: 6 steps, 1 mismatches, 0 skipped, 6 by the core'
expect_line tampered err 'a_go.json: case "a third" step 1: wait_ns: expected 2999999997, got 3000000000'
expect_line tampered err 'b_governor.json: case "two at once" step 1: retry_after_ns: expected 100000001, got 100000000'
expect_line tampered err 'c_pool.json: case "pool" step 0: waiting: expected 751, got 750'
expect_line tampered err 'e_throttled.json: case "peek and never" step 1: remaining: expected 1, got 2'
expect_line tampered err 'e_throttled.json: case "peek and never" step 1: reset_in_ns: expected 9, got 8'
expect_line tampered err 'f_cell.json: case "three a second" step 1: reply: expected [1,1,1,0,1], got [1,1,1,0,0]'
expect_line tampered err \
    'g_guava.json: case "beyond 64 bits" step 3: wait_ns: expected "21474836470000006000", got 21474836470000000000'
expect_line tampered err 'g_guava.json: case "state" step 1: stored_permits: expected 2.1, got 2'
expect_line tampered err 'h_sliding.json: case "state" step 1: previous: expected 2, got 3'
expect_lines tampered err ': case "' 9

# A step at which the adapter sets the clock for weir is not counted as the core's.
mkdir "$dir/back"
cp "$(dirname "$0")/back/nginx_limit_req.json" "$dir/back"
run "$dir/back"
expect_status back 0
expect_line back out 'nginx_limit_req.json: 7 steps, 0 mismatches, 0 skipped, 4 by the core'
sed -i 's/"excess_thousandths": 2998/"excess_thousandths": 2999/' "$dir/back/nginx_limit_req.json"
run "$dir/back"
expect_status "back, tampered" 1
expect_line "back, tampered" err \
    'nginx_limit_req.json: case "over a minute back" step 3: excess_thousandths: expected 2999, got 2998'

# A limit that weir refuses is a difference at each step; an accepted one where a refusal is expected is one too;
# all are counted, twenty are shown.
{
    echo '{"system": "governor", "cases": ['
    echo ' {"name": "accepted", "limiter": {"emission_interval_ns": 1, "burst": 1}, "steps": ['
    echo '  {"t_ns": 0, "op": "try", "n": 1, "expect": {"error": "refused"}}]},'
    echo ' {"name": "refused", "limiter": {"emission_interval_ns": 0, "burst": 1}, "steps": ['
    i=1
    while [ "$i" -le 24 ]; do
        echo "  {\"t_ns\": $i, \"op\": \"try\", \"n\": 1, \"expect\": {\"allowed\": true}},"
        i=$((i + 1))
    done
    echo '  {"t_ns": 99, "op": "try", "n": 1, "expect": {"allowed": true}}]}]}'
} >"$dir/many/many.json"
run "$dir/many"
expect_status many 1
expect_line many out 'many.json: 26 steps, 26 mismatches, 0 skipped, 1 by the core'
expect_text many err 'many.json: case "accepted" step 0: error: expected a refusal'
expect_lines many err ': case "' 20

# What cannot be read as vectors is trouble, and does not keep the others from running.
cp "$dir/right/c_pool.json" "$dir/malformed/c_pool.json"
head -c 150 "$dir/right/a_go.json" >"$dir/malformed/cut.json"
{ cat "$dir/right/c_pool.json" && echo '}'; } >"$dir/malformed/more.json"
echo '{"system": "governor"}' >"$dir/malformed/no_cases.json"
echo '{"system": "governor", "cases": [{"name": "x", "limiter": {}, "steps": [{"op": "try"}]}]}' \
    >"$dir/malformed/no_time.json"
mkdir "$dir/malformed/directory.json"
run "$dir/malformed"
expect_status malformed 2
expect_line malformed out 'c_pool.json: 3 steps, 0 mismatches, 0 skipped, 3 by test/peers, 0 by the core'
expect_lines malformed out . 1
expect_text malformed err 'malformed/cut.json: malformed JSON at byte'
expect_text malformed err 'malformed/more.json: malformed JSON at byte'
expect_text malformed err 'malformed/no_cases.json: no "cases" array'
expect_text malformed err 'malformed/no_time.json: case 0 lacks'
expect_text malformed err 'malformed/directory.json: '

run "$dir/empty"
expect_status empty 2
expect_text empty err 'no *.json file'
echo '{}' >"$dir/other/vectors.txt"
run "$dir/other"
expect_status other 2
run "$dir/absent"
expect_status absent 2
expect_text absent err 'absent'

# The steps that the core judged: as many as were recorded, or more, of the same files; skipped are quirks, no more.
judged() { # WHAT STATUS [DIR]: against $dir/reference
    sh "$(dirname "$0")/judged.sh" "$runner" "$dir/${3:-quirk}" "$dir/reference" >"$dir/out" 2>"$dir/err"
    status=$?
    expect_status "judged: $1" "$2"
}
mkdir "$dir/quirk"
cp "$dir"/right/[cef]_*.json "$dir/quirk"
cat >"$dir/quirk/b_governor.json" <<'EOF'
{"system": "governor (tiny)", "cases": [
 {"name": "one", "limiter": {"emission_interval_ns": 100, "burst": 1}, "steps": [
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"allowed": true}}]},
 {"name": "quirk", "peer_quirk": true, "limiter": {"emission_interval_ns": 1, "burst": 1}, "steps": [
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"allowed": false}},
  {"t_ns": 0, "op": "try", "n": 1, "expect": {"allowed": false}}]}]}
EOF
printf '%s\n' 'b_governor.json 1 2 0' 'c_pool.json 0 0 3' 'e_throttled.json 4 0 0' 'f_cell.json 6 0 0' >"$dir/recorded"
cp "$dir/recorded" "$dir/reference"
judged right 0
sed 's/\(b_governor.json\) 1/\1 4/' "$dir/recorded" >"$dir/reference"
judged fewer 1
expect_line "judged: fewer" out 'judged: b_governor.json: 1 steps by the core, 4 before'
sed 's/\(b_governor.json 1\) 2/\1 1/' "$dir/recorded" >"$dir/reference"
judged "more skipped" 1
expect_line "judged: more skipped" out 'judged: b_governor.json: 2 steps skipped, 1 before'
sed 's/c_pool.json 0 0 3/c_pool.json 0 0 2/' "$dir/recorded" >"$dir/reference"
judged "more by test code" 1
expect_line "judged: more by test code" out 'judged: c_pool.json: 3 steps by test/peers, 2 before'
sed '/f_cell/d' "$dir/recorded" >"$dir/reference"
judged unrecorded 1
{ cat "$dir/recorded" && echo 'h_gone.json 0 0 0'; } >"$dir/reference"
judged gone 1
expect_line "judged: gone" out 'judged: h_gone.json: did not run'
sed -E 's/: .* ([0-9]+) skipped, (([0-9]+) by test\/peers, )?([0-9]+) by the core/ \4 \1 0\3/' \
    "$dir/wanted" >"$dir/reference"
judged "not yet" 1 right
expect_line "judged: not yet" out 'judged: something is skipped that is no peer_quirk'

if [ "$failures" -ne 0 ]; then
    echo "self_test: $failures failures" >&2
    exit 1
fi
echo "self_test: all checks pass"
