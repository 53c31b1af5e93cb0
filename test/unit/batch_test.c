/* SPDX-License-Identifier: MIT
   One batch: more questions than a queue holds, more texts than are kept, more answers than memory; who
   is counted, who is let pass, whose policy it is.

   The same in every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/config/config.h"
#include "serve/protocols.h"
#include "unit/serve_rig.h"
#include "unit/needs_receipts.h"

enum { BYTES = 1 << 20 };

static char bytes[BYTES];

static unsigned count_of(const char *answer, const char *words)
{
    unsigned count = 0;
    for (const char *at = answer; (at = strstr(at, words)) != NULL; at += strlen(words)) count++;
    return count;
}

static uint64_t read_counter(const struct atom *counter)
{
    return atom_load(counter);
}

/* ---- the queue ---- */

/* Lists of limits, names, texts, looks: each takes another way, and all are asked in their order. */
static void more_than_a_queue(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    size_t size = 0;
    rig_send(rig, "WEIR.LIMIT SET api 1000/h\r\n");
    const uint64_t before = read_counter(&rig->batch.stats->limit[0].allowed);
    for (int i = 0; i < 1500; i++) {
        size += (size_t)sprintf(bytes + size, "WEIR.TAKE \"1000/h; 1000/d\" list\r\nWEIR.TAKE api name\r\n"
                                              "WEIR.TAKE 1000/h text\r\nWEIR.TAKE 1000/h text PEEK\r\n");
    }
    const char *answer = rig_send_bytes(rig, 0, (struct slice){bytes, size});
    assert_int_equal(count_of(answer, "*8\r\n"), 6000);
    assert_int_equal(count_of(answer, "deny"), 3 * 500 + 501); /* the look at an empty limit, from the 1000th on */
    assert_int_equal(read_counter(&rig->batch.stats->limit[0].allowed) - before, 2000);
    assert_int_equal(read_counter(&rig->batch.stats->limit[0].denied), 1000);
    assert_int_equal(read_counter(&rig->batch.stats->limit[1].allowed), 1000);
    assert_int_equal(read_counter(&rig->batch.stats->limit[1].denied), 500);
    assert_int_equal(read_counter(&rig->batch.stats->limit[1].permits), 1000);
    rig_close(rig);
}

/* Reads on where it stopped, until all is taken; returns how often it stopped. */
static unsigned shares(struct rig *rig, unsigned session, size_t size)
{
    unsigned count = 0;
    rig->size[session] = 0;
    for (size_t at = 0; at < size; count++) {
        batch_begin(&rig->batch);
        at += handle_bytes(&rig->batch, &rig->session[session], (struct slice){bytes + at, size - at});
        batch_end(&rig->batch);
        assert_true(rig->session[session].waits == (at < size));
        assert_true(count < 10000);
    }
    rig->out[session][rig->size[session]] = '\0';
    return count;
}

/* Who sends much is served a share at a time; what is costly counts as much as it costs. */
static void a_share_at_a_time(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        unsigned least, most;
    } rows[] = {
        {"WEIR.TAKE 1000000/s key\r\n", 20, 21}, /* two each: read, and asked */
        {"CL.THROTTLE key 100000 1 60\r\n", 20, 21},
        {"PING\r\n", 45, 55},
        {"WEIR.TAKE \"1000/s; 1000/min\" key COST 0\r\n", 28, 35},
        {"WEIR.TAKE \"1000/s algorithm=sliding-log\" key COST 0\r\n", 150, 500},
        {"WEIR.LIMIT LIST\r\n", 900, 1000},
        {"WEIR.SETTLE nothing 1\r\n", 45, 55},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig *rig = rig_open();
        size_t size = 0;
        for (int n = 0; n < 1000; n++) size += (size_t)sprintf(bytes + size, "%s", rows[i].command);
        rig_send_bytes(rig, 0, (struct slice){bytes, size});
        struct rig *other = rig_open();
        other->batch.work_most = 100;
        const unsigned count = shares(other, 0, size);
        if (count < rows[i].least || count > rows[i].most) fail_msg("%s%u shares", rows[i].command, count);
        if (i >= 2) assert_string_equal(other->out[0], rig->out[0]); /* others have receipts with their secret */
        rig_close(other);
        rig_close(rig);
    }
}

/* What is queued refers to the texts; they stay until it is decided, however many more come. */
static void more_texts_than_are_kept(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    size_t size = 0;
    for (int i = 1; i <= 3000; i++) size += (size_t)sprintf(bytes + size, "CL.THROTTLE key%d %d 1 60 %d\r\n", i, i, i);
    for (int i = 1; i <= 3000; i++) size += (size_t)sprintf(bytes + size, "CL.THROTTLE key%d %d 1 60 0\r\n", i, i);
    const char *at = rig_send_bytes(rig, 0, (struct slice){bytes, size});
    char expected[64];
    for (int i = 1; i <= 3000; i++) { /* i of i + 1 are taken: one is left, each takes a minute */
        const int length = sprintf(expected, "*5\r\n:0\r\n:%d\r\n:1\r\n:-1\r\n:%d\r\n", i + 1, 60 * i);
        assert_memory_equal(at, expected, (size_t)length);
        at += length;
    }
    assert_int_equal(count_of(at, "*5\r\n:0\r\n"), 3000);
    rig_close(rig);
}

/* Texts that differ in a byte are others, though one of them was the last. */
static void texts_alike(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    const char *answer = rig_send(rig, "WEIR.TAKE 10/s a PEEK\r\nWEIR.TAKE 20/s a PEEK\r\nWEIR.TAKE 10/s a PEEK\r\n"
                                       "WEIR.TAKE 10/sec a PEEK\r\nWEIR.TAKE 10/ a\r\nWEIR.TAKE 10/s a PEEK\r\n");
    const char *nine = strstr(answer, ":9\r\n");
    assert_int_equal(count_of(answer, ":9\r\n"), 4);
    assert_int_equal(count_of(answer, ":19\r\n"), 1);
    assert_true(nine < strstr(answer, ":19\r\n") && strstr(answer, ":19\r\n") < strstr(nine + 1, ":9\r\n"));
    rig_close(rig);
}

/* Keys that are made lie in scratch, which is smaller than what comes. */
static void more_keys_than_scratch(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    char key[POLICY_KEY_MAX - 4 + 1];
    rig_send(rig, "WEIR.LIMIT SET api 1/h\r\n");
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    for (int round = 0; round < 2; round++) {
        size_t size = 0;
        for (int i = 0; i < 900; i++) size += (size_t)sprintf(bytes + size, "WEIR.TAKE api %s%04d\r\n", key, i);
        const char *answer = rig_send_bytes(rig, 0, (struct slice){bytes, size});
        assert_int_equal(count_of(answer, round == 0 ? "allow" : "deny"), 900);
    }
    rig_close(rig);
}

/* ---- sessions ---- */

static void each_gets_its_own(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    const struct slice two = slice_of("CL.THROTTLE a 3 1 60\r\nPING\r\n");
    batch_begin(&rig->batch);
    for (unsigned i = 0; i < RIG_SESSIONS; i++)
        assert_int_equal(handle_bytes(&rig->batch, &rig->session[i], two), two.size);
    assert_int_equal(handle_bytes(&rig->batch, &rig->session[0], two), two.size);
    batch_end(&rig->batch);
    for (unsigned i = 0; i < RIG_SESSIONS; i++) {
        char expected[64];
        sprintf(expected, "*5\r\n:0\r\n:4\r\n:%u\r\n:-1\r\n:%u\r\n+PONG\r\n", 3 - i, (i + 1) * 60);
        assert_memory_equal(rig->out[i], expected, strlen(expected));
    }
    assert_memory_equal(rig->out[0] + strlen("*5\r\n:0\r\n:4\r\n:3\r\n:-1\r\n:60\r\n+PONG\r\n"), "*5\r\n:1\r\n:4\r\n:0",
                        14);
    rig_close(rig);
}

/* What one asks at once leaves in one piece. */
static void in_one_piece(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    size_t size = 0;
    for (int i = 0; i < 100; i++) size += (size_t)sprintf(bytes + size, "WEIR.TAKE 10/s key%d\r\n", i);
    rig->sends = 0;
    rig_send_bytes(rig, 0, (struct slice){bytes, size});
    assert_int_equal(rig->sends, 1);
    rig_close(rig);
}

/* Long answers to short questions are sent on the way: memory does not grow with them. */
static void long_answers(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    size_t size = 0;
    for (int i = 0; i < 300; i++) size += (size_t)sprintf(bytes + size, "COMMAND DOCS\r\n");
    rig->sends = 0;
    const char *answer = rig_send_bytes(rig, 0, (struct slice){bytes, size});
    assert_int_equal(count_of(answer, "$11\r\ncl.throttle\r\n"), 300);
    assert_true(rig->sends > 1);
    assert_true(rig->batch.out.capacity <= 1 << 18);
    rig_close(rig);
}

static void cut(void *sender, struct session *session, struct slice slice)
{
    (void)slice;
    ++*(unsigned *)sender;
    session->closing = true;
}

/* One who is cut while his answers are written is not listened to any more, and the others do not notice. */
static void cut_on_the_way(void **state)
{
    (void)state;
    needs_receipts("unit/batch: cut_on_the_way");
    struct rig *rig = rig_open();
    struct batch *batch = &rig->batch;
    unsigned sends = 0;
    size_t size = 0;
    for (int i = 0; i < 5000; i++) size += (size_t)sprintf(bytes + size, "WEIR.TAKE 10/s key%d\r\n", i);
    batch->send = cut;
    batch->sender = &sends;
    batch_begin(batch);
    assert_true(handle_bytes(batch, &rig->session[0], (struct slice){bytes, size}) < size);
    batch->send = rig_sent;
    batch->sender = rig;
    handle_bytes(batch, &rig->session[1], slice_of("PING\r\n"));
    batch_end(batch);
    assert_int_equal(sends, 1);
    assert_memory_equal(rig->out[1], "+PONG\r\n", 7);
    rig_close(rig);
}

/* An answer that nothing was written to is not sent. */
static void no_answer(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    batch_begin(&rig->batch);
    assert_non_null(batch_reply(&rig->batch, &rig->session[0], BATCH_REPLY));
    batch_end(&rig->batch);
    assert_int_equal(rig->sends, 0);
    assert_false(rig->session[0].closing);
    rig_close(rig);
}

/* Half an answer is never sent; but who has the socket is told that there is nothing more to wait for. */
static void too_long_an_answer(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    batch_begin(&rig->batch);
    struct bytes *out = batch_reply(&rig->batch, &rig->session[0], (size_t)9 << 20);
    assert_non_null(out);
    for (int i = 0; i < 9; i++) bytes_add(out, (struct slice){bytes, BYTES});
    batch_end(&rig->batch);
    assert_int_equal(rig->size[0], 0);
    assert_true(rig->session[0].closing);
    assert_int_equal(rig->sends, 1);
    assert_string_equal(rig_send_bytes(rig, 1, slice_of("PING\r\n")), "+PONG\r\n");
    rig_close(rig);
}

/* ---- policy, shadow, counters ---- */

/* A cost for each limit of the name: also of those whom none of them, or nothing, is meant for. */
static void costs_of_the_exempt(void **state)
{
    (void)state;
    static const char text[] = "limits: {api: {limit: 10/h; 100 tokens/h, key: [address], exempt: [10.0.0.0/8]}}\n"
                               "overrides: {api: {192.0.2.1: unlimited, 192.0.2.2: none}}\n";
    struct rig *rig = rig_open();
    struct config_problem problem;
    struct policy *policy = config_policy(slice_of(text), rig->tables, NULL, service_number, &rig->service, &problem);
    assert_non_null(policy);
    service_publish(&rig->service, policy);
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "10.1.2.3", "COST", "1", "500"), "*8\r\n$5\r\nallow", 13);
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "192.0.2.1", "COST", "1", "500"), "*8\r\n$5\r\nallow", 13);
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "192.0.2.2", "COST", "0", "1"), "*8\r\n$5\r\nnever", 13);
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "192.0.2.3", "COST", "1", "500"), "*8\r\n$5\r\nnever", 13);
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "api", "10.1.2.3", "COST", "1", "5", "6"), "-ERR ", 5);
    assert_memory_equal(RIG_SAY(rig, "WEIR.TAKE", "unlimited", "k", "COST", "1", "5"), "-ERR ", 5);
    rig_close(rig);
}

static void policy_of_the_turn(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    weir_error error;
    rig_send(rig, "WEIR.LIMIT SET api 1/h\r\n");
    batch_begin(&rig->batch);
    handle_bytes(&rig->batch, &rig->session[0], slice_of("WEIR.TAKE api a COST 2 PEEK\r\n"));
    assert_int_equal(service_define(&rig->service, slice_of("api"), "5/h", &error), 0); /* another worker */
    handle_bytes(&rig->batch, &rig->session[0], slice_of("WEIR.TAKE api a COST 2 PEEK\r\n"));
    batch_end(&rig->batch);
    assert_int_equal(count_of(rig_send(rig, "WEIR.TAKE api a COST 2 PEEK\r\n"), "allow"), 1);
    rig_close(rig);
}

static void shadow(void **state)
{
    (void)state;
    needs_receipts("unit/batch: shadow");
    struct rig *rig = rig_open();
    rig_send(rig, "WEIR.LIMIT SET api 1/h\r\n");
    assert_non_null(rig->service.policy);
    rig->service.policy->limit[0].shadow = true;
    const char *answer = rig_send(rig, "WEIR.TAKE api a\r\nWEIR.TAKE api a\r\nWEIR.TAKE api a COST 5\r\n");
    assert_int_equal(count_of(answer, "allow"), 3);
    assert_int_equal(count_of(answer, "$-1"), 2); /* of what was not taken there is no receipt */
    const struct stats_limit *counted = &rig->batch.stats->limit[1];
    assert_int_equal(read_counter(&counted->allowed), 3);
    assert_int_equal(read_counter(&counted->shadowed), 2);
    assert_int_equal(read_counter(&counted->permits), 1);
    rig_close(rig);
}

/* Looks are no decisions; CL.THROTTLE's never is one, though it is asked as a look. */
static void counted(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    const struct stats *stats = rig->batch.stats;
    rig_send(rig,
             "CL.THROTTLE a 1 1 60\r\nCL.THROTTLE a 1 1 60 0\r\nCL.THROTTLE a 1 1 60 3\r\nWEIR.TAKE 1/h b PEEK\r\n");
    assert_int_equal(read_counter(&stats->limit[0].allowed), 1);
    assert_int_equal(read_counter(&stats->limit[0].never), 1);
    assert_int_equal(read_counter(&stats->limit[0].denied), 0);
    assert_int_equal(read_counter(&stats->commands), 4);
    assert_int_equal(read_counter(&stats->errors), 0);
    rig_send(rig, "NOSUCH\r\nWEIR.TAKE 1/ b\r\n*x\r\n");
    assert_int_equal(read_counter(&stats->errors), 3);
    rig_close(rig);
}

/* ---- two texts for one key ---- */

enum { MET_ONCE = 1, MET_BY_NUMBERS = MET_ONCE + 98, MET_WIDE = MET_BY_NUMBERS + 48 };

/* Asks under texts in turn.  false: fewer were noticed, since two keys fell on one place of what is remembered. */
static bool notices_all(void)
{
    struct rig *rig = rig_open();
    const struct atom *count = &rig->batch.stats->alternations;
    char note[sizeof rig->service.note[0].text];
    /* One text after another, the same in other words, other keys, a look, a name: none of it is. */
    rig_send(rig, "WEIR.LIMIT SET api 3/h\r\n");
    for (unsigned i = 0; i < 4; i++) {
        RIG_SAY(rig, "WEIR.TAKE", i < 2 ? "10/h" : "10/h burst=1000", "a");
        RIG_SAY(rig, "WEIR.TAKE", i % 2 == 0 ? "10/s burst=10" : "10/s", "b");
        RIG_SAY(rig, "WEIR.TAKE", i % 2 == 0 ? "10/s" : "20/s", i % 2 == 0 ? "c" : "d");
        RIG_SAY(rig, "WEIR.TAKE", "10/s", "e");
        RIG_SAY(rig, "WEIR.TAKE", "20/s", "e", "PEEK");
        RIG_SAY(rig, "WEIR.TAKE", i % 2 == 0 ? "10/s" : "api", "f");
        RIG_SAY(rig, "WEIR.TAKE", i % 2 == 0 ? "10/s algorithm=sliding-log" : "9/s algorithm=leaky", "g");
    }
    assert_int_equal(rig->service.note_count, 0);
    assert_int_equal(atom_load(count), 0);
    /* This is, whoever brings the texts. */
    RIG_SAY(rig, "WEIR.TAKE", "10/h", "a");
    const uint64_t once = atom_load(count);
    memcpy(note, rig->service.note[0].text, sizeof note);
    for (unsigned i = 0; i < 50; i++) rig_send(rig, "CL.THROTTLE t 1 1 60\r\nCL.THROTTLE t 9 1 60\r\n");
    const uint64_t by_numbers = atom_load(count);
    for (unsigned i = 0; i < 50; i++) { /* with a table of wide slots, too */
        RIG_SAY(rig, "WEIR.TAKE", i % 2 == 0 ? "10/s algorithm=sliding-log" : "5/s algorithm=sliding-log", "w");
    }
    const uint64_t wide = atom_load(count);
    rig_close(rig);
    assert_true(once <= MET_ONCE && by_numbers <= MET_BY_NUMBERS && wide <= MET_WIDE);
    if (once != MET_ONCE || by_numbers != MET_BY_NUMBERS || wide != MET_WIDE) return false;
    assert_string_equal(note, "key \"a\" is asked under \"10/h burst=1000 algorithm=gcra\" and \"10/h burst=10 "
                              "algorithm=gcra\" in turn: it owes less by one than by the other; give the limit a "
                              "name");
    return true;
}

static void alternation(void **state)
{
    (void)state;
    assert_true(notices_all() || notices_all() || notices_all() || notices_all()); /* each has another hash */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_of_the_exempt),
        cmocka_unit_test(more_than_a_queue),
        cmocka_unit_test(a_share_at_a_time),
        cmocka_unit_test(more_texts_than_are_kept),
        cmocka_unit_test(texts_alike),
        cmocka_unit_test(more_keys_than_scratch),
        cmocka_unit_test(each_gets_its_own),
        cmocka_unit_test(in_one_piece),
        cmocka_unit_test(long_answers),
        cmocka_unit_test(cut_on_the_way),
        cmocka_unit_test(no_answer),
        cmocka_unit_test(too_long_an_answer),
        cmocka_unit_test(policy_of_the_turn),
        cmocka_unit_test(shadow),
        cmocka_unit_test(counted),
        cmocka_unit_test(alternation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
