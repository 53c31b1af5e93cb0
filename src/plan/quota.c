/* SPDX-License-Identifier: MIT
   A limit as response headers tell a client of it.

       RateLimit-Policy: "api-1";q=60;w=60, "api-2";q=100000;w=60;qu="tokens"
       RateLimit: "api-1";r=59;t=1, "api-2";r=99500;t=1

   q in w is the rate as it was said, in whole seconds; weir-burst is there where another number passes at once.  r may
   be used now, and nothing more for t seconds: t is when one more would pass.  Where all is there nothing more will
   ever be, and t is left out.  Units other than the draft's own are told all the same: without qu a client would take
   them for requests.  Of a concurrent limit q has no window, and t is there only in a refusal: nobody knows who
   releases when.  Numbers are such that structured fields can hold. */
#include "plan/quota.h"

#include <string.h>

#include "core/num.h"
#include "plan/plan.h"

#define QUOTA_SECOND_NS UINT64_C(1000000000)
#define INTEGER_MAX UINT64_C(999999999999999) /* 15 digits are all that an Integer of structured fields has */

uint64_t quota_seconds(uint64_t ns)
{
    return ns / QUOTA_SECOND_NS + (ns % QUOTA_SECOND_NS != 0);
}

static void rate_of(const struct limit *limit, uint64_t *permits, uint64_t *period_ns)
{
    *permits = limit->count.digits;
    *period_ns = limit->period_ns;
    if (limit->count.places != 0) limit_rate(limit, permits, period_ns);
}

/* Permits in whole seconds, not above the rate; at least one. */
struct quota {
    uint64_t permits, seconds;
};

static struct quota quota_of(const struct limit *limit)
{
    uint64_t permits, period_ns;
    rate_of(limit, &permits, &period_ns);
    const uint64_t seconds = quota_seconds(period_ns);
    if (seconds * QUOTA_SECOND_NS == period_ns) return (struct quota){permits, seconds};
    return (struct quota){multiply_divide_floor(permits, seconds * QUOTA_SECOND_NS, period_ns), seconds};
}

static bool is_concurrent(const struct limit *limit)
{
    return limit->algorithm == ALGORITHM_CONCURRENT;
}

uint64_t quota_at_once(const struct limit *limit)
{
    if (is_concurrent(limit)) return limit->count.digits;
    return limit->burst_kind == AMOUNT_COUNT ? limit->burst : quota_of(limit).permits;
}

struct quota_left quota_left_of(const struct limit *limit, uint64_t remaining, uint64_t full_ns)
{
    const uint64_t more = add_saturating(remaining, 1);
    const bool in_time = limit->burst_kind == AMOUNT_TIME;
    uint64_t permits, period_ns;
    rate_of(limit, &permits, &period_ns);
    const uint64_t more_ns = multiply_divide_ceil(more, period_ns, permits);
    const uint64_t burst_ns = in_time ? limit->burst : multiply_divide_floor(limit->burst, period_ns, permits);
    return (struct quota_left){.permits = remaining,
                               .wait_ns = subtract_to_zero(add_saturating(full_ns, more_ns), burst_ns),
                               .all = in_time ? more_ns > burst_ns : more > limit->burst};
}

static void integer(struct writer *writer, const char *name, uint64_t number)
{
    write_text(writer, name);
    write_number(writer, least(number, INTEGER_MAX));
}

/* Nothing for requests in a window, which are the draft's own. */
static void write_unit(struct writer *writer, const struct limit *limit)
{
    const bool of_requests = strcmp(limit->unit, "requests") == 0 || limit->unit[0] == '\0';
    if (of_requests && !is_concurrent(limit)) return;
    write_text(writer, ";qu=\"");
    if (is_concurrent(limit)) write_text(writer, "concurrent-");
    if (of_requests) write_text(writer, "requests");
    else write_text(writer, strcmp(limit->unit, "bytes") == 0 ? "content-bytes" : limit->unit);
    write_text(writer, "\"");
}

void quota_write_policy(struct writer *writer, const struct limit *limit)
{
    const struct quota quota = is_concurrent(limit) ? (struct quota){quota_at_once(limit), 0} : quota_of(limit);
    integer(writer, ";q=", quota.permits);
    if (quota.seconds != 0) integer(writer, ";w=", quota.seconds);
    write_unit(writer, limit);
    if (quota_at_once(limit) != quota.permits) integer(writer, ";weir-burst=", quota_at_once(limit));
}

void quota_write_left(struct writer *writer, const struct quota_left *left)
{
    integer(writer, ";r=", left->permits);
    if (!left->all) integer(writer, ";t=", most(quota_seconds(left->wait_ns), 1));
}

/* ---- the public function ---- */

static void write_name(struct writer *writer, const struct plan *plan, uint32_t limit)
{
    write_text(writer, "\"default");
    if (plan->count > 1) {
        write_text(writer, "-");
        write_number(writer, (uint64_t)limit + 1);
    }
    write_text(writer, "\"");
}

/* What a decision knows: of a refusal when one more passes, and of a limit with an interval always. */
static struct quota_left left_after(const struct plan *plan, const weir_decision *decision, uint64_t full_ns)
{
    const struct limit *limit = &plan->limit[decision->limit];
    const bool knows_when = decision->verdict == WEIR_DENY && decision->retry_ns != WEIR_FOREVER;
    if (knows_when) return (struct quota_left){decision->remaining, decision->retry_ns, false};
    if (decision->verdict == WEIR_ALLOW && plan->interval[decision->limit] != 0)
        return quota_left_of(limit, decision->remaining, full_ns);
    return (struct quota_left){decision->remaining, 0, true};
}

size_t weir_plan_headers(const weir_plan *plan, const weir_decision *decision, uint64_t full_ns, char *out, size_t size)
{
    struct writer writer = {out, size, 0};
    const struct plan *inside = plan_inside_const(plan);
    write_text(&writer, "");
    if (decision->limit >= inside->count || inside->limit[decision->limit].period_ns == 0) return 0;
    const struct quota_left left = left_after(inside, decision, full_ns);
    write_text(&writer, "RateLimit-Policy: ");
    write_name(&writer, inside, decision->limit);
    quota_write_policy(&writer, &inside->limit[decision->limit]);
    write_text(&writer, "\r\nRateLimit: ");
    write_name(&writer, inside, decision->limit);
    quota_write_left(&writer, &left);
    if (decision->verdict == WEIR_DENY && decision->retry_ns != WEIR_FOREVER)
        integer(&writer, "\r\nRetry-After: ", most(quota_seconds(decision->retry_ns), 1));
    write_text(&writer, "\r\n");
    return writer.length;
}
