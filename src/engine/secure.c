/* SPDX-License-Identifier: MIT
   secure.c - TLS by hiredis_ssl, which is there from hiredis 1.0 on.

   May touch: OpenSSL, the thread's mask of signals.  Promises: the server's certificate is checked against the
   system's. Leaves to others: when to read and write. */
#include "engine/secure.h"

#include <hiredis/hiredis_ssl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "api/error.h"

int secure_open(void **owned, const char *host, weir_error *error)
{
    redisSSLContextError failure = REDIS_SSL_CTX_NONE;
    redisInitOpenSSL();
    redisSSLOptions options = {.server_name = host, .verify_mode = REDIS_SSL_VERIFY_PEER};
    options.capath = "/etc/ssl/certs";
    *owned = redisCreateSSLContextWithOptions(&options, &failure);
    if (*owned != NULL) return 0;
    return api_fail(error, WEIR_ESYSTEM, redisSSLContextGetError(failure));
}

void secure_close(void *tls)
{
    if (tls != NULL) redisFreeSSLContext(tls);
}

bool secure_begin(redisContext *context, void *tls)
{
    return redisInitiateSSLWithContext(context, tls) == REDIS_OK;
}

/* OpenSSL writes without MSG_NOSIGNAL: a signal that comes of it is taken away before anybody sees it. */
ssize_t secure_write(redisContext *context, const char *bytes, size_t size)
{
    const struct timespec none = {0, 0};
    sigset_t pipe_only, before, pending;
    int done = 0;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    int failed = redisAppendFormattedCommand(context, bytes, size);
    if (failed == REDIS_OK) failed = redisBufferWrite(context, &done);
    if (!was_pending) (void)sigtimedwait(&pipe_only, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == REDIS_OK ? (ssize_t)size : -1;
}

bool secure_writes(const redisContext *context)
{
    return context->obuf != NULL && hi_sdslen(context->obuf) > 0;
}
