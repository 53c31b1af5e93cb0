/* SPDX-License-Identifier: MIT
   weir explain: what a limit lets through, before it is used.

   The numbers of core/facts.c, in words or as JSON. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/memory.h"
#include "cli/common/arguments.h"
#include "cli/common/json_file.h"
#include "cli/explain/hold_plot.h"
#include "cli/explain/plot.h"
#include "cli/explain/rate_plot.h"
#include "core/algorithm.h"
#include "core/num.h"
#include "plan/dialect.h"
#include "plan/plan.h"
#include "plan/text.h"
#include "plan/words.h"
#include "redis/micro/micro.h"
#include "serve/policy/policy.h"

enum { TEXT_MAX = 8192 };

struct asked {
    bool pace, json;
    uint64_t window_ns, starts;   /* 0: none */
    const char *picture, *system; /* NULL: none */
};

static bool read_window(const struct option_row *row, const char *value, void *into)
{
    if (!argument_time(row, value, into)) return false;
    if (*(uint64_t *)into == 0) trouble("--window \"%s\": a window is at least 1 ns long", value);
    return *(uint64_t *)into != 0;
}

static bool read_system(const struct option_row *row, const char *value, void *into)
{
    *(const char **)into = value;
    return dialect_find(value) >= 0 || argument_wrong_word(row, value);
}

#define AT(field) .at = offsetof(struct asked, field)

static const struct option_row option_rows[] = {
    {"pace", 0, NULL, "use the defaults of weir pace (hybrid) instead of admission (gcra)", argument_flag, AT(pace)},
    {"window", 0, "TIME", "also print the most in any window of this length", read_window, AT(window_ns)},
    {"as", 0, "SYSTEM", "print only the limit as a configuration of nginx, haproxy, envoy or redis-cell", read_system,
     AT(system), .words = "nginx haproxy envoy redis-cell"},
    {"json", 0, NULL, "print one JSON object instead of text", argument_flag, AT(json)},
    {"starts", 0, "N", "print only the first N scheduled starts in ns, for a caller that is always ready",
     argument_count, AT(starts)},
    {"svg", 0, "FILE", "write the plot to FILE as SVG, and print nothing", argument_text, AT(picture)},
};

static void put_window(struct json *json, const struct limit *limit, uint64_t window_ns)
{
    json_object(json, NULL);
    json_number(json, "window_ns", window_ns);
    if (limit->arrivals == ARRIVALS_POISSON) {
        const uint64_t mean = facts_mean_in(limit, window_ns), rarely = arrivals_quantile(mean);
        json_null(json, "most");
        json_number(json, "mean", mean >> ARRIVALS_MEAN_BITS);
        if (rarely == UINT64_MAX) json_null(json, "p999");
        else json_number(json, "p999", rarely);
    } else {
        json_number(json, "most", facts_most_in(limit, window_ns));
    }
    json_end_object(json);
}

static void put_per_s(struct json *json, const char *name, const struct profile *profile, uint64_t permits)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", (double)permits * 1e9 / (double)profile->period_ns);
    json_decimal(json, name, text);
}

static void put_phases(struct json *json, const struct limit *limit)
{
    struct profile profile;
    size_t at;
    if (limit->phases == 0) return;
    profile_make(&profile, limit, &at);
    json_array(json, "phases");
    for (unsigned i = 0; i < limit->phases; i++) {
        const struct profile_phase *phase = &profile.phase[i];
        if (phase->lasts_ns == 0) continue;
        json_object(json, NULL);
        put_per_s(json, "from_per_s", &profile, phase->from);
        put_per_s(json, "to_per_s", &profile, phase->to);
        json_number(json, "begins_ns", phase->begins_ns);
        if (phase->lasts_ns == UINT64_MAX) json_null(json, "lasts_ns");
        else json_number(json, "lasts_ns", phase->lasts_ns);
        if (phase->lasts_ns == UINT64_MAX) json_null(json, "starts");
        else json_number(json, "starts", profile_starts(&profile, i + 1) - profile_starts(&profile, i));
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_facts(struct json *json, const struct limit *limit, const struct rule *rule, uint64_t window_ns)
{
    const struct facts facts = facts_of(limit, rule);
    json_number(json, "fresh", facts.fresh);
    json_number(json, "from_rest", facts.at_once);
    json_number(json, "group", facts.group);
    json_number(json, "spacing_ns", facts.spacing_ns);
    json_number(json, "refill_ns", facts.full_ns);
    if (facts.largest == UINT64_MAX) json_null(json, "largest");
    else json_number(json, "largest", facts.largest);
    json_number(json, "state_bytes", facts.state_bytes);
    json_array(json, "windows");
    put_window(json, limit, limit->period_ns);
    if (window_ns != 0) put_window(json, limit, window_ns);
    json_end_array(json);
}

/* Of a concurrent limit. */
static void put_slots(struct json *json, const struct limit *limit, const struct rule *rule)
{
    const struct facts facts = facts_of(limit, rule);
    json_number(json, "at_once", limit->count.digits);
    json_number(json, "lease_ns", limit->time_ns);
    json_number(json, "largest", facts.largest);
    json_number(json, "state_bytes", facts.state_bytes);
}

static void put_limit(struct json *json, const struct limit *limit, const struct rule *rule, uint64_t window_ns)
{
    char text[TEXT_MAX];
    struct writer writer = {text, sizeof text, 0};
    text_write(&writer, limit);
    json_object(json, NULL);
    json_text(json, "limit", text);
    json_text(json, "algorithm", words_algorithm_name(limit->algorithm));
    json_text(json, "unit", limit->unit);
    put_phases(json, limit);
    if (limit->algorithm == ALGORITHM_CONCURRENT) put_slots(json, limit, rule);
    else if (limit->algorithm != ALGORITHM_UNLIMITED && limit->algorithm != ALGORITHM_NONE)
        put_facts(json, limit, rule, window_ns);
    if (limit_weight(limit) != 0) json_number(json, "weight", limit_weight(limit));
    json_end_object(json);
}

static void put_memory(struct json *json, const struct plan_memory *memory)
{
    json_object(json, "memory");
    json_number(json, "state_bytes", memory->state_bytes);
    json_number(json, "limiter_bytes", memory->limiter_bytes);
    json_number(json, "table_key_bytes", memory->table_key_bytes);
    json_number(json, "file_key_bytes", memory->file_key_bytes);
    json_end_object(json);
}

static void print_json(const weir_plan *public, const struct plan_memory *memory, uint64_t window_ns)
{
    const struct plan *plan = plan_inside_const(public);
    struct json_file out;
    struct json *json = &out.json;
    char engine[TEXT_MAX];
    json_file_open(&out, stdout);
    json_object(json, NULL);
    json_array(json, "limits");
    for (uint64_t i = 0; i < plan->count; i++) put_limit(json, &plan->limit[i], &plan->rule[i], window_ns);
    json_end_array(json);
    put_memory(json, memory);
    if (micro_text_write(public, engine, sizeof engine) != 0) json_text(json, "engine", engine);
    else json_null(json, "engine");
    json_file_end(&out);
    json_file_flush(&out);
}

/* The text that an engine reads, to be pasted. */
static void explain_engine(const weir_plan *plan, struct writer *writer)
{
    char text[TEXT_MAX];
    if (micro_text_write(plan, text, sizeof text) == 0) return;
    write_text(writer, "  for an engine   '");
    write_text(writer, text);
    write_text(writer, "'\n");
}

/* What a client may ask for where others wait for its call, and what that costs at most. */
static void explain_logs(const weir_plan *plan, struct writer *writer)
{
    const struct plan *inside = plan_inside_const(plan);
    struct micro_plan there;
    uint64_t permits = 0, steps = 0;
    const bool kept = micro_plan_make(&there, plan, NULL) == 0;
    for (uint64_t i = 0; i < inside->count; i++) {
        if (inside->limit[i].algorithm != ALGORITHM_SLIDING_LOG) continue;
        permits = add_saturating(permits, inside->limit[i].count.digits);
        steps += kept ? micro_log_steps(&there.rule[i]) : 0;
    }
    if (permits == 0) return;
    write_text(writer, "  in weir serve   ");
    if (permits <= BACKEND_LOG_MAX) {
        write_text(writer, "a call of any cost takes up to ");
        write_grouped(writer, 2 * permits);
        write_text(writer, " steps; ");
    }
    write_text(writer, "logs have up to ");
    write_grouped(writer, BACKEND_LOG_MAX);
    write_text(writer, " permits, in a client's text ");
    write_grouped(writer, BACKEND_TEXT_LOG_MAX);
    write_text(writer, "\n  in an engine    ");
    if (kept) {
        write_text(writer, "a call of any cost takes up to ");
        write_grouped(writer, steps);
        write_text(writer, " steps; ");
    }
    write_text(writer, "logs have up to ");
    write_grouped(writer, MICRO_LOG_MAX);
    write_text(writer, " permits\n");
}

static void print_words(const weir_plan *plan, uint64_t window_ns)
{
    char text[TEXT_MAX];
    struct writer writer = {text, sizeof text, 0};
    const struct plan_memory memory = api_memory(plan);
    explain(plan_inside_const(plan), &memory, window_ns, &writer);
    explain_logs(plan, &writer);
    explain_engine(plan, &writer);
    fputs(text, stdout);
    struct plot plot;
    struct hold_plot hold;
    if (plan_has_profile(plan_inside_const(plan))) rate_plot_print(&plan_inside_const(plan)->limit[0], stdout);
    else if (hold_plot_make(&hold, plan)) hold_plot_print(&hold, stdout);
    else if (plot_make(&plot, plan)) plot_print(&plot, stdout);
}

static int write_picture(const weir_plan *plan, const char *path)
{
    struct plot plot;
    char title[TEXT_MAX];
    weir_plan_text(plan, title, sizeof title);
    const bool rated = algorithm_of(&plan_inside_const(plan)->rule[0])->words != 0;
    struct hold_plot hold;
    const bool profile = plan_has_profile(plan_inside_const(plan)), holds = hold_plot_make(&hold, plan);
    if (!profile && !holds && !plot_make(&plot, plan))
        return trouble("--svg %s: there is nothing to plot for %s%s", path, title, rated ? ", it is too large" : "");
    FILE *out = fopen(path, "w");
    if (out == NULL) return trouble("--svg %s: %s", path, strerror(errno));
    if (profile) rate_plot_svg(&plan_inside_const(plan)->limit[0], title, out);
    else if (holds) hold_plot_svg(&hold, title, out);
    else plot_svg(&plot, title, out);
    const bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad) return trouble("--svg %s: %s", path, strerror(errno));
    return STATUS_DONE;
}

static int print_as(const struct plan *plan, const char *system)
{
    char text[TEXT_MAX];
    struct writer writer = {text, sizeof text, 0};
    const char *reason = dialect_write(&writer, dialect_find(system), plan);
    if (reason != NULL) {
        trouble("%s has no equivalent of this limit: %s", system, reason);
        return STATUS_REFUSED;
    }
    fputs(text, stdout);
    return STATUS_DONE;
}

/* Each call comes at the start of the one before and waits for its own.  Fewer are printed where a profile ends. */
static int print_starts(const weir_plan *plan, uint64_t count)
{
    uint64_t now_ns = 0;
    void *state = calloc(1, weir_state_size(plan));
    if (state == NULL) return trouble("--starts: no memory");
    for (uint64_t i = 0; i < count;) {
        const weir_decision decision = weir_decide_within(plan, state, (weir_instant){now_ns}, 1, WEIR_FOREVER);
        if (weir_allowed(decision)) {
            now_ns = decision.start.ns;
            printf("%llu\n", (unsigned long long)now_ns);
            i++;
            continue;
        }
        if (decision.verdict != WEIR_DENY || decision.retry_ns == WEIR_FOREVER) break;
        now_ns = add_saturating(now_ns, decision.retry_ns); /* where nothing can be taken ahead */
    }
    free(state);
    return STATUS_DONE;
}

static int run(int argc, char **argv)
{
    struct asked asked = {.pace = false};
    const int status = arguments_read(explain_command(), argc, argv, &asked);
    if (status != ARGUMENTS_END) return status;
    if (argc - optind != 1) {
        return trouble("explain: expected one limit%s; for example weir explain '10/s burst=20'",
                       argc == optind ? "" : ", in quotes when it has spaces");
    }
    weir_plan plan;
    weir_error error;
    if (weir_plan_parse(&plan, argv[optind], asked.pace ? WEIR_PACE : WEIR_ADMIT, &error) != 0)
        return limit_trouble(argv[optind], &error);
    if (asked.starts != 0) return print_starts(&plan, asked.starts);
    if (asked.system != NULL) return print_as(plan_inside_const(&plan), asked.system);
    if (asked.picture != NULL) return write_picture(&plan, asked.picture);
    const struct plan_memory memory = api_memory(&plan);
    if (asked.json) print_json(&plan, &memory, asked.window_ns);
    else print_words(&plan, asked.window_ns);
    return STATUS_DONE;
}

const struct command *explain_command(void)
{
    static const struct command explain_row = {
        .name = "explain",
        .synopsis = "LIMIT [OPTION]...",
        .summary = "show what a limit lets through, in words and numbers",
        .details = "  weir explain 10/min\n"
                   "  weir explain '10/s burst=20; 1000/h' --window 5min\n"
                   "  weir explain 12000,1.1\n"
                   "  weir explain --pace '100/s..1000/s for 30s then 1000/s for 5min' --starts 5\n"
                   "  weir explain '10/s burst=21' --as nginx\n",
        .options = option_rows,
        .option_count = sizeof option_rows / sizeof option_rows[0],
        .run = run,
    };
    return &explain_row;
}
