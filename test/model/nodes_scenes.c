/* SPDX-License-Identifier: MIT
   The worlds: sizes, how often each step may happen, and what is let through at most.

   See nodes_scenes.h. */
#include "nodes_scenes.h"

#include <stddef.h>

#include "planted_nodes.h"

/* clang-format off */
#define TIMES(asks, returns, gives_up, takes, laters) \
    [STEP_ASK] = (asks), [STEP_RETURN] = (returns), [STEP_GIVE_UP] = (gives_up), [STEP_TAKE] = (takes), \
    [STEP_LATER] = (laters)
#define SMALL(count) .nodes = (count), .burst = 18, .permit = 1, .per = 1, .lifetime = {4, 4, 4}, .want = {2}
#define TIME .later = {1, 4, 20}
#define SHORT_TIME .later = {4, 20}
#define ANY .cost = {1, NODES_ALL}
#define ALL .cost = {NODES_ALL}
#define PLANTED(mistake) SMALL(2), TIME, ALL, .planted = (mistake)

static const struct nodes_scene scenes[] = {
    {.name = "one node and singles", SMALL(1), TIME, ANY, .times = {TIMES(3, 2, 0, 1, 4)}},
    {.name = "two nodes and singles", SMALL(2), TIME, ALL, .times = {TIMES(2, 1, 0, 1, 3)}},
    {.name = "two nodes, replies given up", SMALL(2), TIME, ANY, .times = {TIMES(2, 1, 2, 0, 2)}},
    {.name = "three nodes", SMALL(3), TIME, ANY, .times = {TIMES(1, 1, 1, 1, 2)}},
    {.name = "a clock set back", SMALL(2), SHORT_TIME, ALL, .clock_us = -6,
     .times = {TIMES(2, 1, 0, 1, 2), [STEP_CLOCK] = 1}},
    {.name = "forgotten when idle", SMALL(2), SHORT_TIME, ALL, .times = {TIMES(2, 1, 0, 0, 3), [STEP_FORGET] = 2}},
    {.name = "waiters", SMALL(2), TIME, .cost = {2, 16, 18}, .wait_us = 18,
     .times = {TIMES(1, 1, 0, 1, 3), [STEP_WAIT] = 2}},
    {.name = "two lifetimes", .nodes = 2, .burst = 18, .permit = 1, .per = 1, .lifetime = {3, 8}, .want = {2},
     .later = {3, 20}, ALL, .times = {TIMES(2, 1, 0, 0, 3)}},
    {.name = "no whole rate", .nodes = 2, .burst = 18, .permit = 3, .per = 2, .lifetime = {4, 4}, .want = {2},
     .later = {1, 4, 30}, ALL, .times = {TIMES(1, 1, 0, 1, 3)}},
    {.name = "larger leases", .nodes = 2, .burst = 40, .permit = 1, .per = 1, .lifetime = {4, 4}, .want = {3, 5},
     .later = {4, 40}, ALL, .times = {TIMES(1, 1, 0, 2, 3)}},
    {.name = "restarted empty: a burst more", SMALL(2), SHORT_TIME, ALL,
     .times = {TIMES(2, 1, 0, 1, 1), [STEP_RESTART] = 1}, .worst = 18},
    {.name = "failover: a burst more", SMALL(2), .later = {4}, ALL,
     .times = {TIMES(2, 1, 0, 1, 1), [STEP_COPY] = 1, [STEP_FAILOVER] = 1}, .worst = 18},
    {.name = "clock stepped on by 5: what drains in 5 more", SMALL(2), SHORT_TIME, ALL, .clock_us = 5,
     .times = {TIMES(2, 1, 0, 1, 1), [STEP_CLOCK] = 1}, .worst = 5},
    {.name = "clock stepped on by 40: a burst more", SMALL(2), SHORT_TIME, ALL, .clock_us = 40,
     .times = {TIMES(2, 1, 0, 1, 1), [STEP_CLOCK] = 1}, .worst = 18},
    {.name = "clock stepped on by 8, a slow rate: less than what drains in 8 more",
     .nodes = 2, .burst = 18, .permit = 10, .per = 1,
     .lifetime = {4, 4}, .want = {2}, .later = {4, 200}, ALL, .clock_us = 8,
     .times = {TIMES(1, 1, 0, 1, 2), [STEP_CLOCK] = 1}, .worst = 6},
    {.name = "stopped after looking at the clock: a permit more for each", SMALL(2), TIME, ALL,
     .times = {TIMES(1, 0, 0, 1, 3), [STEP_LOOK] = 2}, .worst = 2},

    {.name = "granted late in an epoch", SMALL(2), .later = {3}, ALL, .times = {TIMES(1, 1, 0, 0, 3)}},
    {.name = "spent late, a slow rate", .nodes = 2, .burst = 18, .permit = 10, .per = 1, .lifetime = {4, 4},
     .want = {2}, .later = {3}, ALL, .times = {TIMES(1, 1, 0, 0, 4)}},
    {.name = "a shorter lifetime beside longer ones", .nodes = 3, .burst = 32, .permit = 1, .per = 1,
     .lifetime = {3, 18, 18}, .want = {2}, .later = {16}, ALL, .times = {TIMES(1, 0, 0, 0, 3)}},
    {.name = "a clock set back, then time", SMALL(1), TIME, ANY, .clock_us = -6,
     .times = {TIMES(1, 0, 0, 1, 4), [STEP_CLOCK] = 1}},

    {.name = "copied without a mistake", PLANTED(PLANTED_COPY), .times = {TIMES(1, 1, 0, 1, 2)}},
    {.name = "planted: not kept as out", PLANTED(PLANTED_NO_OUT), .times = {TIMES(1, 0, 0, 0, 2)}},
    {.name = "planted: singles ignore what is out", PLANTED(PLANTED_SINGLES_IGNORE), .times = {TIMES(1, 0, 0, 0, 2)}},
    {.name = "planted: returned without the hold", PLANTED(PLANTED_RETURN_NO_HOLD), .times = {TIMES(1, 1, 0, 0, 4)}},
    {.name = "planted: returned with the hold of its own", PLANTED(PLANTED_RETURN_HOLDS_OWN),
     .times = {TIMES(1, 1, 0, 0, 4)}},
    {.name = "planted: returned, no longer out before the hold", PLANTED(PLANTED_RETURN_OUT_FIRST),
     .times = {TIMES(1, 1, 0, 0, 4)}},
    {.name = "planted: returned of any epoch", PLANTED(PLANTED_RETURN_ANY), .times = {TIMES(2, 1, 0, 0, 4)}},
    {.name = "planted: one epoch", SMALL(2), .later = {3}, ALL, .planted = PLANTED_ONE_EPOCH,
     .times = {TIMES(1, 1, 0, 0, 3)}},
    {.name = "planted: held as of the next call", .nodes = 2, .burst = 18, .permit = 10, .per = 1,
     .lifetime = {4, 4}, .want = {2}, .later = {3}, ALL, .planted = PLANTED_HOLD_LATE, .times = {TIMES(1, 1, 0, 0, 4)}},
    {.name = "planted: names come again", PLANTED(PLANTED_TURNS_FROM_1),
     .times = {TIMES(2, 1, 0, 0, 4), [STEP_FORGET] = 1}},
    {.name = "planted: forgotten while out", PLANTED(PLANTED_IDLE_LEVEL),
     .times = {TIMES(1, 0, 0, 0, 4), [STEP_FORGET] = 1}},
    {.name = "planted: the shorter lifetime stays", .nodes = 2, .burst = 18, .permit = 1, .per = 1,
     .lifetime = {3, 18}, .want = {2}, .later = {1, 3, 8}, ALL,
     .planted = PLANTED_SHORTER_STAYS, .times = {TIMES(1, 0, 0, 0, 4)}},
    {.name = "planted: the shorter lifetime wins", .nodes = 3, .burst = 32, .permit = 1, .per = 1,
     .lifetime = {3, 18, 18}, .want = {2}, .later = {16}, ALL, .planted = PLANTED_SHORTER_WINS,
     .times = {TIMES(1, 0, 0, 0, 3)}},
    {.name = "planted: a clock set back forgets", PLANTED(PLANTED_BACK_FORGETS), .clock_us = -6,
     .times = {TIMES(1, 0, 0, 0, 3), [STEP_CLOCK] = 1}},
    {.name = "planted: a clock set back shortens", PLANTED(PLANTED_BACK_SHORTENS), .clock_us = -6,
     .times = {TIMES(1, 0, 0, 1, 4), [STEP_CLOCK] = 1}},
    {.name = "planted: a waiter is promised what is out", SMALL(1), .later = {1, 2}, .cost = {18}, .wait_us = 18,
     .planted = PLANTED_WAIT_FOR_OUT, .times = {TIMES(1, 0, 0, 0, 3), [STEP_WAIT] = 1}},
    {.name = "planted: a node counts from the reply", SMALL(1), SHORT_TIME, ALL,
     .node_mistake = NODE_COUNTS_FROM_REPLY, .times = {TIMES(1, 0, 0, 0, 4)}},
    {.name = "planted: a node keeps what it returns", SMALL(1), SHORT_TIME, ALL,
     .node_mistake = NODE_KEEPS_WHAT_IT_RETURNS, .times = {TIMES(1, 1, 0, 0, 2)}},
    {.name = "planted: a node returns twice", SMALL(2), SHORT_TIME, ALL, .node_mistake = NODE_RETURNS_TWICE,
     .times = {TIMES(1, 1, 0, 0, 2)}},
    {.name = "planted: a node returns what it keeps", SMALL(1), .later = {1, 3}, ALL,
     .node_mistake = NODE_RETURNS_WHAT_IT_KEEPS, .times = {TIMES(2, 0, 0, 0, 4)}},
    {.name = "planted: what is left of a lease lives as long as the next", SMALL(1), .later = {3, 20}, ALL,
     .node_mistake = NODE_SPENDS_BEFORE_TOO_LONG, .times = {TIMES(2, 0, 0, 0, 4)}},
    {.name = "planted: shorter in the engine", SMALL(1), .later = {1, 20}, ALL, .engine_lifetime = 1,
     .times = {TIMES(1, 0, 0, 0, 5)}},

    {.name = "at random, three nodes", .nodes = 3, .burst = 60, .permit = 3, .per = 2, .lifetime = {9, 9, 9},
     .want = {2, 4, 7}, .later = {1, 5, 70}, ANY, .walks = true,
     .times = {TIMES(40, 20, 20, 60, 120), [STEP_FORGET] = 5}},
    {.name = "at random, several lifetimes", .nodes = 3, .burst = 100, .permit = 1, .per = 3, .lifetime = {3, 9, 30},
     .want = {2, 4, 12}, .later = {1, 3, 11}, ANY, .walks = true,
     .times = {TIMES(40, 20, 20, 60, 120), [STEP_FORGET] = 5}},
    {.name = NULL},
};
/* clang-format on */

const struct nodes_scene *nodes_scenes(void)
{
    return scenes;
}
