/* SPDX-License-Identifier: MIT
   A study: what strictness takes from callers of different timings.

   By a clock that is set by hand, so it measures nothing of the machine and says the same everywhere.  Times are in
   slots, 1 / rate.  Two callers:

       bursts   b calls, each as soon as it may start, then idle for i; and so on
       wakes    everything that may start, then asleep for i: a thread that wakes late, or an event loop

   What a caller gets is its calls in a slot: with strictness 0, which gives nothing up, what it asks for, up to the
   rate.  What it loses is what it gets less than that.  Both are taken when all has settled down.

   The same bytes each time.

       bench-strictness            the tables
       bench-strictness --svg      doc/strictness.svg
       bench-strictness --small    the tables of short runs: a test that it still works */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

enum { SIZES = 11, STRICTNESSES = 4, RIVAL = STRICTNESSES, LIMITS, CYCLES = 32, CYCLES_SMALL = 4 };

static const uint64_t SLOT_NS = 1000000;
static const char *const LIMIT_TEXTS[LIMITS] = {"1000/s strictness=0", "1000/s strictness=0.25",
                                                "1000/s strictness=0.5", "1000/s strictness=1", "1000/s burst=10"};
static const char *const NAMES[LIMITS] = {"strictness 0", "0.25", "0.5", "1", "burst=10"};

/* 1, 2, 4, ... slots or calls. */
static uint64_t size_of(int index)
{
    return UINT64_C(1) << index;
}

struct caller {
    weir_limiter *limiter;
    uint64_t now_ns, calls, at_once, at_once_max;
};

struct got {
    double per_slot;
    uint64_t at_once;
};

struct study {
    struct got bursts[LIMITS][SIZES][SIZES]; /* limit, idle, burst */
    struct got wakes[LIMITS][SIZES];         /* limit, asleep */
};

/* ---- callers ---- */

static void pass_time(struct caller *caller, uint64_t ns)
{
    if (ns == 0) return;
    caller->now_ns += ns;
    caller->at_once = 0;
    weir_manual_set(caller->limiter, (weir_instant){caller->now_ns});
}

static void started(struct caller *caller)
{
    caller->calls++;
    if (++caller->at_once > caller->at_once_max) caller->at_once_max = caller->at_once;
}

static void one_burst(struct caller *caller, uint64_t idle, uint64_t burst)
{
    for (uint64_t i = 0; i < burst; i++) {
        pass_time(caller, weir_reserve(caller->limiter, 1, WEIR_FOREVER).delay_ns);
        started(caller);
    }
    pass_time(caller, idle * SLOT_NS);
}

/* burst 0: all that may start. */
static void one_cycle(struct caller *caller, uint64_t idle, uint64_t burst)
{
    if (burst != 0) {
        one_burst(caller, idle, burst);
        return;
    }
    while (weir_allowed(weir_take(caller->limiter, 1))) started(caller);
    pass_time(caller, idle * SLOT_NS);
}

static struct got run(const char *limit, uint64_t idle, uint64_t burst, int cycles)
{
    weir_options options = WEIR_OPTIONS;
    weir_error error;
    struct caller caller = {.now_ns = 1000 * SLOT_NS};
    options.use = WEIR_PACE;
    options.clock = WEIR_CLOCK_MANUAL;
    if (weir_open(&caller.limiter, limit, &options, &error) != 0) {
        fprintf(stderr, "bench-strictness: %s\n", error.message);
        exit(1);
    }
    weir_manual_set(caller.limiter, (weir_instant){caller.now_ns});
    for (int i = 0; i < cycles; i++) one_cycle(&caller, idle, burst);
    const uint64_t began_ns = caller.now_ns;
    caller.calls = caller.at_once_max = 0;
    for (int i = 0; i < cycles; i++) one_cycle(&caller, idle, burst);
    const double slots = (double)(caller.now_ns - began_ns) / (double)SLOT_NS;
    weir_close(caller.limiter);
    return (struct got){(double)caller.calls / slots, caller.at_once_max};
}

static void look(struct study *study, int cycles)
{
    for (int limit = 0; limit < LIMITS; limit++) {
        for (int idle = 0; idle < SIZES; idle++) {
            study->wakes[limit][idle] = run(LIMIT_TEXTS[limit], size_of(idle), 0, cycles);
            for (int burst = 0; burst < SIZES; burst++) {
                study->bursts[limit][idle][burst] = run(LIMIT_TEXTS[limit], size_of(idle), size_of(burst), cycles);
            }
        }
    }
}

/* Of what passes with strictness 0. */
static double lost(const struct study *study, int limit, int idle, int burst)
{
    const double all = study->bursts[0][idle][burst].per_slot;
    return fmax(0, 1 - study->bursts[limit][idle][burst].per_slot / all);
}

/* ---- tables ---- */

static void print_bursts(const struct study *study, int limit)
{
    printf("\n%s: lost of what passes with strictness 0, %%, and the most starts at once\n%10s", LIMIT_TEXTS[limit],
           "idle");
    for (int burst = 0; burst < SIZES; burst++) printf(" %9llu", (unsigned long long)size_of(burst));
    printf("  calls, then idle\n");
    for (int idle = 0; idle < SIZES; idle++) {
        printf("%10llu", (unsigned long long)size_of(idle));
        for (int burst = 0; burst < SIZES; burst++) {
            printf(" %4.0f %4llu", 100 * lost(study, limit, idle, burst),
                   (unsigned long long)study->bursts[limit][idle][burst].at_once);
        }
        printf("\n");
    }
}

static void print_wakes(const struct study *study)
{
    printf("\na thread that takes all there is and sleeps so many slots: share of the rate, and the most at once\n%10s",
           "asleep");
    for (int limit = 0; limit < LIMITS; limit++) printf(" %16s", NAMES[limit]);
    printf("\n");
    for (int idle = 0; idle < SIZES; idle++) {
        printf("%10llu", (unsigned long long)size_of(idle));
        for (int limit = 0; limit < LIMITS; limit++) {
            const struct got *got = &study->wakes[limit][idle];
            printf(" %11.3f %4llu", got->per_slot, (unsigned long long)got->at_once);
        }
        printf("\n");
    }
}

/* ---- the picture: three maps of what is lost, and what a thread that wakes late gets ---- */

enum { CELL = 18, LEFT = 60, TOP = 70, APART = 50, CHART = CELL * SIZES, WIDTH = 1090, HEIGHT = 320 };

static void text_at(double x, double y, const char *anchor, const char *class, const char *text)
{
    printf("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">%s</text>\n", x, y, anchor, class, text);
}

static void number_at(double x, double y, const char *anchor, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    text_at(x, y, anchor, "", text);
}

static void draw_head(void)
{
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
           WIDTH, HEIGHT, WIDTH, HEIGHT);
    printf("<style>\n:root{--back:#fff;--ink:#333;--grid:#ddd;--map:#b3541e;--l0:#888;--l1:#0b7d62;--l2:#1668b2;"
           "--l3:#b3541e;--l4:#8a4fb0}\n"
           "@media(prefers-color-scheme:dark){:root{--back:#0d1117;--ink:#ccc;--grid:#333;--map:#f09a5e;--l0:#999;"
           "--l1:#3fc7a0;--l2:#5aa9f0;--l3:#f09a5e;--l4:#c595ec}}\n"
           "text{font:12px sans-serif;fill:var(--ink)}text.t{font-weight:bold}text.n{font-size:10px}\n"
           ".g{stroke:var(--grid);fill:none}rect.m{fill:var(--map)}rect.f{fill:none;stroke:var(--grid)}\n");
    for (int i = 0; i < LIMITS; i++) {
        printf("path.l%d{stroke:var(--l%d);stroke-width:2;fill:none}text.l%d{fill:var(--l%d)}\n", i, i, i, i);
    }
    printf("path.l4{stroke-dasharray:6 3}\n</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"var(--back)\"/>\n");
}

static void draw_axis(double left, bool upright)
{
    for (int i = 0; i < SIZES; i += 2) {
        const double middle = (i + 0.5) * CELL;
        if (upright) number_at(left - 6, TOP + CHART - middle + 4, "end", size_of(i));
        else number_at(left + middle, TOP + CHART + 16, "middle", size_of(i));
    }
}

static void draw_map(const struct study *study, int limit, double left)
{
    char title[64];
    snprintf(title, sizeof title, "strictness %s", NAMES[limit]);
    text_at(left, TOP - 12, "start", "t", title);
    for (int idle = 0; idle < SIZES; idle++) {
        for (int burst = 0; burst < SIZES; burst++) {
            const double share = lost(study, limit, idle, burst), x = left + idle * CELL;
            const double y = TOP + CHART - (burst + 1) * CELL;
            if (share < 0.005) continue;
            printf("<rect class=\"m\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" opacity=\"%.2f\"/>\n", x, y,
                   CELL, CELL, 1.6 * share);
            char percent[8];
            snprintf(percent, sizeof percent, "%.0f", 100 * share);
            text_at(x + CELL / 2.0, y + CELL / 2.0 + 4, "middle", "n", percent);
        }
    }
    printf("<rect class=\"f\" x=\"%.1f\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", left, TOP, CHART, CHART);
    draw_axis(left, true);
    draw_axis(left, false);
    text_at(left + CHART / 2.0, TOP + CHART + 34, "middle", "", "idle, slots");
}

/* By tenths of the rate from the ground; names stand behind the last points, apart. */
static void draw_chart(const struct study *study, double left)
{
    text_at(left, TOP - 12, "start", "t", "wakes late: share of the rate");
    for (int tenth = 0; tenth <= 10; tenth += 2) {
        const double y = TOP + CHART * (1 - tenth / 10.0);
        printf("<path class=\"g\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", left, y, left + CHART, y);
        number_at(left - 6, y + 4, "end", (uint64_t)tenth * 10);
    }
    for (int limit = 0; limit < LIMITS; limit++) {
        double y = 0;
        printf("<path class=\"l%d\" d=\"", limit);
        for (int idle = 0; idle < SIZES; idle++) {
            y = TOP + CHART * (1 - study->wakes[limit][idle].per_slot);
            printf("%c%.1f %.1f", idle == 0 ? 'M' : 'L', left + (idle + 0.5) * CELL, y);
        }
        printf("\"/>\n");
        char class[8];
        snprintf(class, sizeof class, "l%d", limit);
        text_at(left + CHART + 4, y + (limit == RIVAL ? -6 : limit == RIVAL - 1 ? 6 : 4), "start", class, NAMES[limit]);
    }
    draw_axis(left, false);
    text_at(left + CHART / 2.0, TOP + CHART + 34, "middle", "", "asleep, slots");
}

static void draw(const struct study *study)
{
    draw_head();
    text_at(LEFT, 24, "start", "t",
            "Bursts of so many calls (upwards), each followed by so much idle time: % lost of what passes with "
            "strictness 0");
    for (int limit = 1; limit < STRICTNESSES; limit++) {
        draw_map(study, limit, LEFT + (limit - 1) * (CHART + APART - 10));
    }
    draw_chart(study, LEFT + 3 * (CHART + APART - 10) + 10);
    printf("</svg>\n");
}

int main(int argc, char **argv)
{
    static struct study study;
    const bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    look(&study, small ? CYCLES_SMALL : CYCLES);
    if (argc > 1 && strcmp(argv[1], "--svg") == 0) {
        draw(&study);
        return 0;
    }
    for (int limit = 0; limit < LIMITS; limit++) print_bursts(&study, limit);
    print_wakes(&study);
    return 0;
}
