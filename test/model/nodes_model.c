/* SPDX-License-Identifier: MIT
   Leases over nodes, in all orders of what nodes, engine, messages and time can do.

   Each scene says how often each step may happen at most; all orders of them are gone through, each world once.  The
   oracle knows neither levels nor leases, only starts: a bucket that they fill and time drains.  It is never above the
   burst just when over every window no more than burst + rate * time has started.  In each world all that could be
   started at once is, so that the scenes may be short.  Each scene says what is let through at most beyond that, and it
   must be met exactly: so a check that sees nothing is seen.

   Then the same world at random, with more of everything, for long, and all windows looked at one by one.

   Every scene passes and every planted mistake is found, or status 1. */
#include "nodes_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "nodes_scenes.h"
#include "nodes_seen.h"
#include "planted_nodes.h"
#include "size.h"

/* ---- all orders ---- */

enum { DEPTH_MAX = 200 };

struct search {
    struct nodes_world model;
    struct nodes_seen seen;
    uint64_t steps, steps_max; /* 0: any number; else stop there */
    int64_t limit;             /* of the excess, in ticks */
    const char *wrong;
    struct step trace[DEPTH_MAX];
    int depth;
};

static bool is_wrong(struct search *search, const struct world *world)
{
    struct world all = *world;
    nodes_spend_all(&search->model, &all);
    search->wrong = search->model.worst > search->limit ? "more was let through" : nodes_wrong(&search->model, world);
    return search->wrong != NULL;
}

/* Each world is left by all its steps; true: something is wrong, and trace says how it came to that. */
static bool visit(struct search *search, const struct world *world)
{
    struct step steps[STEPS_LISTED];
    if (!nodes_enter(&search->seen, &search->model, world)) return false;
    if (is_wrong(search, world)) return true;
    if (search->steps_max != 0 && search->steps >= search->steps_max) return false;
    const unsigned count = nodes_steps(&search->model, world, steps);
    if (search->depth == DEPTH_MAX || count == STEPS_LISTED) abort();
    for (unsigned i = 0; i < count; i++) {
        struct world next = *world;
        search->trace[search->depth++] = steps[i];
        nodes_do(&search->model, &next, &steps[i]);
        search->steps++;
        if (visit(search, &next)) return true;
        search->depth--;
    }
    return false;
}

static void model_scene(const struct nodes_scene *scene)
{
    struct search search = {.model = nodes_model_of(scene), .steps_max = model_steps_max()};
    struct world world;
    const bool is_planted =
        scene->planted > PLANTED_COPY || scene->node_mistake != NODE_RIGHT || scene->engine_lifetime != 0;
    search.limit = is_planted ? 0 : scene->worst;
    nodes_begin(&search.model, &world);
    const bool wrong = visit(&search, &world);
    const bool left = !wrong && search.steps_max != 0 && search.steps >= search.steps_max;
    const bool good = is_planted ? wrong : !wrong && search.model.worst == search.limit;
    const enum model_end end = left ? MODEL_LEFT : good ? MODEL_OK : MODEL_FAILED;
    printf("%s %s: %zu states, %" PRIu64 " steps, worst %" PRId64 " ticks%s%s\n", model_counted(end), scene->name,
           search.seen.count, search.steps, search.model.worst, wrong ? ", found: " : "", wrong ? search.wrong : "");
    if (end == MODEL_FAILED) {
        for (int i = 0; i < search.depth; i++) nodes_say(&search.trace[i]);
    }
    fflush(stdout);
    nodes_seen_free(&search.seen);
}

/* ---- at random, with all starts kept ---- */

enum { STARTS_MAX = 4096 };

struct starts {
    uint64_t at[STARTS_MAX], permits[STARTS_MAX];
    int count;
};

static void note(void *context, uint64_t at, uint64_t permits)
{
    struct starts *starts = context;
    if (starts->count == STARTS_MAX) abort();
    starts->at[starts->count] = at;
    starts->permits[starts->count++] = permits;
}

static int64_t worst_window(const struct nodes_scene *scene, const struct starts *starts)
{
    int64_t worst = INT64_MIN;
    for (int from = 0; from < starts->count; from++) {
        int64_t ticks = -(int64_t)(scene->burst * scene->permit);
        for (int to = from; to < starts->count; to++) {
            ticks += (int64_t)(starts->permits[to] * scene->permit);
            const int64_t excess = ticks - (int64_t)((starts->at[to] - starts->at[from]) * scene->per);
            if (excess > worst) worst = excess;
        }
    }
    return worst;
}

static uint64_t random_below(uint64_t *seed, uint64_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % n;
}

static int64_t walk(const struct nodes_scene *scene, uint64_t *seed, struct starts *starts, const char **wrong)
{
    struct nodes_world model = nodes_model_of(scene);
    struct world world;
    struct step steps[STEPS_LISTED];
    starts->count = 0;
    model.started = note;
    model.context = starts;
    nodes_begin(&model, &world);
    for (unsigned count; (count = nodes_steps(&model, &world, steps)) > 0;) {
        nodes_do(&model, &world, &steps[random_below(seed, count)]);
        const char *now_wrong = nodes_wrong(&model, &world);
        if (now_wrong != NULL) *wrong = now_wrong;
    }
    nodes_spend_all(&model, &world);
    const int64_t worst = starts->count > 0 ? worst_window(scene, starts) : INT64_MIN;
    if (worst != model.worst) *wrong = "bucket and windows do not agree";
    return worst;
}

static void walk_scene(const struct nodes_scene *scene, uint64_t seed, uint64_t walks)
{
    static struct starts starts;
    const char *wrong = NULL;
    uint64_t total = 0;
    int64_t worst = INT64_MIN;
    for (uint64_t i = 0; i < walks; i++) {
        const int64_t found = walk(scene, &seed, &starts, &wrong);
        if (found > worst) worst = found;
        total += (uint64_t)starts.count;
    }
    const bool good = wrong == NULL && worst == scene->worst;
    printf("%s %s: %" PRIu64 " walks, %" PRIu64 " starts, worst %" PRId64 " ticks%s%s\n",
           model_counted(good ? MODEL_OK : MODEL_FAILED), scene->name, walks, total, worst, wrong != NULL ? ", " : "",
           wrong != NULL ? wrong : "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    const uint64_t seed = size_seed("nodes_model", 7);
    const uint64_t walks = SANITIZED ? 200 : size_pick(200, 1000, 3000);
    for (const struct nodes_scene *scene = nodes_scenes(); scene->name != NULL; scene++) {
        if (strstr(scene->name, part) == NULL) continue;
        if (scene->walks) walk_scene(scene, seed, walks);
        else model_scene(scene);
    }
    return model_status();
}
