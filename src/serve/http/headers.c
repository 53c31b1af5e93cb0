/* SPDX-License-Identifier: MIT
   What a client is told of its limits in headers: Retry-After, RateLimit-Policy and RateLimit as in
   draft-ietf-httpapi-ratelimit-headers-11, X-RateLimit-*.

   Written as in plan/quota.c.  Of a limit that an engine keeps and that is no line, t is left out unless it refuses:
   the engine is asked once.  Of several limits each has its place in the text as part of its name; of those that an
   engine keeps only the one that the answer names is told.

   Retry-After is never too early and at most 1.1 times and a second too
   late. */
#include "serve/http/headers.h"

#include "api/table/keyed.h"
#include "core/decide.h"
#include "core/num.h"
#include "format/http.h"
#include "plan/plan.h"
#include "plan/quota.h"

/* ---- Retry-After ---- */

/* The jitter is a hash: it needs no state, and a test with its own clock knows it.  It hides nothing, so its secret is
   none. */
uint64_t headers_retry_s(uint64_t retry_ns, struct slice key, uint64_t now_ns)
{
    static const struct secret known = {{0, 0}};
    const uint64_t share = hash_key(&known, key.bytes, key.size, now_ns) >> 32; /* of a tenth, in 2^-32 */
    const uint64_t later_ns = multiply_shift_floor(retry_ns / 10, share, 32);
    return most(quota_seconds(add_saturating(retry_ns, later_ns)), 1);
}

/* ---- writing ---- */

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

static void policy_parameters(struct bytes *out, const struct limit *limit)
{
    char text[QUOTA_MAX];
    struct writer writer = {text, sizeof text, 0};
    quota_write_policy(&writer, limit);
    bytes_add(out, (struct slice){text, writer.length});
}

/* ---- what is left ---- */

static bool is_one_slot(const struct call *call)
{
    const struct plan *plan = plan_inside_const(call->under.plan);
    return plan->count == 1 && plan->interval[0] != 0;
}

bool headers_ask_table(const struct call *call)
{
    if (call->under.parent != NULL) return false; /* it was asked when the call was answered */
    return !call->under.is_shared && (!is_one_slot(call) || call->peek || call->under.shadow);
}

static struct quota_left left_of_slot(const struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const struct limit *limit = &plan_inside_const(call->under.plan)->limit[0];
    return quota_left_of(limit, decision->remaining, decide_full_ns(batch, call, decision));
}

/* Of a concurrent limit it is not asked when there is one more: somebody may release sooner. */
static struct quota_left left_by_asking(const struct batch *batch, const struct call *call,
                                        const weir_decision *decision, int limit)
{
    const weir_key key = {call->key.bytes, call->key.size};
    const struct policy_verdict *under = &call->under;
    const uint64_t now_ns = batch->now_ns;
    const uint64_t left = keyed_peek(under->table, under->plan, key, now_ns, limit, 0).remaining;
    const bool refuses = decision->verdict == WEIR_DENY && decision->limit == (uint32_t)limit;
    if (decide_holder(plan_rules(plan_inside_const(under->plan))) == limit)
        return (struct quota_left){.permits = left, .wait_ns = decision_retry_ns(decision), .all = !refuses};
    const uint64_t more = add_saturating(left, 1);
    const weir_decision next = keyed_peek(under->table, under->plan, key, now_ns, limit, more);
    return (struct quota_left){.permits = left, .wait_ns = decision_retry_ns(&next), .all = next.verdict != WEIR_DENY};
}

/* As the engine has told it of the limit that it names: it is not asked twice. */
static struct quota_left left_of_shared(const struct call *call, const weir_decision *decision)
{
    const bool looked = call->peek && decision->verdict == WEIR_ALLOW;
    return (struct quota_left){.permits = add_saturating(decision->remaining, looked ? call->cost : 0),
                               .wait_ns = decision_retry_ns(decision),
                               .all = decision->verdict != WEIR_DENY};
}

static struct quota_left left_of(const struct batch *batch, const struct call *call, const weir_decision *decision,
                                 int limit)
{
    const bool slot = is_one_slot(call) && !call->peek && !call->under.shadow;
    if (slot) return left_of_slot(batch, call, decision);
    return call->under.is_shared ? left_of_shared(call, decision) : left_by_asking(batch, call, decision, limit);
}

static void left_parameters(struct bytes *out, const struct batch *batch, const struct call *call,
                            const weir_decision *decision, int limit)
{
    struct quota_left left = left_of(batch, call, decision, limit);
    const bool untold = !headers_ask_table(call) && decision->verdict == WEIR_NEVER; /* of which the state is */
    char text[QUOTA_MAX];
    struct writer writer = {text, sizeof text, 0};
    left.all |= untold;
    quota_write_left(&writer, &left);
    bytes_add(out, (struct slice){text, writer.length});
}

/* ---- the headers ---- */

/* Of a tenant: the parent's policies; and one item, for which it does not matter whose room is left. */
static void list_of_tenant(struct bytes *out, const struct call *call, const weir_decision *decision)
{
    const struct plan *parent = plan_inside_const(call->under.parent);
    const struct quota_left left = {
        .permits = decision->remaining, .wait_ns = decision_retry_ns(decision), .all = decision->verdict != WEIR_DENY};
    const char *before = "RateLimit-Policy: ";
    char text[QUOTA_MAX];
    struct writer writer = {text, sizeof text, 0};
    for (int i = 0; i < (int)parent->count; i++) {
        bytes_text(out, before);
        before = ", ";
        policy_name(out, call, i, (int)parent->count);
        policy_parameters(out, &parent->limit[i]);
    }
    bytes_text(out, "\r\nRateLimit: ");
    policy_name(out, call, (int)call->each->of[1].limit, (int)parent->count);
    quota_write_left(&writer, &left);
    bytes_add(out, (struct slice){text, writer.length});
    bytes_text(out, "\r\n");
}

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
        if (decision == NULL) policy_parameters(out, &plan->limit[i]);
        else left_parameters(out, batch, call, decision, i);
    }
    if (before != name) bytes_text(out, "\r\n");
}

void headers_ratelimit(struct bytes *out, const struct batch *batch, const struct call *call,
                       const weir_decision *decision)
{
    if (call->under.parent != NULL) {
        list_of_tenant(out, call, decision);
        return;
    }
    list(out, "RateLimit-Policy: ", batch, call, NULL);
    list(out, "RateLimit: ", batch, call, decision);
}

void headers_x(struct bytes *out, const struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const struct policy_verdict *under = &call->under;
    const struct plan *plan = plan_inside_const(under->parent != NULL ? under->parent : under->plan);
    const bool told = under->parent == NULL && decision->limit < plan->count;
    const struct limit *limit = &plan->limit[told ? decision->limit : 0];
    if (limit->period_ns == 0) return;
    const uint64_t full_ns = decide_full_ns(batch, call, decision);
    http_add_number(out, "X-RateLimit-Limit", quota_at_once(limit));
    http_add_number(out, "X-RateLimit-Remaining", decision->remaining);
    http_add_number(out, "X-RateLimit-Reset", quota_seconds(full_ns));
}
