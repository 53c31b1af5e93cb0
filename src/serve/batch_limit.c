/* SPDX-License-Identifier: MIT
   Which limit a request means, by name or text, and what its key is in the table.

       named   "\0NAME\0KEY", in scratch        by text   the key's own bytes, which do not begin with \0

   A name begins with a letter.  A text begins with a digit, as all of the grammar do but for "unlimited" and "none".

   Nobody reaches a named limit's state by a clever key. */
#include <stdio.h>
#include <string.h>

#include "api/error.h"
#include "plan/plan.h"
#include "serve/plans.h"

enum { SUGGEST_AMONG = 64 }; /* names that are held against a mistyped one */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool begins_with_word(struct slice text, const char *word)
{
    const struct slice start = slice_of(word);
    if (!slice_begins(text, start)) return false;
    return text.size == start.size || slice_has((struct slice){" \t;,", 4}, text.bytes[start.size]);
}

static bool is_name(struct slice name_or_text)
{
    return name_or_text.size != 0 && is_letter(name_or_text.bytes[0]) && !begins_with_word(name_or_text, "unlimited") &&
           !begins_with_word(name_or_text, "none");
}

/* Is one the other but for a letter: changed, left out, put in, or changed with its neighbour? */
static bool is_near(struct slice one, struct slice other)
{
    size_t same = 0, same_end = 0;
    const size_t shorter = one.size < other.size ? one.size : other.size;
    const size_t longer = one.size < other.size ? other.size : one.size;
    while (same < shorter && one.bytes[same] == other.bytes[same]) same++;
    while (same_end < shorter - same && one.bytes[one.size - 1 - same_end] == other.bytes[other.size - 1 - same_end])
        same_end++;
    const size_t differ = longer - same - same_end;
    if (differ <= 1) return true;
    return differ == 2 && one.size == other.size && one.bytes[same] == other.bytes[same + 1] &&
           one.bytes[same + 1] == other.bytes[same];
}

static const char *suggestion(const struct policy *policy, struct slice name)
{
    for (unsigned i = 0; policy != NULL && i < policy->limit_count && i < SUGGEST_AMONG; i++) {
        if (name.size > 1 && is_near(slice_of(policy->limit[i].name), name)) return policy->limit[i].name;
    }
    return NULL;
}

static void say_unknown(const struct policy *policy, struct slice name, weir_error *error)
{
    char shown[POLICY_NAME_MAX + 1];
    const char *near = suggestion(policy, name);
    size_t size = 0;
    for (; size < name.size && size < POLICY_NAME_MAX; size++) {
        shown[size] = name.bytes[size];
        if (shown[size] < ' ' || shown[size] > '~') shown[size] = '?';
    }
    shown[size] = '\0';
    *error = (weir_error){.code = WEIR_EINVAL};
    if (near != NULL) {
        snprintf(error->message, sizeof error->message, "there is no limit called %s; did you mean %s?", shown, near);
    } else {
        snprintf(
            error->message, sizeof error->message,
            "there is no limit called %s; define it in weir.yaml or by WEIR.LIMIT SET %s '10/s', or give a text such "
            "as 10/s",
            shown, shown);
    }
}

/* Most often it is the last one again. */
static const struct policy_limit *find_limit(struct batch *batch, struct slice name)
{
    const struct policy_limit *last = batch->last_limit;
    if (last != NULL && batch->last_size == name.size && memcmp(last->name, name.bytes, name.size) == 0) return last;
    if (batch->policy == NULL) return NULL;
    batch->last_limit = policy_find(batch->policy, name);
    batch->last_size = name.size;
    return batch->last_limit;
}

bool batch_limit(struct batch *batch, struct slice name_or_text, struct call *call, const char **code,
                 weir_error *error)
{
    call->limit = name_or_text;
    call->named = is_name(name_or_text);
    call->number = 0;
    call->policy_limit = NULL;
    *code = "BADLIMIT";
    if (!call->named && batch->access.texts != ACCESS_TEXTS_ON) {
        *code = "NOPERM";
        api_fail(error, WEIR_EINVAL, access_no_texts(&batch->access));
        return false;
    }
    if (!call->named) return plans_text(batch, name_or_text, &call->under, error);
    *code = "NOLIMIT";
    call->policy_limit = find_limit(batch, name_or_text);
    if (call->policy_limit == NULL) {
        say_unknown(batch->policy, name_or_text, error);
        return false;
    }
    const struct policy_limit *limit = call->policy_limit;
    call->under = backend_verdict(&limit->plan, limit->table, limit->shared, limit->shadow);
    call->number = limit->number;
    return true;
}

/* ---- keys ---- */

/* "\0NAME\0" in scratch, and behind it the key is to come; returns where it begins. */
static size_t begin_key(struct batch *batch, const struct call *call)
{
    const size_t begin = batch->scratch.size;
    bytes_byte(&batch->scratch, '\0');
    bytes_text(&batch->scratch, call->policy_limit->name);
    bytes_byte(&batch->scratch, '\0');
    return begin;
}

static void end_key(struct batch *batch, size_t begin, struct call *call)
{
    call->key = slice_from(bytes_slice(&batch->scratch), begin);
    call->under = policy_resolve(call->policy_limit, batch_key_plain(call));
}

static bool key_fails(struct batch *batch, size_t begin, const char *missing, char problem[200])
{
    if (batch->scratch.full) {
        snprintf(problem, 200, "the key is too long: expected at most %d bytes", POLICY_KEY_MAX);
    } else {
        const char *where = strcmp(missing, "address") == 0
                                ? "; for example 192.0.2.1: in the key, as address=, X-Real-IP"
                                : ": expected it in the key, or as a field of that name";
        snprintf(problem, 200, "the key of this limit has no %s that could be read%s", missing, where);
    }
    batch->scratch.full = false;
    batch->scratch.size = begin;
    return false;
}

struct slice batch_key_plain(const struct call *call)
{
    return call->named ? slice_from(call->key, strlen(call->policy_limit->name) + 2) : call->key;
}

static bool is_key(struct slice key, const struct call *call, char problem[200])
{
    const bool needless = call->named && call->policy_limit->common;
    if ((key.size == 0 && !needless) || key.size > POLICY_KEY_MAX) {
        snprintf(problem, 200, "the key has %zu bytes: expected 1 to %d; for example user:42", key.size,
                 POLICY_KEY_MAX);
        return false;
    }
    if (call->named || key.bytes[0] != '\0') return true;
    snprintf(problem, 200, "the key begins with a byte that is 0: those are weir's own; for example user:42");
    return false;
}

bool batch_key(struct batch *batch, struct slice key, struct call *call, char problem[200])
{
    const char *missing = NULL;
    if (!is_key(key, call, problem)) return false;
    if (!call->named) {
        call->key = key;
        return true;
    }
    const size_t begin = begin_key(batch, call);
    if (!policy_key_given(call->policy_limit, key, &batch->scratch, &missing))
        return key_fails(batch, begin, missing, problem);
    end_key(batch, begin, call);
    return true;
}

bool batch_key_of_fields(struct batch *batch, policy_field field, void *request, struct call *call, char problem[200])
{
    const char *missing = NULL;
    if (!call->named) {
        const struct slice key = field(request, "key");
        if (!is_key(key, call, problem)) return false;
        call->key = key;
        return true;
    }
    const size_t begin = begin_key(batch, call);
    if (!policy_key(call->policy_limit, field, request, &batch->scratch, &missing))
        return key_fails(batch, begin, missing, problem);
    end_key(batch, begin, call);
    return true;
}

bool batch_key_again(struct batch *batch, struct slice plain, struct call *call)
{
    char problem[200];
    if (!is_key(plain, call, problem)) return false;
    call->key = plain;
    if (!call->named) return true;
    const size_t begin = begin_key(batch, call);
    bytes_add(&batch->scratch, plain);
    if (batch->scratch.full) return key_fails(batch, begin, "key", problem);
    end_key(batch, begin, call);
    return true;
}

/* A key that is exempt, or may do all or nothing, is asked for with the costs of the limit that it is spared. */
static bool is_spared(const struct call *call)
{
    const struct plan *plan = plan_inside_const(call->under.plan);
    return call->policy_limit != NULL && plan->count == 1 && plan->limit[0].period_ns == 0;
}

bool batch_costs(const struct call *call, const struct costs *costs, uint64_t each[WEIR_LIMITS_MAX], weir_error *error)
{
    if (call->under.parent != NULL) return costs_of_tenant(costs, call->under.parent, each, error);
    return costs_each(costs, call->under.plan, is_spared(call) ? &call->policy_limit->plan : NULL, each, error);
}
