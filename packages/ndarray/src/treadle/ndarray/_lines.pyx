"""Index reductions, scans and softmax on the cpu: work along each line of one axis.

Where the lines' own elements lie closest, line after line is done. Where the lines lie closer to each other than
their elements do, CHUNK lines are done side by side, so that memory is read along its dense direction.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from treadle.ndarray._elementwise cimport slots
from treadle.ndarray._layout cimport Cursor, Walk, absolute, next_piece, open_range, plan_walk, walk_size
from treadle.ndarray._threads cimport run_blocks
from treadle.ndarray._types cimport td_view

cdef extern from "kernels/tiles.h" nogil:
    const int64_t td_item_sizes[15]

cdef enum:
    CHUNK = 256
    LEAST_CHUNK = 8
    ARG_ROWS = 64  # elements of a line between two looks at whether it has a new best one
    BLOCK_ELEMENTS = 1 << 16
    PARALLEL_ELEMENTS = 1 << 17
    MOST_SEGMENTS = 256
    WIDEST = 16  # bytes of an element or accumulator

cdef struct Lines:
    Walk walk  # a step is a line of x, and its first element in out
    const td_arg_reduction *arg
    const td_reduction *scan
    td_softmax_loop softmax
    int form
    int64_t length
    int64_t stride
    int64_t out_stride
    int64_t itemsize
    int dtype
    int64_t size  # lines
    int64_t block_lines
    bint side_by_side


cdef bint _plan(Lines *lines, const td_view *x, int axis, const td_view *out) noexcept nogil:
    cdef td_view starts = x[0]
    cdef td_view out_starts = out[0]
    cdef const td_view *views[4]
    cdef Walk *walk = &lines.walk
    cdef int run
    starts.shape[axis] = out_starts.shape[axis] = 1
    views[0], views[1] = &starts, &out_starts
    lines.length, lines.stride, lines.out_stride = x.shape[axis], x.strides[axis], out.strides[axis]
    lines.dtype, lines.itemsize = x.dtype, td_item_sizes[x.dtype]
    if lines.length == 0 or not plan_walk(walk, 2, views):
        return False
    run = walk.ndim - 1
    lines.size = walk_size(walk, walk.ndim)
    lines.side_by_side = (walk.shape[run] >= LEAST_CHUNK
                          and 0 < absolute(walk.strides[0][run]) < absolute(lines.stride))
    lines.block_lines = max(<int64_t>1, BLOCK_ELEMENTS // lines.length)
    if lines.side_by_side:
        lines.block_lines = (lines.block_lines + CHUNK - 1) // CHUNK * CHUNK
    return True


cdef void _run(Lines *lines, void (*body)(void *context, int64_t block) noexcept nogil) noexcept nogil:
    cdef int64_t blocks = (lines.size + lines.block_lines - 1) // lines.block_lines
    run_blocks(blocks, body, lines, lines.size * lines.length >= PARALLEL_ELEMENTS)


cdef inline void _open_block(const Lines *lines, int64_t block, Cursor *cursor) noexcept nogil:
    cdef int64_t start = block * lines.block_lines
    open_range(&lines.walk, start, min(start + lines.block_lines, lines.size), cursor)


# --- argmax, argmin ---------------------------------------------------------------------------------------------------
cdef void arg_view(const td_arg_reduction *kernel, const td_view *x, int axis, const td_view *out) noexcept nogil:
    cdef Lines lines
    if not _plan(&lines, x, axis, out):
        return
    lines.arg = kernel
    if lines.side_by_side:
        _run(&lines, _arg_chunks)
    elif lines.size == 1 and lines.length >= PARALLEL_ELEMENTS:
        _arg_long_line(&lines)
    else:
        _run(&lines, _arg_lines)


cdef void _arg_lines(void *context, int64_t block) noexcept nogil:
    cdef const Lines *lines = <const Lines *>context
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t i, count
    cdef int run = lines.walk.ndim - 1
    _open_block(lines, block, &cursor)
    while True:
        count = next_piece(&lines.walk, &cursor, CHUNK, at)
        if count == 0:
            return
        for i in range(count):
            (<int64_t *>(at[1] + i * lines.walk.strides[1][run]))[0] = lines.arg.row(
                lines.length, at[0] + i * lines.walk.strides[0][run], lines.stride)


cdef void _arg_chunks(void *context, int64_t block) noexcept nogil:
    cdef const Lines *lines = <const Lines *>context
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t count
    _open_block(lines, block, &cursor)
    while True:
        count = next_piece(&lines.walk, &cursor, CHUNK, at)
        if count == 0:
            return
        _arg_chunk(lines, count, at[0], at[1])


cdef void _arg_chunk(const Lines *lines, int64_t count, const char *x, char *out) noexcept nogil:
    """The best of ARG_ROWS elements of each line after those of the next; then the place within the best ones."""
    cdef char[CHUNK * WIDEST] best
    cdef char[CHUNK * WIDEST] part
    cdef int64_t[CHUNK] starts
    cdef int run = lines.walk.ndim - 1
    cdef int64_t step = lines.walk.strides[0][run]
    cdef int64_t out_step = lines.walk.strides[1][run]
    cdef int64_t start = 0
    cdef int64_t row, i
    memset(starts, 0, sizeof(starts))
    while start < lines.length:
        slots.cast[lines.dtype][lines.dtype](count, x + start * lines.stride, step, part, lines.itemsize)
        for row in range(start + 1, min(start + ARG_ROWS, lines.length)):
            lines.arg.column(count, x + row * lines.stride, step, part)
        if start == 0:
            memcpy(best, part, count * lines.itemsize)
        else:
            lines.arg.merge(count, part, start, best, starts)
        start += ARG_ROWS
    for i in range(count):
        start = starts[i]
        (<int64_t *>(out + i * out_step))[0] = start + lines.arg.row(
            min(<int64_t>ARG_ROWS, lines.length - start), x + i * step + start * lines.stride, lines.stride)


cdef struct Segments:
    const Lines *lines
    int64_t length
    int64_t best[MOST_SEGMENTS]
    char values[MOST_SEGMENTS * WIDEST]


cdef void _arg_long_line(Lines *lines) noexcept nogil:
    """The best of each segment, then the best of these."""
    cdef Segments segments
    cdef int64_t count
    segments.lines = lines
    segments.length = max(<int64_t>BLOCK_ELEMENTS, (lines.length + MOST_SEGMENTS - 1) // MOST_SEGMENTS)
    count = (lines.length + segments.length - 1) // segments.length
    run_blocks(count, _arg_segment, &segments, True)
    (<int64_t *>lines.walk.data[1])[0] = segments.best[lines.arg.row(count, segments.values, lines.itemsize)]


cdef void _arg_segment(void *context, int64_t block) noexcept nogil:
    cdef Segments *segments = <Segments *>context
    cdef const Lines *lines = segments.lines
    cdef int64_t start = block * segments.length
    cdef int64_t best = start + lines.arg.row(min(segments.length, lines.length - start),
                                              lines.walk.data[0] + start * lines.stride, lines.stride)
    segments.best[block] = best
    memcpy(segments.values + block * lines.itemsize, lines.walk.data[0] + best * lines.stride, lines.itemsize)


# --- scans ------------------------------------------------------------------------------------------------------------
cdef void scan_view(const td_reduction *kernel, const td_view *x, int axis, const td_view *out) noexcept nogil:
    cdef Lines lines
    if not _plan(&lines, x, axis, out):
        return
    lines.scan = kernel
    _run(&lines, _scan_chunks if lines.side_by_side and kernel.column != NULL else _scan_lines)


cdef void _scan_lines(void *context, int64_t block) noexcept nogil:
    cdef const Lines *lines = <const Lines *>context
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t count
    cdef int run = lines.walk.ndim - 1
    _open_block(lines, block, &cursor)
    while True:
        count = next_piece(&lines.walk, &cursor, CHUNK, at)
        if count == 0:
            return
        lines.scan.scan(lines.length, at[0], lines.stride, count, lines.walk.strides[0][run],
                        at[1], lines.out_stride, lines.walk.strides[1][run])


cdef void _scan_chunks(void *context, int64_t block) noexcept nogil:
    cdef const Lines *lines = <const Lines *>context
    cdef char[CHUNK * WIDEST] running
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t row, count
    cdef int run = lines.walk.ndim - 1
    _open_block(lines, block, &cursor)
    while True:
        count = next_piece(&lines.walk, &cursor, CHUNK, at)
        if count == 0:
            return
        lines.scan.scan_start(count, running)
        for row in range(lines.length):
            lines.scan.column(count, at[0] + row * lines.stride, lines.walk.strides[0][run], 1, 0, running)
            lines.scan.finish(count, running, 1.0, at[1] + row * lines.out_stride, lines.walk.strides[1][run])


# --- softmax and its kin ----------------------------------------------------------------------------------------------
cdef void softmax_view(td_softmax_loop kernel, const td_view *x, int axis, const td_view *out, int form) noexcept nogil:
    """Along an axis whose elements lie densely in x, and, but for logsumexp, in out."""
    cdef Lines lines
    if not _plan(&lines, x, axis, out):
        return
    lines.softmax, lines.form = kernel, form
    lines.block_lines = max(<int64_t>1, BLOCK_ELEMENTS // 4 // lines.length)
    _run(&lines, _softmax_lines)


cdef void _softmax_lines(void *context, int64_t block) noexcept nogil:
    cdef const Lines *lines = <const Lines *>context
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t i, count
    cdef int run = lines.walk.ndim - 1
    _open_block(lines, block, &cursor)
    while True:
        count = next_piece(&lines.walk, &cursor, CHUNK, at)
        if count == 0:
            return
        for i in range(count):
            lines.softmax(lines.length, at[0] + i * lines.walk.strides[0][run], at[1] + i * lines.walk.strides[1][run],
                          lines.form)
