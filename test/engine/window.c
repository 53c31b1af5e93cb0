/* SPDX-License-Identifier: MIT
   The logs of all clients of a limit, merged: what is the most that passed in any window?

       engine-window BURST PERMITS PERIOD_NS EXTRA LEAST FILE...
       engine-window --check

   A line of a log is a grant (grants.c): the time just before it was asked for and just after it was told, both in ns
   of the monotonic clock that all processes of the machine share, and permits.  When exactly it was granted nobody
   knows, only that it was between the two.  So a grant counts in a window where it lies there from asking to telling:
   then it surely was granted there, and what is found to be too much is a proof, never an accident of scheduling.  For
   what is found to be too little it is the other way round: a grant counts where it may have been granted in it.  The
   last line of a log may be cut short: its client was killed.

   Prints how many permits were granted, the worst window (permits less rate * length), what the bound allows (BURST +
   EXTRA) and how much of BURST was used.  Exit status 1: surely more than the bound, or surely less than LEAST percent
   of BURST.

   An engine's clock shows whole microseconds, so a window may have been one longer than it says.

   --check holds the search (stress/windows.c) against one that looks at every pair of times.

   Exact, in whole numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/windows.h"
#include "unit/random.h"

enum { CLOCK_STEP_NS = 1000, LINE_SIZE = 128, FIRST = 1024, ARGUMENTS = 6 };

struct limit {
    int64_t burst, permits, period_ns; /* a permit is period_ns, and `permits` drain in a ns */
};

struct log {
    struct passed *passed;
    size_t count, room;
    int64_t granted;
};

static void stop(const char *words, const char *what)
{
    fprintf(stderr, "engine-window: %s: %s\n", words, what);
    exit(2);
}

static int64_t number(const char *text, int64_t least)
{
    char *end;
    const int64_t value = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < least) stop("no number that fits here", text);
    return value;
}

static void add(struct log *log, uint64_t from_ns, uint64_t to_ns, int64_t permits)
{
    if (log->count == log->room) {
        log->room = log->room == 0 ? FIRST : 2 * log->room;
        log->passed = realloc(log->passed, log->room * sizeof *log->passed);
        if (log->passed == NULL) abort();
    }
    log->passed[log->count++] = (struct passed){.from_ns = from_ns, .to_ns = to_ns, .amount = permits};
    log->granted += permits;
}

static void read_log(struct log *log, const char *name)
{
    FILE *file = fopen(name, "r");
    if (file == NULL) stop("cannot be read", name);
    char line[LINE_SIZE];
    while (fgets(line, sizeof line, file) != NULL && strchr(line, '\n') != NULL) {
        uint64_t from_ns, to_ns;
        int64_t permits;
        if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNd64, &from_ns, &to_ns, &permits) != 3 || from_ns > to_ns ||
            permits < 0) {
            stop(name, line);
        }
        add(log, from_ns, to_ns, permits);
    }
    fclose(file);
}

/* From permits and times to what drains. */
static void measure(struct log *log, const struct limit *limit)
{
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    for (size_t i = 0; i < log->count; i++) {
        if (log->passed[i].from_ns < first_ns) first_ns = log->passed[i].from_ns;
        if (log->passed[i].to_ns > last_ns) last_ns = log->passed[i].to_ns;
    }
    if (log->count == 0) return;
    if (last_ns - first_ns > (uint64_t)(INT64_MAX / 4 / limit->permits)) stop("too long", "the logs");
    if (log->granted > INT64_MAX / 4 / limit->period_ns) stop("too many permits", "the logs");
    for (size_t i = 0; i < log->count; i++) {
        struct passed *passed = &log->passed[i];
        passed->amount *= limit->period_ns;
        passed->drained_from = (int64_t)(passed->from_ns - first_ns) * limit->permits;
        passed->drained_to = (int64_t)(passed->to_ns - first_ns) * limit->permits;
    }
}

static struct limit limit_of(char *arguments[])
{
    struct limit limit = {number(arguments[0], 1), number(arguments[1], 1), number(arguments[2], 1)};
    int64_t divisor = limit.permits, rest = limit.period_ns;
    while (rest != 0) {
        const int64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    limit.permits /= divisor;
    limit.period_ns /= divisor;
    return limit;
}

/* The worst window if each grant was in it that can have been: those that began to be asked for before its end and were
   told after its beginning.  So it is the search with the two times of each grant swapped; and since a window that is
   but a moment counts, too, each beginning is given to the search as a moment of which nothing passed. */
static int64_t most_possible(const struct log *log)
{
    struct passed *swapped = malloc((2 * log->count + 1) * sizeof *swapped);
    if (swapped == NULL) abort();
    for (size_t i = 0; i < log->count; i++) {
        const struct passed *passed = &log->passed[i];
        swapped[2 * i] = (struct passed){.from_ns = passed->to_ns, .to_ns = passed->from_ns, .amount = passed->amount};
        swapped[2 * i].drained_from = passed->drained_to, swapped[2 * i].drained_to = passed->drained_from;
        swapped[2 * i + 1] = (struct passed){.from_ns = passed->from_ns, .to_ns = passed->from_ns};
        swapped[2 * i + 1].drained_from = swapped[2 * i + 1].drained_to = passed->drained_from;
    }
    const int64_t most = windows_burst(swapped, 2 * log->count);
    free(swapped);
    return most;
}

static int judge(struct log *log, const struct limit *limit, int64_t extra, int64_t least_percent)
{
    measure(log, limit);
    const int64_t worst = windows_burst(log->passed, log->count), most = most_possible(log);
    const int64_t bound = (limit->burst + extra) * limit->period_ns;
    const double permit = (double)limit->period_ns;
    const bool over = worst > bound + CLOCK_STEP_NS * limit->permits;
    const bool slack = most < limit->burst * limit->period_ns / 100 * least_percent;
    printf("%" PRId64 " granted; worst window %.2f of %" PRId64 ", %.1f %% of the burst%s%s\n", log->granted,
           (double)worst / permit, limit->burst + extra, 100 * (double)worst / permit / (double)limit->burst,
           over ? "; TOO MUCH" : "", slack ? "; TOO LITTLE" : "");
    return over || slack;
}

/* ---- the search is checked ---- */

enum { ROUNDS = 3000, GRANTS_MAX = 40, TIME_MAX = 60, LENGTH_MAX = 8, PERMITS_MAX = 5, RATE_MAX = 4 };

static int64_t every_pair(const struct log *log)
{
    int64_t most = 0;
    for (size_t a = 0; a < log->count; a++) {
        for (size_t b = 0; b < log->count; b++) {
            const uint64_t from_ns = log->passed[a].from_ns, to_ns = log->passed[b].to_ns;
            int64_t inside = log->passed[a].drained_from - log->passed[b].drained_to;
            if (from_ns > to_ns) continue;
            for (size_t i = 0; i < log->count; i++) {
                const struct passed *passed = &log->passed[i];
                if (passed->from_ns >= from_ns && passed->to_ns <= to_ns) inside += passed->amount;
            }
            if (inside > most) most = inside;
        }
    }
    return most;
}

static int64_t every_pair_possible(const struct log *log)
{
    int64_t most = 0;
    for (size_t a = 0; a < 2 * log->count; a++) {
        const struct passed *first = &log->passed[a / 2];
        const uint64_t from_ns = a % 2 == 0 ? first->from_ns : first->to_ns;
        const int64_t drained = a % 2 == 0 ? first->drained_from : first->drained_to;
        for (size_t b = 0; b < log->count; b++) {
            const uint64_t to_ns = log->passed[b].from_ns;
            int64_t inside = drained - log->passed[b].drained_from;
            if (from_ns > to_ns) continue;
            for (size_t i = 0; i < log->count; i++) {
                const struct passed *passed = &log->passed[i];
                if (passed->to_ns >= from_ns && passed->from_ns <= to_ns) inside += passed->amount;
            }
            if (inside > most) most = inside;
        }
    }
    return most;
}

static int check(void)
{
    uint64_t seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct log log = {0};
        const int64_t permits = 1 + (int64_t)random_below(&seed, RATE_MAX);
        const struct limit limit = {1, permits, 1 + (int64_t)random_below(&seed, RATE_MAX)};
        for (uint64_t grants = random_below(&seed, GRANTS_MAX); grants != 0; grants--) {
            const uint64_t from_ns = random_below(&seed, TIME_MAX);
            const uint64_t to_ns = from_ns + random_below(&seed, LENGTH_MAX);
            add(&log, from_ns, to_ns, (int64_t)random_below(&seed, PERMITS_MAX));
        }
        measure(&log, &limit);
        const int64_t expected[] = {every_pair(&log), every_pair_possible(&log)};
        const int64_t found[] = {windows_burst(log.passed, log.count), most_possible(&log)};
        for (int which = 0; which < 2; which++) {
            if (found[which] == expected[which]) continue;
            printf("round %d: %" PRId64 " found, %" PRId64 " expected\n", round, found[which], expected[which]);
            return 1;
        }
        free(log.passed);
    }
    printf("%d logs\n", ROUNDS);
    return 0;
}

int main(int count, char *arguments[])
{
    if (count == 2 && strcmp(arguments[1], "--check") == 0) return check();
    if (count < ARGUMENTS + 1) stop("BURST PERMITS PERIOD_NS EXTRA LEAST FILE...", "or --check");
    const struct limit limit = limit_of(arguments + 1);
    struct log log = {0};
    for (int i = ARGUMENTS; i < count; i++) read_log(&log, arguments[i]);
    const int status = judge(&log, &limit, number(arguments[4], 0), number(arguments[5], 0));
    free(log.passed);
    return status;
}
