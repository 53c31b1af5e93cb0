/* SPDX-License-Identifier: MIT
   Several limits of different algorithms in one text: all or nothing, whoever refuses.

   Each algorithm stands once as a tight limit, that a few calls exhaust, and once as a roomy one, beside every other,
   in both orders.  What a limit holds is what weir_peek_limit answers of it, for some costs and at some times to come.

   Whatever is refused leaves the other limits as they were, in every field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/decide.h"
#include "unit/plans.h"

#define H (3600 * S)

/* What cancelling a call at once leaves of the limit, however it stands in the list. */
enum undone {
    WHOLLY,    /* as it was before */
    WITH_ENDS, /* as it was before where its end is known: told, or because the decision names it */
    MAYBE      /* never more than before: a schedule whose start lies in the past goes by the list's */
};

struct row {
    const char *tight, *roomy;
    enum undone undone;
    bool counts;  /* its own refusals leave a trace in it */
    bool bounded; /* a thousand at once can never pass the tight one */
};

static const struct row rows[] = {
    {"2/h", "1000/s burst=5000", WHOLLY, false, true},
    {"2/h start=full algorithm=hybrid", "1000/s burst=5000 start=full algorithm=hybrid", MAYBE, false, false},
    {"2/h burst=2 catchup=1.5 start=full algorithm=hybrid", "1000/s burst=1s catchup=2 algorithm=hybrid", MAYBE, false,
     false},
    {"2/h algorithm=timeline", "1000/s algorithm=timeline", WHOLLY, false, false},
    {"2/h algorithm=timeline catchup=2", "1000/s algorithm=timeline catchup=1000", MAYBE, false, false},
    {"2/h algorithm=timeline strictness=0.5", "1000/s algorithm=timeline strictness=0.01", MAYBE, false, false},
    {"2/h algorithm=bursty burst=1", "1000/s algorithm=bursty burst=5000", WHOLLY, false, false},
    {"2/h algorithm=bursty burst=2 pay=self start=full", "1000/s algorithm=bursty burst=5000 pay=self start=full",
     WHOLLY, false, false},
    {"2/h algorithm=warmup warmup=1h", "1000000/s algorithm=warmup warmup=1ms", WITH_ENDS, false, false},
    {"2/h algorithm=leaky nodelay", "1000/s burst=5000 algorithm=leaky nodelay", WHOLLY, false, true},
    {"3/h algorithm=leaky delay=1", "1000/s burst=5000 algorithm=leaky delay=4000", WHOLLY, false, true},
    {"2/h algorithm=cycle", "5000/s algorithm=cycle", WHOLLY, false, false},
    {"3/h algorithm=cycle align=clock debt=5", "5000/s algorithm=cycle align=clock", WHOLLY, false, true},
    {"2/h algorithm=fixed-window", "5000/s algorithm=fixed-window", WHOLLY, false, true},
    {"3/h algorithm=fixed-window align=clock count-refused", "5000/s algorithm=fixed-window align=clock", WHOLLY, true,
     true},
    {"2/h block=2h", "5000/s block=1min", WHOLLY, true, true},
    {"2/h algorithm=sliding-window", "5000/s algorithm=sliding-window", WHOLLY, false, true},
    {"2/h algorithm=sliding-log", "5000/s algorithm=sliding-log", WHOLLY, false, true},
    {"3/h gap=1min edge=closed", "2000/s gap=1ns edge=closed", WHOLLY, false, true},
    {"2/h algorithm=sliding-log count-refused", "2000/s algorithm=sliding-log count-refused", WHOLLY, true, true},
};
enum { ROWS = LENGTH(rows), TEXT_SIZE = 640 };

static const uint64_t probed_ns[] = {0, 1, 3 * MS, S, 40 * 60 * S, 3 * H};
static const uint64_t probed_cost[] = {0, 1, 2, 900};
enum { NOW = 0, NONE = 0, ONE = 1 }; /* of them */

/* What is seen of the limits of a list. */
struct view {
    weir_decision of[WEIR_LIMITS_MAX][LENGTH(probed_ns)][LENGTH(probed_cost)];
};

struct list {
    weir_limiter *limiter;
    char text[TEXT_SIZE];
    int limits;
    uint64_t now_ns;
};

static void go_to(struct list *list, uint64_t now_ns)
{
    list->now_ns = now_ns;
    weir_manual_set(list->limiter, (weir_instant){now_ns});
}

static struct list open_list(const char *const text[], int limits)
{
    struct list list = {.limits = limits};
    size_t length = 0;
    for (int i = 0; i < limits; i++) {
        length += (size_t)snprintf(list.text + length, TEXT_SIZE - length, "%s%s", i != 0 ? "; " : "", text[i]);
    }
    list.limiter = open_manual(list.text);
    return list;
}

/* a first or b first. */
static struct list open_pair(const char *a, const char *b, bool swapped)
{
    return open_list((const char *const[]){swapped ? b : a, swapped ? a : b}, 2);
}

static void look(struct list *list, struct view *view)
{
    memset(view, 0, sizeof *view);
    for (size_t t = 0; t < LENGTH(probed_ns); t++) {
        weir_manual_set(list->limiter, (weir_instant){list->now_ns + probed_ns[t]});
        for (int i = 0; i < list->limits; i++) {
            for (size_t c = 0; c < LENGTH(probed_cost); c++) {
                view->of[i][t][c] = weir_peek_limit(list->limiter, i, probed_cost[c]);
            }
            const bool one_passes = view->of[i][t][ONE].verdict == WEIR_ALLOW,
                       left = view->of[i][t][NONE].remaining != 0;
            if (one_passes != left) fail_msg("\"%s\", limit %d: what is left does not pass", list->text, i);
        }
    }
    weir_manual_set(list->limiter, (weir_instant){list->now_ns});
}

static bool looks_alike(const weir_decision *a, const weir_decision *b)
{
    return a->verdict == b->verdict && a->start.ns == b->start.ns && a->retry_ns == b->retry_ns &&
           a->delay_ns == b->delay_ns && a->remaining == b->remaining;
}

static void explain_difference(const struct list *list, const weir_decision *before, const weir_decision *after,
                               int limit, size_t time, size_t cost, const char *what)
{
    fail_msg("%s: \"%s\", limit %d, %u ns on, cost %u: verdict %u to %u, retry %ju to %ju, remaining %ju to %ju, "
             "start %ju to %ju, end %ju to %ju",
             what, list->text, limit, (unsigned)probed_ns[time], (unsigned)probed_cost[cost], before->verdict,
             after->verdict, (uintmax_t)before->retry_ns, (uintmax_t)after->retry_ns, (uintmax_t)before->remaining,
             (uintmax_t)after->remaining, (uintmax_t)before->start.ns, (uintmax_t)after->start.ns,
             (uintmax_t)before->end, (uintmax_t)after->end);
}

static bool in_every_field(const weir_decision *before, const weir_decision *after)
{
    return memcmp(before, after, sizeof *before) == 0;
}

/* No call passes sooner, or with more left. */
static bool no_more_than_before(const weir_decision *before, const weir_decision *after)
{
    const bool sooner = after->verdict == WEIR_ALLOW && before->verdict != WEIR_ALLOW;
    return !sooner && after->remaining <= before->remaining && decision_retry_ns(after) >= decision_retry_ns(before);
}

/* Time is cut to the ticks of another clock. */
static bool no_more_but_for_ticks(const weir_decision *before, const weir_decision *after)
{
    const bool sooner = after->verdict == WEIR_ALLOW && before->verdict != WEIR_ALLOW;
    const uint64_t retry_ns = decision_retry_ns(before), retry_after_ns = decision_retry_ns(after);
    const uint64_t shorter = retry_ns > retry_after_ns ? retry_ns - retry_after_ns : 0;
    return !sooner && after->remaining <= before->remaining && shorter <= 2;
}

static void compare(const struct list *list, int limit, const struct view *before, const struct view *after,
                    bool (*same)(const weir_decision *, const weir_decision *), const char *what)
{
    for (size_t t = 0; t < LENGTH(probed_ns); t++) {
        for (size_t c = 0; c < LENGTH(probed_cost); c++) {
            const weir_decision *a = &before->of[limit][t][c], *b = &after->of[limit][t][c];
            if (!same(a, b)) explain_difference(list, a, b, limit, t, c, what);
        }
    }
}

/* All limits in every field, but for one that counts refusals: pass it as `counting`, or -1. */
static void stays(struct list *list, const struct view *before, int counting, const char *what)
{
    struct view after;
    look(list, &after);
    for (int i = 0; i < list->limits; i++) {
        if (i != counting) compare(list, i, before, &after, in_every_field, what);
    }
}

static void same_number(const struct list *list, uint64_t got, uint64_t wanted, const char *what)
{
    if (got != wanted) fail_msg("%s: \"%s\": %ju, not %ju", what, list->text, (uintmax_t)got, (uintmax_t)wanted);
}

static void refuses(const struct list *list, const weir_decision *decision, weir_verdict verdict, int limit,
                    const char *what)
{
    same_number(list, decision->verdict, verdict, what);
    same_number(list, decision->limit, (uint64_t)limit, what);
    same_number(list, decision->charged, 0, what);
    same_number(list, decision->delay_ns, 0, what);
    same_number(list, decision->start.ns, list->now_ns, what);
    if ((verdict == WEIR_DENY) != (decision->retry_ns != 0)) fail_msg("%s: \"%s\": no wait", what, list->text);
}

/* What is left is what is left of the tightest, and the decision names it. */
static void names_tightest(struct list *list, const weir_decision *decision)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < list->limits; i++) {
        const uint64_t left = weir_peek_limit(list->limiter, i, 0).remaining;
        least = left < least ? left : least;
    }
    same_number(list, decision->remaining, least, "remaining");
    const weir_decision named = weir_peek_limit(list->limiter, (int)decision->limit, 0);
    same_number(list, named.remaining, least, "the limit named");
}

/* A second apart, until the limit that is tight refuses; that call is the last. */
static void exhaust(struct list *list, int tight, bool counts)
{
    struct view before;
    for (int call = 0; call < 20; call++) {
        go_to(list, list->now_ns + S);
        look(list, &before);
        const weir_decision decision = weir_take(list->limiter, 1);
        if (decision.verdict == WEIR_ALLOW) {
            names_tightest(list, &decision);
            continue;
        }
        refuses(list, &decision, WEIR_DENY, tight, "take");
        stays(list, &before, counts ? tight : -1, "take");
        return;
    }
    fail_msg("\"%s\" is not exhausted", list->text);
}

/* ---- refusals ---- */

static void refuses_in_every_way(struct list *list, int tight, bool counts)
{
    uint64_t each[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX], untouched[WEIR_LIMITS_MAX];
    const int counting = counts ? tight : -1;
    struct view before;
    look(list, &before);
    for (int i = 0; i < list->limits; i++) {
        each[i] = i == tight ? 1 : 3 + (uint64_t)i;
        end[i] = untouched[i] = 77;
    }
    weir_decision decision = weir_take_each(list->limiter, each, end);
    refuses(list, &decision, WEIR_DENY, tight, "take_each");
    assert_memory_equal(end, untouched, (size_t)list->limits * sizeof *end);
    decision = weir_take_some(list->limiter, 5);
    refuses(list, &decision, WEIR_DENY, tight, "take_some");
    decision = weir_reserve(list->limiter, 1, MS);
    refuses(list, &decision, WEIR_DENY, tight, "reserve");
    decision = weir_take_at(list->limiter, (weir_instant){list->now_ns}, 1);
    refuses(list, &decision, WEIR_DENY, tight, "take_at");
    decision = weir_take_wait(list->limiter, 1, MS);
    refuses(list, &decision, WEIR_DENY, tight, "take_wait");
    decision = weir_peek(list->limiter, 1);
    refuses(list, &decision, WEIR_DENY, tight, "peek");
    weir_settle(list->limiter, &decision, 9);
    weir_cancel(list->limiter, &decision);
    stays(list, &before, counting, "refused in every way");
}

/* The wait that is told is that of the whole list, to the ns. */
static void passes_at_retry(struct list *list, int tight)
{
    const uint64_t now_ns = list->now_ns, retry_ns = weir_peek(list->limiter, 1).retry_ns;
    go_to(list, now_ns + retry_ns - 1);
    weir_decision decision = weir_peek(list->limiter, 1);
    refuses(list, &decision, WEIR_DENY, tight, "a ns before retry");
    go_to(list, now_ns + retry_ns);
    decision = weir_peek(list->limiter, 1);
    same_number(list, decision.verdict, WEIR_ALLOW, "at retry");
    go_to(list, now_ns);
}

static void one_refusal_changes_no_other(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < 2 * ROWS; b++) {
            const bool swapped = b % 2 != 0;
            struct list list = open_pair(rows[a].tight, rows[b / 2].roomy, swapped);
            exhaust(&list, swapped, rows[a].counts);
            refuses_in_every_way(&list, swapped, rows[a].counts);
            passes_at_retry(&list, swapped);
            weir_close(list.limiter);
        }
    }
}

/* The first that is exhausted stands beside the second: the one that makes the call wait longer is named. */
static void both_refuse(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < ROWS; b++) {
            struct list list = open_pair(rows[a].tight, rows[b].tight, false);
            struct view before;
            weir_decision decision;
            for (int call = 0; call < 20; call++) {
                go_to(&list, list.now_ns + S);
                look(&list, &before);
                decision = weir_take(list.limiter, 1);
                if (decision.verdict != WEIR_ALLOW) break;
            }
            same_number(&list, decision.verdict, WEIR_DENY, "take");
            const int refusing = (int)decision.limit, other = 1 - refusing;
            if (a == b) {
                same_number(&list, decision.limit, 0, "of equals the first is named");
                same_number(&list, weir_peek(list.limiter, 1).limit, 0, "of equals the first is named");
            }
            const bool refuses_too = before.of[other][NOW][ONE].verdict != WEIR_ALLOW;
            const bool counts = rows[other == 0 ? a : b].counts && refuses_too;
            struct view after;
            look(&list, &after);
            if (!counts) compare(&list, other, &before, &after, in_every_field, "the other refuses too or not");
            if (!refuses_too) passes_at_retry(&list, refusing);
            weir_close(list.limiter);
        }
    }
}

/* ---- costs that differ, or that can never pass ---- */

static void never_names_the_limit(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < 2 * ROWS; b++) {
            const bool swapped = b % 2 != 0;
            const int tight = swapped;
            struct list list = open_pair(rows[a].tight, rows[b / 2].roomy, swapped);
            struct view before;
            uint64_t each[2] = {1, 1}, end[2];
            go_to(&list, S);
            same_number(&list, weir_take(list.limiter, 1).verdict, WEIR_ALLOW, "the first");
            look(&list, &before);
            each[tight] = 1000;
            weir_decision decision = weir_peek(list.limiter, 1000);
            if (rows[a].bounded) refuses(&list, &decision, WEIR_NEVER, tight, "peek");
            if (!rows[a].counts && rows[a].bounded) {
                decision = weir_take_each(list.limiter, each, end);
                refuses(&list, &decision, WEIR_NEVER, tight, "take_each");
                decision = weir_take(list.limiter, 1000);
                refuses(&list, &decision, WEIR_NEVER, tight, "take");
                decision = weir_reserve(list.limiter, 1000, WEIR_FOREVER);
                refuses(&list, &decision, WEIR_NEVER, tight, "reserve");
                stays(&list, &before, -1, "never");
            }
            weir_close(list.limiter);
        }
    }
}

/* The other limit is charged its own cost and nothing else. */
static void each_pays_its_own(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < 2 * ROWS; b++) {
            const bool swapped = b % 2 != 0;
            struct list list = open_pair(rows[a].roomy, rows[b / 2].roomy, swapped);
            struct view before, after;
            uint64_t each[2] = {0, 0}, end[2] = {77, 77};
            go_to(&list, S);
            same_number(&list, weir_take(list.limiter, 1).verdict, WEIR_ALLOW, "the first");
            go_to(&list, 2 * S);
            look(&list, &before);
            each[swapped] = 2;
            const weir_decision decision = weir_take_each(list.limiter, each, end);
            same_number(&list, decision.verdict, WEIR_ALLOW, "take_each");
            same_number(&list, decision.charged, each[0], "charged");
            look(&list, &after);
            compare(&list, !swapped, &before, &after, in_every_field, "a cost of 0 is none");
            const uint64_t left = before.of[swapped][NOW][NONE].remaining;
            if (left > 3 && left != UINT64_MAX) {
                same_number(&list, after.of[swapped][NOW][NONE].remaining < left, 1, "the cost");
            }
            weir_close(list.limiter);
        }
    }
}

static void requests_and_tokens(void **unused)
{
    (void)unused;
    static const char *const forms[][2] = {
        {"60 requests/min", "100k tokens/min"},
        {"60 requests/min algorithm=fixed-window", "100k tokens/min algorithm=sliding-log"},
        {"60 requests/min algorithm=sliding-log", "100k tokens/min algorithm=cycle"},
        {"60 requests/min algorithm=sliding-window", "100k tokens/min algorithm=leaky nodelay"},
        {"60 requests/min algorithm=cycle", "100k tokens/min algorithm=fixed-window align=clock"},
        {"60 requests/min algorithm=leaky nodelay", "100k tokens/min algorithm=sliding-window"},
        {"60 requests/min burst=60 start=full algorithm=hybrid", "100k tokens/min algorithm=sliding-log"},
    };
    for (size_t i = 0; i < LENGTH(forms); i++) {
        struct list list = open_list(forms[i], 2);
        struct view before;
        uint64_t end[2];
        char unit[WEIR_UNIT_SIZE];
        weir_plan plan;
        assert_int_equal(weir_plan_parse(&plan, list.text, WEIR_ADMIT, NULL), 0);
        assert_true(weir_plan_unit(&plan, 1, unit));
        assert_string_equal(unit, "tokens");
        go_to(&list, S);
        weir_decision call = weir_take_each(list.limiter, (const uint64_t[]){1, 99000}, end);
        same_number(&list, call.verdict, WEIR_ALLOW, "take_each");
        same_number(&list, weir_peek_limit(list.limiter, 0, 0).remaining, 59, "requests");
        same_number(&list, weir_peek_limit(list.limiter, 1, 0).remaining, 1000, "tokens");
        look(&list, &before);
        weir_decision refused = weir_take_each(list.limiter, (const uint64_t[]){1, 1001}, NULL);
        refuses(&list, &refused, WEIR_DENY, 1, "too many tokens");
        refused = weir_take_each(list.limiter, (const uint64_t[]){60, 1000}, NULL);
        refuses(&list, &refused, WEIR_DENY, 0, "too many requests");
        refused = weir_take_each(list.limiter, (const uint64_t[]){1, 100001}, NULL);
        if (i != 2) refuses(&list, &refused, WEIR_NEVER, 1, "more tokens than ever"); /* a cycle saves up */
        refused = weir_take_some(list.limiter, 0);
        stays(&list, &before, -1, "refused");
        weir_settle_each(list.limiter, &call, (const uint64_t[]){1, 99000}, (const uint64_t[]){1, 40000}, end);
        same_number(&list, weir_peek_limit(list.limiter, 0, 0).remaining, 59, "requests after settling");
        same_number(&list, weir_peek_limit(list.limiter, 1, 0).remaining, 60000, "tokens after settling");
        const weir_decision some = weir_take_some(list.limiter, 1000);
        same_number(&list, some.charged, 59, "as many as the tightest lets through");
        same_number(&list, weir_peek_limit(list.limiter, 1, 0).remaining, 59941, "tokens after take_some");
        weir_close(list.limiter);
    }
}

/* As many as are left in the tightest, wherever it stands. */
static void some_are_as_many_as_are_left(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < 2 * ROWS; b++) {
            const bool swapped = b % 2 != 0;
            struct list list = open_pair(rows[a].tight, rows[b / 2].roomy, swapped);
            go_to(&list, S);
            same_number(&list, weir_take(list.limiter, 1).verdict, WEIR_ALLOW, "history");
            go_to(&list, 2 * S);
            const uint64_t first = weir_peek_limit(list.limiter, 0, 0).remaining;
            const uint64_t second = weir_peek_limit(list.limiter, 1, 0).remaining;
            const uint64_t left = first < second ? first : second, wanted = left < 900 ? left : 900;
            const weir_decision decision = weir_take_some(list.limiter, 900);
            same_number(&list, decision.verdict, wanted != 0 ? WEIR_ALLOW : WEIR_DENY, "take_some");
            same_number(&list, decision.charged, wanted, "as many as are left");
            weir_close(list.limiter);
        }
    }
}

/* When the line has drained, the cycle is at a point from which it is too far to the next: both pass only later. */
static void wait_until_both_agree(void **unused)
{
    (void)unused;
    struct list list = open_list((const char *const[]){"10/10s", "5/s algorithm=cycle"}, 2);
    go_to(&list, 400 * MS);
    weir_decision decision = weir_take_each(list.limiter, (const uint64_t[]){10, 0}, NULL);
    same_number(&list, decision.verdict, WEIR_ALLOW, "take_each");
    decision = weir_reserve(list.limiter, 8, 300 * MS);
    refuses(&list, &decision, WEIR_DENY, 1, "reserve");
    same_number(&list, decision.retry_ns, 8300 * MS, "both are near enough");
    go_to(&list, 8700 * MS - 1);
    decision = weir_reserve(list.limiter, 8, 300 * MS);
    refuses(&list, &decision, WEIR_DENY, 1, "a ns before");
    same_number(&list, decision.retry_ns, 1, "a ns before");
    go_to(&list, 8700 * MS);
    decision = weir_reserve(list.limiter, 8, 300 * MS);
    same_number(&list, decision.verdict, WEIR_ALLOW, "reserve");
    same_number(&list, decision.delay_ns, 300 * MS, "delay");
    weir_close(list.limiter);
}

/* ---- what is taken back ---- */

/* Without ends a limit whose own slot may have moved keeps all of them as they are, unless it is the one named. */
static bool wholly_undone(const struct list *list, const int row[], int limit, int named, bool ends_known)
{
    bool sure = rows[row[limit]].undone == WHOLLY || (rows[row[limit]].undone == WITH_ENDS && named == limit);
    if (ends_known) return rows[row[limit]].undone != MAYBE;
    for (int i = 0; i < list->limits; i++) sure = sure && (i == named || rows[row[i]].undone == WHOLLY);
    return sure;
}

static void is_undone(struct list *list, const int row[], const struct view *before, int named, bool ends_known)
{
    struct view after;
    look(list, &after);
    for (int i = 0; i < list->limits; i++) {
        const bool wholly = wholly_undone(list, row, i, named, ends_known);
        compare(list, i, before, &after, wholly ? looks_alike : no_more_than_before,
                ends_known ? "cancelled with ends" : "cancelled");
    }
}

static void cancelled_at_once(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < ROWS; b++) {
            struct list list = open_pair(rows[a].roomy, rows[b].roomy, false);
            struct view before;
            uint64_t end[2];
            for (int call = 0; call < 3; call++) {
                go_to(&list, list.now_ns + S + MS);
                same_number(&list, weir_take(list.limiter, 1).verdict, WEIR_ALLOW, "history");
            }
            go_to(&list, list.now_ns + S);
            look(&list, &before);
            const uint64_t costs[2] = {1, 2}, none[2] = {0, 0};
            weir_decision decision = weir_take_each(list.limiter, costs, end);
            same_number(&list, decision.verdict, WEIR_ALLOW, "take_each");
            weir_settle_each(list.limiter, &decision, costs, none, end);
            same_number(&list, decision.charged, 0, "settled");
            is_undone(&list, (const int[]){a, b}, &before, -1, true);
            go_to(&list, list.now_ns + S);
            look(&list, &before);
            decision = weir_take(list.limiter, 1);
            same_number(&list, decision.verdict, WEIR_ALLOW, "take");
            const int named = (int)decision.limit;
            weir_cancel(list.limiter, &decision);
            is_undone(&list, (const int[]){a, b}, &before, named, false);
            weir_cancel(list.limiter, &decision);
            is_undone(&list, (const int[]){a, b}, &before, named, false);
            weir_close(list.limiter);
        }
    }
}

/* Two lists take and wait alike, but one takes a call more and cancels it late: it never has more than the other. */
static void cancelled_late(int a, int b, uint64_t wait_ns, bool with_ends)
{
    struct list with = open_pair(rows[a].roomy, rows[b].roomy, false);
    struct list without = open_pair(rows[a].roomy, rows[b].roomy, false);
    struct view more, less;
    const uint64_t one[2] = {1, 1}, none[2] = {0, 0};
    uint64_t end[2];
    go_to(&with, S);
    go_to(&without, S);
    weir_take(with.limiter, 1);
    weir_take(without.limiter, 1);
    go_to(&with, 2 * S + 300 * MS);
    weir_decision decision = weir_take_each(with.limiter, one, end);
    same_number(&with, decision.verdict, WEIR_ALLOW, "take_each");
    go_to(&with, with.now_ns + wait_ns);
    go_to(&without, with.now_ns);
    const bool both = weir_take(with.limiter, 1).verdict == WEIR_ALLOW;
    if (both) same_number(&without, weir_take(without.limiter, 1).verdict, WEIR_ALLOW, "take");
    go_to(&with, with.now_ns + MS);
    go_to(&without, with.now_ns);
    if (with_ends) weir_settle_each(with.limiter, &decision, one, none, end);
    else weir_cancel(with.limiter, &decision);
    look(&with, &more);
    look(&without, &less);
    for (int i = 0; i < 2; i++) compare(&with, i, &less, &more, no_more_than_before, "cancelled late, or never taken");
    weir_close(with.limiter);
    weir_close(without.limiter);
}

static void cancelled_late_is_no_more_than_never_taken(void **unused)
{
    (void)unused;
    static const uint64_t waited_ns[] = {0, MS, 650 * MS, 1100 * MS, 70 * S};
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < ROWS; b++) {
            for (size_t k = 0; k < LENGTH(waited_ns); k++) {
                cancelled_late(a, b, waited_ns[k], false);
                cancelled_late(a, b, waited_ns[k], true);
            }
        }
    }
}

/* What a limit may give back whose end the decision does not know. */
static void cancelled_without_an_end(void **unused)
{
    (void)unused;
    struct list list = open_list((const char *const[]){"10/s burst=5", "10/s algorithm=cycle", "10/s align=first"}, 3);
    weir_decision decision = weir_take(list.limiter, 2);
    same_number(&list, decision.limit, 0, "the tightest");
    weir_cancel(list.limiter, &decision);
    same_number(&list, weir_peek_limit(list.limiter, 1, 0).remaining, 10, "of the first cycle");
    same_number(&list, weir_peek_limit(list.limiter, 2, 0).remaining, 10, "of the first window");
    weir_close(list.limiter);

    /* Three of its five are of the cycle before, and with them nobody can do anything any more. */
    list = open_list((const char *const[]){"10/s algorithm=cycle", "10/s algorithm=cycle"}, 2);
    same_number(&list, weir_take(list.limiter, 7).verdict, WEIR_ALLOW, "take");
    decision = weir_reserve(list.limiter, 5, S);
    same_number(&list, decision.delay_ns, S, "delay");
    go_to(&list, S);
    same_number(&list, weir_take(list.limiter, 3).verdict, WEIR_ALLOW, "take");
    go_to(&list, S + 100 * MS);
    weir_cancel(list.limiter, &decision);
    same_number(&list, weir_peek_limit(list.limiter, 0, 0).remaining, 7, "with its end");
    same_number(&list, weir_peek_limit(list.limiter, 1, 0).remaining, 5, "without");
    weir_close(list.limiter);

    /* A block is over when it is over. */
    list = open_list((const char *const[]){"3/h", "5/h block=10min"}, 2);
    decision = weir_take(list.limiter, 3);
    same_number(&list, decision.limit, 0, "the tightest");
    const weir_decision refused = weir_take_each(list.limiter, (const uint64_t[]){0, 3}, NULL);
    refuses(&list, &refused, WEIR_DENY, 1, "blocked");
    weir_cancel(list.limiter, &decision);
    same_number(&list, weir_peek_limit(list.limiter, 1, 1).retry_ns, H, "still blocked");
    weir_close(list.limiter);
}

/* A reservation that one limit delays and that is cancelled gives nothing away; where one has used up what is ahead of
   its start, it may be less than before. */
static void cancelled_reservations(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < 2 * ROWS; b++) {
            const bool swapped = b % 2 != 0;
            struct list list = open_pair(rows[a].tight, rows[b / 2].roomy, swapped);
            struct view before, after;
            exhaust(&list, swapped, rows[a].counts);
            look(&list, &before);
            weir_decision decision = weir_reserve(list.limiter, 1, 12 * H);
            if (decision.verdict == WEIR_ALLOW) {
                same_number(&list, decision.limit, swapped, "the limit that sets the start");
                const uint64_t retry_ns = before.of[swapped][NOW][ONE].retry_ns;
                same_number(&list, decision.delay_ns - retry_ns < 2 * S, 1, "a delay"); /* leaky: a thousandth more */
                same_number(&list, decision.start.ns, list.now_ns + decision.delay_ns, "start");
                weir_cancel(list.limiter, &decision);
                same_number(&list, decision.charged, 0, "cancelled");
                look(&list, &after);
                for (int i = 0; i < 2; i++) compare(&list, i, &before, &after, no_more_than_before, "reserve, cancel");
            } else {
                refuses(&list, &decision, WEIR_DENY, swapped, "cannot be taken ahead");
                stays(&list, &before, rows[a].counts ? swapped : -1, "reserve");
            }
            weir_close(list.limiter);
        }
    }
}

/* ---- charges ---- */

/* Each limit is charged as far as its own debt goes. */
static void charges_up_to_each_debt(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t charged; /* of 10 */
    } indebted[] = {
        {"2/h burst=2 debt=3", 5},
        {"2/h burst=2 debt=3 start=full algorithm=hybrid", 5},
        {"2/h burst=2 debt=3 start=full algorithm=bursty", 5},
        {"2/h debt=3 algorithm=cycle", 5},
        {"2/h debt=3 algorithm=sliding-window", 5},
        {"2/h debt=30", 10},
        {"2/h algorithm=leaky nodelay", 10},
        {"2/h algorithm=fixed-window", 10},
        {"2/h algorithm=sliding-log", 10},
        {"2/h algorithm=timeline", 10},
    };
    for (size_t i = 0; i < LENGTH(indebted); i++) {
        for (int other = 0; other < 2 * ROWS; other++) {
            const bool swapped = other % 2 != 0;
            struct list list = open_pair(indebted[i].text, rows[other / 2].roomy, swapped);
            struct view before, after;
            go_to(&list, S);
            weir_decision decision = weir_charge(list.limiter, 10);
            same_number(&list, decision.verdict, WEIR_ALLOW, "charge");
            if (!swapped) same_number(&list, decision.charged, indebted[i].charged, "of the first limit");
            if (swapped) same_number(&list, decision.charged, 10, "of the first limit");
            go_to(&list, 2 * S);
            look(&list, &before);
            weir_cancel(list.limiter, &decision);
            stays(&list, &before, -1, "a charge is settled");
            decision = weir_take(list.limiter, 1);
            refuses(&list, &decision, WEIR_DENY, swapped, "take after a charge");
            decision = weir_charge(list.limiter, 0);
            look(&list, &after);
            for (int k = 0; k < 2; k++) compare(&list, k, &before, &after, no_more_than_before, "a charge of nothing");
            weir_close(list.limiter);
        }
    }
}

/* The debt of one limit is not that of another. */
static void each_is_charged_by_itself(void **unused)
{
    (void)unused;
    static const char *const others[] = {"1000/s burst=5000", "5000/s algorithm=fixed-window", "5000/s algorithm=cycle",
                                         "5000/s algorithm=sliding-log", "5000/s algorithm=sliding-window"};
    for (size_t i = 0; i < 2 * LENGTH(others); i++) {
        const bool swapped = i % 2 != 0;
        struct list list = open_pair("2/h debt=3", others[i / 2], swapped);
        same_number(&list, weir_charge(list.limiter, 10).charged, swapped ? 10 : 5, "charged");
        same_number(&list, weir_peek_limit(list.limiter, !swapped, 0).remaining, 4990, "of the other");
        same_number(&list, weir_peek_limit(list.limiter, swapped, 1).retry_ns, 2 * H, "of this one");
        weir_close(list.limiter);
    }
}

/* ---- changes ---- */

static void change_list(struct list *list, const char *const text[], int limits, weir_carry carry, int wanted)
{
    struct list next = open_list(text, limits);
    const int failed = weir_set_limit(list->limiter, next.text, carry, NULL);
    weir_close(next.limiter);
    if (failed != wanted) fail_msg("\"%s\" to \"%s\": %d", list->text, next.text, failed);
}

/* The tight limit keeps what is used of it while the other one changes, whatever that one is. */
static void keeps_beside_a_change(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        for (int b = 0; b < 2 * ROWS; b++) {
            const bool swapped = b % 2 != 0;
            const struct row *other = &rows[b / 2];
            struct list list = open_pair(rows[a].tight, other->roomy, swapped);
            struct view before, after;
            exhaust(&list, swapped, rows[a].counts);
            look(&list, &before);
            const char *const to[2] = {swapped ? other->tight : rows[a].tight, swapped ? rows[a].tight : other->tight};
            change_list(&list, to, 2, WEIR_KEEP, 0);
            look(&list, &after);
            compare(&list, swapped, &before, &after, no_more_but_for_ticks, "KEEP");
            const char *const back[2] = {swapped ? other->roomy : rows[a].tight,
                                         swapped ? rows[a].tight : other->roomy};
            change_list(&list, back, 2, WEIR_KEEP, 0);
            look(&list, &after);
            compare(&list, swapped, &before, &after, no_more_but_for_ticks, "KEEP, twice");
            const weir_decision decision = weir_take(list.limiter, 1);
            same_number(&list, decision.verdict, WEIR_DENY, "after KEEP");
            weir_close(list.limiter);
        }
    }
}

static void a_change_that_is_refused(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        struct list list = open_pair(rows[a].tight, "1000/s burst=5000", false);
        struct view before;
        exhaust(&list, 0, rows[a].counts);
        look(&list, &before);
        change_list(&list, (const char *const[]){rows[a].tight}, 1, WEIR_KEEP, WEIR_EUNSUPPORTED);
        change_list(&list, (const char *const[]){rows[a].tight, "unlimited"}, 2, WEIR_SCALE, WEIR_EUNSUPPORTED);
        change_list(&list, (const char *const[]){"unlimited", rows[a].tight}, 2, WEIR_KEEP, WEIR_EUNSUPPORTED);
        stays(&list, &before, -1, "a change that is refused");
        weir_close(list.limiter);
    }
}

/* ---- eight ---- */

/* Each of eight limits refuses once, among any seven others. */
static void eight_limits(void **unused)
{
    (void)unused;
    for (int first = 0; first < ROWS; first++) {
        for (int tight = 0; tight < WEIR_LIMITS_MAX; tight++) {
            const char *text[WEIR_LIMITS_MAX];
            for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
                const struct row *row = &rows[(first + i) % ROWS];
                text[i] = i == tight ? row->tight : row->roomy;
            }
            const bool counts = rows[(first + tight) % ROWS].counts;
            struct list list = open_list(text, WEIR_LIMITS_MAX);
            exhaust(&list, tight, counts);
            refuses_in_every_way(&list, tight, counts);
            passes_at_retry(&list, tight);
            weir_close(list.limiter);
        }
    }
}

/* Limits without a state stand between others that have one. */
static void limits_without_a_state(void **unused)
{
    (void)unused;
    for (int a = 0; a < ROWS; a++) {
        const char *const texts[] = {"unlimited", rows[a].roomy, "unlimited", "1000/s algorithm=sliding-log", "none"};
        struct list list = open_list(texts, 5);
        struct view before;
        go_to(&list, S);
        look(&list, &before);
        weir_decision decision = weir_take(list.limiter, 1);
        refuses(&list, &decision, WEIR_NEVER, 4, "none");
        stays(&list, &before, -1, "none");
        weir_close(list.limiter);
        list = open_list((const char *const[]){"unlimited", rows[a].tight, "unlimited"}, 3);
        exhaust(&list, 1, rows[a].counts);
        refuses_in_every_way(&list, 1, rows[a].counts);
        weir_close(list.limiter);
    }
}

/* A cost above both cycles passes only where a cycle of each ends within the wait: at 77 s the eleventh of 7 s and the
   seventh of 11 s do. */
static void cycles_that_meet_late(void **unused)
{
    (void)unused;
    const uint64_t meet_ns = 77 * S, wait_ns = S / 1000;
    const weir_plan plan = plan_of("10/7s algorithm=cycle; 10/11s algorithm=cycle");
    for (uint64_t now_ns = 1; now_ns < meet_ns; now_ns += S / 3) {
        const weir_instant now = {now_ns}, then = {meet_ns - wait_ns}, before = {then.ns - 1};
        uint64_t state[LIST_WORDS_MAX] = {0};
        const weir_decision refused = weir_decide_within(&plan, state, now, 11, wait_ns);
        if (now_ns > then.ns) break;
        assert_int_equal(refused.verdict, WEIR_DENY);
        assert_int_equal(refused.retry_ns, then.ns - now_ns);
        assert_int_equal(weir_decide_within(&plan, state, before, 11, wait_ns).verdict, WEIR_DENY);
        const weir_decision passes = weir_decide_within(&plan, state, then, 11, wait_ns);
        assert_int_equal(passes.verdict, WEIR_ALLOW);
        assert_int_equal(passes.delay_ns, wait_ns);
    }
}

/* A call of slots and of a rate, whose end only the slots know: the one that waits is the last, and its start is free
   again; the one before it has another behind it, which keeps its start. */
static void cancelled_by_its_slots(void **unused)
{
    (void)unused;
    for (int last = 0; last < 2; last++) {
        struct list list = open_list((const char *const[]){"3 concurrent lease=30s", "10/s burst=1"}, 2);
        go_to(&list, H);
        weir_decision first = weir_take(list.limiter, 1), second = weir_reserve(list.limiter, 1, S);
        assert_int_equal(first.verdict, WEIR_ALLOW);
        assert_int_equal(second.delay_ns, 100 * MS);
        weir_cancel(list.limiter, last ? &second : &first);
        assert_int_equal(weir_peek_limit(list.limiter, 0, 0).remaining, 2);
        assert_int_equal(weir_reserve(list.limiter, 1, S).delay_ns, last ? 100 * MS : 200 * MS);
        weir_close(list.limiter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_refusal_changes_no_other),
        cmocka_unit_test(both_refuse),
        cmocka_unit_test(never_names_the_limit),
        cmocka_unit_test(each_pays_its_own),
        cmocka_unit_test(requests_and_tokens),
        cmocka_unit_test(some_are_as_many_as_are_left),
        cmocka_unit_test(wait_until_both_agree),
        cmocka_unit_test(cancelled_at_once),
        cmocka_unit_test(cancelled_late_is_no_more_than_never_taken),
        cmocka_unit_test(cancelled_without_an_end),
        cmocka_unit_test(cancelled_reservations),
        cmocka_unit_test(cancelled_by_its_slots),
        cmocka_unit_test(charges_up_to_each_debt),
        cmocka_unit_test(each_is_charged_by_itself),
        cmocka_unit_test(keeps_beside_a_change),
        cmocka_unit_test(a_change_that_is_refused),
        cmocka_unit_test(eight_limits),
        cmocka_unit_test(limits_without_a_state),
        cmocka_unit_test(cycles_that_meet_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
