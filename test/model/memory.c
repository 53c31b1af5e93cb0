/* SPDX-License-Identifier: MIT
   What memory.h says. */
#include "memory.h"

#include <string.h>

enum { WRITES = MODEL_STEPS_MAX + MODEL_PLACES_MAX };

struct view {
    uint16_t at[MODEL_PLACES_MAX];
};

struct write {
    uint64_t value;
    int before; /* the write of the same word before it, by its place in `writes`; -1: none */
    struct view carries;
};

struct knower {
    struct view knows, kept, released;
};

static struct {
    struct write writes[WRITES];
    int count, newest[MODEL_PLACES_MAX], length[MODEL_PLACES_MAX];
    struct knower thread[MODEL_THREADS_MAX];
    struct view full;
} memory;

static void join(struct view *view, const struct view *other)
{
    for (int i = 0; i < MODEL_PLACES_MAX; i++)
        if (other->at[i] > view->at[i]) view->at[i] = other->at[i];
}

static void raise(struct view *view, int place, int write)
{
    if (view->at[place] < write) view->at[place] = (uint16_t)write;
}

void memory_forget(void)
{
    memory.count = 0;
    memset(memory.thread, 0, sizeof memory.thread);
    memset(&memory.full, 0, sizeof memory.full);
    memset(memory.length, 0, sizeof memory.length);
}

static struct write *append(int place, uint64_t value)
{
    struct write *write = &memory.writes[memory.count];
    *write = (struct write){.value = value, .before = memory.length[place] != 0 ? memory.newest[place] : -1};
    memory.newest[place] = memory.count++;
    memory.length[place]++;
    return write;
}

void memory_begin(int place, uint64_t value)
{
    if (memory.length[place] == 0) append(place, value);
}

int memory_newest(int place)
{
    return memory.length[place] - 1;
}

static struct write *write_at(int place, int number)
{
    int at = memory.newest[place];
    for (int i = memory_newest(place); i > number; i--) at = memory.writes[at].before;
    return &memory.writes[at];
}

uint64_t memory_value(int place, int write)
{
    return write_at(place, write)->value;
}

static bool acquires(enum model_order order)
{
    return order == MODEL_ACQUIRE || order == MODEL_BOTH || order == MODEL_FULL;
}

static bool releases(enum model_order order)
{
    return order == MODEL_RELEASE || order == MODEL_BOTH || order == MODEL_FULL;
}

int memory_oldest(int thread, int place, enum model_order order)
{
    const int known = memory.thread[thread].knows.at[place];
    return order == MODEL_FULL && memory.full.at[place] > known ? memory.full.at[place] : known;
}

void memory_load(int thread, int place, int write, enum model_order order)
{
    struct knower *knower = &memory.thread[thread];
    const struct view *carried = &write_at(place, write)->carries;
    raise(&knower->knows, place, write);
    join(acquires(order) ? &knower->knows : &knower->kept, carried);
}

static void carry(int thread, int place, struct write *write, enum model_order order)
{
    struct knower *knower = &memory.thread[thread];
    const int number = memory_newest(place);
    raise(&knower->knows, place, number);
    join(&write->carries, releases(order) ? &knower->knows : &knower->released);
    raise(&write->carries, place, number);
    if (order == MODEL_FULL) raise(&memory.full, place, number);
}

void memory_store(int thread, int place, uint64_t value, enum model_order order)
{
    carry(thread, place, append(place, value), order);
}

void memory_swap(int thread, int place, uint64_t value, enum model_order order)
{
    const int found = memory_newest(place);
    memory_load(thread, place, found, order);
    const struct view carried = write_at(place, found)->carries;
    struct write *write = append(place, value);
    write->carries = carried;
    carry(thread, place, write, order);
}

void memory_fence(int thread, enum model_order order)
{
    struct knower *knower = &memory.thread[thread];
    if (acquires(order)) join(&knower->knows, &knower->kept);
    if (order == MODEL_FULL) {
        join(&knower->knows, &memory.full);
        memory.full = knower->knows;
    }
    if (releases(order)) knower->released = knower->knows;
}

void memory_reach(int thread, int place)
{
    raise(&memory.thread[thread].knows, place, memory_newest(place));
}
