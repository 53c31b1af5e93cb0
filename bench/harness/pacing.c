/* SPDX-License-Identifier: MIT
   How a rate is held: threads wait for their turn, again and again, and all starts are written down.

       starts:  | at, due | at, due | at, due | ...      in the order in which they started: a place is one fetch-add

   The nth start is due n / rate after the first.  A start that wakes late is no loss, as the next is on time again;
   what of the schedule is lost shows in the one that came least after it was due: of the last tenth, against the first.

   Nothing starts before it was due, or it fails. */
#include "harness/pacing.h"

#include <math.h>

#include "harness/loops.h"

enum { SPARE = 2000, RATE_MAX = 1000000000, SECONDS_MAX = 3600 };

static const uint64_t LINE_RUN_NS = 100000000, LINE_RUN_SMALL_NS = 500000;

struct job {
    const struct pacing *pacing;
    struct pacing_start *start;
    size_t room;
    alignas(BENCH_CACHE_LINE) struct atom given;
};

static void enter(struct bench_member *member)
{
    const struct pacing *pacing = ((const struct job *)member->crew->job)->pacing;
    member->own = pacing->join(pacing->limiter, (int)member->index);
}

static void turn(struct bench_member *member)
{
    struct job *job = (struct job *)member->crew->job;
    uint64_t due_ns = 0;
    const unsigned count = job->pacing->acquire(member->own, &due_ns);
    const uint64_t place = atom_add(&job->given, count), at_ns = host_now_ns();
    if (at_ns < due_ns) bench_fail("%s: an operation started early", job->pacing->who);
    for (uint64_t i = place; i < place + count && i < job->room; i++)
        job->start[i] = (struct pacing_start){at_ns, due_ns};
}

static void leave(struct bench_member *member)
{
    ((const struct job *)member->crew->job)->pacing->leave(member->own);
}

static void halt(struct bench_crew *crew)
{
    const struct pacing *pacing = ((const struct job *)crew->job)->pacing;
    if (pacing->halt != NULL) pacing->halt(pacing->limiter);
}

/* ---- what came of it ---- */

static double least_of(const double late_ns[], size_t from, size_t count)
{
    double least = late_ns[from];
    for (size_t i = from; i < from + count; i++) least = late_ns[i] < least ? late_ns[i] : least;
    return least;
}

static double highest_of(const struct pacing_start start[], size_t count, double rate_per_s)
{
    double level = 0, highest = 0;
    for (size_t i = 0; i < count; i++) {
        const double passed_ns = i == 0 ? 0 : (double)(int64_t)(start[i].at_ns - start[i - 1].at_ns);
        const double drained = rate_per_s * passed_ns / HOST_SECOND_NS;
        level = level > drained ? level - drained + 1 : 1;
        if (level > highest) highest = level;
    }
    return highest;
}

static double inverted_of(const struct pacing_start start[], size_t count)
{
    uint64_t latest_ns = 0;
    size_t inverted = 0;
    for (size_t i = 0; i < count; i++) {
        inverted += start[i].due_ns < latest_ns;
        if (start[i].due_ns > latest_ns) latest_ns = start[i].due_ns;
    }
    return (double)inverted / (double)count;
}

void pacing_look_at(const struct pacing_start start[], size_t count, double rate_per_s, double figure[PACING_FIGURES])
{
    const size_t tenth = count / 10 + 1;
    const double elapsed_ns = (double)(start[count - 1].at_ns - start[0].at_ns);
    double *late_ns = bench_allocate(count, sizeof *late_ns);
    for (size_t i = 0; i < count; i++) {
        const double since_ns = (double)(int64_t)(start[i].at_ns - start[0].at_ns);
        late_ns[i] = since_ns - (double)i * HOST_SECOND_NS / rate_per_s;
    }
    figure[PACING_PER_S] = (double)(count - 1) * HOST_SECOND_NS / elapsed_ns;
    figure[PACING_FIRST_NS] = least_of(late_ns, 0, tenth);
    figure[PACING_ERROR_PPM] = (figure[PACING_FIRST_NS] - least_of(late_ns, count - tenth, tenth)) * 1e6 / elapsed_ns;
    figure[PACING_P50_NS] = bench_quantile(late_ns, count, 0.5);
    figure[PACING_P99_NS] = bench_quantile(late_ns, count, 0.99);
    figure[PACING_P999_NS] = bench_quantile(late_ns, count, 0.999);
    figure[PACING_BURST] = highest_of(start, count, rate_per_s);
    figure[PACING_INVERTED] = inverted_of(start, count);
    free(late_ns);
}

static size_t starts_of(const struct job *job, uint64_t until_ns)
{
    size_t count = (size_t)atom_load(&job->given);
    if (count > job->room) count = job->room;
    while (count > 0 && job->start[count - 1].at_ns >= until_ns) count--;
    return count;
}

void pacing_run(const struct pacing *pacing, const struct pace *pace, double figure[PACING_FIGURES])
{
    struct job job = {.pacing = pacing, .room = (size_t)(pace->rate_per_s * pace->seconds * 2) + SPARE};
    struct bench_crew crew = {.name = pacing->who,
                              .threads = (unsigned)pace->threads,
                              .run_ns = (uint64_t)(pace->seconds * HOST_SECOND_NS),
                              .job = &job,
                              .enter = enter,
                              .turn = turn,
                              .leave = leave,
                              .halt = halt};
    job.start = bench_allocate(job.room, sizeof *job.start);
    memset(job.start, 1, job.room * sizeof *job.start); /* the memory is there before it is measured */
    bench_crew_run(&crew);
    const size_t count = starts_of(&job, crew.until_ns);
    for (int i = 0; i < PACING_FIGURES; i++) figure[i] = NAN;
    if (count > 1) pacing_look_at(job.start, count, pace->rate_per_s, figure);
    figure[PACING_STARTS] = (double)count;
    figure[PACING_PROCESSOR] = (double)crew.processor_ns / (double)crew.wall_ns;
    figure[PACING_SLEEPS] = (double)crew.switches / (double)count;
    bench_crew_close(&crew);
    free(job.start);
}

/* ---- lines for bench/rivals/run ---- */

static double read_number(const char *text, double least, double most)
{
    char *end;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= least && number <= most))
        bench_fail("\"%s\": expected a number from %g to %.0f", text, least, most);
    return number;
}

struct pace pacing_read(char *const text[3])
{
    return (struct pace){.rate_per_s = read_number(text[0], 1, RATE_MAX),
                         .threads = (int)read_number(text[1], 1, PACING_THREADS_MAX),
                         .seconds = read_number(text[2], 1e-3, SECONDS_MAX)};
}

void pacing_print_line(const struct pacing *pacing, const struct pace *pace)
{
    double figure[PACING_FIGURES];
    pacing_run(pacing, pace, figure);
    printf("%s\tpace %.0f\t%d\t%.6f\t%.0f\t%.0f\t%.4f\n", pacing->who, pace->rate_per_s, pace->threads,
           figure[PACING_PER_S] / pace->rate_per_s, figure[PACING_P50_NS], figure[PACING_P99_NS],
           figure[PACING_PROCESSOR]);
    fflush(stdout);
}

struct asked {
    uint64_t (*ask)(void *limiter);
    void *limiter;
};

_Static_assert((int)PACING_CALLS == (int)BENCH_CALLS, "a rival does as many calls a turn");

static uint64_t ask(struct bench_member *member, void *subject)
{
    const struct asked *asked = subject;
    (void)member;
    return asked->ask(asked->limiter);
}

void pacing_print_rates(const char *who, const char *work, uint64_t (*function)(void *limiter), void *limiter)
{
    const char *small = getenv("WEIR_SMALL");
    const bool is_small = small != NULL && strcmp(small, "1") == 0;
    const struct bench_wish wish = {
        .threads = {1, 2, 8, 64}, .counts = 4, .rounds = 1, .run_ns = is_small ? LINE_RUN_SMALL_NS : LINE_RUN_NS};
    struct asked asked = {function, limiter};
    struct bench_rates *rates = bench_allocate(BENCH_COUNTS_MAX, sizeof *rates);
    bench_loops_measure(who, &(struct bench_loop){ask, &asked, NULL}, 1, &wish, rates);
    for (int i = 0; i < wish.counts; i++)
        printf("%s\t%s\t%u\t%.3f\n", who, work, wish.threads[i], rates[i].rate[0].round[0] / 1e6);
    free(rates);
}
