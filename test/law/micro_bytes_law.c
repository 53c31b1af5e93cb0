/* SPDX-License-Identifier: MIT
   micro_bytes_law.c - any bytes under a key, any numbers in a question: an answer comes, within its bounds.

   Bytes that are no value of ours are refused; those that look like one hold words from 0 to 2^53 that nobody ever
   wrote, a log's entries are any, and limits are others than those they were written for.  The rig looks at all
   numbers; what is written after such a question reads again.
 */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "law/micro_rig.h"
#include "redis/micro/num.h"

enum { STEPS_MEAN = 6, WORD = 8, BITS = 8, RING = 5 };

#define WORD_MOST (UINT64_C(1) << 53)
static const uint64_t NOW = UINT64_C(1763836800123456);

static uint64_t any_number(struct law *law)
{
    switch (law_pick(law, 8)) {
    case 0:
        return 0;
    case 1:
        return law_pick(law, 4);
    case 2:
        return NOW + law_pick(law, 5000000) - 2500000;
    case 3:
        return (UINT64_C(1) << 53) - law_pick(law, 3);
    case 4:
        return MICRO_MOST + law_pick(law, 3) - 1;
    case 5:
        return law_chance(law, 4) ? UINT64_MAX - law_pick(law, 2) : 1;
    default:
        return law_pick_size(law, UINT64_C(1) << 53);
    }
}

static void add_word(struct value *value, uint64_t word)
{
    for (int i = 0; i < WORD && value->size < MICRO_BYTES_MAX; i++) {
        value->bytes[value->size++] = (unsigned char)(word >> (BITS * i));
    }
}

/* Of a log: most often what could be one. */
static uint64_t a_word(struct law *law, uint64_t kind, uint64_t word)
{
    if (kind != MICRO_LOG || law_chance(law, 20)) return least(any_number(law), WORD_MOST);
    if (word == 0) return least(any_number(law), WORD_MOST);
    if (word < 3) return law_chance(law, 2) ? law_pick(law, 20) : (uint32_t)any_number(law);
    return word == 3 ? RING : word == 4 ? law_pick(law, RING) : word == 5 ? law_pick(law, RING + 1) : any_number(law);
}

/* Cells of any kind with any words, most often as many as they should be. */
static void pick_bytes(struct law *law, struct rig *rig, struct value *value, unsigned first, unsigned count)
{
    static const uint64_t words[] = {0, 0, 2, 3, 2, 2, 3, 7};
    const bool old = law_chance(law, 3);
    const unsigned char head[] = {'w', 'e', 'i', 'r', old ? 1 : MICRO_FORMAT, (unsigned char)count, 0, 0};
    bool log = false;
    memcpy(value->bytes, head, sizeof head);
    value->size = sizeof head;
    for (unsigned i = first; i < first + count; i++) {
        const bool ours = i < rig->micro.count && law_pick(law, 4) != 0;
        const uint64_t kind = ours ? rig->micro.rule[i].kind : law_pick(law, MICRO_KINDS);
        const uint64_t of_kind = kind == MICRO_GCRA && law_chance(law, 2) ? 7 : words[kind];
        const uint64_t size = law_chance(law, 30) ? law_pick(law, 9) : of_kind;
        const uint64_t burst = old || law_chance(law, 4) ? 0 : least(any_number(law), MICRO_BURST_MOST);
        log = log || kind == MICRO_LOG;
        add_word(value, kind | size << BITS | burst << 2 * BITS);
        add_word(value, law_chance(law, 30) ? any_number(law) : most(least(any_number(law), MICRO_MOST), 1));
        for (uint64_t word = 0; word < size; word++) {
            add_word(value, law_chance(law, 100) ? any_number(law) : a_word(law, kind, word));
        }
    }
    for (unsigned i = 0; i < RING * MICRO_LOG_ENTRY && log && count == 1; i++) {
        value->bytes[value->size++] = (unsigned char)law_pick(law, 256);
    }
    if (law_chance(law, 20)) value->bytes[law_pick(law, value->size)] = (unsigned char)law_pick(law, 256);
    if (law_chance(law, 20)) value->size = law_pick(law, value->size + 1);
}

static bool pick_rig(struct law *law, struct rig *rig)
{
    weir_error error;
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
    rig_forget(rig);
    rig->any_bytes = true;
    law_pick_any_plan(law, 4, SIZE_MAX, &rig->plan);
    if (micro_plan_make(&rig->micro, &rig->plan, &error) != 0) return false;
    for (unsigned i = 0; i < rig->micro.count; i++) {
        if (rig->micro.rule[i].kind == MICRO_LOG && rig->micro.rule[i].burst > RIG_STAMPS) return false;
    }
    for (unsigned i = 0; i < rig->micro.count && rig_parted(rig); i++) pick_bytes(law, rig, &rig->value[i], i, 1);
    const unsigned count = law_chance(law, 2) ? 1 : 1 + (unsigned)law_pick(law, WEIR_LIMITS_MAX);
    if (!rig_parted(rig)) pick_bytes(law, rig, &rig->value[0], 0, count);
    return rig_state(rig, &state, log);
}

static void ask(struct law *law, struct rig *rig)
{
    struct micro_ask ask = {.now = any_number(law), .wait = any_number(law), .peek = law_chance(law, 4)};
    uint64_t actual[WEIR_LIMITS_MAX];
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) {
        ask.cost[i] = any_number(law);
        actual[i] = any_number(law);
    }
    switch (law_pick(law, 5)) {
    case 0:
        rig_take(law, rig, &ask);
        break;
    case 1:
        rig_charge(law, rig, &ask);
        break;
    case 2:
        rig_settle(law, rig, ask.now, any_number(law), ask.cost, actual);
        break;
    case 3:
        rig_lease(law, rig, ask.now, any_number(law), any_number(law));
        break;
    default:
        rig_return(law, rig, ask.now, any_number(law), any_number(law), any_number(law));
    }
}

static void property(struct law *law)
{
    struct rig rig;
    if (!pick_rig(law, &rig)) return;
    for (unsigned i = 0; i < rig.micro.count; i++) law_note(law, "rule of kind %" PRIu64, rig.micro.rule[i].kind);
    while (law_more(law, STEPS_MEAN)) {
        ask(law, &rig);
        law_step(law);
    }
}

LAW("micro_bytes", property, 30000);
