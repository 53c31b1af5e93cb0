/* SPDX-License-Identifier: MIT
   The thread that watches a pace: the live line, signals, the end of --for.

   It takes no part in the work.  Signals are waited for here and nowhere else; the worker, who may be asleep in a read
   or a write, is woken by a signal whose handler does nothing.

   At most ten lines a second, only on a terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/pace/schedule.h"
#include "core/num.h"
#include "plan/write.h"
#include "host/clock.h"
#include "host/sleep.h"

enum { LOOK_OFTEN_NS = 1000000, WIDTH_USUAL = 80, WIDTH_MAX = 200 };

/* Signals that asked to end it. */
struct asked {
    int times;
    uint64_t first_ns;
};

struct shown {
    uint64_t at_ns;
    uint64_t rated_ns, granted; /* when the rate was last taken, and what had started by then */
    double rate;
    bool live, colour, dirty;
};

static void wake(int signal)
{
    (void)signal;
}

static void watched_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGUSR1);
}

/* The worker must come out of read and write, so the calls are not restarted. */
static void stop(struct pace_watch *watch, uint64_t why)
{
    pace_stop(watch->pace, why);
    weir_stop(watch->pace->limiter);
    pthread_kill(watch->worker, SIGUSR2);
}

static int width_of_terminal(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return WIDTH_USUAL;
    return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

static void put_share(struct writer *writer, const struct pace *pace, const struct record_view *view, uint64_t now_ns)
{
    const bool by_count = pace->count_max != UINT64_MAX;
    const uint64_t done = by_count ? view->items : atom_load(&pace->input.consumed);
    const uint64_t whole = by_count ? pace->count_max : pace->size;
    if (whole == 0 || done == 0 || done > whole) return;
    const double elapsed_ns = (double)(now_ns - view->first_ns);
    const double left_s = elapsed_ns * (double)(whole - done) / (double)done / HOST_SECOND_NS;
    write_text(writer, "  ");
    write_number(writer, done * 100 / whole);
    write_text(writer, " %  ");
    write_number(writer, (uint64_t)(left_s + 0.5));
    write_text(writer, " s left");
}

/* Cut to the terminal's width, so that it stays one line; the line before is overwritten. */
static void put_line(struct shown *shown, const char *text)
{
    const int width = width_of_terminal() - 1;
    int columns = 0;
    size_t bytes = 0;
    for (; text[bytes] != '\0' && columns < width; bytes++) {
        if (((unsigned char)text[bytes + 1] & 0xC0) != 0x80) columns++;
    }
    fprintf(stderr, "\r\033[K%s%.*s%s\r", shown->colour ? "\033[2m" : "", (int)bytes, text,
            shown->colour ? "\033[0m" : "");
    fflush(stderr);
    shown->dirty = true;
}

/* Over a second, or slow paces would jump. */
static double rate_now(struct shown *shown, const struct record_view *view, uint64_t now_ns)
{
    const uint64_t passed_ns = now_ns - shown->rated_ns;
    if (passed_ns >= HOST_SECOND_NS || shown->rate == 0) {
        shown->rate = (double)(view->granted - shown->granted) * HOST_SECOND_NS / (double)most(passed_ns, 1);
    }
    if (passed_ns >= HOST_SECOND_NS) {
        shown->granted = view->granted;
        shown->rated_ns = now_ns;
    }
    return shown->rate;
}

static void put_phase(struct writer *writer, unsigned number, unsigned count)
{
    if (count == 0) return;
    write_text(writer, "phase ");
    write_number(writer, number);
    write_text(writer, " of ");
    write_number(writer, count);
    write_text(writer, "  ");
}

static void show(struct pace_watch *watch, struct shown *shown)
{
    struct pace *pace = watch->pace;
    const uint64_t now_ns = weir_now().ns;
    if (now_ns - shown->at_ns < PACE_LOOK_NS) return;
    const struct record_view view = record_view(&pace->record);
    const bool commands = pace->command != NULL;
    const struct phase_record *phases = pace->record.phases;
    unsigned number = 0, count = 0;
    const bool profile = phases != NULL && !phases->over;
    const double asked_per_s = profile ? phase_record_rate_at(phases, now_ns, &number, &count) : view.asked_per_s;
    uint64_t jobs = 0, busy = commands ? outcomes_busy(&pace->outcomes, &jobs) : 0;
    const struct saturation saturation = {.asked_per_s = asked_per_s,
                                          .per_s = rate_now(shown, &view, now_ns),
                                          .missed = pace_owed(pace).missed,
                                          .busy = busy,
                                          .jobs = jobs,
                                          .in_bytes = pace->bytes};
    char text[512];
    struct writer writer = {text, sizeof text, 0};
    write_grouped(&writer, pace->bytes ? view.granted : view.items);
    write_text(&writer, " ");
    write_text(&writer, pace->bytes ? "bytes" : pace->record.noun);
    write_text(&writer, "  ");
    put_phase(&writer, number, count);
    record_write_saturation(&writer, &saturation);
    write_text(&writer, "  late p99 ");
    write_about(&writer, view.late_p99_ns);
    if (view.items > 0) put_share(&writer, pace, &view, now_ns);
    put_line(shown, text);
    shown->at_ns = now_ns;
}

static void clear(struct shown *shown)
{
    if (shown->dirty) fputs("\r\033[K", stderr);
    shown->dirty = false;
}

/* At most one limit a second: a file may change ten times in it. */
static void tell_news(struct pace *pace, struct shown *shown, bool at_once)
{
    const uint64_t now_ns = weir_now().ns;
    if (!pace->has_news || (!at_once && now_ns - pace->told_ns < HOST_SECOND_NS)) return;
    clear(shown);
    fprintf(stderr, "%s\n", pace->news);
    pace->has_news = false;
    pace->told_ns = now_ns;
}

static void on_signal(struct pace_watch *watch, struct shown *shown, struct asked *asked, int signal)
{
    if (signal > 0) clear(shown);
    if (signal == SIGUSR1) pace_print_summary(watch->pace, stderr);
    if (signal != SIGINT && signal != SIGTERM) return;
    if (asked->times++ == 0) asked->first_ns = weir_now().ns;
    stop(watch, (uint64_t)signal + 1);
}

/* Until a deadline that is `limit_ns` after `began_ns`, or 0; UINT64_MAX is none. */
static uint64_t left_ns(uint64_t limit_ns, uint64_t began_ns)
{
    return subtract_to_zero(limit_ns, limit_ns == UINT64_MAX ? 0 : weir_now().ns - began_ns);
}

/* It counts from --begin or the first start, as the schedule does; before that start it is looked for so often that the
   end is late by a tenth at most. */
static uint64_t for_left_ns_of(struct pace *pace)
{
    if (pace->for_ns == UINT64_MAX) return UINT64_MAX;
    const uint64_t begin_ns = pace->part.begin_unix_ns;
    if (begin_ns != 0) return subtract_to_zero(add_saturating(begin_ns, pace->for_ns), host_unix_ns());
    const struct record_view view = record_view(&pace->record);
    return view.items == 0 ? most(pace->for_ns / 10, LOOK_OFTEN_NS) : left_ns(pace->for_ns, view.first_ns);
}

/* No line is there, and none that comes would start: the profile has ended. */
static bool waits_behind_end(const struct pace *pace)
{
    const struct phase_record *phases = pace->record.phases;
    return phases != NULL && atom_load(&pace->idle_ns) != 0 && phase_record_ended(phases, weir_now().ns);
}

/* Said again and again, for it may come just before a worker sleeps. */
static void end_commands(struct pace *pace, const struct asked *asked, uint64_t grace_left_ns)
{
    if (asked->times > 1) pace_commands_leave(pace, false);
    else if (grace_left_ns == 0) pace_commands_leave(pace, true);
}

/* Not beyond a deadline that is still to come, nor the end of an interval. */
static uint64_t nap_of(uint64_t for_left_ns, uint64_t grace_left_ns, uint64_t interval_left_ns)
{
    const uint64_t until_for_ns = for_left_ns == 0 ? PACE_LOOK_NS : for_left_ns;
    const uint64_t until_grace_ns = grace_left_ns == 0 ? PACE_LOOK_NS : grace_left_ns;
    return least(least(PACE_LOOK_NS, interval_left_ns), least(until_for_ns, until_grace_ns));
}

static void *observe(void *argument)
{
    struct pace_watch *watch = argument;
    struct pace *pace = watch->pace;
    struct shown shown = {.at_ns = weir_now().ns};
    struct asked asked = {.times = 0};
    sigset_t set;
    watched_signals(&set);
    shown.rated_ns = shown.at_ns;
    /* Lines on the terminal are shown enough; what commands print there goes over the live line. */
    shown.live =
        isatty(STDERR_FILENO) && !pace->json && !pace->quiet && (pace->command != NULL || !isatty(STDOUT_FILENO));
    shown.colour = getenv("NO_COLOR") == NULL;
    while (atom_load_acquire(&watch->over) == 0) {
        const uint64_t for_left_ns = for_left_ns_of(pace);
        const uint64_t grace_left_ns = asked.times == 0 ? UINT64_MAX : left_ns(pace->grace_ns, asked.first_ns);
        if (pace_stopped(pace) || for_left_ns == 0 || waits_behind_end(pace))
            stop(watch, most(atom_load(&pace->stop), 1));
        end_commands(pace, &asked, grace_left_ns);
        const struct timespec nap = {0, (long)nap_of(for_left_ns, grace_left_ns, latency_look(pace))};
        on_signal(watch, &shown, &asked, sigtimedwait(&set, NULL, &nap));
        pace_follow(pace);
        tell_news(pace, &shown, false);
        if (shown.live) show(watch, &shown);
    }
    tell_news(pace, &shown, true);
    clear(&shown);
    return NULL;
}

void pace_watch_start(struct pace_watch *watch, struct pace *pace)
{
    struct sigaction action = {.sa_handler = wake};
    sigset_t set;
    watched_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    watch->pace = pace;
    watch->worker = pthread_self();
    if (pthread_create(&watch->thread, NULL, observe, watch) != 0) {
        trouble("cannot start the monitoring thread: no progress line, and signals have their default effect");
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        watch->pace = NULL;
    }
}

void pace_watch_end(struct pace_watch *watch)
{
    if (watch->pace == NULL) return;
    atom_store_release(&watch->over, 1);
    pthread_kill(watch->thread, SIGUSR2);
    pthread_join(watch->thread, NULL);
}
