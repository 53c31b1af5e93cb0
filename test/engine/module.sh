#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# module.sh WEIR: the commands of weir-redis.so, each with what it answers and refuses, at times that the test sets.
. "$(dirname "$0")/lib/engine.sh" "$@"
. "$tree/test/engine/lib/module.sh"
module_options test-clock yes
start_engine one "${with_module[@]}" --enable-module-command local

# ---- take: as weir serve answers it ----
at 0
asks "allow 0 19 0 0 100000000 $began:1 0" WEIR.TAKE '10/s burst=20' a
asks "allow 0 0 0 0 2000000000 $began:19 0" weir.take '10/s burst=20' a cost 19
asks 'deny 0 0 0 100000000 2000000000 (nil) 0' WEIR.TAKE '10/s burst=20' a
asks 'never 0 0 0 0 2000000000 (nil) 0' WEIR.TAKE '10/s burst=20' a COST 21
at 250000
asks 'allow 0 1 0 0 1750000000 (nil) 0' WEIR.TAKE '10/s burst=20' a PEEK
asks 'allow 0 1 0 0 1750000000 (nil) 0' WEIR.TAKE '10/s burst=20' a PEEK
asks 'allow 0 2 0 0 1750000000 (nil) 0' WEIR.TAKE '10/s burst=20' a COST 0
asks 'deny 0 2 0 1000 1750000000 (nil) 0' WEIR.TAKE '10/s burst=20' a COST 3 WAIT 49999
asks "allow 0 0 50000000 0 2050000000 $((began + 299999)):3 0" WEIR.TAKE '10/s burst=20' a COST 3 WAIT 50000
asks 'deny 0 0 0 150000000 2050000000 (nil) 0' WEIR.TAKE '10/s burst=20' a

# ---- several limits: all or nothing, in one key or in one for each ----
at 0
both='2/s burst=2; 3/min burst=3'
asks "allow 0 1 0 0 500000000 $began:1:1 0" WEIR.TAKE "$both" b
asks "allow 0 0 0 0 1000000000 $began:1:2 0" WEIR.TAKE "$both" b COST 1 2
asks 'deny 1 0 0 20000000000 60000000000 (nil) 0' WEIR.TAKE "$both" b
asks "allow 0 1 0 0 500000000 $began:1:1 0" WEIR.TAKE "$both" '{b}1' AND '{b}2'
asks "allow 0 0 0 0 1000000000 $began:1:2 0" WEIR.TAKE "$both" '{b}1' and '{b}2' COST 1 2
asks 'deny 1 0 0 20000000000 60000000000 (nil) 0' WEIR.TAKE "$both" '{b}1' AND '{b}2'
asks "allow 0 0 0 0 1000000000 $began:2:2 0" WEIR.TAKE "$both" all COST 2
asks 'deny 1 0 0 20000000000 40000000000 (nil) 0' WEIR.TAKE "$both" all COST 0 2
asks "allow 1 18 0 0 200000000 $began:2:2 0" WEIR.TAKE 'unlimited; 10/s burst=20' '{u}1' AND '{u}2' COST 2
asks 0 EXISTS '{u}1'
what='the cells of both forms'
list=$(value_of b) one=$(value_of '{b}1') two=$(value_of '{b}2')
if [ "${list:16}" != "${one:16}${two:16}" ]; then fail "$list is not $one and $two"; fi

# ---- units: a cost for each limit by its place, or by its unit ----
units='10 requests/s; 1000 tokens/min'
for costs in '1 50' 'tokens 50 requests 1'; do
    to one DEL units >/dev/null
    asks "allow 0 9 0 0 100000000 $began:1:50 0" WEIR.TAKE "$units" units COST $costs
done
refuses 'WEIRARG limits count requests and tokens: write COST tokens 7' WEIR.TAKE "$units" units COST 7

# ---- a sliding log: calls, not permits ----
log='3/s algorithm=sliding-log'
asks "allow 0 1 0 0 1000000000 $began:2 0" WEIR.TAKE "$log" l COST 2
at 10
asks "allow 0 0 0 0 1000000000 $((began + 10)):1 0" WEIR.TAKE "$log" l
asks 'deny 0 0 0 999990000 1000000000 (nil) 0' WEIR.TAKE "$log" l
asks 92 STRLEN l
at 1000000
asks "allow 0 0 0 0 1000000000 $((began + 1000000)):2 0" WEIR.TAKE "$log" l COST 2
asks 92 STRLEN l
asks "$(((began + 2000000) / 1000))" PEXPIRETIME l
mixed='10/s burst=20; 3/s algorithm=sliding-log'
asks "allow 1 2 0 0 1000000000 $((began + 1000000)):1:1 0" WEIR.TAKE "$mixed" '{m}1' AND '{m}2'
asks 'string' TYPE '{m}1'
asks 'string' TYPE '{m}2'
refuses 'WEIRKEYS a sliding-log in a list has a key of its own' WEIR.TAKE "$mixed" m

# ---- what a call makes inside the engine is gone behind it: a string of 48 bytes left by each would be 48,000 ----
used() { to one INFO memory | tr -d '\r' | sed -n 's/^used_memory://p'; }
slots='2 concurrent lease=30s'
to one SET others 'of somebody else' >/dev/null
to one SET damaged "$(printf 'weir\002')" >/dev/null
while IFS='|' read -ra call; do
    to one -r 300 "${call[@]}" >/dev/null
    before=$(used)
    to one -r 1000 "${call[@]}" >/dev/null
    more=$(($(used) - before))
    if [ "$more" -gt 40000 ]; then fail "1000 calls of ${call[*]} have left $more bytes"; fi
    to one DEL used >/dev/null
done <<END
WEIR.TAKE|1000000/s|used
WEIR.TAKE|$log|used
WEIR.TAKE|1/d|used|PEEK
WEIR.TAKE|$slots|used
WEIR.TAKE|10/s|others
WEIR.TAKE|$log|others
WEIR.TAKE|$slots|others
WEIR.TAKE|10/s|damaged
WEIR.TAKE|$slots|damaged
WEIR.CHARGE|$both|used|1
WEIR.SETTLE|10/s|used|17:1|1
WEIR.FORGET|1000000/s|used
WEIR.RENEW|$slots|used|5
WEIR.RELEASE|$slots|used|5
WEIR.LEASE|1/d burst=16|used|16|1000000
WEIR.RETURN|1/d burst=16|used|5|10|5
CL.THROTTLE|used|15|30|60
END

# ---- to and from a sliding log: another kind, which begins anew; the key is usable at once ----
at 0
for change in "$log|3/d" "3/d|$log" "3/d algorithm=fixed-window|$log" "$log|3/d; 5/d"; do
    to one DEL change >/dev/null
    to one WEIR.TAKE "${change%|*}" change COST 3 >/dev/null
    what="$change"
    to one WEIR.TAKE "${change#*|}" change >out
    if [ "$(sed -n '1p;3p' out | tr '\n' ' ')" != 'allow 2 ' ]; then fail 'it does not begin anew'; fi
done

# ---- charge, settle, forget ----
at 0
asks 'allow 0 0 0 0 3000000000 (nil) 0' WEIR.CHARGE '10/s burst=20' c 30
asks 'deny 0 0 0 1100000000 3000000000 (nil) 0' WEIR.TAKE '10/s burst=20' c
asks "allow 0 10 0 0 1000000000 $began:10 0" WEIR.TAKE '10/s burst=20' d COST 10
asks 1 WEIR.SETTLE '10/s burst=20' d "$began:10" 4
asks 'allow 0 16 0 0 400000000 (nil) 0' WEIR.TAKE '10/s burst=20' d PEEK COST 0
asks 1 WEIR.SETTLE '10/s burst=20' d "$began:4" 9
asks 'allow 0 11 0 0 900000000 (nil) 0' WEIR.TAKE '10/s burst=20' d PEEK COST 0
asks 1 WEIR.FORGET '10/s burst=20' d
asks 1 WEIR.FORGET '10/s burst=20' d
asks 0 EXISTS d
asks 1 WEIR.FORGET "$mixed" '{m}1' AND '{m}2'
asks 0 EXISTS '{m}1' '{m}2'

# ---- leases ----
fast='1000/s burst=800'
asks "100 $began 700 0" WEIR.LEASE "$fast" e 200 1000000
asks "10 $began 690 0" WEIR.LEASE "$fast" e 10 1000000
asks 1 WEIR.RETURN "$fast" e $began 10 4
asks 'allow 0 694 0 0 2100000000 (nil) 0' WEIR.TAKE "$fast" e PEEK COST 0
asks "99 $began 695 0" WEIR.LEASE "$fast" e 200 1000000 RETURN $began 100 100
refuses 'WEIRARG expected at most 3 permits that were not spent, not 4' WEIR.RETURN "$fast" e $began 3 4
at 9000000
asks 0 WEIR.RETURN "$fast" e $began 10 4
at 20000000
asks "100 $((began + 20000000)) 700 0" WEIR.LEASE "$fast" f 100 1000000
at 19000000
asks 0 WEIR.RETURN "$fast" f 5 100 50
asks 0 WEIR.RETURN "$fast" f $((began + 20000000)) 0 0
refuses 'WEIRLIMIT a lease needs one gcra limit' WEIR.LEASE "$both" e 5 1000000
refuses 'WEIRARG expected a lifetime in us, a whole number up to 2^52, not "x"' WEIR.LEASE "$fast" e 5 x
refuses 'WEIRLIMIT a lease needs one gcra limit with a burst of 16 or more' WEIR.LEASE '10/s burst=15' e 2 1000
refuses 'WEIRARG expected a lifetime of 1 to 1099511627776 us' WEIR.LEASE "$fast" e 5 0
refuses 'WEIRARG expected a lifetime of 1 to 1099511627776 us' WEIR.LEASE "$fast" e 5 1099511627777
refuses 'WEIRARG expected how many of them were not spent' WEIR.LEASE "$fast" e 5 5 RETURN 1 2
refuses 'WEIRARG expected nothing more, not "y"' WEIR.LEASE "$fast" e 5 5 y

# ---- every other algorithm keeps a string ----
at 0
for text in '10/s algorithm=hybrid' '10/s algorithm=leaky burst=5' '10/s algorithm=fixed-window' \
    '10/s algorithm=sliding-window'; do
    what=$text
    to one WEIR.TAKE "$text" "kind $text" >out 2>err
    if [ "$(head -n 1 out)" != allow ]; then fail 'it was not allowed'; fi
    asks string TYPE "kind $text"
done
what='no limit at all'
answer WEIR.TAKE unlimited free
says out 'allow 0 '
answer WEIR.CHARGE unlimited free 2
says out 'allow 0 '
asks 0 EXISTS free

# ---- what is wrong is said, and nothing is written ----
refuses 'wrong number of arguments' WEIR.TAKE 10/s
refuses 'WEIRLIMIT col 4: ' WEIR.TAKE 10/x no
refuses 'WEIRLIMIT ' WEIR.TAKE '10/s algorithm=timeline' no
refuses "WEIRLIMIT col 4: an engine reads plain numbers and one spelling of each unit; write '100000 tokens/min" \
    WEIR.TAKE '100k tokens/min' no
refuses "WEIRLIMIT col 18: an engine reads" WEIR.TAKE '10/s; 20/min; 30 per h' no
refuses "weir explain prints this limit so" WEIR.TAKE '1k/s; 2k/s; 3k/s; 4k/s; 5k/s; 6k/s; 7k/s; 8k/s' no
refuses 'WEIRLIMIT col 4: ' WEIR.TAKE '10 kilo' no
refuses 'WEIRLIMIT the text of a limit has at most 1024 bytes' WEIR.TAKE "$(printf '%02000d' 1)" no
refuses 'WEIRARG expected a cost, a whole number up to 2^52, not "x"; for example WEIR.TAKE' WEIR.TAKE 10/s no COST x
refuses 'not "nothing"' WEIR.TAKE 10/s no COST
refuses 'WEIRARG this limit takes one cost, not 2' WEIR.TAKE 10/s no COST 1 2
refuses 'WEIRARG these are 2 limits: expected one cost for all, or 2, not 3' WEIR.TAKE "$both" no COST 1 2 3
eight='1/s; 2/s; 3/s; 4/s; 5/s; 6/s; 7/s; 8/s'
refuses 'WEIRARG expected nothing more, not "9"' WEIR.CHARGE "$eight" no 1 2 3 4 5 6 7 8 9
refuses 'WEIRARG expected COST n ... once, PEEK, or WAIT us, not "SLOWLY"' WEIR.TAKE 10/s no SLOWLY
refuses 'not "COST"' WEIR.TAKE 10/s no COST 1 COST 1
refuses 'WEIRARG WAIT is for one limit' WEIR.TAKE "$both" no WAIT 5
refuses 'WEIRARG expected us after WAIT' WEIR.TAKE 10/s no WAIT
refuses 'WEIRARG expected a cost' WEIR.TAKE 10/s no COST 4503599627370497
refuses 'WEIRARG expected nothing more, not "x"' WEIR.CHARGE 10/s no 1 x
refuses 'WEIRARG expected the receipt of a take' WEIR.SETTLE 10/s no '17:' 1
refuses 'WEIRARG the receipt "17:1:1" is of 2 limits, and these are 1' WEIR.SETTLE 10/s no 17:1:1 1
refuses 'WEIRKEYS these are 2 limits: expected one key for all, or 2 joined by AND, not 3' \
    WEIR.TAKE "$both" no AND no2 AND no3
refuses 'WEIRKEYS expected different keys' WEIR.TAKE "$both" no AND no
refuses 'WEIRKEYS expected at most 8 keys' WEIR.TAKE "$both" 1 AND 2 AND 3 AND 4 AND 5 AND 6 AND 7 AND 8 AND 9
refuses 'not "AND"' WEIR.TAKE "$both" no AND
asks 0 EXISTS no no2 no3
to one SET foreign 'something of somebody else' >/dev/null
to one SET short "$(printf 'weir\001')" >/dev/null
to one SET number 12345 >/dev/null
to one RPUSH list 1 >/dev/null
to one ZADD set 5 five >/dev/null
refuses 'WEIRVALUE a state of weir, but damaged; to start afresh: DEL damaged' WEIR.TAKE 10/s damaged
to one SET newer "$(printf 'weir\003')" >/dev/null
refuses 'WEIRVALUE a state of a newer weir: format 3, and weir ' WEIR.TAKE 10/s newer
for key in foreign short number; do
    before=$(value_of $key)
    for command in TAKE FORGET; do refuses 'WEIRVALUE ' WEIR.$command 10/s $key; done
    refuses 'WEIRVALUE ' WEIR.TAKE 10/s $key PEEK
    refuses 'WEIRVALUE ' CL.THROTTLE $key 15 30 60
    refuses 'WEIRVALUE ' WEIR.TAKE "$both" new AND $key
    if [ "$(value_of $key)" != "$before" ]; then fail "$key was changed"; fi
done
refuses 'WEIRVALUE ' WEIR.TAKE "$log" set
refuses 'WEIRVALUE ' WEIR.FORGET "$log" set
for key in list set; do refuses "WEIRVALUE what is at $key was not written by weir" WEIR.TAKE 10/s $key; done
refuses 'WEIRVALUE ' WEIR.TAKE "$log" list
refuses 'WEIRVALUE ' WEIR.FORGET 10/s list
asks 0 EXISTS new
long=$(printf '%0200d' 1)
to one SET "$long" 1 >/dev/null
refuses 'WEIRVALUE what is at 0000000000' WEIR.TAKE 10/s "$long"
says out '0... was not written by weir'
to one SET 'two words' 1 >/dev/null
refuses 'what is at "two words" was not written by weir' WEIR.TAKE 10/s 'two words'
to one SET 'a"b\' 1 >/dev/null
refuses 'what is at "a\x22b\x5c" was not written by weir' WEIR.TAKE 10/s 'a"b\'
name=$(printf 'z%.0s' {1..300}) cut=$(printf 'z%.0s' {1..40})...
refuses "WEIRARG expected a cost, a whole number up to 2^52, not \"$cut\"" WEIR.TAKE 10/s no COST "$name"
refuses "WEIRARG expected nothing more, not \"$cut\"" WEIR.FORGET 10/s no "$name"
refuses "WEIRARG expected us after WAIT, a whole number up to 2^52, not \"$cut\"" WEIR.TAKE 10/s no WAIT "$name"
refuses "not \"$cut\"; for example WEIR.TAKE" WEIR.TAKE 10/s no "$name"
refuses "WEIRARG expected the receipt of a take, the seventh value of its reply, not \"$cut\"" \
    WEIR.SETTLE 10/s no "$name" 1
refuses "WEIRKEYS expected at most 8 keys, not also \"$cut\"" \
    WEIR.TAKE "$both" 1 AND 2 AND 3 AND 4 AND 5 AND 6 AND 7 AND 8 AND "$name"
refuses 'whole number up to 2^52, not "~ ????";' WEIR.TAKE 10/s no COST $'~ \x7f\x01\xc3\xa9'

# ---- what the engine knows of the commands ----
asks 'k' COMMAND GETKEYS WEIR.TAKE 10/s k COST 1 2
asks 'k1 k2 k3' COMMAND GETKEYS WEIR.TAKE 'a;b;c' k1 AND k2 and k3 COST 1
asks 'k1 k2' COMMAND GETKEYS WEIR.SETTLE 'a;b' k1 AND k2 17:1:1 1
asks 'k' COMMAND GETKEYS WEIR.LEASE 10/s k 5 5
asks 'k' COMMAND GETKEYS CL.THROTTLE k 15 30 60
asks 'k RW access update k2 RW access update' COMMAND GETKEYSANDFLAGS WEIR.TAKE 'a;b' k AND k2
asks 'k RW access update' COMMAND GETKEYSANDFLAGS WEIR.LEASE 10/s k 5 5
asks '-3 write denyoom module fast movablekeys' eval 'local i = redis.call("COMMAND", "INFO", "WEIR.TAKE")[1]
    local flags = {}
    for n, flag in ipairs(i[3]) do flags[n] = flag.ok end
    return i[2] .. " " .. table.concat(flags, " ")' 0
places() # EXPECTED COMMAND: the first and the last key, and where others are looked for
{
    asks "$1" eval 'local function of(map, name)
            for n = 1, #map, 2 do if map[n] == name then return map[n + 1] end end
        end
        local info, found = redis.call("COMMAND", "INFO", ARGV[1])[1], {}
        for n, spec in ipairs(info[9]) do
            local from, to = of(of(spec, "begin_search"), "spec"), of(of(spec, "find_keys"), "spec")
            found[n] = "; " .. (of(from, "index") or of(from, "keyword") .. " from " .. of(from, "startfrom")) ..
                " last " .. of(to, "lastkey") .. " step " .. of(to, "keystep")
            if of(spec, "notes") then found[n] = found[n] .. " " .. of(spec, "notes") end
        end
        return info[4] .. " to " .. info[5] .. " step " .. info[6] .. table.concat(found)' 0 "$2"
}
for command in TAKE CHARGE SETTLE FORGET; do
    places '2 to 2 step 1; 2 last 0 step 1; AND from 3 last 0 step 1 and after each further AND' WEIR.$command
done
for command in LEASE RETURN; do places '2 to 2 step 1; 2 last 0 step 1' WEIR.$command; done
places '1 to 1 step 1; 1 last 0 step 1' CL.THROTTLE
expected='@write @fast'
# Before 7.2 a module's command is in no category: it is allowed by name, or by +@all.
if [[ $(info_of one redis_version) =~ ^7\.0 ]]; then expected='(nil)'; fi
asks "$expected" eval 'local categories = {}
    for n, name in ipairs(redis.call("COMMAND", "INFO", "CL.THROTTLE")[1][7]) do categories[n] = name.ok end
    return table.concat(categories, " ")' 0
asks OK ACL SETUSER reader on '>reads' '~*' +@read
what='a user who may not write'
in_engine one --user reader --pass reads WEIR.TAKE 10/s k >out 2>err
says out 'NOPERM'
asks OK ACL SETUSER writer on '>writes' '~mine:*' +weir.take
what='a user with keys of his own'
in_engine one --user writer --pass writes WEIR.TAKE "$both" mine:1 AND yours:2 >out 2>err
says out 'NOPERM'
in_engine one --user writer --pass writes WEIR.TAKE "$both" mine:1 AND mine:2 >out 2>err
says out allow

# ---- in transactions and scripts ----
run 'MULTI' redis-cli -p "${engine_port[one]}" <<'WORDS'
MULTI
WEIR.TAKE 1/s tx
WEIR.TAKE 1/s tx
EXEC
WORDS
says out deny

# ---- loading ----
what='a name that is taken'
start_engine taken --rename-command OBJECT cl.throttle --enable-module-command local
in_engine taken MODULE LOAD "$module" >out 2>err
says out 'ERR Error loading'
says "$room/taken/log" 'weir: not loaded: a command of the same name is there already; is redis-cell loaded?'
in_engine taken WEIR.TAKE 10/s k >out 2>err
says out 'unknown command'
asks 1 ACL DELUSER writer # Valkey keeps a module that a user's rules name
what='an argument that is unknown'
redis-cli -p "${engine_port[one]}" MODULE UNLOAD weir >out 2>err
says out OK
in_engine one MODULE LOAD "$module" faster >out 2>err
says out 'ERR Error loading'
says "$room/one/log" 'weir: not loaded: expected no arguments, or "test-clock yes"'
in_engine one MODULE LOAD "$module" >out 2>err
says out OK
what='without test-clock'
refuses 'unknown command' WEIR.CLOCK 5
what='memory of modules that have gone'
allocated() { to one INFO memory | tr -d '\r' | sed -n 's/^allocator_allocated://p'; }
for turn in {0..50}; do
    redis-cli -p "${engine_port[one]}" MODULE UNLOAD weir >out 2>err
    if [ "$turn" = 10 ]; then before=$(allocated); fi
    in_engine one MODULE LOAD "$module" >out 2>err
    says out OK
done
more=$(($(allocated) - before))
if [ "$more" -gt 10000000 ]; then fail "40 that have gone have left $more bytes"; fi # each has 650,000
echo 'the commands answer as they are documented'
