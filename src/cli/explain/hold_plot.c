/* SPDX-License-Identifier: MIT
   The same callers under any concurrent limit, drawn on a terminal or as a picture.

   More of them come than there are slots: of a large limit each asks for so many that three to five fit.  They renew at
   a third of the lease; most release in the end, one dies, and its slots are free when its lease is over.  Those that
   find no slot wait, and ask again in each column.

   What is drawn was decided by the core. */
#include "cli/explain/hold_plot.h"

#include <stdlib.h>
#include <string.h>

#include "cli/explain/plot.h"
#include "core/num.h"
#include "plan/text.h"
#include "plan/write.h"

#define LEASE_MAX_NS (UINT64_MAX / 64) /* five of them, and as many before, are times that a state can hold */

enum { TEXT_SIZE = 128, FIT = 5, MORE_THAN_FIT = 3, RENEW_COLUMNS = HOLD_COLUMNS_A_LEASE / 3 };

/* In columns of time. */
static const struct caller {
    unsigned comes, runs;
    bool dies; /* at its end, and else it releases */
} callers[HOLD_CALLERS_MAX] = {{0, 6, false},  {1, 27, false}, {2, 7, true},  {3, 16, false},
                               {4, 11, false}, {8, 20, false}, {9, 9, false}, {33, 14, false}};

struct course {
    weir_plan plan; /* the concurrent limit */
    uint64_t *state, *copy;
    size_t size;
    uint64_t id[HOLD_CALLERS_MAX];
    unsigned began[HOLD_CALLERS_MAX]; /* of those that have an id */
};

/* ---- by the core ---- */

static bool is_held(struct course *course, weir_instant now, uint64_t id)
{
    memcpy(course->copy, course->state, course->size);
    return weir_decide_renew(&course->plan, course->copy, now, id);
}

/* Of a caller that has begun; what it releases is free in this column. */
static enum holds go_on(struct course *course, unsigned i, unsigned column, weir_instant now)
{
    const struct caller *caller = &callers[i];
    const unsigned runs = column - course->began[i];
    if (runs > caller->runs) return caller->dies && is_held(course, now, course->id[i]) ? HOLDS_NO_MORE : HOLDS_NOTHING;
    if (runs == caller->runs && caller->dies) return HOLDS_DIES;
    if (runs == caller->runs) weir_decide_release(&course->plan, course->state, now, course->id[i]);
    if (runs == caller->runs) return HOLDS_NOTHING;
    if (runs % RENEW_COLUMNS != 0) return HOLDS;
    return weir_decide_renew(&course->plan, course->state, now, course->id[i]) ? HOLDS_RENEWED : HOLDS_NOTHING;
}

static enum holds come(struct course *course, unsigned i, unsigned column, weir_instant now, uint64_t cost)
{
    if (column < callers[i].comes) return HOLDS_NOTHING;
    const weir_decision decision = weir_decide(&course->plan, course->state, now, cost);
    if (!weir_allowed(decision)) return HOLDS_WAITING;
    course->id[i] = decision.end;
    course->began[i] = column;
    return HOLDS;
}

/* Who has slots goes first, so that those who wait find what is released. */
static void draw(struct hold_plot *plot, struct course *course, uint64_t slots)
{
    for (unsigned column = 0; column < HOLD_COLUMNS; column++) {
        const uint64_t at_ns = multiply_divide_floor(plot->lease_ns, column, HOLD_COLUMNS_A_LEASE);
        const weir_instant now = {add_saturating(plot->lease_ns, at_ns)};
        for (unsigned i = 0; i < plot->callers; i++) {
            if (course->id[i] != 0) plot->row[i][column] = (uint8_t)go_on(course, i, column, now);
        }
        for (unsigned i = 0; i < plot->callers; i++) {
            if (course->id[i] == 0) plot->row[i][column] = (uint8_t)come(course, i, column, now, plot->cost);
        }
        const uint64_t left = weir_decide(&course->plan, course->state, now, 0).remaining;
        plot->holding[column] = (unsigned)((slots - left) / plot->cost);
    }
}

bool hold_plot_make(struct hold_plot *plot, const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    const int holder = decide_holder(plan_rules(inside));
    char text[TEXT_SIZE];
    struct writer writer = {text, sizeof text, 0};
    struct course course = {.state = NULL};
    memset(plot, 0, sizeof *plot);
    if (holder < 0 || inside->limit[holder].time_ns > LEASE_MAX_NS) return false;
    text_write(&writer, &inside->limit[holder]);
    if (weir_plan_parse(&course.plan, text, WEIR_ADMIT, NULL) != 0) return false;
    const uint64_t slots = inside->limit[holder].count.digits;
    plot->lease_ns = inside->limit[holder].time_ns;
    plot->cost = (slots + FIT - 1) / FIT;
    plot->callers = (unsigned)(slots / plot->cost) + MORE_THAN_FIT;
    course.size = weir_state_size(&course.plan);
    course.state = calloc(2, course.size);
    if (course.state == NULL) return false;
    course.copy = course.state + course.size / sizeof *course.state;
    draw(plot, &course, slots);
    free(course.state);
    return true;
}

/* ---- on a terminal ---- */

static void print_row(const struct hold_plot *plot, unsigned i, FILE *out)
{
    static const char drawn[] = {' ', '.', '=', 'R', 'x', '-'};
    int end = HOLD_COLUMNS;
    while (end > 0 && plot->row[i][end - 1] == HOLDS_NOTHING) end--;
    fprintf(out, "  %c         ", (char)('A' + i));
    for (int column = 0; column < end; column++) fputc(drawn[plot->row[i][column]], out);
    fputc('\n', out);
}

void hold_plot_print(const struct hold_plot *plot, FILE *out)
{
    char text[TEXT_SIZE];
    struct writer writer = {text, sizeof text, 0};
    fprintf(out, "  %u callers", plot->callers);
    if (plot->cost > 1) {
        write_grouped(&writer, plot->cost);
        fprintf(out, " of %s slots", text);
    }
    fprintf(out, ": = holds, R renews, x dies, - lease runs on, . waits\n");
    for (unsigned i = 0; i < plot->callers; i++) print_row(plot, i, out);
    fprintf(out, "  holding   ");
    for (int column = 0; column < HOLD_COLUMNS; column++) fputc((char)('0' + plot->holding[column]), out);
    fprintf(out, "\n            ");
    for (int column = 0; column < HOLD_COLUMNS; column++) fputc(column % HOLD_COLUMNS_A_LEASE == 0 ? '|' : '-', out);
    writer = (struct writer){text, sizeof text, 0};
    write_duration(&writer, plot->lease_ns);
    fprintf(out, "\n            0%*s\n", HOLD_COLUMNS_A_LEASE - 1 + (int)strlen(text), text);
}

/* ---- as a picture ---- */

enum { COLUMN_WIDTH = 10, ROW_HEIGHT = 18, BAR_HEIGHT = 12, LABEL_WIDTH = 72, TITLE_HEIGHT = 26, COUNT_HEIGHT = 64 };

static const char *const colours[] = {NULL, "#ddd", "#1668b2", "#1668b2", "#a01818", "#e0a0a0"};

/* Columns of one colour are one bar; a renewal is a light line in it. */
static void svg_row(const struct hold_plot *plot, unsigned i, FILE *out)
{
    const int top = TITLE_HEIGHT + (int)i * ROW_HEIGHT;
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%c</text>\n", LABEL_WIDTH - 8, top + BAR_HEIGHT - 2,
            (char)('A' + i));
    for (int from = 0, to; from < HOLD_COLUMNS; from = to) {
        const char *colour = colours[plot->row[i][from]];
        for (to = from; to < HOLD_COLUMNS && colours[plot->row[i][to]] == colour; to++) continue;
        if (colour == NULL) continue;
        fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
                LABEL_WIDTH + from * COLUMN_WIDTH, top, (to - from) * COLUMN_WIDTH, BAR_HEIGHT, colour);
    }
    for (int column = 0; column < HOLD_COLUMNS; column++) {
        if (plot->row[i][column] != HOLDS_RENEWED) continue;
        fprintf(out, "<path d=\"M%d %dv%d\" stroke=\"#fff\"/>\n", LABEL_WIDTH + column * COLUMN_WIDTH, top, BAR_HEIGHT);
    }
}

static void svg_count(const struct hold_plot *plot, int bottom, FILE *out)
{
    const int step = COUNT_HEIGHT / FIT;
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">holding</text>\n", LABEL_WIDTH - 8, bottom - 4);
    for (int column = 0; column < HOLD_COLUMNS; column++) {
        const int height = (int)plot->holding[column] * step;
        if (height == 0) continue;
        fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#888\"/>\n",
                LABEL_WIDTH + column * COLUMN_WIDTH, bottom - height, COLUMN_WIDTH, height);
    }
}

void hold_plot_svg(const struct hold_plot *plot, const char *title, FILE *out)
{
    const int rows = TITLE_HEIGHT + (int)plot->callers * ROW_HEIGHT, bottom = rows + COUNT_HEIGHT;
    const int width = LABEL_WIDTH + HOLD_COLUMNS * COLUMN_WIDTH + 24, height = bottom + 42;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n"
            "<style>text{font:12px sans-serif;fill:#333}.g{stroke:#ccc;fill:none}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"16\">",
            width, height, width, height, LABEL_WIDTH);
    plot_svg_text(title, out);
    fprintf(out, ": %u callers</text>\n", plot->callers);
    for (int i = 0; i <= HOLD_LEASES; i++) {
        char text[TEXT_SIZE];
        struct writer writer = {text, sizeof text, 0};
        const int x = LABEL_WIDTH + i * HOLD_COLUMNS_A_LEASE * COLUMN_WIDTH;
        write_duration(&writer, multiply_saturating(plot->lease_ns, (uint64_t)i));
        fprintf(out, "<path class=\"g\" d=\"M%d %dV%d\"/>\n", x, bottom, TITLE_HEIGHT);
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, bottom + 16, i == 0 ? "0" : text);
    }
    for (unsigned i = 0; i < plot->callers; i++) svg_row(plot, i, out);
    svg_count(plot, bottom, out);
    fprintf(out,
            "<text x=\"%d\" y=\"%d\">blue: holds, renewed at each line; red: dies; pale: its lease runs on; grey: "
            "waits</text>\n</svg>\n",
            LABEL_WIDTH, height - 8);
}
