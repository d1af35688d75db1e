/* Making array objects quickly: after a pattern, and from a stack of spare ones.
 * Called with the GIL held, which is the stack's lock. */
#ifndef TREADLE_OBJECTS_H
#define TREADLE_OBJECTS_H

#include <Python.h>
#include <string.h>

#include "sanitizer.h"

#define TD_SPARE_OBJECTS (TD_SANITIZED ? 0 : 256)
#define TD_OBJECT_FIELDS 3 /* dtype, device, buffer: None until they are set */
static void *td_spare_objects[TD_SPARE_OBJECTS + 1];
static int td_spare_count = 0;
static PyObject *td_pattern;               /* an array whose fields are None, as the type's constructor left it */
static size_t td_view_from, td_view_end;   /* the bytes of the view: whoever makes an array fills them in */

/* An array object without memory must not get into users' hands: only td_new makes them. */
static PyObject *td_refuse(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)arguments, (void)keywords;
    return PyErr_Format(PyExc_TypeError, "%s is not called directly; use treadle.ndarray.asarray, zeros, ...",
                        type->tp_name);
}

static PyObject *td_new(PyObject *type)
{
    const size_t head = sizeof(PyObject), size = (size_t)((PyTypeObject *)type)->tp_basicsize;
    char *object = td_spare_count ? td_spare_objects[--td_spare_count] : PyObject_Malloc(size);
    if (!object)
        return PyErr_NoMemory();
    memcpy(object + head, (char *)td_pattern + head, td_view_from - head);
    memcpy(object + td_view_end, (char *)td_pattern + td_view_end, size - td_view_end);
    for (int field = 0; field < TD_OBJECT_FIELDS; field++)
        Py_INCREF(Py_None);
    return PyObject_Init((PyObject *)object, (PyTypeObject *)type);
}

static void td_object_free(void *object)
{
    if (td_spare_count < TD_SPARE_OBJECTS)
        td_spare_objects[td_spare_count++] = object;
    else
        PyObject_Free(object);
}

static int td_recycle(PyObject *type, size_t view_from, size_t view_end)
{
    PyObject *no_arguments = PyTuple_New(0);
    td_pattern = no_arguments ? ((PyTypeObject *)type)->tp_new((PyTypeObject *)type, no_arguments, NULL) : NULL;
    Py_XDECREF(no_arguments);
    td_view_from = view_from;
    td_view_end = view_end;
    ((PyTypeObject *)type)->tp_new = td_refuse;
    ((PyTypeObject *)type)->tp_free = td_object_free;
    return td_pattern ? 0 : -1;
}

#endif
