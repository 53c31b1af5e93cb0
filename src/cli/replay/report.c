/* SPDX-License-Identifier: MIT
   What a replay came to, as text for people.

   It fits the terminal's width, unless a single word does not. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/replay/fleet/fleet.h"
#include "cli/replay/replay.h"
#include "cli/replay/show.h"
#include "core/num.h"

enum {
    CELL_LIMIT,
    CELL_DENIED,
    CELL_DENIED_SHARE,
    CELL_DELAYED,
    CELL_DELAYED_SHARE,
    CELL_CLIENTS,
    CELL_KEY,
    CELL_KEY_SHARE,
    CELLS
};
enum {
    CELL_SIZE = 1100,
    KEY_COLUMNS_MAX = 40,
    GAP = 3,
    LEVELS = 8,
    MINUTE_S = 60,
    HOUR_S = 3600,
    SECOND_NS = 1000000000
};

struct cell {
    char text[CELL_SIZE];
};

struct line {
    struct cell cell[CELLS];
};

struct table {
    struct line head, row[REPLAY_LIMITS_MAX];
    int width[CELLS];
    int rows;
    bool apart; /* the limit's text stands on a line of its own */
};

static int most_of(int a, int b)
{
    return a > b ? a : b;
}

static struct writer cell_of(struct cell *cell)
{
    cell->text[0] = '\0';
    return (struct writer){cell->text, sizeof cell->text, 0};
}

static double per_cent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

static void put_share(struct writer *writer, double low, double high)
{
    char text[64];
    snprintf(text, sizeof text, "%.2f", low);
    write_text(writer, text);
    snprintf(text + sizeof text / 2, sizeof text / 2, "%.2f", high);
    if (strcmp(text, text + sizeof text / 2) != 0) {
        write_text(writer, " to ");
        write_text(writer, text + sizeof text / 2);
    }
    write_text(writer, " %");
}

/* ---- the head ---- */

static const char *resolution_text(uint64_t resolution_ns)
{
    if (resolution_ns >= SECOND_NS) return "second";
    if (resolution_ns >= 1000000) return "millisecond";
    return resolution_ns >= 1000 ? "microsecond" : "nanosecond";
}

static void put_span(struct writer *writer, uint64_t ns)
{
    const uint64_t seconds = (ns + SECOND_NS / 2) / SECOND_NS, hours = (seconds + HOUR_S / 2) / HOUR_S;
    if (seconds < MINUTE_S || hours > 72) {
        write_about(writer, ns);
        return;
    }
    const bool minutes = seconds < HOUR_S;
    const uint64_t unit = minutes ? MINUTE_S : HOUR_S;
    write_decimal(writer, (seconds * 10 + unit / 2) / unit, 1);
    write_text(writer, minutes ? " min" : " h");
}

static void put_count(struct writer *writer, uint64_t count, const char *noun)
{
    write_grouped(writer, count);
    write_text(writer, " ");
    write_text(writer, noun);
    if (count != 1) write_text(writer, "s");
}

static void put_stamps(struct writer *writer, const struct replay_result *result)
{
    if (result->timestamps_are_ends) write_text(writer, "timestamps are request ENDS to the ");
    else write_text(writer, "timestamps are request starts, to the ");
    write_text(writer, resolution_text(result->resolution_ns));
    if (result->timestamps_are_ends) write_text(writer, ": true refusals may be higher");
}

/* Parts that do not fit behind the one before begin a line. */
static void print_parts(const char *const parts[], int count, int width)
{
    int column = 0;
    for (int i = 0; i < count; i++) {
        const int across = show_columns(parts[i]);
        const bool next_line = column != 0 && column + 2 + across > width;
        printf("%s%s", column == 0 ? "" : next_line ? ";\n  " : "; ", parts[i]);
        column = next_line ? 2 + across : column + across + (column == 0 ? 0 : 2);
    }
    putchar('\n');
}

static void print_head(const struct replay_result *result, int width)
{
    struct cell counts, stamps, range, malformed, late;
    const char *parts[8] = {counts.text};
    int count = 1;
    struct writer writer = cell_of(&counts);
    put_count(&writer, result->requests, "request");
    if (result->key_name != NULL) write_text(&writer, " of ");
    if (result->key_name != NULL) put_count(&writer, result->clients, "client");
    if (result->requests == 0) {
        print_parts(parts, count, width);
        return;
    }
    if (result->last_ns != result->first_ns) write_text(&writer, ", ");
    if (result->last_ns != result->first_ns) put_span(&writer, result->last_ns - result->first_ns);
    writer = cell_of(&stamps);
    put_stamps(&writer, result);
    parts[count++] = stamps.text;
    writer = cell_of(&range);
    write_text(&writer, "estimates: spread over each second, or exactly as timestamped");
    if (result->whole_seconds) parts[count++] = range.text;
    writer = cell_of(&malformed);
    put_count(&writer, result->malformed, "malformed line");
    if (result->malformed != 0) parts[count++] = malformed.text;
    writer = cell_of(&late);
    put_count(&writer, result->late, "line");
    write_text(&writer, result->late == 1 ? " far out of order, counted at its place in the log"
                                          : " far out of order, counted at their place in the log");
    if (result->late != 0) parts[count++] = late.text;
    print_parts(parts, count, width);
}

/* ---- the table ---- */

/* What was implied shows; that gcra decides is no news. */
static void put_limit(struct writer *writer, const char *canonical)
{
    static const char usual[] = " algorithm=gcra";
    for (const char *at = canonical; *at != '\0';) {
        const char *found = strstr(at, usual);
        const size_t size = found != NULL ? (size_t)(found - at) : strlen(at);
        write_bytes(writer, at, size);
        at += size + (found != NULL ? sizeof usual - 1 : 0);
    }
}

static void put_range(struct writer *writer, uint64_t low, uint64_t high)
{
    write_grouped(writer, low);
    if (low == high) return;
    write_text(writer, " to ");
    write_grouped(writer, high);
}

static void fill_row(struct line *line, const struct replay_result *result, const struct replay_limit *limit)
{
    const uint64_t low = least(limit->denied, limit->denied_spread), high = most(limit->denied, limit->denied_spread);
    struct writer writer = cell_of(&line->cell[CELL_LIMIT]);
    put_limit(&writer, limit->canonical);
    writer = cell_of(&line->cell[CELL_DENIED]);
    put_range(&writer, low, high);
    writer = cell_of(&line->cell[CELL_DENIED_SHARE]);
    put_share(&writer, per_cent(low, result->requests), per_cent(high, result->requests));
    writer = cell_of(&line->cell[CELL_DELAYED]);
    write_grouped(&writer, limit->delayed);
    writer = cell_of(&line->cell[CELL_DELAYED_SHARE]);
    put_share(&writer, per_cent(limit->delayed, result->requests), per_cent(limit->delayed, result->requests));
    writer = cell_of(&line->cell[CELL_CLIENTS]);
    write_grouped(&writer, limit->clients_denied);
    writer = cell_of(&line->cell[CELL_KEY]);
    struct writer share = cell_of(&line->cell[CELL_KEY_SHARE]);
    if (limit->top_count == 0) return;
    show_key(&writer, limit->top[0].key, limit->top[0].key_size, KEY_COLUMNS_MAX);
    write_grouped(&share, limit->top[0].denied);
    write_text(&share, " of ");
    write_grouped(&share, limit->top[0].requests);
}

static void fill_head(struct line *line)
{
    static const char *const words[CELLS] = {
        [CELL_LIMIT] = "limit",      [CELL_DENIED] = "refused", [CELL_DENIED_SHARE] = "",
        [CELL_DELAYED] = "delayed",  [CELL_DELAYED_SHARE] = "", [CELL_CLIENTS] = "clients hit",
        [CELL_KEY] = "most refused", [CELL_KEY_SHARE] = "",
    };
    for (int i = 0; i < CELLS; i++) {
        struct writer writer = cell_of(&line->cell[i]);
        write_text(&writer, words[i]);
    }
}

static bool has_share(int cell)
{
    return cell == CELL_DENIED || cell == CELL_DELAYED || cell == CELL_KEY;
}

/* Cells that nobody needs have no width. */
static void measure(struct table *table, const struct replay_result *result)
{
    bool delays = false;
    for (int i = 0; i < table->rows; i++) delays = delays || result->limit[i].delayed != 0;
    for (int cell = 0; cell < CELLS; cell++) {
        const bool of_delays = cell == CELL_DELAYED || cell == CELL_DELAYED_SHARE;
        table->width[cell] = has_share(cell) ? 0 : show_columns(table->head.cell[cell].text);
        for (int i = 0; i < table->rows; i++) {
            const int across = show_columns(table->row[i].cell[cell].text);
            if (across > table->width[cell]) table->width[cell] = across;
        }
        if ((of_delays && !delays) || (cell >= CELL_CLIENTS && result->key_name == NULL)) table->width[cell] = 0;
    }
    /* Its word may stand above the share, too. */
    for (int cell = 0; cell < CELLS; cell++) {
        if (!has_share(cell) || table->width[cell] == 0) continue;
        const int missing = show_columns(table->head.cell[cell].text) - table->width[cell] - 2 - table->width[cell + 1];
        if (missing > 0) table->width[cell] += missing;
    }
}

static int gap_before(int cell)
{
    return cell == CELL_LIMIT || cell == CELL_DENIED_SHARE || cell == CELL_DELAYED_SHARE ? 2 : GAP;
}

static void pad(int columns)
{
    if (columns > 0) printf("%*s", columns, "");
}

static void print_line(const struct table *table, const struct line *line, bool head)
{
    int owed = 0; /* blanks are only printed when something comes behind them */
    for (int cell = table->apart ? CELL_DENIED : CELL_LIMIT; cell < CELLS; cell++) {
        const char *text = line->cell[cell].text;
        const int across = show_columns(text), room = table->width[cell];
        if (room == 0) continue;
        owed += table->apart && cell == CELL_DENIED ? 4 : gap_before(cell);
        const bool left = cell == CELL_LIMIT || cell == CELL_KEY || (head && has_share(cell));
        if (!left) owed += room - across;
        if (across != 0) pad(owed);
        if (across != 0) owed = 0;
        fputs(text, stdout);
        if (left) owed += room - across; /* may be negative: the head of two cells */
    }
    putchar('\n');
}

static int whole_width(const struct table *table)
{
    int whole = 0;
    for (int cell = table->apart ? CELL_DENIED : CELL_LIMIT; cell < CELLS; cell++) {
        if (table->width[cell] != 0) whole += gap_before(cell) + table->width[cell];
    }
    return whole;
}

/* The limit goes on a line of its own first; then what can be missed most easily goes. */
static void fit(struct table *table, int width)
{
    static const int missed[] = {CELL_DELAYED_SHARE, CELL_KEY_SHARE, CELL_KEY};
    table->apart = whole_width(table) > width;
    for (size_t i = 0; i < sizeof missed / sizeof *missed && whole_width(table) > width; i++) {
        table->width[missed[i]] = 0;
    }
}

static void print_table(const struct replay_result *result, int width)
{
    static struct table empty;
    struct table table = empty;
    table.rows = result->limits;
    fill_head(&table.head);
    for (int i = 0; i < table.rows; i++) fill_row(&table.row[i], result, &result->limit[i]);
    measure(&table, result);
    fit(&table, width);
    print_line(&table, &table.head, true);
    for (int i = 0; i < table.rows; i++) {
        if (table.apart) printf("  %s\n", table.row[i].cell[CELL_LIMIT].text);
        print_line(&table, &table.row[i], false);
    }
}

/* ---- clients ---- */

static void print_busiest(const struct replay_result *result)
{
    const struct replay_busiest *rows[] = {&result->second, &result->minute, &result->running};
    static const char *const names[] = {"in a second", "in a minute", "at once"};
    const int rows_shown = result->counts_running ? 3 : 2;
    printf("\n  %-13s%9s%9s%9s\n", result->key_name != NULL ? "a client sent" : "all sent", "p50", "p99", "most");
    for (int i = 0; i < rows_shown; i++) {
        struct cell p50, p99, max, key;
        struct writer writer = cell_of(&p50);
        write_grouped(&writer, rows[i]->p50);
        writer = cell_of(&p99);
        write_grouped(&writer, rows[i]->p99);
        writer = cell_of(&max);
        write_grouped(&writer, rows[i]->max);
        writer = cell_of(&key);
        if (result->key_name != NULL) show_key(&writer, rows[i]->max_key, rows[i]->max_key_size, KEY_COLUMNS_MAX);
        printf("  %-13s%9s%9s%9s%s%s\n", names[i], p50.text, p99.text, max.text, key.text[0] != '\0' ? "   " : "",
               key.text);
    }
}

static void put_most(struct writer *writer, const struct replay_result *result, uint64_t client, uint64_t all)
{
    if (result->key_name != NULL) write_grouped(writer, client);
    if (result->key_name != NULL) write_text(writer, " of a client, ");
    write_grouped(writer, all);
    if (result->key_name != NULL) write_text(writer, " of all");
}

/* How much of it runs at once, and what kept its slot for too short a time. */
static void print_running(const struct replay_result *result)
{
    struct cell text;
    struct writer writer = cell_of(&text);
    if (!result->counts_running) return;
    put_most(&writer, result, result->running.max, result->running_all);
    write_text(&writer, "; the longest ran ");
    write_about(&writer, result->longest_ns);
    printf("\n  most at once, had nothing been refused: %s\n", text.text);
    for (int i = 0; i < result->limits; i++) {
        const struct replay_limit *limit = &result->limit[i];
        writer = cell_of(&text);
        put_most(&writer, result, limit->running_client, limit->running_all);
        if (limit->delayed == 0) printf("  most at once with %s: %s\n", limit->text, text.text);
        if (limit->outlasted == 0) continue;
        writer = cell_of(&text);
        put_count(&writer, limit->outlasted, "request");
        printf("    %s ran longer than the lease: renew it, or choose a longer one\n", text.text);
    }
}

/* Limits of one rate have one such burst. */
static bool unaffected_as_before(const struct replay_result *result, int index)
{
    for (int i = 0; i < index; i++) {
        if (strcmp(result->limit[i].unaffected_text, result->limit[index].unaffected_text) == 0) return true;
    }
    return false;
}

static bool slots_as_before(const struct replay_result *result, int index)
{
    for (int i = 0; i < index; i++) {
        if (strcmp(result->limit[i].unaffected_slots_text, result->limit[index].unaffected_slots_text) == 0)
            return true;
    }
    return false;
}

static void print_unaffected(const struct replay_result *result, int width)
{
    bool any = false;
    for (int i = 0; i < result->limits; i++) {
        const struct replay_limit *limit = &result->limit[i];
        const char *texts[] = {limit->unaffected_slots_text, limit->unaffected_text};
        for (int k = 0; k < 2; k++) {
            if (texts[k][0] == '\0' || (k == 1 ? unaffected_as_before(result, i) : slots_as_before(result, i)))
                continue;
            if (!any) putchar('\n');
            any = true;
            printf("  to leave %.6g %% of clients unaffected: %s\n", result->unaffected, texts[k]);
        }
    }
    for (int i = 0; i < result->limits; i++) {
        const char *note = result->limit[i].note, *rest = strstr(note, "; ");
        const int first = rest != NULL && show_columns(note) + 2 > width ? (int)(rest - note) + 1 : (int)strlen(note);
        if (note[0] != '\0') printf("  %.*s\n", first, note);
        if (note[first] != '\0') printf("   %s\n", note + first);
    }
    for (int i = 0; i < result->limits; i++) {
        const struct replay_limit *limit = &result->limit[i];
        char text[128];
        struct writer writer = {text, sizeof text, 0};
        if (limit->delayed == 0) continue;
        write_about(&writer, limit->delay_p99_ns);
        write_text(&writer, " at p99, ");
        write_about(&writer, limit->delay_max_ns);
        printf("  delays by %s: %s at most\n", limit->text, text);
    }
}

/* ---- when ---- */

/* Steps of time to columns: the mean of the steps that begin in a column, and fewer steps than columns are widened. */
struct strip {
    int columns;
    double value[WIDTH_MAX], top;
};

static struct strip strip_of(const struct replay_series *series, const uint64_t *count, int room)
{
    struct strip strip = {.columns = room};
    const int steps = (int)series->count;
    if (steps < room) strip.columns = room / steps * steps;
    for (int i = 0; i < strip.columns; i++) {
        const int first = i * steps / strip.columns, end = (i + 1) * steps / strip.columns;
        uint64_t sum = 0;
        for (int step = first; step < most_of(end, first + 1); step++) sum += count[step];
        strip.value[i] = (double)sum / most_of(end - first, 1);
        if (strip.value[i] > strip.top) strip.top = strip.value[i];
    }
    return strip;
}

static void print_strip(const struct strip *strip)
{
    static const char *const blocks[LEVELS + 1] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                   "\u2585", "\u2586", "\u2587", "\u2588"};
    for (int i = 0; i < strip->columns; i++) {
        const double share = strip->top > 0 ? strip->value[i] / strip->top : 0;
        /* Something is never nothing. */
        int level = (int)(share * LEVELS + 0.5);
        if (level == 0 && strip->value[i] > 0) level = 1;
        fputs(blocks[level], stdout);
    }
}

static void print_when_row(const struct replay_series *series, const uint64_t *count, const char *label,
                           int label_width, int room)
{
    const struct strip strip = strip_of(series, count, room);
    char text[64];
    struct writer writer = {text, sizeof text, 0};
    const double per_s = strip.top * SECOND_NS / (double)series->step_ns;
    printf("  %s", label);
    pad(label_width - show_columns(label) + 1);
    print_strip(&strip);
    if (per_s >= 10) write_grouped(&writer, (uint64_t)(per_s + 0.5));
    else write_decimal(&writer, (uint64_t)(per_s * 100 + 0.5), 2);
    printf(" %s/s\n", text);
}

static void print_times(const struct replay_result *result, int label_width, int columns)
{
    char first[64], last[64];
    struct writer from = {first, sizeof first, 0}, to = {last, sizeof last, 0};
    show_time(&from, result->first_ns, SECOND_NS);
    show_time(&to, result->last_ns, SECOND_NS);
    write_text(&to, " UTC");
    pad(2 + label_width + 1);
    const int between = columns - show_columns(first) - show_columns(last);
    if (between > 0) printf("%s%*s%s\n", first, between, "", last);
    else printf("%s - %s\n", first, last);
}

static void fill_label(struct cell *label, const struct replay_limit *limit)
{
    enum { LABEL_MAX = 24 };
    struct writer writer = cell_of(label);
    put_limit(&writer, limit->canonical);
    /* As it was typed is shorter where units were: 1MB/h. */
    if (show_columns(label->text) > LABEL_MAX) {
        writer = cell_of(label);
        write_text(&writer, limit->text);
    }
    if (show_columns(label->text) <= LABEL_MAX) return;
    show_cut(label->text, LABEL_MAX - 1);
    writer.length = strlen(label->text);
    write_text(&writer, "\u2026");
}

static void print_when(const struct replay_result *result, int width)
{
    enum { FIGURE = 10, ROOM_LEAST = 10 };
    const struct replay_series *series = &result->series;
    struct cell label[REPLAY_LIMITS_MAX];
    int label_width = show_columns("offered");
    for (int i = 0; i < result->limits; i++) {
        fill_label(&label[i], &result->limit[i]);
        if (show_columns(label[i].text) > label_width) label_width = show_columns(label[i].text);
    }
    const int room = most_of(width - 2 - label_width - 1 - FIGURE, ROOM_LEAST);
    printf("\n  when: offered, and refused by each limit; at the tallest column\n");
    print_when_row(series, series->offered, "offered", label_width, room);
    for (int i = 0; i < result->limits; i++) {
        print_when_row(series, series->limit[i].denied, label[i].text, label_width, room);
    }
    print_times(result, label_width, strip_of(series, series->offered, room).columns);
}

static void print_fleet(const struct replay_result *result, int width)
{
    struct cell label[REPLAY_LIMITS_MAX];
    const char *texts[REPLAY_LIMITS_MAX];
    for (int i = 0; i < result->limits; i++) {
        fill_label(&label[i], &result->limit[i]);
        texts[i] = label[i].text;
    }
    fleet_text(result->fleet, texts, width);
}

static void print_charged(const struct replay_charged *charge)
{
    struct cell text;
    struct writer writer = cell_of(&text);
    put_count(&writer, charge->charged, "request");
    write_text(&writer, " charged to ");
    write_text(&writer, charge->limit);
    if (charge->refused != 0) write_text(&writer, "; refused by the service, so not charged: ");
    if (charge->refused != 0) write_grouped(&writer, charge->refused);
    if (charge->lost != 0) write_text(&writer, "; not charged or unknown, as the service was unavailable: ");
    if (charge->lost != 0) write_grouped(&writer, charge->lost);
    printf("\n  %s\n", text.text);
}

void report_text(const struct replay_result *result, bool quiet)
{
    const int width = show_width(STDOUT_FILENO);
    if (quiet) return;
    print_head(result, width);
    if (result->charge.limit != NULL) print_charged(&result->charge);
    if (result->requests == 0) return;
    print_table(result, width);
    print_busiest(result);
    print_running(result);
    print_unaffected(result, width);
    print_when(result, width);
    if (result->fleet != NULL) print_fleet(result, width);
    if (result->tenants.parent != NULL) tenants_text(&result->tenants);
}
