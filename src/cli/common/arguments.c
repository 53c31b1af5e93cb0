/* SPDX-License-Identifier: MIT
   Options, help and errors, the same for every command.

   Every error says which argument, what was expected and an example. */
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

enum { OPTIONS_MAX = 64, FIRST_LONG = 256 };

/* How a command is called, and what its errors begin with; a program without commands is one itself. */
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
        const struct option_row *row = &command->options[i];
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
    int i = 0;
    while (command->options[i].letter != letter) i++;
    return i;
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

static int wrong_option(const struct command *command, int found, char **argv)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    const char *given = optopt > 0 && optopt < FIRST_LONG ? letter : argv[optind - 1];
    const struct title title = title_of(command);
    if (found == ':') return trouble("%s%s needs a value; see %s --help", title.prefix, given, title.whole);
    no_option(command, given);
    return STATUS_TROUBLE;
}

/* What an option needs stands anywhere among the arguments.  given: a bit for each row */
static bool all_needed(const struct command *command, uint64_t given)
{
    for (int i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];
        if ((given >> i & 1) == 0 || row->needs == NULL) continue;
        const size_t size = strcspn(row->needs, " ");
        int other = 0;
        while (!words_equal(command->options[other].name, row->needs + 2, size - 2)) other++;
        if ((given >> other & 1) != 0) continue;
        const bool example = row->needs[size] != '\0';
        trouble("%s--%s needs %.*s%s%s", title_of(command).prefix, row->name, (int)size, row->needs,
                example ? "; for example " : "", example ? row->needs : "");
        return false;
    }
    return true;
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

static void print_help(const struct command *command)
{
    printf("usage: %s %s\n%s\n\n", title_of(command).whole, command->synopsis, command->summary);
    for (int i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];
        print_option(row->letter, row->name, row->argument, row->help);
    }
    print_option('h', "help", NULL, "this text");
    printf("\n%s", command->details);
}

int arguments_read(const struct command *command, int argc, char **argv, void *into)
{
    const struct getopt_tables tables = tables_of(command);
    uint64_t given = 0;
    for (int found; (found = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1;) {
        if (found == 'h') {
            print_help(command);
            return STATUS_DONE;
        }
        if (found == ':' || found == '?') return wrong_option(command, found, argv);
        const int index = found >= FIRST_LONG ? found - FIRST_LONG : row_of_letter(command, found);
        const struct option_row *row = &command->options[index];
        if (!row->read(row, optarg, (char *)into + row->at)) return STATUS_TROUBLE;
        given |= UINT64_C(1) << index;
    }
    return all_needed(command, given) ? ARGUMENTS_END : STATUS_TROUBLE;
}

int arguments_split(int argc, char **argv, char ***behind)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") != 0) continue;
        *behind = &argv[i + 1];
        argv[i] = NULL;
        return i;
    }
    return argc;
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

bool argument_time(const struct option_row *row, const char *value, void *into)
{
    if (amount_time(value, into)) return true;
    trouble("--%s \"%s\": expected a time; for example 500ms, 10s or 5min", row->name, value);
    return false;
}

bool argument_count(const struct option_row *row, const char *value, void *into)
{
    uint64_t *count = into;
    const uint64_t most = row->most != 0 ? row->most : UINT64_MAX - 1;
    if (amount_count(value, count) && *count != 0 && *count <= most) return true;
    trouble("--%s \"%s\": expected a whole number from 1 to %llu", row->name, value, (unsigned long long)most);
    return false;
}

bool argument_flag(const struct option_row *row, const char *value, void *into)
{
    (void)row, (void)value;
    *(bool *)into = true;
    return true;
}

bool argument_text(const struct option_row *row, const char *value, void *into)
{
    (void)row;
    *(const char **)into = value;
    return true;
}

bool argument_wrong_word(const struct option_row *row, const char *value)
{
    char words[80] = "";
    size_t size = 0;
    for (const char *at = row->words; *at != '\0' && size < sizeof words; at += *at == ' ') {
        const size_t word = strcspn(at, " ");
        const char *before = at == row->words ? "" : at[word] == '\0' ? " or " : ", ";
        size += (size_t)snprintf(words + size, sizeof words - size, "%s%.*s", before, (int)word, at);
        at += word;
    }
    trouble("--%s \"%s\": expected %s", row->name, value, words);
    return false;
}

bool argument_word(const struct option_row *row, const char *value, void *into)
{
    unsigned number = 1;
    for (const char *at = row->words; *at != '\0'; number++, at += *at == ' ') {
        const size_t size = strcspn(at, " ");
        if (strlen(value) == size && strncmp(at, value, size) == 0) {
            *(unsigned *)into = number;
            return true;
        }
        at += size;
    }
    return argument_wrong_word(row, value);
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
