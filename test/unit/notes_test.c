/* SPDX-License-Identifier: MIT
   What the service writes of mistakes and refusals: which words, how many, and nothing that is not
   to be printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/serve_rig.h"

/* What is written and not flushed yet, with a NUL behind it. */
static const char *written(struct notes_stream *stream)
{
    assert_true(stream->size < NOTES_BYTES);
    assert_non_null(stream->bytes);
    stream->bytes[stream->size] = '\0';
    return stream->bytes;
}

static unsigned lines_in(const char *text)
{
    unsigned lines = 0;
    for (; *text != '\0'; text++) lines += *text == '\n';
    return lines;
}

static void contains(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) fail_msg("there is no %s in %s", words, text);
}

static void mistakes(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct notes_stream *notes = &rig->service.notes.mistakes;
    rig_send(rig, "WEIR.TAKE 10/ a\r\n");
    contains(written(notes), "weir: RESP: BADLIMIT col 4: expected a period");
    assert_int_equal(rig->service.note_count, 1);
    contains(rig->service.note[0].text, "RESP: BADLIMIT col 4");
    rig_send(rig, "WEIR.TAKE 10/ a\r\n");
    assert_int_equal(rig->service.note_count, 1); /* the same once more */
    RIG_SAY(rig, "WEIR.TAKE", "10/s", "a", "\x1b[2J\x1b]0;hacked\x07\xc2\x9b");
    RIG_SAY(rig, "AUTHH", "s3cret");
    assert_null(strstr(written(notes), "s3cret"));
    contains(written(notes), "unknown command 'AUTHH'");
    for (const char *at = written(notes); *at != '\0'; at++) assert_true((*at >= ' ' && *at <= '~') || *at == '\n');
    rig->session[1].protocol = SESSION_HTTP;
    rig_send_bytes(rig, 1, slice_of("GET /auth?limit=10&key=s3cret HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    contains(written(notes), "weir: HTTP 400 /auth: X-Weir-Proxy: expected a header that a proxy sets");
    assert_null(strstr(written(notes), "s3cret"));
    rig_send_bytes(rig, 1, slice_of("NONSENSE\r\n\r\n"));
    contains(written(notes), "weir: HTTP: ");
    rig_send_bytes(rig, 2, slice_of("GET / HTTP/1.1\r\n\r\n"));
    contains(written(notes), "weir: RESP: closed: this is HTTP");
    rig_close(rig);
}

/* Who says one cost for requests and tokens is told how to say of which. */
static void one_cost_for_units(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct notes_stream *notes = &rig->service.notes.mistakes;
    static const char units[] = "60 requests/min; 100k tokens/min";
    RIG_SAY(rig, "WEIR.TAKE", units, "a", "COST", "1", "2000");
    RIG_SAY(rig, "WEIR.TAKE", units, "a", "COST", "61", "2000");
    RIG_SAY(rig, "WEIR.TAKE", "10/s; 100/h", "a", "COST", "101");
    RIG_SAY(rig, "WEIR.TAKE", "none", "a");
    assert_int_equal(lines_in(written(notes)), 0);
    RIG_SAY(rig, "WEIR.TAKE", units, "a", "COST", "2000");
    assert_string_equal(written(notes), "weir: RESP: ERR limits count requests and tokens: write COST tokens 2000\n");
    rig_close(rig);
}

/* As many as the limit lets through; the next line says how many were not told. */
static void not_too_many(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct notes_stream *notes = &rig->service.notes.mistakes;
    for (unsigned i = 0; i < 1000; i++) rig_send(rig, "NOSUCH\r\n");
    assert_int_equal(lines_in(written(notes)), 20);
    rig->now_ns += HOST_SECOND_NS;
    for (unsigned i = 0; i < 10; i++) rig_send(rig, "NOSUCH\r\n");
    assert_int_equal(lines_in(written(notes)), 21);
    contains(written(notes), "'NOSUCH' (and 980 more before)\n");
    rig_close(rig);
}

static void refusals(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct notes_stream *lines = &rig->service.notes.refusals;
    weir_error error;
    rig_send(rig, "WEIR.LIMIT SET api 1/h\r\nWEIR.TAKE api a\r\nWEIR.TAKE api a\r\n");
    assert_string_equal(written(lines), ""); /* nobody wanted them */
    assert_int_equal(notes_set_refusals(&rig->service.notes, "2/s", &error), 0);
    rig_send(rig, "WEIR.TAKE api b\r\nWEIR.TAKE api b PEEK\r\n");
    assert_string_equal(written(lines), "");
    RIG_SAY(rig, "WEIR.TAKE", "api", "a\"\x1b\n\xff", "COST", "2");
    contains(written(lines),
             ",\"refused\":\"api\",\"key\":\"a\\\"\\u001b\\n\xef\xbf\xbd\",\"cost\":2,\"verdict\":\"never\","
             "\"limit\":0,\"retry_ns\":");
    for (unsigned i = 0; i < 5; i++) rig_send(rig, "WEIR.TAKE api a\r\n");
    assert_int_equal(lines_in(written(lines)), 2);
    rig->now_ns += HOST_SECOND_NS;
    rig_send(rig, "WEIR.TAKE api a\r\n");
    contains(written(lines), ",\"retry_ns\":3599000000000,\"shadow\":false,\"untold\":4}\n");
    assert_int_equal(notes_set_refusals(&rig->service.notes, NULL, &error), 0);
    rig->now_ns += UINT64_C(10) * HOST_SECOND_NS;
    rig_send(rig, "WEIR.TAKE api a\r\n");
    assert_int_equal(lines_in(written(lines)), 3);
    assert_int_not_equal(notes_set_refusals(&rig->service.notes, "2/", &error), 0);
    rig_close(rig);
}

/* What nobody reads is lost and counted; it is never waited for. */
static void full(void **state)
{
    (void)state;
    static char key[POLICY_KEY_MAX + 1];
    struct rig *rig = rig_open();
    struct notes_stream *lines = &rig->service.notes.refusals;
    memset(key, 'k', sizeof key - 1);
    assert_int_equal(notes_set_refusals(&rig->service.notes, "1000000/s", NULL), 0);
    for (unsigned i = 0; i < 1000; i++) RIG_SAY(rig, "WEIR.TAKE", "none", key);
    const unsigned told = lines_in(written(lines));
    assert_in_range(told, 50, 200);
    assert_int_equal(atom_load(&lines->untold), 1000 - told);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes),     cmocka_unit_test(one_cost_for_units),
        cmocka_unit_test(not_too_many), cmocka_unit_test(refusals),
        cmocka_unit_test(full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
