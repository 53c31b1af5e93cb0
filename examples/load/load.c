/* SPDX-License-Identifier: MIT
   A load generator: one event loop asks a web server for a page at a rate, and prints how long the answers took.

   The limit says when a request is due, whether or not the server keeps up (an open model).  Response times count from
   then (weir_due), so that no stall is hidden (coordinated omission); service times, from when the request was sent.

       cc -O2 load.c -o load $(pkg-config --cflags --libs weir) -lhttp_parser
       ./load 20000/s http://127.0.0.1:8080/ 64 10 times.hgrm */
#define _GNU_SOURCE /* epoll_pwait2: Linux 5.11, glibc 2.35 */
#include <err.h>
#include <http_parser.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <weir/weir.h>

enum { EVENTS = 64, CONNECTIONS_MAX = 1000, BUCKETS_MAX = 65536, WAIT_MAX_NS = 100000000 };
static const uint64_t PATIENCE_NS = 5000000000; /* with late requests, and then with the last answers */
static const char USAGE[] =
    "usage: load LIMIT http://HOST[:PORT][/PATH] [CONNECTIONS [SECONDS [FILE.hgrm [FILE.csv]]]]\n"
    "FILE.hgrm: response times, in ms; FILE.csv: due,sent,answered,status of each request, in ns (no answer: 0)";
static volatile sig_atomic_t ending; /* no more requests are sent */

struct connection {
    http_parser parser; /* its data is set when the answer is whole */
    enum { CONNECTING, FREE, BUSY } state;
    int fd;
    weir_instant due, sent; /* of the request under way */
};
struct load {
    weir_limiter *limiter;
    struct addrinfo *address;
    struct connection connections[CONNECTIONS_MAX];
    long count; /* of connections */
    int events;
    uint64_t duration_ns, sent, ended, good; /* of requests: answered with 2xx or 3xx */
    weir_instant first, last_due, last;
    FILE *percentiles, *log;
    char request[4096];
};

static void open_connection(struct load *load, struct connection *connection)
{
    struct epoll_event writable = {.events = EPOLLOUT, .data.ptr = connection};
    connection->state = CONNECTING;
    connection->fd = socket(load->address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (epoll_ctl(load->events, EPOLL_CTL_ADD, connection->fd, &writable) != 0) err(2, "socket");
    (void)connect(connection->fd, load->address->ai_addr, load->address->ai_addrlen); /* connected() sees errors */
}

static void connected(const struct load *load, struct connection *connection)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = connection};
    int error = 0;
    getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error});
    if (error != 0 && !ending) warnx("connect: %s", strerror(error));
    ending = ending || error != 0;
    connection->state = FREE;
    epoll_ctl(load->events, EPOLL_CTL_MOD, connection->fd, &readable);
}

/* Sends what is due, and returns how long nothing will be.  With no free connection, requests become late. */
static long send_due(struct load *load)
{
    const weir_instant now = weir_now();
    for (long i = 0; i < load->count && !ending; i++) {
        struct connection *connection = &load->connections[i];
        if (connection->state != FREE) continue;
        const weir_decision decision = weir_take_at(load->limiter, now, 1);
        if (decision.verdict == WEIR_DENY && decision.retry_ns < WAIT_MAX_NS) return (long)decision.retry_ns;
        if (decision.verdict == WEIR_DENY && decision.retry_ns != WEIR_FOREVER) break;
        const weir_instant due = weir_due(load->limiter, &decision, 1);
        if (load->sent == 0) load->first = due;
        if ((ending = !weir_allowed(decision) || due.ns - load->first.ns >= load->duration_ns)) break;
        http_parser_init(&connection->parser, HTTP_RESPONSE);
        connection->parser.data = NULL;
        connection->state = BUSY;
        connection->due = load->last_due = due;
        connection->sent = load->last = weir_now();
        load->sent++;
        send(connection->fd, load->request, strlen(load->request), MSG_NOSIGNAL); /* if it fails, so will reading */
    }
    return WAIT_MAX_NS;
}

static int answer_is_whole(http_parser *parser)
{
    parser->data = parser;
    return 0;
}

static void receive(struct load *load, struct connection *connection)
{
    static const http_parser_settings SETTINGS = {.on_message_complete = answer_is_whole};
    http_parser *parser = &connection->parser;
    char input[16384];
    const ssize_t size = read(connection->fd, input, sizeof input);
    if (connection->state == BUSY) {
        http_parser_execute(parser, &SETTINGS, input, size > 0 ? (size_t)size : 0);
        if (parser->data == NULL && parser->http_errno == HPE_OK && size > 0) return; /* there is more to come */
        const unsigned status = parser->data != NULL ? parser->status_code : 0;
        const weir_instant now = weir_now();
        weir_done_at(load->limiter, connection->due, connection->sent, now);
        if (load->log != NULL)
            fprintf(load->log, "%ju,%ju,%ju,%u\n", (uintmax_t)connection->due.ns, (uintmax_t)connection->sent.ns,
                    (uintmax_t)now.ns, status);
        if (status >= 200 && status < 400) load->good++;
        load->ended++;
        connection->state = FREE;
        if (status != 0 && size > 0 && http_should_keep_alive(parser)) return;
    }
    close(connection->fd);
    if (!ending) open_connection(load, connection);
}

static void run(struct load *load)
{
    struct epoll_event event[EVENTS];
    for (uint64_t end_ns = WEIR_FOREVER; (!ending || load->ended < load->sent) && weir_now().ns < end_ns;) {
        const int count = epoll_pwait2(load->events, event, EVENTS, &(struct timespec){0, send_due(load)}, NULL);
        for (int i = 0; i < count; i++) {
            struct connection *connection = event[i].data.ptr;
            if (connection->state == CONNECTING) connected(load, connection);
            else receive(load, connection);
        }
        const bool over = load->sent > 0 && weir_now().ns - load->first.ns > load->duration_ns + PATIENCE_NS;
        if (over && !ending) warnx("not all that was due was sent: the server is too slow, or connections are too few");
        ending = ending || over;
        if (ending && end_ns == WEIR_FOREVER) end_ns = weir_now().ns + PATIENCE_NS;
    }
}

/* In HdrHistogram's format, a line for each of its buckets. */
static void write_percentiles(FILE *out, weir_limiter *limiter, double total)
{
    static weir_bucket bucket[BUCKETS_MAX];
    const size_t count = weir_read_buckets(limiter, WEIR_RESPONSE, bucket, BUCKETS_MAX);
    double sum = 0;
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for (size_t i = 0; i < count; i++) {
        const double ms = (double)bucket[i].most_ns / 1e6, part = (sum += (double)bucket[i].count) / total;
        fprintf(out, "%12.3f %14.12f %10.0f %14.2f\n", ms, part, sum, 1 / (1 - part));
    }
}

static int report(const struct load *load)
{
    weir_latency latency;
    weir_stats stats;
    weir_read_latency(load->limiter, &latency, sizeof latency);
    weir_read_stats(load->limiter, &stats, sizeof stats);
    printf("%ju requests, due within %.6f s, sent within %.6f s; %ju missed; %ju answers 2xx or 3xx, %ju others\n",
           (uintmax_t)load->sent, (double)(load->last_due.ns - load->first.ns) / 1e9,
           (double)(load->last.ns - load->first.ns) / 1e9, (uintmax_t)stats.missed, (uintmax_t)load->good,
           (uintmax_t)(load->sent - load->good));
    for (int i = 0; i < 2; i++) {
        const weir_times *times = i == 0 ? &latency.service : &latency.response;
        printf("%-13s  p50 %.3f ms  p90 %.3f ms  p99 %.3f ms  p99.9 %.3f ms  max %.3f ms\n",
               i == 0 ? "service time" : "response time", (double)times->p50_ns / 1e6, (double)times->p90_ns / 1e6,
               (double)times->p99_ns / 1e6, (double)times->p999_ns / 1e6, (double)times->max_ns / 1e6);
    }
    if (load->percentiles != NULL) write_percentiles(load->percentiles, load->limiter, (double)latency.response.count);
    return load->sent == 0 || load->good < load->sent;
}

static void interrupt(int number)
{
    ending = number;
}

int main(int argc, char **argv)
{
    static struct load load;
    const double seconds = argc > 4 ? strtod(argv[4], NULL) : 1e9;
    weir_options options = {.size = sizeof options, .use = WEIR_PACE};
    weir_error error;
    char host[256], path[2048] = "/", *port;
    load.count = argc > 3 ? strtol(argv[3], NULL, 10) : 64;
    if (argc < 3 || argc > 7 || load.count < 1 || load.count > CONNECTIONS_MAX || !(seconds > 0 && seconds <= 1e9) ||
        sscanf(argv[2], "http://%255[^/]%2047s", host, path) < 1)
        errx(2, "%s", USAGE);
    load.duration_ns = (uint64_t)(seconds * 1e9);
    snprintf(load.request, sizeof load.request, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host);
    if ((port = strchr(host, ':')) != NULL) *port++ = '\0';
    if (getaddrinfo(host, port != NULL ? port : "80", NULL, &load.address) != 0) errx(2, "%s: no such host", host);
    if (weir_open(&load.limiter, argv[1], &options, &error) != 0) errx(2, "column %d: %s", error.column, error.message);
    if (argc > 5 && (load.percentiles = fopen(argv[5], "w")) == NULL) err(2, "%s", argv[5]);
    if (argc > 6 && (load.log = fopen(argv[6], "w")) == NULL) err(2, "%s", argv[6]);
    load.events = epoll_create1(EPOLL_CLOEXEC);
    for (long i = 0; i < load.count; i++) open_connection(&load, &load.connections[i]);
    prctl(PR_SET_TIMERSLACK, 1UL); /* a wait is no longer than it has to be, in ns */
    signal(SIGINT, interrupt);
    run(&load);
    return report(&load);
}
