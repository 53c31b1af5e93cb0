/* SPDX-License-Identifier: MIT
   secure_none.c - in place of secure.c where hiredis has no TLS.

   May touch: nothing.  Promises: refuses.  Leaves to others: saying so before (url.c). */
#include "api/error.h"
#include "engine/secure.h"

int secure_open(void **owned, const char *host, weir_error *error)
{
    (void)host; /* NOLINT(misc-unused-parameters) */
    *owned = NULL;
    return api_fail(error, WEIR_EUNSUPPORTED, "this weir was built with a hiredis that has no TLS");
}

void secure_close(void *tls)
{
    (void)tls;
}

bool secure_begin(redisContext *context, void *tls)
{
    (void)context;
    (void)tls;
    return false;
}

ssize_t secure_write(redisContext *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return -1;
}

bool secure_writes(const redisContext *context)
{
    (void)context;
    return false;
}
