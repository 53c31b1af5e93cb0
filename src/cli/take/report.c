/* SPDX-License-Identifier: MIT
   What weir take says, for people and for programs.

   A key is shown harmless, whatever bytes it has; times are rounded up, so that a caller that comes back then is not
   early. */
#include <inttypes.h>
#include <string.h>

#include "cli/common/json_file.h"
#include "cli/take/take.h"
#include "core/decide.h"
#include "core/num.h"
#include "plan/plan.h"
#include "plan/text.h"

enum { SHOWN_MAX = 60 };

/* ---- parts of a line ---- */

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Control bytes would move the cursor or worse; a long key is cut, but not within a character. */
static void write_shown(struct writer *writer, const char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (i >= SHOWN_MAX && !continues(text[i])) {
            write_text(writer, "...");
            return;
        }
        write_bytes(writer, byte < ' ' || byte == 127 ? "?" : text + i, 1);
    }
}

static const struct limit *limit_named(const struct take *take)
{
    return &plan_inside_const(&take->plan)->limit[take->decision.limit];
}

/* As it was typed; of a list only the one that the decision names. */
static void write_limit(struct writer *writer, const struct take *take)
{
    if (weir_plan_limits(&take->plan) == 1) write_shown(writer, take->limit);
    else text_write(writer, limit_named(take));
}

static void write_who(struct writer *writer, const struct take *take, const char *verb)
{
    if (take->key_text == NULL) return;
    write_shown(writer, take->key_text);
    write_text(writer, verb);
}

/* Under the limit that the decision names. */
static uint64_t cost_of(const struct take *take)
{
    return take->each[take->decision.limit];
}

/* Of the limit that the decision names; the decision's own number is the least of all limits, whatever they count. */
static uint64_t left_of(const struct take *take)
{
    const weir_decision *decision = &take->decision;
    if (take->table == NULL || weir_plan_limits(&take->plan) == 1) return decision->remaining;
    return weir_table_peek(take->table, &take->plan, take->key, (int)decision->limit, cost_of(take)).remaining;
}

/* deploy has used 3/h   or   deploy has 2 left of 3/h, not 3 */
static void write_used(struct writer *writer, const struct take *take)
{
    const bool keyed = take->key_text != NULL;
    write_who(writer, take, " has ");
    if (cost_of(take) == 1) {
        if (keyed) write_text(writer, "used ");
        write_limit(writer, take);
        if (!keyed) write_text(writer, " is used up");
        return;
    }
    write_grouped(writer, left_of(take));
    write_text(writer, " left of ");
    write_limit(writer, take);
    write_text(writer, ", not ");
    write_grouped(writer, cost_of(take));
}

/* backup: all of 3 concurrent lease=1h are held; the next lease ends in 59 min, or sooner if released */
static void write_held(struct writer *writer, const struct take *take)
{
    const uint64_t free = left_of(take);
    write_who(writer, take, free == 0 ? ": " : " has ");
    if (free != 0) write_grouped(writer, free);
    write_text(writer, free == 0 ? "all of " : " left of ");
    write_limit(writer, take);
    write_text(writer, free == 0 ? " are held" : ", not ");
    if (free != 0) write_grouped(writer, cost_of(take));
    write_text(writer, free == 0 ? "; the next lease ends in " : "; enough leases end in ");
    write_wait(writer, take->decision.retry_ns);
    write_text(writer, ", or sooner if released");
    if (take->wait_ns == 0) return;
    write_text(writer, "; none was within --wait ");
    write_time(writer, take->wait_ns);
}

static void write_refusal(struct writer *writer, const struct take *take)
{
    if (limit_named(take)->algorithm == ALGORITHM_CONCURRENT) {
        write_held(writer, take);
        return;
    }
    write_used(writer, take);
    write_text(writer, "; again in ");
    write_wait(writer, take->decision.retry_ns);
    if (take->wait_ns == 0) return;
    write_text(writer, ", later than --wait ");
    write_time(writer, take->wait_ns);
}

/* ---- for people ---- */

void take_print_refusal(const struct take *take, FILE *out)
{
    char text[TAKE_TEXT_MAX];
    struct writer writer = {text, sizeof text, 0};
    write_refusal(&writer, take);
    fprintf(out, "%srefused: %s\n", out == stderr ? "weir: " : "", text);
}

/* What is implied by the limit is never silent: here it is said. */
static void print_limits(const struct take *take)
{
    const struct plan *plan = plan_inside_const(&take->plan);
    for (uint64_t i = 0; i < plan->count; i++) {
        char text[TAKE_TEXT_MAX];
        struct writer writer = {text, sizeof text, 0};
        text_write(&writer, &plan->limit[i]);
        write_text(&writer, "\n");
        explain_most(plan, i, &writer);
        fputs(text, stdout);
    }
}

static void print_would_pass(const struct take *take)
{
    char text[64];
    struct writer writer = {text, sizeof text, 0};
    const uint64_t more = take->decision.remaining;
    write_grouped(&writer, more);
    if (more == UINT64_MAX) printf("would pass; any number more at once\n");
    else if (more == 0) printf("would pass; no more at once\n");
    else printf("would pass; %s more at once\n", text);
}

void take_print_peek(const struct take *take)
{
    if (weir_allowed(take->decision)) {
        print_would_pass(take);
    } else {
        fputs("would be ", stdout);
        take_print_refusal(take, stdout);
    }
    print_limits(take);
}

void take_print_never(const struct take *take)
{
    char text[TAKE_TEXT_MAX];
    struct writer writer = {text, sizeof text, 0};
    const struct limit *limit = limit_named(take);
    if (limit->algorithm == ALGORITHM_NONE) {
        trouble("can never be allowed: the limit \"none\" lets nothing through");
        return;
    }
    text_write(&writer, limit);
    trouble("can never be allowed: %llu %s are more than %s can let through at once", (unsigned long long)cost_of(take),
            limit->unit, text);
}

/* ---- for programs ---- */

/* A number, or one for each unit. */
static void put_charged(struct json *json, const struct take *take)
{
    const struct plan *plan = plan_inside_const(&take->plan);
    const bool charged = weir_allowed(take->decision) && !take->peek;
    if (!plan_has_units(plan)) {
        json_number(json, "charged", charged ? take->each[0] : 0);
        return;
    }
    json_object(json, "charged");
    for (uint64_t i = 0; i < plan->count; i++) {
        bool first = true;
        for (uint64_t k = 0; k < i; k++) first = first && strcmp(plan->limit[k].unit, plan->limit[i].unit) != 0;
        if (first) json_number(json, plan->limit[i].unit, charged ? take->each[i] : 0);
    }
    json_end_object(json);
}

void take_print_json(const struct take *take)
{
    struct json_file out;
    struct json *json = &out.json;
    char id[24];
    const weir_decision *decision = &take->decision;
    const bool allowed = weir_allowed(*decision);
    json_file_open(&out, stdout);
    json_object(json, NULL);
    json_bool(json, "allowed", allowed);
    json_text(json, "limit", take->canonical);
    json_text(json, "key", take->key_text != NULL ? take->key_text : take->canonical);
    put_charged(json, take);
    if (take->lease_ns != 0 && allowed && !take->peek) {
        snprintf(id, sizeof id, "%" PRIu64, decision->end);
        json_text(json, "id", id);
    }
    if (decision->remaining == UINT64_MAX) json_null(json, "remaining");
    else json_number(json, "remaining", decision->remaining);
    json_number(json, "now_ns", take->asked_ns);
    json_number(json, "start_ns", decision->start.ns);
    json_number(json, "late_ns", decision_late_ns(decision));
    json_number(json, "delay_ns", take->waited && allowed ? subtract_to_zero(decision->start.ns, take->asked_ns) : 0);
    if (decision->verdict == WEIR_NEVER) json_null(json, "retry_ns");
    else json_number(json, "retry_ns", decision_retry_ns(decision));
    json_file_end(&out);
    json_file_flush(&out);
}
