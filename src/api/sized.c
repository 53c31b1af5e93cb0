/* SPDX-License-Identifier: MIT
   Structs of a caller that was built with another version: shorter or longer.  A field that the caller does not have
   has its default; a field that the caller sets and this version does not know is an error. */
#include "api/sized.h"

#include <stdbool.h>
#include <string.h>

#include "api/error.h"
#include "core/num.h"
#include "plan/write.h"

enum { SIZE_MOST = 4096 }; /* a size that was never set is 0 or garbage */

static int not_filled(const char *filled_by, weir_error *error)
{
    if (error != NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = WEIR_EINVAL};
        write_text(&writer, "options.size is not set: initialize the options with ");
        write_text(&writer, filled_by);
        write_text(&writer, ", which sets it");
    }
    return WEIR_EINVAL;
}

int api_read_options(void *known, size_t known_size, const void *options, const char *filled_by, weir_error *error)
{
    size_t size;
    if (options == NULL) return 0;
    memcpy(&size, options, sizeof size);
    if (size < sizeof size || size > SIZE_MOST) return not_filled(filled_by, error);
    for (size_t i = known_size; i < size; i++) {
        if (((const unsigned char *)options)[i] == 0) continue;
        return api_fail(error, WEIR_EVERSION, "options: a field that only a newer weir knows is set; expected 0");
    }
    memcpy(known, options, (size_t)least(size, known_size));
    memcpy(known, &known_size, sizeof known_size);
    return 0;
}

void api_write_sized(void *out, size_t size, const void *known, size_t known_size)
{
    memset(out, 0, size);
    memcpy(out, known, (size_t)least(size, known_size));
}
