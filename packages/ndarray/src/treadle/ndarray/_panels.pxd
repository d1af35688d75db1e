from libc.stdint cimport int64_t, uintptr_t

from treadle.ndarray._matmul_kernels cimport td_matmul_kernels, td_matmul_plain, td_matmul_tiles

cdef enum:
    STEP_BYTES = 1600  # of a row of a that a tile takes at once: a panel is at most that high
    ROW_PAD = 64  # bytes between the copied rows of a, so that they do not fall into the same sets of the cache
    BLOCK_SLIVERS = 8  # rows of out that a block spans, in tiles
    SLIVER_BYTES = 32 * STEP_BYTES  # no tile is wider than 128 bytes, 32 floats
    ROWS_BYTES = 16 * (STEP_BYTES + ROW_PAD)  # no tile is higher than 16 rows
    ALIGNMENT = 64

cdef struct Operand:
    char *data
    int64_t row  # strides
    int64_t column

# A matrix of overlapping rows, as convolution makes of an image: element (p, j) lies at
# data + rows[p] + the place of j, for places counted along the last axis first.
cdef struct Windows:
    const char *data
    const int64_t *rows
    int64_t lengths[3]
    int64_t strides[3]  # that of the last axis is one element

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
    const Windows *a_windows  # instead of a, or NULL
    const Windows *b_windows
    bint accumulate  # onto what out holds

cdef const td_matmul_kernels *kernels

cdef void select_kernels(int isa)
cdef char *acquire_memory(int64_t nbytes) noexcept nogil
cdef void release_memory(char *memory) noexcept nogil
cdef int64_t window_place(const Windows *windows, int64_t index, int64_t *left) noexcept nogil
cdef int multiply_blocked(const Product *p, bint parallel) noexcept nogil
cdef int multiply_blocked_onto(const Product *p, const char *row, bint parallel) noexcept nogil


cdef inline int64_t ceil_div(int64_t x, int64_t y) noexcept nogil:
    return (x + y - 1) // y


cdef inline int64_t smaller(int64_t x, int64_t y) noexcept nogil:
    return x if x < y else y


cdef inline char *aligned(char *pointer) noexcept nogil:
    return <char *>((<uintptr_t>pointer + ALIGNMENT - 1) & ~<uintptr_t>(ALIGNMENT - 1))


cdef inline int64_t tile_start(int64_t rows, int64_t tiles, int64_t tile) noexcept nogil:
    """The first row of a tile, where rows are cut into tiles of as even a height as there can be."""
    return tile * (rows // tiles) + smaller(tile, rows % tiles)


cdef inline int64_t row_block_count(int64_t tiles) noexcept nogil:
    """Blocks of BLOCK_SLIVERS tiles; smaller ones where there are few, so that several threads have work."""
    cdef int64_t blocks = ceil_div(tiles, BLOCK_SLIVERS)
    return blocks if blocks >= 8 else smaller(tiles, 8)


cdef inline void add_numbers(char *to, const char *x, int64_t count, int64_t itemsize) noexcept nogil:
    """Floats or doubles, both dense, onto others."""
    cdef int64_t i
    if itemsize == sizeof(float):
        for i in range(count):
            (<float *>to)[i] += (<const float *>x)[i]
    else:
        for i in range(count):
            (<double *>to)[i] += (<const double *>x)[i]


cdef inline void pack_slivers(const td_matmul_tiles *tiles, int64_t k, int64_t columns, const char *matrix,
                              int64_t step, int64_t column, int64_t itemsize, char *packed) noexcept nogil:
    """A matrix (k, columns) of any strides as slivers, each as wide as a tile, one behind the other."""
    cdef int64_t width = tiles.columns
    cdef int64_t j = 0
    while j < columns:
        tiles.pack(k, smaller(columns - j, width), width, matrix + j * column, step, column, packed + j * k * itemsize)
        j += width


cdef inline void transpose(Product *product) noexcept nogil:
    """(a @ b).T is b.T @ a.T."""
    cdef Operand a = product.a
    product.m, product.n = product.n, product.m
    product.a.data, product.a.row, product.a.column = product.b.data, product.b.column, product.b.row
    product.b.data, product.b.row, product.b.column = a.data, a.column, a.row
    product.out.row, product.out.column = product.out.column, product.out.row
