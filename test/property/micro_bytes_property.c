/* SPDX-License-Identifier: MIT
   Any bytes under a key, any numbers in a question: an answer comes, within its bounds.

   Bytes that are no value of ours are refused; those that look like one hold words from 0 to 2^53 that nobody ever
   wrote, a log's entries are any, and limits are others than those they were written for.  The rig looks at all
   numbers; what is written after such a question reads again.
 */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "property/micro_rig.h"
#include "redis/micro/num.h"

enum { STEPS_MEAN = 6, WORD = 8, BITS = 8, RING = 5 };

#define WORD_MOST (UINT64_C(1) << 53)
static const uint64_t NOW = UINT64_C(1763836800123456);

static uint64_t any_number(struct prop *prop)
{
    switch (prop_pick(prop, 8)) {
    case 0:
        return 0;
    case 1:
        return prop_pick(prop, 4);
    case 2:
        return NOW + prop_pick(prop, 5000000) - 2500000;
    case 3:
        return (UINT64_C(1) << 53) - prop_pick(prop, 3);
    case 4:
        return MICRO_MOST + prop_pick(prop, 3) - 1;
    case 5:
        return prop_chance(prop, 4) ? UINT64_MAX - prop_pick(prop, 2) : 1;
    default:
        return prop_pick_size(prop, UINT64_C(1) << 53);
    }
}

static void add_word(struct value *value, uint64_t word)
{
    for (int i = 0; i < WORD && value->size < MICRO_BYTES_MAX; i++) {
        value->bytes[value->size++] = (unsigned char)(word >> (BITS * i));
    }
}

/* Of a log: most often what could be one. */
static uint64_t a_word(struct prop *prop, uint64_t kind, uint64_t word)
{
    if (kind != MICRO_LOG || prop_chance(prop, 20)) return least(any_number(prop), WORD_MOST);
    if (word == 0) return least(any_number(prop), WORD_MOST);
    if (word < 3) return prop_chance(prop, 2) ? prop_pick(prop, 20) : (uint32_t)any_number(prop);
    return word == 3   ? RING
           : word == 4 ? prop_pick(prop, RING)
           : word == 5 ? prop_pick(prop, RING + 1)
                       : any_number(prop);
}

/* Cells of any kind with any words, most often as many as they should be. */
static void pick_bytes(struct prop *prop, struct rig *rig, struct value *value, unsigned first, unsigned count)
{
    static const uint64_t words[MICRO_KINDS] = {0, 0, 2, 3, 2, 2, 3, 7, 0};
    const bool old = prop_chance(prop, 3);
    const unsigned char head[] = {'w', 'e', 'i', 'r', old ? 1 : MICRO_FORMAT, (unsigned char)count, 0, 0};
    bool log = false;
    memcpy(value->bytes, head, sizeof head);
    value->size = sizeof head;
    for (unsigned i = first; i < first + count; i++) {
        const bool ours = i < rig->micro.count && prop_pick(prop, 4) != 0;
        const uint64_t kind = ours ? rig->micro.rule[i].kind : prop_pick(prop, MICRO_KINDS);
        const uint64_t of_kind = kind == MICRO_GCRA && prop_chance(prop, 2) ? 7 : words[kind];
        const uint64_t size = prop_chance(prop, 30) ? prop_pick(prop, 9) : of_kind;
        const uint64_t burst = old || prop_chance(prop, 4) ? 0 : least(any_number(prop), MICRO_BURST_MOST);
        log = log || kind == MICRO_LOG;
        add_word(value, kind | size << BITS | burst << 2 * BITS);
        add_word(value, prop_chance(prop, 30) ? any_number(prop) : most(least(any_number(prop), MICRO_MOST), 1));
        for (uint64_t word = 0; word < size; word++) {
            add_word(value, prop_chance(prop, 100) ? any_number(prop) : a_word(prop, kind, word));
        }
    }
    for (unsigned i = 0; i < RING * MICRO_LOG_ENTRY && log && count == 1; i++) {
        value->bytes[value->size++] = (unsigned char)prop_pick(prop, 256);
    }
    if (prop_chance(prop, 20)) value->bytes[prop_pick(prop, value->size)] = (unsigned char)prop_pick(prop, 256);
    if (prop_chance(prop, 20)) value->size = prop_pick(prop, value->size + 1);
}

static bool pick_rig(struct prop *prop, struct rig *rig)
{
    weir_error error;
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
    rig_forget(rig);
    rig->any_bytes = true;
    prop_pick_any_plan(prop, 4, SIZE_MAX, &rig->plan);
    if (micro_plan_make(&rig->micro, &rig->plan, &error) != 0) return false;
    for (unsigned i = 0; i < rig->micro.count; i++) {
        if (rig->micro.rule[i].kind == MICRO_LOG && rig->micro.rule[i].burst > RIG_STAMPS) return false;
    }
    for (unsigned i = 0; i < rig->micro.count && rig_parted(rig); i++) pick_bytes(prop, rig, &rig->value[i], i, 1);
    const unsigned count = prop_chance(prop, 2) ? 1 : 1 + (unsigned)prop_pick(prop, WEIR_LIMITS_MAX);
    if (!rig_parted(rig)) pick_bytes(prop, rig, &rig->value[0], 0, count);
    return rig_state(rig, &state, log);
}

static void ask(struct prop *prop, struct rig *rig)
{
    struct micro_ask ask = {.now = any_number(prop), .wait = any_number(prop), .peek = prop_chance(prop, 4)};
    uint64_t actual[WEIR_LIMITS_MAX];
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) {
        ask.cost[i] = any_number(prop);
        actual[i] = any_number(prop);
    }
    switch (prop_pick(prop, 5)) {
    case 0:
        rig_take(prop, rig, &ask);
        break;
    case 1:
        rig_charge(prop, rig, &ask);
        break;
    case 2:
        rig_settle(prop, rig, ask.now, any_number(prop), ask.cost, actual);
        break;
    case 3:
        rig_lease(prop, rig, ask.now, any_number(prop), any_number(prop));
        break;
    default:
        rig_return(prop, rig, ask.now, any_number(prop), any_number(prop), any_number(prop));
    }
}

static void property(struct prop *prop)
{
    struct rig rig;
    if (!pick_rig(prop, &rig)) return;
    for (unsigned i = 0; i < rig.micro.count; i++) prop_note(prop, "rule of kind %" PRIu64, rig.micro.rule[i].kind);
    while (prop_more(prop, STEPS_MEAN)) {
        ask(prop, &rig);
        prop_step(prop);
    }
}

PROPERTY("micro_bytes", property, 30000);
