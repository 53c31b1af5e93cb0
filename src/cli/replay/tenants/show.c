/* SPDX-License-Identifier: MIT
   What became of the tenants of a log: as a table for people, and in JSON. */
#include <stdio.h>

#include "cli/common/json_file.h"
#include "cli/replay/show.h"
#include "cli/replay/tenants/tenants.h"

enum { KEY_COLUMNS_MAX = 24, CELL = 128 };

static void print_number(uint64_t number, int width)
{
    char text[CELL];
    struct writer writer = {text, sizeof text, 0};
    write_grouped(&writer, number);
    printf("%*s", width, text);
}

static void print_row(const char *name, const struct tenants_counts *counts)
{
    printf("  %s%*s", name, KEY_COLUMNS_MAX - show_columns(name), "");
    print_number(counts->requests, 9);
    print_number(counts->guaranteed, 13);
    print_number(counts->borrowed, 11);
    print_number(counts->refused, 10);
    print_number(counts->starved, 10);
    print_number(counts->alone, 10);
    putchar('\n');
}

void tenants_text(const struct tenants_result *result)
{
    printf("\n  %-*s%9s%13s%11s%10s%10s%10s\n", KEY_COLUMNS_MAX, "tenant", "requests", "guaranteed", "borrowed",
           "refused", "starved", "alone");
    for (unsigned i = 0; i < result->shown_count; i++) {
        const struct tenants_shown *shown = &result->shown[i];
        char name[CELL];
        struct writer writer = {name, sizeof name, 0};
        show_key(&writer, shown->key, shown->key_size, KEY_COLUMNS_MAX);
        print_row(name, &shown->counts);
    }
    if (result->tenants > result->shown_count) {
        printf("  ... and %llu more\n", (unsigned long long)(result->tenants - result->shown_count));
    }
    print_row("all", &result->all);
    printf("  starved: refused within its guarantee; alone: refused by %s without tenants\n", result->parent);
}

static void put_counts(struct json *json, const struct tenants_counts *counts)
{
    json_number(json, "requests", counts->requests);
    json_number(json, "guaranteed", counts->guaranteed);
    json_number(json, "borrowed", counts->borrowed);
    json_number(json, "denied", counts->refused);
    json_number(json, "starved", counts->starved);
    json_number(json, "denied_alone", counts->alone);
}

void tenants_json(const struct tenants_result *result, struct json *json)
{
    json_object(json, "tenants");
    put_counts(json, &result->all);
    json_array(json, "most");
    for (unsigned i = 0; i < result->shown_count; i++) {
        const struct tenants_shown *shown = &result->shown[i];
        json_object(json, NULL);
        json_string(json, "key", (struct slice){shown->key, shown->key_size});
        if (shown->limit != NULL) json_text(json, "limit", shown->limit);
        put_counts(json, &shown->counts);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}
