/* SPDX-License-Identifier: MIT
   The limits that clients have asked by, and what they mean to an engine.

   Those that were asked for recently are kept (share/recent.c).  What is refused is read each time.

   Memory stays the same. */
#include "redis/module/texts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/recent.h"

enum kind { OF_TEXT, OF_THROTTLE, KINDS };

struct entry {
    struct recent_entry recent;
    struct micro_plan plan;
};

struct texts {
    struct recent recent;
    struct entry entry[RECENT_ENTRIES];
};

_Static_assert((int)KINDS <= (int)RECENT_KINDS && (int)TEXT_MAX <= (int)RECENT_KEY_MAX, "what is kept fits its head");

struct texts *texts_open(const struct secret *secret)
{
    struct texts *texts = calloc(1, sizeof *texts);
    if (texts != NULL) recent_open(&texts->recent, secret, texts->entry, sizeof texts->entry[0]);
    return texts;
}

void texts_close(struct texts *texts)
{
    free(texts);
}

/* What CL.THROTTLE's numbers make is no client's text, and need not be plain. */
static bool read_plan(enum kind kind, const char *text, struct micro_plan *plan, weir_error *error)
{
    weir_plan read;
    if (kind == OF_TEXT) return micro_text_read(plan, text, error) == 0;
    return weir_plan_parse(&read, text, WEIR_ADMIT, error) == 0 && micro_plan_make(plan, &read, error) == 0;
}

/* The text is read before it takes another's place, so that texts in error put nothing out. */
static const struct micro_plan *add(struct texts *texts, const struct recent_key *key, const char *text,
                                    weir_error *error)
{
    struct micro_plan plan;
    if (!read_plan(key->kind, text, &plan, error)) return NULL;
    struct entry *entry = recent_room(&texts->recent, key);
    recent_put(&texts->recent, entry, key);
    entry->plan = plan;
    return &entry->plan;
}

const struct micro_plan *texts_read(struct texts *texts, const char *text, size_t size, weir_error *error)
{
    char copy[TEXT_MAX + 1];
    struct recent_key key = {.bytes = text, .size = size, .kind = OF_TEXT};
    if (size > TEXT_MAX || memchr(text, '\0', size) != NULL) {
        *error = (weir_error){WEIR_EINVAL, 0,
                              "the text of a limit has at most 1024 bytes, and no byte that is 0; such "
                              "as 10/s"};
        return NULL;
    }
    const struct entry *known = recent_find(&texts->recent, &key);
    if (known != NULL) return &known->plan;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return add(texts, &key, copy, error);
}

const struct micro_plan *texts_throttle(struct texts *texts, const int64_t number[THROTTLE_NUMBERS], weir_error *error)
{
    char text[128];
    struct recent_key key = {.bytes = number, .size = THROTTLE_NUMBERS * sizeof number[0], .kind = OF_THROTTLE};
    const struct entry *known = recent_find(&texts->recent, &key);
    if (known != NULL) return &known->plan;
    throttle_write(&(struct writer){text, sizeof text, 0}, number);
    return add(texts, &key, text, error);
}
