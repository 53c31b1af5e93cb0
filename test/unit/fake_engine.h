/* SPDX-License-Identifier: MIT
   A service without a socket whose engine is made up: it writes down what it is asked, answers at once,
   or, while it is stopped, later.

   Included behind cmocka.h, by a test that wraps weir_engine_*.  What is opened is counted in `opened`. */
#ifndef WEIR_UNIT_FAKE_ENGINE_H
#define WEIR_UNIT_FAKE_ENGINE_H

#include <weir/redis.h>

#include "serve/config/config.h"
#include "serve/park.h"
#include "serve_rig.h"

/* ---- an engine that writes down what it is asked ---- */

struct weir_engine {
    char url[64];
};

struct weir_engine_limit {
    char text[256];
};

enum { ASKED_MAX = 4096, FULL_NS = 5000000, REMAINING = 9 };
static const uint64_t taken_us = 1763836800123456;

static char asked[ASKED_MAX]; /* a line for each question, an empty one behind each batch */
static char settled[64];      /* the key of the receipt that has been settled */
static int opened;            /* handles and limits that are not closed */
static void (*told)(void *context, bool away, const char *why);
static void *told_to;

int __wrap_weir_engine_open(weir_engine **owned, const char *url, const weir_engine_options *of, weir_error *error);
int __wrap_weir_engine_join(weir_engine **owned, weir_engine *first, weir_error *error);
void __wrap_weir_engine_close(weir_engine *engine);
int __wrap_weir_engine_limit_open(weir_engine_limit **, weir_engine *, const char *, weir_away, weir_error *);
void __wrap_weir_engine_limit_close(weir_engine_limit *limit);
uint64_t __wrap_weir_engine_secret(weir_engine *engine, char text[WEIR_ENGINE_SECRET_MAX]);
void __wrap_weir_engine_begin(weir_engine *engine, weir_engine_ask *asks, size_t n, weir_instant now);
void __wrap_weir_engine_tick(weir_engine *engine);
void __wrap_weir_engine_process(weir_engine *engine, weir_instant now);
void __wrap_weir_engine_finish(weir_engine *engine, weir_engine_ask *asks, size_t n, weir_instant now);
void __wrap_weir_engine_read_stats(weir_engine *engine, weir_engine_stats *stats, size_t size);

int __wrap_weir_engine_open(weir_engine **owned, const char *url, const weir_engine_options *options, weir_error *error)
{
    (void)error;
    *owned = calloc(1, sizeof **owned);
    assert_non_null(*owned);
    snprintf((*owned)->url, sizeof(*owned)->url, "%s", url);
    told = options->changed;
    told_to = options->context;
    opened++;
    return 0;
}

int __wrap_weir_engine_join(weir_engine **owned, weir_engine *first, weir_error *error)
{
    return __wrap_weir_engine_open(owned, first->url, &(weir_engine_options){.changed = told, .context = told_to},
                                   error);
}

void __wrap_weir_engine_close(weir_engine *engine)
{
    opened -= engine != NULL;
    free(engine);
}

int __wrap_weir_engine_limit_open(weir_engine_limit **owned, weir_engine *engine, const char *limits, weir_away away,
                                  weir_error *error)
{
    (void)engine;
    if (strstr(limits, "warmup") != NULL) {
        *error = (weir_error){.code = WEIR_EUNSUPPORTED, .message = "an engine does not keep warmup"};
        return WEIR_EUNSUPPORTED;
    }
    *owned = calloc(1, sizeof **owned);
    assert_non_null(*owned);
    snprintf((*owned)->text, sizeof(*owned)->text, "%s%s", limits, away == WEIR_AWAY_CLOSED ? " (closed)" : "");
    opened++;
    return 0;
}

void __wrap_weir_engine_limit_close(weir_engine_limit *limit)
{
    opened -= limit != NULL;
    free(limit);
}

static void write_down(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void write_down(const char *format, ...)
{
    va_list arguments;
    const size_t size = strlen(asked);
    va_start(arguments, format);
    vsnprintf(asked + size, sizeof asked - size, format, arguments);
    va_end(arguments);
}

static bool begins(weir_key key, const char *with)
{
    return key.size >= strlen(with) && memcmp(key.bytes, with, strlen(with)) == 0;
}

static bool is_settled(weir_key key)
{
    char text[sizeof settled];
    snprintf(text, sizeof text, "%.*s", (int)key.size, (const char *)key.bytes);
    const bool known = strcmp(text, settled) == 0;
    memcpy(settled, text, sizeof settled);
    return known;
}

static void answer(weir_engine_ask *ask)
{
    const bool away = begins(ask->key, "|away"), deny = begins(ask->key, "|deny");
    const bool again = begins(ask->key, "~settled|") && is_settled(ask->key);
    ask->decision = (weir_decision){.verdict = deny || again ? WEIR_DENY : WEIR_ALLOW,
                                    .remaining = REMAINING,
                                    .retry_ns = deny ? FULL_NS : 0,
                                    .end = taken_us,
                                    .charged = ask->cost != NULL ? ask->cost[0] : 1};
    ask->full_ns = FULL_NS;
    ask->from = away ? WEIR_FROM_AWAY : WEIR_FROM_ENGINE;
    if (away && ask->verb == WEIR_ASK_FORGET) ask->decision.verdict = WEIR_DENY;
}

/* What the engine has, and what has been read of it. */
static const char *secret, *secret_read;
static uint64_t secret_number;
static unsigned secrets_asked;

static bool answer_secret(weir_engine_ask *ask)
{
    if (ask->verb != WEIR_ASK_SECRET) return false;
    secrets_asked++;
    secret_number += secret_read != secret;
    secret_read = secret;
    ask->from = secret != NULL ? WEIR_FROM_ENGINE : WEIR_FROM_AWAY;
    return true;
}

uint64_t __wrap_weir_engine_secret(weir_engine *engine, char text[WEIR_ENGINE_SECRET_MAX])
{
    (void)engine;
    if (text != NULL) snprintf(text, WEIR_ENGINE_SECRET_MAX, "%s", secret_read != NULL ? secret_read : "");
    return secret_number;
}

static void answer_all(const weir_engine *engine, weir_engine_ask *asks, size_t n)
{
    static const char *const verb[] = {"take", "peek", "charge", "settle", "forget"};
    if (answer_secret(asks)) return;
    for (size_t i = 0; i < n; i++) {
        const weir_engine_ask *ask = &asks[i];
        write_down("%s %s [%s] %.*s", engine->url, verb[ask->verb], ask->limit->text, (int)ask->key.size,
                   (const char *)ask->key.bytes);
        for (unsigned c = 0; c < ask->costs; c++) write_down(" %u", (unsigned)ask->cost[c]);
        if (ask->verb == WEIR_ASK_SETTLE)
            write_down(" -> %u at %llu", (unsigned)ask->actual[0], (unsigned long long)ask->taken);
        write_down("\n");
        answer(&asks[i]);
    }
    write_down("\n");
}

/* While the engine is stopped questions wait, the oldest batch first. */
enum { WAITING_MAX = 8 };
static struct {
    weir_engine_ask *asks;
    size_t count;
} waiting[WAITING_MAX];
static unsigned waiting_count;
static bool stopped;

void __wrap_weir_engine_begin(weir_engine *engine, weir_engine_ask *asks, size_t n, weir_instant now)
{
    (void)now;
    if (!stopped) {
        answer_all(engine, asks, n);
        return;
    }
    assert_true(waiting_count < WAITING_MAX);
    waiting[waiting_count].asks = asks;
    waiting[waiting_count++].count = n;
    for (size_t i = 0; i < n; i++) asks[i].from = (weir_from)0;
}

void __wrap_weir_engine_tick(weir_engine *engine)
{
    (void)engine;
}

void __wrap_weir_engine_process(weir_engine *engine, weir_instant now)
{
    (void)now;
    if (stopped) return;
    for (unsigned i = 0; i < waiting_count; i++) answer_all(engine, waiting[i].asks, waiting[i].count);
    waiting_count = 0;
}

void __wrap_weir_engine_finish(weir_engine *engine, weir_engine_ask *asks, size_t n, weir_instant now)
{
    (void)engine, (void)now;
    for (unsigned i = 0; i < waiting_count; i++) {
        if (waiting[i].asks != asks) continue;
        waiting_count--;
        for (unsigned later = i; later < waiting_count; later++) waiting[later] = waiting[later + 1];
    }
    for (size_t i = 0; i < n; i++) {
        if (asks[i].from != 0) continue;
        asks[i].decision = (weir_decision){.verdict = WEIR_DENY, .retry_ns = FULL_NS};
        asks[i].from = WEIR_FROM_AWAY;
    }
}

void __wrap_weir_engine_read_stats(weir_engine *engine, weir_engine_stats *stats, size_t size)
{
    (void)engine;
    memset(stats, 0, size);
}

/* ---- a service with it ---- */

static const char limits[] = "engine: {url: 'redis://fake'}\n"
                             "limits:\n"
                             "  api: {limit: 10/s; 100 tokens/s, key: [tenant]}\n"
                             "  login: {limit: 5/h, key: [address], exempt: [10.0.0.0/8], away: closed}\n"
                             "  here: {limit: 3/h, engine: off}\n"
                             "overrides: {login: {192.0.2.1: 7/h, 192.0.2.2: unlimited, 192.0.2.3: 7/h}}\n";

static void publish(struct rig *rig, const char *url)
{
    struct config_problem problem;
    const struct engine_settings settings = {.url = (char *)url};
    struct engine *engine = engine_open(&settings, &rig->service, NULL);
    assert_non_null(engine);
    struct policy *policy =
        config_policy(slice_of(limits), rig->tables, engine, service_number, &rig->service, &problem);
    if (policy == NULL) fail_msg("%u:%u: %s", problem.line, problem.column, problem.message);
    engine_release(engine);
    service_publish(&rig->service, policy);
}

static struct rig *rig_with_engine(void)
{
    struct rig *rig = rig_open();
    asked[0] = settled[0] = '\0';
    publish(rig, "one");
    return rig;
}

static void assert_asked(const char *expected)
{
    assert_string_equal(asked, expected);
    asked[0] = '\0';
}

#define ALLOWED "*8\r\n$5\r\nallow\r\n:0\r\n:9\r\n:0\r\n:0\r\n:5000000\r\n"
#define DENIED "*8\r\n$4\r\ndeny\r\n:0\r\n:9\r\n:0\r\n:5000000\r\n:5000000\r\n$-1\r\n:0\r\n"

static void assert_begins(const char *text, const char *with)
{
    if (strncmp(text, with, strlen(with)) != 0) fail_msg("%s\n  does not begin with\n%s", text, with);
}

/* The seventh answer of the last. */
static struct slice receipt_in(const char *answer)
{
    const char *length = strrchr(answer, '$');
    assert_non_null(length);
    const char *text = strstr(length, "\r\n");
    assert_non_null(text);
    return (struct slice){text + 2, strcspn(text + 2, "\r")};
}

/* A test that failed has left things open. */
static int begin(void **state)
{
    (void)state;
    opened = 0;
    secret = secret_read = NULL;
    secrets_asked = 0;
    stopped = false;
    waiting_count = 0;
    return 0;
}

#endif
