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

#include "../crew.h"

namespace {

using Limiter = std::unique_ptr<rocksdb::RateLimiter>;

constexpr int64_t kNeverRefuses = int64_t{100} << 30;
constexpr int64_t kRefillUsual = 100 * 1000, kRefillShort = 1000; // us
constexpr int32_t kFairnessUsual = 10;

Limiter Open(int64_t rate, int64_t refill_us)
{
    return Limiter(rocksdb::NewGenericRateLimiter(rate, refill_us, kFairnessUsual));
}

void Acquire(void *own)
{
    static_cast<rocksdb::RateLimiter *>(own)->Request(1, rocksdb::Env::IO_HIGH, nullptr,
                                                      rocksdb::RateLimiter::OpType::kWrite);
}

uint64_t Ask(void *limiter)
{
    for (int i = 0; i < CREW_CALLS; i++) Acquire(limiter);
    return CREW_CALLS;
}

void *Join(void *limiter, int)
{
    return limiter;
}

void Leave(void *) {}

void PrintLines(bool small)
{
    const Limiter limiter = Open(kNeverRefuses, kRefillUsual);
    const crew_asking asking = {"rocksdb", "grant", Ask, limiter.get()};
    crew_print_rates(&asking, small);
    // Ask counts what came back; these are the limiter's own, of whole runs of CREW_CALLS.
    const int64_t requests = limiter->GetTotalRequests(rocksdb::Env::IO_HIGH);
    if (requests == 0 || requests != limiter->GetTotalBytesThrough() || requests % CREW_CALLS != 0) {
        std::fprintf(stderr, "bench/rivals/rocksdb: %lld requests, but %lld bytes\n", static_cast<long long>(requests),
                     static_cast<long long>(limiter->GetTotalBytesThrough()));
        std::exit(1);
    }
}

void PrintPace(const crew_pace *pace)
{
    const struct {
        const char *who;
        int64_t refill_us;
    } rows[] = {{"rocksdb", kRefillUsual}, {"rocksdb, refill 1 ms", kRefillShort}};
    for (const auto &row : rows) {
        const Limiter limiter = Open(static_cast<int64_t>(pace->rate_per_s), row.refill_us);
        const crew_pacing pacing = {row.who, Join, Acquire, Leave, limiter.get()};
        crew_print_pace(&pacing, pace);
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 2 && std::strcmp(argv[1], "version") == 0) {
        std::printf("rocksdb %d.%d.%d, g++ %s\n", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH, __VERSION__);
        return 0;
    }
    return crew_main(argc, argv, PrintLines, PrintPace);
}
