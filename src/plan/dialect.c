/* SPDX-License-Identifier: MIT
   A limit as configuration for nginx, haproxy, envoy or redis-cell.

   The other system accepts what is printed; where it then counts differently from weir, a comment line says how.  A
   limit that would mean something else there is refused, with the reason. */
#include "plan/dialect.h"

#include <string.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "plan/text.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define DIALECT_LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* ---- what the systems share ---- */

/* The limit in whole numbers: `permits` in period_ns, as a reduced fraction, and `burst` of them at once. */
struct numbers {
    uint64_t permits, period_ns, burst;
};

static const char *numbers_of(const struct limit *limit, struct numbers *numbers)
{
    static const char fractional[] = "its burst is a whole number of requests; write burst as a count";
    if (limit->start == START_EMPTY) return "it starts full, and start=empty does not";
    if (!limit_rate(limit, &numbers->permits, &numbers->period_ns)) return fractional;
    numbers->burst = limit->burst;
    if (limit->burst_kind != AMOUNT_TIME) return NULL;
    /* The fraction is reduced, so that a time that is a multiple of the period holds a whole number of permits. */
    numbers->burst = multiply_saturating(limit->burst / numbers->period_ns, numbers->permits);
    return limit->burst % numbers->period_ns == 0 ? NULL : fractional;
}

/* The number of permits in this time if it is a whole number, otherwise 0. */
static uint64_t whole_in(const struct numbers *numbers, uint64_t ns)
{
    return ns % numbers->period_ns != 0 ? 0 : multiply_saturating(numbers->permits, ns / numbers->period_ns);
}

static const char not_requests[] = "it counts requests, and this limit counts another unit";

static bool counts_requests(const struct limit *limit)
{
    return strcmp(limit->unit, "requests") == 0;
}

static void number(struct writer *writer, const char *before, uint64_t value, const char *after)
{
    write_text(writer, before);
    write_number(writer, value);
    write_text(writer, after);
}

/* ---- nginx: limit_req ---- */

enum { NGINX_RATE_MAX = 1000000, PER_REQUEST = 1000, NGINX_SECONDS_A_MINUTE = 60 };

/* A rate as nginx reads it: a count in r/s or r/m, and the thousandths of a request a second that nginx makes of it. */
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
    /* nginx keeps 10r/m as 0.166/s. */
    if (rate->count == 0) rate->count = multiply_divide_ceil(thousandths, NGINX_SECONDS_A_MINUTE, PER_REQUEST);
    rate->thousandths = multiply_divide_floor(rate->count, PER_REQUEST, rate->a_minute ? NGINX_SECONDS_A_MINUTE : 1);
    rate->exact = rate->thousandths == thousandths;
    return rate->count != 0 && (rate->exact || whole_in(numbers, MINUTE) != 0);
}

static const char *check_nginx(const struct limit *limit, struct numbers *numbers, struct nginx_rate *rate)
{
    if (limit->algorithm != ALGORITHM_GCRA && limit->algorithm != ALGORITHM_LEAKY) {
        return "its limit_req is a leaky bucket; write the limit with algorithm=leaky or gcra";
    }
    if (!counts_requests(limit)) return not_requests;
    const char *reason = numbers_of(limit, numbers);
    if (reason != NULL) return reason;
    if (!nginx_rate_of(numbers, rate)) return "its rates are whole requests a second or a minute";
    if (rate->count > NGINX_RATE_MAX) return "above 1000000r/s its thousandths overflow after some idle days";
    return numbers->burst <= INT32_MAX ? NULL : "its burst has 31 bits";
}

static void nginx_zone(struct writer *writer, const char *before, uint64_t zone)
{
    write_text(writer, before);
    write_text(writer, "zone=weir");
    if (zone > 0) write_number(writer, zone + 1);
}

/* The weir limit that decides exactly as nginx counts. */
static void nginx_twin(struct writer *writer, const struct limit *limit, const struct numbers *numbers,
                       const struct nginx_rate *rate)
{
    const struct limit twin = {.count = {rate->thousandths, 3},
                               .period_ns = SECOND,
                               .burst = numbers->burst,
                               .burst_kind = AMOUNT_COUNT,
                               .algorithm = ALGORITHM_LEAKY,
                               .nodelay = true,
                               .unit = "requests"};
    if (limit->algorithm != ALGORITHM_GCRA) return;
    write_text(writer, "# nginx counts whole ms; weir does so too with '");
    text_write(writer, &twin);
    write_text(writer, "'\n");
}

static void nginx_request(struct writer *writer, const struct limit *limit, uint64_t burst, uint64_t zone)
{
    nginx_zone(writer, "limit_req ", zone);
    if (burst > 1) {
        number(writer, " burst=", burst - 1, "");
        if (limit->nodelay || limit->algorithm == ALGORITHM_GCRA) write_text(writer, " nodelay");
        else if (limit->has_delay) number(writer, " delay=", limit->delay, "");
    }
    write_text(writer, burst > 1 ? ";        # nginx's burst does not count the first request\n" : ";\n");
}

static const char *write_nginx(struct writer *writer, const struct plan *plan)
{
    struct numbers numbers[WEIR_LIMITS_MAX];
    struct nginx_rate rate[WEIR_LIMITS_MAX];
    for (uint64_t i = 0; i < plan->count; i++) {
        const char *reason = check_nginx(&plan->limit[i], &numbers[i], &rate[i]);
        if (reason != NULL) return reason;
        nginx_zone(writer, "limit_req_zone $binary_remote_addr ", i);
        number(writer, ":10m rate=", rate[i].count, rate[i].a_minute ? "r/m;\n" : "r/s;\n");
    }
    for (uint64_t i = 0; i < plan->count; i++) nginx_request(writer, &plan->limit[i], numbers[i].burst, i);
    for (uint64_t i = 0; i < plan->count; i++) {
        if (!rate[i].exact) {
            number(writer, "# ", rate[i].count, "r/m is ");
            write_decimal(writer, rate[i].thousandths, 3);
            write_text(writer, " a second to nginx, a little less: it truncates to thousandths\n");
        }
        nginx_twin(writer, &plan->limit[i], &numbers[i], &rate[i]);
    }
    return NULL;
}

/* ---- haproxy: a stick-table ---- */

/* A time in the largest unit that divides it. */
static void haproxy_time(struct writer *writer, const char *before, uint64_t ns, const char *after)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"d", DAY}, {"h", HOUR}, {"m", MINUTE}, {"s", SECOND}, {"ms", MS}};
    size_t unit = 0;
    while (ns % units[unit].ns != 0) unit++;
    number(writer, before, ns / units[unit].ns, units[unit].name);
    write_text(writer, after);
}

static const char *check_haproxy(const struct limit *limit)
{
    if (limit->algorithm != ALGORITHM_SLIDING_WINDOW && limit->algorithm != ALGORITHM_FIXED_WINDOW) {
        return "it counts over a period, without a burst; write the limit with algorithm=sliding-window";
    }
    if (!counts_requests(limit)) return not_requests;
    if (limit->has_time) return "its counters do not block; leave out block=";
    if (limit->period_ns % MS != 0) return "its periods are whole ms";
    if (limit->period_ns > INT32_MAX * MS / 2) {
        return "its times end after 24 days, and a table has to hold two periods";
    }
    return limit->count.digits <= INT32_MAX ? NULL : "its counters have 31 bits";
}

static const char *write_haproxy(struct writer *writer, const struct plan *plan)
{
    const struct limit *limit = &plan->limit[0];
    const char *reason = check_haproxy(limit);
    if (reason != NULL) return reason;
    haproxy_time(writer, "stick-table type ipv6 size 100k expire ", 2 * limit->period_ns, "");
    haproxy_time(writer, " store http_req_rate(", limit->period_ns, ")\n");
    if (limit->count_refused) {
        write_text(writer, "http-request track-sc0 src\n");
        number(writer, "http-request deny deny_status 429 if { sc_http_req_rate(0) gt ", limit->count.digits, " }\n");
    } else {
        number(writer, "http-request deny deny_status 429 if { src_http_req_rate ge ", limit->count.digits,
               " }\nhttp-request track-sc0 src        # after deny, so that a refused request is not counted\n");
    }
    write_text(writer, "# haproxy's windows are whole ms, and begin with a client's first request\n");
    if (limit->algorithm == ALGORITHM_FIXED_WINDOW) {
        write_text(writer, "# haproxy has no fixed windows: it assumes that the period before was evenly spread, as "
                           "sliding-window does\n");
    }
    return NULL;
}

/* ---- envoy: a bucket of its own, or a descriptor of its rate limit service ---- */

#define ENVOY_FILL_MIN (50 * MS)

static const char *write_envoy_bucket(struct writer *writer, const struct limit *limit)
{
    struct numbers numbers;
    const char *reason = numbers_of(limit, &numbers);
    if (reason != NULL) return reason;
    const uint64_t times = most(1, multiply_divide_ceil(ENVOY_FILL_MIN, 1, numbers.period_ns));
    const uint64_t tokens = multiply_saturating(numbers.permits, times);
    if (tokens > UINT32_MAX || numbers.burst > UINT32_MAX) return "its tokens have 32 bits";
    if (tokens > numbers.burst) return "it fills every 50 ms or less often, and this burst is less than one fill";
    write_text(writer,
               "- name: envoy.filters.http.local_ratelimit\n"
               "  typed_config:\n"
               "    \"@type\": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit\n"
               "    stat_prefix: weir\n");
    number(writer, "    token_bucket: { max_tokens: ", numbers.burst, "");
    number(writer, ", tokens_per_fill: ", tokens, ", fill_interval: ");
    write_decimal(writer, numbers.period_ns * times, 9);
    write_text(
        writer,
        "s }\n"
        "    filter_enabled: { runtime_key: weir_enabled, default_value: { numerator: 100, denominator: HUNDRED } }\n"
        "    filter_enforced: { runtime_key: weir_enforced, default_value: { numerator: 100, denominator: HUNDRED } }\n"
        "# one bucket for all clients of an envoy process\n"
        "# older versions of envoy add the tokens of a fill all at once, weir one after the other\n");
    return NULL;
}

static const char *envoy_unit(uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"second", SECOND}, {"minute", MINUTE},  {"hour", HOUR},     {"day", DAY},
                 {"week", 7 * DAY},  {"month", 30 * DAY}, {"year", 365 * DAY}};
    for (size_t i = 0; i < DIALECT_LENGTH(units); i++) {
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
    write_text(writer, "domain: weir\ndescriptors:\n  - key: remote_address\n    rate_limit:\n      unit: ");
    write_text(writer, unit);
    number(writer, "\n      requests_per_unit: ", limit->count.digits, "\n");
    if (limit->align != ALIGN_CLOCK) {
        write_text(writer, "# envoy aligns windows to the clock, as align=clock does\n");
    }
    if (!limit->count_refused) write_text(writer, "# envoy counts refused requests too, as with count-refused\n");
    if (limit->period_ns > DAY) write_text(writer, "# not every version of the service knows units above a day\n");
    return NULL;
}

static const char *write_envoy(struct writer *writer, const struct plan *plan)
{
    const struct limit *limit = &plan->limit[0];
    if (!counts_requests(limit)) return not_requests;
    if (limit->algorithm == ALGORITHM_GCRA) return write_envoy_bucket(writer, limit);
    if (limit->algorithm == ALGORITHM_FIXED_WINDOW) return write_envoy_descriptor(writer, limit);
    return "it has a token bucket and fixed windows; write the limit with algorithm=gcra or fixed-window";
}

/* ---- redis-cell: CL.THROTTLE ---- */

enum { CELL_INTERVAL_MIN_NS = 1000 };

/* A count in whole seconds: as the limit was written, otherwise the smallest pair with the same rate. */
static bool cell_rate(const struct limit *limit, const struct numbers *numbers, uint64_t *count, uint64_t *seconds)
{
    const uint64_t common = greatest_common_divisor(numbers->period_ns, SECOND);
    *count = multiply_saturating(numbers->permits, SECOND / common);
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
    if (limit->algorithm != ALGORITHM_GCRA) return "it is gcra; write the limit with algorithm=gcra";
    const char *reason = numbers_of(limit, &numbers);
    if (reason != NULL) return reason;
    if (!cell_rate(limit, &numbers, &count, &seconds)) return "its numbers have 63 bits";
    const uint64_t interval_ns = seconds * SECOND / count;
    if (interval_ns < CELL_INTERVAL_MIN_NS) return "it fails above 1000000 a second";
    number(writer, "CL.THROTTLE key ", numbers.burst - 1, " ");
    number(writer, "", count, " ");
    number(writer, "", seconds, "\n# max_burst does not count the first; a quantity may follow\n");
    if (seconds * SECOND % count != 0) {
        number(writer, "# redis-cell truncates the interval to ", interval_ns, " ns, a little faster than the limit\n");
    }
    if (interval_ns < MS) write_text(writer, "# redis forgets a key up to 1 ms early, here more than one permit\n");
    return NULL;
}

/* ---- all systems ---- */

static const struct {
    const char *name;
    const char *(*write)(struct writer *writer, const struct plan *plan);
} dialects[] = {
    {"nginx", write_nginx}, {"haproxy", write_haproxy}, {"envoy", write_envoy}, {"redis-cell", write_redis_cell}};

int dialect_find(const char *name)
{
    for (size_t i = 0; i < DIALECT_LENGTH(dialects); i++) {
        if (strcmp(dialects[i].name, name) == 0) return (int)i;
    }
    return -1;
}

const char *dialect_write(struct writer *writer, int dialect, const struct plan *plan)
{
    for (uint64_t i = 0; i < plan->count; i++) {
        const int algorithm = plan->limit[i].algorithm;
        if (algorithm == ALGORITHM_UNLIMITED) return "there is nothing to limit";
        if (algorithm == ALGORITHM_NONE) return "a limit that lets nothing through is no rate; deny there instead";
    }
    if (plan->count != 1 && dialects[dialect].write != write_nginx) {
        return "it has no lists of limits; give each limit of the list by itself";
    }
    return dialects[dialect].write(writer, plan);
}
