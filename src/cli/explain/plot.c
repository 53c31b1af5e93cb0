/* SPDX-License-Identifier: MIT
   The same bursty arrivals through any limit, drawn on a terminal or as a picture.

   With N permits per period P the arrivals are: 2 N at one moment after a rest; N / 2 over half a period; N shortly
   before and N shortly after a period ends; 2 N over a period; a rest of nearly two; 2 N at one moment.  Where N is
   large an arrival asks for a tenth of it, so that there are always some dozens.

   What is drawn was decided by the core. */
#include "cli/explain/plot.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "plan/write.h"

enum { PARTS = 10, ARRIVALS_MAX = 9 * 2 * PARTS, PARTS_A_PERIOD = 1000 };

/* A log writes each permit down: of a larger one the drawing would take longer than a second. */
enum { STATE_MAX = 64 << 20 };

struct arrivals {
    unsigned count;
    uint64_t at[ARRIVALS_MAX]; /* thousandths of a period */
};

/* count arrivals from one time on, evenly over `over` thousandths of a period. */
static void add(struct arrivals *arrivals, unsigned count, uint64_t from, uint64_t over)
{
    for (unsigned i = 0; i < count && arrivals->count < ARRIVALS_MAX; i++) {
        arrivals->at[arrivals->count++] = from + over * i / count;
    }
}

static struct arrivals arrivals_of(unsigned n)
{
    struct arrivals arrivals = {0};
    add(&arrivals, 2 * n, 0, 0);
    add(&arrivals, (n + 1) / 2, 500, 500);
    add(&arrivals, n, 1950, 0);
    add(&arrivals, n, 2050, 0);
    add(&arrivals, 2 * n, 2200, 1000);
    add(&arrivals, 2 * n, 5000, 0);
    return arrivals;
}

static void put(unsigned columns[PLOT_COLUMNS], uint64_t ns, uint64_t period_ns)
{
    const uint64_t column = multiply_divide_floor(ns, PLOT_COLUMNS_A_PERIOD, period_ns);
    if (column < PLOT_COLUMNS) columns[column]++;
}

static void run(struct plot *plot, const weir_plan *plan, void *state, const struct arrivals *arrivals, bool wait)
{
    const uint64_t base_ns = least(UINT64_MAX / 16 / plot->period_ns, PARTS_A_PERIOD) * plot->period_ns;
    memset(state, 0, weir_state_size(plan));
    for (unsigned i = 0; i < arrivals->count; i++) {
        const uint64_t at_ns = multiply_divide_floor(plot->period_ns, arrivals->at[i], PARTS_A_PERIOD);
        const weir_instant now = {base_ns + at_ns};
        const weir_decision decision = weir_decide_within(plan, state, now, plot->cost, wait ? WEIR_FOREVER : 0);
        if (!wait) put(plot->came, at_ns, plot->period_ns);
        if (!weir_allowed(decision)) continue;
        if (wait) put(plot->started, add_saturating(at_ns, decision.delay_ns), plot->period_ns);
        else put(plot->passed, at_ns, plot->period_ns);
        plot->total_passed += !wait;
    }
}

bool plot_make(struct plot *plot, const weir_plan *plan)
{
    uint64_t permits = 1, period_ns = 1;
    const struct limit *limit = &plan_inside_const(plan)->limit[0];
    memset(plot, 0, sizeof *plot);
    if (limit->count.digits == 0 || !limit_rate(limit, &permits, &period_ns)) return false;
    /* The period as it was said, unless less than a permit comes in it. */
    const uint64_t whole = multiply_divide_floor(limit->period_ns, permits, period_ns);
    plot->period_ns = whole == 0 ? period_ns : limit->period_ns;
    const uint64_t n = most(whole, 1);
    plot->cost = most(n / PARTS, 1);
    const struct arrivals arrivals = arrivals_of((unsigned)(n / plot->cost));
    const size_t size = weir_state_size(plan);
    if (size > STATE_MAX || plot->period_ns > UINT64_MAX / 64) return false;
    void *state = malloc(size);
    if (state == NULL) return false;
    plot->total = arrivals.count;
    run(plot, plan, state, &arrivals, false);
    run(plot, plan, state, &arrivals, true);
    free(state);
    return true;
}

/* ---- on a terminal ---- */

static void print_row(const char *label, const unsigned columns[PLOT_COLUMNS], FILE *out)
{
    int end = PLOT_COLUMNS;
    while (end > 0 && columns[end - 1] == 0) end--;
    fprintf(out, "  %-10s", label);
    for (int i = 0; i < end; i++) fputc(columns[i] == 0 ? '.' : columns[i] > 9 ? '#' : (char)('0' + columns[i]), out);
    fputc('\n', out);
}

static void print_axis(const struct plot *plot, FILE *out)
{
    fprintf(out, "  %-10s", "");
    for (int i = 0; i < PLOT_COLUMNS; i++) fputc(i % PLOT_COLUMNS_A_PERIOD == 0 ? '|' : '-', out);
    char text[64];
    struct writer writer = {text, sizeof text, 0};
    write_duration(&writer, plot->period_ns);
    fprintf(out, "\n  %-10s0%*s\n", "", PLOT_COLUMNS_A_PERIOD - 1 + (int)strlen(text), text);
}

void plot_print(const struct plot *plot, FILE *out)
{
    fprintf(out, "  %u arrivals", plot->total);
    if (plot->cost > 1) {
        char text[32];
        struct writer writer = {text, sizeof text, 0};
        write_grouped(&writer, plot->cost);
        fprintf(out, " of %s each", text);
    }
    fprintf(out, ", how many a column (# is 10 or more); %u pass at once\n", plot->total_passed);
    print_row("came", plot->came, out);
    print_row("at once", plot->passed, out);
    print_row("waiting", plot->started, out);
    print_axis(plot, out);
}

/* ---- as a picture ---- */

enum { COLUMN_WIDTH = 10, STRIP_HEIGHT = 64, LABEL_WIDTH = 72, TITLE_HEIGHT = 26, STRIP_GAP = 10, STRIPS = 3 };

static unsigned tallest(const struct plot *plot)
{
    unsigned most_seen = 1;
    for (int i = 0; i < PLOT_COLUMNS; i++) {
        if (plot->came[i] > most_seen) most_seen = plot->came[i];
        if (plot->started[i] > most_seen) most_seen = plot->started[i];
    }
    return most_seen;
}

static void svg_strip(const unsigned columns[PLOT_COLUMNS], const char *label, const char *colour, unsigned top,
                      int strip, FILE *out)
{
    const int bottom = TITLE_HEIGHT + (strip + 1) * STRIP_HEIGHT + strip * STRIP_GAP;
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LABEL_WIDTH - 8, bottom - 4, label);
    for (int i = 0; i <= PLOT_PERIODS; i++) {
        const int x = LABEL_WIDTH + i * PLOT_COLUMNS_A_PERIOD * COLUMN_WIDTH;
        fprintf(out, "<path class=\"g\" d=\"M%d %dV%d\"/>\n", x, bottom, bottom - STRIP_HEIGHT);
    }
    fprintf(out, "<path class=\"g\" d=\"M%d %dH%d\"/>\n", LABEL_WIDTH, bottom,
            LABEL_WIDTH + PLOT_COLUMNS * COLUMN_WIDTH);
    for (int i = 0; i < PLOT_COLUMNS; i++) {
        if (columns[i] == 0) continue;
        const double height = (double)columns[i] * STRIP_HEIGHT / top;
        fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\"/>\n",
                LABEL_WIDTH + i * COLUMN_WIDTH + 1, bottom - height, COLUMN_WIDTH - 2, height, colour);
    }
}

void plot_svg_text(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '<') fputs("&lt;", out);
        else if (*text == '&') fputs("&amp;", out);
        else fputc(*text, out);
    }
}

void plot_svg(const struct plot *plot, const char *title, FILE *out)
{
    const int width = LABEL_WIDTH + PLOT_COLUMNS * COLUMN_WIDTH + 24;
    const int height = TITLE_HEIGHT + STRIPS * (STRIP_HEIGHT + STRIP_GAP) + 16;
    const unsigned top = tallest(plot);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n"
            "<style>text{font:12px sans-serif;fill:#333}.g{stroke:#ccc;fill:none}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"16\">",
            width, height, width, height, LABEL_WIDTH);
    plot_svg_text(title, out);
    fprintf(out, ": %u of %u pass at once</text>\n", plot->total_passed, plot->total);
    svg_strip(plot->came, "came", "#888", top, 0, out);
    svg_strip(plot->passed, "at once", "#1668b2", top, 1, out);
    svg_strip(plot->started, "waiting", "#c05a12", top, 2, out);
    for (int i = 0; i <= PLOT_PERIODS; i++) {
        char text[64];
        struct writer writer = {text, sizeof text, 0};
        write_duration(&writer, plot->period_ns * (uint64_t)i);
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                LABEL_WIDTH + i * PLOT_COLUMNS_A_PERIOD * COLUMN_WIDTH, height - 10, i == 0 ? "0" : text);
    }
    fprintf(out, "</svg>\n");
}
