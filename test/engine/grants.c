/* SPDX-License-Identifier: MIT
   One client process of a limit, and a log of every permit that it got.

       engine-grants --url URL --limit TEXT --key KEY --log FILE [--seconds 5] [--every-us 0] [--patience-ms 2]
                     [--away local|open|closed] [--nodes N] [--lease-ms 0] [--deadline-ms 20] [--keys 1] [--keys-max N]
                     [--wave-ms 0]

   Asks for one permit at a time, as fast as it is answered or every so many us; where it is refused it comes back when
   it was told to, but after --patience-ms at the latest.  With --keys it goes round so many keys.  With --wave-ms all
   clients of the machine come in waves: in the first quarter of each nobody asks, so that the bucket fills; in the
   second each asks calmly, so that leases are out; in the rest all ask as fast as they can.  SIGTERM: ends in
   order, as after --seconds.

   The log is written grant by grant, so that nothing is missing of a process that is killed but what it did not use:
       ASKED TOLD 1 engine|lease|away     ns of CLOCK_MONOTONIC, just before and just after the call (see window.c)

   On stdout, each with the time:
       NS away|back WHY                   as the client says it
       NS first US allow|deny             the first answer that came from elsewhere after that, and how long it took
       NS still_away                      a hundred answers later
       NS refused_by_engine GRANTED       the first time, and what the engine and its leases had granted until then
       NS refused_alone GRANTED           the same of what was granted while the engine was away
   and at the end all that was counted, as NAME NUMBER; took_NS is how many answers took so long, to within an
   eighth. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/redis.h>

#include "share/histogram.h"

enum { STILL_AWAY = 100 };
enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000, KEY_SIZE = 256, FROM_COUNT = 4 };
enum { TOOK_BITS = 3, TOOK_BUCKETS = (64 - TOOK_BITS + 1) << TOOK_BITS };
#define CALM_NS (UINT64_C(5) * NS_PER_MS) /* 200/s: busy enough for a lease */

static const char *const from_names[FROM_COUNT] = {"nobody", "engine", "lease", "away"};
static volatile sig_atomic_t over;

struct settings {
    const char *url, *limit, *key, *log;
    weir_away away;
    uint64_t seconds, every_ns, patience_ns, lease_ns, deadline_ns, keys, keys_max, wave_ns;
    unsigned nodes;
};

struct count {
    uint64_t granted, denied, from[FROM_COUNT], late, longest_ns;
    uint64_t took[TOOK_BUCKETS];
    uint64_t granted_by[2]; /* by the engine, with its leases; while away */
    bool refused_by[2];
    unsigned since_away;
    weir_from last;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    const struct timespec length = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    nanosleep(&length, NULL);
}

static void stop(const char *words, const char *what)
{
    fprintf(stderr, "engine-grants: %s: %s\n", words, what);
    exit(2);
}

static void end(int signal)
{
    (void)signal;
    over = 1;
}

static void changed(void *context, bool away, const char *why)
{
    (void)context;
    printf("%" PRIu64 " %s %s\n", now_ns(), away ? "away" : "back", why);
}

/* ---- what is asked for ---- */

static uint64_t number(const char *text)
{
    char *rest;
    const unsigned long long value = strtoull(text, &rest, 10);
    if (*text < '0' || *text > '9' || *rest != '\0') stop("not a number", text);
    return value;
}

static weir_away away_of(const char *name)
{
    if (strcmp(name, "local") == 0) return WEIR_AWAY_LOCAL;
    if (strcmp(name, "open") == 0) return WEIR_AWAY_OPEN;
    if (strcmp(name, "closed") == 0) return WEIR_AWAY_CLOSED;
    stop("not local, open or closed", name);
    return WEIR_AWAY_DEFAULT;
}

static bool set(struct settings *settings, int option, const char *value)
{
    switch (option) {
    case 'u':
        settings->url = value;
        return true;
    case 'l':
        settings->limit = value;
        return true;
    case 'k':
        settings->key = value;
        return true;
    case 'o':
        settings->log = value;
        return true;
    case 's':
        settings->seconds = number(value);
        return true;
    case 'e':
        settings->every_ns = number(value) * NS_PER_US;
        return true;
    case 'p':
        settings->patience_ns = number(value) * NS_PER_MS;
        return true;
    case 'a':
        settings->away = away_of(value);
        return true;
    case 'n':
        settings->nodes = (unsigned)number(value);
        return true;
    case 'E':
        settings->lease_ns = number(value) * NS_PER_MS;
        return true;
    case 'd':
        settings->deadline_ns = number(value) * NS_PER_MS;
        return true;
    case 'K':
        settings->keys = number(value);
        return true;
    case 'm':
        settings->keys_max = number(value);
        return true;
    case 'w':
        settings->wave_ns = number(value) * NS_PER_MS;
        return true;
    default:
        return false;
    }
}

static struct settings settings_of(int count, char *arguments[])
{
    static const struct option options[] = {
        {"url", 1, NULL, 'u'},      {"limit", 1, NULL, 'l'},       {"key", 1, NULL, 'k'},
        {"log", 1, NULL, 'o'},      {"seconds", 1, NULL, 's'},     {"every-us", 1, NULL, 'e'},
        {"away", 1, NULL, 'a'},     {"patience-ms", 1, NULL, 'p'}, {"nodes", 1, NULL, 'n'},
        {"lease-ms", 1, NULL, 'E'}, {"deadline-ms", 1, NULL, 'd'}, {"keys", 1, NULL, 'K'},
        {"keys-max", 1, NULL, 'm'}, {"wave-ms", 1, NULL, 'w'},     {NULL, 0, NULL, 0}};
    struct settings settings = {.seconds = 5, .patience_ns = 2 * NS_PER_MS, .keys = 1};
    settings.deadline_ns = UINT64_C(20) * NS_PER_MS;
    int option;
    while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
        if (!set(&settings, option, optarg)) exit(2);
    }
    if (settings.url == NULL || settings.limit == NULL || settings.key == NULL || settings.log == NULL ||
        settings.keys == 0 || optind != count) {
        stop("usage", "--url --limit --key --log and what is in the file's head");
    }
    return settings;
}

/* ---- asking ---- */

/* A limit that has refused has given all that it had: no matter how slow this machine is. */
static void note_refusal(struct count *count, bool allowed, bool away)
{
    count->granted_by[away] += allowed;
    if (allowed || count->refused_by[away]) return;
    count->refused_by[away] = true;
    printf("%" PRIu64 " refused_%s %" PRIu64 "\n", now_ns(), away ? "alone" : "by_engine", count->granted_by[away]);
}

static void note(struct count *count, const struct settings *settings, const weir_engine_ask *ask, uint64_t took_ns)
{
    const bool allowed = weir_allowed(ask->decision);
    count->granted += allowed;
    count->denied += !allowed;
    count->from[ask->from]++;
    count->took[histogram_bucket(took_ns, TOOK_BITS)]++;
    count->late += took_ns > settings->deadline_ns;
    if (took_ns > count->longest_ns) count->longest_ns = took_ns;
    if ((ask->from == WEIR_FROM_AWAY) != (count->last == WEIR_FROM_AWAY)) {
        printf("%" PRIu64 " first %" PRIu64 " %s\n", now_ns(), took_ns / NS_PER_US, allowed ? "allow" : "deny");
    }
    count->last = ask->from;
    count->since_away = ask->from == WEIR_FROM_AWAY ? count->since_away + 1 : 0;
    if (count->since_away == STILL_AWAY) printf("%" PRIu64 " still_away\n", now_ns());
    note_refusal(count, allowed, ask->from == WEIR_FROM_AWAY);
}

/* Whole lines: a process that is killed has written one or not. */
static void write_grant(FILE *log, uint64_t asked_ns, uint64_t told_ns, weir_from from)
{
    fprintf(log, "%" PRIu64 " %" PRIu64 " 1 %s\n", asked_ns, told_ns, from_names[from]);
    if (fflush(log) != 0) stop("the log", strerror(errno));
}

static void ask_once(weir_engine *engine, weir_engine_ask *ask, FILE *log, const struct settings *settings,
                     struct count *count)
{
    const uint64_t asked_ns = now_ns();
    weir_engine_batch(engine, ask, 1);
    const uint64_t told_ns = now_ns();
    note(count, settings, ask, told_ns - asked_ns);
    if (weir_allowed(ask->decision)) {
        write_grant(log, asked_ns, told_ns, ask->from);
    } else if (settings->every_ns == 0) {
        const uint64_t retry_ns = ask->decision.retry_ns;
        sleep_ns(retry_ns != 0 && retry_ns < settings->patience_ns ? retry_ns : settings->patience_ns);
    }
}

static void keep_pace(const struct settings *settings, uint64_t due_ns)
{
    const uint64_t now = now_ns(), quarter_ns = settings->wave_ns / 4;
    if (due_ns > now) sleep_ns(due_ns - now);
    if (settings->wave_ns == 0) return;
    const uint64_t at_ns = now % settings->wave_ns;
    if (at_ns < quarter_ns) sleep_ns(quarter_ns - at_ns);
    else if (at_ns < 2 * quarter_ns) sleep_ns(CALM_NS);
}

static void ask_all(weir_engine *engine, const weir_engine_limit *limit, FILE *log, const struct settings *settings,
                    struct count *count)
{
    const uint64_t begun_ns = now_ns();
    uint64_t due_ns = begun_ns;
    for (uint64_t turn = 0; !over && now_ns() - begun_ns < settings->seconds * NS_PER_S; turn++) {
        char key[KEY_SIZE];
        snprintf(key, sizeof key, "%s", settings->key);
        if (settings->keys > 1) snprintf(key, sizeof key, "%s%" PRIu64, settings->key, turn % settings->keys);
        weir_engine_ask ask = {.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text(key)};
        ask_once(engine, &ask, log, settings, count);
        due_ns += settings->every_ns;
        keep_pace(settings, due_ns);
    }
}

/* ---- what was counted ---- */

static uint64_t memory_kb(void)
{
    unsigned long long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
    if (file != NULL) fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void tell(const char *name, uint64_t value)
{
    printf("%s %" PRIu64 "\n", name, value);
}

static void tell_all(weir_engine *engine, const struct count *count, uint64_t memory_before_kb)
{
    weir_engine_stats stats;
    weir_engine_read_stats(engine, &stats, sizeof stats);
    tell("granted", count->granted);
    tell("denied", count->denied);
    for (int from = WEIR_FROM_ENGINE; from < FROM_COUNT; from++) tell(from_names[from], count->from[from]);
    tell("late", count->late);
    tell("longest_us", count->longest_ns / NS_PER_US);
    for (unsigned i = 0; i < TOOK_BUCKETS; i++) {
        char name[32];
        snprintf(name, sizeof name, "took_%" PRIu64, histogram_bucket_end(i, TOOK_BITS));
        if (count->took[i] != 0) tell(name, count->took[i]);
    }
    tell("commands", stats.commands);
    tell("connects", stats.connects);
    tell("redirected", stats.redirected);
    tell("outage_count", stats.outage_count);
    tell("leased", stats.leased);
    tell("lease_unused", stats.lease_unused);
    tell("nodes", stats.nodes);
    tell("memory_before_kb", memory_before_kb);
    tell("memory_kb", memory_kb());
}

int main(int count, char *arguments[])
{
    const struct settings settings = settings_of(count, arguments);
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGTERM, end);
    FILE *log = fopen(settings.log, "a");
    if (log == NULL) stop(settings.log, strerror(errno));
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    options.deadline_ns = settings.deadline_ns;
    options.away = settings.away;
    options.nodes = settings.nodes;
    options.lease_ns = settings.lease_ns;
    options.keys_max = settings.keys_max;
    options.changed = changed;
    weir_engine *engine;
    weir_engine_limit *limit;
    weir_error error;
    if (weir_engine_open(&engine, settings.url, &options, &error) != 0) stop(settings.url, error.message);
    if (weir_engine_limit_open(&limit, engine, settings.limit, WEIR_AWAY_DEFAULT, &error) != 0) {
        stop(settings.limit, error.message);
    }
    struct count counted = {.last = WEIR_FROM_ENGINE};
    const uint64_t memory_before_kb = memory_kb();
    ask_all(engine, limit, log, &settings, &counted);
    tell_all(engine, &counted, memory_before_kb);
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
    return fclose(log) == 0 ? 0 : 1;
}
