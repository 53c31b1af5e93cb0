/* SPDX-License-Identifier: MIT
   peer_log.c - what the three peers with a log have in common: raw times in the order of the calls, which are forgotten
   when the peer clears.

   May touch: the limit's rule and state.  Promises: decides nothing.  Leaves: which entries a peer clears, and when, to
   the families. */
#include "peer_log.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/decide.h"
#include "core/sliding_log.h"
#include "inside.h"

struct rule peer_log_rule(const struct limit *limit)
{
    return *inside_rule_const(&limit->plan);
}

/* Permits of all calls together, each at most what the limit holds. */
static uint64_t calls_of(const struct scene *scene, uint64_t burst)
{
    uint64_t sum = 1;
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++) {
        uint64_t n = 1;
        field_u64(json_object_array_get_idx(scene->steps, i), "n", &n);
        sum += n < burst ? n : burst;
    }
    return sum;
}

const char *peer_log_open(struct limit *limit, const char *text, const struct scene *scene)
{
    const char *reason = limit_open(limit, text, 0, 0);
    if (reason != NULL || !limit->accepted) return reason;
    struct rule *rule = inside_rule(&limit->plan);
    rule->flags = (uint8_t)((rule->flags | RULE_FOLLOWS_CLOCK) & ~STAMPS_BRIEF);
    rule->fourth = rule->burst + calls_of(scene, rule->burst);
    free(limit->state);
    limit->state_size = weir_state_size(&limit->plan);
    limit->state = calloc(1, limit->state_size);
    if (limit->state != NULL) return NULL;
    fprintf(stderr, "weir-vectors: no memory\n");
    exit(EXIT_TROUBLE);
}

weir_decision peer_log_peek(const struct limit *limit, const struct rule *rule, weir_instant now, uint64_t n)
{
    weir_decision decision;
    const struct question question = {now.ns, 0, &n, true};
    decide((struct rules){rule, 1}, limit->state, &question, NULL, &decision);
    return decision;
}

uint64_t peer_log_entries(const struct limit *limit)
{
    return sliding_log_entries(inside_rule_const(&limit->plan), limit->state);
}

uint64_t peer_log_entry_ns(const struct limit *limit, uint64_t back)
{
    return sliding_log_entry_ns(inside_rule_const(&limit->plan), limit->state, back);
}

void peer_log_forget(struct limit *limit, uint64_t now_ns, uint64_t age_ns, bool all)
{
    const struct rule *rule = inside_rule_const(&limit->plan);
    for (uint64_t back = peer_log_entries(limit); back > 0; back--) {
        const bool old = now_ns >= age_ns && sliding_log_entry_ns(rule, limit->state, back) <= now_ns - age_ns;
        if (old) sliding_log_forget(rule, limit->state, back);
        else if (!all) return;
    }
}
