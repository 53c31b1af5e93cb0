/* SPDX-License-Identifier: MIT
   Plan: a limit's text, parsed.  Decision: what a take returns; it asks its owner for the reset when it is asked. */
#include "binding.h"

#include <math.h>
#include <stdio.h>

static const char *const use_names[] = {"admit", "pace", NULL};

struct plan *binding_parse(const struct state *state, const char *text, weir_use use)
{
    struct plan *plan = PyObject_New(struct plan, state->plan);
    weir_error error;
    if (plan == NULL) return NULL;
    if (weir_plan_parse(&plan->plan, text, use, &error) != 0) {
        Py_DECREF(plan);
        binding_raise(state, &error);
        return NULL;
    }
    char first[WEIR_UNIT_SIZE], unit[WEIR_UNIT_SIZE];
    weir_plan_unit(&plan->plan, 0, first);
    plan->has_units = false;
    for (int i = 1; weir_plan_unit(&plan->plan, i, unit); i++) plan->has_units |= strcmp(first, unit) != 0;
    return plan;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"limits", "use", NULL};
    const char *text, *use = "admit";
    int which;
    const struct state *state = binding_state(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, kwargs, "s|s", names, &text, &use)) return NULL;
    if (!binding_choice("use", use, use_names, &which)) return NULL;
    return (PyObject *)binding_parse(state, text, (weir_use)which);
}

void binding_dealloc(PyObject *self)
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

static PyObject *plan_lease(PyObject *self, void *unused)
{
    (void)unused;
    return PyFloat_FromDouble((double)weir_plan_lease_ns(&((struct plan *)self)->plan) / 1e9);
}

static PyObject *plan_repr(PyObject *self)
{
    PyObject *text = plan_text(self, NULL), *repr = text == NULL ? NULL : PyUnicode_FromFormat("<Plan %U>", text);
    Py_XDECREF(text);
    return repr;
}

static PyMethodDef plan_methods[] = {
    {"explain", plan_explain, METH_NOARGS, "What this limit lets through, as `weir explain` prints it."}, {0}};
static PyGetSetDef plan_fields[] = {{"text", plan_text, NULL, "The limit with all defaults written out.", NULL},
                                    {"units", plan_units, NULL, "The unit of each of its limits.", NULL},
                                    {"lease", plan_lease, NULL,
                                     "For how many seconds its concurrent limit holds what is not renewed; 0: it has "
                                     "none.",
                                     NULL},
                                    {0}};
static PyType_Slot plan_slots[] = {{Py_tp_doc, "Plan(limits, use='admit'): a limit's text, parsed once."},
                                   {Py_tp_new, plan_new},
                                   {Py_tp_dealloc, binding_dealloc},
                                   {Py_tp_methods, plan_methods},
                                   {Py_tp_getset, plan_fields},
                                   {Py_tp_repr, plan_repr},
                                   {0}};
PyType_Spec plan_spec = {"libweir.Plan", sizeof(struct plan), 0, Py_TPFLAGS_DEFAULT, plan_slots};

PyObject *binding_decided(const struct state *state, PyObject *owner, struct plan *plan, weir_decision decision,
                          const struct each *each)
{
    struct each *copy = each == NULL ? NULL : PyMem_Malloc(sizeof *copy);
    if (copy == NULL && each != NULL) return PyErr_NoMemory();
    struct decision *self = PyObject_New(struct decision, state->decision);
    if (self == NULL) return PyMem_Free(copy), NULL;
    if (copy != NULL) *copy = *each;
    self->each = copy;
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
    PyMem_Free(((struct decision *)self)->each);
    binding_dealloc(self);
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

/* Of the slots that it holds; 0: none. */
static uint64_t id(const struct decision *self)
{
    const bool holds = self->decision.verdict == WEIR_ALLOW && weir_plan_lease_ns(&self->plan->plan) != 0;
    return holds ? self->decision.end : 0;
}

/* A field's closure says how it is read. */
struct reader {
    uint64_t (*read)(const struct decision *);
};
static struct reader read_delay = {delay_ns}, read_retry = {retry_ns}, read_reset = {reset_ns}, read_start = {start_ns},
                     read_due = {due_ns}, read_remaining = {remaining}, read_charged = {charged}, read_limit = {limit},
                     read_id = {id};

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

static PyObject *get_borrowed(PyObject *self, void *unused)
{
    const weir_decision *decision = &((struct decision *)self)->decision;
    (void)unused;
    return PyBool_FromLong(weir_allowed(*decision) && weir_borrowed(decision));
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

/* Lines "NAME: VALUE\r\n" as {NAME: VALUE}. */
static PyObject *to_headers(char *lines)
{
    PyObject *headers = PyDict_New();
    for (char *end; headers != NULL && (end = strstr(lines, "\r\n")) != NULL; lines = end + 2) {
        char *colon = strstr(lines, ": ");
        PyObject *value = PyUnicode_FromStringAndSize(colon + 2, end - colon - 2);
        *colon = '\0';
        if (value == NULL || PyDict_SetItemString(headers, lines, value) != 0) Py_CLEAR(headers);
        Py_XDECREF(value);
    }
    return headers;
}

PyObject *decision_headers(PyObject *module, PyObject *object)
{
    enum { ALWAYS_ENOUGH = 512 };
    char lines[ALWAYS_ENOUGH];
    const struct state *state = PyModule_GetState(module);
    if (Py_TYPE(object) != state->decision) return PyErr_SetString(PyExc_TypeError, "expected a Decision"), NULL;
    const struct decision *self = (struct decision *)object;
    weir_plan_headers(&self->plan->plan, &self->decision, reset_ns(self), lines, sizeof lines);
    return to_headers(lines);
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
    if (inside->verdict == WEIR_DENY) snprintf(more, sizeof more, " retry=%.9g", (double)retry_ns(decision) / 1e9);
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
    {"borrowed", get_borrowed, NULL, "Of a tenant: it took, but not from its guaranteed limit.", NULL},
    {"id", get_whole, NULL, "Of the slots that it holds under a concurrent limit, to renew and release; else 0.",
     &read_id},
    {"plan", get_plan, NULL, "The plan under which it was decided.", NULL},
    {0}};
static PyType_Slot decision_slots[] = {{Py_tp_doc, "May the operation start now, and if not, when?  True if allowed."},
                                       {Py_tp_dealloc, decision_dealloc},
                                       {Py_tp_getset, decision_fields},
                                       {Py_nb_bool, decision_bool},
                                       {Py_tp_repr, decision_repr},
                                       {0}};
PyType_Spec decision_spec = {"libweir.Decision", sizeof(struct decision), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, decision_slots};

struct decision *binding_decision(const struct state *state, PyObject *object, const void *owner)
{
    struct decision *self = (struct decision *)object;
    if (Py_TYPE(object) != state->decision) PyErr_SetString(PyExc_TypeError, "decision: expected a Decision");
    else if (self->owner != owner) PyErr_SetString(PyExc_ValueError, "decision: another limiter or table has taken it");
    else return self;
    return NULL;
}

bool binding_id(const struct state *state, PyObject *given, uint64_t *out)
{
    if (Py_TYPE(given) != state->decision) return binding_u64("id", given, out);
    *out = id((struct decision *)given);
    return true;
}
