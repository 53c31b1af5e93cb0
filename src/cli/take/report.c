/* SPDX-License-Identifier: MIT
   What weir take says, for people and for programs.

   A key is shown harmless, whatever bytes it has; times are rounded up, so that who comes back then is not early. */
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

/* deploy has used 3/h   or   deploy has 2 left of 3/h, not 3 */
static void write_used(struct writer *writer, const struct take *take)
{
    const bool keyed = take->key_text != NULL;
    write_who(writer, take, " has ");
    if (take->cost == 1) {
        if (keyed) write_text(writer, "used ");
        write_limit(writer, take);
        if (!keyed) write_text(writer, " is used up");
        return;
    }
    write_grouped(writer, take->decision.remaining);
    write_text(writer, " left of ");
    write_limit(writer, take);
    write_text(writer, ", not ");
    write_grouped(writer, take->cost);
}

static void write_refusal(struct writer *writer, const struct take *take)
{
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
    trouble("can never be allowed: --cost %llu is more than %s can let through at once%s",
            (unsigned long long)take->cost, text,
            plan_has_units(plan_inside_const(&take->plan))
                ? "; each limit is charged the same; weir serve takes a cost for each: WEIR.TAKE LIMIT KEY COST 1 2000"
                : "");
}

/* ---- for programs ---- */

void take_print_json(const struct take *take)
{
    struct json_file out;
    struct json *json = &out.json;
    const weir_decision *decision = &take->decision;
    const bool allowed = weir_allowed(*decision);
    json_file_open(&out, stdout);
    json_object(json, NULL);
    json_bool(json, "allowed", allowed);
    json_text(json, "limit", take->canonical);
    json_text(json, "key", take->key_text != NULL ? take->key_text : take->canonical);
    json_number(json, "charged", allowed ? decision->charged : 0);
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
