/* SPDX-License-Identifier: MIT
   A verdict for each request and limit, back in the order of the log's lines.

       line[]  | decided | decided | - | decided | -          a ring; printed up to the first that is not decided
                 first

   As JSON for --each, or of refusals only, in words, for --follow.

   Every request once, in the order of the lines. */
#include <stdlib.h>
#include <string.h>

#include "cli/replay/show.h"
#include "cli/replay/work.h"

enum { LINES_AT_FIRST = 1 << 10 };

static struct candidate_verdict *verdicts_of(const struct replay *replay, uint64_t line)
{
    const struct each *each = replay->each;
    return &each->verdict[(line & (each->size - 1)) * (size_t)replay->options.limits];
}

static struct outcome *outcome_of(const struct each *each, uint64_t line)
{
    return &each->line[line & (each->size - 1)];
}

bool each_open(struct replay *replay)
{
    struct each *each = calloc(1, sizeof *each);
    if (each == NULL) return false;
    each->size = LINES_AT_FIRST;
    json_file_open(&each->json, stdout);
    each->line = calloc(each->size, sizeof *each->line);
    each->verdict = malloc(each->size * (size_t)replay->options.limits * sizeof *each->verdict);
    replay->each = each;
    return each->line != NULL && each->verdict != NULL;
}

void each_close(struct replay *replay)
{
    if (replay->each == NULL) return;
    free(replay->each->line);
    free(replay->each->verdict);
    free(replay->each);
    replay->each = NULL;
}

static bool grow(struct replay *replay)
{
    struct each *each = replay->each, larger = {.size = each->size * 2};
    const size_t row = (size_t)replay->options.limits * sizeof *each->verdict;
    larger.line = calloc(larger.size, sizeof *larger.line);
    larger.verdict = malloc(larger.size * row);
    if (larger.line == NULL || larger.verdict == NULL) {
        free(larger.line);
        free(larger.verdict);
        return false;
    }
    for (uint64_t line = each->first; line < each->first + each->size; line++) {
        const size_t to = line & (larger.size - 1);
        larger.line[to] = *outcome_of(each, line);
        memcpy(larger.verdict + to * (size_t)replay->options.limits, verdicts_of(replay, line), row);
    }
    free(each->line);
    free(each->verdict);
    each->line = larger.line;
    each->verdict = larger.verdict;
    each->size = larger.size;
    return true;
}

bool each_reach(struct replay *replay, uint64_t line)
{
    return line - replay->each->first < replay->each->size || grow(replay);
}

struct candidate_verdict *each_verdict(struct replay *replay, const struct order_entry *entry)
{
    *outcome_of(replay->each, entry->line) = (struct outcome){entry->time_ns, entry->client, true};
    return verdicts_of(replay, entry->line);
}

/* ---- printing ---- */

static void print_key(struct replay *replay, uint32_t client, struct json *json)
{
    char shown[SHOWN_KEY_MAX];
    size_t size;
    const char *key = clients_key(&replay->clients, client, &size);
    if (memchr(key, KEY_BETWEEN, size) != NULL) {
        size = show_parts(key, size, shown);
        key = shown;
    }
    json_string(json, "key", (struct slice){key, size});
}

static void print_json(struct replay *replay, const struct outcome *outcome, int limit,
                       const struct candidate_verdict *verdict)
{
    struct json_file *out = &replay->each->json;
    struct json *json = &out->json;
    json_object(json, NULL);
    json_number(json, "time_ns", outcome->time_ns);
    print_key(replay, outcome->client, json);
    json_text(json, "limit", replay->options.limit[limit]);
    json_bool(json, "allowed", verdict->allowed);
    json_number(json, "delay_ns", verdict->delay_ns);
    json_number(json, "retry_ns", verdict->retry_ns);
    json_file_end(out);
}

static void print_refusal(struct replay *replay, const struct outcome *outcome, int limit,
                          const struct candidate_verdict *verdict)
{
    char text[SHOWN_KEY_MAX];
    struct writer writer = {text, sizeof text, 0};
    size_t size;
    const char *key = clients_key(&replay->clients, outcome->client, &size);
    show_time(&writer, outcome->time_ns, REPLAY_SECOND_NS / 1000);
    write_text(&writer, "Z  ");
    if (replay->reader.key.parts != 0) show_key(&writer, key, size, SHOWN_COLUMNS_MAX);
    if (replay->reader.key.parts != 0) write_text(&writer, "  ");
    write_text(&writer, replay->options.limit[limit]);
    if (verdict->retry_ns != 0) {
        write_text(&writer, "  again in ");
        write_about(&writer, verdict->retry_ns);
    }
    write_text(&writer, "\n");
    fputs(text, stdout);
}

static void print_line(struct replay *replay, uint64_t line)
{
    const struct outcome *outcome = outcome_of(replay->each, line);
    const struct candidate_verdict *verdict = verdicts_of(replay, line);
    for (int limit = 0; limit < replay->options.limits; limit++) {
        if (replay->options.each) print_json(replay, outcome, limit, &verdict[limit]);
        else if (!verdict[limit].allowed) print_refusal(replay, outcome, limit, &verdict[limit]);
    }
}

void each_print(struct replay *replay)
{
    struct each *each = replay->each;
    if (replay->options.follow) progress_clear(replay);
    while (outcome_of(each, each->first)->decided) {
        print_line(replay, each->first);
        outcome_of(each, each->first)->decided = false;
        each->first++;
    }
    if (!replay->options.follow) return;
    json_file_flush(&each->json);
    fflush(stdout);
}
