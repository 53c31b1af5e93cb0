/* SPDX-License-Identifier: MIT
   A command that runs while it holds slots.

       taken            renewed at a third of the lease              ended: released
       |------------------|------------------|------------------|----|
       |=====================================================X        a lease, if nothing renewed it

   Where the file or the engine does not answer, it is asked again, until the lease is over.  Then others may have the
   slots: the command is told by a signal, once, and the status says it, whatever the command makes of it.  The same
   signal is sent by the system when weir itself is killed.

   The lease is counted from before the slots were asked for, so it is over here no later than there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/arguments.h"
#include "cli/take/take.h"
#include "core/num.h"
#include "host/sleep.h"
#include "plan/write.h"

enum { STATUS_LEASE_LOST = 124, STATUS_SIGNALLED = 128, RENEW_PARTS = 3, TRY_PARTS = 12 };

struct holding {
    struct take *take;
    pid_t child;
    uint64_t id, next_ns, end_ns; /* when to renew, and when the lease is over */
    sigset_t awaited;             /* what is passed on to the command, and SIGCHLD */
    bool lost;
};

/* ---- slots ---- */

static enum held file_hold(struct take *take, uint64_t id, enum hold hold)
{
    weir_table_stats before = {0}, after = {0};
    weir_table_read_stats(take->table, &before, sizeof before);
    const bool held = hold == HOLD_RENEW ? weir_table_renew(take->table, &take->plan, take->key, id)
                                         : weir_table_release(take->table, &take->plan, take->key, id);
    weir_table_read_stats(take->table, &after, sizeof after);
    return held ? HELD : after.stuck != before.stuck ? HELD_UNKNOWN : HELD_NO_MORE;
}

static enum held hold_slots(struct take *take, uint64_t id, enum hold hold)
{
    return take->engine != NULL ? take_engine_hold(take, id, hold) : file_hold(take, id, hold);
}

static const char *why_unknown(const struct take *take)
{
    return take->engine != NULL ? take_engine_why(take) : "another process holds the lock of its file";
}

/* ---- a lease that is lost ---- */

/* In the order of the option's words. */
static const struct lost_word {
    const char *name;
    int number; /* 0: none */
} lost_words[] = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
                  {"USR2", SIGUSR2}, {"STOP", SIGSTOP}, {"KILL", SIGKILL}, {"none", 0}};

static const struct lost_word *lost_signal(const struct take *take)
{
    return &lost_words[take->lost_word == 0 ? 0 : take->lost_word - 1];
}

static void lose(struct holding *holding, const char *why)
{
    const struct lost_word *word = lost_signal(holding->take);
    holding->lost = true;
    if (holding->child == 0) {
        trouble("lease lost: %s", why);
    } else if (word->number == 0) {
        trouble("lease lost: %s; the command goes on, and others may run now", why);
    } else {
        kill(holding->child, word->number);
        trouble("lease lost: %s; the command was sent SIG%s, as others may run now", why, word->name);
    }
}

static void renew(struct holding *holding)
{
    struct take *take = holding->take;
    const uint64_t now_ns = weir_now().ns;
    const enum held held = hold_slots(take, holding->id, HOLD_RENEW);
    if (held == HELD) holding->end_ns = add_saturating(now_ns, take->lease_ns);
    holding->next_ns = add_saturating(now_ns, take->lease_ns / (held == HELD ? RENEW_PARTS : TRY_PARTS));
    if (held == HELD_NO_MORE) lose(holding, "it was over, or was reset");
    else if (held == HELD_UNKNOWN && weir_now().ns >= holding->end_ns) lose(holding, why_unknown(take));
}

static void release(struct holding *holding)
{
    const enum held held = hold_slots(holding->take, holding->id, HOLD_RELEASE);
    if (held == HELD_NO_MORE) lose(holding, "it was over, or was reset");
    else if (held == HELD_UNKNOWN && weir_now().ns >= holding->end_ns) lose(holding, why_unknown(holding->take));
    else if (held == HELD_UNKNOWN)
        trouble("not released: %s; it is free when its lease is over", why_unknown(holding->take));
}

/* ---- the command ---- */

/* What the parent process has set to be ignored stays so, for the command too. */
static void await_signals(struct holding *holding)
{
    static const int more[] = {SIGUSR1, SIGUSR2};
    take_ending_signals(&holding->awaited);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        struct sigaction action;
        if (sigaction(more[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&holding->awaited, more[i]);
    }
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, a child leaves no status */
    sigaddset(&holding->awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &holding->awaited, NULL);
}

/* A terminal sends its signals to all of the foreground, so to the command too. */
static void pass_on(const struct holding *holding, const siginfo_t *info)
{
    const bool by_terminal = info->si_code > 0 && getpgid(holding->child) == getpgrp();
    if (info->si_signo != SIGCHLD && !by_terminal) kill(holding->child, info->si_signo);
}

static void sleep_until_signal(struct holding *holding)
{
    const uint64_t now_ns = weir_now().ns;
    const uint64_t left_ns = holding->lost ? INT64_MAX : subtract_to_zero(holding->next_ns, now_ns);
    const struct timespec nap = {(time_t)(left_ns / HOST_SECOND_NS), (long)(left_ns % HOST_SECOND_NS)};
    siginfo_t info;
    if (sigtimedwait(&holding->awaited, &info, &nap) > 0) pass_on(holding, &info);
}

/* Returns how it ended. */
static int wait_for_end(struct holding *holding)
{
    int how;
    pid_t ended;
    while ((ended = waitpid(holding->child, &how, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        sleep_until_signal(holding);
        if (!holding->lost && weir_now().ns >= holding->next_ns) renew(holding);
    }
    holding->child = 0;
    return WIFSIGNALED(how) ? STATUS_SIGNALLED + WTERMSIG(how) : WEXITSTATUS(how);
}

int take_hold(struct take *take, const sigset_t *before)
{
    struct holding holding = {.take = take, .id = take->decision.end};
    holding.end_ns = add_saturating(take->taken_ns, take->lease_ns);
    holding.next_ns = add_saturating(take->taken_ns, take->lease_ns / RENEW_PARTS);
    await_signals(&holding);
    const int why = command_start(take->command, before, lost_signal(take)->number, &holding.child);
    if (why != 0) {
        take_give_back(take);
        return command_trouble(take->command, why);
    }
    const int status = wait_for_end(&holding);
    if (!holding.lost) release(&holding);
    if (!holding.lost) return status;
    if (status != 0) trouble("the command ended with status %d", status);
    return STATUS_LEASE_LOST;
}

/* ---- without a command ---- */

int take_end(struct take *take)
{
    const char *text = take->renew != NULL ? take->renew : take->release;
    char *end;
    errno = 0;
    const unsigned long long id = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return trouble("take: --%s \"%s\": expected the id that weir take printed",
                       take->renew != NULL ? "renew" : "release", text);
    switch (hold_slots(take, id, take->renew != NULL ? HOLD_RENEW : HOLD_RELEASE)) {
    case HELD:
        return STATUS_DONE;
    case HELD_NO_MORE:
        trouble("not held any more: %s was released, or its lease is over", text);
        return take->refused_status >= 0 ? take->refused_status : STATUS_REFUSED;
    default:
        return trouble("not %s: %s", take->renew != NULL ? "renewed" : "released", why_unknown(take));
    }
}
