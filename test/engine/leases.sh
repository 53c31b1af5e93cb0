#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# leases.sh WEIR: libweir-redis with leases against real engines, by each way: what is taken along, spent and given
# back, what settles of it come to, and refusals that are answered here.
. "$(dirname "$0")/lib/ask.sh" "$@"

from_lease() # FILE: answers in it that came from a lease
{
    grep -c 'from lease' "$1"
}

# What the engine has of the key for others: all but what was spent and is out.
left_is() # KEY REMAINING
{
    order peek "$1"
    says out "allow remaining $2 from engine"
}

# 1/h gives nothing back meanwhile, so that each permit can be counted: of 1000 asked for one by one, all pass, few are
# asked for, and at the end the engine has the rest.
spends() # NAME [OPTION...]
{
    what="leases of $1"
    open_ask "$(url_of "$1")" lease=60000 "${@:2}"
    order limit '1/h burst=4000'
    order take "$1" 1 1000
    [ "$(grep -c '^allow' out)" = 1000 ] || fail 'not all pass'
    cp out spent
    [ "$(from_lease spent)" -gt 900 ] || fail "only $(from_lease spent) from leases"
    counts from_lease -gt 900
    counts commands -lt 90
    counts leased -gt 900
    counts from_away -eq 0
    order settle 0
    says out 'settled yes'
    order settle 0
    says out 'settled no'
    close_ask # gives all back
    open_ask "$(url_of "$1")"
    order limit '1/h burst=4000'
    left_is "$1" 2999
}

# A settle gives nothing back of what a lease allowed, and charges what was used beyond.
settles() # NAME
{
    what="settled of a lease of $1"
    open_ask "$(url_of "$1")" lease=60000
    order limit '1/h burst=4000'
    order take "$1.s" 1 300
    tail -n 1 out | grep -q 'from lease' || fail 'the last one is from no lease'
    order settle 11
    says out 'settled yes'
    order take "$1.s" 1 1
    tail -n 1 out | grep -q 'from lease' || fail 'it is from no lease'
    order settle 0
    says out 'settled yes'
    close_ask
    open_ask "$(url_of "$1")"
    order limit '1/h burst=4000'
    left_is "$1.s" $((4000 - 300 - 10 - 1 - 1))
}

# What is refused is refused here until its time, for as much and for more, not for less, and not once it was forgotten.
refuses_here() # NAME
{
    what="refusals of $1"
    open_ask "$(url_of "$1")" lease=60000
    order limit '1/h burst=20'
    order take "$1.r" 1 220
    [ "$(grep -c '^allow' out)" = 20 ] || fail 'not 20 pass'
    [ "$(grep -c '^deny remaining 0 from lease' out)" -gt 150 ] || fail 'the engine is asked for what it refused'
    order take "$1.r" 2
    says out 'deny remaining 0 from lease'
    order peek "$1.r"
    says out 'deny remaining 0 from engine'
    order forget "$1.r"
    order take "$1.r"
    says out 'allow'
    # Two limits, and refused calls that count, are the engine's.
    order limit '1/h burst=20; 2/h burst=30'
    order take "$1.l" 1 100
    [ "$(from_lease out)" = 0 ] || fail 'a list is answered here'
    order limit '20/h algorithm=fixed-window count-refused'
    order take "$1.c" 1 100
    [ "$(from_lease out)" = 0 ] || fail 'a refusal that counts is answered here'
    order limit '20/h algorithm=fixed-window'
    order take "$1.w" 1 100
    [ "$(grep -c '^deny remaining 0 from lease' out)" -gt 50 ] || fail 'the refusal of a window is not remembered'
    order limit '1/h burst=15'
    order take "$1.b" 1 12
    counts leased -le 20
    close_ask
}

# Without leases there is none of it.
asks_all() # NAME
{
    what="no leases of $1"
    open_ask "$(url_of "$1")"
    order limit '1/h burst=20'
    order take "$1.n" 1 100
    [ "$(from_lease out)" = 0 ] || fail 'answered from a lease'
    close_ask
}

start_engine functions
start_engine scripts --rename-command FUNCTION '' --rename-command FCALL ''
engines=(functions scripts)
if [ -e "$module" ]; then
    start_engine module --loadmodule "$module"
    engines+=(module)
else
    skip_part 'leases of the module' 'weir-redis.so is not built' "$build_all"
fi
for name in "${engines[@]}"; do
    spends "$name"
    settles "$name"
    refuses_here "$name"
    asks_all "$name"
done

# An engine that is gone: what is in leases is spent, and then the policy answers; one on its way is lost.
what='a lease outlives its connection'
open_ask "$(url_of functions)" lease=60000 away=closed
order limit '1/h burst=4000'
order take gone 1 400
tail -n 1 out | grep -q 'from lease' || fail 'the last one is from no lease'
kill_engine functions
order take gone 1 4000
[ "$(grep -c 'allow.*from lease' out)" -gt 0 ] || fail 'nothing is spent of it'
tail -n 1 out | grep -q 'deny remaining 0 from away' || fail 'it never ends'
close_ask
echo 'leases: all as expected'
