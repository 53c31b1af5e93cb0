# SPDX-License-Identifier: MIT
# revision.sh, sourced from the top of the tree: another revision of weir, built in a folder of its own.
#
#   build_revision REV TARGET...     into $revision/build; what the revision does not have is said and left out
#
# The folder goes when the script ends.
revision=

drop_revision()
{
    if [ -z "$revision" ]; then return; fi
    git worktree remove --force "$revision" >&2 || true
    rm -rf "$(dirname "$revision")"
}

build_revision() # REV TARGET...
{
    local folder commit target
    commit=$(git rev-parse --short --verify "$1^{commit}") || exit 2
    shift
    folder=$(mktemp -d)
    revision=$folder/weir
    trap drop_revision EXIT
    trap 'exit 130' INT TERM
    git worktree add --detach "$revision" "$commit" >/dev/null 2>&1
    for target in "$@"; do
        if ! "$revision/tools/build" --preset release "$target" >"$folder/log" 2>&1; then
            echo "$0: $commit does not build $target: $(tail -n 1 "$folder/log")" >&2
        fi
    done
}
