"""Elementwise work on the cpu: views are cut into runs, the slot table's loops do them."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from treadle.ndarray._layout cimport Walk, is_dense, next_run, plan_walk, view_size
from treadle.ndarray._types cimport TD_f64, TD_i64, is_inexact, td_view

cdef const td_slots *slots = NULL

# The ops by number, as the slot tables know them.
UNARY_NAMES = [td_unary_names[i].decode() for i in range(TD_UNARY_COUNT)]
BINARY_NAMES = [td_binary_names[i].decode() for i in range(TD_BINARY_COUNT)]
TERNARY_NAMES = [td_ternary_names[i].decode() for i in range(TD_TERNARY_COUNT)]
REDUCE_NAMES = [td_reduce_names[i].decode() for i in range(TD_REDUCE_COUNT)]


def select(int isa):
    """Choose the slot table of an instruction set, once, before the first array."""
    global slots
    slots = td_slots_select(isa)


cdef void run_unary(td_unary_loop loop, const td_view *x, const td_view *out) noexcept nogil:
    cdef Walk walk
    cdef int64_t position[32]
    cdef const td_view *views[4]
    cdef int run
    views[0], views[1] = x, out
    if not plan_walk(&walk, 2, views):
        return
    run = walk.ndim - 1
    memset(position, 0, sizeof(position))
    while True:
        loop(walk.shape[run], walk.data[0], walk.strides[0][run], walk.data[1], walk.strides[1][run])
        if not next_run(&walk, position):
            return


cdef void run_binary(td_binary_loop loop, const td_view *x, const td_view *y, const td_view *out) noexcept nogil:
    cdef Walk walk
    cdef int64_t position[32]
    cdef const td_view *views[4]
    cdef int run
    views[0], views[1], views[2] = x, y, out
    if not plan_walk(&walk, 3, views):
        return
    run = walk.ndim - 1
    memset(position, 0, sizeof(position))
    while True:
        loop(walk.shape[run], walk.data[0], walk.strides[0][run], walk.data[1], walk.strides[1][run],
             walk.data[2], walk.strides[2][run])
        if not next_run(&walk, position):
            return


cdef void run_ternary(td_ternary_loop loop, const td_view *x, const td_view *y, const td_view *z,
                      const td_view *out) noexcept nogil:
    cdef Walk walk
    cdef int64_t position[32]
    cdef const td_view *views[4]
    cdef int run
    views[0], views[1], views[2], views[3] = x, y, z, out
    if not plan_walk(&walk, 4, views):
        return
    run = walk.ndim - 1
    memset(position, 0, sizeof(position))
    while True:
        loop(walk.shape[run], walk.data[0], walk.strides[0][run], walk.data[1], walk.strides[1][run],
             walk.data[2], walk.strides[2][run], walk.data[3], walk.strides[3][run])
        if not next_run(&walk, position):
            return


cdef void copy_view(const td_view *x, const td_view *out, int64_t itemsize) noexcept nogil:
    """out = x, converting the dtype. x and out must not overlap unless they are the same view."""
    if x.dtype == out.dtype and is_dense(x, itemsize) and is_dense(out, itemsize):
        memcpy(out.data, x.data, view_size(out) * itemsize)
        return
    run_unary(slots.cast[x.dtype][out.dtype], x, out)


cdef void arange_view(const td_view *out, double start, double step, int64_t int_start,
                      int64_t int_step) noexcept nogil:
    """out[i] = start + i * step along a 1-D view: in float64 for floats, else in 64-bit integers."""
    cdef int64_t i, value
    cdef double real
    cdef td_unary_loop cast = slots.cast[TD_f64][out.dtype]
    if is_inexact(out.dtype):
        for i in range(out.shape[0]):
            real = start + <double>i * step
            cast(1, <const char *>&real, 8, out.data + i * out.strides[0], 8)
        return
    cast = slots.cast[TD_i64][out.dtype]
    for i in range(out.shape[0]):
        value = int_start + i * int_step
        cast(1, <const char *>&value, 8, out.data + i * out.strides[0], 8)
