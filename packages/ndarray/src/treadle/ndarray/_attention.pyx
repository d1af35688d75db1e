# cython: cdivision=True
"""Attention on the cpu, without a matrix of all scores (Dao et al. 2022, "FlashAttention", algorithms 1 and 4).

The keys are cut into blocks of KEYS. A block's keys are packed as the tiles of the matrix product want them; its scores
exist for some rows at a time only, which stay in the first cache. Forward goes over the blocks with a running maximum
and sum for each query. Backward makes the weights of a block of QUERIES x KEYS again, from the logarithm of their sum,
and takes three products from them.

Blocks of work are heads, and in forward GROUP queries of a head: the gradient of keys is a sum over all queries.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memset

from treadle.ndarray._layers cimport _layers, td_attention, td_layer_kernels
from treadle.ndarray._matmul_kernels cimport td_matmul_tiles
from treadle.ndarray._panels cimport (
    acquire_memory, ceil_div, kernels, pack_slivers, release_memory, smaller, tile_start)
from treadle.ndarray._strided cimport Strided
from treadle.ndarray._threads cimport run_blocks
from treadle.ndarray._types cimport TD_bool, TD_f32, TD_f64, td_view

cdef enum:
    KEYS = 128  # in a block
    QUERIES = 64  # of backward's block
    GROUP = 256  # queries that share a packed block of keys
    TILE_ROWS = 16  # no tile is higher
    PARALLEL_WORK = 1 << 18  # scores times features

cdef struct Work:
    const td_layer_kernels *rows
    const td_matmul_tiles *tiles
    const td_view *query
    const td_view *key
    const td_view *value
    const td_view *mask  # or NULL
    const td_view *out
    const td_view *total
    const td_view *gradient
    const td_view *by_query
    const td_view *by_key
    const td_view *by_value
    int64_t itemsize, queries, keys, features, width
    int64_t groups
    int64_t past
    bint causal
    double scale
    int failed

# A matrix whose rows are dense.
cdef struct Rows:
    char *data
    int64_t step


cdef Rows _matrix(const td_view *view, int64_t index) noexcept nogil:
    """The last two axes, of the batch's element of that number."""
    cdef Rows matrix
    cdef int axis
    matrix.data, matrix.step = view.data, view.strides[view.ndim - 2]
    for axis in range(view.ndim - 3, -1, -1):
        matrix.data += index % view.shape[axis] * view.strides[axis]
        index //= view.shape[axis]
    return matrix


cdef void _open(const Work *work, int64_t head, td_attention *rows) noexcept nogil:
    """What is the same for all blocks of a head."""
    cdef Rows mask
    rows.causal, rows.scale, rows.step, rows.width = work.causal, work.scale, KEYS, work.width
    rows.mask, rows.mask_row, rows.mask_column, rows.is_choice = NULL, 0, 0, 0
    if work.mask != NULL:
        mask = _matrix(work.mask, head)
        rows.mask, rows.mask_row = mask.data, mask.step
        rows.mask_column, rows.is_choice = work.mask.strides[work.mask.ndim - 1], work.mask.dtype == TD_bool


cdef void _place(const Work *work, td_attention *rows, int64_t query, int64_t count, int64_t key, int64_t columns,
                 const char *mask) noexcept nogil:
    """Rows from a query on, columns from a key on."""
    rows.rows, rows.columns = count, columns
    rows.seen = query + work.past + 1 - key if work.causal else columns
    if mask != NULL:
        rows.mask = mask + query * rows.mask_row + key * rows.mask_column


cdef inline int64_t _shown(const td_attention *rows) noexcept nogil:
    """How many of the block's keys any of the rows may look at."""
    cdef int64_t last = rows.seen + rows.rows - 1
    if not rows.causal or last > rows.columns:
        return rows.columns
    return last if last > 0 else 0


cdef inline void _pack(const Work *work, Rows matrix, int64_t columns, int64_t length, char *packed) noexcept nogil:
    """Rows of a matrix as the columns of slivers, each of the length of a row."""
    pack_slivers(work.tiles, length, columns, matrix.data, work.itemsize, matrix.step, work.itemsize, packed)


cdef void _times_packed(const Work *work, int64_t rows, Rows a, int64_t length, const char *packed, int64_t columns,
                        int64_t most, char *out) noexcept nogil:
    """out = some rows of a times the packed slivers up to a column, all of that sliver if there are."""
    cdef int64_t width = work.tiles.columns
    cdef int64_t j = 0
    while j < columns:
        work.tiles.tile(rows, smaller(most - j, width), length, a.data, a.step, work.itemsize,
                        packed + j * length * work.itemsize, width * work.itemsize, out + j * work.itemsize,
                        KEYS * work.itemsize, NULL, 0)
        j += width


cdef void _times_rows(const Work *work, int64_t rows, int64_t k, const char *a, int64_t a_row, int64_t a_step, Rows b,
                      int64_t columns, Rows out, bint accumulate) noexcept nogil:
    """out (+)= some rows of a times b."""
    cdef int64_t width = work.tiles.columns
    cdef int64_t j = 0
    cdef char *to
    while j < columns:
        to = out.data + j * work.itemsize
        work.tiles.tile(rows, smaller(columns - j, width), k, a, a_row, a_step, b.data + j * work.itemsize, b.step,
                        to, out.step, to if accumulate else NULL, out.step)
        j += width


cdef inline Rows _from(Rows matrix, int64_t row) noexcept nogil:
    matrix.data += row * matrix.step
    return matrix


# --- forward ----------------------------------------------------------------------------------------------------------
cdef void _attend_block(void *context, int64_t block) noexcept nogil:
    """A group of queries of a head."""
    cdef Work *work = <Work *>context
    cdef int64_t head = block // work.groups
    cdef int64_t first = block % work.groups * GROUP
    cdef int64_t count = smaller(work.queries - first, GROUP)
    cdef int64_t width = work.tiles.columns
    cdef int64_t size = work.itemsize
    cdef int64_t key = 0
    cdef int64_t row
    cdef td_attention rows
    cdef double[GROUP] sums
    cdef double[GROUP] tops  # or floats
    cdef Rows queries = _from(_matrix(work.query, head), first)
    cdef Rows out = _from(_matrix(work.out, head), first)
    cdef char *scores = acquire_memory((TILE_ROWS * KEYS + ceil_div(KEYS, width) * width * work.features) * size)
    if scores == NULL:
        work.failed = 1
        return
    _open(work, head, &rows)
    for row in range(count):
        sums[row] = 0.0
        if size == sizeof(float):
            (<float *>tops)[row] = -INFINITY
        else:
            tops[row] = -INFINITY
    rows.scores, rows.out_row = scores, out.step
    while key < work.keys and (key == 0 or not work.causal or first + count + work.past > key):
        _attend_keys(work, head, first, count, key, queries, out, &rows, <char *>tops, sums)
        key += KEYS
    rows.rows, rows.top, rows.sum, rows.out = count, <char *>tops, sums, out.data
    rows.total = _matrix(work.total, head).data + first * size
    work.rows.attention_end(&rows)
    release_memory(scores)


cdef void _attend_keys(const Work *work, int64_t head, int64_t first, int64_t count, int64_t key, Rows queries,
                       Rows out, td_attention *rows, char *tops, double *sums) noexcept nogil:
    """A group of queries and a block of keys."""
    cdef int64_t size = work.itemsize
    cdef int64_t columns = smaller(work.keys - key, KEYS)
    cdef int64_t slivers = ceil_div(count, work.tiles.rows)
    cdef const char *mask = NULL if work.mask == NULL else _matrix(work.mask, head).data
    cdef char *packed = rows.scores + TILE_ROWS * KEYS * size
    cdef Rows values = _from(_matrix(work.value, head), key)
    cdef int64_t sliver, at, shown
    _pack(work, _from(_matrix(work.key, head), key), columns, work.features, packed)
    for sliver in range(slivers):
        at = tile_start(count, slivers, sliver)
        _place(work, rows, first + at, tile_start(count, slivers, sliver + 1) - at, key, columns, mask)
        shown = _shown(rows)
        if shown == 0 and key > 0:
            continue
        rows.top, rows.sum, rows.out = tops + at * size, sums + at, out.data + at * out.step
        _times_packed(work, rows.rows, _from(queries, at), work.features, packed, shown, columns, rows.scores)
        work.rows.attention(rows)
        _times_rows(work, rows.rows, shown, rows.scores, KEYS * size, size, values, work.width, _from(out, at), key > 0)


# --- backward ---------------------------------------------------------------------------------------------------------
cdef struct Head:
    Rows query
    Rows key
    Rows value
    Rows out
    Rows gradient
    Rows by_query
    Rows by_key
    Rows by_value
    const char *mask
    char *total
    char *dots
    char *packed_keys
    char *packed_values


cdef void _gradient_block(void *context, int64_t index) noexcept nogil:
    """All of a head."""
    cdef Work *work = <Work *>context
    cdef int64_t size = work.itemsize
    cdef int64_t across = ceil_div(KEYS, work.tiles.columns) * work.tiles.columns
    cdef int64_t scores = QUERIES * KEYS * size
    cdef int64_t key = 0
    cdef td_attention rows
    cdef Head head
    cdef char *memory = acquire_memory(2 * scores + (across * (work.features + work.width) + work.queries) * size)
    if memory == NULL:
        work.failed = 1
        return
    _open(work, index, &rows)
    head.query, head.key, head.value = _matrix(work.query, index), _matrix(work.key, index), _matrix(work.value, index)
    head.out, head.gradient = _matrix(work.out, index), _matrix(work.gradient, index)
    head.by_query, head.by_key = _matrix(work.by_query, index), _matrix(work.by_key, index)
    head.by_value, head.total, head.mask = _matrix(work.by_value, index), _matrix(work.total, index).data, rows.mask
    rows.scores, rows.slopes, head.packed_keys = memory, memory + scores, memory + 2 * scores
    head.packed_values = head.packed_keys + across * work.features * size
    head.dots = head.packed_values + across * work.width * size
    rows.rows, rows.top, rows.out, rows.out_row = work.queries, head.dots, head.out.data, head.out.step
    rows.gradient, rows.gradient_row = head.gradient.data, head.gradient.step
    work.rows.attention_dots(&rows)
    while key < work.keys:
        _gradient_keys(work, &head, key, &rows)
        key += KEYS
    release_memory(memory)


cdef void _gradient_keys(const Work *work, const Head *head, int64_t key, td_attention *rows) noexcept nogil:
    """A block of keys and all queries that see one of them; for the first block all there are."""
    cdef int64_t columns = smaller(work.keys - key, KEYS)
    cdef int64_t query = 0
    cdef bint accumulate = False
    cdef int64_t j
    if work.causal and key > 0:
        query = key - work.past
        query = 0 if query < 0 else query // QUERIES * QUERIES
    _pack(work, _from(head.key, key), columns, work.features, head.packed_keys)
    _pack(work, _from(head.value, key), columns, work.width, head.packed_values)
    while query < work.queries:
        _gradient_scores(work, head, query, smaller(work.queries - query, QUERIES), key, columns, rows)
        _gradient_products(work, head, query, smaller(work.queries - query, QUERIES), key, columns, rows, accumulate)
        accumulate = True
        query += QUERIES
    if not accumulate:  # nothing sees these
        for j in range(key, key + columns):
            memset(head.by_key.data + j * head.by_key.step, 0, <size_t>(work.features * work.itemsize))
            memset(head.by_value.data + j * head.by_value.step, 0, <size_t>(work.width * work.itemsize))


cdef void _gradient_scores(const Work *work, const Head *head, int64_t query, int64_t count, int64_t key,
                           int64_t columns, td_attention *rows) noexcept nogil:
    """The weights of a block, and the gradients of its scores; of the queries', too."""
    cdef int64_t size = work.itemsize
    cdef int64_t slivers = ceil_div(count, work.tiles.rows)
    cdef char *scores = rows.scores
    cdef char *slopes = rows.slopes
    cdef int64_t sliver, at, shown
    for sliver in range(slivers):
        at = tile_start(count, slivers, sliver)
        _place(work, rows, query + at, tile_start(count, slivers, sliver + 1) - at, key, columns, head.mask)
        shown = _shown(rows)
        rows.scores, rows.slopes = scores + at * KEYS * size, slopes + at * KEYS * size
        rows.total, rows.top = head.total + (query + at) * size, head.dots + (query + at) * size
        _times_packed(work, rows.rows, _from(head.query, query + at), work.features, head.packed_keys, shown, columns,
                      rows.scores)
        _times_packed(work, rows.rows, _from(head.gradient, query + at), work.width, head.packed_values, shown,
                      columns, rows.slopes)
        work.rows.attention_gradient(rows)
        _times_rows(work, rows.rows, shown, rows.slopes, KEYS * size, size, _from(head.key, key), work.features,
                    _from(head.by_query, query + at), key > 0)
    rows.scores, rows.slopes = scores, slopes


cdef void _gradient_products(const Work *work, const Head *head, int64_t query, int64_t count, int64_t key,
                             int64_t columns, const td_attention *rows, bint accumulate) noexcept nogil:
    """The block's part of the gradients of keys and values: the scores' gradients and the weights, transposed, times
    queries and gradients."""
    cdef int64_t size = work.itemsize
    cdef int64_t slivers = ceil_div(columns, work.tiles.rows)
    cdef int64_t sliver, at, high, start
    for sliver in range(slivers):
        at = tile_start(columns, slivers, sliver)
        high = tile_start(columns, slivers, sliver + 1) - at
        start = 0
        if work.causal:  # the queries before do not see the sliver's first key
            start = key + at - work.past - query
            start = 0 if start < 0 else smaller(start, count)
        _times_rows(work, high, count - start, rows.scores + (start * KEYS + at) * size, size, KEYS * size,
                    _from(head.gradient, query + start), work.width, _from(head.by_value, key + at), accumulate)
        _times_rows(work, high, count - start, rows.slopes + (start * KEYS + at) * size, size, KEYS * size,
                    _from(head.query, query + start), work.features, _from(head.by_key, key + at), accumulate)


# --- arrays -----------------------------------------------------------------------------------------------------------
cdef inline bint _fits(Strided x, int dtype) noexcept:
    """Whether the rows are dense."""
    cdef int last = x.view.ndim - 1
    return x.view.dtype == dtype and (x.view.strides[last] == x.dtype.itemsize or x.view.shape[last] == 1)


cdef int64_t _read(Work *work, Strided query, Strided key, Strided value, Strided mask, bint causal, int64_t past,
                   double scale) noexcept:
    """How many heads there are."""
    cdef int last = query.view.ndim - 1
    cdef int64_t heads = 1
    cdef int axis
    for axis in range(last - 1):
        heads *= query.view.shape[axis]
    work.query, work.key, work.value = &query.view, &key.view, &value.view
    work.mask = NULL if mask is None else &mask.view
    work.queries, work.features = query.view.shape[last - 1], query.view.shape[last]
    work.keys, work.width = value.view.shape[last - 1], value.view.shape[last]
    work.rows, work.itemsize = &_layers.types[query.view.dtype], query.dtype.itemsize
    work.tiles = &kernels.f32 if query.view.dtype == TD_f32 else &kernels.f64
    work.causal, work.past, work.scale, work.failed = causal, past, scale, 0
    work.groups = ceil_div(work.queries, GROUP)
    return heads


cdef inline bint _is_large(const Work *work, int64_t heads) noexcept nogil:
    return <double>heads * work.queries * work.keys * (work.features + work.width) >= PARALLEL_WORK


def attention(Strided query not None, Strided key not None, Strided value not None, Strided mask or None, bint causal,
              int64_t past, double scale, Strided out not None, Strided logsumexp not None):
    """FusedBackend.attention: False where dtype or layout have no kernel."""
    cdef Work work
    cdef int64_t heads
    cdef int dtype = query.view.dtype
    if dtype != TD_f32 and dtype != TD_f64 or not logsumexp.dense:
        return False
    for each in (query, key, value, out):
        if not _fits(each, dtype):
            return False
    heads = _read(&work, query, key, value, mask, causal, past, scale)
    work.out, work.total = &out.view, &logsumexp.view
    with nogil:
        run_blocks(heads * work.groups, _attend_block, &work, _is_large(&work, heads))
    out.buffer.version += 1
    logsumexp.buffer.version += 1
    if work.failed:
        raise MemoryError("attention: no memory for a block of scores")
    return True


def attention_gradient(Strided gradient not None, Strided query not None, Strided key not None, Strided value not None,
                       Strided mask or None, bint causal, int64_t past, double scale, Strided out not None,
                       Strided logsumexp not None, Strided by_query not None, Strided by_key not None,
                       Strided by_value not None):
    """FusedBackend.attention_gradient: False where dtype or layout have no kernel."""
    cdef Work work
    cdef int64_t heads
    cdef int dtype = query.view.dtype
    if dtype != TD_f32 and dtype != TD_f64 or not logsumexp.dense:
        return False
    for each in (gradient, query, key, value, out, by_query, by_key, by_value):
        if not _fits(each, dtype):
            return False
    heads = _read(&work, query, key, value, mask, causal, past, scale)
    work.out, work.total, work.gradient = &out.view, &logsumexp.view, &gradient.view
    work.by_query, work.by_key, work.by_value = &by_query.view, &by_key.view, &by_value.view
    with nogil:
        run_blocks(heads, _gradient_block, &work, _is_large(&work, heads))
    for each in (by_query, by_key, by_value):
        (<Strided>each).buffer.version += 1
    if work.failed:
        raise MemoryError("attention_gradient: no memory for a block of scores")
    return True
