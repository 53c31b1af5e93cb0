/* SPDX-License-Identifier: MIT
   What a shell completes: `weir complete WORD...` prints what the last word may become, for bash, zsh and fish; what
   they load is in cli/completions, and knows no command and no option. */
#include <stdio.h>
#include <string.h>

#include "cli/common/arguments.h"

void complete_word(const char *word, const char *candidate, const char *help)
{
    if (strncmp(candidate, word, strlen(word)) != 0) return;
    printf("%s%s%s\n", candidate, help[0] != '\0' ? "\t" : "", help);
}

/* word: "--name", "--name=VALUE" or "-n"; NULL: no option with a value */
static const struct option_row *option_of(const struct command *command, const char *word)
{
    const bool is_long = strncmp(word, "--", 2) == 0;
    const size_t size = strcspn(word, "=");
    for (int i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];
        const bool same = is_long ? strlen(row->name) + 2 == size && strncmp(row->name, word + 2, size - 2) == 0
                                  : row->letter != 0 && word[0] == '-' && word[1] == row->letter && word[2] == '\0';
        if (same && row->argument != NULL) return row;
    }
    return NULL;
}

/* before: "--name=" where the shell takes that for a part of the word */
static int complete_value(const struct option_row *row, const char *before, const char *value)
{
    char candidate[96];
    const int size = (int)(value - before);
    for (const char *at = row->words; at != NULL && *at != '\0'; at += *at == ' ') {
        snprintf(candidate, sizeof candidate, "%.*s%.*s", size, before, (int)strcspn(at, " "), at);
        complete_word(before, candidate, "");
        at += strcspn(at, " ");
    }
    return strcmp(row->argument, "FILE") == 0 || strcmp(row->argument, "OLD") == 0 ? STATUS_REFUSED : STATUS_DONE;
}

static int complete_option(const struct command *command, const char *word)
{
    char candidate[64];
    for (int i = 0; i < command->option_count; i++) {
        snprintf(candidate, sizeof candidate, "--%s", command->options[i].name);
        complete_word(word, candidate, command->options[i].help);
    }
    complete_word(word, "--help", "");
    return STATUS_DONE;
}

/* The words of the synopsis that stand in small letters: [install|check] */
static int complete_operand(const struct command *command, const char *word)
{
    static const char between[] = " |[].", small[] = "abcdefghijklmnopqrstuvwxyz";
    char candidate[32];
    bool files = false;
    for (const char *at = command->synopsis; *(at += strspn(at, between)) != '\0'; at += strcspn(at, between)) {
        const size_t size = strcspn(at, between);
        files = files || strncmp(at, "FILE", size) == 0 || strncmp(at, "LOG", size) == 0;
        if (strspn(at, small) != size) continue;
        snprintf(candidate, sizeof candidate, "%.*s", (int)size, at);
        complete_word(word, candidate, "");
    }
    return files ? STATUS_REFUSED : STATUS_DONE;
}

int complete(const struct command *command, int count, char **words)
{
    const char *word = count > 0 ? words[count - 1] : "", *before = count > 1 ? words[count - 2] : "";
    for (int i = 0; i < count - 1; i++) {
        if (strcmp(words[i], "--") == 0) return STATUS_REFUSED; /* a command and its files */
    }
    /* bash makes three words of --name=VALUE. */
    if (strcmp(word, "=") == 0) word = "";
    else if (strcmp(before, "=") == 0 && count > 2) before = words[count - 3];
    const char *equals = strchr(word, '=');
    const struct option_row *row = option_of(command, equals != NULL ? word : before);
    if (row != NULL) return complete_value(row, word, equals != NULL ? equals + 1 : word);
    return word[0] == '-' ? complete_option(command, word) : complete_operand(command, word);
}
