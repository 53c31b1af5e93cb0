/* SPDX-License-Identifier: MIT
   How long operations took: from when they were due, and from their start.

   A time is counted in one of HdrHistogram's buckets, all of which would be 360 KB; a row of them is allocated when a
   time falls into it, which it does in a few rows of 8 KB.

       latency -> response -> row 0 .. 43 -> 1024 counts      row r > 1: times from 2^(r+9) ns on, to within 1/1024
                  service  -> row 0 .. 43

   Threads count in the same words, each by one addition: a thread that ends an operation has done more than this costs.
   A quantile is never below the true one. */
#include "api/limiter.h"
#include "api/sized.h"
#include "core/num.h"
#include "share/histogram.h"

struct times_row {
    struct atom count[HISTOGRAM_HDR_ROW];
};

struct times {
    struct atom row[HISTOGRAM_HDR_ROWS]; /* the address of a struct times_row, or 0 */
    struct atom total_ns, max_ns;
    struct atom below_ns; /* UINT64_MAX - the least, so that zeroed is none */
};

struct latency {
    struct times of[2]; /* by weir_measure */
};

/* What the word is the address of, allocated by the first thread that needs it; NULL without memory. */
static void *allocated(struct atom *address, uint64_t size)
{
    uint64_t seen = atom_load_acquire(address);
    if (seen != 0) return (void *)(uintptr_t)seen;
    void *fresh = host_allocate(size);
    if (fresh == NULL || atom_swap(address, &seen, (uintptr_t)fresh)) return fresh;
    host_free(fresh); /* another thread was first */
    return (void *)(uintptr_t)seen;
}

static void times_add(struct times *times, uint64_t ns)
{
    const unsigned bucket = histogram_bucket(least(ns, HISTOGRAM_HDR_MOST), HISTOGRAM_HDR_BITS);
    struct times_row *row = allocated(&times->row[bucket / HISTOGRAM_HDR_ROW], sizeof *row);
    if (row == NULL) return;
    limiter_raise(&times->max_ns, ns);
    limiter_raise(&times->below_ns, UINT64_MAX - ns);
    atom_add(&times->total_ns, ns);
    atom_add(&row->count[bucket % HISTOGRAM_HDR_ROW], 1);
}

void weir_done_at(weir_limiter *limiter, weir_instant due, weir_instant start, weir_instant now)
{
    struct latency *latency = allocated(&limiter->latency, sizeof *latency);
    if (latency == NULL) return;
    times_add(&latency->of[WEIR_RESPONSE], subtract_to_zero(now.ns, due.ns));
    times_add(&latency->of[WEIR_SERVICE], subtract_to_zero(now.ns, start.ns));
}

void weir_done(weir_limiter *limiter, const weir_decision *decision)
{
    if (decision->verdict != WEIR_ALLOW) return;
    const weir_instant due = weir_due(limiter, decision, 1), now = {limiter_now_ns(limiter)};
    weir_done_at(limiter, due, decision->start, now);
}

/* ---- reading ---- */

static const struct latency *latency_of(const weir_limiter *limiter)
{
    return (const struct latency *)(uintptr_t)atom_load_acquire(&limiter->latency);
}

static const struct times_row *row_at(const struct times *times, unsigned row)
{
    return (const struct times_row *)(uintptr_t)atom_load_acquire(&times->row[row]);
}

/* Passes each bucket that is not empty, the smallest first, until `see` returns false. */
static void each_bucket(const struct times *times, bool (*see)(const weir_bucket *bucket, void *context), void *context)
{
    for (unsigned i = 0; i < HISTOGRAM_HDR_ROWS; i++) {
        const struct times_row *row = row_at(times, i);
        for (unsigned j = 0; row != NULL && j < HISTOGRAM_HDR_ROW; j++) {
            const uint64_t count = atom_load(&row->count[j]);
            if (count == 0) continue;
            const weir_bucket bucket = {histogram_bucket_end(i * HISTOGRAM_HDR_ROW + j, HISTOGRAM_HDR_BITS), count};
            if (!see(&bucket, context)) return;
        }
    }
}

struct listing {
    weir_bucket *bucket;
    size_t size, count;
};

static bool list_bucket(const weir_bucket *bucket, void *context)
{
    struct listing *listing = context;
    if (listing->count < listing->size) listing->bucket[listing->count] = *bucket;
    listing->count++;
    return true;
}

size_t weir_read_buckets(weir_limiter *limiter, weir_measure measure, weir_bucket *buckets, size_t count)
{
    const struct latency *latency = latency_of(limiter);
    struct listing listing = {buckets, count, 0};
    if (latency != NULL && (unsigned)measure <= WEIR_SERVICE) each_bucket(&latency->of[measure], list_bucket, &listing);
    return listing.count;
}

static bool add_count(const weir_bucket *bucket, void *context)
{
    *(uint64_t *)context += bucket->count;
    return true;
}

/* Each quantile is the bucket in which the sum of counts reaches its rank. */
struct ranking {
    uint64_t seen, rank[4], value_ns[4];
    int found;
};

static bool rank_bucket(const weir_bucket *bucket, void *context)
{
    struct ranking *ranking = context;
    ranking->seen += bucket->count;
    while (ranking->found < 4 && ranking->seen >= ranking->rank[ranking->found]) {
        ranking->value_ns[ranking->found++] = bucket->most_ns;
    }
    return ranking->found < 4;
}

static weir_times read_times(const struct times *times)
{
    weir_times read = {0};
    each_bucket(times, add_count, &read.count);
    if (read.count == 0) return read;
    struct ranking ranking = {.rank = {histogram_rank(read.count, 500), histogram_rank(read.count, 900),
                                       histogram_rank(read.count, 990), histogram_rank(read.count, 999)}};
    each_bucket(times, rank_bucket, &ranking);
    read.total_ns = atom_load(&times->total_ns);
    read.min_ns = UINT64_MAX - atom_load(&times->below_ns);
    read.max_ns = atom_load(&times->max_ns);
    read.p50_ns = least(ranking.value_ns[0], read.max_ns);
    read.p90_ns = least(ranking.value_ns[1], read.max_ns);
    read.p99_ns = least(ranking.value_ns[2], read.max_ns);
    read.p999_ns = least(ranking.value_ns[3], read.max_ns);
    return read;
}

void weir_read_latency(weir_limiter *limiter, weir_latency *latency, size_t size)
{
    const struct latency *inside = latency_of(limiter);
    weir_latency sum = {{0}, {0}};
    if (inside != NULL) sum.response = read_times(&inside->of[WEIR_RESPONSE]);
    if (inside != NULL) sum.service = read_times(&inside->of[WEIR_SERVICE]);
    api_write_sized(latency, size, &sum, sizeof sum);
}

void limiter_free_latency(weir_limiter *limiter)
{
    struct latency *latency = (struct latency *)(uintptr_t)atom_load(&limiter->latency);
    for (int i = 0; latency != NULL && i < 2 * HISTOGRAM_HDR_ROWS; i++) {
        struct times *times = &latency->of[i / HISTOGRAM_HDR_ROWS];
        host_free((void *)(uintptr_t)atom_load(&times->row[i % HISTOGRAM_HDR_ROWS]));
    }
    host_free(latency);
}
