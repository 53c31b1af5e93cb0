/* SPDX-License-Identifier: MIT
   The costliest calls of a sliding-log in a table: what a client may do to others of weir serve.

   A table in this process, keys that were used before.  2000 permits are the most of a client's text, where two texts
   in turn have the log entered anew; 8000 of a limit with a name (src/serve/policy/policy.h).  Each call is to take
   100 us at most; the longest of a busy machine is what else it did.

       bench-log_calls            the table, in us
       bench-log_calls --small    a round of it: a test that it still works */
#include "harness/harness.h"

#include <weir/weir.h>

enum { ROUNDS = BENCH_ROUNDS_MAX, TEXT_SIZE = 512, KEYS = 1024, LISTS = 8 };

enum verb { TAKE, CHARGE, SETTLE, OTHER, VERBS };
static const char *const names[VERBS] = {"take of all", "charge of 10^9", "settle of the oldest", "another text"};

struct subject {
    weir_plan plan, other;
    weir_table *table;
    uint64_t permits;
};

static void read_plan(weir_plan *plan, uint64_t permits, int limits)
{
    weir_error error;
    char text[TEXT_SIZE];
    size_t size = 0;
    for (int i = 0; i < limits; i++) {
        size += (size_t)snprintf(text + size, TEXT_SIZE - size, "%s%llu/min algorithm=sliding-log", i > 0 ? "; " : "",
                                 (unsigned long long)permits);
    }
    if (weir_plan_parse(plan, text, WEIR_ADMIT, &error) != 0) bench_fail("%s", error.message);
}

static double time_of(struct subject *subject, enum verb verb, weir_key key)
{
    weir_decision first = {0};
    if (verb == SETTLE) first = weir_table_take(subject->table, &subject->plan, key, 1);
    for (uint64_t i = 1; i < subject->permits && verb != TAKE; i++)
        weir_table_take(subject->table, &subject->plan, key, 1);
    if (verb == OTHER) weir_table_charge(subject->table, &subject->plan, key, 1000000000); /* much waits */
    const uint64_t begin_ns = host_now_ns();
    if (verb == TAKE) weir_table_take(subject->table, &subject->plan, key, subject->permits);
    else if (verb == CHARGE) weir_table_charge(subject->table, &subject->plan, key, 1000000000);
    else if (verb == SETTLE) weir_table_settle(subject->table, &subject->plan, key, &first, 0);
    else weir_table_take(subject->table, &subject->other, key, 1);
    return (double)(host_now_ns() - begin_ns) / 1000;
}

static void print_rows(uint64_t permits, int limits, enum verb last, int rounds)
{
    struct subject subject = {.permits = permits};
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    read_plan(&subject.plan, permits, limits);
    read_plan(&subject.other, permits - 1, limits);
    options.keys_max = KEYS;
    options.plan = &subject.plan;
    options.sharing = WEIR_PRIVATE;
    if (weir_table_open(&subject.table, &options, &error) != 0) bench_fail("%s", error.message);
    for (enum verb verb = TAKE; verb <= last; verb++) {
        struct bench_series us;
        for (int round = 0; round < rounds; round++) {
            const uint64_t number = (uint64_t)verb * ROUNDS + (uint64_t)round;
            const weir_key key = {&number, sizeof number};
            weir_table_peek(subject.table, &subject.plan, key, -1, 1);
            weir_table_take(subject.table, &subject.plan, key, 0);
            us.round[round] = time_of(&subject, verb, key);
        }
        const struct bench_spread spread = bench_spread(&us, rounds);
        printf("%6llu permits, %d limit%s %-22s %8.1f %8.1f\n", (unsigned long long)(permits * (uint64_t)limits),
               limits, limits > 1 ? "s" : " ", names[verb], spread.median, spread.most);
    }
    weir_table_close(subject.table);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 && strcmp(argv[1], "--small") == 0 ? 1 : ROUNDS;
    bench_print_machine();
    printf("%-48s %8s %8s\n", "us a call", "median", "longest");
    print_rows(2000, 1, OTHER, rounds);
    print_rows(2000 / LISTS, LISTS, OTHER, rounds);
    print_rows(8000, 1, SETTLE, rounds);
    print_rows(8000 / LISTS, LISTS, SETTLE, rounds);
    return 0;
}
