"""How nodes are allocated and collected; nothing of it shows."""

from treadle.autograd._node cimport Node

cdef extern from "recycling.h":
    int td_recycle_nodes(object type, int limit)
    void td_look_through_operands(object type, Py_ssize_t offset)
    Py_ssize_t td_operands_of(Node node)


SPARE_NODES = 4095


def recycle(type kind, int limit):
    return td_recycle_nodes(kind, limit)


def look_through_operands(Node one):
    td_look_through_operands(Node, td_operands_of(one))
