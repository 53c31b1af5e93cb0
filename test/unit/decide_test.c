/* SPDX-License-Identifier: MIT
   Who decides: what is asked of an engine, in which order, with which keys, and what becomes of its
   answers.  The engine is made up (fake_engine.h): it writes down what it is asked.

   What is opened is closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/fake_engine.h"
#include "serve/net/summary.h"
#include "unit/needs_receipts.h"

/* ---- tests ---- */

/* What is asked of the engine leaves as one, what the table keeps is not asked, and answers come in order. */
static void one_batch(void **state)
{
    (void)state;
    struct rig *rig = rig_with_engine();
    const char *out = rig_send(rig, "WEIR.TAKE 10/s k\r\nWEIR.TAKE here x COST 9\r\nWEIR.TAKE api acme COST 1 50\r\n"
                                    "WEIR.TAKE 10/s deny PEEK\r\nWEIR.CHARGE 10/s k 3\r\n");
    assert_begins(out, ALLOWED "$");
    assert_non_null(strstr(out, "*8\r\n$5\r\nnever"));
    assert_true(strstr(out, "never") < strstr(out, "deny"));
    assert_asked("one take [10/s burst=10 algorithm=gcra] |k 1\n"
                 "one take [10/s burst=10 algorithm=gcra; 100 tokens/s burst=100 algorithm=gcra] api|acme 1 50\n"
                 "one peek [10/s burst=10 algorithm=gcra] |deny 1\n"
                 "one charge [10/s burst=10 algorithm=gcra] |k 3\n\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.TAKE", "10/s", "deny"), DENIED);
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* Those that nothing is counted for are not asked for; overrides are. */
static void exempt_and_others(void **state)
{
    (void)state;
    struct rig *rig = rig_with_engine();
    rig_send(rig, "WEIR.TAKE login 10.1.2.3\r\nWEIR.TAKE login 192.0.2.2\r\nWEIR.TAKE unlimited k\r\n"
                  "WEIR.TAKE none k\r\n");
    assert_asked("");
    rig_send(rig, "WEIR.TAKE login 192.0.2.1\r\nWEIR.TAKE login 192.0.2.9\r\nCL.THROTTLE k 15 30 60\r\n");
    assert_asked("one take [7/h burst=7 algorithm=gcra (closed)] login|192.0.2.1 1\n"
                 "one take [5/h burst=5 algorithm=gcra (closed)] login|192.0.2.9 1\n"
                 "one take [1/2s burst=16 algorithm=gcra] |k 1\n\n");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* A receipt of 4 permits of 10/s for k, as text. */
static const char *receipt_of(struct rig *rig, char text[RECEIPT_MAX])
{
    const struct slice receipt = receipt_in(RIG_SAY(rig, "WEIR.TAKE", "10/s", "k", "COST", "4"));
    snprintf(text, RECEIPT_MAX, "%.*s", (int)receipt.size, receipt.bytes);
    return text;
}

static const char newer[] = "newer-of-at-least-so-many-characters";
static const char older[] = "older-of-at-least-so-many-characters";
static const char not_ours[] = "-BADRECEIPT this is no receipt of this service, nor was it signed with the secret";

/* Until the secret has been read each service settles its own: once, and another one's not at all. */
static void receipts(void **state)
{
    (void)state;
    needs_receipts("unit/decide: receipts");
    struct rig *rig = rig_with_engine(), *other = rig_with_engine();
    char text[RECEIPT_MAX];
    receipt_of(rig, text);
    asked[0] = '\0';
    assert_begins(RIG_SAY(other, "WEIR.SETTLE", text, "1"), not_ours);
    assert_string_equal(asked, "");
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", text, "1"), ":1\r\n");
    assert_begins(asked, "one take [1/15min burst=1 algorithm=gcra] ~settled|");
    const char *second = strstr(asked, "\n\n");
    assert_non_null(second);
    assert_string_equal(second + 2, "one settle [10/s burst=10 algorithm=gcra] |k 4 -> 1 at 1763836800123456\n\n");
    asked[0] = '\0';
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", text, "1"), ":0\r\n");
    assert_null(strstr(asked, "settle ["));
    text[strlen(text) - 1] = 'l';
    assert_begins(RIG_SAY(rig, "WEIR.SETTLE", text, "1"), "-BADRECEIPT");
    rig_close(rig);
    rig_close(other);
    assert_int_equal(opened, 0);
}

/* With what the engine keeps all settle each other's; one that does not know a secret asks for it. */
static void shared_secret(void **state)
{
    (void)state;
    needs_receipts("unit/decide: shared_secret");
    static char both[128];
    char text[RECEIPT_MAX], before[RECEIPT_MAX];
    secret = older;
    struct rig *rig = rig_with_engine(), *other = rig_with_engine();
    receipt_of(other, text);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt_of(rig, text), "1"), ":1\r\n");
    assert_string_equal(RIG_SAY(other, "WEIR.SETTLE", receipt_of(rig, text), "1"), ":1\r\n");
    /* Rotated: the one before is settled still, for what was made until then and two minutes. */
    snprintf(both, sizeof both, "%s %s %llu", "newer-secret-of-at-least-32-characters",
             "older-secret-of-at-least-32-characters", (unsigned long long)(taken_us / 1000000));
    secret = "older-secret-of-at-least-32-characters";
    other->now_ns += UINT64_C(61000000000);
    decide_tick(&other->batch);
    receipt_of(other, before);
    secret = both;
    rig->now_ns += UINT64_C(61000000000);
    decide_tick(&rig->batch);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", before, "1"), ":1\r\n");
    secret_read = NULL; /* as of a pool of its own */
    assert_string_equal(RIG_SAY(other, "WEIR.SETTLE", receipt_of(rig, text), "1"), ":1\r\n");
    /* Lost: another one takes its place, and all of before are refused. */
    secret = newer;
    rig->now_ns += UINT64_C(61000000000);
    decide_tick(&rig->batch);
    assert_begins(RIG_SAY(rig, "WEIR.SETTLE", text, "1"), not_ours);
    assert_begins(RIG_SAY(rig, "WEIR.SETTLE", before, "1"), not_ours);
    rig_close(rig);
    rig_close(other);
    assert_int_equal(opened, 0);
}

/* Made later than two minutes behind its end: whoever knows an old secret makes no receipts for ever. */
static void ended_secret(void **state)
{
    (void)state;
    needs_receipts("unit/decide: ended_secret");
    char text[RECEIPT_MAX], both[128];
    snprintf(both, sizeof both, "newer-secret-of-at-least-32-characters older-secret-of-at-least-32-characters %llu",
             (unsigned long long)(taken_us / 1000000 - 121));
    secret = "older-secret-of-at-least-32-characters";
    struct rig *rig = rig_with_engine();
    receipt_of(rig, text);
    secret = both;
    rig->now_ns += UINT64_C(61000000000);
    decide_tick(&rig->batch);
    assert_begins(RIG_SAY(rig, "WEIR.SETTLE", text, "1"), not_ours);
    secret = "short";
    rig->now_ns += UINT64_C(61000000000);
    decide_tick(&rig->batch);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt_of(rig, text), "1"), ":1\r\n");
    assert_begins(rig->service.event[0].text, "engine: the secret of receipts is neither");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* Whoever makes up receipts has the engine asked once a second, not more. */
static void unknown_secrets(void **state)
{
    (void)state;
    needs_receipts("unit/decide: unknown_secrets");
    char text[RECEIPT_MAX];
    secret = older;
    struct rig *rig = rig_with_engine();
    receipt_of(rig, text);
    assert_int_equal(secrets_asked, 1);
    memset(text + strlen("w2") + (size_t)2 * MAC_SIZE, '7', 16); /* the number of its secret */
    for (unsigned i = 0; i < 100; i++) assert_begins(RIG_SAY(rig, "WEIR.SETTLE", text, "1"), not_ours);
    assert_int_equal(secrets_asked, 2);
    rig->now_ns += HOST_SECOND_NS;
    assert_begins(RIG_SAY(rig, "WEIR.SETTLE", text, "1"), not_ours);
    assert_int_equal(secrets_asked, 3);
    rig_close(rig);
    assert_int_equal(opened, 0);
}

static void away(void **state)
{
    (void)state;
    struct rig *rig = rig_with_engine();
    assert_string_equal(RIG_SAY(rig, "WEIR.TAKE", "10/s", "away"),
                        ALLOWED "$-1\r\n:0\r\n"); /* nobody could settle it */
    assert_int_equal(atom_load(&rig->batch.stats->limit[0].away_allowed), 1);
    assert_int_equal(atom_load(&rig->batch.stats->limit[0].away_refused), 0);
    assert_begins(RIG_SAY(rig, "WEIR.FORGET", "10/s", "away"), "-ENGINE ");
    assert_string_equal(RIG_SAY(rig, "WEIR.FORGET", "10/s", "k"), ":1\r\n");
    told(told_to, true, "connection refused");
    assert_string_equal(rig->service.event[0].text, "engine one: away: connection refused");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

static void unsupported(void **state)
{
    (void)state;
    struct rig *rig = rig_with_engine();
    assert_begins(RIG_SAY(rig, "WEIR.TAKE", "10/s warmup=10s", "k"), "-BADLIMIT an engine does not keep warmup");
    assert_begins(RIG_SAY(rig, "WEIR.LIMIT", "SET", "api", "10/s warmup=10s"), "-BADLIMIT an engine does not");
    assert_string_equal(RIG_SAY(rig, "WEIR.LIMIT", "SET", "here", "10/s warmup=10s"), "+OK\r\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.LIMIT", "SET", "new", "2/h"), "+OK\r\n");
    asked[0] = '\0';
    rig_send(rig, "WEIR.TAKE here k\r\nWEIR.TAKE new k\r\n");
    assert_asked("one take [2/h burst=2 algorithm=gcra] new|k 1\n\n");
    assert_string_equal(RIG_SAY(rig, "WEIR.LIMIT", "DEL", "new"), "+OK\r\n");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* Nobody who reads what the service says learns of a password. */
static void a_password_is_not_told(void **state)
{
    (void)state;
    struct rig *rig = rig_with_engine();
    publish(rig, "redis://me:s3cr@t:x@[::1]:7/2?db=@");
    told(told_to, true, "connection refused");
    assert_string_equal(rig->service.event[(rig->service.event_count - 1) % SERVICE_EVENTS_MAX].text,
                        "engine redis://[::1]:7/2?db=@: away: connection refused");
    rig_close(rig);
}

/* Names and texts that were known ask the new one, from the next turn on. */
static void another_engine(void **state)
{
    (void)state;
    struct rig *rig = rig_with_engine();
    rig_send(rig, "WEIR.TAKE 10/s k\r\n");
    publish(rig, "two");
    asked[0] = '\0';
    rig_send(rig, "WEIR.TAKE 10/s k\r\nWEIR.TAKE login 192.0.2.9\r\n");
    assert_asked("two take [10/s burst=10 algorithm=gcra] |k 1\n"
                 "two take [5/h burst=5 algorithm=gcra (closed)] login|192.0.2.9 1\n\n");
    const int before = opened;
    engine_close_left(&rig->service); /* leases are given back by who may wait for that: no worker */
    assert_int_equal(opened, before - 2);
    service_publish(&rig->service, NULL);
    assert_begins(RIG_SAY(rig, "WEIR.TAKE", "10/s", "k"), "*8\r\n$5\r\nallow");
    assert_asked("");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* RateLimit tells what the answer told; the engine is not asked again for it. */
static void headers(void **state)
{
    (void)state;
    needs_receipts("unit/decide: headers");
    struct rig *rig = rig_with_engine();
    rig->session[0].protocol = SESSION_HTTP;
    const char *out = rig_send(rig, "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                    "application/x-www-form-urlencoded\r\nContent-Length: 34\r\n\r\n"
                                    "limit=api&tenant=acme&cost=1%2C50&");
    assert_begins(out, "HTTP/1.1 200");
    assert_non_null(strstr(out, "RateLimit-Policy: \"api-1\";q=10;w=1, \"api-2\";q=100;w=1;qu=\"tokens\"\r\n"));
    assert_non_null(strstr(out, "\r\nRateLimit: \"api-1\";r=9\r\n"));
    assert_non_null(strstr(out, "\"receipt\":\""));
    assert_asked("one take [10/s burst=10 algorithm=gcra; 100 tokens/s burst=100 algorithm=gcra] api|acme 1 50\n\n");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* ---- parked ---- */

static unsigned resumed;

static void count_resumed(void *sender, struct session *session)
{
    (void)sender, (void)session;
    resumed++;
}

static struct rig *rig_with_stopped_engine(void)
{
    struct rig *rig = rig_with_engine();
    rig->batch.resume = count_resumed;
    resumed = 0;
    stopped = true;
    return rig;
}

static const char *go_on(struct rig *rig, unsigned session)
{
    batch_begin(&rig->batch);
    decide_go_on(&rig->batch);
    batch_end(&rig->batch);
    rig->out[session][rig->size[session]] = '\0';
    return rig->out[session];
}

static const char *send_to(struct rig *rig, unsigned session, const char *bytes)
{
    return rig_send_bytes(rig, session, slice_of(bytes));
}

/* While the engine says nothing, others are answered from here; and who asks it has nothing before its answer. */
static void others_go_on(void **state)
{
    (void)state;
    struct rig *rig = rig_with_stopped_engine();
    weir_engine_watch watch;
    size_t sockets = 1;
    assert_true(decide_events(&rig->batch, &watch, 1, &sockets) == WEIR_FOREVER);
    assert_int_equal(sockets, 0); /* nothing is asked */
    assert_string_equal(send_to(rig, 0, "WEIR.TAKE 10/s k\r\n"), "");
    assert_int_equal(rig->session[0].parked, 1);
    assert_begins(send_to(rig, 1, "WEIR.TAKE here x\r\nPING\r\n"), "*8\r\n$5\r\nallow");
    rig->session[2].protocol = SESSION_HTTP;
    assert_begins(send_to(rig, 2, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 200");
    assert_string_equal(go_on(rig, 0), "");
    stopped = false;
    assert_begins(go_on(rig, 0), ALLOWED);
    assert_int_equal(rig->session[0].parked, 0);
    assert_int_equal(resumed, 1);
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* Of one session's requests, sent at once: table, engine, table, engine, PING, engine. */
static void in_order(void **state)
{
    (void)state;
    struct rig *rig = rig_with_stopped_engine();
    const char *bytes = "WEIR.TAKE here x COST 4\r\nWEIR.TAKE 10/s deny\r\nWEIR.TAKE here x\r\nWEIR.TAKE 10/s k\r\n"
                        "PING one\r\nWEIR.TAKE 10/s deny\r\n";
    rig->size[0] = 0;
    batch_begin(&rig->batch);
    const size_t taken = handle_bytes(&rig->batch, &rig->session[0], slice_of(bytes));
    batch_end(&rig->batch);
    assert_string_equal(bytes + taken, "PING one\r\nWEIR.TAKE 10/s deny\r\n"); /* comes again when it is resumed */
    rig->out[0][rig->size[0]] = '\0';
    assert_begins(rig->out[0], "*8\r\n$5\r\nnever"); /* of the table, and before all of the engine's */
    assert_null(strstr(rig->out[0] + 8, "*8"));
    stopped = false;
    rig->size[0] = 0;
    const char *out = go_on(rig, 0);
    assert_begins(out, DENIED "*8\r\n$5\r\nallow\r\n:0\r\n:2\r\n");
    assert_non_null(strstr(out, "\r\n" ALLOWED));
    assert_true(strstr(out, "\r\n:2\r\n") < strstr(out, "\r\n" ALLOWED));
    assert_begins(send_to(rig, 0, bytes + taken), "$3\r\none\r\n" DENIED);
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* Texts that are forgotten meanwhile, another policy, a session that has gone. */
static void meanwhile(void **state)
{
    (void)state;
    needs_receipts("unit/decide: meanwhile");
    char text[64];
    struct rig *rig = rig_with_stopped_engine();
    send_to(rig, 0, "WEIR.TAKE 10/s k\r\nWEIR.TAKE api acme COST 1 50\r\n");
    send_to(rig, 1, "WEIR.TAKE 10/s k\r\nWEIR.TAKE api acme COST 2 3\r\n");
    for (unsigned i = 0; i < 2000; i++) { /* more texts than are kept */
        snprintf(text, sizeof text, "WEIR.TAKE %u/h k COST 0 PEEK x\r\n", i + 1);
        send_to(rig, 2, text);
    }
    assert_string_equal(send_to(rig, 3, "WEIR.LIMIT SET other 2/h\r\n"), "+OK\r\n");
    park_leave(&rig->batch, &rig->session[1]);
    assert_int_equal(rig->session[1].parked, 0);
    rig->size[0] = rig->size[1] = 0;
    stopped = false;
    const char *out = go_on(rig, 0);
    assert_begins(out, ALLOWED "$");
    assert_non_null(strstr(out, "10/sk\r\n"));
    assert_non_null(strstr(out, "apiacme\r\n"));
    assert_non_null(strstr(out, "2300000000000000")); /* its 50, as receipts write it, and not another's costs */
    assert_int_equal(rig->size[1], 0);
    assert_int_equal(resumed, 1);
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* Another engine, or none: what waits is answered as the limit says, at once.  The end: nobody is. */
static void reload_and_end(void **state)
{
    (void)state;
    struct rig *rig = rig_with_stopped_engine();
    send_to(rig, 0, "WEIR.TAKE 10/s k\r\n");
    publish(rig, "two");
    assert_begins(go_on(rig, 0), "*8\r\n$4\r\ndeny");
    assert_int_equal(rig->session[0].parked, 0);
    waiting_count = 0;
    assert_string_equal(send_to(rig, 0, "WEIR.TAKE 10/s k\r\n"), "");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* What corrects waits as what takes does: permit, then settling; forgetting.  Others go on, and answers keep order. */
static void corrections(void **state)
{
    (void)state;
    needs_receipts("unit/decide: corrections");
    struct rig *rig = rig_with_engine();
    char text[RECEIPT_MAX], command[RECEIPT_MAX + 256];
    receipt_of(rig, text);
    rig->batch.resume = count_resumed;
    resumed = 0;
    stopped = true;
    snprintf(command, sizeof command, "*3\r\n$11\r\nWEIR.SETTLE\r\n$%zu\r\n%s\r\n$1\r\n1\r\n", strlen(text), text);
    assert_string_equal(send_to(rig, 0, command), "");
    assert_string_equal(send_to(rig, 1, "WEIR.FORGET 10/s k\r\n"), "");
    assert_int_equal(rig->session[0].parked + rig->session[1].parked, 2);
    assert_begins(send_to(rig, 2, "WEIR.TAKE here x\r\n"), "*8\r\n$5\r\nallow");
    stopped = false;
    rig->size[0] = rig->size[1] = 0;
    assert_string_equal(go_on(rig, 0), ":1\r\n");
    assert_string_equal(go_on(rig, 1), ":1\r\n");
    assert_int_equal(rig->session[0].parked + rig->session[1].parked, 0);
    assert_int_equal(resumed, 2);
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", text, "1"), ":0\r\n");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* Sent at once: what stands behind a correction is not read before it is answered.  Over HTTP the connection is the one
   that asked. */
static void corrections_in_order(void **state)
{
    (void)state;
    needs_receipts("unit/decide: corrections_in_order");
    struct rig *rig = rig_with_engine();
    char text[RECEIPT_MAX], bytes[2 * RECEIPT_MAX];
    receipt_of(rig, text);
    stopped = true;
    const int size = snprintf(bytes, sizeof bytes,
                              "WEIR.TAKE 10/s deny\r\n*3\r\n$11\r\nWEIR.SETTLE\r\n$%zu\r\n%s\r\n$1\r\n1\r\nPING\r\n",
                              strlen(text), text);
    const char *rest = bytes;
    for (int batch = 0; batch < 3; batch++) { /* the take, the settle, and what is behind them */
        rig->size[0] = 0;
        batch_begin(&rig->batch);
        rest += handle_bytes(&rig->batch, &rig->session[0], (struct slice){rest, (size_t)(bytes + size - rest)});
        batch_end(&rig->batch);
        stopped = false;
        static const char *const answer[] = {DENIED, ":1\r\n", "+PONG\r\n"};
        assert_string_equal(go_on(rig, 0), answer[batch]);
        stopped = batch == 0;
    }
    assert_ptr_equal(rest, bytes + size);
    rig->session[1].protocol = SESSION_HTTP;
    stopped = true;
    const size_t body = strlen("limit=10%2Fs&key=k");
    snprintf(bytes, sizeof bytes,
             "POST /v1/forget HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
             "application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\nlimit=10%%2Fs&key=k",
             body);
    assert_string_equal(send_to(rig, 1, bytes), "");
    stopped = false;
    assert_begins(go_on(rig, 1), "HTTP/1.1 200 OK\r\nConnection: close\r\n");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* A session that has gone has its permits corrected; one that waits while the engine is changed is told. */
static void corrections_end(void **state)
{
    (void)state;
    needs_receipts("unit/decide: corrections_end");
    struct rig *rig = rig_with_engine();
    char text[RECEIPT_MAX], command[RECEIPT_MAX + 256];
    for (int round = 0; round < 2; round++) {
        receipt_of(rig, text);
        asked[0] = '\0';
        stopped = true;
        snprintf(command, sizeof command, "*3\r\n$11\r\nWEIR.SETTLE\r\n$%zu\r\n%s\r\n$1\r\n1\r\n", strlen(text), text);
        assert_string_equal(send_to(rig, 0, command), "");
        if (round == 0) {
            park_leave(&rig->batch, &rig->session[0]);
            stopped = false;
            rig->size[0] = 0;
            assert_string_equal(go_on(rig, 0), "");
            assert_non_null(strstr(asked, "one settle [10/s burst=10 algorithm=gcra] |k 4 -> 1 at "));
        } else {
            publish(rig, "two");
            rig->size[0] = 0;
            assert_begins(go_on(rig, 0), "-BADRECEIPT the engine does not answer");
            waiting_count = 0;
        }
        assert_int_equal(rig->session[0].parked, 0);
    }
    assert_string_equal(send_to(rig, 0, "WEIR.FORGET 10/s k\r\n"), "");
    rig_close(rig);
    assert_int_equal(opened, 0);
}

/* What a service says when it starts. */
static void summary(void **state)
{
    (void)state;
    char words[SUMMARY_MAX];
    struct rig *rig = rig_with_stopped_engine();
    memset(words, 'x', sizeof words);
    summary_of_start(words, NULL, 0, false, &rig->service, "weir.yaml", "table");
    words[sizeof words - 1] = '\0';
    assert_begins(words, "; 3 limits of weir.yaml; state in one, what is not kept there in table");
    assert_string_equal(words + strlen(words) - strlen(" MiB"), " MiB");
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(summary, begin),
        cmocka_unit_test_setup(one_batch, begin),
        cmocka_unit_test_setup(exempt_and_others, begin),
        cmocka_unit_test_setup(receipts, begin),
        cmocka_unit_test_setup(away, begin),
        cmocka_unit_test_setup(unsupported, begin),
        cmocka_unit_test_setup(a_password_is_not_told, begin),
        cmocka_unit_test_setup(another_engine, begin),
        cmocka_unit_test_setup(headers, begin),
        cmocka_unit_test_setup(others_go_on, begin),
        cmocka_unit_test_setup(in_order, begin),
        cmocka_unit_test_setup(meanwhile, begin),
        cmocka_unit_test_setup(reload_and_end, begin),
        cmocka_unit_test_setup(shared_secret, begin),
        cmocka_unit_test_setup(ended_secret, begin),
        cmocka_unit_test_setup(unknown_secrets, begin),
        cmocka_unit_test_setup(corrections, begin),
        cmocka_unit_test_setup(corrections_end, begin),
        cmocka_unit_test_setup(corrections_in_order, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
