/* SPDX-License-Identifier: MIT
   Weir-vectors DIR: runs every *.json of a directory against weir, in the order of the names.

   Status 0 only if every file could be read and nothing differed; 1 = something differed, 2 = could not. Leaves: what a
   file means to file.c, what is equal to judge.c. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

static int is_vector_file(const struct dirent *entry)
{
    static const char suffix[] = ".json";
    const size_t length = strlen(entry->d_name);
    const size_t suffix_length = sizeof suffix - 1;
    return length > suffix_length && strcmp(entry->d_name + length - suffix_length, suffix) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* What test code answered is there only where there is any. */
static void print_line(FILE *out, const struct tally *tally)
{
    fprintf(out, "%s: %" PRIu64 " steps, %" PRIu64 " mismatches, %" PRIu64 " skipped, ", tally->file, tally->run,
            tally->mismatches, tally->skipped);
    if (tally->by_peers > 0) fprintf(out, "%" PRIu64 " by test/peers, ", tally->by_peers);
    fprintf(out, "%" PRIu64 " by the core\n", tally->by_core);
}

static void print_tally(const struct tally *tally)
{
    print_line(stdout, tally);
    fflush(stdout);
    for (size_t i = 0; i < tally->reasons; i++)
        fprintf(stderr, "%s%" PRIu64 " %s", i == 0 ? "  skipped: " : ", ", tally->reason[i].steps,
                tally->reason[i].text);
    if (tally->reasons > 0) fputc('\n', stderr);
}

static void add_to(struct tally *sum, const struct tally *tally)
{
    sum->run += tally->run;
    sum->mismatches += tally->mismatches;
    sum->skipped += tally->skipped;
    sum->by_core += tally->by_core;
    sum->by_peers += tally->by_peers;
}

static int run_one(struct tally *sum, const char *directory, const char *name)
{
    const size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);
    if (path == NULL) {
        fprintf(stderr, "weir-vectors: %s: no memory\n", name);
        return EXIT_TROUBLE;
    }
    snprintf(path, size, "%s/%s", directory, name);
    struct tally tally = {.file = name};
    int status = EXIT_TROUBLE;
    if (file_run(&tally, path) == 0) {
        print_tally(&tally);
        add_to(sum, &tally);
        status = tally.mismatches > 0 ? EXIT_DIFFERS : EXIT_SUCCESS;
    }
    free(path);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: weir-vectors DIR\n");
        return EXIT_TROUBLE;
    }
    struct dirent **names = NULL;
    const int count = scandir(argv[1], &names, is_vector_file, by_name);
    if (count < 0) {
        fprintf(stderr, "weir-vectors: %s: %s\n", argv[1], strerror(errno));
        return EXIT_TROUBLE;
    }
    if (count == 0) fprintf(stderr, "weir-vectors: %s: no *.json file\n", argv[1]);
    int status = count == 0 ? EXIT_TROUBLE : EXIT_SUCCESS;
    struct tally sum = {.file = "all"};
    for (int i = 0; i < count; i++) {
        const int of_file = run_one(&sum, argv[1], names[i]->d_name);
        if (of_file > status) status = of_file;
        free(names[i]);
    }
    free(names);
    print_line(stderr, &sum);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "weir-vectors: stdout: %s\n", strerror(errno));
        status = EXIT_TROUBLE;
    }
    return status;
}
