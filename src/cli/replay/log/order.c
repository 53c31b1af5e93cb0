/* SPDX-License-Identifier: MIT
   Puts the requests of a log in the order in which they came, within a window.

   A server writes a line when a request ends, so a request that took long stands behind later ones; the longest
   duration so far, and two seconds, is how far back one may still belong.  Lines are nearly in order, which makes it
   cheap to keep a sorted run of them:

       run    t1 t2 t3 t5 t6 |<- at most NEAR places from its end: moved there
       heap   those that belong further back                    next = the lesser of run's first and heap's least

   What comes later still is taken at the time of the last one taken, and counted.  At the start of a log no duration
   says anything yet, so all of it may be held until the log has come as far as from_ns.

   Times taken never decrease; of equal times the earlier line comes first; at most ORDER_HELD_MAX are held. */
#include "cli/replay/log/order.h"

#include <stdlib.h>

#include "core/num.h"

enum { NEAR = 64, SIZE_AT_FIRST = 1 << 10 };

static const uint64_t SLACK_NS = UINT64_C(2000000000);

static bool before(const struct order_entry *a, const struct order_entry *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->line < b->line;
}

/* ---- the run ---- */

static struct order_entry *run_at(const struct order *order, size_t place)
{
    return &order->run[(order->run_begin + place) & (order->run_size - 1)];
}

static bool grow_run(struct order *order)
{
    const size_t size = order->run_size == 0 ? SIZE_AT_FIRST : order->run_size * 2;
    struct order_entry *larger = malloc(size * sizeof *larger);
    if (larger == NULL) return false;
    for (size_t i = 0; i < order->run_count; i++) larger[i] = *run_at(order, i);
    free(order->run);
    order->run = larger;
    order->run_size = size;
    order->run_begin = 0;
    return true;
}

/* Does it belong into the run, not far from its end? */
static bool is_near(const struct order *order, uint64_t time_ns)
{
    const size_t count = order->run_count;
    if (count == 0 || run_at(order, count - 1)->time_ns <= time_ns) return true;
    return count < NEAR || run_at(order, count - NEAR)->time_ns <= time_ns;
}

static bool put_in_run(struct order *order, const struct order_entry *entry)
{
    if (order->run_count == order->run_size && !grow_run(order)) return false;
    size_t place = order->run_count++;
    for (; place > 0 && run_at(order, place - 1)->time_ns > entry->time_ns; place--) {
        *run_at(order, place) = *run_at(order, place - 1);
    }
    *run_at(order, place) = *entry;
    return true;
}

/* ---- the heap ---- */

static bool put_in_heap(struct order *order, const struct order_entry *entry)
{
    if (order->heap_count == order->heap_size) {
        const size_t size = order->heap_size == 0 ? SIZE_AT_FIRST : order->heap_size * 2;
        struct order_entry *larger = realloc(order->heap, size * sizeof *larger);
        if (larger == NULL) return false;
        order->heap = larger;
        order->heap_size = size;
    }
    size_t place = order->heap_count++;
    for (; place > 0 && before(entry, &order->heap[(place - 1) / 2]); place = (place - 1) / 2) {
        order->heap[place] = order->heap[(place - 1) / 2];
    }
    order->heap[place] = *entry;
    return true;
}

/* The hole goes down to a leaf first: what fills it comes from there, and seldom has to go up again. */
static void take_from_heap(struct order *order, struct order_entry *entry)
{
    struct order_entry *heap = order->heap;
    const size_t count = --order->heap_count;
    const struct order_entry last = heap[count];
    size_t hole = 0;
    *entry = heap[0];
    for (size_t child = 1; child < count; child = 2 * hole + 1) {
        if (child + 1 < count && before(&heap[child + 1], &heap[child])) child++;
        heap[hole] = heap[child];
        hole = child;
    }
    for (; hole > 0 && before(&last, &heap[(hole - 1) / 2]); hole = (hole - 1) / 2) heap[hole] = heap[(hole - 1) / 2];
    heap[hole] = last;
}

/* ---- both ---- */

bool order_put(struct order *order, struct order_entry entry, uint64_t stamp_ns, uint64_t duration_ns)
{
    order->all = false;
    order->stamp_ns = most(order->stamp_ns, stamp_ns);
    order->window_ns = most(order->window_ns, add_saturating(duration_ns, SLACK_NS));
    if (entry.time_ns < order->taken_ns) {
        entry.time_ns = order->taken_ns;
        order->late++;
    }
    return is_near(order, entry.time_ns) ? put_in_run(order, &entry) : put_in_heap(order, &entry);
}

bool order_take(struct order *order, struct order_entry *entry)
{
    const struct order_entry *run = order->run_count != 0 ? run_at(order, 0) : NULL;
    const struct order_entry *heap = order->heap_count != 0 ? &order->heap[0] : NULL;
    if (run == NULL && heap == NULL) return false;
    const bool from_heap = run == NULL || (heap != NULL && before(heap, run));
    const uint64_t time_ns = from_heap ? heap->time_ns : run->time_ns;
    const bool full = order->run_count + order->heap_count >= ORDER_HELD_MAX;
    const uint64_t complete_ns = most(add_saturating(time_ns, order->window_ns), order->from_ns);
    if (!order->all && !full && complete_ns > order->stamp_ns) return false;
    if (from_heap) {
        take_from_heap(order, entry);
    } else {
        *entry = *run;
        order->run_begin = (order->run_begin + 1) & (order->run_size - 1);
        order->run_count--;
    }
    order->taken_ns = time_ns;
    return true;
}

void order_finish(struct order *order)
{
    order->all = true;
}

void order_close(struct order *order)
{
    free(order->run);
    free(order->heap);
    *order = (struct order){0};
}
