# cython: cdivision=True
"""Convolution on the cpu without laying out its columns.

Each image of each group becomes planes: its channels with the padding around them, and, for a stride along the last
axis, the elements of equal remainder side by side. What a tap of the kernel sees then lies densely along each row, so
the matrix of windows (_panels.Windows) is no more than a table of offsets. The large products of _panels pack it on
the fly. Where a group has one or two outputs, as in depthwise convolution, rows are summed directly, without packing.

The gradient of the weight, (channels x taps) x outputs, is the windows' matrix times the transposed gradient of the
result, summed over runs of images, whose sums are added in order. That of the input is a convolution again
(convolution.py).
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from treadle.ndarray._matmul_kernels cimport td_matmul_tiles
from treadle.ndarray._panels cimport (
    ALIGNMENT, Product, Windows, acquire_memory, add_numbers, ceil_div, kernels, multiply_blocked, release_memory,
    smaller)
from treadle.ndarray._strided cimport Strided
from treadle.ndarray._threads cimport run_blocks
from treadle.ndarray._types cimport TD_f32

cdef enum:
    DIRECT_OUTPUTS = 2  # of a group
    WIDER = 3  # at most one part in so many is computed between lines
    MANY_UNITS = 8  # images of groups from which on each is one thread's
    UNIT_WORK = 1 << 18  # multiplications in a block of units
    PARALLEL_WORK = 1 << 21
    MOST_RUNS = 8
    RUNS_BYTES = 4 << 20

cdef struct Convolution:
    const td_matmul_tiles *tiles
    int64_t itemsize
    int64_t batch
    int64_t groups
    int64_t channels  # of a group, as are the outputs
    int64_t outputs
    int64_t taps
    int64_t lengths[3]  # fewer axes than three lead with length 1
    int64_t kernel[3]
    int64_t before[3]
    int64_t stride[3]
    int64_t dilation[3]
    int64_t places[3]
    int64_t count  # of places
    const char *x
    int64_t x_batch  # strides
    int64_t x_channel
    int64_t x_strides[3]
    bint copies  # into planes; else the image serves as it lies
    bint pads
    int64_t plane  # bytes of a channel
    int64_t strides[2]
    int64_t phase
    Windows windows
    const char *operand  # the weight, or the gradient of the result
    const char *bias  # of each output, or NULL
    char *out
    int64_t line  # elements from one line of places to the next, as they are computed: more than places when wide
    int64_t span  # of an output
    bint wide
    bint spreads  # out's elements lie apart
    int64_t out_batch  # strides
    int64_t out_channel
    int64_t out_strides[3]
    int64_t unit_run
    int64_t runs  # of images
    char *sums  # over each group's runs
    int failed


# --- planes -----------------------------------------------------------------------------------------------------------
cdef void _plan_planes(Convolution *c, const int64_t *after) noexcept nogil:
    cdef int64_t lengths[3]
    cdef int axis
    c.pads = False
    for axis in range(3):
        lengths[axis] = c.before[axis] + c.lengths[axis] + after[axis]
        c.pads = c.pads or lengths[axis] != c.lengths[axis]
    c.copies = c.pads or c.stride[2] != 1 or c.x_strides[2] != c.itemsize
    if c.copies:
        c.phase = ceil_div(lengths[2], c.stride[2]) * c.itemsize
        c.strides[1] = c.stride[2] * c.phase
        c.strides[0] = lengths[1] * c.strides[1]
        c.plane = lengths[0] * c.strides[0]
    else:
        c.phase = 0
        c.strides[0], c.strides[1], c.plane = c.x_strides[0], c.x_strides[1], c.x_channel


cdef void _plan_windows(Convolution *c, int64_t *rows) noexcept nogil:
    """The offset of each tap of each channel, and where the places lie; rows without gaps become one."""
    cdef Windows *w = &c.windows
    cdef int64_t channel, i, j, k, last, _
    w.rows = rows
    for channel in range(c.channels):
        for i in range(c.kernel[0]):
            for j in range(c.kernel[1]):
                for k in range(c.kernel[2]):
                    last = k * c.dilation[2]
                    rows[0] = (channel * c.plane + i * c.dilation[0] * c.strides[0] + j * c.dilation[1] * c.strides[1]
                               + last % c.stride[2] * c.phase + last // c.stride[2] * c.itemsize)
                    rows += 1
    for k in range(3):
        w.lengths[k] = c.places[k]
    w.strides[0], w.strides[1] = c.stride[0] * c.strides[0], c.stride[1] * c.strides[1]
    w.strides[2] = c.itemsize
    for _ in range(2):
        if w.lengths[1] == 1 or w.strides[1] == w.lengths[2] * c.itemsize:
            w.lengths[2] *= w.lengths[1]
            w.lengths[1], w.strides[1] = w.lengths[0], w.strides[0]
            w.lengths[0] = 1


cdef void _widen(Convolution *c) noexcept nogil:
    """Compute what lies between short lines too: long runs of places are packed in less time."""
    cdef Windows *w = &c.windows
    cdef int64_t line = w.strides[1] // c.itemsize
    c.line, c.span = c.places[2], c.count
    c.wide = (w.lengths[0] == 1 and w.lengths[1] > 1 and w.lengths[2] < c.tiles.columns
              and line <= w.lengths[2] + w.lengths[2] // WIDER and w.strides[1] == line * c.itemsize
              and w.lengths[2] == c.places[2] and c.outputs > DIRECT_OUTPUTS)
    if c.wide:
        c.line, c.span = line, (w.lengths[1] - 1) * line + w.lengths[2]
        w.lengths[1], w.lengths[2] = 1, c.span


cdef void _copy_row(const Convolution *c, const char *source, char *row) noexcept nogil:
    """A row of the image into its row of the plane, element i at position before + i."""
    cdef int64_t stride = c.stride[2]
    cdef int64_t step = c.x_strides[2]
    cdef int64_t i, position, rest
    if stride == 1 and step == c.itemsize:
        memcpy(row + c.before[2] * c.itemsize, source, <size_t>(c.lengths[2] * c.itemsize))
        return
    for rest in range(smaller(stride, c.lengths[2])):
        position = (c.before[2] + rest) % stride * c.phase + (c.before[2] + rest) // stride * c.itemsize
        i = rest
        while i < c.lengths[2]:
            if c.itemsize == 4:
                (<uint32_t *>(row + position))[0] = (<const uint32_t *>(source + i * step))[0]
            else:
                (<uint64_t *>(row + position))[0] = (<const uint64_t *>(source + i * step))[0]
            position += c.itemsize
            i += stride


cdef struct Unit:  # one image of one group
    const Convolution *convolution
    const char *x
    char *planes


cdef void _fill_plane(void *context, int64_t channel) noexcept nogil:
    cdef const Unit *unit = <const Unit *>context
    cdef const Convolution *c = unit.convolution
    cdef char *plane = unit.planes + channel * c.plane
    cdef const char *x = unit.x + channel * c.x_channel
    cdef int64_t i, j
    if c.pads:
        memset(plane, 0, <size_t>c.plane)
    for i in range(c.lengths[0]):
        for j in range(c.lengths[1]):
            _copy_row(c, x + i * c.x_strides[0] + j * c.x_strides[1],
                      plane + (i + c.before[0]) * c.strides[0] + (j + c.before[1]) * c.strides[1])


cdef void _show_windows(const Convolution *c, int64_t image, int64_t group, char *planes, bint parallel,
                        Windows *windows) noexcept nogil:
    """The windows of one image and group; `planes` has room for them where they are copied."""
    cdef Unit unit
    unit.convolution, unit.planes = c, planes
    unit.x = c.x + image * c.x_batch + group * c.channels * c.x_channel
    windows[0] = c.windows
    windows.data = unit.x
    if c.copies:
        run_blocks(c.channels, _fill_plane, &unit, parallel)
        windows.data = planes


# --- the convolution --------------------------------------------------------------------------------------------------
cdef void _sum_rows(const Convolution *c, const Windows *w, const char *weight, char *out) noexcept nogil:
    cdef int64_t k = c.channels * c.taps
    cdef int64_t row = w.lengths[2] * c.itemsize
    cdef int64_t output, i
    for output in range(c.outputs):
        for i in range(w.lengths[0]):
            c.tiles.combine_at(w.lengths[1], w.lengths[2], k, weight + output * k * c.itemsize,
                               w.data + i * w.strides[0], w.strides[1], w.rows, out, row)
            out += w.lengths[1] * row


cdef void _scatter_line(const Convolution *c, const char *line, const char *bias, char *to) noexcept nogil:
    """A line of results to elements that lie apart."""
    cdef int64_t step = c.out_strides[2]
    cdef int64_t k
    for k in range(c.places[2]):
        if c.itemsize == sizeof(float):
            (<float *>(to + k * step))[0] = (<const float *>line)[k] + (<const float *>bias)[0]
        else:
            (<double *>(to + k * step))[0] = (<const double *>line)[k] + (<const double *>bias)[0]


cdef void _finish(const Convolution *c, int64_t group, const char *found, char *out) noexcept nogil:
    """One unit's results to where they belong, with the bias added; found may be out."""
    cdef float nothing = -0.0
    cdef double wide_nothing = -0.0
    cdef const char *bias = <const char *>&nothing if c.itemsize == sizeof(float) else <const char *>&wide_nothing
    cdef int64_t output, i, j
    cdef const char *plane
    cdef char *to
    for output in range(c.outputs):
        if c.bias != NULL:
            bias = c.bias + (group * c.outputs + output) * c.itemsize
        for i in range(c.places[0]):
            plane = found + (output * c.span + i * c.places[1] * c.line) * c.itemsize
            to = out + output * c.out_channel + i * c.out_strides[0]
            if c.out_strides[2] == c.itemsize:
                c.tiles.add_to_lines(c.places[1], c.places[2], plane, c.line * c.itemsize, bias, to, c.out_strides[1])
                continue
            for j in range(c.places[1]):
                _scatter_line(c, plane + j * c.line * c.itemsize, bias, to + j * c.out_strides[1])


cdef int _multiply_windows(const Convolution *c, const Windows *windows, const char *weight, char *out,
                           bint parallel) noexcept nogil:
    cdef int64_t k = c.channels * c.taps
    cdef Product p
    if c.outputs <= DIRECT_OUTPUTS:
        _sum_rows(c, windows, weight, out)
        return 0
    p.tiles, p.itemsize, p.m, p.n, p.k = c.tiles, c.itemsize, c.outputs, c.span, k
    p.a.data, p.a.row, p.a.column = <char *>weight, k * c.itemsize, c.itemsize
    p.b.data, p.b.row, p.b.column = NULL, 0, 0
    p.out.data, p.out.row, p.out.column = out, c.span * c.itemsize, c.itemsize
    p.a_windows, p.b_windows, p.accumulate = NULL, windows, False
    return multiply_blocked(&p, parallel)


cdef int _convolve_unit(const Convolution *c, int64_t number, bint parallel) noexcept nogil:
    cdef int64_t image = number // c.groups
    cdef int64_t group = number % c.groups
    cdef bint moves = c.spreads or c.wide
    cdef int64_t planes = ceil_div(c.channels * c.plane, ALIGNMENT) * ALIGNMENT if c.copies else 0
    cdef int64_t found = c.outputs * c.span * c.itemsize if moves else 0
    cdef char *memory = acquire_memory(planes + found)
    cdef const char *weight = c.operand + group * c.outputs * c.channels * c.taps * c.itemsize
    cdef char *target = c.out + image * c.out_batch + group * c.outputs * c.out_channel
    cdef char *out = memory + planes if moves else target
    cdef Windows windows
    cdef int status
    if memory == NULL:
        return -1
    _show_windows(c, image, group, memory, parallel, &windows)
    status = _multiply_windows(c, &windows, weight, out, parallel)
    if status == 0 and (moves or c.bias != NULL):
        _finish(c, group, out, target)
    release_memory(memory)
    return status


cdef void _convolve_units(void *context, int64_t block) noexcept nogil:
    cdef Convolution *c = <Convolution *>context
    cdef int64_t number
    for number in range(block * c.unit_run, smaller((block + 1) * c.unit_run, c.batch * c.groups)):
        if _convolve_unit(c, number, False) != 0:
            c.failed = 1


cdef void _convolve(Convolution *c) noexcept nogil:
    cdef int64_t units = c.batch * c.groups
    cdef int64_t number
    cdef double work = <double>c.outputs * c.count * c.channels * c.taps
    cdef bint parallel = work * units >= PARALLEL_WORK
    c.unit_run = <int64_t>(UNIT_WORK / work) + 1
    if units >= MANY_UNITS:
        run_blocks(ceil_div(units, c.unit_run), _convolve_units, c, parallel)
        return
    for number in range(units):
        if _convolve_unit(c, number, parallel) != 0:
            c.failed = 1


# --- the gradient of the weight ---------------------------------------------------------------------------------------
cdef void _dot_rows(const Convolution *c, const Windows *w, const char *gradient, char *out) noexcept nogil:
    cdef int64_t row = w.lengths[2] * c.itemsize
    cdef int64_t i, _
    for _ in range(c.outputs):
        for i in range(w.lengths[0]):
            c.tiles.dots_at(w.lengths[1], w.lengths[2], c.channels * c.taps, gradient, row,
                            w.data + i * w.strides[0], w.strides[1], w.rows, out)
            gradient += w.lengths[1] * row
        out += c.channels * c.taps * c.itemsize


cdef int _differentiate_images(const Convolution *c, int64_t group, int64_t first, int64_t end, char *out,
                               bint parallel) noexcept nogil:
    """The sum over some images, in order."""
    cdef int64_t k = c.channels * c.taps
    cdef int64_t area = c.outputs * c.count * c.itemsize
    cdef char *planes = acquire_memory(c.channels * c.plane) if c.copies else NULL
    cdef Windows windows
    cdef Product p
    cdef int64_t image
    cdef int status = 0
    if c.copies and planes == NULL:
        return -1
    memset(out, 0, <size_t>(c.outputs * k * c.itemsize))
    p.tiles, p.itemsize, p.m, p.n, p.k = c.tiles, c.itemsize, k, c.outputs, c.count
    p.a.data, p.a.row, p.a.column = NULL, 0, 0
    p.b.row, p.b.column = c.itemsize, c.count * c.itemsize
    p.out.data, p.out.row, p.out.column = out, c.outputs * c.itemsize, c.itemsize
    p.a_windows, p.b_windows, p.accumulate = &windows, NULL, True
    for image in range(first, end):
        _show_windows(c, image, group, planes, parallel, &windows)
        p.b.data = <char *>c.operand + (image * c.groups + group) * area
        if c.outputs <= DIRECT_OUTPUTS:
            _dot_rows(c, &windows, p.b.data, out)
        elif multiply_blocked(&p, parallel) != 0:
            status = -1
    if planes != NULL:
        release_memory(planes)
    return status


cdef void _differentiate_part(void *context, int64_t part) noexcept nogil:
    """Of one group and one run of images."""
    cdef Convolution *c = <Convolution *>context
    cdef int64_t area = c.outputs * c.channels * c.taps * c.itemsize
    cdef int64_t group = part // c.runs
    cdef int64_t run = part % c.runs
    if _differentiate_images(c, group, run * c.batch // c.runs, (run + 1) * c.batch // c.runs,
                             c.sums + part * area, False) != 0:
        c.failed = 1


cdef void _add_runs(const Convolution *c) noexcept nogil:
    """Each group's gradient, from the sums over its runs of images, in order."""
    cdef int64_t area = c.outputs * c.channels * c.taps
    cdef int64_t _group, _part
    cdef const char *sums = c.sums
    cdef char *out = c.out
    for _group in range(c.groups):
        memcpy(out, sums, <size_t>(area * c.itemsize))
        for _part in range(1, c.runs):
            sums += area * c.itemsize
            add_numbers(out, sums, area, c.itemsize)
        sums += area * c.itemsize
        out += area * c.itemsize


cdef void _differentiate(Convolution *c) noexcept nogil:
    """Threads take groups where there are many, else runs of images, unless their sums would take much memory."""
    cdef double work = <double>c.batch * c.groups * c.outputs * c.count * c.channels * c.taps
    cdef bint parallel = work >= PARALLEL_WORK
    cdef int64_t area = c.outputs * c.channels * c.taps * c.itemsize
    cdef int64_t group
    if c.groups >= MANY_UNITS:
        c.runs, c.sums = 1, c.out
        run_blocks(c.groups, _differentiate_part, c, parallel)
        return
    c.runs = smaller(smaller(c.batch, MOST_RUNS), RUNS_BYTES // (c.groups * area)) if parallel else 1
    c.sums = acquire_memory(c.runs * c.groups * area) if c.runs > 1 else NULL
    if c.sums == NULL:
        for group in range(c.groups):
            if _differentiate_images(c, group, 0, c.batch, c.out + group * area, parallel) != 0:
                c.failed = 1
        return
    run_blocks(c.runs * c.groups, _differentiate_part, c, True)
    _add_runs(c)
    release_memory(c.sums)


# --- from arrays ------------------------------------------------------------------------------------------------------
cdef int _run(Strided x, Strided operand, Strided bias, Strided out, tuple outputs_groups, object geometry,
              tuple places, bint differentiate) except -1:
    """Arrays of one floating dtype, all dense but x and a convolution's out, none empty; at most three spatial axes."""
    cdef Convolution c
    cdef int64_t after[3]
    cdef int lead = 5 - x.view.ndim
    cdef int axis, spatial
    cdef char *rows
    c.tiles = &kernels.f32 if x.view.dtype == TD_f32 else &kernels.f64
    c.itemsize, c.batch, c.failed = x.dtype.itemsize, x.view.shape[0], 0
    c.outputs, c.groups = outputs_groups
    c.channels = x.view.shape[1] // c.groups
    c.x, c.x_batch, c.x_channel = x.view.data, x.view.strides[0], x.view.strides[1]
    c.operand, c.out = operand.view.data, out.view.data
    c.bias = NULL if bias is None else bias.view.data
    c.spreads = not out.dense
    c.out_batch, c.out_channel = out.view.strides[0], out.view.strides[1]
    c.taps, c.count = 1, 1
    for axis in range(3):
        spatial = axis - lead
        c.lengths[axis] = c.kernel[axis] = c.stride[axis] = c.dilation[axis] = c.places[axis] = 1
        c.before[axis] = after[axis] = c.x_strides[axis] = c.out_strides[axis] = 0
        if spatial >= 0:
            c.lengths[axis], c.x_strides[axis] = x.view.shape[2 + spatial], x.view.strides[2 + spatial]
            c.kernel[axis], c.stride[axis] = geometry.kernel[spatial], geometry.stride[spatial]
            c.dilation[axis], c.places[axis] = geometry.dilation[spatial], places[spatial]
            c.before[axis], after[axis] = geometry.padding[spatial]
            c.out_strides[axis] = out.view.strides[2 + spatial] if not differentiate else 0
        c.taps *= c.kernel[axis]
        c.count *= c.places[axis]
    rows = acquire_memory(c.channels * c.taps * <int64_t>sizeof(int64_t))
    if rows == NULL:
        raise MemoryError("conv: no memory for the table of offsets")
    with nogil:
        _plan_planes(&c, after)
        _plan_windows(&c, <int64_t *>rows)
        if differentiate:
            _differentiate(&c)
        else:
            _widen(&c)
            _convolve(&c)
        release_memory(rows)
    if c.failed:
        raise MemoryError("conv: no memory for the packed operands")
    return 0


def convolve(Strided x not None, Strided weight not None, Strided bias or None, Strided out not None, int64_t outputs,
             int64_t groups, geometry, tuple places):
    """out, (batch, groups * outputs, *places), from dense weight, (groups * outputs, channels, *kernel).

    bias is dense, (groups * outputs,) of the same dtype, or None.
    """
    _run(x, weight, bias, out, (outputs, groups), geometry, places, False)


def differentiate(Strided x not None, Strided gradient not None, Strided out not None, int64_t outputs, int64_t groups,
                  geometry, tuple places):
    """The weight's gradient, (groups, channels * taps, outputs), from the dense gradient of the result.

    With at most DIRECT_OUTPUTS outputs a group, out is (groups, outputs, channels * taps).
    """
    _run(x, gradient, None, out, (outputs, groups), geometry, places, True)


def is_direct(int64_t outputs):
    """Whether groups of so many outputs are summed row by row."""
    return outputs <= DIRECT_OUTPUTS
