#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# take.sh WEIR: what is allowed, what is refused, in which words and with which status.
# Limits are of hours, so that no permit comes back while the test runs.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq
export HOME=$room/home
mkdir "$HOME"
unset XDG_STATE_HOME

passes() # ARGUMENT...: and says nothing
{
    run "take $*" "$weir" take "$@"
    ends 0
    silent out
    silent err
}

refused() # STATUS ARGUMENT...
{
    local expected=$1
    shift
    run "take $*" "$weir" take "$@"
    ends "$expected"
    silent out
    says err 'weir: refused: '
}

wrong() # WORDS ARGUMENT...: status 2 and the words on standard error
{
    local words=$1
    shift
    run "take $*" "$weir" take "$@"
    ends 2
    silent out
    says err "$words"
}

# ---- three in a row, and no more ----
for turn in 1 2 3; do passes 3/h deploy; done
refused 1 3/h deploy
if ! grep -qE '^weir: refused: deploy has used 3/h; again in (19 min [0-9]+ s|20 min)$' err; then
    fail 'not in these words'
fi
refused 0 3/h deploy -E 0
refused 7 3/h deploy --refused 7
refused 255 3/h deploy -E 255
passes 3/h other
refused 1 3/h other --cost 3
says err 'other has 2 left of 3/h, not 3; again in '

what='where the state is'
if [ "$(stat -c %a home/.local home/.local/state home/.local/state/weir home/.local/state/weir/take | tr '\n' ' ')" != \
    '700 700 700 600 ' ]; then fail 'a folder or the file is open to others'; fi
if [ -n "$(find home -name 'take.*')" ]; then fail 'limits by gcra need one file'; fi

# ---- without a key the limit is the key, however it is spelled ----
passes 1/h
refused 1 '1 / h'
says err 'weir: refused: 1 / h is used up; again in '
passes 1/h key
refused 1 1/h '1/h burst=1 algorithm=gcra'

# ---- with a command ----
run 'its streams and its status' "$weir" take 9/h command -- sh -c 'cat; echo to err >&2; exit 42' <<<'to out'
ends 42
echo 'to out' >expected
same out expected
echo 'to err' >expected
same err expected
run 'its name' "$weir" take 9/h command -- sh -c 'echo "$0" "$@"' --json -- --peek
echo '--json -- --peek' >expected
same out expected
run 'its process' sh -c 'echo $$; exec "$0" take 9/h command -- sh -c "echo \$\$"' "$weir"
ends 0
if [ "$(uniq out | wc -l)" != 1 ]; then fail 'it is another one'; fi
if [ -e /proc/self/fd ]; then
    run 'its descriptors' "$weir" take 9/h command -- ls /proc/self/fd </dev/null
    ls /proc/self/fd </dev/null 2>err >expected
    same out expected
else
    skip_part 'golden/take: what a command finds' '/proc is not here' 'mount -t proc proc /proc'
fi
if [ -e /proc/self/status ]; then
    grep -E '^Sig(Blk|Ign)' /proc/self/status >ours
    run 'its signals' "$weir" take 9/h command --wait 1h -- grep -E '^Sig(Blk|Ign)' /proc/self/status
    grep -E '^Sig(Blk|Ign)' /proc/self/status >expected
    same out expected
fi
touch not_run
passes 1/h once -- rm not_run
refused 75 1/h once -- touch run
refused 3 1/h once -E 3 -- touch run
if [ -e not_run ] || [ -e run ]; then fail 'it was not run when allowed, or was when refused'; fi

# ---- a command that could not be started has used nothing ----
for turn in 1 2; do
    run 'no such command' "$weir" take 1/h nothing -- ./not-there
    ends 127
    says err './not-there: No such file'
    run 'no program' "$weir" take 1/h nothing -- "$room"
    ends 126
    says err 'Permission denied'
done
passes 1/h nothing

# ---- looking ----
run 'peek' "$weir" take 3/h looked --peek
ends 0
cat >expected <<'END'
would pass; 2 more at once
3/h burst=3 algorithm=gcra
  in any hour     at most 5.   For never more than 3 in any hour: '3/h algorithm=sliding-log'
END
same out expected
silent err
passes 3/h looked --cost 3
run 'peek at what is used' "$weir" take 3/h looked --peek -E 9
ends 9
silent err
says out 'would be refused: looked has used 3/h; again in '
run 'peek, the last one' "$weir" take 1/h last --peek
says out 'would pass; no more at once'
# ---- forgotten ----
for state in state wide; do
    limit='2/h burst=2'
    if [ $state = wide ]; then limit='2/h algorithm=sliding-window'; fi
    for _ in 1 2; do "$weir" take "$limit" "reset-$state"; done
    run 'reset' "$weir" take "$limit" "reset-$state" --reset
    ends 0
    silent out
    silent err
    run 'after it' "$weir" take "$limit" "reset-$state"
    ends 0
done

run 'peek without a rate' "$weir" take unlimited --peek
ends 0
says out 'would pass; any number more at once'
mkdir empty
run 'peek without a file' env XDG_STATE_HOME="$room/empty" "$weir" take '1/h algorithm=leaky; 3/d' new --peek
ends 0
says out 'leaky'
if [ -n "$(ls empty)" ]; then fail 'it made a file'; fi

# ---- for programs ----
run 'JSON' "$weir" take 3/h json --cost 2 --json
ends 0
silent err
json out '.allowed == true and .limit == "3/h burst=3 algorithm=gcra" and .key == "json" and .charged == 2
          and .remaining == 1 and .start_ns > 0 and .delay_ns == 0 and .retry_ns == 0'
run 'JSON of a refusal' "$weir" take 3/h json --cost 2 --json
ends 1
silent err
json out '.allowed == false and .charged == 0 and .remaining == 1 and .retry_ns > 1.1e12 and .retry_ns <= 1.2e12'
run 'JSON of what can never pass' "$weir" take 3/h json --cost 4 --json
ends 2
json out '.allowed == false and .retry_ns == null'
run 'JSON, looked at' "$weir" take 3/h json --peek --json
ends 0
json out '.allowed == true and .charged == 0 and .remaining == 0'
run 'JSON without a rate' "$weir" take unlimited --json
json out '.allowed == true and .remaining == null'
run 'JSON without a key' "$weir" take '2/h;5/d' --json
json out '.limit == "2/h burst=2 algorithm=gcra; 5/d burst=5 algorithm=gcra" and .key == .limit'

# ---- keys of any bytes ----
key=$'"\\\t\n\x01\x7f\xc3\xa4 \xe2\x82\xac'
run 'a key with odd characters' "$weir" take 1/h "$key" --json
json out '.key == "\"\\\t\n\u0001\u007fä €"'
refused 1 1/h "$key"
says err $'"\\????\xc3\xa4 \xe2\x82\xac has used'
for key in $'\xff' $'\xc0\x80' $'a\xe2\x82' $'\xe2\x82z' \
    $'\xf5\x80\x80\x80' $'\xe0\x80\x80' $'\xe0\x9f\xbf' \
    $'\xf0\x8f\xbf\xbf' $'\xed\xa0\x80' $'\xf0\x80\x80\x80' $'\xf4\x90\x80\x80'; do
    run 'a key that is no UTF-8' "$weir" take 1/h "$key" --json
    ends 0
    json out '.key | contains("\ufffd")'
    if ! python3 -c 'open("out", encoding="utf-8").read()' 2>err; then fail 'that is no text'; fi # jq would read it
done
for key in $'\xdf\xbf' $'\xe0\xa0\x80' $'\xed\x9f\xbf' $'\xee\x80\x80' $'\xef\xbf\xbe' \
    $'\xf0\x90\x80\x80' $'\xf4\x8f\xbf\xbf'; do
    run 'a key that is UTF-8, but only just' "$weir" take 1/h "$key" --json
    ends 0
    if [ "$(jq -r .key out)" != "$key" ]; then fail 'it is another'; fi
done
passes 1/h $'\xfe' # each of those is another key
passes 1/h "$(head -c 4096 /dev/zero | tr '\0' k)"
refused 1 1/h "$(head -c 4096 /dev/zero | tr '\0' k)"
says err "refused: $(head -c 60 /dev/zero | tr '\0' k)... has used"
wrong 'a key has 1 to 4096 bytes' 1/h "$(head -c 4097 /dev/zero | tr '\0' k)"
wrong 'a key has 1 to 4096 bytes' 1/h ''

# ---- a cost by unit ----
units='60 requests/w; 1k tokens/w'
run 'a cost by unit' "$weir" take "$units" units --cost tokens=0.9k,requests=2 --json
json out '.allowed and .charged == {"requests": 2, "tokens": 900}'
run 'a unit that is not named is a request' "$weir" take "$units" units --cost tokens=1 --json
json out '.allowed and .charged == {"requests": 1, "tokens": 1} and .remaining == 57'
refused 1 "$units" units --cost tokens=8,requests=58
says err 'units has 57 left of 60/w burst=60 algorithm=gcra, not 58'
refused 1 "$units" units --cost tokens=200 --wait 1s
says err 'units has 99 left of 1000 tokens/w burst=1000 algorithm=gcra, not 200'
run 'refused, of a cost by unit' "$weir" take "$units" units --cost tokens=200 --json
json out '.allowed == false and .charged == {"requests": 0, "tokens": 0}'
run 'a command that could not be started has used nothing' "$weir" take "$units" units --cost tokens=50 -- ./not-there
ends 127
run 'a cost by unit, looked at' "$weir" take "$units" units --cost tokens=50 --peek --json
json out '.allowed and .charged == {"requests": 0, "tokens": 0} and .remaining == 49'
passes '5/h; 9/d' both --cost requests=5
refused 1 '5/h; 9/d' both
wrong '--cost "812": limits count requests and tokens: write --cost tokens=812' "$units" units --cost 812
wrong '--cost "token=812": "token" is no unit here; limits count requests and tokens: write --cost tokens=812' \
    "$units" units --cost token=812

# ---- what can never pass ----
wrong 'can never be allowed: the limit "none" lets nothing through' none
wrong 'can never be allowed: 2000000 tokens are more than 100000 tokens/min burst=100000 algorithm=gcra can let' \
    '60 requests/min; 100k tokens/min' --cost tokens=2M
wrong 'can never be allowed: 4 requests are more than 3/h burst=3 algorithm=gcra can let through at once' 3/h --cost 4
wrong 'can never be allowed: 4 requests are more than 3/d burst=3 algorithm=gcra can' '10/h;3/d' --cost 4
wrong 'can never be allowed: 18446744073709551615 requests are more than 3/h' 3/h --cost 18446744073709551615
run 'never, with a command' "$weir" take none -E 9 -- touch run
ends 125

# ---- bad usage ----
wrong 'expected a limit; for example weir take 3/h deploy'
wrong 'unexpected argument "more"; quote a limit that has spaces' 3/h key more
wrong 'column 3: ' 3/month
wrong 'there is no option --colour' 3/h --colour
wrong 'column 1: expected a slash and a period; write 3/s for so many a second' 3 x
wrong '--cost needs a value' 3/h --cost
for cost in -1 1.5 one 1,5; do
    wrong "--cost \"$cost\": expected a whole number; for example --cost 5" 3/h --cost "$cost"
done
for cost in 0 requests=0; do wrong "--cost \"$cost\": expected a whole number from 1" 3/h --cost "$cost"; done
for status in 256 -1 1.5 ''; do
    wrong "--refused \"$status\": expected a whole number from 0 to 255" 3/h -E "$status"
done
wrong '--wait "10": expected a time; for example 500ms' 3/h --wait 10
wrong '--state "": expected the path of a file' 3/h --state ''
wrong 'has nothing to --wait for' 3/h --peek --wait 1s
run 'no command' "$weir" take 3/h --
ends 125
says err 'expected a command after --'
for option in --peek --json; do
    run "$option with a command" "$weir" take 3/h $option -- touch run
    ends 125
    says err 'cannot be used with a command'
done
run 'a command without a limit' "$weir" take -- touch run
ends 125
says err 'expected a limit; for example weir take 3/h deploy'
run 'a bad limit with a command' "$weir" take 3/month -- touch run
ends 125
run 'help' "$weir" take --help
ends 0
says out 'usage: weir take LIMIT [KEY]'
if [ -e run ]; then fail 'a command was run all the same'; fi
