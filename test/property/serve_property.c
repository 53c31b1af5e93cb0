/* SPDX-License-Identifier: MIT
   Whatever arrives in whatever pieces, the service says the same, and stays whole.

   1. Two services get the same commands of several sessions.  One gets those of a time at once, in one batch; the other
      each cut anywhere, a batch for each piece, and beginnings of others in between.  Every session is told the same,
      to the byte but for receipts, which name the service; what receipts give back is the same.
   2. Any bytes, and commands with bytes changed: no more is taken than there is, one that is closing takes nothing, and
      memory stays as large as an answer may be.

   A clock by hand. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "property.h"
#include "serve/protocols.h"
#include "unit/serve_rig.h"

enum { COMMANDS_MAX = 40, COMMAND_BYTES = 640, UNREAD_MAX = 1 << 16, ANY_MAX = 3000, RECEIPT_DIGITS = 34 + 16 * 7 };

/* ---- commands ---- */

struct command {
    unsigned session;
    uint64_t now_ns;
    bool settles; /* the last receipt of its session: behind "WEIR.SETTLE" only numbers are here */
    char bytes[COMMAND_BYTES];
    size_t size;
};

static const char *const limits[] = {"10/s burst=3",
                                     "1/s",
                                     "5/min burst=2",
                                     "api",
                                     "10/s burst=5; 20/min",
                                     "none",
                                     "unlimited",
                                     "3/s algorithm=sliding-log",
                                     "4/s algorithm=fixed-window",
                                     "2 concurrent lease=1s",
                                     "3 concurrent jobs lease=100ms; 10/s",
                                     "list",
                                     "10/",
                                     "nobody"};
static const char *const others[] = {"PING",
                                     "ECHO hello",
                                     "CLIENT ID",
                                     "NOSUCH a b",
                                     "WEIR.LIMIT LIST",
                                     "WEIR.LIMIT SET api \"9/s burst=4\"",
                                     "WEIR.LIMIT SET api \"2/s\"",
                                     "HELLO 3",
                                     "HELLO 2",
                                     "WEIR.TAKE",
                                     "WEIR.RENEW \"2 concurrent lease=1s\" k0 65536",
                                     "WEIR.RELEASE \"2 concurrent lease=1s\" k1 1",
                                     "WEIR.RELEASE api k0 1",
                                     "WEIR.TAKE \"1 concurrent jobs lease=1s; 10/s\" k0 COST jobs 1 requests 2",
                                     "CL.THROTTLE a b c d",
                                     "COMMAND COUNT",
                                     "WEIR.LIMIT GET api"};

#define PICK(prop, array) (array)[prop_pick(prop, sizeof(array) / sizeof(array)[0])]

static void add_argument(struct command *command, const char *text)
{
    command->size += (size_t)snprintf(command->bytes + command->size, sizeof command->bytes - command->size,
                                      "$%zu\r\n%s\r\n", strlen(text), text);
}

static void pick_question(struct prop *prop, struct command *command)
{
    static const char *const verbs[] = {"WEIR.TAKE", "weir.take", "WEIR.CHARGE", "WEIR.FORGET", "CL.THROTTLE"};
    const uint64_t verb = prop_pick(prop, 5);
    const char key[] = {'k', (char)('0' + prop_pick(prop, 3)), '\0'};
    char cost[24];
    const bool throttle = verb == 4;
    const bool peek = verb < 2 && prop_chance(prop, 4), costs = verb != 3;
    const unsigned count = throttle ? 6 : (unsigned)(3 + (costs ? (verb < 2) + 1 : 0) + peek);
    snprintf(cost, sizeof cost, "%" PRIu64, prop_pick_size(prop, 12));
    command->size = (size_t)snprintf(command->bytes, sizeof command->bytes, "*%u\r\n", count);
    add_argument(command, verbs[verb]);
    if (!throttle) add_argument(command, PICK(prop, limits));
    add_argument(command, key);
    if (throttle) {
        add_argument(command, prop_chance(prop, 2) ? "2" : "15");
        add_argument(command, "30");
        add_argument(command, "60");
    }
    if (verb < 2) add_argument(command, "COST");
    if (costs) add_argument(command, cost);
    if (peek) add_argument(command, "peek");
}

static void pick_command(struct prop *prop, struct command *command)
{
    command->session = (unsigned)prop_pick(prop, RIG_SESSIONS);
    command->settles = false;
    const uint64_t kind = prop_pick(prop, 8);
    if (kind == 0) {
        command->size = (size_t)snprintf(command->bytes, sizeof command->bytes, "%s\r\n", PICK(prop, others));
    } else if (kind == 1) {
        command->settles = true;
        command->size =
            (size_t)snprintf(command->bytes, sizeof command->bytes, "$1\r\n%" PRIu64 "\r\n", prop_pick(prop, 10));
    } else {
        pick_question(prop, command);
    }
}

/* ---- a service, and what has arrived that it did not take ---- */

struct side {
    struct rig *rig;
    char unread[RIG_SESSIONS][UNREAD_MAX];
    size_t size[RIG_SESSIONS];
    char receipt[RIG_SESSIONS][RECEIPT_MAX];
    size_t receipt_size[RIG_SESSIONS], looked_at[RIG_SESSIONS];
};

static struct side *side_open(void)
{
    struct side *side = calloc(1, sizeof *side);
    if (side == NULL) abort();
    side->rig = rig_open();
    rig_send(side->rig, "WEIR.LIMIT SET api \"10/s burst=3\"\r\nWEIR.LIMIT SET list \"10/s; 9/min\"\r\n");
    side->rig->size[0] = 0;
    return side;
}

static void side_close(struct side *side)
{
    rig_close(side->rig);
    free(side);
}

static void arrive(struct prop *prop, struct side *side, unsigned session, const char *bytes, size_t size)
{
    prop_check(prop, side->size[session] + size <= UNREAD_MAX, "what should be taken is not");
    memcpy(side->unread[session] + side->size[session], bytes, size);
    side->size[session] += size;
}

/* A batch over all sessions; what was taken goes when it is over. */
static void batch_over(struct prop *prop, struct side *side)
{
    size_t taken[RIG_SESSIONS];
    batch_begin(&side->rig->batch);
    for (unsigned i = 0; i < RIG_SESSIONS; i++) {
        const struct slice bytes = {side->unread[i], side->size[i]};
        taken[i] = handle_bytes(&side->rig->batch, &side->rig->session[i], bytes);
        prop_check(prop, taken[i] <= side->size[i], "more was taken than there is");
    }
    batch_end(&side->rig->batch);
    for (unsigned i = 0; i < RIG_SESSIONS; i++) {
        side->size[i] -= taken[i];
        memmove(side->unread[i], side->unread[i] + taken[i], side->size[i]);
    }
}

static size_t digits_at(const char *bytes, size_t size)
{
    size_t count = size >= 2 && memcmp(bytes, "w2", 2) == 0 ? 2 : 0;
    while (count < size &&
           ((bytes[count] >= '0' && bytes[count] <= '9') || (bytes[count] >= 'a' && bytes[count] <= 'f')))
        count++;
    return count;
}

/* Keeps the last receipt, and what differs between services becomes X. */
static void look_at_answers(struct side *side)
{
    for (unsigned i = 0; i < RIG_SESSIONS; i++) {
        char *out = side->rig->out[i];
        for (size_t at = side->looked_at[i]; at < side->rig->size[i]; at++) {
            const size_t digits = digits_at(out + at, side->rig->size[i] - at);
            if (digits < RECEIPT_DIGITS || out[at] != 'w') continue;
            const char *end = memchr(out + at, '\r', side->rig->size[i] - at);
            side->receipt_size[i] = (size_t)(end - (out + at));
            memcpy(side->receipt[i], out + at, side->receipt_size[i]);
            memset(out + at, 'X', RECEIPT_DIGITS);
        }
        side->looked_at[i] = side->rig->size[i];
    }
}

/* The command as this service has to hear it. */
static size_t bytes_of(const struct side *side, const struct command *command, char out[COMMAND_BYTES + RECEIPT_MAX])
{
    size_t size = 0;
    if (command->settles) {
        const size_t receipt = side->receipt_size[command->session];
        size = (size_t)sprintf(out, "*3\r\n$11\r\nWEIR.SETTLE\r\n$%zu\r\n", receipt);
        memcpy(out + size, side->receipt[command->session], receipt);
        size += receipt;
        size += (size_t)sprintf(out + size, "\r\n");
    }
    memcpy(out + size, command->bytes, command->size);
    return size + command->size;
}

/* ---- 1. ---- */

/* All of one time in one batch, but that a receipt has to be known before it is settled. */
static void say_whole(struct prop *prop, struct side *side, const struct command commands[], size_t count)
{
    char bytes[COMMAND_BYTES + RECEIPT_MAX];
    for (size_t i = 0; i < count; i++) {
        if (i != 0 && (commands[i].now_ns != side->rig->now_ns || commands[i].settles ||
                       commands[i].session < commands[i - 1].session)) {
            batch_over(prop, side);
            look_at_answers(side);
        }
        side->rig->now_ns = commands[i].now_ns;
        arrive(prop, side, commands[i].session, bytes, bytes_of(side, &commands[i], bytes));
    }
    batch_over(prop, side);
    look_at_answers(side);
}

/* The beginning of what another session says next. */
static void say_early(struct prop *prop, struct side *side, const struct command commands[], size_t count, size_t now,
                      size_t sent[])
{
    const size_t other = now + 1 + (size_t)prop_pick(prop, count - now - 1);
    for (size_t i = now; i < other; i++) {
        if (commands[i].session == commands[other].session) return;
    }
    if (commands[other].settles) return;
    const size_t more = (size_t)prop_pick(prop, commands[other].size - sent[other]);
    arrive(prop, side, commands[other].session, commands[other].bytes + sent[other], more);
    sent[other] += more;
    batch_over(prop, side);
}

static void say_split(struct prop *prop, struct side *side, const struct command commands[], size_t count)
{
    size_t sent[COMMANDS_MAX] = {0};
    char bytes[COMMAND_BYTES + RECEIPT_MAX];
    for (size_t i = 0; i < count; i++) {
        side->rig->now_ns = commands[i].now_ns;
        const size_t size = bytes_of(side, &commands[i], bytes);
        const bool bytewise = prop_chance(prop, 8);
        while (sent[i] < size) {
            if (i + 1 < count && prop_chance(prop, 4)) say_early(prop, side, commands, count, i, sent);
            const size_t left = size - sent[i];
            const size_t piece = bytewise ? 1 : left - (size_t)prop_pick(prop, left);
            arrive(prop, side, commands[i].session, bytes + sent[i], piece);
            sent[i] += piece;
            batch_over(prop, side);
            look_at_answers(side);
        }
    }
}

static void same_however_split(struct prop *prop)
{
    static struct command commands[COMMANDS_MAX];
    struct side *whole = side_open(), *split = side_open();
    uint64_t now_ns = UINT64_C(5000000000);
    size_t count = 0;
    do {
        pick_command(prop, &commands[count]);
        if (prop_chance(prop, 3)) now_ns += prop_pick_size(prop, UINT64_C(3000000000));
        commands[count++].now_ns = now_ns;
    } while (count < COMMANDS_MAX && prop_more(prop, 15));
    say_whole(prop, whole, commands, count);
    say_split(prop, split, commands, count);
    for (size_t i = 0; i < count; i++)
        prop_note(prop, "%u at %" PRIu64 ": %.*s", commands[i].session, commands[i].now_ns, (int)commands[i].size,
                  commands[i].bytes);
    for (unsigned i = 0; i < RIG_SESSIONS; i++) {
        const size_t size = whole->rig->size[i];
        const bool same = size == split->rig->size[i] && memcmp(whole->rig->out[i], split->rig->out[i], size) == 0;
        prop_check(prop, same, "session %u is told\n%.*s\nand in pieces\n%.*s", i, (int)size, whole->rig->out[i],
                   (int)split->rig->size[i], split->rig->out[i]);
        prop_check(prop, whole->size[i] == 0 && split->size[i] == 0, "something was not taken");
    }
    side_close(whole);
    side_close(split);
}

/* ---- 2. ---- */

static size_t pick_bytes(struct prop *prop, char bytes[ANY_MAX])
{
    static const char take[] = "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                               "Content-Length: 36\r\n\r\n{\"limit\":\"10/s burst=2\",\"key\":\"abcd\"}";
    static const char *const requests[] = {
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", take,
        "GET /auth?limit=10/s&key=a HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n\r\n"};
    size_t size = 0;
    while (size < ANY_MAX - COMMAND_BYTES && prop_more(prop, 6)) {
        struct command command;
        const uint64_t kind = prop_pick(prop, 3);
        const size_t begin = size;
        if (kind == 0) {
            for (size_t i = 0; i < 20; i++) bytes[size++] = (char)prop_pick(prop, 256);
        } else if (kind == 1) {
            pick_command(prop, &command);
            memcpy(bytes + size, command.bytes, command.size);
            size += command.size;
        } else {
            size += (size_t)sprintf(bytes + size, "%s", PICK(prop, requests));
        }
        while (prop_chance(prop, 3)) bytes[begin + prop_pick(prop, size - begin)] = (char)prop_pick(prop, 256);
    }
    return size;
}

static void whole_whatever_comes(struct prop *prop)
{
    static char bytes[ANY_MAX];
    struct rig *rig = rig_open();
    rig->session[1].protocol = SESSION_HTTP;
    const unsigned session = (unsigned)prop_pick(prop, 2);
    const size_t size = pick_bytes(prop, bytes);
    size_t taken = 0;
    for (size_t there = 0; there < size;) {
        there += 1 + (size_t)prop_pick(prop, size - there);
        const bool was_closing = rig->session[session].closing;
        batch_begin(&rig->batch);
        const size_t more =
            handle_bytes(&rig->batch, &rig->session[session], (struct slice){bytes + taken, there - taken});
        batch_end(&rig->batch);
        taken += more;
        prop_check(prop, taken <= there, "%zu of %zu bytes were taken", taken, there);
        prop_check(prop, !was_closing || more == 0, "one that is closing was listened to");
        prop_check(prop, rig->batch.out.capacity <= 8 << 20 && rig->size[session] < RIG_OUT, "so long an answer");
    }
    rig_close(rig);
}

static void serve_property(struct prop *prop)
{
    prop_step(prop);
    if (prop_chance(prop, 2)) same_however_split(prop);
    else whole_whatever_comes(prop);
}

PROPERTY("serve", serve_property, 4000);
