/* SPDX-License-Identifier: MIT
   The clients of a log: each key gets a number, 0, 1, 2 and so on.

   See clients.c. */
#ifndef WEIR_CLI_REPLAY_LOG_CLIENTS_H
#define WEIR_CLI_REPLAY_LOG_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/common/rows.h"
#include "share/hash/hash.h"

enum { CLIENT_KEY_INSIDE = 28 };

/* Keys of up to CLIENT_KEY_INSIDE bytes, as addresses are, stand here; others begin with where they are. */
struct client_key {
    uint32_t size;
    char inside[CLIENT_KEY_INSIDE];
};

struct client_slot {
    uint32_t tag;    /* of the key's hash; its upper bits say where the search begins */
    uint32_t number; /* the client's, and 1; 0: free */
};

struct clients {
    struct client_slot *slot;
    unsigned bits;   /* of the number of slots */
    struct rows key; /* of struct client_key */
    uint32_t count;
    char *longer; /* bytes of longer keys */
    size_t longer_used, longer_size;
};

/* False: no memory. */
bool clients_open(struct clients *clients);
void clients_close(struct clients *clients);

/* Four steps, so that the memory of many keys can be fetched at once: what each returns or fetches the next one
   needs.  The tag of a key, where the secret keeps the senders of requests from choosing keys that collide; the slot
   where the search for it begins; the key that probably has it; and the number of a key, a new one when it was not
   there.  False: no memory, or 2^31 clients. */
uint32_t clients_tag(const struct secret *secret, const void *bytes, size_t size);
void clients_fetch_slot(const struct clients *clients, uint32_t tag);
void clients_fetch_key(const struct clients *clients, uint32_t tag);
bool clients_find(struct clients *clients, uint32_t tag, const void *bytes, size_t size, uint32_t *client);

/* Its bytes, borrowed until the next clients_find. */
const char *clients_key(const struct clients *clients, uint32_t client, size_t *size);

#endif
