/* SPDX-License-Identifier: MIT
   The grammar of an engine: the module and weir.lua read the same texts, and weir's clients write them.

       text   = level { " under " level }                 of tenants: the user's, the organisation's ... all
       level  = limit { ";" limit }                       spaces around ";" and between options, nowhere else
       limit  = "none" | "unlimited" [ " weight=" COUNT ] | rate { " " option } | slots " lease=" COUNT PERIOD
       rate   = COUNT [ " " UNIT ] "/" [ COUNT ] PERIOD   PERIOD: ns us ms s min h d w year
       slots  = COUNT " concurrent" [ " " UNIT ]
       option = NAME [ "=" VALUE ]                        VALUE: a COUNT, a time (COUNT PERIOD), or a word

   A COUNT is digits, up to 2^52, without zeros in front; catchup alone has a decimal point.  A time is at most 2^52 us.
   A UNIT is small letters and ends in "s", as in 10 tokens/s; it changes nothing.  What is not said has the default
   that it has everywhere.  doc/engine.md says the same to those who write them.

   Each plain text is one of weir-limit(7), and means the same there: so it is read by the same parser, and here it is
   only asked whether it is plain.  weir.lua has a parser of its own; test/engine/lua_text.c holds the two against each
   other.

   What micro_text_write writes is read as the same rules. */
#include <string.h>

#include "core/algorithms.h"
#include "core/num.h"
#include "redis/micro/kinds.h"
#include "plan/plan.h"
#include "plan/reader.h"
#include "plan/text.h"

enum { US_NS = 1000, UNIT_LEAST = 3 };

/* ---- is it plain? ---- */

struct scan {
    const char *text;
    size_t at;
};

static char next(const struct scan *scan)
{
    return scan->text[scan->at];
}

static bool skip(struct scan *scan, char c)
{
    if (next(scan) != c) return false;
    scan->at++;
    return true;
}

static bool is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Not plain, from there on. */
static bool stop(struct scan *scan, size_t at)
{
    scan->at = at;
    return false;
}

/* Small letters, and dashes between them. */
static size_t scan_word(struct scan *scan)
{
    const size_t from = scan->at;
    while (is_small(next(scan)) || (next(scan) == '-' && scan->at > from)) scan->at++;
    return scan->at - from;
}

static bool word_is(const struct scan *scan, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(scan->text + scan->at - size, word, size) == 0;
}

static bool scan_number(struct scan *scan, bool point, uint64_t *number)
{
    const bool zero = next(scan) == '0';
    const size_t from = scan->at;
    for (*number = 0; reader_is_digit(next(scan)) || (point && next(scan) == '.'); scan->at++) {
        if (next(scan) == '.') {
            point = false;
            continue;
        }
        *number = *number * 10 + (uint64_t)(next(scan) - '0');
        if (*number > MICRO_MOST) return stop(scan, from);
    }
    return scan->at != from && !(zero && reader_is_digit(scan->text[from + 1])) ? true : stop(scan, from);
}

/* One spelling for each; 0: none of them. */
static uint64_t scan_period(struct scan *scan)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } periods[] = {{"ns", 1},
                   {"us", 1000},
                   {"ms", 1000000},
                   {"s", 1000000000},
                   {"min", UINT64_C(60000000000)},
                   {"h", UINT64_C(3600000000000)},
                   {"d", UINT64_C(86400000000000)},
                   {"w", UINT64_C(604800000000000)},
                   {"year", UINT64_C(31536000000000000)}};
    const size_t size = scan_word(scan);
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        if (word_is(scan, size, periods[i].name)) return periods[i].ns;
    }
    return 0;
}

static bool scan_time(struct scan *scan, uint64_t number)
{
    const size_t from = scan->at;
    const uint64_t ns = scan_period(scan);
    return ns != 0 && (ns < US_NS || number <= MICRO_MOST / (ns / US_NS)) ? true : stop(scan, from);
}

static bool ends_with_s(const char *unit, size_t size)
{
    return size >= UNIT_LEAST && unit[size - 1] == 's';
}

static bool scan_unit(struct scan *scan)
{
    const size_t from = scan->at, size = scan_word(scan);
    return ends_with_s(scan->text + from, size) ? true : stop(scan, from);
}

/* Behind "concurrent" may be a unit, or the options begin. */
static bool scan_slots(struct scan *scan)
{
    const size_t behind = scan->at;
    while (skip(scan, ' ')) continue;
    const size_t from = scan->at, size = scan_word(scan);
    const bool unit = size != 0 && next(scan) != '=';
    if (unit && !ends_with_s(scan->text + from, size)) return stop(scan, from);
    if (!unit) scan->at = behind;
    return true;
}

static bool scan_rate(struct scan *scan)
{
    uint64_t number;
    if (!scan_number(scan, false, &number)) return false;
    const size_t behind = scan->at;
    if (skip(scan, ' ') && word_is(scan, scan_word(scan), "concurrent")) return scan_slots(scan);
    scan->at = behind;
    if (skip(scan, ' ') && !scan_unit(scan)) return false;
    if (!skip(scan, '/')) return false;
    number = 1;
    if (reader_is_digit(next(scan)) && !scan_number(scan, false, &number)) return false;
    return scan_time(scan, number);
}

/* What a value may be the parser has checked; not an alias. */
static bool scan_value(struct scan *scan, bool point)
{
    uint64_t number;
    if (reader_is_digit(next(scan)))
        return scan_number(scan, point, &number) && (!is_small(next(scan)) || scan_time(scan, number));
    const size_t from = scan->at, size = scan_word(scan);
    const bool alias = word_is(scan, size, "token-bucket") || word_is(scan, size, "leaky-bucket");
    return alias || word_is(scan, size, "concurrent") ? stop(scan, from) : true;
}

static bool scan_option(struct scan *scan)
{
    const size_t size = scan_word(scan);
    const bool point = word_is(scan, size, "catchup");
    return size != 0 && (!skip(scan, '=') || scan_value(scan, point));
}

/* Options stand apart, or the parser has refused them. */
static bool scan_limit(struct scan *scan)
{
    while (skip(scan, ' ')) continue;
    if (is_small(next(scan)) ? scan_word(scan) == 0 : !scan_rate(scan)) return false;
    for (;;) {
        while (skip(scan, ' ')) continue;
        if (next(scan) == '\0' || next(scan) == ';') return true;
        if (!scan_option(scan)) return false;
    }
}

/* *at: where it is not. */
static bool is_plain(const char *text, size_t *at)
{
    struct scan scan = {text, 0};
    bool plain;
    do plain = scan_limit(&scan);
    while (plain && skip(&scan, ';'));
    *at = scan.at;
    return plain;
}

static int refuse(const weir_plan *plan, size_t at, weir_error *error)
{
    char text[sizeof error->message];
    struct writer writer = {error->message, sizeof error->message, 0};
    const size_t size = micro_text_write(plan, text, sizeof text);
    *error = (weir_error){.code = WEIR_EINVAL, .column = (int)least(at + 1, INT32_MAX)};
    write_text(&writer, "an engine reads plain numbers and one spelling of each unit; ");
    const bool fits = size != 0 && writer.length + strlen("write ''") + size < sizeof error->message;
    write_text(&writer, fits ? "write '" : "weir explain prints this limit so");
    if (fits) write_text(&writer, text);
    if (fits) write_text(&writer, "'");
    return error->code;
}

static int read_level(struct micro_plan *plan, const char *text, weir_error *error)
{
    weir_plan read;
    size_t at;
    int failed = weir_plan_parse(&read, text, WEIR_ADMIT, error);
    if (failed == 0) failed = micro_plan_make(plan, &read, error);
    if (failed != 0) return failed;
    return is_plain(text, &at) ? 0 : refuse(&read, at, error);
}

/* ---- tenants ---- */

static const char under[] = " under ";
enum { LEVEL_TEXT = 1024 };

static int refuse_levels(weir_error *error, size_t at, const char *what)
{
    *error = (weir_error){.code = WEIR_EUNSUPPORTED, .column = (int)least(at + 1, INT32_MAX)};
    strncpy(error->message, what, sizeof error->message - 1);
    return error->code;
}

/* A parent owes whatever its tenants are guaranteed. */
static int add_level(struct micro_plan *plan, const struct micro_plan *level, size_t at, weir_error *error)
{
    if (plan->count + level->count > WEIR_LIMITS_MAX || plan->levels == MICRO_LEVELS_MAX)
        return refuse_levels(error, at, "a text has at most 8 limits, of up to 4 levels");
    for (unsigned i = 0; i < level->count; i++) {
        struct micro_rule *rule = &plan->rule[plan->count + i];
        if (level->rule[i].kind == MICRO_LOG || level->rule[i].kind == MICRO_CONCURRENT)
            return refuse_levels(error, at,
                                 "of tenants an engine keeps no sliding-log and no concurrent limit, which "
                                 "have keys of their own; ask for these apart");
        *rule = level->rule[i];
        if (rule->kind == MICRO_GCRA && plan->levels > 0) rule->debt = MICRO_MOST - rule->top;
    }
    if (plan->weights.weight == 0) {
        plan->weights.weight = level->weights.weight;
        plan->weights.level = plan->levels;
    }
    plan->many_units = plan->many_units || level->many_units;
    plan->count += level->count;
    plan->first[++plan->levels] = plan->count;
    return 0;
}

/* The limit of the last level whose room is shared by weight, the first by gcra. */
static int find_shared(struct micro_plan *plan, size_t at, weir_error *error)
{
    struct micro_weights *weights = &plan->weights;
    if (weights->level + 1 == plan->levels) weights->weight = 0; /* with nobody beside it */
    if (weights->weight == 0) return 0;
    unsigned i = plan->first[plan->levels - 1];
    while (i < plan->count && plan->rule[i].kind != MICRO_GCRA) i++;
    weights->limit = i;
    if (i == plan->count)
        return refuse_levels(error, at,
                             "weights share a rate: expected a limit by gcra in their parent; for example "
                             "unlimited weight=2 under 400/s");
    if (weights_make(weights, &plan->rule[i])) return 0;
    return refuse_levels(error, at,
                         "this burst is too large for an engine to share it by weight; write a smaller one, "
                         "for example unlimited weight=2 under 400/s burst=100");
}

static int read_tenants(struct micro_plan *plan, const char *text, weir_error *error)
{
    char level_text[LEVEL_TEXT + 1];
    struct micro_plan level;
    int failed = 0;
    *plan = (struct micro_plan){.count = 0};
    const char *at = text;
    while (failed == 0) {
        const char *const end = strstr(at, under);
        const size_t size = end != NULL ? (size_t)(end - at) : strlen(at);
        if (size > LEVEL_TEXT) return refuse_levels(error, 0, "a text has at most 1024 bytes");
        memcpy(level_text, at, size);
        level_text[size] = '\0';
        failed = read_level(&level, level_text, error);
        if (failed != 0 && error->column > 0) error->column += (int)(at - text);
        if (failed == 0) failed = add_level(plan, &level, (size_t)(at - text), error);
        if (end == NULL) break;
        at = end + strlen(under);
    }
    return failed != 0 ? failed : find_shared(plan, (size_t)(at - text), error);
}

int micro_text_read(struct micro_plan *plan, const char *text, weir_error *error)
{
    return strstr(text, under) == NULL ? read_level(plan, text, error) : read_tenants(plan, text, error);
}

/* ---- any limit in plain words ---- */

static bool time_is_plain(uint64_t ns)
{
    return (ns % US_NS == 0 ? ns / US_NS : ns) <= MICRO_MOST;
}

/* A rate that lines and leaky have is only a ratio. */
static void make_ratio_plain(struct limit *limit)
{
    uint64_t permits, period_ns;
    if (limit->count.places == 0 && limit->count.digits <= MICRO_MOST && time_is_plain(limit->period_ns)) return;
    if (!limit_rate(limit, &permits, &period_ns)) return;
    if (!time_is_plain(period_ns)) {
        const uint64_t common = greatest_common_divisor(period_ns, US_NS);
        permits = multiply_saturating(permits, US_NS / common);
        period_ns = multiply_saturating(period_ns / common, US_NS);
    }
    limit->count = (struct decimal){permits, 0};
    limit->period_ns = period_ns;
}

/* To the us at which the same calls pass: rule.c rounds up, and begins a ns later where the edge is closed. */
static void make_times_plain(struct limit *limit)
{
    const uint64_t up_ns = limit->edge == EDGE_CLOSED ? 0 : US_NS;
    if (!time_is_plain(limit->period_ns)) limit->period_ns += up_ns - limit->period_ns % US_NS;
    if (!time_is_plain(limit->time_ns)) limit->time_ns += US_NS - limit->time_ns % US_NS;
}

static struct limit plain_limit(const struct limit *limit)
{
    struct limit plain = *limit;
    const size_t unit = strlen(limit->unit);
    size_t small = 0;
    while (is_small(limit->unit[small]) || limit->unit[small] == '-') small++;
    if (small != unit || !ends_with_s(limit->unit, unit)) memcpy(plain.unit, "requests", sizeof "requests");
    plain.delay = least(plain.delay, MICRO_MOST);
    if (limit->burst_kind != AMOUNT_NONE) make_ratio_plain(&plain);
    else make_times_plain(&plain);
    return plain;
}

static bool is_same(const struct micro_plan *plan, const char *text)
{
    struct micro_plan read;
    weir_plan parsed;
    size_t at;
    return is_plain(text, &at) && weir_plan_parse(&parsed, text, WEIR_ADMIT, NULL) == 0 &&
           micro_plan_make(&read, &parsed, NULL) == 0 && memcmp(read.rule, plan->rule, sizeof read.rule) == 0;
}

size_t micro_text_write(const weir_plan *plan, char *out, size_t size)
{
    const struct plan *inside = plan_inside_const(plan);
    struct writer writer = {out, size, 0};
    struct micro_plan micro;
    if (micro_plan_make(&micro, plan, NULL) != 0) return 0;
    for (uint64_t i = 0; i < inside->count; i++) {
        const struct limit plain = plain_limit(&inside->limit[i]);
        if (i > 0) write_text(&writer, "; ");
        text_write(&writer, &plain);
    }
    return writer.length >= size || is_same(&micro, out) ? writer.length : 0;
}
