#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# documents.sh WEIR: what doc/engine.md, doc/operate.md and README.md show of an engine, done: the rights are enough and
# no more, calls answer as they are shown, programs run, and the functions and the module read every limit of the pages.
. "$(dirname "$(realpath "$0")")/lib/engine.sh" "$@"
needs jq
doc=$tree/doc/engine.md
operate=$tree/doc/operate.md
start_engine one
port=${engine_port[one]}
what='functions are loaded'
redis-cli -p "$port" -x FUNCTION LOAD REPLACE <"$functions" >out 2>err
says out weir

# The port is this engine's, and a test has no deadlines.
block() # LANGUAGE: the first of the pages
{
    cat "$operate" "$doc" | sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" |
        sed "/^\`\`\`/d; s/\(port[=:] *\)6379/\1$port/" |
        sed 's/socket_timeout=0.02/socket_timeout=60/; s/commandTimeout: 20//'
}

# ---- rights ----
what='the rights'
block acl >rule
if [ "$(wc -l <rule)" != 1 ]; then fail 'the rule is not one line, which is what people paste'; fi
read -ra rule <rule
run 'ACL SETUSER' redis-cli -p "$port" "${rule[@]}"
says out OK
weir_user() # WORD...: as that user
{
    redis-cli -p "$port" --user weir --pass secret --no-auth-warning "$@"
}
for refused in 'GET receipts:{other:}' \
    'SET other 1' 'FCALL weir_take 1 other 10/s' 'KEYS *' FLUSHALL 'FUNCTION FLUSH' 'CONFIG GET *'; do
    read -ra words <<<"$refused"
    set -f
    run "$refused" weir_user "${words[@]}"
    set +f
    grep -q '^NOPERM' out err || fail 'it is allowed'
done

what='the rights of who only calls functions'
read -ra rule_of_app < <(sed -n 's/^    \(ACL SETUSER app .*\)/\1/p' "$operate")
run 'ACL SETUSER app' redis-cli -p "$port" "${rule_of_app[@]}"
says out OK
run 'the secret of receipts, by who needs it' weir_user GET 'receipts:{weir:}'
ends 0
if grep -q NOPERM out err; then fail 'it is refused'; fi
app_user() # WORD...: as that user
{
    redis-cli -p "$port" --user app --pass other --no-auth-warning "$@"
}
run 'the secret of receipts, by who does not' app_user GET 'receipts:{weir:}'
grep -q '^NOPERM' out err || fail 'it is allowed'
for call in 'FCALL weir_take 1 {weir:app} 10/s 1' 'FCALL weir_take 1 {weir:log} 10/s\ algorithm=sliding-log 1' \
    'FCALL weir_take 1 {weir:slots} 2\ concurrent\ lease=1h 2' \
    'FCALL weir_take 1 {weir:slots} 2\ concurrent\ lease=1h 1' \
    'FCALL weir_forget 1 {weir:app}'; do
    eval "words=($call)"
    run "$call" app_user "${words[@]}"
    if [ ! -s out ] || grep -qE '^(ERR|NOPERM)' out err; then fail 'it is refused'; fi
done

# ---- the rights to install: what operate.md adds, on an engine that has nothing of weir's ----
start_engine fresh
run 'ACL SETUSER, fresh' redis-cli -p "${engine_port[fresh]}" "${rule[@]}"
says out OK
installing=$(sed -n 's/^    \(ACL SETUSER weir +function.*\)/\1/p' "$operate")
read -ra words <<<"$installing"
run "$installing" redis-cli -p "${engine_port[fresh]}" "${words[@]}"
says out OK
run 'weir engine install' "$weir" engine install "redis://weir:secret@127.0.0.1:${engine_port[fresh]}"
ends 0

# ---- calls ----
key='{weir:acme}'
run 'the first call' weir_user FCALL weir_take 1 "$key" '10/s burst=20' 1
printf '%s\n' allow 0 19 0 0 100000 >expected
head -n 6 out >six
same six expected
taken=$(sed -n 7p out)
calls=0
while IFS= read -r call; do
    call=${call//KEY/"{weir:row$calls}"}
    call=${call//LIMIT/"'10/s burst=20'"}
    call=${call//1795377042407670/$taken}
    eval "words=($call)"
    run "$call" weir_user "${words[@]}"
    if [ ! -s out ] || grep -qE '^(ERR|WEIR|NOPERM|WRONG)' out err; then fail 'it is refused'; fi
    calls=$((calls + 1))
done < <(sed -n 's/^| `\(FCALL [^`]*\)` |.*/\1/p' "$doc")
if [ $calls -lt 7 ]; then fail 'the page shows hardly any'; fi

# ---- the first page, as it is pasted ----
lines=0
while IFS= read -r line; do
    line=${line//build\/weir/\"\$weir\"}
    line=${line//.\/deploy.sh/true}
    line=${line//redis-cli/redis-cli -p $port}
    eval "words=(${line//127.0.0.1:6379/127.0.0.1:$port}"$'\n)' # behind a comment
    run "$line" "${words[@]}"
    ends 0
    if grep -qE '^(ERR|WEIR|NOPERM|WRONG)' out err; then fail 'it is refused'; fi
    lines=$((lines + 1))
done < <(sed -nE 's/^    ((build\/weir (engine|take) .*redis:|redis-cli FCALL).*)/\1/p' "$tree/README.md")
if [ $lines != 3 ]; then fail "README.md shows $lines of an engine"; fi

# ---- every limit on these pages, in the functions and in the module, and as weir's client writes it ----
# Shown as what an engine does not read.
riches=('1.5/s' '1.5M/s' '10 per minute' '10r/s' '12000,1.1' '1.5M bytes/s burst=10M')
printf '%s\n' "${riches[@]}" >riches
limits() # in `, ' or ", but what paces only, and what has a key each: lists with slots, tenants
{
    grep -ohE "[\`'\"][0-9][^\`'\"]*/[0-9]*[a-z]+[^\`'\"]*[\`'\"]" "$tree/README.md" \
        "$tree"/doc/{choose,bounds,engine,operate}.md |
        sed 's/^.//; s/.$//' | grep -vxFf riches | grep -vE '\.\.| for |arrivals=|concurrent.*;| under ' | sort -u
}
limits >texts
if [ "$(wc -l <texts)" -lt 15 ]; then fail 'the pages show hardly any limit'; fi
modules=()
if [ -e "$module" ]; then
    module_options
    start_engine module "${with_module[@]}"
    modules=(module)
    calls=0
    while IFS= read -r call; do
        call=${call//KEY/"{weir:row$calls}"}
        call=${call//LIMIT/"'10/s burst=20'"}
        call=${call//RECEIPT/$taken:5}
        call=${call// TURN / 5 }
        eval "words=($call)"
        run "$call" to module "${words[@]}"
        if [ ! -s out ] || grep -qE '^(ERR|WEIR|NOPERM|WRONG)' out err; then fail 'it is refused'; fi
        calls=$((calls + 1))
    done < <(grep -E '^\| `(WEIR|CL)\.' "$doc" | cut -d'|' -f2 | grep -oE '(WEIR|CL)\.[^`]*')
    if [ $calls -lt 7 ]; then fail 'the page shows hardly any command'; fi
else
    skip_part 'the commands of the module' 'weir-redis.so is not built'
fi
while IFS= read -r text; do
    run "FCALL weir_take, $text" weir_user FCALL weir_take 1 "{weir:$text}" "$text" PEEK
    says out allow
    for name in "${modules[@]}"; do
        run "WEIR.TAKE $text" to "$name" WEIR.TAKE "$text" k PEEK
        says out allow
    done
done <texts
what='the text that the page shows of weir explain'
explained=$(sed -n "s/^      for an engine   '\(.*\)'$/\1/p" "$doc")
command=$(sed -n 's/^    \$ weir \(explain .*\) | grep engine$/\1/p' "$doc")
eval "words=($command)"
run "weir $command" "$weir" "${words[@]}"
says out "  for an engine   '$explained'"
for rich in "${riches[@]}"; do
    grep -q -- "[\`']${rich//./\\.}[\`']" "$doc" || fail "the page does not show $rich any more"
    run "FCALL weir_take, $rich" weir_user FCALL weir_take 1 '{weir:rich}' "$rich" 1
    says out WEIRLIMIT
    "$weir" explain "$rich" --json | jq -r .engine >plain
    run "FCALL weir_take, $rich, plain" weir_user FCALL weir_take 1 '{weir:rich}' "$(cat plain)" 1
    says out allow
    for name in "${modules[@]}"; do
        run "WEIR.TAKE $rich" to "$name" WEIR.TAKE "$rich" rich
        says out "write '$(cat plain)'"
    done
    redis-cli -p "$port" DEL '{weir:rich}' '{weir:client}' >/dev/null
    run "weir take $rich --engine" "$weir" take "$rich" client --engine "redis://weir:secret@127.0.0.1:$port"
    ends 0
done
for n in 1 2 3 4; do # an older weir's set, and a log's own ring
    redis-cli -p "$port" ZADD '{weir:old}' "$((taken - n))" "$((taken - n)):000000" >/dev/null
    run "a log, call $n" weir_user FCALL weir_take 1 '{weir:ring}' '100/d algorithm=sliding-log'
    says out allow
done
run 'an old log' weir_user FCALL weir_take 1 '{weir:old}' '100/d algorithm=sliding-log'
says out 95
what='as a script'
sha=$(sed 1d "$functions" | weir_user -x SCRIPT LOAD)
run 'as a script' weir_user EVALSHA "$sha" 1 '{weir:script}' weir_take '10/s burst=20' 1
says out allow

# ---- programs ----
redis-cli -p "$port" ACL LOG RESET >/dev/null
redis-cli -p "$port" DEL "$key" >/dev/null
block python >client.py
if /usr/bin/python3 -c 'import redis' 2>/dev/null; then
    run 'redis-py' /usr/bin/python3 client.py
    echo 'go, 19 left' >expected
    same out expected
else
    skip_part 'its program in Python' "Python's module redis is not here"
fi
ioredis=$tree/test/serve/clients/node_modules/ioredis/built/index.js
if ! has_tool node || [ ! -e "$ioredis" ]; then
    skip_part 'its program in JavaScript' 'node or ioredis is not here' \
        'tools/deps test && tools/modules test/serve/clients'
else
    redis-cli -p "$port" DEL "$key" >/dev/null
    block js | sed "s|\"ioredis\"|\"$ioredis\"|" >client.mjs
    echo 'engine.disconnect()' >>client.mjs
    run 'ioredis' node client.mjs
    echo 'go, 19 left' >expected
    same out expected
fi

# ---- weir's own client; and nobody was refused a right on his way ----
url=redis://weir:secret@127.0.0.1:$port
run 'weir engine check' "$weir" engine check "$url"
ends 0
run 'weir take' "$weir" take '10/s burst=20' user:42 --engine "$url/1"
ends 0
# Newer clients of other languages say who they are, and go on where they may not.
run 'rights that were missing' redis-cli --json -3 -p "$port" ACL LOG
json out 'all(.object == "client|setinfo")'
