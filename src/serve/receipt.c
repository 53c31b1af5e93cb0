/* SPDX-License-Identifier: MIT
   receipt.c - what was taken, in the client's hands: the service remembers nothing.

       MARK.START.NUMBER.LIMIT.COUNT.COST.END ... .SIZE.10/s burst=20.user:42

   MARK is a keyed hash of all that follows, by the secret of the table: who does not know it cannot make a receipt, and
   one that was damaged is none.  START is in the table's own time, which a restart keeps as it keeps the table; NUMBER
   tells receipts apart that are otherwise the same; LIMIT is the one that the decision named; COST and END are there
   for each of the COUNT limits; SIZE is that of the limit's name or text.  Numbers are hexadecimal.

   That one settles once is itself a limit: one permit for the receipt, in the table of slots, until what was taken has
   drained, or a minute at least.  Then it would give nothing back any more; what it charges in addition it would charge
   once more.

   May touch: the turn's scratch, the tables.  Promises: whatever the bytes say, no memory is allocated, and nothing is
   given back that was not taken.  Leaves to others: how what was taken is corrected (keyed_settle). */
#include <stdio.h>
#include <string.h>

#include "api/keyed.h"
#include "core/num.h"
#include "serve/plans.h"

/* Behind a key, so that neither is the identity of one: limits count from 0, wide slots from WEIR_LIMITS_MAX. */
static const uint64_t SALT_OF_MARK = UINT64_MAX, SALT_OF_SETTLED = UINT64_MAX - 1;

enum { MARK_SIZE = 16 };

/* ---- written ---- */

static bool is_due(const struct item *item, const weir_decision *decision)
{
    if (decision->verdict != WEIR_ALLOW || item->peek || item->charge || item->shadow_denied) return false;
    bool taken = item->each == NULL && item->cost != 0;
    for (int i = 0; item->each != NULL && i < weir_plan_limits(item->under.plan); i++) {
        taken = taken || item->each->cost[i] != 0;
    }
    return taken;
}

static void write_hex(char *end, unsigned digits, uint64_t number)
{
    for (; digits != 0; digits--, number /= 16) *--end = "0123456789abcdef"[number % 16];
}

static void add_number(struct bytes *out, uint64_t number)
{
    bytes_hex(out, number);
    bytes_byte(out, '.');
}

static uint64_t mark_of(const weir_table *table, struct slice payload)
{
    return hash_key(&table->secret, payload.bytes, payload.size, SALT_OF_MARK);
}

void receipt_write(struct bytes *out, const struct item *item, const weir_decision *decision)
{
    if (!is_due(item, decision)) return;
    const weir_table *table = item->under.table;
    char *mark = bytes_room(out, MARK_SIZE + 1);
    const size_t begin = out->size;
    const unsigned count = item->each != NULL ? (unsigned)weir_plan_limits(item->under.plan) : 1;
    add_number(out, decision->start.ns + table->offset_ns);
    add_number(out, item->receipt);
    add_number(out, decision->limit);
    add_number(out, count);
    for (unsigned i = 0; i < count; i++) {
        add_number(out, item->each != NULL ? item->each->cost[i] : item->cost);
        add_number(out, item->each != NULL ? item->each->end[i] : decision->end);
    }
    add_number(out, item->limit.size);
    bytes_add(out, item->limit);
    bytes_byte(out, '.');
    bytes_add(out, turn_key_plain(item));
    if (out->full) return;
    write_hex(mark + MARK_SIZE, MARK_SIZE, mark_of(table, slice_from(bytes_slice(out), begin)));
    mark[MARK_SIZE] = '.';
}

/* ---- read ---- */

struct receipt {
    struct slice mark, payload;
    uint64_t start, number, limit_index, count;
    uint64_t cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
    struct slice limit, key;
};

/* The bytes before the next point; false: there is none. */
static bool next(struct slice *rest, struct slice *part)
{
    const char *point = rest->size != 0 ? memchr(rest->bytes, '.', rest->size) : NULL;
    if (point == NULL) return false;
    *part = slice_between(rest->bytes, point);
    *rest = slice_from(*rest, part->size + 1);
    return true;
}

static bool next_number(struct slice *rest, uint64_t *number)
{
    struct slice part;
    return next(rest, &part) && slice_hex(part, number);
}

static bool read_receipt(struct slice text, struct receipt *receipt)
{
    struct slice rest = text;
    uint64_t size;
    if (!next(&rest, &receipt->mark) || receipt->mark.size != MARK_SIZE) return false;
    receipt->payload = rest;
    if (!next_number(&rest, &receipt->start) || !next_number(&rest, &receipt->number) ||
        !next_number(&rest, &receipt->limit_index) || !next_number(&rest, &receipt->count))
        return false;
    if (receipt->count == 0 || receipt->count > WEIR_LIMITS_MAX || receipt->limit_index >= receipt->count) return false;
    for (uint64_t i = 0; i < receipt->count; i++) {
        if (!next_number(&rest, &receipt->cost[i]) || !next_number(&rest, &receipt->end[i])) return false;
    }
    if (!next_number(&rest, &size) || size >= rest.size || rest.bytes[size] != '.') return false;
    receipt->limit = (struct slice){rest.bytes, size};
    receipt->key = slice_from(rest, size + 1);
    return true;
}

/* Takes as long whatever differs. */
static bool is_genuine(const weir_table *table, const struct receipt *receipt)
{
    char mark[MARK_SIZE];
    unsigned differ = 0;
    write_hex(mark + MARK_SIZE, MARK_SIZE, mark_of(table, receipt->payload));
    for (size_t i = 0; i < MARK_SIZE; i++) differ |= (unsigned)(mark[i] ^ receipt->mark.bytes[i]);
    return differ == 0;
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
    if (!turn_key_again(turn, receipt->key, item) || !is_genuine(item->under.table, receipt))
        return fails(problem, foreign);
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
    for (unsigned i = 0; i < receipt->count; i++) {
        weir_decision decision = decision_of(receipt, item->under.table);
        decision.limit = i;
        decision.start.ns = turn->now_ns;
        decision.end = receipt->end[i];
        longest_ns = most(longest_ns, weir_table_full_ns(item->under.table, item->under.plan, &decision));
    }
    return longest_ns;
}

/* Takes the one permit that this receipt has; of all who come at once one gets it. */
static bool take_permit(struct turn *turn, const struct receipt *receipt, uint64_t drained_ns)
{
    static const uint64_t longest_s = UINT64_C(31) * 24 * 60 * 60;
    char text[48];
    struct policy_verdict under;
    uint64_t period_s = 60; /* few different ones, so that their texts are known */
    while (period_s < longest_s && period_s * 1000000000 < drained_ns) period_s *= 2;
    snprintf(text, sizeof text, "1/%llus burst=1", (unsigned long long)least(period_s, longest_s));
    if (!plans_text(turn, slice_of(text), &under, NULL)) return false;
    const struct plan *plan = plan_inside_const(under.plan);
    const uint64_t hash =
        hash_key(&turn->slots->secret, receipt->payload.bytes, receipt->payload.size, SALT_OF_SETTLED);
    const struct keyed_limit permit = {&plan->rule[0], plan->interval[0], hash, 1, 0};
    weir_decision decision;
    uint32_t events = 0;
    keyed_slots_ask(turn->slots, &permit, 1, &(struct ask){.now_ns = turn->now_ns}, NULL, &decision, &events);
    return decision.verdict == WEIR_ALLOW;
}

bool receipt_settle(struct turn *turn, struct slice text, const uint64_t actual[], unsigned count, bool *again,
                    char problem[200])
{
    struct receipt receipt;
    struct item item = {.key = {NULL, 0}};
    uint64_t used[WEIR_LIMITS_MAX];
    turn_settle_queue(turn);
    if (!read_receipt(text, &receipt)) return fails(problem, "this is no receipt: expected the seventh of WEIR.TAKE");
    if (!find_limit(turn, &receipt, &item, problem) || !turn_costs(&item, count, problem)) return false;
    const uint64_t drained_ns = drained_in_ns(turn, &receipt, &item);
    for (unsigned i = 0; i < receipt.count; i++) used[i] = count == 1 ? actual[0] : actual[i];
    /* The texts of a permit and of a limit may not be there both at once. */
    *again = !take_permit(turn, &receipt, drained_ns);
    if (*again) return true;
    if (!find_limit(turn, &receipt, &item, problem)) return false;
    weir_decision decision = decision_of(&receipt, item.under.table);
    keyed_settle(item.under.table, item.under.plan, (weir_key){item.key.bytes, item.key.size}, turn->now_ns, &decision,
                 receipt.cost, used, receipt.end);
    return true;
}
