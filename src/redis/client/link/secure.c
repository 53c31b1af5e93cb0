/* SPDX-License-Identifier: MIT
   TLS on the socket of a connection, so that it works with any hiredis and writes without signals.

   The server's certificate is checked, and that it is of the host that was asked for; never waits. */
#include "redis/client/link/secure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/error.h"
#include "host/map.h"
#include "tls/tls.h"

enum { CHUNK = 16384 /* the most that one record of TLS holds */ };

struct secure {
    struct tls_session *tls;
    bool ended; /* the other side has closed its socket */
};

static const char *file_or_none(const char *file)
{
    return file[0] != '\0' ? file : NULL;
}

int secure_open(void **owned, const struct engine_url *url, weir_error *error)
{
    char problem[TLS_PROBLEM_MAX];
    const struct tls_files files = {file_or_none(url->cacert), file_or_none(url->cert), url->key, "cacert", "cert"};
    *owned = tls_client(&files, problem);
    if (*owned != NULL) return 0;
    if (problem[0] == '\0') return api_fail(error, WEIR_ENOMEM, "no memory for TLS");
    return api_fail(error, WEIR_ESYSTEM, problem);
}

void secure_close(void *tls)
{
    tls_context_close(tls);
}

struct secure *secure_begin(void *tls, const char *host)
{
    struct secure *const secure = calloc(1, sizeof *secure);
    if (secure != NULL) secure->tls = tls_session_open(tls, host);
    if (secure != NULL && secure->tls != NULL) return secure;
    free(secure);
    return NULL;
}

void secure_end(struct secure *secure)
{
    if (secure == NULL) return;
    tls_session_close(secure->tls);
    free(secure);
}

/* ---- what is wrong ---- */

static ssize_t broken_by_system(char why[SECURE_WHY_MAX])
{
    snprintf(why, SECURE_WHY_MAX, "%s", host_error_text(errno));
    return -1;
}

static ssize_t broken_by_tls(const struct secure *secure, char why[SECURE_WHY_MAX])
{
    const struct tls_failure failure = tls_failure(secure->tls);
    const char *const reason = failure.reason != NULL ? failure.reason : "the server closed the connection";
    const bool ours = strstr(reason, "certificate") != NULL || strstr(reason, "unknown ca") != NULL;
    const char *const what = failure.untrusted ? "its certificate is not trusted"
                             : ours            ? "it does not take our certificate (?cert=FILE&key=FILE in the URL)"
                                               : "TLS failed";
    snprintf(why, SECURE_WHY_MAX, "%s: %s", what, reason);
    return -1;
}

/* ---- bytes ---- */

static bool must_wait(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* What TLS has to say, as far as the socket takes it.  false: see errno. */
static bool push(struct secure *secure, int socket)
{
    for (struct slice bytes; (bytes = tls_pending(secure->tls)).size != 0;) {
        const ssize_t sent = send(socket, bytes.bytes, bytes.size, MSG_NOSIGNAL);
        if (sent < 0) return must_wait();
        tls_sent(secure->tls, (size_t)sent);
    }
    return true;
}

/* What has come.  false: see errno. */
static bool pull(struct secure *secure, int socket)
{
    char bytes[CHUNK];
    const ssize_t got = recv(socket, bytes, sizeof bytes, 0);
    if (got < 0) return must_wait();
    secure->ended = got == 0;
    if (tls_feed(secure->tls, (struct slice){bytes, (size_t)got})) return true;
    errno = ENOMEM;
    return false;
}

/* Who is cut off while he writes finds the reason in what has come. */
static ssize_t broken(struct secure *secure, int socket, char why[SECURE_WHY_MAX])
{
    const int number = errno;
    size_t got;
    char byte;
    if (pull(secure, socket) && tls_read(secure->tls, &byte, 1, &got) == TLS_END &&
        tls_failure(secure->tls).reason != NULL)
        return broken_by_tls(secure, why);
    errno = number;
    return broken_by_system(why);
}

ssize_t secure_write(struct secure *secure, int socket, const char *bytes, size_t size, char why[SECURE_WHY_MAX])
{
    const struct slice record = {bytes, size < CHUNK ? size : CHUNK};
    if (!push(secure, socket)) return broken(secure, socket, why);
    if (secure_writes(secure) || size == 0) return 0; /* the socket is full; no second copy of all that is to be sent */
    const enum tls_result result = tls_write(secure->tls, record);
    if (result == TLS_END) return broken_by_tls(secure, why);
    if (!push(secure, socket)) return broken(secure, socket, why);
    return result == TLS_BYTES ? (ssize_t)record.size : 0;
}

ssize_t secure_read(struct secure *secure, int socket, char *bytes, size_t room, char why[SECURE_WHY_MAX])
{
    size_t got;
    if (!pull(secure, socket)) return broken_by_system(why);
    const enum tls_result result = tls_read(secure->tls, bytes, room, &got);
    const bool pushed = push(secure, socket); /* an alert says to the server what is wrong */
    if (result == TLS_END || (secure->ended && got == 0)) return broken_by_tls(secure, why);
    return pushed ? (ssize_t)got : broken(secure, socket, why);
}

bool secure_writes(const struct secure *secure)
{
    return tls_pending(secure->tls).size != 0;
}

bool secure_is_open(const struct secure *secure)
{
    return tls_shaken(secure->tls);
}
