/* SPDX-License-Identifier: MIT
   One schedule for several machines, kept by an engine: each permit is a place of its own on the engine's clock.

   The engine's limit is gcra, whose state is the time at which all that was taken has drained.  A take moves it on, so
   the permits taken are the stretch before it, and each is due at its own time in there:

       generator A   |1 2 3 4 5|         |1 2 3 4 5|               taken ahead of their time, by a thread that asks
       generator B             |1 2 3 4 5|         |1 2 3 4 5|
                     +------------------------------------> the engine's clock

   So all starts of all generators are spaced as if there were one, and no round trip delays a start.  What may be ahead
   of its time, over all generators, is the limit's burst.  A permit that is not used until a burst later lapses: in any
   window t at most burst + 1 + rate * t permits start, since they were due from a burst before it on.

   A reply says when, by the engine's clock, it was made.  It was made before it came, so the least difference seen is
   the best guess of what lies between the clocks, and no start comes early by more than that guess may be off: the
   clocks' drift since.

   While the engine does not answer nothing more starts: its limit is for all, and one machine knows of no other. */
#include <stdlib.h>
#include <string.h>

#include <weir/redis.h>

#include "api/limiter.h"
#include "cli/common/engine_open.h"
#include "cli/pace/schedule.h"
#include "core/algorithm.h"
#include "core/num.h"
#include "plan/text.h"

enum { RUNS = 16, ROUNDS_IN_BURST = 4, DRIFT_PART = 10000, NS_PER_US = 1000, KEY_MAX = 4096 };

/* How long a burst lasts if none is said, and how much is asked for at a time. */
static const uint64_t BURST_NS = 100000000, ROUND_NS = 25000000;

/* Permits that were taken together: the last one's slot ends here. */
struct run {
    uint64_t end_ns, left;
};

struct pace_engine {
    weir_engine *engine;
    weir_engine_limit *limit;
    weir_key key;
    uint64_t permits, period_ns; /* the rate */
    uint64_t burst_ns;
    uint64_t round; /* permits that are asked for at a time, at most */
    pthread_t thread;
    bool running;
    struct host_event wanted, granted;

    /* the asking thread's */
    uint64_t ahead_ns, ahead_at_ns; /* of the engine's clock to ours, guessed then; 0: never */
    uint64_t away_since_ns;         /* 0: it answers */
    char why[200];                  /* what was wrong last */

    struct host_mutex mutex; /* protects what follows */
    struct run run[RUNS];    /* by time */
    int runs;
    uint64_t held, waiting; /* permits; threads without one */
    uint64_t want;          /* as many as are used: twice as many as the last time, half as many when some lapsed */
    bool used, wasted;      /* since the engine was asked last: a permit was taken, one lapsed */
    bool stop;
    struct record_engine figures;
};

/* ---- what is held ---- */

static uint64_t lasts_ns(const struct pace_engine *engine, uint64_t permits)
{
    return multiply_divide_floor(permits, engine->period_ns, engine->permits);
}

/* Of the first that is held. */
static uint64_t due_ns(const struct pace_engine *engine)
{
    return engine->run[0].end_ns - lasts_ns(engine, engine->run[0].left);
}

/* [locked] */
static void drop_first(struct pace_engine *engine)
{
    engine->held--;
    if (--engine->run[0].left != 0) return;
    engine->runs--;
    memmove(engine->run, engine->run + 1, (size_t)engine->runs * sizeof engine->run[0]);
}

/* [locked] */
static void lapse(struct pace_engine *engine, uint64_t now_ns)
{
    while (engine->held != 0 && due_ns(engine) + engine->burst_ns < now_ns) {
        engine->figures.lapsed++;
        engine->wasted = true;
        drop_first(engine);
    }
}

/* [locked] The first that is due until then. */
static bool take_first(struct pace_engine *engine, uint64_t until_ns, uint64_t *due)
{
    if (engine->held == 0 || due_ns(engine) > until_ns) return false;
    *due = due_ns(engine);
    engine->used = true;
    drop_first(engine);
    return true;
}

/* [locked] Only ahead of need where several are asked for at a time: a single one may last for an hour. */
static bool needs_more(const struct pace_engine *engine)
{
    const bool low = engine->used && engine->want > 1 && engine->held <= engine->want / 2;
    return engine->runs < RUNS && (low || engine->waiting > engine->held);
}

/* ---- taking ---- */

/* Now or not at all, or as soon as one is granted: it is due then or later. */
static bool await_permit(struct pace *pace, bool now, uint64_t *due)
{
    struct pace_engine *engine = pace->engine;
    bool taken = false;
    while (!taken && !pace_stopped(pace)) {
        const uint32_t seen = host_event_seen(&engine->granted);
        const uint64_t now_ns = host_now_ns();
        host_lock(&engine->mutex);
        lapse(engine, now_ns);
        taken = take_first(engine, now ? now_ns : UINT64_MAX, due);
        const bool waits = !taken && !now;
        engine->waiting += waits;
        const bool more = needs_more(engine);
        host_unlock(&engine->mutex);
        if (more) host_event_signal(&engine->wanted);
        if (!waits) break;
        host_event_wait(&engine->granted, seen, now_ns + PACE_LOOK_NS);
        host_lock(&engine->mutex);
        engine->waiting--;
        host_unlock(&engine->mutex);
    }
    return taken;
}

/* A stop ends it by the limiter's event. */
static void sleep_until_due(struct pace *pace, uint64_t due)
{
    while (!pace_stopped(pace) && host_now_ns() < due) {
        const uint32_t seen = host_event_seen(&pace->limiter->event);
        host_event_wait(&pace->limiter->event, seen, least(due, host_now_ns() + PACE_LOOK_NS));
    }
}

/* Who wakes so late that the permit has lapsed takes another one. */
weir_decision pace_engine_take(struct pace *pace, bool waits)
{
    struct pace_engine *engine = pace->engine;
    uint64_t due = 0;
    while (await_permit(pace, !waits, &due)) {
        sleep_until_due(pace, due);
        if (pace_stopped(pace)) break;
        if (host_now_ns() <= due + engine->burst_ns)
            return (weir_decision){.verdict = WEIR_ALLOW, .start = {due}, .due = {due}, .charged = 1};
        host_lock(&engine->mutex);
        engine->figures.lapsed++;
        host_unlock(&engine->mutex);
    }
    return (weir_decision){.verdict = waits || pace_stopped(pace) ? WEIR_STOPPED : WEIR_DENY};
}

struct record_engine pace_engine_figures(struct pace *pace)
{
    host_lock(&pace->engine->mutex);
    const struct record_engine figures = pace->engine->figures;
    host_unlock(&pace->engine->mutex);
    return figures;
}

/* ---- asking ---- */

static bool is_stopped(struct pace_engine *engine)
{
    host_lock(&engine->mutex);
    const bool stop = engine->stop;
    host_unlock(&engine->mutex);
    return stop;
}

static void nap_until(struct pace_engine *engine, uint64_t until_ns)
{
    for (;;) {
        const uint32_t seen = host_event_seen(&engine->wanted);
        if (is_stopped(engine) || host_now_ns() >= until_ns) return;
        host_event_wait(&engine->wanted, seen, until_ns);
    }
}

/* Ours less the engine's, as whole turns of 64 bits: the least that was seen, and what it may have drifted since. */
static uint64_t ahead_of(struct pace_engine *engine, uint64_t engine_ns, uint64_t now_ns)
{
    const uint64_t seen = now_ns - engine_ns;
    const uint64_t guess = engine->ahead_ns + (now_ns - engine->ahead_at_ns) / DRIFT_PART;
    const bool less = engine->ahead_at_ns == 0 || (int64_t)(seen - guess) < 0;
    engine->ahead_ns = less ? seen : guess;
    engine->ahead_at_ns = now_ns;
    return engine->ahead_ns;
}

/* The reply's end is when the engine made it, and then all will have drained after full_ns. */
static void add_run(struct pace_engine *engine, const weir_engine_ask *ask, uint64_t permits, uint64_t now_ns)
{
    const uint64_t engine_ns = ask->decision.end * NS_PER_US;
    const uint64_t end_ns = engine_ns + ask->full_ns + ahead_of(engine, engine_ns, now_ns);
    host_lock(&engine->mutex);
    engine->run[engine->runs++] = (struct run){end_ns, permits};
    engine->held += permits;
    engine->figures.permits += permits;
    host_unlock(&engine->mutex);
    host_event_signal(&engine->granted);
}

static void note_away(struct pace_engine *engine, bool away, uint64_t now_ns)
{
    if (away && engine->away_since_ns == 0) {
        engine->away_since_ns = now_ns;
        trouble("no more is started until the engine answers: %s",
                engine->why[0] != '\0' ? engine->why : "no reply within a second");
    } else if (!away && engine->away_since_ns != 0) {
        char text[64];
        struct writer writer = {text, sizeof text, 0};
        write_about(&writer, now_ns - engine->away_since_ns);
        trouble("the engine answers again, after %s", text);
        host_lock(&engine->mutex);
        engine->figures.away_ns += now_ns - engine->away_since_ns;
        host_unlock(&engine->mutex);
        engine->away_since_ns = 0;
    }
}

static uint64_t choose_want(struct pace_engine *engine)
{
    host_lock(&engine->mutex);
    engine->want = engine->wasted ? most(engine->want / 2, 1) : least(engine->want * 2, engine->round);
    engine->used = engine->wasted = false;
    const uint64_t want = engine->want;
    host_unlock(&engine->mutex);
    return want;
}

/* Where there are fewer than wanted, at most those that there are. */
static uint64_t ask_once(struct pace_engine *engine, uint64_t most_permits)
{
    const uint64_t permits = least(choose_want(engine), most_permits);
    weir_engine_ask ask = {
        .verb = WEIR_ASK_TAKE, .limit = engine->limit, .key = engine->key, .cost = &permits, .costs = 1};
    host_lock(&engine->mutex);
    engine->figures.requests++;
    host_unlock(&engine->mutex);
    weir_engine_batch(engine->engine, &ask, 1);
    const uint64_t now_ns = host_now_ns();
    note_away(engine, ask.from == WEIR_FROM_AWAY, now_ns);
    if (ask.from == WEIR_FROM_AWAY) {
        nap_until(engine, now_ns + PACE_LOOK_NS);
    } else if (weir_allowed(ask.decision)) {
        add_run(engine, &ask, permits, now_ns);
    } else {
        const uint64_t left = least(ask.decision.remaining, permits - 1);
        if (left != 0) return left;
        nap_until(engine, add_saturating(now_ns, ask.decision.retry_ns));
    }
    return UINT64_MAX;
}

static void *ask_engine(void *argument)
{
    struct pace_engine *engine = argument;
    uint64_t most_permits = UINT64_MAX;
    for (;;) {
        const uint32_t seen = host_event_seen(&engine->wanted);
        host_lock(&engine->mutex);
        lapse(engine, host_now_ns());
        const bool stop = engine->stop, more = needs_more(engine);
        host_unlock(&engine->mutex);
        if (stop) return NULL;
        if (more) {
            most_permits = ask_once(engine, most_permits);
            continue;
        }
        weir_engine_tick(engine->engine);
        host_event_wait(&engine->wanted, seen, host_now_ns() + HOST_SECOND_NS);
    }
}

/* ---- opening ---- */

/* Called by the thread that asks. */
static void changed(void *context, bool away, const char *why)
{
    struct pace_engine *engine = context;
    if (away || why[0] != '\0') snprintf(engine->why, sizeof engine->why, "%s", why);
}

static bool as_usual(const struct limit *limit)
{
    struct limit usual = {.count = limit->count, .period_ns = limit->period_ns, .algorithm = limit->algorithm};
    struct rule rule;
    limit_compile(&usual, &rule);
    return usual.burst_kind == limit->burst_kind && usual.burst == limit->burst &&
           limit_factor(usual.factor) == limit_factor(limit->factor);
}

/* What an engine keeps of a limit that paces: the rate, and a burst that is said or lasts for a round trip or two. */
static int choose_limit(struct pace *pace, struct limit *kept)
{
    const struct plan *plan = plan_inside_const(&pace->plan);
    const struct limit *limit = &plan->limit[0];
    const bool hybrid = limit->algorithm == ALGORITHM_HYBRID, usual = hybrid && as_usual(limit);
    uint64_t permits, period_ns;
    if (plan_has_profile(plan))
        return trouble(
            "pace: an engine has one rate, and none that changes with time; to share a profile write --part, "
            "for example --part 2/5");
    if (plan->count != 1 || (!hybrid && limit->algorithm != ALGORITHM_GCRA) || !limit_rate(limit, &permits, &period_ns))
        return trouble("pace: %s: with --engine expected one limit that has a rate, and no other algorithm than gcra; "
                       "for example '1000/s burst=100'",
                       pace->limit);
    if (hybrid && !usual && limit_factor(limit->factor) != limit_factor((struct decimal){1, 0}))
        return trouble("pace: %s: an engine has no catchup: what is missed for longer than the burst lasts is lost for "
                       "all; leave it out, for example '1000/s burst=100'",
                       pace->limit);
    if (limit->has_debt || limit->start != START_DEFAULT)
        return trouble("pace: %s: with --engine a limit has a rate and a burst, and no other option; for example "
                       "'1000/s burst=100'",
                       pace->limit);
    *kept = (struct limit){.count = limit->count,
                           .period_ns = limit->period_ns,
                           .algorithm = ALGORITHM_GCRA,
                           .burst_kind = limit->burst_kind,
                           .burst = limit->burst};
    memcpy(kept->unit, limit->unit, sizeof kept->unit);
    if (!usual) return STATUS_DONE;
    kept->burst_kind = AMOUNT_COUNT;
    kept->burst = most(multiply_divide_ceil(permits, BURST_NS, period_ns), 2);
    return STATUS_DONE;
}

static int check_together(const struct pace *pace)
{
    if (pace->bytes) return trouble("pace: --engine counts starts, not bytes; give each machine its share of the rate");
    if (pace->drop || pace->follow.path != NULL || pace->part.of != 0)
        return trouble("pace: --engine cannot be used with --drop, --rate-file or --part");
    if (pace->engine_key == NULL || strlen(pace->engine_key) - 1 < KEY_MAX) return STATUS_DONE;
    return trouble("pace: a key has 1 to %d bytes; without one the limit itself is the key", KEY_MAX);
}

static int open_engine(struct pace *pace, struct pace_engine *engine, const char *text)
{
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    weir_error error = {0};
    options.prefix = pace->engine_prefix;
    options.changed = changed;
    options.context = engine;
    const int status = engine_for_command(&engine->engine, "pace", pace->engine_url, pace->password_file, &options);
    if (status != STATUS_DONE) return status;
    if (weir_engine_limit_open(&engine->limit, engine->engine, text, WEIR_AWAY_CLOSED, &error) == 0) return STATUS_DONE;
    return trouble("pace: %s: %s", text, error.message);
}

/* As weir take does: an engine that does not answer from the beginning is an error. */
static int try_engine(struct pace_engine *engine)
{
    weir_engine_ask ask = {.verb = WEIR_ASK_PEEK, .limit = engine->limit, .key = engine->key};
    weir_engine_batch(engine->engine, &ask, 1);
    if (ask.from != WEIR_FROM_AWAY) return STATUS_DONE;
    return trouble("nothing was started: %s", engine->why[0] != '\0' ? engine->why : "the engine does not answer");
}

static void set_rate(struct pace_engine *engine, const struct plan *plan)
{
    const struct limit *limit = &plan->limit[0];
    limit_rate(limit, &engine->permits, &engine->period_ns);
    const uint64_t burst = facts_of(limit, &plan->rule[0]).largest;
    const uint64_t in_round = multiply_divide_floor(engine->permits, ROUND_NS, engine->period_ns);
    engine->round = most(least(burst / ROUNDS_IN_BURST, in_round), 1);
    engine->want = most(engine->round / 4, 1);
    engine->burst_ns = lasts_ns(engine, burst);
}

/* Signals are for the thread that watches. */
static bool start_thread(struct pace_engine *engine)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    engine->running = pthread_create(&engine->thread, NULL, ask_engine, engine) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return engine->running;
}

int pace_engine_open(struct pace *pace)
{
    struct limit kept;
    struct writer writer = {pace->first, sizeof pace->first, 0};
    if (check_together(pace) != STATUS_DONE || choose_limit(pace, &kept) != STATUS_DONE) return STATUS_TROUBLE;
    struct pace_engine *engine = pace->engine = calloc(1, sizeof *engine);
    if (engine == NULL) return trouble("pace: no memory");
    text_write(&writer, &kept);
    if (weir_plan_parse(&pace->plan, pace->first, WEIR_ADMIT, NULL) != 0) return trouble("pace: %s", pace->first);
    if (pace->engine_key == NULL) pace->engine_key = pace->first;
    engine->key = weir_key_text(pace->engine_key);
    engine->figures.key = pace->engine_key;
    host_mutex_open(&engine->mutex);
    set_rate(engine, plan_inside_const(&pace->plan));
    if (open_engine(pace, engine, pace->first) != STATUS_DONE || try_engine(engine) != STATUS_DONE)
        return STATUS_TROUBLE;
    if (start_thread(engine)) return STATUS_DONE;
    return trouble("pace: the thread that asks the engine could not be started");
}

void pace_engine_close(struct pace *pace)
{
    struct pace_engine *engine = pace->engine;
    if (engine == NULL) return;
    host_lock(&engine->mutex);
    engine->stop = true;
    host_unlock(&engine->mutex);
    host_event_signal(&engine->wanted);
    if (engine->running) pthread_join(engine->thread, NULL);
    weir_engine_limit_close(engine->limit);
    weir_engine_close(engine->engine);
    free(engine);
    pace->engine = NULL;
}
