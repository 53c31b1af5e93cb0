#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tenants.sh WEIR: tenants of a limit as an operator defines them and clients ask for them: what is refused at the start
# and at a reload, with its line; one floods, and the other has what it is owed; a reload and a restart forget nothing.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli curl jq python3

file() # PARENT ACME
{
    printf 'limits:\n  api:\n    limit: %s\n    tenants:\n' "$1"
    printf '      acme: %s\n      ltd: 300/h guaranteed\n      "*": 100/h\n' "$2"
}
file '1000/h' '200/h guaranteed' >weir.yaml

# ---- what is refused, and where ----
file '400/h' '200/h guaranteed' >wrong.yaml
run 'too much is guaranteed' "$weir" serve wrong.yaml --check
ends 2
says err 'wrong.yaml:6:12: limits.api.tenants.ltd: the guarantees are 500/h in total, more than the 400/h'
run 'the same at the start' "$weir" serve wrong.yaml --resp "unix:$room/none" --http none
ends 2
says err 'wrong.yaml:6:12: limits.api.tenants.ltd'
sed 's/tenants:/tenant:/' weir.yaml >wrong.yaml
run 'a typo' "$weir" serve wrong.yaml --check
ends 2
says err '"tenant" is not known here; did you mean tenants?'
run 'the file' "$weir" serve weir.yaml --check
ends 0
says out 'api: 1000/h burst=1000 algorithm=gcra, 2 tenants'


# ---- weights: of all or of none, and what is wrong is at its line ----
weighs() # TEXT-OF-ONE TEXT-OF-ALL-OTHERS [PARENT]
{
    printf 'limits:\n  api:\n    limit: %s\n    tenants:\n' "${3:-100/s burst=10}"
    printf '      one: %s\n      two: unlimited weight=2\n      five: 10/s guaranteed weight=5; 98/s\n' "$1"
    if [ -n "$2" ]; then printf '      "*": %s\n' "$2"; fi
}
wrongly() # WORDS ARGUMENT-OF-WEIGHS...
{
    weighs "${@:2}" >wrong.yaml
    run "weights: $1" "$weir" serve wrong.yaml --check
    ends 2
    says err "wrong.yaml:$1"
}
wrongly '5:12: limits.api.tenants.one: one has no weight and others have one: give one to each' \
    200/s 'unlimited weight=1'
wrongly '8:12: limits.api.tenants.*: "*" has no weight and others have one' 'unlimited weight=1' 200/s
wrongly '5:7: limits.api.tenants: "*" has no weight and others have one' 'unlimited weight=1' ''
wrongly '5:25: limits.api.tenants.one: a weight is 1 to 1000' '200/s weight=0' 'unlimited weight=1'
wrongly '5:24: limits.api.tenants.one: the weight of a tenant is in its first limit' '200/s; 9k/h weight=1' 300/s
wrongly '5:7: limits.api.tenants: weights share a rate' 'unlimited weight=1' '300/s weight=1' unlimited

file '1000/h' '250/h guaranteed' >other.yaml
run 'another file' "$weir" serve other.yaml --check --against weir.yaml
ends 0
says out 'api: tenants whose usage is reset: 1'

# ---- one floods; the other is not refused ----
start_serve weir.yaml --state state
ask() { redis-cli -p "$resp" "$@"; }
passed() # KEY COUNT: how many of so many calls
{
    yes "WEIR.TAKE api $1" | head -n "$2" | ask | grep -c '^allow$'
}
what='tenants'
is() # EXPECTED FOUND WORDS
{
    if [ "$1" != "$2" ]; then fail "$3: $2, expected $1"; fi
}
is 100 "$(passed stranger 300)" 'a stranger passes its ceiling'
flooded=$(passed acme 3000) # what it is owed, and then all that is left of the parent
if [ "$flooded" -lt 900 ] || [ "$flooded" -gt 910 ]; then fail "acme passed $flooded"; fi
is 0 "$(passed other 10)" 'nothing is left to borrow'
is 300 "$(passed ltd 300)" 'ltd has what it is owed'
left=$(passed ltd 10) # one comes back in 12 seconds
if [ "$left" -gt 4 ]; then fail "ltd passed $left more"; fi
fetch 200 "http://127.0.0.1:$http/metrics"
borrowed=$(sed -n 's/^weir_tenant_borrowed_total{limit="api"} //p' body)
if [ "$borrowed" -lt 800 ] || [ "$borrowed" -gt 810 ]; then fail "$borrowed were borrowed"; fi
fetch 200 "http://127.0.0.1:$http/v1/limits"
json body '.limits[0].tenants == 2 and .limits[0].limit == "1000/h burst=1000 algorithm=gcra"'
fetch 429 -d limit=api -d key=acme "http://127.0.0.1:$http/v1/take"
says head 'RateLimit-Policy: "api";q=1000;w=3600'
retry_after 1 25

# ---- a reload: refused with its line, and nothing forgotten; another one is taken ----
file '400/h' '200/h guaranteed' >weir.yaml
kill -HUP "$pid"
what='a reload that is refused'
wait_for 'it is told' grep -q 'weir.yaml:6:12: limits.api.tenants.ltd: the guarantees are 500/h' serve.out
says serve.out 'the limits are unchanged'
file '2000/h burst=1000' '200/h guaranteed' >weir.yaml
kill -HUP "$pid"
what='a reload'
wait_for 'it is told' grep -q 'reloaded: 1 limit' serve.out
after=$(passed acme 20)
if [ "$after" -gt 4 ]; then fail "acme passed $after after it"; fi
run 'WEIR.LIMIT SET' ask WEIR.LIMIT SET api 450/h
says out 'BADLIMIT the guarantees are 500/h in total, more than the 450/h of their parent'

# ---- killed: with a state nothing is forgotten, neither a tenant's nor the parent's ----
may_end "$pid"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
start_serve weir.yaml --state state
what='a restart'
after=$(($(passed acme 20) + $(passed ltd 20)))
if [ "$after" -gt 12 ]; then fail "$after passed after it"; fi
clean_end

# ---- weights: all three ask far more than there is, on a slow machine, too; what is idle is theirs by 1, 2 and 5 ----
weighs 'unlimited weight=1' 'unlimited weight=1' >weir.yaml
start_serve weir.yaml
what='weights'
yes $'WEIR.TAKE api one\nWEIR.TAKE api two\nWEIR.TAKE api five' | head -n 9000 >calls
: >verdicts
until [ "$(grep -c allow verdicts)" -ge 400 ]; do ask <calls | grep -E '^(allow|deny)$' >>verdicts; done
read -r one two five all < <(awk '/allow/ { n[NR % 3]++; all++ } END { print n[1], n[2], n[0], all }' verdicts)
echo "weights: $one, $two and $five of $all calls"
# Of 100/s five is owed 10; the rest is 1/8, 2/8 and 5/8.  Of 1000 calls: 112, 225 and 663.
within() # NAME PASSED FROM TO, in thousandths of all
{
    local thousandths=$(($2 * 1000 / all))
    if [ $thousandths -lt "$3" ] || [ $thousandths -gt "$4" ]; then fail "$1 passed $2 of $all"; fi
}
within one "$one" 75 180
within two "$two" 170 280
within five "$five" 560 750
clean_end
