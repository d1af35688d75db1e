"""Elementwise work on the cpu: views are cut into runs, the slot table's loops do them.

Where an operand's closest elements lie along another axis than the output's, as in ``a + b.T``, the two axes are walked
in tiles, and the operand's part of a tile is transposed into a buffer first: every cache line that is fetched is used
whole before it is lost.
"""

from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy, memset

from treadle.ndarray._layout cimport (
    Cursor, Walk, absolute, crossing_axis, is_dense, locate, move_axis, next_piece, next_run, open_range, plan_walk,
    view_size, walk_size,
)
from treadle.ndarray._threads cimport run_blocks
from treadle.ndarray._types cimport TD_f64, TD_i64, is_inexact, td_view

cdef extern from "kernels/tiles.h" nogil:
    const int64_t td_item_sizes[15]
    void td_transpose(int64_t itemsize, int64_t lines, int64_t length, const char *x, int64_t line_stride,
                      int64_t stride, char *out, int64_t out_stride)
    void td_prefetch(int64_t lines, int64_t bytes, const char *x, int64_t line_stride)
    void td_stream(char *out, const char *x, int64_t bytes)
    void td_stream_fence()

cdef enum:
    TILE_BYTES = 16384  # of an operand: two or three of them fit the first cache
    TILE_LINE = 256  # bytes of a row of the operand that lies across
    STAGE_BYTES = 4096
    BLOCK_ELEMENTS = 1 << 14  # what a thread takes at a time
    BLOCK_TILES = 8
    PARALLEL_ELEMENTS = 1 << 16
    STREAM_FROM = 32 << 20  # bytes of an output that goes past the caches
    STREAM_TILES_FROM = 1 << 20  # the same where it is written in tiles

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


cdef struct Job:
    Walk walk
    int64_t run_strides[4]
    void *loop
    int64_t size
    int64_t out_size  # bytes of an element
    bint streams  # the output, past the caches
    int64_t tiles
    int64_t tile_rows
    int64_t tile_columns
    int64_t row_tiles
    int64_t column_tiles
    int64_t itemsizes[4]  # of the operands that lie across the tiles; 0 for the others


cdef inline void _call(const Job *job, int64_t n, char **data, const int64_t *strides) noexcept nogil:
    if job.walk.operands == 2:
        (<td_unary_loop>job.loop)(n, data[0], strides[0], data[1], strides[1])
    elif job.walk.operands == 3:
        (<td_binary_loop>job.loop)(n, data[0], strides[0], data[1], strides[1], data[2], strides[2])
    else:
        (<td_ternary_loop>job.loop)(n, data[0], strides[0], data[1], strides[1], data[2], strides[2], data[3],
                                    strides[3])


cdef void _run_streamed(const Job *job, int64_t n, char **data, const int64_t *strides) noexcept nogil:
    """The run by pieces: each is computed in a buffer and goes from there past the caches."""
    cdef char[STAGE_BYTES + 64] memory
    cdef char *stage = <char *>((<uintptr_t>memory + 63) & ~<uintptr_t>63)
    cdef int last = job.walk.operands - 1
    cdef int64_t size = strides[last]
    cdef char *at[4]
    cdef char *out = data[last]
    cdef int operand
    cdef int64_t count
    for operand in range(last):
        at[operand] = data[operand]
    while n > 0:
        count = min(n, (STAGE_BYTES - (<int64_t>(<uintptr_t>out & 63))) // size)  # ends with a cache line of out
        at[last] = stage
        _call(job, count, at, strides)
        td_stream(out, stage, count * size)
        for operand in range(last):
            at[operand] += count * strides[operand]
        out += count * size
        n -= count


cdef inline void _do_run(const Job *job, int64_t n, char **data, const int64_t *strides) noexcept nogil:
    if job.streams:
        _run_streamed(job, n, data, strides)
    else:
        _call(job, n, data, strides)


cdef bint _should_stream(const Job *job, int64_t least) noexcept nogil:
    """Whether the output is dense along the run, new, and so large that the caches would lose it before it is read."""
    cdef const Walk *walk = &job.walk
    cdef int last = walk.operands - 1
    cdef int run = walk.ndim - 1
    cdef int operand
    if walk.strides[last][run] != job.out_size or job.size * job.out_size < least:
        return False
    for operand in range(last):
        if walk.data[operand] == walk.data[last]:
            return False
    return walk.shape[run] * job.out_size >= TILE_LINE


cdef void _run(void *loop, int operands, const td_view **views) noexcept nogil:
    cdef Job job
    cdef int operand, run
    cdef int crossing
    if not plan_walk(&job.walk, operands, views):
        return
    job.loop = loop
    job.out_size = td_item_sizes[views[operands - 1].dtype]
    crossing = crossing_axis(&job.walk)
    run = job.walk.ndim - 1
    for operand in range(operands):
        job.run_strides[operand] = job.walk.strides[operand][run]
    job.size = walk_size(&job.walk, job.walk.ndim)
    if crossing < 0:
        _run_lines(&job)
        return
    job.streams = _should_stream(&job, STREAM_TILES_FROM)
    _cut_tiles(&job, crossing, views)
    job.tiles = walk_size(&job.walk, run - 1) * job.row_tiles * job.column_tiles
    run_blocks((job.tiles + BLOCK_TILES - 1) // BLOCK_TILES, _tiles_block, &job, job.size >= PARALLEL_ELEMENTS)


cdef void _run_lines(Job *job) noexcept nogil:
    cdef int64_t position[32]
    job.streams = _should_stream(job, STREAM_FROM)
    if job.size >= PARALLEL_ELEMENTS:
        run_blocks((job.size + BLOCK_ELEMENTS - 1) // BLOCK_ELEMENTS, _lines_block, job, True)
        return
    memset(position, 0, job.walk.ndim * sizeof(int64_t))
    while True:
        _call(job, job.walk.shape[job.walk.ndim - 1], job.walk.data, job.run_strides)
        if not next_run(&job.walk, position):
            return


cdef void _lines_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    cdef Cursor cursor
    cdef char *at[4]
    cdef int64_t count
    open_range(&job.walk, block * BLOCK_ELEMENTS, min((block + 1) * BLOCK_ELEMENTS, job.size), &cursor)
    while True:
        count = next_piece(&job.walk, &cursor, BLOCK_ELEMENTS, at)
        if count == 0:
            break
        _do_run(job, count, at, job.run_strides)
    if job.streams:
        td_stream_fence()


cdef void _tiles_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    cdef int64_t tile
    for tile in range(block * BLOCK_TILES, min((block + 1) * BLOCK_TILES, job.tiles)):
        _run_tile(job, tile)
    if job.streams:
        td_stream_fence()


cdef void _cut_tiles(Job *job, int crossing, const td_view **views) noexcept nogil:
    """Tiles span the run (columns) and the crossing axis (rows); each operand's part of one fits the first cache."""
    cdef Walk *walk = &job.walk
    cdef int run = walk.ndim - 1
    cdef int operand
    cdef int64_t widest = 1
    cdef int64_t stride
    move_axis(walk, crossing, run - 1)
    for operand in range(walk.operands):
        widest = max(widest, td_item_sizes[views[operand].dtype])
        stride = absolute(walk.strides[operand][run - 1])
        job.itemsizes[operand] = 0
        if operand < walk.operands - 1 and 0 < stride < absolute(walk.strides[operand][run]):
            job.itemsizes[operand] = td_item_sizes[views[operand].dtype]
    job.tile_rows = min(walk.shape[run - 1], max(<int64_t>16, min(<int64_t>128, TILE_LINE // widest)))
    job.tile_columns = min(walk.shape[run], TILE_BYTES // (job.tile_rows * widest))
    job.row_tiles = (walk.shape[run - 1] + job.tile_rows - 1) // job.tile_rows
    job.column_tiles = (walk.shape[run] + job.tile_columns - 1) // job.tile_columns


cdef void _run_tile(const Job *job, int64_t tile) noexcept nogil:
    """One tile, row by row; of an operand that lies across, a transposed copy is made first."""
    cdef char[3 * TILE_BYTES + 64] memory
    cdef char *buffer = <char *>((<uintptr_t>memory + 63) & ~<uintptr_t>63)
    cdef const Walk *walk = &job.walk
    cdef int run = walk.ndim - 1
    cdef int64_t position[32]
    cdef int64_t strides[4]
    cdef int64_t steps[4]
    cdef char *data[4]
    cdef int64_t first_row = tile % job.row_tiles * job.tile_rows
    cdef int64_t first_column = tile // job.row_tiles % job.column_tiles * job.tile_columns
    cdef int64_t rows = min(job.tile_rows, walk.shape[run - 1] - first_row)
    cdef int64_t columns = min(job.tile_columns, walk.shape[run] - first_column)
    cdef int64_t _row, size
    cdef int operand
    locate(walk, run - 1, tile // (job.row_tiles * job.column_tiles), data, position)
    for operand in range(walk.operands):
        steps[operand], strides[operand] = walk.strides[operand][run - 1], job.run_strides[operand]
        data[operand] += first_row * steps[operand] + first_column * strides[operand]
        size = job.itemsizes[operand]
        if not size:
            if operand < walk.operands - 1 and steps[operand] != 0 and strides[operand] != 0:
                td_prefetch(rows, columns * strides[operand], data[operand] + rows * steps[operand], steps[operand])
        else:
            td_prefetch(columns, rows * size, data[operand] + rows * steps[operand], strides[operand])
            td_transpose(size, columns, rows, data[operand], strides[operand], steps[operand], buffer, columns * size)
            data[operand], steps[operand], strides[operand] = buffer, columns * size, size
            buffer += TILE_BYTES
    for _row in range(rows):
        _do_run(job, columns, data, strides)
        for operand in range(walk.operands):
            data[operand] += steps[operand]


cdef void run_unary(td_unary_loop loop, const td_view *x, const td_view *out) noexcept nogil:
    cdef const td_view *views[4]
    views[0], views[1] = x, out
    _run(<void *>loop, 2, views)


cdef void run_binary(td_binary_loop loop, const td_view *x, const td_view *y, const td_view *out) noexcept nogil:
    cdef const td_view *views[4]
    views[0], views[1], views[2] = x, y, out
    _run(<void *>loop, 3, views)


cdef void run_ternary(td_ternary_loop loop, const td_view *x, const td_view *y, const td_view *z,
                      const td_view *out) noexcept nogil:
    cdef const td_view *views[4]
    views[0], views[1], views[2], views[3] = x, y, z, out
    _run(<void *>loop, 4, views)


cdef void run_dense_binary(td_binary_loop loop, int64_t n, char *x, int64_t sx, char *y, int64_t sy, char *out,
                           int64_t itemsize) noexcept nogil:
    """Dense operands, or single elements with a step of 0, and a new dense output."""
    cdef Job job
    cdef int operand
    job.walk.operands, job.walk.ndim, job.walk.shape[0] = 3, 1, n
    job.walk.data[0], job.walk.data[1], job.walk.data[2] = x, y, out
    job.run_strides[0], job.run_strides[1], job.run_strides[2] = sx, sy, itemsize
    for operand in range(3):
        job.walk.strides[operand][0] = job.run_strides[operand]
    job.loop, job.size, job.out_size = <void *>loop, n, itemsize
    _run_lines(&job)


cdef void turn(int64_t itemsize, int64_t lines, int64_t length, const char *x, int64_t line_stride, int64_t stride,
               char *out, int64_t out_stride) noexcept nogil:
    td_transpose(itemsize, lines, length, x, line_stride, stride, out, out_stride)


cdef void copy_view(const td_view *x, const td_view *out, int64_t itemsize) noexcept nogil:
    """out = x, converting the dtype. x and out must not overlap unless they are the same view."""
    if x.dtype == out.dtype and is_dense(x, itemsize) and is_dense(out, itemsize):
        if view_size(out) < PARALLEL_ELEMENTS:
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
