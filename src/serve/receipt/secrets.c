/* SPDX-License-Identifier: MIT
   What services that share an engine sign their receipts with.

       NEW                    64 hexadecimal digits, or any word of 32 characters or more
       NEW OLD SECONDS        NEW took OLD's place then, in seconds since 1970; without OLD there was none

   Services notice that within a minute (decide.c), and OLD signs until they have: so it counts for what was made until
   SECONDS and two minutes.  What is older than the time for settling nobody settles, so that OLD ends by itself.

   A secret's number tells nothing of it. */
#include "serve/receipt/secrets.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_MIN = 32, NOTICED_S = 120, US = 1000000 };

struct word {
    const char *bytes;
    size_t size;
};

/* A secret of any length becomes a key. */
static struct mac *mac_from(struct word secret, uint64_t *number)
{
    static const uint8_t zeros[MAC_SECRET];
    uint8_t key[MAC_SECRET], of_number[MAC_SIZE];
    struct mac *mac = mac_open(zeros);
    if (mac == NULL) return NULL;
    mac_of(mac, "1", 1, secret.bytes, secret.size, key);
    mac_of(mac, "2", 1, secret.bytes, secret.size, key + MAC_SIZE);
    mac_close(mac);
    mac = mac_open(key);
    if (mac == NULL) return NULL;
    mac_of(mac, "number", 6, "", 0, of_number);
    memcpy(number, of_number, sizeof *number);
    return mac;
}

static struct word next_word(const char **text)
{
    const char *begin = *text + strspn(*text, " ");
    const struct word word = {begin, strcspn(begin, " ")};
    *text = begin + word.size;
    return word;
}

static bool read_old(struct secrets *secrets, struct word old, struct word since)
{
    char *end;
    if (since.size == 0) return old.size < WORD_MIN;
    if (old.size < WORD_MIN) return false;
    const uint64_t seconds = strtoull(since.bytes, &end, 10);
    if (end != since.bytes + since.size || seconds > UINT64_MAX / US - NOTICED_S) return false;
    secrets->until_us = (seconds + NOTICED_S) * US;
    secrets->mac[1] = mac_from(old, &secrets->key[1]);
    return secrets->mac[1] != NULL;
}

bool secrets_read(struct secrets *secrets, const char *text)
{
    secrets_close(secrets);
    const struct word secret = next_word(&text), old = next_word(&text), since = next_word(&text);
    const bool fits = secret.size >= WORD_MIN && next_word(&text).size == 0;
    if (fits) secrets->mac[0] = mac_from(secret, &secrets->key[0]);
    if (secrets->mac[0] != NULL && read_old(secrets, old, since)) return true;
    secrets_close(secrets);
    return false;
}

void secrets_close(struct secrets *secrets)
{
    for (int i = 0; i < 2; i++) mac_close(secrets->mac[i]);
    *secrets = (struct secrets){.until_us = 0};
}

const struct mac *secrets_find(const struct secrets *secrets, uint64_t key, uint64_t made_us)
{
    if (secrets->mac[0] != NULL && key == secrets->key[0]) return secrets->mac[0];
    if (secrets->mac[1] != NULL && key == secrets->key[1] && made_us <= secrets->until_us) return secrets->mac[1];
    return NULL;
}
