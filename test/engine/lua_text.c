/* SPDX-License-Identifier: MIT
   lua_text.c - the same texts to the parser in C and to the one in weir.lua: the same numbers, or both refuse.

       engine-lua_text SOCKET [TEXTS [SEED]]

   First the texts that are listed here, at the edges of what either can count; then random ones of the grammar, many
   with a few bytes changed.  lua.sh adds the function weir_test_rules, which tells what
   was read.  Where both refuse, their columns are compared as well: C's own parser names one for each mistake; what an
   engine does not keep has a column in Lua only.

   May touch: nothing in the engine.  Promises: the same texts for the same seed.  Leaves to others: what the numbers do
   (lua_micro.c). */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random_text.h"
#include "redis/micro/micro.h"

enum { BATCH = 64, SAID_SIZE = 4096, TEXTS_DEFAULT = 20000 };

static const char too_long_in_lua[] = "53 bits hold", engine_in_lua[] = " engine";

struct asked {
    char text[TEXT_SIZE], said[SAID_SIZE];
};

struct sums {
    uint64_t read, refused, longer;
};

/* ---- texts ---- */

/* leaky keeps thousandths a millisecond, not us a permit: its numbers may fit where those of a line do not.  In pairs:
   kept, and too much.  Then what is too much for C's own parser, which multiplies the digits as they were written. */
static const char *const listed[] = {"2.1022/11d burst=82 algorithm=leaky nodelay",
                                     "2.1022/11d burst=82",
                                     "4600000000001/11s algorithm=leaky burst=5",
                                     "4600000000001/11s burst=5",
                                     "4503599627370494/4999s algorithm=leaky burst=5",
                                     "4503599627370496/4999s algorithm=leaky burst=5",
                                     "1/4503599627370496ns algorithm=leaky",
                                     "1/4503599627370497ns algorithm=leaky",
                                     "10.001/18446744s algorithm=leaky burst=5",
                                     "10.001/18446745s algorithm=leaky burst=5",
                                     "0.10001/18446744073709us algorithm=leaky",
                                     "1000.0001/18446745s algorithm=leaky burst=2s",
                                     "39228378767663r/m delay=4294967296",
                                     "41/us burst=4503599627370493 algorithm=leaky nodelay delay=5",
                                     "4503599627367/h burst=554ns algorithm=hybrid catchup=2496000.6958612",
                                     "123456789.000000000000/s",
                                     "17.179869185Gi/1073741824us burst=5",
                                     "10/s burst=0.000003814697265625Gi",
                                     "10/0.9007199254740625w algorithm=fixed-window",
                                     "2.29k/13s debt=1 start=full count-refused"};

static const char *const pieces[] = {" ",
                                     ";",
                                     ",",
                                     "/",
                                     "per ",
                                     "10",
                                     "0",
                                     "0.5",
                                     "_",
                                     "k",
                                     "M",
                                     "kB",
                                     "Kib",
                                     "Mb",
                                     " tokens",
                                     " B",
                                     "month",
                                     "days",
                                     " burst=20",
                                     " burst=2s",
                                     " burst=0",
                                     " debt=5",
                                     " nodelay",
                                     " delay=0",
                                     " start=empty",
                                     " start=full",
                                     " shadow",
                                     " hold=1s",
                                     " pay=self",
                                     " cold=3",
                                     " warmup=10s",
                                     " strictness=0.5",
                                     " strictness=1.1",
                                     " catchup=0.9",
                                     " catchup=1001",
                                     " align=clock",
                                     " edge=open",
                                     " gap=1ms",
                                     " block=0s",
                                     " count-refused",
                                     " algorithm=gcra",
                                     " algorithm=cycle",
                                     " algorithm=bursty",
                                     " algorithm=timeline",
                                     " algorithm=leaky-bucket",
                                     " algorithm=",
                                     "1r/s",
                                     "2r/m",
                                     "unlimited",
                                     "none",
                                     ".",
                                     "=",
                                     "x",
                                     "\t",
                                     "1.000",
                                     "12000,1.1",
                                     " concurrent",
                                     "/3ns",
                                     "/1.5us",
                                     "9007199254740993",
                                     "/31536000000000001ns",
                                     "/7weeks",
                                     "/150years",
                                     "/36years",
                                     "4503599627370497"};

static void mutate(uint64_t *seed, char text[TEXT_SIZE])
{
    char other[TEXT_SIZE];
    const size_t size = strlen(text), at = random_below(seed, size + 1);
    const char *piece = TEXT_ONE_OF(seed, pieces);
    const size_t cut = random_one_in(seed, 2) ? random_below(seed, 4) : 0;
    const size_t behind = at + cut < size ? at + cut : size;
    snprintf(other, sizeof other, "%.*s%s%s", (int)at, text, random_one_in(seed, 4) ? "" : piece, text + behind);
    memcpy(text, other, sizeof other);
}

static void a_text(uint64_t *seed, char text[TEXT_SIZE])
{
    random_text(seed, text);
    for (uint64_t i = random_below(seed, 4); i > 0; i--) mutate(seed, text);
}

/* ---- what C says ---- */

static void say_rule(const struct micro_rule *rule, char said[SAID_SIZE])
{
    const size_t at = strlen(said);
    const uint64_t number[] = {rule->kind,   rule->flags,
                               rule->burst,  rule->permit,
                               rule->per,    rule->top,
                               rule->debt,   rule->period,
                               rule->block,  rule->gap,
                               rule->second, rule->third,
                               rule->calm,   rule->kind == MICRO_HYBRID ? rule->per_fast : 0};
    size_t size = 0;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        size += (size_t)snprintf(said + at + size, SAID_SIZE - at - size, " %" PRIu64, number[i]);
    snprintf(said + at + size, SAID_SIZE - at - size, ";");
}

/* The rules, or "col N", or "unsupported". */
static void say_text(const char *text, char said[SAID_SIZE])
{
    weir_plan plan;
    weir_error error;
    struct micro_plan micro;
    said[0] = '\0';
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, &error) != 0) {
        snprintf(said, SAID_SIZE, error.code == WEIR_EINVAL ? "col %d" : "unsupported", error.column);
    } else if (micro_plan_make(&micro, &plan, &error) != 0) {
        snprintf(said, SAID_SIZE, "unsupported");
    } else {
        for (unsigned i = 0; i < micro.count; i++) say_rule(&micro.rule[i], said);
    }
}

/* ---- comparing ---- */

static void ask(redisContext *engine, struct asked *asked)
{
    say_text(asked->text, asked->said);
    redisAppendCommand(engine, "FCALL_RO weir_test_rules 0 %s", asked->text);
}

static redisReply *reply_of(redisContext *engine)
{
    void *reply = NULL;
    if (redisGetReply(engine, &reply) == REDIS_OK) return reply;
    fprintf(stderr, "the engine: %s\n", engine->errstr);
    exit(1);
}

static bool is_refused(const char *said)
{
    return said[0] == 'c' || said[0] == 'u';
}

static bool agrees(const struct asked *asked, const redisReply *reply)
{
    int in_c = 0, in_lua = 0;
    if (reply->type != REDIS_REPLY_ERROR) return strcmp(reply->str, asked->said) == 0;
    if (sscanf(reply->str, "WEIRLIMIT col %d:", &in_lua) != 1) return false;
    /* A number of more digits than a double holds, in a rule that comes out small. */
    if (strstr(reply->str, too_long_in_lua) != NULL) return true;
    /* What an engine does not keep, before a mistake further on. */
    if (strstr(reply->str, engine_in_lua) != NULL) return is_refused(asked->said);
    return sscanf(asked->said, "col %d", &in_c) == 1 ? in_c == in_lua : asked->said[0] == 'u';
}

static void check(const struct asked *asked, redisReply *reply, struct sums *sums)
{
    const bool refused = is_refused(asked->said);
    if (!agrees(asked, reply)) {
        printf("FAILED: '%s'\n  Lua: %s\n  C:   %s\n", asked->text, reply->str, asked->said);
        exit(1);
    }
    sums->read += !refused;
    sums->refused += refused;
    sums->longer += !refused && reply->type == REDIS_REPLY_ERROR;
    freeReplyObject(reply);
}

static void check_listed(redisContext *engine, struct sums *sums)
{
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
        struct asked asked;
        snprintf(asked.text, sizeof asked.text, "%s", listed[i]);
        ask(engine, &asked);
        check(&asked, reply_of(engine), sums);
    }
}

int main(int argc, char **argv)
{
    static struct asked asked[BATCH];
    const uint64_t texts = argc > 2 ? strtoull(argv[2], NULL, 10) : TEXTS_DEFAULT;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 7;
    struct sums sums = {0};
    redisContext *engine = argc > 1 ? redisConnectUnix(argv[1]) : NULL;
    if (engine == NULL || engine->err != 0) {
        fprintf(stderr, "engine-lua_text SOCKET [TEXTS [SEED]]: %s\n", engine != NULL ? engine->errstr : "?");
        return 2;
    }
    printf("%" PRIu64 " texts of seed %" PRIu64 "\n", texts, seed);
    check_listed(engine, &sums);
    for (uint64_t done = 0; done < texts; done += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            a_text(&seed, asked[i].text);
            ask(engine, &asked[i]);
        }
        for (int i = 0; i < BATCH; i++) check(&asked[i], reply_of(engine), &sums);
    }
    redisFree(engine);
    printf("no difference: %" PRIu64 " read, %" PRIu64 " refused, %" PRIu64 " too long for Lua only\n", sums.read,
           sums.refused, sums.longer);
    return sums.longer * 100 < texts ? 0 : 1;
}
