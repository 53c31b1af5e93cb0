/* SPDX-License-Identifier: MIT
   An engine whose name has another address after a while: it is asked for again whenever the engine does not answer. */
#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>

#include "unit/engine_server.h"

enum { PATIENT_MS = 5000, STEP_MS = 60 * 1000, LOOKUPS = 40, ADDRESS = 0x7f000002 };

static _Atomic bool moved, exposed;
static _Atomic unsigned lookups;

int __real_getaddrinfo(const char *name, const char *port, const struct addrinfo *wanted, struct addrinfo **found);
int __wrap_getaddrinfo(const char *name, const char *port, const struct addrinfo *wanted, struct addrinfo **found);

int __wrap_getaddrinfo(const char *name, const char *port, const struct addrinfo *wanted, struct addrinfo **found)
{
    if (strcmp(name, "weir.example") != 0) return __real_getaddrinfo(name, port, wanted, found);
    if ((wanted->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (lookups != 0 && !sigismember(&blocked, SIGTERM)) exposed = true;
    atomic_fetch_add(&lookups, 1);
    return __real_getaddrinfo(moved ? "127.0.0.2" : "127.0.0.1", port, wanted, found);
}

static _Atomic unsigned refused; /* threads that cannot be made, from now on */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    if (refused == 0) return __real_pthread_create(thread, attributes, run, argument);
    refused--;
    return EAGAIN;
}

static weir_from ask_once(uint64_t *ms)
{
    weir_engine_ask ask = {.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("k")};
    sched_yield();
    ask_at(&ask, *ms += STEP_MS);
    return ask.from;
}

static void test_a_name_that_moves(void **state)
{
    (void)state;
    uint64_t ms = 0;
    sigset_t blocked;
    alarm(60);
    begin_at("redis", ADDRESS, "weir.example", PATIENT_MS, 0);
    start();
    assert_int_equal(lookups, 1);
    while (lookups < LOOKUPS) assert_int_equal(ask_once(&ms), WEIR_FROM_AWAY);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0); /* by who asks for it, not by us */
    assert_int_equal(sigismember(&blocked, SIGTERM), 0);
    assert_false(exposed);
    refused = LOOKUPS;
    while (refused != 0) assert_int_equal(ask_once(&ms), WEIR_FROM_AWAY);
    moved = true; /* is noticed all the same */
    while (ask_once(&ms) != WEIR_FROM_ENGINE) continue;
    const unsigned before = lookups;
    for (int i = 0; i < 10; i++) assert_int_equal(ask_once(&ms), WEIR_FROM_ENGINE);
    assert_in_range(lookups, before, before + 1); /* none but one that had been begun before it answered */
    end();
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_name_that_moves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
