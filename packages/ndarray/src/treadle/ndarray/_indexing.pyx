"""Gather, scatter and nonzero on the cpu.

Index arrays are first turned into byte offsets, one a selected place, which checks their bounds as well; the inner
block behind each offset (the axes that no index array selects in) is then copied or added as a whole.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from treadle.ndarray._elementwise cimport TD_BINARY_add, run_binary, run_unary, slots, td_binary_loop
from treadle.ndarray._layout cimport Walk, dense_strides, is_dense, next_run, plan_walk, view_size
from treadle.ndarray._types cimport TD_f32, td_view

cdef extern from "kernels/tiles.h" nogil:
    void td_prefetch(int64_t lines, int64_t bytes, const char *x, int64_t line_stride)

cdef enum:
    PREFETCHED = 8192  # bytes of the next block; the processor itself follows longer ones

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
            if place + 1 < count:
                td_prefetch(1, min(block, PREFETCHED), x.data + offsets[place + 1], 0)
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


# --- sums of small floats ---------------------------------------------------------------------------------------------
cdef enum:
    SUMMED_UPDATES = 4096  # that are added up before sums are rounded: the table stays in the near caches
    SUMMED_BYTES = 1 << 20  # the same of large blocks
    FEWEST_UPDATES = 64

cdef struct Sums:
    const td_view *out
    const int64_t *offsets
    const char *values
    int wide  # dtype of the sums
    int64_t itemsize
    int64_t wide_itemsize
    int64_t n  # elements of a block
    td_view target  # a block of out
    td_view row  # a block of sums
    int64_t capacity  # of the table, a power of two
    int64_t *keys  # offsets
    int32_t *rows  # the block of sums that belongs to the key, or -1
    int64_t *places  # the offset of each block, in the order of their first updates
    int64_t count
    char *data  # the blocks of sums


cdef int64_t _row_of(Sums *sums, int64_t offset) noexcept nogil:
    """The block of sums for the place; a new one, the last, where it has none yet."""
    cdef uint64_t mixed = <uint64_t>offset * 0x9E3779B97F4A7C15u  # Knuth, The Art of Computer Programming 3, 6.4
    cdef int64_t at = <int64_t>(mixed >> 40) & (sums.capacity - 1)
    while sums.rows[at] >= 0 and sums.keys[at] != offset:
        at = (at + 1) & (sums.capacity - 1)
    if sums.rows[at] < 0:
        sums.keys[at], sums.rows[at], sums.places[sums.count] = offset, <int32_t>sums.count, offset
        sums.count += 1
    return sums.rows[at]


cdef void _sum_blocks(Sums *sums, int64_t start, int64_t stop) noexcept nogil:
    cdef char[256] one
    cdef int64_t place, known, done, part
    cdef const char *values
    cdef char *to
    for place in range(start, stop):
        known = sums.count
        to = sums.data + _row_of(sums, sums.offsets[place]) * sums.n * sums.wide_itemsize
        values = sums.values + place * sums.n * sums.itemsize
        if known < sums.count:
            sums.target.data, sums.row.data = sums.out.data + sums.offsets[place], to
            run_unary(slots.cast[sums.out.dtype][sums.wide], &sums.target, &sums.row)
        done = 0
        while done < sums.n:
            part = min(sums.n - done, <int64_t>sizeof(one) // sums.wide_itemsize)
            slots.cast[sums.out.dtype][sums.wide](part, values, sums.itemsize, one, sums.wide_itemsize)
            slots.binary[TD_BINARY_add][sums.wide](part, to, sums.wide_itemsize, one, sums.wide_itemsize, to,
                                                   sums.wide_itemsize)
            values += part * sums.itemsize
            to += part * sums.wide_itemsize
            done += part
    for place in range(sums.count):
        sums.target.data = sums.out.data + sums.places[place]
        sums.row.data = sums.data + place * sums.n * sums.wide_itemsize
        run_unary(slots.cast[sums.wide][sums.out.dtype], &sums.row, &sums.target)


cdef void _sum_floats(Sums *sums, int64_t start, int64_t stop) noexcept nogil:
    """Blocks of one float32 each."""
    cdef double *totals = <double *>sums.data
    cdef const float *values = <const float *>sums.values
    cdef int64_t place, known, row
    for place in range(start, stop):
        known = sums.count
        row = _row_of(sums, sums.offsets[place])
        if known < sums.count:
            totals[row] = (<const float *>(sums.out.data + sums.offsets[place]))[0]
        totals[row] += values[place]
    for place in range(sums.count):
        (<float *>(sums.out.data + sums.places[place]))[0] = <float>totals[place]


cdef int accumulate_view(const td_view *out, int indexed, const int64_t *offsets, int64_t count, const td_view *values,
                         int wide, int64_t itemsize, int64_t wide_itemsize) noexcept nogil:
    """Blocks of values, which is dense, added to out at the offsets: SUMMED_UPDATES at most to sums of the dtype
    ``wide``, which are then rounded. Returns -1, and has changed nothing, when there is no memory."""
    cdef Sums sums
    cdef int64_t start, most
    sums.out, sums.offsets, sums.values = out, offsets, values.data
    sums.wide, sums.itemsize, sums.wide_itemsize = wide, itemsize, wide_itemsize
    _inner(out, indexed, &sums.target)
    sums.row = sums.target
    sums.row.dtype = wide
    dense_strides(&sums.row, wide_itemsize)
    sums.n = view_size(&sums.row)
    most = SUMMED_BYTES // (sums.n * wide_itemsize)
    most = min(count, <int64_t>SUMMED_UPDATES, max(most, <int64_t>FEWEST_UPDATES))
    sums.capacity = 16
    while sums.capacity < 2 * most:
        sums.capacity *= 2
    sums.data = <char *>malloc(<size_t>(most * (sums.n * wide_itemsize + 8) + sums.capacity * 12))
    if sums.data == NULL:
        return -1
    sums.places = <int64_t *>(sums.data + most * sums.n * wide_itemsize)
    sums.keys = sums.places + most
    sums.rows = <int32_t *>(sums.keys + sums.capacity)
    start = 0
    while start < count:
        sums.count = 0
        memset(sums.rows, 255, sums.capacity * sizeof(int32_t))
        if sums.n == 1 and out.dtype == TD_f32:
            _sum_floats(&sums, start, min(start + most, count))
        else:
            _sum_blocks(&sums, start, min(start + most, count))
        start += most
    free(sums.data)
    return 0


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
