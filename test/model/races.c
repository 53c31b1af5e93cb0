/* SPDX-License-Identifier: MIT
   What comes before what, and which turns have to try another order.

   Source sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal dynamic partial order reduction, POPL 2014, algorithm 1;
   clocks as in Flanagan and Godefroid, POPL 2005): a step races with an earlier one of another thread if they conflict
   and nothing in between orders them; the earlier one's turn must then also try a thread that can begin the order
   without it. */
#include "explore.h"

#include <string.h>

static bool is_before(struct exploration *x, int earlier, const uint32_t *clock)
{
    const struct event *event = &x->events[earlier];
    return event->clock[event->thread] <= clock[event->thread];
}

/* The last events of other threads that conflict with a step of `thread` on these words. */
static int conflicting(struct exploration *x, int thread, uint64_t places, bool wrote, int *found)
{
    int count = 0;
    for (int i = 0; i < x->place_count; i++) {
        if (!(places >> i & 1)) continue;
        const struct place *place = &x->places[i];
        if (place->write != NONE && x->events[place->write].thread != thread) found[count++] = place->write;
        for (int t = 0; wrote && t < THREADS; t++)
            if (t != thread && place->reads[t] != NONE) found[count++] = place->reads[t];
    }
    return count;
}

static void note_access(struct exploration *x, int event, uint64_t places, bool wrote)
{
    const int thread = x->events[event].thread;
    for (int i = 0; i < x->place_count; i++) {
        if (!(places >> i & 1)) continue;
        struct place *place = &x->places[i];
        if (wrote) place->write = event;
        for (int t = 0; wrote && t < THREADS; t++) place->reads[t] = NONE;
        if (!wrote) place->reads[thread] = event;
    }
}

/* first[t]: the first event of each thread in what would happen without `earlier`, which ends with `event`. */
static void without(struct exploration *x, int earlier, int event, int *first)
{
    unsigned seen = bit(x->events[earlier].thread);
    for (int t = 0; t < THREADS; t++) first[t] = NONE;
    for (int e = earlier + 1; e <= event; e++) {
        const int thread = x->events[e].thread;
        if (seen & bit(thread)) continue;
        seen |= bit(thread);
        if (e == event || !is_before(x, earlier, x->events[e].clock)) first[thread] = e;
    }
}

/* The threads that can begin it: nothing else in it comes before their first event. */
static unsigned initials(struct exploration *x, const int *first)
{
    unsigned set = 0;
    for (int t = 0; t < THREADS; t++) {
        bool begins = first[t] != NONE;
        for (int s = 0; begins && s < THREADS; s++)
            if (s != t && first[s] != NONE && is_before(x, first[s], x->events[first[t]].clock)) begins = false;
        if (begins) set |= bit(t);
    }
    return set;
}

static void reverse(struct exploration *x, int earlier, int event)
{
    struct node *node = &x->nodes[x->events[earlier].node];
    int first[THREADS];
    without(x, earlier, event, first);
    const unsigned set = initials(x, first) & node->enabled;
    if (!set || (set & (node->wanted | node->asleep))) return;
    const unsigned own = set & bit(x->events[event].thread);
    node->wanted |= own ? own : bit(lowest(set));
}

/* Races with those of `found` that neither the thread's past nor another of them puts before the event anyway. */
static void find_races(struct exploration *x, int event, const uint32_t *past, const int *found, int count)
{
    for (int i = 0; i < count; i++) {
        bool direct = !is_before(x, found[i], past);
        for (int j = 0; direct && j < count; j++)
            if (found[j] != found[i] && is_before(x, found[i], x->events[found[j]].clock)) direct = false;
        if (direct) reverse(x, found[i], event);
    }
}

void races_record(struct exploration *x, int thread, const struct operation *op, bool wrote, int node)
{
    const int number = x->event_count++;
    struct event *event = &x->events[number];
    uint32_t *past = x->threads[thread].clock;
    int found[PLACES * THREADS];
    const int count = conflicting(x, thread, op->places, wrote, found);

    *event = (struct event){.thread = thread, .node = node};
    memcpy(event->clock, past, sizeof event->clock);
    event->clock[thread]++;
    for (int i = 0; i < count; i++)
        for (int t = 0; t < THREADS; t++)
            if (x->events[found[i]].clock[t] > event->clock[t]) event->clock[t] = x->events[found[i]].clock[t];
    if (explore_reduces(x) && node >= x->first_new) find_races(x, number, past, found, count);
    note_access(x, number, op->places, wrote);
    memcpy(past, event->clock, sizeof event->clock);
}
