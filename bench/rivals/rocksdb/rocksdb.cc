// SPDX-License-Identifier: MIT
// Rocksdb's GenericRateLimiter, where a permit is a byte.  It only ever waits: there is no refusal and no
// key.  It gives nothing ahead of the end of a refill period, so its refill is measured at its default of 100 ms, which
// is fast and in bursts, and at 1 ms.
//
// Its own counters say that all were granted.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <rocksdb/rate_limiter.h>
#include <rocksdb/version.h>

#include "harness/pacing.h"

namespace {

using Limiter = std::unique_ptr<rocksdb::RateLimiter>;

constexpr int64_t kNeverRefuses = int64_t{100} << 30;
constexpr int64_t kRefillUsual = 100 * 1000, kRefillShort = 1000; // us
constexpr int32_t kFairnessUsual = 10;

Limiter Open(int64_t rate, int64_t refill_us)
{
    return Limiter(rocksdb::NewGenericRateLimiter(rate, refill_us, kFairnessUsual));
}

unsigned Acquire(void *own, uint64_t *)
{
    static_cast<rocksdb::RateLimiter *>(own)->Request(1, rocksdb::Env::IO_HIGH, nullptr,
                                                      rocksdb::RateLimiter::OpType::kWrite);
    return 1;
}

uint64_t Ask(void *limiter)
{
    for (int i = 0; i < PACING_CALLS; i++) Acquire(limiter, nullptr);
    return PACING_CALLS;
}

void *Join(void *limiter, int)
{
    return limiter;
}

void Leave(void *) {}

void PrintLines()
{
    const Limiter limiter = Open(kNeverRefuses, kRefillUsual);
    pacing_print_rates("rocksdb", "grant", Ask, limiter.get());
    // Ask counts what came back; these are the limiter's own, of whole runs of PACING_CALLS.
    const int64_t requests = limiter->GetTotalRequests(rocksdb::Env::IO_HIGH);
    if (requests == 0 || requests != limiter->GetTotalBytesThrough() || requests % PACING_CALLS != 0) {
        std::fprintf(stderr, "bench/rivals/rocksdb: %lld requests, but %lld bytes\n", static_cast<long long>(requests),
                     static_cast<long long>(limiter->GetTotalBytesThrough()));
        std::exit(1);
    }
}

void PrintPace(const pace &wanted)
{
    const struct {
        const char *who;
        int64_t refill_us;
    } rows[] = {{"rocksdb", kRefillUsual}, {"rocksdb, refill 1 ms", kRefillShort}};
    for (const auto &row : rows) {
        const Limiter limiter = Open(static_cast<int64_t>(wanted.rate_per_s), row.refill_us);
        const pacing how = {row.who, Join, Acquire, Leave, nullptr, limiter.get()};
        pacing_print_line(&how, &wanted);
    }
}

} // namespace

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (std::strcmp(mode, "version") == 0)
        std::printf("rocksdb %d.%d.%d, g++ %s\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH, __VERSION__);
    else if (std::strcmp(mode, "lines") == 0) PrintLines();
    else if (std::strcmp(mode, "pace") == 0 && argc == 5) PrintPace(pacing_read(argv + 2));
    else return 2;
    return 0;
}
