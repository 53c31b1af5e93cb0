#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# explain_plot.sh WEIR: what `weir explain` draws, on the terminal and as a picture.
. "$(dirname "$0")/lib/check.sh" "$@"
needs python3

draws() # ARGUMENT...; the expected drawing on stdin
{
    cat >expected
    run "drawing of $*" "$weir" explain "$@"
    ends 0
    silent err
    sed -i '1,/arrivals/{/arrivals/!d}' out
    same out expected
}

draws 5/s <<'END'
  43 arrivals, how many a column (# is 10 or more); 23 pass at once
  came      #....11.1..........55.1111111111..................#
  at once   5....11.1..........5..1.1.1.1.1...................5
  waiting   5.1.1.1.1.1.1.1.1..11.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1
            |---------|---------|---------|---------|---------|---------
            0         1 s
END

draws '1000000/s algorithm=gcra burst=100000' <<'END'
  85 arrivals of 100,000 each, how many a column (# is 10 or more); 19 pass at once
  came      #....11111.........##.2222222222..................#
  at once   1....11111.........11.1111111111..................1
  waiting   111111111111111111111111111111111111111111111111111111111111
            |---------|---------|---------|---------|---------|---------
            0         1 s
END

# ---- callers that hold slots ----
draws_holders() # LIMIT; the expected drawing on stdin
{
    cat >expected
    run "drawing of $1" "$weir" explain "$1"
    ends 0
    silent err
    sed -i '1,/callers/{/callers/!d}' out
    same out expected
    if [ "$(awk '{ if (length > most) most = length } END { print most }' out)" -gt 80 ]; then fail 'too wide'; fi
}

draws_holders '3 concurrent jobs lease=1h; 10/h' <<'END'
  6 callers: = holds, R renews, x dies, - lease runs on, . waits
  A         ====R=
  B          ====R===R===R===R===R===R==
  C           ====R==x--------
  D            ...====R===R===R===
  E             ..............====R===R==
  F                 ..............====R===R===R===R===
  holding   123333333333333333333333333321111111111111000000000000000000
            |-----------|-----------|-----------|-----------|-----------
            0           1 h
END
draws_holders '65536 concurrent lease=30s' <<'END'
  7 callers of 13,108 slots: = holds, R renews, x dies, - lease runs on, . waits
  A         ====R=
  B          ====R===R===R===R===R===R==
  C           ====R==x--------
  D            ====R===R===R===
  E             ..====R===R==
  F                 .........====R===R===R===R===
  G                  .........====R===R
  holding   123444444444444444433333333211111111100000000000000000000000
            |-----------|-----------|-----------|-----------|-----------
            0           30 s
END
draws_holders '1 concurrent lease=1h' <<'END'
  4 callers: = holds, R renews, x dies, - lease runs on, . waits
  A         ====R=
  B          .....====R===R===R===R===R===R==
  C           ...............................====R==x--------
  D            ..............................................====R===R==
  holding   111111111111111111111111111111111111111111111111111111111111
            |-----------|-----------|-----------|-----------|-----------
            0           1 h
END
run 'leases of years' "$weir" explain '3 concurrent lease=100year'
ends 0
if grep -qE 'callers|arrivals' out; then fail 'draws something'; fi
run 'holders as a picture' "$weir" explain '3 concurrent lease=1h' --svg picture
ends 0
silent out
python3 -c 'import sys, xml.dom.minidom as x
bars = [bar.getAttribute("fill") for bar in x.parse("picture").getElementsByTagName("rect")]
assert bars.count("#1668b2") == 6 and bars.count("#a01818") == 1 and bars.count("#ddd") == 3, bars' ||
    fail 'is no picture of six holders'

# ---- a rate that changes with time ----
run 'the drawing of a profile' "$weir" explain --pace \
    '100/s..1000/s for 30s then 1000/s for 1min then pause 5s then 200/s'
ends 0
cat >expected <<'END'
  the rate over time
  1000/s                 .#################################
                      .####################################
                   .#######################################
                ..#########################################.
             ..#############################################  ..........
            ################################################  ##########
            |---------|---------|---------|---------|---------|---------|
            0                                                        1.9 min
END
sed -i '1,/the rate over time/{/the rate over time/!d}' out
same out expected
run 'a profile as a picture' "$weir" explain --pace '..10/s for 1s then ..0/s for 1s' --svg picture
ends 0
silent out
python3 -c 'import sys, xml.dom.minidom as x
points = x.parse(sys.argv[1]).getElementsByTagName("polygon")[0].getAttribute("points").split()
assert points == ["72,176", "72.0,176.0", "344.0,30.0", "344.0,30.0", "616.0,176.0", "616,176"], points' picture ||
    fail 'is no picture of two ramps'

# Less than a permit in the period that was said, and nothing to draw.
run 'half a permit' "$weir" explain 0.5/s
says out '            0         2 s'
for limit in none unlimited; do
    run "$limit" "$weir" explain $limit
    ends 0
    if grep -q arrivals out; then fail 'draws something'; fi
    run "$limit as a picture" "$weir" explain $limit --svg picture
    ends 2
    says err "weir: --svg picture: there is nothing to plot for $limit"
done

# A log of 10^8 permits would be written a dozen times over.
run 'a huge log' timeout 10 "$weir" explain '268435456/s algorithm=sliding-log'
ends 0
says out '  memory          1,073,741,880 bytes of state; in a limiter '
if grep -q arrivals out; then fail 'draws something'; fi
run 'a huge log as a picture' "$weir" explain '268435456/s algorithm=sliding-log' --svg picture
ends 2
says err 'there is nothing to plot for 268435456/s algorithm=sliding-log edge=open, it is too large'

run 'a picture' "$weir" explain '10/s burst=20; 100 tokens/min' --svg picture
ends 0
silent out
silent err
python3 -c 'import sys, xml.dom.minidom as x
bars = x.parse("picture").getElementsByTagName("rect")
sys.exit(len(bars) < 20)' || fail 'is no picture'
says picture '10/s burst=20 algorithm=gcra; 100 tokens/min burst=100 algorithm=gcra: 70 of 85 pass at once'
run 'a picture where there is no folder' "$weir" explain 5/s --svg no/where
ends 2
says err 'weir: --svg no/where: No such file or directory'

# The pictures of the documentation are what the command draws.
for picture in "$tree"/doc/plots/*.svg; do
    limit=$(sed -nE 's/^<text[^>]*>(.*): [0-9]+ (of [0-9]+ pass at once|callers)<.*/\1/p' "$picture")
    run "the picture of $limit (tools/plots draws them anew)" "$weir" explain "$limit" --svg picture
    ends 0
    same picture "$picture"
done
