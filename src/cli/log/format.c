/* SPDX-License-Identifier: MIT
   The format of a log: as it was typed, or as the first line shows it.

   A piece of nginx.conf is taken for what nginx makes of it.  "time" is whatever is called like one where no field has
   that very name, as "client" and "path" are.  What is wrong is said with the option that it is in. */
#include "cli/log/format.h"

#include <stdlib.h>
#include <string.h>

#include "cli/common/arguments.h"
#include "format/log/directive.h"

/* NULL: the first line says it. */
static const char *text_of(const struct log_format *format, const struct log_asked *asked)
{
    if (asked->format == NULL) return NULL;
    return directive_read(asked->format, format->text) ? format->text : asked->format;
}

static bool wrong(const struct log_asked *asked, const struct accesslog_problem *problem)
{
    const char *option = asked->time_option;
    if (problem->of_duration) return trouble("--duration %s: %s", asked->clocks.duration, problem->message) == 0;
    const bool in_variables = asked->format != NULL && strchr(asked->format, '$') != NULL && problem->column != 0;
    if (problem->of_time && asked->clocks.time != NULL)
        trouble("%s %s: %s", option, asked->clocks.time, problem->message);
    else if (problem->of_time) trouble("--format: %s; name the time field with %s", problem->message, option);
    else if (in_variables) trouble("--format: column %zu: %s", problem->column, problem->message);
    else trouble("--format: %s", problem->message);
    return false;
}

/* Objects need not all have the same fields, so the first one shows whether there is such a field. */
static bool opens(struct accesslog *log, const char *text, const struct accesslog_clocks *clocks, struct slice line,
                  struct accesslog_problem *problem)
{
    struct accesslog_entry entry;
    const struct accesslog_clocks known = {NULL, clocks->duration};
    const bool usual = clocks->time != NULL && strcmp(clocks->time, "time") == 0;
    const bool opened = accesslog_open_clocks(log, text, clocks, line, problem);
    if (!usual || (opened && log->kind != ACCESSLOG_JSON)) return opened;
    if (opened && accesslog_read(log, line, &entry, problem)) return true;
    return accesslog_open_clocks(log, text, &known, line, problem);
}

bool format_open(struct log_format *format, const struct log_asked *asked, struct slice first_line)
{
    struct accesslog_problem problem;
    format->first_line = malloc(first_line.size + 1);
    format->text = malloc(asked->format != NULL ? strlen(asked->format) + 1 : 1);
    if (format->first_line == NULL || format->text == NULL) {
        trouble("no memory for the format of the log");
        return false;
    }
    if (first_line.size != 0) memcpy(format->first_line, first_line.bytes, first_line.size);
    const struct slice line = {format->first_line, first_line.size};
    if (opens(&format->log, text_of(format, asked), &asked->clocks, line, &problem)) return true;
    return wrong(asked, &problem);
}

void format_close(struct log_format *format)
{
    free(format->first_line);
    free(format->text);
    format->first_line = format->text = NULL;
}
