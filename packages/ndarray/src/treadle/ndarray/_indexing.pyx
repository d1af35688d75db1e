"""Gather, scatter and nonzero on the cpu.

Index arrays are first turned into byte offsets, one a selected place, which checks their bounds as well; the inner
block behind each offset (the axes that no index array selects in) is then copied or added as a whole.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from treadle.ndarray._elementwise cimport run_binary, run_unary, slots, td_binary_loop
from treadle.ndarray._layout cimport Walk, is_dense, next_run, plan_walk, view_size
from treadle.ndarray._types cimport td_view


cdef int add_offsets(const td_view *indices, const td_view *offsets, int64_t length, int64_t stride,
                     int64_t *wrong) noexcept nogil:
    """offsets += index * stride for int64 indices into an axis of that length, negative ones counted from its end.

    Returns -1 and sets ``wrong`` at the first index out of bounds.
    """
    cdef Walk walk
    cdef int64_t position[32]
    cdef const td_view *views[4]
    cdef int64_t i, index
    cdef int run
    views[0], views[1] = indices, offsets
    if not plan_walk(&walk, 2, views):
        return 0
    run = walk.ndim - 1
    memset(position, 0, sizeof(position))
    while True:
        for i in range(walk.shape[run]):
            index = (<const int64_t *>(walk.data[0] + i * walk.strides[0][run]))[0]
            if index < -length or index >= length:
                wrong[0] = index
                return -1
            if index < 0:
                index += length
            (<int64_t *>(walk.data[1] + i * walk.strides[1][run]))[0] += index * stride
        if not next_run(&walk, position):
            return 0


cdef void _inner(const td_view *view, int skipped, td_view *inner) noexcept nogil:
    """The axes of view behind the first ``skipped``."""
    cdef int axis
    inner.data, inner.dtype, inner.ndim = view.data, view.dtype, view.ndim - skipped
    for axis in range(inner.ndim):
        inner.shape[axis] = view.shape[axis + skipped]
        inner.strides[axis] = view.strides[axis + skipped]


cdef void gather_view(const td_view *x, int indexed, const int64_t *offsets, int64_t count, const td_view *out,
                      int64_t itemsize) noexcept nogil:
    """Blocks of x at the offsets into out, which is dense."""
    cdef td_view source, target
    cdef int64_t place
    _inner(x, indexed, &source)
    _inner(out, out.ndim - source.ndim, &target)
    cdef int64_t block = view_size(&target) * itemsize
    cdef bint dense = is_dense(&source, itemsize)
    for place in range(count):
        if dense:
            memcpy(out.data + place * block, x.data + offsets[place], block)
            continue
        source.data = x.data + offsets[place]
        target.data = out.data + place * block
        run_unary(slots.cast[x.dtype][x.dtype], &source, &target)


cdef void scatter_view(const td_view *out, int indexed, const int64_t *offsets, int64_t count, const td_view *values,
                       td_binary_loop add, int64_t itemsize) noexcept nogil:
    """Blocks of values, which is dense, into out at the offsets, in order: copied, or added where ``add`` is given."""
    cdef td_view source, target
    cdef int64_t place, n, at
    _inner(out, indexed, &target)
    _inner(values, values.ndim - target.ndim, &source)
    n = view_size(&source)
    cdef int64_t block = n * itemsize
    cdef bint dense = is_dense(&target, itemsize)
    for place in range(count):
        at = offsets[place]
        if dense and add == NULL:
            memcpy(out.data + at, values.data + place * block, block)
        elif dense:
            add(n, out.data + at, itemsize, values.data + place * block, itemsize, out.data + at, itemsize)
        else:
            target.data = out.data + at
            source.data = values.data + place * block
            if add == NULL:
                run_unary(slots.cast[out.dtype][out.dtype], &source, &target)
            else:
                run_binary(add, &target, &source, &target)


cdef int64_t count_nonzero(const td_view *mask) noexcept nogil:
    cdef Walk walk
    cdef int64_t position[32]
    cdef const td_view *views[4]
    cdef int64_t i
    cdef int64_t count = 0
    cdef int run
    views[0] = mask
    if not plan_walk(&walk, 1, views):
        return 0
    run = walk.ndim - 1
    memset(position, 0, sizeof(position))
    while True:
        for i in range(walk.shape[run]):
            count += (walk.data[0] + i * walk.strides[0][run])[0] != 0
        if not next_run(&walk, position):
            return count


cdef void nonzero_view(const td_view *mask, int64_t *out) noexcept nogil:
    """The indices of the non-zero elements in C order, ndim numbers each."""
    cdef int64_t position[32]
    cdef char *data = mask.data
    cdef int axis
    if view_size(mask) == 0:
        return
    memset(position, 0, sizeof(position))
    while True:
        if data[0]:
            for axis in range(mask.ndim):
                out[axis] = position[axis]
            out += mask.ndim
        axis = mask.ndim - 1
        while axis >= 0:
            position[axis] += 1
            data += mask.strides[axis]
            if position[axis] < mask.shape[axis]:
                break
            data -= mask.strides[axis] * mask.shape[axis]
            position[axis] = 0
            axis -= 1
        if axis < 0:
            return
