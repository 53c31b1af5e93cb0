/* SPDX-License-Identifier: MIT
   A table's file that exists already: can this version use it?

       nothing in it: no bytes, only zeros      a first start, or one that was killed while it made the file: it is made
       a header that this version reads         used
       an older format of a release             converted, here, under the lock: keyed_read_state
       anything else                            refused, with the reason and the command that starts fresh

   Usage is never forgotten without the user's consent: if the header is gone, or describes less than there is, and what
   follows is not blank, the file is damaged, not new.  Slots have no check of their own; see "State of older versions"
   in doc/design.md.  A file that is refused is not written to. */
#include "api/table/keyed.h"
#include "core/num.h"
#include "plan/write.h"

/* The offset after which there must be nothing. */
static uint64_t end_of_used(const weir_table *table, enum region_answer answer)
{
    if (answer == REGION_SOUND) return region_end(&table->view);
    return answer == REGION_EMPTY ? least(table->region.size, REGION_PAGE) : table->region.size;
}

/* Older formats than region_read knows are reported as REGION_VERSION.  A change of the format adds a conversion here:
   into a new file beside the old one, which takes its name and is then read. */
int keyed_read_state(weir_table *table, bool checked, enum region_answer *answer)
{
    bool blank = true;
    const uint64_t page = least(table->region.size, REGION_PAGE);
    int number = host_region_map(&table->region, 0, page, &table->header);
    if (number != 0) return number;
    *answer = region_read(table->header, table->region.size, &table->view);
    const uint64_t end = end_of_used(table, *answer);
    if (checked && end < table->region.size) number = host_region_blank(&table->region, end, &blank);
    if (!blank) *answer = REGION_DAMAGED;
    return number;
}

/* "is of a newer weir: format 5 of wide slots, and weir 1.0.0 reads 2" */
static int refuse_version(const weir_table *table, const char *path, weir_error *error)
{
    const struct region_format format = region_read_format(table->header);
    char what[KEYED_WHAT_MAX];
    struct writer writer = {what, sizeof what, 0};
    if (format.other_order || format.other_words) {
        return api_fail_state(error, WEIR_EVERSION, path,
                              format.other_order ? "is of a machine with another byte order"
                                                 : "is of a machine with another word size");
    }
    write_text(&writer, format.reads == 0               ? "is of another weir: format "
                        : format.version > format.reads ? "is of a newer weir: format "
                                                        : "is of an older weir: format ");
    write_number(&writer, format.version);
    if (format.reads != 0) write_text(&writer, format.kind == REGION_WIDE ? " of wide slots" : " of 16-byte slots");
    write_text(&writer, ", and weir " WEIR_VERSION " reads ");
    if (format.reads != 0) write_number(&writer, format.reads);
    else write_text(&writer, "1 to 4");
    return api_fail_state(error, WEIR_EVERSION, path, what);
}

int keyed_refuse_state(const weir_table *table, enum region_answer answer, const char *path, weir_error *error)
{
    switch (answer) {
    case REGION_VERSION:
        return refuse_version(table, path, error);
    case REGION_FOREIGN:
        return api_fail_state(error, WEIR_EMISMATCH, path, "is no table of weir, or its first bytes are damaged");
    default:
        return api_fail_state(error, WEIR_EMISMATCH, path, "is a table of weir, but damaged or cut off");
    }
}
