/* SPDX-License-Identifier: MIT
   Where the engine is, as a person writes it.

   See url.c. */
#ifndef WEIR_REDIS_CLIENT_LINK_URL_H
#define WEIR_REDIS_CLIENT_LINK_URL_H

#include <weir/weir.h>

enum {
    URL_HOST_MAX = 256,
    URL_WORD_MAX = 512,    /* a user, a password, a name */
    URL_ENDPOINTS_MAX = 64 /* servers in one URL */
};

enum url_kind { URL_ONE, URL_CLUSTER, URL_SENTINEL };

/* Where one server listens. */
struct engine_endpoint {
    char host[URL_HOST_MAX]; /* a name or an address; with port 0 the path of a Unix socket */
    uint16_t port;
};

/* Where it was found, all of them at one port; of a Unix socket the path, with port 0. */
enum { URL_ADDRESSES_MAX = 8 };
struct engine_addresses {
    char host[URL_ADDRESSES_MAX][URL_HOST_MAX];
    unsigned count; /* 0: not found */
    uint16_t port;
};

struct engine_url {
    enum url_kind kind;
    bool tls;
    uint32_t database;
    char user[URL_WORD_MAX], password[URL_WORD_MAX];                  /* "": none */
    char name[URL_WORD_MAX];                                          /* of the primary, among sentinels */
    char cacert[URL_WORD_MAX], cert[URL_WORD_MAX], key[URL_WORD_MAX]; /* files, of tls; "": the system's; none */
    unsigned endpoints;
    struct engine_endpoint endpoint[URL_ENDPOINTS_MAX];
};

/* 0, WEIR_EINVAL or WEIR_EUNSUPPORTED with the column. */
int url_read(struct engine_url *url, const char *text, weir_error *error);

/* "host:port", "[2001:db8::1]:port" or a path, for messages. */
enum { ENDPOINT_TEXT_MAX = URL_HOST_MAX + 10 };
const char *url_endpoint_text(const struct engine_endpoint *endpoint, char out[ENDPOINT_TEXT_MAX]);

bool url_endpoint_is(const struct engine_endpoint *endpoint, const struct engine_endpoint *other);

#endif
