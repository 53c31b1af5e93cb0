# SPDX-License-Identifier: MIT
# follow.sh, sourced behind start.sh: a weir replay that follows a log, in the background.
if "$weir" --help | grep -q 'Redis or Valkey (not built in)'; then
    skip_test 'built without hiredis' "$build_all"
fi

# $replay; its streams are the files said and told, for out and err are those of what the test runs meanwhile.
start_replay() # LOG ARGUMENT...
{
    log=$PWD/$1
    shift
    what="weir replay $* $log"
    "$weir" replay "$@" "$log" >said 2>told &
    replay=$!
    depends_on "$replay" "$what" "$PWD/told"
    wait_for 'it follows the log' is_followed
}

is_followed()
{
    readlink "/proc/$replay/fd/"* | grep -qx "$log"
}

# All that is in the log.
is_read()
{
    local file
    file=$(find "/proc/$replay/fd" -lname "$log" -printf '%f')
    [ "$(awk '/^pos/ { print $2 }' "/proc/$replay/fdinfo/$file")" = "$(stat -c %s "$log")" ]
}

end_replay()
{
    wait_for 'all of the log is read' is_read
    kill -TERM "$replay"
    wait_end "$replay" 'weir replay ends'
}
