#!/bin/sh
# SPDX-License-Identifier: MIT
# redis.sh TENANT GUESS COMMAND [ARGUMENT...]: 100,000 tokens a minute for each tenant, where what a call cost is known
# only afterwards.  The guess is taken first; the command prints how many tokens it used, and that is settled.
#   PORT=9347 examples/serve/redis.sh acme 4000 ./ask-model "how far is the moon?"
port=${PORT:-9347}
tenant=$1 guess=$2
shift 2

# One line each: verdict, limit, remaining, delay_ns, retry_ns, full_ns, receipt.
answer=$(redis-cli -p "$port" WEIR.TAKE '100k tokens/min' "$tenant" COST "$guess") || exit 125
line()
{
    printf '%s\n' "$answer" | sed -n "$1p"
}

if [ "$(line 1)" != allow ]; then
    echo "$tenant: $(line 1), again in $(($(line 5) / 1000000)) ms" >&2
    exit 75
fi
if ! used=$("$@"); then used=0; fi # it never ran: all of it goes back
redis-cli -p "$port" WEIR.SETTLE "$(line 7)" "$used" >/dev/null
echo "$tenant: $used tokens instead of $guess"
