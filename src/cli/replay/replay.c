/* SPDX-License-Identifier: MIT
   weir replay: what limits would have done to the traffic of an access log.

   All limits see the same requests at the same times; what was read when a signal came is reported. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/common/signals.h"
#include "cli/replay/work.h"
#include "core/algorithm.h"
#include "core/num.h"
#include "plan/plan.h"
#include "plan/text.h"
#include "plan/words.h"
#include "redis/client/local/lease.h"

static const double UNAFFECTED_USUAL = 99.9;

#define CHARGE_EXAMPLE "--charge redis://127.0.0.1:9347"

/* ---- options ---- */

static bool read_share(const struct option_row *row, const char *text, bool zero, double *per_cent)
{
    char *end = NULL;
    const bool number = *text >= '0' && *text <= '9' && text[strspn(text, "0123456789.%")] == '\0';
    if (number) *per_cent = strtod(text, &end);
    if (number && (strcmp(end, "%") == 0 || *end == '\0') && *per_cent <= 100 && (zero || *per_cent > 0)) return true;
    trouble("--%s \"%s\": expected a share in per cent, up to 100; for example %s", row->name, text,
            zero ? "1%" : "99.9");
    return false;
}

static bool read_unaffected(const struct option_row *row, const char *value, void *into)
{
    return read_share(row, value, false, into);
}

static bool read_fail_above(const struct option_row *row, const char *value, void *into)
{
    return read_share(row, value, true, into);
}

static bool add_limit(struct replay_options *options, const char *text)
{
    if (options->limits == REPLAY_LIMITS_MAX) trouble("replay: at most %d limits at once", REPLAY_LIMITS_MAX);
    if (options->limits == REPLAY_LIMITS_MAX) return false;
    options->limit[options->limits++] = text;
    return true;
}

static bool read_or(const struct option_row *row, const char *value, void *into)
{
    (void)row;
    return add_limit(into, value);
}

static bool read_tenant_limit(const struct option_row *row, const char *value, void *into)
{
    struct tenants_options *tenants = into;
    if (tenants->count == TENANTS_MAX) trouble("--%s: at most %d tenants", row->name, TENANTS_MAX);
    if (tenants->count == TENANTS_MAX) return false;
    tenants->typed[tenants->count++] = value;
    return true;
}

#define AT(field) .at = offsetof(struct replay_options, field)

static const struct option_row option_rows[] = {
    {"or", 0, "LIMIT", "also try this limit, side by side", read_or, .at = 0},
    {"tenant", 0, "FIELD", "FIELD names the tenant: LIMIT with their guarantees, and without", argument_text,
     AT(tenant)},
    {"tenant-limit", 0, "TEXT", "a tenant's: acme='200/s guaranteed; 500/s'; *=LIMIT is for all others",
     read_tenant_limit, AT(tenants), .needs = "--tenant user"},
    {"key", 'k', "FIELD", "the client: FIELD[/BITS[/BITS]][,FIELD]..., or none for all (the address)", argument_text,
     AT(key)},
    {"cost", 0, "FIELD", "read the cost of each request from FIELD (1); or of one unit: tokens=FIELD", cost_read,
     .at = 0},
    {"format", 'f', "FORMAT", "combined, vhost_combined, common, json, csv, or nginx's (guessed)", argument_text,
     AT(format), .words = "combined vhost_combined common json csv"},
    {"time", 0, "FIELD", "read the time from FIELD (one named time, ts, msec or the like)", argument_text, AT(time)},
    {"duration", 0, "FIELD", "read how long requests took from FIELD[:ns|us|ms|s] (one named request_time or the like)",
     argument_text, AT(duration)},
    {"timestamps", 0, "WHICH", "whether timestamps are the start or the end of requests (end)", argument_word,
     AT(timestamps), .words = "start end"},
    {"unaffected", 0, "PCT", "report the smallest burst that refuses nothing to PCT % of clients (99.9)",
     read_unaffected, AT(unaffected)},
    {"follow", 'F', NULL, "follow the log as it grows, and print each refusal", argument_flag, AT(follow)},
    {"fail-above", 0, "PCT", "exit with status 1 if a limit refuses more than PCT % of requests", read_fail_above,
     AT(fail_above)},
    {"strict", 0, NULL, "stop at the first malformed line", argument_flag, AT(strict)},
    {"quiet", 'q', NULL, "no report", argument_flag, AT(quiet)},
    {"json", 0, NULL, "the report as one JSON object", argument_flag, AT(json)},
    {"each", 0, NULL, "a JSON line for each request and limit, and no report", argument_flag, AT(each)},
    {"html", 0, "FILE", "write the report to FILE as a page with plots", argument_text, AT(html)},
    {"charge", 0, "URL", "with -F: charge new requests to the weir serve at URL", argument_text, AT(charge)},
    {"charge-limit", 0, "NAME", "charge them to this limit of its weir.yaml (LIMIT as typed)", argument_text,
     AT(charge_limit), .needs = CHARGE_EXAMPLE},
    {"password-file", 0, "FILE", "the service's password is the first line of FILE", argument_text, AT(password_file),
     .needs = CHARGE_EXAMPLE},
    {"nodes", 0, "N", "also simulate N servers that share the limit, by each design", argument_count, AT(fleet.nodes),
     .most = FLEET_NODES_MAX},
    {"lease", 0, "N", "simulation: a node leases up to N permits of a hot key", fleet_read_lease, AT(fleet.lease),
     .needs = "--nodes 8", .most = LEASE_MOST},
    {"lease-life", 0, "TIME", "simulation: a lease expires after TIME (1s)", fleet_read_life, AT(fleet.lease_life_ns),
     .needs = "--lease 32"},
    {"engine-rtt", 0, "TIME", "simulation: round-trip time to the engine (1ms)", fleet_read_rtt, AT(fleet.rtt_ns),
     .needs = "--nodes 8"},
    {"engine-down", 0, "SPAN", "simulation: the engine is unavailable in this span: 10s-20s", fleet_read_down,
     AT(fleet), .needs = "--nodes 8"},
    {"spread", 0, "HOW", "simulation: node that gets a request, random or sticky (random)", argument_word,
     AT(fleet.spread), .needs = "--nodes 8", .words = "random sticky"},
};

static bool wrong(const char *message)
{
    trouble("replay: %s", message);
    return false;
}

/* Of what is charged it has to be clear since when, and to which limit. */
static bool charge_options_fit(const struct replay_options *options)
{
    const char *name = options->charge_limit;
    if (options->charge == NULL) return true;
    if (!options->follow) return wrong("--charge charges new lines of a log; add --follow");
    if (options->limits != 1) return wrong("--charge is for one limit; leave out --or");
    if (options->logs == 0 || strcmp(options->log[options->logs - 1], "-") == 0)
        return wrong(
            "--charge follows a file, not standard input, where new lines cannot be told from old; name the log");
    if (name == NULL || isalpha((unsigned char)*name)) return true;
    trouble("--charge-limit \"%s\": expected the name of a limit of weir.yaml, which begins with a letter; for example "
            "api",
            name);
    return false;
}

/* The service cuts addresses and joins parts as weir.yaml says of a limit with a name; of a text it is given one key,
   as it is, by the proxy and by us. */
static bool charge_key_fits(const struct replay *replay)
{
    if (replay->options.charge == NULL || replay->options.charge_limit != NULL) return true;
    if (replay->reader.key.parts == 1 && !key_is_cut(&replay->reader.key)) return true;
    return wrong("--charge: without --charge-limit the key is one field, without bits; for other keys give the limit a "
                 "name and a key in the service's weir.yaml, and add --charge-limit NAME");
}

/* The limit may stand anywhere among the options: the first that is none of them. */
static bool set_operands(struct replay_options *options, int argc, char **argv)
{
    if (optind == argc) {
        trouble("replay: expected a limit; for example weir replay '10/s burst=20' access.log");
        return false;
    }
    if (options->limits == REPLAY_LIMITS_MAX) return add_limit(options, argv[optind]);
    memmove(&options->limit[1], &options->limit[0], (size_t)options->limits * sizeof options->limit[0]);
    options->limit[0] = argv[optind];
    options->limits++;
    options->log = argv + optind + 1;
    options->logs = argc - optind - 1;
    if (options->each && options->json) trouble("replay: --each and --json both write to standard output; choose one");
    if (options->each && options->json) return false;
    if (!fleet_options_fit(&options->fleet, options->each, options->follow)) return false;
    if (!charge_options_fit(options) || !tenants_options_fit(options) || !cost_options_fit(options)) return false;
    for (int i = 0; i < options->logs; i++) {
        if (strcmp(options->log[i], "-") == 0 || access(options->log[i], R_OK) == 0) continue;
        trouble("%s: %s", options->log[i], strerror(errno));
        return false;
    }
    return true;
}

/* ARGUMENTS_END when the work can begin, or the status to leave with. */
static int read_arguments(struct replay_options *options, int argc, char **argv)
{
    options->unaffected = UNAFFECTED_USUAL;
    options->fail_above = -1;
    options->fleet = fleet_usual();
    const int status = arguments_read(replay_command(), argc, argv, options);
    if (status != ARGUMENTS_END) return status;
    return set_operands(options, argc, argv) ? ARGUMENTS_END : STATUS_TROUBLE;
}

/* ---- the limits ---- */

/* The rate with this burst, as it would be typed. */
static void put_rate(struct writer *writer, const struct limit *limit, uint64_t burst)
{
    char text[256];
    struct writer whole = {text, sizeof text, 0};
    struct limit rate = {.count = limit->count, .period_ns = limit->period_ns, .algorithm = ALGORITHM_GCRA};
    memcpy(rate.unit, limit->unit, sizeof rate.unit);
    rate.burst_kind = burst != 0 ? AMOUNT_COUNT : AMOUNT_NONE;
    rate.burst = burst;
    text_write(&whole, &rate);
    char *end = strstr(text, " algorithm=");
    if (end != NULL) *end = '\0';
    write_text(writer, text);
}

static void put_period(struct writer *writer, uint64_t ns)
{
    static const struct {
        const char *word, *period;
    } words[] = {{"second", "s"}, {"minute", "min"}, {"hour", "h"}, {"day", "d"}, {"week", "w"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words_find_period(words[i].period, strlen(words[i].period)) != ns) continue;
        write_text(writer, words[i].word);
        return;
    }
    write_duration(writer, ns);
}

/* A burst that nobody asked for is not silent: what it lets pass in a period, and what never does. */
static void note_burst(const struct candidate *candidate, struct replay_limit *out)
{
    const struct plan *plan = plan_inside_const(&candidate->plan);
    const struct limit *limit = &plan->limit[0];
    struct writer writer = {out->note, sizeof out->note, 0};
    if (plan->count != 1 || limit->algorithm != ALGORITHM_GCRA || limit->burst_kind != AMOUNT_COUNT) return;
    if (strstr(candidate->text, "burst") != NULL || limit->count.places != 0 || limit->burst < 2) return;
    put_rate(&writer, limit, limit->burst);
    write_text(&writer, ": up to ");
    write_grouped(&writer, facts_most_in(limit, limit->period_ns));
    write_text(&writer, " in any ");
    put_period(&writer, limit->period_ns);
    write_text(&writer, "; never more than ");
    write_grouped(&writer, limit->count.digits);
    write_text(&writer, ": '");
    put_rate(&writer, limit, 0);
    write_text(&writer, " algorithm=sliding-log'");
}

/* As many slots as the clients need, with the lease that was typed. */
static void put_slots(const struct candidate *candidate, struct replay_limit *out)
{
    struct writer writer = {out->unaffected_slots_text, sizeof out->unaffected_slots_text, 0};
    struct limit limit = plan_inside_const(&candidate->plan)->limit[candidate->holder];
    limit.count = (struct decimal){.digits = out->unaffected_slots};
    text_write(&writer, &limit);
}

static void tell_limit(const struct candidate *candidate, struct replay_limit *limit)
{
    const struct plan *plan = plan_inside_const(&candidate->plan);
    struct writer writer = {limit->unaffected_text, sizeof limit->unaffected_text, 0};
    limit->text = candidate->text;
    if (candidate->keys != NULL) { /* with tenants, or without */
        snprintf(limit->canonical, sizeof limit->canonical, "%s", limit->text);
        return;
    }
    weir_plan_text(&candidate->plan, limit->canonical, sizeof limit->canonical);
    note_burst(candidate, limit);
    if (limit->unaffected_burst != 0) put_rate(&writer, &plan->limit[candidate->rate_limit], limit->unaffected_burst);
    if (limit->unaffected_slots != 0) put_slots(candidate, limit);
}

static bool open_limits(struct replay *replay)
{
    const struct replay_options *options = &replay->options;
    replay->candidate = calloc((size_t)options->limits, sizeof *replay->candidate);
    if (replay->candidate == NULL) {
        replay->status = trouble("replay: no memory");
        return false;
    }
    for (int i = 0; i < options->limits && replay->status == STATUS_DONE; i++) {
        weir_error error;
        const bool opened = candidate_open(&replay->candidate[i], options->limit[i], &error) == 0;
        if (opened && options->cost == NULL) continue;
        if (opened &&
            candidate_unit(&replay->candidate[i], options->cost_unit, options->cost_unit_size, options->cost, &error))
            continue;
        replay->status = limit_trouble(options->limit[i], &error);
        if (access(options->limit[i], F_OK) != 0) continue;
        trouble("%s is a file; the limit comes first, for example weir replay '10/s burst=20' %s", options->limit[i],
                options->limit[i]);
    }
    if (replay->status != STATUS_DONE) return false;
    for (int i = 0; i < options->limits; i++) replay->reader.needs_durations |= replay->candidate[i].holder >= 0;
    cost_hint(replay);
    return true;
}

/* ---- opening ---- */

/* In words, as they come; where JSON is asked for nothing stands between. */
static bool tells_refusals(const struct replay_options *options)
{
    return options->follow && !options->each && !options->json;
}

/* Signals are read between pieces of the log: -1 where that cannot be, and then they end us at once. */
static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    const int file = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (file >= 0) sigprocmask(SIG_BLOCK, &set, NULL);
    return file;
}

static void name_key(struct replay *replay)
{
    struct writer writer = {replay->key_name, sizeof replay->key_name, 0};
    for (int i = 0; i < replay->reader.key.parts; i++) {
        if (i > 0) write_text(&writer, ",");
        write_text(&writer, replay->reader.key.part[i].name);
    }
    replay->result.key_name = replay->reader.key.parts != 0 ? replay->key_name : NULL;
}

static bool open_parts(struct replay *replay)
{
    char message[KEY_MESSAGE_SIZE];
    const struct replay_options *options = &replay->options;
    if (!key_open(&replay->reader.key, options->key != NULL ? options->key : "remote_addr", message)) {
        replay->status = trouble("%s", message);
        return false;
    }
    if (!charge_key_fits(replay)) {
        replay->status = STATUS_TROUBLE;
        return false;
    }
    name_key(replay);
    replay->reader.options = options;
    /* Without a secret it still counts right, but clients that choose their keys can make it slow. */
    struct secret *secret = &replay->reader.secret;
    if (getrandom(secret, sizeof *secret, 0) != (ssize_t)sizeof *secret) secret->word[0] = weir_now().ns;
    rows_open(&replay->usage, sizeof(struct usage));
    const bool opened =
        source_open(&replay->reader.source, options->log, options->logs, options->follow, open_signals()) &&
        clients_open(&replay->clients) && (!replay->reader.needs_durations || running_open(replay)) &&
        ((!options->each && !tells_refusals(options)) || each_open(replay));
    if (!opened) replay->status = trouble("replay: no memory");
    return opened;
}

static bool begin_fleet(struct replay *replay)
{
    const struct replay_options *options = &replay->options;
    if (options->fleet.nodes == 0) return true;
    if (fleet_open(&replay->fleet, &options->fleet, replay->candidate, options->limits)) return true;
    replay->status = STATUS_TROUBLE;
    return false;
}

static void say_of_charge(void *context, const char *text)
{
    progress_clear(context);
    trouble("replay: --charge: %s", text);
}

static bool begin_charge(struct replay *replay)
{
    const struct replay_options *options = &replay->options;
    const char *limit = options->charge_limit != NULL ? options->charge_limit : options->limit[0];
    if (options->charge == NULL) return true;
    if (replay->running != NULL) {
        replay->status = trouble("replay: --charge: \"%s\" limits what runs at once, and by its line in the log a "
                                 "request is over; charge a rate",
                                 options->limit[0]);
        return false;
    }
    const struct charge_options charge = {options->charge, limit, options->password_file};
    replay->status = charge_open(&replay->reader.charge, &charge, say_of_charge, replay);
    replay->result.charge.limit = limit;
    return replay->status == STATUS_DONE;
}

static void end_charge(struct replay *replay)
{
    if (replay->reader.charge == NULL) return;
    const struct charge_counts counts = charge_finish(replay->reader.charge);
    replay->result.charge.charged = counts.charged;
    replay->result.charge.refused = counts.refused;
    replay->result.charge.lost = counts.lost;
    replay->result.charge.outages = counts.outages;
}

static void close_parts(struct replay *replay)
{
    charge_close(replay->reader.charge);
    fleet_close(&replay->fleet);
    for (int i = 0; replay->candidate != NULL && i < replay->options.limits; i++) {
        candidate_close(&replay->candidate[i]);
    }
    each_close(replay);
    running_close(replay);
    tenants_end(replay);
    rows_close(&replay->usage);
    clients_close(&replay->clients);
    order_close(&replay->order);
    key_close(&replay->reader.key);
    source_close(&replay->reader.source);
    free(replay->batch.entry);
    free(replay->batch.refused);
    free(replay->candidate);
    format_close(&replay->reader.format);
    free(replay->names);
    free(replay);
}

/* ---- the end ---- */

static void print_limits(const struct replay *replay)
{
    char text[2048];
    for (int i = 0; i < replay->options.limits; i++) {
        weir_plan_text(&replay->candidate[i].plan, text, sizeof text);
        printf("%s\n", text);
    }
    fflush(stdout);
}

static bool refuses_too_much(const struct replay *replay)
{
    const struct replay_result *result = &replay->result;
    for (int i = 0; i < result->limits; i++) {
        const double share = 100 * (double)result->limit[i].denied;
        if (share > replay->options.fail_above * (double)result->requests) return true;
    }
    return false;
}

/* All clients are one, and that has none of the fields. */
static bool lacks_key(const struct replay *replay)
{
    size_t size;
    if (replay->clients.count != 1 || replay->reader.key.parts == 0) return false;
    const char *key = clients_key(&replay->clients, 0, &size);
    if (size != (size_t)replay->reader.key.parts * 2 - 1) return false;
    for (size_t i = 0; i < size; i++) {
        if (key[i] != (i % 2 == 0 ? '-' : KEY_BETWEEN)) return false;
    }
    return true;
}

/* JSON may lack any field, so only the end shows that no line had it. */
static void hint_at_key(const struct replay *replay)
{
    if (!lacks_key(replay)) return;
    if (replay->options.key != NULL) {
        trouble("replay: no line has %s, so all requests were counted as one client", replay->key_name);
    } else {
        trouble("replay: no line has a client address, so all requests were counted as one client; choose the "
                "field to group by with --key, for example --key user");
    }
}

static bool lacks_durations(const struct replay *replay)
{
    return replay->running != NULL && replay->requests_timed == 0 && replay->result.requests != 0;
}

/* A request that ended within a second would seem to run at once with all others that did. */
static void hint_at_running(const struct replay *replay)
{
    const struct replay_result *result = &replay->result;
    if (replay->running == NULL) return;
    if (result->whole_seconds) {
        trouble(
            "replay: timestamps are whole seconds, so all that ended in a second seem to have run at once: what ran "
            "at once is overestimated; log milliseconds, as nginx's $msec");
    }
    if (result->untimed != 0) {
        trouble("replay: %llu of %llu requests have no duration, and are taken as if they had ended at once",
                (unsigned long long)result->untimed, (unsigned long long)replay->requests_read);
    }
}

/* What was guessed by the first line, or said. */
static int unreadable(const struct replay *replay)
{
    static const char *const guessed[] = {
        [ACCESSLOG_PATTERN] = "combined", [ACCESSLOG_JSON] = "json", [ACCESSLOG_CSV] = "csv"};
    const char *format = replay->options.format;
    const bool other_time = replay->reader.format.log.kind != ACCESSLOG_PATTERN && replay->options.time == NULL;
    const bool named = format != NULL && strchr(format, '$') == NULL;
    if (other_time) {
        return trouble("replay: no line of %llu could be read as %s; if the time field has another name, give it "
                       "with --time FIELD",
                       (unsigned long long)replay->result.malformed, guessed[replay->reader.format.log.kind]);
    }
    return trouble("replay: no line of %llu could be read as %s; give the format as in nginx's log_format, "
                   "for example --format '$remote_addr [$time_local] $request_time'",
                   (unsigned long long)replay->result.malformed,
                   named            ? format
                   : format != NULL ? "--format says"
                                    : guessed[replay->reader.format.log.kind]);
}

static int report(struct replay *replay)
{
    struct replay_result *result = &replay->result;
    const struct replay_options *options = &replay->options;
    result->limits = options->limits;
    result->unaffected = options->unaffected;
    if (!replay_conclude(replay)) return trouble("replay: no memory");
    for (int i = 0; i < result->limits; i++) tell_limit(&replay->candidate[i], &result->limit[i]);
    if (result->requests == 0 && result->malformed != 0) return unreadable(replay);
    if (lacks_durations(replay)) return read_lacks_durations("no line of this log says it");
    hint_at_key(replay);
    hint_at_running(replay);
    if (replay->fleet.limits != 0 && !fleet_finish(&replay->fleet)) return trouble("replay: no memory");
    if (replay->fleet.limits != 0) result->fleet = &replay->fleet;
    if (options->json && !options->quiet) report_json(result);
    else if (!options->each) report_text(result, options->quiet);
    if (options->html != NULL && !page_write(result, options->html)) return STATUS_TROUBLE;
    if (replay->incomplete != STATUS_DONE) return replay->incomplete;
    return options->fail_above >= 0 && refuses_too_much(replay) ? STATUS_REFUSED : STATUS_DONE;
}

static int run(int argc, char **argv)
{
    struct replay *replay = calloc(1, sizeof *replay);
    if (replay == NULL) return trouble("replay: no memory");
    int status = read_arguments(&replay->options, argc, argv);
    const bool begins = status == ARGUMENTS_END;
    replay->reader.source.fd = replay->reader.source.stop_fd = replay->reader.source.change_fd = -1;
    if (begins && open_limits(replay) && open_parts(replay) && begin_fleet(replay) && tenants_begin(replay) &&
        begin_charge(replay)) {
        progress_open(replay);
        if (tells_refusals(&replay->options)) print_limits(replay);
        replay_read(replay);
        end_charge(replay);
        if (replay->status == STATUS_DONE) replay->status = report(replay);
    }
    if (begins) status = replay->status;
    const int number = replay->signal;
    close_parts(replay);
    if (number != 0) signals_die(number);
    return status;
}

const struct command *replay_command(void)
{
    static const struct command replay_row = {
        .name = "replay",
        .synopsis = "LIMIT [--or LIMIT]... [OPTION]... [LOG]...",
        .summary =
            "judge limits by an access log; it sends nothing (weir pace --at sends requests at the times in a log)",
        .details = "  weir replay '10/s burst=20' --or '5/s burst=10' access.log\n"
                   "  weir replay 100/min --key remote_addr/24/48 access.log.1.gz access.log\n"
                   "  weir replay '10r/s burst=20 nodelay' --format '$remote_addr $msec $request_time' access.log\n"
                   "  weir replay 1GB/h --cost body_bytes_sent --html report.html access.log\n"
                   "  weir replay '5/s burst=10' access.log --fail-above 1% -q\n"
                   "  weir replay 100/s --key none --nodes 20 --lease 32 access.log\n"
                   "  weir replay '10/s debt=100' -F --charge redis://127.0.0.1:9347 access.log\n"
                   "\n"
                   "Give logs in the order of their time; without one, or with -, standard input is read.  Exit "
                   "status: 0 done,\n"
                   "1 a limit refuses more than --fail-above, 2 error.  SIGINT stops reading and prints the report.\n",
        .options = option_rows,
        .option_count = sizeof option_rows / sizeof option_rows[0],
        .run = run,
    };
    return &replay_row;
}
