/* The module `dedup._native`. */
#include "functions.h"

static PyMethodDef functions[] = {
    {"sign", sign, METH_VARARGS, NULL},
    {"combining", combining, METH_VARARGS, NULL},
    {"read_dictionary", read_dictionary, METH_VARARGS, NULL},
    {"bands_of", bands_of, METH_VARARGS, NULL},
    {"bounds", bounds, METH_VARARGS, NULL},
    {"shared_tokens", shared_tokens, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "dedup._native", .m_size = 0, .m_methods = functions, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
