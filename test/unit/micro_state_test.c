/* SPDX-License-Identifier: MIT
   What an engine remembers: a clock that is set back, changed limits, values, receipts, leases.

   Every number was worked out with pencil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core/decide.h"
#include "plan/plan.h"
#include "redis/micro/kinds.h"
#include "unit/micro_key.h"

/* ---- time and limits that change ---- */

static void a_clock_set_back(void **unused)
{
    (void)unused;
    const uint64_t hour = 3600 * SECOND;
    static const char *const texts[] = {"10/s burst=2", "10r/s burst=1 nodelay", "2/200ms algorithm=fixed-window",
                                        "2/200ms algorithm=sliding-window", "10/s algorithm=hybrid burst=2 start=full"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct key key = key_of(texts[i]);
        key_take(&key, NOW, 2);
        assert_false(key_ask(&key, &(struct micro_ask){.now = NOW - hour, .cost = {1}, .peek = true}).changed);
        const struct micro_answer refused = key_take(&key, NOW - hour, 1);
        assert_int_equal(refused.verdict, WEIR_DENY); /* nothing is earned ... */
        assert_true(refused.changed);                 /* ... it is remembered ... */
        assert_in_range(refused.retry, 1, 300000);    /* ... and nothing waits for the old time */
        assert_int_equal(key_take(&key, NOW - hour + refused.retry, 1).verdict, WEIR_ALLOW);
    }
}

static void a_changed_limit(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=10");
    key_take(&key, NOW, 4);
    key_change(&key, "3/s burst=6");
    assert_allowed(key_take(&key, NOW, 2), 0); /* 4 were used, and 6 fit */
    key_change(&key, "3/s algorithm=fixed-window");
    assert_allowed(key_take(&key, NOW, 1), 2);
    key_change(&key, "3/s algorithm=fixed-window; 5/s");
    assert_allowed(key_take(&key, NOW, 1), 1);
    key_change(&key, "3/h algorithm=fixed-window");
    key_take(&key, NOW, 1);
    key_change(&key, "3/s algorithm=fixed-window");
    assert_refused(key_take(&key, NOW + 100000, 1), 900000); /* that window ended at the old time */
    struct key parts = key_of("3/s burst=1");
    key_take(&parts, NOW, 1);
    key_change(&parts, "10/s burst=4");
    assert_allowed(key_take(&parts, NOW, 1), 2);
    struct key window = key_of("1/h algorithm=fixed-window");
    key_take(&window, NOW, 1);
    key_change(&window, "1/s algorithm=fixed-window");
    assert_refused(key_take(&window, NOW, 1), SECOND); /* now a period ahead, and that is written */
    assert_int_equal(key_take(&window, NOW + SECOND, 1).verdict, WEIR_ALLOW);
}

/* Used permits are kept, at most those of the new burst; what is waited for or owed stays on top of them. */
static void used_permits_are_kept(void **unused)
{
    (void)unused;
    static const struct {
        const char *from;
        uint64_t used;
        const char *to;
        uint64_t remaining, retry;
    } rows[] = {{"100/d", 60, "10/s burst=20", 0, 100000},
                {"10/s burst=20", 5, "100/d", 95, 0},
                {"10/d", 10, "100/d", 90, 0},
                {"100/d", 5, "10/s burst=20", 15, 0},
                {"100/d", 90, "100/d burst=10", 0, 864 * SECOND},
                {"10/s burst=20", 20, "10/s burst=50", 30, 0},
                {"7/3s burst=9", 4, "11/13s burst=5", 1, 0},
                {"100/d", 60, "100/d", 40, 0},
                {"1G/s burst=1500ns", 1500, "10/s burst=20", 0, 100000},
                {"30r/m burst=100 nodelay", 60, "10r/s burst=20 nodelay", 0, 100000}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct key key = key_of(rows[i].from);
        assert_int_equal(key_take(&key, NOW, rows[i].used).verdict, WEIR_ALLOW);
        key_change(&key, rows[i].to);
        const struct micro_answer answer = key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1}, .peek = true});
        assert_int_equal(answer.remaining, rows[i].remaining - (answer.verdict == WEIR_ALLOW)); /* after this one */
        assert_int_equal(answer.retry, rows[i].retry);
    }
    struct key owing = key_of("100/d burst=10");
    key_charge(&owing, NOW, 13);
    key_change(&owing, "10/s burst=5");
    assert_refused(key_take(&owing, NOW, 1), 400000); /* all 5, and 3 that are owed */
}

/* What the first charge of a key leaves is the same in an engine and without one. */
static void a_first_charge(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"10/s burst=4 debt=3",
                                        "10/s burst=4 debt=0",
                                        "10/s algorithm=hybrid burst=4 debt=3",
                                        "10/s algorithm=hybrid burst=4 debt=0",
                                        "10/s algorithm=hybrid burst=4 debt=3 start=full",
                                        "10r/s burst=4 nodelay",
                                        "4/400ms algorithm=fixed-window"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        for (uint64_t cost = 1; cost <= 9; cost += 2) {
            const weir_plan plan = plan_of(texts[i]);
            uint64_t state[64] = {0};
            weir_decision decision;
            decide_charge(plan_rules(plan_inside_const(&plan)), state, NOW * 1000, &cost, &decision);
            const uint64_t remaining = decision.remaining;
            decision = weir_decide(&plan, state, (weir_instant){NOW * 1000}, 1);
            struct key key = key_of(texts[i]);
            const struct micro_answer answer = key_charge(&key, NOW, cost);
            assert_int_equal(answer.remaining, remaining);
            const struct micro_answer next = key_take(&key, NOW, 1);
            assert_int_equal(next.verdict, decision.verdict);
            if (next.verdict == WEIR_DENY) assert_int_equal(next.retry * 1000, decision.retry_ns);
        }
    }
}

/* Some nodes have burst 10, others still 4: at those no more than 4 counts as used, so each call that passes there lets
   6 more pass at the others. */
static void nodes_with_two_bursts(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=10");
    assert_allowed(key_take(&key, NOW, 10), 0);
    for (uint64_t now = NOW + SECOND / 10; now <= NOW + SECOND; now += SECOND / 10) {
        key_change(&key, "10/s burst=4");
        assert_allowed(key_take(&key, now, 1), 0);
        key_change(&key, "10/s burst=10");
        assert_refused(key_take(&key, now, 7), SECOND / 10);
        assert_allowed(key_take(&key, now, 6), 0);
    }
}

/* A value of format 1 does not say how long a permit was: it is the same under the same rate, and else as long. */
static void values_of_format_1(void **unused)
{
    (void)unused;
    static const unsigned char old[] = {'w', 'e',  'i',  'r',  1,    1,    0, 0, 2,    2,    0, 0, 0, 0, 0, 0,
                                        1,   0,    0,    0,    0,    0,    0, 0, /* gcra, 2 words, per 1 */
                                        0,   0x20, 0x82, 0x77, 0x2f, 0x44, 6, 0, 0xa0, 0x86, 1, 0, 0, 0, 0, 0};
    struct key key = key_of("10/s burst=2");
    assert_true(micro_read(&key.state, old, sizeof old));
    const uint64_t seen = key.state.cell[0].word[0];
    assert_allowed(key_take(&key, seen, 1), 0); /* 100,000 ticks are 1 */
    unsigned char bytes[MICRO_BYTES_MAX];
    assert_int_equal(micro_write(&key.state, bytes), sizeof old);
    assert_int_equal(bytes[4], MICRO_FORMAT);
    assert_true(micro_read(&key.state, old, sizeof old));
    key_change(&key, "3/s burst=2");
    assert_allowed(key_take(&key, seen, 1), 0); /* 100,000 us are 300,000 ticks of 2,000,000 */
    assert_int_equal(key.state.cell[0].word[1], 1300000);
}

/* Of a rule that nobody had: what is used stays as it is. */
static void of_no_rule(void **unused)
{
    (void)unused;
    struct key leaky = key_of("10/s algorithm=leaky burst=9 nodelay"), gcra = key_of("10/s burst=9");
    const struct micro_cell no_permit = {.kind = MICRO_LEAKY, .words = 2, .burst = 5, .word = {NOW / 1000, 3000}};
    const struct micro_cell no_burst = {.kind = MICRO_GCRA, .words = 2, .permit = 7, .word = {NOW, 300000}};
    leaky.state = (struct micro_state){.count = 1, .cell = {no_permit}};
    gcra.state = (struct micro_state){.count = 1, .cell = {no_burst}};
    assert_allowed(key_take(&leaky, NOW, 1), 5);
    assert_allowed(key_take(&gcra, NOW, 1), 5);
}

/* ---- bytes ---- */

static void values(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=2");
    unsigned char bytes[MICRO_BYTES_MAX];
    struct micro_state state = {0}; /* only the words in use are read */
    memset(bytes, 0x5a, sizeof bytes);
    key_take(&key, NOW, 1);
    static const unsigned char expected[] = {
        'w',  'e',  'i',  'r',  2,    1,    0, 0, 2,    2,    2, 0, 0, 0, 0, 0,
        0xa0, 0x86, 1,    0,    0,    0,    0, 0, /* gcra, 2 words, burst 2, permit */
        0,    0x20, 0x82, 0x77, 0x2f, 0x44, 6, 0, 0xa0, 0x86, 1, 0, 0, 0, 0, 0};
    assert_int_equal(micro_write(&key.state, bytes), sizeof expected);
    for (size_t i = 8; i < 24; i++) assert_int_equal(bytes[i], expected[i]);
    assert_memory_equal(bytes, expected, 8);
    assert_memory_equal(bytes + 32, expected + 32, 8);
    assert_true(micro_read(&state, bytes, sizeof expected));
    assert_memory_equal(&state, &key.state, sizeof state);
    assert_false(micro_read(&state, bytes, sizeof expected - 1));
    assert_false(micro_read(&state, bytes, sizeof expected + 1));
    assert_false(micro_read(&state, bytes, 0));
    for (size_t i = 0; i < 24; i++) { /* the head, the kind, its size, a permit: each matters */
        unsigned char wrong[sizeof expected];
        memcpy(wrong, bytes, sizeof wrong);
        wrong[i] = (unsigned char)(i == 16 ? 0 : wrong[i] + 9);
        if (i >= 10 && i <= 22) continue; /* another rule */
        assert_false(micro_read(&state, wrong, sizeof wrong));
    }
}

/* A cell as somebody may have written it. */
struct written {
    uint64_t format, cells, kind, words, burst, permit, word;
};

static size_t write_value(const struct written *of, unsigned char *bytes)
{
    const uint64_t head = UINT64_C(0x72696577) | of->format << 32 | of->cells << 40;
    size_t size = 0;
    word_write(bytes + size, head);
    for (uint64_t i = 0; i < of->cells; i++) {
        word_write(bytes + (size += 8), of->kind | of->words << 8 | of->burst << 16);
        word_write(bytes + (size += 8), of->permit);
        for (uint64_t k = 0; k < of->words; k++) word_write(bytes + (size += 8), of->word);
    }
    return size + 8;
}

/* As bytes behind which there is nothing. */
static bool guarded_reads(struct micro_state *state, const unsigned char *bytes, size_t size)
{
    enum { PAGE = 4096 };
    static unsigned char *page = NULL;
    if (page == NULL) {
        page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(page != MAP_FAILED && mprotect(page + PAGE, PAGE, PROT_NONE) == 0);
    }
    memcpy(page + PAGE - size, bytes, size);
    return micro_read(state, page + PAGE - size, size);
}

static bool value_reads(struct written of)
{
    static unsigned char bytes[4 * MICRO_BYTES_MAX];
    struct micro_state state;
    const size_t size = write_value(&of, bytes);
    bool reads = micro_read(&state, bytes, size);
    assert_int_equal(state.count, reads ? of.cells : 0);
    if (!reads) return false;
    for (size_t shorter = 0; shorter < size; shorter++) assert_false(guarded_reads(&state, bytes, shorter));
    assert_false(micro_read(&state, bytes, size + 1));
    return reads;
}

static void cells_as_anybody_writes_them(void **unused)
{
    (void)unused;
    enum { WORDS = 10 };
    static const char *const words[MICRO_KINDS + 1] = {"0", "0", "027", "03", "02", "02", "03", "07", "0", ""};
    for (uint64_t kind = 0; kind <= MICRO_KINDS; kind++) {
        for (uint64_t count = 0; count < WORDS; count++) {
            const bool fits = strchr(words[kind], (char)('0' + count)) != NULL;
            assert_int_equal(value_reads((struct written){2, 1, kind, count, 0, 7, 0}), fits);
        }
    }
    const uint64_t most_word = UINT64_C(1) << 53, most_burst = MICRO_BURST_MOST;
    const struct {
        struct written of;
        bool reads;
    } rows[] = {{{2, 8, MICRO_GCRA, 2, most_burst, MICRO_MOST, most_word}, true},
                {{2, 9, MICRO_GCRA, 2, 1, 1, 1}, false},
                {{2, 0, MICRO_GCRA, 2, 1, 1, 1}, false},
                {{0, 1, MICRO_GCRA, 2, 0, 1, 1}, false},
                {{3, 1, MICRO_GCRA, 2, 1, 1, 1}, false},
                {{2, 1, MICRO_GCRA, 2, most_burst + 1, 1, 1}, false},
                {{2, 1, MICRO_GCRA, 0, most_burst + 1, 1, 1}, false},
                {{2, 1, MICRO_GCRA, 2, 1, MICRO_MOST + 1, 1}, false},
                {{2, 1, MICRO_GCRA, 2, 1, 1, most_word + 1}, false},
                {{1, 1, MICRO_GCRA, 2, 0, 1, 1}, true},
                {{1, 1, MICRO_GCRA, 2, 1, 1, 1}, false},
                {{2, 1, MICRO_GCRA, 2, 1, 0, 1}, false},
                {{2, 1, MICRO_HYBRID, 3, 1, 0, 1}, false},
                {{2, 1, MICRO_GCRA, 0, 1, 0, 0}, true},
                {{2, 1, MICRO_LEAKY, 2, 1, 0, 1}, true},
                {{2, 2, MICRO_LOG, 7, 0, 1, 0}, false},
                {{2, 2, MICRO_LOG, 0, 0, 1, 0}, true}};
    for (size_t i = 0; i < LENGTH(rows); i++) assert_int_equal(value_reads(rows[i].of), rows[i].reads);
    struct micro_state state;
    unsigned char bytes[MICRO_BYTES_MAX];
    const size_t size = write_value(&(struct written){2, 1, MICRO_GCRA, 2, 5, 9, 3}, bytes);
    for (int i = 0; i < 8; i++) {
        bytes[i] ^= 0x40;
        assert_false(micro_read(&state, bytes, size));
        bytes[i] ^= 0x40;
    }
    assert_true(micro_read(&state, bytes, size));
    assert_int_equal(state.cell[0].burst, 5);
    assert_int_equal(state.cell[0].permit, 9);
    assert_int_equal(state.cell[0].per, 0);
    assert_int_equal(state.cell[0].word[1], 3);
    write_value(&(struct written){1, 1, MICRO_LEAKY, 2, 0, 9, 3}, bytes);
    assert_true(micro_read(&state, bytes, size));
    assert_int_equal(state.cell[0].per + state.cell[0].permit, 0); /* of lines alone it is what drained in a us */
    write_value(&(struct written){1, 1, MICRO_HYBRID, 3, 0, 9, 3}, bytes);
    assert_true(micro_read(&state, bytes, size + 8));
    assert_int_equal(state.cell[0].per, 9);
}

/* The words of a cell that is none are not the cells behind it. */
static void words_that_look_like_cells(void **unused)
{
    (void)unused;
    const uint64_t head = UINT64_C(0x72696577) | UINT64_C(2) << 32, none = MICRO_NONE;
    const uint64_t line[] = {head | UINT64_C(2) << 40, MICRO_GCRA | 2 << 8 | 1 << 16, 0, none, 1};
    const uint64_t log[] = {
        head | UINT64_C(3) << 40, MICRO_LOG | 7 << 8, 1, none, 1, MICRO_HYBRID | 3 << 8, 1, 0, 0, 0};
    struct micro_state state;
    unsigned char bytes[sizeof log];
    for (size_t i = 0; i < LENGTH(line); i++) word_write(bytes + 8 * i, line[i]);
    assert_false(micro_read(&state, bytes, sizeof line));
    for (size_t i = 0; i < LENGTH(log); i++) word_write(bytes + 8 * i, log[i]);
    assert_false(micro_read(&state, bytes, sizeof log));
}

static void formats(void **unused)
{
    (void)unused;
    static const struct {
        const char *bytes;
        unsigned format;
    } rows[] = {{"weir\1", 1}, {"weir\2", 2}, {"weir\37", 31}, {"weir\40", 0},
                {"weirdo", 0}, {"wei", 0},    {"weis\2", 0}};
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_int_equal(micro_format(rows[i].bytes, strlen(rows[i].bytes)), rows[i].format);
    assert_int_equal(micro_format("weir\2", 4), 0);
}

/* A mark is behind other cells, and none of them. */
static void what_is_no_mark(void **unused)
{
    (void)unused;
    unsigned char bytes[MICRO_BYTES_MAX];
    struct micro_state state;
    static const struct {
        struct written of;
        unsigned marks;
    } rows[] = {{{2, 1, MICRO_FIXED, 2, 1, 4, 9}, 0}, {{2, 2, MICRO_FIXED, 2, 1, 4, 9}, 1},
                {{2, 2, MICRO_FIXED, 2, 0, 4, 9}, 0}, {{2, 2, MICRO_FIXED, 2, 2, 4, 9}, 0},
                {{2, 2, MICRO_FIXED, 2, 1, 0, 9}, 0}, {{2, 2, MICRO_FIXED, 0, 1, 4, 9}, 0},
                {{2, 2, MICRO_LEAKY, 2, 1, 4, 9}, 0}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const size_t size = write_value(&rows[i].of, bytes);
        assert_true(micro_read(&state, bytes, size));
        assert_int_equal(state.marks, rows[i].marks);
        assert_int_equal(state.count, rows[i].of.cells - rows[i].marks);
    }
    struct micro_state full = {.count = WEIR_LIMITS_MAX, .marks = 1, .mark = {{1, 2, 3}}}, other = full, log = full;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) full.cell[i].kind = other.cell[i].kind = MICRO_GCRA;
    assert_int_equal(micro_write(&full, bytes), MICRO_HEAD + WEIR_LIMITS_MAX * MICRO_CELL);
    other.count--;
    assert_int_equal(micro_write(&other, bytes), MICRO_HEAD + WEIR_LIMITS_MAX * MICRO_CELL + 16);
    log.count = 1;
    log.cell[0].kind = MICRO_LOG;
    assert_int_equal(micro_write(&log, bytes), MICRO_HEAD + MICRO_CELL);
    other.marks = 2; /* of another key */
    assert_int_equal(micro_write(&other, bytes), MICRO_HEAD + (WEIR_LIMITS_MAX - 1) * MICRO_CELL);
}

/* Behind the cells of a level; it goes when it has run out, and with a plain call it stays. */
static void marks(void **unused)
{
    (void)unused;
    enum { MARK = 32 };
    static const unsigned char mark[] = {5, 2, 1, 0, 0, 0, 0, 0,
                                         4, 0, 0, 0, 0, 0, 0, 0}; /* fixed, 2 words, 1; per us */
    static const unsigned char ahead[] = {41, 0, 0, 0, 0, 0, 0, 0};
    unsigned char bytes[MICRO_BYTES_MAX], again[MICRO_BYTES_MAX];
    struct key key = key_of("10/s burst=2");
    key_take(&key, NOW, 1);
    const size_t size = micro_write(&key.state, bytes);
    bytes[5] = 2;
    memcpy(bytes + size, mark, sizeof mark);
    memcpy(bytes + size + 16, bytes + 24, 8); /* seen when the limit was */
    memcpy(bytes + size + 24, ahead, sizeof ahead);
    assert_true(micro_read(&key.state, bytes, size + MARK));
    assert_int_equal(key.state.count, 1);
    assert_int_equal(key.state.marks, 1);
    assert_int_equal(key.state.mark[0].ahead, 41);
    assert_int_equal(micro_write(&key.state, again), size + MARK);
    assert_memory_equal(again, bytes, size + MARK);
    assert_false(micro_prepare(&key.plan, &key.state, NOW + 10));
    assert_int_equal(key.state.marks, 1);
    assert_false(micro_prepare(&key.plan, &key.state, NOW + 11));
    assert_int_equal(key.state.marks, 0);
}

/* Which questions the shortcut takes; that it answers as micro_take does is checked by the rig of the properties. */
static void one_limit_alone(void **unused)
{
    (void)unused;
    const struct micro_plan plan = micro_of("3/s burst=2");
    const struct micro_plan others[] = {micro_of("3/s burst=2; 5/s"), micro_of("3/s algorithm=hybrid burst=2")};
    const struct micro_ask plain = {.now = MICRO_MOST, .cost = {2}};
    assert_true(micro_may_be_alone(&plan, &plain));
    assert_false(micro_may_be_alone(&plan, &(struct micro_ask){.now = NOW, .cost = {1}, .peek = true}));
    assert_false(micro_may_be_alone(&plan, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = 1}));
    assert_false(micro_may_be_alone(&plan, &(struct micro_ask){.now = NOW, .cost = {3}}));
    assert_false(micro_may_be_alone(&plan, &(struct micro_ask){.now = MICRO_MOST + 1, .cost = {1}}));
    for (size_t i = 0; i < LENGTH(others); i++) assert_false(micro_may_be_alone(&others[i], &plain));

    const struct micro_ask ask = {.now = NOW, .cost = {2}}, before = {.now = NOW - 1, .cost = {1}};
    struct micro_answer answer;
    unsigned char bytes[MICRO_ALONE], after[MICRO_ALONE];
    assert_true(micro_take_alone(&plan, &ask, NULL, 0, bytes, &answer));
    assert_allowed(answer, 0);
    assert_true(
        micro_take_alone(&plan, &ask, bytes, sizeof bytes, after, &answer)); /* seen now, and as full as it is */
    assert_refused(answer, 666667);
    assert_false(micro_take_alone(&plan, &before, bytes, sizeof bytes, after, &answer));
    assert_false(micro_take_alone(&plan, &ask, bytes, sizeof bytes - 1, after, &answer));
    for (size_t bit = 0; bit < (sizeof bytes - 16) * 8; bit++) { /* all but what was seen, and how full it was */
        bytes[bit / 8] = (unsigned char)(bytes[bit / 8] ^ 1 << bit % 8);
        assert_false(micro_take_alone(&plan, &ask, bytes, sizeof bytes, after, &answer));
        bytes[bit / 8] = (unsigned char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    bytes[sizeof bytes - 8]++;
    assert_false(micro_take_alone(&plan, &ask, bytes, sizeof bytes, after, &answer)); /* fuller than it can be */
}

static void receipts(void **unused)
{
    (void)unused;
    char text[MICRO_RECEIPT_MAX];
    uint64_t taken, charged[WEIR_LIMITS_MAX];
    unsigned count;
    const uint64_t cost[] = {1, 250};
    assert_int_equal(micro_receipt_write(NOW, cost, 2, text), 22);
    assert_string_equal(text, "1763836800000000:1:250");
    assert_true(micro_receipt_read(text, 22, &taken, charged, &count));
    assert_int_equal(taken, NOW);
    assert_int_equal(count, 2);
    assert_int_equal(charged[1], 250);
    static const char *const wrong[] = {"",
                                        "1",
                                        "1:",
                                        ":1",
                                        "1:2:",
                                        "1:-2",
                                        "x:1",
                                        "1 :1",
                                        "1:1:1:1:1:1:1:1:1:1",
                                        "18446744073709551616:1",
                                        "1:9007199254740992",
                                        "1:99999999999999999999999"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_false(micro_receipt_read(wrong[i], strlen(wrong[i]), &taken, charged, &count));
    }
    memset(text, '7', sizeof text);
    assert_int_equal(micro_receipt_write(9, cost, 1, text), 3);
    assert_string_equal(text, "9:1");
    for (size_t i = sizeof "9:1"; i < sizeof text; i++) assert_int_equal(text[i], '7'); /* nothing behind it */
    taken = charged[0] = 7;
    assert_true(micro_receipt_read("909:25", 5, &taken, charged, &count)); /* and no byte more */
    assert_int_equal(taken, 909);
    assert_int_equal(charged[0], 2);
    assert_true(micro_receipt_read("18446744073709551615:9007199254740991", 37, &taken, charged, &count));
    assert_int_equal(taken, UINT64_MAX);
    assert_int_equal(charged[0], MICRO_ALL);
    uint64_t most[WEIR_LIMITS_MAX];
    for (size_t i = 0; i < WEIR_LIMITS_MAX; i++) most[i] = UINT64_MAX;
    assert_in_range(micro_receipt_write(UINT64_MAX, most, WEIR_LIMITS_MAX, text), 1, MICRO_RECEIPT_MAX - 1);
}

/* ---- leases ---- */

static void leases(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=80"), list = key_of("10/s; 5/s");
    struct micro_lease lease;
    assert_true(micro_leases(&key.plan));
    assert_false(micro_leases(&list.plan));
    micro_lease_take(&key.plan, &key.state, NOW, 100, 10 * SECOND, &lease);
    assert_int_equal(lease.permits, 10); /* an eighth */
    assert_int_equal(lease.id, NOW);
    assert_int_equal(lease.remaining, 70);
    assert_int_equal(key_take(&key, NOW + 5 * SECOND, 70).verdict, WEIR_ALLOW); /* those out do not drain */
    assert_refused(key_take(&key, NOW + 5 * SECOND, 71), 15 * SECOND + 100000); /* but once they are taken back */
    micro_lease_take(&key.plan, &key.state, NOW + 5 * SECOND, 100, 10 * SECOND, &lease);
    assert_int_equal(lease.permits, 0);
    assert_int_equal(lease.retry, 100000);
    micro_lease_return(&key.plan, &key.state, NOW + 12 * SECOND, NOW, 10, 4, &lease);
    assert_int_equal(lease.permits, 10); /* of the epoch before */
    assert_int_equal(lease.remaining, 74);
    micro_lease_return(&key.plan, &key.state, NOW + 12 * SECOND, NOW, 10, 10, &lease);
    assert_int_equal(lease.permits, 0); /* they were all back */
    micro_lease_return(&key.plan, &key.state, NOW + 40 * SECOND, NOW, 10, 10, &lease);
    assert_int_equal(lease.permits, 0); /* its epoch is unknown */
    assert_false(lease.changed);
}

/* Turns in which nothing is out use up their names. */
static void epochs(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=80");
    const uint64_t *word = key.state.cell[0].word;
    struct micro_lease lease;
    micro_lease_take(&key.plan, &key.state, NOW, 2, 10 * SECOND, &lease);
    micro_lease_return(&key.plan, &key.state, NOW + SECOND, lease.id, 2, 0, &lease);
    key_take(&key, NOW + 10 * SECOND, 1);
    assert_int_equal(word[GCRA_EPOCH], NOW + 1);
    assert_int_equal(word[GCRA_EPOCH_END], NOW + 20 * SECOND);
    key_take(&key, NOW + 45 * SECOND, 1);
    assert_int_equal(word[GCRA_EPOCH], NOW + 4);
    assert_int_equal(word[GCRA_EPOCH_END], NOW + 50 * SECOND);
    micro_lease_take(&key.plan, &key.state, NOW + 49 * SECOND, 2, 10 * SECOND, &lease);
    assert_int_equal(lease.id, NOW + 4);
    micro_lease_return(&key.plan, &key.state, NOW + 49 * SECOND, lease.id, 1, 0, &lease);
    key_take(&key, NOW + 50 * SECOND, 1); /* an epoch ends with one permit out */
    assert_int_equal(word[GCRA_EPOCH], NOW + 5);
    assert_int_equal(word[GCRA_OUT_NEW], 0);
    assert_int_equal(word[GCRA_OUT_OLD], 1);
    key_take(&key, NOW + 60 * SECOND, 1);
    assert_int_equal(word[GCRA_EPOCH], NOW + 6);
    assert_int_equal(word[GCRA_OUT_OLD], 0);
}

/* Of a clock that is set back, and of numbers that are none of ours. */
static void epochs_of_any_clock(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=80");
    uint64_t *word = key.state.cell[0].word;
    struct micro_lease lease;
    micro_lease_take(&key.plan, &key.state, NOW, 2, 1, &lease);
    key_take(&key, NOW, 70);
    const struct micro_answer refused = key_take(&key, NOW - SECOND, 70);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_true(refused.changed);
    assert_int_equal(word[GCRA_LIFETIME], 1);
    assert_int_equal(word[GCRA_EPOCH_END], NOW - SECOND + 1);
    word[GCRA_EPOCH] = MICRO_MOST + 7;
    key_take(&key, NOW - SECOND, 0);
    assert_false(key_take(&key, NOW - SECOND, 70).changed);
    key_take(&key, NOW - SECOND, 1);
    assert_int_equal(word[GCRA_EPOCH], 7);
}

static void leases_at_their_edges(void **unused)
{
    (void)unused;
    struct key least_one = key_of("10/s burst=16"), too_small = key_of("10/s burst=15"), key = key_of("10/s burst=80");
    struct micro_lease lease;
    assert_true(micro_leases(&least_one.plan));
    assert_false(micro_leases(&too_small.plan));
    static const uint64_t lifetimes[] = {0, 1, MICRO_LIFETIME_MAX, MICRO_LIFETIME_MAX + 1};
    for (size_t i = 0; i < LENGTH(lifetimes); i++) {
        struct key each = key;
        micro_lease_take(&each.plan, &each.state, NOW, 2, lifetimes[i], &lease);
        assert_int_equal(lease.permits, i % 3 == 0 ? 0 : 2);
    }
    micro_lease_take(&key.plan, &key.state, NOW, 0, SECOND, &lease);
    assert_int_equal(lease.idle, NOW);
    lease = (struct micro_lease){.permits = 5, .changed = true};
    micro_lease_return(&too_small.plan, &too_small.state, NOW, NOW, 2, 2, &lease);
    assert_int_equal(lease.permits, 0);
    assert_int_equal(lease.idle, NOW);
    assert_false(lease.changed);

    key.state.cell[1].kind = MICRO_GCRA; /* behind its words is another's cell */
    micro_lease_take(&key.plan, &key.state, NOW, 2, 10 * SECOND, &lease);
    assert_int_equal(key.state.cell[1].kind, MICRO_GCRA);
    assert_int_equal(lease.idle, NOW + 20 * SECOND + 200000);
    key.state.marks = 1;
    key.state.mark[0] = (struct micro_mark){NOW, 100 * SECOND, 1};
    micro_lease_return(&key.plan, &key.state, NOW, lease.id, 1, 1, &lease);
    assert_int_equal(lease.idle, NOW + 100 * SECOND);
    assert_true(lease.changed);
    key.state.marks = 0;
    micro_lease_take(&key.plan, &key.state, NOW + SECOND, 2, SECOND,
                     &lease); /* one is out: the longer lifetime stays */
    assert_int_equal(key.state.cell[0].word[GCRA_LIFETIME], 10 * SECOND);
    micro_lease_return(&key.plan, &key.state, NOW + SECOND, NOW, 3, 3, &lease);
    micro_lease_return(&key.plan, &key.state, NOW + SECOND, NOW, 3, 3, &lease);
    assert_false(lease.changed);
    micro_lease_take(&key.plan, &key.state, NOW + 2 * SECOND, 2, 10 * SECOND,
                     &lease); /* nothing is, and it is the same */
    assert_int_equal(lease.id, NOW);
    assert_int_equal(key.state.cell[0].word[GCRA_EPOCH_END], NOW + 10 * SECOND);
    micro_lease_return(&key.plan, &key.state, NOW + 2 * SECOND, NOW, 2, 2, &lease);
    micro_lease_take(&key.plan, &key.state, NOW + 2 * SECOND, 2, 3 * SECOND, &lease); /* another one: a new epoch */
    assert_int_equal(lease.id, NOW + 1);
    assert_int_equal(key.state.cell[0].word[GCRA_EPOCH_END], NOW + 5 * SECOND);
    assert_int_equal(key.state.cell[0].word[GCRA_LIFETIME], 3 * SECOND);
    micro_lease_return(&key.plan, &key.state, NOW + 6 * SECOND, NOW + 9, 2, 2, &lease); /* of no epoch; two are old */
    assert_int_equal(lease.permits, 0);
    assert_int_equal(key.state.cell[0].word[GCRA_OUT_OLD], 2);
}

static void leases_and_the_rest(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=80");
    struct micro_lease lease;
    key_take(&key, NOW, 1);
    micro_lease_take(&key.plan, &key.state, NOW, 2, 10 * SECOND, &lease);
    key_settle(&key, NOW, NOW, 1, 0); /* nothing while they are out */
    assert_allowed(key_take(&key, NOW, 1), 76);
    /* The longer lifetime holds for all while anything is out. */
    struct key two = key_of("10/s burst=80");
    micro_lease_take(&two.plan, &two.state, NOW, 2, SECOND, &lease);
    micro_lease_take(&two.plan, &two.state, NOW, 2, 10 * SECOND, &lease);
    assert_allowed(key_take(&two, NOW + 10 * SECOND, 0), 76); /* the shorter one is of the same epoch */
    micro_lease_take(&two.plan, &two.state, NOW + 10 * SECOND, 2, SECOND, &lease);
    assert_allowed(key_take(&two, NOW + 18 * SECOND, 0), 78); /* only the last one is out, and for 10 s as well */
    /* Looked at after 5 s and then set back by 3: it is back 17 s after it was granted, by the clock. */
    struct key later = key_of("10/s burst=80");
    micro_lease_take(&later.plan, &later.state, NOW, 2, 10 * SECOND, &lease);
    key_take(&later, NOW + 5 * SECOND, 1);
    key_take(&later, NOW + 2 * SECOND, 1);
    assert_allowed(key_take(&later, NOW + 17 * SECOND - 1, 0), 78);
    assert_allowed(key_take(&later, NOW + 17 * SECOND + 200000, 0), 80);
    /* Set back by 3 s: the lease still has its 10 s, and is back after 20. */
    assert_allowed(key_take(&key, NOW - 3 * SECOND, 1), 75);
    assert_allowed(key_take(&key, NOW + 17 * SECOND - 1, 0), 78);
    assert_allowed(key_take(&key, NOW + 17 * SECOND + 200000, 0), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_set_back),
        cmocka_unit_test(a_changed_limit),
        cmocka_unit_test(values),
        cmocka_unit_test(cells_as_anybody_writes_them),
        cmocka_unit_test(words_that_look_like_cells),
        cmocka_unit_test(formats),
        cmocka_unit_test(what_is_no_mark),
        cmocka_unit_test(marks),
        cmocka_unit_test(used_permits_are_kept),
        cmocka_unit_test(a_first_charge),
        cmocka_unit_test(nodes_with_two_bursts),
        cmocka_unit_test(values_of_format_1),
        cmocka_unit_test(of_no_rule),
        cmocka_unit_test(one_limit_alone),
        cmocka_unit_test(receipts),
        cmocka_unit_test(leases),
        cmocka_unit_test(epochs),
        cmocka_unit_test(leases_at_their_edges),
        cmocka_unit_test(epochs_of_any_clock),
        cmocka_unit_test(leases_and_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
