/* SPDX-License-Identifier: MIT
   The memory that a plan needs, wherever it is kept: what a limiter allocates, and what a table of very many keys
   reserves for each. */
#include "api/limiter.h"
#include "api/memory.h"
#include "api/table/keyed.h"
#include "core/algorithm.h"
#include "core/num.h"

/* So many keys that the header and rounding of a table do not count. */
static const uint64_t KEYS = 1000000;

/* A key has a slot for each limit by gcra. */
static uint64_t slots_of(const struct plan *plan)
{
    uint64_t slots = 0;
    for (uint64_t i = 0; i < plan->count; i++) {
        if (algorithm_of(&plan->rule[i])->words == 0) continue;
        if (plan->interval[i] == 0) return 0;
        slots++;
    }
    return slots;
}

static uint64_t key_bytes(const struct plan *plan, bool kept)
{
    uint64_t table_slots, slot_words;
    const uint64_t slots = slots_of(plan);
    const uint64_t bytes = slots != 0 ? keyed_slots_bytes(KEYS * slots)
                                      : wide_bytes(KEYS, keyed_wide_words(plan, kept), kept, &table_slots, &slot_words);
    return multiply_divide_ceil(bytes, 1, KEYS);
}

struct plan_memory api_memory(const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    const uint64_t words = decide_words_before(plan_rules(inside), (int)inside->count);
    if (words == 0) return (struct plan_memory){0, limiter_bytes(inside), 0, 0};
    return (struct plan_memory){words * sizeof(uint64_t), limiter_bytes(inside), key_bytes(inside, false),
                                key_bytes(inside, true)};
}

size_t weir_plan_explain(const weir_plan *plan, char *out, size_t size)
{
    struct writer writer = {out, size, 0};
    const struct plan_memory memory = api_memory(plan);
    write_text(&writer, "");
    explain(plan_inside_const(plan), &memory, 0, &writer);
    return writer.length;
}
