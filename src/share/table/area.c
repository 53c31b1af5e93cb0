/* SPDX-License-Identifier: MIT
   Which area of a table has a key, and where else a key may be that was found in a bucket.

   The plain way to grow is a larger area for all keys.  It needs the old one beside it until all have moved, half as
   much again.  So a large table adds an area of what it lacks, and a draw gives each key one of them: the newest draws
   its share of all keys, and who is not drawn stays where it was.  A key moves by what its slot tells: the place has
   the upper bits of its hash, and the tag the lower ones. */
#include "share/table/look.h"
#include "share/table/table.h"

uint64_t table_draw(uint64_t tag, unsigned area)
{
    const uint64_t mixed = (tag ^ (uint64_t)area << TABLE_TAG_BITS) * UINT64_C(0xd6e8feb86659fd93);
    return ((mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

unsigned table_home(const struct table *table, uint64_t tag)
{
    unsigned area = table->count - 1;
    while (area > table->home && table_draw(tag, area) >= table->share[area]) area--;
    return area;
}

void table_divide(struct table *table, bool beside)
{
    uint64_t all = 0;
    table->home = beside ? 0 : table->count - 1;
    for (unsigned i = 0; i < table->count; i++) {
        all += table->area[i].half;
        table->share[i] = (table->area[i].half << 31) / all << 1;
    }
    table->all = table->home + 1 == table->count ? table->area[table->home] : (struct table_area){NULL, 0};
}

struct table_bucket *table_other_bucket(const struct table_area *area, const struct table_bucket *bucket, uint64_t tag)
{
    const uint64_t half = area->half, place = (uint64_t)(bucket - area->bucket), stride = table_stride(area, tag);
    if (place < half) return &area->bucket[place + stride < half ? place + stride + half : place + stride];
    return &area->bucket[place - half >= stride ? place - half - stride : place - stride];
}

struct table_bucket *table_bucket_at_home(const struct table_area *home, const struct table_area *area,
                                          const struct table_bucket *bucket, uint64_t tag, int choice)
{
    const uint64_t half = area->half, step = UINT64_C(1) << (TABLE_TAG_BITS - 32), stride = table_stride(area, tag);
    uint64_t place = (uint64_t)(bucket - area->bucket);
    if (place >= half) place = place - half >= stride ? place - half - stride : place - stride;
    const uint64_t from = ((place << 32) + half - 1) / half, to = (((place + 1) << 32) + half - 1) / half;
    const uint64_t lowest = from + ((tag >> 32) - from) % step, highest = lowest + (to - 1 - lowest) / step * step;
    if (lowest >= to) return NULL;
    struct table_bucket *known = table_bucket_of(home, lowest << 32 | (tag & UINT32_MAX), choice);
    return known == table_bucket_of(home, highest << 32 | (tag & UINT32_MAX), choice) ? known : NULL;
}
