/* SPDX-License-Identifier: MIT
   One table of options for each command: it is parsed by, and its help is printed from, the same rows.

   See arguments.c. */
#ifndef WEIR_CLI_COMMON_ARGUMENTS_H
#define WEIR_CLI_COMMON_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

/* Exit statuses; a command that is run brings its own. */
enum { STATUS_DONE = 0, STATUS_REFUSED = 1, STATUS_TROUBLE = 2, STATUS_LOST = 3, STATUS_COMMAND_TROUBLE = 125 };

struct option_help {
    const char *name;     /* long form */
    char letter;          /* short form, or 0 */
    const char *argument; /* its name in the help, or NULL when it takes none */
    const char *help;
};

struct command {
    const char *name;     /* NULL: a program of its own */
    const char *synopsis; /* behind the name */
    const char *summary;  /* one line */
    const char *details;  /* below the options in --help */
    const struct option_help *options;
    int option_count;
    int (*run)(int argc, char **argv);
};

/* What getopt_long found next: the row's index, ARGUMENTS_END, or ARGUMENTS_WRONG with the message printed. */
enum { ARGUMENTS_END = -1, ARGUMENTS_WRONG = -2, ARGUMENTS_HELP = -3 };
int next_option(const struct command *command, int argc, char **argv, const char **value);

void print_help(const struct command *command);

/* Prints "weir: ...", or as the program is called, to stderr; returns STATUS_TROUBLE. */
int trouble(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Each prints what is wrong and returns false. */
bool read_time_argument(const char *option, const char *text, uint64_t *ns);
bool read_count_argument(const char *option, const char *text, uint64_t max, uint64_t *count);

/* Prints what is wrong with the text of a limit, with the place pointed at; returns STATUS_TROUBLE. */
int limit_trouble(const char *text, const weir_error *error);

const struct command *pace_command(void);
const struct command *explain_command(void);
const struct command *take_command(void);
const struct command *replay_command(void);
const struct command *serve_command(void);
const struct command *engine_command(void);

#endif
