/* SPDX-License-Identifier: MIT
   CL.THROTTLE answers what redis-cell has answered, step by step.

   Each case of vectors/peers/redis_cell.json is asked for one key at the times that it says.  redis-cell drops what is
   left of a second below one ms, where weir rounds up, and counts what remains in whole us.  Where a reply differs, it
   has to be for that reason alone; the rest of the replies is equal, number by number.

   The same in every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "serve/protocols.h"
#include "serve/server.h"
#include "unit/serve_rig.h"

enum { NUMBERS = 5, LIMIT = 1, REMAINING = 2, RETRY = 3, RESET = 4 };
enum { US_NS = 1000, MS_NS = 1000000 };
static const int64_t SECOND_NS = 1000000000;

/* How a command gets to the service and its answer back. */
struct transport {
    void *context;
    void (*set_ns)(void *context, uint64_t now_ns);
    const char *(*ask)(void *context, const char *const arguments[]);
};

struct tally {
    unsigned cases, steps, explained;
};

static struct json_object *field(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;
    json_object_object_get_ex(object, name, &value);
    return value;
}

static const char *number_text(struct json_object *object, const char *name, char text[24])
{
    snprintf(text, 24, "%lld", (long long)json_object_get_int64(field(object, name)));
    return text;
}

/* ---- one step ---- */

static void read_reply(const char *reply, int64_t number[NUMBERS])
{
    long long read[NUMBERS];
    int end = 0;
    if (sscanf(reply, "*5\r\n:%lld\r\n:%lld\r\n:%lld\r\n:%lld\r\n:%lld\r\n%n", &read[0], &read[1], &read[2], &read[3],
               &read[4], &end) != NUMBERS ||
        reply[end] != '\0') {
        fail_msg("no five integers: %s", reply);
    }
    for (int i = 0; i < NUMBERS; i++) number[i] = read[i];
}

/* The seconds of these ns, where redis-cell drops what is left of a ms. */
static bool only_rounded_up(const int64_t *ns, int64_t seconds, int64_t told)
{
    const int64_t rest = ns != NULL ? *ns % SECOND_NS : 0;
    return rest > 0 && rest < MS_NS && seconds == *ns / SECOND_NS + 1 && told == *ns / SECOND_NS;
}

/* What remains, where redis-cell counts in whole us. */
static bool only_finer(struct json_object *limiter, int64_t limit, const int64_t *reset_ns, int64_t remaining,
                       int64_t told)
{
    const int64_t period_s = json_object_get_int64(field(limiter, "period_s"));
    const int64_t interval_ns = period_s * SECOND_NS / json_object_get_int64(field(limiter, "count"));
    const int64_t left_ns = reset_ns != NULL ? limit * interval_ns - *reset_ns : 0;
    return remaining == left_ns / interval_ns && told == left_ns / US_NS / (interval_ns / US_NS);
}

static const int64_t *exact(struct json_object *expect, const char *name, int64_t *ns)
{
    if (field(expect, name) == NULL) return NULL;
    *ns = json_object_get_int64(field(expect, name));
    return ns;
}

static void check_reply(struct json_object *scene, size_t step, struct json_object *expect, const char *reply,
                        struct tally *tally)
{
    int64_t number[NUMBERS], reset, retry;
    const int64_t *reset_ns = exact(expect, "reset_in_ns", &reset), *retry_ns = exact(expect, "retry_after_ns", &retry);
    read_reply(reply, number);
    for (int i = 0; i < NUMBERS; i++) {
        const int64_t told = json_object_get_int64(json_object_array_get_idx(field(expect, "reply"), (size_t)i));
        if (number[i] == told) continue;
        const bool explained = i == REMAINING
                                   ? only_finer(field(scene, "limiter"), number[LIMIT], reset_ns, number[i], told)
                               : i >= RETRY ? only_rounded_up(i == RESET ? reset_ns : retry_ns, number[i], told)
                                            : false;
        if (!explained) {
            fail_msg("%s, step %zu: number %d is %lld, not %lld", json_object_get_string(field(scene, "name")), step, i,
                     (long long)number[i], (long long)told);
        }
        tally->explained++;
    }
}

static void check_step(const struct transport *transport, struct json_object *scene, size_t number, struct tally *tally)
{
    char max_burst[24], count[24], period[24], quantity[24];
    const char *name = json_object_get_string(field(scene, "name"));
    struct json_object *limiter = field(scene, "limiter");
    struct json_object *step = json_object_array_get_idx(field(scene, "steps"), number);
    struct json_object *expect = field(step, "expect");
    const char *const arguments[] = {"CL.THROTTLE",
                                     name,
                                     number_text(limiter, "max_burst", max_burst),
                                     number_text(limiter, "count", count),
                                     number_text(limiter, "period_s", period),
                                     number_text(step, "n", quantity),
                                     NULL};
    transport->set_ns(transport->context, (uint64_t)json_object_get_int64(field(step, "t_ns")));
    const char *reply = transport->ask(transport->context, arguments);
    tally->steps++;
    if (field(expect, "error") == NULL) check_reply(scene, number, expect, reply, tally);
    else if (reply[0] != '-') fail_msg("%s, step %zu: expected an error, not %s", name, number, reply);
}

/* ---- all cases ---- */

static void check_cases(const struct transport *transport, struct tally *tally)
{
    struct json_object *file = json_object_from_file(TEST_FOLDER "/vectors/peers/redis_cell.json");
    struct json_object *cases = file != NULL ? field(file, "cases") : NULL;
    if (cases == NULL) fail_msg("redis_cell.json: %s", json_util_get_last_err());
    for (size_t i = 0; i < json_object_array_length(cases); i++) {
        struct json_object *scene = json_object_array_get_idx(cases, i);
        if (field(scene, "peer_quirk") != NULL) continue; /* a burst below 0, which weir refuses */
        for (size_t step = 0; step < json_object_array_length(field(scene, "steps")); step++)
            check_step(transport, scene, step, tally);
        tally->cases++;
    }
    json_object_put(file);
}

/* Far enough from 0 that a clock may go back. */
static void set_ns(void *context, uint64_t now_ns)
{
    ((struct rig *)context)->now_ns = UINT64_C(1000000000000) + now_ns;
}

static const char *ask(void *context, const char *const arguments[])
{
    return rig_say(context, arguments);
}

static void without_socket(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct tally tally = {0};
    check_cases(&(struct transport){rig, set_ns, ask}, &tally);
    printf("%u cases, %u steps; %u numbers differ, by a part below one ms\n", tally.cases, tally.steps,
           tally.explained);
    assert_true(tally.cases == 8 && tally.steps == 61 && tally.explained == 5);
    rig_close(rig);
}

/* ---- through a real socket ---- */

enum { ANSWER_MAX = 256, TRIES = 3000, PORTS = 5 };

/* A weir serve in a child process, whose clock is the parent's. */
struct child {
    pid_t process;
    int socket;
    _Atomic uint64_t *now_ns; /* shared */
    char answer[ANSWER_MAX];
};

static uint64_t shared_now_ns(void *clock)
{
    return atomic_load((_Atomic uint64_t *)clock);
}

static struct sockaddr_in free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int probe = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(probe >= 0 && bind(probe, (struct sockaddr *)&address, size) == 0);
    assert_int_equal(getsockname(probe, (struct sockaddr *)&address, &size), 0);
    close(probe);
    return address;
}

static void serve(_Atomic uint64_t *clock, unsigned port)
{
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    const struct server_options options = {
        .resp = address, .http = "none", .threads = 1, .now_ns = shared_now_ns, .clock = (void *)(uintptr_t)clock};
    _exit(server_run(&options));
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10 * MS_NS}, NULL);
}

/* It listens when it does; or it has ended, since the port was taken meanwhile. */
static bool reach(struct child *child, const struct sockaddr_in *address)
{
    for (int i = 0; i < TRIES; i++, nap()) {
        if (waitpid(child->process, NULL, WNOHANG) != 0) {
            child->process = 0;
            return false;
        }
        child->socket = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(child->socket, (const struct sockaddr *)address, sizeof *address) == 0) return true;
        close(child->socket);
        child->socket = -1;
    }
    return false;
}

static int stop_child(void **state)
{
    struct child *child = *state;
    if (child->socket >= 0) close(child->socket);
    if (child->process > 0) {
        kill(child->process, SIGTERM);
        waitpid(child->process, NULL, 0);
    }
    munmap((void *)(uintptr_t)child->now_ns, sizeof *child->now_ns);
    free(child);
    return 0;
}

static int start_child(void **state)
{
    struct child *child = calloc(1, sizeof *child);
    void *shared = mmap(NULL, sizeof *child->now_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (child == NULL || shared == MAP_FAILED) return -1;
    *state = child;
    child->now_ns = shared;
    for (int ports = 0; ports < PORTS && child->process == 0; ports++) {
        const struct sockaddr_in address = free_port();
        child->socket = -1;
        child->process = fork();
        if (child->process == 0) serve(child->now_ns, ntohs(address.sin_port));
        if (reach(child, &address)) return 0;
    }
    stop_child(state);
    return -1;
}

static void set_child_ns(void *context, uint64_t now_ns)
{
    atomic_store(((struct child *)context)->now_ns, UINT64_C(1000000000000) + now_ns);
}

static bool is_whole(const char *answer)
{
    int lines = 0;
    for (const char *at = answer; *at != '\0'; at++) lines += *at == '\n';
    return answer[0] == '*' ? lines == NUMBERS + 1 : lines == 1;
}

static const char *ask_child(void *context, const char *const arguments[])
{
    struct child *child = context;
    char command[512];
    const size_t size = rig_command(command, arguments);
    size_t got = 0;
    assert_int_equal(write(child->socket, command, size), size);
    do {
        const ssize_t more = read(child->socket, child->answer + got, sizeof child->answer - 1 - got);
        if (more <= 0) fail_msg("no answer: %s", more == 0 ? "closed" : strerror(errno));
        got += (size_t)more;
        child->answer[got] = '\0';
    } while (!is_whole(child->answer));
    return child->answer;
}

static void through_socket(void **state)
{
    struct tally tally = {0};
    check_cases(&(struct transport){*state, set_child_ns, ask_child}, &tally);
    assert_true(tally.cases == 8 && tally.steps == 61 && tally.explained == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_socket),
                                       cmocka_unit_test_setup_teardown(through_socket, start_child, stop_child)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
