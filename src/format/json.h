/* SPDX-License-Identifier: MIT
   Writes JSON: the commas, the escapes, and what a string may not have in it.

       json_object(json, NULL);
       json_text(json, "name", "api");
       json_array(json, "counts");
       json_number(json, NULL, 7);
       json_end_array(json);
       json_end_object(json);                  {"name":"api","counts":[7]}

   What has a name is a member of an object; where the name is NULL it is an element of an array, or stands alone. */
#ifndef WEIR_FORMAT_JSON_H
#define WEIR_FORMAT_JSON_H

#include "format/bytes.h"

struct json {
    struct bytes *out;
    bool comma;                       /* before what comes next */
    bool in_html;                     /* < > & are escaped, so that it may stand in a <script> */
    void (*drain)(struct json *json); /* makes room in `out`; NULL: what does not fit sets out->full */
};

/* Inline as what takes it, so that the size of a name that is written there is known. */
static inline struct slice json_name(const char *name)
{
    return name != NULL ? slice_of(name) : (struct slice){NULL, 0};
}

void json_object(struct json *json, const char *name);
void json_end_object(struct json *json);
void json_array(struct json *json, const char *name);
void json_end_array(struct json *json);

void json_add_number(struct json *json, struct slice name, uint64_t number);
static inline void json_number(struct json *json, const char *name, uint64_t number)
{
    json_add_number(json, json_name(name), number);
}

void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

/* A number that is written already, for example with a fraction. */
void json_decimal(struct json *json, const char *name, const char *number);

/* A string is valid UTF-8 whatever its bytes are: those that are no character become U+FFFD each. */
void json_add_string(struct json *json, struct slice name, struct slice text);
static inline void json_string(struct json *json, const char *name, struct slice text)
{
    json_add_string(json, json_name(name), text);
}
static inline void json_text(struct json *json, const char *name, const char *text)
{
    json_string(json, name, slice_of(text));
}

/* The same, but they become the text \xNN, by which different keys stay different. */
void json_key(struct json *json, const char *name, struct slice key);

/* The next element begins on a line of its own; or the array's end does. */
void json_line(struct json *json);

#endif
