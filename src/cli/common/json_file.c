/* SPDX-License-Identifier: MIT
   JSON to an open file, by way of a buffer. */
#include "cli/common/json_file.h"

#include <math.h>

void json_file_flush(struct json_file *out)
{
    fwrite(out->buffer, 1, out->bytes.size, out->file);
    out->bytes.size = 0;
}

static void drain(struct json *json)
{
    json_file_flush((struct json_file *)json);
}

void json_file_open(struct json_file *out, FILE *file)
{
    out->json = (struct json){.out = &out->bytes, .drain = drain};
    out->bytes = (struct bytes){.memory = out->buffer, .capacity = sizeof out->buffer};
    out->file = file;
}

void json_file_end(struct json_file *out)
{
    json_end_object(&out->json);
    out->json.comma = false;
    json_line(&out->json);
}

void json_file_double(struct json *json, const char *name, double value, int places)
{
    char text[400]; /* the largest has 309 digits */
    snprintf(text, sizeof text, "%.*f", places, value);
    json_decimal(json, name, isfinite(value) ? text : "null");
}
