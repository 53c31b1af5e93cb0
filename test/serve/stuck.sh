#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stuck.sh WEIR: another process that has the state open is stopped while it has locks; keys under these are refused at
# once, and nothing else notices.
. "$(dirname "$0")/lib/start.sh" "$@"
needs python3 redis-cli curl

{
    echo 'limits: {hour: "1000/h algorithm=sliding-window", second: "1000/s"}'
    echo 'table: {keys: 10000}' # a small one is looked at every second
} >weir.yaml
start_serve weir.yaml --threads 1 --state state
redis-cli -p "$resp" WEIR.TAKE hour somebody >out
says out allow

# A third of all stripes, as if it had been stopped in the middle of that many calls.
cat >holder.py <<'PYTHON'
import fcntl, glob, os, signal, struct
F_OFD_SETLK = 37
held = [open(path, "r+b") for path in glob.glob("state.wide*") if not path.endswith(".parts")]
for one in held:
    fcntl.fcntl(one, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 1, 21, 0))
print(len(held), flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
PYTHON
python3 holder.py >held.out &
holder=$!
trap 'kill -KILL "$holder" 2>/dev/null; stop_all' EXIT
is_stopped() { grep -q '^State:.*T' "/proc/$holder/status"; }
wait_for 'it is stopped' is_stopped
says held.out 1

for number in {1..300}; do printf 'WEIR.TAKE hour key%d\n' "$number"; done | redis-cli -p "$resp" >out
allowed=$(grep -c '^allow$' out)
denied=$(grep -c '^deny$' out)
echo "of 300 keys $allowed are answered, $denied are under a lock that is kept"
if [ $((allowed + denied)) != 300 ] || [ "$allowed" -lt 120 ] || [ "$denied" -lt 30 ]; then fail 'not a third'; fi
redis-cli -p "$resp" WEIR.TAKE second somebody >out
says out allow
run '/healthz' curl -sf "http://127.0.0.1:$http/healthz"
ends 0
is_told() # the tables are looked at once a second
{
    curl -sf -o metrics "http://127.0.0.1:$http/metrics" && grep -qx "weir_table_stuck_total $denied" metrics
}
what='/metrics'
wait_for "it tells of $denied" is_told
run 'weir take' "$weir" take '1000/h algorithm=sliding-window' somebody --state other
ends 0
clean_end
kill -KILL "$holder"
wait "$holder" 2>/dev/null

start_serve weir.yaml --threads 1 --state state
for number in {1..300}; do printf 'WEIR.TAKE hour key%d\n' "$number"; done | redis-cli -p "$resp" >out
if [ "$(grep -c '^allow$' out)" != 300 ]; then fail 'they are not free again'; fi
clean_end

# ---- weir take: it waits 50 ms, and says what keeps it ----
run 'weir take' "$weir" take '1000/h algorithm=sliding-window' somebody --state mine
ends 0
sed -i 's/state\.wide/mine.wide/; s/SEEK_SET, 1, 21, 0/SEEK_SET, 1, 64, 0/' holder.py
python3 holder.py >held.out &
holder=$!
wait_for 'it is stopped' is_stopped
for look in '' --peek; do
    run "weir take $look, under a lock that is kept" timeout 10 \
        "$weir" take '1000/h algorithm=sliding-window' somebody --state mine $look
    ends 2
    says err "another process holds its lock and may be stopped; fuser mine"
done
kill -KILL "$holder"
wait "$holder" 2>/dev/null
run 'weir take, once it is gone' "$weir" take '1000/h algorithm=sliding-window' somebody --state mine
ends 0
