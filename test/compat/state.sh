#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# state.sh WEIR: the files in which an older weir take and weir serve kept what was used; and files that they cannot go
# on with: each is refused with the command that helps, stays as it is, and that command helps.
. "$(dirname "$0")/../serve/lib/start.sh" "$@"
. "$tree/test/compat/lib/releases.sh"
needs redis-cli
if ! "$weir" serve --help | grep -e --state >/dev/null; then
    echo 'skipped: compat/state: weir is built without weir serve; cure: tools/deps test, tools/build'
    exit 77
fi

# ---- what older versions wrote ----
used_up_by_take() # LIMIT KEY
{
    run "take $1 $2" "$weir" take "$1" "$2" --state old/take
    ends 1
    says err "refused: $2"
}

used_up_by_serve() # LIMIT KEY
{
    run "WEIR.TAKE $1 $2" redis-cli -p "$resp" WEIR.TAKE "$1" "$2"
    says out deny
}

for release in $(releases); do
    unpack "$release" state old
    while IFS='|' read -r limit key _ <&3; do used_up_by_take "$limit" "$key"; done 3< <(taken "$release")
    run 'another key' "$weir" take 10/30d fresh --state old/take
    ends 0
    start_serve --state old/serve
    while IFS='|' read -r limit key _ <&3; do used_up_by_serve "$limit" "$key"; done 3< <(taken "$release")
    used_up_by_serve 20/60d settled
    run 'a receipt of before' redis-cli -p "$resp" WEIR.SETTLE "$(cat "$compat/$release/state/receipt")" 5
    says out 'BADRECEIPT '
    if [ "$release" = 0.1.0 ] && has_receipts 'compat/state: why a receipt is refused'; then
        says out 'BADRECEIPT this is no receipt, or one of an earlier weir, which cannot be settled any more'
    fi
    used_up_by_serve 20/60d settled
    clean_end
done

# ---- what cannot be gone on with ----
flip() # FILE BYTE: its lowest bit
{
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059 # the byte is the format
    printf "\\x$(printf %02x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# The command at the end of what was said, as a shell would do it.
helps() # FILE
{
    local command
    command=$(sed -n 's/.*; to start afresh: \(mv .*\)$/\1/p' err | sed 's/; --state FILE keeps it elsewhere$//')
    if [ -z "$command" ]; then fail 'it does not say which command helps'; fi
    rm -f "$1.old"
    bash -c "$command" || fail "this does not help: $command"
    if [ -e "$1" ] || [ ! -e "$1.old" ]; then fail "$command is about something else"; fi
}

# By the command, and by the service from the same file.
cannot() # WORDS FILE [served]
{
    local words=$1 file=$2
    cp -p "$file" before
    run "take from $file" "$weir" take 10/30d slots --state "$file"
    ends 2
    silent out
    says err "$words"
    same "$file" before
    helps "$file"
    run "take once $file is out of the way" "$weir" take 10/30d slots --state "$file"
    ends 0
    rm "$file"
    if [ "${3-}" != served ]; then return; fi
    cp -p before "$file"
    run "serve from $file" timeout 30 "$weir" serve --state "$file" --resp none --http 127.0.0.1:0
    ends 2
    says err "$words"
    same "$file" before
    helps "$file"
    start_other --state "$file" --resp none --http 127.0.0.1:0
    clean_end
    rm -f "$file"
}

release=$(releases | tail -n 1)
again() # FILE
{
    unpack "$release" state old
    mv old/take "$1"
}

for byte in 0 7 16 17 32 64 128 144; do
    again state
    flip state $byte
    cannot 'damaged' state
done
again state
flip state 64
cannot 'state: is a table of weir, but damaged or cut off' state served
again state
flip state 8
cannot "state: is of an older weir: format 0 of 16-byte slots, and weir " state
again state
printf '\x05' | dd of=state bs=1 seek=8 conv=notrunc 2>/dev/null
cannot "state: is of a newer weir: format 5 of 16-byte slots, and weir " state served
again state
printf '\x01\x02\x03\x04' | dd of=state bs=1 seek=12 conv=notrunc 2>/dev/null
cannot 'state: is of a machine with another byte order' state
again state
flip state 10
cannot 'state: is of a machine with another word size' state
for size in 1 100 4095 4096 4097 100000; do
    again whole
    head -c $size whole >state
    chmod 600 state
    cannot 'damaged' state
done
again whole
{ head -c 4096 /dev/zero && tail -c +4097 whole; } >state
chmod 600 state
cannot 'state: is a table of weir, but damaged or cut off' state
echo 'my letters' >state
cannot 'state: is no table of weir' state
again "it's a state"
flip "it's a state" 0
cannot 'damaged' "it's a state" served
again state
flip state 0
mkdir -p far/away
mv state far/away/-state
(cd far/away && cp -p -- -state before && run 'take from -state' "$weir" take 10/30d slots --state -state
    helps ./-state) || exit 1

# A long path: the command without the subject, then words.
long=$room/$(head -c 60 /dev/zero | tr '\0' d)
mkdir "$long"
again "$long/state"
flip "$long/state" 0
run 'a long path' "$weir" take 10/30d slots --state "$long/state"
ends 2
says err '; to start afresh'

# A file of wide slots that nobody has asked for yet is looked at when the service starts.
unpack "$release" state old
flip old/serve.wide-64 0
run 'serve' timeout 30 "$weir" serve --state old/serve --resp none --http 127.0.0.1:0
ends 2
says err 'old/serve.wide-64: is no table of weir'
helps old/serve.wide-64
start_other --state old/serve --resp none --http 127.0.0.1:0
clean_end

# Made with another rule for full tables.
echo 'table: {when_full: deny}' >deny.yaml
run 'another when_full' timeout 30 "$weir" serve deny.yaml --state old/serve --resp none --http 127.0.0.1:0
ends 2
says err 'old/serve: was made with when_full inherit, not deny'
helps old/serve

# ---- where there is no file that could be ----
places() # WORDS FILE
{
    run "take from $2" "$weir" take 10/30d slots --state "$2"
    ends 2
    says err "$1"
    says err '; --state FILE keeps it elsewhere'
    run "serve from $2" timeout 30 "$weir" serve --state "$2" --resp none --http 127.0.0.1:0
    ends 2
    says err "$1"
    says err '; --state FILE keeps it elsewhere'
}

mkdir folder
places 'folder: cannot be opened: it is a directory' folder
ln -s here link
places 'link: cannot be opened: it is a symbolic link' link
places 'nowhere/state: cannot be opened: no such file or directory' nowhere/state
again open
chmod 666 open
places 'open: cannot be opened: it belongs to another user, or others may write it' open
if [ "$(id -u)" != 0 ]; then
    again closed
    chmod 0 closed
    places 'closed: cannot be opened: permission denied' closed
fi

# ---- nothing is there: that is a first start ----
: >empty # mktemp makes such
head -c 8192 /dev/zero >zeros # killed while it was made
chmod 600 empty zeros
for file in missing empty zeros; do
    run "take from $file" "$weir" take 1/30d key --state $file
    ends 0
    run "take from $file again" "$weir" take 1/30d key --state $file
    ends 1
done
