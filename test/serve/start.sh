#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# start.sh WEIR: where it listens, what it says, and what it refuses to start with.
. "$(dirname "$0")/lib/start.sh" "$@"

refuses() # WORDS ARGUMENT...: status 2, and nobody was served
{
    local words=$1
    shift
    run "weir serve $*" "$weir" serve "$@"
    ends 2
    silent out
    says err "$words"
}

starts_with() # PATTERN
{
    if ! grep -qE "$1" serve.out; then cp serve.out err; fail "does not say $1"; fi
}

# ---- without a file ----
start_serve
words="weir: RESP 127.0.0.1:$resp, HTTP and page http://127.0.0.1:$http/; "
if has_v6; then
    words="weir: RESP 127.0.0.1:$resp and [::1]:$resp, HTTP and page http://127.0.0.1:$http/ and http://[::1]:$http/; "
fi
words+='limits come with each request; state in memory only'
echo "$words" >expected
if has_receipts 'serve/start: memory of settled receipts'; then
    grep -qE 'MiB; settled receipts in [1-9][0-9]* MiB$' serve.out || fail 'it does not say where settled ones are'
else
    sed -i 's/; no receipts, built without OpenSSL//' serve.out
fi
sed -i -E 's/; tables of [0-9]+ MiB, at most [0-9]+ MiB(; settled receipts in [0-9]+ MiB)?$//w bounds' serve.out
same serve.out expected
if [ ! -s bounds ]; then fail 'it does not say how much memory its tables may have'; fi
for check in half bytewise foreign; do
    run "$check" /usr/bin/python3 "$wire" "$check" "$resp"
    ends 0
done
run 'a million answers' /usr/bin/python3 "$wire" pipelined "$resp" 100
ends 0

# ---- a port that is taken ----
refuses "cannot listen on 127.0.0.1:$resp: address in use" --resp "127.0.0.1:$resp" --http none
refuses "cannot listen on 127.0.0.1:$http: address in use" --resp 127.0.0.1:0 --http "127.0.0.1:$http" --threads 3
refuses "cannot listen on 127.0.0.1:$resp: address in use" --resp "localhost:$resp" --http none
clean_end

# ---- addresses ----
for address in nonsense 127.0.0.1 127.0.0.1:65536 127.0.0.1: 127.0.0.1:-1 1.2.3:99 '[::1:99' '::1:x' 300.0.0.1:9 ''; do
    refuses 'expected an address; for example localhost:9347' --resp "$address" --http none
done
refuses 'this machine has no such address' --resp 192.0.2.77:0 --http none
refuses 'expected a path from /' --resp unix:relative --http none
refuses 'nothing to listen on' --resp none --http none
for address in 0.0.0.0:0 :0; do
    refuses 'can be reached by others, and no password is set' --resp "$address" --http none
    refuses 'can be reached by others, and no password is set' --resp none --http "$address"
done
refuses '--threads "0": expected a whole number' --threads 0
refuses 'unexpected argument "b"' a b
refuses 'expected a file to --check' --check
refuses 'no-such-file' no-such-file
refuses 'no-such-file' no-such-file --check
mkdir folder
refuses 'folder: Is a directory' folder --check

# ---- --check says what the start would say ----
while IFS='|' read -r words file; do
    printf '%s\n' "$file" >weir.yaml
    refuses "$words" weir.yaml
    refuses "$words" weir.yaml --check
done <<'EOF'
can be reached by others, and no password is set|listen: {resp: ":0", http: none}
can be reached by others, and no password is set|listen: {resp: none, http: "0.0.0.0:0"}
expected an address; for example localhost:9347|listen: {resp: "weir.example:9347", http: none}
no such user; expected one of /etc/passwd|{user: no-such-user-of-weir, listen: {resp: "127.0.0.1:0", http: none}}
EOF
refuses 'expected an address' weir.yaml --check --resp nonsense
printf 'listen: {resp: "localhost:9347", http: none}\n' >weir.yaml
run 'weir serve --check of localhost' "$weir" serve weir.yaml --check
ends 0
printf 'listen: {public: without-password, resp: ":0", http: none}\n' >weir.yaml
run 'weir serve --check of a file without limits' "$weir" serve weir.yaml --check
ends 0
says out 'no limits with a name'
says out 'texts: off: an address of this service is public'

# ---- and what it lists, byte for byte ----
cat >weir.yaml <<'EOF'
listen: {resp: "127.0.0.1:0", http: none}
limits:
  api: 10/s
  login: {limit: "5/h; 1/min burst=2", shadow: true}
  open: unlimited
EOF
run 'weir serve --check of limits' "$weir" serve weir.yaml --check
ends 0
cat >expected <<'EOF'
api: 10/s burst=10 algorithm=gcra
login: 5/h burst=5 algorithm=gcra; 1/min burst=2 algorithm=gcra (shadow)
open: unlimited
EOF
head -n 3 out >limits # memory comes next
same limits expected

export WEIR_PASSWORD=
refuses 'can be reached by others, and no password is set' --resp :0 --http none
unset WEIR_PASSWORD

# ---- a password lets others in; one of the two may be switched off ----
WEIR_PASSWORD=secret start_other --resp :0 --http none
starts_with '^weir: RESP (\[::\]|0\.0\.0\.0):[0-9]+; no limits; texts off \(texts: on in weir.yaml'
clean_end

# ---- nor is one needed where the file says what the refusal tells one to write ----
refuses 'listen: {public: without-password}' --resp :0 --http none
printf 'listen: {resp: ":0", http: none, public: without-password}\n' >weir.yaml
start_other weir.yaml
clean_end

# ---- what systemd says and is told ----
run 'socket activation and notification' /usr/bin/python3 "$tree/test/serve/lib/systemd.py" "$weir"
ends 0

# ---- a password may be as short as one character ----
echo '{password: x, listen: {resp: ":0", http: none}}' >short.yaml
run 'a short password' "$weir" serve short.yaml --check
ends 0

# ---- a password that all can read is told of ----
echo 'password: open sesame' >secret.yaml
chmod 644 secret.yaml
start_serve secret.yaml
says serve.out 'weir: secret.yaml: the password in it can be read by all users'
clean_end
chmod 640 secret.yaml
start_serve secret.yaml
if grep -q 'all users' serve.out; then fail 'it is told of a file that they cannot read'; fi
clean_end
