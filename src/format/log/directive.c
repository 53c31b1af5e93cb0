/* SPDX-License-Identifier: MIT
   A log_format as it stands in nginx.conf, to the text that nginx makes of it.

       log_format main '$remote_addr [$time_local] '  # quotes, line breaks, comments
                       '"$request"';                  ->  $remote_addr [$time_local] "$request"

   nginx joins the words behind the name.  What stands behind the semicolon is not looked at, so a piece of the file may
   be given.  The quoted words alone do, too.

   Total; what is written is no longer than what is read. */
#include "format/log/directive.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* To the next word, or to the semicolon or the end. */
static const char *skip_spaces(const char *at)
{
    while (is_space(*at) || *at == '#') {
        at += *at == '#' ? strcspn(at, "\n") : 1;
    }
    return at;
}

static bool ends(const char *at)
{
    return *at == '\0' || *at == ';';
}

/* What a backslash and this byte stand for in nginx.conf; NUL: for both of them. */
static char escaped(char c)
{
    switch (c) {
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'n':
        return '\n';
    default:
        if (c == '"' || c == '\'' || c == '\\') return c;
        return '\0';
    }
}

/* Writes a word, without its quotes, to *out and moves it; returns what stands behind the word. */
static const char *read_word(const char *at, char **out)
{
    char quote = '\0';
    if (*at == '\'' || *at == '"') quote = *at++;
    while (*at != '\0' && (quote != '\0' ? *at != quote : !is_space(*at) && *at != ';')) {
        const char *after = at + 1;
        char c = '\0';
        if (*at == '\\') c = escaped(*after);
        if (c == '\0') c = *at;
        else after++;
        *(*out)++ = c;
        at = after;
    }
    return at + (quote != '\0' && *at == quote);
}

static const char *skip_word(const char *at, char *room)
{
    return skip_spaces(read_word(at, &room));
}

static bool is_directive(const char *at)
{
    static const char word[] = "log_format";
    const size_t size = sizeof word - 1;
    return strncmp(at, word, size) == 0 && is_space(at[size]);
}

/* Behind the name of the format, and escape=. */
static const char *skip_name(const char *at, char *room)
{
    at = skip_word(skip_word(at, room), room);
    return strncmp(at, "escape=", strlen("escape=")) == 0 ? skip_word(at, room) : at;
}

bool directive_read(const char *text, char *out)
{
    const char *at = skip_spaces(text);
    const bool named = is_directive(at);
    char *end = out;
    if (named) at = skip_name(at, out);
    bool whole = named || *at == '\'';
    for (; whole && !ends(at); at = skip_spaces(at)) {
        whole = named || *at == '\'' || *at == '"';
        at = read_word(at, &end);
    }
    *(whole ? end : out) = '\0';
    return whole;
}
