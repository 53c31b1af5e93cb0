/* SPDX-License-Identifier: MIT
   Lets through those lines of stdin that may pass: a limit for each client, the first word of the line.
   Asks for up to 64 lines at a time, in one packet.

       cc hiredis.c -o limited $(pkg-config --cflags --libs hiredis)
       ./limited 9347 '1/day' < addresses | xargs -n 1 ./send-mail */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { BATCH = 64, LINE = 4096 };

/* When weir cannot be reached, lines pass: here one too many does no harm.  false: none does. */
static const bool FAIL_OPEN = true;

static void ask(redisContext *weir, const char *limit, const char *line)
{
    redisAppendCommand(weir, "WEIR.TAKE %s %b", limit, line, strcspn(line, " \t\n"));
}

/* The next answer.  Whatever is not "allow" is refused, a mistake, too. */
static bool may_pass(redisContext *weir)
{
    void *answer = NULL;
    if (redisGetReply(weir, &answer) != REDIS_OK) {
        fprintf(stderr, "weir: %s\n", weir->errstr);
        return FAIL_OPEN;
    }
    const redisReply *reply = answer;
    if (reply->type == REDIS_REPLY_ERROR) fprintf(stderr, "weir: %s\n", reply->str);
    const bool pass = reply->type == REDIS_REPLY_ARRAY && strcmp(reply->element[0]->str, "allow") == 0;
    freeReplyObject(answer);
    return pass;
}

int main(int argc, char **argv)
{
    static char lines[BATCH][LINE];
    if (argc != 3) return 2;
    const struct timeval patience = {.tv_sec = 2};
    redisContext *weir = redisConnectWithTimeout("127.0.0.1", (int)strtol(argv[1], NULL, 10), patience);
    if (!weir) return 2;
    redisSetTimeout(weir, patience);
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
