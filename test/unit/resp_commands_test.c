/* SPDX-License-Identifier: MIT
   Every command in the protocol of Redis, and what is said of wrong ones, byte for byte.

   Answers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/config/config.h"
#include "serve/protocols.h"
#include "serve/stats/series.h"
#include "serve/stats/text.h"
#include "unit/serve_rig.h"
#include "unit/needs_receipts.h"

/* What is sent in one batch, and all that is answered. */
struct row {
    const char *sent, *answered;
};

static void check(const struct row rows[], size_t count)
{
    struct rig *rig = rig_open();
    for (size_t i = 0; i < count; i++) {
        const char *answer = rig_send(rig, rows[i].sent);
        if (strcmp(answer, rows[i].answered) != 0) {
            fail_msg("%s\nis answered\n%s\nnot\n%s", rows[i].sent, answer, rows[i].answered);
        }
    }
    rig_close(rig);
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof(rows)[0])

/* ---- CL.THROTTLE ---- */

static void throttle(void **state)
{
    static const struct row rows[] = {
        {"CL.THROTTLE user 15 30 60\r\n", "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n"},
        {"cl.throttle user 15 30 60 15\r\n", "*5\r\n:0\r\n:16\r\n:0\r\n:-1\r\n:32\r\n"},
        {"CL.THROTTLE user 15 30 60\r\n", "*5\r\n:1\r\n:16\r\n:0\r\n:2\r\n:32\r\n"},
        {"CL.THROTTLE user 15 30 60 17\r\n", "*5\r\n:1\r\n:16\r\n:0\r\n:-1\r\n:32\r\n"},     /* never */
        {"CL.THROTTLE user 15 30 60 0\r\n", "*5\r\n:0\r\n:16\r\n:0\r\n:-1\r\n:32\r\n"},      /* a look */
        {"CL.THROTTLE user +015 +30 060 01\r\n", "*5\r\n:1\r\n:16\r\n:0\r\n:2\r\n:32\r\n"},  /* as redis-cell reads */
        {"CL.THROTTLE fast 9 5000000 1\r\n", "*5\r\n:0\r\n:10\r\n:9\r\n:-1\r\n:1\r\n"},      /* 200 ns */
        {"CL.THROTTLE faster 9 5000000000 1\r\n", "*5\r\n:0\r\n:10\r\n:9\r\n:-1\r\n:1\r\n"}, /* 0.2 ns */
        {"CL.THROTTLE slow 1 1 31536000\r\n", "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:31536000\r\n"},
    };
    (void)state;
    CHECK(rows);
}

static void throttle_mistakes(void **state)
{
    static const char usage[] =
        "-ERR Usage: CL.THROTTLE <key> <max_burst> <count per period> <period> [<quantity>]; for "
        "example CL.THROTTLE user 15 30 60\r\n";
    static const char zero[] = "-ERR Zero rates are not supported: count and period are 1 or more; for example "
                               "CL.THROTTLE user 15 30 60\r\n";
    static const char range[] = " is 0 to 2^63 - 2; for example CL.THROTTLE user 15 30 60 1\r\n";
    char quantity[120], burst[120];
    snprintf(quantity, sizeof quantity, "-ERR quantity%s", range);
    snprintf(burst, sizeof burst, "-ERR max_burst%s", range);
    const struct row rows[] = {
        {"CL.THROTTLE user 15 30\r\n", usage},
        {"CL.THROTTLE user 15 30 60 1 1\r\n", usage},
        {"CL.THROTTLE user 15 abc 60\r\n",
         "-ERR Couldn't parse as integer: abc (count; for example CL.THROTTLE user 15 30 60)\r\n"},
        {"CL.THROTTLE user 9223372036854775808 30 60\r\n",
         "-ERR Couldn't parse as integer: 9223372036854775808 (max_burst; for example CL.THROTTLE user 15 30 60)\r\n"},
        {"CL.THROTTLE user -9223372036854775808 30 60\r\n",
         "-ERR Couldn't parse as integer: -9223372036854775808 (max_burst; for example CL.THROTTLE user 15 30 60)\r\n"},
        {"CL.THROTTLE user 15 - 60\r\n",
         "-ERR Couldn't parse as integer: - (count; for example CL.THROTTLE user 15 30 60)\r\n"},
        {"CL.THROTTLE user 15 0 60\r\n", zero},
        {"CL.THROTTLE user 15 30 -1\r\n", zero},
        {"CL.THROTTLE user 15 30 60 -1\r\n", quantity},
        {"CL.THROTTLE user -3 30 60\r\n", burst},
        {"CL.THROTTLE user 9223372036854775807 30 60\r\n", burst},
        {"*5\r\n$11\r\nCL.THROTTLE\r\n$0\r\n\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n",
         "-ERR the key has 0 bytes: expected 1 to 1024; for example user:42\r\n"},
    };
    (void)state;
    CHECK(rows);
}

static void throttle_too_large(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    const char *answer = rig_send(rig, "CL.THROTTLE user 1 1 9223372036854775807\r\n");
    assert_memory_equal(answer, "-ERR no limit can be made of these max_burst, count and period: ", 63);
    rig_close(rig);
}

/* ---- WEIR.TAKE and those like it ---- */

static void take(void **state)
{
    static const struct row rows[] = {
        {"WEIR.TAKE \"10/s burst=2\" a PEEK\r\n",
         "*8\r\n$5\r\nallow\r\n:0\r\n:1\r\n:0\r\n:0\r\n:100000000\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE \"10/s burst=2\" a COST 3\r\n", "*8\r\n$5\r\nnever\r\n:0\r\n:2\r\n:0\r\n:0\r\n:0\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE \"10/s burst=2\" a peek cost 2\r\n",
         "*8\r\n$5\r\nallow\r\n:0\r\n:0\r\n:0\r\n:0\r\n:200000000\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE \"10/s burst=2\" a COST 0\r\n", "*8\r\n$5\r\nallow\r\n:0\r\n:2\r\n:0\r\n:0\r\n:0\r\n$-1\r\n:0\r\n"},
        {"WEIR.CHARGE \"10/s burst=2\" a 3\r\n",
         "*8\r\n$5\r\nallow\r\n:0\r\n:0\r\n:0\r\n:0\r\n:300000000\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE \"10/s burst=2\" a\r\n",
         "*8\r\n$4\r\ndeny\r\n:0\r\n:0\r\n:0\r\n:200000000\r\n:300000000\r\n$-1\r\n:0\r\n"},
        {"WEIR.FORGET \"10/s burst=2\" a\r\n", ":1\r\n"},
        {"WEIR.TAKE \"10/s burst=2\" a PEEK\r\n",
         "*8\r\n$5\r\nallow\r\n:0\r\n:1\r\n:0\r\n:0\r\n:100000000\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE \"9/s; 100/h\" b COST 1 101\r\n",
         "*8\r\n$5\r\nnever\r\n:1\r\n:9\r\n:0\r\n:0\r\n:0\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE none b\r\n", "*8\r\n$5\r\nnever\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE unlimited b PEEK\r\n",
         "*8\r\n$5\r\nallow\r\n:0\r\n:9223372036854775807\r\n:0\r\n:0\r\n:0\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE \"2/h algorithm=sliding-log\" w COST 3\r\n",
         "*8\r\n$5\r\nnever\r\n:0\r\n:2\r\n:0\r\n:0\r\n:0\r\n$-1\r\n:0\r\n"},
    };
    (void)state;
    CHECK(rows);
}

#define TAKE_USAGE "limit key [COST n ...] [PEEK]; for example WEIR.TAKE 10/s user:42 COST 2"

static void take_mistakes(void **state)
{
    static const struct row rows[] = {
        {"WEIR.TAKE 10/s\r\n",
         "-ERR wrong number of arguments for 'weir.take' command: expected WEIR.TAKE " TAKE_USAGE "\r\n"},
        {"WEIR.TAKE \"2000/s algorithm=sliding-log\" a COST 2001\r\n",
         "*8\r\n$5\r\nnever\r\n:0\r\n:2000\r\n:0\r\n:0\r\n:0\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE \"1000/s algorithm=sliding-log; 1001/min algorithm=sliding-log\" a\r\n",
         "-BADLIMIT the sliding-logs of a client's text have at most 2000 permits; shorten the period, for example "
         "100/s "
         "for 6000/min, write algorithm=sliding-window, or give the limit a name in weir.yaml, for up to 8000\r\n"},
        {"WEIR.TAKE 10/ a\r\n", "-BADLIMIT col 4: expected a period: s, min, h, d, w; for example 10/s\r\n"},
        {"WEIR.TAKE apu a\r\n",
         "-NOLIMIT there is no limit called apu; define it in weir.yaml or by WEIR.LIMIT SET apu '10/s', or "
         "give a text such as 10/s\r\n"},
        {"WEIR.TAKE 10/s a NOW\r\n", "-ERR syntax error at 'NOW': expected WEIR.TAKE " TAKE_USAGE "\r\n"},
        {"WEIR.TAKE 10/s a COST\r\n",
         "-ERR expected a cost, 0 to 2^64 - 1, not \"\"; for example COST 2, or by unit COST tokens 812\r\n"},
        {"WEIR.TAKE 10/s a COST -1\r\n",
         "-ERR expected a cost, 0 to 2^64 - 1, not \"-1\"; for example COST 2, or by unit COST tokens 812\r\n"},
        {"WEIR.TAKE 10/s a COST 1 2\r\n", "-ERR this limit takes one cost, not 2; for example 2\r\n"},
        {"WEIR.TAKE \"1/s; 2/s; 3/s\" a COST 1 2\r\n",
         "-ERR these are 3 limits: expected one cost for all, or 3, not 2\r\n"},
        {"WEIR.TAKE 10/s a COST 1 COST 1\r\n", "-ERR syntax error at 'COST': expected WEIR.TAKE " TAKE_USAGE "\r\n"},
        {"WEIR.CHARGE 10/s a 1 x\r\n",
         "-ERR expected at most 8 numbers, 0 to 2^64 - 1, not \"x\"; by unit: tokens 812\r\n"},
        {"WEIR.SETTLE abc 1\r\n", "-BADRECEIPT this is no receipt, or one of an earlier weir, which cannot be settled "
                                  "any more; expected that of a "
                                  "take, whole: the seventh of WEIR.TAKE\r\n"},
    };
    (void)state;
    needs_receipts("unit/resp_commands: take_mistakes");
    CHECK(rows);
}

/* ---- cost by unit ---- */

#define MIXED "\"60 requests/min; 100k tokens/min\""

/* What is left of each limit tells what it cost: PEEK names the one with less. */
static void cost_by_unit(void **state)
{
    static const char left[] = "*8\r\n$5\r\nallow\r\n:%d\r\n:%d\r\n";
    static const struct {
        const char *sent;
        int limit, left;
    } rows[] = {
        {"WEIR.CHARGE " MIXED " a tokens 90000\r\n", 0, 59},
        {"WEIR.TAKE " MIXED " a COST tokens 9990 requests 0 PEEK\r\n", 1, 10},
        {"WEIR.TAKE " MIXED " a PEEK COST requests 40 tokens 1\r\n", 0, 19},
        {"WEIR.TAKE " MIXED " a PEEK\r\n", 0, 58},
        {"WEIR.TAKE " MIXED " a COST 0 PEEK\r\n", 0, 59},
        {"WEIR.TAKE " MIXED " a COST 2 0 PEEK\r\n", 0, 57},
        {"WEIR.TAKE \"10/s; 20/h\" b COST 3 PEEK\r\n", 0, 7}, /* one unit: as ever */
        {"WEIR.TAKE 10/s b COST requests 3 PEEK\r\n", 0, 7},
        {"WEIR.TAKE 10/s b COST request 3 PEEK\r\n", 0, 7},
        {"WEIR.TAKE \"8 concurrent jobs lease=1h; 10/s\" b COST jobs 3 PEEK\r\n", 0, 5},
    };
    char expected[64];
    (void)state;
    struct rig *rig = rig_open();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *answer = rig_send(rig, rows[i].sent);
        snprintf(expected, sizeof expected, left, rows[i].limit, rows[i].left);
        if (answer[1] == '9') expected[1] = '9'; /* a place for an id */
        if (strncmp(answer, expected, strlen(expected)) != 0)
            fail_msg("%s: %s, not %s", rows[i].sent, answer, expected);
    }
    rig_close(rig);
}

static void cost_mistakes(void **state)
{
    static const struct row rows[] = {
        {"WEIR.TAKE " MIXED " a COST 5\r\n", "-ERR limits count requests and tokens: write COST tokens 5\r\n"},
        {"WEIR.CHARGE " MIXED " a 5\r\n", "-ERR limits count requests and tokens: write tokens 5\r\n"},
        {"WEIR.TAKE " MIXED " a COST token 5\r\n",
         "-ERR \"token\" is no unit here; limits count requests and tokens: write COST tokens 5\r\n"},
        {"WEIR.TAKE " MIXED " a COST tokens 5 tokens 5\r\n",
         "-ERR \"tokens\" has two costs; limits count requests and tokens: write COST tokens 5\r\n"},
        {"WEIR.TAKE " MIXED " a COST requests 5\r\n",
         "-ERR \"tokens\" has no cost; limits count requests and tokens: write COST requests 5 tokens 1\r\n"},
        {"WEIR.TAKE " MIXED " a COST tokens=5\r\n",
         "-ERR expected a cost, 0 to 2^64 - 1, not \"tokens=5\"; for example COST 2, or by unit COST tokens 812\r\n"},
        {"WEIR.TAKE " MIXED " a COST tokens\r\n",
         "-ERR expected a cost, 0 to 2^64 - 1, not \"tokens\"; for example COST 2, or by unit COST tokens 812\r\n"},
        {"WEIR.TAKE " MIXED " a COST tokens 5 6\r\n",
         "-ERR syntax error at '6': expected WEIR.TAKE " TAKE_USAGE "\r\n"},
        {"WEIR.TAKE " MIXED " a COST tokens 5 COST 5\r\n",
         "-ERR syntax error at 'COST': expected WEIR.TAKE " TAKE_USAGE "\r\n"},
        {"WEIR.TAKE 10/s a COST tokens 5\r\n",
         "-ERR \"tokens\" is no unit here; the limit counts requests: write COST requests 5\r\n"},
    };
    (void)state;
    CHECK(rows);
}

static void key_of_nul(void **state)
{
    static const char command[] = "*3\r\n$9\r\nWEIR.TAKE\r\n$4\r\n10/s\r\n$2\r\n\0a\r\n";
    char long_key[1200];
    (void)state;
    struct rig *rig = rig_open();
    assert_string_equal(rig_send_bytes(rig, 0, (struct slice){command, sizeof command - 1}),
                        "-ERR the key begins with a byte that is 0: those are weir's own; for example user:42\r\n");
    snprintf(long_key, sizeof long_key, "%01025d", 0);
    assert_string_equal(RIG_SAY(rig, "WEIR.TAKE", "10/s", long_key),
                        "-ERR the key has 1025 bytes: expected 1 to 1024; for example user:42\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.TAKE", "10/s", long_key + 1, "PEEK"),
                        "*8\r\n$5\r\nallow\r\n:0\r\n:9\r\n:0\r\n:0\r\n:100000000\r\n$-1\r\n:0\r\n");
    rig_close(rig);
}

/* ---- WEIR.LIMIT ---- */

static void limits(void **state)
{
    static const struct row rows[] = {
        {"WEIR.LIMIT\r\n", "*0\r\n"},
        {"WEIR.LIMIT SET api \"10/s burst=2\"\r\n", "+OK\r\n"},
        {"WEIR.LIMIT LIST\r\n", "*2\r\n$3\r\napi\r\n$27\r\n10/s burst=2 algorithm=gcra\r\n"},
        {"WEIR.LIMIT GET api\r\n", "$27\r\n10/s burst=2 algorithm=gcra\r\n"},
        {"WEIR.TAKE api a PEEK\r\n", "*8\r\n$5\r\nallow\r\n:0\r\n:1\r\n:0\r\n:0\r\n:100000000\r\n$-1\r\n:0\r\n"},
        {"WEIR.CHARGE api a 2\r\n", "*8\r\n$5\r\nallow\r\n:0\r\n:0\r\n:0\r\n:0\r\n:200000000\r\n$-1\r\n:0\r\n"},
        /* Another text for the same name, in the very turn that sets it: what was used stays. */
        {"WEIR.LIMIT SET api \"10/s burst=3\"\r\nWEIR.TAKE api a PEEK\r\n",
         "+OK\r\n*8\r\n$5\r\nallow\r\n:0\r\n:0\r\n:0\r\n:0\r\n:300000000\r\n$-1\r\n:0\r\n"},
        /* The text alone has another state than the name. */
        {"WEIR.TAKE \"10/s burst=3\" a PEEK\r\n",
         "*8\r\n$5\r\nallow\r\n:0\r\n:2\r\n:0\r\n:0\r\n:100000000\r\n$-1\r\n:0\r\n"},
        {"WEIR.TAKE apu a\r\n", "-NOLIMIT there is no limit called apu; did you mean api?\r\n"},
        {"WEIR.TAKE pai a\r\n", "-NOLIMIT there is no limit called pai; did you mean api?\r\n"},
        {"WEIR.TAKE apis a\r\n", "-NOLIMIT there is no limit called apis; did you mean api?\r\n"},
        {"WEIR.LIMIT SET api 10/\r\n", "-BADLIMIT col 4: expected a period: s, min, h, d, w; for example 10/s\r\n"},
        {"WEIR.LIMIT SET 1api 10/s\r\n", "-BADLIMIT a name begins with a letter; for example api\r\n"},
        {"WEIR.LIMIT DEL api\r\n", "+OK\r\n"},
        {"WEIR.LIMIT DEL api\r\n", "-NOLIMIT no limit has this name\r\n"},
        {"WEIR.LIMIT GET api\r\n",
         "-NOLIMIT there is no limit called api; define it in weir.yaml or by WEIR.LIMIT SET api '10/s', or "
         "give a text such as 10/s\r\n"},
        {"WEIR.LIMIT SET api\r\n",
         "-ERR unknown subcommand or wrong number of arguments for 'SET': expected WEIR.LIMIT "
         "[LIST] | GET name | SET name text | DEL name; for example WEIR.LIMIT SET api '60 "
         "requests/min'\r\n"},
        {"WEIR.LIMIT SET unlimited-2 \"none\"\r\nWEIR.TAKE unlimited-2 a\r\n",
         "+OK\r\n*8\r\n$5\r\nnever\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n$-1\r\n:0\r\n"},
    };
    (void)state;
    CHECK(rows);
}

/* Who is exempt, or has "unlimited" or "none", may say the costs that the others have to say. */
static void costs_of_the_spared(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct config_problem problem;
    const char *file =
        "limits: {api: {limit: '60 requests/min; 1k tokens/min', key: [address], exempt: [10.0.0.0/8]}}\n"
        "overrides: {api: {192.0.2.1: unlimited, 192.0.2.2: none, 192.0.2.3: 9/s}}\n";
    struct policy *policy =
        config_policy(slice_of(file), rig->service.tables, NULL, service_number, &rig->service, &problem);
    assert_non_null(policy);
    service_publish(&rig->service, policy);
    static const char *const spared[] = {"10.0.0.1", "192.0.2.1"};
    for (int i = 0; i < 2; i++) {
        const char *said = RIG_SAY(rig, "WEIR.TAKE", "api", spared[i], "COST", "61", "5000");
        assert_memory_equal(said, "*8\r\n$5\r\nallow\r\n", 15);
    }
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "192.0.2.2", "COST", "1", "1"), "*8\r\n$5\r\nnever", 13);
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "192.0.2.1", "COST", "1", "1", "1"), "-ERR", 4);
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "192.0.2.3", "COST", "1", "1"), "-ERR", 4);
    assert_string_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "acme"),
                        "-ERR the key of this limit has no address that could be read; for example 192.0.2.1: in the "
                        "key, as address=, X-Real-IP\r\n");
    rig_close(rig);
}

/* ---- connections ---- */

static void connections(void **state)
{
    static const char hello[] = "*14\r\n$6\r\nserver\r\n$4\r\nweir\r\n$7\r\nversion\r\n$5\r\n" WEIR_VERSION
                                "\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"
                                "$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";
    static const char hello_3[] = "%7\r\n$6\r\nserver\r\n$4\r\nweir\r\n$7\r\nversion\r\n$5\r\n" WEIR_VERSION
                                  "\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"
                                  "$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";
    const struct row rows[] = {
        {"PING\r\nPING x\r\nECHO y\r\n", "+PONG\r\n$1\r\nx\r\n$1\r\ny\r\n"},
        {"PING x y\r\n", "-ERR wrong number of arguments for 'ping' command: expected PING [message]\r\n"},
        {"\r\n\r\n", ""},
        {"HELLO\r\n", hello},
        {"HELLO 4\r\n", "-NOPROTO unsupported protocol version\r\n"},
        {"CLIENT GETNAME\r\n", "$-1\r\n"},
        {"HELLO 3 SETNAME me AUTH default any\r\n", hello_3},
        {"CLIENT GETNAME\r\n", "$2\r\nme\r\n"},
        {"WEIR.TAKE none b\r\n", "*8\r\n$5\r\nnever\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n_\r\n:0\r\n"},
        {"HELLO 3 WHAT\r\n",
         "-ERR syntax error at 'WHAT': expected HELLO [version [AUTH user password] [SETNAME name]]\r\n"},
        {"CLIENT ID\r\n", ":1\r\n"},
        {"CLIENT SETNAME \"a b\"\r\n",
         "-ERR Client names cannot contain spaces, newlines or special characters, and have at most 64 bytes.\r\n"},
        {"CLIENT SETINFO LIB-NAME redis-py\r\nCLIENT NO-EVICT on\r\n", "+OK\r\n+OK\r\n"},
        {"CLIENT INFO\r\n", "$57\r\nid=1 name=me db=0 resp=3 user=default lib-name= lib-ver=\n\r\n"},
        {"CLIENT KILL 1\r\n",
         "-ERR unknown subcommand or wrong number of arguments for 'KILL': expected CLIENT ID | INFO | LIST | "
         "GETNAME | SETNAME name | SETINFO option value\r\n"},
        {"RESET\r\nCLIENT GETNAME\r\n", "+RESET\r\n$-1\r\n"},
        {"SELECT 0\r\nSELECT 1\r\n", "+OK\r\n-ERR DB index is out of range: there is one database, 0\r\n"},
        {"AUTH any\r\n", "-ERR AUTH <password> called without any password configured for the default user. Are you "
                         "sure your configuration is correct?\r\n"},
        {"GET one\r\n", "-ERR unknown command 'GET', with args beginning with: 'one' \r\n"},
        {"CONFIG GET save\r\nCONFIG GET appendonly\r\nCONFIG GET maxmemory\r\n",
         "*2\r\n$4\r\nsave\r\n$0\r\n\r\n*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n*0\r\n"},
        {"DBSIZE\r\n", ":0\r\n"},
        {"PING\r\nQUIT\r\nPING\r\n", "+PONG\r\n+OK\r\n"},
        {"PING\r\n", ""},
    };
    (void)state;
    CHECK(rows);
}

static void passwords(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    service_allow(&rig->service, &(struct access){.password = {.text = {"open sesame"}}});
    rig->session[0].trusted = false;
    static const char required[] = "-NOAUTH Authentication required: AUTH, as weir.yaml or WEIR_PASSWORD has it.\r\n";
    static const char wrong[] = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    assert_string_equal(rig_send(rig, "PING\r\n"), required);
    assert_string_equal(rig_send(rig, "NOSUCH\r\n"), required);
    assert_string_equal(rig_send(rig, "WEIR.TAKE 1/h a\r\n"), required);
    assert_memory_equal(rig_send(rig, "HELLO 3\r\n"), "-NOAUTH HELLO must be called", 28);
    static const char *const others[] = {
        "open", "open sesamf", "open sesame!", "Open sesame", "open sesameo", "open sesameopen sesame", ""};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_string_equal(RIG_SAY(rig, "AUTH", others[i]), wrong);
    assert_string_equal(RIG_SAY(rig, "AUTH", "admin", "open sesame"), wrong);
    assert_string_equal(rig_send(rig, "PING\r\n"), required);
    assert_string_equal(RIG_SAY(rig, "AUTH", "default", "open sesame"), "+OK\r\n");
    assert_string_equal(rig_send(rig, "PING\r\n"), "+PONG\r\n");
    assert_string_equal(rig_send(rig, "RESET\r\nPING\r\n"),
                        "+RESET\r\n-NOAUTH Authentication required: AUTH, as weir.yaml or WEIR_PASSWORD has it.\r\n");
    assert_string_equal(RIG_SAY(rig, "HELLO", "3", "AUTH", "default", "open"), wrong);
    assert_int_equal(rig->session[0].resp_version, 2);
    assert_memory_equal(RIG_SAY(rig, "HELLO", "3", "AUTH", "default", "open sesame"), "%7\r\n", 4);
    assert_string_equal(rig_send(rig, "QUIT\r\n"), "+OK\r\n");
    rig_close(rig);
}

static void contains(const char *answer, const char *words)
{
    if (strstr(answer, words) == NULL) fail_msg("there is no %s in %s", words, answer);
}

/* Two passwords are valid at a time, and which two may change while a client is there. */
static void rotation(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    service_allow(&rig->service, &(struct access){.password = {.text = {"new", "old"}}});
    rig->session[0].trusted = false;
    assert_string_equal(rig_send(rig, "AUTH old\r\nRESET\r\nAUTH new\r\nRESET\r\n"),
                        "+OK\r\n+RESET\r\n+OK\r\n+RESET\r\n");
    service_allow(&rig->service, &(struct access){.password = {.text = {"newer", "new"}}});
    contains(rig_send(rig, "AUTH old\r\n"), "-WRONGPASS");
    assert_string_equal(rig_send(rig, "AUTH newer\r\nRESET\r\n"), "+OK\r\n+RESET\r\n");
    service_allow(&rig->service, &(struct access){.texts = ACCESS_TEXTS_ON});
    assert_string_equal(rig_send(rig, "PING\r\n"), "+PONG\r\n"); /* none is asked for any more */
    rig_close(rig);
}

/* Who may change limits: by session, by what is asked for, and by what was given. */
static void admins(void **state)
{
    (void)state;
    static const struct {
        bool remote, local;
        const char *password, *admin, *login;
        bool may;
    } rows[] = {
        {false, false, "", "", "PING", true},
        {true, false, "", "", "PING", false},
        {false, false, "p", "", "AUTH p", false},
        {false, true, "p", "", "AUTH p", true},
        {false, true, "", "a", "PING", true},
        {false, false, "", "a", "PING", false},
        {false, false, "", "a", "AUTH a", true},
        {true, false, "p", "a", "AUTH a", true},
        {true, false, "p", "a", "AUTH p", false},
        {true, false, "p", "a", "AUTH admin a", true},
        {true, false, "p", "a", "AUTH default a", true},
        {true, false, "p", "a", "HELLO 3 AUTH admin a", true},
        {true, false, "p", "a", "AUTH a\r\nAUTH p", false},
        {false, false, "", "a", "AUTH a\r\nRESET", false},
    };
    static const char *const changes[] = {"WEIR.LIMIT SET api 1/h\r\n", "WEIR.LIMIT DEL api\r\n",
                                          "WEIR.FORGET 1/h a\r\n"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig *rig = rig_open();
        struct access access = {.texts = ACCESS_TEXTS_ON};
        char login[64];
        snprintf(access.password.text[0], sizeof access.password.text[0], "%s", rows[i].password);
        snprintf(access.admin.text[0], sizeof access.admin.text[0], "%s", rows[i].admin);
        service_allow(&rig->service, &access);
        rig->session[0].trusted = false;
        rig->session[0].remote = rows[i].remote;
        rig->session[0].local = rows[i].local;
        snprintf(login, sizeof login, "%s\r\n", rows[i].login);
        if (rig_send(rig, login)[0] == '-') fail_msg("%zu: %s", i, rig->out[0]);
        for (size_t j = 0; j < sizeof changes / sizeof changes[0]; j++) {
            const char *answer = rig_send(rig, changes[j]);
            if ((answer[0] != '-') != rows[i].may) fail_msg("%zu: %s: %s", i, changes[j], answer);
            if (!rows[i].may) contains(answer, "-NOPERM");
        }
        contains(rig_send(rig, "WEIR.LIMIT\r\n"),
                 rig->session[0].resp_version == 3 ? "%0" : "*0"); /* to look is free */
        rig_close(rig);
    }
}

static void no_texts(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig_send(rig, "WEIR.LIMIT SET api 5/h\r\n");
    for (unsigned texts = ACCESS_TEXTS_OFF; texts <= ACCESS_TEXTS_ENGINE; texts++) {
        service_allow(&rig->service, &(struct access){.texts = (enum access_texts)texts});
        static const char *const asked[] = {"WEIR.TAKE 10/s a\r\n", "WEIR.CHARGE 10/s a 1\r\n",
                                            "WEIR.TAKE unlimited a\r\n", "WEIR.FORGET 10/s a\r\n",
                                            "CL.THROTTLE a 1 1 60\r\n"};
        for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
            const char *answer = rig_send(rig, asked[i]);
            contains(answer, "-NOPERM");
            contains(answer, "weir.yaml");
            contains(answer, "texts: o");
        }
        contains(rig_send(rig, "WEIR.TAKE api a\r\n"), "$5\r\nallow");
    }
    service_allow(&rig->service, &(struct access){.texts = ACCESS_TEXTS_ON});
    contains(rig_send(rig, "WEIR.TAKE 10/s a\r\n"), "$5\r\nallow");
    rig_close(rig);
}

/* A name that is removed leaves its counter to the next, who begins at 0, and nothing that was counted is lost. */
static void names_come_and_go(void **state)
{
    (void)state;
    enum { NAMES = 3000 };
    static char metrics[STATS_METRICS_MAX];
    struct rig *rig = rig_open();
    char commands[256];
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(commands, sizeof commands, "WEIR.LIMIT SET n%u 1/h\r\nWEIR.TAKE n%u a\r\nWEIR.LIMIT DEL n%u\r\n", i, i,
                 i);
        contains(rig_send(rig, commands), "$5\r\nallow");
        if (i % 100 == 0) series_sample(&rig->service);
    }
    rig_send(rig, "WEIR.LIMIT SET z 1/h\r\nWEIR.TAKE z a\r\nWEIR.TAKE z a\r\n");
    assert_in_range(rig->service.name_count, 1, 2);
    struct bytes out = {.memory = metrics, .capacity = sizeof metrics - 1};
    stats_write_metrics(&rig->service, &out);
    metrics[out.size] = '\0';
    contains(metrics, "\nweir_decisions_total{limit=\"z\",verdict=\"allow\"} 1\n");
    contains(metrics, "\nweir_decisions_total{limit=\"z\",verdict=\"deny\"} 1\n");
    contains(metrics, "\nweir_decisions_total{limit=\"(removed)\",verdict=\"allow\"} 3000\n");
    contains(metrics, "\nweir_decisions_total{limit=\"(text)\",verdict=\"allow\"} 0\n");
    contains(rig_send(rig, "INFO\r\n"), "\r\ndecisions_allowed:3001\r\ndecisions_denied:1\r\n");
    assert_in_range(out.size, 1, 16 << 10);
    series_sample(&rig->service);
    assert_int_equal(rig->service.series->sample[rig->service.series->count - 1].calls[SERIES_LIMITS].offered, 0);
    rig_close(rig);
}

/* A policy that another thread still looks at keeps its names; what was claimed for one that never came about goes with
   the next. */
static void names_in_use(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig_send(rig, "WEIR.LIMIT SET a 1/h\r\n");
    struct policy *held = service_policy(&rig->service);
    rig_send(rig, "WEIR.LIMIT DEL a\r\nWEIR.LIMIT SET b 1/h\r\n");
    assert_int_equal(service_number(&rig->service, "a"), 1);
    assert_int_equal(service_number(&rig->service, "b"), 2);
    service_release(&rig->service, held); /* claimed */
    rig_send(rig, "WEIR.LIMIT SET c 1/h\r\n");
    assert_int_equal(service_number(&rig->service, "c"), 3);
    service_publish(&rig->service, policy_with(NULL, rig->tables, slice_of("d"), "1/h", NULL));
    rig_send(rig, "PING\r\n");
    assert_int_equal(service_number(&rig->service, "e"), 1);
    assert_int_equal(service_number(&rig->service, "f"), 2);
    assert_int_equal(service_number(&rig->service, "g"), 3);
    rig_close(rig);
}

/* Before the password a command that is not whole is short; after it as long as any. */
static void short_before_password(void **state)
{
    (void)state;
    static const char begun[] = "*2\r\n$4\r\nAUTH\r\n$60000\r\n";
    char bytes[2048];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, begun, sizeof begun - 1);
    struct rig *rig = rig_open();
    service_allow(&rig->service, &(struct access){.password = {.text = {"p"}}});
    for (unsigned trusted = 0; trusted < 2; trusted++) {
        struct session *session = &rig->session[trusted];
        session->trusted = trusted != 0;
        assert_string_equal(rig_send_bytes(rig, trusted, (struct slice){bytes, 1024}), "");
        assert_false(session->closing);
        const char *answer = rig_send_bytes(rig, trusted, (struct slice){bytes, 1025});
        assert_int_equal(session->closing, trusted == 0);
        if (trusted == 0) contains(answer, "at most 1024 bytes before AUTH");
    }
    rig_close(rig);
}

/* ---- what clients ask of a server ---- */

static void told(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig_send(rig, "CL.THROTTLE a 0 1 60\r\nCL.THROTTLE a 0 1 60\r\nWEIR.LIMIT SET api 1/h\r\n");
    rig->now_ns += UINT64_C(90000000000);
    const char *answer = rig_send(rig, "INFO\r\n");
    contains(answer, "# Server\r\nredis_version:7.0.0\r\n");
    contains(answer, "\r\nuptime_in_seconds:90\r\n");
    contains(answer, "\r\nloading:0\r\n");
    contains(answer, "\r\ndecisions_allowed:1\r\ndecisions_denied:1\r\n");
    contains(answer, "\r\nlimits_with_a_name:1\r\n");
    answer = rig_send(rig, "INFO replication\r\n");
    assert_string_equal(answer, "$48\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n");
    contains(rig_send(rig, "COMMAND\r\n"), "*6\r\n$11\r\ncl.throttle\r\n:-1\r\n*1\r\n+fast\r\n:1\r\n:1\r\n:1\r\n");
    assert_string_equal(rig_send(rig, "COMMAND COUNT\r\n"), ":20\r\n");
    assert_string_equal(rig_send(rig, "COMMAND INFO nosuch echo\r\n"),
                        "*2\r\n$-1\r\n*6\r\n$4\r\necho\r\n:2\r\n*1\r\n+fast\r\n:0\r\n:0\r\n:0\r\n");
    contains(rig_send(rig, "COMMAND DOCS\r\n"), "$9\r\nweir.take\r\n*8\r\n$7\r\nsummary\r\n");
    contains(rig_send(rig, "COMMAND DOCS weir.take\r\n"),
             "$9\r\narguments\r\n*4\r\n"
             "*4\r\n$4\r\nname\r\n$5\r\nlimit\r\n$4\r\ntype\r\n$6\r\nstring\r\n"
             "*4\r\n$4\r\nname\r\n$3\r\nkey\r\n$4\r\ntype\r\n$6\r\nstring\r\n"
             "*8\r\n$4\r\nname\r\n$1\r\nn\r\n$4\r\ntype\r\n$6\r\nstring\r\n$5\r\ntoken\r\n$4\r\nCOST\r\n"
             "$5\r\nflags\r\n*2\r\n+optional\r\n+multiple\r\n"
             "*8\r\n$4\r\nname\r\n$4\r\nPEEK\r\n$4\r\ntype\r\n$10\r\npure-token\r\n$5\r\ntoken\r\n$4\r\nPEEK\r\n"
             "$5\r\nflags\r\n*1\r\n+optional\r\n");
    contains(rig_send(rig, "COMMAND DOCS weir.limit\r\n"),
             "$9\r\narguments\r\n*1\r\n*4\r\n$4\r\nname\r\n$44\r\n[LIST] | GET name | SET name text | DEL name\r\n");
    assert_string_equal(
        rig_send(rig, "COMMAND DOCS echo\r\n"),
        "*2\r\n$4\r\necho\r\n*8\r\n$7\r\nsummary\r\n$11\r\nThe message\r\n$5\r\nsince\r\n$5\r\n0.1.0\r\n"
        "$5\r\ngroup\r\n$7\r\ngeneric\r\n$9\r\narguments\r\n*1\r\n"
        "*4\r\n$4\r\nname\r\n$7\r\nmessage\r\n$4\r\ntype\r\n$6\r\nstring\r\n");
    rig_close(rig);
}

/* Together they are longer than what is sent at once: each is whole. */
static void many_docs(void **state)
{
    (void)state;
    enum { ASKED = 1000 };
    static const char one[] = "COMMAND DOCS weir.take\r\n";
    static char all[ASKED * (sizeof one - 1) + 1];
    struct rig *rig = rig_open();
    const size_t size = strlen(rig_send(rig, one));
    for (size_t i = 0; i < ASKED; i++) memcpy(all + i * (sizeof one - 1), one, sizeof one);
    assert_int_equal(strlen(rig_send(rig, all)), ASKED * size);
    assert_false(rig->session[0].closing);
    rig_close(rig);
}

/* ---- what is no command ---- */

static void foreign(void **state)
{
    static const struct row rows[] = {
        {"PING\r\n*x\r\nPING\r\n", "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n"},
        {"PING\r\n", ""}, /* closing */
    };
    static const struct row post[] = {{"PING\r\nPOST / HTTP/1.1\r\nPING\r\n", "+PONG\r\n"}, {"PING\r\n", ""}};
    (void)state;
    CHECK(rows);
    CHECK(post);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(throttle),
        cmocka_unit_test(throttle_mistakes),
        cmocka_unit_test(throttle_too_large),
        cmocka_unit_test(take),
        cmocka_unit_test(take_mistakes),
        cmocka_unit_test(cost_by_unit),
        cmocka_unit_test(cost_mistakes),
        cmocka_unit_test(key_of_nul),
        cmocka_unit_test(limits),
        cmocka_unit_test(costs_of_the_spared),
        cmocka_unit_test(connections),
        cmocka_unit_test(passwords),
        cmocka_unit_test(rotation),
        cmocka_unit_test(admins),
        cmocka_unit_test(no_texts),
        cmocka_unit_test(short_before_password),
        cmocka_unit_test(names_come_and_go),
        cmocka_unit_test(names_in_use),
        cmocka_unit_test(told),
        cmocka_unit_test(many_docs),
        cmocka_unit_test(foreign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
