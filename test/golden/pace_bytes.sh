#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_bytes.sh WEIR: a unit of bytes is understood and kept to, and bytes leave in small pieces, counted as bytes.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3

# ---- who counts bytes ----
yes 0123456789 | head -n 40 >in # 440 bytes
for arguments in 100kB/s '100kB/s --bytes' 'unlimited --bytes' '100kB/s -- true'; do
    run "$arguments" "$weir" pace --json $arguments <in
    ends 0
    json err '.granted == 440 and .bytes == 440 and .early == 0 and (.lines // .commands) == 40'
done
for arguments in 10000/s unlimited '10000/s -- true'; do
    run "$arguments" "$weir" pace --json $arguments <in
    ends 0
    json err '.granted == 40 and (has("bytes") or has("achieved_bytes_per_s") | not)'
done
run 'a list of bytes' "$weir" pace '100kB/s; 1GB/h' --json <in
ends 0
same out in
json err '.bytes == 440'

refused() # MESSAGE ARGUMENT...
{
    local message=$1
    shift
    run "pace $*" "$weir" pace "$@" <in
    ends 2
    silent out
    echo "weir: $message" >expected
    same err expected
}
both='one limit counts bytes and another does not; for both, connect two weir pace with a pipe'
refused 'pace: --bytes needs a limit in bytes; write 100B/s' 100/s --bytes
refused 'pace: --bytes needs a limit in bytes; write 250000B/min' '250k tokens/min' --bytes
refused 'pace: --bytes needs a limit in bytes; write 12000B/s' 12000,1.1 --bytes
refused 'pace: --bytes needs a limit in bytes; write 12000B/s catchup=1.2' 12000,1.2 --bytes
refused 'pace: --bytes needs a limit in bytes; write 5B/s' 5/s --bytes -- true
refused "pace: $both" '10kB/s; 100/s'
refused "pace: $both" '10kB/s; 100/s' --bytes
echo 100/s >limit
refused 'limit:1: --bytes needs a limit in bytes; write 100B/s' --rate-file limit --bytes
echo '100/s; 1kB/s' >limit
refused "limit:1: $both" --rate-file limit

# ---- the summary ----
says_in_bytes() # NOUN
{
    if ! grep -qE "^6 bytes \(2 $1\) in [0-9.]+ s, [0-9.,]+ B/s asked, [0-9.,]+ B/s" err; then
        fail 'no summary in bytes'
    fi
}

printf 'ab\ncd\n' >in
run 'the summary in bytes' "$weir" pace 10kB/s <in
ends 0
same out in
says_in_bytes lines
if ! grep -qE 'never early, never over by more than [0-9]+ bytes?$' err; then fail 'over is not in bytes'; fi
run 'the summary in bytes of commands' "$weir" pace 10kB/s -- true <in
says_in_bytes commands
run 'the summary in bytes, as JSON' "$weir" pace 10kB/s --json <in
json err '.target_bytes_per_s == 10000 and .target_per_s == 10000 and .achieved_bytes_per_s == .achieved_per_s'

# ---- pieces ----
# Each write of weir is one packet, whenever it is read; sizes get one line each.
cat >packets.py <<'END'
import socket
import subprocess
import sys

ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
weir = subprocess.Popen(sys.argv[1:], stdout=its)
its.close()
with open("pid", "w") as pid:
    print(weir.pid, file=pid)
with open("sizes", "w", buffering=1) as sizes, open("out", "wb") as out:
    while packet := ours.recv(1 << 22):
        print(len(packet), file=sizes)
        out.write(packet)
sys.exit(weir.wait())
END

# However late it wakes, there is one piece that it waited for and one that has become due since.
most_at_once() # BYTES
{
    local most
    most=$(sort -n sizes | tail -n 1)
    if [ "$most" -gt "$1" ]; then fail "$most bytes left at once, more than $1"; fi
}

in_pieces() # WORDS LIMIT
{
    what=$1
    python3 packets.py "$weir" pace "$2" --json <in 2>err
    status=$?
    ends 0
    same out in
}

head -c 300000 /dev/zero >in
in_pieces 'pieces of 100 ms' 500KiB/s
json err '.bytes == 300000 and .lines == 1 and .early == 0'
most_at_once 102400

{ echo short; head -c 50000 /dev/zero | tr '\0' y; echo; echo short; } >in
in_pieces 'a long line among short ones' 200kB/s
json err '.bytes == 50013 and .lines == 3'
most_at_once 40000

run 'a limit that refuses what is larger than its burst' "$weir" pace '500kB/s burst=300 algorithm=gcra' --json <in
ends 0
same out in
json err '.lines == 3'

yes 0123456789012345678 | head -n 20 >in
head -n 2 in >expected
for arguments in 100B/s 'unlimited --bytes'; do
    run "--count counts lines, not their pieces: $arguments" "$weir" pace $arguments --count 2 --json <in
    ends 0
    same out expected
    json err '.lines == 2 and .bytes == 40'
done

# ---- the rate file ----
say_new() { printf '%s\n' "$1" >limit.new && mv limit.new limit; }
said() { until_true grep -qF -- "$1" err; }
goes_on='; the previous limit stays in force'
what='the piece follows the rate'
printf '400kB/s\n' >limit
rm -f pid sizes
trap 'if [ -s pid ]; then kill "$(cat pid)"; fi 2>/dev/null; rm -rf "$room"' EXIT
python3 packets.py "$weir" pace --rate-file limit </dev/zero 2>err &
until_true test -s sizes
if [ "$(head -n 1 sizes)" != 40000 ]; then fail "the first piece has $(head -n 1 sizes) bytes, not 40000"; fi
say_new 10/s
said "weir: limit:1: while running the unit cannot change: bytes are counted, write 10B/s$goes_on"
say_new '10kB/s; 10/s'
said "weir: limit:1: $both$goes_on"
say_new 40kB/s
has_piece() { grep -qxE "$1|$(($1 * 2))" sizes; } # one or, where it woke late, two
wait_for 'a piece of 40kB/s' has_piece 4000
say_new 70kB/s
wait_for 'a piece of 70kB/s' has_piece 7000
kill "$(cat pid)"
wait
rm pid

what='lines go on as lines'
mkfifo pipe
rm -f out
echo 10000/s >limit
"$weir" pace --rate-file limit --json <pipe >out 2>err &
exec 9>pipe
echo first >&9
until_true test -s out
say_new 10kB/s
said "weir: limit:1: while running the unit cannot change: lines are counted, not bytes$goes_on"
exec 9>&-
wait $!
status=$?
ends 0

# A piece always waits; of the old size none may leave once the new limit is said to be in force.  One that was leaving
# just then is no fault, so it gets three tries.
large() { grep -cx 10000 sizes; }
for try in 1 2 3; do
    what="a piece that waits is cut anew, try $try"
    echo 100kB/s >limit
    rm -f pid sizes out
    python3 packets.py "$weir" pace --rate-file limit </dev/zero 2>err &
    until_true test -s sizes
    say_new 1kB/s
    said '1000 bytes/s'
    before=$(large)
    say_new 20kB/s
    wait_for 'a piece of 20kB/s' has_piece 2000
    kill "$(cat pid)"
    wait
    rm pid
    if [ "$(large)" = "$before" ]; then break; fi
done
if [ "$(large)" != "$before" ]; then fail "$before large pieces became $(large)"; fi

# What could not pass the new limit whole, passes.
what='a limit that refuses larger pieces'
printf '10kB/s burst=1000 algorithm=gcra\n' >limit
head -c 10000 /dev/zero >in
rm -f sizes out
python3 packets.py "$weir" pace --rate-file limit --json <in 2>err &
until_true test -s sizes
say_new '9kB/s burst=10 algorithm=gcra'
wait $!
status=$?
ends 0
same out in
