/* SPDX-License-Identifier: MIT
   Libweir-redis at work, for the scripts of this folder: reads orders, a line each, and says what came of them.

       ask URL [away=local|open|closed] [deadline=MS] [nodes=N] [user=U] [password=P] [prefix=P]
           [lease=MS]

       limit TEXT             the limit from now on; "limit: ok" or what is wrong
       take KEY [COST [N]]    N times; "allow|deny|never remaining REST from engine|lease|away", one line for each
       count KEY N            N times, told together: "engine A away B allowed C"
       batch KEY N            the same, at once, of N keys KEY0 ...
       peek KEY, charge KEY COST, forget KEY
       settle ACTUAL, renew, release       of the last take; "settled|renewed|released yes|no"
       tick [N]               N times weir_engine_tick, 10 ms apart
       stats                  "NAME NUMBER" a line
       install, check         lines, then "done 0" or "done CODE MESSAGE"
       within MS              "yes" when every call since the last one took less than that
       mark WORD              says "-- WORD"
       end

   "changed away WHY", "changed back WHY" and "told WHY" are said when they are. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/redis.h>

enum { TEXT_MAX = 4096, WORDS_MAX = 4, ASKS_MAX = 5000 };

static weir_engine *engine;
static weir_engine_limit *limit;
static weir_decision last;
static weir_key last_key;
static char last_key_text[TEXT_MAX];
static uint64_t longest_ns;

static const char *verdict_name(weir_decision decision)
{
    static const char *const names[] = {"none", "allow", "deny", "never", "stopped"};
    return names[decision.verdict];
}

static const char *from_name(weir_from from)
{
    static const char *const names[] = {"nobody", "engine", "lease", "away"};
    return names[from];
}

static void changed(void *context, bool away, const char *why)
{
    static bool was_away;
    (void)context;
    printf("%s %s\n", away == was_away ? "told" : away ? "changed away" : "changed back", why);
    was_away = away;
}

static void line(void *context, const char *text)
{
    (void)context;
    printf("%s\n", text);
}

static void ask(weir_engine_ask *asks, size_t n)
{
    const uint64_t begun = weir_now().ns;
    weir_engine_batch(engine, asks, n);
    const uint64_t took = weir_now().ns - begun;
    if (took > longest_ns) longest_ns = took;
}

static weir_engine_ask ask_one(weir_verb verb, const char *key, const uint64_t *cost)
{
    weir_engine_ask one = {.verb = verb, .limit = limit, .key = weir_key_text(key), .cost = cost, .costs = 1};
    ask(&one, 1);
    return one;
}

static void tell(const weir_engine_ask *one)
{
    printf("%s remaining %" PRIu64 " from %s\n", verdict_name(one->decision), one->decision.remaining,
           from_name(one->from));
}

static void take(const char *key, uint64_t cost, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        const weir_engine_ask one = ask_one(WEIR_ASK_TAKE, key, &cost);
        last = one.decision;
        snprintf(last_key_text, sizeof last_key_text, "%s", key);
        last_key = weir_key_text(last_key_text);
        tell(&one);
    }
}

static void add(const weir_engine_ask *one, uint64_t counts[4], uint64_t *allowed)
{
    counts[one->from]++;
    *allowed += one->decision.verdict == WEIR_ALLOW;
}

static void say_counts(const uint64_t counts[4], uint64_t allowed)
{
    printf("engine %" PRIu64 " away %" PRIu64 " allowed %" PRIu64 "\n", counts[WEIR_FROM_ENGINE],
           counts[WEIR_FROM_AWAY], allowed);
}

static void count(const char *key, uint64_t times)
{
    uint64_t counts[4] = {0}, allowed = 0;
    for (uint64_t i = 0; i < times; i++) {
        const weir_engine_ask one = ask_one(WEIR_ASK_TAKE, key, &(uint64_t){1});
        add(&one, counts, &allowed);
    }
    say_counts(counts, allowed);
}

static void batch(const char *key, uint64_t times)
{
    static weir_engine_ask asks[ASKS_MAX];
    static char keys[ASKS_MAX][64];
    uint64_t counts[4] = {0}, allowed = 0;
    for (uint64_t i = 0; i < times; i++) {
        snprintf(keys[i], sizeof keys[i], "%s%" PRIu64, key, i);
        asks[i] = (weir_engine_ask){.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text(keys[i])};
    }
    ask(asks, times);
    for (uint64_t i = 0; i < times; i++) add(&asks[i], counts, &allowed);
    say_counts(counts, allowed);
}

static void set_limit(const char *text)
{
    weir_error error;
    weir_engine_limit_close(limit);
    if (weir_engine_limit_open(&limit, engine, text, WEIR_AWAY_DEFAULT, &error) == 0) printf("limit: ok\n");
    else printf("limit: %d %s\n", error.code, error.message);
}

static void say_done(const char *what, bool done)
{
    printf("%s %s\n", what, done ? "yes" : "no");
}

static void say_stats(void)
{
    weir_engine_stats stats;
    weir_engine_read_stats(engine, &stats, sizeof stats);
    const struct {
        const char *name;
        uint64_t number;
    } all[] = {{"calls", stats.calls},
               {"from_engine", stats.from_engine},
               {"from_away", stats.from_away},
               {"from_lease", stats.from_lease},
               {"leased", stats.leased},
               {"lease_unused", stats.lease_unused},
               {"commands", stats.commands},
               {"connects", stats.connects},
               {"late", stats.late},
               {"redirected", stats.redirected},
               {"outage_count", stats.outage_count},
               {"nodes", stats.nodes},
               {"away", stats.away},
               {"foreign", stats.foreign}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) printf("%s %" PRIu64 "\n", all[i].name, all[i].number);
}

static void administer(int (*what)(weir_engine *, void (*)(void *, const char *), void *, weir_error *))
{
    weir_error error = {0};
    const int code = what(engine, line, NULL, &error);
    printf("done %d%s%s\n", code, code != 0 ? " " : "", code != 0 ? error.message : "");
}

static uint64_t number(const char *word, uint64_t otherwise)
{
    return word != NULL ? strtoull(word, NULL, 10) : otherwise;
}

static void tick(uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        weir_engine_tick(engine);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

static void obey(char *text)
{
    char *word[WORDS_MAX] = {NULL};
    if (strncmp(text, "limit ", 6) == 0) {
        set_limit(text + 6);
        return;
    }
    char *rest = NULL;
    for (int i = 0; i < WORDS_MAX; i++) word[i] = strtok_r(i == 0 ? text : NULL, " ", &rest);
    if (word[0] == NULL) return;
    const char *const key = word[1] != NULL ? word[1] : "";
    if (strcmp(word[0], "take") == 0) take(key, number(word[2], 1), number(word[3], 1));
    else if (strcmp(word[0], "count") == 0) count(key, number(word[2], 1));
    else if (strcmp(word[0], "batch") == 0) batch(key, number(word[2], 1));
    else if (strcmp(word[0], "settle") == 0)
        say_done("settled", weir_engine_settle(engine, limit, last_key, &last, number(word[1], 0)));
    else if (strcmp(word[0], "renew") == 0) say_done("renewed", weir_engine_renew(engine, limit, last_key, last.end));
    else if (strcmp(word[0], "release") == 0)
        say_done("released", weir_engine_release(engine, limit, last_key, last.end));
    else if (strcmp(word[0], "stats") == 0) say_stats();
    else if (strcmp(word[0], "tick") == 0) tick(number(word[1], 1));
    else if (strcmp(word[0], "install") == 0) administer(weir_engine_install);
    else if (strcmp(word[0], "check") == 0) administer(weir_engine_check);
    else if (strcmp(word[0], "mark") == 0) printf("-- %s\n", key);
    else if (strcmp(word[0], "peek") == 0 || strcmp(word[0], "charge") == 0 || strcmp(word[0], "forget") == 0) {
        const weir_verb verb = word[0][0] == 'p'   ? WEIR_ASK_PEEK
                               : word[0][0] == 'c' ? WEIR_ASK_CHARGE
                                                   : WEIR_ASK_FORGET;
        const uint64_t cost = number(word[2], 1);
        const weir_engine_ask one = ask_one(verb, key, &cost);
        tell(&one);
    } else if (strcmp(word[0], "within") == 0) {
        printf("%s\n", longest_ns < number(word[1], 0) * 1000000 ? "yes" : "no");
        if (longest_ns >= number(word[1], 0) * 1000000) fprintf(stderr, "%" PRIu64 " ns\n", longest_ns);
        longest_ns = 0;
    } else {
        printf("? %s\n", word[0]);
    }
}

static bool option(weir_engine_options *options, char *text)
{
    char *const value = strchr(text, '=');
    if (value == NULL) return false;
    const size_t size = (size_t)(value - text);
    const char *const given = value + 1;
    if (strncmp(text, "away", size) == 0) {
        options->away = given[0] == 'l' ? WEIR_AWAY_LOCAL : given[0] == 'o' ? WEIR_AWAY_OPEN : WEIR_AWAY_CLOSED;
    } else if (strncmp(text, "deadline", size) == 0) options->deadline_ns = number(given, 0) * 1000000;
    else if (strncmp(text, "nodes", size) == 0) options->nodes = (unsigned)number(given, 0);
    else if (strncmp(text, "user", size) == 0) options->user = given;
    else if (strncmp(text, "password", size) == 0) options->password = given;
    else if (strncmp(text, "prefix", size) == 0) options->prefix = given;
    else if (strncmp(text, "lease", size) == 0) options->lease_ns = number(given, 0) * 1000000;
    else return false;
    return true;
}

int main(int count_of_words, char **words)
{
    char text[TEXT_MAX];
    weir_error error;
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    options.changed = changed;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 2; i < count_of_words; i++) {
        if (!option(&options, words[i])) return 2;
    }
    if (count_of_words < 2 || weir_engine_open(&engine, words[1], &options, &error) != 0) {
        printf("open: %d column %d: %s\n", error.code, error.column, error.message);
        return 1;
    }
    while (fgets(text, sizeof text, stdin) != NULL && strcmp(text, "end\n") != 0) {
        text[strcspn(text, "\n")] = '\0';
        obey(text);
    }
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
    return 0;
}
