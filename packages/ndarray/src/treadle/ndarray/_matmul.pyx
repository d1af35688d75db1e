# cython: cdivision=True
"""The matrix product on the cpu.

Floating types go one of these ways, by size and layout:

- a few rows times a transposed matrix: dot products; one row times a dense one: sums of its rows;
- small matrices: tile by tile straight from the operands; of a transposed b, one sliver at a time is packed on the
  stack;
- large ones, blocked: b is cut into panels of some rows; a panel is packed into slivers as wide as a tile, then the
  tiles of out are computed. A tile's part of a, STEP_BYTES of each row, is copied to the stack first. It stays in the
  first cache while the slivers of BLOCK_COLUMNS columns stream from the second;
- several small matrices of a batch: the batch is cut into runs.

A packed sliver holds b's elements in the order in which the micro-kernel reads them. out's element is always the sum
over p in order, cut at multiples of the panel's height: the way that blocks are given to threads cannot change a bit.

Integers and bool take the plain loops of the kernel table.
"""

from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy

from treadle.ndarray._matmul_kernels cimport (
    td_get_num_threads, td_matmul_kernels, td_matmul_plain, td_matmul_select, td_matmul_tiles, td_parallel_for,
    td_set_num_threads, td_workspace, td_workspace_acquire, td_workspace_release)
from treadle.ndarray._types cimport TD_f32, TD_f64, td_view

cdef enum:
    STEP_BYTES = 1536  # of a row of a that a tile takes at once: a panel is at most that high
    PACK_STEPS = 16  # rows of b that are packed together
    ROW_PAD = 64  # bytes between the copied rows of a, so that they do not fall into the same sets of the cache
    BLOCK_COLUMNS = 768  # columns of out that a block spans
    BLOCK_SLIVERS = 8  # rows of out that a block spans, in tiles
    PANEL_COLUMNS = 8192  # most columns that are packed at once
    SLIVER_BYTES = 32 * STEP_BYTES  # no tile is wider than 128 bytes, 32 floats
    ROWS_BYTES = 16 * (STEP_BYTES + ROW_PAD)  # no tile is higher than 16 rows
    ALIGNMENT = 64
    DIRECT_ROWS = 112  # rows and columns of a block that is computed without packing
    DIRECT_COLUMNS = 512
    DIRECT_BYTES = 160 * 1024  # of b: more would leave the second cache to strides
    DIRECT_WORK = 1 << 20  # multiplications up to which a transposed b is packed on the stack
    DOTS_ROWS = 4
    PARALLEL_WORK = 1 << 22  # multiplications below which threads cost more than they give
    PLAIN_PARALLEL_WORK = 1 << 19
    PLAIN_ROWS = 16

cdef const td_matmul_kernels *_kernels = td_matmul_select(0)
parallel_for = td_parallel_for

cdef struct Operand:
    char *data
    int64_t row  # strides
    int64_t column

cdef struct Product:
    const td_matmul_tiles *tiles  # NULL: the plain loops
    td_matmul_plain plain
    int64_t itemsize
    int64_t m
    int64_t n
    int64_t k
    Operand a
    Operand b
    Operand out


cdef void select_matmul(int isa):
    global _kernels
    _kernels = td_matmul_select(isa)


cdef inline int64_t _ceil_div(int64_t x, int64_t y) noexcept nogil:
    return (x + y - 1) // y


cdef inline int64_t _smaller(int64_t x, int64_t y) noexcept nogil:
    return x if x < y else y


cdef inline char *_aligned(char *pointer) noexcept nogil:
    return <char *>((<uintptr_t>pointer + ALIGNMENT - 1) & ~<uintptr_t>(ALIGNMENT - 1))


cdef void _transpose(Product *product) noexcept nogil:
    """(a @ b).T is b.T @ a.T."""
    cdef Operand a = product.a
    product.m, product.n = product.n, product.m
    product.a.data, product.a.row, product.a.column = product.b.data, product.b.column, product.b.row
    product.b.data, product.b.row, product.b.column = a.data, a.column, a.row
    product.out.row, product.out.column = product.out.column, product.out.row


# --- few rows ---------------------------------------------------------------------------------------------------------
cdef void _dots_block(void *context, int64_t block) noexcept nogil:
    cdef const Product *p = <const Product *>context
    cdef int64_t start = block * DIRECT_COLUMNS
    cdef int64_t columns = _smaller(p.n - start, DIRECT_COLUMNS)
    cdef int64_t i
    for i in range(p.m):
        p.tiles.dots(columns, p.k, p.a.data + i * p.a.row, p.b.data + start * p.b.column, p.b.column,
                     p.out.data + i * p.out.row + start * p.out.column, p.out.column)


cdef void _combine_block(void *context, int64_t block) noexcept nogil:
    cdef const Product *p = <const Product *>context
    cdef int64_t start = block * DIRECT_COLUMNS
    p.tiles.combine(_smaller(p.n - start, DIRECT_COLUMNS), p.k, p.a.data, p.a.column,
                    p.b.data + start * p.itemsize, p.b.row, p.out.data + start * p.itemsize)


# --- without packing --------------------------------------------------------------------------------------------------
cdef inline void _direct_tiles(const Product *p, int64_t first, int64_t rows, int64_t j, int64_t columns,
                               int64_t k_start, int64_t steps, const char *b, int64_t b_step) noexcept nogil:
    """Rows first to first + rows of one sliver, in tiles of as even a height as there can be."""
    cdef int64_t slivers = _ceil_div(rows, p.tiles.rows)
    cdef int64_t height = rows // slivers
    cdef int64_t higher = rows - height * slivers  # so many tiles have one row more
    cdef int64_t i = first
    cdef int64_t sliver, tile_rows
    for sliver in range(slivers):
        tile_rows = height + (sliver < higher)
        p.tiles.tile(tile_rows, columns, steps, p.a.data + i * p.a.row + k_start * p.a.column, p.a.row, p.a.column, b,
                     b_step, p.out.data + i * p.out.row + j * p.itemsize, p.out.row, k_start > 0)
        i += tile_rows


cdef void _direct_packed(const Product *p, int64_t first, int64_t rows, int64_t j, int64_t columns) noexcept nogil:
    cdef char[SLIVER_BYTES + ALIGNMENT] memory
    cdef char *packed = _aligned(memory)
    cdef int64_t start = 0
    cdef int64_t steps
    while start < p.k:
        steps = _smaller(p.k - start, STEP_BYTES // p.itemsize)
        p.tiles.pack(steps, columns, columns, p.b.data + start * p.b.row + j * p.b.column, p.b.row, p.b.column, packed)
        _direct_tiles(p, first, rows, j, columns, start, steps, packed, columns * p.itemsize)
        start += steps


cdef void _direct_block(void *context, int64_t block) noexcept nogil:
    cdef const Product *p = <const Product *>context
    cdef int64_t column_blocks = _ceil_div(p.n, DIRECT_COLUMNS)
    cdef int64_t first = block // column_blocks * DIRECT_ROWS
    cdef int64_t start = block % column_blocks * DIRECT_COLUMNS
    cdef int64_t rows = _smaller(p.m - first, DIRECT_ROWS)
    cdef int64_t end = _smaller(start + DIRECT_COLUMNS, p.n)
    cdef int64_t width = p.tiles.columns
    cdef int64_t j = start
    while j < end:
        if p.b.column == p.itemsize:
            _direct_tiles(p, first, rows, j, _smaller(end - j, width), 0, p.k, p.b.data + j * p.itemsize, p.b.row)
        else:
            _direct_packed(p, first, rows, j, _smaller(end - j, width))
        j += width


# --- blocked ----------------------------------------------------------------------------------------------------------
cdef struct Panel:
    const Product *product
    char *packed
    int64_t k_start
    int64_t steps
    int64_t j_start
    int64_t columns
    int64_t slivers  # of a's rows
    int64_t row_blocks


cdef void _pack_rows(const Panel *panel, int64_t first, int64_t rows, int64_t start, int64_t end) noexcept nogil:
    """Rows of the panel, for the columns from start to end."""
    cdef const Product *p = panel.product
    cdef int64_t width = p.tiles.columns
    cdef const char *b = p.b.data + (panel.k_start + first) * p.b.row + panel.j_start * p.b.column
    cdef int64_t j = start
    while j < end:
        p.tiles.pack(rows, _smaller(end - j, width), width, b + j * p.b.column, p.b.row, p.b.column,
                     panel.packed + (j * panel.steps + first * width) * p.itemsize)
        j += width


cdef void _pack_block(void *context, int64_t block) noexcept nogil:
    """Memory is read along its dense direction: some rows of the panel, or a sliver of a transposed b."""
    cdef const Panel *panel = <const Panel *>context
    cdef int64_t start = block * panel.product.tiles.columns
    if panel.product.b.row == panel.product.itemsize:
        _pack_rows(panel, 0, panel.steps, start, _smaller(start + panel.product.tiles.columns, panel.columns))
    else:
        _pack_rows(panel, block * PACK_STEPS, _smaller(panel.steps - block * PACK_STEPS, PACK_STEPS), 0, panel.columns)


cdef void _block_rows(const Panel *panel, int64_t first, int64_t rows, int64_t start, int64_t end) noexcept nogil:
    """One tile's rows of out, for the columns from start to end of the panel."""
    cdef char[ROWS_BYTES + ALIGNMENT] memory
    cdef char *copied = _aligned(memory)
    cdef const Product *p = panel.product
    cdef int64_t itemsize = p.itemsize
    cdef int64_t width = p.tiles.columns
    cdef const char *a = p.a.data + first * p.a.row + panel.k_start * p.a.column
    cdef char *out = p.out.data + first * p.out.row + panel.j_start * itemsize
    cdef int64_t row, step, i
    cdef int64_t j = start
    if p.a.column == itemsize:
        row, step = panel.steps * itemsize + ROW_PAD, itemsize
        for i in range(rows):
            memcpy(copied + i * row, a + i * p.a.row, <size_t>(panel.steps * itemsize))
    else:
        row, step = itemsize, p.tiles.rows * itemsize
        p.tiles.pack(panel.steps, rows, p.tiles.rows, a, p.a.column, p.a.row, copied)
    while j < end:
        p.tiles.tile(rows, _smaller(end - j, width), panel.steps, copied, row, step,
                     panel.packed + j * panel.steps * itemsize, width * itemsize, out + j * itemsize, p.out.row,
                     panel.k_start > 0)
        j += width


cdef void _compute_block(void *context, int64_t block) noexcept nogil:
    """Blocks go down the rows first: successive ones share their part of b."""
    cdef const Panel *panel = <const Panel *>context
    cdef int64_t m = panel.product.m
    cdef int64_t row_block = block % panel.row_blocks
    cdef int64_t start = block // panel.row_blocks * BLOCK_COLUMNS
    cdef int64_t end = _smaller(start + BLOCK_COLUMNS, panel.columns)
    cdef int64_t height = m // panel.slivers
    cdef int64_t higher = m - height * panel.slivers
    cdef int64_t first, sliver
    for sliver in range(row_block * panel.slivers // panel.row_blocks,
                        (row_block + 1) * panel.slivers // panel.row_blocks):
        first = sliver * height + _smaller(sliver, higher)
        _block_rows(panel, first, height + (sliver < higher), start, end)


cdef void _run(int64_t blocks, void (*body)(void *, int64_t) noexcept nogil, void *context,
               bint parallel) noexcept nogil:
    cdef int64_t block
    if parallel:
        td_parallel_for(blocks, body, context)
    else:
        for block in range(blocks):
            body(context, block)


cdef int _blocked(const Product *p, bint parallel) noexcept nogil:
    cdef Panel panel
    cdef td_workspace workspace
    cdef int64_t width = p.tiles.columns
    cdef int64_t widest = _ceil_div(_smaller(p.n, PANEL_COLUMNS), width) * width
    cdef int64_t panels = _ceil_div(p.k * p.itemsize, STEP_BYTES)
    cdef int64_t steps = _ceil_div(p.k, panels)
    cdef int64_t j_panel, k_panel
    if td_workspace_acquire(&workspace, widest * steps * p.itemsize) != 0:
        return -1
    panel.product, panel.packed = p, <char *>workspace.data
    panel.slivers = _ceil_div(p.m, p.tiles.rows)
    panel.row_blocks = _ceil_div(panel.slivers, BLOCK_SLIVERS)
    if panel.row_blocks < 8:
        panel.row_blocks = _smaller(panel.slivers, 8)
    for j_panel in range(_ceil_div(p.n, PANEL_COLUMNS)):
        panel.j_start = j_panel * PANEL_COLUMNS
        panel.columns = _smaller(p.n - panel.j_start, PANEL_COLUMNS)
        for k_panel in range(panels):
            panel.k_start = k_panel * steps
            panel.steps = _smaller(p.k - panel.k_start, steps)
            if p.b.row == p.itemsize:
                _run(_ceil_div(panel.columns, width), _pack_block, &panel, parallel)
            else:
                _run(_ceil_div(panel.steps, PACK_STEPS), _pack_block, &panel, parallel)
            _run(panel.row_blocks * _ceil_div(panel.columns, BLOCK_COLUMNS), _compute_block, &panel, parallel)
    td_workspace_release(&workspace)
    return 0


# --- one matrix -------------------------------------------------------------------------------------------------------
cdef void _fill_zero(const Product *p) noexcept nogil:
    cdef int64_t i, j, byte
    for i in range(p.m):
        for j in range(p.n):
            for byte in range(p.itemsize):
                p.out.data[i * p.out.row + j * p.out.column + byte] = 0


cdef void _plain_block(void *context, int64_t block) noexcept nogil:
    cdef const Product *p = <const Product *>context
    cdef int64_t first = block * PLAIN_ROWS
    p.plain(_smaller(p.m - first, PLAIN_ROWS), p.n, p.k, p.a.data + first * p.a.row, p.a.row, p.a.column, p.b.data,
            p.b.row, p.b.column, p.out.data + first * p.out.row, p.out.row, p.out.column)


cdef int _through_copy(const Product *product) noexcept nogil:
    """out's elements lie apart in both directions: compute a dense matrix, then spread it."""
    cdef Product p = product[0]
    cdef td_workspace workspace
    cdef int64_t i, j
    cdef int status
    if td_workspace_acquire(&workspace, p.m * p.n * p.itemsize) != 0:
        return -1
    p.out.data, p.out.row, p.out.column = <char *>workspace.data, p.n * p.itemsize, p.itemsize
    status = _multiply(&p)
    if status == 0:
        for i in range(p.m):
            for j in range(p.n):
                memcpy(product.out.data + i * product.out.row + j * product.out.column,
                       p.out.data + i * p.out.row + j * p.itemsize, <size_t>p.itemsize)
    td_workspace_release(&workspace)
    return status


cdef bint _is_direct(const Product *p, double work) noexcept nogil:
    """Whether b is met so seldom, or lies so close together, that packing it would not pay."""
    if p.b.column == p.itemsize:
        return p.m <= 2 * p.tiles.rows or <double>p.n * p.k * p.itemsize <= DIRECT_BYTES
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
            _transpose(p)
    elif (p.n == 1 and p.m > 1) or (p.out.column != p.itemsize and p.out.row == p.itemsize):
        _transpose(p)


cdef int _multiply(Product *p) noexcept nogil:
    """One product of matrices with m, n > 0."""
    cdef double work = <double>p.m * p.n * p.k
    cdef bint parallel = work >= (PARALLEL_WORK if p.tiles != NULL else PLAIN_PARALLEL_WORK)
    if p.k == 0:
        _fill_zero(p)
        return 0
    _lay_out(p)
    if p.tiles == NULL:
        _run(_ceil_div(p.m, PLAIN_ROWS), _plain_block, p, parallel)
    elif p.m <= DOTS_ROWS and p.b.row == p.itemsize and p.b.column != p.itemsize and p.a.column == p.itemsize:
        _run(_ceil_div(p.n, DIRECT_COLUMNS), _dots_block, p, parallel)
    elif p.out.column != p.itemsize:
        return _through_copy(p)
    elif p.m == 1 and p.b.column == p.itemsize and p.n >= 2 * p.tiles.columns:
        _run(_ceil_div(p.n, DIRECT_COLUMNS), _combine_block, p, parallel)
    elif _is_direct(p, work):
        _run(_ceil_div(p.m, DIRECT_ROWS) * _ceil_div(p.n, DIRECT_COLUMNS), _direct_block, p, parallel)
    else:
        return _blocked(p, parallel)
    return 0


# --- batches ----------------------------------------------------------------------------------------------------------
cdef struct Batch:
    Product product
    int ndim
    int64_t size
    int64_t run  # matrices in a block
    const td_view *a
    const td_view *b
    const td_view *out
    int failed


cdef void _batch_block(void *context, int64_t block) noexcept nogil:
    cdef Batch *batch = <Batch *>context
    cdef Product p
    cdef int64_t index, rest, position
    cdef int axis
    for index in range(block * batch.run, _smaller((block + 1) * batch.run, batch.size)):
        p = batch.product
        rest = index
        for axis in range(batch.ndim - 1, -1, -1):
            position = rest % batch.out.shape[axis]
            rest //= batch.out.shape[axis]
            p.a.data += position * batch.a.strides[axis]
            p.b.data += position * batch.b.strides[axis]
            p.out.data += position * batch.out.strides[axis]
        if _multiply(&p) != 0:
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


cdef int matmul(const td_view *a, const td_view *b, td_view *out) noexcept nogil:
    cdef Batch batch
    cdef Product *p = &batch.product
    cdef int axis
    cdef double work
    p.tiles = NULL
    if out.dtype == TD_f32:
        p.tiles = &_kernels.f32
    elif out.dtype == TD_f64:
        p.tiles = &_kernels.f64
    p.plain, p.itemsize = _kernels.plain[out.dtype], _kernels.itemsize[out.dtype]
    p.m, p.n, p.k = out.shape[out.ndim - 2], out.shape[out.ndim - 1], a.shape[a.ndim - 1]
    p.a, p.b, p.out = _operand(a), _operand(b), _operand(out)
    batch.a, batch.b, batch.out = a, b, out
    batch.ndim, batch.size, batch.failed = out.ndim - 2, 1, 0
    for axis in range(batch.ndim):
        batch.size *= out.shape[axis]
    if batch.size == 0 or p.m == 0 or p.n == 0:
        return 0
    _fold(&batch)
    if batch.size == 1:
        return _multiply(p)
    work = <double>p.m * p.n * p.k
    batch.run = 1 if work >= PARALLEL_WORK else <int64_t>(PARALLEL_WORK / (work + 64)) + 1
    _run(_ceil_div(batch.size, batch.run), _batch_block, &batch, work < PARALLEL_WORK and batch.size > batch.run)
    return -1 if batch.failed else 0


def select(int isa):
    """Choose the micro-kernels of an instruction set (TD_ISA_* of kernels/isa.h), once, before the first product."""
    select_matmul(isa)


def get_num_threads():
    """Threads that large products use, the caller among them."""
    return td_get_num_threads()


def set_num_threads(int count):
    """Set it; 0 asks for the default."""
    td_set_num_threads(count)
