/* SPDX-License-Identifier: MIT
   Asks a service as fast as it answers, or at a rate; one thread.

   A connection sends a batch of `pipeline` requests in one write, straight from the tape (tape.c), waits for as many
   answers, and sends the next.  With --rate a batch is due every pipeline / rate seconds whether or not the ones before
   were answered, goes out on a connection that has none under way, and its time counts from when it was due.

   Every answer is looked at (reply.c), and there are as many as requests; anything else ends it with what came and exit
   status 1.

       bench-serve-client --to ADDRESS:PORT|PATH --kind KIND [--who NAME] [--pipeline 1] [--connections 50]
                          [--keys 1000000] [--hot PERCENT] [--seconds 2] [--warm-up 0.5] [--rate PER_S] [--pid SERVER]
                          [--script FILE] [--path PATH] [--host NAME] [--fill]
       bench-serve-client --machine     what machine and commit this is

   KIND: ping, set, set-until (of a key with an end), throttle, owing (throttle by the hour), take, evalsha (of
   --script), fcall, http-query, http-header, http-post.
   Prints, by tabs: who, kind, pipeline, connections, rate or "most", requests a second, us until the last answer of a
   batch had come at p50, p99 and p99.9, allowed, denied, us of processor time a request that the server took ("-"
   without --pid), and that the client took.

   --fill: every key is asked for once before the warm-up.  With --rate the client batches without sleeping, so its
   processor time says nothing then. */
#include <getopt.h>
#include <sys/epoll.h>

#include "harness/harness.h"
#include "reply.h"
#include "share/histogram.h"
#include "sockets.h"
#include "tape.h"

enum { EVENTS = 256, CONNECTIONS_MAX = 16384, PIPELINE_MAX = 256, KEYS_MAX = 10000000, SCRIPT_MAX = 1 << 14 };
enum { BLOCK_SIZE = 1 << 18, REST_MAX = 1 << 12, SILENCE_MS = 5000, TEXT_SIZE = 512 };

static const double FILL_STEP_S = 0.05;

struct settings {
    const char *to, *who, *script;
    struct tape_order order;
    size_t pipeline, connections;
    double seconds, warm_up_s, rate;
    long pid;
    bool fills;
};

struct connection {
    int socket;
    size_t next;      /* on the tape */
    size_t waits_for; /* answers of the batch under way */
    uint64_t began_ns;
    size_t rest_size;
    char rest[REST_MAX]; /* an answer whose end has not come */
};

/* What the run has used up to a moment. */
struct moment {
    uint64_t ns;
    double client_s, server_s;
};

struct client {
    const struct settings *settings;
    struct tape tape;
    reply_function *reply;
    int poll;
    struct connection *connections;
    size_t *idle, idle_first, idle_count; /* a ring: who has no batch under way, the longest idle first */
    bool stops;
    struct replies replies;
    struct histogram latency_ns;
};

_Noreturn static void fail(const char *what, const char *bytes, size_t size)
{
    bench_fail("%s%s%.*s", what, size > 0 ? ": " : "", (int)(size < TEXT_SIZE ? size : TEXT_SIZE), bytes);
}

/* ---- batches ---- */

static void send_batch(struct client *client, struct connection *connection, uint64_t began_ns)
{
    const struct tape *tape = &client->tape;
    const size_t count = client->settings->pipeline;
    if (connection->next + count > tape->count) connection->next = 0;
    const size_t size = count * tape->request_size;
    const ssize_t sent =
        send(connection->socket, tape->bytes + connection->next * tape->request_size, size, MSG_NOSIGNAL);
    if (sent < 0) fail("cannot send", strerror(errno), TEXT_SIZE);
    if ((size_t)sent != size) fail("a socket did not take a whole group; ask for a smaller --pipeline", "", 0);
    connection->next += count;
    connection->waits_for = count;
    connection->began_ns = began_ns;
}

static void end_batch(struct client *client, struct connection *connection)
{
    const uint64_t now_ns = host_now_ns();
    histogram_add(&client->latency_ns, now_ns - connection->began_ns);
    if (client->settings->rate == 0 && !client->stops) {
        send_batch(client, connection, now_ns);
        return;
    }
    const size_t last = (client->idle_first + client->idle_count++) % client->settings->connections;
    client->idle[last] = (size_t)(connection - client->connections);
}

static void count_answers(struct client *client, struct connection *connection, const char *bytes, size_t size)
{
    const char *at = bytes, *const end = bytes + size;
    while (at < end) {
        const long length = client->reply(at, (size_t)(end - at), &client->replies);
        if (length == REPLY_BAD) fail("an answer that is none", at, (size_t)(end - at));
        if (length == REPLY_MORE) break;
        if (connection->waits_for-- == 0) fail("an answer too many", at, (size_t)(end - at));
        at += length;
    }
    connection->rest_size = (size_t)(end - at);
    if (connection->rest_size > REST_MAX) fail("an answer that does not end", at, TEXT_SIZE);
    memcpy(connection->rest, at, connection->rest_size);
    if (connection->waits_for > 0) return;
    if (connection->rest_size > 0) fail("an answer too many", at, connection->rest_size);
    end_batch(client, connection);
}

static void receive(struct client *client, struct connection *connection)
{
    static char block[BLOCK_SIZE];
    memcpy(block, connection->rest, connection->rest_size);
    const ssize_t came =
        recv(connection->socket, block + connection->rest_size, sizeof block - connection->rest_size, 0);
    if (came < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (came < 0) fail("cannot receive", strerror(errno), TEXT_SIZE);
    if (came == 0) fail("the server closed a connection", "", 0);
    count_answers(client, connection, block, connection->rest_size + (size_t)came);
}

static int turn(struct client *client, int wait_ms)
{
    struct epoll_event events[EVENTS];
    const int count = epoll_wait(client->poll, events, EVENTS, wait_ms);
    for (int i = 0; i < count; i++) receive(client, &client->connections[events[i].data.u64]);
    return count;
}

/* ---- a run ---- */

static struct connection *next_idle(struct client *client)
{
    struct connection *connection = &client->connections[client->idle[client->idle_first]];
    client->idle_first = (client->idle_first + 1) % client->settings->connections;
    client->idle_count--;
    return connection;
}

static void run_until(struct client *client, uint64_t end_ns)
{
    while (client->idle_count > 0) send_batch(client, next_idle(client), host_now_ns());
    while (host_now_ns() < end_ns) {
        if (turn(client, SILENCE_MS) == 0) fail("no answer for five seconds", "", 0);
    }
}

/* Batches that became due while all connections were busy go out as they come free, late as they are. */
static void run_at_rate_until(struct client *client, uint64_t end_ns)
{
    const double batch_ns = (double)client->settings->pipeline * 1e9 / client->settings->rate;
    const uint64_t begin_ns = host_now_ns();
    uint64_t batches = 0, due_ns = begin_ns;
    for (uint64_t now_ns = begin_ns; now_ns < end_ns; now_ns = host_now_ns()) {
        while (due_ns <= now_ns && client->idle_count > 0) {
            send_batch(client, next_idle(client), due_ns);
            due_ns = begin_ns + (uint64_t)((double)++batches * batch_ns);
        }
        turn(client, 0);
    }
}

static void run_for(struct client *client, double seconds)
{
    const uint64_t end_ns = host_now_ns() + (uint64_t)(seconds * 1e9);
    if (client->settings->rate > 0) run_at_rate_until(client, end_ns);
    else run_until(client, end_ns);
}

/* Until every request has its answer. */
static void drain(struct client *client)
{
    client->stops = true;
    while (client->idle_count < client->settings->connections) {
        if (turn(client, SILENCE_MS) == 0) fail("answers are missing", "", 0);
    }
}

/* user and system time are fields 14 and 15; the name in field 2 may hold anything but ends in the last ')'. */
static double server_seconds(long pid)
{
    char path[64], text[TEXT_SIZE] = "";
    unsigned long user = 0, kernel = 0;
    if (pid == 0) return 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) fail("no such process", path, strlen(path));
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *fields = size > 0 ? strrchr(text, ')') : NULL;
    if (fields == NULL || sscanf(fields, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
        fail("not as expected", path, strlen(path));
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static struct moment moment_of(const struct settings *settings)
{
    return (struct moment){
        .ns = host_now_ns(), .client_s = bench_processor_s(), .server_s = server_seconds(settings->pid)};
}

static void print_result(const struct client *client, const struct moment *begin, const struct moment *end)
{
    const struct settings *settings = client->settings;
    const double requests = (double)(client->replies.allowed + client->replies.denied);
    const double seconds = (double)(end->ns - begin->ns) / 1e9;
    printf("%s\t%s\t%zu\t%zu\t", settings->who, kind_name(settings->order.kind), settings->pipeline,
           settings->connections);
    if (settings->rate > 0) printf("%.0f", settings->rate);
    else printf("most");
    printf("\t%.0f", requests / seconds);
    static const uint64_t PARTS[] = {500, 990, 999};
    for (int i = 0; i < 3; i++) printf("\t%.1f", (double)histogram_quantile(&client->latency_ns, PARTS[i]) / 1e3);
    printf("\t%llu\t%llu", (unsigned long long)client->replies.allowed, (unsigned long long)client->replies.denied);
    if (settings->pid != 0) printf("\t%.3f", (end->server_s - begin->server_s) * 1e6 / requests);
    else printf("\t-");
    printf("\t%.3f\n", (end->client_s - begin->client_s) * 1e6 / requests);
}

static uint64_t answered(const struct client *client)
{
    return client->replies.allowed + client->replies.denied;
}

static void run(struct client *client)
{
    while (client->settings->fills && answered(client) < client->tape.count) run_for(client, FILL_STEP_S);
    run_for(client, client->settings->warm_up_s);
    client->replies = (struct replies){0};
    client->latency_ns = (struct histogram){0};
    const struct moment begin = moment_of(client->settings);
    run_for(client, client->settings->seconds);
    const struct moment end = moment_of(client->settings);
    if (answered(client) == 0) fail("nothing was answered in time", "", 0);
    print_result(client, &begin, &end);
    drain(client);
}

/* ---- beginning ---- */

/* Redis keeps the script and says what to call it. */
static void load_script(struct settings *settings)
{
    static char script[SCRIPT_MAX];
    char said[TEXT_SIZE] = "";
    FILE *file = settings->script != NULL ? fopen(settings->script, "r") : NULL;
    if (file == NULL) fail("evalsha needs a --script that can be read", "", 0);
    const size_t size = fread(script, 1, sizeof script, file);
    fclose(file);
    const int socket = socket_connect(settings->to);
    fcntl(socket, F_SETFL, 0);
    dprintf(socket, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%.*s\r\n", size, (int)size, script);
    const ssize_t came = recv(socket, said, sizeof said - 1, 0);
    if (came <= 0 || sscanf(said, "$40\r\n%40s", settings->order.script_id) != 1) fail("SCRIPT LOAD", said, TEXT_SIZE);
    close(socket);
}

static void connect_all(struct client *client)
{
    const size_t count = client->settings->connections;
    client->poll = epoll_create1(EPOLL_CLOEXEC);
    client->connections = calloc(count, sizeof *client->connections);
    client->idle = calloc(count, sizeof *client->idle);
    if (client->poll < 0 || client->connections == NULL || client->idle == NULL) fail("not enough memory", "", 0);
    for (size_t i = 0; i < count; i++) {
        struct connection *connection = &client->connections[i];
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = i};
        connection->socket = socket_connect(client->settings->to);
        connection->next = client->tape.count / count * i;
        client->idle[client->idle_count++] = i;
        if (epoll_ctl(client->poll, EPOLL_CTL_ADD, connection->socket, &event) != 0) fail("epoll_ctl", "", 0);
    }
}

/* ---- options ---- */

static int usage(void)
{
    fprintf(stderr,
            "usage: bench-serve-client --to ADDRESS:PORT|PATH --kind KIND [--who NAME] [--pipeline N]\n"
            "           [--connections N] [--keys N] [--hot PERCENT] [--seconds S] [--warm-up S] [--rate PER_S]\n"
            "           [--pid SERVER] [--script FILE] [--path PATH] [--host NAME] [--fill]\nKIND:");
    for (enum kind kind = 0; kind < KINDS; kind++) fprintf(stderr, " %s", kind_name(kind));
    fprintf(stderr, "\n");
    return 2;
}

static enum kind kind_of(const char *name)
{
    enum kind kind = 0;
    while (kind < KINDS && strcmp(kind_name(kind), name) != 0) kind++;
    return kind;
}

static void set(struct settings *settings, int option, const char *value)
{
    struct tape_order *order = &settings->order;
    if (option == 't') settings->to = value;
    else if (option == 'k') order->kind = kind_of(value);
    else if (option == 'w') settings->who = value;
    else if (option == 'p') settings->pipeline = strtoul(value, NULL, 10);
    else if (option == 'c') settings->connections = strtoul(value, NULL, 10);
    else if (option == 'n') order->keys = (uint32_t)strtoul(value, NULL, 10);
    else if (option == 'h') order->hot_percent = (uint32_t)strtoul(value, NULL, 10);
    else if (option == 's') settings->seconds = strtod(value, NULL);
    else if (option == 'u') settings->warm_up_s = strtod(value, NULL);
    else if (option == 'F') settings->fills = true;
    else if (option == 'r') settings->rate = strtod(value, NULL);
    else if (option == 'i') settings->pid = strtol(value, NULL, 10);
    else if (option == 'f') settings->script = value;
    else if (option == 'a') order->path = value;
    else order->host = value;
}

static bool are_whole(const struct settings *settings)
{
    return settings->to != NULL && settings->order.kind < KINDS && settings->pipeline >= 1 &&
           settings->pipeline <= PIPELINE_MAX && settings->connections >= 1 &&
           settings->connections <= CONNECTIONS_MAX && settings->order.keys >= 1 && settings->order.keys <= KEYS_MAX &&
           settings->seconds > 0 && settings->warm_up_s >= 0 && settings->rate >= 0;
}

static const char *usual_path(enum kind kind)
{
    if (kind == KIND_HTTP_HEADER) return "/auth";
    return kind == KIND_HTTP_POST ? "/v1/take" : "/";
}

static bool read_options(int argc, char **argv, struct settings *settings)
{
    static const struct option OPTIONS[] = {
        {"to", 1, NULL, 't'},          {"kind", 1, NULL, 'k'}, {"who", 1, NULL, 'w'},  {"pipeline", 1, NULL, 'p'},
        {"connections", 1, NULL, 'c'}, {"keys", 1, NULL, 'n'}, {"hot", 1, NULL, 'h'},  {"seconds", 1, NULL, 's'},
        {"warm-up", 1, NULL, 'u'},     {"rate", 1, NULL, 'r'}, {"pid", 1, NULL, 'i'},  {"script", 1, NULL, 'f'},
        {"path", 1, NULL, 'a'},        {"host", 1, NULL, 'o'}, {"fill", 0, NULL, 'F'}, {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        if (option == '?') return false;
        set(settings, option, optarg);
    }
    if (optind != argc || !are_whole(settings)) return false;
    if (settings->who == NULL) settings->who = settings->to;
    if (settings->order.host == NULL) settings->order.host = strchr(settings->to, '/') ? "localhost" : settings->to;
    if (settings->order.path == NULL) settings->order.path = usual_path(settings->order.kind);
    return true;
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .order = {.kind = KINDS, .keys = 1000000}, .pipeline = 1, .connections = 50, .seconds = 2, .warm_up_s = 0.5};
    static struct client client;
    if (argc == 2 && strcmp(argv[1], "--machine") == 0) {
        bench_print_machine();
        return 0;
    }
    if (!read_options(argc, argv, &settings)) return usage();
    settings.order.at_least = settings.pipeline;
    if (settings.order.kind == KIND_EVALSHA || settings.order.kind == KIND_EVALSHA_OWING) load_script(&settings);
    client.settings = &settings;
    client.tape = tape_write(&settings.order);
    client.reply = settings.order.kind >= KIND_HTTP_QUERY ? reply_http : reply_resp;
    connect_all(&client);
    run(&client);
    free(client.tape.bytes);
    free(client.connections);
    free(client.idle);
    return 0;
}
