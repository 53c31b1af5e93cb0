/* SPDX-License-Identifier: MIT
   receipt.c - what was taken, in the client's hands: the service remembers nothing.

       MARK START HEAD COST END [COST END ...] 10/s burst=20 user:42       without the blanks

   All in capitals are 16 hexadecimal digits.  MARK is a keyed hash of all that follows, by the secret of the table: who
   does not know it cannot make a receipt, and one that was damaged is none.  START is in the table's own time, which a
   restart keeps as it keeps the table.  HEAD holds a number that tells receipts apart that are otherwise the same, the
   size of the limit's name or text, how many limits there are, and which of them the decision named.  COST and END are
   there for each limit.

   That one settles once is itself a limit: one permit for the receipt, in the table of slots, until what was taken has
   drained, or a minute at least.  Then it would give nothing back any more; what it charges in addition it would charge
   once more.

   Of a limit that an engine keeps, START is how long after it was taken all was back, END when that was by the engine's
   clock, the mark is by a secret that all servers of the engine have, and the permit is in the engine: any of them
   settles what another has let through, once.

   May touch: the turn's scratch, the tables, the engine.  Promises: whatever the bytes say, no memory is allocated, and
   nothing is given back that was not taken.  Leaves to others: how what was taken is corrected (keyed_settle). */
#include <stdio.h>
#include <string.h>

#include "api/keyed.h"
#include "core/num.h"
#include "serve/plans.h"

/* Behind a key, so that neither is the identity of one: limits count from 0, wide slots from WEIR_LIMITS_MAX. */
static const uint64_t SALT_OF_MARK = UINT64_MAX, SALT_OF_SETTLED = UINT64_MAX - 1;

enum { DIGITS = 16, PAIR = 2 * DIGITS, NUMBERS_MAX = 2 + 2 * WEIR_LIMITS_MAX, PERMIT_TEXT_MAX = 48 };
enum permit { PERMIT_GRANTED, PERMIT_SPENT, PERMIT_UNKNOWN };

/* HEAD: | number, 32 bits | size of the limit, 16 | limits, 8 | which, 8 | */
static uint64_t head_of(uint64_t number, uint64_t size, uint64_t count, uint64_t limit)
{
    return number << 32 | size << 16 | count << 8 | limit;
}

_Static_assert(POLICY_TEXT_MAX < 1 << 16 && POLICY_NAME_MAX < 1 << 16 && WEIR_LIMITS_MAX < 1 << 8, "HEAD holds them");
_Static_assert((1 + NUMBERS_MAX) * DIGITS + POLICY_TEXT_MAX + POLICY_KEY_MAX <= RECEIPT_MAX, "a receipt has room");

/* ---- written ---- */

static bool is_due(const struct item *item, const weir_decision *decision)
{
    if (decision->verdict != WEIR_ALLOW || item->peek || item->charge || item->shadow_denied) return false;
    if (!decide_correctable(item, decision)) return false;
    bool taken = item->each == NULL && item->cost != 0;
    for (int i = 0; item->each != NULL && i < weir_plan_limits(item->under.plan); i++) {
        taken = taken || item->each->cost[i] != 0;
    }
    return taken;
}

/* Each of the lowest eight digits in a byte of its own, as text. */
static uint64_t digits_of(uint64_t number)
{
    uint64_t digits = number & UINT32_MAX;
    digits = (digits | digits << 16) & UINT64_C(0x0000FFFF0000FFFF);
    digits = (digits | digits << 8) & UINT64_C(0x00FF00FF00FF00FF);
    digits = (digits | digits << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    const uint64_t letters = (digits + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return digits + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

/* Back again; of what is no digit something that digits_of does not bring back. */
static uint64_t number_of(uint64_t digits)
{
    uint64_t number = (digits & UINT64_C(0x0F0F0F0F0F0F0F0F)) + (digits >> 6 & UINT64_C(0x0101010101010101)) * 9;
    number = (number | number >> 4) & UINT64_C(0x00FF00FF00FF00FF);
    number = (number | number >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return (number | number >> 16) & UINT32_MAX;
}

/* In this machine's order of bytes, as the table is. */
static void write_hex(char at[DIGITS], uint64_t number)
{
    const uint64_t digits[2] = {digits_of(number), digits_of(number >> 32)};
    memcpy(at, digits, DIGITS);
}

static bool read_hex(const char at[DIGITS], uint64_t *number)
{
    uint64_t digits[2];
    memcpy(digits, at, DIGITS);
    const uint64_t low = number_of(digits[0]), high = number_of(digits[1]);
    *number = high << 32 | low;
    return digits_of(low) == digits[0] && digits_of(high) == digits[1];
}

static uint64_t mark_of(const struct policy_verdict *under, struct slice payload)
{
    const struct secret *secret = under->is_shared ? engine_secret(under->shared) : &under->table->secret;
    return hash_key(secret, payload.bytes, payload.size, SALT_OF_MARK);
}

static uint64_t start_of(const struct turn *turn, const struct item *item, const weir_decision *decision)
{
    if (item->under.is_shared) return decide_full_ns(turn, item, decision);
    return decision->start.ns + item->under.table->offset_ns;
}

void receipt_write(const struct turn *turn, struct bytes *out, const struct item *item, const weir_decision *decision)
{
    if (!is_due(item, decision)) return;
    const struct slice key = turn_key_plain(item);
    const unsigned count = item->each != NULL ? (unsigned)weir_plan_limits(item->under.plan) : 1;
    const size_t payload = (2 + 2 * (size_t)count) * DIGITS + item->limit.size + key.size;
    char *mark = bytes_room(out, DIGITS + payload);
    if (mark == NULL) return;
    char *at = mark + DIGITS;
    write_hex(at, start_of(turn, item, decision));
    write_hex(at + DIGITS, head_of(item->receipt, item->limit.size, count, decision->limit));
    for (unsigned i = 0; i < count; i++) {
        at += PAIR;
        write_hex(at, item->each != NULL ? item->each->cost[i] : item->cost);
        write_hex(at + DIGITS, item->each != NULL ? item->each->end[i] : decision->end);
    }
    memcpy(at + PAIR, item->limit.bytes, item->limit.size);
    memcpy(at + PAIR + item->limit.size, key.bytes, key.size);
    write_hex(mark, mark_of(&item->under, (struct slice){mark + DIGITS, payload}));
}

/* ---- read ---- */

struct receipt {
    struct slice payload; /* all but the mark */
    uint64_t mark, start, limit_index, count;
    uint64_t cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
    struct slice limit, key;
};

static bool next_number(struct slice *rest, uint64_t *number)
{
    if (rest->size < DIGITS || !read_hex(rest->bytes, number)) return false;
    *rest = slice_from(*rest, DIGITS);
    return true;
}

static bool read_receipt(struct slice text, struct receipt *receipt)
{
    struct slice rest = text;
    uint64_t head;
    if (!next_number(&rest, &receipt->mark)) return false;
    receipt->payload = rest;
    if (!next_number(&rest, &receipt->start) || !next_number(&rest, &head)) return false;
    receipt->count = head >> 8 & UINT8_MAX;
    receipt->limit_index = head & UINT8_MAX;
    if (receipt->count > WEIR_LIMITS_MAX || receipt->limit_index >= receipt->count) return false;
    for (uint64_t i = 0; i < receipt->count; i++) {
        if (!next_number(&rest, &receipt->cost[i]) || !next_number(&rest, &receipt->end[i])) return false;
    }
    const size_t size = head >> 16 & UINT16_MAX;
    receipt->limit = (struct slice){rest.bytes, size};
    receipt->key = slice_from(rest, size);
    return size <= rest.size;
}

static bool is_genuine(const struct policy_verdict *under, const struct receipt *receipt)
{
    return mark_of(under, receipt->payload) == receipt->mark;
}

static bool fails(char problem[200], const char *words)
{
    snprintf(problem, 200, "%.199s", words);
    return false;
}

/* The limit as it is now.  Overrides and its numbers may have changed meanwhile; what was taken is time. */
static bool find_limit(struct turn *turn, const struct receipt *receipt, struct item *item, char problem[200])
{
    static const char foreign[] = "this is no receipt of this service, or of a limit that has another algorithm by now";
    const char *code = NULL;
    weir_error error;
    if (!turn_limit(turn, receipt->limit, item, &code, &error)) return fails(problem, error.message);
    if (!turn_key_again(turn, receipt->key, item) || !is_genuine(&item->under, receipt)) return fails(problem, foreign);
    if ((int)receipt->count == weir_plan_limits(item->under.plan)) return true;
    return fails(problem, "its limit has become another list of limits: nothing was corrected");
}

/* ---- settled, once ---- */

static weir_decision decision_of(const struct receipt *receipt, const weir_table *table)
{
    weir_decision decision = {.verdict = WEIR_ALLOW, .limit = (uint32_t)receipt->limit_index};
    decision.start.ns = receipt->start - table->offset_ns;
    decision.end = receipt->end[receipt->limit_index];
    decision.charged = receipt->cost[0];
    return decision;
}

/* From now until all that was taken has drained. */
static uint64_t drained_in_ns(const struct turn *turn, const struct receipt *receipt, const struct item *item)
{
    uint64_t longest_ns = 0;
    if (item->under.is_shared) return receipt->start;
    for (unsigned i = 0; i < receipt->count; i++) {
        weir_decision decision = decision_of(receipt, item->under.table);
        decision.limit = i;
        decision.start.ns = turn->now_ns;
        decision.end = receipt->end[i];
        longest_ns = most(longest_ns, weir_table_full_ns(item->under.table, item->under.plan, &decision));
    }
    return longest_ns;
}

/* The text of a limit of one permit for so long. */
static void write_permit(char text[PERMIT_TEXT_MAX], uint64_t drained_ns)
{
    static const uint64_t longest_s = UINT64_C(31) * 24 * 60 * 60;
    uint64_t period_s = 60; /* few different ones, so that their texts are known */
    while (period_s < longest_s && period_s * 1000000000 < drained_ns) period_s *= 2;
    snprintf(text, PERMIT_TEXT_MAX, "1/%llus burst=1", (unsigned long long)least(period_s, longest_s));
}

static enum permit permit_here(struct turn *turn, const struct receipt *receipt, const char *text)
{
    struct policy_verdict under;
    if (!plans_here(turn, text, &under, NULL)) return PERMIT_UNKNOWN;
    const struct plan *plan = plan_inside_const(under.plan);
    const uint64_t hash =
        hash_key(&turn->slots->secret, receipt->payload.bytes, receipt->payload.size, SALT_OF_SETTLED);
    const struct keyed_limit permit = {&plan->rule[0], plan->interval[0], hash, 1, 0, NULL};
    weir_decision decision;
    uint32_t events = 0;
    keyed_slots_ask(turn->slots, &permit, 1, &(struct ask){.now_ns = turn->now_ns}, NULL, &decision, &events);
    return decision.verdict == WEIR_ALLOW ? PERMIT_GRANTED : PERMIT_SPENT;
}

/* The mark tells receipts apart.  No name begins with "~". */
static enum permit permit_shared(struct turn *turn, const struct receipt *receipt, const char *text)
{
    char key[sizeof "~settled|" + DIGITS];
    struct policy_verdict under;
    bool granted = false;
    memcpy(key, "~settled|", sizeof "~settled|");
    write_hex(key + sizeof "~settled|" - 1, receipt->mark);
    if (!plans_text(turn, slice_of(text), &under, NULL) || !under.is_shared) return PERMIT_UNKNOWN;
    if (!decide_permit_shared(turn, &under, (struct slice){key, sizeof key - 1}, &granted)) return PERMIT_UNKNOWN;
    return granted ? PERMIT_GRANTED : PERMIT_SPENT;
}

/* Takes the one permit that this receipt has; of all who come at once one gets it. */
static enum permit take_permit(struct turn *turn, const struct receipt *receipt, const struct item *item)
{
    char text[PERMIT_TEXT_MAX];
    write_permit(text, drained_in_ns(turn, receipt, item));
    return item->under.is_shared ? permit_shared(turn, receipt, text) : permit_here(turn, receipt, text);
}

static bool correct(struct turn *turn, const struct receipt *receipt, const struct item *item, const uint64_t used[])
{
    if (item->under.is_shared) {
        const struct decide_settlement settlement = {receipt->cost, used, (unsigned)receipt->count, receipt->end[0]};
        return decide_settle_shared(turn, item, &settlement);
    }
    weir_decision decision = decision_of(receipt, item->under.table);
    keyed_settle(item->under.table, item->under.plan, (weir_key){item->key.bytes, item->key.size}, turn->now_ns,
                 &decision, receipt->cost, used, receipt->end);
    return true;
}

bool receipt_settle(struct turn *turn, struct slice text, const uint64_t actual[], unsigned count, bool *again,
                    char problem[200])
{
    static const char unheard[] = "the engine does not answer: nothing is known to be corrected";
    struct receipt receipt;
    struct item item = item_start(NULL, NULL);
    uint64_t used[WEIR_LIMITS_MAX];
    turn_settle_queue(turn);
    if (!read_receipt(text, &receipt))
        return fails(problem, "this is no receipt: expected that of a take, whole; the seventh of WEIR.TAKE");
    if (!find_limit(turn, &receipt, &item, problem) || !turn_costs(&item, count, problem)) return false;
    for (unsigned i = 0; i < receipt.count; i++) used[i] = count == 1 ? actual[0] : actual[i];
    /* The texts of a permit and of a limit may not be there both at once. */
    const enum permit permit = take_permit(turn, &receipt, &item);
    *again = permit == PERMIT_SPENT;
    if (*again) return true;
    if (permit == PERMIT_UNKNOWN) return fails(problem, unheard);
    if (!find_limit(turn, &receipt, &item, problem)) return false;
    return correct(turn, &receipt, &item, used) || fails(problem, unheard);
}
