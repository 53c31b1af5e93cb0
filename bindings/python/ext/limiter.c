/* SPDX-License-Identifier: MIT
   Limiter: one limit, for the threads of this process. */
#include "binding.h"

static const char *const use_names[] = {"admit", "pace", NULL};
static const char *const clock_names[] = {"system", "coarse", "ticker", "manual", "tsc", NULL};
static const char *const carry_names[] = {"keep", "scale", "reset", NULL};
static const char *const measure_names[] = {"response", "service", NULL};

static PyObject *limiter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"limits", "use", "clock", NULL};
    const char *text, *use = "admit", *clock = "system";
    int which_use, which_clock;
    struct state *state = binding_state(type);
    if (state == NULL || !PyArg_ParseTupleAndKeywords(args, kwargs, "s|ss", names, &text, &use, &clock)) return NULL;
    if (!binding_choice("use", use, use_names, &which_use)) return NULL;
    if (!binding_choice("clock", clock, clock_names, &which_clock)) return NULL;
    struct limiter *self = (struct limiter *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    weir_options options = WEIR_OPTIONS;
    weir_error error;
    options.use = self->use = (weir_use)which_use;
    options.clock = (weir_clock)which_clock;
    self->state = state;
    self->plan = binding_parse(state, text, self->use);
    const bool opened = self->plan != NULL && weir_open(&self->limiter, text, &options, &error) == 0;
    if (!opened && self->plan != NULL) binding_raise(state, &error);
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

static PyObject *of_limiter(struct limiter *self, weir_decision decision, const struct cost *cost)
{
    const struct each *each = cost != NULL && cost->by_unit ? &cost->each : NULL;
    return binding_decided(self->state, (PyObject *)self, self->plan, decision, each);
}

/* The calls whose only argument is a cost; of those that need one there is no default. */
static bool only_cost(const struct limiter *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
                      bool needed, struct cost *cost)
{
    static const char *const names[] = {"cost", NULL};
    PyObject *given[1] = {NULL};
    return binding_arguments(args, count, kwnames, names, needed, given) && binding_cost(self->plan, given[0], cost);
}

static PyObject *limiter_take(FAST)
{
    struct limiter *self = (struct limiter *)object;
    struct cost cost;
    if (!only_cost(self, args, count, kwnames, false, &cost)) return NULL;
    if (!cost.by_unit) return of_limiter(self, weir_take(self->limiter, cost.all), &cost);
    return of_limiter(self, weir_take_each(self->limiter, cost.each.cost, cost.each.end), &cost);
}

static PyObject *limiter_take_some(FAST)
{
    static const char *const names[] = {"cost", NULL};
    PyObject *given[1] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost;
    if (!binding_arguments(args, count, kwnames, names, 1, given)) return NULL;
    if (!binding_one_cost(self->plan, given[0], &cost)) return NULL;
    return of_limiter(self, weir_take_some(self->limiter, cost), NULL);
}

static PyObject *limiter_peek(FAST)
{
    static const char *const names[] = {"cost", NULL};
    PyObject *given[1] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost = 1; /* of each limit: it takes nothing */
    if (!binding_arguments(args, count, kwnames, names, 0, given)) return NULL;
    if (given[0] != NULL && !binding_u64("cost", given[0], &cost)) return NULL;
    return of_limiter(self, weir_peek(self->limiter, cost), NULL);
}

/* By unit: taken for nothing, and settled. */
static PyObject *limiter_charge(FAST)
{
    static const uint64_t nothing[WEIR_LIMITS_MAX];
    struct limiter *self = (struct limiter *)object;
    struct cost cost;
    if (!only_cost(self, args, count, kwnames, true, &cost)) return NULL;
    if (!cost.by_unit) return of_limiter(self, weir_charge(self->limiter, cost.all), &cost);
    weir_decision decision = weir_take_each(self->limiter, nothing, cost.each.end);
    weir_settle_each(self->limiter, &decision, nothing, cost.each.cost, cost.each.end);
    return of_limiter(self, decision, &cost);
}

static PyObject *limiter_take_at(FAST)
{
    static const char *const names[] = {"now_ns", "cost", NULL};
    PyObject *given[2] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t cost, now_ns;
    if (!binding_arguments(args, count, kwnames, names, 1, given) || !binding_u64("now_ns", given[0], &now_ns))
        return NULL;
    if (!binding_one_cost(self->plan, given[1], &cost)) return NULL;
    return of_limiter(self, weir_take_at(self->limiter, (weir_instant){now_ns}, cost), NULL);
}

static PyObject *limiter_reserve(FAST)
{
    static const char *const names[] = {"cost", "delay_max", "delay_max_ns", NULL};
    PyObject *given[3] = {NULL};
    struct limiter *self = (struct limiter *)object;
    uint64_t longest_ns;
    struct cost cost;
    if (!binding_arguments(args, count, kwnames, names, 0, given) || !binding_longest(given[1], given[2], &longest_ns))
        return NULL;
    if (!binding_cost(self->plan, given[0], &cost)) return NULL;
    if (!cost.by_unit) return of_limiter(self, weir_reserve(self->limiter, cost.all, longest_ns), &cost);
    return of_limiter(self, weir_reserve_each(self->limiter, cost.each.cost, cost.each.end, longest_ns), &cost);
}

static PyObject *limiter_settle(FAST)
{
    static const char *const names[] = {"decision", "actual", NULL};
    PyObject *given[2] = {NULL};
    struct limiter *self = (struct limiter *)object;
    struct decision *decision;
    uint64_t actual[WEIR_LIMITS_MAX];
    if (!binding_arguments(args, count, kwnames, names, 2, given)) return NULL;
    if ((decision = binding_decision(self->state, given[0], self)) == NULL) return NULL;
    if (!binding_actual(decision, given[1], actual)) return NULL;
    const struct each *each = decision->each;
    if (each == NULL) weir_settle(self->limiter, &decision->decision, actual[0]);
    else weir_settle_each(self->limiter, &decision->decision, each->cost, actual, each->end);
    Py_RETURN_NONE;
}

static PyObject *limiter_cancel(PyObject *object, PyObject *given)
{
    static const uint64_t nothing[WEIR_LIMITS_MAX];
    struct limiter *self = (struct limiter *)object;
    struct decision *decision = binding_decision(self->state, given, self);
    if (decision == NULL) return NULL;
    const struct each *each = decision->each;
    if (each == NULL) weir_cancel(self->limiter, &decision->decision);
    else weir_settle_each(self->limiter, &decision->decision, each->cost, nothing, each->end);
    Py_RETURN_NONE;
}

static PyObject *limiter_renew(PyObject *object, PyObject *given)
{
    struct limiter *self = (struct limiter *)object;
    uint64_t id;
    return binding_id(self->state, given, &id) ? PyBool_FromLong(weir_renew(self->limiter, id)) : NULL;
}

static PyObject *limiter_release(PyObject *object, PyObject *given)
{
    struct limiter *self = (struct limiter *)object;
    uint64_t id;
    return binding_id(self->state, given, &id) ? PyBool_FromLong(weir_release(self->limiter, id)) : NULL;
}

static PyObject *limiter_set_limit(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"limits", "carry", NULL};
    struct limiter *self = (struct limiter *)object;
    const char *text, *carry = "keep";
    int which;
    weir_error error;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|s", names, &text, &carry)) return NULL;
    if (!binding_choice("carry", carry, carry_names, &which)) return NULL;
    const bool pause = strcmp(text, "pause") == 0;
    struct plan *plan = pause ? NULL : binding_parse(self->state, text, self->use), *old = self->plan;
    if (!pause && plan == NULL) return NULL;
    if (weir_set_limit(self->limiter, text, (weir_carry)which, &error) != 0) {
        Py_XDECREF(plan);
        return binding_raise(self->state, &error);
    }
    self->paused = pause;
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
    if (!binding_u64("now_ns", given, &now_ns)) return NULL;
    weir_manual_set(((struct limiter *)object)->limiter, (weir_instant){now_ns});
    Py_RETURN_NONE;
}

static PyObject *limiter_stats(PyObject *object, PyObject *unused)
{
#define ROW(field)                                                                                                     \
    {                                                                                                                  \
#field, offsetof(weir_stats, field)                                                                            \
    }
    static const struct counter counters[] = {ROW(calls),      ROW(granted),     ROW(denied),      ROW(delayed),
                                              ROW(waiting_ns), ROW(late_now_ns), ROW(late_max_ns), ROW(allocated_ns),
                                              ROW(idle_ns),    ROW(begun_ns),    ROW(elapsed_ns),  ROW(due),
                                              ROW(missed),     ROW(backlog),     ROW(ahead),       {NULL, 0}};
#undef ROW
    weir_stats stats;
    (void)unused;
    weir_read_stats(((struct limiter *)object)->limiter, &stats, sizeof stats);
    return binding_counters(&stats, counters);
}

/* ---- when operations were due, and how long they took ---- */

static PyObject *limiter_due_ns(FAST)
{
    static const char *const names[] = {"decision", "nth", NULL};
    PyObject *given[2] = {NULL};
    struct limiter *self = (struct limiter *)object;
    const struct decision *decision;
    uint64_t nth = 1;
    if (!binding_arguments(args, count, kwnames, names, 1, given)) return NULL;
    if (given[1] != NULL && !binding_u64("nth", given[1], &nth)) return NULL;
    if ((decision = binding_decision(self->state, given[0], self)) == NULL) return NULL;
    return PyLong_FromUnsignedLongLong(weir_due(self->limiter, &decision->decision, nth).ns);
}

static PyObject *limiter_done(PyObject *object, PyObject *given)
{
    struct limiter *self = (struct limiter *)object;
    const struct decision *decision = binding_decision(self->state, given, self);
    if (decision == NULL) return NULL;
    weir_done(self->limiter, &decision->decision);
    Py_RETURN_NONE;
}

static PyObject *limiter_done_at(FAST)
{
    static const char *const names[] = {"due_ns", "start_ns", "now_ns", NULL};
    PyObject *given[3] = {NULL};
    uint64_t ns[3];
    if (!binding_arguments(args, count, kwnames, names, 3, given)) return NULL;
    for (int i = 0; i < 3; i++)
        if (!binding_u64(names[i], given[i], &ns[i])) return NULL;
    weir_done_at(((struct limiter *)object)->limiter, (weir_instant){ns[0]}, (weir_instant){ns[1]},
                 (weir_instant){ns[2]});
    Py_RETURN_NONE;
}

static PyObject *limiter_latency(PyObject *object, PyObject *unused)
{
#define ROW(field)                                                                                                     \
    {                                                                                                                  \
#field, offsetof(weir_times, field)                                                                            \
    }
    static const struct counter counters[] = {ROW(count),  ROW(total_ns), ROW(min_ns), ROW(p50_ns), ROW(p90_ns),
                                              ROW(p99_ns), ROW(p999_ns),  ROW(max_ns), {NULL, 0}};
#undef ROW
    weir_latency latency;
    (void)unused;
    weir_read_latency(((struct limiter *)object)->limiter, &latency, sizeof latency);
    return Py_BuildValue("{s:N,s:N}", "response", binding_counters(&latency.response, counters), "service",
                         binding_counters(&latency.service, counters));
}

static PyObject *limiter_latency_buckets(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"measure", NULL};
    weir_limiter *limiter = ((struct limiter *)object)->limiter;
    const char *measure = "response";
    int which;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s", names, &measure)) return NULL;
    if (!binding_choice("measure", measure, measure_names, &which)) return NULL;
    const size_t size = weir_read_buckets(limiter, (weir_measure)which, NULL, 0);
    weir_bucket *buckets = PyMem_Malloc(size * sizeof *buckets);
    if (buckets == NULL) return PyErr_NoMemory();
    weir_read_buckets(limiter, (weir_measure)which, buckets, size); /* as many: done needs the GIL, too */
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < size && list != NULL; i++) {
        PyObject *row =
            Py_BuildValue("(KK)", (unsigned long long)buckets[i].most_ns, (unsigned long long)buckets[i].count);
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    PyMem_Free(buckets);
    return list;
}

static PyObject *limiter_plan(PyObject *object, void *unused)
{
    PyObject *plan = (PyObject *)((struct limiter *)object)->plan;
    (void)unused;
    Py_INCREF(plan);
    return plan;
}

static PyObject *limiter_paused(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct limiter *)object)->paused);
}

static PyMethodDef limiter_methods[] = {
    {"take", FASTCALL(limiter_take),
     "take(cost=1): take the permits if they are available now, and else none.\n"
     "cost: a number, or numbers by unit: {\"tokens\": 812}."},
    {"take_some", FASTCALL(limiter_take_some), "take_some(cost): as many as are available; charged says how many."},
    {"take_at", FASTCALL(limiter_take_at), "take_at(now_ns, cost=1): take, at a time of time.monotonic_ns()."},
    {"reserve", FASTCALL(limiter_reserve),
     "reserve(cost=1, delay_max=None, delay_max_ns=None): take permits that become available within delay_max\n"
     "seconds; sleep for the decision's delay yourself."},
    {"peek", FASTCALL(limiter_peek), "peek(cost=1): what take would return; takes nothing."},
    {"charge", FASTCALL(limiter_charge), "charge(cost): take in any case; missing permits become a debt."},
    {"settle", FASTCALL(limiter_settle), "settle(decision, actual): charge or refund the difference; once."},
    {"cancel", limiter_cancel, METH_O, "cancel(decision): the operation never ran; settle to 0."},
    {"renew", limiter_renew, METH_O,
     "renew(decision or id): its slots are held for a whole lease from now; False: they are not held any more."},
    {"release", limiter_release, METH_O, "release(decision or id): ends them now; False: they are not held any more."},
    {"set_limit", (PyCFunction)(void (*)(void))limiter_set_limit, METH_VARARGS | METH_KEYWORDS,
     "set_limit(limits, carry='keep'): change the limit while in use."},
    {"stop", limiter_stop, METH_NOARGS, "All later calls return 'stopped'."},
    {"set_time", limiter_set_time, METH_O, "set_time(now_ns): of a limiter with clock='manual'."},
    {"stats", limiter_stats, METH_NOARGS, "Sums since the limiter was opened."},
    {"due_ns", FASTCALL(limiter_due_ns), "due_ns(decision, nth=1): when the nth permit of a decision was due."},
    {"done", limiter_done, METH_O, "done(decision): its operation has ended; record how long it took."},
    {"done_at", FASTCALL(limiter_done_at), "done_at(due_ns, start_ns, now_ns): done, in times that you know better."},
    {"latency", limiter_latency, METH_NOARGS,
     "What done has recorded: 'response' times, from due to done, and 'service' times, from start to done."},
    {"latency_buckets", (PyCFunction)(void (*)(void))limiter_latency_buckets, METH_VARARGS | METH_KEYWORDS,
     "latency_buckets(measure='response'): [(longest time in ns, how many)], as HdrHistogram's record_value takes "
     "them."},
    {0}};
static PyGetSetDef limiter_fields[] = {
    {"plan", limiter_plan, NULL, "The limit in force; while paused, the one before.", NULL},
    {"paused", limiter_paused, NULL, "Whether set_limit('pause') has stopped its clock.", NULL},
    {0}};
static PyType_Slot limiter_slots[] = {{Py_tp_new, limiter_new},
                                      {Py_tp_dealloc, limiter_dealloc},
                                      {Py_tp_methods, limiter_methods},
                                      {Py_tp_getset, limiter_fields},
                                      {0}};
PyType_Spec limiter_spec = {"libweir._weir.Limiter", sizeof(struct limiter), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, limiter_slots};
