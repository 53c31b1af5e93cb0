/* SPDX-License-Identifier: MIT
   The rate of a profile over time, drawn on a terminal or as a picture.

   A phase without an end is drawn for a fifth of the time before it.  A column of text is the average of its time. */
#include "cli/explain/rate_plot.h"

#include "cli/explain/plot.h"
#include "core/num.h"
#include "plan/write.h"

enum { RATE_COLUMNS = 60, RATE_ROWS = 6, LABEL_SIZE = 32, ONLY_PHASE_NS = 1000000000, ENDLESS_PART = 5 };
enum { WIDTH = 640, HEIGHT = 200, LEFT = 72, TOP = 30, BOTTOM = 24, RIGHT = 24 };

static uint64_t drawn_ns(const struct profile *profile)
{
    const struct profile_phase *last = &profile->phase[profile->count - 1];
    if (last->lasts_ns != UINT64_MAX) return profile->phase[profile->count].begins_ns;
    return last->begins_ns == 0 ? ONLY_PHASE_NS : last->begins_ns + most(last->begins_ns / ENDLESS_PART, 1);
}

static double highest(const struct limit *limit)
{
    uint64_t permits, period_ns;
    limit_rate(limit, &permits, &period_ns);
    return (double)permits * 1e9 / (double)period_ns;
}

/* Of the time of this column; in a short profile several columns fall into a ns. */
static double average(const struct profile *profile, uint64_t all_ns, uint64_t column)
{
    const uint64_t from_ns = multiply_divide_floor(all_ns, column, RATE_COLUMNS);
    const uint64_t to_ns = multiply_divide_floor(all_ns, column + 1, RATE_COLUMNS);
    const uint64_t from = profile_position(profile, from_ns), to = profile_position(profile, to_ns);
    if (to_ns == from_ns) return profile_rate(profile, from_ns);
    return (double)(to - from) / (1 << PROFILE_SCALE) * 1e9 / (double)(to_ns - from_ns);
}

struct drawing {
    struct profile profile;
    uint64_t all_ns;
    char rate[LABEL_SIZE], time[LABEL_SIZE]; /* at the ends of the axes */
    size_t time_size;
};

static void draw(struct drawing *drawing, const struct limit *limit)
{
    size_t at;
    struct writer rate = {drawing->rate, LABEL_SIZE, 0}, time = {drawing->time, LABEL_SIZE, 0};
    profile_make(&drawing->profile, limit, &at);
    drawing->all_ns = drawn_ns(&drawing->profile);
    write_decimal(&rate, limit->count.digits, limit->count.places);
    write_text(&rate, "/");
    write_period(&rate, limit->period_ns);
    write_duration(&time, drawing->all_ns);
    drawing->time_size = time.length;
}

void rate_plot_print(const struct limit *limit, FILE *out)
{
    struct drawing drawing;
    draw(&drawing, limit);
    fprintf(out, "  the rate over time\n");
    for (int row = RATE_ROWS; row > 0; row--) {
        char line[RATE_COLUMNS + 1];
        int end = 0;
        for (int column = 0; column < RATE_COLUMNS; column++) {
            const double height =
                average(&drawing.profile, drawing.all_ns, (uint64_t)column) / highest(limit) * RATE_ROWS;
            line[column] = ' ';
            if (height > row - 1 + 1e-9) line[column] = '.';
            if (height > row - 0.5) line[column] = '#';
            if (line[column] != ' ') end = column + 1;
        }
        fprintf(out, "  %-*s%.*s\n", end > 0 ? 10 : 0, row == RATE_ROWS ? drawing.rate : "", end, line);
    }
    fprintf(out, "  %-10s", "");
    for (int i = 0; i < RATE_COLUMNS; i++) fputc(i % (RATE_COLUMNS / PLOT_PERIODS) == 0 ? '|' : '-', out);
    fprintf(out, "|\n  %-10s0%*s\n", "", RATE_COLUMNS + (int)drawing.time_size / 2, drawing.time);
}

/* ---- as a picture ---- */

static void put_point(uint64_t all_ns, uint64_t at_ns, double height, FILE *out)
{
    const double x = LEFT + (double)least(at_ns, all_ns) / (double)all_ns * (WIDTH - LEFT - RIGHT);
    const double y = HEIGHT - BOTTOM - height * (HEIGHT - TOP - BOTTOM);
    fprintf(out, " %.1f,%.1f", x, y);
}

void rate_plot_svg(const struct limit *limit, const char *title, FILE *out)
{
    struct drawing drawing;
    draw(&drawing, limit);
    const struct profile *profile = &drawing.profile;
    const double unit = 1e9 / (double)profile->period_ns / highest(limit);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n"
            "<style>text{font:12px sans-serif;fill:#333}.g{stroke:#ccc;fill:none}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"16\">",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    plot_svg_text(title, out);
    fprintf(out, "</text>\n<path class=\"g\" d=\"M%d %dH%dM%d %dH%d\"/>\n", LEFT, TOP, WIDTH - RIGHT, LEFT,
            HEIGHT - BOTTOM, WIDTH - RIGHT);
    fprintf(out, "<polygon fill=\"#1668b2\" points=\"%d,%d", LEFT, HEIGHT - BOTTOM);
    for (uint64_t i = 0; i < profile->count; i++) {
        const struct profile_phase *phase = &profile->phase[i];
        const uint64_t end_ns = add_saturating(phase->begins_ns, phase->lasts_ns);
        put_point(drawing.all_ns, phase->begins_ns, (double)phase->from * unit, out);
        put_point(drawing.all_ns, end_ns, (double)phase->to * unit, out);
    }
    fprintf(out, " %d,%d\"/>\n", WIDTH - RIGHT, HEIGHT - BOTTOM);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6, TOP + 4, drawing.rate);
    fprintf(out, "<text x=\"%d\" y=\"%d\">0</text>\n", LEFT, HEIGHT - 8);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n</svg>\n", WIDTH - RIGHT, HEIGHT - 8,
            drawing.time);
}
