/* SPDX-License-Identifier: MIT
   A receipt gives back what was not used, once; nothing else gives anything back.

   Answers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "serve/protocols.h"
#include "unit/random.h"
#include "unit/serve_rig.h"
#include "unit/needs_receipts.h"

/* The bulk string of an answer to WEIR.TAKE behind the numbers, which must be one. */
static char *receipt_in(const char *answer, size_t answer_size, char out[RECEIPT_MAX], size_t *size)
{
    const char *at = answer;
    for (int line = 0; line < 8; line++) at = strchr(at, '\n') + 1; /* behind *8, $5, allow, five numbers */
    assert_int_equal(at[0], '$');
    *size = strtoul(at + 1, NULL, 10);
    at = strchr(at, '\n') + 1;
    assert_true(at + *size + strlen("\r\n:0\r\n") == answer + answer_size);
    memcpy(out, at, *size);
    out[*size] = '\0';
    return out;
}

static char *take(struct rig *rig, const char *command, char out[RECEIPT_MAX])
{
    size_t size;
    const char *answer = rig_send(rig, command);
    if (strncmp(answer, "*8\r\n$5\r\nallow", 13) != 0) fail_msg("%s: %s", command, answer);
    return receipt_in(answer, rig->size[0], out, &size);
}

/* What `remaining` is of this question. */
static long left(struct rig *rig, const char *command)
{
    const char *at = rig_send(rig, command);
    for (int line = 0; line < 4; line++) {
        at = strchr(at, '\n');
        assert_non_null(at);
        at++;
    }
    return strtol(at + 1, NULL, 10);
}

static void gives_back(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: gives_back");
    struct rig *rig = rig_open();
    char receipt[RECEIPT_MAX];
    take(rig, "WEIR.TAKE 1000/h acme COST 400\r\n", receipt);
    assert_int_equal(left(rig, "WEIR.TAKE 1000/h acme COST 0\r\n"), 600);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "100"), ":1\r\n");
    assert_int_equal(left(rig, "WEIR.TAKE 1000/h acme COST 0\r\n"), 900);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "100"), ":0\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "500"), ":0\r\n");
    assert_int_equal(left(rig, "WEIR.TAKE 1000/h acme COST 0\r\n"), 900);
    take(rig, "WEIR.TAKE 1000/h acme COST 100\r\n", receipt);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "300"), ":1\r\n");
    assert_int_equal(left(rig, "WEIR.TAKE 1000/h acme COST 0\r\n"), 600);
    rig_close(rig);
}

static const uint64_t MINUTE_NS = UINT64_C(60000000000);

/* A quarter of an hour, whether it has been settled or not; then it is refused, whatever still counts. */
static void once_for_as_long_as_it_can_be(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: once_for_as_long_as_it_can_be");
    struct rig *rig = rig_open();
    char receipt[RECEIPT_MAX];
    take(rig, "WEIR.TAKE 1000/h acme COST 1000\r\n", receipt);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "600"), ":1\r\n");
    for (int minute = 0; minute < 15; minute++) {
        rig->now_ns += MINUTE_NS;
        assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), ":0\r\n");
    }
    take(rig, "WEIR.TAKE 10/s fast COST 10\r\n", receipt);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "10"), ":1\r\n");
    rig->now_ns += MINUTE_NS - 1;
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "10"), ":0\r\n");
    take(rig, "WEIR.TAKE 12/365d year COST 12\r\n", receipt);
    rig->now_ns += 15 * MINUTE_NS;
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "6"), ":1\r\n");
    assert_int_equal(left(rig, "WEIR.TAKE 12/365d year COST 0\r\n"), 6);
    for (int half_day = 0; half_day < 80; half_day++) {
        rig->now_ns += half_day == 0 ? 1 : 720 * MINUTE_NS;
        assert_memory_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), "-BADRECEIPT this receipt is too old", 35);
    }
    rig_close(rig);
}

/* 10,000 keys have room; settling does not take it from them. */
static void settling_fills_no_table(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: settling_fills_no_table");
    struct rig *rig = rig_open();
    char receipt[RECEIPT_MAX], command[64];
    for (int i = 0; i < 20000; i++) {
        take(rig, "WEIR.TAKE \"100M tokens/d\" acme COST 1\r\n", receipt);
        assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), ":1\r\n");
    }
    const weir_table_stats stats = tables_read_counters(rig->tables);
    assert_true(tables_live(rig->tables) <= 1 && stats.displaced == 0 && stats.full == 0);
    for (int i = 0; i < 2000; i++) {
        snprintf(command, sizeof command, "WEIR.TAKE 10/s new:%d\r\n", i);
        take(rig, command, receipt);
    }
    rig_close(rig);
}

/* Nothing is given back by what cannot be remembered, and what was settled stays settled; half an hour later there is
   room again. */
static void full(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: full");
    struct rig *rig = rig_open_with(&(struct tables_options){.keys_max = 1000, .settled_max = 512});
    char receipt[RECEIPT_MAX], first[RECEIPT_MAX];
    unsigned settled = 0, refused = 0;
    take(rig, "WEIR.TAKE 10000/h acme COST 1\r\n", first);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", first, "0"), ":1\r\n");
    for (int i = 0; i < 1000; i++) {
        take(rig, "WEIR.TAKE 10000/h acme COST 1\r\n", receipt);
        const char *answer = RIG_SAY(rig, "WEIR.SETTLE", receipt, "0");
        if (strcmp(answer, ":1\r\n") == 0) settled++;
        else if (strncmp(answer, "-BADRECEIPT too many receipts", 29) == 0) refused++;
    }
    assert_true(settled > 256 && settled < 512);
    assert_int_equal(settled + refused, 1000);
    assert_int_equal(settled_refused(tables_settled(rig->tables)), refused);
    assert_true(rig->service.event_count != 0 && rig->service.event_count < 20);
    assert_int_equal(left(rig, "WEIR.TAKE 10000/h acme COST 0\r\n"), 10000 - refused);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", first, "0"), ":0\r\n");
    rig->now_ns += 30 * MINUTE_NS;
    take(rig, "WEIR.TAKE 10/s acme COST 1\r\n", receipt);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), ":1\r\n");
    rig_close(rig);
}

/* As HMAC() of OpenSSL has it, which is RFC 4231's second case with the key filled up by zeros. */
static void mac(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: mac");
    static const uint8_t expected[MAC_SIZE] = {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e,
                                               0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7};
    const uint8_t secret[MAC_SECRET] = "Jefe";
    uint8_t is[MAC_SIZE];
    struct mac *mac = mac_open(secret);
    assert_non_null(mac);
    mac_of(mac, "what do ya want ", 16, "for nothing?", 12, is);
    mac_close(mac);
    assert_memory_equal(is, expected, sizeof is);
}

static void passes(struct rig *rig, const char *command, bool passes)
{
    const char *answer = rig_send(rig, command);
    if (strncmp(answer, passes ? "*8\r\n$5\r\nallow" : "*8\r\n$4\r\ndeny", 12) != 0)
        fail_msg("%s: %s", command, answer);
}

static void lists_and_names(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: lists_and_names");
    struct rig *rig = rig_open();
    char receipt[RECEIPT_MAX];
    assert_string_equal(rig_send(rig, "WEIR.LIMIT SET api \"60 requests/min; 100k tokens/min\"\r\n"), "+OK\r\n");
    take(rig, "WEIR.TAKE api acme COST 1 90000\r\n", receipt);
    passes(rig, "WEIR.TAKE api acme PEEK COST 59 10000\r\n", true);
    passes(rig, "WEIR.TAKE api acme PEEK COST 1 10001\r\n", false);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "1", "2", "3"),
                        "-BADRECEIPT these are 2 limits: expected one cost for all, or 2, not 3\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0", "50000"), ":1\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0", "0"), ":0\r\n");
    passes(rig, "WEIR.TAKE api acme PEEK COST 60 50000\r\n", true);
    passes(rig, "WEIR.TAKE api acme PEEK COST 1 50001\r\n", false);
    /* One that takes nothing of the first limit has a receipt, too. */
    take(rig, "WEIR.TAKE api acme COST 0 40000\r\n", receipt);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "2"),
                        "-BADRECEIPT limits count requests and tokens: write tokens 2\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "requests", "2", "tokens", "2"), ":1\r\n");
    passes(rig, "WEIR.TAKE api acme PEEK COST 58 49998\r\n", true);
    passes(rig, "WEIR.TAKE api acme PEEK COST 59 1\r\n", false);
    passes(rig, "WEIR.TAKE api acme PEEK COST 1 49999\r\n", false);
    /* Units that are not named used all that was taken. */
    take(rig, "WEIR.TAKE api acme COST requests 5 tokens 9998\r\n", receipt);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "tokens", "0"), ":1\r\n");
    passes(rig, "WEIR.TAKE api acme PEEK COST 53 49998\r\n", true);
    passes(rig, "WEIR.TAKE api acme PEEK COST 54 1\r\n", false);
    passes(rig, "WEIR.TAKE api acme PEEK COST 1 49999\r\n", false);
    /* Nothing of anything needs no unit. */
    take(rig, "WEIR.TAKE api acme COST tokens 40000\r\n", receipt);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), ":1\r\n");
    passes(rig, "WEIR.TAKE api acme PEEK COST 53 49998\r\n", true);
    rig_close(rig);
}

/* Windows have the same end for all who take at one time: their receipts are told apart. */
static void other_algorithms(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: other_algorithms");
    struct rig *rig = rig_open();
    char one[RECEIPT_MAX], other[RECEIPT_MAX];
    take(rig, "WEIR.TAKE \"10/h algorithm=fixed-window\" w COST 4\r\n", one);
    take(rig, "WEIR.TAKE \"10/h algorithm=fixed-window\" w COST 4\r\n", other);
    assert_string_not_equal(one, other);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", one, "1"), ":1\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", other, "1"), ":1\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", other, "1"), ":0\r\n");
    assert_int_equal(left(rig, "WEIR.TAKE \"10/h algorithm=fixed-window\" w PEEK\r\n"), 7);
    take(rig, "WEIR.TAKE \"10/h algorithm=sliding-log\" l COST 4\r\n", one);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", one, "1"), ":1\r\n");
    assert_int_equal(left(rig, "WEIR.TAKE \"10/h algorithm=sliding-log\" l PEEK\r\n"), 8);
    rig_close(rig);
}

static void what_has_none(void **state)
{
    static const char *const commands[] = {
        "WEIR.TAKE 10/s a PEEK\r\n",         "WEIR.TAKE 10/s a COST 0\r\n", "WEIR.TAKE 10/s a COST 11\r\n",
        "WEIR.CHARGE 10/s a 20\r\n",         "WEIR.TAKE 10/s a\r\n", /* refused by now */
        "WEIR.TAKE \"1/s;1/s\" a COST 0\r\n"};
    (void)state;
    struct rig *rig = rig_open();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const char *answer = rig_send(rig, commands[i]);
        const size_t size = rig->size[0];
        if (size < 9 || strcmp(answer + size - 9, "$-1\r\n:0\r\n") != 0) fail_msg("%s: %s", commands[i], answer);
    }
    rig_close(rig);
}

/* ---- what is none ---- */

/* One byte of it changed, left out, put in; its parts of others: nothing is given back. */
static void forged(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: forged");
    struct rig *rig = rig_open();
    char receipt[RECEIPT_MAX], changed[RECEIPT_MAX + 1];
    uint64_t seed = 1;
    take(rig, "WEIR.TAKE \"1000/h; 5000/d\" acme COST 400\r\n", receipt);
    const size_t size = strlen(receipt);
    for (size_t i = 0; i < 4000; i++) {
        const size_t at = i < size ? i : random_below(&seed, size);
        const uint64_t how = i < size ? 0 : random_below(&seed, 4);
        memcpy(changed, receipt, size + 1);
        if (how == 0) changed[at] = receipt[at] == '0' ? '1' : '0';
        else if (how == 1) memmove(changed + at, changed + at + 1, size - at);
        else if (how == 2) memmove(changed + at + 1, receipt + at, size - at + 1);
        else changed[at] = (char)(1 + random_below(&seed, 255));
        if (strcmp(changed, receipt) == 0) continue;
        const char *answer = RIG_SAY(rig, "WEIR.SETTLE", changed, "0");
        if (strncmp(answer, "-BADRECEIPT ", 12) != 0) fail_msg("%s is settled: %s", changed, answer);
    }
    assert_int_equal(left(rig, "WEIR.TAKE \"1000/h; 5000/d\" acme COST 0\r\n"), 600);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), ":1\r\n");
    rig_close(rig);
}

static void of_another_service(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: of_another_service");
    struct rig *rig = rig_open(), *other = rig_open();
    char receipt[RECEIPT_MAX];
    take(rig, "WEIR.TAKE 1000/h acme COST 400\r\n", receipt);
    take(other, "WEIR.TAKE 1000/h acme COST 400\r\n", (char[RECEIPT_MAX]){0});
    assert_memory_equal(RIG_SAY(other, "WEIR.SETTLE", receipt, "0"), "-BADRECEIPT this is no receipt of this", 38);
    assert_int_equal(left(other, "WEIR.TAKE 1000/h acme COST 0\r\n"), 600);
    /* 0.1.0's: MARK START HEAD COST END */
    assert_memory_equal(RIG_SAY(other, "WEIR.SETTLE", &receipt[2], "0"), "-BADRECEIPT this is no receipt, or one of an",
                        44);
    rig_close(rig);
    rig_close(other);
}

static void limit_is_gone(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: limit_is_gone");
    struct rig *rig = rig_open();
    char receipt[RECEIPT_MAX];
    rig_send(rig, "WEIR.LIMIT SET api 1000/h\r\n");
    take(rig, "WEIR.TAKE api acme COST 400\r\n", receipt);
    rig_send(rig, "WEIR.LIMIT SET api \"1000/h; 9/s\"\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"),
                        "-BADRECEIPT its limit has become another list of limits: nothing was corrected\r\n");
    rig_send(rig, "WEIR.LIMIT DEL api\r\n");
    assert_memory_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), "-BADRECEIPT there is no limit called api", 40);
    /* Other numbers: 400 permits stayed used, and all of them come back. */
    rig_send(rig, "WEIR.LIMIT SET api 2000/h\r\n");
    assert_int_equal(left(rig, "WEIR.TAKE api acme COST 0\r\n"), 1600);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), ":1\r\n");
    assert_int_equal(left(rig, "WEIR.TAKE api acme COST 0\r\n"), 2000);
    rig_close(rig);
}

/* Any bytes of a key come back, and the longest limit and key have room. */
static void any_key(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: any_key");
    struct rig *rig = rig_open();
    char command[4096], receipt[RECEIPT_MAX], key[POLICY_KEY_MAX], text[POLICY_TEXT_MAX + 1];
    size_t size;
    for (size_t i = 0; i < sizeof key; i++) key[i] = (char)(255 - i % 256);
    memset(text, ' ', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "9/s;9/s;9/s;9/s;9/s;9/s;9/s;9/s", 31);
    size = (size_t)sprintf(command, "*5\r\n$9\r\nWEIR.TAKE\r\n$1024\r\n%s\r\n$1024\r\n", text);
    memcpy(command + size, key, sizeof key);
    size += sizeof key;
    size += (size_t)sprintf(command + size, "\r\n$4\r\nCOST\r\n$1\r\n5\r\n");
    const char *answer = rig_send_bytes(rig, 0, (struct slice){command, size});
    receipt_in(answer, rig->size[0], receipt, &size);
    const size_t begin = (size_t)sprintf(command, "*3\r\n$11\r\nWEIR.SETTLE\r\n$%zu\r\n", size);
    memcpy(command + begin, receipt, size);
    const size_t all = begin + size + (size_t)sprintf(command + begin + size, "\r\n$1\r\n0\r\n");
    assert_string_equal(rig_send_bytes(rig, 0, (struct slice){command, all}), ":1\r\n");
    assert_string_equal(rig_send_bytes(rig, 0, (struct slice){command, all}), ":0\r\n");
    rig_close(rig);
}

/* Whoever else may write the file makes nobody look outside of it. */
static void file_that_another_writes(void **state)
{
    (void)state;
    char path[] = "/tmp/weir-settled-XXXXXX";
    const uint8_t mark[MAC_SIZE] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    static const char garbage[2][40] = {{0}, {1, 1, 1, 1, 1, 1, 1, 1, 127, 127, 127, 127, 127, 127, 127, 127, 127}};
    struct settled *settled;
    const int fd = mkstemp(path);
    assert_int_equal(settled_open(&settled, &(struct settled_options){path, 1000, 512, 7}, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pwrite(fd, garbage[i], sizeof garbage[i], 0), sizeof garbage[i]);
        assert_int_equal(settled_window_ns(settled), 1000);
        assert_int_equal(settled_take(settled, 5000 * (i + 1), mark), SETTLED_NOW);
        assert_int_equal(settled_take(settled, 5000 * (i + 1), mark), SETTLED_BEFORE);
    }
    settled_close(settled);
    close(fd);
    remove(path);
}

/* ---- by two at once ---- */

enum { RECEIPTS = 2000 };

/* A worker of its own, which settles all of them. */
struct racer {
    struct rig *rig;
    char (*receipt)[RECEIPT_MAX];
    struct session session;
    _Atomic int *ready;
    unsigned settled;
};

static void count_settled(void *sender, struct session *session, struct slice answer)
{
    (void)session;
    ((struct racer *)sender)->settled += slice_is(answer, slice_of(":1\r\n"));
}

static void *race(void *argument)
{
    struct racer *racer = argument;
    struct batch *batch = calloc(1, sizeof *batch);
    char command[RECEIPT_MAX + 64];
    assert(batch != NULL);
    struct stats *const stats = service_worker(&racer->rig->service);
    assert(stats != NULL);
    const int failed = batch_open(batch, &racer->rig->service, stats, count_settled, racer);
    assert(failed == 0);
    atomic_fetch_add(racer->ready, 1);
    while (atomic_load(racer->ready) < 2) {
    }
    for (size_t i = 0; i < RECEIPTS; i++) {
        const size_t size = rig_command(command, (const char *const[]){"WEIR.SETTLE", racer->receipt[i], "0", NULL});
        batch_begin(batch);
        handle_bytes(batch, &racer->session, (struct slice){command, size});
        batch_end(batch);
    }
    batch_close(batch);
    free(batch);
    return NULL;
}

/* Each receipt is settled by one of them, and all is back. */
static void at_once(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: at_once");
    struct rig *rig = rig_open();
    char(*receipt)[RECEIPT_MAX] = calloc(RECEIPTS, sizeof *receipt);
    _Atomic int ready = 0;
    pthread_t thread[2];
    struct racer racer[2];
    assert_non_null(receipt);
    for (int i = 0; i < RECEIPTS; i++) take(rig, "WEIR.TAKE 10000/h acme COST 2\r\n", receipt[i]);
    for (int i = 0; i < 2; i++) {
        racer[i] = (struct racer){rig, receipt, rig->session[i], &ready, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, race, &racer[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    assert_int_equal(racer[0].settled + racer[1].settled, RECEIPTS);
    assert_int_equal(left(rig, "WEIR.TAKE 10000/h acme COST 0\r\n"), 10000);
    free(receipt);
    rig_close(rig);
}

/* The service is stopped and started again over the same file. */
static void after_a_restart(void **state)
{
    (void)state;
    needs_receipts("unit/receipt: after_a_restart");
    char folder[] = "/tmp/weir-receipt-XXXXXX", path[sizeof folder + 20], receipt[RECEIPT_MAX];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/table", folder);
    const struct tables_options options = {.keys_max = 1000, .state = path};
    struct rig *rig = rig_open_with(&options);
    take(rig, "WEIR.TAKE 1000/h acme COST 400\r\n", receipt);
    rig_close(rig);
    rig = rig_open_with(&options);
    const char *answer = RIG_SAY(rig, "WEIR.SETTLE", receipt, "0");
    const bool settled = strcmp(answer, ":1\r\n") == 0;
    const long after = left(rig, "WEIR.TAKE 1000/h acme COST 0\r\n");
    rig_close(rig);
    rig = rig_open_with(&options);
    const bool again = strcmp(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), ":0\r\n") == 0;
    rig_close(rig);
    /* Another time to settle: another secret. */
    rig = rig_open_with(&(struct tables_options){.keys_max = 1000, .state = path, .settle_ns = MINUTE_NS});
    const bool ended = strncmp(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), "-BADRECEIPT this is no", 22) == 0;
    rig_close(rig);
    unlink(path);
    strcat(path, ".receipts");
    unlink(path);
    rmdir(folder);
    assert_true(settled && again && ended);
    assert_int_equal(after, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back),
        cmocka_unit_test(once_for_as_long_as_it_can_be),
        cmocka_unit_test(settling_fills_no_table),
        cmocka_unit_test(full),
        cmocka_unit_test(mac),
        cmocka_unit_test(lists_and_names),
        cmocka_unit_test(other_algorithms),
        cmocka_unit_test(what_has_none),
        cmocka_unit_test(forged),
        cmocka_unit_test(of_another_service),
        cmocka_unit_test(limit_is_gone),
        cmocka_unit_test(any_key),
        cmocka_unit_test(file_that_another_writes),
        cmocka_unit_test(after_a_restart),
        cmocka_unit_test(at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
