/* SPDX-License-Identifier: MIT
   The phases of a profile as a table: the rate, how long, how many permits, and when each ends. */
#include <string.h>

#include "core/num.h"
#include "plan/profile/phases.h"
#include "plan/plan.h"
#include "plan/text.h"

enum { CELL_SIZE = 64, COLUMNS = 6, PARTS_A_PERMIT = 1000, INDENT = 2, COLUMN_GAP = 2 };

struct phase_table {
    unsigned rows;
    char cell[PHASES_MAX + 1][COLUMNS][CELL_SIZE];
};

static struct writer cell_at(struct phase_table *table, int column)
{
    return (struct writer){table->cell[table->rows][column], CELL_SIZE, 0};
}

static void put_rate(struct writer *writer, const struct limit *limit, const struct phase *phase)
{
    struct limit rate = {.count = {phase->digits, phase->places}, .period_ns = phase->period_ns};
    memcpy(rate.unit, limit->unit, sizeof rate.unit);
    text_write_rate(writer, &rate);
}

static void put_rates(struct writer *writer, const struct limit *limit, unsigned index)
{
    const struct phase *phase = &limit_phases(limit)[index];
    const bool from_nothing = index == 0 || phase[-1].digits == 0;
    if (phase->digits == 0 && !phase->ramps) {
        write_text(writer, "pause");
        return;
    }
    if (phase->ramps && from_nothing) write_text(writer, "0");
    else if (phase->ramps) put_rate(writer, limit, phase - 1);
    if (phase->ramps) write_text(writer, " to ");
    if (phase->digits == 0) write_text(writer, "0");
    else put_rate(writer, limit, phase);
}

/* In thousandths of a permit, rounded down. */
static uint64_t due_at(const struct profile *profile, unsigned phase)
{
    const struct profile_phase *here = &profile->phase[phase];
    return here->whole * PARTS_A_PERMIT + multiply_divide_floor(here->part, PARTS_A_PERMIT, 2 * profile->period_ns);
}

static void put_permits(struct writer *writer, uint64_t thousandths)
{
    char rest[CELL_SIZE];
    struct writer decimal = {rest, sizeof rest, 0};
    write_grouped(writer, thousandths / PARTS_A_PERMIT);
    write_decimal(&decimal, thousandths % PARTS_A_PERMIT, 3);
    write_text(writer, rest + 1); /* without its 0 */
}

static void put_row(struct phase_table *table, const struct limit *limit, const struct profile *profile, unsigned index)
{
    const struct phase *phase = &limit_phases(limit)[index];
    struct writer number = cell_at(table, 0), rate = cell_at(table, 1), lasts = cell_at(table, 2);
    struct writer permits = cell_at(table, 3), total = cell_at(table, 4), ends = cell_at(table, 5);
    write_number(&number, table->rows);
    put_rates(&rate, limit, index);
    if (phase->lasts_ns == UINT64_MAX) {
        write_text(&lasts, "for good");
    } else {
        write_time(&lasts, phase->lasts_ns);
        put_permits(&permits, due_at(profile, index + 1) - due_at(profile, index));
        put_permits(&total, due_at(profile, index + 1));
        write_text(&ends, "after ");
        write_time(&ends, profile->phase[index + 1].begins_ns);
    }
    table->rows++;
}

static size_t width_of(const struct phase_table *table, int column)
{
    size_t width = 0;
    for (unsigned row = 0; row < table->rows; row++) width = most(width, strlen(table->cell[row][column]));
    return width;
}

static void put_spaces(struct writer *writer, size_t count)
{
    while (count-- > 0) write_text(writer, " ");
}

static void put_phase_table(struct writer *writer, const struct phase_table *table)
{
    for (unsigned row = 0; row < table->rows; row++) {
        size_t gap = INDENT;
        for (int column = 0; column < COLUMNS; column++) {
            const char *text = table->cell[row][column];
            const size_t pad = width_of(table, column) - strlen(text);
            if (*text == '\0') gap += pad + COLUMN_GAP;
            if (*text == '\0') continue;
            const bool right = column == 3 || column == 4; /* of numbers */
            put_spaces(writer, gap + (right ? pad : 0));
            write_text(writer, text);
            gap = COLUMN_GAP + (right ? 0 : pad);
        }
        write_text(writer, "\n");
    }
}

void explain_phases(const struct limit *limit, struct writer *writer)
{
    static const char *const head[COLUMNS] = {"phase", "rate", "lasts", "permits", "in all", "ends"};
    struct phase_table table = {.rows = 0};
    struct profile profile;
    size_t at;
    profile_make(&profile, limit, &at);
    for (int column = 0; column < COLUMNS; column++) {
        struct writer cell = cell_at(&table, column);
        write_text(&cell, head[column]);
    }
    table.rows = 1;
    for (unsigned i = 0; i < limit->phases; i++) {
        if (limit_phases(limit)[i].lasts_ns != 0) put_row(&table, limit, &profile, i);
    }
    put_phase_table(writer, &table);
}
