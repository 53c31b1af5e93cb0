/* SPDX-License-Identifier: MIT
   libweir._weir: weir's limiters, tables and decisions as Python types, within the stable ABI of Python 3.10.

   A call keeps the GIL, for a decision takes less time than letting it go; it is let go where a call may wait: while a
   file is opened or grown, for the locks of wide slots, and in sleep_until.  What is one line of Python over these is
   Python, in __init__.py.  There is no state but the module's, so each interpreter has its own. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "weir.h"

enum { PLANS_MAX = 4096 /* texts that a table remembers, parsed; then it begins anew */ };

struct state { /* of the module; all owned */
    PyTypeObject *decision, *plan, *limiter, *table;
    PyObject *error; /* libweir._error: (code, column, message) to an exception */
};

struct plan {
    PyObject_HEAD
    weir_plan plan;
};

struct decision {
    PyObject_HEAD
    weir_decision decision;
    struct plan *plan;  /* owned; under which it was decided */
    PyObject *owner;    /* owned; the limiter or table that did, asked for the reset: most callers never ask */
    bool is_of_table;
};

struct limiter {
    PyObject_HEAD
    struct state *state; /* lives as long as the type */
    weir_limiter *limiter;
    weir_use use;
    struct plan *plan; /* owned; the one in force */
};

struct table {
    PyObject_HEAD
    struct state *state;
    weir_table *table;
    PyObject *plans; /* owned; {str or Plan: Plan}, those that fit */
    bool may_wait;   /* for another process's lock */
};

/* ---- arguments and errors ---- */

static PyObject *raise_weir(const struct state *state, const weir_error *error)
{
    PyObject *exception =
        PyObject_CallFunction(state->error, "iis", error->code, error->column, error->message);
    if (exception == NULL) return NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return NULL;
}

/* The module's state, from one of its types or a class that Python derived from it. */
static struct state *state_of(PyTypeObject *type)
{
    for (; type != NULL; type = PyType_GetSlot(type, Py_tp_base)) {
        struct state *state = PyType_GetModuleState(type);
        if (state != NULL) return state;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_TypeError, "not a type of libweir");
    return NULL;
}

static bool to_u64(PyObject *number, uint64_t *out)
{
    *out = PyLong_AsUnsignedLongLong(number);
    return *out != UINT64_MAX || !PyErr_Occurred();
}

/* Seconds to ns, rounded down; None is for ever. */
static bool to_ns(PyObject *seconds, uint64_t *ns)
{
    *ns = WEIR_FOREVER;
    if (seconds == NULL || seconds == Py_None) return true;
    const double value = PyFloat_AsDouble(seconds);
    if (value == -1 && PyErr_Occurred()) return false;
    if (isnan(value)) return PyErr_SetString(PyExc_ValueError, "a time in seconds, not NaN"), false;
    if (value * 1e9 < 0x1p64) *ns = value > 0 ? (uint64_t)(value * 1e9) : 0;
    return true;
}

/* delay_max in seconds, or delay_max_ns, or neither: for ever. */
static bool to_longest(PyObject *seconds, PyObject *ns, uint64_t *longest_ns)
{
    return ns == NULL || ns == Py_None ? to_ns(seconds, longest_ns) : to_u64(ns, longest_ns);
}

static bool to_choice(const char *what, const char *name, const char *const *names, int *choice)
{
    for (*choice = 0; names[*choice] != NULL; ++*choice)
        if (strcmp(name, names[*choice]) == 0) return true;
    PyErr_Format(PyExc_ValueError, "%s is not \"%s\"; for example \"%s\"", what, name, names[0]);
    return false;
}

static const char *const use_names[] = {"admit", "pace", NULL};
static const char *const clock_names[] = {"system", "coarse", "ticker", "manual", "tsc", NULL};
static const char *const carry_names[] = {"keep", "scale", "reset", NULL};
static const char *const sharing_names[] = {"join_or_create", "join", "create", "private", NULL};
static const char *const full_names[] = {"inherit", "evict", "deny", "allow", NULL};

/* Arguments of a call by place or name into out, which is zeroed; the first `needed` must be there. */
static bool get(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, const char *const *names, int needed,
                PyObject **out)
{
    const Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_Size(kwnames);
    int most = 0;
    while (names[most] != NULL) most++;
    if (count > most) return PyErr_Format(PyExc_TypeError, "at most %d arguments, not %zd", most, count), false;
    for (Py_ssize_t i = 0; i < count; i++) out[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        int place = 0;
        PyObject *name = PyTuple_GetItem(kwnames, i);
        while (names[place] != NULL && PyUnicode_CompareWithASCIIString(name, names[place]) != 0) place++;
        if (names[place] == NULL || out[place] != NULL)
            return PyErr_Format(PyExc_TypeError, "unexpected or repeated argument %R", name), false;
        out[place] = args[count + i];
    }
    for (int i = 0; i < needed; i++)
        if (out[i] == NULL) return PyErr_Format(PyExc_TypeError, "missing argument '%s'", names[i]), false;
    return true;
}

/* ---- Plan ---- */

static struct plan *parse(const struct state *state, const char *text, weir_use use)
{
    struct plan *plan = PyObject_New(struct plan, state->plan);
    weir_error error;
    if (plan == NULL || weir_plan_parse(&plan->plan, text, use, &error) == 0) return plan;
    Py_DECREF(plan);
    raise_weir(state, &error);
    return NULL;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"limits", "use", NULL};
    const char *text, *use = "admit";
    int which;
    const struct state *state = state_of(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, kwargs, "s|s", names, &text, &use)) return NULL;
    if (!to_choice("use", use, use_names, &which)) return NULL;
    return (PyObject *)parse(state, text, (weir_use)which);
}

static void plain_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *written(size_t (*write)(const weir_plan *, char *, size_t), const weir_plan *plan)
{
    const size_t size = write(plan, NULL, 0) + 1;
    char *text = PyMem_Malloc(size);
    if (text == NULL) return PyErr_NoMemory();
    write(plan, text, size);
    PyObject *result = PyUnicode_FromString(text);
    PyMem_Free(text);
    return result;
}

static PyObject *plan_text(PyObject *self, void *unused)
{
    (void)unused;
    return written(weir_plan_text, &((struct plan *)self)->plan);
}

static PyObject *plan_explain(PyObject *self, PyObject *unused)
{
    (void)unused;
    return written(weir_plan_explain, &((struct plan *)self)->plan);
}

static PyObject *plan_units(PyObject *self, void *unused)
{
    (void)unused;
    char unit[WEIR_UNIT_SIZE];
    const weir_plan *plan = &((struct plan *)self)->plan;
    PyObject *units = PyTuple_New(weir_plan_limits(plan));
    for (int i = 0; units != NULL && weir_plan_unit(plan, i, unit); i++) {
        PyObject *name = PyUnicode_FromString(unit);
        if (name == NULL || PyTuple_SetItem(units, i, name) != 0) Py_CLEAR(units);
    }
    return units;
}

static PyMethodDef plan_methods[] = {
    {"explain", plan_explain, METH_NOARGS, "What this limit lets through, as `weir explain` prints it."}, {0}};
static PyGetSetDef plan_fields[] = {
    {"text", plan_text, NULL, "The limit with all defaults written out.", NULL},
    {"units", plan_units, NULL, "The unit of each of its limits.", NULL},
    {0}};
static PyType_Slot plan_slots[] = {{Py_tp_doc, "Plan(limits, use='admit'): a limit's text, parsed once."},
                                   {Py_tp_new, plan_new},
                                   {Py_tp_dealloc, plain_dealloc},
                                   {Py_tp_methods, plan_methods},
                                   {Py_tp_getset, plan_fields},
                                   {0}};
static PyType_Spec plan_spec = {"libweir.Plan", sizeof(struct plan), 0, Py_TPFLAGS_DEFAULT, plan_slots};

/* ---- Decision ---- */

static PyObject *decided(const struct state *state, PyObject *owner, struct plan *plan, weir_decision decision)
{
    struct decision *self = PyObject_New(struct decision, state->decision);
    if (self == NULL) return NULL;
    self->decision = decision;
    self->plan = plan;
    self->owner = owner;
    self->is_of_table = false;
    Py_INCREF(plan);
    Py_INCREF(owner);
    return (PyObject *)self;
}

static void decision_dealloc(PyObject *self)
{
    Py_DECREF(((struct decision *)self)->plan);
    Py_DECREF(((struct decision *)self)->owner);
    plain_dealloc(self);
}

static uint64_t delay_ns(const struct decision *self)
{
    return self->decision.verdict == WEIR_ALLOW ? self->decision.delay_ns : 0;
}

static uint64_t retry_ns(const struct decision *self)
{
    if (self->decision.verdict == WEIR_ALLOW) return 0;
    return self->decision.verdict == WEIR_DENY ? self->decision.retry_ns : WEIR_FOREVER;
}

static uint64_t reset_ns(const struct decision *self)
{
    const struct table *table = (const struct table *)self->owner;
    if (self->is_of_table) return weir_table_full_ns(table->table, &self->plan->plan, &self->decision);
    return weir_full_ns(((const struct limiter *)self->owner)->limiter, &self->decision);
}

static uint64_t start_ns(const struct decision *self)
{
    return self->decision.verdict == WEIR_ALLOW ? self->decision.start.ns : 0;
}

static uint64_t due_ns(const struct decision *self)
{
    return self->decision.verdict == WEIR_ALLOW && self->decision.due.ns != 0 ? self->decision.due.ns : start_ns(self);
}

static uint64_t remaining(const struct decision *self)
{
    return self->decision.remaining;
}

static uint64_t charged(const struct decision *self)
{
    return self->decision.charged;
}

static uint64_t limit(const struct decision *self)
{
    return self->decision.limit;
}

/* A field's closure says how it is read. */
struct reader {
    uint64_t (*read)(const struct decision *);
};
static struct reader read_delay = {delay_ns}, read_retry = {retry_ns}, read_reset = {reset_ns},
                     read_start = {start_ns}, read_due = {due_ns}, read_remaining = {remaining},
                     read_charged = {charged}, read_limit = {limit};

static PyObject *get_whole(PyObject *self, void *reader)
{
    return PyLong_FromUnsignedLongLong(((struct reader *)reader)->read((struct decision *)self));
}

static PyObject *get_seconds(PyObject *self, void *reader)
{
    const uint64_t ns = ((struct reader *)reader)->read((struct decision *)self);
    return PyFloat_FromDouble(ns == WEIR_FOREVER ? INFINITY : (double)ns / 1e9);
}

static PyObject *get_allowed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(weir_allowed(((struct decision *)self)->decision));
}

static PyObject *get_verdict(PyObject *self, void *unused)
{
    static const char *const names[] = {"none", "allow", "deny", "never", "stopped"};
    const uint32_t verdict = ((struct decision *)self)->decision.verdict;
    (void)unused;
    return PyUnicode_FromString(names[verdict <= WEIR_STOPPED ? verdict : 0]);
}

static PyObject *get_plan(PyObject *self, void *unused)
{
    PyObject *plan = (PyObject *)((struct decision *)self)->plan;
    (void)unused;
    Py_INCREF(plan);
    return plan;
}

static int decision_bool(PyObject *self)
{
    return weir_allowed(((struct decision *)self)->decision);
}

static PyObject *decision_repr(PyObject *self)
{
    char text[160], more[64] = "";
    const struct decision *decision = (struct decision *)self;
    const weir_decision *inside = &decision->decision;
    if (inside->verdict == WEIR_ALLOW && inside->delay_ns != 0)
        snprintf(more, sizeof more, " delay=%.9g", (double)inside->delay_ns / 1e9);
    if (inside->verdict == WEIR_DENY)
        snprintf(more, sizeof more, " retry=%.9g", (double)retry_ns(decision) / 1e9);
    PyObject *verdict = get_verdict(self, NULL);
    if (verdict == NULL) return NULL;
    snprintf(text, sizeof text, "%s remaining=%llu>", more, (unsigned long long)inside->remaining);
    PyObject *repr = PyUnicode_FromFormat("<Decision %U%s", verdict, text);
    Py_DECREF(verdict);
    return repr;
}

static PyGetSetDef decision_fields[] = {
    {"allowed", get_allowed, NULL, "Whether the operation may start; at once, or after `delay` seconds.", NULL},
    {"verdict", get_verdict, NULL, "'allow', 'deny' (not now), 'never' (this cost can never pass) or 'stopped'.", NULL},
    {"retry", get_seconds, NULL, "Refused: seconds until this call would pass; inf: never.", &read_retry},
    {"retry_ns", get_whole, NULL, "The same in ns; 2**64 - 1: never.", &read_retry},
    {"delay", get_seconds, NULL, "Allowed: seconds from the call to its start.", &read_delay},
    {"delay_ns", get_whole, NULL, "The same in ns.", &read_delay},
    {"start_ns", get_whole, NULL, "Allowed: when it may start, in ns of time.monotonic_ns(); else 0.", &read_start},
    {"due_ns", get_whole, NULL, "When it was due by the rate alone, where the limit has a schedule; else start_ns.",
     &read_due},
    {"remaining", get_whole, NULL, "Further permits available now.", &read_remaining},
    {"charged", get_whole, NULL, "Permits taken from the first limit; 0 once settled.", &read_charged},
    {"reset", get_seconds, NULL, "Seconds until all permits are back.", &read_reset},
    {"reset_ns", get_whole, NULL, "The same in ns.", &read_reset},
    {"limit", get_whole, NULL, "The index of the limit that refused, set the start, or has the least remaining.",
     &read_limit},
    {"plan", get_plan, NULL, "The plan under which it was decided.", NULL},
    {0}};
static PyType_Slot decision_slots[] = {{Py_tp_doc, "May the operation start now, and if not, when?  True if allowed."},
                                       {Py_tp_dealloc, decision_dealloc},
                                       {Py_tp_getset, decision_fields},
                                       {Py_nb_bool, decision_bool},
                                       {Py_tp_repr, decision_repr},
                                       {0}};
static PyType_Spec decision_spec = {"libweir.Decision", sizeof(struct decision), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, decision_slots};

static weir_decision *to_decision(const struct state *state, PyObject *object)
{
    if (Py_TYPE(object) == state->decision) return &((struct decision *)object)->decision;
    PyErr_SetString(PyExc_TypeError, "expected a Decision");
    return NULL;
}

/* ---- Limiter ---- */

static PyObject *limiter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"limits", "use", "clock", NULL};
    const char *text, *use = "admit", *clock = "system";
    int which_use, which_clock;
    struct state *state = state_of(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, kwargs, "s|ss", names, &text, &use, &clock)) return NULL;
    if (!to_choice("use", use, use_names, &which_use)) return NULL;
    if (!to_choice("clock", clock, clock_names, &which_clock)) return NULL;
    struct limiter *self = (struct limiter *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    weir_options options = WEIR_OPTIONS;
    weir_error error;
    options.use = self->use = (weir_use)which_use;
    options.clock = (weir_clock)which_clock;
    self->state = state;
    self->plan = parse(state, text, self->use);
    const bool opened = self->plan != NULL && weir_open(&self->limiter, text, &options, &error) == 0;
    if (!opened && self->plan != NULL) raise_weir(state, &error);
    if (!opened) Py_CLEAR(self);
    return (PyObject *)self;
}

static void limiter_dealloc(PyObject *object)
{
    struct limiter *self = (struct limiter *)object;
    PyTypeObject *type = Py_TYPE(object);
    weir_close(self->limiter);
    Py_XDECREF(self->plan);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *of_limiter(struct limiter *self, weir_decision decision)
{
    return decided(self->state, (PyObject *)self, self->plan, decision);
}

#define FAST PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *kwnames

static PyObject *limiter_take(FAST)
{
    static const char *const names[] = {"cost", NULL};
    PyObject *given[1] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost = 1;
    if (count + (kwnames != NULL) > 0 &&
        (!get(args, count, kwnames, names, 1, given) || !to_u64(given[0], &cost))) return NULL;
    return of_limiter(self, weir_take(self->limiter, cost));
}

static PyObject *limiter_take_some(FAST)
{
    static const char *const names[] = {"cost_max", NULL};
    PyObject *given[1] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost;
    if (!get(args, count, kwnames, names, 1, given) || !to_u64(given[0], &cost)) return NULL;
    return of_limiter(self, weir_take_some(self->limiter, cost));
}

static PyObject *limiter_take_at(FAST)
{
    static const char *const names[] = {"now_ns", "cost", NULL};
    PyObject *given[2] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost = 1, now_ns;
    if (!get(args, count, kwnames, names, 1, given) || !to_u64(given[0], &now_ns)) return NULL;
    if (given[1] != NULL && !to_u64(given[1], &cost)) return NULL;
    return of_limiter(self, weir_take_at(self->limiter, (weir_instant){now_ns}, cost));
}

static PyObject *limiter_reserve(FAST)
{
    static const char *const names[] = {"cost", "delay_max", "delay_max_ns", NULL};
    PyObject *given[3] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost = 1, longest_ns;
    if (!get(args, count, kwnames, names, 0, given) || !to_longest(given[1], given[2], &longest_ns)) return NULL;
    if (given[0] != NULL && !to_u64(given[0], &cost)) return NULL;
    return of_limiter(self, weir_reserve(self->limiter, cost, longest_ns));
}

static PyObject *limiter_peek(FAST)
{
    static const char *const names[] = {"cost", NULL};
    PyObject *given[1] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost = 1;
    if (!get(args, count, kwnames, names, 0, given) || (given[0] != NULL && !to_u64(given[0], &cost))) return NULL;
    return of_limiter(self, weir_peek(self->limiter, cost));
}

static PyObject *limiter_charge(FAST)
{
    static const char *const names[] = {"cost", NULL};
    PyObject *given[1] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost;
    if (!get(args, count, kwnames, names, 1, given) || !to_u64(given[0], &cost)) return NULL;
    return of_limiter(self, weir_charge(self->limiter, cost));
}

static PyObject *limiter_settle(FAST)
{
    static const char *const names[] = {"decision", "actual", NULL};
    PyObject *given[2] = {NULL};
    struct limiter *self = (struct limiter *)object;
    weir_decision *decision;
    uint64_t actual;
    if (!get(args, count, kwnames, names, 2, given) || !to_u64(given[1], &actual)) return NULL;
    if ((decision = to_decision(self->state, given[0])) == NULL) return NULL;
    weir_settle(self->limiter, decision, actual);
    Py_RETURN_NONE;
}

static PyObject *limiter_cancel(PyObject *object, PyObject *given)
{
    struct limiter *self = (struct limiter *)object;
    weir_decision *decision = to_decision(self->state, given);
    if (decision == NULL) return NULL;
    weir_cancel(self->limiter, decision);
    Py_RETURN_NONE;
}

static PyObject *limiter_set_limit(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"limits", "carry", NULL};
    struct limiter *self = (struct limiter *)object;
    const char *text, *carry = "keep";
    int which;
    weir_error error;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|s", names, &text, &carry)) return NULL;
    if (!to_choice("carry", carry, carry_names, &which)) return NULL;
    const bool pause = strcmp(text, "pause") == 0;
    struct plan *plan = pause ? NULL : parse(self->state, text, self->use), *old = self->plan;
    if (!pause && plan == NULL) return NULL;
    if (weir_set_limit(self->limiter, text, (weir_carry)which, &error) != 0) {
        Py_XDECREF(plan);
        return raise_weir(self->state, &error);
    }
    if (pause) Py_RETURN_NONE;
    self->plan = plan;
    Py_DECREF(old);
    Py_RETURN_NONE;
}

static PyObject *limiter_stop(PyObject *object, PyObject *unused)
{
    (void)unused;
    weir_stop(((struct limiter *)object)->limiter);
    Py_RETURN_NONE;
}

static PyObject *limiter_set_time(PyObject *object, PyObject *given)
{
    uint64_t now_ns;
    if (!to_u64(given, &now_ns)) return NULL;
    weir_manual_set(((struct limiter *)object)->limiter, (weir_instant){now_ns});
    Py_RETURN_NONE;
}

/* A row for each field of statistics. */
struct counter {
    const char *name;
    size_t offset;
};

static PyObject *to_dict(const void *stats, const struct counter *counters)
{
    PyObject *dict = PyDict_New();
    for (; dict != NULL && counters->name != NULL; counters++) {
        uint64_t number;
        memcpy(&number, (const char *)stats + counters->offset, sizeof number);
        PyObject *value = PyLong_FromUnsignedLongLong(number);
        if (value == NULL || PyDict_SetItemString(dict, counters->name, value) != 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *limiter_stats(PyObject *object, PyObject *unused)
{
#define ROW(field) {#field, offsetof(weir_stats, field)}
    static const struct counter counters[] = {
        ROW(calls),  ROW(granted),      ROW(denied),  ROW(delayed),  ROW(waiting_ns), ROW(late_now_ns), ROW(late_max_ns),
        ROW(allocated_ns), ROW(idle_ns), ROW(begun_ns), ROW(elapsed_ns), ROW(due), ROW(missed), ROW(backlog), ROW(ahead),
        {NULL, 0}};
#undef ROW
    weir_stats stats;
    (void)unused;
    weir_read_stats(((struct limiter *)object)->limiter, &stats, sizeof stats);
    return to_dict(&stats, counters);
}

static PyObject *limiter_plan(PyObject *object, void *unused)
{
    PyObject *plan = (PyObject *)((struct limiter *)object)->plan;
    (void)unused;
    Py_INCREF(plan);
    return plan;
}

#define FASTCALL(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS
static PyMethodDef limiter_methods[] = {
    {"take", FASTCALL(limiter_take), "take(cost=1): take the permits if they are available now, and else none."},
    {"take_some", FASTCALL(limiter_take_some), "take_some(cost_max): as many as are available; charged says how many."},
    {"take_at", FASTCALL(limiter_take_at), "take_at(now_ns, cost=1): take, at a time of time.monotonic_ns()."},
    {"reserve", FASTCALL(limiter_reserve),
     "reserve(cost=1, delay_max=None, delay_max_ns=None): take permits that become available within delay_max\n"
     "seconds; sleep for the decision's delay yourself."},
    {"peek", FASTCALL(limiter_peek), "peek(cost=1): what take would return; takes nothing."},
    {"charge", FASTCALL(limiter_charge), "charge(cost): take in any case; missing permits become a debt."},
    {"settle", FASTCALL(limiter_settle), "settle(decision, actual): charge or refund the difference; once."},
    {"cancel", limiter_cancel, METH_O, "cancel(decision): the operation never ran; settle to 0."},
    {"set_limit", (PyCFunction)(void (*)(void))limiter_set_limit, METH_VARARGS | METH_KEYWORDS,
     "set_limit(limits, carry='keep'): change the limit while in use."},
    {"stop", limiter_stop, METH_NOARGS, "All later calls return 'stopped'."},
    {"set_time", limiter_set_time, METH_O, "set_time(now_ns): of a limiter with clock='manual'."},
    {"stats", limiter_stats, METH_NOARGS, "Sums since the limiter was opened."},
    {0}};
static PyGetSetDef limiter_fields[] = {{"plan", limiter_plan, NULL, "The limit in force.", NULL}, {0}};
static PyType_Slot limiter_slots[] = {{Py_tp_new, limiter_new},
                                      {Py_tp_dealloc, limiter_dealloc},
                                      {Py_tp_methods, limiter_methods},
                                      {Py_tp_getset, limiter_fields},
                                      {0}};
static PyType_Spec limiter_spec = {"libweir._weir.Limiter", sizeof(struct limiter), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, limiter_slots};

/* ---- Table ---- */

/* A limit's text or Plan as a plan that this table can enforce; borrowed. */
static struct plan *plan_for(struct table *self, PyObject *given)
{
    struct plan *plan = (struct plan *)PyDict_GetItemWithError(self->plans, given);
    weir_error error;
    if (plan != NULL || PyErr_Occurred()) return plan;
    if (Py_TYPE(given) == self->state->plan) {
        plan = (struct plan *)given;
        Py_INCREF(plan);
    } else {
        const char *text = PyUnicode_AsUTF8AndSize(given, NULL);
        plan = text == NULL ? NULL : parse(self->state, text, WEIR_ADMIT);
    }
    if (plan == NULL) return NULL;
    if (weir_table_fits(self->table, &plan->plan, &error) != 0) raise_weir(self->state, &error);
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
        PyErr_SetString(PyExc_TypeError, "a key is a str or bytes");
        return false;
    }
    key->size = (size_t)size;
    return key->bytes != NULL;
}

/* One row of options by name; absent ones keep their default. */
static bool table_options(PyObject *args, PyObject *kwargs, const struct state *state, weir_table_options *options)
{
    static char *names[] = {"path", "keys", "plan", "when_full", "sharing", "mode", "refill_max", "top", "lock_wait",
                            NULL};
    PyObject *path = Py_None, *keys = Py_None, *plan = Py_None, *refill = Py_None, *wait = Py_None;
    const char *full = "inherit", *sharing = "join_or_create";
    int which_full, which_sharing;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOO$ssIOIO", names, &path, &keys, &plan, &full, &sharing,
                                     &options->mode, &refill, &options->top, &wait)) return false;
    if (!to_choice("when_full", full, full_names, &which_full)) return false;
    if (!to_choice("sharing", sharing, sharing_names, &which_sharing)) return false;
    options->when_full = (weir_when_full)which_full;
    options->sharing = (weir_sharing)which_sharing;
    if (keys != Py_None && !to_u64(keys, &options->keys_max)) return false;
    if (refill != Py_None && !to_ns(refill, &options->refill_max_ns)) return false;
    if (wait != Py_None && !to_ns(wait, &options->lock_wait_ns)) return false;
    if (path != Py_None && (options->path = PyBytes_AsString(path)) == NULL) return false;
    if (plan == Py_None) return true;
    if (Py_TYPE(plan) != state->plan) return PyErr_SetString(PyExc_TypeError, "plan is not a Plan"), false;
    options->plan = &((struct plan *)plan)->plan;
    return true;
}

static PyObject *table_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct state *state = state_of(type);
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
    Py_BEGIN_ALLOW_THREADS
    failed = weir_table_open(&self->table, &options, &error);
    Py_END_ALLOW_THREADS
    if (failed != 0) raise_weir(state, &error);
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
enum verb { TAKE, TAKE_AT, RESERVE, PEEK, CHARGE, SETTLE, FORGET };
struct ask {
    enum verb verb;
    const weir_plan *plan;
    weir_key key;
    uint64_t cost, at_ns; /* at: the time of TAKE_AT, the longest delay of RESERVE */
    weir_decision decision;
};

static void perform(weir_table *table, struct ask *ask)
{
    switch (ask->verb) {
    case TAKE: ask->decision = weir_table_take(table, ask->plan, ask->key, ask->cost); break;
    case TAKE_AT:
        ask->decision = weir_table_take_at(table, ask->plan, ask->key, (weir_instant){ask->at_ns}, ask->cost);
        break;
    case RESERVE: ask->decision = weir_table_reserve(table, ask->plan, ask->key, ask->cost, ask->at_ns); break;
    case PEEK: ask->decision = weir_table_peek(table, ask->plan, ask->key, -1, ask->cost); break;
    case CHARGE: ask->decision = weir_table_charge(table, ask->plan, ask->key, ask->cost); break;
    case SETTLE: weir_table_settle(table, ask->plan, ask->key, &ask->decision, ask->cost); break;
    case FORGET: weir_table_forget(table, ask->plan, ask->key); break;
    }
}

static void perform_or_wait(const struct table *self, struct ask *ask)
{
    if (!self->may_wait) {
        perform(self->table, ask);
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    perform(self->table, ask);
    Py_END_ALLOW_THREADS
}

/* given: limit, key, cost, and what else the verb has. */
static PyObject *ask_table(PyObject *object, enum verb verb, PyObject *const *given)
{
    struct table *self = (struct table *)object;
    struct ask ask = {.verb = verb, .cost = 1};
    struct plan *plan = plan_for(self, given[0]);
    if (plan == NULL || !to_key(given[1], &ask.key)) return NULL;
    if (given[2] != NULL && !to_u64(given[2], &ask.cost)) return NULL;
    if (verb == RESERVE && !to_longest(given[3], given[4], &ask.at_ns)) return NULL;
    if (verb == TAKE_AT && !to_u64(given[3], &ask.at_ns)) return NULL;
    ask.plan = &plan->plan;
    Py_INCREF(plan); /* another thread may clear the plans */
    perform_or_wait(self, &ask);
    PyObject *result = decided(self->state, object, plan, ask.decision);
    if (result != NULL) ((struct decision *)result)->is_of_table = true;
    Py_DECREF(plan);
    return result;
}

static const char *const ask_names[] = {"limit", "key", "cost", NULL};

static PyObject *table_take(FAST)
{
    PyObject *given[4] = {NULL};
    if (!get(args, count, kwnames, ask_names, 2, given)) return NULL;
    return ask_table(object, TAKE, given);
}

static PyObject *table_peek(FAST)
{
    PyObject *given[4] = {NULL};
    if (!get(args, count, kwnames, ask_names, 2, given)) return NULL;
    return ask_table(object, PEEK, given);
}

static PyObject *table_charge(FAST)
{
    PyObject *given[4] = {NULL};
    if (!get(args, count, kwnames, ask_names, 3, given)) return NULL;
    return ask_table(object, CHARGE, given);
}

static PyObject *table_reserve(FAST)
{
    static const char *const names[] = {"limit", "key", "cost", "delay_max", "delay_max_ns", NULL};
    PyObject *given[5] = {NULL};
    if (!get(args, count, kwnames, names, 2, given)) return NULL;
    return ask_table(object, RESERVE, given);
}

static PyObject *table_take_at(FAST)
{
    static const char *const names[] = {"limit", "key", "now_ns", "cost", NULL};
    PyObject *given[4] = {NULL};
    if (!get(args, count, kwnames, names, 3, given)) return NULL;
    PyObject *const in_order[4] = {given[0], given[1], given[3], given[2]};
    return ask_table(object, TAKE_AT, in_order);
}

static PyObject *table_settle(FAST)
{
    static const char *const names[] = {"limit", "key", "decision", "actual", NULL};
    PyObject *given[4] = {NULL};
    struct table *self = (struct table *)object;
    struct ask ask = {.verb = SETTLE};
    if (!get(args, count, kwnames, names, 4, given) || !to_u64(given[3], &ask.cost)) return NULL;
    struct plan *plan = plan_for(self, given[0]);
    weir_decision *decision = plan == NULL ? NULL : to_decision(self->state, given[2]);
    if (decision == NULL || !to_key(given[1], &ask.key)) return NULL;
    ask.plan = &plan->plan;
    ask.decision = *decision;
    decision->charged = 0; /* no other thread settles it meanwhile */
    Py_INCREF(plan);
    perform_or_wait(self, &ask);
    *decision = ask.decision;
    Py_DECREF(plan);
    Py_RETURN_NONE;
}

static PyObject *table_forget(FAST)
{
    static const char *const names[] = {"limit", "key", NULL};
    PyObject *given[4] = {NULL};
    if (!get(args, count, kwnames, names, 2, given)) return NULL;
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
    if (!to_u64(given, &keys)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    failed = weir_table_grow(self->table, keys, &error);
    Py_END_ALLOW_THREADS
    if (failed != 0) return raise_weir(self->state, &error);
    Py_RETURN_NONE;
}

static PyObject *table_stats(PyObject *object, PyObject *unused)
{
#define ROW(field) {#field, offsetof(weir_table_stats, field)}
    static const struct counter counters[] = {ROW(keys_live), ROW(keys_max),  ROW(bytes), ROW(granted),
                                              ROW(denied),    ROW(reclaimed), ROW(full),  ROW(displaced),
                                              ROW(moved),     ROW(stuck),     {NULL, 0}};
#undef ROW
    struct table *self = (struct table *)object;
    weir_table_stats stats;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    weir_table_read_stats(self->table, &stats, sizeof stats);
    Py_END_ALLOW_THREADS
    return to_dict(&stats, counters);
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
    {"take", FASTCALL(table_take), "take(limit, key, cost=1): take the permits if available now, and else none."},
    {"take_at", FASTCALL(table_take_at), "take_at(limit, key, now_ns, cost=1): take, at a time of time.monotonic_ns()."},
    {"reserve", FASTCALL(table_reserve),
     "reserve(limit, key, cost=1, delay_max=None, delay_max_ns=None): take permits that become available within\n"
     "delay_max seconds; sleep for the decision's delay yourself."},
    {"peek", FASTCALL(table_peek), "peek(limit, key, cost=1): what take would return; takes nothing."},
    {"charge", FASTCALL(table_charge), "charge(limit, key, cost): take in any case; missing permits become a debt."},
    {"settle", FASTCALL(table_settle), "settle(limit, key, decision, actual): charge or refund the difference; once."},
    {"forget", FASTCALL(table_forget), "forget(limit, key): all permits of the key are back."},
    {"grow", table_grow, METH_O, "grow(keys): make room while the table is in use."},
    {"stats", table_stats, METH_NOARGS, "Keys in use, bytes, and what passed through this handle."},
    {"top", table_top, METH_NOARGS, "The most refused keys: (key, denied at most, uncertainty of it)."},
    {0}};
static PyType_Slot table_slots[] = {
    {Py_tp_new, table_new}, {Py_tp_dealloc, table_dealloc}, {Py_tp_methods, table_methods}, {0}};
static PyType_Spec table_spec = {"libweir._weir.Table", sizeof(struct table), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, table_slots};

/* ---- the module ---- */

/* As time.sleep does, a signal's handler runs meanwhile, and what it raises ends the sleep. */
static PyObject *sleep_until(PyObject *module, PyObject *given)
{
    uint64_t ns;
    int failed;
    (void)module;
    if (!to_u64(given, &ns)) return NULL;
    const struct timespec when = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    do {
        Py_BEGIN_ALLOW_THREADS
        failed = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() != 0) return NULL;
    } while (failed == EINTR);
    Py_RETURN_NONE;
}

static PyObject *now_ns(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(weir_now().ns);
}

static PyMethodDef functions[] = {{"sleep_until", sleep_until, METH_O, "sleep_until(ns): never returns early."},
                                  {"now_ns", now_ns, METH_NOARGS, "The time in ns of CLOCK_MONOTONIC."},
                                  {0}};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    if (type != NULL && PyModule_AddType(module, type) != 0) Py_CLEAR(type);
    return type;
}

static int module_exec(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    PyObject *errors = PyImport_ImportModule("libweir._errors");
    if (errors == NULL) return -1;
    state->error = PyObject_GetAttrString(errors, "error");
    Py_DECREF(errors);
    state->plan = add_type(module, &plan_spec);
    state->decision = add_type(module, &decision_spec);
    state->limiter = add_type(module, &limiter_spec);
    state->table = add_type(module, &table_spec);
    if (state->error == NULL || !state->plan || !state->decision || !state->limiter || !state->table) return -1;
    return PyModule_AddStringConstant(module, "version", weir_version());
}

static int module_clear(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    Py_CLEAR(state->plan);
    Py_CLEAR(state->decision);
    Py_CLEAR(state->limiter);
    Py_CLEAR(state->table);
    Py_CLEAR(state->error);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    const struct state *state = PyModule_GetState(module);
    Py_VISIT(state->plan);
    Py_VISIT(state->decision);
    Py_VISIT(state->limiter);
    Py_VISIT(state->table);
    Py_VISIT(state->error);
    return 0;
}

/* Python 3.12 wants to be told that interpreters with a GIL each may share the code; 3.10 does not know the word. */
PyMODINIT_FUNC PyInit__weir(void)
{
    static PyModuleDef_Slot for_old[] = {{Py_mod_exec, module_exec}, {0, NULL}};
    static PyModuleDef_Slot for_new[] = {{Py_mod_exec, module_exec}, {3 /* multiple interpreters */, (void *)2}, {0, NULL}};
    static PyModuleDef old = {PyModuleDef_HEAD_INIT, "_weir", NULL, sizeof(struct state), functions,
                              for_old,               module_traverse, module_clear, module_free};
    static PyModuleDef new = {PyModuleDef_HEAD_INIT, "_weir", NULL, sizeof(struct state), functions,
                              for_new,               module_traverse, module_clear, module_free};
    int major = 0, minor = 0;
    sscanf(Py_GetVersion(), "%d.%d", &major, &minor);
    return PyModuleDef_Init(major > 3 || minor >= 12 ? &new : &old);
}
