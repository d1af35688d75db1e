"""Reductions on the cpu.

A reduction folds the axes where out has length 1 and x has not. Two ways, chosen by where x's shortest stride lies:
along a reduced axis, each kept element folds whole rows of x into one accumulator; along a kept axis, a chunk of
accumulators takes one row of x after the other. The second way sums blocks of BLOCK rows before it merges them, so
that rounding errors stay small there too. A long fold into few elements is cut into segments, whatever the number of
threads.

The variance folds twice while its operand is near: the mean, in double, and the squares of the distances from it.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from treadle.ndarray._layout cimport (
    Cursor, Walk, absolute, advance, bound_walk, next_piece, open_range, plan_walk, walk_size,
)
from treadle.ndarray._threads cimport get_thread_count, run_blocks
from treadle.ndarray._types cimport td_view

cdef extern from "kernels/tiles.h" nogil:
    void td_prefetch(int64_t lines, int64_t bytes, const char *x, int64_t line_stride)

cdef enum:
    CHUNK = 1024  # columns side by side; half as many where threads share them
    BLOCK = 256
    WIDEST = 2  # doubles of an accumulator
    BLOCK_ELEMENTS = 1 << 16  # of x, what a thread takes at a time
    PARALLEL_ELEMENTS = 1 << 17
    FEW = 8  # kept elements
    MOST_SEGMENTS = 1024

cdef struct Fold:
    Walk outer  # the kept axes: x and out
    Walk inner  # the folded ones
    bint some  # there is something to fold
    int64_t start  # of the inner walk: planning turns negative strides round
    const td_reduction *kernel
    const td_squares *squares  # of the variance; else NULL
    double divisor
    int64_t outer_size
    int64_t inner_size
    int64_t block_steps
    bint prefetched  # columns lie densely, one row's far from the next one's


cdef void _split(const td_view *x, const td_view *out, td_view *kept, td_view *kept_out,
                 td_view *folded) noexcept nogil:
    """Part the axes of x into those that out keeps and those that are folded."""
    cdef int axis
    kept[0].data, kept_out[0].data, folded[0].data = x.data, out.data, x.data
    kept.dtype, kept_out.dtype, folded.dtype = x.dtype, out.dtype, x.dtype
    kept.ndim = kept_out.ndim = folded.ndim = 0
    for axis in range(x.ndim):
        if x.shape[axis] == out.shape[axis]:
            kept.shape[kept.ndim] = kept_out.shape[kept.ndim] = x.shape[axis]
            kept.strides[kept.ndim] = x.strides[axis]
            kept_out.strides[kept.ndim] = out.strides[axis]
            kept.ndim += 1
            kept_out.ndim += 1
        else:
            folded.shape[folded.ndim] = x.shape[axis]
            folded.strides[folded.ndim] = x.strides[axis]
            folded.ndim += 1


cdef inline int64_t _shortest(const td_view *view) noexcept nogil:
    cdef int64_t shortest = 1 << 62
    cdef int64_t stride
    cdef int axis
    for axis in range(view.ndim):
        stride = absolute(view.strides[axis])
        if view.shape[axis] > 1 and stride < shortest:
            shortest = stride
    return shortest


cdef void reduce_view(const td_reduction *kernel, const td_view *x, const td_view *out, double divisor) noexcept nogil:
    _reduce(kernel, NULL, x, out, divisor)


cdef void variance_view(const td_reduction *sum_kernel, const td_squares *squares, const td_view *x, const td_view *out,
                        double divisor) noexcept nogil:
    """The sum of squared distances from the mean over the divisor, in a floating dtype."""
    _reduce(sum_kernel, squares, x, out, divisor)


cdef void _reduce(const td_reduction *kernel, const td_squares *squares, const td_view *x, const td_view *out,
                  double divisor) noexcept nogil:
    cdef td_view kept, kept_out, folded
    cdef Fold fold
    cdef const td_view *views[4]
    cdef bint parallel
    cdef int64_t width
    _split(x, out, &kept, &kept_out, &folded)
    views[0], views[1] = &kept, &kept_out
    if not plan_walk(&fold.outer, 2, views):
        return
    views[0] = &folded
    fold.some = plan_walk(&fold.inner, 1, views)
    if not fold.some:
        fold.inner.ndim, fold.inner.shape[0], fold.inner.data[0] = 1, 0, x.data
    bound_walk(&fold.inner, 0, x)  # its start moves through x
    fold.kernel, fold.squares, fold.divisor = kernel, squares, divisor
    fold.start = fold.inner.data[0] - x.data
    fold.outer_size = walk_size(&fold.outer, fold.outer.ndim)
    fold.inner_size = walk_size(&fold.inner, fold.inner.ndim)
    fold.block_steps = BLOCK_ELEMENTS // max(<int64_t>1, fold.inner_size) + 1
    parallel = fold.outer_size * fold.inner_size >= PARALLEL_ELEMENTS
    if fold.some and _shortest(&folded) > _shortest(&kept):
        width = CHUNK if get_thread_count() == 1 else CHUNK // 2
        fold.block_steps = (fold.block_steps + width - 1) // width * width
        fold.prefetched = 0 < fold.outer.strides[0][fold.outer.ndim - 1] <= WIDEST * 8
        run_blocks((fold.outer_size + fold.block_steps - 1) // fold.block_steps, _fold_columns, &fold, parallel)
    elif parallel and fold.outer_size <= FEW:
        _fold_segments(&fold)
    else:
        run_blocks((fold.outer_size + fold.block_steps - 1) // fold.block_steps, _fold_rows, &fold, parallel)


cdef inline void _open_block(const Fold *fold, int64_t block, Cursor *cursor) noexcept nogil:
    cdef int64_t start = block * fold.block_steps
    open_range(&fold.outer, start, min(start + fold.block_steps, fold.outer_size), cursor)


# --- rows -------------------------------------------------------------------------------------------------------------
cdef void _fold_rows(void *context, int64_t block) noexcept nogil:
    cdef const Fold *fold = <const Fold *>context
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t i, count
    cdef int run = fold.outer.ndim - 1
    _open_block(fold, block, &cursor)
    while True:
        count = next_piece(&fold.outer, &cursor, fold.outer_size, at)
        if count == 0:
            return
        for i in range(count):
            _fold_row(fold, at[0] + i * fold.outer.strides[0][run], at[1] + i * fold.outer.strides[1][run])


cdef void _fold_row(const Fold *fold, char *x, char *out) noexcept nogil:
    cdef double[WIDEST] total
    cdef double center
    fold.kernel.start(1, <char *>total)
    if fold.some:
        _fold_range(fold, x, 0, fold.inner_size, NULL, <char *>total)
    if fold.squares != NULL:
        center = total[0] / max(<int64_t>1, fold.inner_size)
        fold.kernel.start(1, <char *>total)
        _fold_range(fold, x, 0, fold.inner_size, &center, <char *>total)
    fold.kernel.finish(1, <const char *>total, fold.divisor, out, 0)


cdef void _fold_range(const Fold *fold, char *x, int64_t start, int64_t stop, const double *center,
                      char *total) noexcept nogil:
    """Fold the steps from start to stop of the inner walk, or with a center their squares, into one accumulator."""
    cdef const Walk *inner = &fold.inner
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t count
    cdef int row = inner.ndim - 1
    cdef int64_t shift = x - inner.data[0] + fold.start
    if row == 0:  # by far the most frequent
        at[0] = x + fold.start + start * inner.strides[0][0]
        _fold_piece(fold, stop - start, at[0], center, total)
        return
    open_range(inner, start, stop, &cursor)
    while True:
        count = next_piece(inner, &cursor, stop - start, at)
        if count == 0:
            return
        _fold_piece(fold, count, at[0] + shift, center, total)


cdef inline void _fold_piece(const Fold *fold, int64_t count, const char *x, const double *center,
                             char *total) noexcept nogil:
    cdef int64_t stride = fold.inner.strides[0][fold.inner.ndim - 1]
    if center != NULL:
        fold.squares.row(count, x, stride, center[0], total)
    else:
        fold.kernel.row(count, x, stride, total)


# --- long rows --------------------------------------------------------------------------------------------------------
cdef struct Segments:
    const Fold *fold
    char *x
    const double *center
    int64_t length
    double totals[MOST_SEGMENTS * WIDEST]


cdef void _fold_segments(const Fold *fold) noexcept nogil:
    cdef Segments segments
    cdef Cursor cursor
    cdef char *at[4]
    cdef double[WIDEST] total
    cdef double center
    segments.fold = fold
    segments.length = max(<int64_t>BLOCK_ELEMENTS, (fold.inner_size + MOST_SEGMENTS - 1) // MOST_SEGMENTS)
    open_range(&fold.outer, 0, fold.outer_size, &cursor)
    while next_piece(&fold.outer, &cursor, 1, at):
        segments.x, segments.center = at[0], NULL
        _fold_one(&segments, <char *>total)
        if fold.squares != NULL:
            center = total[0] / fold.inner_size
            segments.center = &center
            _fold_one(&segments, <char *>total)
        fold.kernel.finish(1, <const char *>total, fold.divisor, at[1], 0)


cdef void _fold_one(Segments *segments, char *total) noexcept nogil:
    cdef const td_reduction *kernel = segments.fold.kernel
    cdef int64_t count = (segments.fold.inner_size + segments.length - 1) // segments.length
    cdef int64_t segment
    run_blocks(count, _fold_segment, segments, True)
    kernel.start(1, total)
    for segment in range(count):
        kernel.merge(1, <const char *>(segments.totals + segment * WIDEST), total)


cdef void _fold_segment(void *context, int64_t block) noexcept nogil:
    cdef Segments *segments = <Segments *>context
    cdef char *total = <char *>(segments.totals + block * WIDEST)
    cdef int64_t start = block * segments.length
    segments.fold.kernel.start(1, total)
    _fold_range(segments.fold, segments.x, start, min(start + segments.length, segments.fold.inner_size),
                segments.center, total)


# --- columns ----------------------------------------------------------------------------------------------------------
cdef void _fold_columns(void *context, int64_t block) noexcept nogil:
    cdef const Fold *fold = <const Fold *>context
    cdef double[CHUNK * WIDEST] total
    cdef double[CHUNK] centers
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t i, count
    cdef int run = fold.outer.ndim - 1
    _open_block(fold, block, &cursor)
    while True:
        count = next_piece(&fold.outer, &cursor, CHUNK, at)
        if count == 0:
            return
        _fold_chunk(fold, count, at[0], NULL, <char *>total)
        if fold.squares != NULL:
            for i in range(count):
                centers[i] = total[i] / fold.inner_size
            _fold_chunk(fold, count, at[0], centers, <char *>total)
        fold.kernel.finish(count, <const char *>total, fold.divisor, at[1], fold.outer.strides[1][run])


cdef void _fold_chunk(const Fold *fold, int64_t n, char *x, const double *centers, char *total) noexcept nogil:
    cdef double[CHUNK * WIDEST] storage
    cdef char *part = <char *>storage
    cdef const Walk *inner = &fold.inner
    cdef int64_t[32] position
    cdef char *data[4]
    cdef int row = inner.ndim - 1
    cdef int64_t folded = 0
    cdef int64_t first, lines
    fold.kernel.start(n, total)
    fold.kernel.start(n, part)
    data[0] = x + fold.start
    memset(position, 0, sizeof(position))
    while True:
        first = 0
        while first < inner.shape[row]:
            lines = min(BLOCK - folded, inner.shape[row] - first)
            _fold_lines(fold, n, data[0] + first * inner.strides[0][row], lines, centers, part)
            first += lines
            folded += lines
            if folded == BLOCK:
                fold.kernel.merge(n, part, total)
                fold.kernel.start(n, part)
                folded = 0
        if not advance(inner, row, data, position):
            break
    fold.kernel.merge(n, part, total)


cdef inline void _fold_lines(const Fold *fold, int64_t n, const char *x, int64_t lines, const double *centers,
                             char *part) noexcept nogil:
    cdef int64_t stride = fold.outer.strides[0][fold.outer.ndim - 1]
    cdef int64_t step = fold.inner.strides[0][fold.inner.ndim - 1]
    cdef int64_t i
    if centers == NULL:
        fold.kernel.column(n, x, stride, lines, step, part)
        return
    for i in range(lines):
        if fold.prefetched:
            td_prefetch(1, n * stride, x + (i + 1) * step, 0)
        fold.squares.column(n, x + i * step, stride, centers, part)
