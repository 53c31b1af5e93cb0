/* SPDX-License-Identifier: MIT
   region.h - memory that processes share or a file keeps: what its first page says, and what time it is in there.

   See region.c. */
#ifndef WEIR_SHARE_REGION_H
#define WEIR_SHARE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/atomic.h"
#include "share/hash.h"

enum { REGION_PAGE = 4096, REGION_AREAS_MAX = 8, REGION_BOOT_BYTES = 16 };

/* No file is larger, nor any number in a header. */
#define REGION_BYTES_MAX (UINT64_C(1) << 46)

enum region_kind { REGION_SLOTS = 1, REGION_WIDE = 2, REGION_PARTS = 3 /* of a table of either */ };

/* What is written once and has to fit what the opener wants. */
struct region_shape {
    enum region_kind kind;
    int32_t unit;        /* REGION_SLOTS: a unit is 2^-unit ns; -63 to 63 */
    uint32_t when_full;  /* an enum table_when_full */
    uint32_t slot_bytes; /* 16, or of a wide slot: a multiple of 8, 16 or more, no more than an area has */
    struct secret secret;
};

/* Where one area lies: bytes from the start of the memory, whole pages. */
struct region_area {
    uint64_t offset, bytes;
};

/* What a process read and found sound; it never looks at the header's geometry again, but for more areas. */
struct region_view {
    struct region_shape shape;
    unsigned areas;
    struct region_area area[REGION_AREAS_MAX];
};

/* Which run of which machine, zeros for unknown, and its clocks just now.  monotonic_ns is of the machine, whatever
   time namespace the process is in. */
struct region_times {
    uint8_t boot[REGION_BOOT_BYTES];
    uint64_t monotonic_ns, unix_ns;
};

enum region_answer {
    REGION_SOUND,
    REGION_EMPTY,   /* nobody has made it yet: only zeros, or whoever made it died half-way */
    REGION_FOREIGN, /* no file of weir */
    REGION_VERSION, /* of another version, byte order or word size */
    REGION_DAMAGED, /* its checksum or its numbers are wrong, or the file is shorter than it says */
};

/* [under the file's lock, when region_read said REGION_EMPTY under the same] Writes a header for one area behind the
   first page; area_bytes are whole pages. */
void region_make(void *memory, const struct region_shape *shape, uint64_t area_bytes, const struct region_times *times);

/* What is written once, of memory that is REGION_SOUND: is it the same but for the kind? */
bool region_same_shape(const struct region_shape *a, const struct region_shape *b);

/* A few words that fit their check, wherever a room keeps such; salt: which record it is, so that none fits another
   one's place. */
void region_write_record(struct atom *at, const uint64_t words[], unsigned count, uint64_t salt);
bool region_read_record(const struct atom *at, uint64_t words[], unsigned count, uint64_t salt);

/* Copies the header once and checks the copy: any bytes may be there.  size is that of the file; of its first page, so
   much may be read (map no more of a short one, and let none grow that is not REGION_EMPTY).  *view is written only
   when the answer is REGION_SOUND. */
enum region_answer region_read(const void *memory, uint64_t size, struct region_view *view);

/* Of a page that is REGION_VERSION: what it says of itself, as far as that can be read. */
struct region_format {
    bool other_order, other_words; /* of another kind of machine; then the rest is 0 */
    unsigned version, reads; /* the format's number; that which is read of this kind, 0 where the kind is unknown */
    enum region_kind kind;   /* where `reads` is not 0 */
};
struct region_format region_read_format(const void *memory);

/* The same again, to see areas that others have added: REGION_DAMAGED unless all that the view knows is as it was. */
enum region_answer region_read_more(const void *memory, uint64_t size, struct region_view *view);

/* So large is a file with these areas; the next one begins there. */
uint64_t region_end(const struct region_view *view);

/* [under the file's lock, the file being large enough] One more area, at the end, of whole pages that hold zeros.
   False, and nothing is changed, when there are REGION_AREAS_MAX, when somebody has added one that the view does not
   know, or when nobody could read it. */
bool region_add_area(void *memory, struct region_view *view, uint64_t bytes);

/* How many areas there are now: what struct table calls newest. */
struct atom *region_newest(void *memory);

/* When all slots were last looked at, in the region's time: see table_rest.  0: never, by older versions. */
struct atom *region_rested(void *memory);

/* [under the file's lock, the times read under it] What to add to the machine's CLOCK_MONOTONIC (modulo 2^64) to have
   the region's time, which goes on over restarts and reboots: in another boot as the clock on the wall has moved, and
   if that went back or by more than a year, as if no time had passed.  The region's time is then at least a second, and
   no less than any that was kept. */
uint64_t region_time_offset(void *memory, const struct region_times *times);

/* The unix time at which the region's time was 0, as this boot's clocks had it when they were first noted. */
uint64_t region_epoch_ns(const void *memory);

/* Remembers that it is so late now, for the next boot.  Any thread, now and then, without a lock; waits for nobody. */
void region_keep_time(void *memory, const struct region_times *times);

#endif
