"""Shape and stride logic, once, over the view struct: broadcasting, reshaping, walking, overlap.

Nothing here knows of dtypes, devices or the array class.
"""

from libc.stdint cimport int64_t

from treadle.ndarray._types cimport td_view

cdef enum:
    LEAST_TILE = 4  # an axis shorter than that is no side of a tile


cdef int plan_walk(Walk *walk, int operands, const td_view **views) noexcept nogil:
    """Prepare a walk over views of one shape: the axes sorted by the output's strides and merged where they can be.

    Returns 0 when there is nothing to walk. Afterwards the last axis is the run for the inner loop.
    """
    cdef const td_view *out = views[operands - 1]
    cdef int axis, operand, place
    cdef int axes[32]
    cdef int count = 0
    cdef int64_t stride, other
    walk.operands = operands
    for axis in range(out.ndim):
        if out.shape[axis] == 0:
            return 0
        if out.shape[axis] == 1:
            continue
        # insertion sort, largest stride first; equal strides keep their order
        place = count
        while place > 0:
            stride, other = absolute(out.strides[axis]), absolute(out.strides[axes[place - 1]])
            if stride < other or (stride == other and absolute(views[0].strides[axis])
                                  <= absolute(views[0].strides[axes[place - 1]])):
                break
            axes[place] = axes[place - 1]
            place -= 1
        axes[place] = axis
        count += 1
    for operand in range(operands):
        walk.data[operand] = views[operand].data
    walk.ndim = 0
    for place in range(count):
        axis = axes[place]
        _append_axis(walk, views, axis, out.shape[axis])
    if walk.ndim == 0:
        walk.ndim = 1
        walk.shape[0] = 1
        for operand in range(operands):
            walk.strides[operand][0] = 0
    for operand in range(operands):
        bound_walk(walk, operand, views[operand])
    check_run(walk, walk.data)
    return 1


cdef void _append_axis(Walk *walk, const td_view **views, int axis, int64_t length) noexcept nogil:
    cdef int operand
    cdef int last = walk.ndim - 1
    cdef bint merges = last >= 0
    cdef bint flip = views[walk.operands - 1].strides[axis] < 0
    cdef int64_t stride
    for operand in range(walk.operands):
        stride = views[operand].strides[axis]
        if flip:
            walk.data[operand] += stride * (length - 1)
            stride = -stride
        walk.strides[operand][walk.ndim] = stride
        if merges and walk.strides[operand][last] != stride * length:
            merges = False
    walk.shape[walk.ndim] = length
    if not merges:
        walk.ndim += 1
        return
    walk.shape[last] *= length
    for operand in range(walk.operands):
        walk.strides[operand][last] = walk.strides[operand][walk.ndim]


cdef bint next_run(Walk *walk, int64_t *position) noexcept nogil:
    """Advance the data pointers by one step of the outer axes; False when all are done."""
    return advance(walk, walk.ndim - 1, walk.data, position)


cdef bint advance(const Walk *walk, int axes, char **data, int64_t *position) noexcept nogil:
    """Advance pointers by one step of the walk's first so many axes; False when all are done."""
    cdef int axis = axes - 1
    cdef int operand
    while axis >= 0:
        position[axis] += 1
        if position[axis] < walk.shape[axis]:
            for operand in range(walk.operands):
                data[operand] += walk.strides[operand][axis]
            check_run(walk, data)
            return True
        position[axis] = 0
        for operand in range(walk.operands):
            data[operand] -= walk.strides[operand][axis] * (walk.shape[axis] - 1)
        axis -= 1
    return False


cdef void locate(const Walk *walk, int axes, int64_t index, char **data, int64_t *position) noexcept nogil:
    """The pointers and the position after ``index`` steps of the first so many axes."""
    cdef int axis, operand
    for operand in range(walk.operands):
        data[operand] = walk.data[operand]
    for axis in range(axes - 1, -1, -1):
        position[axis] = index % walk.shape[axis]
        index //= walk.shape[axis]
        for operand in range(walk.operands):
            data[operand] += position[axis] * walk.strides[operand][axis]


cdef void open_range(const Walk *walk, int64_t start, int64_t stop, Cursor *cursor) noexcept nogil:
    """A cursor over the steps from start to stop, runs included."""
    cdef int run = walk.ndim - 1
    locate(walk, run, start // walk.shape[run], cursor.data, cursor.position)
    cursor.offset = start % walk.shape[run]
    cursor.left = stop - start


cdef int64_t next_piece(const Walk *walk, Cursor *cursor, int64_t most, char **at) noexcept nogil:
    """The number of next steps along one run, ``most`` of them at most, and the pointers at the first; 0 at the end."""
    cdef int run = walk.ndim - 1
    cdef int operand
    cdef int64_t count
    if cursor.left == 0:
        return 0
    if cursor.offset == walk.shape[run]:
        advance(walk, run, cursor.data, cursor.position)
        cursor.offset = 0
    count = min(cursor.left, min(most, walk.shape[run] - cursor.offset))
    for operand in range(walk.operands):
        at[operand] = cursor.data[operand] + cursor.offset * walk.strides[operand][run]
    cursor.offset += count
    cursor.left -= count
    return count


cdef int crossing_axis(const Walk *walk) noexcept nogil:
    """The axis along which an operand lies closer than along the run, with worthwhile tiles of both; -1 if none."""
    cdef int run = walk.ndim - 1
    cdef int operand, axis, closest
    cdef int64_t shortest
    if run == 0 or walk.shape[run] < LEAST_TILE:
        return -1
    for operand in range(walk.operands - 1):
        shortest, closest = absolute(walk.strides[operand][run]), -1
        if shortest == 0:
            continue
        for axis in range(run):
            if (0 < absolute(walk.strides[operand][axis]) < shortest and walk.shape[axis] >= LEAST_TILE):
                shortest, closest = absolute(walk.strides[operand][axis]), axis
        if closest >= 0:
            return closest
    return -1


cdef void move_axis(Walk *walk, int axis, int place) noexcept nogil:
    """Put an axis behind those up to ``place``."""
    cdef int64_t length = walk.shape[axis]
    cdef int64_t strides[4]
    cdef int operand
    for operand in range(walk.operands):
        strides[operand] = walk.strides[operand][axis]
    while axis < place:
        walk.shape[axis] = walk.shape[axis + 1]
        for operand in range(walk.operands):
            walk.strides[operand][axis] = walk.strides[operand][axis + 1]
        axis += 1
    walk.shape[place] = length
    for operand in range(walk.operands):
        walk.strides[operand][place] = strides[operand]


cdef int64_t walk_size(const Walk *walk, int axes) noexcept nogil:
    """The number of steps of the first so many axes."""
    cdef int64_t size = 1
    cdef int axis
    for axis in range(axes):
        size *= walk.shape[axis]
    return size


cdef int64_t view_size(const td_view *view) noexcept nogil:
    cdef int64_t size = 1
    cdef int axis
    for axis in range(view.ndim):
        size *= view.shape[axis]
    return size


cdef int64_t checked_size(const td_view *view) noexcept nogil:
    """The number of elements; -1 where it, or a byte offset in it, would be beyond 64 bits."""
    cdef int64_t size = 1
    cdef int axis
    for axis in range(view.ndim):
        if view.shape[axis] == 0:
            return 0
    for axis in range(view.ndim):
        if size > (<int64_t>1 << 56) // view.shape[axis]:
            return -1
        size *= view.shape[axis]
    return size


cdef bint is_dense(const td_view *view, int64_t itemsize) noexcept nogil:
    """Whether the elements lie in C order without gaps; axes of length 1 do not matter, nothing is dense."""
    cdef int axis
    cdef int64_t expected = itemsize
    cdef bint dense = True
    for axis in range(view.ndim - 1, -1, -1):
        if view.shape[axis] == 0:
            return True
        if view.shape[axis] != 1 and view.strides[axis] != expected:
            dense = False
        expected *= view.shape[axis]
    return dense


cdef bint same_shape(const td_view *x, const td_view *y) noexcept nogil:
    cdef int axis
    if x.ndim != y.ndim:
        return False
    for axis in range(x.ndim):
        if x.shape[axis] != y.shape[axis]:
            return False
    return True


cdef void _bounds(const td_view *view, int64_t itemsize, char **low, char **high) noexcept nogil:
    cdef int axis
    cdef int64_t span
    low[0] = view.data
    high[0] = view.data + itemsize
    for axis in range(view.ndim):
        span = view.strides[axis] * (view.shape[axis] - 1)
        if view.shape[axis] == 0:
            high[0] = low[0]
            return
        if span < 0:
            low[0] += span
        else:
            high[0] += span


cdef bint overlaps(const td_view *x, int64_t x_itemsize, const td_view *y, int64_t y_itemsize) noexcept nogil:
    """Whether the two may share memory, judged by the ranges they span."""
    cdef char *x_low
    cdef char *x_high
    cdef char *y_low
    cdef char *y_high
    _bounds(x, x_itemsize, &x_low, &x_high)
    _bounds(y, y_itemsize, &y_low, &y_high)
    return x_low < y_high and y_low < x_high


cdef bint same_view(const td_view *x, const td_view *y) noexcept nogil:
    """Whether both name the same elements in the same order."""
    cdef int axis
    if x.data != y.data or x.dtype != y.dtype or not same_shape(x, y):
        return False
    for axis in range(x.ndim):
        if x.shape[axis] != 1 and x.strides[axis] != y.strides[axis]:
            return False
    return True


cdef void dense_strides(td_view *view, int64_t itemsize) noexcept nogil:
    cdef int axis
    cdef int64_t stride = itemsize
    for axis in range(view.ndim - 1, -1, -1):
        view.strides[axis] = stride
        stride *= view.shape[axis] if view.shape[axis] > 0 else 1


cdef int broadcast_shape(td_view *out, const td_view *x) noexcept nogil:
    """Widen out's shape so that x broadcasts to it. Returns -1 where the shapes do not fit."""
    cdef int axis, shift
    cdef int64_t length
    if x.ndim > out.ndim:
        shift = x.ndim - out.ndim
        for axis in range(out.ndim - 1, -1, -1):
            out.shape[axis + shift] = out.shape[axis]
        for axis in range(shift):
            out.shape[axis] = 1
        out.ndim = x.ndim
    shift = out.ndim - x.ndim
    for axis in range(x.ndim):
        length = x.shape[axis]
        if length == out.shape[axis + shift] or length == 1:
            continue
        if out.shape[axis + shift] != 1:
            return -1
        out.shape[axis + shift] = length
    return 0


cdef void broadcast_view(td_view *view, const td_view *x, const td_view *shape) noexcept nogil:
    """view = x seen with the shape of another view, to which it broadcasts: stretched axes get stride 0."""
    cdef int axis
    cdef int shift = shape.ndim - x.ndim
    view.data = x.data
    view.dtype = x.dtype
    view.ndim = shape.ndim
    for axis in range(shape.ndim):
        view.shape[axis] = shape.shape[axis]
        if axis < shift or x.shape[axis - shift] != shape.shape[axis]:
            view.strides[axis] = 0
        else:
            view.strides[axis] = x.strides[axis - shift]


cdef int reshape_strides(const td_view *x, td_view *view, int64_t itemsize) noexcept nogil:
    """Strides that show x under view's shape (of equal size) without a copy. Returns -1 where there are none.

    Runs of axes of x that are dense among themselves are matched with runs of view's axes of the same product.
    """
    cdef int64_t old_shape[32]
    cdef int64_t old_strides[32]
    cdef int old_ndim = 0
    cdef int axis, old_from, old_to, new_from, new_to
    cdef int64_t old_product, new_product
    if view_size(x) == 0:
        dense_strides(view, itemsize)
        return 0
    for axis in range(x.ndim):
        if x.shape[axis] != 1:
            old_shape[old_ndim] = x.shape[axis]
            old_strides[old_ndim] = x.strides[axis]
            old_ndim += 1
    old_from = new_from = 0
    while old_from < old_ndim and new_from < view.ndim:
        old_to, new_to = old_from + 1, new_from + 1
        old_product, new_product = old_shape[old_from], view.shape[new_from]
        while old_product != new_product:
            if new_product < old_product:
                new_product *= view.shape[new_to]
                new_to += 1
            else:
                old_product *= old_shape[old_to]
                old_to += 1
        for axis in range(old_from, old_to - 1):
            if old_strides[axis] != old_shape[axis + 1] * old_strides[axis + 1]:
                return -1
        view.strides[new_to - 1] = old_strides[old_to - 1]
        for axis in range(new_to - 1, new_from, -1):
            view.strides[axis - 1] = view.strides[axis] * view.shape[axis]
        old_from, new_from = old_to, new_to
    for axis in range(new_from, view.ndim):  # only axes of length 1 are left
        view.strides[axis] = itemsize
    return 0
