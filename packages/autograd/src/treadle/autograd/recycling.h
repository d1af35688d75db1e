/* Nodes by the million: spare ones are kept for the next, and the collector has less to look at.
 * Called with the GIL held, which is the lock of the pool. */
#ifndef TREADLE_RECYCLING_H
#define TREADLE_RECYCLING_H

#include <Python.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define TD_MOST_SPARE_NODES 1 /* a dead node must not be used again */
#else
#define TD_MOST_SPARE_NODES 4096
#endif

static PyTypeObject *td_spare_type; /* that of the spare nodes; a subclass that inherited the slots is passed by */
static void *td_spare_nodes[TD_MOST_SPARE_NODES];
static int td_spare_node_count = 0, td_spare_node_limit = 0;

/* The collector's header stays with a block; a block at rest is not tracked. */
static PyObject *td_node_alloc(PyTypeObject *type, Py_ssize_t count)
{
    if (!td_spare_node_count || type != td_spare_type)
        return PyType_GenericAlloc(type, count);
    PyObject *node = (PyObject *)td_spare_nodes[--td_spare_node_count];
    memset(node, 0, (size_t)type->tp_basicsize);
    PyObject_Init(node, type);
    PyObject_GC_Track(node);
    return node;
}

static void td_node_free(void *node)
{
    if (td_spare_node_count < td_spare_node_limit && Py_TYPE((PyObject *)node) == td_spare_type)
        td_spare_nodes[td_spare_node_count++] = node;
    else
        PyObject_GC_Del(node);
}

/* Keep up to ``limit`` spare objects of this type; subclasses made in Python have allocators of their own. */
static int td_recycle_nodes(PyObject *type, int limit)
{
    td_spare_node_limit = limit < TD_MOST_SPARE_NODES ? limit : TD_MOST_SPARE_NODES - 1;
    while (td_spare_node_count > td_spare_node_limit)
        PyObject_GC_Del(td_spare_nodes[--td_spare_node_count]);
    td_spare_type = (PyTypeObject *)type;
    td_spare_type->tp_alloc = td_node_alloc;
    td_spare_type->tp_free = td_node_free;
    return td_spare_node_limit;
}

/* The collector's way through a node. Its tuple of operands is not tracked, which halves the objects to be visited:
 * the node visits the operands in the tuple's place. That is exact as long as the node alone refers to the tuple. While
 * somebody else does, the operands count as used from outside, so that nothing of theirs is taken away. */
static traverseproc td_node_fields;
static Py_ssize_t td_operands_offset;

static int td_node_traverse(PyObject *node, visitproc visit, void *arg)
{
    PyObject *operands = *(PyObject **)((char *)node + td_operands_offset);
    if (operands && PyTuple_CheckExact(operands) && Py_REFCNT(operands) == 1 && !PyObject_GC_IsTracked(operands)) {
        for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(operands); index++)
            Py_VISIT(PyTuple_GET_ITEM(operands, index));
    }
    return td_node_fields(node, visit, arg);
}

#define td_operands_of(node) ((char *)&(node)->_inputs - (char *)(node))

static void td_look_through_operands(PyObject *type, Py_ssize_t offset)
{
    if (((PyTypeObject *)type)->tp_traverse == td_node_traverse)
        return;
    td_operands_offset = offset;
    td_node_fields = ((PyTypeObject *)type)->tp_traverse;
    ((PyTypeObject *)type)->tp_traverse = td_node_traverse;
}

#endif
