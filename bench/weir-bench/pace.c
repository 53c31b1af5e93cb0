/* SPDX-License-Identifier: MIT
   Does a limiter hold a rate, how late is each operation, and what does that cost?

   So many threads ask one limiter for a permit and wait for it, each through a lease of its own, and do nothing else.
   Lateness is the clock after the call less the start in the decision.  That start moves when the work falls behind by
   more than the limit's pool, so there is a second one, behind: less the start that the rate alone would have given it
   (the end of its slot: a schedule that forgets nothing).  For the floor both are the same.

   The floor has no limiter: as many threads, each with its share of the same rate, sleep to absolute times; where a
   sleep is longer than the time between two of them they do, as a limiter's callers do, all that are due.

   The clock is looked at after every operation as long as these are few, and else after some at random, by both alike:
   measuring must not cost more than pacing.  What is done between two looks surely happened between them.

   Nothing shared is written by the harness. */
#include "weir-bench/pace.h"

#include "api/limiter.h"
#include "core/clock.h"
#include "core/num.h"
#include "harness/loops.h"
#include "plan/plan.h"

enum { AT_ONCE = 64, DUE_BITS = 16, RATIO_BITS = 32, LIMIT_SIZE = 64, ORIGIN_PART = 10 };

static const uint64_t ORIGIN_NS = 1000000, RUN_USUAL_NS = 1000000000, RUN_ALONE_NS = 3000000000;
static const uint64_t RATES_USUAL[] = {1000, 100000, 1000000};
static const unsigned THREADS_USUAL[] = {1, 8};

struct job {
    weir_limiter *limiter; /* NULL: bare sleeps */
    struct rule rule;      /* the limiter's */
    struct pace_notes *notes;
    uint64_t rate, every;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- notes ---- */

static void note_interval(struct pace_notes *notes, uint64_t after_ns)
{
    notes->full = notes->full || !rows_reach(&notes->interval, notes->intervals + 1);
    if (notes->full) return;
    struct bench_interval *interval = rows_at(&notes->interval, notes->intervals++);
    *interval = (struct bench_interval){notes->before_ns, after_ns, notes->size};
}

/* By the wall two operations of a thread were as far apart as by the schedule, nearly. */
static void note_gap(struct pace_notes *notes, uint64_t after_ns, uint64_t intended_ns)
{
    const uint64_t wall_ns = after_ns - notes->before_ns;
    const uint64_t ideal_ns = subtract_to_zero(intended_ns, notes->before_intended_ns);
    const uint64_t off_ns = wall_ns > ideal_ns ? wall_ns - ideal_ns : ideal_ns - wall_ns;
    notes->gaps++;
    for (int i = 0; i < PACE_NEARS; i++) notes->near[i] += off_ns <= PACE_NEAR_NS[i];
}

/* Pairs, so that there are gaps to be seen; from one pair to the next, 2 * every on the average. */
static void plan_next(struct pace_notes *notes)
{
    notes->pair = notes->every > 1 && !notes->pair;
    notes->size = notes->every == 1 || notes->pair ? 1 : 1 + next_random(&notes->random) % (4 * notes->every - 3);
    notes->left = notes->size;
}

/* The last of `size` operations has begun. */
static void look(struct pace_notes *notes, uint64_t intended_ns, uint64_t by_rate_ns)
{
    const uint64_t after_ns = host_now_ns();
    note_interval(notes, after_ns);
    histogram_add(&notes->late, subtract_to_zero(after_ns, intended_ns));
    histogram_add(&notes->behind, subtract_to_zero(after_ns, by_rate_ns));
    notes->early += after_ns < intended_ns;
    if (notes->pair) note_gap(notes, after_ns, intended_ns);
    notes->before_ns = after_ns;
    notes->before_intended_ns = intended_ns;
    plan_next(notes);
}

/* ---- by a limiter ---- */

static void wait_turn(struct bench_member *member)
{
    const struct job *job = member->crew->job;
    struct pace_notes *notes = member->own;
    if (notes->before_ns == 0) notes->before_ns = member->begin_ns;
    for (int i = 0; i < AT_ONCE; i++) {
        const weir_decision decision = weir_lease_take_wait(&member->lease, 1, WEIR_FOREVER);
        if (!weir_allowed(decision)) {
            member->wrong += !bench_stopped(member);
            return;
        }
        if (--notes->left == 0) look(notes, decision.start.ns, ns_ceil(&job->rule, decision.end));
        bench_forget();
    }
}

static void halt(struct bench_crew *crew)
{
    const struct job *job = crew->job;
    if (job->limiter != NULL) weir_stop(job->limiter);
}

/* ---- by bare sleeps ---- */

static uint64_t due_ns(const struct bench_crew *crew, const struct pace_notes *notes)
{
    return crew->begin_ns + least(ORIGIN_NS, crew->run_ns / ORIGIN_PART) + (notes->due >> DUE_BITS);
}

static void sleep_turn(struct bench_member *member)
{
    const struct bench_crew *crew = member->crew;
    const struct job *job = crew->job;
    struct pace_notes *notes = member->own;
    const uint64_t step = multiply_divide_floor((uint64_t)HOST_SECOND_NS << DUE_BITS, crew->threads, job->rate);
    if (notes->before_ns == 0) notes->before_ns = member->begin_ns;
    host_sleep_until(least(due_ns(crew, notes), crew->until_ns));
    const uint64_t now_ns = host_now_ns();
    for (uint64_t due; (due = due_ns(crew, notes)) <= now_ns && !bench_stopped(member); notes->due += step) {
        if (--notes->left == 0) look(notes, due, due);
        bench_forget();
    }
}

/* ---- a run ---- */

static void enter(struct bench_member *member)
{
    const struct job *job = member->crew->job;
    struct pace_notes *notes = &job->notes[member->index];
    weir_error error;
    *notes = (struct pace_notes){.every = job->every, .size = 1, .left = 1, .random = member->index + 1};
    notes->due = multiply_divide_floor((uint64_t)HOST_SECOND_NS << DUE_BITS, member->index, job->rate);
    rows_open(&notes->interval, sizeof(struct bench_interval));
    member->own = notes;
    for (int i = 0; i < AT_ONCE; i++) next_random(&notes->random);
    if (job->limiter != NULL && weir_lease_open(&member->lease, job->limiter, &error) != 0)
        bench_fail("%s", error.message);
}

static void leave(struct bench_member *member)
{
    weir_lease_close(&member->lease);
}

static void run(struct job *job, const struct bench_wish *wish, unsigned threads, const struct pace_bound *bound,
                double figure[PACE_FIGURES])
{
    struct bench_crew crew = {.name = "pace",
                              .threads = threads,
                              .run_ns = wish->run_ns,
                              .job = job,
                              .enter = enter,
                              .turn = job->limiter != NULL ? wait_turn : sleep_turn,
                              .leave = leave,
                              .halt = halt};
    job->notes = bench_allocate(threads, sizeof *job->notes);
    bench_crew_run(&crew);
    pace_sum(&crew, bound, figure);
    for (unsigned i = 0; i < threads; i++) rows_close(&job->notes[i].interval);
    free(job->notes);
    bench_crew_close(&crew);
}

static struct pace_bound bound_of(const char *limit, uint64_t rate)
{
    weir_plan plan;
    struct pace_bound bound = {.per_ns = (double)rate / HOST_SECOND_NS};
    if (weir_plan_parse(&plan, limit, WEIR_PACE, NULL) != 0) return bound;
    const struct rule *rule = &plan_inside_const(&plan)->rule[0];
    const double over = (double)rule->over / (double)(UINT64_C(1) << (rule->scale & 63));
    bound.over = over > 1 ? over : 1;
    bound.faster_per_ns = bound.per_ns * (double)rule->ratio / (double)(UINT64_C(1) << RATIO_BITS);
    return bound;
}

static void keep(struct bench_series series[PACE_FIGURES], int round, const double figure[PACE_FIGURES])
{
    for (int i = 0; i < PACE_FIGURES; i++) series[i].round[round] = figure[i];
}

static void take_rule(const struct cell_content *content, void *context)
{
    *(struct rule *)context = content->rule[0];
}

static void measure_one(const struct bench_wish *wish, uint64_t rate, uint64_t every, unsigned threads, int round,
                        struct paced *paced)
{
    char limit[LIMIT_SIZE];
    double figure[PACE_FIGURES];
    snprintf(limit, sizeof limit, "%llu/s", (unsigned long long)rate);
    const struct pace_bound bound = bound_of(limit, rate);
    struct job job = {.rate = rate, .every = every};
    run(&job, wish, threads, &bound, figure);
    keep(paced->floor, round, figure);
    job.limiter = bench_open(limit, WEIR_PACE, WEIR_CLOCK_SYSTEM, wish->grain_ns);
    limiter_look(job.limiter, take_rule, &job.rule);
    run(&job, wish, threads, &bound, figure);
    keep(paced->ours, round, figure);
    weir_close(job.limiter);
}

/* ---- the section ---- */

void pace_fill_in(struct bench_wish *wish)
{
    if (wish->rounds == 0) wish->rounds = 1;
    wish->run_ns = wish->rates == 0 ? RUN_USUAL_NS : RUN_ALONE_NS;
    for (size_t i = 0; wish->rates == 0 && i < sizeof RATES_USUAL / sizeof RATES_USUAL[0]; i++) {
        wish->rate[i] = RATES_USUAL[i];
    }
    if (wish->rates == 0) wish->rates = sizeof RATES_USUAL / sizeof RATES_USUAL[0];
    if (wish->counts != 0) return;
    wish->counts = sizeof THREADS_USUAL / sizeof THREADS_USUAL[0];
    for (int i = 0; i < wish->counts; i++) wish->threads[i] = THREADS_USUAL[i];
}

uint64_t pace_runs(const struct bench_wish *wish)
{
    return 2 * (uint64_t)wish->rounds * (uint64_t)wish->rates * (uint64_t)wish->counts;
}

void *pace_measure(const struct bench_wish *wish)
{
    struct pacing *pacing = bench_allocate(1, sizeof *pacing);
    for (int i = 0; i < wish->rates; i++) pacing->every[i] = (wish->rate[i] + PACE_LOOKS_PER_S - 1) / PACE_LOOKS_PER_S;
    for (int round = 0; round < wish->rounds; round++) {
        for (int i = 0; i < wish->rates; i++) {
            for (int count = 0; count < wish->counts; count++) {
                bench_progress("pace", "a second", wish->rate[i], round, wish->rounds);
                measure_one(wish, wish->rate[i], pacing->every[i], wish->threads[count], round, &pacing->of[i][count]);
            }
        }
    }
    return pacing;
}
