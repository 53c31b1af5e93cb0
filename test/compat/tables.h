/* SPDX-License-Identifier: MIT
   The table files that an older weir wrote, and what was used in them.

   Only tables.c is also built with that weir: it needs weir_table_open, keyed_peek and the time of a table. */
#ifndef COMPAT_TABLES_H
#define COMPAT_TABLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/table/keyed.h"

enum {
    KEYS_MAX = 100,
    WIDE_KEYS_MAX = 16,
    LARGE_KEYS_MAX = 400000,
    GROWN_TIMES = 2,
    PATH_MAX_HERE = 4096,
    LINE_MAX_HERE = 256
};

/* What was used in each file.  Each key has one limit; of a list it has a state for each. */
struct use {
    const char *limit, *key;
    uint64_t cost[2]; /* one call each, 0: none */
};

struct file {
    const char *name;
    const char *plan; /* whose state gives the slots their length; NULL: 16-byte slots */
    uint64_t keys;
    weir_when_full when_full;
    int grown;             /* times; some keys are there before, some come after */
    const struct use *use; /* ends with a limit of NULL */
};

static const struct use gcra[] = {{"10/h burst=20", "alice", {15, 5}},
                                  {"1000/d", "bob", {1000, 0}},
                                  {"5/h; 20/d", "carol", {3, 2}},
                                  {"1/w", "dave", {1, 0}},
                                  {"3/20d", "erin", {1, 1}},
                                  {"10/min", "frank", {10, 0}},
                                  {"10/h burst=20", "\xff\n\x01", {20, 0}},
                                  {NULL, NULL, {0, 0}}};
static const struct use grown[] = {{"10/h burst=20", "early", {15, 0}},
                                   {"10/h burst=20", "later", {16, 0}},
                                   {"10/h burst=20", "latest", {17, 0}},
                                   {NULL, NULL, {0, 0}}};
static const struct use wide[] = {{"20/d algorithm=sliding-log", "alice", {15, 3}},
                                  {"5/h algorithm=sliding-log", "bob", {5, 0}},
                                  {"10/h algorithm=fixed-window", "carol", {9, 1}},
                                  {"10/h algorithm=sliding-window", "dave", {10, 0}},
                                  {"10/h burst=20 algorithm=leaky nodelay", "erin", {12, 6}},
                                  {"10/h algorithm=hybrid", "frank", {7, 0}},
                                  {"10/h algorithm=bursty", "grace", {4, 0}},
                                  {"10/h algorithm=warmup warmup=2h", "heidi", {1, 0}},
                                  {"10/h algorithm=cycle", "ivan", {10, 0}},
                                  {"10/h algorithm=timeline", "judy", {1, 0}},
                                  {"10/h; 20/d algorithm=fixed-window", "mallory", {8, 2}},
                                  {"1/5year", "niaj", {1, 0}},
                                  {NULL, NULL, {0, 0}}};
static const struct use held[] = {
    {"3 concurrent lease=30d", "alice", {2, 0}}, {"5 concurrent lease=30d; 10/d", "bob", {3, 1}}, {NULL, NULL, {0, 0}}};
/* Those of 0.1.0, and what is new in 1.0.0: slots that are held, and a table so large that it has areas. */
static const struct file files[] = {{"slots", NULL, KEYS_MAX, WEIR_FULL_INHERIT, 0, gcra},
                                    {"slots-deny", NULL, KEYS_MAX, WEIR_FULL_DENY, 0, gcra},
                                    {"grown", NULL, KEYS_MAX, WEIR_FULL_INHERIT, GROWN_TIMES, grown},
                                    {"wide", "250/d algorithm=sliding-log", WIDE_KEYS_MAX, WEIR_FULL_INHERIT, 0, wide},
                                    {"held", "60 concurrent lease=30d", WIDE_KEYS_MAX, WEIR_FULL_INHERIT, 0, held},
                                    {"large", NULL, LARGE_KEYS_MAX, WEIR_FULL_INHERIT, 1, grown}};

/* When it was used, s of the table's time; and how much later it is asked. */
static const uint64_t USED_S = 1000000, S = 1000000000;
static const uint64_t LATER_S[] = {1, 60, 3600, 7 * 3600, 86400, 6 * 86400};

static inline bool is_in(const char *folder, const struct file *file)
{
    char path[PATH_MAX_HERE];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    return access(path, F_OK) == 0;
}

static inline void stop(const char *what, const char *why)
{
    fprintf(stderr, "tables: %s: %s\n", what, why);
    exit(2);
}

static inline weir_plan plan_of(const char *limit)
{
    weir_plan plan;
    weir_error error;
    if (weir_plan_parse(&plan, limit, WEIR_ADMIT, &error) != 0) stop(limit, error.message);
    return plan;
}

/* plan: kept by the caller as long as the options. */
static inline weir_table_options options_of_file(const struct file *file, const char *path, weir_plan *plan)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.path = path;
    options.when_full = file->when_full;
    options.keys_max = file->keys;
    options.holds_for_others = true; /* the process that took what is held ends */
    if (file->plan != NULL) {
        *plan = plan_of(file->plan);
        options.plan = plan;
    }
    return options;
}

/* NULL: *error says why. */
static inline weir_table *try_file(const char *folder, const struct file *file, weir_sharing sharing, weir_error *error)
{
    char path[PATH_MAX_HERE];
    weir_plan plan;
    weir_table *table;
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    weir_table_options options = options_of_file(file, path, &plan);
    options.sharing = sharing;
    return weir_table_open(&table, &options, error) == 0 ? table : NULL;
}

static inline weir_table *open_file(const char *folder, const struct file *file, weir_sharing sharing)
{
    weir_error error;
    weir_table *table = try_file(folder, file, sharing, &error);
    if (table == NULL) stop(file->name, error.message);
    return table;
}

static inline weir_instant instant(const weir_table *table, uint64_t table_s)
{
    return (weir_instant){table_s * S - table->offset_ns};
}

#endif
