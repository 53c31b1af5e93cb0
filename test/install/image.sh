#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# image.sh BUILD TREE: the image of `weir serve`, made and run by buildah, and its files on a root that nobody may write
# to.  It serves as a user without rights, is found healthy by the command that the image names, and refuses to be
# reached by others without a password.
set -uo pipefail
build=$1 tree=$2
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
needs buildah busybox jq curl
room=$(mktemp -d)
fail()
{
    echo "$1"
    cat "$room"/*.log 2>/dev/null || true
    exit 1
}
. "$(dirname "$(realpath "$0")")/../lib/wait.sh"
name=weir-test:$$ server='' container=''
ended()
{
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    if mountpoint -q "$room/root"; then umount -l "$room/root"; fi
    if [ -n "$container" ]; then buildah rm "$container" >/dev/null; fi
    buildah rmi "$name" >/dev/null 2>&1 || true
    give_ports_back
    rm -rf "$room"
}
trap ended EXIT
if ! container=$(buildah from scratch 2>"$room/from.log") ||
    ! buildah mount "$container" >/dev/null 2>"$room/from.log"; then
    skip_test "buildah may not make containers here: $(tail -1 "$room/from.log")" 'make prove, as root'
fi
buildah rm "$container" >/dev/null
container=''

WEIR_BUILD=$build "$tree/tools/image" "$name" >"$room/made.log" || fail "it cannot be made"
config=$(buildah inspect --type image "$name" | jq .Docker.config)
container=$(buildah from "$name")
root=$(buildah mount "$container")
if [ "$(jq -r .User <<<"$config")" != 65532:65532 ] || [ -e "$root/bin/sh" ]; then fail 'it is root, or has a shell'; fi
if buildah run --isolation chroot "$container" -- /bin/weir serve --resp :9347 >"$room/open.log" 2>&1; then
    fail 'it serves others without a password'
fi
grep -q WEIR_PASSWORD "$room/open.log" || fail 'it does not say what it wants'
rm "$room/open.log"

port=$(free_port)
mkdir "$room/root"
mount --bind "$root" "$room/root" && mount -o remount,bind,ro "$room/root" || fail "its files cannot be mounted"
within()
{
    chroot --userspec=65532:65532 "$room/root" "$@"
}
chroot --userspec=65532:65532 "$room/root" /bin/weir serve --resp none --http "127.0.0.1:$port" \
    >"$room/serve.log" 2>&1 &
server=$!
mapfile -t health < <(jq -r '.Healthcheck.Test[1:][]' <<<"$config" | sed "s/:9348/:$port/")
until_true within "${health[@]}" 2>"$room/health.log"
answer=$(curl -fsS -d 'limit=1/day burst=1' -d key=k "http://127.0.0.1:$port/v1/take") || fail "it does not answer"
if [[ $answer != *allow* ]]; then fail "it answered $answer"; fi
kill "$server"
wait_end "$server" 'its end'
server=''
if [ "$status" != 0 ]; then fail "it ended with status $status"; fi
if within "${health[@]}" 2>"$room/health.log"; then fail 'it is found healthy when it is not there'; fi
