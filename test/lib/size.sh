# SPDX-License-Identifier: MIT
# size.sh, sourced: how much a test does, where more rounds find more.  tools/test sets it:
#
#   WEIR_SIZE=check, test     seconds: `make check`, `make test`, and where it is not set
#   WEIR_SIZE=prove           minutes: `make prove`
#   WEIR_SEED=N               in place of the seed that a test has of its own; new: one that nobody chose, printed
#
# The same for tests in C is in test/size.h.
of_size() # SMALL FULL: prints the one of this size
{
    case ${WEIR_SIZE:-test} in
    check | test) echo "$1" ;;
    prove) echo "$2" ;;
    *)
        echo "WEIR_SIZE=$WEIR_SIZE: expected check, test or prove" >&2
        exit 2
        ;;
    esac
}

seed_of() # OWN: sets seed
{
    seed=${WEIR_SEED:-$1}
    if [ "$seed" = new ]; then seed=$((1 + (RANDOM << 15 | RANDOM))); fi
    echo "seed $seed: WEIR_SEED=$seed does the same again"
}
