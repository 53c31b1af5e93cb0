/* SPDX-License-Identifier: MIT
   Table files that an older weir wrote: what is asked of them, and what it answered then.

       tables write FOLDER    [built with that weir: make] makes the files, and prints what it answers
       tables check FOLDER    asks copies of those files the same: prints what this weir answers
       tables refused FOLDER  files of a machine that is another one: prints why this weir does not open them

   All times are the table's own, so the answers do not depend on the day, the boot or the machine.

   The same source asks both, so the two outputs are the same or something that was used is forgotten. */
#include "compat/tables.h"

#include <inttypes.h>

static void use_it(weir_table *table, const struct use *use)
{
    const weir_plan plan = plan_of(use->limit);
    for (int i = 0; i < 2; i++) {
        if (use->cost[i] == 0) continue;
        const weir_decision decision =
            weir_table_take_at(table, &plan, weir_key_text(use->key), instant(table, USED_S), use->cost[i]);
        if (decision.verdict != WEIR_ALLOW) stop(use->limit, "it does not pass");
    }
}

static void make(const char *folder, const struct file *file)
{
    weir_error error;
    weir_table *table = open_file(folder, file, WEIR_CREATE);
    int grown_times = 0;
    for (const struct use *use = file->use; use->limit != NULL; use++) {
        use_it(table, use);
        if (grown_times++ < file->grown && weir_table_grow(table, file->keys << (2 * grown_times), &error) != 0)
            stop(file->name, error.message);
    }
    weir_table_close(table);
}

/* The same limit with other numbers finds what was used: that needs the rules that the file remembers. */
static void changed(char text[LINE_MAX_HERE], const char *limit)
{
    snprintf(text, LINE_MAX_HERE, "2%s", limit);
}

static void print_byte(unsigned char byte)
{
    printf(byte > ' ' && byte < 127 ? "%c" : "%%%02x", byte);
}

static void ask(weir_table *table, const struct file *file, const struct use *use, const char *limit, uint64_t later_s,
                uint64_t cost)
{
    const weir_plan plan = plan_of(limit);
    weir_decision decision =
        keyed_peek(table, &plan, weir_key_text(use->key), instant(table, USED_S + later_s).ns, -1, cost);
    printf("%s '%s' ", file->name, limit);
    for (const char *byte = use->key; *byte != '\0'; byte++) print_byte((unsigned char)*byte);
    printf(" +%" PRIu64 "s %" PRIu64 ": %d %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", later_s, cost,
           (int)decision.verdict, decision.limit, decision.remaining,
           decision.verdict == WEIR_ALLOW ? 0 : decision.retry_ns, weir_table_full_ns(table, &plan, &decision));
}

static void answer(const char *folder, const struct file *file)
{
    char other[LINE_MAX_HERE];
    weir_table *table = open_file(folder, file, WEIR_JOIN);
    for (const struct use *use = file->use; use->limit != NULL; use++) {
        changed(other, use->limit);
        for (size_t i = 0; i < sizeof LATER_S / sizeof LATER_S[0]; i++) {
            ask(table, file, use, use->limit, LATER_S[i], 1);
            ask(table, file, use, use->limit, LATER_S[i], 4);
            ask(table, file, use, other, LATER_S[i], 1);
        }
    }
    weir_table_close(table);
}

static void refused(const char *folder, const struct file *file)
{
    weir_error error;
    weir_table *table = try_file(folder, file, WEIR_JOIN, &error);
    if (table != NULL) stop(file->name, "it was opened");
    if (error.code != WEIR_EVERSION) stop(file->name, error.message);
    printf("%s\n", error.message);
}

int main(int argc, char **argv)
{
    if (argc != 3) stop("usage", "tables write|check|refused FOLDER");
    const bool writes = strcmp(argv[1], "write") == 0;
    const bool are_refused = strcmp(argv[1], "refused") == 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (writes) make(argv[2], &files[i]);
        if (!is_in(argv[2], &files[i])) continue; /* that weir had none; what it answered would be missed */
        if (are_refused) refused(argv[2], &files[i]);
        else answer(argv[2], &files[i]);
    }
    return 0;
}
