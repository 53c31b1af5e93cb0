/* SPDX-License-Identifier: MIT
   Latencies in the files of HdrHistogram.

   A .hgrm is a table of percentiles, for HdrHistogram's plotter and those of wrk2.  A .hlog has a line for each
   interval, which HistogramLogProcessor, HistogramLogAnalyzer and the libraries of HdrHistogram read:

       Tag=response,START,LENGTH,MAX,HISTFAAA...            in seconds since BaseTime, MAX in ms; base64 of
           cookie, size, zlib of                            all numbers with the highest byte first
               cookie, size, 0, digits, least, most, 1.0    the 40 bytes of the head
               counts                                       each ZigZag LEB128; -n is a run of n zeros

   weir's buckets are HdrHistogram's, so each count is written as it is.  The zlib stream is stored, not compressed: a
   second of latencies is some hundred bytes, and zlib would be one library more to have or to lack. */
#include "cli/pace/latency/hdr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/num.h"

enum {
    DIGITS = 3,
    SUB_BUCKETS = 2 * HISTOGRAM_HDR_ROW,
    COOKIE = 0x1c849313,        /* V2, with words of 1 to 9 bytes */
    COOKIE_PACKED = 0x1c849314, /* the same in zlib */
    HEAD_SIZE = 40,
    WORD_MAX = 9,
    STORED_MAX = 65535, /* of a block of zlib */
    TICKS = 5           /* of percentiles, in each half of the distance to 100 % */
};

static const double NS_PER_MS = 1e6;

/* ---- counts ---- */

bool hdr_read(struct hdr *hdr, weir_limiter *limiter, weir_measure measure)
{
    size_t room = 0, count;
    weir_bucket *buckets = NULL;
    /* There may be more each time, for commands go on. */
    while ((count = weir_read_buckets(limiter, measure, buckets, room)) > room) {
        free(buckets);
        room = count;
        buckets = calloc(room, sizeof *buckets);
        if (buckets == NULL) return false;
    }
    memset(hdr, 0, sizeof *hdr);
    for (size_t i = 0; i < count; i++) {
        hdr->count[histogram_bucket(buckets[i].most_ns, HISTOGRAM_HDR_BITS)] = buckets[i].count;
    }
    free(buckets);
    return true;
}

void hdr_since(struct hdr *since, const struct hdr *now, const struct hdr *before)
{
    for (unsigned i = 0; i < HISTOGRAM_HDR_BUCKETS; i++) since->count[i] = now->count[i] - before->count[i];
}

static uint64_t total_of(const struct hdr *hdr)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < HISTOGRAM_HDR_BUCKETS; i++) total += hdr->count[i];
    return total;
}

/* How many buckets there are up to the last that is not empty. */
static unsigned used_of(const struct hdr *hdr)
{
    unsigned used = HISTOGRAM_HDR_BUCKETS;
    while (used > 0 && hdr->count[used - 1] == 0) used--;
    return used;
}

static uint64_t end_of(unsigned bucket)
{
    return histogram_bucket_end(bucket, HISTOGRAM_HDR_BITS);
}

static uint64_t max_of(const struct hdr *hdr)
{
    const unsigned used = used_of(hdr);
    return used == 0 ? 0 : end_of(used - 1);
}

weir_times hdr_times(const struct hdr *hdr)
{
    const uint64_t *count = hdr->count;
    const unsigned buckets = HISTOGRAM_HDR_BUCKETS, bits = HISTOGRAM_HDR_BITS;
    return (weir_times){.count = total_of(hdr),
                        .p50_ns = histogram_bucket_quantile(count, buckets, bits, 500),
                        .p90_ns = histogram_bucket_quantile(count, buckets, bits, 900),
                        .p99_ns = histogram_bucket_quantile(count, buckets, bits, 990),
                        .p999_ns = histogram_bucket_quantile(count, buckets, bits, 999),
                        .max_ns = max_of(hdr)};
}

/* ---- .hgrm ---- */

/* What HdrHistogram takes for all values of a bucket. */
static double middle_of(unsigned bucket)
{
    const uint64_t begin = bucket == 0 ? 0 : end_of(bucket - 1) + 1;
    return (double)(begin + ((end_of(bucket) - begin + 1) >> 1));
}

static double mean_of(const struct hdr *hdr, unsigned used, uint64_t total)
{
    double sum = 0;
    for (unsigned i = 0; i < used; i++) sum += middle_of(i) * (double)hdr->count[i];
    return total == 0 ? 0 : sum / (double)total;
}

static double deviation_of(const struct hdr *hdr, unsigned used, uint64_t total, double mean)
{
    double sum = 0;
    for (unsigned i = 0; i < used; i++) sum += pow(middle_of(i) - mean, 2) * (double)hdr->count[i];
    return total == 0 ? 0 : sqrt(sum / (double)total);
}

/* The level that comes after this one: steps halve whenever half of the distance to 100 % is left behind. */
static double level_after(double level)
{
    const double halves = floor(log(100 / (100 - level)) / log(2));
    return level + 100 / (TICKS * pow(2, halves + 1));
}

static void write_level(double level, uint64_t value, uint64_t seen, FILE *out)
{
    fprintf(out, "%12.3f %2.12f %10llu", (double)value / NS_PER_MS, level / 100, (unsigned long long)seen);
    if (level < 100) fprintf(out, " %14.2f", 1 / (1 - level / 100));
    fputc('\n', out);
}

static void write_levels(const struct hdr *hdr, unsigned used, uint64_t total, FILE *out)
{
    uint64_t seen = 0;
    double level = 0;
    for (unsigned i = 0; i < used; i++) {
        seen += hdr->count[i];
        while (hdr->count[i] != 0 && 100 * (double)seen / (double)total >= level && seen < total) {
            write_level(level, end_of(i), seen, out);
            level = level_after(level);
        }
    }
    if (total == 0) return;
    if (level < 100) write_level(level, end_of(used - 1), total, out);
    write_level(100, end_of(used - 1), total, out);
}

void hdr_write_percentiles(const struct hdr *hdr, FILE *out)
{
    const unsigned used = used_of(hdr);
    const uint64_t total = total_of(hdr);
    const double mean = mean_of(hdr, used, total);
    const double deviation = deviation_of(hdr, used, total, mean);
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    write_levels(hdr, used, total, out);
    fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean / NS_PER_MS, deviation / NS_PER_MS);
    fprintf(out, "#[Max     = %12.3f, Total count    = %12llu]\n", (double)max_of(hdr) / NS_PER_MS,
            (unsigned long long)total);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", HISTOGRAM_HDR_ROWS - 1, SUB_BUCKETS);
}

/* ---- .hlog ---- */

/* Bytes that grow at their end, with room for all that is going to come. */
struct packed {
    unsigned char *at;
    size_t size;
};

static void put_number(struct packed *packed, uint64_t number, int bytes)
{
    while (bytes-- > 0) packed->at[packed->size++] = (unsigned char)(number >> (8 * bytes));
}

/* 7 bits a byte, the lowest first; a ninth byte has 8. */
static void put_word(struct packed *packed, int64_t value)
{
    uint64_t left = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
    int bytes = 1;
    for (; left > 0x7f && bytes < WORD_MAX; bytes++, left >>= 7) {
        packed->at[packed->size++] = (unsigned char)(left | 0x80);
    }
    packed->at[packed->size++] = (unsigned char)left;
}

/* At least one, though there be none. */
static void put_counts(struct packed *packed, const struct hdr *hdr, unsigned used)
{
    for (unsigned i = 0; i < used;) {
        unsigned zeros = 0;
        while (i + zeros < used && hdr->count[i + zeros] == 0) zeros++;
        if (zeros > 1) put_word(packed, -(int64_t)zeros);
        else put_word(packed, (int64_t)hdr->count[i]);
        i += zeros > 1 ? zeros : 1;
    }
}

static void put_histogram(struct packed *packed, const struct hdr *hdr, unsigned used)
{
    const size_t begin = packed->size;
    const double one = 1;
    uint64_t ratio;
    memcpy(&ratio, &one, sizeof ratio);
    packed->size += HEAD_SIZE;
    put_counts(packed, hdr, used);
    struct packed head = {packed->at + begin, 0};
    put_number(&head, COOKIE, 4);
    put_number(&head, packed->size - begin - HEAD_SIZE, 4);
    put_number(&head, 0, 4);
    put_number(&head, DIGITS, 4);
    put_number(&head, 1, 8);
    put_number(&head, HISTOGRAM_HDR_MOST, 8);
    put_number(&head, ratio, 8);
}

static uint64_t adler32(const unsigned char *at, size_t size)
{
    uint64_t sum = 1, sums = 0;
    for (size_t i = 0; i < size; i++) {
        sum = (sum + at[i]) % 65521;
        sums = (sums + sum) % 65521;
    }
    return sums << 16 | sum;
}

/* The lengths of a block stand with the lowest byte first, and once more inverted. */
static void put_stored(struct packed *packed, const struct packed *plain)
{
    put_number(packed, 0x7801, 2);
    for (size_t done = 0, size; done < plain->size; done += size) {
        size = (size_t)least(plain->size - done, STORED_MAX);
        put_number(packed, done + size == plain->size, 1);
        put_number(packed, (size & 0xff) << 8 | size >> 8, 2);
        put_number(packed, (~size & 0xff) << 8 | (~size >> 8 & 0xff), 2);
        memcpy(packed->at + packed->size, plain->at + done, size);
        packed->size += size;
    }
    put_number(packed, adler32(plain->at, plain->size), 4);
}

static void write_base64(const struct packed *packed, FILE *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < packed->size; i += 3) {
        const size_t bytes = (size_t)least(packed->size - i, 3);
        unsigned bits = 0;
        for (size_t j = 0; j < 3; j++) bits = bits << 8 | (j < bytes ? packed->at[i + j] : 0);
        for (size_t j = 0; j < 4; j++) fputc(j <= bytes ? digit[bits >> (18 - 6 * j) & 0x3f] : '=', out);
    }
}

void hdr_write_head(uint64_t unix_ns, FILE *out)
{
    const time_t seconds = (time_t)(unix_ns / 1000000000);
    const unsigned ms = (unsigned)(unix_ns / 1000000 % 1000);
    struct tm parts;
    char date[64] = "";
    if (gmtime_r(&seconds, &parts) != NULL) strftime(date, sizeof date, "%a %b %d %H:%M:%S UTC %Y", &parts);
    fprintf(out, "#[Logged by weir pace %s]\n#[Histogram log format version 1.3]\n", weir_version());
    fprintf(out, "#[StartTime: %lld.%03u (seconds since epoch), %s]\n", (long long)seconds, ms, date);
    fprintf(out, "#[BaseTime: %lld.%03u (seconds since epoch)]\n", (long long)seconds, ms);
    fputs("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n", out);
}

bool hdr_write_interval(const struct hdr *hdr, const char *tag, uint64_t from_ns, uint64_t to_ns, FILE *out)
{
    const unsigned used = (unsigned)most(used_of(hdr), 1);
    const size_t plain_size = HEAD_SIZE + (size_t)used * WORD_MAX;
    struct packed plain = {malloc(plain_size), 0};
    struct packed packed = {malloc(plain_size + (plain_size / STORED_MAX + 1) * 5 + 16), 0};
    const bool enough = plain.at != NULL && packed.at != NULL;
    if (enough) {
        put_histogram(&plain, hdr, used);
        packed.size = 8;
        put_stored(&packed, &plain);
        struct packed head = {packed.at, 0};
        put_number(&head, COOKIE_PACKED, 4);
        put_number(&head, packed.size - 8, 4);
        fprintf(out, "Tag=%s,%.3f,%.3f,%.3f,", tag, (double)from_ns / 1e9, (double)(to_ns - from_ns) / 1e9,
                (double)max_of(hdr) / NS_PER_MS);
        write_base64(&packed, out);
        fputc('\n', out);
    }
    free(plain.at);
    free(packed.at);
    return enough;
}
