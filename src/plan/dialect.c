/* SPDX-License-Identifier: MIT
   dialect.c - a limit in the words of nginx, haproxy, envoy or redis-cell, where they have words for it.

   What is printed the other system accepts; where it then counts otherwise than weir a line says how.

   May touch: the writer's buffer.  Promises: a limit that would mean something else there is refused, with the reason.
   Leaves to others: running it. */
#include "plan/dialect.h"

#include <string.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "plan/text.h"

enum dialect { NGINX, HAPROXY, ENVOY, REDIS_CELL, DIALECTS };

static const char *const names[DIALECTS] = {"nginx", "haproxy", "envoy", "redis-cell"};

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static const char not_requests[] = "it counts requests, and this limit counts another unit";
static const char fractional_burst[] = "its burst is a whole number of requests; write burst as a count";
static const char starts_empty[] = "it starts full, and start=empty does not";
static const char one_limit[] = "it takes one limit there; ask for each of the list";

int find_dialect(const char *name)
{
    for (int i = 0; i < DIALECTS; i++) {
        if (strcmp(names[i], name) == 0) return i;
    }
    return -1;
}

/* ---- what the systems share ---- */

/* A limit in whole numbers: permits in period_ns, reduced, and burst of them at once. */
struct numbers {
    uint64_t permits, period_ns, burst;
};

static bool numbers_of(const struct limit *limit, struct numbers *numbers)
{
    if (!limit_rate(limit, &numbers->permits, &numbers->period_ns)) return false;
    numbers->burst = limit->burst;
    if (limit->burst_kind != AMOUNT_TIME) return true;
    /* Reduced, so that the time holds whole permits when it is a multiple of the period. */
    numbers->burst = multiply_divide_floor(limit->burst / numbers->period_ns, numbers->permits, 1);
    return limit->burst % numbers->period_ns == 0;
}

/* Permits in this time, if that is a whole number; else 0. */
static uint64_t whole_in(const struct numbers *numbers, uint64_t ns)
{
    return ns % numbers->period_ns != 0 ? 0 : multiply_divide_floor(numbers->permits, ns / numbers->period_ns, 1);
}

static bool counts_requests(const struct limit *limit)
{
    return strcmp(limit->unit, "requests") == 0;
}

static void line(struct writer *writer, const char *text)
{
    write_text(writer, text);
    write_text(writer, "\n");
}

static void number(struct writer *writer, const char *before, uint64_t value, const char *after)
{
    write_text(writer, before);
    write_number(writer, value);
    write_text(writer, after);
}

/* ---- nginx: limit_req ---- */

enum { NGINX_RATE_MAX = 1000000, PER_REQUEST = 1000, SECONDS_A_MINUTE = 60 };

/* A rate as nginx reads it: so many r/s or r/m, and the thousandths a second that it makes of them. */
struct nginx_rate {
    uint64_t count, thousandths;
    bool a_minute, exact;
};

static bool nginx_rate_of(const struct numbers *numbers, struct nginx_rate *rate)
{
    const uint64_t thousandths = whole_in(numbers, PER_REQUEST * SECOND);
    rate->count = whole_in(numbers, SECOND);
    rate->a_minute = rate->count == 0;
    if (rate->a_minute) rate->count = whole_in(numbers, MINUTE);
    /* 0.166/s is what 10r/m is to nginx. */
    if (rate->count == 0) rate->count = multiply_divide_ceil(thousandths, SECONDS_A_MINUTE, PER_REQUEST);
    rate->thousandths = multiply_divide_floor(rate->count, PER_REQUEST, rate->a_minute ? SECONDS_A_MINUTE : 1);
    rate->exact = rate->thousandths == thousandths;
    return rate->count != 0 && (rate->exact || whole_in(numbers, MINUTE) != 0);
}

static const char *check_nginx(const struct limit *limit, struct numbers *numbers, struct nginx_rate *rate)
{
    const bool gcra = limit->algorithm == ALGORITHM_GCRA;
    if (!gcra && limit->algorithm != ALGORITHM_LEAKY) {
        return "its limit_req is a leaky bucket; write the limit with algorithm=leaky or gcra";
    }
    if (!counts_requests(limit)) return not_requests;
    if (gcra && limit->start == START_EMPTY) return starts_empty;
    if (!numbers_of(limit, numbers)) return fractional_burst;
    if (!nginx_rate_of(numbers, rate)) return "its rates are whole requests a second or a minute";
    if (rate->count > NGINX_RATE_MAX) return "above 1000000r/s its thousandths overflow after some days of rest";
    return numbers->burst <= INT32_MAX ? NULL : "its burst has 31 bits";
}

static void nginx_zone(struct writer *writer, uint64_t zone)
{
    write_text(writer, "zone=weir");
    if (zone > 0) write_number(writer, zone + 1);
}

/* The same as nginx counts it, for weir. */
static void nginx_twin(struct writer *writer, const struct limit *limit, const struct numbers *numbers,
                       const struct nginx_rate *rate)
{
    struct limit twin = *limit;
    twin.count = (struct decimal){rate->thousandths, 3};
    twin.period_ns = SECOND;
    twin.burst_kind = AMOUNT_COUNT;
    twin.burst = numbers->burst;
    twin.algorithm = ALGORITHM_LEAKY;
    twin.nodelay = true;
    twin.start = START_DEFAULT;
    twin.has_debt = false;
    write_text(writer, "# nginx counts whole ms; weir does so too with '");
    text_write(writer, &twin);
    line(writer, "'");
}

static void nginx_request(struct writer *writer, const struct limit *limit, uint64_t burst, uint64_t zone)
{
    write_text(writer, "limit_req ");
    nginx_zone(writer, zone);
    if (burst == 1) {
        line(writer, ";");
        return;
    }
    number(writer, " burst=", burst - 1, "");
    if (limit->nodelay || limit->algorithm == ALGORITHM_GCRA) write_text(writer, " nodelay");
    else if (limit->has_delay) number(writer, " delay=", limit->delay, "");
    line(writer, ";        # nginx's burst does not count the first request");
}

static const char *write_nginx(struct writer *writer, const struct plan *plan)
{
    struct numbers numbers[WEIR_LIMITS_MAX];
    struct nginx_rate rate[WEIR_LIMITS_MAX];
    for (uint64_t i = 0; i < plan->count; i++) {
        const char *reason = check_nginx(&plan->limit[i], &numbers[i], &rate[i]);
        if (reason != NULL) return reason;
        write_text(writer, "limit_req_zone $binary_remote_addr ");
        nginx_zone(writer, i);
        number(writer, ":10m rate=", rate[i].count, rate[i].a_minute ? "r/m;\n" : "r/s;\n");
    }
    for (uint64_t i = 0; i < plan->count; i++) nginx_request(writer, &plan->limit[i], numbers[i].burst, i);
    for (uint64_t i = 0; i < plan->count; i++) {
        if (!rate[i].exact) {
            number(writer, "# ", rate[i].count, "r/m is ");
            write_decimal(writer, rate[i].thousandths, 3);
            line(writer, " a second to nginx, a little less: it cuts to thousandths");
        }
        if (plan->limit[i].algorithm == ALGORITHM_GCRA) nginx_twin(writer, &plan->limit[i], &numbers[i], &rate[i]);
    }
    return NULL;
}

/* ---- haproxy: a stick-table ---- */

static void haproxy_time(struct writer *writer, uint64_t ms)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    size_t unit = 0;
    while (ms % units[unit].ms != 0) unit++;
    number(writer, "", ms / units[unit].ms, units[unit].name);
}

static const char *check_haproxy(const struct limit *limit)
{
    const bool sliding = limit->algorithm == ALGORITHM_SLIDING_WINDOW;
    if (!sliding && limit->algorithm != ALGORITHM_FIXED_WINDOW) {
        return "it counts over a period, without a burst; write the limit with algorithm=sliding-window";
    }
    if (!counts_requests(limit)) return not_requests;
    if (limit->algorithm == ALGORITHM_FIXED_WINDOW && limit->has_time)
        return "its counters do not block; leave out block=";
    if (limit->period_ns % MS != 0) return "its periods are whole ms";
    if (limit->period_ns > INT32_MAX * MS / 2)
        return "its times end after 24 days, and a table has to hold two periods";
    return limit->count.digits <= INT32_MAX ? NULL : "its counters have 31 bits";
}

static const char *write_haproxy(struct writer *writer, const struct plan *plan)
{
    const struct limit *limit = &plan->limit[0];
    if (plan->count != 1) return one_limit;
    const char *reason = check_haproxy(limit);
    if (reason != NULL) return reason;
    const uint64_t ms = limit->period_ns / MS;
    write_text(writer, "stick-table type ipv6 size 100k expire ");
    haproxy_time(writer, 2 * ms);
    write_text(writer, " store http_req_rate(");
    haproxy_time(writer, ms);
    line(writer, ")");
    if (limit->count_refused) {
        line(writer, "http-request track-sc0 src");
        number(writer, "http-request deny deny_status 429 if { sc_http_req_rate(0) gt ", limit->count.digits, " }\n");
    } else {
        number(writer, "http-request deny deny_status 429 if { src_http_req_rate ge ", limit->count.digits, " }\n");
        line(writer, "http-request track-sc0 src        # behind deny, so that a refused request is not counted");
    }
    line(writer, "# haproxy's windows are whole ms, and begin with a client's first request");
    if (limit->algorithm == ALGORITHM_SLIDING_WINDOW) return NULL;
    line(
        writer,
        "# haproxy has no fixed windows: it takes what came in the period before for evenly spread, as sliding-window");
    return NULL;
}

/* ---- envoy: a bucket of its own, or a descriptor of its rate limit service ---- */

#define ENVOY_FILL_MIN (50 * MS)

/* Seconds, as protobuf writes a duration. */
static void envoy_duration(struct writer *writer, uint64_t ns)
{
    write_decimal(writer, ns, 9);
    write_text(writer, "s");
}

static const char *write_envoy_bucket(struct writer *writer, const struct limit *limit)
{
    struct numbers numbers;
    if (limit->start == START_EMPTY) return starts_empty;
    if (!numbers_of(limit, &numbers)) return fractional_burst;
    const uint64_t times = most(1, multiply_divide_ceil(ENVOY_FILL_MIN, 1, numbers.period_ns));
    const uint64_t tokens = multiply_divide_floor(numbers.permits, times, 1), fill_ns = numbers.period_ns * times;
    if (tokens > UINT32_MAX || numbers.burst > UINT32_MAX) return "its tokens have 32 bits";
    if (tokens > numbers.burst) return "it fills every 50 ms or less often, and this burst is less than one fill";
    line(writer, "- name: envoy.filters.http.local_ratelimit");
    line(writer, "  typed_config:");
    line(writer, "    \"@type\": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit");
    line(writer, "    stat_prefix: weir");
    number(writer, "    token_bucket: { max_tokens: ", numbers.burst, "");
    number(writer, ", tokens_per_fill: ", tokens, ", fill_interval: ");
    envoy_duration(writer, fill_ns);
    line(writer, " }");
    line(writer,
         "    filter_enabled: { runtime_key: weir_enabled, default_value: { numerator: 100, denominator: HUNDRED } }");
    line(
        writer,
        "    filter_enforced: { runtime_key: weir_enforced, default_value: { numerator: 100, denominator: HUNDRED } }");
    line(writer, "# one bucket for all clients of an envoy process");
    line(writer, "# older versions of envoy add the tokens of a fill all at once, weir one after the other");
    return NULL;
}

static const char *envoy_unit(uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"second", SECOND}, {"minute", MINUTE},  {"hour", HOUR},     {"day", DAY},
                 {"week", 7 * DAY},  {"month", 30 * DAY}, {"year", 365 * DAY}};
    for (size_t i = 0; i < LENGTH(units); i++) {
        if (units[i].ns == ns) return units[i].name;
    }
    return NULL;
}

static const char *write_envoy_descriptor(struct writer *writer, const struct limit *limit)
{
    const char *unit = envoy_unit(limit->period_ns);
    if (unit == NULL) return "its rate limit service knows second, minute, hour, day, week, month (30d) and year";
    if (limit->has_time) return "its rate limit service does not block; leave out block=";
    if (limit->count.digits > UINT32_MAX) return "its requests_per_unit has 32 bits";
    line(writer, "domain: weir");
    line(writer, "descriptors:");
    line(writer, "  - key: remote_address");
    line(writer, "    rate_limit:");
    write_text(writer, "      unit: ");
    line(writer, unit);
    number(writer, "      requests_per_unit: ", limit->count.digits, "\n");
    if (limit->align != ALIGN_CLOCK)
        line(writer, "# envoy's windows stand where the clock has them, as with align=clock");
    if (!limit->count_refused) line(writer, "# envoy counts refused requests too, as with count-refused");
    if (limit->period_ns > DAY) line(writer, "# not every version of the service knows units above a day");
    return NULL;
}

static const char *write_envoy(struct writer *writer, const struct plan *plan)
{
    const struct limit *limit = &plan->limit[0];
    if (plan->count != 1) return one_limit;
    if (!counts_requests(limit)) return not_requests;
    if (limit->algorithm == ALGORITHM_GCRA) return write_envoy_bucket(writer, limit);
    if (limit->algorithm == ALGORITHM_FIXED_WINDOW) return write_envoy_descriptor(writer, limit);
    return "it has a token bucket and fixed windows; write the limit with algorithm=gcra or fixed-window";
}

/* ---- redis-cell: CL.THROTTLE ---- */

enum { CELL_INTERVAL_MIN_NS = 1000 };

/* Count and whole seconds: as said, or else the least that is the same rate. */
static bool cell_rate(const struct limit *limit, const struct numbers *numbers, uint64_t *count, uint64_t *seconds)
{
    const uint64_t common = greatest_common_divisor(numbers->period_ns, SECOND);
    *count = multiply_divide_floor(numbers->permits, SECOND / common, 1);
    *seconds = numbers->period_ns / common;
    if (limit->count.places == 0 && limit->period_ns % SECOND == 0) {
        *count = limit->count.digits;
        *seconds = limit->period_ns / SECOND;
    }
    return *count <= INT64_MAX && *seconds <= INT64_MAX / SECOND;
}

static const char *write_redis_cell(struct writer *writer, const struct plan *plan)
{
    const struct limit *limit = &plan->limit[0];
    struct numbers numbers;
    uint64_t count, seconds;
    if (plan->count != 1) return one_limit;
    if (limit->algorithm != ALGORITHM_GCRA) return "it is gcra; write the limit with algorithm=gcra";
    if (limit->start == START_EMPTY) return starts_empty;
    if (!numbers_of(limit, &numbers)) return fractional_burst;
    if (!cell_rate(limit, &numbers, &count, &seconds)) return "its numbers have 63 bits";
    if (seconds * SECOND / count < CELL_INTERVAL_MIN_NS) return "it fails above 1000000 a second";
    number(writer, "CL.THROTTLE key ", numbers.burst - 1, " ");
    number(writer, "", count, " ");
    number(writer, "", seconds, "\n");
    line(writer, "# max_burst does not count the first; a quantity may follow");
    if (seconds * SECOND % count != 0) {
        number(writer, "# redis-cell cuts the interval to ", seconds * SECOND / count,
               " ns, a little faster than the limit\n");
    }
    if (seconds * SECOND / count < MS)
        line(writer, "# redis forgets a key up to 1 ms early, here more than one permit");
    return NULL;
}

/* ---- all of them ---- */

const char *write_dialect(struct writer *writer, int dialect, const struct plan *plan)
{
    for (uint64_t i = 0; i < plan->count; i++) {
        const int algorithm = plan->limit[i].algorithm;
        if (algorithm == ALGORITHM_UNLIMITED) return "there is nothing to limit";
        if (algorithm == ALGORITHM_NONE) return "a limit that lets nothing through is no rate; deny there instead";
    }
    switch (dialect) {
    case NGINX:
        return write_nginx(writer, plan);
    case HAPROXY:
        return write_haproxy(writer, plan);
    case ENVOY:
        return write_envoy(writer, plan);
    default:
        return write_redis_cell(writer, plan);
    }
}
