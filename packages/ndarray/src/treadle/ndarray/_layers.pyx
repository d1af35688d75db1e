"""Kernels of layers on the cpu, from arrays to blocks of work; None (or False) where the composition has to serve.
Those of other devices are optional methods of their backends.

They take dense arrays of float32 or float64 on the cpu. Blocks are cut by shape alone, so that results are the same for
every number of threads.
"""

from libc.stdint cimport INT64_MAX, int64_t
from libc.string cimport memset

from treadle.ndarray._strided cimport Strided, allocate
from treadle.ndarray._threads cimport parallel_for
from treadle.ndarray._types cimport TD_f32, TD_f64, TD_i64, dtype_from_id, td_view

from treadle.ndarray.errors import IndexingError

cdef enum:
    BLOCK = 1 << 14  # elements

cdef const td_layers *_layers = NULL
cdef dict _GRADIENTS = {"gelu": 0, "gelu_tanh": 1, "sigmoid": 2, "tanh": 3, "relu": 4}


def select(int isa):
    """Take the kernels of an instruction set."""
    global _layers
    _layers = td_layers_select(isa)


cdef inline bint _fits(Strided x) noexcept:
    return x.dense and x.size > 0 and (x.view.dtype == TD_f32 or x.view.dtype == TD_f64)


cdef object _elsewhere(Strided x, str name, tuple arguments):
    """What the optional method of another device's backend makes; None where there is none."""
    method = getattr(x.device.backend, name, None)
    if method is None:
        return None
    from treadle.ndarray import device_layers
    return getattr(device_layers, name)(method, *arguments)


cdef inline bint _is_like(Strided x, Strided like) noexcept:
    return x is None or (x.device is like.device and x.dense and x.view.dtype == like.view.dtype)


cdef inline char *_data(Strided x) noexcept:
    return NULL if x is None else x.view.data


# --- blocks of rows ---------------------------------------------------------------------------------------------------
cdef int64_t _blocks(Job *job, int64_t rows, int64_t width) noexcept nogil:
    """Cut rows into blocks of about BLOCK elements."""
    job.rows = rows
    job.width = width
    job.rows_per_block = max(<int64_t>1, BLOCK // max(<int64_t>1, width))
    return (rows + job.rows_per_block - 1) // job.rows_per_block


cdef inline int64_t _end(const Job *job, int64_t block) noexcept nogil:
    return min((block + 1) * job.rows_per_block, job.rows)


# --- activations ------------------------------------------------------------------------------------------------------
cdef void _gradient_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    cdef int64_t first = block * BLOCK * job.itemsize
    job.loop(min(<int64_t>BLOCK, job.rows - block * BLOCK), job.gradient + first, job.x + first, job.out + first)


def activation_gradient(str op, Strided gradient not None, Strided saved not None):
    """gradient times the derivative of an activation, written in its operand (gelu, gelu_tanh) or in its result."""
    cdef Job job
    cdef Strided out
    cdef int axis
    if not gradient.device.is_cpu:
        return _elsewhere(gradient, "activation_gradient", (op, gradient, saved))
    if not _fits(gradient) or not _is_like(saved, gradient) or gradient.view.ndim != saved.view.ndim:
        return None
    for axis in range(gradient.view.ndim):
        if gradient.view.shape[axis] != saved.view.shape[axis]:
            return None
    out = allocate(gradient.dtype, gradient.device, &gradient.view)
    job.loop = _layers.types[gradient.view.dtype].gradient[<int>_GRADIENTS[op]]
    job.gradient, job.x, job.out = gradient.view.data, saved.view.data, out.view.data
    job.rows, job.itemsize = gradient.size, gradient.dtype.itemsize
    if gradient.size <= BLOCK:
        _gradient_block(&job, 0)
    else:
        with nogil:
            parallel_for((job.rows + BLOCK - 1) // BLOCK, _gradient_block, &job)
    return out


# --- pooling ----------------------------------------------------------------------------------------------------------
cdef void _pool_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    cdef int64_t plane
    for plane in range(block * job.rows_per_block, _end(job, block)):
        job.kernels.max_pool(job.pool, job.x + plane * job.width * job.itemsize, (job.rows - plane) * job.width,
                             job.out + plane * job.places * job.itemsize, job.indices + plane * job.places)


cdef int64_t _read_axes(object given, int64_t filling, int64_t *to) except -1:
    """Up to three numbers, those of missing axes in front; their product, or INT64_MAX where it is larger."""
    cdef int axis, missing = 3 - <int>len(given)
    cdef int64_t product = 1
    for axis in range(3):
        to[axis] = filling if axis < missing else given[axis - missing]
        product = product * to[axis] if to[axis] == 0 or product <= INT64_MAX // to[axis] else INT64_MAX
    return product


def max_pool(Strided x not None, tuple places, geometry):
    """The values and int64 indices of the largest elements of (batch, channels, *lengths)."""
    cdef td_pool pool
    cdef Job job
    cdef td_view shape = x.view
    cdef Strided values, indices
    cdef int axis
    if not x.device.is_cpu:
        return _elsewhere(x, "max_pool", (x, places, geometry))
    if not _fits(x) or x.view.ndim > 5:
        return None
    job.width = _read_axes(x.shape_tuple()[2:], 1, pool.length)
    job.places = _read_axes(places, 1, pool.places)
    _read_axes(geometry.kernel, 1, pool.kernel)
    _read_axes(geometry.stride, 1, pool.stride)
    _read_axes(geometry.dilation, 1, pool.dilation)
    _read_axes([before for before, _ in geometry.padding], 0, pool.padding)
    if (job.width >= 1 << 30 or not 0 < job.places < INT64_MAX
            or max(pool.stride[2], pool.dilation[2], pool.kernel[2]) > TD_POOL_STAGE
            or 17 * pool.stride[2] + pool.kernel[2] * pool.dilation[2] > TD_POOL_STAGE):
        return None
    for axis in range(2, x.view.ndim):
        shape.shape[axis] = places[axis - 2]
    values = allocate(x.dtype, x.device, &shape)
    indices = allocate(dtype_from_id(TD_i64), x.device, &shape)
    job.kernels, job.pool, job.itemsize = &_layers.types[x.view.dtype], &pool, x.dtype.itemsize
    job.x, job.out, job.indices = x.view.data, values.view.data, <int64_t *>indices.view.data
    with nogil:
        parallel_for(_blocks(&job, shape.shape[0] * shape.shape[1], job.width), _pool_block, &job)
    return values, indices


cdef void _pool_gradient_block(void *context, int64_t block) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef int64_t plane
    cdef char *out
    for plane in range(block * job.rows_per_block, _end(job, block)):
        out = job.out + plane * job.width * job.itemsize
        memset(out, 0, <size_t>(job.width * job.itemsize))
        if not job.kernels.max_pool_gradient(job.places, job.width, job.gradient + plane * job.places * job.itemsize,
                                             job.indices + plane * job.places, out):
            job.failed = 1


def max_pool_gradient(Strided gradient not None, Strided indices not None, tuple input_shape):
    """The gradient laid where the indices say, of shape ``input_shape``; None too where one of them says nowhere."""
    cdef td_view shape = gradient.view
    cdef Strided out
    cdef Job job
    cdef int axis
    if not gradient.device.is_cpu:
        return _elsewhere(gradient, "max_pool_gradient", (gradient, indices, input_shape))
    if not _fits(gradient):
        return None
    if indices.device is not gradient.device or not indices.dense or indices.view.dtype != TD_i64:
        return None
    job.width = 1
    for axis in range(2, gradient.view.ndim):
        shape.shape[axis] = input_shape[axis]
        job.width *= shape.shape[axis]
    job.places = gradient.size // (gradient.view.shape[0] * gradient.view.shape[1])
    out = allocate(gradient.dtype, gradient.device, &shape)
    job.kernels, job.itemsize, job.failed = &_layers.types[gradient.view.dtype], gradient.dtype.itemsize, 0
    job.gradient, job.indices, job.out = gradient.view.data, <int64_t *>indices.view.data, out.view.data
    with nogil:
        parallel_for(_blocks(&job, shape.shape[0] * shape.shape[1], job.width), _pool_gradient_block, &job)
    return None if job.failed else out


# --- normalisation ----------------------------------------------------------------------------------------------------
cdef void _norm_rows_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    job.kernels.norm_rows(job.norm, block * job.rows_per_block, _end(job, block))


cdef void _norm_rows_gradient_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    job.kernels.norm_rows_gradient(job.norm, block * job.rows_per_block, _end(job, block), block)


cdef void _norm_channel_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    job.kernels.norm_channel(job.norm, block)


cdef void _norm_channel_gradient_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    job.kernels.norm_channel_gradient(job.norm, block)


cdef Strided _line(Strided like, int64_t rows, int64_t columns, bint zero):
    """A fresh array (rows, columns), or (rows,) where columns is 0."""
    cdef td_view shape
    cdef Strided out
    shape.dtype, shape.ndim = like.view.dtype, 2 if columns else 1
    shape.shape[0], shape.shape[1] = rows, columns
    out = allocate(like.dtype, like.device, &shape)
    if zero:
        memset(out.view.data, 0, <size_t>(out.size * out.dtype.itemsize))
    return out


def norm_rows(Strided x not None, int64_t width, bint center, double eps, Strided weight or None, Strided bias or None):
    """(result, mean or None, scale) of rows of ``width`` elements, normalised; mean and scale a number a row."""
    cdef td_norm norm
    cdef Job job
    cdef Strided out, scale, mean = None
    cdef int64_t blocks
    if not x.device.is_cpu:
        return _elsewhere(x, "norm_rows", (x, width, center, eps, weight, bias))
    if not _fits(x) or not _is_like(weight, x) or not _is_like(bias, x):
        return None
    blocks = _blocks(&job, x.size // width, width)
    out, scale = allocate(x.dtype, x.device, &x.view), _line(x, job.rows, 0, False)
    if center:
        mean = _line(x, job.rows, 0, False)
    norm.width, norm.eps, norm.x = width, eps, x.view.data
    norm.weight, norm.bias, norm.mean = _data(weight), _data(bias), _data(mean)
    norm.scale, norm.out = scale.view.data, out.view.data
    job.kernels, job.norm = &_layers.types[x.view.dtype], &norm
    with nogil:
        parallel_for(blocks, _norm_rows_block, &job)
    return out, mean, scale


def norm_rows_gradient(Strided gradient not None, Strided x not None, int64_t width, Strided mean or None,
                       Strided scale not None, Strided weight or None, tuple wanted):
    """The gradients of x, weight and bias, each None where it is not ``wanted``; those of weight and bias a line for
    each block of rows, to be summed."""
    cdef td_norm norm
    cdef Job job
    cdef Strided out = None, by_weight = None, by_bias = None
    cdef int64_t blocks
    if not gradient.device.is_cpu:
        return _elsewhere(gradient, "norm_rows_gradient", (gradient, x, width, mean, scale, weight, wanted))
    if not _fits(gradient) or not _is_like(x, gradient) or not _is_like(weight, gradient):
        return None
    blocks = _blocks(&job, x.size // width, width)
    if wanted[0]:
        out = allocate(x.dtype, x.device, &x.view)
    if wanted[1]:
        by_weight = _line(x, blocks, width, True)
    if wanted[2]:
        by_bias = _line(x, blocks, width, True)
    norm.width, norm.x, norm.gradient, norm.weight = width, x.view.data, gradient.view.data, _data(weight)
    norm.mean, norm.scale, norm.out = _data(mean), scale.view.data, _data(out)
    norm.weight_gradient, norm.bias_gradient = _data(by_weight), _data(by_bias)
    job.kernels, job.norm = &_layers.types[x.view.dtype], &norm
    with nogil:
        parallel_for(blocks, _norm_rows_gradient_block, &job)
    return out, by_weight, by_bias


cdef int _read_channels(td_norm *norm, Strided x) except -1:
    norm.rows, norm.channels = x.view.shape[0], x.view.shape[1]
    norm.width = x.size // (norm.rows * norm.channels)
    norm.x = x.view.data
    return 0


def norm_channels(Strided x not None, Strided mean not None, Strided scale not None, Strided weight or None,
                  Strided bias or None):
    """(x - mean) * scale * weight + bias of (batch, channels, ...), each a number a channel."""
    cdef td_norm norm
    cdef Job job
    cdef Strided out
    if not x.device.is_cpu:
        return _elsewhere(x, "norm_channels", (x, mean, scale, weight, bias))
    if not _fits(x) or not (_is_like(mean, x) and _is_like(scale, x) and _is_like(weight, x) and _is_like(bias, x)):
        return None
    out = allocate(x.dtype, x.device, &x.view)
    _read_channels(&norm, x)
    norm.weight, norm.bias, norm.mean = _data(weight), _data(bias), mean.view.data
    norm.scale, norm.out = scale.view.data, out.view.data
    job.kernels, job.norm = &_layers.types[x.view.dtype], &norm
    with nogil:
        parallel_for(norm.channels, _norm_channel_block, &job)
    return out


def norm_channels_gradient(Strided gradient not None, Strided x not None, Strided mean not None,
                           Strided scale not None, Strided weight or None, tuple wanted):
    """The gradients of x, weight and bias, each None where it is not ``wanted``."""
    cdef td_norm norm
    cdef Job job
    cdef Strided out = None, by_weight = None, by_bias = None
    if not gradient.device.is_cpu:
        return _elsewhere(gradient, "norm_channels_gradient", (gradient, x, mean, scale, weight, wanted))
    if not _fits(gradient) or not (_is_like(x, gradient) and _is_like(mean, gradient) and _is_like(scale, gradient)
                                   and _is_like(weight, gradient)):
        return None
    _read_channels(&norm, x)
    if wanted[0]:
        out = allocate(x.dtype, x.device, &x.view)
    if wanted[1]:
        by_weight = _line(x, norm.channels, 0, False)
    if wanted[2]:
        by_bias = _line(x, norm.channels, 0, False)
    norm.gradient, norm.weight, norm.mean = gradient.view.data, _data(weight), mean.view.data
    norm.scale, norm.out = scale.view.data, _data(out)
    norm.weight_gradient, norm.bias_gradient = _data(by_weight), _data(by_bias)
    job.kernels, job.norm = &_layers.types[x.view.dtype], &norm
    with nogil:
        parallel_for(norm.channels, _norm_channel_gradient_block, &job)
    return out, by_weight, by_bias


# --- recurrent --------------------------------------------------------------------------------------------------------
cdef void _lstm_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    job.kernels.lstm(job.lstm, block * job.rows_per_block, _end(job, block))


cdef void _lstm_gradient_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    job.kernels.lstm_gradient(job.lstm, block * job.rows_per_block, _end(job, block))


cdef bint _written(tuple arrays):
    for each in arrays:
        (<Strided>each).buffer.version += 1
    return True


def lstm_step(Strided product not None, Strided given not None, Strided before not None, Strided gates not None,
              Strided cell not None, Strided shown not None, Strided hidden not None):
    """One step: from the two parts of the gates, (batch, 4 * size), and the cell before into gates, cell, tanh(cell)
    and hidden state. False where there is no kernel."""
    cdef td_lstm step
    cdef Job job
    cdef int64_t blocks
    if not product.device.is_cpu:
        arguments = (product, given, before, gates, cell, shown, hidden)
        return _elsewhere(product, "lstm_step", arguments) and _written(arguments[3:])
    if not _fits(product):
        return False
    for each in (given, before, gates, cell, shown, hidden):
        if not _is_like(each, product):
            return False
    step.size = cell.view.shape[1]
    step.product, step.given, step.before = product.view.data, given.view.data, before.view.data
    step.gates, step.cell, step.shown = gates.view.data, cell.view.data, shown.view.data
    step.hidden = hidden.view.data
    blocks = _blocks(&job, cell.view.shape[0], 4 * step.size)
    job.kernels, job.lstm = &_layers.types[product.view.dtype], &step
    with nogil:
        parallel_for(blocks, _lstm_block, &job)
    return _written((gates, cell, shown, hidden))


def lstm_step_gradient(Strided gates not None, Strided before not None, Strided shown not None,
                       Strided d_shown not None, Strided d_cell not None, Strided d_gates not None):
    """The gradients of a step's gates into ``d_gates``, (batch, 4 * size), and of the cell before into ``d_cell``,
    which held that of the cell. False where there is no kernel."""
    cdef td_lstm step
    cdef Job job
    cdef int64_t blocks
    if not gates.device.is_cpu:
        arguments = (gates, before, shown, d_shown, d_cell, d_gates)
        return _elsewhere(gates, "lstm_step_gradient", arguments) and _written(arguments[4:])
    if not _fits(gates):
        return False
    for each in (before, shown, d_shown, d_cell, d_gates):
        if not _is_like(each, gates):
            return False
    step.size = shown.view.shape[1]
    step.gates, step.before, step.shown = gates.view.data, before.view.data, shown.view.data
    step.d_shown, step.d_cell, step.d_gates = d_shown.view.data, d_cell.view.data, d_gates.view.data
    blocks = _blocks(&job, shown.view.shape[0], 4 * step.size)
    job.kernels, job.lstm = &_layers.types[gates.view.dtype], &step
    with nogil:
        parallel_for(blocks, _lstm_gradient_block, &job)
    return _written((d_cell, d_gates))


# --- losses -----------------------------------------------------------------------------------------------------------
cdef void _entropy_block(void *context, int64_t block) noexcept nogil:
    cdef Job *job = <Job *>context
    if not job.kernels.entropy(job.entropy, block * job.rows_per_block, _end(job, block)):
        job.failed = 1


cdef void _entropy_gradient_block(void *context, int64_t block) noexcept nogil:
    cdef const Job *job = <const Job *>context
    job.kernels.entropy_gradient(job.entropy, block * job.rows_per_block, _end(job, block))


cdef bint _reads_entropy(td_entropy *entropy, Strided logits, Strided targets, int64_t ignored, double smoothing):
    if not _fits(logits) or logits.view.ndim != 2 or not targets.device.is_cpu or not targets.dense:
        return False
    if targets.view.dtype != TD_i64 or targets.view.ndim != 1 or targets.view.shape[0] != logits.view.shape[0]:
        return False
    entropy.classes, entropy.ignored, entropy.smoothing = logits.view.shape[1], ignored, smoothing
    entropy.logits, entropy.targets = logits.view.data, <const int64_t *>targets.view.data
    return True


def entropy(object op, Strided logits not None, Strided targets not None, int64_t ignored, double smoothing):
    """The cross-entropy of each row of (rows, classes), 0 where the target is the ignored one. Raises
    IndexingError that names ``op``."""
    cdef td_entropy work
    cdef Job job
    cdef Strided out
    cdef int64_t blocks
    if not logits.device.is_cpu:
        return _elsewhere(logits, "entropy", (op, logits, targets, ignored, smoothing))
    if not _reads_entropy(&work, logits, targets, ignored, smoothing):
        return None
    out = _line(logits, logits.view.shape[0], 0, False)
    work.out = out.view.data
    blocks = _blocks(&job, logits.view.shape[0], work.classes)
    job.kernels, job.entropy, job.failed = &_layers.types[logits.view.dtype], &work, 0
    with nogil:
        parallel_for(blocks, _entropy_block, &job)
    if job.failed:
        raise IndexingError(f"{op}: a target is outside of the {work.classes} classes, and is not ignore_index")
    return out


def entropy_gradient(Strided logits not None, Strided targets not None, int64_t ignored, double smoothing,
                     Strided scale not None):
    """The gradient of the logits: scale, a number or one a row, times (softmax - target's distribution)."""
    cdef td_entropy work
    cdef Job job
    cdef Strided out
    cdef int64_t blocks
    if not logits.device.is_cpu:
        return _elsewhere(logits, "entropy_gradient", (logits, targets, ignored, smoothing, scale))
    if not _reads_entropy(&work, logits, targets, ignored, smoothing) or not _is_like(scale, logits):
        return None
    out = allocate(logits.dtype, logits.device, &logits.view)
    work.out, work.scale, work.scale_step = out.view.data, scale.view.data, 0 if scale.view.ndim == 0 else 1
    blocks = _blocks(&job, logits.view.shape[0], work.classes)
    job.kernels, job.entropy = &_layers.types[logits.view.dtype], &work
    with nogil:
        parallel_for(blocks, _entropy_gradient_block, &job)
    return out
