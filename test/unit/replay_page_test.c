/* SPDX-License-Identifier: MIT
   What weir replay --html puts between the halves of its page, byte for byte; the page here is two words.

   page/look has a browser look at the page that is built in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/replay/page.h"
#include "cli/replay/replay.h"
#include "weir/weir.h"

enum { PAGE_SIZE_MAX = 4096 };
#define SECOND_NS UINT64_C(1000000000)

static char text[PAGE_SIZE_MAX];
static struct replay_result result;

struct page_template page_template(void)
{
    static const char head[] = "<head>", tail[] = "<tail>";
    return (struct page_template){.head = head, .head_size = 6, .tail = tail, .tail_size = 6};
}

/* The page of the result, as a string. */
static void write_page(void)
{
    char path[] = "/tmp/replay_page_XXXXXX";
    const int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    assert_true(page_write(&result, path));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

static void test_nothing(void **state)
{
    (void)state;
    result = (struct replay_result){.unaffected = 99.9};
    write_page();
    assert_string_equal(text, "<head>{\"version\":\"" WEIR_VERSION "\",\"requests\":0,\"malformed\":0,\"late\":0,"
                              "\"clients\":0,\"first_s\":0.000000000,\"last_s\":0.000000000,\"resolution_ns\":0,"
                              "\"whole_seconds\":false,\"timestamps_are_ends\":false,\"unaffected\":99.9,\"key\":null,"
                              "\"busiest\":{\"second\":{\"key\":null,\"p50\":0,\"p99\":0,\"max\":0},"
                              "\"minute\":{\"key\":null,\"p50\":0,\"p99\":0,\"max\":0}},"
                              "\"series\":{\"first_s\":0.000000000,\"step_ns\":0,\"offered\":[]},"
                              "\"limits\":[]}<tail>");
}

static void fill_series(void)
{
    struct replay_series *series = &result.series;
    series->first_ns = 7 * SECOND_NS;
    series->step_ns = 60 * SECOND_NS;
    series->count = 2;
    series->offered[0] = 30, series->offered[1] = 12;
    series->limit[0].denied[0] = 5, series->limit[0].denied[1] = 6;
    series->limit[0].delayed[0] = 8, series->limit[0].delayed[1] = 9;
}

static void fill_limit(struct replay_limit *limit)
{
    *limit = (struct replay_limit){.text = "5/s",
                                   .canonical = "5/s burst=5",
                                   .note = "a note",
                                   .unaffected_text = "5/s burst=9",
                                   .allowed = 31,
                                   .denied = 11,
                                   .denied_spread = 10,
                                   .delayed = 17,
                                   .clients_denied = 1,
                                   .clients_delayed = 2,
                                   .delay_p99_ns = 3,
                                   .delay_max_ns = 4,
                                   .outlasted = 21,
                                   .running_client = 22,
                                   .running_all = 23,
                                   .top_count = 1,
                                   .unaffected_slots_text = "24 concurrent lease=1s"};
    limit->top[0] =
        (struct replay_client){.key = "<a&\xff>", .key_size = 5, .requests = 25, .denied = 26, .delayed = 27};
}

static void test_all(void **state)
{
    (void)state;
    result = (struct replay_result){.requests = 42,
                                    .malformed = 2,
                                    .late = 1,
                                    .clients = 3,
                                    .first_ns = SECOND_NS + 5,
                                    .last_ns = 61 * SECOND_NS,
                                    .resolution_ns = SECOND_NS,
                                    .whole_seconds = true,
                                    .timestamps_are_ends = true,
                                    .unaffected = 50,
                                    .key_name = "remote_addr,host",
                                    .second = {.p50 = 4, .p99 = 5, .max = 6, .max_key = "s", .max_key_size = 1},
                                    .minute = {.p50 = 7, .p99 = 8, .max = 9, .max_key = "min", .max_key_size = 3},
                                    .counts_running = true,
                                    .running = {.p50 = 1, .p99 = 2, .max = 3, .max_key = "r", .max_key_size = 1},
                                    .running_all = 12,
                                    .limits = 1};
    fill_series();
    fill_limit(&result.limit[0]);
    write_page();
    assert_string_equal(text, "<head>{\"version\":\"" WEIR_VERSION "\",\"requests\":42,\"malformed\":2,\"late\":1,"
                              "\"clients\":3,\"first_s\":1.000000005,\"last_s\":61.000000000,"
                              "\"resolution_ns\":1000000000,\"whole_seconds\":true,\"timestamps_are_ends\":true,"
                              "\"unaffected\":50,\"key\":\"remote_addr,host\","
                              "\"busiest\":{\"second\":{\"key\":\"s\",\"p50\":4,\"p99\":5,\"max\":6},"
                              "\"minute\":{\"key\":\"min\",\"p50\":7,\"p99\":8,\"max\":9},"
                              "\"running\":{\"key\":\"r\",\"p50\":1,\"p99\":2,\"max\":3}},\"running_all\":12,"
                              "\"series\":{\"first_s\":7.000000000,\"step_ns\":60000000000,\"offered\":[30,12]},"
                              "\"limits\":[\n"
                              "{\"text\":\"5/s\",\"canonical\":\"5/s burst=5\",\"allowed\":31,\"denied\":11,"
                              "\"denied_spread\":10,\"delayed\":17,\"clients_denied\":1,\"clients_delayed\":2,"
                              "\"delay_p99_ns\":3,\"delay_max_ns\":4,\"note\":\"a note\","
                              "\"unaffected_text\":\"5/s burst=9\",\"running_client\":22,\"running_all\":23,"
                              "\"outlasted\":21,\"unaffected_slots_text\":\"24 concurrent lease=1s\",\"top\":[\n"
                              "{\"key\":\"\\u003ca\\u0026\\\\xff\\u003e\",\"requests\":25,\"denied\":26,"
                              "\"delayed\":27}],\"denied_steps\":[5,6],\"delayed_steps\":[8,9]}]}<tail>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing), cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
