/* SPDX-License-Identifier: MIT
   Calls of the library, for bench/instructions to count: each algorithm granted and refused, lists, leases,
   tables, corrections, texts, and what is decided inside an engine (src/redis/micro).

   Time is given: a call that is granted comes 10 ms after the one before, one that is refused a microsecond. */
#include "calls.h"

#include <weir/weir.h>

#include "core/algorithm.h"
#include "redis/micro/micro.h"

enum { TEXT_SIZE = 96, ROWS_MAX = 160, BATCH = 32, TWO = 2, ENTRIES_MAX = 4096, WARM = 1000, TAKES_MAX = 1000 };
enum { KEYS = 100000, ALL_OF_A_LIST = 4 };
static const uint64_t granted_ns = 10000000, refused_ns = 1000, us_ns = 1000;

enum where { LIMITER, STATE, TABLE, MICRO };

struct subject {
    enum where where;
    uint64_t now_ns, step_ns;
    uint32_t verdict; /* expected of each call */
    weir_plan plan;
    weir_limiter *limiter;
    void *state;
    weir_table *table;
    weir_lease lease;
    weir_ask ask[BATCH];
    uint64_t number[BATCH]; /* their keys */
    struct micro_plan micro;
    unsigned char bytes[MICRO_BYTES_MAX + ENTRIES_MAX * MICRO_LOG_ENTRY];
    size_t size;
};

/* ---- one question ---- */

static weir_key key_of(const uint64_t *number)
{
    return (weir_key){number, sizeof *number};
}

/* All that the module does with a value: reads it, decides, writes it. */
static uint32_t micro(struct subject *subject)
{
    const struct micro_ask ask = {.now = subject->now_ns / us_ns, .cost = {1}};
    struct micro_state state = {.count = 0};
    struct micro_log log = {.ring = NULL};
    struct micro_range range[MICRO_LOG_RANGES];
    struct micro_answer answer;
    if (subject->size != 0 && !micro_read(&state, subject->bytes, subject->size)) return 0;
    if (subject->size >= MICRO_LOG_RING) micro_log_open(&log, &state, subject->bytes);
    micro_take(&subject->micro, &state, &log, &ask, &answer);
    if (!answer.changed) return answer.verdict;
    if (log.ring == NULL) {
        subject->size = micro_write(&state, subject->bytes);
    } else {
        subject->size = micro_log_place(&state.cell[0], &log, subject->size);
        micro_log_write(&state, &log, subject->bytes, range);
    }
    return answer.verdict;
}

static uint32_t take_one(struct subject *subject)
{
    const weir_instant now = {subject->now_ns += subject->step_ns};
    switch (subject->where) {
    case LIMITER:
        return weir_take_at(subject->limiter, now, 1).verdict;
    case STATE:
        return weir_decide(&subject->plan, subject->state, now, 1).verdict;
    case TABLE:
        return weir_table_take_at(subject->table, &subject->plan, key_of(subject->number), now, 1).verdict;
    default:
        return micro(subject);
    }
}

/* ---- what is there before ---- */

static void open_where(struct subject *subject, const struct row *row)
{
    weir_options options = WEIR_OPTIONS;
    weir_table_options table = WEIR_TABLE_OPTIONS;
    weir_error error = {.message = "no memory"};
    options.clock = WEIR_CLOCK_MANUAL;
    table.keys_max = KEYS;
    table.sharing = WEIR_PRIVATE;
    if (weir_plan_parse(&subject->plan, row->text, WEIR_ADMIT, &error) != 0)
        bench_fail("%s: %s", row->name, error.message);
    subject->state = calloc(1, weir_state_size(&subject->plan) + 1);
    if (weir_open(&subject->limiter, row->text, &options, &error) != 0) bench_fail("%s: %s", row->name, error.message);
    weir_manual_set(subject->limiter, (weir_instant){subject->now_ns});
    if (weir_lease_open(&subject->lease, subject->limiter, &error) != 0) bench_fail("%s: %s", row->name, error.message);
    if (row->where == MICRO && micro_plan_make(&subject->micro, &subject->plan, &error) != 0)
        bench_fail("%s: %s", row->name, error.message);
    if (row->where != TABLE) return;
    if (weir_table_open(&subject->table, &table, &error) != 0) bench_fail("%s: %s", row->name, error.message);
    if (weir_table_fits(subject->table, &subject->plan, NULL) == 0) return;
    weir_table_close(subject->table);
    table.plan = &subject->plan;
    if (weir_table_open(&subject->table, &table, &error) != 0) bench_fail("%s: %s", row->name, error.message);
}

/* A state that many calls leave; or one that has just refused. */
static void *open_subject(const struct row *row)
{
    struct subject *subject = bench_allocate(1, sizeof *subject);
    subject->where = (enum where)row->where;
    subject->now_ns = HOST_SECOND_NS;
    subject->step_ns = row->refused ? refused_ns : granted_ns;
    subject->verdict = WEIR_ALLOW;
    open_where(subject, row);
    for (uint64_t i = 0; i < BATCH; i++) {
        subject->number[i] = i;
        subject->ask[i] = (weir_ask){.plan = &subject->plan, .key = key_of(&subject->number[i]), .cost = 1};
    }
    for (int i = 0; !row->refused && i < WARM; i++) take_one(subject);
    for (int i = 0; row->refused && i < TAKES_MAX; i++) { /* what this limit refuses with: "none" has another word */
        subject->verdict = take_one(subject);
        if (subject->verdict != WEIR_ALLOW) break;
    }
    if ((subject->verdict != WEIR_ALLOW) != row->refused) bench_fail("%s: %s", row->name, "all is granted");
    weir_manual_set(subject->limiter, (weir_instant){subject->now_ns});
    return subject;
}

static void close_subject(void *of)
{
    struct subject *subject = of;
    weir_lease_close(&subject->lease);
    weir_close(subject->limiter);
    weir_table_close(subject->table);
    free(subject->state);
    free(subject);
}

/* ---- loops ---- */

#define LOOP(name, expression)                                                                                         \
    static uint64_t name(void *of, uint64_t count)                                                                     \
    {                                                                                                                  \
        struct subject *subject = of;                                                                                  \
        uint64_t done = 0;                                                                                             \
        for (uint64_t i = 0; i < count; i++) done += (expression);                                                     \
        return done;                                                                                                   \
    }

static uint64_t nothing(void *of, uint64_t count)
{
    uint64_t done = 0;
    (void)of;
    for (volatile uint64_t i = 0; i < count; i = i + 1) done++;
    return done;
}

/* All at one time. */
static uint64_t take_at(void *of, uint64_t count)
{
    const struct subject *subject = of;
    const weir_instant now = {subject->now_ns};
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += weir_take_at(subject->limiter, now, 1).charged;
    return done;
}

#define NOW ((weir_instant){subject->now_ns += subject->step_ns})
#define SAYS(decision) ((decision).verdict == subject->verdict)
LOOP(take, weir_take(subject->limiter, 1).charged)
LOOP(reserve, weir_reserve(subject->limiter, 1, 1).charged)
LOOP(lease_take, weir_lease_take(&subject->lease, 1).charged)
LOOP(refuse_first, weir_take(subject->limiter, TWO).verdict == WEIR_DENY) /* one of two permits is not noted */
LOOP(refuse_again, weir_take(subject->limiter, 1).verdict == WEIR_DENY)

LOOP(ask_limiter, SAYS(weir_take_at(subject->limiter, NOW, 1)))
LOOP(ask_state, SAYS(weir_decide(&subject->plan, subject->state, NOW, 1)))
LOOP(ask_micro, take_one(subject) == subject->verdict)
LOOP(ask_wait, SAYS(weir_take_wait(subject->limiter, 1, WEIR_FOREVER)))
LOOP(ask_lease, SAYS(weir_lease_take(&subject->lease, 1)))
LOOP(peek, SAYS(weir_peek(subject->limiter, 1)))
LOOP(peek_limit, SAYS(weir_peek_limit(subject->limiter, 1, 1)))
LOOP(charge_one, SAYS(weir_charge(subject->limiter, 1)))

/* Every sixteenth call comes a us later; so leases are renewed. */
static uint64_t renew(void *of, uint64_t count)
{
    struct subject *subject = of;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i % 16 == 0) weir_manual_set(subject->limiter, (weir_instant){subject->now_ns += us_ns});
        done += SAYS(weir_lease_take(&subject->lease, 1));
    }
    return done;
}

static uint64_t take_each(void *of, uint64_t count)
{
    struct subject *subject = of;
    const uint64_t cost[ALL_OF_A_LIST] = {1, TWO, 1, TWO};
    uint64_t end[WEIR_LIMITS_MAX], done = 0;
    for (uint64_t i = 0; i < count; i++) done += SAYS(weir_take_each(subject->limiter, cost, end));
    return done;
}

static uint64_t take_and_settle(void *of, uint64_t count)
{
    struct subject *subject = of;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) {
        weir_decision decision = weir_take_at(subject->limiter, NOW, TWO);
        weir_settle(subject->limiter, &decision, 1);
        done += SAYS(decision) && decision.charged == 0;
    }
    return done;
}

static uint64_t take_and_cancel(void *of, uint64_t count)
{
    struct subject *subject = of;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) {
        weir_decision decision = weir_take_at(subject->limiter, NOW, 1);
        weir_cancel(subject->limiter, &decision);
        done += SAYS(decision) && decision.charged == 0;
    }
    return done;
}

static uint64_t set_limit(void *of, uint64_t count)
{
    static const char *const texts[TWO] = {"1000/s burst=10", "2000/s burst=20"};
    struct subject *subject = of;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += weir_set_limit(subject->limiter, texts[i % TWO], WEIR_KEEP, NULL) == 0;
    return done;
}

static uint64_t parse(void *of, uint64_t count)
{
    struct subject *subject = of;
    char text[TEXT_SIZE];
    uint64_t done = 0;
    weir_plan_text(&subject->plan, text, sizeof text);
    for (uint64_t i = 0; i < count; i++) done += weir_plan_parse(&subject->plan, text, WEIR_ADMIT, NULL) == 0;
    return done;
}

static uint64_t print(void *of, uint64_t count)
{
    const struct subject *subject = of;
    char text[TEXT_SIZE];
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += weir_plan_text(&subject->plan, text, sizeof text) < sizeof text;
    return done;
}

/* ---- tables ---- */

LOOP(table_take, SAYS(weir_table_take_at(subject->table, &subject->plan, key_of(subject->number), NOW, 1)))
LOOP(table_peek, SAYS(weir_table_peek(subject->table, &subject->plan, key_of(subject->number), -1, 1)))

static uint64_t table_new(void *of, uint64_t count)
{
    struct subject *subject = of;
    uint64_t done = 0;
    const weir_instant now = {subject->now_ns};
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t number = BATCH + i;
        done += SAYS(weir_table_take_at(subject->table, &subject->plan, key_of(&number), now, 1));
    }
    return done;
}

static uint64_t table_settle(void *of, uint64_t count)
{
    struct subject *subject = of;
    const weir_key key = key_of(subject->number);
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) {
        weir_decision decision = weir_table_take_at(subject->table, &subject->plan, key, NOW, TWO);
        weir_table_settle(subject->table, &subject->plan, key, &decision, 1);
        done += SAYS(decision) && decision.charged == 0;
    }
    return done;
}

static uint64_t table_batch(void *of, uint64_t count)
{
    struct subject *subject = of;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) {
        weir_table_take_batch(subject->table, subject->ask, BATCH, NOW);
        bool all = true;
        for (int j = 0; j < BATCH; j++) all &= SAYS(subject->ask[j].decision);
        done += all;
    }
    return done;
}

static uint64_t table_all(void *of, uint64_t count)
{
    struct subject *subject = of;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++)
        done += weir_table_take_all(subject->table, subject->ask, TWO, NOW) == (subject->verdict == WEIR_ALLOW);
    return done;
}

/* ---- rows ---- */

#define OPEN "1000000000/s burst=4294967295"
#define SHUT "1/d burst=2"
#define TWO_LIMITS "1000/s; 10000/min"
#define FOUR_LIMITS TWO_LIMITS "; 500000/h; 10000000/d"
#define MIXED "1000/s algorithm=fixed-window; 10000/min algorithm=sliding-window"
#define WIDE "1000/s algorithm=sliding-window"
#define ROW(name, where, limits, refused, run)                                                                         \
    {                                                                                                                  \
        name, open_subject, run, close_subject, limits, where, refused, NULL                                           \
    }

static const struct row by_hand[] = {
    ROW("nothing", LIMITER, OPEN, false, nothing),
    ROW("weir_lease_take", LIMITER, OPEN, false, lease_take),
    ROW("weir_take_at", LIMITER, OPEN, false, take_at),
    ROW("weir_take", LIMITER, OPEN, false, take),
    ROW("weir_reserve", LIMITER, OPEN, false, reserve),
    ROW("weir_take_refused_again", LIMITER, SHUT, true, refuse_again),
    ROW("weir_take_refused_first", LIMITER, SHUT, true, refuse_first),
    ROW("list/2/granted", LIMITER, TWO_LIMITS, false, ask_limiter),
    ROW("list/2/refused", LIMITER, "1000/s; 1/d", true, ask_limiter),
    ROW("list/4/granted", LIMITER, FOUR_LIMITS, false, ask_limiter),
    ROW("list/4/refused", LIMITER, TWO_LIMITS "; 500000/h; 1/d", true, ask_limiter),
    ROW("list/4/each", LIMITER, "1000000/s; 10000000/min; 500000000/h; 1000000000/d", false, take_each),
    ROW("list/mixed/granted", LIMITER, MIXED, false, ask_limiter),
    ROW("list/4/decide/granted", STATE, FOUR_LIMITS, false, ask_state),
    ROW("list/4/decide/refused", STATE, TWO_LIMITS "; 500000/h; 1/d", true, ask_state),
    ROW("wait/granted", LIMITER, OPEN, false, ask_wait),
    ROW("peek/granted", LIMITER, OPEN, false, peek),
    ROW("peek/refused", LIMITER, SHUT, true, peek),
    ROW("peek/one-of-4", LIMITER, FOUR_LIMITS, false, peek_limit),
    ROW("charge", LIMITER, OPEN, false, charge_one),
    ROW("take+settle", LIMITER, "1000/s", false, take_and_settle),
    ROW("take+settle/list/4", LIMITER, FOUR_LIMITS, false, take_and_settle),
    ROW("take+cancel", LIMITER, "1000/s", false, take_and_cancel),
    ROW("set_limit", LIMITER, "1000/s burst=10", false, set_limit),
    ROW("lease/renewed", LIMITER, "1000000000/s burst=1000000", false, renew),
    ROW("lease/asked/granted", LIMITER, "1000000000/s algorithm=cycle", false, ask_lease),
    ROW("lease/asked/refused", LIMITER, SHUT, true, ask_lease),
    ROW("text/parse/1", LIMITER, "10/s burst=20", false, parse),
    ROW("text/parse/2", LIMITER, TWO_LIMITS, false, parse),
    ROW("text/print/1", LIMITER, "10/s burst=20", false, print),
    ROW("table/take/granted", TABLE, "1000/s", false, table_take),
    ROW("table/take/refused", TABLE, "1/d", true, table_take),
    ROW("table/take/new-key", TABLE, "1000/s", false, table_new),
    ROW("table/peek/granted", TABLE, "1000/s", false, table_peek),
    ROW("table/take+settle", TABLE, "1000/s", false, table_settle),
    ROW("table/list/2/granted", TABLE, TWO_LIMITS, false, table_take),
    ROW("table/all-of-2/granted", TABLE, "1000/s", false, table_all),
    ROW("table/batch-of-32/granted", TABLE, "1000/s", false, table_batch),
    ROW("table/wide/granted", TABLE, WIDE, false, table_take),
    ROW("table/wide/refused", TABLE, "1/d algorithm=sliding-window", true, table_take),
    ROW("table/wide/batch-of-32/granted", TABLE, WIDE, false, table_batch),
};

struct rows {
    struct row row[ROWS_MAX];
    char name[ROWS_MAX][TEXT_SIZE], limits[ROWS_MAX][TEXT_SIZE];
    size_t size;
};

static void add(struct rows *rows, const char *algorithm, enum where where, bool refused)
{
    static const struct {
        const char *name;
        uint64_t (*run)(void *subject, uint64_t count);
    } ways[] = {[LIMITER] = {"take", ask_limiter}, [STATE] = {"decide", ask_state}, [MICRO] = {"micro", ask_micro}};
    if (rows->size == ROWS_MAX) bench_fail("%s: %s", algorithm, "too many rows");
    char *name = rows->name[rows->size], *limits = rows->limits[rows->size];
    weir_plan plan;
    snprintf(name, TEXT_SIZE, "%s/%s/%s", algorithm, ways[where].name, refused ? "refused" : "granted");
    const char *word = strcmp(algorithm, "warmup") == 0 ? " warmup=1s" : "";
    snprintf(limits, TEXT_SIZE, "%s algorithm=%s%s", refused ? "1/d" : "1000/s", algorithm, word);
    if (strcmp(algorithm, "concurrent") == 0)
        snprintf(limits, TEXT_SIZE, "%s", refused ? "1 concurrent lease=1d" : "20 concurrent lease=1ns");
    if (weir_plan_parse(&plan, limits, WEIR_ADMIT, NULL) != 0) snprintf(limits, TEXT_SIZE, "%s", algorithm);
    struct micro_plan micro_plan;
    weir_error error;
    if (where == MICRO && weir_plan_parse(&plan, limits, WEIR_ADMIT, NULL) == 0 &&
        micro_plan_make(&micro_plan, &plan, &error) != 0)
        return;                                                         /* the engine does not keep it */
    if (where == MICRO && strcmp(algorithm, "concurrent") == 0) return; /* a sorted set of the engine */
    rows->row[rows->size++] = (struct row)ROW(name, where, limits, refused, ways[where].run);
}

/* Each algorithm of the library, both ways; but those without a state have one answer. */
static void add_algorithms(struct rows *rows)
{
    static const enum where wheres[] = {LIMITER, STATE, MICRO};
    for (size_t i = 0; i < sizeof wheres / sizeof *wheres; i++) {
        for (unsigned name = 1; name < ALGORITHM_NAMES; name++) {
            const struct algorithm *algorithm = algorithm_named(name);
            const bool always = name == ALGORITHM_UNLIMITED, never = name == ALGORITHM_NONE;
            if (algorithm == NULL) continue;
            if (!never) add(rows, algorithm->name, wheres[i], false);
            if (!always) add(rows, algorithm->name, wheres[i], true);
        }
    }
}

int main(int argc, char **argv)
{
    static struct rows rows;
    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) rows.row[rows.size++] = by_hand[i];
    add_algorithms(&rows);
    return calls_main(rows.row, rows.size, argc, argv);
}
