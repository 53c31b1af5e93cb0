/* SPDX-License-Identifier: MIT
   Processes that hold slots by libweir-redis, and are killed: how many ever held at once, and when is all free again?

       engine-holders URL SLOTS LEASE_MS KILLS [SEED]

   A holder takes a slot, holds it for up to twice its lease, renews it on time, releases it and takes the next one; or
   it is killed with -9, most often while it holds.  It holds from the answer of its take until it sends the release, or
   until a lease after it sent the take or the renewal that was confirmed last: what it may believe, and no engine ends
   it before.  All that is in memory that they share; the sums are made at the end.

       kills 500 grants 1900 lost 12 most 8 of 8 ends 212 ms

   lost: holders that were told at a renewal that they hold nothing any more, or heard nothing until their lease was
   over.  ends: when the last one is dead, the longest that the engine has a slot held still; then it is waited for that
   all can be taken at once.  The exit status is 1 where they never can: the script judges. */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/redis.h>

#include "unit/random.h"

enum { PROCESSES_MAX = 64, SPANS_MAX = 1 << 20, MS_NS = 1000000, AWAY_MS = 3 };
static const uint64_t WAIT_MAX_NS = UINT64_C(60000000000);

/* [from, to) on the monotonic clock; to moves on with each renewal. */
struct span {
    _Atomic uint64_t from_ns, to_ns;
};

struct shared {
    _Atomic uint64_t spans, grants, lost;
    struct span span[SPANS_MAX];
};

struct test {
    const char *url;
    char text[64];
    uint64_t slots, lease_ns, kills, seed;
    struct shared *shared;
    pid_t process[PROCESSES_MAX];
    unsigned processes;
};

static void nap(uint64_t ns)
{
    nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

/* ---- a holder ---- */

struct holder {
    weir_engine *engine;
    weir_engine_limit *limit;
    struct test *test;
};

static const weir_key key = {"job", 3};

static void open_holder(struct holder *holder, struct test *test)
{
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    weir_error error;
    options.deadline_ns = 100 * MS_NS;
    holder->test = test;
    if (weir_engine_open(&holder->engine, test->url, &options, &error) != 0 ||
        weir_engine_limit_open(&holder->limit, holder->engine, test->text, WEIR_AWAY_DEFAULT, &error) != 0) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
}

/* true: the engine said yes.  What it did not say at all is asked again, as long as the lease lasts. */
static bool renews(struct holder *holder, struct span *span, uint64_t id)
{
    while (weir_now().ns < span->to_ns) {
        const uint64_t sent_ns = weir_now().ns;
        weir_engine_ask ask = {.verb = WEIR_ASK_RENEW, .limit = holder->limit, .key = key, .taken = id};
        weir_engine_batch(holder->engine, &ask, 1);
        if (ask.from == WEIR_FROM_ENGINE && ask.decision.verdict == WEIR_ALLOW) {
            span->to_ns = sent_ns + holder->test->lease_ns;
            return true;
        }
        if (ask.from == WEIR_FROM_ENGINE) break;
        nap(AWAY_MS * MS_NS);
    }
    const uint64_t now_ns = weir_now().ns;
    if (now_ns < span->to_ns) span->to_ns = now_ns;
    holder->test->shared->lost++;
    return false;
}

static void hold(struct holder *holder, struct span *span, uint64_t id)
{
    struct test *const test = holder->test;
    const uint64_t until_ns = weir_now().ns + random_below(&test->seed, 2 * test->lease_ns);
    while (weir_now().ns < until_ns) {
        const uint64_t left_ns = until_ns - weir_now().ns;
        nap(left_ns < test->lease_ns / 3 ? left_ns : test->lease_ns / 3);
        if (weir_now().ns < until_ns && !renews(holder, span, id)) return;
    }
    const uint64_t now_ns = weir_now().ns;
    if (now_ns < span->to_ns) span->to_ns = now_ns;
    weir_engine_release(holder->engine, holder->limit, key, id);
}

static void be_holder(struct test *test)
{
    struct holder holder;
    open_holder(&holder, test);
    for (;;) {
        const uint64_t sent_ns = weir_now().ns;
        const weir_decision decision = weir_engine_take(holder.engine, holder.limit, key, 1);
        if (decision.verdict != WEIR_ALLOW) {
            nap(random_below(&test->seed, test->lease_ns / 8));
            continue;
        }
        const uint64_t number = test->shared->spans++;
        if (number >= SPANS_MAX) exit(2);
        struct span *const span = &test->shared->span[number];
        span->to_ns = sent_ns + test->lease_ns;
        span->from_ns = weir_now().ns;
        test->shared->grants++;
        hold(&holder, span, decision.end);
    }
}

/* ---- all of them ---- */

static void start(struct test *test, unsigned i)
{
    random_word(&test->seed);
    test->process[i] = fork();
    if (test->process[i] < 0) exit(2);
    if (test->process[i] != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    be_holder(test);
}

static void end(struct test *test, unsigned i)
{
    kill(test->process[i], SIGKILL);
    waitpid(test->process[i], NULL, 0);
}

static void kill_many(struct test *test)
{
    for (unsigned i = 0; i < test->processes; i++) start(test, i);
    nap(test->lease_ns);
    for (uint64_t killed = 0; killed < test->kills; killed++) {
        const unsigned i = (unsigned)random_below(&test->seed, test->processes);
        end(test, i);
        start(test, i);
        nap(random_below(&test->seed, test->lease_ns / test->processes));
    }
    for (unsigned i = 0; i < test->processes; i++) end(test, i);
}

/* Waits until all may be taken at once.  false: that never comes. */
static bool is_free(struct test *test, uint64_t *ends_ns)
{
    struct holder holder;
    const uint64_t began_ns = weir_now().ns;
    bool asked = false, free = false;
    open_holder(&holder, test);
    while (weir_now().ns - began_ns < WAIT_MAX_NS) {
        weir_engine_ask ask = {
            .verb = WEIR_ASK_PEEK, .limit = holder.limit, .key = key, .cost = &test->slots, .costs = 1};
        weir_engine_batch(holder.engine, &ask, 1);
        if (ask.from == WEIR_FROM_ENGINE && !asked) *ends_ns = ask.full_ns;
        asked = asked || ask.from == WEIR_FROM_ENGINE;
        free = ask.from == WEIR_FROM_ENGINE && ask.decision.verdict == WEIR_ALLOW;
        if (free) break;
        nap(MS_NS);
    }
    weir_engine_limit_close(holder.limit);
    weir_engine_close(holder.engine);
    return free;
}

struct event {
    uint64_t at_ns;
    int change;
};

/* Of one time the ends come first. */
static int in_order(const void *a, const void *b)
{
    const struct event *one = a, *other = b;
    if (one->at_ns != other->at_ns) return one->at_ns < other->at_ns ? -1 : 1;
    return one->change - other->change;
}

static int most_at_once(const struct shared *shared)
{
    static struct event event[2 * SPANS_MAX];
    size_t count = 0;
    int now = 0, most = 0;
    for (uint64_t i = 0; i < shared->spans; i++) {
        const uint64_t from_ns = shared->span[i].from_ns, to_ns = shared->span[i].to_ns;
        if (from_ns == 0 || to_ns <= from_ns) continue;
        event[count++] = (struct event){from_ns, 1};
        event[count++] = (struct event){to_ns, -1};
    }
    qsort(event, count, sizeof event[0], in_order);
    for (size_t i = 0; i < count; i++) {
        now += event[i].change;
        most = now > most ? now : most;
    }
    return most;
}

int main(int count, char **argument)
{
    static struct test test;
    if (count < 5) {
        fprintf(stderr, "usage: engine-holders URL SLOTS LEASE_MS KILLS [SEED]\n");
        return 2;
    }
    test.url = argument[1];
    test.slots = strtoull(argument[2], NULL, 10);
    test.lease_ns = strtoull(argument[3], NULL, 10) * MS_NS;
    test.kills = strtoull(argument[4], NULL, 10);
    test.seed = count > 5 ? strtoull(argument[5], NULL, 10) : 7;
    test.processes = 2 * test.slots < PROCESSES_MAX ? (unsigned)(2 * test.slots) : PROCESSES_MAX;
    snprintf(test.text, sizeof test.text, "%" PRIu64 " concurrent lease=%sms", test.slots, argument[3]);
    test.shared = mmap(NULL, sizeof *test.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (test.shared == MAP_FAILED) return 2;
    kill_many(&test);
    uint64_t ends_ns = 0;
    const bool free = is_free(&test, &ends_ns);
    printf("kills %" PRIu64 " grants %" PRIu64 " lost %" PRIu64 " most %d of %" PRIu64 " ends %" PRIu64 " ms\n",
           test.kills, test.shared->grants, test.shared->lost, most_at_once(test.shared), test.slots,
           (ends_ns + MS_NS - 1) / MS_NS);
    return free ? 0 : 1;
}
