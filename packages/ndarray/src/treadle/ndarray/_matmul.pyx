# cython: cdivision=True
"""The matrix product on the cpu.

Floating types go one of these ways, by size and layout:

- a few rows times a transposed matrix: dot products; one row times a dense one: sums of its rows;
- small matrices: tile by tile straight from the operands; of a transposed b, one sliver at a time is packed on the
  stack;
- large ones, blocked (_panels.pyx);
- several small matrices of a batch: the batch is cut into runs.

Integers and bool take the plain loops of the kernel table.

Long sums are cut into runs over p, whose results meet in double precision: rounding errors grow with the length of a
run, not with that of the sum. Of thin products the threads take runs.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from treadle.ndarray._panels cimport (
    ALIGNMENT, SLIVER_BYTES, STEP_BYTES, Operand, Product, acquire_memory, aligned, ceil_div, kernels, multiply_blocked,
    multiply_blocked_onto, release_memory, row_block_count, select_kernels, smaller, tile_start, transpose)
from treadle.ndarray._threads cimport run_blocks
from treadle.ndarray._types cimport TD_f32, TD_f64, td_view

cdef enum:
    DIRECT_COLUMNS = 512  # of a block that is computed without packing
    DIRECT_ROWS = 112  # most rows where a transposed b is packed on the stack
    DIRECT_BYTES = 160 * 1024  # of b: more would leave the second cache to strides
    STREAM_BYTES = 4 << 20
    DIRECT_WORK = 1 << 20  # multiplications up to which a transposed b is packed on the stack
    DOTS_ROWS = 4
    DOTS_BYTES = 64 * 1024  # of b in a block of dot products
    PARALLEL_WORK = 1 << 22  # multiplications below which threads cost more than they give
    PARALLEL_BYTES = 1 << 20  # of b, where each element is used once or a few times
    PLAIN_PARALLEL_WORK = 1 << 19
    BATCH_WORK = 1 << 20  # of a run of small matrices
    PLAIN_ROWS = 16
    ROWS_RUN = 2048  # products that are added one after another, at most
    DOTS_RUN = 8192  # the same where each lane of a vector has a sum of its own
    BLOCKED_RUN = 1 << 16  # the same where panels have
    THIN_AREA = 1 << 14  # elements of out up to which the threads take runs
    THIN_RUN = 2048
    MERGE_COLUMNS = 128
    PARTS_BYTES = 2048  # of runs' results that the stack holds


# --- few rows ---------------------------------------------------------------------------------------------------------
cdef int64_t _dots_columns(const Product *p) noexcept nogil:
    """Columns of b in a block, a multiple of four."""
    return ceil_div(DOTS_BYTES // 4, p.k * p.itemsize) * 4


cdef void _dots_block(void *context, int64_t block) noexcept nogil:
    cdef const Product *p = <const Product *>context
    cdef int64_t start = block * _dots_columns(p)
    cdef int64_t columns = smaller(p.n - start, _dots_columns(p))
    cdef int64_t i
    for i in range(p.m):
        p.tiles.dots(columns, p.k, p.a.data + i * p.a.row, p.b.data + start * p.b.column, p.b.column,
                     p.out.data + i * p.out.row + start * p.out.column, p.out.column)


cdef void _combine_block(void *context, int64_t block) noexcept nogil:
    cdef const Product *p = <const Product *>context
    cdef int64_t start = block * DIRECT_COLUMNS
    p.tiles.combine(smaller(p.n - start, DIRECT_COLUMNS), p.k, p.a.data, p.a.column,
                    p.b.data + start * p.itemsize, p.b.row, p.out.data + start * p.itemsize)


# --- without packing --------------------------------------------------------------------------------------------------
cdef void _direct_rows(const Product *p, int64_t first, int64_t rows, int64_t start, int64_t end) noexcept nogil:
    """One tile's rows of out, for the columns from start to end."""
    cdef int64_t width = p.tiles.columns
    cdef const char *a = p.a.data + first * p.a.row
    cdef char *out = p.out.data + first * p.out.row
    cdef int64_t j = start
    while j < end:
        p.tiles.tile(rows, smaller(end - j, width), p.k, a, p.a.row, p.a.column, p.b.data + j * p.itemsize, p.b.row,
                     out + j * p.itemsize, p.out.row, NULL, 0)
        j += width


cdef void _direct_packed(const Product *p, int64_t first, int64_t last, int64_t slivers, int64_t j,
                         int64_t columns) noexcept nogil:
    """Some tiles below each other."""
    cdef char[SLIVER_BYTES + ALIGNMENT] memory
    cdef char *packed = aligned(memory)
    cdef int64_t start = 0
    cdef int64_t steps, sliver, i
    cdef char *out
    while start < p.k:
        steps = smaller(p.k - start, STEP_BYTES // p.itemsize)
        p.tiles.pack(steps, columns, columns, p.b.data + start * p.b.row + j * p.b.column, p.b.row, p.b.column, packed)
        for sliver in range(first, last):
            i = tile_start(p.m, slivers, sliver)
            out = p.out.data + i * p.out.row + j * p.itemsize
            p.tiles.tile(tile_start(p.m, slivers, sliver + 1) - i, columns, steps,
                         p.a.data + i * p.a.row + start * p.a.column, p.a.row, p.a.column, packed,
                         columns * p.itemsize, out, p.out.row, out if start > 0 else NULL, p.out.row)
        start += steps


cdef int64_t _direct_row_blocks(const Product *p) noexcept nogil:
    """One where each would pack b anew."""
    return row_block_count(ceil_div(p.m, p.tiles.rows)) if p.b.column == p.itemsize else 1


cdef void _direct_block(void *context, int64_t block) noexcept nogil:
    cdef const Product *p = <const Product *>context
    cdef int64_t column_blocks = ceil_div(p.n, DIRECT_COLUMNS)
    cdef int64_t slivers = ceil_div(p.m, p.tiles.rows)
    cdef int64_t row_blocks = _direct_row_blocks(p)
    cdef int64_t start = block % column_blocks * DIRECT_COLUMNS
    cdef int64_t end = smaller(start + DIRECT_COLUMNS, p.n)
    cdef int64_t first = block // column_blocks * slivers // row_blocks
    cdef int64_t last = (block // column_blocks + 1) * slivers // row_blocks
    cdef int64_t width = p.tiles.columns
    cdef int64_t sliver, i
    cdef int64_t j = start
    if p.b.column == p.itemsize:
        for sliver in range(first, last):
            i = tile_start(p.m, slivers, sliver)
            _direct_rows(p, i, tile_start(p.m, slivers, sliver + 1) - i, start, end)
        return
    while j < end:
        _direct_packed(p, first, last, slivers, j, smaller(end - j, width))
        j += width


# --- one matrix -------------------------------------------------------------------------------------------------------
cdef void _fill_zero(const Product *p) noexcept nogil:
    cdef int64_t i, j
    for i in range(p.m):
        for j in range(p.n):
            memset(p.out.data + i * p.out.row + j * p.out.column, 0, <size_t>p.itemsize)


cdef void _plain_block(void *context, int64_t block) noexcept nogil:
    cdef const Product *p = <const Product *>context
    cdef int64_t first = block * PLAIN_ROWS
    p.plain(smaller(p.m - first, PLAIN_ROWS), p.n, p.k, p.a.data + first * p.a.row, p.a.row, p.a.column, p.b.data,
            p.b.row, p.b.column, p.out.data + first * p.out.row, p.out.row, p.out.column)


cdef int _through_copy(const Product *product) noexcept nogil:
    """out's elements lie apart in both directions: compute a dense matrix, then spread it."""
    cdef Product p = product[0]
    cdef char *memory = acquire_memory(p.m * p.n * p.itemsize)
    cdef int64_t i, j
    cdef int status
    if memory == NULL:
        return -1
    p.out.data, p.out.row, p.out.column = memory, p.n * p.itemsize, p.itemsize
    status = _multiply(&p)
    if status == 0:
        for i in range(p.m):
            for j in range(p.n):
                memcpy(product.out.data + i * product.out.row + j * product.out.column,
                       p.out.data + i * p.out.row + j * p.itemsize, <size_t>p.itemsize)
    release_memory(memory)
    return status


cdef bint _is_direct(const Product *p, double work) noexcept nogil:
    """Whether b is met so seldom, or lies so close together, that packing it would not pay."""
    if p.b.column == p.itemsize:
        return ((p.m <= 2 * p.tiles.rows and <double>p.n * p.k * p.itemsize <= STREAM_BYTES)
                or <double>p.n * p.k * p.itemsize <= DIRECT_BYTES)
    return p.m <= DIRECT_ROWS and work <= DIRECT_WORK


cdef void _lay_out(Product *p) noexcept nogil:
    """Give axes of length 1, whose strides mean nothing, dense ones; turn the product round where that lies better."""
    if p.k == 1:
        p.a.column, p.b.row = p.itemsize, p.itemsize
    if p.n == 1:
        p.b.column = p.out.column = p.itemsize
    if p.m == 1:
        p.a.row = p.out.row = p.itemsize
    if p.tiles == NULL:
        if p.b.column != p.itemsize and p.a.row == p.itemsize:
            transpose(p)
    elif (p.n == 1 and p.m > 1) or (p.out.column != p.itemsize and p.out.row == p.itemsize):
        transpose(p)


# --- long sums --------------------------------------------------------------------------------------------------------
cdef struct LongSum:
    Product product
    int64_t steps  # of a run
    int64_t runs
    char *parts  # the runs' results, dense, one behind the other
    int failed


cdef void _run_block(void *context, int64_t block) noexcept nogil:
    cdef LongSum *total = <LongSum *>context
    cdef Product p = total.product
    cdef int64_t start = block * total.steps
    p.k = smaller(p.k - start, total.steps)
    p.a.data += start * p.a.column
    p.b.data += start * p.b.row
    p.out.data = total.parts + block * p.m * p.n * p.itemsize
    p.out.row, p.out.column = p.n * p.itemsize, p.itemsize
    if _multiply(&p) != 0:
        total.failed = 1


cdef void _merge_f32(const LongSum *total, int64_t start, int64_t count, double *sums) noexcept nogil:
    cdef int64_t size = total.product.m * total.product.n
    cdef const float *part = <const float *>total.parts + start
    cdef int64_t j, _
    for _ in range(total.runs):
        for j in range(count):
            sums[j] += part[j]
        part += size


cdef void _merge_f64(const LongSum *total, int64_t start, int64_t count, double *sums) noexcept nogil:
    """With what each addition loses added at the end (Knuth, The Art of Computer Programming 2, 4.2.2)."""
    cdef double[MERGE_COLUMNS] lost
    cdef int64_t size = total.product.m * total.product.n
    cdef const double *part = <const double *>total.parts + start
    cdef double x, added
    cdef int64_t j, _
    for j in range(count):
        lost[j] = 0
    for _ in range(total.runs):
        for j in range(count):
            x = sums[j] + part[j]
            added = x - sums[j]
            lost[j] += (sums[j] - (x - added)) + (part[j] - added)
            sums[j] = x
        part += size
    for j in range(count):
        if lost[j] - lost[j] == 0:  # infinities lose NaN
            sums[j] += lost[j]


cdef void _merge_runs(const LongSum *total, const Operand *out) noexcept nogil:
    """out = the sum of the runs' results, in order."""
    cdef double[MERGE_COLUMNS] sums
    cdef int64_t n = total.product.n
    cdef int64_t i, j, start, count
    cdef char *to
    for i in range(total.product.m):
        start = 0
        while start < n:
            count = smaller(n - start, MERGE_COLUMNS)
            for j in range(count):
                sums[j] = -0.0
            to = out.data + i * out.row + start * out.column
            if total.product.itemsize == sizeof(float):
                _merge_f32(total, i * n + start, count, sums)
                for j in range(count):
                    (<float *>(to + j * out.column))[0] = <float>sums[j]
            else:
                _merge_f64(total, i * n + start, count, sums)
                for j in range(count):
                    (<double *>(to + j * out.column))[0] = sums[j]
            start += count


cdef int _multiply_long(Product *p, int64_t longest, bint parallel) noexcept nogil:
    """One product, as the sum of runs of about the same length."""
    cdef char[PARTS_BYTES + ALIGNMENT] memory
    cdef LongSum total
    cdef int64_t nbytes
    total.product, total.failed = p[0], 0
    total.steps = ceil_div(p.k, ceil_div(p.k, longest))
    total.runs = ceil_div(p.k, total.steps)
    nbytes = total.runs * p.m * p.n * p.itemsize
    total.parts = aligned(memory) if nbytes <= PARTS_BYTES else acquire_memory(nbytes)
    if total.parts == NULL:
        return -1
    run_blocks(total.runs, _run_block, &total, parallel and p.m * p.n <= THIN_AREA)
    if not total.failed:
        _merge_runs(&total, &p.out)
    if nbytes > PARTS_BYTES:
        release_memory(total.parts)
    return -1 if total.failed else 0


# --- one matrix, by its way -------------------------------------------------------------------------------------------
cdef bint _is_dots(const Product *p) noexcept nogil:
    return (p.m <= DOTS_ROWS and p.b.row == p.itemsize and (p.b.column != p.itemsize or p.n == 1)
            and p.a.column == p.itemsize)


cdef int64_t _longest_run(const Product *p, double work) noexcept nogil:
    if p.tiles == NULL:
        return p.k
    if _is_dots(p):
        return DOTS_RUN
    if p.m == 1 or _is_direct(p, work):
        return ROWS_RUN
    return THIN_RUN if p.m > 2 * p.tiles.rows and p.m * p.n <= THIN_AREA else BLOCKED_RUN


cdef int _multiply(Product *p) noexcept nogil:
    """One product of matrices with m, n > 0."""
    cdef double work = <double>p.m * p.n * p.k
    cdef bint parallel = work >= (PARALLEL_WORK if p.tiles != NULL else PLAIN_PARALLEL_WORK)
    cdef bint streams
    if p.k == 0:
        _fill_zero(p)
        return 0
    _lay_out(p)
    streams = parallel or <double>p.n * p.k * p.itemsize >= PARALLEL_BYTES
    if p.k > _longest_run(p, work):
        return _multiply_long(p, _longest_run(p, work), streams)
    if p.tiles == NULL:
        run_blocks(ceil_div(p.m, PLAIN_ROWS), _plain_block, p, parallel)
    elif _is_dots(p):
        run_blocks(ceil_div(p.n, _dots_columns(p)), _dots_block, p, streams)
    elif p.out.column != p.itemsize:
        return _through_copy(p)
    elif p.m == 1 and p.b.column == p.itemsize and p.n >= 2 * p.tiles.columns:
        run_blocks(ceil_div(p.n, DIRECT_COLUMNS), _combine_block, p, streams)
    elif _is_direct(p, work):
        run_blocks(_direct_row_blocks(p) * ceil_div(p.n, DIRECT_COLUMNS), _direct_block, p, parallel)
    else:
        return multiply_blocked(p, parallel)
    return 0


# --- onto a row -------------------------------------------------------------------------------------------------------
cdef void _add_row(const Product *p, const char *row) noexcept nogil:
    cdef int64_t i, j
    cdef char *to
    for i in range(p.m):
        for j in range(p.n):
            to = p.out.data + i * p.out.row + j * p.out.column
            if p.itemsize == sizeof(float):
                (<float *>to)[0] += (<const float *>row)[j]
            else:
                (<double *>to)[0] += (<const double *>row)[j]


cdef int _multiply_onto(Product *p, const char *row) noexcept nogil:
    """A product of floats plus a row that is added to each of the result's, in the kernel where that is blocked."""
    cdef Product whole = p[0]
    cdef double work = <double>p.m * p.n * p.k
    cdef int status
    _lay_out(p)
    if (p.n == whole.n and 0 < p.k <= BLOCKED_RUN and p.out.column == p.itemsize and p.m > 1 and not _is_dots(p)
            and not _is_direct(p, work)):
        return multiply_blocked_onto(p, row, work >= PARALLEL_WORK)
    status = _multiply(p)
    if status == 0:
        _add_row(&whole, row)
    return status


# --- batches ----------------------------------------------------------------------------------------------------------
cdef struct Batch:
    Product product
    int ndim
    int64_t size
    int64_t run  # matrices in a block
    const td_view *a
    const td_view *b
    const td_view *out
    const char *row  # that is added to all, or NULL
    int failed


cdef void _batch_block(void *context, int64_t block) noexcept nogil:
    cdef Batch *batch = <Batch *>context
    cdef Product p
    cdef int64_t index, rest, position
    cdef int axis
    for index in range(block * batch.run, smaller((block + 1) * batch.run, batch.size)):
        p = batch.product
        rest = index
        for axis in range(batch.ndim - 1, -1, -1):
            position = rest % batch.out.shape[axis]
            rest //= batch.out.shape[axis]
            p.a.data += position * batch.a.strides[axis]
            p.b.data += position * batch.b.strides[axis]
            p.out.data += position * batch.out.strides[axis]
        if (_multiply(&p) if batch.row == NULL else _multiply_onto(&p, batch.row)) != 0:
            batch.failed = 1


cdef void _fold(Batch *batch) noexcept nogil:
    """Inner batch axes with one b are more rows of a and out, where their strides allow it."""
    cdef Product *p = &batch.product
    cdef int64_t length
    cdef int axis
    while batch.ndim > 0:
        axis = batch.ndim - 1
        length = batch.out.shape[axis]
        if length > 1:
            if batch.b.strides[axis] != 0:
                return
            if p.m == 1:
                p.a.row, p.out.row = batch.a.strides[axis], batch.out.strides[axis]
            elif batch.a.strides[axis] != p.m * p.a.row or batch.out.strides[axis] != p.m * p.out.row:
                return
        p.m *= length
        batch.size //= length
        batch.ndim -= 1


cdef Operand _operand(const td_view *view) noexcept nogil:
    cdef Operand operand
    operand.data = view.data
    operand.row, operand.column = view.strides[view.ndim - 2], view.strides[view.ndim - 1]
    return operand


cdef int matmul_onto(const td_view *a, const td_view *b, const char *row, td_view *out) noexcept nogil:
    cdef Batch batch
    cdef Product *p = &batch.product
    cdef int axis
    cdef double work
    cdef bint parallel
    p.tiles, p.a_windows, p.b_windows, p.accumulate = NULL, NULL, NULL, False
    if out.dtype == TD_f32:
        p.tiles = &kernels.f32
    elif out.dtype == TD_f64:
        p.tiles = &kernels.f64
    p.plain, p.itemsize = kernels.plain[out.dtype], kernels.itemsize[out.dtype]
    p.m, p.n, p.k = out.shape[out.ndim - 2], out.shape[out.ndim - 1], a.shape[a.ndim - 1]
    p.a, p.b, p.out = _operand(a), _operand(b), _operand(out)
    batch.a, batch.b, batch.out, batch.row = a, b, out, row
    batch.ndim, batch.size, batch.failed = out.ndim - 2, 1, 0
    for axis in range(batch.ndim):
        batch.size *= out.shape[axis]
    if batch.size == 0 or p.m == 0 or p.n == 0:
        return 0
    _fold(&batch)
    if batch.size == 1:
        return _multiply(p) if row == NULL else _multiply_onto(p, row)
    work = <double>p.m * p.n * p.k
    batch.run = 1 if work >= BATCH_WORK else <int64_t>(BATCH_WORK / (work + 64)) + 1
    parallel = work < PARALLEL_WORK and work * batch.size >= PARALLEL_WORK  # a larger product has threads of its own
    run_blocks(ceil_div(batch.size, batch.run), _batch_block, &batch, parallel)
    return -1 if batch.failed else 0


def select(int isa):
    """Choose the micro-kernels of an instruction set (TD_ISA_* of kernels/isa.h), once, before the first product."""
    select_kernels(isa)
