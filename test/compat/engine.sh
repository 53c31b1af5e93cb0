#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# engine.sh WEIR: values that older modules and functions left in an engine are read, and answered as they were; those
# that this weir does not read are refused with the command that helps, and stay; and old functions serve new clients.
. "$(dirname "$0")/../engine/lib/engine.sh" "$@"
. "$tree/test/compat/lib/releases.sh"
. "$tree/test/compat/lib/values.sh"

# ---- what older versions wrote ----
for release in $(releases); do
    old=$compat/$release/engine
    for how in module functions; do
        if [ $how = module ]; then
            module_options test-clock yes
            start_engine_with_clock $how "${with_module[@]}"
        else
            start_engine_with_clock $how
            load_functions $how
        fi
        # Either reads what the other wrote, too.
        for wrote in functions module; do
            what="values of weir $release by its $wrote, asked by a $how"
            in_engine $how FLUSHALL >/dev/null
            restore_values $how "$old/values-$wrote"
            ask_values $how $how "$release" >out
            if [ $how = $wrote ]; then same out "$old/answers-$how"; continue; fi
            # Their times differ in parts of a second.
            cut -d : -f 1-2 out | cut -d ' ' -f 1-6 | grep -v '^throttled' >asked
            cut -d : -f 1-2 "$old/answers-$how" | cut -d ' ' -f 1-6 | grep -v '^throttled' >expected
            same asked expected
        done
        kill_engine $how
    done

    # ---- old functions, new clients ----
    start_engine old
    what="functions of weir $release"
    in_engine old -x FUNCTION RESTORE <"$old/functions" >out
    says out OK
    run 'new clients' "$weir" take 3/30d job --cost 3 --engine "$(url_of old)"
    ends 0
    run 'new clients again' "$weir" take 3/30d job --engine "$(url_of old)"
    ends 1
    says err 'job has used 3/30d'
    in_engine old FCALL weir_version 0 >expected
    # A node that entered itself without a format does not read what newer functions answer.
    in_engine old ZADD '{weir:}:nodes' "$(date +%s)" 0123456789abcdef >/dev/null
    run 'an upgrade before that of the last node' "$weir" engine install "$(url_of old)"
    ends 1
    says out '1 nodes with an older weir use this engine, or did 5 s ago; they could not read'
    in_engine old FCALL weir_version 0 >out
    same out expected
    in_engine old DEL '{weir:}:nodes' >/dev/null
    in_engine old ZADD '{weir:}:nodes' "$(date +%s)" 0123456789abcdef.3 >/dev/null
    run 'an upgrade' "$weir" engine install "$(url_of old)"
    ends 0
    says out functions
    run 'new functions' "$weir" take 3/30d job --engine "$(url_of old)"
    ends 1
    says err 'job has used 3/30d'
    kill_engine old
done

# ---- the next version: it answers more, and says so ----
start_engine newer
what='functions of a newer weir'
sed "s/^local VERSION = '[0-9.]*'/local VERSION = '9.0.0'/; s/' format ' \.\. FORMAT/' format 3'/
    s/ taken, late}/ taken, late, 'more'}/; s/ \(now\|time\), 0}/ \1, 0, 'more'}/" \
    "$tree/src/redis/script/weir.lua" >newer.lua
in_engine newer -x FUNCTION LOAD <newer.lua >out
says out weir
in_engine newer FCALL weir_take 1 k 10/s 1 >out
says out more
run 'asked' "$weir" take 3/30d job --cost 3 --engine "$(url_of newer)"
ends 0
run 'asked again' "$weir" take 3/30d job --engine "$(url_of newer)"
ends 1
says err 'job has used 3/30d'
run 'a downgrade' "$weir" engine install "$(url_of newer)"
ends 0
says out 'of a newer weir are installed; they are kept, and this version uses them'
in_engine newer FCALL weir_version 0 >out
says out '9.0.0 format 3'
kill_engine newer

# ---- what this weir does not read ----
unread() # KEY WORDS LIMIT
{
    local key=$1 words=$2 limit=$3 shape
    shape=$(in_hex one DUMP "$key")
    for verb in weir_take weir_charge; do
        what="$verb of $key"
        in_engine one FCALL $verb 1 "$key" "$limit" 1 >out 2>err
        says out "$words"
        if [ "$(in_hex one DUMP "$key")" != "$shape" ]; then fail 'it was changed'; fi
    done
    what="module, $key"
    in_engine one WEIR.TAKE "$limit" "$key" >out 2>err
    says out "$words"
    if [ "$(in_hex one DUMP "$key")" != "$shape" ]; then fail 'it was changed'; fi
}

# What the error says to do, as it stands there.
helps() # LIMIT KEY
{
    sed -n 's/.*; to start afresh: //p' out | redis-cli -s "$room/one/socket" >err
    if ! grep -qx 1 err; then fail 'the command does not help'; fi
    what="$2, begun anew"
    in_engine one WEIR.TAKE "$1" "$2" >out
    says out allow
}

module_options
start_engine one "${with_module[@]}"
load_functions one
limit='10/d burst=20'
for key in key 'user 42' $'\xff"\\'; do
    what="a value at $key"
    in_engine one DEL "$key" >/dev/null
    in_engine one WEIR.TAKE "$limit" "$key" >out
    says out allow
    in_engine one SETRANGE "$key" 4 $'\x03' >/dev/null
    unread "$key" 'WEIRVALUE a state of a newer weir: format 3, and weir ' "$limit"
    helps "$limit" "$key"
    in_engine one SETRANGE "$key" 5 $'\x09' >/dev/null
    unread "$key" 'WEIRVALUE a state of weir, but damaged; to start afresh: DEL ' "$limit"
    helps "$limit" "$key"
    in_engine one SET "$key" "something else" >/dev/null
    unread "$key" ' was not written by weir: expected nothing, or a state of a limit; use another key' "$limit"
done
what='keys as they are shown'
in_engine one SET $'\xff"\\' weir$'\x03' >/dev/null
unread $'\xff"\\' 'DEL "\xff\x22\x5c"' "$limit"
in_engine one ZADD log 5 five >/dev/null
unread log 'what is at log was not written by weir' '20/d algorithm=sliding-log'
in_engine one SET "$(head -c 300 /dev/zero | tr '\0' k)" weir$'\x03' >/dev/null
unread "$(head -c 300 /dev/zero | tr '\0' k)" 'kkk...' "$limit"

# Each byte of a value: it is refused, or it is answered; never is it as if nothing were there, but where the kind of
# limit or its rate is another one now, which begin anew.
what='each byte of a value'
in_engine one DEL key >/dev/null
in_engine one WEIR.TAKE "$limit" key COST 20 >/dev/null
for at in {0..7}; do
    for byte in $'\x03' $'\xff'; do
        in_engine one COPY key spoiled REPLACE >/dev/null
        in_engine one SETRANGE spoiled "$at" "$byte" >/dev/null
        if [ "$(in_hex one GET spoiled)" = "$(in_hex one GET key)" ]; then continue; fi
        unread spoiled WEIRVALUE "$limit"
    done
done

# ---- a client shows it, and takes nothing where it may not guess ----
in_engine one SET '{weir:job}' weir$'\x03' >/dev/null
run 'weir take' "$weir" take 3/30d job --engine "$(url_of one)"
ends 2
says err 'nothing was taken: '
says err 'a state of a newer weir: format 3, and weir '
says err 'to start afresh: DEL {weir:job}'
