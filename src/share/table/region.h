/* SPDX-License-Identifier: MIT
   Memory that processes share or a file keeps: the content of its first page, and the time in it. */
#ifndef WEIR_SHARE_TABLE_REGION_H
#define WEIR_SHARE_TABLE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/atomic.h"
#include "share/hash/hash.h"

enum { REGION_PAGE = 4096, REGION_AREAS_MAX = 8, REGION_BOOT_BYTES = 16 };

/* The limit for the size of a file and for any number in a header. */
#define REGION_BYTES_MAX (UINT64_C(1) << 46)

enum region_kind { REGION_SLOTS = 1, REGION_WIDE = 2, REGION_PARTS = 3 /* the parts of a table of either kind */ };

/* The properties that are written once, and have to match those that the opener requests. */
struct region_shape {
    enum region_kind kind;
    int32_t unit;        /* REGION_SLOTS: a unit is 2^-unit ns; -63 to 63 */
    uint32_t when_full;  /* an enum table_when_full */
    uint32_t slot_bytes; /* 16, or for a wide slot a multiple of 8, at least 16, at most the size of an area */
    struct secret secret;
    bool beside; /* REGION_SLOTS: further areas are beside the others (table.c), not in place of them */
};

/* The place of one area: bytes from the start of the memory, whole pages. */
struct region_area {
    uint64_t offset, bytes;
};

/* What a process read and found valid.  It never reads the geometry in the header again, except to find more areas. */
struct region_view {
    struct region_shape shape;
    unsigned areas;
    struct region_area area[REGION_AREAS_MAX];
};

/* The boot, zeros if unknown, and its clocks just now.  monotonic_ns is that of the machine, whatever time namespace
   the process is in. */
struct region_times {
    uint8_t boot[REGION_BOOT_BYTES];
    uint64_t monotonic_ns, unix_ns;
};

enum region_answer {
    REGION_SOUND,
    REGION_EMPTY,   /* not made yet: only zeros, or the process that made it died half-way */
    REGION_FOREIGN, /* not a file of weir */
    REGION_VERSION, /* of another version, byte order or word size */
    REGION_DAMAGED, /* its check or its numbers are wrong, or the file is shorter than it says */
};

/* [under the file's lock, when region_read said REGION_EMPTY under the same lock] Writes a header for one area behind
   the first page; area_bytes are whole pages. */
void region_make(void *memory, const struct region_shape *shape, uint64_t area_bytes, const struct region_times *times);

/* True if the two have the same properties except for the kind and how they grow. */
bool region_same_shape(const struct region_shape *a, const struct region_shape *b);

/* Writes and reads a few words with their check.  The salt identifies the record, so that no record is valid in another
   one's place. */
void region_write_record(struct atom *at, const uint64_t words[], unsigned count, uint64_t salt);
bool region_read_record(const struct atom *at, uint64_t words[], unsigned count, uint64_t salt);

/* Copies the header once and checks the copy: any bytes may be there.  `size` is the size of the file; that much of the
   first page may be read (of a short file map no more, and enlarge none that is not REGION_EMPTY).  *view is written
   only if the result is REGION_SOUND. */
enum region_answer region_read(const void *memory, uint64_t size, struct region_view *view);

/* What a page that is REGION_VERSION says of itself, as far as that can be read. */
struct region_format {
    bool other_order, other_words; /* from another kind of machine; then the rest is 0 */
    unsigned version,
        reads; /* the format's version, and the version that is read for this kind; 0 if the kind is unknown */
    enum region_kind kind; /* valid if `reads` is not 0 */
};
struct region_format region_read_format(const void *memory);

/* Reads the header again to find areas that others have added.  REGION_DAMAGED unless all that the view has is
   unchanged. */
enum region_answer region_read_more(const void *memory, uint64_t size, struct region_view *view);

/* The size of a file with these areas; the next one begins there. */
uint64_t region_end(const struct region_view *view);

/* [under the file's lock, the file being large enough] Adds an area at the end, of whole pages of zeros.  Returns false
   and changes nothing if there are REGION_AREAS_MAX areas, if another process has added one that the view does not
   have, or if the new area would not be valid. */
bool region_add_area(void *memory, struct region_view *view, uint64_t bytes);

/* The number of areas: what struct table calls newest. */
struct atom *region_newest(void *memory);

/* When all slots were last checked, in the region's time: see table_rest.  0: never, by older versions. */
struct atom *region_rested(void *memory);

/* Words for callers that wait for keys, of the caller's own making; zeros at first, and older versions leave them. */
enum { REGION_WAITS = 64 };
void *region_wait_word(void *memory, uint64_t number);

/* How many processes have marked themselves as holders of slots. */
struct atom *region_marks(void *memory);

/* [under the file's lock, with times read under it] The offset (modulo 2^64) from the machine's CLOCK_MONOTONIC to the
   region's time, which continues over restarts and reboots.  After a reboot it advances as the wall clock did; if the
   wall clock went back, or on by more than a year, as if no time had passed.  The region's time is at least a second,
   and not before any time that was kept. */
uint64_t region_time_offset(void *memory, const struct region_times *times);

/* The unix time at which the region's time was 0, by this boot's clocks when they were first noted. */
uint64_t region_epoch_ns(const void *memory);

/* Notes the time for the next boot.  Any thread calls it now and then; it takes no lock and never waits. */
void region_keep_time(void *memory, const struct region_times *times);

#endif
