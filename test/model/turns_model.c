/* SPDX-License-Identifier: MIT
   Src/api/turns.c, as wait.c uses it: callers that wait for the slot of a concurrent limit, its holder, and a clock, in
   the orders with few preemptions.

   The clock moves only when all sleep.  So a caller that misses its wake-up starts at the end of the lease, which is
   later than it could, or never; and that is what is checked, beside that no more run at once than may.  The order can
   be read in the ids of the slots: so many calls as a caller saw waiting before it called have lower ones than it. */
#include "model.h"
#include "wait_host.h"

#include "api/limiter.h"

enum { CALLERS = 2, THREADS = 3 };
static const uint64_t MS = 1000000, BEGIN_NS = 100 * UINT64_C(1000000);

enum mistake { NONE, RELEASED_QUIETLY, JOINED_LATE, TAKEN_PAST, LEFT_QUIETLY };

struct scene {
    const char *name, *limit;
    uint64_t wait_max_ms[CALLERS]; /* 0: for ever */
    uint64_t release_ms;           /* when the holder releases its slot */
    uint64_t starts_ms[CALLERS];   /* when a caller starts at the latest */
    bool keeps;                    /* the holder never releases */
    bool takes;                    /* the second caller does not wait */
    const char *to;                /* the holder changes the limit, too */
    enum mistake mistake;
    const char *found;
};

struct called {
    uint64_t waiting, id; /* id: 0: it was refused */
};

static const struct scene *scene;
static weir_limiter *limiter;
static uint64_t held;
static struct atom running;
static struct called called[CALLERS];

static void begin(void)
{
    wait_host_begin(BEGIN_NS);
    model_check(weir_open(&limiter, scene->limit, NULL, NULL) == 0, "the limit is not read");
    held = weir_take(limiter, 1).end;
    atom_store(&running, 1);
}

/* ---- planted ---- */

static bool release_quietly(uint64_t id)
{
    uint64_t count = 0;
    return cell_hold_slots(&limiter->cell, host_now_ns(), id, HOLD_RELEASE, &count) && count != 0;
}

/* Asks first, then joins, and sleeps without having asked again. */
static weir_decision join_late(void)
{
    weir_decision decision = weir_take(limiter, 1);
    struct turn turn = {.ticket = 0};
    if (decision.verdict == WEIR_ALLOW) return decision;
    turns_join(&limiter->turns, &turn);
    while (decision.verdict != WEIR_ALLOW) {
        host_event_wait(turns_event(&limiter->turns, &turn), host_event_seen(turns_event(&limiter->turns, &turn)),
                        host_now_ns() + decision.retry_ns);
        const struct ask ask = {.now_ns = host_now_ns(), .cost = 1, .turn = turns_is_first(&limiter->turns, &turn)};
        limiter_ask(limiter, &ask, &decision);
    }
    turns_leave(&limiter->turns, &turn);
    return decision;
}

/* Gives up after a ms without a word to the one behind it. */
static weir_decision leave_quietly(void)
{
    struct turn turn = {.ticket = 0};
    turns_join(&limiter->turns, &turn);
    host_event_wait(turns_event(&limiter->turns, &turn), host_event_seen(turns_event(&limiter->turns, &turn)),
                    BEGIN_NS + MS);
    struct turns *turns = &limiter->turns;
    if (turn.before != NULL) turn.before->after = turn.after;
    else turns->first = turn.after;
    if (turn.after != NULL) turn.after->before = turn.before;
    else turns->last = turn.before;
    atom_add(&turns->waiting, UINT64_MAX);
    return (weir_decision){.verdict = WEIR_DENY};
}

static weir_decision take_past(void)
{
    weir_decision decision;
    limiter_ask(limiter, &(struct ask){.now_ns = host_now_ns(), .cost = 1, .turn = true}, &decision);
    return decision;
}

/* ---- the threads ---- */

static weir_decision ask(int me)
{
    const uint64_t wait_max_ms = scene->wait_max_ms[me];
    if (scene->mistake == JOINED_LATE) return join_late();
    if (scene->mistake == LEFT_QUIETLY && me == 0) return leave_quietly();
    if (scene->mistake == TAKEN_PAST && me == 1) return take_past();
    if (scene->takes && me == 1) return weir_take(limiter, 1);
    return weir_take_wait(limiter, 1, wait_max_ms == 0 ? WEIR_FOREVER : wait_max_ms * MS);
}

static void release(uint64_t id)
{
    atom_add(&running, UINT64_MAX);
    model_check(scene->mistake == RELEASED_QUIETLY ? release_quietly(id) : weir_release(limiter, id), "a slot is lost");
}

static void caller(void)
{
    const int me = model_thread();
    const uint64_t waiting = turns_waiting(&limiter->turns);
    const weir_decision decision = ask(me);
    const uint64_t now_ns = host_now_ns();
    called[me] = (struct called){waiting, decision.verdict == WEIR_ALLOW ? decision.end : 0};
    if (decision.verdict == WEIR_ALLOW) {
        model_check(atom_add(&running, 1) == 0, "two run at once");
        model_check(now_ns <= BEGIN_NS + scene->starts_ms[me] * MS, "woken too late");
        release(decision.end);
    } else {
        const bool patient = scene->wait_max_ms[me] == 0 && !(scene->takes && me == 1);
        model_check(decision.verdict == WEIR_DENY && !patient, "a caller is sent away");
        model_check(now_ns <= BEGIN_NS + scene->wait_max_ms[me] * MS, "it has given up too late");
    }
    wait_host_done();
}

static void holder(void)
{
    struct host_event never = {0};
    const uint64_t until_ns = BEGIN_NS + scene->release_ms * MS;
    if (scene->release_ms != 0) host_event_wait(&never, 0, until_ns);
    if (scene->keeps) atom_add(&running, UINT64_MAX); /* its lease ends before anybody starts */
    else release(held);
    if (scene->to != NULL) model_check(weir_set_limit(limiter, scene->to, WEIR_KEEP, NULL) == 0, "not changed");
    wait_host_done();
}

static void the_clock(void)
{
    wait_host_run(THREADS);
}

static void end(void)
{
    for (int i = 0; i < CALLERS; i++) {
        uint64_t before = 0;
        for (int j = 0; j < CALLERS; j++) before += j != i && called[j].id != 0 && called[j].id < called[i].id;
        const bool gave_up = called[1 - i].id == 0;
        model_check(called[i].id == 0 || gave_up || before >= called[i].waiting, "a caller has overtaken another");
    }
    model_check(turns_waiting(&limiter->turns) == 0, "somebody still waits");
}

static const struct scene scenes[] = {
    {.name = "planted: released without a look at who waits",
     .limit = "1 concurrent lease=1s",
     .mistake = RELEASED_QUIETLY,
     .found = "woken too late"},
    {.name = "planted: joined after it was refused",
     .limit = "1 concurrent lease=1s",
     .mistake = JOINED_LATE,
     .found = "woken too late"},
    {.name = "planted: taken past a caller that waits",
     .limit = "1 concurrent lease=1s",
     .takes = true,
     .mistake = TAKEN_PAST,
     .found = "overtaken"},
    {.name = "planted: left without a word to the next",
     .limit = "1 concurrent lease=4ms",
     .wait_max_ms = {1},
     .starts_ms = {0, 4},
     .release_ms = 9,
     .keeps = true,
     .mistake = LEFT_QUIETLY,
     .found = ""},
    {.name = "two wait, a release", .limit = "1 concurrent lease=1s"},
    {.name = "one waits, one takes, a release", .limit = "1 concurrent lease=1s", .takes = true},
    {.name = "one gives up, a release",
     .limit = "1 concurrent lease=1s",
     .wait_max_ms = {1},
     .starts_ms = {1, 2},
     .release_ms = 2},
    {.name = "one gives up, the lease ends",
     .limit = "1 concurrent lease=4ms",
     .wait_max_ms = {1},
     .starts_ms = {1, 4},
     .release_ms = 3,
     .keeps = true},
    {.name = "two wait in a list, a release", .limit = "1 concurrent lease=1s; 1000/s burst=9"},
    {.name = "two wait, a release and a change", .limit = "1 concurrent lease=1s", .to = "1 concurrent lease=2s"},
};

/* ---- a change that all are told of ---- */

static struct turns those;
static struct turn joined;
static struct atom changed;
static uint64_t found;
static uint32_t seen;

static void begin_to_join(void)
{
    wait_host_begin(BEGIN_NS);
    those = (struct turns){.first = NULL};
    joined = (struct turn){.ticket = 0};
    atom_store(&changed, 0);
}

static void joins(void)
{
    turns_join(&those, &joined);
    seen = host_event_seen(turns_event(&those, &joined));
    found = atom_load(&changed);
}

static void changes(void)
{
    atom_store(&changed, 1);
    turns_wake_all(&those);
}

static void end_of_change(void)
{
    const uint32_t now = host_event_seen(turns_event(&those, &joined));
    model_check(found == 1 || now != seen, "it sleeps, and knows of no change");
}

int main(void)
{
    struct model_scenario change = {.name = "one joins while there is a change",
                                    .threads = 2,
                                    .begin = begin_to_join,
                                    .thread = {joins, changes},
                                    .end = end_of_change};
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        scene = &scenes[i];
        struct model_scenario scenario = {.name = scene->name,
                                          .threads = THREADS + 1,
                                          .begin = begin,
                                          .thread = {caller, caller, holder, the_clock},
                                          .end = end,
                                          .preemptions_max = 1,
                                          .steps_max = (scene->mistake != NONE ? 8 : 1) * model_steps_max()};
        model_judge(&scenario, scene->mistake != NONE ? scene->found : NULL);
    }
    model_judge(&change, NULL);
    return model_status();
}
