#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# localhost.sh WEIR: an engine at localhost is found wherever it listens, and whether or not this machine has a file
# that says what localhost is.
. "$(dirname "$0")/lib/ask.sh" "$@"
needs_v6

takes_from() # PORT
{
    open_ask "redis://localhost:$1"
    order limit '1/h burst=5'
    order take "at-$1" 1 6
    { printf 'allow remaining %d from engine\n' 4 3 2 1 0 && echo 'deny remaining 0 from engine'; } >expected
    same out expected
    counts outage_count -eq 0
    counts connects -eq 1 # an attempt is one, however many addresses it took
    order check
    says out 'done 0'
    run "weir take at $1" "$weir" take 3/h deploy --engine "redis://LocalHost:$1"
    ends 0
    run "weir engine check at $1" "$weir" engine check "redis://localhost:$1"
    ends 0
}

for addresses in '::1' '127.0.0.1' '127.0.0.1 ::1'; do
    start_engine "at ${addresses}" --bind $addresses
    takes_from "${engine_port[at $addresses]}"
done

# It moves from one of the two to the other, and is found again.
start_engine six --bind ::1
port=${engine_port[six]}
open_ask "redis://localhost:$port"
order limit '1/h burst=5'
order take first
says out 'allow remaining 4 from engine'
kill_engine six
until_true is_away
engine_options[six]='--bind 127.0.0.1'
restart_engine six
until_true answers

# One of the two says nothing at all: its queue of connections is full.  The next attempt begins with the other one.
what='an address that says nothing'
engine_options[six]='--bind ::1'
kill_engine six
restart_engine six
cat >full.py <<'END'
import socket, sys, time
full = socket.socket()
full.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
full.bind(('127.0.0.1', int(sys.argv[1])))
full.listen(0)
held = []
for _ in range(8):
    held.append(socket.socket())
    held[-1].setblocking(False)
    held[-1].connect_ex(full.getsockname())
print('full', flush=True)
time.sleep(600)
END
/usr/bin/python3 full.py "$port" >full.out 2>&1 &
full=$!
others+=($full)
until_true grep -q full full.out
open_ask "redis://localhost:$port" deadline=100
order limit '1/h burst=5'
order take second
says out 'no connection within 100 ms'
until_true answers
end_process $full

# Nobody there: why is what the first address says.
kill_engine six
run 'nobody there' "$weir" engine check "redis://localhost:$port"
ends 1
says out "localhost:$port: cannot be reached: Connection refused"
close_ask
