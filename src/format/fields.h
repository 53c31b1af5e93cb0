/* SPDX-License-Identifier: MIT
   Named values as clients send them: a query or form (a=b&c=d), or a flat object of JSON.

   See fields.c. */
#ifndef WEIR_FORMAT_FIELDS_H
#define WEIR_FORMAT_FIELDS_H

#include "format/bytes.h"

enum { FIELDS_MAX = 32, FIELDS_NUMBERS_MAX = 8 };

enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_BOOL, FIELD_NUMBERS, FIELD_UNITS, FIELD_NULL };

struct field {
    struct slice name, value;            /* decoded; of FIELD_UNITS "tokens=812,requests=2"; of others as it was sent */
    enum field_kind kind;                /* of a form: always FIELD_TEXT */
    uint64_t number[FIELDS_NUMBERS_MAX]; /* FIELD_NUMBER: one; whole numbers only; FIELD_BOOL: one, 0 or 1 */
    unsigned numbers;
};

struct fields {
    struct field field[FIELDS_MAX];
    unsigned count;
};

struct fields_problem {
    size_t column; /* byte of the text, from 1; behind its last one: something is missing there */
    const char *words;
};

/* Names and values are written to `room`, which must live as long as the fields; the text need not.  It is a problem
   when there is less room than text.size, and so are a name twice, a name of no bytes, too many fields, bad escapes,
   and in JSON invalid UTF-8. */
bool fields_read_form(struct slice text, struct bytes *room, struct fields *fields, struct fields_problem *problem);
bool fields_read_json(struct slice text, struct bytes *room, struct fields *fields, struct fields_problem *problem);

/* NULL: there is none, or it is null. */
static inline const struct field *fields_find(const struct fields *fields, const char *name)
{
    const struct slice wanted = slice_of(name);
    for (unsigned i = 0; i < fields->count; i++) {
        const struct field *field = &fields->field[i];
        if (slice_is(field->name, wanted)) return field->kind != FIELD_NULL ? field : NULL;
    }
    return NULL;
}

#endif
