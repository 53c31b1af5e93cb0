#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# reload.sh WEIR: the file is read again, all of it or nothing, and what was used stays used.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli

takes() # VERDICT NAME
{
    run "WEIR.TAKE $2" redis-cli -p "$resp" WEIR.TAKE "$2" somebody
    if [ "$(head -n 1 out)" != "$1" ]; then fail "not $1"; fi
}

count_of() # WORDS
{
    grep -c -- "$1" serve.out
}

says_times() # WORDS TIMES
{
    [ "$(count_of "$1")" -ge "$2" ]
}

write_file() # LIMIT
{
    printf 'limits:\n  api: {limit: "%s"}\n' "$1" >new.yaml
    mv new.yaml weir.yaml
}

write_file '3/h'
start_serve weir.yaml --threads 2
says serve.out '; 1 limit of weir.yaml; state in memory only'
for _ in 1 2 3; do takes allow api; done
takes deny api

# ---- by signal: two more are free, since three were taken ----
write_file '3/h burst=5'
kill -HUP "$pid"
wait_for 'it is read again' says_times 'weir.yaml reloaded: 1 limit' 1
takes allow api
takes allow api
takes deny api

# ---- a wrong one changes nothing, also not what is right in it ----
printf 'limits:\n  other: {limit: "1/s"}\n  api: {limit: "10/"}\n' >new.yaml
mv new.yaml weir.yaml
kill -HUP "$pid"
wait_for 'it is refused' says_times '^weir.yaml:3:.*limits.api.limit.*the limits are unchanged' 1
takes deny api
run 'WEIR.TAKE other' redis-cli -p "$resp" WEIR.TAKE other somebody
says out NOLIMIT
rm weir.yaml
kill -HUP "$pid"
wait_for 'it is missed' says_times 'weir.yaml: No such file.*the limits are unchanged' 1
takes deny api
mkfifo weir.yaml # nobody writes to it: who reads it would wait, and do nothing else
kill -HUP "$pid"
wait_for 'a pipe is refused' says_times 'weir.yaml: is not a regular file.*the limits are unchanged' 1
takes deny api

# ---- by itself, when it changes ----
write_file '3/h burst=7'
wait_for 'the change is seen' says_times 'weir.yaml reloaded: 1 limit' 2
takes allow api
takes allow api
takes deny api

# ---- what only a restart changes ----
printf 'listen: {connections: 7}\nlimits:\n  api: {limit: "3/h burst=7"}\n' >new.yaml
mv new.yaml weir.yaml
kill -HUP "$pid"
wait_for 'it is said' says_times 'these need a restart: connections' 1

# ---- what was used stays as many permits, at most those of the new burst ----
printf 'limits:\n  api: {limit: "3/h burst=7"}\n  day: {limit: "100/d"}\n' >new.yaml
mv new.yaml weir.yaml
kill -HUP "$pid"
wait_for 'it has another limit' says_times 'weir.yaml reloaded: 2 limits' 1
run 'WEIR.TAKE day' redis-cli -p "$resp" WEIR.TAKE day somebody COST 60
if [ "$(head -n 1 out)" != allow ]; then fail 'not allow'; fi
printf 'limits:\n  api: {limit: "3/h burst=7"}\n  day: {limit: "10/s burst=20"}\n' >new.yaml
mv new.yaml weir.yaml
kill -HUP "$pid"
wait_for 'it says what is carried' \
    says_times 'weir: day: 100/d.* -> 10/s burst=20.*: usage is kept, at most the new burst' 1
passes() { [ "$(redis-cli -p "$resp" WEIR.TAKE day somebody | head -n 1)" = allow ]; }
wait_for 'a permit is back' passes
redis-cli -p "$resp" WEIR.LIMIT SET day 100/d >out
says out OK
run 'WEIR.TAKE day' redis-cli -p "$resp" WEIR.TAKE day somebody COST 100
if [ "$(head -n 1 out)" != deny ]; then fail 'what was used is forgotten'; fi

# ---- a key with another limit than the rest of them begins anew with that ----
with_override() # LIMIT
{
    printf 'limits: {api: "3/h burst=7", day: "50/d"}\noverrides: {day: {somebody: "%s"}}\n' "$1" >new.yaml
    mv new.yaml weir.yaml
    kill -HUP "$pid"
}
with_override 100/d
wait_for 'it has an override' says_times 'weir: day: overrides whose usage is reset: 1' 1
run 'WEIR.TAKE day' redis-cli -p "$resp" WEIR.TAKE day somebody COST 60
if [ "$(head -n 1 out)" != allow ]; then fail 'not allow'; fi
with_override '10/s burst=20'
wait_for 'it has another one' says_times 'weir: day: overrides whose usage is reset: 1' 2
takes allow day

# ---- a thousand under load: nobody is cut, and no answer is an error ----
redis-cli -p "$resp" -r 3000 WEIR.TAKE api somebody >load.out 2>&1 &
load=$!
for _ in {1..1000}; do kill -HUP "$pid"; done
what='the load'
wait_end "$load" 'all is answered'
ends 0
if [ "$(grep -c '^deny$' load.out)" != 3000 ]; then cp load.out out; fail 'not all are denied'; fi
takes deny api
clean_end

# ---- what a start alone reads: each is named ----
while IFS='|' read -r name before after; do
    printf '{%s}\n' "$before" >start.yaml
    start_serve start.yaml
    printf '{%s}\n' "$after" >new.yaml
    mv new.yaml start.yaml
    kill -HUP "$pid"
    wait_for "$name is named" says_times "these need a restart: $name\$" 1
    clean_end
done <<'EOF'
hosts|listen: {hosts: [a.example]}|listen: {hosts: [b.example]}
hosts|listen: {hosts: [a.example]}|listen: {hosts: [a.example, b.example]}
threads|threads: 1|threads: 2
table|table: {keys: 1000}|table: {keys: 2000}
EOF

# ---- --check ----
run 'weir serve --check' "$weir" serve weir.yaml --check
ends 0
says out 'api: 3/h burst=7 algorithm=gcra'
printf 'limits:\n  api: {limit: "9/h"}\n  day: {limit: "50/d algorithm=sliding-log"}\n' >next.yaml
run 'weir serve --check --against' "$weir" serve next.yaml --check --against weir.yaml
ends 0
says out 'weir: api: 3/h burst=7 algorithm=gcra -> 9/h burst=9 algorithm=gcra: usage is kept'
says out ' -> 50/d algorithm=sliding-log edge=open: another algorithm: usage is reset'
run '--against without --check' "$weir" serve next.yaml --against weir.yaml
ends 2
says err '--against needs --check'
run '--against what is not there' "$weir" serve next.yaml --check --against other.yaml
ends 2
says err 'other.yaml: No such file'
printf 'limits:\n  api: {limit: "10/"}\n' >weir.yaml
run 'weir serve --check' "$weir" serve weir.yaml --check
ends 2
silent out
if ! grep -qE '^weir.yaml:2:[0-9]+: limits.api.limit: ' err; then fail 'no place'; fi
run 'weir serve' "$weir" serve weir.yaml
ends 2
