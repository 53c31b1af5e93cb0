/* SPDX-License-Identifier: MIT
   The module, and sleeping. */
#include "binding.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

/* As time.sleep does, a signal's handler runs meanwhile, and what it raises ends the sleep. */
static PyObject *sleep_until(PyObject *module, PyObject *given)
{
    uint64_t ns;
    int failed;
    (void)module;
    if (!binding_u64("ns", given, &ns)) return NULL;
    const struct timespec when = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    do {
        Py_BEGIN_ALLOW_THREADS;
        failed = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
        Py_END_ALLOW_THREADS;
        if (PyErr_CheckSignals() != 0) return NULL;
    } while (failed == EINTR);
    Py_RETURN_NONE;
}

static PyObject *now_ns(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(weir_now().ns);
}

static PyObject *check_tenants(PyObject *module, PyObject *args)
{
    const struct state *state = PyModule_GetState(module);
    PyObject *parent, *tenants;
    weir_error error;
    if (!PyArg_ParseTuple(args, "O!O!", state->plan, &parent, &PyTuple_Type, &tenants)) return NULL;
    const Py_ssize_t count = PyTuple_Size(tenants);
    const weir_plan **plans = PyMem_Malloc((size_t)(count + 1) * sizeof *plans);
    if (plans == NULL) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) plans[i] = &((struct plan *)PyTuple_GetItem(tenants, i))->plan;
    const int failed = weir_plan_check_tenants(&((struct plan *)parent)->plan, plans, (size_t)count, &error);
    PyMem_Free(plans);
    if (failed != 0) return binding_raise(state, &error);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"check_tenants", check_tenants, METH_VARARGS, "check_tenants(parent, (plan, ...)): the sum of their guarantees."},
    {"headers", decision_headers, METH_O,
     "headers(decision): what to tell a client of its limit: RateLimit-Policy, RateLimit, and Retry-After if refused."},
    {"sleep_until", sleep_until, METH_O, "sleep_until(ns): never returns early."},
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
    static PyModuleDef_Slot for_new[] = {
        {Py_mod_exec, module_exec}, {3 /* multiple interpreters */, (void *)2}, {0, NULL}};
    static PyModuleDef old = {PyModuleDef_HEAD_INIT, "_weir",      NULL,       sizeof(struct state), functions, for_old,
                              module_traverse,       module_clear, module_free};
    static PyModuleDef new = {PyModuleDef_HEAD_INIT, "_weir",      NULL,       sizeof(struct state), functions, for_new,
                              module_traverse,       module_clear, module_free};
    int major = 0, minor = 0;
    sscanf(Py_GetVersion(), "%d.%d", &major, &minor);
    return PyModuleDef_Init(major > 3 || minor >= 12 ? &new : &old);
}
