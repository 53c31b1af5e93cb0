/* SPDX-License-Identifier: MIT
   Requests to the service without a socket, for bench/instructions to count: RESP, HTTP, and reading
   both.

   A batch for each request, and the clock is by hand (unit/serve_rig.h): 10 ms later each time, so that what was
   granted is granted again.  The names "open" and "shut" mean the texts that other rows spell out. */
#include "calls.h"

#include "format/http.h"
#include "unit/serve_rig.h"

enum { BYTES_SIZE = 1 << 12, WORDS_MAX = 8, PIPELINE = 16, WARM = 20, LINES_BEFORE_RECEIPT = 9 };
static const uint64_t step_ns = 10000000;

enum protocol { RESP, PIPELINED, HTTP };

struct subject {
    struct rig *rig;
    char bytes[BYTES_SIZE];
    size_t size;
    const char *answer; /* how it begins */
    size_t answer_size;
};

static bool ask(struct subject *subject)
{
    subject->rig->now_ns += step_ns;
    const char *answer = rig_send_bytes(subject->rig, 0, (struct slice){subject->bytes, subject->size});
    return memcmp(answer, subject->answer, subject->answer_size) == 0;
}

/* ---- what is there before ---- */

/* Words with blanks between them; | is a blank in a word. */
static size_t write_command(char *out, const char *text)
{
    char words[BYTES_SIZE];
    const char *word[WORDS_MAX + 1] = {words};
    snprintf(words, sizeof words, "%s", text);
    int count = 1;
    for (char *at = words; *at != '\0'; at++) {
        if (*at == ' ' && count < WORDS_MAX) {
            *at = '\0';
            word[count++] = at + 1;
        } else if (*at == '|') *at = ' ';
    }
    return rig_command(out, word);
}

/* Of the last batch, those that begin as they should. */
static int answers_of(const struct subject *subject)
{
    int count = 0;
    for (const char *at = subject->rig->out[0]; (at = strstr(at, subject->answer)) != NULL; at++) count++;
    return count;
}

static uint64_t send_all(void *of, uint64_t count)
{
    struct subject *subject = of;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += ask(subject);
    return done;
}

static void *open_subject(const struct row *row)
{
    struct subject *subject = bench_allocate(1, sizeof *subject);
    subject->rig = rig_open();
    RIG_SAY(subject->rig, "WEIR.LIMIT", "SET", "open", "1000/s");
    RIG_SAY(subject->rig, "WEIR.LIMIT", "SET", "shut", "1/d");
    const int commands = row->where == PIPELINED ? PIPELINE : 1;
    if (row->where == HTTP) {
        subject->rig->session[0].protocol = SESSION_HTTP;
        subject->size = (size_t)snprintf(subject->bytes, sizeof subject->bytes, "%s", row->text);
    }
    for (int i = 0; row->where != HTTP && i < commands; i++)
        subject->size += write_command(subject->bytes + subject->size, row->text);
    subject->answer = row->answer;
    subject->answer_size = strlen(row->answer);
    for (int i = 0; i < WARM; i++) ask(subject);
    const int answers = answers_of(subject);
    if (row->run == send_all && answers != commands) bench_fail("%s: %s", row->name, subject->rig->out[0]);
    return subject;
}

static void close_subject(void *of)
{
    struct subject *subject = of;
    rig_close(subject->rig);
    free(subject);
}

/* ---- loops ---- */

/* WEIR.TAKE, whose receipt is the last of its answer's lines; then WEIR.SETTLE with it. */
static uint64_t take_and_settle(void *of, uint64_t count)
{
    struct subject *subject = of;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count && ask(subject); i++) {
        char receipt[RECEIPT_MAX];
        const char *line = subject->rig->out[0];
        for (int before = 0; before < LINES_BEFORE_RECEIPT; before++) line = strchr(line, '\n') + 1;
        snprintf(receipt, sizeof receipt, "%.*s", (int)strcspn(line, "\r"), line);
        done += strcmp(RIG_SAY(subject->rig, "WEIR.SETTLE", receipt, "1"), ":1\r\n") == 0;
    }
    return done;
}

static uint64_t read_resp(void *of, uint64_t count)
{
    const struct subject *subject = of;
    const struct slice bytes = {subject->bytes, subject->size};
    struct resp_command command;
    const char *problem = NULL;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++)
        done += resp_read(bytes, &command, &problem) == RESP_COMMAND && command.size == bytes.size;
    return done;
}

static uint64_t read_http(void *of, uint64_t count)
{
    const struct subject *subject = of;
    const struct slice bytes = {subject->bytes, subject->size};
    struct http_request request;
    struct http_problem problem;
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++)
        done += http_read(bytes, &request, &problem) == HTTP_REQUEST && request.size == bytes.size;
    return done;
}

/* ---- rows ---- */

#define ALLOW "*8\r\n$5\r\nallow\r\n"
#define DENY "*8\r\n$4\r\ndeny\r\n"
#define OK_200 "HTTP/1.1 200 OK\r\n"
#define MANY_429 "HTTP/1.1 429 Too Many Requests\r\n"
#define AUTH(query)                                                                                                    \
    "GET /auth?" query "&key=192.0.2.1 HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1.2.3\r\n"                         \
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\n\r\n"
#define POST(limit, size)                                                                                              \
    "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nContent-Type: application/json\r\n"                   \
    "Content-Length: " size "\r\n\r\n{\"limit\":\"" limit "\",\"key\":\"user:42\"}"
#define ROW(name, protocol, request, answer, run)                                                                      \
    {                                                                                                                  \
        name, open_subject, run, close_subject, request, protocol, false, answer                                       \
    }

static const struct row rows[] = {
    ROW("resp/PING", RESP, "PING", "+PONG\r\n", send_all),
    ROW("resp/take/name/granted", RESP, "WEIR.TAKE open user:42", ALLOW, send_all),
    ROW("resp/take/name/refused", RESP, "WEIR.TAKE shut user:42", DENY, send_all),
    ROW("resp/take/text/granted", RESP, "WEIR.TAKE 1000/s user:42", ALLOW, send_all),
    ROW("resp/take/text/refused", RESP, "WEIR.TAKE 1/d user:42", DENY, send_all),
    ROW("resp/take/list/granted", RESP, "WEIR.TAKE 1000/s;10000/min user:42", ALLOW, send_all),
    ROW("resp/take/wide/granted", RESP, "WEIR.TAKE 1000/s|algorithm=sliding-window user:42", ALLOW, send_all),
    ROW("resp/take/peek", RESP, "WEIR.TAKE open user:42 PEEK", ALLOW, send_all),
    ROW("resp/take/batch-of-16/granted", PIPELINED, "WEIR.TAKE open user:42", ALLOW, send_all),
    ROW("resp/take/batch-of-16/refused", PIPELINED, "WEIR.TAKE shut user:42", DENY, send_all),
    ROW("resp/charge", RESP, "WEIR.CHARGE open user:42 1", ALLOW, send_all),
    ROW("resp/forget", RESP, "WEIR.FORGET open user:42", ":1\r\n", send_all),
    ROW("resp/throttle/granted", RESP, "CL.THROTTLE user:42 15 1000 1", "*5\r\n:0\r\n", send_all),
    ROW("resp/throttle/refused", RESP, "CL.THROTTLE user:42 0 1 86400", "*5\r\n:1\r\n", send_all),
    ROW("resp/throttle/batch-of-16/granted", PIPELINED, "CL.THROTTLE user:42 15 10000 1", "*5\r\n:0\r\n", send_all),
    ROW("resp/read", RESP, "WEIR.TAKE open user:42", "*", read_resp),
    ROW("http/auth/granted", HTTP, AUTH("limit=open"), OK_200, send_all),
    ROW("http/auth/refused", HTTP, AUTH("limit=shut"), MANY_429, send_all),
    ROW("http/take/name/granted", HTTP, POST("open", "32"), OK_200, send_all),
    ROW("http/take/name/refused", HTTP, POST("shut", "32"), MANY_429, send_all),
    ROW("http/take/text/granted", HTTP, POST("1000/s", "34"), OK_200, send_all),
    ROW("http/read", HTTP, AUTH("limit=open"), "HTTP", read_http),
    ROW("resp/take+settle", RESP, "WEIR.TAKE open user:42 COST 2", ALLOW, take_and_settle),
};

int main(int argc, char **argv)
{
    const size_t without = mac_is_here() ? 0 : 1; /* receipts */
    return calls_main(rows, sizeof rows / sizeof *rows - without, argc, argv);
}
