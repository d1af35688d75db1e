# cython: cdivision=True
"""Large products of matrices, blocked: what the matrix product and convolution share.

b is cut into panels of some rows; a panel is packed into slivers as wide as a tile, then the tiles of out are computed.
A tile's part of a, STEP_BYTES of each row, is copied to the stack first. It stays in the first cache while the slivers
of BLOCK_COLUMNS columns stream from the second. A packed sliver holds b's elements in the order in which the
micro-kernel reads them. out's element is always the sum over p in order, cut at multiples of the panel's height: the
way that blocks are given to threads cannot change a bit.

Either operand may be the matrix of an image's windows (Windows), which is never laid out as a whole: its elements go
from the image to the packed slivers, or to the copied rows.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from treadle.ndarray._elementwise cimport turn
from treadle.ndarray._matmul_kernels cimport td_matmul_select, td_workspace_acquire, td_workspace_release
from treadle.ndarray._threads cimport get_thread_count, run_blocks

cdef extern from *:
    void __builtin_prefetch(const void *place, int write, int locality) noexcept nogil

cdef enum:
    ACROSS_STEPS = 512  # products in a sum from which turning the result hardly counts
    PACK_STEPS = 16  # rows of b that are packed together
    BLOCK_COLUMNS = 768  # columns of out that a block spans
    COLUMNS_WORK = 1 << 27  # multiplications up to which threads pack for themselves
    PANEL_BYTES = 512 * 1024  # that are packed at once, or as many as a block spans: they stay in the second cache

cdef const td_matmul_kernels *kernels = td_matmul_select(0)


cdef void select_kernels(int isa):
    global kernels
    kernels = td_matmul_select(isa)


cdef char *acquire_memory(int64_t nbytes) noexcept nogil:
    return td_workspace_acquire(nbytes)


cdef void release_memory(char *memory) noexcept nogil:
    td_workspace_release(memory)


cdef struct Panel:
    const Product *product
    const char *row  # that is added to all of out's, or NULL
    char *packed
    int64_t k_start
    int64_t steps
    int64_t j_start
    int64_t columns
    int64_t slivers  # of a's rows
    int64_t row_blocks


# --- windows ----------------------------------------------------------------------------------------------------------
cdef int64_t window_place(const Windows *windows, int64_t index, int64_t *left) noexcept nogil:
    """The offset of a place, and how many places from it on lie side by side."""
    cdef int64_t row = index // windows.lengths[2]
    cdef int64_t last = index - row * windows.lengths[2]
    left[0] = windows.lengths[2] - last
    return (row // windows.lengths[1] * windows.strides[0] + row % windows.lengths[1] * windows.strides[1]
            + last * windows.strides[2])


cdef void _copy_windows(const Product *p, const Windows *windows, int64_t first, int64_t rows, int64_t start,
                        int64_t places, char *to, int64_t width) noexcept nogil:
    """Rows of the windows' matrix, for some places, to rows that are `width` elements apart."""
    cdef int64_t done = 0
    cdef int64_t left, place
    while done < places:
        place = window_place(windows, start + done, &left)
        left = smaller(left, places - done)
        p.tiles.pack_at(rows, left, width, windows.data + place, windows.rows + first, to + done * p.itemsize)
        done += left


# --- packing ----------------------------------------------------------------------------------------------------------
cdef void _pack_rows(const Panel *panel, int64_t first, int64_t rows, int64_t start, int64_t end) noexcept nogil:
    """Rows of the panel, for the columns from start to end."""
    cdef const Product *p = panel.product
    cdef int64_t width = p.tiles.columns
    cdef const char *b = p.b.data + (panel.k_start + first) * p.b.row + panel.j_start * p.b.column
    cdef int64_t j = start
    while j < end:
        p.tiles.pack(rows, smaller(end - j, width), width, b + j * p.b.column, p.b.row, p.b.column,
                     panel.packed + (j * panel.steps + first * width) * p.itemsize)
        j += width


cdef bint _packs_slivers(const Product *p) noexcept nogil:
    """Memory is read along its dense direction: some rows of the panel, or a sliver of a transposed b."""
    return p.b_windows != NULL or p.b.row == p.itemsize


cdef void _pack_block(void *context, int64_t block) noexcept nogil:
    cdef const Panel *panel = <const Panel *>context
    cdef const Product *p = panel.product
    cdef int64_t start = block * p.tiles.columns
    cdef int64_t end = smaller(start + p.tiles.columns, panel.columns)
    if p.b_windows != NULL:
        _copy_windows(p, p.b_windows, panel.k_start, panel.steps, panel.j_start + start, end - start,
                      panel.packed + start * panel.steps * p.itemsize, p.tiles.columns)
    elif _packs_slivers(p):
        _pack_rows(panel, 0, panel.steps, start, end)
    else:
        _pack_rows(panel, block * PACK_STEPS, smaller(panel.steps - block * PACK_STEPS, PACK_STEPS), 0, panel.columns)


# --- computing --------------------------------------------------------------------------------------------------------
cdef void _copy_rows(const Panel *panel, int64_t first, int64_t rows, char *copied, int64_t *row,
                     int64_t *step) noexcept nogil:
    """A tile's rows of a, beside each other; `row` and `step` become their strides."""
    cdef const Product *p = panel.product
    cdef const char *a = p.a.data + first * p.a.row + panel.k_start * p.a.column
    cdef int64_t nbytes = panel.steps * p.itemsize
    cdef int64_t i
    row[0], step[0] = nbytes + ROW_PAD, p.itemsize
    if p.a_windows != NULL:
        _copy_windows(p, p.a_windows, first, rows, panel.k_start, panel.steps, copied, row[0] // p.itemsize)
    elif p.a.column == p.itemsize:
        for i in range(rows):
            memcpy(copied + i * row[0], a + i * p.a.row, <size_t>nbytes)
    else:
        row[0], step[0] = p.itemsize, p.tiles.rows * p.itemsize
        p.tiles.pack(panel.steps, rows, p.tiles.rows, a, p.a.column, p.a.row, copied)


cdef void _fetch(const Panel *panel, int64_t first, int64_t start, int64_t end) noexcept nogil:
    """Ask ahead for some steps of the rows from `first` on, where each step lies in another line of the cache: no
    prefetcher of a processor foresees them."""
    cdef const Product *p = panel.product
    cdef const char *a = p.a.data + first * p.a.row + (panel.k_start + start) * p.a.column
    cdef int64_t _
    for _ in range(smaller(end, panel.steps) - start):
        __builtin_prefetch(a, 0, 2)
        a += p.a.column


cdef void _block_rows(const Panel *panel, int64_t first, int64_t rows, int64_t start, int64_t end) noexcept nogil:
    """One tile's rows of out, for the columns from start to end of the panel."""
    cdef char[ROWS_BYTES + ALIGNMENT] memory
    cdef char *copied = aligned(memory)
    cdef const Product *p = panel.product
    cdef int64_t width = p.tiles.columns
    cdef char *out = p.out.data + first * p.out.row + panel.j_start * p.itemsize
    cdef const char *onto = panel.row + panel.j_start * p.itemsize if panel.row != NULL else NULL
    cdef int64_t onto_row = 0
    cdef int64_t share = ceil_div(panel.steps * width, end - start)  # of the next rows' steps, for each tile
    cdef bint asks = p.a_windows == NULL and p.a.column != p.itemsize and first + rows < p.m
    cdef int64_t asked = 0
    cdef int64_t row, step
    cdef int64_t j = start
    if p.accumulate or panel.k_start > 0:
        onto, onto_row = out, p.out.row
    _copy_rows(panel, first, rows, copied, &row, &step)
    while j < end:
        if asks:
            _fetch(panel, first + rows, asked, asked + share)
            asked += share
        p.tiles.tile(rows, smaller(end - j, width), panel.steps, copied, row, step,
                     panel.packed + j * panel.steps * p.itemsize, width * p.itemsize, out + j * p.itemsize, p.out.row,
                     onto + j * p.itemsize if onto != NULL else NULL, onto_row)
        j += width


cdef void _compute_block(void *context, int64_t block) noexcept nogil:
    """Blocks go down the rows first: successive ones share their part of b."""
    cdef const Panel *panel = <const Panel *>context
    cdef int64_t m = panel.product.m
    cdef int64_t row_block = block % panel.row_blocks
    cdef int64_t start = block // panel.row_blocks * BLOCK_COLUMNS
    cdef int64_t end = smaller(start + BLOCK_COLUMNS, panel.columns)
    cdef int64_t sliver, first
    for sliver in range(row_block * panel.slivers // panel.row_blocks,
                        (row_block + 1) * panel.slivers // panel.row_blocks):
        first = tile_start(m, panel.slivers, sliver)
        _block_rows(panel, first, tile_start(m, panel.slivers, sliver + 1) - first, start, end)


cdef int64_t _panel_columns(const Product *p, int64_t steps) noexcept nogil:
    """A multiple of the tile's width, all of one panel's or BLOCK_COLUMNS at least."""
    cdef int64_t width = p.tiles.columns
    cdef int64_t fitting = PANEL_BYTES // (steps * p.itemsize)
    fitting = BLOCK_COLUMNS if fitting < BLOCK_COLUMNS else fitting // width * width
    return smaller(fitting, ceil_div(p.n, width) * width)


# --- the other way round ----------------------------------------------------------------------------------------------
cdef bint _lies_across(const Product *p) noexcept nogil:
    """Whether a, the larger operand, lies across. Packing it as b, whose lines are copied whole, costs less than
    turning the result."""
    return (p.a.row == p.itemsize and p.a.column != p.itemsize and p.b.column == p.itemsize and p.m >= 2 * p.n
            and p.k >= ACROSS_STEPS and p.a_windows == NULL and p.b_windows == NULL and not p.accumulate)


cdef int _multiply_turned(const Product *p, bint parallel) noexcept nogil:
    cdef Product turned = p[0]
    cdef char *memory = td_workspace_acquire(p.m * p.n * p.itemsize)
    cdef int status
    if memory == NULL:
        return -1
    transpose(&turned)
    turned.out.data, turned.out.row, turned.out.column = memory, p.m * p.itemsize, p.itemsize
    status = multiply_blocked_onto(&turned, NULL, parallel)
    if status == 0:
        turn(p.itemsize, p.n, p.m, memory, turned.out.row, p.itemsize, p.out.data, p.out.row)
    td_workspace_release(memory)
    return status


cdef int multiply_blocked(const Product *p, bint parallel) noexcept nogil:
    """out (+)= a @ b for m, n, k > 0; out's columns are dense. Returns -1 when there is no memory."""
    return _multiply_turned(p, parallel) if _lies_across(p) else multiply_blocked_onto(p, NULL, parallel)


# --- by columns -------------------------------------------------------------------------------------------------------
cdef struct Columns:
    const Product *product
    const char *row
    int64_t columns  # of a block
    int failed


cdef void _columns_block(void *context, int64_t block) noexcept nogil:
    cdef Columns *whole = <Columns *>context
    cdef Product p = whole.product[0]
    cdef int64_t start = block * whole.columns
    p.n = smaller(p.n - start, whole.columns)
    p.b.data += start * p.b.column
    p.out.data += start * p.itemsize
    if multiply_blocked_onto(&p, whole.row + start * p.itemsize if whole.row != NULL else NULL, False) != 0:
        whole.failed = 1


cdef int64_t _columns_each(const Product *p) noexcept nogil:
    """Columns that each thread takes with a panel of its own, 0 where they had better share: what one packs, another
    fetches from its cache, line by line."""
    cdef int64_t threads = get_thread_count()
    cdef int64_t slivers = ceil_div(p.n, p.tiles.columns)
    if p.a_windows != NULL or p.b_windows != NULL or <double>p.m * p.n * p.k > COLUMNS_WORK or p.m > 2 * p.n:
        return 0
    return ceil_div(slivers, threads) * p.tiles.columns if slivers >= threads else 0


cdef int _multiply_columns(const Product *p, const char *row, int64_t columns) noexcept nogil:
    cdef Columns whole
    whole.product, whole.row, whole.columns, whole.failed = p, row, columns, 0
    run_blocks(ceil_div(p.n, columns), _columns_block, &whole, True)
    return -1 if whole.failed else 0


cdef int multiply_blocked_onto(const Product *p, const char *row, bint parallel) noexcept nogil:
    """The same, with a dense row that is added to each of out's unless it is NULL."""
    cdef Panel panel
    cdef int64_t columns = _columns_each(p) if parallel else 0
    if columns > 0 and columns < p.n:
        return _multiply_columns(p, row, columns)
    cdef int64_t width = p.tiles.columns
    cdef int64_t steps = ceil_div(p.k, ceil_div(p.k * p.itemsize, STEP_BYTES))
    cdef int64_t widest = _panel_columns(p, steps)
    cdef int64_t pack_blocks
    panel.product, panel.row, panel.packed = p, row, td_workspace_acquire(widest * steps * p.itemsize)
    if panel.packed == NULL:
        return -1
    panel.slivers = ceil_div(p.m, p.tiles.rows)
    panel.row_blocks = row_block_count(panel.slivers)
    panel.j_start = 0
    while panel.j_start < p.n:
        panel.columns = smaller(p.n - panel.j_start, widest)
        panel.k_start = 0
        while panel.k_start < p.k:
            panel.steps = smaller(p.k - panel.k_start, steps)
            pack_blocks = ceil_div(panel.columns, width) if _packs_slivers(p) else ceil_div(panel.steps, PACK_STEPS)
            run_blocks(pack_blocks, _pack_block, &panel, parallel)
            run_blocks(panel.row_blocks * ceil_div(panel.columns, BLOCK_COLUMNS), _compute_block, &panel, parallel)
            panel.k_start += steps
        panel.j_start += widest
    td_workspace_release(panel.packed)
    return 0
