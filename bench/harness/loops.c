/* SPDX-License-Identifier: MIT
   Short loops that take turns, round by round, with more and more threads.

   Floors are what each call cannot do without: a lease a comparison and a subtraction in memory of the thread's own, a
   word a compare-and-swap of a word that all share, a refusal a load of it, asking without a time a reading of the
   clock.

   Every call was answered as expected, or it fails. */
#include "harness/loops.h"

#include <math.h>
#include <semaphore.h>

#include "api/limiter.h"

enum {
    THOUSAND = 1000,
    WARM_TURNS = 8,
    ROUNDS_USUAL = 5,
    THREADS_A_RUN = 250,
    REFILL = 1000000,
    MANY = 64,
    SLOTS = 20
};

static const uint64_t RUN_USUAL_NS = 25000000;

/* ---- measuring ---- */

static void turn(struct bench_member *member)
{
    const struct bench_loop *loop = member->crew->job;
    member->wrong += BENCH_CALLS - loop->run(member, loop->subject);
    member->units += BENCH_CALLS;
}

/* What the first calls of a thread set up is not what is measured, and a lease grows at first. */
static void enter(struct bench_member *member)
{
    const struct bench_loop *loop = member->crew->job;
    weir_error error;
    if (loop->leased != NULL && weir_lease_open(&member->lease, loop->leased, &error) != 0)
        bench_fail("%s", error.message);
    for (int i = 0; i == 0 || (loop->leased != NULL && i < WARM_TURNS); i++) loop->run(member, loop->subject);
    member->counted = 0;
}

static void leave(struct bench_member *member)
{
    weir_lease_close(&member->lease);
}

static double counted_per_thousand(const struct bench_crew *crew)
{
    uint64_t units = 0, counted = 0;
    for (unsigned i = 0; i < crew->threads; i++) {
        units += crew->member[i].units;
        counted += crew->member[i].counted;
    }
    return units > 0 ? (double)counted * THOUSAND / (double)units : NAN;
}

static void measure(const char *section, const struct bench_loop *loop, unsigned threads, uint64_t run_ns, double *rate,
                    double *counted)
{
    struct bench_crew crew = {.name = section,
                              .threads = threads,
                              .run_ns = run_ns,
                              .job = loop,
                              .enter = enter,
                              .turn = turn,
                              .leave = leave};
    bench_crew_run(&crew);
    *rate = bench_crew_rate(&crew);
    *counted = counted_per_thousand(&crew);
    bench_crew_close(&crew);
}

static uint64_t longer(unsigned threads)
{
    return 1 + threads / THREADS_A_RUN;
}

uint64_t bench_loops_runs(const struct bench_wish *wish, uint64_t loops)
{
    uint64_t runs = 0;
    for (int count = 0; count < wish->counts; count++) runs += longer(wish->threads[count]);
    return runs * (uint64_t)wish->rounds * loops;
}

void bench_loops_measure(const char *section, const struct bench_loop loop[], int loops, const struct bench_wish *wish,
                         struct bench_rates *rates)
{
    for (int round = 0; round < wish->rounds; round++) {
        for (int count = 0; count < wish->counts; count++) {
            const unsigned threads = wish->threads[count];
            bench_progress(section, threads == 1 ? "thread" : "threads", threads, round, wish->rounds);
            for (int i = 0; i < loops; i++) {
                measure(section, &loop[i], threads, wish->run_ns * longer(threads), &rates[count].rate[i].round[round],
                        &rates[count].counted[i].round[round]);
            }
        }
    }
}

static void usual_threads(struct bench_wish *wish)
{
    static const unsigned usual[] = {1, 2, 8};
    const unsigned processors = wish->processors < BENCH_THREADS_MAX ? wish->processors : BENCH_THREADS_MAX;
    bool told = false;
    for (int i = 0; i < 3; i++) {
        told = told || usual[i] == processors;
        if (!told && usual[i] > processors) {
            wish->threads[wish->counts++] = processors;
            told = true;
        }
        wish->threads[wish->counts++] = usual[i];
    }
    if (!told) wish->threads[wish->counts++] = processors;
}

void bench_fill_in_loops(struct bench_wish *wish)
{
    if (wish->counts == 0) usual_threads(wish);
    if (wish->rounds == 0) wish->rounds = ROUNDS_USUAL;
    wish->run_ns = RUN_USUAL_NS;
}

/* ---- limiters ---- */

enum limiter {
    SYSTEM,
    COARSE,
    TICKER,
    TSC,
    LIST,
    HYBRID,
    LOG,
    CONCURRENT,
    SHUT,
    SHUT_COARSE,
    SHUT_TICKER,
    SHUT_TSC,
    LIMITERS,
    NONE
};

/* More than all processors can ask for, and one of a thousand threads may come with a time that is seconds old; what
   is shut refuses from the second call on, for a day. */
#define OPEN "1000G/s burst=1h"
#define CLOSED "1/d burst=1"

static const struct {
    const char *limits;
    weir_use use;
    weir_clock clock;
} limiter_rows[LIMITERS] = {
    [SYSTEM] = {OPEN, WEIR_ADMIT, WEIR_CLOCK_SYSTEM},
    [COARSE] = {OPEN, WEIR_ADMIT, WEIR_CLOCK_COARSE},
    [TICKER] = {OPEN, WEIR_ADMIT, WEIR_CLOCK_TICKER},
    [TSC] = {OPEN, WEIR_ADMIT, WEIR_CLOCK_TSC},
    [LIST] = {OPEN "; 60000G/min burst=1h", WEIR_ADMIT, WEIR_CLOCK_SYSTEM},
    [HYBRID] = {"1000000000/s burst=1s start=full algorithm=hybrid catchup=1.1", WEIR_PACE, WEIR_CLOCK_SYSTEM},
    [LOG] = {"4000000/10ms algorithm=sliding-log", WEIR_ADMIT, WEIR_CLOCK_SYSTEM},
    [CONCURRENT] = {"20 concurrent lease=30s", WEIR_ADMIT, WEIR_CLOCK_SYSTEM},
    [SHUT] = {CLOSED, WEIR_ADMIT, WEIR_CLOCK_SYSTEM},
    [SHUT_COARSE] = {CLOSED, WEIR_ADMIT, WEIR_CLOCK_COARSE},
    [SHUT_TICKER] = {CLOSED, WEIR_ADMIT, WEIR_CLOCK_TICKER},
    [SHUT_TSC] = {CLOSED, WEIR_ADMIT, WEIR_CLOCK_TSC},
};

weir_limiter *bench_open(const char *limits, weir_use use, weir_clock clock, uint64_t min_sleep_ns)
{
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter = NULL;
    weir_error error;
    options.use = use;
    options.clock = clock;
    options.min_sleep_ns = min_sleep_ns;
    if (weir_open(&limiter, limits, &options, &error) != 0) bench_fail("%s: %s", limits, error.message);
    return limiter;
}

/* ---- loops ---- */

/* What floors share, each on a cache line of its own. */
struct shared {
    alignas(BENCH_CACHE_LINE) struct atom word;
    alignas(BENCH_CACHE_LINE) pthread_mutex_t mutex;
    uint64_t guarded;
    alignas(BENCH_CACHE_LINE) sem_t semaphore;
};

#define LOOP_OF(attribute, name, before, expression)                                                                   \
    attribute static uint64_t name(struct bench_member *member, void *subject)                                         \
    {                                                                                                                  \
        uint64_t right = 0;                                                                                            \
        (void)member;                                                                                                  \
        (void)subject;                                                                                                 \
        before;                                                                                                        \
        for (int i = 0; i < BENCH_CALLS; i++) {                                                                        \
            right += (uint64_t)(expression);                                                                           \
            bench_forget();                                                                                            \
        }                                                                                                              \
        return right;                                                                                                  \
    }
#define LOOP(name, expression) LOOP_OF(, name, (void)0, expression)

/* A program that is optimized when it is linked (bench-take-inlined) calls nothing here that it can have in the loop
   itself. */
#define LOOP_INLINED(name, before, expression) LOOP_OF(__attribute__((flatten)), name, before, expression)

#define IS_DENIED(decision) ((decision).verdict == WEIR_DENY)

/* Apart, so that it is a branch in the loop as it is in a lease, and nothing to be computed each time. */
static void __attribute__((noinline)) refill(struct bench_member *member)
{
    member->left = REFILL;
    bench_forget();
}

static inline bool swap(struct atom *word)
{
    uint64_t seen = atom_load_acquire(word);
    while (!atom_swap(word, &seen, seen + 1)) continue;
    return true;
}

static inline bool add_guarded(struct shared *shared)
{
    pthread_mutex_lock(&shared->mutex);
    shared->guarded++;
    pthread_mutex_unlock(&shared->mutex);
    return true;
}

/* More threads than slots are refused now and then. */
static inline bool hold(weir_limiter *limiter)
{
    const weir_decision decision = weir_take(limiter, 1);
    return !weir_allowed(decision) || weir_release(limiter, decision.end);
}

static inline bool hold_semaphore(struct shared *shared)
{
    return sem_trywait(&shared->semaphore) != 0 || sem_post(&shared->semaphore) == 0;
}

LOOP(run_local, ++member->left != 0)
LOOP(run_subtract, (member->left < 1 ? refill(member) : (void)0, member->left -= 1, true))
LOOP_OF(, run_add, struct atom *word = &((struct shared *)subject)->word, (atom_add(word, 1), true))
LOOP(run_swap, swap(&((struct shared *)subject)->word))
LOOP(run_mutex, add_guarded(subject))
LOOP(run_clock, host_now_ns() != 0)
LOOP(run_coarse, host_now_coarse_ns() != 0)
LOOP(run_load, atom_load(&((const struct shared *)subject)->word) >= member->left) /* which is 0 */
LOOP(run_lease, weir_allowed(weir_lease_take(&member->lease, 1)))
LOOP_INLINED(run_take_at, const weir_instant now = weir_now(), weir_allowed(weir_take_at(subject, now, 1)))
LOOP_INLINED(run_take, (void)0, weir_allowed(weir_take(subject, 1)))
LOOP(run_take_some, weir_take_some(subject, MANY).charged == MANY)
LOOP_INLINED(run_refused, (void)0, IS_DENIED(weir_take(subject, 1)))
LOOP(run_refused_lease, IS_DENIED(weir_lease_take(&member->lease, 1)))
LOOP_INLINED(run_refused_at, const weir_instant now = weir_now(), IS_DENIED(weir_take_at(subject, now, 1)))
LOOP(run_hold, hold(subject))
LOOP(run_semaphore, hold_semaphore(subject))
LOOP(run_read, limiter_now_ns(subject) != 0)

/* A lease reads the clock when it is renewed and never else, a plain call each time (test/unit/clock_reads_test.c).
   So its readings are counted as renewals, by the permits that are left in it before each call, in a loop of its own:
   looking would slow down the loop that is measured. */
LOOP(run_renewals, (member->counted += member->lease.left < 1, weir_allowed(weir_lease_take(&member->lease, 1))))

static const struct bench_work_row WORK_ROWS[WORKS] = {
    [WORK_LOCAL] = {"thread-local counter", "floor", run_local, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_SUBTRACT] = {"thread-local subtract", "floor", run_subtract, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_ADD] = {"fetch-add", "floor", run_add, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_SWAP] = {"compare-and-swap", "floor", run_swap, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_MUTEX] = {"mutex", "floor", run_mutex, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_CLOCK] = {"clock MONOTONIC", "floor", run_clock, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_COARSE] = {"clock MONOTONIC_COARSE", "floor", run_coarse, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_LOAD] = {"load", "floor", run_load, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_LEASE] = {"weir_lease_take", "grant", run_lease, 1, SYSTEM, true, WORK_SUBTRACT, NO_FLOOR},
    [WORK_LEASE_LIST] = {"weir_lease_take, two limits", "grant", run_lease, 1, LIST, true, WORK_LEASE, NO_FLOOR},
    [WORK_TAKE_AT] = {"weir_take_at, now passed in", "grant", run_take_at, 1, SYSTEM, false, WORK_SWAP, NO_FLOOR},
    [WORK_TAKE] = {"weir_take", "grant", run_take, 1, SYSTEM, false, WORK_SWAP, WORK_CLOCK},
    [WORK_TAKE_COARSE] = {"weir_take, coarse clock", "grant", run_take, 1, COARSE, false, WORK_SWAP, WORK_COARSE},
    [WORK_TAKE_TICKER] = {"weir_take, ticker", "grant", run_take, 1, TICKER, false, WORK_SWAP, NO_FLOOR},
    [WORK_TAKE_TSC] = {"weir_take, TSC", "grant", run_take, 1, TSC, false, WORK_SWAP, NO_FLOOR},
    [WORK_TAKE_HYBRID] = {"weir_take, hybrid (cell)", "grant", run_take, 1, HYBRID, false, WORK_MUTEX, WORK_CLOCK},
    [WORK_TAKE_LOG] = {"weir_take, sliding log", "grant", run_take, 1, LOG, false, WORK_SWAP, WORK_CLOCK},
    [WORK_TAKE_SOME] = {"weir_take_some(64), a permit", "grant", run_take_some, MANY, SYSTEM, false, NO_FLOOR,
                        NO_FLOOR},
    [WORK_RENEWALS] = {"renewals of leases", "grant", run_renewals, 1, SYSTEM, true, NO_FLOOR, NO_FLOOR},
    [WORK_SEMAPHORE] = {"sem_trywait + sem_post", "hold", run_semaphore, 1, NONE, false, NO_FLOOR, NO_FLOOR},
    [WORK_HOLD] = {"weir_take + weir_release", "hold", run_hold, 1, CONCURRENT, false, WORK_TAKE, NO_FLOOR},
    [WORK_REFUSED] = {"weir_take, refused", "deny", run_refused, 1, SHUT, false, WORK_CLOCK, NO_FLOOR},
    [WORK_REFUSED_COARSE] = {"weir_take, refused, coarse", "deny", run_refused, 1, SHUT_COARSE, false, WORK_COARSE,
                             NO_FLOOR},
    [WORK_REFUSED_TICKER] = {"weir_take, refused, ticker", "deny", run_refused, 1, SHUT_TICKER, false, NO_FLOOR,
                             NO_FLOOR},
    [WORK_REFUSED_TSC] = {"weir_take, refused, TSC", "deny", run_refused, 1, SHUT_TSC, false, NO_FLOOR, NO_FLOOR},
    [WORK_REFUSED_LEASE] = {"weir_lease_take, refused", "deny", run_refused_lease, 1, SHUT, true, NO_FLOOR, NO_FLOOR},
    [WORK_REFUSED_LEASE_TICKER] = {"weir_lease_take, refused, ticker", "deny", run_refused_lease, 1, SHUT_TICKER, true,
                                   NO_FLOOR, NO_FLOOR},
    [WORK_REFUSED_AT] = {"weir_take_at, refused", "deny", run_refused_at, 1, SHUT, false, NO_FLOOR, NO_FLOOR},
    [WORK_READ_SYSTEM] = {"WEIR_CLOCK_SYSTEM", "clock", run_read, 1, SYSTEM, false, NO_FLOOR, NO_FLOOR},
    [WORK_READ_COARSE] = {"WEIR_CLOCK_COARSE", "clock", run_read, 1, COARSE, false, NO_FLOOR, NO_FLOOR},
    [WORK_READ_TICKER] = {"WEIR_CLOCK_TICKER", "clock", run_read, 1, TICKER, false, NO_FLOOR, NO_FLOOR},
    [WORK_READ_TSC] = {"WEIR_CLOCK_TSC", "clock", run_read, 1, TSC, false, NO_FLOOR, NO_FLOOR},
};

const struct bench_work_row *bench_work(enum bench_work work)
{
    return &WORK_ROWS[work];
}

static weir_limiter *open_limiter(weir_limiter *limiter[LIMITERS], unsigned which)
{
    if (which >= LIMITERS) return NULL;
    if (limiter[which] == NULL) {
        limiter[which] = bench_open(limiter_rows[which].limits, limiter_rows[which].use, limiter_rows[which].clock, 0);
        if (which >= SHUT) weir_take(limiter[which], 1);
    }
    return limiter[which];
}

void bench_works_measure(const char *section, const enum bench_work work[], int works, const struct bench_wish *wish,
                         struct bench_rates *rates)
{
    struct shared shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    weir_limiter *limiter[LIMITERS] = {NULL};
    sem_init(&shared.semaphore, 0, SLOTS);
    struct bench_loop loop[BENCH_LOOPS_MAX];
    for (int i = 0; i < works; i++) {
        const struct bench_work_row *row = &WORK_ROWS[work[i]];
        weir_limiter *asked = open_limiter(limiter, row->limiter);
        loop[i] = (struct bench_loop){row->run, asked != NULL ? (void *)asked : &shared, row->leased ? asked : NULL};
    }
    bench_loops_measure(section, loop, works, wish, rates);
    for (int i = 0; i < LIMITERS; i++) weir_close(limiter[i]);
}
