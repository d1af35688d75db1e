/* Making array objects quickly: straight to the type's constructor, and from a stack of spare ones.
 * Called with the GIL held, which is the stack's lock. */
#ifndef TREADLE_OBJECTS_H
#define TREADLE_OBJECTS_H

#include <Python.h>
#include <string.h>

#include "sanitizer.h"

/* An array object without memory must not get into users' hands: only td_new makes them. */
static newfunc td_constructor;

static PyObject *td_new(PyObject *type, PyObject *arguments)
{
    return td_constructor((PyTypeObject *)type, arguments, NULL);
}

static PyObject *td_refuse(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)arguments, (void)keywords;
    return PyErr_Format(PyExc_TypeError, "%s is not called directly; use treadle.ndarray.asarray, zeros, ...",
                        type->tp_name);
}

#define TD_SPARE_OBJECTS (TD_SANITIZED ? 0 : 256)
static void *td_spare_objects[TD_SPARE_OBJECTS + 1];
static int td_spare_count = 0;

static PyObject *td_object_alloc(PyTypeObject *type, Py_ssize_t items)
{
    PyObject *object = (PyObject *)(td_spare_count ? td_spare_objects[--td_spare_count]
                                                   : PyObject_Malloc((size_t)type->tp_basicsize));
    (void)items;
    if (!object)
        return PyErr_NoMemory();
    memset(object, 0, (size_t)type->tp_basicsize);
    return PyObject_Init(object, type);
}

static void td_object_free(void *object)
{
    if (td_spare_count < TD_SPARE_OBJECTS)
        td_spare_objects[td_spare_count++] = object;
    else
        PyObject_Free(object);
}

static void td_recycle(PyObject *type)
{
    td_constructor = ((PyTypeObject *)type)->tp_new;
    ((PyTypeObject *)type)->tp_new = td_refuse;
    ((PyTypeObject *)type)->tp_alloc = td_object_alloc;
    ((PyTypeObject *)type)->tp_free = td_object_free;
}

#endif
