/* SPDX-License-Identifier: MIT
   The command `weir`: a table of commands.

   Exit status 0 done, 1 refused, 2 trouble. */
#include <stdio.h>
#include <string.h>

#include "cli/common/arguments.h"
#include "cli/common/streams.h"
#include "plan/words.h"

static const struct command *command_at(int index)
{
    switch (index) {
    case 0:
        return pace_command();
    case 1:
        return explain_command();
    case 2:
        return take_command();
    case 3:
        return replay_command();
    case 4:
        return serve_command();
    case 5:
        return engine_command();
    default:
        return NULL;
    }
}

static void print_commands(FILE *out)
{
    fputs("weir is a rate limiter that never lets through more than you allow.\n\n"
          "usage: weir COMMAND [ARGUMENT]...\n\n",
          out);
    for (int i = 0; command_at(i) != NULL; i++) {
        fprintf(out, "  %-9s %s\n", command_at(i)->name, command_at(i)->summary);
    }
    fputs("\nRun 'weir COMMAND --help' for details, or 'weir --version' for the version.\n", out);
}

static const struct command *command_named(const char *name)
{
    int i = 0;
    while (command_at(i) != NULL && strcmp(name, command_at(i)->name) != 0) i++;
    return command_at(i);
}

static int no_command(const char *name)
{
    const char *near = NULL;
    size_t edits = NEAR_NOTHING;
    if (strcmp(name, "bench") == 0) return trouble("there is no command \"bench\"; it is the program weir-bench now");
    for (int i = 0; command_at(i) != NULL; i++) {
        if (words_is_nearer(command_at(i)->name, name, strlen(name), &edits)) near = command_at(i)->name;
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
    const struct command *const command = command_named(name);
    if (command != NULL) return streams_written(command->run(argc - 1, argv + 1));
    if (argc < 2) {
        print_commands(stderr);
        return STATUS_TROUBLE;
    }
    return no_command(name);
}
