/* SPDX-License-Identifier: MIT
   Page-fixture CASE OUT: the page of a result that is made up, so that the page can be looked at and tested
   without a log.

   The same page each time. */
#include <stdio.h>
#include <string.h>

#include "cli/replay/replay.h"
#include "unit/random.h"

enum { STEPS = 400, CLIENTS = 2002 };
static const uint64_t start_ns = UINT64_C(1795132800000000000); /* 2026-11-20 00:00 UTC */
static const uint64_t second_ns = 1000000000;

/* Busier by day, with two bursts of which the second is a bot's. */
static uint64_t offered_at(unsigned step, uint64_t *seed)
{
    const unsigned from_noon = step > STEPS / 2 ? step - STEPS / 2 : STEPS / 2 - step;
    const uint64_t usual = 40 + 260 * (STEPS / 2 - from_noon) / (STEPS / 2);
    const uint64_t burst = step >= 118 && step < 126 ? 900 : 0;
    const uint64_t bot = step >= 280 && step < 310 ? 620 : 0;
    return usual + random_below(seed, usual / 3) + burst + bot;
}

static void fill_series(struct replay_result *result)
{
    uint64_t seed = 4;
    struct replay_series *series = &result->series;
    series->first_ns = start_ns;
    series->step_ns = UINT64_C(256) * second_ns;
    series->count = STEPS;
    for (unsigned step = 0; step < STEPS; step++) {
        series->offered[step] = offered_at(step, &seed);
        result->requests += series->offered[step];
    }
}

/* What is above a line is refused, half of what is just below it delayed. */
static void add_limit(struct replay_result *result, const char *text, const char *canonical, uint64_t line, bool delays)
{
    struct replay_limit *limit = &result->limit[result->limits];
    limit->text = text;
    snprintf(limit->canonical, sizeof limit->canonical, "%s", canonical);
    for (unsigned step = 0; step < result->series.count; step++) {
        const uint64_t offered = result->series.offered[step];
        const uint64_t denied = offered > line ? offered - line : 0;
        const uint64_t delayed = delays && offered > line / 2 ? (offered - denied - line / 2) / 2 : 0;
        result->series.limit[result->limits].denied[step] = denied;
        result->series.limit[result->limits].delayed[step] = delayed;
        limit->denied += denied;
        limit->delayed += delayed;
    }
    limit->allowed = result->requests - limit->denied;
    limit->denied_spread = limit->denied;
    limit->clients_denied = limit->denied / 40;
    limit->clients_delayed = limit->delayed / 25;
    if (delays) limit->delay_p99_ns = 1840000000, limit->delay_max_ns = 2000000000;
    limit->unaffected_burst = limit->denied != 0 ? 34 : 10;
    snprintf(limit->unaffected_text, sizeof limit->unaffected_text, "%.*s burst=%u", (int)strcspn(text, " "), text,
             limit->denied != 0 ? 34U : 10U);
    result->limits++;
}

static const char *const addresses[REPLAY_TOP] = {
    "203.0.113.9",        "198.51.100.77", "2001:db8:4:17::/64", "192.0.2.14",    "192.0.2.200",
    "198.51.100.3",       "203.0.113.250", "192.0.2.91",         "198.51.100.18", "203.0.113.44",
    "2001:db8:90:1::/64", "192.0.2.7",     "198.51.100.61",      "203.0.113.108", "192.0.2.33",
    "198.51.100.210",     "203.0.113.77",  "192.0.2.149",        "198.51.100.99", "203.0.113.12"};

static void add_client(struct replay_limit *limit, const char *key, size_t size, uint64_t requests, uint64_t denied)
{
    if (limit->top_count == REPLAY_TOP) return;
    limit->top[limit->top_count++] = (struct replay_client){key, size, requests, denied, limit->delayed / 100};
}

static void fill_top(struct replay_limit *limit)
{
    uint64_t left = limit->denied;
    for (unsigned i = 0; i < REPLAY_TOP && left != 0; i++) {
        const uint64_t denied = left / 2 + 1;
        add_client(limit, addresses[i], strlen(addresses[i]), denied + denied / (i + 1) + 3 * i, denied);
        left -= denied;
    }
}

static void fill_clients(struct replay_result *result)
{
    const char *busiest = addresses[0];
    result->clients = CLIENTS;
    result->key_name = "remote_addr";
    result->second = (struct replay_busiest){1, 6, 212, busiest, strlen(busiest)};
    result->minute = (struct replay_busiest){4, 61, 3120, busiest, strlen(busiest)};
    for (int i = 0; i < result->limits; i++) fill_top(&result->limit[i]);
}

static void fill(struct replay_result *result)
{
    fill_series(result);
    result->first_ns = start_ns + 412000000;
    result->last_ns = start_ns + STEPS * result->series.step_ns - 3 * second_ns;
    result->resolution_ns = 1000000;
    result->timestamps_are_ends = true;
    result->unaffected = 99.9;
}

/* ---- the cases ---- */

static void day(struct replay_result *result)
{
    fill(result);
    add_limit(result, "10/s burst=20", "10/s burst=20 algorithm=gcra", 420, false);
    add_limit(result, "5r/s burst=10", "5/s burst=11 algorithm=leaky", 300, true);
    fill_clients(result);
    result->malformed = 12;
    result->late = 3;
    snprintf(result->limit[0].note, sizeof result->limit[0].note, "%s",
             "10/s burst=20: up to 29 in any second; never more than 10: '10/s algorithm=sliding-log'");
}

/* What runs at once is counted, too. */
static void count_running(struct replay_result *result)
{
    struct replay_limit *limit = &result->limit[0];
    result->counts_running = true;
    result->running = (struct replay_busiest){3, 9, 41, addresses[1], strlen(addresses[1])};
    result->running_all = 77;
    limit->running_client = 20;
    limit->running_all = 1234;
    limit->outlasted = 5;
    snprintf(limit->unaffected_slots_text, sizeof limit->unaffected_slots_text, "%s", "41 concurrent lease=30s");
}

static void calm(struct replay_result *result)
{
    fill(result);
    result->timestamps_are_ends = false;
    add_limit(result, "1000/s burst=1000 algorithm=gcra", "1000/s burst=1000 algorithm=gcra", 100000, false);
    fill_clients(result);
    count_running(result);
}

static void one(struct replay_result *result)
{
    result->requests = result->clients = 1;
    result->first_ns = result->last_ns = result->series.first_ns = start_ns;
    result->resolution_ns = 1000000;
    result->unaffected = 100;
    result->series.step_ns = 1000000;
    result->series.count = 1;
    result->series.offered[0] = 1;
    add_limit(result, "1/h", "1/h burst=1 algorithm=gcra", 1, false);
    result->key_name = "remote_addr";
    result->second = result->minute = (struct replay_busiest){1, 1, 1, "192.0.2.1", 9};
}

/* Stamps of whole seconds, and all requests together. */
static void seconds(struct replay_result *result)
{
    fill(result);
    result->resolution_ns = second_ns;
    result->first_ns = start_ns;
    add_limit(result, "2/s burst=2", "2/s burst=2 algorithm=gcra", 350, false);
    result->whole_seconds = true;
    result->limit[0].denied_spread = result->limit[0].denied - 3211;
    result->clients = 1;
    result->second = result->minute = (struct replay_busiest){212, 212, 212, NULL, 0};
}

static void sixteen(struct replay_result *result)
{
    static char texts[REPLAY_LIMITS_MAX][32];
    fill(result);
    for (unsigned i = 0; i < REPLAY_LIMITS_MAX; i++) {
        snprintf(texts[i], sizeof texts[i], "%u/s burst=%u", i + 1, 2 * i + 2);
        add_limit(result, texts[i], texts[i], 80 * (i + 1), i % 3 == 0);
    }
    fill_clients(result);
}

/* Texts as long as they may get, and keys that would like to be something else. */
static void hostile(struct replay_result *result)
{
    static char text[900], key[3000];
    static const char *const keys[] = {"</script><script>document.title='owned'</script>",
                                       "<img src=x onerror=\"document.title='owned'\">",
                                       "</script x",
                                       "<!-- <script ",
                                       "<script>",
                                       "&lt;b&gt; \"quoted\" \\ 'single'",
                                       "",
                                       "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa6\x8a",
                                       "bad \xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80 cut \xe2\x82",
                                       "\342\200\256turned \342\201\246round",
                                       "line\nbreak\ttab"};
    fill(result);
    for (size_t i = 0; i + 40 < sizeof text; i += 24) memcpy(text + i, "1000000 tokens/min; 2/s ", 25);
    memset(key, 'k', sizeof key);
    add_limit(result, text, text, 400, true);
    add_limit(result, "1/s </script><b>", "1/s \"</script><b>\"", 200, false);
    fill_clients(result);
    result->key_name = "http_x_</script><i>_forwarded_for,request_uri";
    result->limit[0].top_count = 0;
    add_client(&result->limit[0], key, sizeof key, 987654321, 987654321);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        add_client(&result->limit[0], keys[i], strlen(keys[i]), 4000 - 100 * i, 1000 - 90 * i);
    }
    add_client(&result->limit[0], "nul\0inside", 10, 7, 1);
    result->minute.max_key = key;
    result->minute.max_key_size = sizeof key;
}

static void empty(struct replay_result *result)
{
    result->key_name = "remote_addr";
    result->malformed = 3;
    add_limit(result, "1/s", "1/s burst=1 algorithm=gcra", 1, false);
}

int main(int argc, char **argv)
{
    static struct replay_result result;
    static const struct {
        const char *name;
        void (*fill)(struct replay_result *result);
    } cases[] = {{"day", day},         {"calm", calm},       {"one", one},    {"seconds", seconds},
                 {"sixteen", sixteen}, {"hostile", hostile}, {"empty", empty}};
    for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        cases[i].fill(&result);
        return page_write(&result, argv[2]) ? 0 : 2;
    }
    fputs("usage: page-fixture day|calm|one|seconds|sixteen|hostile|empty OUT\n", stderr);
    return 2;
}
