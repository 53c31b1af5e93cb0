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
clean_end
