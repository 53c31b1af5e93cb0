/* SPDX-License-Identifier: MIT
   Asks weir without any library: one line out, one array back.

       cc plain.c -o plain && ./plain 9347 user:42 && echo go

   Exit status: 0 may pass, 1 refused, 2 weir says something else, or is away and FAIL_OPEN is false. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* When weir cannot be reached, nothing passes: who calls this may do without.  true: it does. */
static const bool FAIL_OPEN = false;

static FILE *connected(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)strtoul(port, NULL, 10)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct timeval patience = {.tv_sec = 2};
    const int to_weir = socket(AF_INET, SOCK_STREAM, 0);
    if (to_weir < 0) return NULL;
    setsockopt(to_weir, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(to_weir, (struct sockaddr *)&address, sizeof address) != 0) {
        close(to_weir);
        return NULL;
    }
    return fdopen(to_weir, "r+");
}

/* A line of the answer: its kind, then a number. */
static bool read_number(FILE *weir, char kind, long *number)
{
    char line[32];
    if (!fgets(line, sizeof line, weir) || line[0] != kind) return false;
    *number = strtol(line + 1, NULL, 10);
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    FILE *weir = connected(argv[1]);
    if (!weir) {
        perror("weir");
        return FAIL_OPEN ? 0 : 2;
    }
    fprintf(weir, "CL.THROTTLE %s 15 30 60\r\n", argv[2]); /* 30 a minute, and 15 more at once */
    fflush(weir);

    /* redis-cell's five: refused?, most at once, remaining, seconds until again (-1: now), seconds until full. */
    long count, refused, most, left, again, full;
    const bool read = read_number(weir, '*', &count) && read_number(weir, ':', &refused) &&
                      read_number(weir, ':', &most) && read_number(weir, ':', &left) &&
                      read_number(weir, ':', &again) && read_number(weir, ':', &full);
    const bool away = feof(weir) || ferror(weir); /* it ended, or said nothing for 2 s */
    fclose(weir);
    if (!read) return away && FAIL_OPEN ? 0 : 2;
    if (refused && again < 0) puts("refused: never");
    else if (refused) printf("refused: again in %ld s\n", again);
    else printf("%ld of %ld left\n", left, most);
    return refused ? 1 : 0;
}
