/* SPDX-License-Identifier: MIT
   TLS to engines where weir was built without OpenSSL: secure_open refuses, and nothing else is reached. */
#include "api/error.h"
#include "redis/client/link/secure.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int secure_open(void **owned, const struct engine_url *url, weir_error *error)
{
    *owned = NULL;
    return api_fail(error, WEIR_EUNSUPPORTED, "this weir was built without TLS");
}

void secure_close(void *tls)
{
}

struct secure *secure_begin(void *tls, const char *host)
{
    return NULL;
}

void secure_end(struct secure *secure)
{
}

ssize_t secure_write(struct secure *secure, int socket, const char *bytes, size_t size, char why[SECURE_WHY_MAX])
{
    return -1;
}

ssize_t secure_read(struct secure *secure, int socket, char *bytes, size_t room, char why[SECURE_WHY_MAX])
{
    return -1;
}

bool secure_writes(const struct secure *secure)
{
    return false;
}

bool secure_is_open(const struct secure *secure)
{
    return true;
}
