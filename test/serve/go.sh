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
start_serve

WEIR=http://127.0.0.1:$http ./limited 127.0.0.1:0 3/h >go.out 2>go.err &
go=$!
what='the example'
listens_as $go go.out
web=$(cat go.out)
for answer in 200 200 200 429; do fetch $answer "$web"; done
retry_after 1 1320
clean_end
fetch 200 "$web" # weir is away, and it fails open
stop "$go"
exit 0
