/* SPDX-License-Identifier: MIT
   nodes_scenes.c - the worlds: sizes, how often each step may happen, and what is let through at most.

   May touch: nothing, it is numbers.  Promises: see nodes_scenes.h.  Leaves to others: exploring them. */
#include "nodes_scenes.h"

#include <stddef.h>

#include "planted_nodes.h"

/* clang-format off */
#define TIMES(asks, returns, gives_up, takes, laters) \
    [STEP_ASK] = (asks), [STEP_RETURN] = (returns), [STEP_GIVE_UP] = (gives_up), [STEP_TAKE] = (takes), [STEP_LATER] = (laters)
#define SMALL(count) .nodes = (count), .burst = 18, .permit = 1, .per = 1, .lifetime = {4, 4, 4}, .want = {2}
#define TIME .later = {1, 4, 20}
#define COST .cost = {1, NODES_ALL}
/* clang-format on */

static const struct nodes_scene scenes[] = {
    {.name = "one node and singles", SMALL(1), TIME, COST, .times = {TIMES(3, 2, 0, 2, 4)}},
    {.name = "two nodes and singles", SMALL(2), TIME, COST, .times = {TIMES(2, 1, 0, 1, 3)}},
    {.name = "two nodes, replies given up", SMALL(2), TIME, COST, .times = {TIMES(2, 1, 2, 0, 2)}},
    {.name = "three nodes", SMALL(3), TIME, COST, .times = {TIMES(1, 1, 1, 1, 2)}},
    {.name = "a clock set back", SMALL(2), TIME, COST, .clock_us = -6, .times = {TIMES(2, 1, 0, 0, 3), [STEP_CLOCK] = 1}},
    {.name = "forgotten when idle", SMALL(2), TIME, COST, .times = {TIMES(2, 1, 0, 0, 4), [STEP_FORGET] = 2}},
    {.name = "waiters", SMALL(2), TIME, .cost = {2, 16, 18}, .wait_us = 18, .times = {TIMES(1, 1, 0, 1, 3), [STEP_WAIT] = 2}},
    {.name = "two lifetimes", .nodes = 2, .burst = 18, .permit = 1, .per = 1, .lifetime = {3, 8}, .want = {2}, .later = {1, 3, 20}, COST, .times = {TIMES(2, 1, 0, 0, 4)}},
    {.name = "no whole rate", .nodes = 2, .burst = 18, .permit = 3, .per = 2, .lifetime = {4, 4}, .want = {2}, .later = {1, 4, 30}, COST, .times = {TIMES(2, 1, 0, 1, 3)}},
    {.name = "larger leases", .nodes = 2, .burst = 40, .permit = 1, .per = 1, .lifetime = {4, 4}, .want = {3, 5}, .later = {4, 40}, .cost = {NODES_ALL}, .times = {TIMES(2, 1, 0, 1, 3)}},
    {.name = "restarted empty: a burst more", SMALL(2), TIME, COST, .times = {TIMES(2, 1, 0, 1, 2), [STEP_RESTART] = 1}, .worst = 18},
    {.name = "failover: a burst more", SMALL(2), TIME, COST, .times = {TIMES(2, 1, 0, 1, 1), [STEP_COPY] = 1, [STEP_FAILOVER] = 1}, .worst = 18},
    {.name = "clock stepped on by 5", SMALL(2), TIME, COST, .clock_us = 5, .times = {TIMES(2, 1, 0, 1, 2), [STEP_CLOCK] = 1}, .worst = 5},
    {.name = "clock stepped on by 40", SMALL(2), TIME, COST, .clock_us = 40, .times = {TIMES(2, 1, 0, 1, 2), [STEP_CLOCK] = 1}, .worst = 18},
    {.name = "stopped after looking at the clock", SMALL(2), TIME, COST, .times = {TIMES(1, 0, 0, 1, 3), [STEP_LOOK] = 2}, .worst = 2},
    {.name = NULL},
};

const struct nodes_scene *nodes_scenes(void)
{
    return scenes;
}
