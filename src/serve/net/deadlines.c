/* SPDX-License-Identifier: MIT
   A wheel of seconds.

   Nobody comes early; each is looked at once in 64 seconds at most, so ten thousand idle connections cost some 160
   looks a second. */
#include "serve/net/deadlines.h"

#include <stddef.h>

void deadlines_open(struct deadlines *deadlines, uint64_t second)
{
    deadlines->second = second;
    for (int i = 0; i < DEADLINES_SLOTS; i++) {
        struct deadline *head = &deadlines->slot[i];
        head->before = head->after = head;
    }
}

void deadlines_remove(struct deadline *deadline)
{
    if (deadline->after == NULL) return;
    deadline->before->after = deadline->after;
    deadline->after->before = deadline->before;
    deadline->before = deadline->after = NULL;
}

void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, uint64_t second)
{
    if (second <= deadlines->second) second = deadlines->second + 1;
    deadlines_remove(deadline);
    struct deadline *head = &deadlines->slot[second % DEADLINES_SLOTS];
    deadline->second = second;
    deadline->before = head->before;
    deadline->after = head;
    head->before->after = deadline;
    head->before = deadline;
}

static struct deadline *due_in(struct deadline *head, uint64_t second)
{
    for (struct deadline *at = head->after; at != head; at = at->after) {
        if (at->second <= second) return at;
    }
    return NULL;
}

struct deadline *deadlines_next(struct deadlines *deadlines, uint64_t second)
{
    if (second > deadlines->second + DEADLINES_SLOTS) deadlines->second = second - DEADLINES_SLOTS; /* once around */
    while (deadlines->second < second) {
        struct deadline *due = due_in(&deadlines->slot[(deadlines->second + 1) % DEADLINES_SLOTS], second);
        if (due != NULL) {
            deadlines_remove(due);
            return due;
        }
        deadlines->second++;
    }
    return NULL;
}
