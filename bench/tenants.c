/* SPDX-License-Identifier: MIT
   A study: who gets what of a parent's rate, by weir's tenants and by Linux's HTB.

   The same guarantees (HTB's rate), ceilings (ceil) and demands.  HTB shapes packets of 1000 bytes on the loopback of a
   network namespace of this process's own, which needs root and tc; weir decides calls of cost 1 at random times, by a
   clock that is set by hand, and refuses what HTB queues and drops.  Shares are of what passes behind the first second.

   What is idle HTB divides in proportion to its quanta, as it has a queue for each class and knows who waits; weir has
   none, and divides it by the weights (core/tenants.h).  Both are as the guarantees are to each other.

       bench-tenants             the table; without a namespace HTB's column is empty
       bench-tenants --small     weir's column alone, held against the guarantees: a test that it still works */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#include "unit/random.h"

enum { TENANTS = 3, RATE = 1000, PORT = 7100, PAYLOAD = 958, WARM_S = 1, LASTS_S = 4, CLASS = 0x10010 };
static const uint64_t SECOND_NS = 1000000000;

struct tenant {
    int guaranteed, ceiling, demand; /* a second */
};

struct scenario {
    const char *name;
    struct tenant tenant[TENANTS];
};

static const struct scenario scenarios[] = {
    {"all ask for more than there is", {{500, 1000, 2000}, {300, 1000, 2000}, {200, 1000, 2000}}},
    {"the second is idle, the third has a ceiling", {{500, 1000, 2000}, {300, 1000, 0}, {200, 400, 2000}}},
    {"the first asks for little", {{500, 1000, 100}, {300, 1000, 2000}, {200, 400, 2000}}},
    {"the first is idle", {{500, 1000, 0}, {300, 1000, 2000}, {200, 1000, 2000}}},
    {"the second asks for all", {{500, 1000, 0}, {300, 1000, 2000}, {200, 1000, 0}}},
    {"a batch job beside two who keep to theirs", {{500, 1000, 450}, {300, 1000, 250}, {200, 1000, 5000}}},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench-tenants: %s\n", what);
    exit(1);
}

/* ---- weir ---- */

static weir_plan plan_of(const char *format, int rate, int weight, int ceiling)
{
    char text[128];
    weir_plan plan;
    weir_error error;
    snprintf(text, sizeof text, format, rate, weight, ceiling);
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, &error) != 0) fail(error.message);
    return plan;
}

static void by_weir(const struct scenario *scenario, double share[TENANTS])
{
    const uint64_t begun_ns = weir_now().ns, end_ns = begun_ns + (WARM_S + LASTS_S) * SECOND_NS;
    const weir_plan all = plan_of("%d/s burst=10", RATE, 0, 0);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    weir_plan plan[TENANTS];
    uint64_t next_ns[TENANTS], count[TENANTS] = {0}, seed = 1;
    if (weir_table_open(&table, &options, NULL) != 0) fail("no table");
    for (int i = 0; i < TENANTS; i++) {
        const struct tenant *tenant = &scenario->tenant[i];
        plan[i] = plan_of("%d/s burst=5 guaranteed weight=%d; %d/s burst=10", tenant->guaranteed,
                          tenant->guaranteed / 100, tenant->ceiling);
        next_ns[i] = tenant->demand != 0 ? begun_ns : UINT64_MAX;
    }
    for (;;) {
        int who = 0;
        for (int i = 1; i < TENANTS; i++) who = next_ns[i] < next_ns[who] ? i : who;
        if (next_ns[who] >= end_ns) break;
        const char name[] = {(char)('a' + who), '\0'};
        weir_ask asks[] = {{&plan[who], weir_key_text(name), 1, {0}}, {&all, weir_key_text("all"), 1, {0}}};
        const bool passed = weir_table_take_all(table, asks, 2, (weir_instant){next_ns[who]});
        count[who] += passed && next_ns[who] >= begun_ns + WARM_S * SECOND_NS;
        next_ns[who] += 1 + random_below(&seed, 2 * SECOND_NS / (uint64_t)scenario->tenant[who].demand);
    }
    for (int i = 0; i < TENANTS; i++) share[i] = (double)count[i] / LASTS_S;
    weir_table_close(table);
}

/* ---- HTB ---- */

static bool run(const char *command)
{
    return system(command) == 0; /* NOLINT(cert-env33-c): fixed words */
}

static bool begin_htb(void)
{
    return unshare(CLONE_NEWNET) == 0 && run("ip link set lo up 2>/dev/null") &&
           run("tc qdisc add dev lo root handle 1: htb default 99 2>/dev/null");
}

static bool make_classes(const struct scenario *scenario)
{
    char command[256];
    run("tc qdisc del dev lo root 2>/dev/null");
    bool made = run("tc qdisc add dev lo root handle 1: htb default 99") &&
                run("tc class add dev lo parent 1: classid 1:1 htb rate 8mbit ceil 8mbit burst 10kb cburst 10kb");
    for (int i = 0; i < TENANTS && made; i++) {
        const struct tenant *tenant = &scenario->tenant[i];
        snprintf(
            command, sizeof command,
            "tc class add dev lo parent 1:1 classid 1:%x htb rate %dkbit ceil %dkbit burst 5kb cburst 5kb quantum %d",
            0x10 + i, tenant->guaranteed * 8, tenant->ceiling * 8, tenant->guaranteed * 10);
        made = run(command);
    }
    return made;
}

struct flow {
    int number, demand, sender, receiver;
    pthread_t sends, receives;
    atomic_long count;
};

static atomic_bool over;

static void *send_packets(void *argument)
{
    static const char payload[PAYLOAD];
    struct flow *flow = argument;
    const uint64_t begun_ns = weir_now().ns;
    for (uint64_t sent = 0; !over && flow->demand != 0;) {
        const uint64_t due = (weir_now().ns - begun_ns) * (uint64_t)flow->demand / SECOND_NS;
        for (; sent < due; sent++) send(flow->sender, payload, sizeof payload, MSG_DONTWAIT);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

static void *receive_packets(void *argument)
{
    struct flow *flow = argument;
    char packet[PAYLOAD];
    while (!over) {
        if (recv(flow->receiver, packet, sizeof packet, 0) > 0) atomic_fetch_add(&flow->count, 1);
    }
    return NULL;
}

static void open_flow(struct flow *flow)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)(PORT + flow->number)),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int class = CLASS + flow->number, buffer = 1 << 22;
    const struct timeval patience = {.tv_usec = 100000};
    flow->sender = socket(AF_INET, SOCK_DGRAM, 0);
    flow->receiver = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(flow->receiver, (const struct sockaddr *)&address, sizeof address) != 0 ||
        connect(flow->sender, (const struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(flow->sender, SOL_SOCKET, SO_PRIORITY, &class, sizeof class) != 0 ||
        setsockopt(flow->sender, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) != 0 ||
        setsockopt(flow->receiver, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        fail("no sockets");
}

static void by_htb(const struct scenario *scenario, double share[TENANTS])
{
    struct flow flow[TENANTS];
    long before[TENANTS];
    if (!make_classes(scenario)) fail("tc made no classes");
    over = false;
    for (int i = 0; i < TENANTS; i++) {
        flow[i] = (struct flow){.number = i, .demand = scenario->tenant[i].demand};
        open_flow(&flow[i]);
        pthread_create(&flow[i].receives, NULL, receive_packets, &flow[i]);
        pthread_create(&flow[i].sends, NULL, send_packets, &flow[i]);
    }
    sleep(WARM_S);
    const uint64_t from_ns = weir_now().ns;
    for (int i = 0; i < TENANTS; i++) before[i] = flow[i].count;
    sleep(LASTS_S);
    const double seconds = (double)(weir_now().ns - from_ns) / (double)SECOND_NS;
    for (int i = 0; i < TENANTS; i++) share[i] = (double)(flow[i].count - before[i]) / seconds;
    over = true;
    for (int i = 0; i < TENANTS; i++) {
        pthread_join(flow[i].sends, NULL);
        pthread_join(flow[i].receives, NULL);
        close(flow[i].sender);
        close(flow[i].receiver);
    }
}

/* ---- the table ---- */

static int least_of(int one, int other)
{
    return one < other ? one : other;
}

/* What is asked for within a guarantee passes (but for what comes too close together, at random), and all is used where
   more is asked for. */
static void check(const struct scenario *scenario, const double share[TENANTS])
{
    double all = 0;
    int asked = 0;
    for (int i = 0; i < TENANTS; i++) {
        const struct tenant *tenant = &scenario->tenant[i];
        if (share[i] < 0.95 * least_of(tenant->guaranteed, tenant->demand)) fail("less than is guaranteed");
        if (share[i] > 1.01 * tenant->ceiling) fail("more than the ceiling");
        all += share[i];
        asked += least_of(tenant->ceiling, tenant->demand);
    }
    if (all < 0.99 * least_of(RATE, asked)) fail("something is left over");
}

int main(int argc, char **argv)
{
    const bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    const bool htb = !small && begin_htb();
    if (!small) printf("parent %d/s\n  guaranteed   ceiling    asks for      weir       HTB\n", RATE);
    for (int i = 0; i < SCENARIOS; i++) {
        double ours[TENANTS], theirs[TENANTS] = {0};
        by_weir(&scenarios[i], ours);
        check(&scenarios[i], ours);
        if (small) continue;
        if (htb) by_htb(&scenarios[i], theirs);
        printf("%s\n", scenarios[i].name);
        for (int j = 0; j < TENANTS; j++) {
            const struct tenant *tenant = &scenarios[i].tenant[j];
            printf("  %10d %9d %11d %9.0f ", tenant->guaranteed, tenant->ceiling, tenant->demand, ours[j]);
            if (htb) printf("%9.0f\n", theirs[j]);
            else printf("        -\n");
        }
        fflush(stdout);
    }
    return 0;
}
