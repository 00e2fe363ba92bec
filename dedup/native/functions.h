/* The functions that Python calls: see dedup/_native.pyi.

   Nothing is kept between calls. Arrays are those of the caller, and are checked for what would be read or written
   beyond their ends; other threads run meanwhile. */
#ifndef DEDUP_FUNCTIONS_H
#define DEDUP_FUNCTIONS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define REQUIRE(condition)                                                            \
    if (!(condition)) {                                                               \
        PyErr_SetString(PyExc_ValueError, "an array is too short: " #condition);      \
        goto done;                                                                    \
    }

/* Give arrays back; of those that were never taken, and are all zeros, nothing. */
#define RELEASE(...)                                                                                      \
    do {                                                                                                  \
        Py_buffer *taken[] = {__VA_ARGS__};                                                               \
        for (size_t each = 0; each < sizeof taken / sizeof *taken; each++) PyBuffer_Release(taken[each]); \
    } while (0)

PyObject *sign(PyObject *module, PyObject *arguments);
PyObject *combining(PyObject *module, PyObject *arguments);
PyObject *read_dictionary(PyObject *module, PyObject *arguments);
PyObject *bands_of(PyObject *module, PyObject *arguments);
PyObject *bounds(PyObject *module, PyObject *arguments);
PyObject *shared_tokens(PyObject *module, PyObject *arguments);

#endif
