/* SPDX-License-Identifier: MIT
   What a client is told of its limits in headers: Retry-After, RateLimit-Policy and RateLimit as in
   draft-ietf-httpapi-ratelimit-headers-11, X-RateLimit-*.

       RateLimit-Policy: "api-1";q=60;w=60, "api-2";q=100000;w=60;qu="tokens"
       RateLimit: "api-1";r=59;t=1, "api-2";r=99500;t=1

   q in w is the rate as it was said, in whole seconds; weir-burst is there where another number passes at once.  r may
   be used now, and nothing more for t seconds: t is when one more would pass.  Where all is there nothing more will
   ever be, and t is left out; so it is of a limit that an engine keeps and that is no line, unless it refuses: the
   engine is asked once.  Of several limits each has its place in the text as part of its name; of those that an engine
   keeps only the one that the answer names is told.  Units other than the draft's own are told all the same: without qu
   a client would take them for requests.

   Numbers that structured fields can hold; Retry-After is never too early and at most 1.1 times and a second too
   late. */
#include "serve/http/headers.h"

#include "api/table/keyed.h"
#include "core/decide.h"
#include "core/num.h"
#include "format/http.h"
#include "plan/plan.h"

#define SECOND_NS UINT64_C(1000000000)
#define INTEGER_MAX UINT64_C(999999999999999) /* 15 digits are all that an Integer of structured fields has */

static uint64_t whole_seconds(uint64_t ns)
{
    return ns / SECOND_NS + (ns % SECOND_NS != 0);
}

/* ---- Retry-After ---- */

/* The jitter is a hash: it needs no state, and a test with its own clock knows it.  It hides nothing, so its secret is
   none. */
uint64_t headers_retry_s(uint64_t retry_ns, struct slice key, uint64_t now_ns)
{
    static const struct secret known = {{0, 0}};
    const uint64_t share = hash_key(&known, key.bytes, key.size, now_ns) >> 32; /* of a tenth, in 2^-32 */
    const uint64_t later_ns = multiply_shift_floor(retry_ns / 10, share, 32);
    return most(whole_seconds(add_saturating(retry_ns, later_ns)), 1);
}

/* ---- the rate ---- */

static void rate_of(const struct limit *limit, uint64_t *permits, uint64_t *period_ns)
{
    *permits = limit->count.digits;
    *period_ns = limit->period_ns;
    if (limit->count.places != 0 && !limit_rate(limit, permits, period_ns)) *permits = *period_ns = 1;
}

/* Permits in whole seconds, not above the rate; at least one. */
struct quota {
    uint64_t permits, seconds;
};

static struct quota quota_of(const struct limit *limit)
{
    uint64_t permits, period_ns;
    rate_of(limit, &permits, &period_ns);
    const uint64_t seconds = whole_seconds(period_ns);
    if (seconds * SECOND_NS == period_ns) return (struct quota){permits, seconds};
    return (struct quota){multiply_divide_floor(permits, seconds * SECOND_NS, period_ns), seconds};
}

/* What passes at once after a rest. */
static uint64_t at_once(const struct limit *limit)
{
    return limit->burst_kind == AMOUNT_COUNT ? limit->burst : quota_of(limit).permits;
}

/* ---- writing ---- */

static void integer(struct bytes *out, const char *name, uint64_t number)
{
    bytes_text(out, name);
    bytes_number(out, least(number, INTEGER_MAX));
}

/* Names have no byte that would need a "\" in a string of structured fields. */
static void policy_name(struct bytes *out, const struct call *call, int limit, int limits)
{
    bytes_byte(out, '"');
    if (call->named) bytes_add(out, call->limit);
    else bytes_text(out, "default");
    if (limits > 1) {
        bytes_byte(out, '-');
        bytes_number(out, (uint64_t)limit + 1);
    }
    bytes_byte(out, '"');
}

static void unit(struct bytes *out, const char *name)
{
    if (strcmp(name, "requests") == 0 || name[0] == '\0') return;
    bytes_text(out, ";qu=\"");
    bytes_text(out, strcmp(name, "bytes") == 0 ? "content-bytes" : name);
    bytes_byte(out, '"');
}

static void policy_call(struct bytes *out, const struct limit *limit)
{
    const struct quota quota = quota_of(limit);
    integer(out, ";q=", quota.permits);
    integer(out, ";w=", quota.seconds);
    unit(out, limit->unit);
    if (at_once(limit) != quota.permits) integer(out, ";weir-burst=", at_once(limit));
}

/* ---- what is left ---- */

/* What is left of a limit, and when there is one more, where that is ever so. */
struct left {
    uint64_t permits, wait_ns;
    bool all;
};

static bool is_one_slot(const struct call *call)
{
    const struct plan *plan = plan_inside_const(call->under.plan);
    return plan->count == 1 && plan->interval[0] != 0;
}

bool headers_ask_table(const struct call *call)
{
    return !call->under.is_shared && (!is_one_slot(call) || call->peek || call->under.shadow);
}

/* A slot is a line: from how long it takes until all is back follows when one more is. */
static struct left left_of_slot(const struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const struct limit *limit = &plan_inside_const(call->under.plan)->limit[0];
    const uint64_t full_ns = decide_full_ns(batch, call, decision);
    const uint64_t more = add_saturating(decision->remaining, 1);
    const bool in_time = limit->burst_kind == AMOUNT_TIME;
    uint64_t permits, period_ns;
    rate_of(limit, &permits, &period_ns);
    const uint64_t more_ns = multiply_divide_ceil(more, period_ns, permits);
    const uint64_t burst_ns = in_time ? limit->burst : multiply_divide_floor(limit->burst, period_ns, permits);
    return (struct left){.permits = decision->remaining,
                         .wait_ns = subtract_to_zero(add_saturating(full_ns, more_ns), burst_ns),
                         .all = in_time ? more_ns > burst_ns : more > limit->burst};
}

static struct left left_by_asking(const struct batch *batch, const struct call *call, int limit)
{
    const weir_key key = {call->key.bytes, call->key.size};
    const struct policy_verdict *under = &call->under;
    const uint64_t now_ns = batch->now_ns;
    const uint64_t left = keyed_peek(under->table, under->plan, key, now_ns, limit, 0).remaining;
    const uint64_t more = add_saturating(left, 1);
    const weir_decision next = keyed_peek(under->table, under->plan, key, now_ns, limit, more);
    return (struct left){.permits = left, .wait_ns = decision_retry_ns(&next), .all = next.verdict != WEIR_DENY};
}

/* As the engine has told it of the limit that it names: it is not asked twice. */
static struct left left_of_shared(const struct call *call, const weir_decision *decision)
{
    const bool looked = call->peek && decision->verdict == WEIR_ALLOW;
    return (struct left){.permits = add_saturating(decision->remaining, looked ? call->cost : 0),
                         .wait_ns = decision_retry_ns(decision),
                         .all = decision->verdict != WEIR_DENY};
}

static struct left left_of(const struct batch *batch, const struct call *call, const weir_decision *decision, int limit)
{
    const bool slot = is_one_slot(call) && !call->peek && !call->under.shadow;
    if (slot) return left_of_slot(batch, call, decision);
    return call->under.is_shared ? left_of_shared(call, decision) : left_by_asking(batch, call, limit);
}

static void left_call(struct bytes *out, const struct batch *batch, const struct call *call,
                      const weir_decision *decision, int limit)
{
    const struct left left = left_of(batch, call, decision, limit);
    const bool untold = !headers_ask_table(call) && decision->verdict == WEIR_NEVER; /* of which the state is */
    const bool all = left.all || untold;
    integer(out, ";r=", left.permits);
    if (!all) integer(out, ";t=", most(whole_seconds(left.wait_ns), 1));
}

/* ---- the headers ---- */

/* decision NULL: the policies. */
static void list(struct bytes *out, const char *name, const struct batch *batch, const struct call *call,
                 const weir_decision *decision)
{
    const struct plan *plan = plan_inside_const(call->under.plan);
    const char *before = name;
    for (int i = 0; i < (int)plan->count; i++) {
        if (plan->limit[i].period_ns == 0) continue; /* "unlimited", "none" */
        if (decision != NULL && call->under.is_shared && decision->limit != (uint32_t)i) continue;
        bytes_text(out, before);
        before = ", ";
        policy_name(out, call, i, (int)plan->count);
        if (decision == NULL) policy_call(out, &plan->limit[i]);
        else left_call(out, batch, call, decision, i);
    }
    if (before != name) bytes_text(out, "\r\n");
}

void headers_ratelimit(struct bytes *out, const struct batch *batch, const struct call *call,
                       const weir_decision *decision)
{
    list(out, "RateLimit-Policy: ", batch, call, NULL);
    list(out, "RateLimit: ", batch, call, decision);
}

void headers_x(struct bytes *out, const struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const struct plan *plan = plan_inside_const(call->under.plan);
    const struct limit *limit = &plan->limit[decision->limit < plan->count ? decision->limit : 0];
    if (limit->period_ns == 0) return;
    const uint64_t full_ns = decide_full_ns(batch, call, decision);
    http_add_number(out, "X-RateLimit-Limit", at_once(limit));
    http_add_number(out, "X-RateLimit-Remaining", decision->remaining);
    http_add_number(out, "X-RateLimit-Reset", whole_seconds(full_ns));
}
