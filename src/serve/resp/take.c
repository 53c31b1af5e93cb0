/* SPDX-License-Identifier: MIT
   Weir's own commands on a key: WEIR.TAKE, WEIR.CHARGE, WEIR.SETTLE, WEIR.RENEW, WEIR.RELEASE, WEIR.FORGET.

       *8  verdict  :limit  :remaining  :delay_ns  :retry_ns  :full_ns  receipt or nothing  :late_ns
       *9                                              under a concurrent limit: id or nothing

   Nothing is allocated; an option that is not known is refused, and then nothing is taken. */
#include "serve/resp/parts.h"

#include <stdio.h>
#include <string.h>

#include "core/decide.h"

static int64_t capped(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

/* ---- answers ---- */

static struct slice verdict_text(const weir_decision *decision)
{
    static const struct slice allow = {"allow", 5}, deny = {"deny", 4}, never = {"never", 5};
    return decision->verdict == WEIR_ALLOW ? allow : decision->verdict == WEIR_DENY ? deny : never;
}

static void add_receipt(struct batch *batch, struct bytes *out, const struct call *call, const weir_decision *decision)
{
    char memory[RECEIPT_MAX];
    struct bytes receipt = {.memory = memory, .capacity = sizeof memory};
    receipt_write(batch, &receipt, call, decision);
    if (receipt.size != 0 && !receipt.full) resp_bulk(out, bytes_slice(&receipt));
    else resp_null(out, call->session->resp_version);
}

static void add_id(struct bytes *out, const struct call *call, uint64_t id)
{
    char memory[24];
    struct bytes digits = {.memory = memory, .capacity = sizeof memory};
    bytes_number(&digits, id);
    if (id != 0) resp_bulk(out, bytes_slice(&digits));
    else resp_null(out, call->session->resp_version);
}

static void answer(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    struct bytes *out = batch_reply(batch, call->session, BATCH_REPLY + RECEIPT_MAX);
    const bool may_hold = decide_may_hold(call);
    resp_array(out, may_hold ? 9 : 8);
    resp_bulk(out, verdict_text(decision));
    const uint64_t full_ns = decide_full_ns(batch, call, decision);
    const int64_t said[] = {decision->limit, capped(decision->remaining), capped(decision->delay_ns),
                            capped(decision_retry_ns(decision)), capped(full_ns)};
    resp_integers(out, said, sizeof said / sizeof said[0]);
    add_receipt(batch, out, call, decision);
    resp_integer(out, capped(decision_late_ns(decision)));
    if (may_hold) add_id(out, call, decide_id(call, decision));
}

/* ---- questions ---- */

static bool read_limit(struct batch *batch, struct session *session, struct slice text, struct call *call)
{
    const char *code = NULL;
    weir_error error;
    if (batch_limit(batch, text, call, &code, &error)) return true;
    resp_refuse_limit(batch, session, code, &error);
    return false;
}

static bool read_key(struct batch *batch, struct session *session, struct slice key, struct call *call)
{
    char problem[200];
    if (batch_key(batch, key, call, problem)) return true;
    resp_refuse(batch, session, "ERR %s", problem);
    return false;
}

/* Is it a unit, which its number follows? */
static bool is_unit(const struct resp_command *command, unsigned at, uint64_t *number)
{
    if (at + 1 >= command->count || !slice_number(command->argument[at + 1], number)) return false;
    return !resp_is(command->argument[at], "COST") && !resp_is(command->argument[at], "PEEK");
}

/* As many numbers, or units and numbers, as there are from *at on. */
static bool read_costs(struct batch *batch, struct session *session, const struct resp_command *command, unsigned *at,
                       struct costs *costs)
{
    char shown[RESP_SHOWN + 4];
    const unsigned first = *at;
    uint64_t number;
    while (*at < command->count) {
        const struct slice *argument = &command->argument[*at];
        const bool plain = slice_number(*argument, &number), unit = !plain && is_unit(command, *at, &number);
        if ((!plain && !unit) || !costs_add(costs, unit ? argument : NULL, number)) break;
        *at += unit ? 2 : 1;
    }
    if (costs->count != 0) return true;
    resp_refuse(batch, session,
                "ERR expected a cost, 0 to 2^64 - 1, not \"%s\"; for example COST 2, or by unit COST tokens 812",
                first < command->count ? resp_shown(command->argument[first], shown) : "");
    return false;
}

static bool read_options(struct batch *batch, struct session *session, const struct resp_command *command,
                         struct costs *costs, struct call *call)
{
    for (unsigned at = 3; at < command->count;) {
        const struct slice option = command->argument[at++];
        if (resp_is(option, "PEEK")) {
            call->peek = true;
        } else if (resp_is(option, "COST") && costs->count == 0) {
            if (!read_costs(batch, session, command, &at, costs)) return false;
        } else {
            resp_refuse_argument(batch, session, command, at - 1);
            return false;
        }
    }
    return true;
}

static void ask(struct batch *batch, struct session *session, struct call *call, const struct costs *costs)
{
    uint64_t each[WEIR_LIMITS_MAX];
    weir_error error;
    if (!batch_costs(call, costs, each, &error)) resp_refuse(batch, session, "ERR %s", error.message);
    else batch_take(batch, call, each);
}

void resp_take(struct batch *batch, struct session *session, const struct resp_command *command)
{
    struct call *call = batch_call(batch, session, answer);
    struct costs costs;
    costs_begin(&costs, COST_COMMAND);
    if (!read_options(batch, session, command, &costs, call)) return;
    if (!read_limit(batch, session, command->argument[1], call)) return;
    if (!read_key(batch, session, command->argument[2], call)) return;
    ask(batch, session, call, &costs);
}

/* All from `at` on are costs. */
static bool read_all_costs(struct batch *batch, struct session *session, const struct resp_command *command,
                           unsigned at, struct costs *costs)
{
    costs_begin(costs, COST_ARGUMENTS);
    if (!read_costs(batch, session, command, &at, costs)) return false;
    if (at == command->count) return true;
    char shown[RESP_SHOWN + 4];
    resp_refuse(batch, session, "ERR expected at most %d numbers, 0 to 2^64 - 1, not \"%s\"; by unit: tokens 812",
                WEIR_LIMITS_MAX, resp_shown(command->argument[at], shown));
    return false;
}

void resp_charge(struct batch *batch, struct session *session, const struct resp_command *command)
{
    struct call *call = batch_call(batch, session, answer);
    struct costs costs;
    call->charge = true;
    if (!read_all_costs(batch, session, command, 3, &costs)) return;
    if (!read_limit(batch, session, command->argument[1], call)) return;
    if (!read_key(batch, session, command->argument[2], call)) return;
    ask(batch, session, call, &costs);
}

static void answer_settled(struct batch *batch, struct session *session, uint64_t detail, enum receipt_result result,
                           const char *problem)
{
    (void)detail;
    if (session == NULL) return;
    if (result == RECEIPT_REFUSED) resp_refuse(batch, session, "BADRECEIPT %s", problem);
    else resp_integer(resp_reply(batch, session), result == RECEIPT_SETTLED ? 1 : 0);
}

void resp_settle(struct batch *batch, struct session *session, const struct resp_command *command)
{
    struct receipt_used used = {.answer = answer_settled};
    if (read_all_costs(batch, session, command, 2, &used.costs))
        receipt_settle(batch, session, command->argument[1], &used);
}

static void answer_forgotten(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    if (decision->verdict == WEIR_ALLOW) resp_integer(resp_reply(batch, call->session), 1);
    else resp_refuse(batch, call->session, "ENGINE the engine does not answer: nothing was forgotten");
}

void resp_forget(struct batch *batch, struct session *session, const struct resp_command *command)
{
    struct call call = call_start(session, answer_forgotten);
    if (!resp_may_change(batch, session)) return;
    if (!read_limit(batch, session, command->argument[1], &call)) return;
    if (!read_key(batch, session, command->argument[2], &call)) return;
    decide_forget(batch, &call);
}

/* ---- slots that are held ---- */

static void answer_held(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    if (decision->verdict == WEIR_NEVER)
        resp_refuse(batch, call->session, "ENGINE the engine does not answer: nobody knows if it was done");
    else resp_integer(resp_reply(batch, call->session), decision->verdict == WEIR_ALLOW ? 1 : 0);
}

static void hold(struct batch *batch, struct session *session, const struct resp_command *command, enum hold hold)
{
    char shown[RESP_SHOWN + 4];
    uint64_t id;
    struct call call = call_start(session, answer_held);
    if (!read_limit(batch, session, command->argument[1], &call)) return;
    if (!read_key(batch, session, command->argument[2], &call)) return;
    if (!slice_number(command->argument[3], &id)) {
        resp_refuse(batch, session, "ERR expected the id that WEIR.TAKE gave, its ninth, not \"%s\"",
                    resp_shown(command->argument[3], shown));
    } else if (!decide_may_hold(&call)) {
        resp_refuse(batch, session, "ERR %s", DECIDE_HOLDS_NOTHING);
    } else {
        decide_held(batch, &call, id, hold);
    }
}

void resp_renew(struct batch *batch, struct session *session, const struct resp_command *command)
{
    hold(batch, session, command, HOLD_RENEW);
}

void resp_release(struct batch *batch, struct session *session, const struct resp_command *command)
{
    hold(batch, session, command, HOLD_RELEASE);
}
