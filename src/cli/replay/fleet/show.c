/* SPDX-License-Identifier: MIT
   What the designs of a fleet came to, side by side: as a table for people, and in JSON.

   A row for each design, all by the same requests. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/json_file.h"
#include "cli/replay/fleet/fleet.h"
#include "cli/replay/show.h"

enum { COLUMNS = 9, CELL = 128, GAP = 2, PLACES = 3 };
static const double THOUSANDTHS = 1000, NOISE = 1e-3; /* of floating point, in thousandths */

static const char *const NAMES[FLEET_DESIGNS] = {
    [FLEET_ONE] = "one limiter", [FLEET_ENGINE] = "engine", [FLEET_LEASES] = "leases",
    [FLEET_SHARES] = "shares",   [FLEET_ALONE] = "alone",   [FLEET_STICKY] = "sticky",
};

/* Permits in thousandths, rounded up. */
static double excess_of(const struct fleet_figures *figures)
{
    return ceil(figures->excess * THOUSANDTHS - NOISE);
}

/* ---- for people ---- */

struct grid {
    char cell[2 + FLEET_DESIGNS][COLUMNS][CELL];
    int rows, width[COLUMNS];
};

enum { AT_DESIGN, AT_ALLOWED, AT_DENIED, AT_NO, AT_YES, AT_OVER, AT_CALLS, AT_MOST, AT_WAITED };

static void put_number(struct grid *grid, int column, uint64_t number)
{
    struct writer writer = {grid->cell[grid->rows][column], CELL, 0};
    write_grouped(&writer, number);
}

/* "-": the bound held. */
static void put_over(struct grid *grid, const struct fleet_figures *figures)
{
    struct writer writer = {grid->cell[grid->rows][AT_OVER], CELL, 0};
    const double excess = excess_of(figures);
    if (excess <= 0) write_text(&writer, "-");
    else write_decimal(&writer, (uint64_t)excess, PLACES);
}

static void put_heads(struct grid *grid)
{
    static const char *const words[2][COLUMNS] = {
        {"", "", "", "wrongly", "wrongly", "over the", "engine", "most in", "share"},
        {"", "passed", "refused", "refused", "passed", "bound", "calls", "a second", "waited"},
    };
    for (grid->rows = 0; grid->rows < 2; grid->rows++) {
        for (int i = 0; i < COLUMNS; i++) snprintf(grid->cell[grid->rows][i], CELL, "%s", words[grid->rows][i]);
    }
}

static void put_design(struct grid *grid, int design, const struct fleet_figures *figures)
{
    const uint64_t requests = figures->allowed + figures->denied;
    const double share = requests == 0 ? 0 : 100 * (double)figures->waited / (double)requests;
    snprintf(grid->cell[grid->rows][AT_DESIGN], CELL, "%s", NAMES[design]);
    put_number(grid, AT_ALLOWED, figures->allowed);
    put_number(grid, AT_DENIED, figures->denied);
    put_number(grid, AT_NO, figures->wrongly_denied);
    put_number(grid, AT_YES, figures->wrongly_allowed);
    put_over(grid, figures);
    put_number(grid, AT_CALLS, figures->calls);
    put_number(grid, AT_MOST, figures->calls_most);
    snprintf(grid->cell[grid->rows][AT_WAITED], CELL, "%.2f %%", share);
    grid->rows++;
}

/* The column that can be missed goes where there is no room: passed are all that were not refused. */
static void measure(struct grid *grid, int width)
{
    int whole = 0;
    for (int column = 0; column < COLUMNS; column++) {
        grid->width[column] = 0;
        for (int row = 0; row < grid->rows; row++) {
            const int across = show_columns(grid->cell[row][column]);
            if (across > grid->width[column]) grid->width[column] = across;
        }
        whole += grid->width[column] + GAP;
    }
    if (whole > width) grid->width[AT_ALLOWED] = 0;
}

static void print_grid(const struct grid *grid)
{
    for (int row = 0; row < grid->rows; row++) {
        const char *design = grid->cell[row][AT_DESIGN];
        printf("%*s%s%*s", GAP, "", design, grid->width[AT_DESIGN] - show_columns(design), "");
        for (int column = AT_ALLOWED; column < COLUMNS; column++) {
            if (grid->width[column] == 0) continue;
            printf("%*s%*s", GAP, "", grid->width[column], grid->cell[row][column]);
        }
        putchar('\n');
    }
}

static void print_head(const struct fleet_options *options)
{
    char text[256];
    struct writer writer = {text, sizeof text, 0};
    write_text(&writer, "\n  a fleet of ");
    write_grouped(&writer, options->nodes);
    write_text(&writer, options->nodes == 1 ? " node" : " nodes");
    write_text(&writer,
               options->spread == FLEET_SPREAD_STICKY ? ", clients sticky to a node" : ", requests to random nodes");
    write_text(&writer, "; an engine ");
    write_time(&writer, options->rtt_ns);
    write_text(&writer, " round trip");
    puts(text);
    writer = (struct writer){text, sizeof text, 0};
    if (options->lease != 0) {
        write_text(&writer, "  leases of up to ");
        write_grouped(&writer, options->lease);
        write_text(&writer, " permits for ");
        write_time(&writer, options->lease_life_ns);
    }
    if (options->away_to_ns != 0) {
        write_text(&writer, options->lease != 0 ? "; down from " : "  down from ");
        write_time(&writer, options->away_from_ns);
        write_text(&writer, " to ");
        write_time(&writer, options->away_to_ns);
        write_text(&writer, ": shares meanwhile");
    }
    if (writer.length != 0) puts(text);
}

void fleet_text(const struct fleet *fleet, const char *const texts[], int width)
{
    print_head(&fleet->options);
    for (int i = 0; i < fleet->limits; i++) {
        struct grid grid;
        put_heads(&grid);
        snprintf(grid.cell[1][AT_DESIGN], CELL, "%s", texts[i]);
        for (int design = 0; design < FLEET_DESIGNS; design++) {
            if (fleet_has(fleet, design)) put_design(&grid, design, fleet_figures(fleet, i, design));
        }
        measure(&grid, width);
        print_grid(&grid);
    }
}

/* ---- for programs ---- */

void fleet_json(const struct fleet *fleet, struct json *json)
{
    const struct fleet_options *options = &fleet->options;
    json_object(json, "fleet");
    json_number(json, "nodes", options->nodes);
    json_text(json, "spread", options->spread == FLEET_SPREAD_STICKY ? "sticky" : "random");
    json_number(json, "engine_rtt_ns", options->rtt_ns);
    if (options->lease != 0) json_number(json, "lease", options->lease);
    if (options->lease != 0) json_number(json, "lease_life_ns", options->lease_life_ns);
    if (options->away_to_ns != 0) json_number(json, "down_from_ns", options->away_from_ns);
    if (options->away_to_ns != 0) json_number(json, "down_to_ns", options->away_to_ns);
    json_end_object(json);
}

static void put_figures(struct json *json, const struct fleet_figures *figures)
{
    json_number(json, "allowed", figures->allowed);
    json_number(json, "denied", figures->denied);
    json_number(json, "wrongly_denied", figures->wrongly_denied);
    json_number(json, "wrongly_allowed", figures->wrongly_allowed);
    json_file_double(json, "excess", excess_of(figures) / THOUSANDTHS + 0.0, 3);
    json_number(json, "engine_calls", figures->calls);
    json_number(json, "engine_calls_most_in_second", figures->calls_most);
    json_number(json, "waited", figures->waited);
    json_number(json, "node_least", figures->node_least);
}

void fleet_json_limit(const struct fleet *fleet, int limit, struct json *json)
{
    json_array(json, "fleet");
    for (int design = 0; design < FLEET_DESIGNS; design++) {
        if (!fleet_has(fleet, design)) continue;
        json_object(json, NULL);
        json_text(json, "design", NAMES[design]);
        put_figures(json, fleet_figures(fleet, limit, design));
        json_end_object(json);
    }
    json_end_array(json);
}
