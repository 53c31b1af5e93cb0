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

static const char one_by_default[] = "requests";

/* "limits count requests and tokens: write cost={"tokens": 812}", with the number that was given */
static bool raise_units(const struct plan *plan, const char *argument, uint64_t number)
{
    char unit[WEIR_UNIT_SIZE], example[WEIR_UNIT_SIZE] = "", known[WEIR_LIMITS_MAX * (WEIR_UNIT_SIZE + 5)] = "";
    for (int i = 0; weir_plan_unit(&plan->plan, i, unit); i++) {
        char word[WEIR_UNIT_SIZE + 2] = " ";
        strcat(strcat(word, unit), " ");
        if (strcmp(unit, one_by_default) != 0 && example[0] == '\0') strcpy(example, unit);
        if (strstr(known, word) == NULL) strcat(strcat(known, i == 0 ? "" : "and"), word); /* " a and b " */
    }
    known[strlen(known) - 1] = '\0';
    PyErr_Format(PyExc_ValueError, "limits count%s: write %s={\"%s\": %llu}", known, argument, example,
                 (unsigned long long)number);
    return false;
}

/* A number of the mapping; it counts those that it found. */
static bool number_of(PyObject *given, const char *unit, uint64_t otherwise, Py_ssize_t *found, uint64_t *out)
{
    PyObject *name = PyUnicode_FromString(unit);
    PyObject *number = name == NULL ? NULL : PyDict_GetItemWithError(given, name);
    Py_XDECREF(name);
    *out = otherwise;
    if (number == NULL) return !PyErr_Occurred();
    ++*found;
    return binding_u64(unit, number, out);
}

/* otherwise: what a unit costs that is not named; NULL: 1 request, and the others must be. */
static bool by_unit(const struct plan *plan, PyObject *given, const char *argument, const uint64_t *otherwise,
                    uint64_t each[WEIR_LIMITS_MAX])
{
    char unit[WEIR_UNIT_SIZE], before[WEIR_UNIT_SIZE];
    Py_ssize_t found = 0;
    for (int i = 0; weir_plan_unit(&plan->plan, i, unit); i++) {
        int same = 0;
        while (weir_plan_unit(&plan->plan, same, before) && strcmp(before, unit) != 0) same++;
        Py_ssize_t named = 0;
        const bool is_one = strcmp(unit, one_by_default) == 0;
        if (!number_of(given, unit, otherwise != NULL ? otherwise[i] : 1, &named, &each[i])) return false;
        if (otherwise == NULL && named == 0 && !is_one) return raise_units(plan, argument, 1);
        if (same == i) found += named;
    }
    if (found == PyDict_Size(given)) return true;
    PyErr_Format(PyExc_ValueError, "%s: no limit counts one of %R", argument, given);
    return false;
}

bool binding_cost(const struct plan *plan, PyObject *given, struct cost *cost)
{
    cost->by_unit = given != NULL && PyDict_Check(given);
    cost->all = 1;
    if (cost->by_unit) {
        memset(&cost->each, 0, sizeof cost->each);
        return by_unit(plan, given, "cost", NULL, cost->each.cost);
    }
    if (given != NULL && !binding_u64("cost", given, &cost->all)) return false;
    return !plan->has_units || raise_units(plan, "cost", cost->all);
}

bool binding_one_cost(const struct plan *plan, PyObject *given, uint64_t *all)
{
    struct cost cost;
    if (!binding_cost(plan, given, &cost)) return false;
    *all = cost.all;
    return !cost.by_unit || (PyErr_SetString(PyExc_TypeError, "cost: expected an int, not numbers by unit"), false);
}

bool binding_actual(const struct decision *decision, PyObject *given, uint64_t actual[WEIR_LIMITS_MAX])
{
    uint64_t all = 0;
    const uint64_t *charged = decision->each == NULL ? NULL : decision->each->cost;
    if (PyDict_Check(given)) return by_unit(decision->plan, given, "actual", charged, actual);
    if (!binding_u64("actual", given, &all)) return false;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) actual[i] = all;
    return all == 0 || !decision->plan->has_units || raise_units(decision->plan, "actual", all);
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
