#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tenants.sh WEIR: tenants under one parent in a real engine: the module and weir.lua by turns decide as
# weir_table_take_all does, and share by weight; and what no random step does: settling what was borrowed, refusals, a
# parent's debt.
. "$(dirname "$0")/lib/engine.sh" "$@"
. "$tree/test/engine/lib/module.sh"
module_options test-clock yes
needs_built "$build/test/engine-tenants" hiredis
start_engine one "${with_module[@]}"
sed "s/^\(local function engine_time()\).*/\1 return tonumber(call('GET', 'weir:test:now')) end/" \
    "$functions" >variant.lua
cat "$tree/test/engine/lib/lua_test.lua" >>variant.lua
to one -x FUNCTION LOAD REPLACE <variant.lua >out || fail 'the functions do not load'

seed_of 7
steps=${WEIR_STEPS:-$(of_size 10000 300000)}
run 'the module, weir.lua and a table' "$build/test/engine-tenants" "$room/one/socket" "$steps" "$seed"
ends 0
cat out

both_at() # MICROSECONDS since it began
{
    at "$1"
    to one SET weir:test:now $((began + $1)) >/dev/null
}

# Both at once: the same answers, in ns and us.
text='2/s burst=2 guaranteed; 5/s burst=6 under 10/s burst=4 debt=1'
both_at 0
for turn in 1 2 3 4; do
    lent=$((turn > 2))
    answer WEIR.TAKE "$text" '{m}:acme' AND '{m}'
    says out "allow $((turn < 4 ? 2 : 0)) $((4 - turn)) 0 0 "
    says out " $began:$((1 - lent)):1:1 0 $lent"
    answer FCALL weir_take 2 '{l}:acme' '{l}' "$text"
    says out "allow $((turn < 4 ? 2 : 0)) $((4 - turn)) 0 0 "
    says out " $began 0 $lent"
done
asks 'deny 2 0 0 100000000 400000000 (nil) 0 0' WEIR.TAKE "$text" '{m}:acme' AND '{m}'
asks "deny 2 0 0 100000 400000 $began 0 0" FCALL weir_take 2 '{l}:acme' '{l}' "$text"

# ---- within its guarantee another one passes, whatever the parent has, and whatever its debt= says ----
for turn in 1 2; do
    answer WEIR.TAKE "$text" '{m}:other' AND '{m}'
    says out 'allow '
    answer FCALL weir_take 2 '{l}:other' '{l}' "$text"
    says out 'allow '
done
asks 'deny 0 0 0 300000000 600000000 (nil) 0' WEIR.TAKE '10/s burst=4' '{m}'
asks "deny 0 0 0 300000 600000 $began 0" FCALL weir_take 1 '{l}' '10/s burst=4'

# ---- what was borrowed is given back to those that were charged: not to the guarantee ----
both_at 10000000
three='2/s burst=2 guaranteed under 10/s burst=4'
for turn in 1 2; do answer WEIR.TAKE "$three" '{s}:acme' AND '{s}'; done
answer WEIR.TAKE "$three" '{s}:acme' AND '{s}'
says out "$((began + 10000000)):0:1 0 1"
asks 1 WEIR.SETTLE "$three" '{s}:acme' AND '{s}' "$((began + 10000000)):0:1" 0
asks 'allow 1 1 0 0 200000000 (nil) 0 1' WEIR.TAKE "$three" '{s}:acme' AND '{s}' PEEK
answer FCALL weir_take 2 '{s}:acme' '{s}' "$three" 1
asks 1 FCALL weir_settle 2 '{s}:acme' '{s}' "$three" "$((began + 10000000)):0:1" 0
asks "allow 1 1 0 0 200000 $((began + 10000000)) 0 1" FCALL weir_take 2 '{s}:acme' '{s}' "$three" 1 PEEK
asks 1 WEIR.SETTLE "$three" '{s}:acme' AND '{s}' "$((began + 10000000)):1:1" 0
asks 'allow 1 3 0 0 100000000 (nil) 0 0' WEIR.TAKE "$three" '{s}:acme' AND '{s}' COST 0

# ---- alone a tenant's text is its limits, and so is the parent's at its key ----
to one DEL '{s}' '{s}:acme' >/dev/null
answer WEIR.TAKE "$three" '{s}:acme' AND '{s}'
answer WEIR.TAKE '2/s burst=2' '{s}:acme'
says out 'allow 0 0 '
answer WEIR.TAKE '2/s burst=2 guaranteed; 4/s' t
says out 'allow 0 1 '
answer FCALL weir_take 1 t '2/s burst=2 guaranteed; 4/s' 1
says out 'allow 0 0 '
what='the value of the parent'
value_of '{s}' >expected
answer WEIR.TAKE '10/s burst=4' p
value_of p >out
same out expected

# ---- weights: alone a text is as if it had none, a key as if nobody shared it; the answers are the same ----
for text in '10/s burst=4' '10/s burst=4 weight=3'; do
    answer WEIR.TAKE "$text" '{w}'
    value_of '{w}' >out
    same out expected
    to one DEL '{w}' >/dev/null
done
weighed='unlimited weight=2 under 10/s burst=4'
asks "allow 1 3 0 0 100000000 $((began + 10000000)):1:1 0 0" WEIR.TAKE "$weighed" '{w}:acme' AND '{w}'
asks "allow 1 2 0 0 200000 $((began + 10000000)) 0 0" FCALL weir_take 2 '{w}:acme' '{w}' "$weighed" 1
asks "allow 0 1 0 0 300000000 $((began + 10000000)):1 0" WEIR.TAKE '10/s burst=4' '{w}'
asks "allow 0 0 0 0 400000 $((began + 10000000)) 0" FCALL weir_take 1 '{w}' '10/s burst=4' 1
what='the lead stays beside what plain calls took'
value_of '{w}' >out
says out '7765697202020000' # two cells
what='the finish of a tenant without limits'
value_of '{w}:acme' >out
says out '77656972020200000100000000000000'
what='the lead stays at the first four keys only'
to one WEIR.TAKE '51/s; 52/s; 53/s; 54/s; 55/s burst=40' '{w}1' AND '{w}2' AND '{w}3' AND '{w}4' AND '{w}' >out
says out allow
value_of '{w}' >out
says out '7765697202010000' # one cell
to one DEL '{w}' '{w}:acme' '{w}1' '{w}2' '{w}3' '{w}4' >/dev/null
refuses_both() # WORDS TEXT
{
    refuses "$1" WEIR.TAKE "$2" a AND b
    refuses "$1" FCALL weir_take 2 a b "$2" 1
}
refuses_both 'weights share a rate: expected a limit by gcra in their parent' \
    'unlimited weight=2 under 10/s algorithm=hybrid'
refuses_both 'this burst is too large for an engine to share it by weight' 'unlimited weight=2 under 3/d burst=2000'
refuses_both 'a weight is 1 to 1000' 'unlimited weight=1001 under 10/s'
refuses_both 'the weight of a tenant is in its first limit' 'unlimited; 10/s weight=2 under 10/s'
refuses_both 'weight does not belong to algorithm=leaky' '5/s algorithm=leaky weight=2 under 10/s'

# ---- refusals ----
refuses 'WEIRKEYS these are 2 levels of tenants: expected a key for each' WEIR.TAKE "$three" '{s}'
refuses 'WEIRKEYS these are 2 levels of tenants: expected a key for each' FCALL weir_take 1 '{s}' "$three" 1
for wrong in "10/s under 5/s algorithm=sliding-log" "3 concurrent lease=1s under 10/s"; do
    refuses 'of tenants an engine keeps no sliding-log and no concurrent limit' WEIR.TAKE "$wrong" a AND b
    refuses 'of tenants an engine keeps no sliding-log and no concurrent limit' FCALL weir_take 2 a b "$wrong" 1
done
refuses 'the guaranteed limit comes first' WEIR.TAKE '9/s; 5/s guaranteed under 10/s' a AND b
refuses 'the guaranteed limit comes first' FCALL weir_take 2 a b '9/s; 5/s guaranteed under 10/s' 1
for wrong in '10/s under' 'under 10/s' '10/s under under 5/s' '10/s under 5' \
    '1/s under 2/s under 3/s under 4/s under 5/s'; do
    refuses WEIRLIMIT WEIR.TAKE "$wrong" a AND b
    refuses WEIRLIMIT FCALL weir_take 2 a b "$wrong" 1
done
echo 'tenants in an engine: all as it should be'
