#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# take_state.sh WEIR: what was used is remembered, under a changed limit too; and where it cannot be, nothing is taken.
. "$(dirname "$0")/lib/check.sh" "$@"
. "$tree/test/lib/disk.sh"
needs jq
export XDG_STATE_HOME=$room/state
unset HOME
exec 4>&2

wrong() # WORDS ARGUMENT...: nothing is taken, and the words say why
{
    local words=$1
    shift
    run "take $*" "$weir" take "$@"
    ends 2
    silent out
    says err "$words"
    run "take $* with a command" "$weir" take "$@" -- touch run
    ends 125
    silent out
    if [ -e run ]; then fail 'the command was run all the same'; fi
}

would() # WORDS ARGUMENT...
{
    local words=$1
    shift
    run "take $* --peek" "$weir" take "$@" --peek
    says out "$words"
}

passes()
{
    run "take $*" "$weir" take "$@"
    ends 0
}

# ---- standard error is closed: what is said to nobody is not written into the state ----
passes 1/h key --state alone
"$weir" take 1/h key --state alone 2>&- && fail 'it passes twice'
would 'refused: key has used 1/h' 1/h key --state alone

# ---- cut off while it is in use, by a call that waits ----
for errors in err closed; do
    rm -f cut
    passes '1/2s burst=1' key --state cut
    what="a state that is cut off, standard error: $errors"
    if [ "$errors" = closed ]; then exec 2>&-; else exec 2>err; fi
    "$weir" take '1/2s burst=1' key --state cut --wait 1min &
    exec 2>&4
    waiting=$!
    sleep 0.3 # it has asked, and sleeps
    truncate -s 0 cut
    wait "$waiting" && status=0 || status=$?
    ends 3
    if [ "$errors" = err ]; then says err 'weir: cut, or a file beside it, was truncated while it was in use'; fi
done

# ---- where it is ----
passes 2/w key
passes 2/w key --state here
would 'would pass; no more at once' 2/w key
would 'would pass; no more at once' 2/w key --state here
passes '2/w algorithm=sliding-log' key --state here
what='the files'
ls -d here* >out
printf '%s\n' here here.wide-16 >expected
same out expected
mkdir home
run 'a state of one user' env HOME="$room/home" XDG_STATE_HOME=relative "$weir" take 2/w key
ends 0
if [ ! -e home/.local/state/weir/take ] || [ -e relative ]; then fail 'what is not absolute counts as not set'; fi
mkdir -m 755 home/state
run 'folders that are there' env XDG_STATE_HOME="$room/home/state" "$weir" take 2/w key
if [ "$(stat -c %a home/state)" != 755 ]; then fail 'they are not ours to change'; fi
(
    unset XDG_STATE_HOME
    wrong 'neither HOME nor XDG_STATE_HOME is an absolute path; choose a place for the state with --state FILE' 2/w key
    HOME=relative
    export HOME
    wrong 'choose a place for the state with --state FILE' 2/w key
    passes 2/w key --state here
    HOME=$room/nobody
    wrong "HOME $room/nobody does not exist, so it cannot hold the state; choose a place with --state FILE" 2/w key
    if [ -e nobody ]; then fail 'a home was made'; fi
    passes unlimited
) || exit 1

# ---- another limit for the same key ----
# In 16 bytes what was used stays the same time; where the state knows its rule it stays the same permits.
for algorithm in gcra 'leaky nodelay'; do
    if [ "$algorithm" = gcra ]; then more=1; else more=2; fi
    passes "2/d algorithm=$algorithm" "changed $algorithm"
    would "would pass; $more more at once" "4/d algorithm=$algorithm" "changed $algorithm"
    would 'would be refused: ' "1/d algorithm=$algorithm" "changed $algorithm"
    passes "4/d algorithm=$algorithm" "changed $algorithm" --cost 2
    would 'would be refused: ' "2/d algorithm=$algorithm" "changed $algorithm"
done
passes '3/d algorithm=sliding-log' 'changed log' --cost 2
would 'would pass; 2 more at once' '5/d algorithm=sliding-log' 'changed log'
would 'would be refused: ' '2/d algorithm=sliding-log' 'changed log'

# ---- many keys, and limits of all sizes ----
for limit in '1/w' '1/w algorithm=fixed-window' '200/w algorithm=sliding-log'; do
    for key in {1..300}; do
        run "$limit, many keys" "$weir" take "$limit" "key $key" --cost "${limit%%/*}"
        ends 0
    done
    for key in {1..300}; do
        run "$limit, many keys" "$weir" take "$limit" "key $key"
        ends 1
    done
done
for key in {1..20}; do
    "$weir" take '60000/w algorithm=sliding-log' "$key" --cost 60000 2>err && echo "$key"
done >passed
what='more keys than there is room for'
if [ "$(wc -l <passed)" -lt 16 ]; then fail 'it is made for 16 keys at least'; fi
if [ "$(wc -l <passed)" = 20 ]; then fail 'what was used by one of them was forgotten'; fi
for key in {1..20}; do "$weir" take '60000/w algorithm=sliding-log' "$key" 2>err && fail "key $key got more"; done
for size in 1 2 9 10 1000 100000 262000; do
    passes "$size/w algorithm=sliding-log" "large $size" --cost $size
    would 'would be refused' "$size/w algorithm=sliding-log" "large $size"
done
wrong 'keeps 8000056 bytes for each key, which is too much for a state file' '1000000/w algorithm=sliding-log'
passes '3/5year' slow --cost 3 # from empty to full it takes longer than a slot can tell
would 'would be refused: slow has used 3/5year; again in 1 year ' '3/5year' slow

# ---- what is no state of ours stays as it is ----
foreign() # FILE WORDS [LIMIT]
{
    cp "$1" before
    wrong "weir: nothing was taken: $1: " "${3-2/w}" key --state "${1%.wide-8}"
    says err "$2"
    says err '; --state FILE keeps it elsewhere'
    same "$1" before
}
echo 'my letters' >letters
foreign letters 'is no table of weir'
head -c 300000 /dev/zero | tr '\0' x >letters
foreign letters 'is no table of weir'
cp state/weir/take other.wide-8
foreign other.wide-8 'has 16-byte slots' '2/w algorithm=fixed-window'
for size in 1 16 100 4095 4096 4097 $(($(stat -c %s here) / 2)) $(($(stat -c %s here) - 1)); do
    head -c "$size" here >short
    foreign short 'to start afresh: mv short short.old'
done
{ head -c 9 here; printf '\xa5\xa5\xa5\xa5\xa5\xa5\xa5'; tail -c +17 here; } >damaged
foreign damaged 'to start afresh: mv damaged damaged.old'
: >empty
passes 1/w key --state empty # mktemp makes such
would 'would be refused' 1/w key --state empty

# ---- places that will not do ----
wrong 'missing/take: cannot be opened: no such file or directory; --state FILE keeps it elsewhere' \
    2/w --state missing/take
mkdir folder
wrong 'nothing was taken: folder: ' 2/w --state folder
ln -s here link
wrong 'nothing was taken: link: ' 2/w --state link
ln -s nowhere dangling
wrong 'nothing was taken: dangling: ' 2/w --state dangling
if [ -e nowhere ]; then fail 'it wrote through a link'; fi
mkfifo pipe
wrong 'nothing was taken: pipe: ' 2/w --state pipe
wrong 'nothing was taken: /dev/null: ' 2/w --state /dev/null
wrong 'this path is too long' 2/w --state "$(head -c 5000 /dev/zero | tr '\0' x)"
wrong 'cannot be opened: File name too long' 2/w --state "$(head -c 300 /dev/zero | tr '\0' x)"
touch file
(
    XDG_STATE_HOME=$room/file
    wrong "take: directory $room/file/weir: Not a directory; choose another place with --state FILE" 2/w
    XDG_STATE_HOME=/$(head -c 5000 /dev/zero | tr '\0' x)
    wrong 'the path of the state is too long' 2/w
) || exit 1
if [ "$(id -u)" != 0 ]; then
    chmod 000 file
    wrong 'file: cannot be opened: permission denied' 2/w --state file
fi

# A file system of its own, where that can be had: too small, and one that cannot be written.
cat >inside <<'END'
"$1" take 2/w key --state take -- touch "$2/run"
status=$?
rm -f take
"$1" take 2/w key --state take --peek >"$2/peeked" || status=peek
mount -o remount,ro . || exit
"$1" take 2/w key --state take -- touch "$2/run" 2>"$2/readonly"
[ $? = $status ] && exit $status
END
make_small_disk
if [ ${#small_disk[@]} = 0 ]; then
    skip_part 'a file system that is full, or read-only' 'none of its own can be had here' 'run the tests as root'
else
    run 'a file system that is full' "${small_disk[@]}" 64k sh "$room/inside" "$weir" "$room"
    ends 125
    says err 'take: no room: there is not enough space; --state FILE keeps it elsewhere'
    says readonly 'take: cannot be opened: the file system is read-only; --state FILE keeps it elsewhere'
    says peeked 'would pass'
    if [ -e run ]; then fail 'the command was run all the same'; fi
fi
