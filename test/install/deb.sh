#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deb.sh TREE: the Debian packages, made without a network and looked at by lintian; in a Debian that has nothing else
# they do what a user wants of them (packaging/debian/tests), and when they are purged nothing of them is left.
set -euo pipefail
tree=$1
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
needs dh dpkg-buildpackage git
if [ ! -e "$tree/.git" ]; then skip_test "the tree is no clone, and tools/dist takes what git has" "git clone"; fi
folder=$(mktemp -d)
root=$folder/root
unmounted()
{
    if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
    rm -rf "$folder"
}
trap unmounted EXIT

"$tree/tools/deb" "$folder/deb" >"$folder/made"
cp "$folder"/deb/weir_*.orig.tar.gz "$folder/first.tar.gz"
made=$("$tree/tools/dist" "$folder" | tail -1)
cmp "$made" "$folder/first.tar.gz" || { echo 'the same commit gave another tarball'; exit 1; }

if ! has_tool lintian; then
    skip_part 'install/deb: lintian' 'lintian is not here'
elif ! lintian --allow-root --fail-on error,warning "$folder"/deb/*.changes >"$folder/lintian"; then
    cat "$folder/lintian"
    exit 1
fi

if ! has_tool debootstrap || [ "$(id -u)" != 0 ]; then
    skip_part 'install/deb: in a bare Debian' 'debootstrap and root make one'
    exit 0
fi
within()
{
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}
quietly() # COMMAND...: says what it said only when it fails
{
    "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
}
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if ! debootstrap --variant=minbase "$release" "$root" >"$folder/log" 2>&1; then
    tail -3 "$folder/log"
    skip_part 'install/deb: in a bare Debian' 'debootstrap cannot reach one'
    exit 0
fi
mount -t proc proc "$root/proc"
mkdir "$root/packages"
cp "$folder"/deb/*.deb "$root/packages/"
cp -r "$tree/packaging/debian/tests" "$root/tests"
rm -f "$root/packages/"*-dbgsym_*
quietly within apt-get install -y --no-install-recommends gcc libc6-dev pkg-config cmake make man-db redis-server curl \
    bash-completion
listed() # what is there, but for what any package leaves changed
{
    within find / -xdev \( -path /proc -o -path /sys -o -path /tmp -o -path /root -o -path /packages -o -path /tests \
        -o -path /var/cache -o -path /var/log -o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -print | sort
}
# libraries of the packages beside, which stay
quietly within sh -c 'apt-get install -y --no-install-recommends /packages/*.deb'
within sh -c 'dpkg-query -W -f "\${Package}\n" "libweir*" weir' >"$folder/names"
for test in library command engine; do quietly within sh "/tests/$test"; done
quietly within man -w weir_take weir_table weir_engine weir weir.yaml weir-limit
within sh -c 'ls /lib/systemd/system/weir.service /lib/systemd/system/weir.socket /usr/lib/*/cmake/weir' >/dev/null

# Without libweir-redis-dev, CMake still finds the library.
quietly within dpkg --purge libweir-redis-dev
cat >"$root/tmp/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(weir REQUIRED)
add_executable(user user.c)
target_link_libraries(user weir::weir)
END
echo '#include <weir/weir.h>
int main(void) { return weir_now().ns == 0; }' >"$root/tmp/user.c"
quietly within sh -c 'cd /tmp && cmake -S . -B made && cmake --build made && made/user'

quietly within sh -c "dpkg --purge $(grep -v '^libweir-redis-dev$' "$folder/names" | tr '\n' ' ')"
left=$(listed | grep -i weir | grep -v '^/tmp' || true)
if [ -n "$left" ]; then
    echo "left behind: $left"
    exit 1
fi
