/* SPDX-License-Identifier: MIT
   Where the engine is, as a person writes it.

       redis://[user[:password]@]host[:port][/db]         one server
       rediss://[...]host[:port][/db][?cacert=FILE&cert=FILE&key=FILE]    by TLS
       unix://[user[:password]@]/path[?db=n]              one server of this machine
       redis+cluster://[...@]host:port[,host:port]...     any servers of a cluster
       redis+sentinel://[...@]host:port[,...]/name[/db]   sentinels, who know where the primary `name` is

   A "%xx" in user, password, path, name and file is that byte.  A password alone is written ":password@", a user whose
   password is given elsewhere "user:@".

   What is not understood is refused, with its column, what was expected there and an example. */
#include "redis/client/link/url.h"

#include <stdio.h>
#include <string.h>

#include "api/error.h"
#include "format/slice.h"

enum { PORT_REDIS = 6379, PORT_SENTINEL = 26379, PORT_MAX = 65535, DATABASE_MAX = 1000000, SOCKET_PATH_MAX = 107 };

/* The text, and how far it has been read. */
struct reader {
    const char *text, *at;
    struct engine_url *url;
    weir_error *error;
};

static int wrong(const struct reader *reader, const char *at, const char *message)
{
    api_fail(reader->error, WEIR_EINVAL, message);
    if (reader->error != NULL) reader->error->column = (int)(at - reader->text) + 1;
    return WEIR_EINVAL;
}

/* ---- parts ---- */

/* From here to `end` into out, "%xx" decoded. */
static int read_word(struct reader *reader, const char *end, char *out, size_t room, const char *too_long)
{
    size_t size = 0;
    for (const char *at = reader->at; at < end; at++) {
        char byte = *at;
        if (size + 1 >= room) return wrong(reader, reader->at, too_long);
        if (byte == '%') {
            const int code = slice_hex_number(slice_between(at + 1, end), 2);
            if (code <= 0) {
                return wrong(reader, at, "expected two hexadecimal digits after %, as in %40 for @");
            }
            byte = (char)code;
            at += 2;
        }
        out[size++] = byte;
    }
    out[size] = '\0';
    reader->at = end;
    return 0;
}

/* Digits only, up to most. */
static bool read_number(const char *at, const char *end, uint32_t most, uint32_t *number)
{
    uint32_t value = 0;
    if (at == end) return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return false;
        value = value * 10 + (uint32_t)(*at - '0');
        if (value > most) return false;
    }
    *number = value;
    return true;
}

static int read_database(struct reader *reader, const char *end)
{
    if (!read_number(reader->at, end, DATABASE_MAX, &reader->url->database)) {
        return wrong(reader, reader->at, "expected the number of a database, as in redis://localhost/2");
    }
    reader->at = end;
    return 0;
}

/* "user:password@", when there is an @ before the end of the part. */
static int read_credentials(struct reader *reader, const char *end)
{
    const char *at = NULL, *colon = NULL;
    for (const char *byte = reader->at; byte < end; byte++) {
        if (*byte == '@') at = byte; /* the last one: an @ in a password is forgiven */
    }
    if (at == NULL) return 0;
    colon = memchr(reader->at, ':', (size_t)(at - reader->at));
    const char *too_long = "expected a user or password of at most 511 bytes";
    if (colon == NULL) {
        return wrong(reader, reader->at,
                     "expected user:password before @, as in redis://me:secret@localhost, or :secret alone, or me: "
                     "where the password is given elsewhere");
    }
    int failed = read_word(reader, colon, reader->url->user, sizeof reader->url->user, too_long);
    reader->at = colon + 1;
    if (failed == 0) failed = read_word(reader, at, reader->url->password, sizeof reader->url->password, too_long);
    if (failed == 0 && at == colon + 1 && reader->url->user[0] == '\0')
        failed = wrong(reader, at, "expected a user or a password before @");
    reader->at = at + 1;
    return failed;
}

/* ---- servers ---- */

/* "[2001:db8::1]:6379" or "host:6379" up to `end`. */
static int read_endpoint(struct reader *reader, const char *end, uint16_t port)
{
    const char *const start = reader->at;
    const char *host_end = NULL;
    uint32_t number = port;
    if (reader->url->endpoints == URL_ENDPOINTS_MAX) return wrong(reader, start, "expected at most 64 servers");
    struct engine_endpoint *endpoint = &reader->url->endpoint[reader->url->endpoints];
    if (start < end && *start == '[') {
        host_end = memchr(start, ']', (size_t)(end - start));
        if (host_end == NULL) return wrong(reader, start, "expected a ] after the address, as in [::1]:6379");
        reader->at = start + 1;
    } else {
        host_end = memchr(start, ':', (size_t)(end - start));
        if (host_end == NULL) host_end = end;
    }
    if (host_end == reader->at) return wrong(reader, start, "expected a host, as in redis://localhost:6379");
    if (read_word(reader, host_end, endpoint->host, sizeof endpoint->host, "expected a host of at most 255 bytes") !=
        0) {
        return WEIR_EINVAL;
    }
    if (host_end < end && *host_end == ']') host_end++;
    if (host_end < end && (*host_end != ':' || !read_number(host_end + 1, end, PORT_MAX, &number) || number == 0)) {
        return wrong(reader, host_end, "expected a port from 1 to 65535 after the host, as in localhost:6379");
    }
    endpoint->port = (uint16_t)number;
    reader->url->endpoints++;
    return 0;
}

static int read_places(struct reader *reader, const char *end, uint16_t port)
{
    for (;;) {
        const char *comma = memchr(reader->at, ',', (size_t)(end - reader->at));
        const int failed = read_endpoint(reader, comma != NULL ? comma : end, port);
        if (failed != 0 || comma == NULL) return failed;
        reader->at = comma + 1;
    }
}

/* ---- each kind ---- */

static const char *find(const char *at, char byte)
{
    const char *found = strchr(at, byte);
    return found != NULL ? found : at + strlen(at);
}

static int read_server(struct reader *reader, const char *end)
{
    const char *const found = memchr(reader->at, '/', (size_t)(end - reader->at)), *const slash =
                                                                                       found != NULL ? found : end;
    const int failed = read_credentials(reader, slash);
    if (failed != 0) return failed;
    if (memchr(reader->at, ',', (size_t)(slash - reader->at)) != NULL) {
        return wrong(reader, reader->at,
                     "expected one server; several are written redis+cluster://a:6379,b:6379 or "
                     "redis+sentinel://a:26379,b:26379/name");
    }
    if (read_endpoint(reader, slash, PORT_REDIS) != 0) return WEIR_EINVAL;
    if (slash == end || slash + 1 == end) return 0;
    reader->at = slash + 1;
    return read_database(reader, end);
}

static int read_one(struct reader *reader)
{
    return read_server(reader, reader->at + strlen(reader->at));
}

static int read_cluster(struct reader *reader)
{
    const char *const slash = find(reader->at, '/');
    reader->url->kind = URL_CLUSTER;
    const int failed = read_credentials(reader, slash);
    if (failed != 0 || read_places(reader, slash, PORT_REDIS) != 0) return WEIR_EINVAL;
    if (*slash != '\0' && slash[1] != '\0') {
        return wrong(reader, slash, "expected nothing after the servers: a cluster has database 0 only");
    }
    return 0;
}

static int read_sentinel(struct reader *reader)
{
    static const char example[] =
        "expected the name of the primary after the sentinels, as in redis+sentinel://a:26379,b:26379/mymaster";
    const char *const slash = find(reader->at, '/');
    reader->url->kind = URL_SENTINEL;
    const int failed = read_credentials(reader, slash);
    if (failed != 0 || read_places(reader, slash, PORT_SENTINEL) != 0) return WEIR_EINVAL;
    if (*slash == '\0') return wrong(reader, slash, example);
    const char *const end = find(slash + 1, '/');
    reader->at = slash + 1;
    if (end == slash + 1) return wrong(reader, slash + 1, example);
    if (read_word(reader, end, reader->url->name, sizeof reader->url->name, example) != 0) return WEIR_EINVAL;
    if (*end == '\0' || end[1] == '\0') return 0;
    reader->at = end + 1;
    return read_database(reader, end + strlen(end));
}

static int read_unix(struct reader *reader)
{
    struct engine_endpoint *endpoint = &reader->url->endpoint[0];
    const char *const question = find(reader->at, '?');
    const char *const slash = find(reader->at, '/');
    if (slash > question || *slash == '\0') {
        return wrong(reader, reader->at, "expected an absolute path, as in unix:///run/redis/redis.sock");
    }
    if (read_credentials(reader, slash) != 0) return WEIR_EINVAL;
    if (reader->at != slash) return wrong(reader, reader->at, "expected a /, as in unix:///run/redis/redis.sock");
    reader->at = slash;
    if (read_word(reader, question, endpoint->host, SOCKET_PATH_MAX + 1, "expected a path of at most 107 bytes") != 0) {
        return WEIR_EINVAL;
    }
    reader->url->endpoints = 1;
    if (*question == '\0') return 0;
    if (strncmp(question, "?db=", 4) != 0) return wrong(reader, question, "expected ?db=, as in ?db=2");
    reader->at = question + 4;
    return read_database(reader, question + strlen(question));
}

/* ---- all ---- */

static int need_tls(const struct reader *reader)
{
#ifdef WEIR_ENGINE_TLS
    (void)reader;
    return 0;
#else
    return api_fail(reader->error, WEIR_EUNSUPPORTED,
                    "rediss:// needs TLS, and this weir was built without OpenSSL: build it where libssl-dev is, or "
                    "give redis:// to a tunnel as stunnel or ghostunnel makes it");
#endif
}

/* "cert=FILE", in any order. */
static int read_file(struct reader *reader, const char *end)
{
    const struct {
        const char *name;
        char *out;
    } files[] = {{"cacert=", reader->url->cacert}, {"cert=", reader->url->cert}, {"key=", reader->url->key}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const size_t size = strlen(files[i].name);
        if ((size_t)(end - reader->at) <= size || strncmp(reader->at, files[i].name, size) != 0) continue;
        reader->at += size;
        return read_word(reader, end, files[i].out, URL_WORD_MAX, "expected a path of at most 511 bytes");
    }
    return wrong(reader, reader->at, "expected cacert=FILE, cert=FILE or key=FILE, as in ?cert=me.crt&key=me.key");
}

static int read_tls(struct reader *reader)
{
    reader->url->tls = true;
    const char *const question = find(reader->at, '?');
    int failed = need_tls(reader);
    if (failed == 0) failed = read_server(reader, question);
    for (const char *at = question; failed == 0 && *at != '\0';) {
        const char *const end = find(at + 1, '&');
        reader->at = at + 1;
        failed = read_file(reader, end);
        at = end;
    }
    if (failed == 0 && (reader->url->cert[0] == '\0') != (reader->url->key[0] == '\0'))
        failed = wrong(reader, question, "cert=FILE and key=FILE belong together, as in ?cert=me.crt&key=me.key");
    return failed;
}

int url_read(struct engine_url *url, const char *text, weir_error *error)
{
    static const struct {
        const char *scheme;
        int (*read)(struct reader *);
    } schemes[] = {{"redis://", read_one},
                   {"rediss://", read_tls},
                   {"unix://", read_unix},
                   {"redis+cluster://", read_cluster},
                   {"redis+sentinel://", read_sentinel}};
    struct reader reader = {text, text, url, error};
    memset(url, 0, sizeof *url);
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t size = strlen(schemes[i].scheme);
        if (strncmp(text, schemes[i].scheme, size) != 0) continue;
        reader.at = text + size;
        return schemes[i].read(&reader);
    }
    return wrong(&reader, text,
                 "expected redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://, as in "
                 "redis://localhost:6379");
}

const char *url_endpoint_text(const struct engine_endpoint *endpoint, char out[ENDPOINT_TEXT_MAX])
{
    const char *format = endpoint->port == 0 ? "%s" : strchr(endpoint->host, ':') != NULL ? "[%s]:%u" : "%s:%u";
    snprintf(out, ENDPOINT_TEXT_MAX, format, endpoint->host, (unsigned)endpoint->port);
    return out;
}

bool url_endpoint_is(const struct engine_endpoint *endpoint, const struct engine_endpoint *other)
{
    return endpoint->port == other->port && strcmp(endpoint->host, other->host) == 0;
}
