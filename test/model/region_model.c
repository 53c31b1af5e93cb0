/* SPDX-License-Identifier: MIT
   Src/share/table/region.c: the page that processes share, while one adds an area and others keep the time, in all
   interleavings.

   Who looks again without the file's lock finds a sound page, with the new area or without it.  What is kept of the
   time is a pair that one process wrote, or is not taken for one.

   Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"

#include <string.h>

#include "share/table/region.h"

enum { THREADS = 3, ACTIONS = 2, RECORDS = 8, SECOND = 1000000000 };
enum verb { NOTHING, LOOK, GROW, KEEP, LAP, COUNTS_FIRST };

struct scene {
    const char *name;
    enum verb script[THREADS][ACTIONS];
    const char *mistake;
};

static const struct scene *scene;
static _Alignas(64) uint64_t page[REGION_PAGE / sizeof(uint64_t)];
static struct region_view first;
static uint64_t kept; /* times that were kept, and more to come */

static struct region_times times_at(uint64_t ns)
{
    return (struct region_times){
        .boot = {1}, .monotonic_ns = 2 * SECOND + ns, .unix_ns = 5 * (uint64_t)SECOND + 7 * ns};
}

static void look_again(void)
{
    struct region_view view = first;
    const uint64_t size = 8 * REGION_PAGE;
    model_check(region_read_more(page, size, &view) == REGION_SOUND, "not sound, though nobody damaged it");
    model_check(view.areas >= 1 && view.areas <= 2 && view.area[0].bytes == REGION_PAGE,
                "not the areas that there are");
    model_check(view.areas == 1 || view.area[1].bytes == 2 * REGION_PAGE, "not the areas that there are");
}

/* Planted: the number first, and then the area. */
static void count_first(void)
{
    const struct region_view view = first;
    atom_store_release(region_newest(page), 2);
    const uint64_t words[] = {region_end(&view), 2 * REGION_PAGE};
    region_write_record((struct atom *)(void *)&page[20], words, 2, 20);
}

static void grow(void)
{
    struct region_view view = first;
    model_check(region_add_area(page, &view, 2 * REGION_PAGE), "no room for another area");
}

static void keep(void)
{
    const struct region_times times = times_at(++kept);
    region_keep_time(page, &times);
}

static void run_script(void)
{
    for (int i = 0; i < ACTIONS; i++) {
        const enum verb verb = scene->script[model_thread()][i];
        if (verb == LOOK) look_again();
        if (verb == GROW) grow();
        if (verb == COUNTS_FIRST) count_first();
        for (int times = verb == LAP ? RECORDS : verb == KEEP; times > 0; times--) keep();
    }
}

static void begin(void)
{
    const struct region_shape shape = {.kind = REGION_SLOTS, .slot_bytes = 16};
    const struct region_times times = times_at(0);
    memset(page, 0, sizeof page);
    memset(&first, 0, sizeof first);
    kept = 0;
    region_make(page, &shape, REGION_PAGE, &times);
    model_check(region_read(page, 2 * REGION_PAGE, &first) == REGION_SOUND, "not sound when it is made");
}

/* After the machine was off for a second: its clock began anew. */
static void end(void)
{
    const struct region_times times = {.boot = {2}, .monotonic_ns = 1, .unix_ns = 6 * (uint64_t)SECOND};
    const uint64_t region_ns = region_time_offset(page, &times) + times.monotonic_ns;
    bool is_one = false;
    for (uint64_t ns = 0; ns <= kept; ns++) {
        const struct region_times one = times_at(ns);
        is_one = is_one || region_ns == one.monotonic_ns + (times.unix_ns - one.unix_ns);
    }
    model_check(is_one, "a time that nobody kept");
}

static const struct scene scenes[] = {
    {.name = "planted: the number of areas before the area",
     .script = {{COUNTS_FIRST}, {LOOK}},
     .mistake = "not sound"},
    {.name = "an area is added beside one who looks", .script = {{GROW}, {LOOK, LOOK}}},
    {.name = "an area is added beside two who look", .script = {{GROW}, {LOOK}, {LOOK}}},
    {.name = "two keep the time", .script = {{KEEP, KEEP}, {KEEP}}},
    {.name = "one is stopped while it keeps the time, and met in its record", .script = {{KEEP}, {LAP}}},
    {.name = "two keep the time beside one who looks", .script = {{KEEP}, {KEEP}, {LOOK}}},
};

static void run(const struct scene *chosen)
{
    scene = chosen;
    const struct model_scenario scenario = {.name = chosen->name,
                                            .threads = chosen->script[2][0] != NOTHING ? 3 : 2,
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
