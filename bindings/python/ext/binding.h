/* SPDX-License-Identifier: MIT
   libweir._weir: weir's limiters, tables and decisions as Python types, within the stable ABI of Python 3.10.

       arguments.c  what a call was given, and weir's errors as exceptions
       decision.c   Plan and Decision
       limiter.c    Limiter
       table.c      Table
       module.c     the module, and sleeping

   A call keeps the GIL, for a decision takes less time than letting it go; it is let go where a call may wait: while a
   file is opened or grown, for the locks of wide slots, and in sleep_until.  What is one line of Python over these is
   Python, in libweir/__init__.py.  There is no state but the module's, so each interpreter has its own. */
#ifndef BINDING_H
#define BINDING_H
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stddef.h>
#include <string.h>

#include "weir.h"

struct state { /* of the module; all owned */
    PyTypeObject *decision, *plan, *limiter, *table;
    PyObject *error; /* libweir._error: (code, column, message) to an exception */
};

struct plan {
    PyObject head;
    weir_plan plan;
    bool has_units; /* several: one number does not say of what */
};

/* A cost of each limit: what a call was given by unit. */
struct each {
    uint64_t cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
};

/* One number for all limits, or one for each. */
struct cost {
    bool by_unit;
    uint64_t all;
    struct each each;
};

struct decision {
    PyObject head;
    weir_decision decision;
    struct plan *plan; /* owned; under which it was decided */
    PyObject *owner;   /* owned; the limiter or table that did, asked for the reset: most callers never ask */
    struct each *each; /* owned; NULL: it cost the same number of each limit */
    bool is_of_table;
};

struct limiter {
    PyObject head;
    struct state *state; /* lives as long as the type */
    weir_limiter *limiter;
    weir_use use;
    struct plan *plan; /* owned; the one in force */
    bool paused;
};

struct table {
    PyObject head;
    struct state *state;
    weir_table *table;
    PyObject *plans; /* owned; {str or Plan: Plan}, those that fit */
    bool may_wait;   /* for another process's lock */
};

/* A call by METH_FASTCALL: cheaper than a tuple. */
#define FAST PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *kwnames
#define FASTCALL(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS

/* arguments.c.  Those that return false or NULL have set an exception. */
PyObject *binding_raise(const struct state *state, const weir_error *error);
/* The module's state, from one of its types or a class that Python derived from it. */
struct state *binding_state(PyTypeObject *type);
bool binding_u64(const char *what, PyObject *number, uint64_t *out);
/* What a call costs under this plan: a number, or numbers by unit; NULL is 1. */
bool binding_cost(const struct plan *plan, PyObject *given, struct cost *cost);
bool binding_one_cost(const struct plan *plan, PyObject *given, uint64_t *all);
/* The same of what it has cost in the end: a unit that is not named, as much as it was charged. */
bool binding_actual(const struct decision *decision, PyObject *given, uint64_t actual[WEIR_LIMITS_MAX]);
/* Seconds to ns, rounded down; None is for ever. */
bool binding_ns(PyObject *seconds, uint64_t *ns);
/* In seconds, or in ns, or neither: for ever. */
bool binding_longest(PyObject *seconds, PyObject *ns, uint64_t *longest_ns);
/* The index of name in names, which end in NULL. */
bool binding_choice(const char *what, const char *name, const char *const *names, int *choice);
/* Arguments of a call by place or name into out, which is zeroed; the first `needed` must be there. */
bool binding_arguments(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, const char *const *names, int needed,
                       PyObject **out);
/* A row for each field of statistics. */
struct counter {
    const char *name;
    size_t offset;
};

PyObject *binding_counters(const void *stats, const struct counter *counters);

/* decision.c */
struct plan *binding_parse(const struct state *state, const char *text, weir_use use);
/* each: what was given by unit, which is copied; NULL: nothing was. */
PyObject *binding_decided(const struct state *state, PyObject *owner, struct plan *plan, weir_decision decision,
                          const struct each *each);
/* The decision, if that is what object is, and owner has taken it. */
struct decision *binding_decision(const struct state *state, PyObject *object, const void *owner);
/* The slots that a Decision holds, or those of an id. */
bool binding_id(const struct state *state, PyObject *given, uint64_t *id);
PyObject *decision_headers(PyObject *module, PyObject *decision);
void binding_dealloc(PyObject *self);
extern PyType_Spec plan_spec, decision_spec;

/* limiter.c, table.c */
extern PyType_Spec limiter_spec, table_spec;

#endif
