#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# redis_py.sh WEIR: the client of Python: answers, pipelines, errors, a password; the example.
. "$(dirname "$0")/lib/start.sh" "$@"
needs_python redis

printf 'password: open sesame\nadmin_password: a login may forget\n' >weir.yaml
start_serve weir.yaml
has_receipts 'serve/redis_py: receipts' >skipped || export NO_RECEIPTS=1
cat skipped
run 'redis-py' /usr/bin/python3 "$tree/test/serve/clients/redis_py.py" "$resp" 'open sesame'
ends 0
says out done

# ---- the example: five tries, and who knows the password starts anew ----
export PORT=$resp WEIR_PASSWORD='a login may forget'
try() # WORD EXPECTED_STATUS ADDRESS
{
    run "try $1 of $3" /usr/bin/python3 "$examples/redis_client.py" alice "$3" <<<"$1"
    ends "$2"
}
for _ in {1..4}; do try guess 0 203.0.113.9; done
try 'open sesame' 0 203.0.113.9
says out welcome
for _ in {1..5}; do try guess 0 203.0.113.9; done
try guess 1 203.0.113.9
says err 'too many tries: again in'
try 'open sesame' 1 198.51.100.7

# ---- the verdict never, a wrong password, and weir away, with either state of FAIL_OPEN ----
sed 's/^FAIL_OPEN = False/FAIL_OPEN = True/' "$examples/redis_client.py" >open.py
if cmp -s open.py "$examples/redis_client.py"; then fail 'no switch'; fi
for file in "$examples/redis_client.py" open.py; do
    sed 's/"50.15min algorithm=sliding-log"/"none"/' "$file" >never.py
    run "never, $file" /usr/bin/python3 never.py bob 192.0.2.1 <<<guess
    ends 1
    says err refused
    run "a wrong password, $file" env WEIR_PASSWORD=wrong /usr/bin/python3 "$file" bob 192.0.2.1 <<<guess
    ends 1
    run "no password, $file" env -u WEIR_PASSWORD /usr/bin/python3 "$file" bob 192.0.2.1 <<<guess
    ends 1
done
clean_end
run 'away, closed' /usr/bin/python3 "$examples/redis_client.py" bob 192.0.2.1 <<<guess
ends 1
says err refused
run 'away, open' /usr/bin/python3 open.py bob 192.0.2.1 <<<guess
ends 0
