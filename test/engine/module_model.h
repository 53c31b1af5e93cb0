/* SPDX-License-Identifier: MIT
   module_model.h - for module_micro.c: random plans, and what an engine should hold at each key.

   Three kinds of places for a state, some of each, that all plans of their shape share, so that limits change:

       one key, a string         one key, a sorted set of a lone sliding-log        a key for each limit

   May touch: its arguments.  Promises: the same plans for the same seed; decides by src/micro, and by nothing of
   src/module.  Leaves to others: asking the engine. */
#ifndef WEIR_TEST_ENGINE_MODULE_MODEL_H
#define WEIR_TEST_ENGINE_MODULE_MODEL_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "micro/micro.h"
#include "unit/random.h"

enum { PLACES = 6, PLANS = 400, TEXT = 256, LIMITS = 3, LOG_MAX = 64 };

enum shape { STRING, LOG, KEYS, SHAPES };

struct stamp {
    uint64_t at, order;
};

/* What the engine should hold at one key. */
struct held {
    char name[32];
    bool there;
    uint64_t idle;
    struct micro_state state; /* of KEYS: one cell */
    uint64_t size;            /* of a log */
    struct stamp stamp[LOG_MAX];
};

struct plan {
    char text[TEXT];
    struct micro_plan micro;
    enum shape shape;
};

struct world {
    uint64_t seed;
    struct plan plan[PLANS];
    struct held string[PLACES], log[PLACES], keys[PLACES][2][LIMITS]; /* [string or log] */
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
    for (unsigned i = 0; i < plan->micro.count; i++) {
        logs = logs || is_log(plan, i);
        if (is_log(plan, i) && plan->micro.rule[i].burst > LOG_MAX / 4) return false;
    }
    plan->shape = plan->micro.count == 1 ? (logs ? LOG : STRING) : KEYS;
    if (!logs && random_one_in(&world->seed, 2)) plan->shape = STRING;
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
        snprintf(world->log[i].name, sizeof world->log[i].name, "log:%u", i);
        for (unsigned limit = 0; limit < LIMITS; limit++) {
            snprintf(world->keys[i][0][limit].name, sizeof world->keys[i][0][limit].name, "{%u}:s%u", i, limit);
            snprintf(world->keys[i][1][limit].name, sizeof world->keys[i][1][limit].name, "{%u}:l%u", i, limit);
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

static uint64_t stamp_at(struct micro_log *log, uint64_t index)
{
    const struct held *held = log->where;
    if (index >= held->size) {
        fprintf(stderr, "src/micro asks for stamp %" PRIu64 " of %" PRIu64 "\n", index, held->size);
        exit(1);
    }
    return held->stamp[index].at;
}

static void look(struct world *world, const struct plan *plan, unsigned place, struct view *view)
{
    memset(view, 0, sizeof *view);
    view->plan = plan;
    view->keys = plan->shape == KEYS ? plan->micro.count : 1;
    for (unsigned i = 0; i < view->keys; i++) {
        struct held *held = plan->shape == STRING ? &world->string[place]
                            : plan->shape == LOG  ? &world->log[place]
                                                  : &world->keys[place][is_log(plan, i)][i];
        view->held[i] = held;
        if (plan->shape == STRING) {
            if (held->there) view->state = held->state;
        } else if (is_log(plan, i)) {
            view->log[i] = (struct micro_log){.size = held->size, .stamp = stamp_at, .where = held};
        } else if (held->there) {
            view->state.count = plan->micro.count;
            view->state.cell[i] = held->state.cell[0];
        }
    }
    for (unsigned i = 0; i < view->keys && plan->shape == KEYS; i++) {
        if (!view->held[i]->there) view->state.cell[i].kind = MICRO_KINDS;
    }
}

static void keep_log(struct held *held, const struct micro_log *log, uint64_t idle)
{
    uint64_t order = 0;
    if (log->add == 0 && log->drop == 0) return;
    if (held->size != 0 && held->stamp[held->size - 1].at == log->add_at) order = held->stamp[held->size - 1].order + 1;
    if (held->size + log->add > LOG_MAX) {
        fprintf(stderr, "a log of %" PRIu64 " stamps\n", held->size + log->add);
        exit(1);
    }
    for (uint64_t i = 0; i < log->add; i++) held->stamp[held->size++] = (struct stamp){log->add_at, order + i};
    held->size -= log->drop;
    struct stamp *first = held->stamp + log->drop_from;
    memmove(first, first + log->drop, (held->size - log->drop_from) * sizeof *first);
    held->there = held->size != 0;
    held->idle = idle;
}

static void keep(struct view *view, uint64_t idle)
{
    for (unsigned i = 0; i < view->keys; i++) {
        struct held *held = view->held[i];
        char before[MICRO_BYTES_MAX], after[MICRO_BYTES_MAX];
        struct micro_state state = {.count = 1};
        if (view->plan->shape != STRING && is_log(view->plan, i)) {
            keep_log(held, &view->log[i], idle);
            continue;
        }
        if (view->plan->shape == STRING) state = view->state;
        else state.cell[0] = view->state.cell[i];
        const size_t size = micro_write(&state, after);
        if (view->plan->shape == KEYS && held->there && micro_write(&held->state, before) == size &&
            memcmp(before, after, size) == 0)
            continue;
        held->state = state;
        held->there = true;
        held->idle = idle;
    }
}

#endif
