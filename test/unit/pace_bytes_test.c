/* SPDX-License-Identifier: MIT
   weir pace by bytes: what a limit counts, how lines are cut, and the rate that is reported.

   No clock is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/pace/bytes.h"
#include "cli/pace/input.h"
#include "cli/pace/record.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static weir_plan plan_of(const char *text)
{
    weir_plan plan;
    weir_error error;
    if (weir_plan_parse(&plan, text, WEIR_PACE, &error) != 0) fail_msg("%s: %s", text, error.message);
    return plan;
}

/* ---- the unit ---- */

static void units(void **state)
{
    static const struct {
        const char *limit;
        enum pace_unit unit;
        const char *in_bytes;
    } row[] = {
        {"10KiB/s", PACE_UNIT_BYTES, ""},
        {"100 bytes/s", PACE_UNIT_BYTES, ""},
        {"10kB/s; 1GB/h", PACE_UNIT_BYTES, ""},
        {"10kB/s; unlimited", PACE_UNIT_BYTES, ""},
        {"unlimited", PACE_UNIT_ANY, ""},
        {"none", PACE_UNIT_ANY, ""},
        {"100/s", PACE_UNIT_LINES, "100B/s"},
        {"unlimited; 0.5/s burst=3", PACE_UNIT_LINES, "0.5B/s"},
        {"100k tokens/2h", PACE_UNIT_LINES, "100000B/2h"},
        {"30r/m", PACE_UNIT_LINES, "30B/min"},
        {"12000", PACE_UNIT_LINES, "12000B/s"},
        {"12000,1.1", PACE_UNIT_LINES, "12000B/s"},
        {"12000,1.2", PACE_UNIT_LINES, "12000B/s catchup=1.2"},
        {"10,1.1", PACE_UNIT_LINES, "10B/s catchup=1.1"},
        {"12000,1.00", PACE_UNIT_LINES, "12000B/s"},
        {"10kB/s; 100/s", PACE_UNIT_MIXED, "100B/s"},
        {"100/s; 10kB/s", PACE_UNIT_MIXED, "100B/s"},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(row); i++) {
        char text[80] = "";
        struct writer writer = {text, sizeof text, 0};
        const weir_plan plan = plan_of(row[i].limit);
        if (pace_unit_of(plan_inside_const(&plan)) != row[i].unit) fail_msg("the unit of %s", row[i].limit);
        pace_in_bytes(plan_inside_const(&plan), &writer);
        assert_string_equal(text, row[i].in_bytes);
        if (text[0] != '\0') plan_of(text); /* what is recommended can be read */
    }
}

/* ---- pieces ---- */

static void pieces_of_100_ms(void **state)
{
    static const struct {
        const char *limit;
        size_t piece;
    } row[] = {
        {"500KiB/s", 51200},
        {"100B/s", 10},
        {"19B/s", 1},
        {"1B/h", 1},
        {"10MB/s", 1000000},
        {"100GB/s", PACE_PIECE_MAX},
        {"unlimited", PACE_PIECE_MAX},
        {"none", PACE_PIECE_MAX},
        {"10MB/s; 500KiB/s; unlimited", 51200},
        {"500KiB/s burst=5", 51200},
        {"500KiB/s burst=300 algorithm=gcra", 300}, /* a larger one is refused */
        {"500KiB/s; 1MB/s burst=300 algorithm=gcra", 300},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(row); i++) {
        const weir_plan plan = plan_of(row[i].limit);
        const size_t piece = pace_piece_of(plan_inside_const(&plan));
        if (piece != row[i].piece) fail_msg("%s: a piece of %zu, expected %zu", row[i].limit, piece, row[i].piece);
    }
}

/* Takes one known piece after the other, "|" where one begins a line and "-" where it goes on with one. */
static void take_pieces(struct input *input, int count, char *out)
{
    for (int i = 0; i < count; i++) {
        size_t size;
        assert_int_equal(input_lines(input), INPUT_READY);
        strcat(out, input_begins_line(input, input->next) ? "|" : "-");
        const char *bytes = input_take(input, 1, &size);
        strncat(out, bytes, size);
    }
}

static void cut_anew(void **state)
{
    static const char text[] = "abcdefghij\nkl\nmnopqr";
    char out[80] = "";
    struct input input;
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    close(ends[1]);
    input_open(&input, ends[0], '\n');
    input_pieces_of(&input, 4);
    take_pieces(&input, 1, out);
    assert_false(input_begins_line(&input, input.next + 1));
    assert_true(input_begins_line(&input, input.next + 2)); /* what is known and not yet taken is cut anew */
    input_pieces_of(&input, 1);
    take_pieces(&input, 2, out);
    input_pieces_of(&input, 3);
    take_pieces(&input, 5, out);
    assert_string_equal(out, "|abcd-e-f-ghi-j\n|kl\n|mno-pqr");
    assert_int_equal(input_lines(&input), INPUT_END);
    assert_int_equal(atom_load(&input.consumed), strlen(text));
    input_close(&input);
    close(ends[0]);
}

/* ---- what is reported ---- */

/* 3,000,000 bytes in pieces of 100 ms, each at its start. */
static void record_pieces(struct record *record)
{
    enum { PIECE = 51200, WHOLE = 3000000, PIECE_NS = 100000000, FIRST_NS = 1000000000 };
    const weir_plan plan = plan_of("500KiB/s");
    memset(record, 0, sizeof *record);
    record_open(record, plan_inside_const(&plan), "lines");
    record->in_bytes = true;
    for (uint64_t sent = 0, at_ns = FIRST_NS; sent < WHOLE; at_ns += PIECE_NS) {
        const uint64_t size = WHOLE - sent < PIECE ? WHOLE - sent : PIECE;
        record_begin(record, at_ns);
        record_start(record, at_ns, at_ns, at_ns, size);
        record_parts(record, sent != 0);
        record_end(record);
        sent += size;
    }
}

static void holds(struct record *record, bool json, const char *words)
{
    static const struct record_owed owed;
    char text[2000];
    FILE *file = tmpfile();
    assert_non_null(file);
    record_print(record, &owed, NULL, NULL, json, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (strstr(text, words) == NULL) fail_msg("no \"%s\" in\n%s", words, text);
}

/* The last piece is shorter, and paid for after its start, as is each that is larger than the pool. */
static void summary_in_bytes(void **state)
{
    static struct record record;
    (void)state;
    record_pieces(&record);
    assert_int_equal(record_view(&record).items, 1);
    holds(&record, false, "3,000,000 bytes (1 line) in 5.800 s, 512,000 B/s asked, 512,000 B/s\nlate p50 0 ns, ");
    holds(&record, false, "never early, never over by more than 0 bytes\n");
    holds(&record, true, "\"target_per_s\":512000,\"achieved_per_s\":512000,\"granted\":3000000,\"lines\":1,");
    holds(&record, true, "\"target_bytes_per_s\":512000,\"achieved_bytes_per_s\":512000,\"bytes\":3000000,");
    record.in_bytes = false;
    holds(&record, false, "1 line in 5.800 s, 512,000/s asked, 512,000/s\nlate p50 0 ns, ");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),
        cmocka_unit_test(pieces_of_100_ms),
        cmocka_unit_test(cut_anew),
        cmocka_unit_test(summary_in_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
