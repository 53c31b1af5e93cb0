/* SPDX-License-Identifier: MIT
   An open-loop load generator of one event loop: how long did each request take, and from when on?

   A request has three beginnings.  DUE: when the rate wanted it (weir_due).  START: when weir let it start, which
   behind a stall is later, because no connection was free.  PLACE: place / rate after the first, as wrk2 counts.
   With a limit weir says when to start.  Without one (wrk2) each connection has its part of the rate, and sends what is
   late as soon as it can; its due time is its place.

   No more requests at a time than there are connections; the last one is answered before it reports.

       load LIMIT|wrk2 RATE CONNECTIONS SECONDS PORT
           prints: requests, missed, then p50, p99 and max in ms from DUE, p99 from START, p99 and max from PLACE */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <weir/weir.h>

#include "harness/harness.h"

enum { CONNECTIONS_MAX = 1024, EVENTS = 64, ANSWER_MAX = 4096 };

static const char REQUEST[] = "GET / HTTP/1.1\r\nHost: load\r\n\r\n";

struct connection {
    int fd;
    bool busy;
    double due_ns, start_ns, place_ns; /* of the request under way; when free and by wrk2, due_ns is of the next */
};

struct load {
    weir_limiter *limiter; /* NULL: wrk2 */
    weir_decision next;    /* zeroed: nothing is reserved */
    double interval_ns, begin_ns, end_ns;
    int events, timer, connections, busy;
    struct connection connection[CONNECTIONS_MAX];
    size_t started, answered, room;
    double *from_due, *from_start, *from_place;
};

static void fail(const char *what)
{
    bench_fail("%s: %s", what, strerror(errno));
}

static double now_ns(void)
{
    return (double)host_now_ns();
}

static void set_timer(const struct load *load, double at_ns)
{
    const uint64_t ns = (uint64_t)at_ns;
    const struct itimerspec when = {.it_value = {(time_t)(ns / HOST_SECOND_NS), (long)(ns % HOST_SECOND_NS)}};
    if (timerfd_settime(load->timer, TFD_TIMER_ABSTIME, &when, NULL) != 0) fail("timer");
}

static void send_request(struct load *load, struct connection *connection, double due_ns, double start_ns)
{
    connection->due_ns = due_ns;
    connection->start_ns = start_ns;
    if (load->started == 0 && load->limiter != NULL) load->begin_ns = start_ns;
    connection->place_ns = load->begin_ns + (double)load->started++ * load->interval_ns;
    if (write(connection->fd, REQUEST, sizeof REQUEST - 1) != sizeof REQUEST - 1) fail("send");
    connection->busy = true;
    load->busy++;
}

/* ---- when to start: weir, one reservation for each request ---- */

static struct connection *free_connection(struct load *load)
{
    for (int i = 0; i < load->connections; i++) {
        if (!load->connection[i].busy) return &load->connection[i];
    }
    return NULL;
}

static void start_by_weir(struct load *load)
{
    for (struct connection *connection; (connection = free_connection(load)) != NULL && now_ns() < load->end_ns;) {
        if (!weir_allowed(load->next)) load->next = weir_reserve(load->limiter, 1, WEIR_FOREVER);
        if (!weir_allowed(load->next)) fail("this limit cannot be reserved");
        if (now_ns() < (double)load->next.start.ns) {
            set_timer(load, (double)load->next.start.ns);
            return;
        }
        const weir_instant due = weir_due(load->limiter, &load->next, 1);
        send_request(load, connection, (double)due.ns, (double)load->next.start.ns);
        load->next = (weir_decision){0};
    }
}

/* ---- when to start: wrk2 ---- */

static void start_by_wrk2(struct load *load)
{
    double next_ns = load->end_ns;
    for (int i = 0; i < load->connections; i++) {
        struct connection *connection = &load->connection[i];
        const double at_ns = now_ns();
        if (connection->busy || at_ns >= load->end_ns) continue;
        if (connection->due_ns <= at_ns) send_request(load, connection, connection->due_ns, at_ns);
        else if (connection->due_ns < next_ns) next_ns = connection->due_ns;
    }
    set_timer(load, next_ns);
}

/* ---- the event loop ---- */

static void read_answer(struct load *load, struct connection *connection)
{
    char answer[ANSWER_MAX];
    const double at_ns = now_ns();
    if (read(connection->fd, answer, sizeof answer) < 12 || strncmp(answer, "HTTP/1.1 2", 10) != 0) fail("answer");
    if (load->answered == load->room) fail("too many requests");
    load->from_due[load->answered] = (at_ns - connection->due_ns) / 1e6;
    load->from_start[load->answered] = (at_ns - connection->start_ns) / 1e6;
    load->from_place[load->answered++] = (at_ns - connection->place_ns) / 1e6;
    connection->due_ns += load->interval_ns * load->connections;
    connection->busy = false;
    load->busy--;
}

static void run(struct load *load)
{
    struct epoll_event event[EVENTS];
    while (now_ns() < load->end_ns || load->busy > 0) {
        if (load->limiter != NULL) start_by_weir(load);
        else start_by_wrk2(load);
        const int count = epoll_wait(load->events, event, EVENTS, 100);
        for (int i = 0; i < count; i++) {
            uint64_t fired;
            if (event[i].data.ptr != NULL) read_answer(load, event[i].data.ptr);
            else if (read(load->timer, &fired, sizeof fired) < 0 && errno != EAGAIN) fail("timer");
        }
    }
}

/* ---- before and after ---- */

static void watch(const struct load *load, int fd, struct connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (fd < 0 || epoll_ctl(load->events, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll");
}

static void connect_all(struct load *load, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    load->events = epoll_create1(EPOLL_CLOEXEC);
    load->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    watch(load, load->timer, NULL);
    for (int i = 0; i < load->connections; i++) {
        struct connection *connection = &load->connection[i];
        connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
        watch(load, connection->fd, connection);
    }
}

static double quantile(double values[], const struct load *load, double part)
{
    return bench_quantile(values, load->answered, part);
}

static void report(const struct load *load)
{
    weir_stats stats = {0};
    if (load->answered == 0) fail("no answer");
    if (load->limiter != NULL) weir_read_stats(load->limiter, &stats, sizeof stats);
    printf("%zu\t%llu\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n", load->answered, (unsigned long long)stats.missed,
           quantile(load->from_due, load, 0.5), quantile(load->from_due, load, 0.99), quantile(load->from_due, load, 1),
           quantile(load->from_start, load, 0.99), quantile(load->from_place, load, 0.99),
           quantile(load->from_place, load, 1));
}

int main(int argc, char **argv)
{
    static struct load load;
    const double rate = argc == 6 ? atof(argv[2]) : 0, seconds = argc == 6 ? atof(argv[4]) : 0;
    load.connections = argc == 6 ? atoi(argv[3]) : 0;
    if (rate <= 0 || seconds <= 0 || load.connections < 1 || load.connections > CONNECTIONS_MAX) {
        fprintf(stderr, "usage: load LIMIT|wrk2 RATE CONNECTIONS SECONDS PORT\n");
        return 2;
    }
    weir_options options = WEIR_OPTIONS;
    options.use = WEIR_PACE;
    if (strcmp(argv[1], "wrk2") != 0 && weir_open(&load.limiter, argv[1], &options, NULL) != 0) fail(argv[1]);
    load.room = (size_t)(rate * seconds * 3) + CONNECTIONS_MAX;
    load.from_due = calloc(load.room * 3, sizeof(double));
    if (load.from_due == NULL) fail("memory");
    load.from_start = load.from_due + load.room;
    load.from_place = load.from_start + load.room;
    load.interval_ns = 1e9 / rate;
    connect_all(&load, atoi(argv[5]));
    load.begin_ns = now_ns();
    load.end_ns = load.begin_ns + seconds * 1e9;
    for (int i = 0; i < load.connections; i++) load.connection[i].due_ns = load.begin_ns + i * load.interval_ns;
    run(&load);
    report(&load);
    weir_close(load.limiter);
    return 0;
}
