/* SPDX-License-Identifier: MIT
   Pacing in words, and as JSON.

   Units everywhere. */
#include <math.h>

#include "plan/write.h"
#include "weir-bench/pace.h"

enum { RATE_SIZE = 32, PERCENT = 100, THOUSAND = 1000 };
#define MICROSECOND_NS 1e3
#define ROUNDING 1e-3

static double median(const struct bench_series *series, const struct bench_wish *wish)
{
    return bench_spread(series, wish->rounds).median;
}

static double most(const struct bench_series *series, const struct bench_wish *wish)
{
    return bench_spread(series, wish->rounds).most;
}

/* Above 0 it was over, in the worst round; what is left of rounding is nothing. */
static double excess(const struct paced *paced, const struct bench_wish *wish)
{
    const double over = most(&paced->ours[PACE_EXCESS], wish);
    return over > ROUNDING ? over : 0;
}

/* ---- words ---- */

static void print_times(const struct bench_wish *wish, const struct bench_series figure[PACE_FIGURES])
{
    for (int i = PACE_P50_NS; i <= PACE_P999_NS; i++) {
        bench_print_number(median(&figure[i], wish) / MICROSECOND_NS, 8, 1);
    }
}

static void print_gaps(const struct bench_wish *wish, const struct bench_series figure[PACE_FIGURES])
{
    for (int i = 0; i < PACE_NEARS; i++) bench_print_number(PERCENT * median(&figure[PACE_NEAR + i], wish), 3, 0);
}

static void print_place(const struct bench_wish *wish, int rate, int count)
{
    char text[RATE_SIZE];
    struct writer writer = {text, sizeof text, 0};
    write_grouped(&writer, wish->rate[rate]);
    printf("  %11s %7u", text, wish->threads[count]);
}

static void print_late(const struct bench_wish *wish, const struct paced *paced)
{
    const struct bench_series *behind = &paced->ours[PACE_BEHIND_P99_NS], *floor = &paced->floor[PACE_P99_NS];
    print_times(wish, paced->ours);
    bench_print_number(median(behind, wish) / MICROSECOND_NS, 9, 1);
    printf(" ");
    print_times(wish, paced->floor);
    bench_print_number(bench_ratio(behind, floor, wish->rounds).median, 6, 2);
    printf("\n");
}

static void print_rest(const struct bench_wish *wish, const struct paced *paced)
{
    bench_print_number(median(&paced->ours[PACE_ERROR_PPM], wish), 7, 0);
    bench_print_number(median(&paced->floor[PACE_ERROR_PPM], wish), 7, 0);
    bench_print_number(median(&paced->ours[PACE_PROCESSOR], wish), 5, 2);
    bench_print_number(median(&paced->floor[PACE_PROCESSOR], wish), 5, 2);
    bench_print_number(ceil(excess(paced, wish)), 5, 0);
    printf(" ");
    print_gaps(wish, paced->ours);
    printf(" ");
    print_gaps(wish, paced->floor);
    printf("\n");
}

static void print_table(const struct bench_wish *wish, const struct pacing *pacing,
                        void (*print)(const struct bench_wish *wish, const struct paced *paced))
{
    for (int rate = 0; rate < wish->rates; rate++) {
        for (int count = 0; count < wish->counts; count++) {
            print_place(wish, rate, count);
            print(wish, &pacing->of[rate][count]);
        }
    }
}

void pace_words(const struct bench_wish *wish, const void *measured)
{
    const struct pacing *pacing = measured;
    char min_sleep[RATE_SIZE];
    struct writer writer = {min_sleep, sizeof min_sleep, 0};
    write_time(&writer, wish->min_sleep_ns);
    printf("pace: threads that wait for one limiter, RATE/s%s%s\n", wish->min_sleep_ns > 0 ? ", minimum sleep " : "",
           wish->min_sleep_ns > 0 ? min_sleep : "");
    printf("                              late, weir, us    behind           late, floor, us\n"
           "     per second threads      p50      p99    p99.9       p99       p50      p99    p99.9  ratio\n");
    print_table(wish, pacing, print_late);
    printf("                          error, ppm     cpu, s/s  over   gaps near 1/10/100 us, %%\n"
           "     per second threads    weir   floor  weir floor                weir       floor\n");
    print_table(wish, pacing, print_rest);
    printf("  Floor: as many threads that sleep to the same times.  Late: from the start in the decision to the\n"
           "  clock after the call.  Behind: late against what the rate alone gives, as the floor's is.  Ratio:\n"
           "  behind over floor, p99.  Error: of the rate.  Cpu: processor seconds a second.  Over: the most in\n"
           "  any window above the bound.  Gaps: between starts, against a period of the rate; above %d,000 a\n"
           "  second those of one thread, against the schedule.  Medians of %d round%s of ",
           PACE_LOOKS_PER_S / THOUSAND, wish->rounds, wish->rounds == 1 ? "" : "s");
    writer.length = 0;
    write_about(&writer, wish->run_ns);
    printf("%s.\n\n", min_sleep);
}

/* ---- JSON ---- */

/* The four figures from `figure` on. */
static void print_json_late(const char *name, const struct bench_wish *wish, const struct bench_series figure[])
{
    static const char *const names[] = {"p50", "p99", "p999", "max"};
    printf(",\"%s\":{", name);
    for (int i = 0; i < 4; i++) bench_json_number(i == 0, names[i], median(&figure[i], wish), 0);
    printf("}");
}

static void print_json_gaps(const char *name, const struct bench_wish *wish,
                            const struct bench_series figure[PACE_FIGURES])
{
    printf(",\"%s\":{", name);
    bench_json_number(true, "within_1us", median(&figure[PACE_NEAR], wish), 4);
    bench_json_number(false, "within_10us", median(&figure[PACE_NEAR + 1], wish), 4);
    bench_json_number(false, "within_100us", median(&figure[PACE_NEAR + 2], wish), 4);
    printf("}");
}

static void print_one(const struct bench_wish *wish, uint64_t rate, uint64_t every, unsigned threads,
                      const struct paced *paced)
{
    printf("{\"rate_per_s\":%llu,\"threads\":%u,\"grain_ns\":%llu", (unsigned long long)rate, threads,
           (unsigned long long)wish->min_sleep_ns);
    bench_json_number(false, "operations", median(&paced->ours[PACE_OPERATIONS], wish), 0);
    bench_json_spread(false, "error_ppm", bench_spread(&paced->ours[PACE_ERROR_PPM], wish->rounds), 2);
    bench_json_number(false, "floor_error_ppm", median(&paced->floor[PACE_ERROR_PPM], wish), 2);
    print_json_late("late_ns", wish, &paced->ours[PACE_P50_NS]);
    print_json_late("floor_late_ns", wish, &paced->floor[PACE_P50_NS]);
    print_json_late("behind_ns", wish, &paced->ours[PACE_BEHIND_P50_NS]);
    bench_json_spread(false, "p99_of_floor",
                      bench_ratio(&paced->ours[PACE_P99_NS], &paced->floor[PACE_P99_NS], wish->rounds), 3);
    bench_json_spread(false, "behind_p99_of_floor",
                      bench_ratio(&paced->ours[PACE_BEHIND_P99_NS], &paced->floor[PACE_P99_NS], wish->rounds), 3);
    bench_json_spread(false, "cpu", bench_spread(&paced->ours[PACE_PROCESSOR], wish->rounds), 4);
    bench_json_number(false, "floor_cpu", median(&paced->floor[PACE_PROCESSOR], wish), 4);
    bench_json_number(false, "sleeps_per_s", median(&paced->ours[PACE_SLEEPS], wish), 0);
    bench_json_number(false, "floor_sleeps_per_s", median(&paced->floor[PACE_SLEEPS], wish), 0);
    print_json_gaps("gaps", wish, paced->ours);
    print_json_gaps("floor_gaps", wish, paced->floor);
    printf(",\"gaps_of\":\"%s\"", every == 1 ? "all" : "thread");
    bench_json_number(false, "window_excess", excess(paced, wish), 3);
    bench_json_number(false, "early", most(&paced->ours[PACE_EARLY], wish), 0);
    printf(",\"looked_at_one_in\":%llu,\"rounds\":%d,\"round_ns\":%llu}", (unsigned long long)every, wish->rounds,
           (unsigned long long)wish->run_ns);
}

void pace_json(const struct bench_wish *wish, const void *measured)
{
    const struct pacing *pacing = measured;
    printf("\"pace\":[");
    for (int rate = 0; rate < wish->rates; rate++) {
        for (int count = 0; count < wish->counts; count++) {
            if (rate + count > 0) printf(",");
            print_one(wish, wish->rate[rate], pacing->every[rate], wish->threads[count], &pacing->of[rate][count]);
        }
    }
    printf("]");
}
