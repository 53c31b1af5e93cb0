/* SPDX-License-Identifier: MIT
   Table: a limit for each key, for all processes.  Each call becomes an ask, which is performed with the GIL or, where
   it may wait for another process's lock, without it. */
#include "binding.h"

enum {
    PLANS_MAX = 4096 /* texts that a table remembers, parsed; then it begins anew */
};

static const char *const sharing_names[] = {"join_or_create", "join", "create", "private", NULL};
static const char *const full_names[] = {"inherit", "evict", "deny", "allow", NULL};

/* A limit's text or Plan as a plan that this table can enforce; borrowed. */
static struct plan *plan_for(struct table *self, PyObject *given)
{
    struct plan *plan = (struct plan *)PyDict_GetItemWithError(self->plans, given);
    weir_error error;
    if (plan != NULL || PyErr_Occurred()) return plan;
    if (Py_TYPE(given) == self->state->plan) {
        plan = (struct plan *)given;
        Py_INCREF(plan);
    } else if (!PyUnicode_Check(given)) {
        PyErr_Format(PyExc_TypeError, "limit: expected a str such as \"10/s\" or a Plan, not %R", Py_TYPE(given));
    } else {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(given, &size);
        if (text != NULL && strlen(text) != (size_t)size) PyErr_SetString(PyExc_ValueError, "a limit has no NUL");
        else if (text != NULL) plan = binding_parse(self->state, text, WEIR_ADMIT);
    }
    if (plan == NULL) return NULL;
    if (weir_table_fits(self->table, &plan->plan, &error) != 0) binding_raise(self->state, &error);
    else {
        if (PyDict_Size(self->plans) >= PLANS_MAX) PyDict_Clear(self->plans);
        PyDict_SetItem(self->plans, given, (PyObject *)plan);
    }
    Py_DECREF(plan);
    return PyErr_Occurred() ? NULL : plan; /* which plans owns */
}

static bool to_key(PyObject *object, weir_key *key)
{
    Py_ssize_t size;
    char *bytes;
    if (PyUnicode_Check(object)) key->bytes = PyUnicode_AsUTF8AndSize(object, &size);
    else if (PyBytes_AsStringAndSize(object, &bytes, &size) == 0) key->bytes = bytes;
    else {
        PyErr_Format(PyExc_TypeError, "key: expected a str or bytes, not %R", Py_TYPE(object));
        return false;
    }
    key->size = (size_t)size;
    return key->bytes != NULL;
}

/* One row of options by name; absent ones keep their default. */
static bool table_options(PyObject *args, PyObject *kwargs, const struct state *state, weir_table_options *options)
{
    static char *names[] = {"path", "keys",       "plan", "when_full", "sharing",
                            "mode", "refill_max", "top",  "lock_wait", NULL};
    PyObject *path = Py_None, *keys = Py_None, *plan = Py_None, *refill = Py_None, *wait = Py_None;
    const char *full = "inherit", *sharing = "join_or_create";
    int which_full, which_sharing;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOO$ssIOIO", names, &path, &keys, &plan, &full, &sharing,
                                     &options->mode, &refill, &options->top, &wait))
        return false;
    if (!binding_choice("when_full", full, full_names, &which_full)) return false;
    if (!binding_choice("sharing", sharing, sharing_names, &which_sharing)) return false;
    options->when_full = (weir_when_full)which_full;
    options->sharing = (weir_sharing)which_sharing;
    if (keys != Py_None && !binding_u64("keys", keys, &options->keys_max)) return false;
    if (refill != Py_None && !binding_ns(refill, &options->refill_max_ns)) return false;
    if (wait != Py_None && !binding_ns(wait, &options->lock_wait_ns)) return false;
    char *text = NULL;
    if (path != Py_None && PyBytes_AsStringAndSize(path, &text, NULL) != 0) return false; /* with a NUL in it, too */
    options->path = text;
    if (plan == Py_None) return true;
    if (Py_TYPE(plan) != state->plan) return PyErr_SetString(PyExc_TypeError, "plan is not a Plan"), false;
    options->plan = &((struct plan *)plan)->plan;
    return true;
}

static PyObject *table_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct state *state = binding_state(type);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    int failed;
    if (state == NULL || !table_options(args, kwargs, state, &options)) return NULL;
    struct table *self = (struct table *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    self->state = state;
    self->may_wait = options.plan != NULL && options.path != NULL;
    self->plans = PyDict_New();
    if (self->plans == NULL) return Py_DECREF(self), NULL;
    Py_BEGIN_ALLOW_THREADS;
    failed = weir_table_open(&self->table, &options, &error);
    Py_END_ALLOW_THREADS;
    if (failed != 0) binding_raise(state, &error);
    if (failed != 0) Py_CLEAR(self);
    return (PyObject *)self;
}

static void table_dealloc(PyObject *object)
{
    struct table *self = (struct table *)object;
    PyTypeObject *type = Py_TYPE(object);
    weir_table_close(self->table);
    Py_XDECREF(self->plans);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* What is asked of a key. */
enum verb { TAKE, TAKE_AT, RESERVE, PEEK, CHARGE, SETTLE, FORGET, RENEW, RELEASE };
struct ask {
    enum verb verb;
    const weir_plan *plan;
    weir_key key;
    struct cost cost;
    uint64_t at_ns; /* the time of TAKE_AT, the longest delay of RESERVE, the id of RENEW and RELEASE */
    uint64_t actual[WEIR_LIMITS_MAX];
    weir_decision decision;
    bool held;
};

static void perform_by_unit(weir_table *table, struct ask *ask)
{
    static const uint64_t nothing[WEIR_LIMITS_MAX];
    struct each *each = &ask->cost.each;
    const uint64_t *first = ask->verb == CHARGE ? nothing : each->cost;
    const uint64_t longest_ns = ask->verb == RESERVE ? ask->at_ns : 0;
    if (ask->verb != SETTLE)
        ask->decision = weir_table_reserve_each(table, ask->plan, ask->key, first, each->end, longest_ns);
    if (ask->verb == CHARGE) memcpy(ask->actual, each->cost, sizeof ask->actual);
    if (ask->verb == CHARGE || ask->verb == SETTLE)
        weir_table_settle_each(table, ask->plan, ask->key, &ask->decision, first, ask->actual, each->end);
}

static void perform_by_number(weir_table *table, struct ask *ask)
{
    const uint64_t cost = ask->cost.all;
    switch (ask->verb) {
    case TAKE:
        ask->decision = weir_table_take(table, ask->plan, ask->key, cost);
        break;
    case TAKE_AT:
        ask->decision = weir_table_take_at(table, ask->plan, ask->key, (weir_instant){ask->at_ns}, cost);
        break;
    case RESERVE:
        ask->decision = weir_table_reserve(table, ask->plan, ask->key, cost, ask->at_ns);
        break;
    case PEEK:
        ask->decision = weir_table_peek(table, ask->plan, ask->key, -1, cost);
        break;
    case CHARGE:
        ask->decision = weir_table_charge(table, ask->plan, ask->key, cost);
        break;
    case SETTLE:
        weir_table_settle(table, ask->plan, ask->key, &ask->decision, ask->actual[0]);
        break;
    case FORGET:
        weir_table_forget(table, ask->plan, ask->key);
        break;
    case RENEW:
        ask->held = weir_table_renew(table, ask->plan, ask->key, ask->at_ns);
        break;
    case RELEASE:
        ask->held = weir_table_release(table, ask->plan, ask->key, ask->at_ns);
        break;
    }
}

static void perform(weir_table *table, struct ask *ask)
{
    if (ask->cost.by_unit) perform_by_unit(table, ask);
    else perform_by_number(table, ask);
}

static void perform_or_wait(const struct table *self, struct ask *ask)
{
    if (!self->may_wait) {
        perform(self->table, ask);
        return;
    }
    Py_BEGIN_ALLOW_THREADS;
    perform(self->table, ask);
    Py_END_ALLOW_THREADS;
}

static bool cost_of(enum verb verb, const struct plan *plan, PyObject *given, struct cost *cost)
{
    if (verb == PEEK || verb == FORGET) return given == NULL || binding_u64("cost", given, &cost->all);
    return verb == TAKE_AT ? binding_one_cost(plan, given, &cost->all) : binding_cost(plan, given, cost);
}

/* given: limit, key, cost, and what else the verb has. */
static PyObject *ask_table(PyObject *object, enum verb verb, PyObject *const *given)
{
    struct table *self = (struct table *)object;
    struct ask ask = {.verb = verb, .cost = {.all = 1}};
    struct plan *plan = plan_for(self, given[0]);
    if (plan == NULL || !to_key(given[1], &ask.key) || !cost_of(verb, plan, given[2], &ask.cost)) return NULL;
    if (verb == RESERVE && !binding_longest(given[3], given[4], &ask.at_ns)) return NULL;
    if (verb == TAKE_AT && !binding_u64("now_ns", given[3], &ask.at_ns)) return NULL;
    ask.plan = &plan->plan;
    Py_INCREF(plan); /* another thread may clear the plans */
    perform_or_wait(self, &ask);
    const struct each *each = ask.cost.by_unit ? &ask.cost.each : NULL;
    PyObject *result = binding_decided(self->state, object, plan, ask.decision, each);
    if (result != NULL) ((struct decision *)result)->is_of_table = true;
    Py_DECREF(plan);
    return result;
}

static const char *const ask_names[] = {"limit", "key", "cost", NULL};

static PyObject *table_take(FAST)
{
    PyObject *given[4] = {NULL};
    if (!binding_arguments(args, count, kwnames, ask_names, 2, given)) return NULL;
    return ask_table(object, TAKE, given);
}

static PyObject *table_peek(FAST)
{
    PyObject *given[4] = {NULL};
    if (!binding_arguments(args, count, kwnames, ask_names, 2, given)) return NULL;
    return ask_table(object, PEEK, given);
}

static PyObject *table_charge(FAST)
{
    PyObject *given[4] = {NULL};
    if (!binding_arguments(args, count, kwnames, ask_names, 3, given)) return NULL;
    return ask_table(object, CHARGE, given);
}

static PyObject *table_reserve(FAST)
{
    static const char *const names[] = {"limit", "key", "cost", "delay_max", "delay_max_ns", NULL};
    PyObject *given[5] = {NULL};
    if (!binding_arguments(args, count, kwnames, names, 2, given)) return NULL;
    return ask_table(object, RESERVE, given);
}

static PyObject *table_take_at(FAST)
{
    static const char *const names[] = {"limit", "key", "now_ns", "cost", NULL};
    PyObject *given[4] = {NULL};
    if (!binding_arguments(args, count, kwnames, names, 3, given)) return NULL;
    PyObject *const in_order[4] = {given[0], given[1], given[3], given[2]};
    return ask_table(object, TAKE_AT, in_order);
}

/* One of take_all's. */
static struct plan *read_ask(struct table *self, PyObject *given, weir_ask *ask)
{
    PyObject *limit, *key;
    unsigned long long cost;
    if (!PyTuple_Check(given)) return PyErr_SetString(PyExc_TypeError, "expected (limit, key, cost)"), NULL;
    if (!PyArg_ParseTuple(given, "OOK", &limit, &key, &cost)) return NULL;
    struct plan *plan = plan_for(self, limit);
    if (plan == NULL || !to_key(key, &ask->key)) return NULL;
    ask->plan = &plan->plan;
    ask->cost = cost;
    PyObject *number = PyTuple_GetItem(given, 2);
    if (!binding_one_cost(plan, number, &ask->cost)) return NULL;
    Py_INCREF(plan);
    return plan;
}

static PyObject *decided_all(PyObject *object, struct plan *const plans[], const weir_ask *asks, Py_ssize_t count)
{
    PyObject *decisions = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count && decisions != NULL; i++) {
        PyObject *one = binding_decided(((struct table *)object)->state, object, plans[i], asks[i].decision, NULL);
        if (one != NULL) ((struct decision *)one)->is_of_table = true;
        if (one == NULL || PyTuple_SetItem(decisions, i, one) != 0) Py_CLEAR(decisions);
    }
    return decisions;
}

static PyObject *table_take_all(PyObject *object, PyObject *given)
{
    struct table *self = (struct table *)object;
    struct plan *plans[WEIR_ASKS_MAX];
    weir_ask asks[WEIR_ASKS_MAX];
    PyObject *decisions = NULL;
    if (!PyTuple_Check(given) || PyTuple_Size(given) < 1 || PyTuple_Size(given) > WEIR_ASKS_MAX)
        return PyErr_Format(PyExc_TypeError, "expected a tuple of 1 to %d asks", WEIR_ASKS_MAX), NULL;
    const Py_ssize_t count = PyTuple_Size(given);
    Py_ssize_t read = 0;
    while (read < count && (plans[read] = read_ask(self, PyTuple_GetItem(given, read), &asks[read])) != NULL) read++;
    if (read == count) {
        Py_BEGIN_ALLOW_THREADS;
        weir_table_take_all(self->table, asks, (size_t)count, weir_now());
        Py_END_ALLOW_THREADS;
        decisions = decided_all(object, plans, asks, count);
    }
    while (read > 0) Py_DECREF(plans[--read]);
    return decisions;
}

static PyObject *table_settle(FAST)
{
    static const char *const names[] = {"limit", "key", "decision", "actual", NULL};
    PyObject *given[4] = {NULL};
    struct table *self = (struct table *)object;
    struct ask ask = {.verb = SETTLE};
    if (!binding_arguments(args, count, kwnames, names, 4, given)) return NULL;
    struct plan *plan = plan_for(self, given[0]);
    struct decision *decision = plan == NULL ? NULL : binding_decision(self->state, given[2], self);
    if (decision == NULL || !to_key(given[1], &ask.key) || !binding_actual(decision, given[3], ask.actual)) return NULL;
    ask.plan = &plan->plan;
    ask.decision = decision->decision;
    ask.cost.by_unit = decision->each != NULL;
    if (ask.cost.by_unit) ask.cost.each = *decision->each;
    decision->decision.charged = 0; /* no other thread settles it meanwhile */
    Py_INCREF(plan);
    perform_or_wait(self, &ask);
    decision->decision = ask.decision;
    Py_DECREF(plan);
    Py_RETURN_NONE;
}

static PyObject *hold_table(PyObject *object, enum verb verb, PyObject *const *args, Py_ssize_t count,
                            PyObject *kwnames)
{
    static const char *const names[] = {"limit", "key", "id", NULL};
    PyObject *given[3] = {NULL};
    struct table *self = (struct table *)object;
    struct ask ask = {.verb = verb};
    if (!binding_arguments(args, count, kwnames, names, 3, given)) return NULL;
    struct plan *plan = plan_for(self, given[0]);
    if (plan == NULL || !to_key(given[1], &ask.key) || !binding_id(self->state, given[2], &ask.at_ns)) return NULL;
    ask.plan = &plan->plan;
    Py_INCREF(plan);
    perform_or_wait(self, &ask);
    Py_DECREF(plan);
    return PyBool_FromLong(ask.held);
}

static PyObject *table_renew(FAST)
{
    return hold_table(object, RENEW, args, count, kwnames);
}

static PyObject *table_release(FAST)
{
    return hold_table(object, RELEASE, args, count, kwnames);
}

static PyObject *table_forget(FAST)
{
    static const char *const names[] = {"limit", "key", NULL};
    PyObject *given[4] = {NULL};
    if (!binding_arguments(args, count, kwnames, names, 2, given)) return NULL;
    PyObject *answer = ask_table(object, FORGET, given);
    if (answer == NULL) return NULL;
    Py_DECREF(answer);
    Py_RETURN_NONE;
}

static PyObject *table_grow(PyObject *object, PyObject *given)
{
    struct table *self = (struct table *)object;
    uint64_t keys;
    weir_error error;
    int failed;
    if (!binding_u64("keys", given, &keys)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    failed = weir_table_grow(self->table, keys, &error);
    Py_END_ALLOW_THREADS;
    if (failed != 0) return binding_raise(self->state, &error);
    Py_RETURN_NONE;
}

static PyObject *table_stats(PyObject *object, PyObject *unused)
{
#define ROW(field)                                                                                                     \
    {                                                                                                                  \
#field, offsetof(weir_table_stats, field)                                                                      \
    }
    static const struct counter counters[] = {ROW(keys_live), ROW(keys_max),  ROW(bytes), ROW(granted),
                                              ROW(denied),    ROW(reclaimed), ROW(full),  ROW(displaced),
                                              ROW(moved),     ROW(stuck),     {NULL, 0}};
#undef ROW
    struct table *self = (struct table *)object;
    weir_table_stats stats;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS;
    weir_table_read_stats(self->table, &stats, sizeof stats);
    Py_END_ALLOW_THREADS;
    return binding_counters(&stats, counters);
}

static PyObject *table_top(PyObject *object, PyObject *unused)
{
    enum { TOP_MAX = 256 };
    (void)unused;
    weir_top *top = PyMem_Malloc(TOP_MAX * sizeof *top);
    if (top == NULL) return PyErr_NoMemory();
    const size_t count = weir_table_read_top(((struct table *)object)->table, top, TOP_MAX);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < count && list != NULL; i++) {
        const Py_ssize_t size = top[i].key_size < WEIR_TOP_KEY_SIZE ? top[i].key_size : WEIR_TOP_KEY_SIZE;
        PyObject *row = Py_BuildValue("(y#KK)", (const char *)top[i].key, size, (unsigned long long)top[i].denied,
                                      (unsigned long long)top[i].over);
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    PyMem_Free(top);
    return list;
}

static PyMethodDef table_methods[] = {
    {"take", FASTCALL(table_take),
     "take(limit, key, cost=1): take the permits if available now, and else none.\n"
     "cost: a number, or numbers by unit: {\"tokens\": 812}."},
    {"take_at", FASTCALL(table_take_at),
     "take_at(limit, key, now_ns, cost=1): take, at a time of time.monotonic_ns()."},
    {"take_all", table_take_all, METH_O,
     "take_all(((limit, key, cost), ...)): from all of these different keys, or from none; a decision of each.\n"
     "Of tenants: from the tenant up to the parent."},
    {"reserve", FASTCALL(table_reserve),
     "reserve(limit, key, cost=1, delay_max=None, delay_max_ns=None): take permits that become available within\n"
     "delay_max seconds; sleep for the decision's delay yourself."},
    {"peek", FASTCALL(table_peek), "peek(limit, key, cost=1): what take would return; takes nothing."},
    {"charge", FASTCALL(table_charge), "charge(limit, key, cost): take in any case; missing permits become a debt."},
    {"settle", FASTCALL(table_settle), "settle(limit, key, decision, actual): charge or refund the difference; once."},
    {"renew", FASTCALL(table_renew),
     "renew(limit, key, decision or id): its slots are held for a whole lease from now; False: not any more."},
    {"release", FASTCALL(table_release),
     "release(limit, key, decision or id): ends them now; False: they are not held any more."},
    {"forget", FASTCALL(table_forget), "forget(limit, key): all permits of the key are back."},
    {"grow", table_grow, METH_O, "grow(keys): make room while the table is in use."},
    {"stats", table_stats, METH_NOARGS, "Keys in use, bytes, and what passed through this handle."},
    {"top", table_top, METH_NOARGS, "The most refused keys: (key, denied at most, uncertainty of it)."},
    {0}};
static PyType_Slot table_slots[] = {
    {Py_tp_new, table_new}, {Py_tp_dealloc, table_dealloc}, {Py_tp_methods, table_methods}, {0}};
PyType_Spec table_spec = {"libweir._weir.Table", sizeof(struct table), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          table_slots};
