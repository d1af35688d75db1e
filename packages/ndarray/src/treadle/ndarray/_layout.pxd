from libc.stdint cimport int64_t

from treadle.ndarray._types cimport td_view

cdef extern from "kernels/bounds.h" nogil:
    const bint TD_CHECKS
    int64_t td_element_bytes(int dtype)
    void td_span(const td_view *view, const char **low, const char **high)
    void td_check_run(const char *low, const char *high, int64_t itemsize, const char *data, int64_t stride, int64_t n,
                      int operand)

# Up to four operands walked together: one shape, the strides of each. The last operand is the output.
cdef struct Walk:
    int operands
    int ndim
    int64_t shape[32]
    int64_t strides[4][32]
    char *data[4]
    const char *low[4]  # where the views lie, and how long their elements are: known and checked in debug builds
    const char *high[4]
    int64_t itemsizes[4]

cdef inline void bound_walk(Walk *walk, int operand, const td_view *view) noexcept nogil:
    """Runs of the operand may go everywhere in the view; checked in debug builds."""
    if TD_CHECKS:
        td_span(view, &walk.low[operand], &walk.high[operand])
        walk.itemsizes[operand] = td_element_bytes(view.dtype)

cdef inline void check_run(const Walk *walk, char *const *data) noexcept nogil:
    """In debug builds, end the process if the run that starts at data leaves the views."""
    cdef int operand
    cdef int run = walk.ndim - 1
    if TD_CHECKS:
        for operand in range(walk.operands):
            td_check_run(walk.low[operand], walk.high[operand], walk.itemsizes[operand], data[operand],
                         walk.strides[operand][run], walk.shape[run], operand)

# A place in a walk, on the way through a range of its steps.
cdef struct Cursor:
    int64_t position[32]
    char *data[4]  # of the run's begin
    int64_t offset
    int64_t left

cdef inline int64_t absolute(int64_t value) noexcept nogil:
    return -value if value < 0 else value

cdef int plan_walk(Walk *walk, int operands, const td_view **views) noexcept nogil
cdef bint next_run(Walk *walk, int64_t *position) noexcept nogil
cdef bint advance(const Walk *walk, int axes, char **data, int64_t *position) noexcept nogil
cdef void locate(const Walk *walk, int axes, int64_t index, char **data, int64_t *position) noexcept nogil
cdef void open_range(const Walk *walk, int64_t start, int64_t stop, Cursor *cursor) noexcept nogil
cdef int64_t next_piece(const Walk *walk, Cursor *cursor, int64_t most, char **at) noexcept nogil
cdef int crossing_axis(const Walk *walk) noexcept nogil
cdef void move_axis(Walk *walk, int axis, int place) noexcept nogil
cdef int64_t walk_size(const Walk *walk, int axes) noexcept nogil
cdef int64_t view_size(const td_view *view) noexcept nogil
cdef int64_t checked_size(const td_view *view) noexcept nogil
cdef bint is_dense(const td_view *view, int64_t itemsize) noexcept nogil
cdef bint same_shape(const td_view *x, const td_view *y) noexcept nogil
cdef bint overlaps(const td_view *x, int64_t x_itemsize, const td_view *y, int64_t y_itemsize) noexcept nogil
cdef bint same_view(const td_view *x, const td_view *y) noexcept nogil
cdef void dense_strides(td_view *view, int64_t itemsize) noexcept nogil
cdef int broadcast_shape(td_view *out, const td_view *x) noexcept nogil
cdef void broadcast_view(td_view *view, const td_view *x, const td_view *shape) noexcept nogil
cdef int reshape_strides(const td_view *x, td_view *view, int64_t itemsize) noexcept nogil
