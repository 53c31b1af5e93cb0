#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# go.sh WEIR: the example in Go.
. "$(dirname "$0")/lib/start.sh" "$@"
PATH=$PATH:/usr/local/go/bin
needs curl
if ! has_tool go; then skip_test 'go is not here' 'apt-get install golang-go'; fi
export GO111MODULE=off GOFLAGS= GOTOOLCHAIN=local
run 'go build' go build -o limited "$examples/client.go"
ends 0
sed 's/^const FAIL_OPEN = true/const FAIL_OPEN = false/' "$examples/client.go" >closed.go
if cmp -s closed.go "$examples/client.go"; then fail 'no switch'; fi
run 'go build, closed' go build -o closed closed.go
ends 0
start_serve

WEIR=http://127.0.0.1:$http ./limited 127.0.0.1:0 3/h >go.out 2>go.err &
go=$!
what='the example'
listens_as $go go.out
web=$(cat go.out)
other() # NAME PROGRAM LIMIT: its address in $other
{
    rm -f "$1.out"
    WEIR=http://127.0.0.1:$http "$2" 127.0.0.1:0 "$3" >"$1.out" 2>"$1.err" &
    listens_as $! "$1.out"
    other=$(cat "$1.out")
}
for program in ./limited ./closed; do
    other never "$program" none
    fetch 403 "$other"
    other wrong "$program" 10/
    fetch 403 "$other"
done
other closed ./closed 1000000/s
fetch 200 "$other"
for answer in 200 200 200 429; do fetch $answer "$web"; done
retry_after 1 1320
clean_end
fetch 200 "$web" # weir is away: FAIL_OPEN decides
fetch 503 "$other"
stop "$go"
exit 0
