/* SPDX-License-Identifier: MIT
   micro_bytes_law.c - any bytes under a key, any numbers in a question: an answer comes, within its bounds.

   Bytes that are no value of ours are refused; those that look like one hold words from 0 to 2^53 that nobody ever
   wrote, stamps are any, and limits are others than those they were written for.  The rig looks at all numbers; what is
   written after such a question reads again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "law/micro_rig.h"
#include "micro/num.h"

enum { STEPS_MEAN = 6, WORD = 8, BITS = 8 };

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

static void add_word(struct rig *rig, uint64_t word)
{
    for (int i = 0; i < WORD && rig->size < sizeof rig->bytes; i++) {
        rig->bytes[rig->size++] = (unsigned char)(word >> (BITS * i));
    }
}

/* Cells of any kind with any words, most often as many as they should be. */
static void pick_bytes(struct law *law, struct rig *rig)
{
    static const uint64_t words[] = {0, 0, 2, 3, 2, 2, 3, 0};
    const unsigned count = 1 + (unsigned)law_pick(law, WEIR_LIMITS_MAX);
    const bool old = law_chance(law, 3);
    const unsigned char head[] = {'w', 'e', 'i', 'r', old ? 1 : MICRO_FORMAT, (unsigned char)count, 0, 0};
    memcpy(rig->bytes, head, sizeof head);
    rig->size = sizeof head;
    for (unsigned i = 0; i < count; i++) {
        const bool ours = i < rig->micro.count && law_pick(law, 4) != 0;
        const uint64_t kind = ours ? rig->micro.rule[i].kind : law_pick(law, MICRO_KINDS);
        const uint64_t of_kind = kind == MICRO_GCRA && law_chance(law, 2) ? 7 : words[kind];
        const uint64_t size = law_chance(law, 30) ? law_pick(law, 9) : of_kind;
        const uint64_t burst = old || law_chance(law, 4) ? 0 : least(any_number(law), MICRO_BURST_MOST);
        add_word(rig, kind | size << BITS | burst << 2 * BITS);
        add_word(rig, law_chance(law, 30) ? any_number(law) : most(least(any_number(law), MICRO_MOST), 1));
        for (uint64_t word = 0; word < size; word++) {
            add_word(rig, law_chance(law, 100) ? any_number(law) : least(any_number(law), WORD_MOST));
        }
    }
    if (law_chance(law, 20)) rig->bytes[law_pick(law, rig->size)] = (unsigned char)law_pick(law, 256);
    if (law_chance(law, 20)) rig->size = law_pick(law, rig->size + 1);
}

static int in_order(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static bool pick_rig(struct law *law, struct rig *rig)
{
    weir_error error;
    struct micro_state state;
    *rig = (struct rig){.size = 0};
    law_pick_any_plan(law, 4, SIZE_MAX, &rig->plan);
    if (micro_plan_make(&rig->micro, &rig->plan, &error) != 0) return false;
    for (unsigned i = 0; i < rig->micro.count; i++) {
        if (rig->micro.rule[i].kind == MICRO_LOG && rig->micro.rule[i].burst > RIG_STAMPS) return false;
        rig->stamps[i] = law_pick(law, RIG_STAMPS / 2);
        for (size_t at = 0; at < rig->stamps[i]; at++) rig->stamp[i][at] = least(any_number(law), MICRO_MOST);
        qsort(rig->stamp[i], rig->stamps[i], sizeof rig->stamp[i][0], in_order); /* as a sorted set gives them */
    }
    pick_bytes(law, rig);
    return micro_read(&state, rig->bytes, rig->size);
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
