#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manual.sh WEIR: what weir-serve(1), weir.yaml(5) and the README show is so.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli curl
pages=$tree/doc/man

# ---- weir.yaml(5): its example, and the mistake that it shows ----
awk '/^\.Bd/ { shown = 1; next } /^\.Ed/ { exit } shown' "$pages/weir.yaml.5" | sed 's/\\-/-/g' >weir.yaml
if [ "$(wc -l <weir.yaml)" -lt 5 ]; then fail 'weir.yaml(5) shows no file'; fi
run 'the file of weir.yaml(5)' "$weir" serve weir.yaml --check
ends 0
sed 's|60 requests/min; 100k tokens/min|10/|' weir.yaml >wrong.yaml
run 'the mistake of weir.yaml(5)' "$weir" serve wrong.yaml --check
ends 2
grep -o '[0-9]*:[0-9]*: limits.*' err >found
grep -o '[0-9]*:[0-9]*: limits.*' "$pages/weir.yaml.5" >expected
same found expected
run 'the file of the examples' "$weir" serve "$examples/weir.yaml" --check
ends 0

# ---- weir-serve(1): each command and each path is there ----
start_serve
awk '/^\.Sh/ { here = $2 == "REDIS" } here && /^\.It Cm/' "$pages/weir-serve.1" | sed 's/ \(Ar\|Op\|Oo\) .*//' |
    tr -d ',' | cut -d ' ' -f 3- >commands
for command in $(cat commands); do
    case $command in LIST | SET | GET | DEL) continue ;; esac
    run "$command" redis-cli -p "$resp" "$command"
    if grep -qi 'unknown command' out; then fail 'weir-serve(1) has it, and weir has not'; fi
done
if [ "$(wc -w <commands)" -lt 12 ]; then fail 'weir-serve(1) has hardly any commands'; fi
awk '/^\.Sh/ { here = $2 == "HTTP" } here && /^\.It Li (GET|POST)/' "$pages/weir-serve.1" | cut -d ' ' -f 3- |
    tr -d , >paths
while read -r method line; do
    for path in $line; do
        run "$method $path" curl -sS -o body -w '%{http_code}' -X "$method" "http://127.0.0.1:$http$path"
        if [[ $(cat out) == 40[45] ]]; then fail "$(cat out): weir-serve(1) has it, and weir has not"; fi
    done
done <paths
if [ "$(wc -l <paths)" -lt 10 ]; then fail 'weir-serve(1) has hardly any paths'; fi

# ---- the README: as it stands there, but for the ports ----
grep -E '^    (redis-cli -p 9347|curl .*:9348)' "$tree/README.md" | sed "s/9347/$resp/; s/9348/$http/" >lines
if [ "$(wc -l <lines)" -lt 2 ]; then fail 'the README asks nothing'; fi
while read -r line; do
    run "$line" bash -c "$line"
    ends 0
    says out allow
done <lines
clean_end
