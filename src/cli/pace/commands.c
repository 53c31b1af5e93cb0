/* SPDX-License-Identifier: MIT
   Runs a command for each line of stdin, each started on schedule, over a number of workers.

   A worker takes a line, waits for its start, starts the command and waits for its end.  When all are busy the next
   start is late, and the summary says by how much.

   What was started is waited for, unless told to leave it; the first failure stops the starting unless told to keep
   going. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/limiter.h"
#include "cli/pace/schedule.h"
#include "core/num.h"

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNALLED = 128, SHOWN_MAX = 60 };

enum leaving { STAYING, LEAVING, TERMINATING };

struct worker {
    struct pace *pace;
    pthread_t thread; /* the crew's, to join */
    pthread_t self;   /* under the crew's mutex, as is ... */
    bool waits;       /* ... whether it waits for its command */
};

struct pace_crew {
    struct worker *worker;   /* room for all that there may be */
    struct atom size;        /* that there are; it grows under the mutex */
    struct atom occupied;    /* of them, those that run a command or think */
    struct atom ended;       /* those that have found no more lines */
    struct atom leaving;     /* an enum leaving */
    struct atom left;        /* commands that nobody waited for */
    struct host_event event; /* all are occupied, or one has ended */
};

struct job {
    char *line, *values; /* owned; of the fields that the command names, or NULL */
    uint64_t number, cost;
    uint64_t arrived_ns; /* it was not there before */
    struct at_stamp stamp;
};

/* What stands for the text's next byte, or for the mark that it begins with; *size: of that. */
static struct slice value_of(const struct pace *pace, const struct job *job, const char *text, size_t *size)
{
    *size = strlen("{}");
    if (strncmp(text, "{}", *size) == 0) return slice_of(job->line);
    const char *value = at_value(&pace->at, job->values, text, size);
    if (value != NULL) return slice_of(value);
    *size = 1;
    return (struct slice){text, 1};
}

/* The bytes of the argument with every mark replaced, written unless out is NULL; *marks grows by theirs. */
static size_t replace(const struct pace *pace, const struct job *job, const char *argument, char *out, size_t *marks)
{
    size_t length = 0, mark;
    for (const char *at = argument; *at != '\0'; at += mark) {
        const struct slice value = value_of(pace, job, at, &mark);
        if (out != NULL) memcpy(out + length, value.bytes, value.size);
        *marks += mark > 1;
        length += value.size;
    }
    return length;
}

/* NULL without memory. */
static char *replaced(const struct pace *pace, const struct job *job, const char *argument, size_t *marks)
{
    size_t again = 0;
    const size_t length = replace(pace, job, argument, NULL, marks);
    char *text = malloc(length + 1);
    if (text == NULL) return NULL;
    replace(pace, job, argument, text, &again);
    text[length] = '\0';
    return text;
}

static void free_arguments(char **arguments)
{
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++) free(arguments[i]);
    free(arguments);
}

/* Without a mark the line becomes the last argument, as xargs does it. */
static char **arguments_of(const struct pace *pace, const struct job *job)
{
    size_t count = 0, marks = 0;
    while (pace->command[count] != NULL) count++;
    char **arguments = calloc(count + 2, sizeof *arguments);
    if (arguments == NULL) return NULL;
    for (size_t i = 0; i < count; i++) {
        arguments[i] = replaced(pace, job, pace->command[i], &marks);
        if (arguments[i] == NULL) {
            free_arguments(arguments);
            return NULL;
        }
    }
    if (marks == 0) arguments[count] = replaced(pace, job, "{}", &marks);
    return arguments;
}

/* The child gets our streams but stdin, which is ours, and the signals as they were. */
static int start(char **arguments, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int failed = posix_spawnp(child, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static void set_waits(struct worker *worker, bool waits)
{
    host_lock(&worker->pace->crew_mutex);
    worker->self = pthread_self(); /* known here before pthread_create has returned there */
    worker->waits = waits;
    host_unlock(&worker->pace->crew_mutex);
}

/* True when it has ended, false when it is left to itself. */
static bool wait_for(struct worker *worker, pid_t child, int *status)
{
    struct pace_crew *crew = worker->pace->crew;
    uint64_t leaving = STAYING;
    pid_t ended = -1;
    int how = 0;
    set_waits(worker, true);
    while (leaving == STAYING && (ended = waitpid(child, &how, 0)) < 0 && errno == EINTR) {
        leaving = atom_load(&crew->leaving);
    }
    set_waits(worker, false);
    *status = WIFSIGNALED(how) ? STATUS_SIGNALLED + WTERMSIG(how) : WEXITSTATUS(how);
    if (ended >= 0 || leaving == STAYING) return true;
    if (leaving == TERMINATING) kill(child, SIGTERM);
    atom_add(&crew->left, 1);
    return false;
}

static void command_failed(struct pace *pace, const struct job *job, const char *what, int status)
{
    host_lock(&pace->input_mutex);
    const bool first = pace->status == STATUS_DONE;
    if (first) pace->status = status;
    if (first && !pace->keep_going) pace_stop(pace, 1);
    host_unlock(&pace->input_mutex);
    if (!first && !pace->keep_going) return;
    trouble("%s %s %d for line %llu (\"%.*s\")%s", pace->command[0], what, status, (unsigned long long)job->number,
            SHOWN_MAX, job->line, pace->keep_going ? "" : "; stopping (--keep-going would continue)");
}

static void note_start(struct pace *pace, const struct job *job, const weir_decision *decision, uint64_t due_ns,
                       uint64_t now_ns)
{
    const struct record_owed owed = pace_owed(pace);
    record_begin(&pace->record, now_ns);
    record_behind(&pace->record, owed.behind_ns);
    record_start(&pace->record, now_ns, decision->start.ns, due_ns, job->cost);
    record_end(&pace->record);
}

/* What could not be run has no end. */
static void fail_start(struct pace *pace, const struct job *job, uint64_t due_ns, uint64_t now_ns, int failed)
{
    const int why = failed == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    outcomes_hold(&pace->outcomes);
    outcomes_end(&pace->outcomes, why);
    outcomes_release(&pace->outcomes);
    starts_write(&pace->latency.starts, due_ns, now_ns, 0, why);
    trouble("%s: %s", pace->command[0], strerror(failed));
    command_failed(pace, job, "could not be run:", why);
}

static void run(struct worker *worker, const struct job *job, const weir_decision *decision)
{
    struct pace *pace = worker->pace;
    char **arguments = arguments_of(pace, job);
    pid_t child;
    const uint64_t now_ns = weir_now().ns;
    outcomes_begin(&pace->outcomes);
    const int failed = arguments != NULL ? start(arguments, &child) : ENOMEM;
    free_arguments(arguments);
    const uint64_t due_ns = pace_due_ns(pace, decision, job->cost, job->arrived_ns);
    note_start(pace, job, decision, due_ns, now_ns);
    if (failed != 0) {
        fail_start(pace, job, due_ns, now_ns, failed);
        return;
    }
    int status = -1;
    const bool ended = wait_for(worker, child, &status);
    const uint64_t end_ns = weir_now().ns;
    starts_write(&pace->latency.starts, due_ns, now_ns, ended ? end_ns : 0, ended ? status : -1);
    if (!ended) return;
    outcomes_hold(&pace->outcomes); /* an interval has all of an end, or nothing */
    weir_done_at(pace->limiter, (weir_instant){due_ns}, (weir_instant){now_ns}, (weir_instant){end_ns});
    outcomes_end(&pace->outcomes, status);
    outcomes_release(&pace->outcomes);
    if (status != 0) command_failed(pace, job, "exited", status);
}

static void free_job(struct job *job)
{
    free(job->line);
    free(job->values);
}

/* A line of one's own, without its delimiter; false when there is none to start. */
static bool next_job(struct pace *pace, struct job *job)
{
    enum input_state state = INPUT_INTERRUPTED;
    host_lock(&pace->input_mutex);
    while (state == INPUT_INTERRUPTED && !pace_stopped(pace) && pace->lines_taken < pace->count_max) {
        state = pace_next_lines(pace);
    }
    bool ready = state == INPUT_READY && !pace_stopped(pace);
    if (ready) {
        size_t size;
        const char *bytes = input_take(&pace->input, 1, &size);
        job->cost = pace->bytes ? size : 1;
        job->arrived_ns = pace->arrived_ns;
        job->stamp = pace_stamp(pace);
        job->values = pace->at.values;
        pace->at.values = NULL;
        if (bytes[size - 1] == pace->input.delimiter) size--;
        if (memchr(bytes, '\0', size) != NULL) {
            pace->status = trouble("line %llu contains a NUL byte, which an argument of a command cannot; see --null",
                                   (unsigned long long)pace->lines_taken + pace->lines_passed + 1);
            pace_stop(pace, 1);
            size = 0;
        }
        job->line = strndup(bytes, size);
        job->number = ++pace->lines_taken + pace->lines_passed;
        ready = job->line != NULL && !pace_stopped(pace);
        if (!ready) free_job(job);
    } else if (state != INPUT_INTERRUPTED) {
        pace_input_trouble(pace, state);
    } else if (!pace_stopped(pace)) {
        pace_no_more_lines(pace);
    }
    host_unlock(&pace->input_mutex);
    return ready;
}

/* Takes nothing.  END: no more are wanted, or there are none. */
static enum input_state look_for_lines(struct pace *pace)
{
    host_lock(&pace->input_mutex);
    const bool counted = pace->lines_taken >= pace->count_max;
    const enum input_state state = counted ? INPUT_END : input_lines(&pace->input);
    host_unlock(&pace->input_mutex);
    return state;
}

/* --think: not before another line, and not any longer once another worker has taken the last one. */
static void think(struct pace *pace, uint64_t ended_ns)
{
    const uint64_t until_ns = add_saturating(ended_ns, pace->think_ns);
    if (pace->think_ns == 0) return;
    while (!pace_stopped(pace) && host_now_ns() < until_ns && look_for_lines(pace) != INPUT_END) {
        const uint32_t seen = host_event_seen(&pace->limiter->event);
        host_event_wait(&pace->limiter->event, seen, least(until_ns, host_now_ns() + PACE_LOOK_NS));
    }
}

static void run_and_think(struct worker *worker, const struct job *job, const weir_decision *decision)
{
    struct pace *pace = worker->pace;
    struct pace_crew *crew = pace->crew;
    if (atom_add(&crew->occupied, 1) + 1 >= atom_load(&crew->size)) host_event_signal(&crew->event);
    run(worker, job, decision);
    think(pace, host_now_ns());
    atom_add(&crew->occupied, UINT64_MAX);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct pace *pace = worker->pace;
    struct job job;
    bool over = false;
    while (!over && next_job(pace, &job)) {
        const weir_decision decision = pace_take_wait(pace, &job.stamp, job.cost);
        over = pace_over(pace, &decision);
        if (weir_allowed(decision) && !pace_stopped(pace)) run_and_think(worker, &job, &decision);
        else if (!over && (decision.verdict == WEIR_NEVER || decision.verdict == WEIR_DENY)) {
            pace->status = trouble("line %llu costs more than %s can ever let through", (unsigned long long)job.number,
                                   pace_limit_name(pace));
            pace_stop(pace, 1);
        }
        free_job(&job);
    }
    atom_add(&pace->crew->ended, 1);
    host_event_signal(&pace->crew->event);
    return NULL;
}

/* The signal's handler does nothing, but waitpid returns.  A worker that was just about to call it is caught by the
   next call of this. */
void pace_commands_leave(struct pace *pace, bool terminate)
{
    host_lock(&pace->crew_mutex);
    struct pace_crew *crew = pace->crew;
    if (crew != NULL) atom_store(&crew->leaving, terminate ? TERMINATING : LEAVING);
    for (uint64_t i = 0; crew != NULL && i < atom_load(&crew->size); i++) {
        if (crew->worker[i].waits) pthread_kill(crew->worker[i].self, SIGUSR2);
    }
    host_unlock(&pace->crew_mutex);
}

static void use_crew(struct pace *pace, struct pace_crew *crew)
{
    host_lock(&pace->crew_mutex);
    pace->crew = crew;
    host_unlock(&pace->crew_mutex);
}

static void say_left(const struct pace_crew *crew)
{
    const uint64_t left = atom_load(&crew->left);
    if (left == 0) return;
    trouble("%llu command%s still running: %s", (unsigned long long)left, left == 1 ? "" : "s",
            atom_load(&crew->leaving) == TERMINATING ? "sent SIGTERM, --grace is over" : "not waited for");
}

/* One more, if there is room for its thread. */
static bool begin(struct pace *pace, struct pace_crew *crew)
{
    struct worker *worker = &crew->worker[atom_load(&crew->size)];
    worker->pace = pace;
    host_lock(&pace->crew_mutex);
    const bool begun = pthread_create(&worker->thread, NULL, work, worker) == 0;
    if (begun) atom_add(&crew->size, 1);
    host_unlock(&pace->crew_mutex);
    return begun;
}

/* How long to wait before another look; 0: a line waits, its start is due, and all are occupied. */
static uint64_t until_one_lacks_ns(struct pace *pace, const struct pace_crew *crew)
{
    if (atom_load(&crew->occupied) < atom_load(&crew->size)) return PACE_LOOK_NS;
    const enum input_state state = look_for_lines(pace);
    if (state == INPUT_EMPTY) input_wait(&pace->input);
    return state == INPUT_READY ? least(pace_next_in_ns(pace), PACE_LOOK_NS) : state == INPUT_EMPTY ? 1 : PACE_LOOK_NS;
}

/* -J: a worker more whenever a start is due and none is there for it. */
static void grow(struct pace *pace, struct pace_crew *crew)
{
    while (!pace_stopped(pace) && atom_load(&crew->ended) == 0 && atom_load(&crew->size) < pace->workers_max) {
        const uint32_t seen = host_event_seen(&crew->event);
        const uint64_t wait_ns = until_one_lacks_ns(pace, crew);
        if (wait_ns != 0) {
            host_event_wait(&crew->event, seen, host_now_ns() + wait_ns);
        } else if (begin(pace, crew)) {
            outcomes_grow(&pace->outcomes, atom_load(&crew->size));
        } else {
            trouble("no more than %llu workers could be started", (unsigned long long)atom_load(&crew->size));
            return;
        }
    }
}

void pace_commands(struct pace *pace)
{
    struct pace_crew crew = {.worker = calloc(most(pace->workers, pace->workers_max), sizeof *crew.worker)};
    if (crew.worker != NULL) use_crew(pace, &crew);
    while (crew.worker != NULL && atom_load(&crew.size) < pace->workers && begin(pace, &crew)) continue;
    const uint64_t started = atom_load(&crew.size);
    if (started < pace->workers) {
        pace->status = trouble("only %llu of %llu workers could be started", (unsigned long long)started,
                               (unsigned long long)pace->workers);
        pace_stop(pace, 1);
    }
    grow(pace, &crew);
    for (uint64_t i = 0; i < atom_load(&crew.size); i++) pthread_join(crew.worker[i].thread, NULL);
    use_crew(pace, NULL);
    say_left(&crew);
    free(crew.worker);
}
