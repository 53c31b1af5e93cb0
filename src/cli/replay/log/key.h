/* SPDX-License-Identifier: MIT
   Whom a request is counted for: fields of its line, addresses cut to their prefix.

   See key.c. */
#ifndef WEIR_CLI_REPLAY_LOG_KEY_H
#define WEIR_CLI_REPLAY_LOG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/log/accesslog.h"

enum { KEY_PARTS_MAX = 8, KEY_NAME_MAX = 64, KEY_MESSAGE_SIZE = 200, KEY_BETWEEN = 0x1f /* between the parts */ };

struct key_part {
    char name[KEY_NAME_MAX];
    bool address; /* cut to its first bits */
    int bits_v4, bits_v6;
    int field; /* in an entry */
};

struct key {
    struct key_part part[KEY_PARTS_MAX];
    int parts;   /* 0: one key for all */
    char *bytes; /* of the last one that had to be put together */
    size_t size;
    char *plain; /* a field with its escapes undone */
    size_t plain_size;
};

/* "FIELD[/BITS[/BITS]][,FIELD...]" or "none"; the bits are written as in weir.yaml.  False: message
   says what is wrong. */
bool key_open(struct key *key, const char *text, char message[KEY_MESSAGE_SIZE]);
void key_close(struct key *key);

/* The key of an entry: bytes of its line, or borrowed until the next call.  False: no memory. */
bool key_of(struct key *key, const struct accesslog *log, const struct accesslog_entry *entry, struct slice *out);

/* The same as weir serve is given it: fields as a proxy sends them, so addresses whole (a limit of the service cuts
   them itself), and with commas between several. */
bool key_for_service(struct key *key, const struct accesslog *log, const struct accesslog_entry *entry,
                     struct slice *out);

/* Is an address in it cut to other bits than the usual ones? */
bool key_is_cut(const struct key *key);

#endif
