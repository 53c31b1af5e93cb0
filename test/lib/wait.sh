# SPDX-License-Identifier: MIT
# wait.sh, sourced by a test that has $room and fail: how a test waits, and what it depends on.
#
#   wait_for WORDS COMMAND...          until the command succeeds; the test fails after a minute
#   until_true COMMAND...              the same, where the command's name says what is waited for
#   wait_end PROCESS WORDS             until a process of this shell has ended: its status in $status
#   end_process PROCESS                kills it
#   depends_on PROCESS WORDS [FILE...] from now on the test fails as soon as that process has ended
#   may_end PROCESS                    no longer: said before the test ends it
#   free_port                          a port of 127.0.0.1 that stays this test's own
#
# Every wait ends within a minute, those of clients, too: a server that hangs is found, and a machine that is only busy
# is not taken for one.  What a test depends on is watched from outside, so that a server that dies ends the test at
# once, whatever the test is doing at the moment, and is shown with its last words.
wait_s=60
watched=$room/.watched

await() # WORDS COMMAND...
{
    local words=$1 end=$((SECONDS + wait_s))
    shift
    until "$@"; do
        if any_has_ended; then fail "waited for: $words"; fi
        if [ $SECONDS -ge $end ]; then fail "waited for $wait_s s, in vain: $words"; fi
        sleep 0.05
    done
}

wait_for() # WORDS COMMAND...
{
    await "$@"
}

until_true() # COMMAND...
{
    await "$*" "$@"
}

wait_end() # PROCESS WORDS
{
    may_end "$1"
    {
        await "$2" has_ended "$1"
        wait "$1"
        status=$?
    } 2>/dev/null # where the shell would say that it was killed
}

# Whatever state it is in.
end_process() # PROCESS
{
    may_end "$1"
    {
        kill -KILL "$1"
        wait "$1"
    } 2>/dev/null
    true # its status says that it was killed
}

has_ended() # PROCESS
{
    ! kill -0 "$1" 2>/dev/null
}

# ---- what a test depends on ----

depends_on() # PROCESS WORDS [FILE...]
{
    if [ ! -d "$watched" ]; then
        mkdir "$watched"
        trap ended_meanwhile TERM
        watch $$ </dev/null >/dev/null 2>&1 &
        disown
    fi
    printf '%s\n' "${@:2}" >"$watched/.new"
    mv "$watched/.new" "$watched/$1"
}

may_end() # PROCESS
{
    rm -f "$watched/$1"
}

any_has_ended()
{
    local file
    for file in "$watched"/*; do
        if [ -e "$file" ] && has_ended "${file##*/}"; then return 0; fi
    done
    return 1
}

# What fail prints beside what went wrong: it may be why.
show_ended()
{
    local file line
    for file in "$watched"/*; do
        if [ ! -e "$file" ] || ! has_ended "${file##*/}"; then continue; fi
        { read -r line && echo "    ended: $line" && while read -r line; do tail -n 20 "$line"; done; } <"$file" 2>&1 |
            cat -v | sed '2,$s/^/    | /'
    done
}

# A process of its own, as long as there is something to watch.
watch() # TEST
{
    trap - EXIT TERM
    while [ -d "$watched" ] && ! has_ended "$1"; do
        if any_has_ended && sleep 0.5 && any_has_ended; then # the test may be about to say so itself
            kill -TERM "$1"
            end_children "$1"
            return
        fi
        sleep 0.2
    done
}

# Whatever the shell of the test waits for, but not what it depends on: it ends that itself.
end_children() # PROCESS
{
    local child
    for child in $(cat /proc/[0-9]*/stat 2>/dev/null |
        awk -v parent="$1" '{ process = $1; sub(/.*[)] /, ""); if ($2 == parent) print process }'); do
        if [ "$child" = "$BASHPID" ] || [ -e "$watched/$child" ]; then continue; fi
        end_children "$child"
        kill -TERM "$child" 2>/dev/null
    done
}

ended_meanwhile()
{
    fail 'what it depends on has ended'
}

# ---- clients that would wait for ever ----

redis-cli()
{
    timeout "$wait_s" redis-cli "$@"
}

# curl reads it wherever it is called from.
export CURL_HOME=$room/.curl
mkdir "$CURL_HOME"
echo "max-time = $wait_s" >"$CURL_HOME/.curlrc"

# ---- ports ----
# Below those that a system gives to clients, and the bus of a Cluster, 10000 above, is free as well: no test has a port
# there.  The reservation is a link to the test that has it, in a folder that all tests of a user share, so that a
# server can be stopped and started again on its port.
port_folder=${TMPDIR:-/tmp}/weir-test-ports-$(id -u)

free_port()
{
    local port end=$((SECONDS + wait_s))
    mkdir -p "$port_folder"
    while [ $SECONDS -lt $end ]; do
        port=$((10300 + RANDOM % 10000))
        if reserve_port $port && ! listens $port && ! listens $((port + 10000)); then
            echo $port
            return
        fi
    done
    fail 'no port is free' >&2
}

reserve_port() # PORT
{
    if ln -s $$ "$port_folder/$1" 2>/dev/null; then return 0; fi
    if ! has_ended "$(readlink "$port_folder/$1")"; then return 1; fi
    rm -f "$port_folder/$1"
    ln -s $$ "$port_folder/$1" 2>/dev/null
}

give_ports_back()
{
    if [ -d "$port_folder" ]; then find "$port_folder" -lname $$ -delete 2>/dev/null; fi
}

listens() # PORT
{
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
