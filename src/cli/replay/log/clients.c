/* SPDX-License-Identifier: MIT
   The clients of a log: each key gets a number, 0, 1, 2 and so on.

       slot[2^bits]   | tag | number |     open addressing, searched upwards; at most five eighths are used
                                |
       key[number]    | size | up to 28 bytes, or where in `longer` the bytes are |

   The tag tells most other keys apart before their bytes are looked at, and is all that growing needs.

   Two keys have one number exactly when their bytes are the same. */
#include "cli/replay/log/clients.h"

#include <stdlib.h>
#include <string.h>

enum { BITS_AT_FIRST = 12, BITS_MAX = 32, TAG_BITS = 32, PARTS = 8, PARTS_USED = 5 };

static const uint32_t CLIENTS_MAX = UINT32_C(1) << 31;

bool clients_open(struct clients *clients)
{
    *clients = (struct clients){.bits = BITS_AT_FIRST};
    rows_open(&clients->key, sizeof(struct client_key));
    clients->slot = calloc((size_t)1 << BITS_AT_FIRST, sizeof *clients->slot);
    return clients->slot != NULL;
}

void clients_close(struct clients *clients)
{
    free(clients->slot);
    rows_close(&clients->key);
    free(clients->longer);
    *clients = (struct clients){.bits = 0};
}

const char *clients_key(const struct clients *clients, uint32_t client, size_t *size)
{
    const struct client_key *key = rows_at(&clients->key, client);
    size_t at;
    *size = key->size;
    if (key->size <= CLIENT_KEY_INSIDE) return key->inside;
    memcpy(&at, key->inside, sizeof at);
    return clients->longer + at;
}

static size_t first_place(const struct clients *clients, uint32_t tag)
{
    return tag >> (TAG_BITS - clients->bits);
}

static bool grow_slots(struct clients *clients)
{
    struct clients larger = *clients;
    if (++larger.bits > BITS_MAX) return false;
    const size_t mask = ((size_t)1 << larger.bits) - 1, count = (size_t)1 << clients->bits;
    larger.slot = calloc(mask + 1, sizeof *larger.slot);
    if (larger.slot == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        if (clients->slot[i].number == 0) continue;
        size_t place = first_place(&larger, clients->slot[i].tag);
        while (larger.slot[place].number != 0) place = (place + 1) & mask;
        larger.slot[place] = clients->slot[i];
    }
    free(clients->slot);
    *clients = larger;
    return true;
}

static bool keep_longer(struct clients *clients, const void *bytes, size_t size)
{
    if (clients->longer_size - clients->longer_used < size) {
        const size_t more = clients->longer_size * 2 + size;
        char *larger = realloc(clients->longer, more);
        if (larger == NULL) return false;
        clients->longer = larger;
        clients->longer_size = more;
    }
    memcpy(clients->longer + clients->longer_used, bytes, size);
    clients->longer_used += size;
    return true;
}

static bool add_key(struct clients *clients, const void *bytes, size_t size)
{
    if (clients->count == CLIENTS_MAX || size > UINT32_MAX) return false;
    if (!rows_reach(&clients->key, clients->count + 1)) return false;
    struct client_key *key = rows_at(&clients->key, clients->count);
    const size_t at = clients->longer_used;
    key->size = (uint32_t)size;
    if (size > CLIENT_KEY_INSIDE) {
        if (!keep_longer(clients, bytes, size)) return false;
        memcpy(key->inside, &at, sizeof at);
    } else if (size != 0) {
        memcpy(key->inside, bytes, size);
    }
    clients->count++;
    return true;
}

static bool has_key(const struct clients *clients, uint32_t client, const void *bytes, size_t size)
{
    size_t there;
    const char *key = clients_key(clients, client, &there);
    return there == size && (size == 0 || memcmp(key, bytes, size) == 0);
}

uint32_t clients_tag(const struct secret *secret, const void *bytes, size_t size)
{
    return (uint32_t)(hash_key(secret, bytes, size, 0) >> TAG_BITS);
}

void clients_fetch_slot(const struct clients *clients, uint32_t tag)
{
    __builtin_prefetch(&clients->slot[first_place(clients, tag)]);
}

void clients_fetch_key(const struct clients *clients, uint32_t tag)
{
    const struct client_slot *slot = &clients->slot[first_place(clients, tag)];
    if (slot->number != 0) rows_fetch(&clients->key, slot->number - 1);
}

bool clients_find(struct clients *clients, uint32_t tag, const void *bytes, size_t size, uint32_t *client)
{
    const size_t mask = ((size_t)1 << clients->bits) - 1;
    size_t place = first_place(clients, tag);
    for (; clients->slot[place].number != 0; place = (place + 1) & mask) {
        if (clients->slot[place].tag != tag) continue;
        *client = clients->slot[place].number - 1;
        if (has_key(clients, *client, bytes, size)) return true;
    }
    *client = clients->count;
    if (!add_key(clients, bytes, size)) return false;
    clients->slot[place] = (struct client_slot){tag, clients->count};
    return clients->count <= (mask + 1) / PARTS * PARTS_USED || grow_slots(clients);
}
