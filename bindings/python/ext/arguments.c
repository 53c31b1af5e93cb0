/* SPDX-License-Identifier: MIT
   What a call was given, and what weir says is wrong as an exception. */
#include "binding.h"

#include <math.h>

PyObject *binding_raise(const struct state *state, const weir_error *error)
{
    PyObject *exception = PyObject_CallFunction(state->error, "iis", error->code, error->column, error->message);
    if (exception == NULL) return NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return NULL;
}

struct state *binding_state(PyTypeObject *type)
{
    for (; type != NULL; type = PyType_GetSlot(type, Py_tp_base)) {
        struct state *state = PyType_GetModuleState(type);
        if (state != NULL) return state;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_TypeError, "not a type of libweir");
    return NULL;
}

bool binding_u64(const char *what, PyObject *number, uint64_t *out)
{
    *out = PyLong_AsUnsignedLongLong(number);
    if (*out != UINT64_MAX || !PyErr_Occurred()) return true;
    if (PyLong_Check(number)) PyErr_Format(PyExc_OverflowError, "%s: expected 0 to 2**64 - 1", what);
    else PyErr_Format(PyExc_TypeError, "%s: expected an int, not %R", what, Py_TYPE(number));
    return false;
}

bool binding_ns(PyObject *seconds, uint64_t *ns)
{
    *ns = WEIR_FOREVER;
    if (seconds == NULL || seconds == Py_None) return true;
    const double value = PyFloat_AsDouble(seconds);
    if (value == -1 && PyErr_Occurred()) return false;
    if (isnan(value)) return PyErr_SetString(PyExc_ValueError, "a time in seconds, not NaN"), false;
    if (value * 1e9 < 0x1p64) *ns = value > 0 ? (uint64_t)(value * 1e9) : 0;
    return true;
}

bool binding_longest(PyObject *seconds, PyObject *ns, uint64_t *longest_ns)
{
    return ns == NULL || ns == Py_None ? binding_ns(seconds, longest_ns) : binding_u64("delay_max_ns", ns, longest_ns);
}

bool binding_choice(const char *what, const char *name, const char *const *names, int *choice)
{
    for (*choice = 0; names[*choice] != NULL; ++*choice)
        if (strcmp(name, names[*choice]) == 0) return true;
    PyErr_Format(PyExc_ValueError, "%s is not \"%s\"; for example \"%s\"", what, name, names[0]);
    return false;
}

bool binding_arguments(PyObject *const *args, Py_ssize_t count, PyObject *kwnames, const char *const *names, int needed,
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

PyObject *binding_counters(const void *stats, const struct counter *counters)
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
