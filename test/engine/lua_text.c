/* SPDX-License-Identifier: MIT
   The same texts to the module's reader and to weir.lua: the same numbers, or both refuse.

       engine-lua_text SOCKET [TEXTS [SEED]]

   First the texts that are listed here, at the edges of what either can count; then random ones of weir-limit(7), and
   what weir's clients make of them, and those with a few bytes changed.  lua.sh adds the function weir_test_rules,
   which tells what was read.

   The same texts for the same seed. */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random_text.h"
#include "redis/micro/micro.h"

enum { SAID_SIZE = 4096, TEXTS_DEFAULT = 20000 };

struct asked {
    char text[TEXT_SIZE], said[SAID_SIZE];
};

struct sums {
    uint64_t read, refused, rich, written, unwritten;
};

/* ---- texts ---- */

/* leaky keeps thousandths a millisecond, not us a permit: its numbers may fit where those of a line do not.  In pairs:
   kept, and too much.  Then what is too much for C's own parser, which multiplies the digits as they were written; and
   what is plain but for one thing. */
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
                                     "2.29k/13s debt=1 start=full count-refused",
                                     "4503599627370496/4503599627370496us",
                                     "4503599627370497/s algorithm=leaky",
                                     "10/142year algorithm=leaky",
                                     "10/143year algorithm=leaky",
                                     "10/7w",
                                     "10/4503599627370496ns burst=4503599627370495ns",
                                     "4503599627370495/4503599627370496ns",
                                     "4503599627371/4503599627370495ns",
                                     "4503599627371/4503599632812500ns algorithm=leaky burst=1",
                                     "4503599627370/5000000029us burst=1",
                                     "4503599627371/5000000029us burst=1",
                                     "1/us burst=1500ns",
                                     "7/999ns algorithm=fixed-window align=clock",
                                     "7/2000ns algorithm=fixed-window align=clock",
                                     "7/1001ns algorithm=sliding-log edge=closed gap=0s",
                                     "7/us algorithm=sliding-log edge=closed",
                                     "100001/s algorithm=sliding-log",
                                     "60000/s algorithm=sliding-log; 40000/s gap=1ms; 1/s edge=open",
                                     "60000/s algorithm=sliding-log; 40000/s gap=1ms",
                                     "1/s;1/s;1/s;1/s;1/s;1/s;1/s;1/s",
                                     "1/s;1/s;1/s;1/s;1/s;1/s;1/s;1/s;1/s",
                                     " 10/s   burst=20 ;  none  ",
                                     "10/s burst=20;",
                                     ";10/s",
                                     "",
                                     " ",
                                     "0/s",
                                     "10/0s",
                                     "010/s",
                                     "10/01s",
                                     "10/s burst=020",
                                     "10/s debt=0",
                                     "10/s burst=0",
                                     "10/s delay=0",
                                     "10/s block=0s",
                                     "10/s burst=20  burst=20",
                                     "10/s burst = 20",
                                     "10 /s",
                                     "10/ s",
                                     "10  tokens/s",
                                     "10 tokens/s",
                                     "10 ops/s",
                                     "10 as/s",
                                     "10 a-ls/s",
                                     "10 rps/s",
                                     "10 bps/s",
                                     "10 kbits/s",
                                     "10 hours/s",
                                     "10 mins/h",
                                     "10 strictness/s",
                                     "10 token/s",
                                     "10 Tokens/s",
                                     "10tokens/s",
                                     "10 abcdefghijklmnopqrstuvs/s",
                                     "10 abcdefghijklmnopqrstuvws/s",
                                     "10/m",
                                     "10/sec",
                                     "10/mins",
                                     "10/s burst=1.5",
                                     "10/s catchup=1.5",
                                     "10/s catchup=1.",
                                     "10/s catchup=1.1.1",
                                     "10/s catchup=01.5",
                                     "10/s catchup=1.5s",
                                     "10/s catchup=1000",
                                     "10/s catchup=1000.1",
                                     "10/s catchup=0.9",
                                     "10/s catchup=1.0000000000000000",
                                     "10/us catchup=1.000000000000001",
                                     "10/s algorithm=token-bucket",
                                     "10/s algorithm=leaky_bucket",
                                     "10/s nodelay delay=3",
                                     "10/s nodelay=1",
                                     "10/s nodelay catchup=1.1",
                                     "10/s shadow",
                                     "10/s lease=1s",
                                     "10/s count-refused block=1s",
                                     "10/s block=1s",
                                     "10/s start=empty",
                                     "10/s algorithm=hybrid start=empty",
                                     "10/s algorithm=gcra-",
                                     "10/s\tburst=20",
                                     "10/s\n",
                                     "10/s, 10/h",
                                     "unlimited; none",
                                     "unlimited burst=20",
                                     "12000",
                                     "100k tokens/min",
                                     "1_000/s",
                                     "10 per s",
                                     "10/s burst=9007199254740993 algorithm=sliding-window",
                                     "10/s debt=9007199254740993 algorithm=sliding-window",
                                     "1/4503599627370497ns algorithm=fixed-window",
                                     "1/4503599627370497ns algorithm=sliding-log edge=closed",
                                     "1/36028797018963960ns",
                                     "1000000/142year algorithm=leaky burst=5",
                                     "1000000/143year algorithm=leaky burst=5",
                                     "1000/143year burst=5",
                                     "20 concurrent lease=30s",
                                     "20 concurrent jobs lease=30s; 100/s",
                                     "20  concurrent lease=30s",
                                     "20 concurrent  jobs lease=30s",
                                     "20 concurrent job lease=30s",
                                     "20 concurrent hours lease=30s",
                                     "20 concurrents lease=30s",
                                     "20 concurrent-ones lease=30s",
                                     "20 jobs concurrent lease=30s",
                                     "20 concurrent",
                                     "20 concurrent lease=0s",
                                     "20 concurrent lease=1500ns",
                                     "20 concurrent lease=35year",
                                     "20 concurrent lease=36year",
                                     "20 concurrent lease=30s lease=30s",
                                     "20 concurrent lease=30s algorithm=gcra",
                                     "20 concurrent lease=30s algorithm=concurrent",
                                     "20 concurrent lease=30s burst=20",
                                     "20 concurrent/s lease=30s",
                                     "20 concurrent per s lease=30s",
                                     "20 concurrent lease=30",
                                     "10000 concurrent lease=1h",
                                     "10001 concurrent lease=1h",
                                     "70000 concurrent lease=1h",
                                     "0 concurrent lease=1h",
                                     "20k concurrent lease=1h",
                                     "20 concurrent lease=1h; 3 concurrent lease=1h",
                                     "100/s; 20 concurrent lease=30s",
                                     "unlimited weight=2",
                                     "unlimited  weight=1000 ; none",
                                     "unlimited weight=0",
                                     "unlimited weight=1001",
                                     "unlimited weight=02",
                                     "unlimited weight",
                                     "unlimited weight=2 weight=2",
                                     "unlimited weight=2 burst=3",
                                     "unlimited algorithm=gcra weight=2",
                                     "unlimited-weight=2",
                                     "none weight=2",
                                     "10/s weight=3 burst=4; 20/s",
                                     "10/s guaranteed weight=3; 20/s weight=2",
                                     "10/s; 20/s weight=2",
                                     "unlimited; unlimited weight=2",
                                     "10/s weight=3 algorithm=hybrid",
                                     "10/s weight=3 algorithm=sliding-window",
                                     "unlimited weight=2 under 400/s burst=100",
                                     "unlimited weight=2 under 400/s weight=3",
                                     "unlimited under 400/s weight=3",
                                     "1/s under unlimited weight=7 under 5/s weight=2 under 1/d; 400/s",
                                     "1/s weight=2 under 9/s algorithm=hybrid; 1000000/s burst=1",
                                     "1/s weight=2 under 9/s algorithm=hybrid",
                                     "1/s weight=2 under unlimited",
                                     "1/s algorithm=leaky weight=2 under 9/s",
                                     "unlimited weight=2 under 1000000/s burst=1000000",
                                     "unlimited weight=2 under 1000000000/s burst=30000000000",
                                     "unlimited weight=2 under 1000000000/s burst=40000000000",
                                     "unlimited weight=2 under 3/d burst=1000",
                                     "unlimited weight=2 under 3/d burst=1300",
                                     "unlimited weight=2 under 7/year burst=9",
                                     "unlimited weight=2 under 13/s burst=1500ms",
                                     "10/s algorithm=concurrent lease=1s",
                                     "10/s algorithm=concurrent"};

/* Of those listed: leaky at periods of over 142 years when its count is made whole. */
enum { UNWRITTEN_LISTED = 2 };

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
                                     " lease=1s",
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
                                     " concurrent jobs",
                                     " lease=1500ns",
                                     " weight=3",
                                     " weight=1001",
                                     "unlimited weight=2 under ",
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

/* Alone, or in front of the others. */
static void a_concurrent(uint64_t *seed, char text[TEXT_SIZE])
{
    char others[TEXT_SIZE];
    memcpy(others, text, sizeof others);
    text[0] = '\0';
    text_add(text, "%" PRIu64 " concurrent%s lease=", random_positive(seed, 14), random_one_in(seed, 3) ? " jobs" : "");
    text_time(seed, text);
    if (random_one_in(seed, 2)) text_add(text, "; %s", others);
}

static void a_text(uint64_t *seed, char text[TEXT_SIZE])
{
    random_text(seed, text);
    if (random_one_in(seed, 4)) a_concurrent(seed, text);
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

static void say_plan(const struct micro_plan *micro, char said[SAID_SIZE])
{
    said[0] = '\0';
    for (unsigned i = 0; i < micro->count; i++) say_rule(&micro->rule[i], said);
    const struct micro_weights *weights = &micro->weights;
    const size_t at = strlen(said);
    if (weights->weight == 0) return;
    if (micro->levels == 1) snprintf(said + at, SAID_SIZE - at, " weight %" PRIu64, weights->weight);
    else
        snprintf(said + at, SAID_SIZE - at, " weight %" PRIu64 " of %u %u %" PRIu64 " %" PRIu64, weights->weight,
                 weights->level, weights->limit, weights->permit, weights->per);
}

/* The rules, or "refused". */
static void say_text(const char *text, char said[SAID_SIZE])
{
    weir_error error;
    struct micro_plan micro;
    if (micro_text_read(&micro, text, &error) == 0) say_plan(&micro, said);
    else snprintf(said, SAID_SIZE, "refused");
}

static void fail(const struct asked *asked, const char *other)
{
    printf("FAILED: '%s'\n  %s\n  C: %s\n", asked->text, other, asked->said);
    exit(1);
}

/* What weir's clients send instead: it has to be read as the same rules.  false: an engine does not keep it, or no such
   text can say it. */
static bool rewrite(const struct asked *from, struct asked *to, struct sums *sums)
{
    weir_plan plan;
    struct micro_plan micro;
    char kept[SAID_SIZE];
    if (weir_plan_parse(&plan, from->text, WEIR_ADMIT, NULL) != 0 || micro_plan_make(&micro, &plan, NULL) != 0)
        return false;
    sums->rich++;
    const size_t size = micro_text_write(&plan, to->text, sizeof to->text);
    if (size == 0 || size >= sizeof to->text) {
        sums->unwritten++;
        return false;
    }
    say_plan(&micro, kept);
    say_text(to->text, to->said);
    if (strcmp(kept, to->said) != 0) fail(to, from->text);
    sums->written++;
    return true;
}

/* ---- comparing ---- */

static void check(redisContext *engine, struct asked *asked, struct sums *sums)
{
    say_text(asked->text, asked->said);
    redisReply *reply = redisCommand(engine, "FCALL_RO weir_test_rules 0 %s", asked->text);
    if (reply == NULL) {
        fprintf(stderr, "the engine: %s\n", engine->errstr);
        exit(1);
    }
    const bool refused = strcmp(asked->said, "refused") == 0, error = reply->type == REDIS_REPLY_ERROR;
    int column;
    if (error ? !refused : strcmp(reply->str, asked->said) != 0) fail(asked, reply->str);
    if (error && sscanf(reply->str, "WEIRLIMIT col %d:", &column) != 1) fail(asked, reply->str);
    sums->read += !refused;
    sums->refused += refused;
    freeReplyObject(reply);
}

/* A text as it is, as clients write it, and that with some bytes changed. */
static void check_forms(redisContext *engine, uint64_t *seed, struct asked *asked, struct sums *sums)
{
    struct asked plain;
    check(engine, asked, sums);
    if (!rewrite(asked, &plain, sums)) return;
    check(engine, &plain, sums);
    mutate(seed, plain.text);
    check(engine, &plain, sums);
}

/* Each algorithm with each option, and each two of these. */
static void check_options(redisContext *engine, uint64_t *seed, struct sums *sums)
{
    static const char *const algorithms[] = {"",
                                             " algorithm=gcra",
                                             " algorithm=hybrid",
                                             " algorithm=leaky",
                                             " algorithm=fixed-window",
                                             " algorithm=sliding-window",
                                             " algorithm=sliding-log",
                                             " algorithm=timeline"};
    static const char *const options[] = {"",
                                          " burst=20",
                                          " burst=2s",
                                          " debt=5",
                                          " catchup=1.5",
                                          " start=full",
                                          " start=empty",
                                          " nodelay",
                                          " delay=8",
                                          " block=3min",
                                          " gap=5ms",
                                          " align=clock",
                                          " align=first",
                                          " edge=open",
                                          " edge=closed",
                                          " count-refused",
                                          " shadow",
                                          " pay=self",
                                          " warmup=10s",
                                          " cold=3",
                                          " weight=2",
                                          " strictness=0.5"};
    enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms, OPTIONS_HERE = sizeof options / sizeof *options };
    for (int i = 0; i < ALGORITHMS * OPTIONS_HERE * OPTIONS_HERE; i++) {
        struct asked asked;
        snprintf(asked.text, sizeof asked.text, "10/s%s%s%s", options[i / OPTIONS_HERE % OPTIONS_HERE],
                 algorithms[i / OPTIONS_HERE / OPTIONS_HERE], options[i % OPTIONS_HERE]);
        check_forms(engine, seed, &asked, sums);
    }
}

int main(int argc, char **argv)
{
    struct asked asked;
    const uint64_t texts = argc > 2 ? strtoull(argv[2], NULL, 10) : TEXTS_DEFAULT;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 7;
    struct sums sums = {0};
    redisContext *engine = argc > 1 ? redisConnectUnix(argv[1]) : NULL;
    if (engine == NULL || engine->err != 0) {
        fprintf(stderr, "engine-lua_text SOCKET [TEXTS [SEED]]: %s\n", engine != NULL ? engine->errstr : "?");
        return 2;
    }
    printf("%" PRIu64 " texts of seed %" PRIu64 "\n", texts, seed);
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
        snprintf(asked.text, sizeof asked.text, "%s", listed[i]);
        check_forms(engine, &seed, &asked, &sums);
    }
    const bool listed_well = sums.unwritten == UNWRITTEN_LISTED;
    check_options(engine, &seed, &sums);
    for (uint64_t done = 0; done < texts; done++) {
        a_text(&seed, asked.text);
        check_forms(engine, &seed, &asked, &sums);
    }
    redisFree(engine);
    printf("no difference: %" PRIu64 " read, %" PRIu64 " refused; of %" PRIu64 " that engines keep %" PRIu64
           " were written plainly, and %" PRIu64 " cannot be\n",
           sums.read, sums.refused, sums.rich, sums.written, sums.unwritten);
    return listed_well && sums.written > sums.unwritten * 50 && sums.read > sums.refused / 10 ? 0 : 1;
}
