/* SPDX-License-Identifier: MIT
   A server of our own that says what a test of the client wants, and the client that asks it. */
#ifndef WEIR_TEST_ENGINE_SERVER_H
#define WEIR_TEST_ENGINE_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weir/redis.h>

/* ---- the server: one thread, one connection after the other ---- */

#define ALLOW(remaining)                                                                                               \
    "*8\r\n$5\r\nallow\r\n:0\r\n:" #remaining "\r\n:0\r\n:0\r\n:1000\r\n:1700000000000000\r\n:0\r\n"
static const char CLOSE[] = "close", SILENCE[] = "silence", FLOOD[] = "flood";

enum { WORDS_MAX = 12, WORD_MAX = 128, ANSWERS_MAX = 8, FLOOD_BYTES = 40 * 1024 * 1024 };

/* What a node says of itself, and asks of others. */
enum { BEAT_ADD, BEAT_DROP, BEAT_CARD, BEAT_COUNT, BEAT_EXPIRE, BEAT_LEAVE, BEATS };
static const char *const beat_verbs[BEATS] = {"ZADD", "ZREMRANGEBYSCORE", "ZCARD", "ZCOUNT", "EXPIRE", "ZREM"};

static struct {
    int listener;
    pthread_t thread;
    const char *answer[ANSWERS_MAX]; /* to questions, one after the other; then the usual one, ALLOW(7) */
    const char *usual;
    const char *greeting;       /* the answer to PING; NULL: PONG */
    const char *late;           /* of one that was to be silent, with the next command; NULL: ALLOW(0) */
    const char *commands;       /* what COMMAND INFO tells; NULL: FCALL, and no module */
    const char *time;           /* the answer to TIME; NULL: an error */
    char beat[BEATS][WORD_MAX]; /* the words of the last one of each kind */
    const char *lease;          /* the answer to weir_lease */
    char lease_words[256];      /* of the last command of leases */
    const char *_Atomic secret; /* the answer to GET receipts:{weir:} */
    char question[1024];        /* the words of the last one */
    bool held;                  /* a question is still to be answered */
    unsigned port;
    _Atomic bool live; /* ZCOUNT says 2, not 0 */
    _Atomic unsigned maps, names, roles, questions, loads, evals, sets, asked;
} server;

static inline bool read_line(FILE *from, char *line, size_t room)
{
    if (fgets(line, (int)room, from) == NULL) return false;
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

/* Words are cut at WORD_MAX. */
static inline int read_command(FILE *from, char words[WORDS_MAX][WORD_MAX])
{
    char line[WORD_MAX];
    if (!read_line(from, line, sizeof line)) return 0;
    const int count = atoi(line + 1);
    for (int i = 0; i < count; i++) {
        if (!read_line(from, line, sizeof line)) return 0;
        const int size = atoi(line + 1);
        for (int at = 0; at < size + 2; at++) {
            const int byte = getc(from);
            if (i < WORDS_MAX && at < WORD_MAX - 1) words[i][at] = at < size ? (char)byte : '\0';
        }
        if (i < WORDS_MAX) words[i][size < WORD_MAX ? size : WORD_MAX - 1] = '\0';
    }
    return count;
}

static inline bool say(int connection, const char *text)
{
    return send(connection, text, strlen(text), MSG_NOSIGNAL) >= 0;
}

static inline void flood(int connection)
{
    static char bytes[1 << 16];
    memset(bytes, 'x', sizeof bytes);
    say(connection, "$2000000000\r\n");
    for (size_t sent = 0; sent < FLOOD_BYTES; sent += sizeof bytes) {
        if (send(connection, bytes, sizeof bytes, MSG_NOSIGNAL) < 0) return;
    }
}

/* The words of a command have no bytes of what stands behind them in the client. */
static inline bool is_load(char words[WORDS_MAX][WORD_MAX])
{
    return strcmp(words[0], "FUNCTION") == 0 && memcmp(words[1], "LOAD\0", sizeof "LOAD\0") == 0;
}

/* SET receipts:{weir:} 64 digits NX */
static inline bool is_new_secret(char words[WORDS_MAX][WORD_MAX])
{
    return strcmp(words[0], "SET") == 0 && strcmp(words[1], "receipts:{weir:}") == 0 && strlen(words[2]) == 64 &&
           strspn(words[2], "0123456789abcdef") == 64 && strcmp(words[3], "NX") == 0;
}

/* CLIENT SETNAME weir */
static inline bool is_name(char words[WORDS_MAX][WORD_MAX])
{
    return strcmp(words[0], "CLIENT") == 0 && strcmp(words[1], "SETNAME") == 0 && strcmp(words[2], "weir") == 0;
}

/* false: the connection is to end. */
static inline void keep_words(char words[WORDS_MAX][WORD_MAX], int count, char *text, size_t room)
{
    size_t size = 0;
    for (int i = 0; i < count && i < WORDS_MAX && size < room; i++)
        size += (size_t)snprintf(text + size, room - size, "%s%.70s", i == 0 ? "" : " ", words[i]);
}

static inline bool answer_question(int connection, char words[WORDS_MAX][WORD_MAX], int count)
{
    keep_words(words, count, server.question, sizeof server.question);
    const unsigned at = atomic_fetch_add(&server.questions, 1);
    const char *const answer = at < ANSWERS_MAX && server.answer[at] != NULL ? server.answer[at] : server.usual;
    if (answer == CLOSE) return false;
    if (answer == FLOOD) flood(connection);
    else if (answer == SILENCE) server.held = true;
    else say(connection, answer);
    return true;
}

/* All slots are its own. */
static inline bool say_map(int connection)
{
    char map[128];
    snprintf(map, sizeof map, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%u\r\n", server.port);
    atomic_fetch_add(&server.maps, 1);
    return say(connection, map);
}

static inline bool answer_command(int connection, char words[WORDS_MAX][WORD_MAX], int count)
{
    if (server.held) say(connection, server.late != NULL ? server.late : ALLOW(0)); /* before all that follows */
    server.held = false;
    if (strcmp(words[0], "EVAL") == 0) atomic_fetch_add(&server.evals, 1);
    if (count > 1 && (strcmp(words[1], "weir_lease") == 0 || strcmp(words[1], "weir_return") == 0)) {
        keep_words(words, count, server.lease_words, sizeof server.lease_words);
        return say(connection, strcmp(words[1], "weir_lease") == 0 ? server.lease : ":1\r\n");
    }
    if (strcmp(words[0], "FCALL") == 0 || strncmp(words[0], "EVAL", 4) == 0 || strncmp(words[0], "WEIR.", 5) == 0)
        return answer_question(connection, words, count);
    if (strcmp(words[0], "ROLE") == 0) atomic_fetch_add(&server.roles, 1);
    if (strcmp(words[0], "ASKING") == 0) atomic_fetch_add(&server.asked, 1);
    if (is_name(words)) atomic_fetch_add(&server.names, 1);
    if (is_load(words)) atomic_fetch_add(&server.loads, 1);
    if (is_new_secret(words)) atomic_fetch_add(&server.sets, 1);
    if (strcmp(words[0], "GET") == 0 && strcmp(words[1], "receipts:{weir:}") == 0)
        return say(connection, server.secret);
    if (strcmp(words[0], "COMMAND") == 0)
        return say(connection, server.commands != NULL ? server.commands : "*2\r\n*-1\r\n*1\r\n$5\r\nfcall\r\n");
    if (strcmp(words[0], "PING") == 0) return say(connection, server.greeting != NULL ? server.greeting : "+PONG\r\n");
    if (strcmp(words[0], "CLUSTER") == 0) return say_map(connection);
    for (int i = 0; i < BEATS; i++) {
        if (strcmp(words[0], beat_verbs[i]) != 0) continue;
        keep_words(words, count, server.beat[i], sizeof server.beat[i]);
        return say(connection, i == BEAT_CARD ? ":3\r\n" : i == BEAT_COUNT && server.live ? ":2\r\n" : ":0\r\n");
    }
    if (strcmp(words[0], "TIME") == 0) return say(connection, server.time != NULL ? server.time : "-ERR no\r\n");
    return say(connection, "+OK\r\n");
}

static inline void *serve(void *unused)
{
    char words[WORDS_MAX][WORD_MAX];
    for (;;) {
        const int connection = accept(server.listener, NULL, NULL);
        if (connection < 0) return unused;
        FILE *const from = fdopen(connection, "r");
        int count;
        do {
            count = read_command(from, words);
        } while (count > 0 && answer_command(connection, words, count));
        fclose(from);
    }
}

/* ---- the client ---- */

static weir_engine *engine;
static weir_engine_limit *limit;
static char told[256];
static unsigned outages;

static inline void changed(void *context, bool away, const char *why)
{
    (void)context;
    outages += away;
    snprintf(told, sizeof told, "%s", why);
}

/* The server is at this address, which the URL gives by this name. */
static inline void begin_at(const char *scheme, uint32_t at, const char *name, uint64_t deadline_ms, uint64_t lease_ms)
{
    char url[64];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(at)}};
    socklen_t size = sizeof address;
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    memset(&server, 0, sizeof server);
    server.usual = ALLOW(7);
    server.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server.listener, 16), 0);
    assert_int_equal(getsockname(server.listener, (struct sockaddr *)&address, &size), 0);
    server.port = ntohs(address.sin_port);
    snprintf(url, sizeof url, "%s://%s:%u", scheme, name, server.port);
    options.changed = changed;
    options.deadline_ns = deadline_ms * 1000000;
    options.lease_ns = lease_ms * 1000000;
    outages = 0;
    told[0] = '\0';
    assert_int_equal(weir_engine_open(&engine, url, &options, NULL), 0);
    assert_int_equal(weir_engine_limit_open(&limit, engine, "1/h burst=3", WEIR_AWAY_LOCAL, NULL), 0);
}

static inline void begin_leasing(const char *scheme, uint64_t deadline_ms, uint64_t lease_ms)
{
    begin_at(scheme, INADDR_LOOPBACK, "127.0.0.1", deadline_ms, lease_ms);
}

static inline void begin(const char *scheme, uint64_t deadline_ms)
{
    begin_leasing(scheme, deadline_ms, 0);
}

static inline void start(void)
{
    assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

/* Of all reasons just this one was counted, once at least. */
static inline void assert_outage(weir_outage outage)
{
    weir_engine_stats stats;
    weir_engine_read_stats(engine, &stats, sizeof stats);
    uint64_t all = 0;
    for (unsigned i = 0; i < WEIR_OUTAGES; i++) all += stats.outages[i];
    assert_true(stats.outages[outage] >= 1);
    assert_int_equal(stats.outages[outage], all);
    assert_int_equal(all, stats.outage_count);
}

static inline void end(void)
{
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
    shutdown(server.listener, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    close(server.listener);
}

static inline weir_engine_ask take_of(const weir_engine_limit *of)
{
    weir_engine_ask ask = {.verb = WEIR_ASK_TAKE, .limit = of, .key = weir_key_text("tenant")};
    weir_engine_batch(engine, &ask, 1);
    return ask;
}

static inline weir_engine_ask take(void)
{
    return take_of(limit);
}

/* A time of the test's own. */
#define AT_MS(ms) ((weir_instant){(1000000 + (ms)) * UINT64_C(1000000)})

static inline void process_until_answered(weir_engine_ask *ask, weir_instant now)
{
    while (ask->from == 0) {
        weir_engine_watch watch;
        uint64_t wait_ns;
        assert_int_equal(weir_engine_events(engine, now, &watch, 1, &wait_ns), 1);
        poll(&(struct pollfd){watch.descriptor, watch.writes ? POLLOUT : POLLIN, 0}, 1, -1);
        weir_engine_process(engine, now);
    }
}

static inline void ask_at(weir_engine_ask *ask, uint64_t ms)
{
    weir_engine_begin(engine, ask, 1, AT_MS(ms));
    process_until_answered(ask, AT_MS(ms));
}

#endif
