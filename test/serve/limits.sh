#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# limits.sh WEIR: clients that are slow, greedy or too many are cut or refused, and the others do not notice.
. "$(dirname "$0")/lib/start.sh" "$@"

bears() # WHAT ARGUMENT...
{
    run "$1" /usr/bin/python3 "$wire" "$1" "$resp" "${@:2}"
    ends 0
}

start_serve --threads 1
bears loris
bears greedy
clean_end

printf 'listen: {connections: 20}\n' >weir.yaml
start_serve weir.yaml --threads 2
bears crowd 20
clean_end

printf 'listen: {idle: 1s}\n' >weir.yaml
start_serve weir.yaml
bears idle
clean_end

# shellcheck disable=SC2016 # $@ is for that script
printf '#!/bin/sh\nulimit -n 64\nexec %q "$@"\n' "$weir" >with_few
chmod +x with_few
weir=$room/with_few
start_serve --threads 1
bears exhaust
clean_end
