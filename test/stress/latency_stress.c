/* SPDX-License-Identifier: MIT
   Threads record while others read: each operation is counted once, in its bucket, and no reading goes back.

   Which thread allocates a row of buckets first is left to chance, so each round begins with none. */
#include "crowd.h"

#include <stdlib.h>

#include "size.h"

enum { WRITERS = 6, READERS = 2, TIMES = 997, BUCKETS_MAX = 45056 };

static uint64_t operations; /* of each writer */
static atomic_int writing;

/* From some ns to an hour, each power of two as often. */
static uint64_t time_of(uint64_t number)
{
    const uint64_t mixed = number * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> (22 + (mixed & 31));
}

static void record(struct member *member)
{
    for (uint64_t i = 0; i < operations; i++) {
        const uint64_t ns = time_of(i % TIMES);
        weir_done_at(member->crowd->limiter, (weir_instant){0}, (weir_instant){ns / 2}, (weir_instant){ns});
    }
    atomic_fetch_sub(&writing, 1);
}

static uint64_t counted(const weir_bucket *bucket, size_t buckets)
{
    uint64_t count = 0;
    for (size_t i = 0; i < buckets; i++) {
        crowd_check(i == 0 || bucket[i].most_ns > bucket[i - 1].most_ns, "buckets are not in their order");
        count += bucket[i].count;
    }
    return count;
}

static void look(struct member *member)
{
    weir_bucket *bucket = calloc(BUCKETS_MAX, sizeof *bucket);
    crowd_check(bucket != NULL, "no memory");
    uint64_t before = 0;
    do {
        weir_latency latency;
        weir_read_latency(member->crowd->limiter, &latency, sizeof latency);
        const size_t buckets = weir_read_buckets(member->crowd->limiter, WEIR_RESPONSE, bucket, BUCKETS_MAX);
        const uint64_t count = counted(bucket, buckets);
        crowd_check(latency.response.count >= before && count >= latency.response.count, "a count went back");
        crowd_check(latency.response.p50_ns <= latency.response.p999_ns, "percentiles are not in their order");
        before = count;
    } while (atomic_load(&writing) != 0);
    free(bucket);
}

static void body(struct member *member)
{
    if (member->number < WRITERS) record(member);
    else look(member);
}

/* Against the same, counted by one thread. */
static void check_end(weir_limiter *limiter)
{
    weir_limiter *alone = crowd_limiter("10/s", WEIR_CLOCK_MANUAL);
    static weir_bucket bucket[BUCKETS_MAX], expected[BUCKETS_MAX];
    weir_latency latency, of_one;
    for (uint64_t i = 0; i < operations; i++) {
        const uint64_t ns = time_of(i % TIMES);
        weir_done_at(alone, (weir_instant){0}, (weir_instant){ns / 2}, (weir_instant){ns});
    }
    weir_read_latency(limiter, &latency, sizeof latency);
    weir_read_latency(alone, &of_one, sizeof of_one);
    crowd_check(latency.response.count == WRITERS * operations, "an operation is lost, or counted twice");
    crowd_check(latency.service.count == WRITERS * operations, "a service time is lost, or counted twice");
    crowd_check(latency.response.total_ns == WRITERS * of_one.response.total_ns, "the total is another");
    crowd_check(latency.response.min_ns == of_one.response.min_ns, "the least is another");
    crowd_check(latency.service.max_ns == of_one.service.max_ns, "the most is another");
    crowd_check(latency.service.p99_ns == of_one.service.p99_ns, "a percentile is another");
    const size_t buckets = weir_read_buckets(limiter, WEIR_SERVICE, bucket, BUCKETS_MAX);
    crowd_check(buckets == weir_read_buckets(alone, WEIR_SERVICE, expected, BUCKETS_MAX), "there are other buckets");
    for (size_t i = 0; i < buckets; i++) {
        crowd_check(bucket[i].most_ns == expected[i].most_ns, "a bucket is another");
        crowd_check(bucket[i].count == WRITERS * expected[i].count, "a bucket has another count");
    }
    weir_close(alone);
}

int main(void)
{
    const uint64_t rounds = size_pick(20, 50, 500);
    operations = size_pick(5000, 20000, 50000);
    crowd_begin("six threads record, two read");
    for (uint64_t round = 0; round < rounds; round++) {
        struct crowd crowd = {.threads = WRITERS + READERS, .body = body};
        crowd.limiter = crowd_limiter("10/s", WEIR_CLOCK_MANUAL);
        atomic_store(&writing, WRITERS);
        crowd_start(&crowd);
        crowd_join(&crowd);
        check_end(crowd.limiter);
        weir_close(crowd.limiter);
    }
    return 0;
}
