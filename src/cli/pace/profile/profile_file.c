/* SPDX-License-Identifier: MIT
   A profile that stands in a file, one phase a line: its lines are joined by "then", as the text is written elsewhere.

       # the nightly load
       100/s for 1min
       ..1000/s for 30s        # a ramp
       pause 5s
       200/s
       catchup=1.2

   What follows a "#" is a comment.  A line may be options alone, and may begin or end with the "then". */
#include "cli/pace/profile/profile_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/arguments.h"
#include "plan/reader.h"

static bool begins_with_then(const char *line)
{
    return strncmp(line, "then", 4) == 0 && !reader_is_letter(line[4]);
}

static bool ends_with_then(const struct profile_file *file)
{
    const char *end = file->text + file->size;
    return file->size > 4 && memcmp(end - 4, "then", 4) == 0 && reader_is_space(end[-5]);
}

static bool is_option(const char *line)
{
    while (reader_is_letter(*line) || *line == '-') line++;
    return *line == '=';
}

static bool append(struct profile_file *file, const char *text, size_t size)
{
    if (size >= sizeof file->text - file->size) return false;
    memcpy(file->text + file->size, text, size);
    file->size += size;
    file->text[file->size] = '\0';
    return true;
}

/* One line without its newline; it is cut where its comment begins. */
static bool add_line(struct profile_file *file, char *line, int number)
{
    const size_t indent = strspn(line, " \t\r");
    line[strcspn(line, "#")] = '\0';
    size_t size = strlen(line);
    while (size > indent && reader_is_space(line[size - 1])) size--;
    line[size] = '\0';
    if (size <= indent) return true;
    const char *text = line + indent;
    const bool joined = begins_with_then(text) || ends_with_then(file) || is_option(text);
    if (file->size != 0 && !append(file, joined ? " " : " then ", joined ? 1 : 6)) return false;
    if (file->lines == PROFILE_LINES_MAX) return false;
    file->line[file->lines].at = file->size;
    file->line[file->lines].line = number;
    file->line[file->lines++].column = (int)indent;
    return append(file, text, size - indent);
}

bool profile_file_read(struct profile_file *file, const char *path)
{
    char line[PROFILE_TEXT_MAX];
    bool fits = true;
    FILE *in = fopen(path, "r");
    *file = (struct profile_file){.path = path};
    for (int number = 1; in != NULL && fits && fgets(line, sizeof line, in) != NULL; number++) {
        const size_t size = strcspn(line, "\n");
        fits = line[size] == '\n' || feof(in);
        line[size] = '\0';
        fits = fits && add_line(file, line, number);
    }
    const bool failed = in == NULL || ferror(in) != 0;
    const int why = errno;
    if (in != NULL) fclose(in);
    if (failed) trouble("--profile %s: %s", path, strerror(why));
    else if (!fits) trouble("%s: expected a profile of less than 4 KiB, one phase a line", path);
    else if (file->size == 0) trouble("%s: expected one phase a line; for example 100/s for 1min", path);
    return !failed && fits && file->size != 0;
}

int profile_file_trouble(const struct profile_file *file, int column, const char *message)
{
    const size_t at = column > 0 ? (size_t)column - 1 : 0;
    int i = file->lines - 1;
    while (i > 0 && file->line[i].at > at) i--;
    return trouble("%s:%d:%d: %s", file->path, file->line[i].line,
                   file->line[i].column + 1 + (int)(at - file->line[i].at), message);
}
