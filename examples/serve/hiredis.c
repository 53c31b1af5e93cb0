/* SPDX-License-Identifier: MIT
   hiredis.c - lets through those lines of stdin that may pass: a limit for each client, the first word of the line.
   Asks for up to 64 lines at a time, in one packet.

       cc hiredis.c -o limited $(pkg-config --cflags --libs hiredis)
       ./limited 9347 '1/day' < addresses | xargs -n 1 ./send-mail */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, LINE = 4096 };

static void ask(redisContext *weir, const char *limit, const char *line)
{
    redisAppendCommand(weir, "WEIR.TAKE %s %b", limit, line, strcspn(line, " \t\n"));
}

/* The next answer: "allow" first.  What cannot be asked passes: here a line too many does no harm. */
static bool may_pass(redisContext *weir)
{
    void *answer = NULL;
    if (redisGetReply(weir, &answer) != REDIS_OK) {
        fprintf(stderr, "weir: %s\n", weir->errstr);
        return true;
    }
    const redisReply *reply = answer;
    bool pass = true;
    if (reply->type == REDIS_REPLY_ERROR) fprintf(stderr, "weir: %s\n", reply->str);
    else if (reply->type == REDIS_REPLY_ARRAY) pass = strcmp(reply->element[0]->str, "allow") == 0;
    freeReplyObject(answer);
    return pass;
}

int main(int argc, char **argv)
{
    static char lines[BATCH][LINE];
    if (argc != 3) return 2;
    redisContext *weir = redisConnect("127.0.0.1", (int)strtol(argv[1], NULL, 10));
    if (!weir || weir->err) {
        fprintf(stderr, "weir: %s\n", weir ? weir->errstr : "no memory");
        return 2;
    }
    for (int count = 1; count > 0;) {
        count = 0;
        while (count < BATCH && fgets(lines[count], LINE, stdin)) ask(weir, argv[2], lines[count++]);
        for (int i = 0; i < count; i++) {
            if (may_pass(weir)) fputs(lines[i], stdout);
        }
        fflush(stdout);
    }
    redisFree(weir);
    return 0;
}
