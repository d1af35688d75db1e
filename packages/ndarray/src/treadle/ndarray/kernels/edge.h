/* Calls of a type's instances by the vectorcall protocol (PEP 590), which Cython has no syntax for. */
#ifndef TREADLE_EDGE_H
#define TREADLE_EDGE_H

#include <Python.h>

static void td_call_by_vector(PyObject *type, Py_ssize_t offset)
{
    PyTypeObject *changed = (PyTypeObject *)type;
    changed->tp_vectorcall_offset = offset;
    changed->tp_call = PyVectorcall_Call;
    changed->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified(changed);
}

#endif
