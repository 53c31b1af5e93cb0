#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# take.sh WEIR: weir take --engine and weir engine: what passes and what does not, in which words, with which status,
# and what they say when the engine is not as it should be.
. "$(dirname "$0")/lib/engine.sh" "$@"
needs jq
needs_part engine
export HOME=$room/home # where no state should come about
mkdir "$HOME"
start_engine main
url=$(url_of main)

asks() # STATUS ARGUMENT...
{
    local expected=$1
    shift
    run "take $* --engine" "$weir" take "$@"
    ends "$expected"
}

passes() # ARGUMENT...
{
    asks 0 --engine "$url" "$@"
    silent out
    silent err
}

refused() # WORDS ARGUMENT...
{
    asks 1 --engine "$url" "${@:2}"
    silent out
    says err "weir: refused: $1"
}

wrong() # STATUS WORDS ARGUMENT...
{
    asks "$1" "${@:3}"
    silent out
    says err "$2"
}

finds() # WORDS URL: the check is not content, and says why
{
    run "check of $2: $1" "$weir" engine check "$2"
    ends 1
    says err 'weir: engine: '
    says out "$1"
}

# ---- install and check, twice ----
for turn in 1 2; do
    run 'weir engine install' "$weir" engine install "$url"
    ends 0
    says out "127.0.0.1:${engine_port[main]}"
    silent err
done
run 'weir engine check' "$weir" engine check "$url"
ends 0
says out 'primary'
silent err

# ---- three for all, and no file ----
for turn in 1 2 3; do passes 3/h deploy; done
refused 'deploy has used 3/h; again in ' 3/h deploy
passes 3/h other --cost 3
refused 'other has 0 left of 3/h, not 2; again in ' 3/h other --cost 2
passes 3/h
wrong 2 'can never be allowed: 4 requests are more than 3/h' 3/h deploy --cost 4 --engine "$url"
asks 0 unlimited deploy --engine "$url"
if [ -n "$(find home -type f)" ]; then fail 'there is a file'; fi
what='the key in the engine'
to main KEYS '*deploy*' >out
echo '{weir:deploy}' >expected
same out expected

# ---- a prefix, as in weir.yaml: a key of its own ----
passes 1/h deploy --prefix acme:
what='the key with a prefix'
to main KEYS '{acme:*' >out
echo '{acme:deploy}' >expected
same out expected
wrong 2 '--prefix needs --engine' 1/h k --prefix acme:
wrong 2 'prefix: expected 1 to 511 bytes' 1/h k --engine "$url" --prefix '{'

# ---- looked at, as JSON, with a status of its own ----
asks 1 3/h deploy --peek --engine "$url"
says out 'would be refused: deploy has used 3/h'
asks 0 3/h looked --peek --engine "$url"
says out 'would pass; 2 more at once'
asks 0 3/h looked --cost 2 --json --engine "$url"
json out '.allowed and .charged == 2 and .remaining == 1 and .retry_ns == 0'
asks 1 3/h looked --cost 2 --json --engine "$url"
json out '.allowed == false and .charged == 0 and .retry_ns > 0'
asks 7 3/h looked --cost 2 -E 7 --engine "$url"

# ---- commands: what could not be started has used nothing ----
asks 5 1/h script --engine "$url" -- sh -c 'exit 5'
asks 75 1/h script --engine "$url" -- true
wrong 127 'no-such-command' 1/h nothing --engine "$url" -- ./no-such-command
passes 1/h nothing
asks 0 '1/100ms burst=1' waited --engine "$url"
asks 0 '1/100ms burst=1' waited --wait 1min --engine "$url"
asks 0 '2/1s algorithm=fixed-window' window --cost 2 --engine "$url"
asks 0 '2/1s algorithm=fixed-window' window --cost 2 --wait 1min --engine "$url" -- true
refused 'nothing has used 1/h; again in ' 1/h nothing --wait 1s

# ---- usage ----
wrong 2 'kept in one of them' 1/h k --engine "$url" --state here
wrong 2 '--password-file needs --engine' 1/h k --password-file here
wrong 2 'take: --engine: ' 1/h k --engine http://127.0.0.1
wrong 2 'take: --engine: ' 1/h k --engine ''
wrong 2 'without --engine it is kept in a file' '10/s warmup=10s' k --engine "$url"
for words in 'expected install or check' 'expected install or check, not "remove"' 'expected the URL of the engine'; do
    case $words in
    *remove*) run "$words" "$weir" engine remove "$url" ;;
    *URL*) run "$words" "$weir" engine check ;;
    *) run "$words" "$weir" engine ;;
    esac
    ends 2
    says err "$words"
done
run 'a URL that is none' "$weir" engine check http://127.0.0.1
ends 2
says err 'weir: engine: '

# ---- a password: from the environment or a file, and what is said without ----
start_engine locked --requirepass 'open sesame'
locked=$(url_of locked)
printf 'open sesame\n' >password
wrong 2 'can be read by other users' 1/h k --engine "$locked" --password-file password
chmod 600 password
run 'install with a password' env 'WEIR_ENGINE_PASSWORD=open sesame' "$weir" engine install "$locked"
ends 0
run 'check with a file' "$weir" engine check "$locked" --password-file password
ends 0
asks 0 1/h k --engine "$locked" --password-file password
run 'take with a password' env 'WEIR_ENGINE_PASSWORD=open sesame' "$weir" take 1/h k --engine "$locked"
ends 1
finds 'NOAUTH' "$locked"
porter=${locked/redis:\/\//redis:\/\/porter:@}
run 'a user' redis-cli -p "${engine_port[locked]}" -a 'open sesame' ACL SETUSER porter on '>of porter' '~*' '+@all'
printf 'of porter\n' >password
asks 0 1/h of-porter --engine "$porter" --password-file password
wrong 2 'a user is named, but no password' 1/h of-porter --engine "$porter"
finds 'No password was given: redis://:PASSWORD@HOST, or WEIR_ENGINE_PASSWORD' "$locked"
WEIR_ENGINE_PASSWORD=wrong finds 'WRONGPASS' "$locked"
wrong 2 "nothing was taken: 127.0.0.1:${engine_port[locked]}: PING refused: NOAUTH" 1/h other --engine "$locked"
wrong 125 "nothing was taken: 127.0.0.1:${engine_port[locked]}: PING refused: NOAUTH" \
    1/h other --engine "$locked" -- true

# ---- not allowed, a replica, a value that is not weir's ----
to locked -a 'open sesame' --no-auth-warning ACL SETUSER guest on '>guest' '~*' +ping +info +time >/dev/null
guest=${locked/redis:\/\//redis:\/\/guest:guest@}
finds 'NOPERM' "$guest"
wrong 2 "nothing was taken: 127.0.0.1:${engine_port[locked]}: refused: " 1/h k --engine "$guest"
start_engine replica --replicaof "127.0.0.1 ${engine_port[main]}"
finds "its primary is 127.0.0.1:${engine_port[main]}, which the URL should name" "$(url_of replica)"
to main SET '{weir:foreign}' value >/dev/null
wrong 2 "nothing was taken: 127.0.0.1:${engine_port[main]}: WEIRVALUE" 1/h foreign --engine "$url"
if [ "$(to main GET '{weir:foreign}')" != value ]; then fail 'it was overwritten'; fi

# ---- away ----
kill_engine main
wrong 2 "nothing was taken: 127.0.0.1:${engine_port[main]}: " 3/h deploy --engine "$url"
wrong 125 "nothing was taken: 127.0.0.1:${engine_port[main]}: " 3/h deploy --engine "$url" -- true
wrong 2 "nothing was taken: 127.0.0.1:${engine_port[main]}: " 3/h deploy --peek --engine "$url"
wrong 2 "nothing was taken: 127.0.0.1:${engine_port[main]}: " 3/h deploy --wait 1h --engine "$url"
run 'check of what is away' "$weir" engine check "$url"
ends 1
