/* SPDX-License-Identifier: MIT
   What a call costs under each limit of a text, by unit.

       60 requests/min; 100k tokens/min        812                     refused: of what?
                                               tokens=812              1 request, 812 tokens
                                               tokens=812,requests=2   2 requests, 812 tokens
       10/s; 1000/h                            3                       3 of each: both count requests

   A unit that is not named costs 1 if it is requests; all others are named, or none is.  Limits of one unit cost the
   same.  unlimited and none count nothing, so any unit is fine there: a caller need not know which limit a key has. */
#include "plan/cost.h"

#include <string.h>

#include "core/num.h"
#include "plan/amount.h"
#include "plan/reader.h"
#include "plan/words.h"

enum { COST_NUMBER_SIZE = 48 };

static const char requests[] = "requests";

/* Before a number alone; before the first unit, between it and its number, before the next unit, at the end. */
static const struct cost_words {
    const char *alone, *first, *is, *next, *end;
} spelled[] = {
    [COST_OPTION] = {"--cost ", "--cost ", "=", ",", ""},
    [COST_COMMAND] = {"COST ", "COST ", " ", " ", ""},
    [COST_ARGUMENTS] = {"", "", " ", " ", ""},
    [COST_JSON] = {"\"cost\": ", "\"cost\": {\"", "\": ", ", \"", "}"},
    [COST_FIELD] = {"cost=", "cost=", "=", ",", ""},
};

/* ---- units ---- */

static bool counts(const struct limit *limit)
{
    return limit->algorithm != ALGORITHM_UNLIMITED && limit->algorithm != ALGORITHM_NONE;
}

/* Is it the first limit that counts this unit? */
static bool is_first(const struct plan *plan, uint64_t i)
{
    bool first = counts(&plan->limit[i]);
    for (uint64_t k = 0; k < i; k++) {
        first = first && !(counts(&plan->limit[k]) && strcmp(plan->limit[k].unit, plan->limit[i].unit) == 0);
    }
    return first;
}

static unsigned units_of(const struct plan *plan)
{
    unsigned units = 0;
    for (uint64_t i = 0; i < plan->count; i++) units += is_first(plan, i);
    return units;
}

/* True where every limit counts; so an unknown unit is a mistake. */
static bool all_count(const struct plan *plan)
{
    for (uint64_t i = 0; i < plan->count; i++) {
        if (!counts(&plan->limit[i])) return false;
    }
    return true;
}

/* ---- errors ---- */

static struct writer begin_error(weir_error *error)
{
    struct writer writer = {error->message, sizeof error->message, 0};
    *error = (weir_error){.code = WEIR_EINVAL};
    return writer;
}

/* limits count requests, bytes and tokens */
static void write_units(struct writer *writer, const struct plan *plan)
{
    const unsigned units = units_of(plan);
    unsigned written = 0;
    write_text(writer, plan->count == 1 ? "the limit counts " : "limits count ");
    for (uint64_t i = 0; i < plan->count; i++) {
        if (!is_first(plan, i)) continue;
        if (written > 0) write_text(writer, written + 1 == units ? " and " : ", ");
        write_text(writer, plan->limit[i].unit);
        written++;
    }
}

/* : write --cost tokens=812, with the numbers that were said, and this number for the units that must be named. */
static bool fail_with_cost(const struct plan_cost *cost, uint64_t number, struct writer *writer)
{
    const struct plan *plan = cost->plan;
    const struct cost_words *words = &spelled[cost->spelling];
    const bool one = units_of(plan) == 1;
    bool some = false;
    write_text(writer, ": write ");
    for (uint64_t i = 0; i < plan->count; i++) {
        const bool said = cost->said >> i & 1;
        if (!is_first(plan, i) || (!said && !one && strcmp(plan->limit[i].unit, requests) == 0)) continue;
        write_text(writer, some ? words->next : words->first);
        write_text(writer, plan->limit[i].unit);
        write_text(writer, words->is);
        write_number(writer, said ? cost->each[i] : number);
        some = true;
    }
    write_text(writer, words->end);
    return false;
}

static bool fail_units(const struct plan_cost *cost, uint64_t number, weir_error *error)
{
    struct writer writer = begin_error(error);
    write_units(&writer, cost->plan);
    return fail_with_cost(cost, number, &writer);
}

static bool fail_unit(const struct plan_cost *cost, const char *unit, size_t size, const char *what, uint64_t number,
                      weir_error *error)
{
    struct writer writer = begin_error(error);
    write_text(&writer, "\"");
    write_bytes(&writer, unit, least(size, WEIR_UNIT_SIZE));
    write_text(&writer, what);
    write_units(&writer, cost->plan);
    return fail_with_cost(cost, number, &writer);
}

/* ---- by unit and number ---- */

bool plan_cost_alike(struct plan_cost *cost, uint64_t number, weir_error *error)
{
    if (units_of(cost->plan) > 1) return fail_units(cost, number, error);
    cost_alike(cost->each, WEIR_LIMITS_MAX, number);
    return true;
}

bool plan_cost_of(struct plan_cost *cost, const char *unit, size_t unit_size, uint64_t number, weir_error *error)
{
    const struct plan *plan = cost->plan;
    char named[WEIR_UNIT_SIZE];
    uint32_t found = 0;
    words_unit(unit, unit_size, named);
    for (uint64_t i = 0; i < plan->count && unit_size < WEIR_UNIT_SIZE; i++) {
        if (counts(&plan->limit[i]) && strcmp(plan->limit[i].unit, named) == 0) found |= UINT32_C(1) << i;
    }
    if (found == 0 && all_count(plan)) return fail_unit(cost, unit, unit_size, "\" is no unit here; ", number, error);
    if ((found & cost->said) != 0) return fail_unit(cost, unit, unit_size, "\" has two costs; ", number, error);
    for (uint64_t i = 0; i < plan->count; i++) {
        if (found >> i & 1) cost->each[i] = number;
    }
    cost->said |= found;
    return true;
}

bool plan_cost_end(struct plan_cost *cost, weir_error *error)
{
    const struct plan *plan = cost->plan;
    for (uint64_t i = 0; i < plan->count; i++) {
        const struct limit *limit = &plan->limit[i];
        if (cost->said >> i & 1) continue;
        if (counts(limit) && strcmp(limit->unit, requests) != 0)
            return fail_unit(cost, limit->unit, strlen(limit->unit), "\" has no cost; ", 1, error);
        cost->each[i] = 1;
    }
    return true;
}

/* ---- as text ---- */

static bool fail_number(const struct plan_cost *cost, weir_error *error, int column)
{
    struct writer writer = begin_error(error);
    error->column = column;
    write_text(&writer, "expected a whole number");
    if (units_of(cost->plan) > 1) {
        write_text(&writer, " for each unit; ");
        write_units(&writer, cost->plan);
        return fail_with_cost(cost, 1, &writer);
    }
    write_text(&writer, "; for example ");
    write_text(&writer, spelled[cost->spelling].alone);
    write_text(&writer, "5");
    return false;
}

static bool cost_number(const char *text, size_t size, bool bytes, uint64_t *number)
{
    char copy[COST_NUMBER_SIZE];
    if (size >= sizeof copy) return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return bytes ? amount_bytes(copy, number) : amount_count(copy, number);
}

static bool is_bytes(const char *unit, size_t size)
{
    char named[WEIR_UNIT_SIZE];
    words_unit(unit, size, named);
    return strcmp(named, "bytes") == 0;
}

/* tokens=812 */
static bool cost_unit(struct plan_cost *cost, const char *text, size_t size, int column, weir_error *error)
{
    uint64_t number;
    size_t unit = 0;
    while (unit < size && text[unit] != '=') unit++;
    if (unit == 0 || unit == size || !cost_number(text + unit + 1, size - unit - 1, is_bytes(text, unit), &number))
        return fail_number(cost, error, column + (int)(unit < size ? unit + 1 : 0));
    if (plan_cost_of(cost, text, unit, number, error)) return true;
    error->column = column;
    return false;
}

bool plan_costs(const struct plan *plan, enum cost_spelling spelling, const char *text, uint64_t each[WEIR_LIMITS_MAX],
                weir_error *error)
{
    struct plan_cost cost = {.plan = plan, .spelling = spelling};
    weir_error unwanted;
    uint64_t number;
    bool read = true;
    if (error == NULL) error = &unwanted;
    if (cost_number(text, strlen(text), strcmp(plan->limit[0].unit, "bytes") == 0, &number)) {
        read = plan_cost_alike(&cost, number, error);
    } else {
        for (const char *at = text; read;) {
            size_t size = 0;
            while (at[size] != ',' && at[size] != '\0') size++;
            read = cost_unit(&cost, at, size, (int)(at - text) + 1, error);
            if (at[size] == '\0') break;
            at += size + 1;
        }
        read = read && plan_cost_end(&cost, error);
    }
    if (read) memcpy(each, cost.each, sizeof cost.each);
    return read;
}
