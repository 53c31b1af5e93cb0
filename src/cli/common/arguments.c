/* SPDX-License-Identifier: MIT
   Options, help and complaints, the same for every command.

   Every complaint says which argument, what was expected and an example. */
#include "cli/common/arguments.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/amount.h"
#include "plan/words.h"

#ifndef WEIR_PROGRAM
#define WEIR_PROGRAM "weir" /* weir-bench is compiled with another one (cmake/command.cmake) */
#endif

enum { OPTIONS_MAX = 24, FIRST_LONG = 256 };

/* How a command is called, and what its complaints begin with; a program without commands is one itself. */
struct title {
    char whole[48], prefix[32];
};

static struct title title_of(const struct command *command)
{
    struct title title = {WEIR_PROGRAM, ""};
    if (command->name == NULL) return title;
    snprintf(title.whole, sizeof title.whole, "%s %s", WEIR_PROGRAM, command->name);
    snprintf(title.prefix, sizeof title.prefix, "%s: ", command->name);
    return title;
}

/* What getopt_long wants, made from the rows; "+" would stop at the limit, which may come first. */
struct getopt_tables {
    struct option longs[OPTIONS_MAX + 2];
    char shorts[2 * OPTIONS_MAX + 4];
};

static struct getopt_tables tables_of(const struct command *command)
{
    struct getopt_tables tables = {.shorts = ":h"};
    size_t at = 2;
    for (int i = 0; i < command->option_count && i < OPTIONS_MAX; i++) {
        const struct option_help *row = &command->options[i];
        const int has = row->argument != NULL ? required_argument : no_argument;
        tables.longs[i] = (struct option){row->name, has, NULL, FIRST_LONG + i};
        if (row->letter == 0) continue;
        tables.shorts[at++] = row->letter;
        if (row->argument != NULL) tables.shorts[at++] = ':';
    }
    tables.longs[command->option_count] = (struct option){"help", no_argument, NULL, 'h'};
    return tables;
}

static int row_of_letter(const struct command *command, int letter)
{
    for (int i = 0; i < command->option_count; i++) {
        if (command->options[i].letter == letter) return i;
    }
    return ARGUMENTS_WRONG;
}

/* given: "--exmaple=5", or "-x" */
static void no_option(const struct command *command, const char *given)
{
    const char *near = NULL;
    size_t edits = NEAR_NOTHING;
    const bool is_long = strncmp(given, "--", 2) == 0;
    const size_t size = is_long ? strcspn(given + 2, "=") : 0;
    bool known = false;
    for (int i = 0; i < command->option_count && size != 0; i++) {
        if (words_is_nearer(command->options[i].name, given + 2, size, &edits)) near = command->options[i].name;
        known = known || words_equal(command->options[i].name, given + 2, size);
    }
    const struct title title = title_of(command);
    if (known) trouble("%s--%s takes no value", title.prefix, near);
    else if (near != NULL) trouble("%sthere is no option %s; did you mean --%s?", title.prefix, given, near);
    else trouble("%sthere is no option %s; see %s --help", title.prefix, given, title.whole);
}

int next_option(const struct command *command, int argc, char **argv, const char **value)
{
    const struct getopt_tables tables = tables_of(command);
    opterr = 0;
    const int found = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
    *value = optarg;
    if (found == -1) return ARGUMENTS_END;
    if (found == 'h') {
        print_help(command);
        return ARGUMENTS_HELP;
    }
    if (found >= FIRST_LONG) return found - FIRST_LONG;
    if (found != ':' && found != '?') return row_of_letter(command, found);
    const char letter[] = {'-', (char)optopt, '\0'};
    const char *given = optopt > 0 && optopt < FIRST_LONG ? letter : argv[optind - 1];
    const struct title title = title_of(command);
    if (found == ':') trouble("%s%s needs a value; see %s --help", title.prefix, given, title.whole);
    else no_option(command, given);
    return ARGUMENTS_WRONG;
}

static void print_option(char letter, const char *name, const char *argument, const char *help)
{
    char left[64];
    const char *between = argument != NULL ? " " : "";
    if (argument == NULL) argument = "";
    if (letter != 0) snprintf(left, sizeof left, "-%c, --%s%s%s", letter, name, between, argument);
    else snprintf(left, sizeof left, "    --%s%s%s", name, between, argument);
    printf("  %-23s %s\n", left, help);
}

void print_help(const struct command *command)
{
    printf("usage: %s %s\n%s\n\n", title_of(command).whole, command->synopsis, command->summary);
    for (int i = 0; i < command->option_count; i++) {
        const struct option_help *row = &command->options[i];
        print_option(row->letter, row->name, row->argument, row->help);
    }
    print_option('h', "help", NULL, "this text");
    printf("\n%s", command->details);
}

int trouble(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(WEIR_PROGRAM ": ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return STATUS_TROUBLE;
}

bool read_time_argument(const char *option, const char *text, uint64_t *ns)
{
    if (amount_time(text, ns)) return true;
    trouble("--%s \"%s\": expected a time; for example 500ms, 10s or 5min", option, text);
    return false;
}

bool read_count_argument(const char *option, const char *text, uint64_t max, uint64_t *count)
{
    if (amount_count(text, count) && *count != 0 && *count <= max) return true;
    trouble("--%s \"%s\": expected a whole number from 1 to %llu", option, text, (unsigned long long)max);
    return false;
}

int limit_trouble(const char *text, const weir_error *error)
{
    if (error->column == 0) return trouble("%s", error->message);
    fprintf(stderr, WEIR_PROGRAM ": column %d: %s\n  ", error->column, error->message);
    /* A tab or an escape would put the mark elsewhere. */
    for (const char *at = text; *at != '\0'; at++) fputc((unsigned char)*at < ' ' || *at == 127 ? ' ' : *at, stderr);
    fprintf(stderr, "\n  %*s^\n", error->column - 1, "");
    return STATUS_TROUBLE;
}
