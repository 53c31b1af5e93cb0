#!/bin/sh
# SPDX-License-Identifier: MIT
# redis.sh TENANT GUESS COMMAND [ARGUMENT...]: 100,000 tokens a minute for each tenant, where what a call cost is known
# only afterwards.  The guess is taken first; the command prints how many tokens it used, and that is settled.
#   PORT=9347 examples/serve/redis.sh acme 4000 ./ask-model "how far is the moon?"

# When weir cannot be reached or does not answer, no model is asked: what it costs would not be counted.  true: it is.
FAIL_OPEN=false

port=${PORT:-9347}
tenant=$1 guess=$2
shift 2

weir() # COMMAND [ARGUMENT...]: fails where there is no answer within 2 s; redis-cli would wait for ever
{
    timeout 2 redis-cli -p "$port" "$@"
}

# One line each: verdict, limit, remaining, delay_ns, retry_ns, full_ns, receipt.
if ! answer=$(weir WEIR.TAKE '100k tokens/min' "$tenant" COST "$guess"); then
    if [ "$FAIL_OPEN" = true ]; then exec "$@"; fi
    exit 125
fi
line()
{
    printf '%s\n' "$answer" | sed -n "$1p"
}

case $(line 1) in
allow) ;;
deny)
    echo "$tenant: again in $(($(line 5) / 1000000)) ms" >&2
    exit 75
    ;;
*) # never, or what redis-cli says of an error
    echo "$tenant: $(line 1)" >&2
    exit 75
    ;;
esac
if ! used=$("$@"); then used=0; fi # it never ran: all of it goes back
if weir WEIR.SETTLE "$(line 7)" "$used" >/dev/null; then
    echo "$tenant: $used tokens instead of $guess"
else # as if all of the guess had been used
    echo "$tenant: $used tokens, and $guess stay taken" >&2
fi
