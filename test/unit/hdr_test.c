/* SPDX-License-Identifier: MIT
   Lines of an .hlog, taken apart by zlib and by a reader of HdrHistogram's encoding that is written down here, give the
   counts that went in; of a .hgrm what can be said without another library.

   golden/pace_latency holds both against the libraries of Java and Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "cli/pace/latency/hdr.h"
#include "unit/random.h"

enum { LINE_MAX_SIZE = 1 << 20, ROUNDS = 60 };

static struct hdr hdr, back;
static char text[LINE_MAX_SIZE];
static unsigned char packed[LINE_MAX_SIZE], plain[LINE_MAX_SIZE];

/* What is written, as a string. */
static void written(void (*write)(FILE *out))
{
    FILE *file = tmpfile();
    assert_non_null(file);
    write(file);
    rewind(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    assert_true(size < sizeof text - 1);
    fclose(file);
}

static void write_line(FILE *out)
{
    hdr_write_interval(&hdr, "service", UINT64_C(1500000000), UINT64_C(2750000000), out);
}

static uint64_t number_at(const unsigned char *at, int bytes)
{
    uint64_t number = 0;
    while (bytes-- > 0) number = number << 8 | *at++;
    return number;
}

static unsigned digit_of(char digit)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, digit);
    assert_true(at != NULL && digit != '\0');
    return (unsigned)(at - digits);
}

static size_t from_base64(const char *from, unsigned char *to)
{
    size_t size = 0;
    assert_int_equal(strcspn(from, "\n") % 4, 0);
    for (; *from != '\n'; from += 4) {
        const size_t bytes = from[2] == '=' ? 1 : from[3] == '=' ? 2 : 3;
        unsigned bits = digit_of(from[0]) << 18 | digit_of(from[1]) << 12;
        if (bytes > 1) bits |= digit_of(from[2]) << 6;
        if (bytes > 2) bits |= digit_of(from[3]);
        for (size_t i = 0; i < bytes; i++) to[size++] = (unsigned char)(bits >> (16 - 8 * i));
    }
    return size;
}

static int64_t word_at(const unsigned char **at)
{
    uint64_t word = 0;
    for (unsigned i = 0;; i++) {
        const unsigned char byte = *(*at)++;
        word |= (uint64_t)(i < 8 ? byte & 0x7f : byte) << (7 * i);
        if (i == 8 || byte < 0x80) break;
    }
    return (int64_t)(word >> 1 ^ (0 - (word & 1)));
}

static void decode(const char *base64)
{
    const size_t size = from_base64(base64, packed);
    uLongf plain_size = sizeof plain;
    assert_int_equal(number_at(packed, 4), 0x1c849314);
    assert_int_equal(number_at(packed + 4, 4), size - 8);
    assert_int_equal(uncompress(plain, &plain_size, packed + 8, (uLong)(size - 8)), Z_OK);
    assert_int_equal(number_at(plain, 4), 0x1c849313);
    assert_int_equal(number_at(plain + 4, 4), plain_size - 40);
    assert_int_equal(number_at(plain + 8, 4), 0);
    assert_int_equal(number_at(plain + 12, 4), 3);
    assert_int_equal(number_at(plain + 16, 8), 1);
    assert_int_equal(number_at(plain + 24, 8), (UINT64_C(1) << 53) - 1);
    assert_int_equal(number_at(plain + 32, 8), UINT64_C(0x3ff0000000000000));
    memset(&back, 0, sizeof back);
    unsigned index = 0;
    for (const unsigned char *at = plain + 40; at < plain + plain_size;) {
        const int64_t word = word_at(&at);
        if (word >= 0) back.count[index++] = (uint64_t)word;
        else index += (unsigned)-word;
        assert_int_not_equal(word, -1); /* a zero alone is a count, as HdrHistogram writes it */
        assert_true(index <= HISTOGRAM_HDR_BUCKETS);
    }
}

static void check_line(void)
{
    static const char head[] = "Tag=service,1.500,1.250,";
    written(write_line);
    assert_int_equal(strncmp(text, head, sizeof head - 1), 0);
    const char *base64 = strchr(text + sizeof head, ',');
    assert_non_null(base64);
    decode(base64 + 1);
    assert_memory_equal(&back, &hdr, sizeof hdr);
}

static void test_lines(void **state)
{
    (void)state;
    uint64_t seed = 1;
    memset(&hdr, 0, sizeof hdr);
    check_line(); /* nothing is an interval, too */
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t values = random_sized(&seed, 12);
        memset(&hdr, 0, sizeof hdr);
        for (uint64_t i = 0; i < values; i++) {
            const uint64_t value = random_sized(&seed, 53);
            hdr.count[histogram_bucket(value, HISTOGRAM_HDR_BITS)] += random_sized(&seed, 40);
        }
        check_line();
    }
}

/* So many bytes that zlib's stored blocks are several. */
static void test_many(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (unsigned i = 0; i < HISTOGRAM_HDR_BUCKETS; i++) hdr.count[i] = random_sized(&seed, 62);
    hdr.count[HISTOGRAM_HDR_BUCKETS - 1] = (UINT64_C(1) << 62) + 1; /* nine bytes */
    check_line();
}

static void write_percentiles(FILE *out)
{
    hdr_write_percentiles(&hdr, out);
}

static void test_percentiles(void **state)
{
    (void)state;
    memset(&hdr, 0, sizeof hdr);
    written(write_percentiles);
    assert_string_equal(text, "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
                              "#[Mean    =        0.000, StdDeviation   =        0.000]\n"
                              "#[Max     =        0.000, Total count    =            0]\n"
                              "#[Buckets =           43, SubBuckets     =         2048]\n");
    hdr.count[histogram_bucket(2000000, HISTOGRAM_HDR_BITS)] = 1;
    hdr.count[histogram_bucket(5000000, HISTOGRAM_HDR_BITS)] = 1;
    written(write_percentiles);
    assert_string_equal(text, "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
                              "       2.001 0.000000000000          1           1.00\n"
                              "       2.001 0.100000000000          1           1.11\n"
                              "       2.001 0.200000000000          1           1.25\n"
                              "       2.001 0.300000000000          1           1.43\n"
                              "       2.001 0.400000000000          1           1.67\n"
                              "       2.001 0.500000000000          1           2.00\n"
                              "       5.001 0.550000000000          2           2.22\n"
                              "       5.001 1.000000000000          2\n"
                              "#[Mean    =        3.500, StdDeviation   =        1.499]\n"
                              "#[Max     =        5.001, Total count    =            2]\n"
                              "#[Buckets =           43, SubBuckets     =         2048]\n");
}

static void record_up_to(weir_limiter *limiter, uint64_t most_ns)
{
    const weir_instant zero = {0};
    for (uint64_t ns = 1; ns <= most_ns; ns++) weir_done_at(limiter, zero, zero, (weir_instant){ns});
}

static void test_difference(void **state)
{
    (void)state;
    static struct hdr before, since;
    weir_limiter *limiter;
    assert_int_equal(weir_open(&limiter, "10/s", NULL, NULL), 0);
    record_up_to(limiter, 10000);
    assert_true(hdr_read(&before, limiter, WEIR_RESPONSE));
    record_up_to(limiter, 100);
    assert_true(hdr_read(&hdr, limiter, WEIR_RESPONSE));
    hdr_since(&since, &hdr, &before);
    const weir_times times = hdr_times(&since);
    assert_int_equal(times.count, 100);
    assert_int_equal(times.p50_ns, 50);
    assert_int_equal(times.p99_ns, 99);
    assert_int_equal(times.max_ns, 100);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
