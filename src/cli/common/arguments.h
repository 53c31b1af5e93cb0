/* SPDX-License-Identifier: MIT
   One table of options for each command: it is read by them, and help, errors and completions come from the same rows.

   See arguments.c. */
#ifndef WEIR_CLI_COMMON_ARGUMENTS_H
#define WEIR_CLI_COMMON_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

/* Exit statuses; a command that is run brings its own. */
enum { STATUS_DONE = 0, STATUS_REFUSED = 1, STATUS_TROUBLE = 2, STATUS_LOST = 3, STATUS_COMMAND_TROUBLE = 125 };

/* Reads the value of an option, NULL where it takes none; prints what is wrong with it and returns false. */
struct option_row;
typedef bool argument_reader(const struct option_row *row, const char *value, void *into);

/* All that there is to know of an option: the command line is read by its row, and help, errors and completions are
   printed from it. */
struct option_row {
    const char *name;     /* long form */
    char letter;          /* short form, or 0 */
    const char *argument; /* its name in the help, or NULL when it takes none; FILE and OLD are completed as files */
    const char *help;
    argument_reader *read;
    size_t at;         /* offset of what `read` fills in */
    const char *needs; /* "--nodes 8": means nothing without that option, of which this is an example; or NULL */
    const char *words; /* "random sticky": the values that there are; or NULL */
    uint64_t most;     /* argument_count: the largest; 0: all but the last of 64 bits */
};

/* uint64_t, ns */
argument_reader argument_time;
/* uint64_t, from 1 on */
argument_reader argument_count;
/* bool; const char *, borrowed */
argument_reader argument_flag, argument_text;
/* unsigned: which of the row's words, from 1 on */
argument_reader argument_word;

struct command {
    const char *name;     /* NULL: a program of its own */
    const char *synopsis; /* behind the name: its small words are completed, and files for FILE and LOG */
    const char *summary;  /* one line */
    const char *details;  /* below the options in --help */
    const struct option_row *options;
    int option_count;
    int (*run)(int argc, char **argv);
};

/* Reads all options into what the rows' offsets are of; operands are left from optind on.  ARGUMENTS_END, or the status
   to leave with: help, or what is wrong, has been printed. */
enum { ARGUMENTS_END = -1 };
int arguments_read(const struct command *command, int argc, char **argv, void *into);

/* What comes behind "--" is another command's, whatever it looks like: *behind is set to it, if there is a "--".
   Returns how many arguments are ours. */
int arguments_split(int argc, char **argv, char ***behind);

/* ---- complete.c ---- */

/* Prints what the last of these words behind the command may become, "WORD\tHELP" a line; STATUS_REFUSED: a file. */
int complete(const struct command *command, int count, char **words);

/* Prints the candidate, if it begins with the word. */
void complete_word(const char *word, const char *candidate, const char *help);

/* ---- what is wrong ---- */

/* Prints "weir: ...", or as the program is called, to stderr; returns STATUS_TROUBLE. */
int trouble(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Of a value that is none of the row's words; returns false. */
bool argument_wrong_word(const struct option_row *row, const char *value);

/* Prints what is wrong with the text of a limit, with the place pointed at; returns STATUS_TROUBLE. */
int limit_trouble(const char *text, const weir_error *error);

const struct command *pace_command(void);
const struct command *explain_command(void);
const struct command *take_command(void);
const struct command *replay_command(void);
const struct command *serve_command(void);
const struct command *engine_command(void);

#endif
