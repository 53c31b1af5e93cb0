/* SPDX-License-Identifier: MIT
   In place of secure.c where weir was built without OpenSSL.

   Refuses. */
#include "api/error.h"
#include "redis/client/link/secure.h"

int secure_open(void **owned, const struct engine_url *url, weir_error *error)
{
    (void)url;
    *owned = NULL;
    return api_fail(error, WEIR_EUNSUPPORTED, "this weir was built without TLS");
}

void secure_close(void *tls)
{
    (void)tls;
}

struct secure *secure_begin(void *tls, const char *host)
{
    (void)tls;
    (void)host;
    return NULL;
}

void secure_end(struct secure *secure)
{
    (void)secure;
}

ssize_t secure_write(struct secure *secure, int socket, const char *bytes, size_t size, char why[SECURE_WHY_MAX])
{
    (void)secure;
    (void)socket;
    (void)bytes;
    (void)size;
    why[0] = '\0';
    return -1;
}

ssize_t secure_read(struct secure *secure, int socket, char *bytes, size_t room, char why[SECURE_WHY_MAX])
{
    (void)secure;
    (void)socket;
    (void)room;
    bytes[0] = why[0] = '\0';
    return -1;
}

bool secure_writes(const struct secure *secure)
{
    (void)secure;
    return false;
}

bool secure_is_open(const struct secure *secure)
{
    (void)secure;
    return true;
}
