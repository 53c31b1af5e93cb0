/* SPDX-License-Identifier: MIT
   Src/share/table/top.c with threads that count and one that reads, in all interleavings.

   The sketches are plain memory under a lock that is only tried.  So the source is compiled in here with the copying
   and comparing of bytes announced: whoever touches a sketch that the lock did not hand over is seen.  In the end the
   counts have to bracket the refusals that there were; a thread that reads meanwhile is not told of more than that.

   Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"

#include <string.h>

#include "share/lock.h"
#include "share/table/top.h"

static void *announced_copy(void *to, const void *from, size_t size);
static int announced_compare(const void *one, const void *other, size_t size);
static bool unlocked_try(struct atom *lock);
static bool use_no_lock;

#define memcpy announced_copy
#define memcmp announced_compare
#define lock_try(lock) (use_no_lock ? unlocked_try(lock) : lock_try(lock))
#include "share/table/top.c" /* NOLINT(bugprone-suspicious-include) */
#undef memcpy
#undef memcmp
#undef lock_try

enum { THREADS = 3, ACTIONS = 3, COUNTERS = 2, BYTES = 8192, ROOM = 4 };
enum verb { NOTHING, ADD, READ };

struct scene {
    const char *name;
    struct {
        enum verb verb;
        char key;
    } script[THREADS][ACTIONS];
    bool stuck; /* the process forked while a thread held the lock: nobody releases it */
    const char *mistake;
};

static const struct scene *scene;
static struct top top;
static _Alignas(TOP_CACHE_LINE) unsigned char memory[BYTES];
static uint64_t adds[UINT8_MAX + 1];

/* The sketch of the one stripe that is used here. */
static void announce(const void *where)
{
    const unsigned char *byte = where;
    if (byte >= top.sketch && byte < top.sketch + sketch_bytes(COUNTERS)) model_touch(top.sketch);
}

static void *announced_copy(void *to, const void *from, size_t size)
{
    announce(to);
    announce(from);
    return memcpy(to, from, size);
}

static int announced_compare(const void *one, const void *other, size_t size)
{
    announce(one);
    return memcmp(one, other, size);
}

static bool unlocked_try(struct atom *lock)
{
    return atom_load(lock) == 0;
}

static void yield(void)
{
    atom_pause();
}

static void read_all(bool alone)
{
    weir_top told[ROOM];
    const size_t count = top_read(&top, told, ROOM);
    for (size_t i = 0; i < count; i++) {
        const uint64_t refused = adds[(unsigned char)told[i].key[0]];
        model_check(told[i].denied - told[i].over <= refused, "told of more refusals than there were");
        model_check(!alone || told[i].denied >= refused, "told of fewer refusals than there were");
    }
}

static void run_script(void)
{
    for (int i = 0; i < ACTIONS; i++) {
        const char key = scene->script[model_thread()][i].key;
        if (scene->script[model_thread()][i].verb == READ) read_all(false);
        if (scene->script[model_thread()][i].verb != ADD) continue;
        adds[(unsigned char)key]++;
        top_add(&top, 0, (uint64_t)key, &key, 1, 0);
    }
}

static void begin(void)
{
    memset(adds, 0, sizeof adds);
    use_no_lock = scene->mistake != NULL;
    if (top_bytes(COUNTERS) > sizeof memory) model_check(false, "more memory than BYTES");
    top_open(&top, memory, COUNTERS, yield);
    if (scene->stuck) top.head[0].lock.value = 1;
}

static void end(void)
{
    model_check(scene->stuck || top.head[0].lock.value == 0, "the lock is left closed");
    read_all(true);
}

#define ADDS(key)                                                                                                      \
    {                                                                                                                  \
        ADD, key                                                                                                       \
    }
#define READS                                                                                                          \
    {                                                                                                                  \
        READ, 0                                                                                                        \
    }

static const struct scene scenes[] = {
    {.name = "planted: the lock is looked at and not taken",
     .script = {{ADDS('a'), ADDS('b')}, {ADDS('a'), ADDS('c')}},
     .mistake = ""},
    {.name = "two count one key", .script = {{ADDS('a'), ADDS('a')}, {ADDS('a')}}},
    {.name = "three keys in two counters", .script = {{ADDS('a'), ADDS('b')}, {ADDS('c'), ADDS('a')}, {ADDS('b')}}},
    {.name = "read beside two that count", .script = {{ADDS('a'), ADDS('b')}, {ADDS('a')}, {READS}}},
    {.name = "a lock that nobody releases", .script = {{ADDS('a')}, {ADDS('b'), ADDS('a')}}, .stuck = true},
};

static void run(const struct scene *chosen)
{
    scene = chosen;
    const struct model_scenario scenario = {.name = chosen->name,
                                            .threads = chosen->script[2][0].verb != NOTHING ? 3 : 2,
                                            .begin = begin,
                                            .thread = {run_script, run_script, run_script},
                                            .end = end};
    model_judge(&scenario, chosen->mistake);
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) run(&scenes[i]);
    return model_status();
}
