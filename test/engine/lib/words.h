/* SPDX-License-Identifier: MIT
   The words of a command to an engine, as redisCommandArgv wants them. */
#ifndef WEIR_TEST_ENGINE_WORDS_H
#define WEIR_TEST_ENGINE_WORDS_H

#include <stdarg.h>
#include <stdio.h>

enum { WORDS = 24, WORD_SIZE = 200 };

struct words {
    char text[WORDS][WORD_SIZE];
    const char *word[WORDS];
    int count;
};

__attribute__((format(printf, 2, 3))) static inline void add(struct words *words, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words->text[words->count], WORD_SIZE, format, arguments);
    va_end(arguments);
    words->word[words->count] = words->text[words->count];
    words->count++;
}

#endif
