/* SPDX-License-Identifier: MIT
   The command `weir`: a table of commands.

   Exit status 0 done, 1 refused, 2 trouble. */
#include <stdio.h>
#include <string.h>

#include "cli/common/arguments.h"
#include "cli/common/streams.h"
#include "plan/words.h"

static const struct command *(*const commands[])(void) = {pace_command,   explain_command, take_command,
                                                          replay_command, serve_command,   engine_command};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_commands(FILE *out)
{
    fputs("weir is a rate limiter that never lets through more than you allow.\n\n"
          "usage: weir COMMAND [ARGUMENT]...\n\n",
          out);
    for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-9s %s\n", commands[i]()->name, commands[i]()->summary);
    fputs("\nRun 'weir COMMAND --help' for details, or 'weir --version' for the version.\n", out);
}

static const struct command *command_named(const char *name)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i]()->name) == 0) return commands[i]();
    }
    return NULL;
}

static int no_command(const char *name)
{
    const char *near = NULL;
    size_t edits = NEAR_NOTHING;
    if (strcmp(name, "bench") == 0) return trouble("there is no command \"bench\"; it is the program weir-bench now");
    for (int i = 0; i < COMMANDS; i++) {
        if (words_is_nearer(commands[i]()->name, name, strlen(name), &edits)) near = commands[i]()->name;
    }
    if (near != NULL) return trouble("there is no command \"%s\"; did you mean %s?", name, near);
    return trouble("there is no command \"%s\"; see weir --help", name);
}

/* weir help pace = weir pace --help */
static int help_of(char *name)
{
    static char help[] = "--help";
    const struct command *const command = command_named(name);
    return command != NULL ? command->run(2, (char *[]){name, help, NULL}) : no_command(name);
}

/* The words behind `weir complete`: see cli/common/complete.c. */
static int complete_words(int count, char **words)
{
    const struct command *const command = count > 1 ? command_named(words[0]) : NULL;
    if (command != NULL) return complete(command, count - 1, words + 1);
    const char *word = count > 0 ? words[count - 1] : "";
    if (count > 2 || (count == 2 && strcmp(words[0], "help") != 0)) return STATUS_DONE;
    for (int i = 0; i < COMMANDS; i++) complete_word(word, commands[i]()->name, commands[i]()->summary);
    if (count == 2) return STATUS_DONE;
    complete_word(word, "help", "");
    complete_word(word, "--help", "");
    complete_word(word, "--version", "");
    return STATUS_DONE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    streams_keep_numbers();
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        printf("weir %s\n", weir_version());
        return streams_written(STATUS_DONE);
    }
    if (strcmp(name, "help") == 0 && argc == 3) return streams_written(help_of(argv[2]));
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_commands(stdout);
        return streams_written(STATUS_DONE);
    }
    if (strcmp(name, "complete") == 0) return streams_written(complete_words(argc - 2, argv + 2));
    const struct command *const command = command_named(name);
    if (command != NULL) return streams_written(command->run(argc - 1, argv + 1));
    if (argc < 2) {
        print_commands(stderr);
        return STATUS_TROUBLE;
    }
    return no_command(name);
}
