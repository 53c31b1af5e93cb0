/* SPDX-License-Identifier: MIT
   A heap of events, and a generator of random numbers (splitmix64). */
#include "simulate/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct event {
    uint64_t at, number;
    world_event *happens;
    uint64_t one, other;
};

static struct event *heap;
static size_t events, room;
static uint64_t now_ns, numbers, random_state, digest;

void world_begin(uint64_t seed)
{
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    now_ns = 1000000 * SECOND;
    digest = UINT64_C(0xcbf29ce484222325);
    events = 0;
    numbers = 0;
}

void world_end(void)
{
    free(heap);
    heap = NULL;
    events = room = 0;
}

uint64_t world_now(void)
{
    return now_ns;
}

/* ---- events ---- */

static bool is_before(const struct event *one, const struct event *other)
{
    return one->at != other->at ? one->at < other->at : one->number < other->number;
}

static void make_room(void)
{
    if (events < room) return;
    room = room != 0 ? 2 * room : 1024;
    heap = realloc(heap, room * sizeof *heap);
    if (heap == NULL) abort();
}

void world_at(uint64_t at, world_event *event, uint64_t one, uint64_t other)
{
    const struct event added = {at > now_ns ? at : now_ns, numbers++, event, one, other};
    make_room();
    size_t place = events++;
    for (; place != 0 && is_before(&added, &heap[(place - 1) / 2]); place = (place - 1) / 2)
        heap[place] = heap[(place - 1) / 2];
    heap[place] = added;
}

static struct event take_first(void)
{
    const struct event first = heap[0], last = heap[--events];
    size_t place = 0;
    for (size_t child; (child = 2 * place + 1) < events; place = child) {
        if (child + 1 < events && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &last)) break;
        heap[place] = heap[child];
    }
    if (events != 0) heap[place] = last;
    return first;
}

void world_run(uint64_t until)
{
    while (events != 0 && heap[0].at < until) {
        const struct event event = take_first();
        now_ns = event.at;
        event.happens(event.one, event.other);
    }
    now_ns = until;
}

/* ---- chance ---- */

uint64_t world_random(void)
{
    uint64_t mixed = random_state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

uint64_t world_below(uint64_t end)
{
    return world_random() % end;
}

static double part(void)
{
    return (double)(world_random() >> 11) * 0x1p-53;
}

uint64_t world_between(uint64_t least, uint64_t most)
{
    return (uint64_t)((double)least * pow((double)most / (double)least, part()));
}

uint64_t world_about(uint64_t mean)
{
    return (uint64_t)(-log1p(-part()) * (double)mean);
}

bool world_chance(unsigned of_1000)
{
    return world_below(1000) < of_1000;
}

void world_note(uint64_t what)
{
    digest = (digest ^ what ^ now_ns) * UINT64_C(0x100000001b3);
    digest ^= digest >> 32;
}

uint64_t world_digest(void)
{
    return digest;
}
