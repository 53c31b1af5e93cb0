/* SPDX-License-Identifier: MIT
   For module_micro.c: random plans, and what an engine should hold at each key.

   Two kinds of places for a state, some of each, that all plans of their shape share, so that limits change:

       one key         a key for each limit

   The same plans for the same seed; decides by src/redis/micro, and by nothing of src/redis/module. */
#ifndef WEIR_TEST_ENGINE_MODULE_MODEL_H
#define WEIR_TEST_ENGINE_MODULE_MODEL_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_SLOTS 2048
#include "redis/micro/micro.h"
#include "unit/micro_value.h"
#include "unit/random.h"

enum { PLACES = 8, PLANS = 400, TEXT = 256, LIMITS = 3 };

enum shape { STRING, KEYS, SHAPES };

/* What the engine should hold at one key. */
struct held {
    char name[32];
    uint64_t idle;
    struct value value; /* of KEYS: one cell */
};

struct plan {
    char text[TEXT];
    struct micro_plan micro;
    enum shape shape;
};

struct world {
    uint64_t seed;
    struct plan plan[PLANS];
    struct held string[PLACES], keys[PLACES][LIMITS];
};

/* ---- plans ---- */

static const char *const rates[] = {"10/s",  "1/s",   "3/s",           "1000/s",   "7/min",
                                    "100/h", "3/7us", "1/333333333ns", "250000/s", "2/3ms"};
static const char *const options[] = {
    "",
    " burst=1",
    " burst=20",
    " burst=2s",
    " burst=5 debt=3",
    " algorithm=hybrid",
    " algorithm=hybrid catchup=1.5",
    " algorithm=hybrid catchup=3 burst=4",
    " algorithm=leaky",
    " algorithm=leaky burst=5",
    " algorithm=leaky burst=7 delay=3",
    " algorithm=leaky burst=7 nodelay",
    " algorithm=fixed-window",
    " algorithm=fixed-window align=clock",
    " algorithm=fixed-window block=3s",
    " algorithm=fixed-window block=1min count-refused",
    " algorithm=sliding-window",
    " algorithm=sliding-log",
    " algorithm=sliding-log gap=3ms",
    " algorithm=sliding-log edge=closed",
    " algorithm=sliding-log count-refused",
};

#define PICK(world, array) (array)[random_below(&(world)->seed, sizeof(array) / sizeof(array)[0])]

static bool is_log(const struct plan *plan, unsigned limit)
{
    return plan->micro.rule[limit].kind == MICRO_LOG;
}

static bool make_plan(struct world *world, struct plan *plan)
{
    weir_plan read;
    size_t size = 0;
    bool logs = false;
    const uint64_t limits = random_one_in(&world->seed, 3) ? 1 + random_below(&world->seed, LIMITS) : 1;
    for (uint64_t i = 0; i < limits; i++) {
        size += (size_t)snprintf(plan->text + size, TEXT - size, "%s%s%s", i != 0 ? "; " : "", PICK(world, rates),
                                 PICK(world, options));
    }
    if (weir_plan_parse(&read, plan->text, WEIR_ADMIT, NULL) != 0) return false;
    if (micro_plan_make(&plan->micro, &read, NULL) != 0) return false;
    for (unsigned i = 0; i < plan->micro.count; i++) logs = logs || is_log(plan, i);
    plan->shape = plan->micro.count == 1 ? STRING : KEYS;
    if (plan->micro.count > 1 && !logs && random_one_in(&world->seed, 2)) plan->shape = STRING;
    return true;
}

static void make_plans(struct world *world)
{
    unsigned of[MICRO_KINDS] = {0};
    for (unsigned i = 0; i < PLANS; i++) {
        while (!make_plan(world, &world->plan[i])) continue;
        for (unsigned limit = 0; limit < world->plan[i].micro.count; limit++)
            of[world->plan[i].micro.rule[limit].kind]++;
    }
    for (unsigned kind = MICRO_GCRA; kind <= MICRO_LOG; kind++) {
        if (of[kind] == 0) printf("of kind %u there is no limit\n", kind);
    }
}

static void name_places(struct world *world)
{
    for (unsigned i = 0; i < PLACES; i++) {
        snprintf(world->string[i].name, sizeof world->string[i].name, "string:%u", i);
        for (unsigned limit = 0; limit < LIMITS; limit++) {
            snprintf(world->keys[i][limit].name, sizeof world->keys[i][limit].name, "{%u}:s%u", i, limit);
        }
    }
}

/* ---- the state, as it should be ---- */

struct view {
    const struct plan *plan;
    struct held *held[LIMITS];
    unsigned keys;
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
};

static void look(struct world *world, const struct plan *plan, unsigned place, struct view *view)
{
    memset(view, 0, sizeof *view);
    view->plan = plan;
    view->keys = plan->shape == KEYS ? plan->micro.count : 1;
    for (unsigned i = 0; i < view->keys; i++) {
        struct micro_state part;
        struct held *held = plan->shape == STRING ? &world->string[place] : &world->keys[place][i];
        view->held[i] = held;
        if (!value_get(&held->value, &part, &view->log[i])) {
            fprintf(stderr, "what is at %s is not read\n", held->name);
            exit(1);
        }
        if (plan->shape == STRING) view->state = part;
        if (plan->shape == STRING) continue;
        view->state.count = plan->micro.count;
        view->state.cell[i] = (struct micro_cell){.kind = MICRO_KINDS};
        if (part.count != 0) view->state.cell[i] = part.cell[0];
    }
}

static void keep_part(struct view *view, unsigned i, uint64_t idle)
{
    struct held *held = view->held[i];
    unsigned char bytes[MICRO_BYTES_MAX];
    struct micro_state part = {.count = 1};
    const struct micro_log *log = &view->log[i];
    part.cell[0] = view->state.cell[i];
    const size_t size = micro_write(&part, bytes);
    const bool same = size == held->value.size || (log->ring != NULL && size < held->value.size);
    if (same && !log->pushes && !log->gives && memcmp(held->value.bytes, bytes, size) == 0) return;
    value_put(&held->value, &part, &view->log[i]);
    held->idle = idle;
}

static void keep(struct view *view, uint64_t idle)
{
    if (view->plan->shape == STRING) {
        value_put(&view->held[0]->value, &view->state, &view->log[0]);
        view->held[0]->idle = idle;
    }
    for (unsigned i = 0; i < view->keys && view->plan->shape == KEYS; i++) keep_part(view, i, idle);
}

#endif
