/* SPDX-License-Identifier: MIT
   WEIR.TAKE, WEIR.CHARGE, WEIR.SETTLE, WEIR.FORGET.

       *8  verdict  :limit  :remaining  :delay_ns  :retry_ns  :full_ns  receipt or nothing  :late_ns
       *9  ...                      of a text with a concurrent limit: id or nothing           as `weir serve` has it
       *9  ...                      of tenants: how many guarantees it was not charged to; 0 within the first

   A refusal that is not counted, and a look, write nothing. */
#include "redis/module/store.h"

static const char take_example[] = "WEIR.TAKE 10/s user:42 COST 2";
static const char charge_example[] = "WEIR.CHARGE 10/s user:42 2";
static const char settle_example[] = "WEIR.SETTLE 10/s user:42 1763836800123456:2 1";

enum { ANSWERS = 8 };

/* ---- answers ---- */

static void answer_verdict(const struct call *call, weir_verdict verdict)
{
    static const struct span allow = {"allow", 5}, deny = {"deny", 4}, never = {"never", 5};
    const struct span *word = verdict == WEIR_ALLOW ? &allow : verdict == WEIR_DENY ? &deny : &never;
    call->engine->reply_with_string_buffer(call->context, word->bytes, word->size);
}

/* What was lent was charged to nobody. */
static unsigned note_lent(struct question *question, const struct micro_answer *given)
{
    unsigned lent = 0;
    for (unsigned i = 0; i < question->plan->count; i++) {
        const bool is = (given->lent >> i & 1) != 0;
        if (is) question->ask.cost[i] = 0;
        lent += is;
    }
    return lent;
}

static bool is_due(const struct question *question, const struct micro_answer *given)
{
    bool taken = false;
    for (unsigned i = 0; i < question->plan->count; i++) taken = taken || question->ask.cost[i] != 0;
    return taken && given->verdict == WEIR_ALLOW && !question->ask.peek;
}

static void answer_receipt(const struct call *call, const struct question *question, uint64_t starts)
{
    char receipt[MICRO_RECEIPT_MAX];
    const size_t size = micro_receipt_write(starts, question->ask.cost, question->plan->count, receipt);
    call->engine->reply_with_string_buffer(call->context, receipt, size);
}

/* Above 2^53, so it is no number to many clients. */
static void answer_id(const struct call *call, uint64_t id)
{
    char text[CALL_DIGITS_MAX];
    if (id != 0) call->engine->reply_with_string_buffer(call->context, text, call_digits(id, text));
    else call->engine->reply_with_null(call->context);
}

static void answer(const struct call *call, struct question *question, const struct micro_answer *given,
                   bool has_receipt)
{
    const bool tenants = question->plan->levels > 1;
    const unsigned lent = tenants ? note_lent(question, given) : 0;
    const bool holds = micro_holder(question->plan) >= 0;
    const uint64_t starts = !holds ? given->taken : given->id != 0 ? given->id : given->taken * MICRO_ID_PARTS;
    call->engine->reply_with_array(call->context, holds || tenants ? ANSWERS + 1 : ANSWERS);
    answer_verdict(call, given->verdict);
    call_integer(call, given->limit);
    call_integer(call, given->remaining);
    call_ns(call, given->delay);
    call_ns(call, given->retry);
    call_ns(call, given->full);
    if (has_receipt && is_due(question, given)) answer_receipt(call, question, starts);
    else call->engine->reply_with_null(call->context);
    call_ns(call, given->late);
    if (holds) answer_id(call, given->id);
    if (tenants) call_integer(call, lent);
}

/* ---- WEIR.TAKE ---- */

static bool read_option(const struct call *call, struct question *question, int *at, bool *costs)
{
    char shown[CALL_SHOWN + 4];
    const int option = (*at)++;
    if (call_is(call, option, "PEEK")) {
        question->ask.peek = true;
        return true;
    }
    if (call_is(call, option, "COST") && !*costs) {
        *costs = true;
        return question_numbers(call, question, at, take_example, question->ask.cost);
    }
    if (call_is(call, option, "WAIT")) {
        if (question->plan->count != 1)
            return call_refuse(call,
                               "WEIRARG WAIT is for one limit; these are %u: leave it out, and try again after the "
                               "retry time of the reply",
                               question->plan->count);
        return question_number(call, (*at)++, "us after WAIT", &question->ask.wait);
    }
    return call_refuse(call, "WEIRARG expected COST n ... once, PEEK, or WAIT us, not \"%s\"; for example %s",
                       call_shown(call, option, shown), take_example);
}

static bool read_take(const struct call *call, struct question *question)
{
    int at;
    bool costs = false;
    if (!question_read(call, question, &at)) return false;
    question->ask.peek = false;
    question->ask.wait = 0;
    for (unsigned i = 0; i < question->plan->count; i++) question->ask.cost[i] = 1;
    while (at < call->count) {
        if (!read_option(call, question, &at, &costs)) return false;
    }
    return true;
}

void take_run(const struct call *call)
{
    struct question question;
    struct micro_answer given;
    if (read_take(call, &question) && store_take(call, &question, &given)) answer(call, &question, &given, true);
}

/* ---- WEIR.CHARGE ---- */

void charge_run(const struct call *call)
{
    struct question question;
    struct store store;
    struct micro_answer given;
    int at;
    if (!question_read(call, &question, &at) ||
        !question_numbers(call, &question, &at, charge_example, question.ask.cost) ||
        !question_ends(call, at, charge_example) || !store_open(&store, call, &question, false))
        return;
    micro_charge(question.plan, &store.state, store.log, &question.ask, &given);
    if (given.changed) store_write(&store, given.idle);
    else store_close(&store);
    given.id = store.id;
    answer(call, &question, &given, false);
}

/* ---- WEIR.SETTLE ---- */

static bool read_receipt(const struct call *call, const struct question *question, int at, uint64_t *taken,
                         uint64_t charged[WEIR_LIMITS_MAX])
{
    char shown[CALL_SHOWN + 4];
    unsigned count = 0;
    if (at < call->count) {
        const struct span text = call_text(call, at);
        if (micro_receipt_read(text.bytes, text.size, taken, charged, &count) && count == question->plan->count)
            return true;
    }
    if (count != 0)
        return call_refuse(call, "WEIRARG the receipt \"%s\" is of %u limits, and these are %u",
                           call_shown(call, at, shown), count, question->plan->count);
    return call_refuse(
        call, "WEIRARG expected the receipt of a take, the seventh value of its reply, not \"%s\"; for example %s",
        call_shown(call, at, shown), settle_example);
}

void settle_run(const struct call *call)
{
    struct question question;
    struct store store;
    struct micro_answer given;
    uint64_t taken = 0, charged[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    int at;
    if (!question_read(call, &question, &at) || !read_receipt(call, &question, at++, &taken, charged) ||
        !question_numbers(call, &question, &at, settle_example, actual) || !question_ends(call, at, settle_example) ||
        !store_open(&store, call, &question, false))
        return;
    store.id = taken;
    if (micro_holder(question.plan) >= 0) taken /= MICRO_ID_PARTS;
    micro_settle(question.plan, &store.state, store.log, question.ask.now, taken, charged, actual, &given);
    if (given.changed) store_write(&store, given.idle);
    else store_close(&store);
    call_integer(call, 1);
}

/* ---- WEIR.FORGET ---- */

static void forget_key(const struct call *call, struct RedisModuleString *name)
{
    const struct engine *engine = call->engine;
    struct RedisModuleKey *key = engine->open_key(call->context, name, ENGINE_READ | ENGINE_WRITE);
    if (engine->key_type(key) != ENGINE_EMPTY) {
        engine->delete_key(key);
        engine->replicate(call->context, "DEL", "s", name);
        engine->signal_modified_key(call->context, name);
    }
    engine->close_key(key);
}

/* Opened as for a question first: what is not weir's stays. */
void forget_run(const struct call *call)
{
    struct question question;
    struct store store;
    int at;
    if (!question_read(call, &question, &at) || !question_ends(call, at, "WEIR.FORGET 10/s user:42") ||
        !store_open(&store, call, &question, true))
        return;
    store_close(&store);
    for (unsigned i = 0; i < question.keys; i++) forget_key(call, question.key[i]);
    call_integer(call, 1);
}
