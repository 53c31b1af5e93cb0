# SPDX-License-Identifier: MIT
# disk.sh, sourced by a test that has $room: a small file system of its own, for a disk that is full.
#
#   make_small_disk                        sets small_disk, empty where there is no right to have one
#   "${small_disk[@]}" SIZE COMMAND...     runs the command in it; nobody else sees it, and it ends with the command
#
# Root may mount in a mount namespace; others may where user namespaces are allowed.  In a chroot, / is no mount point,
# so that unshare cannot make it private; something that is one then is, and is mounted over.
small_disk=()
mount_and_run='mount -t tmpfs -o "size=$1" none "$0" && cd "$0" && shift && exec "$@"'

make_small_disk()
{
    local place
    mkdir -p "$room/small"
    disk_is unshare --mount sh -c "$mount_and_run" "$room/small" && return
    disk_is unshare --user --map-root-user --mount sh -c "$mount_and_run" "$room/small" && return
    for place in /dev/shm /run; do
        disk_is unshare --mount --propagation unchanged sh -c "mount --make-private \"\$0\" && $mount_and_run" $place &&
            return
    done
}

# Also, others must not see it.
disk_is() # COMMAND...
{
    if [ "$("$@" 64k sh -c 'touch only-here && stat -f -c %T .' 2>/dev/null)" != tmpfs ]; then return 1; fi
    if [ -e "${*: -1}/only-here" ]; then return 1; fi
    small_disk=("$@")
}
