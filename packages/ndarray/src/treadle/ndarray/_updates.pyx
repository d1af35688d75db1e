"""Optimizer updates, from checked arrays to the fused kernel; ``updates.py`` has the public functions."""

from libc.stdint cimport int64_t

from treadle.ndarray._elementwise cimport slots, td_adam_loop, td_adam_settings, td_sgd_loop, td_sgd_settings
from treadle.ndarray._layout cimport overlaps, same_shape, same_view
from treadle.ndarray._operands cimport check_writable, copied, must_share_device
from treadle.ndarray._strided cimport Strided
from treadle.ndarray._threads cimport run_blocks
from treadle.ndarray._types cimport TD_f32, DType, dtype_from_id, is_half

from treadle.ndarray.errors import DTypeError, ShapeError


cdef enum:
    BLOCK_ELEMENTS = 1 << 14  # what a thread takes at a time
    PARALLEL_ELEMENTS = 1 << 16

cdef struct Update:
    int64_t size
    int64_t itemsize
    char *parameter
    const char *gradient
    char *first
    char *second  # NULL where there is none, as the first may be
    td_adam_loop adam
    td_sgd_loop sgd
    const td_adam_settings *adam_settings
    const td_sgd_settings *sgd_settings


cdef void _adam_block(void *context, int64_t block) noexcept nogil:
    cdef const Update *work = <const Update *>context
    cdef int64_t start = block * BLOCK_ELEMENTS
    cdef int64_t at = start * work.itemsize
    work.adam(min(work.size - start, BLOCK_ELEMENTS), work.parameter + at, work.gradient + at, work.first + at,
              work.second + at, work.adam_settings)


cdef void _sgd_block(void *context, int64_t block) noexcept nogil:
    cdef const Update *work = <const Update *>context
    cdef int64_t start = block * BLOCK_ELEMENTS
    cdef int64_t at = start * work.itemsize
    work.sgd(min(work.size - start, BLOCK_ELEMENTS), work.parameter + at, work.gradient + at,
             NULL if work.first == NULL else work.first + at, work.sgd_settings)


cdef Update _update(Strided parameter, Strided gradient, Strided first, Strided second) noexcept:
    cdef Update work
    work.size, work.itemsize = parameter.size, parameter.dtype.itemsize
    work.parameter, work.gradient = parameter.view.data, gradient.view.data
    work.first = NULL if first is None else first.view.data
    work.second = NULL if second is None else second.view.data
    work.adam, work.sgd = slots.adam[parameter.view.dtype], slots.sgd[parameter.view.dtype]
    work.adam_settings, work.sgd_settings = NULL, NULL
    return work


cdef void _run(Update *work, void (*body)(void *context, int64_t block) noexcept nogil) noexcept:
    cdef int64_t blocks = (work.size + BLOCK_ELEMENTS - 1) // BLOCK_ELEMENTS
    if work.size < PARALLEL_ELEMENTS:
        run_blocks(blocks, body, work, False)
        return
    with nogil:
        run_blocks(blocks, body, work, True)


cdef int _check_dtypes(str op, tuple arrays) except -1:
    """All of one dtype, or the parameter and its gradient of a half, and the state of float32."""
    cdef Strided first = arrays[0]
    cdef Strided each
    cdef bint half = is_half(first.dtype.id)
    cdef DType wanted
    for place, each in enumerate(arrays):
        wanted = dtype_from_id(TD_f32) if half and place > 1 else first.dtype
        if each.dtype is not wanted or (slots.adam[each.view.dtype] == NULL and not half):
            raise DTypeError(f"{op}: parameter, gradient and state must have one dtype, float32 or float64, or the "
                             f"state float32 beside halves, not {first.dtype.name} and {each.dtype.name}")
    return 0


cdef int _check_update(str op, tuple arrays) except -1:
    cdef Strided first = arrays[0]
    cdef Strided each
    for place, each in enumerate(arrays):
        if each is None:
            raise DTypeError(f"{op}: the state is an array, not None")
        if place != 1:  # the gradient is only read
            check_writable(each, op)
        must_share_device(first, each, op)
        if not same_shape(&first.view, &each.view):
            raise ShapeError(f"{op}: parameter, gradient and state must have one shape, not {first.shape_tuple()} and "
                             f"{each.shape_tuple()}")
        if not each.dense and place != 1:
            raise ShapeError(f"{op}: parameter and state must be C-contiguous")
    return _check_dtypes(op, arrays)


cdef Strided _apart(Strided gradient, tuple arrays):
    """The gradient, dense, and not in memory that the update writes before it has read it."""
    cdef Strided each
    if not gradient.dense:
        return copied(gradient)
    for each in arrays:
        if not same_view(&gradient.view, &each.view) and overlaps(
                &gradient.view, gradient.dtype.itemsize, &each.view, each.dtype.itemsize):
            return copied(gradient)
    return gradient


def adam_step(Strided parameter not None, Strided gradient not None, Strided first not None,
              Strided second not None, tuple hyper):
    """The fused Adam update in place. False where the device has none."""
    cdef td_adam_settings settings
    cdef Update work
    arrays = (parameter, gradient, first, second)
    _check_update("adam_step", arrays)
    if parameter.device.is_cpu and is_half(parameter.dtype.id):
        return False
    gradient = _apart(gradient, arrays)
    if not parameter.device.is_cpu:
        fused = getattr(parameter.device.backend, "adam_step", None)
        if fused is None:
            return False
        if parameter.size:
            fused(parameter, gradient, first, second, hyper)
    else:
        (settings.lr, settings.beta1, settings.beta2, settings.eps, settings.weight_decay, settings.decoupled,
         settings.correction1, settings.correction2, settings.sign) = hyper
        work = _update(parameter, gradient, first, second)
        work.adam_settings = &settings
        _run(&work, _adam_block)
    for each in (parameter, first, second):
        (<Strided>each).buffer.version += 1
    return True


def sgd_step(Strided parameter not None, Strided gradient not None, Strided momentum_buffer or None, tuple hyper):
    """The fused SGD update in place. False where the device has none."""
    cdef td_sgd_settings settings
    cdef Update work
    arrays = (parameter, gradient) if momentum_buffer is None else (parameter, gradient, momentum_buffer)
    _check_update("sgd_step", arrays)
    if parameter.device.is_cpu and is_half(parameter.dtype.id):
        return False
    gradient = _apart(gradient, arrays)
    if not parameter.device.is_cpu:
        fused = getattr(parameter.device.backend, "sgd_step", None)
        if fused is None:
            return False
        if parameter.size:
            fused(parameter, gradient, momentum_buffer, hyper)
    else:
        (settings.lr, settings.momentum, settings.dampening, settings.weight_decay, settings.nesterov,
         settings.first_step, settings.sign) = hyper
        work = _update(parameter, gradient, momentum_buffer, None)
        work.sgd_settings = &settings
        _run(&work, _sgd_block)
    parameter.buffer.version += 1
    if momentum_buffer is not None:
        momentum_buffer.buffer.version += 1
    return True
