/* SPDX-License-Identifier: MIT
   What was taken, in the client's hands: the service remembers what was settled, and only while it can be.

       w2 MAC MAC KEY TABLE NUMBER MADE START HEAD COST END [COST END ...] 10/s burst=20 user:42    without the blanks

   All in capitals are 16 hexadecimal digits.  MAC is the HMAC-SHA-256 of what follows, by a random secret: whoever does
   not know that cannot make a receipt, and one that was damaged is none.  KEY says which secret.  TABLE is whose time
   START and END are in, 0 for an engine.  NUMBER tells receipts apart that are otherwise the same.  MADE is when the
   answer was given: by the clock of the table of slots, which a restart keeps as it keeps the table, or in us by the
   engine's.  HEAD holds the size of the limit's name or text, how many limits there are, and which of them the decision
   named; 32 bits of it are 0, for what may come later, and a receipt in which they are not is refused.  COST and END
   are there for each limit.  Of a tenant's call (tenant.c) they are there twice, for it and for its parent, and of the
   32 bits one says so, one whether it borrowed, and eight which limit of the parent's was named.

   A receipt can be settled for as long as `settle` says; so long it is remembered that it was (settled.c).

   Of a limit that an engine keeps, END is when what was taken starts by the engine's clock, and what remembers is one
   permit of a limit in the engine, which lives as long:

       receipt_settle -> is its secret known?  else the engine is asked for it -> permit -> settle -> answered

   Each of these is a question that is waited for by that session alone (decide_alone).

   Whatever the bytes say, no memory is allocated, and nothing is given back that was not taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/table/keyed.h"
#include "core/num.h"
#include "redis/micro/micro.h"
#include "serve/plans.h"
#include "serve/tenant.h"

static const char VERSION[] = {'w', '2'};

enum {
    DIGITS = 16,
    PAIR = 2 * DIGITS,
    MARK_DIGITS = 2 * MAC_SIZE,
    FIELDS = 6, /* KEY to HEAD */
    NUMBERS_MAX = FIELDS + 2 * WEIR_LIMITS_MAX,
    PERMIT_TEXT_MAX = 48,
    PROBLEM_MAX = sizeof((weir_error *)0)->message
};
enum field { KEY, TABLE, NUMBER, MADE, START, HEAD };
enum permit { PERMIT_GRANTED, PERMIT_SPENT, PERMIT_UNKNOWN, PERMIT_FULL, PERMIT_OLD };

/* HEAD: | 0, 22 bits | which of the parent's, 8 | borrowed | tenant | size of the limit, 16 | limits, 8 | which, 8 | */
static uint64_t head_of(uint64_t size, uint64_t count, uint64_t limit)
{
    return size << 16 | count << 8 | limit;
}

#define HEAD_TENANT (UINT64_C(1) << 32)
#define HEAD_BORROWED (UINT64_C(1) << 33)
enum { HEAD_PARENT_SHIFT = 34 };

static uint64_t head_of_tenant(uint64_t size, const weir_decision of[TENANT_LEVELS])
{
    const uint64_t borrowed = weir_borrowed(&of[0]) ? HEAD_BORROWED : 0;
    return head_of(size, TENANT_LEVELS, of[0].limit) | HEAD_TENANT | borrowed |
           (uint64_t)of[1].limit << HEAD_PARENT_SHIFT;
}

_Static_assert(POLICY_TEXT_MAX < 1 << 16 && POLICY_NAME_MAX < 1 << 16 && WEIR_LIMITS_MAX < 1 << 8, "HEAD holds them");
_Static_assert(sizeof VERSION + MARK_DIGITS + (size_t)NUMBERS_MAX * DIGITS + POLICY_TEXT_MAX + POLICY_KEY_MAX <=
                   RECEIPT_MAX,
               "a receipt has room");

/* ---- written ---- */

static bool is_due(const struct call *call, const weir_decision *decision)
{
    if (decision->verdict != WEIR_ALLOW || call->peek || call->charge || call->shadow_denied) return false;
    if (!decide_correctable(call, decision)) return false;
    bool taken = call->each == NULL && call->cost != 0;
    for (int i = 0; call->each != NULL && i < weir_plan_limits(call->under.plan); i++) {
        taken = taken || call->each->cost[i] != 0;
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

static struct settled *settled_of(const struct batch *batch)
{
    return tables_settled(batch->service->tables);
}

static uint64_t table_now_ns(const struct batch *batch)
{
    return batch->now_ns + batch->slots->offset_ns;
}

static uint64_t made_of(const struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const uint64_t parts = backend_holds(call->under.plan) ? MICRO_ID_PARTS : 1; /* the end is an id, of such a time */
    return call->under.is_shared ? decision->end / parts - decision->delay_ns / 1000 : table_now_ns(batch);
}

/* What new ones are signed with: those of an engine with the secret that it keeps, once that has been read. */
static const struct mac *signer(struct batch *batch, bool shared, uint64_t *key)
{
    const struct secrets *secrets = shared ? decide_secrets(batch) : NULL;
    const bool common = secrets != NULL && secrets->mac[0] != NULL;
    *key = common ? secrets->key[0] : settled_key(settled_of(batch));
    return common ? secrets->mac[0] : settled_mac(settled_of(batch));
}

/* NULL: there is none of that number.  What services share signs nothing of a table. */
static const struct mac *signer_of(struct batch *batch, const uint64_t number[])
{
    if (number[KEY] == settled_key(settled_of(batch))) return settled_mac(settled_of(batch));
    const struct secrets *secrets = number[TABLE] == 0 ? decide_secrets(batch) : NULL;
    return secrets != NULL ? secrets_find(secrets, number[KEY], number[MADE]) : NULL;
}

/* Numbers are signed, not their digits: half as many bytes. */
static void sign(const struct mac *mac, const uint64_t number[], unsigned count, struct slice text,
                 uint8_t mark[MAC_SIZE])
{
    mac_of(mac, number, count * sizeof number[0], text.bytes, text.size, mark);
}

static void fill_fields(const struct batch *batch, const struct call *call, const weir_decision *decision,
                        unsigned count, uint64_t number[FIELDS])
{
    const bool shared = call->under.is_shared;
    number[TABLE] = shared ? 0 : tables_number(call->under.table);
    number[NUMBER] = call->receipt;
    number[MADE] = made_of(batch, call, decision);
    number[START] = shared ? 0 : decision->start.ns + call->under.table->offset_ns;
    number[HEAD] = call->under.parent != NULL ? head_of_tenant(call->limit.size, call->each->of)
                                              : head_of(call->limit.size, count, decision->limit);
}

void receipt_write(struct batch *batch, struct bytes *out, const struct call *call, const weir_decision *decision)
{
    uint64_t number[NUMBERS_MAX], half[2];
    uint8_t mark[MAC_SIZE];
    if (!mac_is_here() || !is_due(call, decision)) return;
    const struct slice key = batch_key_plain(call);
    const bool tenant = call->under.parent != NULL;
    const unsigned count = tenant               ? TENANT_LEVELS
                           : call->each != NULL ? (unsigned)weir_plan_limits(call->under.plan)
                                                : 1;
    const unsigned numbers = FIELDS + 2 * count;
    const size_t text = call->limit.size + key.size;
    char *at = bytes_room(out, sizeof VERSION + MARK_DIGITS + (size_t)numbers * DIGITS + text);
    if (at == NULL) return;
    const struct mac *mac = signer(batch, call->under.is_shared, &number[KEY]);
    fill_fields(batch, call, decision, count, number);
    for (unsigned i = 0; i < count; i++) {
        number[FIELDS + 2 * i] = call->each != NULL && !tenant ? call->each->cost[i] : call->cost;
        number[FIELDS + 2 * i + 1] = tenant               ? call->each->of[i].end
                                     : call->each != NULL ? call->each->end[i]
                                                          : decision->end;
    }
    memcpy(at, VERSION, sizeof VERSION);
    at += sizeof VERSION;
    char *behind = at + MARK_DIGITS;
    for (unsigned i = 0; i < numbers; i++, behind += DIGITS) write_hex(behind, number[i]);
    memcpy(behind, call->limit.bytes, call->limit.size);
    memcpy(behind + call->limit.size, key.bytes, key.size);
    sign(mac, number, numbers, (struct slice){behind, text}, mark);
    memcpy(half, mark, sizeof half);
    write_hex(at, half[0]);
    write_hex(at + DIGITS, half[1]);
}

/* ---- read ---- */

struct receipt {
    uint64_t half[2]; /* of the mark */
    uint64_t number[NUMBERS_MAX];
    uint64_t limit_index, parent_index;
    unsigned count;
    bool tenant, borrowed;
    uint64_t cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
    struct slice text, limit, key; /* text: both */
};

static bool next_number(struct slice *rest, uint64_t *number)
{
    if (rest->size < DIGITS || !read_hex(rest->bytes, number)) return false;
    *rest = slice_from(*rest, DIGITS);
    return true;
}

static bool read_head(struct receipt *receipt, uint64_t head)
{
    receipt->count = head >> 8 & UINT8_MAX;
    receipt->limit_index = head & UINT8_MAX;
    receipt->limit.size = head >> 16 & UINT16_MAX;
    receipt->tenant = (head & HEAD_TENANT) != 0;
    receipt->borrowed = (head & HEAD_BORROWED) != 0;
    receipt->parent_index = head >> HEAD_PARENT_SHIFT;
    if (receipt->tenant)
        return receipt->count == TENANT_LEVELS && receipt->limit_index < WEIR_LIMITS_MAX &&
               receipt->parent_index < WEIR_LIMITS_MAX;
    return head >> 32 == 0 && receipt->count <= WEIR_LIMITS_MAX && receipt->limit_index < receipt->count;
}

static bool read_receipt(struct slice text, struct receipt *receipt)
{
    struct slice rest = text;
    uint64_t *number = receipt->number;
    if (rest.size < sizeof VERSION || memcmp(rest.bytes, VERSION, sizeof VERSION) != 0) return false;
    rest = slice_from(rest, sizeof VERSION);
    if (!next_number(&rest, &receipt->half[0]) || !next_number(&rest, &receipt->half[1])) return false;
    for (unsigned i = 0; i < FIELDS; i++) {
        if (!next_number(&rest, &number[i])) return false;
    }
    if (!read_head(receipt, number[HEAD])) return false;
    for (unsigned i = 0; i < receipt->count; i++) {
        if (!next_number(&rest, &receipt->cost[i]) || !next_number(&rest, &receipt->end[i])) return false;
        number[FIELDS + 2 * i] = receipt->cost[i];
        number[FIELDS + 2 * i + 1] = receipt->end[i];
    }
    if (receipt->limit.size > rest.size) return false;
    receipt->text = rest;
    receipt->limit.bytes = rest.bytes;
    receipt->key = slice_from(rest, receipt->limit.size);
    return true;
}

/* In constant time: how long it takes tells nothing of the mark. */
static bool is_genuine(const struct mac *mac, const struct receipt *receipt)
{
    uint8_t mark[MAC_SIZE];
    uint64_t half[2];
    if (mac == NULL) return false;
    sign(mac, receipt->number, FIELDS + 2 * receipt->count, receipt->text, mark);
    memcpy(half, mark, sizeof half);
    return ((half[0] ^ receipt->half[0]) | (half[1] ^ receipt->half[1])) == 0;
}

static bool fails(char problem[PROBLEM_MAX], const char *words)
{
    snprintf(problem, PROBLEM_MAX, "%s", words);
    return false;
}

/* The limit as it is now.  Overrides and its numbers may have changed meanwhile; what was taken is time. */
static bool find_limit(struct batch *batch, const struct receipt *receipt, struct call *call, char problem[PROBLEM_MAX])
{
    static const char tenants[] = "its limit has tenants now, or had then: nothing was corrected";
    static const char other[] = "its limit has another algorithm by now: nothing was corrected";
    const char *code = NULL;
    weir_error error;
    if (!batch_limit(batch, receipt->limit, call, &code, &error)) return fails(problem, error.message);
    const uint64_t table = call->under.is_shared ? 0 : tables_number(call->under.table);
    if (!batch_key_again(batch, receipt->key, call) || receipt->number[TABLE] != table) return fails(problem, other);
    if (receipt->tenant != (call->under.parent != NULL)) return fails(problem, tenants);
    if (receipt->tenant || (int)receipt->count == weir_plan_limits(call->under.plan)) return true;
    return fails(problem, "its limit has become another list of limits: nothing was corrected");
}

static bool find_used(const struct receipt_used *used, const struct receipt *receipt, const struct call *call,
                      uint64_t actual[], char problem[PROBLEM_MAX])
{
    weir_error error;
    if (receipt->tenant) return batch_costs(call, &used->costs, actual, &error) || fails(problem, error.message);
    return costs_used(&used->costs, call->under.plan, receipt->cost, actual, &error) || fails(problem, error.message);
}

/* ---- settled, once ---- */

static weir_decision decision_of(const struct receipt *receipt, const weir_table *table)
{
    weir_decision decision = {.verdict = WEIR_ALLOW, .limit = (uint32_t)receipt->limit_index};
    decision.start.ns = receipt->number[START] - table->offset_ns;
    decision.end = receipt->end[receipt->limit_index];
    decision.charged = receipt->cost[0];
    return decision;
}

static uint64_t window_ns(const struct batch *batch)
{
    return settled_window_ns(settled_of(batch));
}

/* Each line says twice as many as the one before: an attack does not fill the log. */
static void tell_full(const struct batch *batch)
{
    static const char words[] = "receipts are refused: too many were settled of late; table: {keys: N} gives more room";
    const uint64_t refused = settled_refused(settled_of(batch));
    if ((refused & (refused - 1)) != 0) return;
    service_say(batch->service, words);
    fprintf(stderr, "weir: %s\n", words);
}

static enum permit permit_here(struct batch *batch, const struct receipt *receipt)
{
    static const enum permit permit[] = {
        [SETTLED_NOW] = PERMIT_GRANTED, [SETTLED_BEFORE] = PERMIT_SPENT, [SETTLED_FULL] = PERMIT_FULL};
    const uint64_t now_ns = table_now_ns(batch), made_ns = receipt->number[MADE];
    uint8_t mark[MAC_SIZE];
    if (made_ns < now_ns && now_ns - made_ns > window_ns(batch)) return PERMIT_OLD;
    memcpy(mark, receipt->half, sizeof mark);
    const enum settled_answer answer = settled_take(settled_of(batch), made_ns, mark);
    if (answer == SETTLED_FULL) tell_full(batch);
    return permit[answer];
}

static void correct_tenant(const struct batch *batch, const struct receipt *receipt, const struct call *call,
                           uint64_t used)
{
    weir_decision of[TENANT_LEVELS];
    for (unsigned i = 0; i < TENANT_LEVELS; i++) {
        of[i] = (weir_decision){.verdict = WEIR_ALLOW, .end = receipt->end[i], .charged = receipt->cost[i]};
        of[i].limit = (uint32_t)(i == 0 ? receipt->limit_index : receipt->parent_index);
        of[i].start.ns = receipt->number[START] - call->under.table->offset_ns;
    }
    if (receipt->borrowed) of[0].reserved |= DECISION_BORROWED;
    tenant_settle(batch, call, of, receipt->cost[0], used);
}

static void correct_here(const struct batch *batch, const struct receipt *receipt, const struct call *call,
                         const uint64_t used[])
{
    if (receipt->tenant) {
        correct_tenant(batch, receipt, call, used[0]);
        return;
    }
    weir_decision decision = decision_of(receipt, call->under.table);
    keyed_settle(call->under.table, call->under.plan, (weir_key){call->key.bytes, call->key.size}, batch->now_ns,
                 &decision, receipt->cost, used, receipt->end);
}

static bool is_receipt(struct slice text, struct receipt *receipt, char problem[PROBLEM_MAX])
{
    if (!mac_is_here()) return fails(problem, "this weir was built without OpenSSL: it has no receipts");
    return read_receipt(text, receipt) ||
           fails(problem, "this is no receipt, or one of an earlier weir, which cannot be settled any more; "
                          "expected that of a take, whole: the seventh of WEIR.TAKE");
}

static bool is_ours(const struct mac *mac, const struct receipt *receipt, char problem[PROBLEM_MAX])
{
    static const char here[] = "this is no receipt of this service, or of before a restart that kept no state";
    static const char shared[] = "this is no receipt of this service, nor was it signed with the secret that its "
                                 "engine keeps now: nothing was corrected";
    return is_genuine(mac, receipt) || fails(problem, receipt->number[TABLE] == 0 ? shared : here);
}

static void answer_permit(struct batch *batch, struct session *session, const struct receipt_used *used,
                          enum permit permit)
{
    static const char *const words[] = {
        [PERMIT_UNKNOWN] = "the engine does not answer: nothing is known to be corrected",
        [PERMIT_FULL] = "too many receipts were settled of late: nothing was corrected; see table.keys in weir.yaml(5)",
        [PERMIT_OLD] =
            "this receipt is too old to be settled: nothing was corrected; see table.settle in weir.yaml(5)"};
    const enum receipt_result result = permit == PERMIT_GRANTED ? RECEIPT_SETTLED
                                       : permit == PERMIT_SPENT ? RECEIPT_AGAIN
                                                                : RECEIPT_REFUSED;
    used->answer(batch, session, used->detail, result, result == RECEIPT_REFUSED ? words[permit] : NULL);
}

static void refuse(struct batch *batch, struct session *session, const struct receipt_used *used, const char *problem)
{
    used->answer(batch, session, used->detail, RECEIPT_REFUSED, problem);
}

/* ---- by an engine: what is known while it has not answered ---- */

struct pending {
    struct receipt_used used;
    uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    size_t size;
    char text[]; /* the receipt */
};

/* Asks the engine for it; without memory nobody is asked. */
static void ask_engine(struct batch *batch, struct session *session, struct pending *pending,
                       struct decide_alone *alone)
{
    if (pending == NULL) return;
    alone->memory = pending;
    decide_alone(batch, session, alone);
}

/* NULL: no memory, which was told. */
static struct pending *keep(struct batch *batch, struct session *session, struct slice text,
                            const struct receipt_used *used)
{
    struct pending *pending = malloc(sizeof *pending + text.size);
    if (pending == NULL) {
        answer_permit(batch, session, used, PERMIT_UNKNOWN);
        return NULL;
    }
    *pending = (struct pending){.used = *used, .size = text.size};
    memcpy(pending->text, text.bytes, text.size);
    return pending;
}

static void hear_settled(struct batch *batch, struct session *session, const weir_engine_ask *ask, void **memory)
{
    const struct pending *pending = *memory;
    const bool done = ask->from == WEIR_FROM_ENGINE && ask->decision.verdict == WEIR_ALLOW;
    answer_permit(batch, session, &pending->used, done ? PERMIT_GRANTED : PERMIT_UNKNOWN);
}

/* Its limit may be another one by now, or be kept here. */
static void correct_shared(struct batch *batch, struct session *session, struct pending *pending,
                           const struct receipt *receipt)
{
    char problem[PROBLEM_MAX];
    struct call call = call_start(NULL, NULL);
    if (!find_limit(batch, receipt, &call, problem) ||
        !find_used(&pending->used, receipt, &call, pending->actual, problem)) {
        refuse(batch, session, &pending->used, problem);
        free(pending);
        return;
    }
    memcpy(pending->cost, receipt->cost, sizeof pending->cost);
    ask_engine(batch, session, pending,
               &(struct decide_alone){.ask = {.verb = WEIR_ASK_SETTLE,
                                              .limit = engine_limit_inside(call.under.shared),
                                              .key = decide_shared_key(batch, &call),
                                              .cost = pending->cost,
                                              .costs = receipt->count,
                                              .actual = pending->actual,
                                              .taken = receipt->end[0]},
                                      .shared = call.under.shared,
                                      .then = hear_settled});
}

static bool is_too_old(const struct batch *batch, const struct receipt *receipt, uint64_t now_us)
{
    const uint64_t made_us = receipt->number[MADE];
    return made_us < now_us && now_us - made_us > window_ns(batch) / 1000;
}

/* Whoever gets the one permit learns the engine's time with it. */
static void hear_permit(struct batch *batch, struct session *session, const weir_engine_ask *ask, void **memory)
{
    struct pending *pending = *memory;
    struct receipt receipt;
    enum permit permit = PERMIT_GRANTED;
    if (ask->from != WEIR_FROM_ENGINE || !read_receipt((struct slice){pending->text, pending->size}, &receipt))
        permit = PERMIT_UNKNOWN;
    else if (ask->decision.verdict != WEIR_ALLOW) permit = PERMIT_SPENT;
    else if (is_too_old(batch, &receipt, ask->decision.end)) permit = PERMIT_OLD;
    if (permit != PERMIT_GRANTED) {
        answer_permit(batch, session, &pending->used, permit);
        return;
    }
    *memory = NULL;
    correct_shared(batch, session, pending, &receipt);
}

/* No name begins with "~". */
static void ask_permit(struct batch *batch, struct session *session, struct slice text, const struct receipt *receipt,
                       const struct receipt_used *used)
{
    static const char before[] = "~settled|";
    char key[sizeof before + MARK_DIGITS], limit[PERMIT_TEXT_MAX];
    struct policy_verdict under;
    memcpy(key, before, sizeof before);
    write_hex(key + sizeof before - 1, receipt->half[0]);
    write_hex(key + sizeof before - 1 + DIGITS, receipt->half[1]);
    snprintf(limit, sizeof limit, "1/%llus burst=1", (unsigned long long)((window_ns(batch) + 999999999) / 1000000000));
    if (!plans_text(batch, slice_of(limit), &under, NULL) || !under.is_shared) {
        answer_permit(batch, session, used, PERMIT_UNKNOWN);
        return;
    }
    ask_engine(
        batch, session, keep(batch, session, text, used),
        &(struct decide_alone){
            .ask = {.verb = WEIR_ASK_TAKE, .limit = engine_limit_inside(under.shared), .key = {key, sizeof key - 1}},
            .shared = under.shared,
            .then = hear_permit});
}

/* ---- the whole ---- */

static void settle_known(struct batch *batch, struct session *session, struct slice text, const struct receipt *receipt,
                         const struct receipt_used *used)
{
    struct call call = call_start(session, NULL);
    uint64_t actual[WEIR_LIMITS_MAX];
    char problem[PROBLEM_MAX];
    if (!is_ours(signer_of(batch, receipt->number), receipt, problem) || !find_limit(batch, receipt, &call, problem) ||
        !find_used(used, receipt, &call, actual, problem)) {
        refuse(batch, session, used, problem);
        return;
    }
    if (call.under.is_shared) {
        ask_permit(batch, session, text, receipt, used);
        return;
    }
    const enum permit permit = permit_here(batch, receipt);
    if (permit == PERMIT_GRANTED) correct_here(batch, receipt, &call, actual);
    answer_permit(batch, session, used, permit);
}

static void hear_secret(struct batch *batch, struct session *session, const weir_engine_ask *ask, void **memory)
{
    struct pending *pending = *memory;
    const struct slice text = {pending->text, pending->size};
    struct receipt receipt;
    (void)ask; /* the engine that is away has the same secrets as before */
    if (read_receipt(text, &receipt)) settle_known(batch, session, text, &receipt, &pending->used);
}

void receipt_settle(struct batch *batch, struct session *session, struct slice text, const struct receipt_used *used)
{
    struct receipt receipt;
    char problem[PROBLEM_MAX];
    batch_settle_queue(batch);
    if (!is_receipt(text, &receipt, problem)) {
        refuse(batch, session, used, problem);
    } else if (receipt.number[TABLE] == 0 && signer_of(batch, receipt.number) == NULL && decide_secrets_again(batch)) {
        ask_engine(batch, session, keep(batch, session, text, used),
                   &(struct decide_alone){.ask = {.verb = WEIR_ASK_SECRET}, .then = hear_secret});
    } else {
        settle_known(batch, session, text, &receipt, used);
    }
}
