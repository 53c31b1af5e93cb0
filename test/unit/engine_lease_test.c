/* SPDX-License-Identifier: MIT
   The node's side of leases: one key's state machine, then the table of busy keys.

   Times and replies are the test's own.  What an engine makes of it is explored (test/model/nodes_model.c).

   Each number of lease.h and leases.h that a node lives by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <hiredis/hiredis.h>

#include "redis/client/local/lease.h"
#include "redis/client/local/leases.h"
#include "redis/client/wire.h"

#define MS UINT64_C(1000000)
#define LIFETIME (100 * MS)
#define BEGIN (1000 * MS)

/* ---- one key ---- */

static struct engine_lease granted_at(uint64_t now, uint64_t want, uint64_t permits)
{
    struct engine_lease lease = {0};
    assert_int_equal(engine_lease_ask(&lease, LIFETIME, now, want).permits, 0);
    engine_lease_granted(&lease, LIFETIME, 7, permits);
    return lease;
}

static void its_time_counts_from_when_it_was_asked_for(void **unused)
{
    (void)unused;
    struct engine_lease lease = granted_at(BEGIN, 10, 10);
    const uint64_t end = BEGIN + 99 * MS;
    assert_true(engine_lease_spend(&lease, BEGIN + 90 * MS, 1));
    assert_true(engine_lease_spend(&lease, end - 1, 1));
    assert_false(engine_lease_spend(&lease, end, 1));
    assert_int_equal(engine_lease_left(&lease, end - 1), 8);
    assert_int_equal(engine_lease_left(&lease, end), 0);
}

static void a_permit_is_spent_once(void **unused)
{
    (void)unused;
    struct engine_lease lease = granted_at(BEGIN, 10, 10);
    assert_false(engine_lease_spend(&lease, BEGIN, 0));
    assert_false(engine_lease_spend(&lease, BEGIN, 11));
    assert_true(engine_lease_spend(&lease, BEGIN, 7));
    assert_false(engine_lease_spend(&lease, BEGIN, 4));
    assert_true(engine_lease_spend(&lease, BEGIN, 3));
    assert_false(engine_lease_spend(&lease, BEGIN, 1));
}

static void what_is_given_back_is_no_longer_there(void **unused)
{
    (void)unused;
    struct engine_lease lease = granted_at(BEGIN, 10, 10);
    assert_true(engine_lease_spend(&lease, BEGIN, 4));
    const struct engine_lease_return back = engine_lease_end(&lease, LIFETIME, BEGIN + MS);
    assert_int_equal(back.id, 7);
    assert_int_equal(back.permits, 10);
    assert_int_equal(back.unused, 6);
    assert_false(engine_lease_spend(&lease, BEGIN + MS, 1));
    assert_int_equal(engine_lease_end(&lease, LIFETIME, BEGIN + MS).permits, 0);
}

static void after_two_lifetimes_nothing_is_sent_back(void **unused)
{
    (void)unused;
    struct engine_lease lease = granted_at(BEGIN, 10, 10), same = lease;
    assert_int_equal(engine_lease_end(&lease, LIFETIME, BEGIN + 2 * LIFETIME - 1).permits, 10);
    assert_int_equal(engine_lease_end(&same, LIFETIME, BEGIN + 2 * LIFETIME).permits, 0);
}

static void assert_returned(struct engine_lease_return back, uint64_t id, uint64_t permits, uint64_t unused)
{
    assert_int_equal(back.id, id);
    assert_int_equal(back.permits, permits);
    assert_int_equal(back.unused, unused);
}

static void it_is_renewed_when_an_eighth_is_left_or_an_eighth_of_its_time(void **unused)
{
    (void)unused;
    struct engine_lease lease = granted_at(BEGIN, 16, 16);
    const uint64_t early = LIFETIME / LEASE_EARLY;
    assert_true(engine_lease_spend(&lease, BEGIN, 13));
    assert_false(engine_lease_due(&lease, BEGIN + LIFETIME - early - 1));
    assert_true(engine_lease_due(&lease, BEGIN + LIFETIME - early));
    assert_true(engine_lease_spend(&lease, BEGIN, 1));
    assert_true(engine_lease_due(&lease, BEGIN));
    engine_lease_ask(&lease, LIFETIME, BEGIN, 16);
    assert_false(engine_lease_due(&lease, BEGIN + 10 * LIFETIME));
}

/* Twelve of 7 are granted; with three left, fourteen of 8 are asked for.  With two that are left they are 16. */
static void what_is_left_is_spent_while_more_is_on_its_way_and_first(void **unused)
{
    (void)unused;
    struct engine_lease lease = granted_at(BEGIN, 12, 12);
    assert_true(engine_lease_spend(&lease, BEGIN, 9));
    assert_returned(engine_lease_ask(&lease, LIFETIME, BEGIN + MS, 14), 7, 9, 0);
    assert_true(engine_lease_spend(&lease, BEGIN + 2 * MS, 1));
    assert_false(engine_lease_spend(&lease, BEGIN + 2 * MS, 3));
    engine_lease_granted(&lease, LIFETIME, 8, 14);
    assert_int_equal(engine_lease_left(&lease, BEGIN + 2 * MS), 16);
    assert_true(engine_lease_spend(&lease, BEGIN + 2 * MS, 3)); /* two of 7, one of 8 */
    assert_true(engine_lease_spend(&lease, BEGIN + 2 * MS, 8));
    assert_int_equal(lease.low, 16 / LEASE_LOW);
    /* The older epoch first; what was spent of the other one is returned next time. */
    assert_returned(engine_lease_ask(&lease, LIFETIME, BEGIN + 3 * MS, 12), 7, 3, 0);
    engine_lease_granted(&lease, LIFETIME, 8, 12);
    assert_true(engine_lease_spend(&lease, BEGIN + 3 * MS, 7));
    assert_returned(engine_lease_ask(&lease, LIFETIME, BEGIN + 4 * MS, 12), 8, 14 + 2, 0); /* of one epoch: together */
    engine_lease_lost(&lease, LIFETIME);
    assert_int_equal(engine_lease_left(&lease, BEGIN + 4 * MS), 10);
    assert_returned(engine_lease_end(&lease, LIFETIME, BEGIN + 4 * MS), 8, 10, 10);
    assert_false(engine_lease_holds(&lease));
}

static void what_is_left_has_its_own_time(void **unused)
{
    (void)unused;
    struct engine_lease lease = granted_at(BEGIN, 12, 12);
    const uint64_t late = BEGIN + 90 * MS, end = BEGIN + 99 * MS;
    assert_returned(engine_lease_ask(&lease, LIFETIME, late, 12), 0, 0, 0);
    engine_lease_granted(&lease, LIFETIME, 8, 4);
    assert_int_equal(engine_lease_left(&lease, end - 1), 16);
    assert_int_equal(engine_lease_left(&lease, end), 4);
    assert_false(engine_lease_spend(&lease, end, 5));
    assert_true(engine_lease_spend(&lease, end, 1));
    assert_returned(engine_lease_ask(&lease, LIFETIME, end, 12), 7, 12, 12);
    assert_int_equal(engine_lease_left(&lease, end), 3);
    /* Of two epochs: one end after the other. */
    engine_lease_granted(&lease, LIFETIME, 9, 4);
    assert_returned(engine_lease_end(&lease, LIFETIME, end), 8, 4, 3);
    assert_true(engine_lease_holds(&lease));
    assert_returned(engine_lease_end(&lease, LIFETIME, end), 9, 4, 4);
    assert_false(engine_lease_holds(&lease));
    lease = granted_at(BEGIN, 12, 12);
    assert_returned(engine_lease_ask(&lease, LIFETIME, end, 12), 7, 12, 12); /* too late to keep anything */
}

static uint64_t next_size(uint64_t permits, uint64_t spent, uint64_t age)
{
    struct engine_lease lease = granted_at(BEGIN, permits, permits);
    if (spent > 0) assert_true(engine_lease_spend(&lease, BEGIN, spent));
    return engine_lease_next(&lease, LIFETIME, BEGIN + age);
}

static void its_size_is_what_is_spent_in_a_quarter_of_a_lifetime(void **unused)
{
    (void)unused;
    struct engine_lease fresh = {0};
    assert_int_equal(engine_lease_next(&fresh, LIFETIME, BEGIN), LEASE_FIRST);
    assert_int_equal(next_size(100, 75, LIFETIME / 4), 75);
    assert_int_equal(next_size(100, 75, LIFETIME / 8), 150);
    assert_int_equal(next_size(100, 75, LIFETIME / 2), 37);
    assert_int_equal(next_size(100, 75, 1), LEASE_GROWTH * 100);
    assert_int_equal(next_size(100, 0, LIFETIME), LEASE_LEAST);
    assert_int_equal(next_size(100, 0, 0), LEASE_LEAST);
    assert_int_equal(next_size(LEASE_MOST, LEASE_MOST, 1), LEASE_MOST);
    struct engine_lease lease = granted_at(BEGIN, 100, 100);
    engine_lease_end(&lease, LIFETIME, BEGIN + MS);
    assert_int_equal(engine_lease_next(&lease, LIFETIME, BEGIN + 2 * MS), LEASE_FIRST);
}

static void it_rests_when_too_little_came_or_nothing(void **unused)
{
    (void)unused;
    struct engine_lease lease = granted_at(BEGIN, LEASE_FIRST, LEASE_FIRST - 1);
    assert_true(engine_lease_spend(&lease, BEGIN, LEASE_FIRST - 1));
    assert_false(engine_lease_due(&lease, BEGIN + LIFETIME / LEASE_REST - 1));
    assert_true(engine_lease_due(&lease, BEGIN + LIFETIME / LEASE_REST));
    lease = (struct engine_lease){0};
    engine_lease_ask(&lease, LIFETIME, BEGIN, LEASE_FIRST);
    engine_lease_lost(&lease, LIFETIME);
    assert_false(engine_lease_due(&lease, BEGIN + LIFETIME / LEASE_REST - 1));
    assert_true(engine_lease_due(&lease, BEGIN + LIFETIME / LEASE_REST));
    lease = granted_at(BEGIN, 2, 2); /* as many as it asked for */
    assert_true(engine_lease_spend(&lease, BEGIN, 2));
    assert_true(engine_lease_due(&lease, BEGIN));
}

/* ---- the table ---- */

static weir_key key_of(uint64_t *number)
{
    return (weir_key){number, sizeof *number};
}

/* Asks until a lease is wanted; returns the asks that went to the engine before. */
static unsigned asks_until_wanted(struct engine_leases *leases, weir_key key, uint64_t from, uint64_t each,
                                  unsigned most, struct engine_lease_command *command)
{
    struct engine_leases_answer answer;
    for (unsigned i = 0; i < most; i++) {
        assert_false(engine_leases_answer(leases, 1, key, from + i * each, 1, &answer));
        if (engine_leases_want(leases, 1, key, from + i * each, command)) return i + 1;
    }
    return 0;
}

static void only_busy_keys_have_one(void **unused)
{
    (void)unused;
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    uint64_t slow = 1, busy = 2;
    assert_int_equal(asks_until_wanted(leases, key_of(&slow), BEGIN, 25 * MS, 400, &command), 0);
    assert_int_equal(asks_until_wanted(leases, key_of(&busy), BEGIN + 20000 * MS, MS, 400, &command), 10);
    assert_int_equal(command.limit, 1);
    assert_int_equal(command.key.size, sizeof busy);
    assert_memory_equal(command.key.bytes, &busy, sizeof busy);
    assert_int_equal(command.want, LEASE_FIRST);
    assert_int_equal(command.lifetime_us, 100000);
    assert_int_equal(command.permits, 0);
    engine_leases_close(leases);
}

static void one_is_spent_renewed_and_given_back(void **unused)
{
    (void)unused;
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command, next;
    uint64_t number = 3, now = BEGIN + 10 * MS;
    const weir_key key = key_of(&number);
    struct engine_leases_answer answer;
    assert_int_equal(asks_until_wanted(leases, key, BEGIN, MS, 20, &command), 10);
    assert_false(engine_leases_want(leases, 1, key, now, &next));
    engine_leases_granted(leases, &command, 70, 8);
    engine_leases_granted(leases, &command, 70, 8);                      /* a second one is not heard */
    assert_false(engine_leases_answer(leases, 2, key, now, 1, &answer)); /* another limit's key */
    for (uint64_t left = 8; left > 1; left--) {
        assert_false(engine_leases_want(leases, 1, key, now, &next));
        assert_true(engine_leases_answer(leases, 1, key, now, 1, &answer));
        assert_int_equal(answer.decision.verdict, WEIR_ALLOW);
        assert_int_equal(answer.decision.start.ns, now);
        assert_int_equal(answer.decision.remaining, left - 1);
        assert_int_equal(answer.decision.charged, 1);
        assert_int_equal(answer.decision.end, 0);
        assert_int_equal(answer.spent, 9 - left);
    }
    assert_true(engine_leases_want(leases, 1, key, now, &next));
    assert_int_equal(next.id, 70);
    assert_int_equal(next.permits, 7);
    assert_int_equal(next.unused, 0);
    assert_int_equal(next.want, LEASE_GROWTH * LEASE_FIRST); /* 7 in 1 ms are 175 in 25 ms */
    assert_true(engine_leases_answer(leases, 1, key, now, 1, &answer));
    assert_int_equal(answer.spent, 1);
    assert_false(engine_leases_answer(leases, 1, key, now, 1, &answer));
    engine_leases_granted(leases, &command, 71, 8); /* the old one: too late */
    assert_false(engine_leases_answer(leases, 1, key, now, 1, &answer));
    engine_leases_granted(leases, &next, 72, 64);
    assert_true(engine_leases_answer(leases, 1, key, now, 3, &answer));
    assert_false(engine_leases_return(leases, now, false, &command));
    assert_true(engine_leases_return(leases, now, true, &command));
    assert_int_equal(command.want, 0);
    assert_int_equal(command.id, 70);
    assert_int_equal(command.permits, 1);
    assert_int_equal(command.unused, 0);
    assert_true(engine_leases_return(leases, now, true, &command));
    assert_int_equal(command.want, 0);
    assert_int_equal(command.id, 72);
    assert_int_equal(command.unused, 61);
    assert_false(engine_leases_return(leases, now, true, &command));
    assert_false(engine_leases_answer(leases, 1, key, now, 1, &answer));
    const struct engine_leases_counts counts = engine_leases_counts(leases);
    assert_int_equal(counts.leased, 72);
    assert_int_equal(counts.unused, 61);
    engine_leases_close(leases);
}

static void a_quiet_key_gives_back(void **unused)
{
    (void)unused;
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    uint64_t number = 4;
    unsigned found = 0;
    assert_int_equal(asks_until_wanted(leases, key_of(&number), BEGIN, MS, 20, &command), 10);
    engine_leases_granted(leases, &command, 70, 8);
    for (int i = 0; i < LEASES_KEYS; i++)
        found += engine_leases_return(leases, BEGIN + 9 * MS + LIFETIME / 4, false, &command);
    assert_int_equal(found, 0);
    for (int i = 0; i < LEASES_KEYS; i++)
        found += engine_leases_return(leases, BEGIN + 9 * MS + LIFETIME / 4 + 1, false, &command);
    assert_int_equal(found, 1);
    assert_int_equal(command.unused, 8);
    engine_leases_close(leases);
}

/* Whose time is over: nothing is sent, and it is there no more. */
static void what_the_engine_has_forgotten_is_not_given_back(void **unused)
{
    (void)unused;
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    uint64_t number = 4;
    assert_int_equal(asks_until_wanted(leases, key_of(&number), BEGIN, MS, 20, &command), 10);
    engine_leases_granted(leases, &command, 70, 8);
    assert_false(engine_leases_return(leases, BEGIN + 9 * MS + 2 * LIFETIME, true, &command));
    assert_false(engine_leases_return(leases, BEGIN + 9 * MS, true, &command));
    engine_leases_close(leases);
}

static void a_lost_reply_grants_nothing(void **unused)
{
    (void)unused;
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    uint64_t number = 5;
    struct engine_leases_answer answer;
    assert_int_equal(asks_until_wanted(leases, key_of(&number), BEGIN, MS, 20, &command), 10);
    engine_leases_lost(leases, &command);
    engine_leases_granted(leases, &command, 70, 8);
    assert_false(engine_leases_answer(leases, 1, key_of(&number), BEGIN + 10 * MS, 1, &answer));
    engine_leases_close(leases);
}

static void many_keys_share_a_bounded_table(void **unused)
{
    (void)unused;
    enum { KEYS = 8 * LEASES_KEYS, ASKS = 20 };
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    struct engine_leases_answer answer;
    unsigned wanted = 0, spent = 0, back = 0;
    for (int ask = 0; ask < ASKS; ask++) {
        for (uint64_t number = 0; number < KEYS; number++) {
            if (engine_leases_answer(leases, 1, key_of(&number), BEGIN, 1, &answer)) spent++;
            if (!engine_leases_want(leases, 1, key_of(&number), BEGIN, &command)) continue;
            wanted++;
            engine_leases_granted(leases, &command, 9, command.want);
        }
    }
    while (engine_leases_return(leases, BEGIN, true, &command)) back++;
    assert_in_range(back, LEASES_KEYS / 2, LEASES_KEYS);
    const struct engine_leases_counts counts = engine_leases_counts(leases);
    assert_int_equal(counts.leased, spent + counts.unused);
    assert_true(wanted >= back);
    assert_true(spent > 0);
    engine_leases_close(leases);
}

static void many_slow_keys_are_not_a_busy_one(void **unused)
{
    (void)unused;
    enum { KEYS = 65536, ALMOST = 9 };
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    struct engine_leases_answer answer;
    for (uint64_t ask = 0; ask < KEYS + ALMOST; ask++) {
        uint64_t number = ask < ALMOST ? 0 : ask - ALMOST + 1;
        assert_false(engine_leases_answer(leases, 1, key_of(&number), BEGIN, 1, &answer));
        assert_false(engine_leases_want(leases, 1, key_of(&number), BEGIN, &command));
    }
    uint64_t first = 0;
    assert_false(engine_leases_answer(leases, 1, key_of(&first), BEGIN, 1, &answer));
    assert_false(engine_leases_want(leases, 1, key_of(&first), BEGIN, &command));
    engine_leases_close(leases);
}

static void long_keys_and_none_are_asked_for_as_ever(void **unused)
{
    (void)unused;
    static const char bytes[LEASES_KEY_MAX + 1];
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    assert_int_equal(asks_until_wanted(leases, (weir_key){bytes, sizeof bytes}, BEGIN, MS, 100, &command), 0);
    assert_int_equal(asks_until_wanted(leases, (weir_key){NULL, 0}, BEGIN, MS, 100, &command), 0);
    assert_int_equal(asks_until_wanted(leases, (weir_key){bytes, LEASES_KEY_MAX}, BEGIN, MS, 100, &command), 10);
    engine_leases_close(leases);
}

/* ---- refusals ---- */

static struct engine_leases *busy_with(uint64_t *number)
{
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    assert_int_equal(asks_until_wanted(leases, key_of(number), BEGIN, MS, 20, &command), 10);
    engine_leases_lost(leases, &command);
    return leases;
}

static void refuse(struct engine_leases *leases, uint64_t *number, uint64_t sent, uint64_t cost, uint64_t retry)
{
    const struct engine_refused refused = {.sent_ns = sent, .cost = cost, .retry_ns = retry};
    engine_leases_refused(leases, 1, key_of(number), &refused, 1, 20 * MS);
}

static void a_refusal_is_good_until_its_retry(void **unused)
{
    (void)unused;
    uint64_t number = 3;
    const uint64_t sent = BEGIN + 10 * MS;
    struct engine_leases *leases = busy_with(&number);
    struct engine_leases_answer answer;
    refuse(leases, &number, sent, 2, 5 * MS);
    assert_true(engine_leases_answer(leases, 1, key_of(&number), sent + MS, 2, &answer));
    assert_int_equal(answer.decision.verdict, WEIR_DENY);
    assert_int_equal(answer.decision.retry_ns, 4 * MS);
    assert_int_equal(answer.decision.remaining, 1);
    assert_int_equal(answer.decision.charged, 0);
    assert_int_equal(answer.full_ns, 19 * MS);
    assert_true(engine_leases_answer(leases, 1, key_of(&number), sent + 5 * MS - 1, 3, &answer));
    assert_int_equal(answer.decision.retry_ns, 1);
    assert_false(engine_leases_answer(leases, 1, key_of(&number), sent + MS, 1, &answer)); /* may pass: it is less */
    assert_false(engine_leases_answer(leases, 2, key_of(&number), sent + MS, 2, &answer)); /* another limit's */
    assert_false(engine_leases_answer(leases, 1, key_of(&number), sent + 5 * MS, 2, &answer));
    engine_leases_close(leases);
}

static void a_refusal_is_forgotten(void **unused)
{
    (void)unused;
    uint64_t number = 3;
    struct engine_leases *leases = busy_with(&number);
    struct engine_leases_answer answer;
    refuse(leases, &number, BEGIN + 10 * MS, 1, 5 * MS);
    engine_leases_forget(leases, 2, key_of(&number));
    assert_true(engine_leases_answer(leases, 1, key_of(&number), BEGIN + 11 * MS, 1, &answer));
    engine_leases_forget(leases, 1, key_of(&number));
    assert_false(engine_leases_answer(leases, 1, key_of(&number), BEGIN + 11 * MS, 1, &answer));
    engine_leases_close(leases);
}

static void refusals_of_keys_that_are_not_busy_are_not_kept(void **unused)
{
    (void)unused;
    uint64_t number = 3, slow = 4;
    struct engine_leases *leases = busy_with(&number);
    struct engine_leases_answer answer;
    assert_false(engine_leases_answer(leases, 1, key_of(&slow), BEGIN + 10 * MS, 1, &answer));
    refuse(leases, &slow, BEGIN + 10 * MS, 1, 5 * MS);
    assert_false(engine_leases_answer(leases, 1, key_of(&slow), BEGIN + 11 * MS, 1, &answer));
    refuse(leases, &slow, BEGIN + 11 * MS, 1, 5 * MS); /* two in a fifth of a second: ten a second */
    assert_true(engine_leases_answer(leases, 1, key_of(&slow), BEGIN + 12 * MS, 1, &answer));
    engine_leases_close(leases);
}

/* Ten permits a second, and nobody else. */
#define REFUSED(sent, what, retry)                                                                                     \
    (struct engine_refused)                                                                                            \
    {                                                                                                                  \
        .sent_ns = (sent), .cost = (what), .retry_ns = (retry), .interval_ns = 100 * MS                                \
    }

/* Room for nothing at BEGIN. */
static struct engine_refusal empty_at_begin(void)
{
    struct engine_refusal refusal = {0};
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN, 5), 0);
    engine_refusal_asked(&refusal, BEGIN, 2);
    engine_refusal_refused(&refusal, &REFUSED(BEGIN, 2, 200 * MS));
    return refusal;
}

static void a_node_asks_no_faster_than_the_rate(void **unused)
{
    (void)unused;
    struct engine_refusal refusal = empty_at_begin();
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 150 * MS, 2), 50 * MS);
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 150 * MS, 1), 0); /* a smaller one may pass */
    engine_refusal_asked(&refusal, BEGIN, 1);
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 150 * MS, 1), 50 * MS); /* but not a second */
    engine_refusal_allowed(&refusal, BEGIN + 150 * MS, 1, 0);
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 150 * MS, 1), 50 * MS);
    engine_refusal_asked(&refusal, BEGIN, 1);
    engine_refusal_lost(&refusal, 1);
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 200 * MS, 1), 0);
}

/* Answers come in the order of the questions, and of those behind it an answer knows nothing. */
static void what_is_on_its_way_counts_as_taken(void **unused)
{
    (void)unused;
    struct engine_refusal refusal = empty_at_begin();
    for (int i = 0; i < 3; i++) engine_refusal_asked(&refusal, BEGIN, 1);
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 300 * MS, 1), 100 * MS);
    engine_refusal_refused(&refusal, &REFUSED(BEGIN + 300 * MS, 1, 50 * MS));
    /* Room for half a permit at 300 ms, and two on their way. */
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 300 * MS, 1), 250 * MS);
}

static void a_permit_that_was_given_back_shows(void **unused)
{
    (void)unused;
    struct engine_refusal refusal = empty_at_begin();
    engine_refusal_asked(&refusal, BEGIN, 1);
    engine_refusal_allowed(&refusal, BEGIN + 100 * MS, 1, 3);
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 100 * MS, 3), 0);
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 100 * MS, 4), 100 * MS);
}

/* What is in a lease may be spent all the same. */
/* A hundred nodes, ten permits a second: those who took what came back get a turn of 99 permits, within a second. */
static void who_was_refused_for_others_leaves_them_a_turn(void **unused)
{
    (void)unused;
    const uint64_t cut = REFUSAL_TURN_MOST_NS;
    struct engine_refused refused = REFUSED(BEGIN, 1, 100 * MS);
    struct engine_refusal refusal = {0};
    refused.burst = 1000;
    refused.askers = 100;
    engine_refusal_refused(&refusal, &refused); /* nothing was known, so nobody else is */
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN, 1), 100 * MS);
    refused.sent_ns = BEGIN + 100 * MS;
    refused.retry_ns = 40 * MS; /* a little less than half a permit: an answer took longer */
    engine_refusal_refused(&refusal, &refused);
    assert_int_equal(engine_refusal_wait(&refusal, BEGIN + 100 * MS, 1), 40 * MS);
    refused.sent_ns = BEGIN + 140 * MS;
    refused.retry_ns = 60 * MS; /* that was somebody */
    engine_refusal_refused(&refusal, &refused);
    const uint64_t wait = engine_refusal_wait(&refusal, BEGIN + 200 * MS, 1);
    assert_true(wait >= cut / 2 && wait < cut / 2 + cut);
    /* Then one question, until it is answered or another turn is over. */
    const uint64_t again = BEGIN + 200 * MS + wait;
    assert_int_equal(engine_refusal_wait(&refusal, again, 1), 0);
    engine_refusal_asked(&refusal, again, 1);
    assert_true(engine_refusal_wait(&refusal, again, 1) >= cut / 2);
    /* An engine that does not answer gives the others nothing either: a share in its place is asked at once. */
    struct engine_refusal away = refusal;
    engine_refusal_lost(&away, 1);
    assert_int_equal(engine_refusal_wait(&away, again, 1), 0);
    engine_refusal_allowed(&refusal, again, 1, 0);
    assert_int_equal(engine_refusal_wait(&refusal, again, 1), 0);
}

static void a_turn_is_shorter_for_a_small_burst_and_none_without_others(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t burst, askers, turn;
    } rows[] = {{8, 9, 400 * MS}, {1, 10, 100 * MS}, {1000, 1, 0}, {1000, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct engine_refused refused = REFUSED(BEGIN, 1, 100 * MS);
        struct engine_refusal refusal = {.empty_ns = 1, .interval_ns = 100 * MS};
        refused.burst = rows[i].burst;
        refused.askers = rows[i].askers;
        engine_refusal_refused(&refusal, &refused);
        const uint64_t turn = engine_refusal_wait(&refusal, BEGIN + 100 * MS, 1);
        assert_true(turn >= rows[i].turn / 2 && turn <= rows[i].turn / 2 + rows[i].turn);
    }
}

/* Sixteen: an eighth of less is less than the two that a lease has at least. */
static void no_lease_is_asked_for_where_none_is_to_be_had(void **unused)
{
    (void)unused;
    struct engine_lease lease = {0};
    assert_true(engine_lease_due(&lease, BEGIN));
    engine_lease_heard(&lease, 15);
    assert_false(engine_lease_due(&lease, BEGIN));
    engine_lease_heard(&lease, 16);
    assert_true(engine_lease_due(&lease, BEGIN));
}

static void a_lease_comes_before_a_refusal(void **unused)
{
    (void)unused;
    uint64_t number = 3;
    struct engine_leases *leases = engine_leases_open(LIFETIME);
    assert_non_null(leases);
    struct engine_lease_command command;
    struct engine_leases_answer answer;
    assert_int_equal(asks_until_wanted(leases, key_of(&number), BEGIN, MS, 20, &command), 10);
    refuse(leases, &number, BEGIN + 10 * MS, 1, 5 * MS);
    assert_false(engine_leases_has(leases, 2));
    assert_true(engine_leases_has(leases, 1));
    engine_leases_granted(leases, &command, 70, 1);
    assert_true(engine_leases_answer(leases, 1, key_of(&number), BEGIN + 11 * MS, 1, &answer));
    assert_int_equal(answer.decision.verdict, WEIR_ALLOW);
    assert_true(engine_leases_answer(leases, 1, key_of(&number), BEGIN + 11 * MS, 1, &answer));
    assert_int_equal(answer.decision.verdict, WEIR_DENY);
    engine_leases_return(leases, BEGIN + 11 * MS, true, &command);
    assert_false(engine_leases_has(leases, 1));
    engine_leases_close(leases);
}

/* ---- what an engine answers: granted, name, remaining, retry, and of a newer engine more ---- */

static void a_longer_answer_is_one(void **state)
{
    (void)state;
    enum { MOST = 6, WANT = 10 };
    redisReply number[MOST], *element[MOST];
    for (int i = 0; i < MOST; i++) {
        number[i] = (redisReply){.type = REDIS_REPLY_INTEGER, .integer = 7 + i};
        element[i] = &number[i];
    }
    number[MOST - 1] = (redisReply){.type = REDIS_REPLY_NIL};
    redisReply reply = {.type = REDIS_REPLY_ARRAY, .element = element};
    for (reply.elements = 0; reply.elements <= MOST; reply.elements++) {
        uint64_t id = 0, permits = 0;
        assert_int_equal(wire_leased(&reply, WANT, &id, &permits), reply.elements >= 4);
        assert_int_equal(permits, reply.elements >= 4 ? 7 : 0);
        assert_int_equal(id, reply.elements >= 4 ? 8 : 0);
    }
    reply.elements = 4;
    assert_false(wire_leased(&reply, 6, &(uint64_t){0}, &(uint64_t){0})); /* more than was wanted */
    number[0].integer = -1;
    assert_false(wire_leased(&reply, WANT, &(uint64_t){0}, &(uint64_t){0}));
    number[0] = (redisReply){.type = REDIS_REPLY_NIL};
    assert_false(wire_leased(&reply, WANT, &(uint64_t){0}, &(uint64_t){0}));
    assert_false(wire_leased(NULL, WANT, &(uint64_t){0}, &(uint64_t){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_time_counts_from_when_it_was_asked_for),
        cmocka_unit_test(a_permit_is_spent_once),
        cmocka_unit_test(what_is_given_back_is_no_longer_there),
        cmocka_unit_test(after_two_lifetimes_nothing_is_sent_back),
        cmocka_unit_test(it_is_renewed_when_an_eighth_is_left_or_an_eighth_of_its_time),
        cmocka_unit_test(what_is_left_is_spent_while_more_is_on_its_way_and_first),
        cmocka_unit_test(what_is_left_has_its_own_time),
        cmocka_unit_test(its_size_is_what_is_spent_in_a_quarter_of_a_lifetime),
        cmocka_unit_test(it_rests_when_too_little_came_or_nothing),
        cmocka_unit_test(only_busy_keys_have_one),
        cmocka_unit_test(one_is_spent_renewed_and_given_back),
        cmocka_unit_test(a_quiet_key_gives_back),
        cmocka_unit_test(what_the_engine_has_forgotten_is_not_given_back),
        cmocka_unit_test(a_lost_reply_grants_nothing),
        cmocka_unit_test(many_keys_share_a_bounded_table),
        cmocka_unit_test(many_slow_keys_are_not_a_busy_one),
        cmocka_unit_test(long_keys_and_none_are_asked_for_as_ever),
        cmocka_unit_test(a_refusal_is_good_until_its_retry),
        cmocka_unit_test(a_refusal_is_forgotten),
        cmocka_unit_test(refusals_of_keys_that_are_not_busy_are_not_kept),
        cmocka_unit_test(who_was_refused_for_others_leaves_them_a_turn),
        cmocka_unit_test(a_turn_is_shorter_for_a_small_burst_and_none_without_others),
        cmocka_unit_test(no_lease_is_asked_for_where_none_is_to_be_had),
        cmocka_unit_test(a_lease_comes_before_a_refusal),
        cmocka_unit_test(a_node_asks_no_faster_than_the_rate),
        cmocka_unit_test(what_is_on_its_way_counts_as_taken),
        cmocka_unit_test(a_permit_that_was_given_back_shows),
        cmocka_unit_test(a_longer_answer_is_one),
    };
    return cmocka_run_group_tests_name("engine_lease", tests, NULL, NULL);
}
