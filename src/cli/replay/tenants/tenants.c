/* SPDX-License-Identifier: MIT
   A guarantee for each tenant of a log, and what is idle lent.

       a request of acme -> { acme's text, "acme" }, { the parent's text, parent } -> weir_table_take_all

   The table is the one that a program would use.  Whether a tenant was refused although it was within its guarantee is
   found without it: each has a state of its own of its text, where its guarantee is charged for what was not borrowed
   and its ceiling for all; where that state would have let a refused request pass, the tenant was starved. */
#include "cli/replay/tenants/tenants.h"

#include <stdlib.h>
#include <string.h>

#include "cli/common/arguments.h"
#include "core/num.h"
#include "plan/plan.h"
#include "plan/tenants/tenants.h"

enum { NAME_SHOWN_MAX = 64 };

static const char parent_key[] = "\x1f\x1f"; /* no field of a log can be these */

/* One text of a tenant. */
struct grant {
    struct slice name;
    const char *text;
    weir_plan plan;
};

struct tenants {
    weir_plan parent;
    struct grant grant[TENANTS_MAX];
    int grants, others; /* others: the grant of "*", or -1 */
    weir_table *table[TENANTS_CLOCKS];
    struct rows rows; /* of struct tenant_row */
};

struct tenant_row {
    struct tenants_counts counts;
    int grant; /* plus 1; -1: none; 0: not looked up yet */
    uint64_t state[];
};

/* ---- opening ---- */

static bool wrong(const char *typed, const char *message)
{
    trouble("--tenant-limit \"%s\": %s", typed, message);
    return false;
}

static bool has_slots(const weir_plan *plan)
{
    return decide_holder(plan_rules(plan_inside_const(plan))) >= 0;
}

static bool is_guaranteed(const weir_plan *plan)
{
    return plan_inside_const(plan)->limit[0].guaranteed;
}

static bool add_grant(struct tenants *tenants, const char *typed)
{
    struct grant *grant = &tenants->grant[tenants->grants];
    const char *equals = strchr(typed, '=');
    weir_error error;
    if (equals == NULL || equals == typed)
        return wrong(typed, "expected NAME=LIMIT; for example acme='200/s guaranteed; 500/s'");
    grant->name = slice_between(typed, equals);
    grant->text = equals + 1;
    for (int i = 0; i < tenants->grants; i++) {
        if (slice_is(tenants->grant[i].name, grant->name)) return wrong(typed, "this tenant was given before");
    }
    if (weir_plan_parse(&grant->plan, grant->text, WEIR_ADMIT, &error) != 0)
        return limit_trouble(grant->text, &error) == STATUS_DONE;
    if (has_slots(&grant->plan)) return wrong(typed, "weir replay --tenant is for rates");
    if (slice_is(grant->name, slice_of("*"))) {
        if (is_guaranteed(&grant->plan))
            return wrong(typed, "how many others there are is not known, so nothing can "
                                "be guaranteed to each; give them a ceiling");
        tenants->others = tenants->grants;
    }
    tenants->grants++;
    return true;
}

static void write_name(struct writer *writer, const void *names, size_t index)
{
    const struct tenants *tenants = names;
    const struct slice name = (int)index < tenants->grants ? tenants->grant[index].name : slice_of("\"*\"");
    write_bytes(writer, name.bytes, least(name.size, NAME_SHOWN_MAX));
}

/* With those that have no text, who only borrow. */
static bool check_all(const struct tenants *tenants)
{
    const weir_plan *plans[TENANTS_MAX + 1];
    weir_plan others;
    weir_error error = {0};
    size_t wrong_one, count = 0;
    for (; (int)count < tenants->grants; count++) plans[count] = &tenants->grant[count].plan;
    weir_plan_parse(&others, "unlimited", WEIR_ADMIT, NULL);
    if (tenants->others < 0) plans[count++] = &others;
    const struct tenants_set all = {plans, count, write_name, tenants};
    if (tenants_check(&tenants->parent, &all, &wrong_one, &error) == 0) return true;
    trouble("--tenant-limit: %s", error.message);
    return false;
}

static const weir_plan *largest_plan(const struct tenants *tenants)
{
    const weir_plan *largest = &tenants->parent;
    for (int i = 0; i < tenants->grants; i++) {
        if (weir_state_size(&tenants->grant[i].plan) > weir_state_size(largest)) largest = &tenants->grant[i].plan;
    }
    return largest;
}

/* Wide slots decide exactly as a limiter does. */
static bool open_tables(struct tenants *tenants)
{
    weir_error error = {0};
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.plan = largest_plan(tenants);
    options.sharing = WEIR_PRIVATE;
    for (int i = 0; i < TENANTS_CLOCKS; i++) {
        if (weir_table_open(&tenants->table[i], &options, &error) != 0) {
            trouble("replay: --tenant: %s", error.message);
            return false;
        }
    }
    return true;
}

struct tenants *tenants_open(const struct tenants_options *options, const char *parent)
{
    struct tenants *tenants = calloc(1, sizeof *tenants);
    weir_error error;
    if (tenants == NULL) trouble("replay: no memory");
    if (tenants == NULL) return NULL;
    tenants->others = -1;
    bool fine = weir_plan_parse(&tenants->parent, parent, WEIR_ADMIT, &error) == 0;
    if (!fine) limit_trouble(parent, &error);
    if (fine && has_slots(&tenants->parent)) fine = wrong(parent, "weir replay --tenant is for rates");
    for (int i = 0; fine && i < options->count; i++) fine = add_grant(tenants, options->typed[i]);
    fine = fine && check_all(tenants) && open_tables(tenants);
    size_t bytes = 0;
    for (int i = 0; i < tenants->grants; i++) bytes = most(bytes, weir_state_size(&tenants->grant[i].plan));
    rows_open(&tenants->rows, sizeof(struct tenant_row) + bytes);
    if (fine) return tenants;
    tenants_close(tenants);
    return NULL;
}

void tenants_close(struct tenants *tenants)
{
    if (tenants == NULL) return;
    for (int i = 0; i < TENANTS_CLOCKS; i++) weir_table_close(tenants->table[i]);
    rows_close(&tenants->rows);
    free(tenants);
}

/* ---- deciding ---- */

static const struct grant *grant_of(const struct tenants *tenants, struct tenant_row *row, struct slice key)
{
    for (int i = 0; row->grant == 0 && i < tenants->grants; i++) {
        if (slice_is(tenants->grant[i].name, key)) row->grant = i + 1;
    }
    if (row->grant == 0) row->grant = tenants->others >= 0 ? tenants->others + 1 : -1;
    return row->grant > 0 ? &tenants->grant[row->grant - 1] : NULL;
}

/* Would the tenant's text let it pass, by a state of its own?  Of what it lets pass its guarantee pays `guaranteed`. */
static bool ask_alone(const struct grant *grant, uint64_t *state, bool peek, uint64_t now_ns, uint64_t guaranteed,
                      uint64_t cost)
{
    const struct rules rules = plan_rules(plan_inside_const(&grant->plan));
    uint64_t each[WEIR_LIMITS_MAX];
    weir_decision decision = {.verdict = WEIR_DENY};
    cost_alike(each, rules.count, cost);
    each[0] = guaranteed;
    const struct question question = {.now_ns = now_ns, .cost = each, .peek = peek};
    decide(rules, state, &question, NULL, &decision);
    return weir_allowed(decision);
}

static void count(const struct grant *grant, struct tenant_row *row, const weir_decision *own, bool passes,
                  uint64_t now_ns, uint64_t cost)
{
    const bool guarantees = grant != NULL && is_guaranteed(&grant->plan);
    const bool borrowed = passes && (!guarantees || weir_borrowed(own));
    row->counts.requests++;
    row->counts.guaranteed += passes && !borrowed;
    row->counts.borrowed += borrowed;
    row->counts.refused += !passes;
    if (!guarantees) return;
    if (passes) ask_alone(grant, row->state, false, now_ns, borrowed ? 0 : cost, cost);
    else row->counts.starved += ask_alone(grant, row->state, true, now_ns, cost, cost);
}

bool tenants_take(struct tenants *tenants, int clock, uint32_t client, struct slice key, uint64_t now_ns, uint64_t cost,
                  weir_decision *decision)
{
    if (!rows_reach(&tenants->rows, client + 1)) return false;
    struct tenant_row *row = rows_at(&tenants->rows, client);
    const struct grant *grant = grant_of(tenants, row, key);
    weir_ask asks[2] = {{.plan = grant != NULL ? &grant->plan : NULL, .key = {key.bytes, key.size}, .cost = cost},
                        {.plan = &tenants->parent, .key = weir_key_text(parent_key), .cost = cost}};
    const size_t first = grant != NULL ? 0 : 1;
    const weir_instant now = {now_ns};
    const bool passes = weir_table_take_all(tenants->table[clock], &asks[first], 2 - first, now);
    if (clock == TENANTS_STAMPED) count(grant, row, &asks[0].decision, passes, now_ns, cost);
    *decision = asks[1].decision;
    if (!passes && first == 0 && weir_allowed(asks[1].decision)) *decision = asks[0].decision;
    return true;
}

struct tenants_counts tenants_counts(const struct tenants *tenants, uint32_t client)
{
    const struct tenant_row *row = rows_at(&tenants->rows, client);
    return row->counts;
}

const char *tenants_limit(const struct tenants *tenants, uint32_t client)
{
    const struct tenant_row *row = rows_at(&tenants->rows, client);
    return row->grant > 0 ? tenants->grant[row->grant - 1].text : NULL;
}

uint64_t tenants_displaced(const struct tenants *tenants)
{
    weir_table_stats stats;
    weir_table_read_stats(tenants->table[TENANTS_STAMPED], &stats, sizeof stats);
    return stats.full + stats.displaced;
}
