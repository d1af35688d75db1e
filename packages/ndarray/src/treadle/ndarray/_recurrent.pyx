# cython: cdivision=True
"""An LSTM over a whole sequence on the cpu: the recurrent weight is packed once for all steps.

Rows of the batch know nothing of each other. A block of work is a few rows through all steps, so that threads meet
once, and a step's product stays in the first cache until the gates are made of it.
"""

from libc.stdint cimport int64_t

from treadle.ndarray._layers cimport _layers, td_layer_kernels, td_lstm
from treadle.ndarray._matmul_kernels cimport td_matmul_tiles
from treadle.ndarray._panels cimport (
    acquire_memory, add_numbers, ceil_div, kernels, pack_slivers, release_memory, smaller, tile_start)
from treadle.ndarray._strided cimport Strided
from treadle.ndarray._threads cimport get_thread_count, run_blocks
from treadle.ndarray._types cimport TD_f32, TD_f64

cdef enum:
    PARALLEL_WORK = 1 << 21  # multiplications in all
    BLOCK_TILES = 4  # most of a block's rows, in tiles

cdef struct Sequence:
    const td_matmul_tiles *tiles
    const td_layer_kernels *layers
    int64_t itemsize, steps, batch, size, blocks
    char *packed
    char *gates  # forward: what is given; of all steps, as the next ones
    char *on
    char *cells
    char *shown
    char *hidden
    char *first_hidden  # before the first step
    char *first_cell
    char *by_hidden  # the gradients from outside, or NULL
    char *by_cell
    char *by_gates
    char *by_first_hidden
    char *by_first_cell
    int failed


cdef int64_t _rows(const Sequence *work, int64_t block) noexcept nogil:
    """The first row of a block."""
    return tile_start(work.batch, work.blocks, block)


cdef void _multiply(const Sequence *work, int64_t rows, const char *a, int64_t k, int64_t columns, char *out,
                    const char *onto) noexcept nogil:
    """out = a times the packed matrix, plus onto unless that is NULL; all dense. Each sliver serves all rows while it
    is in the first cache."""
    cdef int64_t width = work.tiles.columns
    cdef int64_t size = work.itemsize
    cdef int64_t tiles = ceil_div(rows, work.tiles.rows)
    cdef int64_t j = 0
    cdef int64_t tile, first, place
    while j < columns:
        for tile in range(tiles):
            first = tile_start(rows, tiles, tile)
            place = (first * columns + j) * size
            work.tiles.tile(tile_start(rows, tiles, tile + 1) - first, smaller(columns - j, width), k,
                            a + first * k * size, k * size, size, work.packed + j * k * size, width * size,
                            out + place, columns * size, onto + place if onto != NULL else NULL, columns * size)
        j += width


cdef void _forward_block(void *context, int64_t block) noexcept nogil:
    cdef Sequence *work = <Sequence *>context
    cdef int64_t first = _rows(work, block)
    cdef int64_t rows = _rows(work, block + 1) - first
    cdef int64_t line = work.size * work.itemsize  # bytes of a row
    cdef int64_t state = work.batch * line  # and of a step
    cdef const char *hidden = work.first_hidden
    cdef const char *cell = work.first_cell
    cdef td_lstm step
    cdef int64_t at
    cdef char *product = acquire_memory(4 * rows * line)
    if product == NULL:
        work.failed = 1
        return
    step.size = work.size
    for at in range(work.steps):
        _multiply(work, rows, hidden + first * line, work.size, 4 * work.size, product, NULL)
        step.product, step.given, step.before = product - 4 * first * line, work.gates + 4 * at * state, cell
        step.gates, step.cell = work.on + 4 * at * state, work.cells + at * state
        step.shown, step.hidden = work.shown + at * state, work.hidden + at * state
        work.layers.lstm(&step, first, first + rows)
        hidden, cell = step.hidden, step.cell
    release_memory(product)


cdef void _backward_block(void *context, int64_t block) noexcept nogil:
    """by_first_hidden and by_first_cell hold the gradients of the state after a step, at the end before the first."""
    cdef Sequence *work = <Sequence *>context
    cdef int64_t first = _rows(work, block)
    cdef int64_t rows = _rows(work, block + 1) - first
    cdef int64_t line = work.size * work.itemsize
    cdef int64_t state = work.batch * line
    cdef const char *outside
    cdef td_lstm step
    cdef int64_t at
    step.size, step.d_shown, step.d_cell = work.size, work.by_first_hidden, work.by_first_cell
    if work.by_hidden != NULL:
        add_numbers(work.by_first_hidden + first * line, work.by_hidden + (work.steps - 1) * state + first * line,
                    rows * work.size, work.itemsize)
    for at in range(work.steps - 1, -1, -1):
        if work.by_cell != NULL:
            add_numbers(work.by_first_cell + first * line, work.by_cell + at * state + first * line,
                        rows * work.size, work.itemsize)
        step.gates, step.shown = work.on + 4 * at * state, work.shown + at * state
        step.before = work.cells + (at - 1) * state if at > 0 else work.first_cell
        step.d_gates = work.by_gates + 4 * at * state
        work.layers.lstm_gradient(&step, first, first + rows)
        outside = NULL
        if work.by_hidden != NULL and at > 0:
            outside = work.by_hidden + (at - 1) * state + first * line
        _multiply(work, rows, step.d_gates + 4 * first * line, 4 * work.size, work.size,
                  work.by_first_hidden + first * line, outside)


cdef bint _fits(Strided gates, tuple others) except -1:
    """Whether all are dense, of one floating dtype, on the cpu and not empty."""
    cdef int dtype = gates.view.dtype
    if not gates.device.is_cpu or (dtype != TD_f32 and dtype != TD_f64) or not gates.dense or gates.size == 0:
        return False
    for each in others:
        if each is not None and not _is_like(<Strided>each, gates):
            return False
    return True


cdef bint _is_like(Strided x, Strided gates) noexcept:
    return x.device is gates.device and x.dense and x.view.dtype == gates.view.dtype and x.size > 0


cdef void _read(Sequence *work, Strided gates) noexcept:
    """Sizes and kernels, from an array (steps, batch, 4, size) or (steps, batch, 4 * size)."""
    cdef int64_t most, threads
    work.tiles = &kernels.f32 if gates.view.dtype == TD_f32 else &kernels.f64
    work.layers, work.itemsize = &_layers.types[gates.view.dtype], gates.dtype.itemsize
    work.steps, work.batch = gates.view.shape[0], gates.view.shape[1]
    work.size = gates.size // (4 * work.steps * work.batch)
    most = BLOCK_TILES * work.tiles.rows
    threads = get_thread_count()
    work.blocks = smaller(work.batch, ceil_div(ceil_div(work.batch, most), threads) * threads)
    work.failed, work.by_hidden, work.by_cell = 0, NULL, NULL


cdef bint _is_layer(const Sequence *work, Strided hidden, Strided cell, Strided weight, Strided gates, Strided cells,
                    Strided shown) noexcept:
    """Whether the sizes are those of a layer without projection."""
    cdef int64_t state = work.batch * work.size
    return (hidden.size == state and cell.size == state and weight.size == 4 * work.size * work.size
            and weight.view.ndim == 2 and weight.view.shape[1] == work.size and gates.size == 4 * work.steps * state
            and cells.size == work.steps * state and shown.size == cells.size)


cdef int _run(Sequence *work, void (*body)(void *context, int64_t block) noexcept nogil, const char *weight, int64_t k,
              int64_t columns, int64_t step, int64_t column) noexcept nogil:
    """The blocks, after packing; -1 where there is no memory."""
    cdef int64_t width = work.tiles.columns
    cdef double products = <double>work.steps * work.batch * k * columns
    work.packed = acquire_memory(ceil_div(columns, width) * width * k * work.itemsize)
    if work.packed == NULL:
        return -1
    pack_slivers(work.tiles, k, columns, weight, step, column, work.itemsize, work.packed)
    run_blocks(work.blocks, body, work, products >= PARALLEL_WORK)
    release_memory(work.packed)
    return -1 if work.failed else 0


def lstm(Strided gates not None, Strided hidden not None, Strided cell not None, Strided weight not None,
         Strided on not None, Strided cells not None, Strided shown not None, Strided hiddens not None):
    """All steps of an LSTM: from the inputs' part of the gates, (steps, batch, 4 * size), and the states before into
    gates, cells, their tanh and hidden states. False where there is no kernel."""
    cdef Sequence work
    cdef int failed
    if not _fits(gates, (hidden, cell, weight, on, cells, shown, hiddens)):
        return False
    _read(&work, gates)
    if not _is_layer(&work, hidden, cell, weight, on, cells, shown) or hiddens.size != cells.size:
        return False
    work.gates, work.first_hidden, work.first_cell = gates.view.data, hidden.view.data, cell.view.data
    work.on, work.cells, work.shown, work.hidden = on.view.data, cells.view.data, shown.view.data, hiddens.view.data
    with nogil:
        failed = _run(&work, _forward_block, weight.view.data, work.size, 4 * work.size, work.itemsize,
                      work.size * work.itemsize)
    for each in (on, cells, shown, hiddens):
        (<Strided>each).buffer.version += 1
    if failed:
        raise MemoryError("lstm: no memory for the packed weight")
    return True


def lstm_gradient(Strided on not None, Strided cells not None, Strided shown not None, Strided cell not None,
                  Strided weight not None, Strided by_hiddens or None, Strided by_cells or None,
                  Strided by_gates not None, Strided by_hidden not None, Strided by_cell not None):
    """The gradients of the gates, (steps, batch, 4, size), into ``by_gates``, and of the states before the first step
    into ``by_hidden`` and ``by_cell``, which hold zeros. False where there is no kernel."""
    cdef Sequence work
    cdef int failed
    if not _fits(on, (cells, shown, cell, weight, by_hiddens, by_cells, by_gates, by_hidden, by_cell)):
        return False
    _read(&work, on)
    if not _is_layer(&work, by_hidden, cell, weight, by_gates, cells, shown) or by_cell.size != cell.size:
        return False
    work.on, work.cells, work.shown, work.first_cell = on.view.data, cells.view.data, shown.view.data, cell.view.data
    if by_hiddens is not None:
        work.by_hidden = by_hiddens.view.data
    if by_cells is not None:
        work.by_cell = by_cells.view.data
    work.by_gates, work.by_first_hidden, work.by_first_cell = (
        by_gates.view.data, by_hidden.view.data, by_cell.view.data)
    with nogil:
        failed = _run(&work, _backward_block, weight.view.data, 4 * work.size, work.size, work.size * work.itemsize,
                      work.itemsize)
    for each in (by_gates, by_hidden, by_cell):
        (<Strided>each).buffer.version += 1
    if failed:
        raise MemoryError("lstm_gradient: no memory for the packed weight")
    return True
