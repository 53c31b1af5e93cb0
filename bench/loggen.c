/* SPDX-License-Identifier: MIT
   An access log that never happened: people, programs and bots, written as a server writes it.

   People open pages: a document, and then what belongs to it, within half a second.  Programs ask once at a time.  Bots
   come in bursts.  Who asks how often falls off as in most logs: each octave of clients asks as often as the next
   (Zipf's prop).  By day there is more than by night.

   A server writes a line when a request ends, so lines stand in the order of ends; with the duration that some formats
   have, their starts can be told, and those are out of order.

       ends:   a ring of lists, one for each ms; a request goes into the list of the ms in which it will end

       | now | now + 1 ms | ...                                                     | now + 32.7 s |
          |-> written                          |-> request -> request

   All in integers, so a seed gives the same log on every machine.

   As many lines as were asked for.

       bench-loggen --small               a test: counts, order, the same for the same seed
       bench-loggen --lines N [--seed N] [--clients N] [--rate PER_S] [--start UNIX_S]
                    [--format combined|combined_time|json|csv]         writes the log */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/random.h"

enum { RING_MS = 1 << 15, BUFFER_SIZE = 1 << 20, LINE_MAX_SIZE = 512, POOL_FIRST = 1 << 12 };
enum { CLIENTS_MAX = 1 << 24, BOTS = 32, ASSETS_MAX = 16, BURST_MAX = 256, NAMES = 64, AGENTS = 8 };
enum { SECOND_MS = 1000, MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400, MONTHS = 12, YEAR_MONTHS_BEFORE_MARCH = 2 };

#define NONE UINT32_MAX

static const uint64_t LINES_SMALL = 20000, RATE_MAX = 1000000, START_MAX_S = 7000000000;

enum format { COMBINED, COMBINED_TIME, JSON, CSV, FORMATS };
static const char *const FORMAT_NAMES[FORMATS] = {"combined", "combined_time", "json", "csv"};

struct settings {
    uint64_t lines, seed, clients, rate, start_s;
    enum format format;
};

struct request {
    uint32_t next, client, duration_ms, bytes;
    uint16_t status;
    uint8_t name, agent;
    bool posts, is_page;
};

/* What is said about a log that was only counted. */
struct tally {
    uint64_t lines, bytes, hash, last_start_ms, early_starts;
};

struct writer {
    char *buffer, *at;
    bool keep; /* count and forget, or write */
    struct tally tally;
    uint64_t second; /* that the texts are of */
    char local[32], seconds[24];
    size_t local_size, seconds_size;
};

struct world {
    struct settings settings;
    uint64_t seed, now_ms, owed; /* owed: sessions, in units of 2^-32 */
    uint32_t ring[RING_MS];
    struct request *pool;
    uint32_t pool_size, unused;
    struct writer writer;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-loggen: %s: %s\n", what, why);
    exit(2);
}

/* ---- requests ---- */

static uint32_t new_request(struct world *world)
{
    if (world->unused == NONE) {
        const uint32_t old = world->pool_size;
        world->pool_size = old == 0 ? POOL_FIRST : old * 2;
        world->pool = realloc(world->pool, world->pool_size * sizeof *world->pool);
        if (world->pool == NULL) fail("requests", strerror(ENOMEM));
        for (uint32_t i = world->pool_size; i-- > old;) {
            world->pool[i].next = world->unused;
            world->unused = i;
        }
    }
    const uint32_t number = world->unused;
    world->unused = world->pool[number].next;
    return number;
}

/* 0.1 ms times two to the number of heads among 16 throws: about 25 ms, one in a hundred 0.6 s, at most 13 s. */
static uint32_t pick_duration_ms(uint64_t random)
{
    const unsigned octave = (unsigned)__builtin_popcountll(random & 0xffff);
    const uint64_t mantissa = 256 + (random >> 16 & 0xff);
    return (uint32_t)((mantissa << octave) / (256 * 10));
}

static void add_request(struct world *world, uint32_t client, uint64_t after_ms, bool is_page, uint8_t agent)
{
    const uint64_t random = random_word(&world->seed);
    const uint32_t number = new_request(world), duration_ms = pick_duration_ms(random);
    const uint64_t end_ms = after_ms + duration_ms < RING_MS - 1 ? after_ms + duration_ms : RING_MS - 1;
    const unsigned luck = random >> 24 & 0xff;
    struct request *request = &world->pool[number];
    uint32_t *list = &world->ring[(world->now_ms + end_ms) % RING_MS];
    request->next = *list;
    *list = number;
    request->client = client;
    request->duration_ms = duration_ms;
    request->bytes = (uint32_t)(200 + ((random >> 32 & 0xff) << (random >> 40 & 7)));
    request->status = (uint16_t)(luck < 230 ? 200 : luck < 245 ? 304 : luck < 253 ? 404 : 502);
    request->name = (uint8_t)(random >> 48) % NAMES;
    request->agent = agent;
    request->is_page = is_page;
    request->posts = is_page && luck % 16 == 0;
}

/* An octave first, then one in it. */
static uint32_t pick_client(struct world *world)
{
    unsigned octaves = 0;
    while (world->settings.clients >> (octaves + 1) != 0) octaves++;
    const uint64_t random = random_word(&world->seed);
    const uint64_t first = UINT64_C(1) << (random >> 32) % (octaves + 1);
    return (uint32_t)((first + (random & (first - 1)) - 1) % world->settings.clients);
}

static void open_page(struct world *world)
{
    const uint32_t client = pick_client(world);
    const uint64_t random = random_word(&world->seed), assets = random % ASSETS_MAX;
    const uint8_t agent = (uint8_t)(client % (AGENTS - 2));
    add_request(world, client, 0, true, agent);
    for (uint64_t i = 0; i < assets; i++) {
        add_request(world, client, 50 + random_below(&world->seed, 450), false, agent);
    }
}

static void send_burst(struct world *world)
{
    const uint64_t random = random_word(&world->seed), count = 5 + random % (BURST_MAX - 5);
    const uint64_t spacing_ms = 5 + (random >> 16) % 30;
    const uint32_t client = (uint32_t)(world->settings.clients + (random >> 32) % BOTS);
    for (uint64_t i = 0; i < count; i++) add_request(world, client, i * spacing_ms, true, AGENTS - 1);
}

/* One session in 64 is a bot's: it brings about as much as one in four pages. */
static void begin_session(struct world *world)
{
    const uint64_t kind = random_below(&world->seed, 64);
    if (kind == 0) send_burst(world);
    else if (kind < 40) open_page(world);
    else add_request(world, pick_client(world), 0, true, AGENTS - 2);
}

/* Requests of a mean session, times 64: bursts, pages, single ones. */
enum { SESSION_MEAN_64 = (5 + BURST_MAX - 1) / 2 + 39 * (2 + ASSETS_MAX - 1) / 2 + 24 };

/* How many sessions begin in this ms: the rate by the hour of the day, from a half to one and a half. */
static uint64_t sessions_due(struct world *world)
{
    const uint64_t second = world->now_ms / SECOND_MS % DAY_S, to_noon = second < DAY_S / 2 ? second : DAY_S - second;
    const uint64_t by_hour = (UINT64_C(1) << 31) + (to_noon << 33) / DAY_S;
    const uint64_t due = world->settings.rate * by_hour / SECOND_MS * 64 / SESSION_MEAN_64;
    world->owed += due + due * (random_word(&world->seed) >> 54) / 1024 - due / 2;
    const uint64_t whole = world->owed >> 32;
    world->owed &= UINT32_MAX;
    return whole;
}

/* ---- text ---- */

static void put(struct writer *writer, const char *text, size_t size)
{
    memcpy(writer->at, text, size);
    writer->at += size;
}

#define PUT(writer, literal) put(writer, literal, sizeof(literal) - 1)

static void put_number(struct writer *writer, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put(writer, digits + at, sizeof digits - at);
}

/* ".042" */
static void put_thousandths(struct writer *writer, unsigned value)
{
    writer->at[0] = '.';
    writer->at[1] = (char)('0' + value / 100);
    writer->at[2] = (char)('0' + value / 10 % 10);
    writer->at[3] = (char)('0' + value % 10);
    writer->at += 4;
}

/* Days since 1970 to a date, as Howard Hinnant does it: years begin in March, so that the leap day is the last. */
static void date_of(uint64_t day, unsigned *year, unsigned *month, unsigned *day_of_month)
{
    const uint64_t shifted = day + 719468, era = shifted / 146097, in_era = shifted % 146097;
    const uint64_t year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    const uint64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint64_t from_march = (5 * in_year + 2) / 153;
    *day_of_month = (unsigned)(in_year - (153 * from_march + 2) / 5 + 1);
    *month = (unsigned)((from_march + YEAR_MONTHS_BEFORE_MARCH) % MONTHS);
    *year = (unsigned)(year_of_era + era * 400 + (*month < YEAR_MONTHS_BEFORE_MARCH));
}

static void set_second(struct writer *writer, uint64_t second)
{
    static const char *const NAMES_OF_MONTHS[MONTHS] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    unsigned year, month, day;
    date_of(second / DAY_S, &year, &month, &day);
    const unsigned of_day = (unsigned)(second % DAY_S);
    writer->second = second;
    writer->local_size =
        (size_t)snprintf(writer->local, sizeof writer->local, "[%02u/%s/%04u:%02u:%02u:%02u +0000]", day % 100,
                         NAMES_OF_MONTHS[month], year % 10000, of_day / HOUR_S, of_day / MINUTE_S % 60, of_day % 60);
    writer->seconds_size =
        (size_t)snprintf(writer->seconds, sizeof writer->seconds, "%llu", (unsigned long long)second);
}

/* People and programs have an IPv4 address of 20/8, each another one; one in 16 has an IPv6 address.  Bots are
   neighbours. */
static void put_client(struct writer *writer, uint32_t client, uint64_t clients)
{
    if (client >= clients) {
        PUT(writer, "203.0.113.");
        put_number(writer, client - clients + 1);
        return;
    }
    const uint32_t mixed = client * UINT32_C(0x9e3779b1) & (CLIENTS_MAX - 1); /* odd, so no two become one */
    if (client % 16 == 15) PUT(writer, "2001:db8:");
    else PUT(writer, "20.");
    const char between = client % 16 == 15 ? ':' : '.';
    put_number(writer, mixed >> 16);
    *writer->at++ = between;
    put_number(writer, mixed >> 8 & 0xff);
    *writer->at++ = between;
    if (between == ':') *writer->at++ = ':';
    put_number(writer, mixed & 0xff);
}

static void put_uri(struct writer *writer, const struct request *request)
{
    static const char *const KINDS[] = {"/static/app-", "/img/photo-", "/fonts/face-", "/api/v1/feed/"};
    static const char *const ENDS[] = {".js", ".jpg", ".woff2", "?page=2"};
    if (request->is_page) {
        PUT(writer, "/articles/");
        put_number(writer, request->name);
        return;
    }
    const unsigned kind = request->name % 4;
    put(writer, KINDS[kind], strlen(KINDS[kind]));
    put_number(writer, request->name);
    put(writer, ENDS[kind], strlen(ENDS[kind]));
}

static void put_agent(struct writer *writer, unsigned agent)
{
    static const char *const NAMES_OF_AGENTS[AGENTS] = {
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Mobile Safari/604.1",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5",
        "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
        "python-requests/2.32.3",
        "ExampleBot/1.0 (+https://example.test/bot)"};
    put(writer, NAMES_OF_AGENTS[agent], strlen(NAMES_OF_AGENTS[agent]));
}

static void put_status_and_bytes(struct writer *writer, const struct request *request, char between)
{
    put_number(writer, request->status);
    *writer->at++ = between;
    put_number(writer, request->status == 304 ? 0 : request->bytes);
}

static void put_method(struct writer *writer, const struct request *request)
{
    if (request->posts) PUT(writer, "POST");
    else PUT(writer, "GET");
}

static void put_msec(struct writer *writer, uint64_t end_ms)
{
    put(writer, writer->seconds, writer->seconds_size);
    put_thousandths(writer, (unsigned)(end_ms % SECOND_MS));
}

static void put_duration(struct writer *writer, const struct request *request)
{
    put_number(writer, request->duration_ms / SECOND_MS);
    put_thousandths(writer, request->duration_ms % SECOND_MS);
}

static void put_combined(struct writer *writer, const struct request *request, uint64_t clients, bool with_time)
{
    put_client(writer, request->client, clients);
    PUT(writer, " - - ");
    put(writer, writer->local, writer->local_size);
    PUT(writer, " \"");
    put_method(writer, request);
    PUT(writer, " ");
    put_uri(writer, request);
    PUT(writer, " HTTP/1.1\" ");
    put_status_and_bytes(writer, request, ' ');
    if (request->is_page) PUT(writer, " \"-\" \"");
    else PUT(writer, " \"https://example.test/articles/7\" \"");
    put_agent(writer, request->agent);
    PUT(writer, "\"");
    if (!with_time) return;
    PUT(writer, " ");
    put_duration(writer, request);
}

static void put_json(struct writer *writer, const struct request *request, uint64_t clients, uint64_t end_ms)
{
    PUT(writer, "{\"msec\":");
    put_msec(writer, end_ms);
    PUT(writer, ",\"remote_addr\":\"");
    put_client(writer, request->client, clients);
    PUT(writer, "\",\"request_method\":\"");
    put_method(writer, request);
    PUT(writer, "\",\"request_uri\":\"");
    put_uri(writer, request);
    PUT(writer, "\",\"status\":");
    put_number(writer, request->status);
    PUT(writer, ",\"body_bytes_sent\":");
    put_number(writer, request->status == 304 ? 0 : request->bytes);
    PUT(writer, ",\"http_user_agent\":\"");
    put_agent(writer, request->agent);
    PUT(writer, "\",\"request_time\":");
    put_duration(writer, request);
    PUT(writer, "}");
}

#define CSV_HEADER "msec,remote_addr,request_method,request_uri,status,body_bytes_sent,http_user_agent,request_time\n"

static void put_csv(struct writer *writer, const struct request *request, uint64_t clients, uint64_t end_ms)
{
    put_msec(writer, end_ms);
    PUT(writer, ",");
    put_client(writer, request->client, clients);
    PUT(writer, ",");
    put_method(writer, request);
    PUT(writer, ",");
    put_uri(writer, request);
    PUT(writer, ",");
    put_status_and_bytes(writer, request, ',');
    PUT(writer, ",\"");
    put_agent(writer, request->agent);
    PUT(writer, "\",");
    put_duration(writer, request);
}

static void flush(struct writer *writer)
{
    const size_t size = (size_t)(writer->at - writer->buffer);
    writer->at = writer->buffer;
    writer->tally.bytes += size;
    for (size_t at = 0; !writer->keep && at < size;) {
        const ssize_t written = write(STDOUT_FILENO, writer->buffer + at, size - at);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail("standard output", strerror(errno));
        at += (size_t)written;
    }
    if (!writer->keep) return;
    for (size_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, writer->buffer + i, sizeof word);
        writer->tally.hash = (writer->tally.hash ^ word) * UINT64_C(0x100000001b3);
    }
}

static void write_line(struct world *world, const struct request *request)
{
    struct writer *writer = &world->writer;
    const uint64_t clients = world->settings.clients, start_ms = world->now_ms - request->duration_ms;
    if (writer->at - writer->buffer > BUFFER_SIZE - LINE_MAX_SIZE) flush(writer);
    if (world->now_ms / SECOND_MS != writer->second) set_second(writer, world->now_ms / SECOND_MS);
    if (world->settings.format == JSON) put_json(writer, request, clients, world->now_ms);
    else if (world->settings.format == CSV) put_csv(writer, request, clients, world->now_ms);
    else put_combined(writer, request, clients, world->settings.format == COMBINED_TIME);
    PUT(writer, "\n");
    writer->tally.lines++;
    if (start_ms < writer->tally.last_start_ms) writer->tally.early_starts++;
    else writer->tally.last_start_ms = start_ms;
}

static void write_ended(struct world *world)
{
    uint32_t *list = &world->ring[world->now_ms % RING_MS];
    while (*list != NONE && world->writer.tally.lines < world->settings.lines) {
        const uint32_t number = *list;
        *list = world->pool[number].next;
        write_line(world, &world->pool[number]);
        world->pool[number].next = world->unused;
        world->unused = number;
    }
}

static struct tally generate(const struct settings *settings, bool keep)
{
    static struct world world;
    world = (struct world){.settings = *settings, .unused = NONE, .now_ms = settings->start_s * SECOND_MS};
    world.seed = settings->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    world.writer = (struct writer){.buffer = malloc(BUFFER_SIZE), .keep = keep, .second = UINT64_MAX};
    if (world.writer.buffer == NULL) fail("lines", strerror(ENOMEM));
    world.writer.at = world.writer.buffer;
    memset(world.ring, 0xff, sizeof world.ring);
    if (settings->format == CSV) PUT(&world.writer, CSV_HEADER);
    for (; world.writer.tally.lines < settings->lines; world.now_ms++) {
        for (uint64_t left = sessions_due(&world); left > 0; left--) begin_session(&world);
        write_ended(&world);
    }
    flush(&world.writer);
    free(world.writer.buffer);
    free(world.pool);
    return world.writer.tally;
}

/* ---- the program ---- */

static void expect(bool holds, const char *what)
{
    if (!holds) fail("test", what);
}

static int test(struct settings settings)
{
    settings.lines = LINES_SMALL;
    for (int format = 0; format < FORMATS; format++) {
        settings.format = (enum format)format;
        settings.seed = 1;
        const struct tally first = generate(&settings, true), again = generate(&settings, true);
        settings.seed = 2;
        const struct tally other = generate(&settings, true);
        expect(first.lines == LINES_SMALL, "as many lines as were asked for");
        expect(first.hash == again.hash && first.bytes == again.bytes, "the same seed gives the same log");
        expect(first.hash != other.hash, "another seed gives another log");
        expect(first.early_starts > LINES_SMALL / 20, "starts are out of order");
        printf("%-14s %llu lines, %llu bytes, %016llx\n", FORMAT_NAMES[format], (unsigned long long)first.lines,
               (unsigned long long)first.bytes, (unsigned long long)first.hash);
    }
    return 0;
}

static uint64_t number_of(const char *name, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && text[0] != '-' && value >= least && value <= most) return value;
    fprintf(stderr, "bench-loggen: --%s \"%s\": expected a number from %llu to %llu\n", name, text,
            (unsigned long long)least, (unsigned long long)most);
    exit(2);
}

static enum format format_of(const char *name)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(name, FORMAT_NAMES[i]) == 0) return (enum format)i;
    fail("--format", "expected combined, combined_time, json or csv");
    return COMBINED;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"lines", required_argument, NULL, 'n'},   {"seed", required_argument, NULL, 's'},
        {"clients", required_argument, NULL, 'c'}, {"rate", required_argument, NULL, 'r'},
        {"start", required_argument, NULL, 't'},   {"format", required_argument, NULL, 'f'},
        {"small", no_argument, NULL, 'm'},         {NULL, 0, NULL, 0}};
    struct settings settings = {.seed = 1, .clients = 100000, .rate = 116, .start_s = 1700000000};
    bool small = false;
    for (int found; (found = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (found == '?') return 2;
        if (found == 'n') settings.lines = number_of("lines", optarg, 1, UINT64_MAX);
        if (found == 's') settings.seed = number_of("seed", optarg, 0, UINT64_MAX);
        if (found == 'c') settings.clients = number_of("clients", optarg, 1, CLIENTS_MAX);
        if (found == 'r') settings.rate = number_of("rate", optarg, 1, RATE_MAX);
        if (found == 't') settings.start_s = number_of("start", optarg, DAY_S, START_MAX_S);
        if (found == 'f') settings.format = format_of(optarg);
        if (found == 'm') small = true;
    }
    if (optind != argc) fail(argv[optind], "expected options only");
    if (small) return test(settings);
    if (settings.lines == 0) fail("--lines", "expected");
    generate(&settings, false);
    return 0;
}
