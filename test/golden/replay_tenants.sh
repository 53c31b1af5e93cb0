#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_tenants.sh WEIR: tenants of a log, against a model with fractions, and what is refused.
. "$(dirname "$0")/lib/check.sh" "$@"
needs python3 jq
model=$lib/tenants_model.py
seed=${WEIR_SEED:-$RANDOM}
echo "seed $seed (again: WEIR_SEED=$seed)"
format='$tenant $msec'
python3 "$model" make "$seed" 20000 >log || exit 1

agrees() # PARENT NAME=LIMIT...
{
    agrees_on log "$@"
}

agrees_on() # LOG PARENT NAME=LIMIT...
{
    local log=$1 parent=$2 arguments=() text
    shift 2
    for text; do arguments+=(--tenant-limit "$text"); done
    python3 "$model" decide "$parent" "$log" "$@" >expected || fail 'the model failed'
    run "$parent with $*" "$weir" replay "$parent" --tenant tenant ${arguments[@]+"${arguments[@]}"} --json \
        --timestamps start --format "$format" "$log"
    ends 0
    silent err
    cp out report
    jq -S -c '.tenants.most | map({(.key): {requests, guaranteed, borrowed, denied, denied_alone}}) | add' report >told
    head -n 1 expected | jq -S -c . >counts
    same told counts
    json report '.tenants.starved == 0'
    json report '[.limits[].denied] == [.tenants.denied, .tenants.denied_alone]'
    lines=$(wc -l <"$log")
    json report ".tenants.requests == $lines and (.tenants | .guaranteed + .borrowed + .denied) == $lines"
    json report '.tenants | .denied > 0 and .borrowed > 0'
    run "each of $parent with $*" "$weir" replay "$parent" --tenant tenant ${arguments[@]+"${arguments[@]}"} --each \
        --timestamps start --format "$format" "$log"
    jq -s -j 'map(select(.limit | endswith(" with tenants")) | if .allowed then 1 else 0 end) | join("")' out >told
    tail -n 1 expected | tr -d '\n' >verdicts
    same told verdicts
    echo "$what: $(jq -c '.tenants | del(.most)' report)"
}

agrees '100/s burst=20' 'acme=30/s guaranteed burst=5' 'globex=25/s guaranteed burst=10' 'initech=20/s guaranteed'
agrees '100/s burst=20' 'acme=50/s guaranteed burst=5; 70/s' 'globex=50/s guaranteed burst=1' '*=40/s burst=3'
agrees '1000/min burst=10' 'acme=900/min guaranteed burst=7' 'other=100/min guaranteed burst=2; 200/min burst=4'
agrees '100/s'

# ---- weights: exactly, and about what max-min shares are ----
agrees '100/s burst=20' 'acme=unlimited weight=1' 'globex=unlimited weight=2' '*=unlimited weight=5'
agrees '100/s burst=40' 'acme=20/s guaranteed burst=5 weight=3; 70/s' 'globex=30/s guaranteed weight=1' \
    '*=40/s weight=10'
agrees '1000/min burst=10' 'acme=900/min guaranteed burst=7 weight=1' 'other=unlimited weight=7' \
    '*=unlimited weight=1000'
agrees '2000/s burst=1' 'acme=unlimited weight=1' '*=unlimited weight=3'

# One a second wants less than its share; the others want more than all of it.
awk 'BEGIN { for (ms = 0; ms < 20000; ms++) {
    if (ms % 100 == 0) printf "few %.3f\n", 1764504000 + ms / 1000
    if (ms % 2 == 0) printf "one %.3f\ntwo %.3f\n", 1764504000 + ms / 1000, 1764504000 + ms / 1000
    if (ms % 2 == 1) printf "five %.3f\n", 1764504000 + ms / 1000 } }' >flood
agrees_on flood '400/s burst=50' 'one=unlimited weight=1' 'two=unlimited weight=2' 'five=unlimited weight=5' \
    '*=unlimited weight=1'
json report '[.tenants.most[] | select(.key == "few").denied] == [0]'
share() # NAME EIGHTHS: of what few leaves, 390 a second for 20 seconds
{
    json report "[.tenants.most[] | select(.key == \"$1\").borrowed / (390 * 20 * $2 / 8)][0] |
        . > 0.97 and . < 1.03"
}
share one 1
share two 2
share five 5

# Whole seconds: as they are, and spread.
awk '{ printf "%s %d\n", $1, $2 }' log >seconds
run 'whole seconds' "$weir" replay '100/s burst=20' --tenant tenant --tenant-limit 'acme=60/s guaranteed' --json \
    --timestamps start --format "$format" seconds
ends 0
json out ".limits[0].denied_spread == $(python3 "$model" spread '100/s burst=20' seconds 'acme=60/s guaranteed')"
json out '.limits[0].denied_spread < .limits[0].denied'

# ---- the report ----
printf '%s\n' 'acme 1764504000.0' 'acme 1764504000.0' 'acme 1764504000.1' 'bulk 1764504000.2' 'bulk 1764504000.2' >few
run 'the report' "$weir" replay '1/s burst=2' --tenant tenant --tenant-limit acme='1/min guaranteed burst=3' \
    --timestamps start --format "$format" few
ends 0
cat >expected <<'END'
  tenant                   requests   guaranteed   borrowed   refused   starved     alone
  acme                            3            3          0         0         0         1
  bulk                            2            0          0         2         0         2
  all                             5            3          0         2         0         3
  starved: refused within its guarantee; alone: refused by 1/s burst=2 without tenants
END
sed -n '/^  tenant /,$p' out >told
same told expected

# ---- what is refused ----
refuses() # WORDS ARGUMENT...
{
    run "refuses: $1" "$weir" replay "${@:2}" --format "$format" log
    ends 2
    silent out
    says err "$1"
}
refuses '140/s in total, more than the 100/s of their parent' 100/s --tenant tenant \
    --tenant-limit 'acme=80/s guaranteed' --tenant-limit 'globex=60/s guaranteed'
refuses 'globex has no weight and others have one: give one to each, or to none' 100/s --tenant tenant \
    --tenant-limit 'acme=unlimited weight=2' --tenant-limit 'globex=60/s guaranteed' --tenant-limit '*=9/s weight=1'
refuses '"*" has no weight and others have one' 100/s --tenant tenant --tenant-limit 'acme=unlimited weight=2'
refuses 'weights share a rate' '100/min algorithm=sliding-log' --tenant tenant --tenant-limit '*=unlimited weight=2'
refuses 'the 60/s of globex' 100/s --tenant tenant --tenant-limit 'acme=80/s guaranteed' \
    --tenant-limit 'globex=60/s guaranteed'
refuses 'expected NAME=LIMIT' 100/s --tenant tenant --tenant-limit '80/s guaranteed'
refuses 'this tenant was given before' 100/s --tenant tenant --tenant-limit acme=8/s --tenant-limit acme=9/s
refuses 'how many others there are is not known' 100/s --tenant tenant --tenant-limit '*=8/s guaranteed'
refuses 'for rates' 100/s --tenant tenant --tenant-limit 'acme=2 concurrent lease=1s'
refuses 'for rates' '2 concurrent lease=1s' --tenant tenant
refuses 'leave out --or' 100/s --tenant tenant --or 50/s
refuses 'leave out --key' 100/s --tenant tenant --key tenant
refuses 'choose --nodes or --tenant' 100/s --tenant tenant --nodes 8
refuses 'for example --tenant user' 100/s --tenant-limit acme=8/s
refuses 'no field "customer"' 100/s --tenant customer
