# The backend protocol over the kernels, the same source for both builds: _cuda.pyx includes it and is linked with what
# nvcc made of kernels/*.cu, _emulated.pyx with what the C++ compiler made of them.

from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t

from treadle.cuda._api cimport *


cdef dict numbered(const char *const *names, int count):
    return {names[number].decode(): number for number in range(count)}


cdef dict UNARY = numbered(td_cuda_unary_names, TD_UNARY_COUNT)
cdef dict BINARY = numbered(td_cuda_binary_names, TD_BINARY_COUNT)
cdef dict TERNARY = numbered(td_cuda_ternary_names, TD_TERNARY_COUNT)
cdef dict REDUCE = numbered(td_cuda_reduce_names, TD_REDUCE_COUNT)
cdef dict DRAWS = {
    "bits": TD_DRAW_bits, "uniform": TD_DRAW_uniform, "normal": TD_DRAW_normal, "integers": TD_DRAW_integers,
    "bernoulli": TD_DRAW_bernoulli,
}


cdef int read_view(object array, td_view *view) except -1:
    cdef int axis
    if handles:
        note(array)
    view.data = <char *><uintptr_t>array.data_pointer
    view.dtype = array.dtype.id
    shape, strides = array.shape, array.strides
    view.ndim = <int>len(shape)
    for axis in range(view.ndim):
        view.shape[axis] = shape[axis]
        view.strides[axis] = strides[axis]
    return 0


cdef int number_of(dict ops, str op) except -1:
    number = ops.get(op)
    if number is None:
        raise BackendError(f"{op}: there is no kernel of this name")
    return number


cdef int read_views(tuple arrays, td_view *views) except -1:
    cdef int at
    for at in range(<int>len(arrays)):
        read_view(arrays[at], &views[at])
    return <int>len(arrays)


cdef class KernelBackend(LayerKernels):
    """treadle.ndarray.backend.Backend, and the fused methods, by the kernels. ``absence`` ends the error of a machine
    without a device."""

    @property
    def checks_indices(self):
        """gather and scatter refuse indices out of bounds and count negative ones from the end."""
        return True

    cdef int read(self, tuple arrays, td_view *views) except -1:
        """Their views, for a call on the device of the last."""
        self.use(arrays[len(arrays) - 1])
        return read_views(arrays, views)

    def limit_blocks(self, int64_t blocks):
        td_cuda_limit_blocks(blocks)

    # movement ------------------------------------------------------------------------------------------------------
    def from_host(self, source, out):
        self.use(out)
        self.copy_bytes(source, out, TD_TO_DEVICE, False)

    def to_host(self, source, out):
        self.use(source)
        self.copy_bytes(source, out, TD_TO_HOST, False)

    def start_copy(self, source, out):
        """Copy between the host's page-locked memory and the device's, or within the device, without waiting."""
        on_device = out.device is source.device
        to_device = on_device or out.device.backend is self
        self.use(out if to_device else source)
        self.copy_bytes(source, out, TD_ON_DEVICE if on_device else TD_TO_DEVICE if to_device else TD_TO_HOST, True)

    cdef int copy_bytes(self, source, out, int direction, bint asynchronous) except -1:
        cdef void *to = <void *><uintptr_t>out.data_pointer
        cdef void *data = <void *><uintptr_t>source.data_pointer
        cdef int64_t nbytes = out.nbytes
        cdef int status
        if handles:
            if direction != TD_TO_DEVICE or asynchronous:
                note(source)
            if direction != TD_TO_HOST or asynchronous:
                note(out)
        with nogil:
            status = td_cuda_copy_bytes(to, data, nbytes, direction, asynchronous)
        return check(status, "copy to the host" if direction == TD_TO_HOST else "copy to the device")

    def copy(self, source, out):
        cdef td_view views[2]
        self.read((source, out), views)
        check(td_cuda_copy(&views[0], &views[1]), "copy")

    def fill(self, out, value):
        cdef td_view view
        cdef bint inexact = out.dtype.kind in "fc"
        cdef double complex number = value if inexact else 0.0
        self.use(out)
        read_view(out, &view)
        check(td_cuda_fill(&view, number.real, number.imag, 0 if inexact else whole(value)), "fill")

    def arange(self, out, start, step):
        cdef td_view view
        self.use(out)
        read_view(out, &view)
        if out.dtype.kind in "fc":
            check(td_cuda_arange(&view, start, step, 0, 0), "arange")
        else:
            check(td_cuda_arange(&view, 0.0, 0.0, whole(start), whole(step)), "arange")

    # arithmetic ----------------------------------------------------------------------------------------------------
    def unary(self, str op, x, out):
        cdef td_view views[2]
        self.read((x, out), views)
        check(td_cuda_unary(number_of(UNARY, op), &views[0], &views[1]), op)

    def binary(self, str op, x, y, out):
        cdef td_view views[3]
        self.read((x, y, out), views)
        check(td_cuda_binary(number_of(BINARY, op), &views[0], &views[1], &views[2]), op)

    def ternary(self, str op, x, y, z, out):
        cdef td_view views[4]
        self.read((x, y, z, out), views)
        check(td_cuda_ternary(number_of(TERNARY, op), &views[0], &views[1], &views[2], &views[3]), op)

    def reduce(self, str op, x, tuple axes, out):
        cdef td_view views[2]
        self.read((x, out), views)
        check(td_cuda_reduce(number_of(REDUCE, op), &views[0], bits_of(axes), &views[1]), op)

    def arg_reduce(self, str op, x, int axis, out):
        cdef td_view views[2]
        self.read((x, out), views)
        check(td_cuda_arg_reduce(TD_ARG_max if op == "argmax" else TD_ARG_min, &views[0], axis, &views[1]), op)

    def scan(self, str op, x, int axis, out):
        cdef td_view views[2]
        self.read((x, out), views)
        check(td_cuda_scan(TD_SCAN_sum if op == "cumsum" else TD_SCAN_prod, &views[0], axis, &views[1]), op)

    def matmul(self, x, y, out):
        cdef td_view views[3]
        cdef const char *wrong
        self.read((x, y, out), views)
        check(td_cuda_matmul(&views[0], &views[1], &views[2]), "matmul")
        wrong = td_cuda_wgmma_warning()
        if wrong != NULL:
            warn_of_kernel(wrong.decode(), str(out.device))

    def allow_tf32(self, bint allowed):
        return bool(td_cuda_allow_tf32(allowed))

    def allow_wgmma(self, bint allowed, bint again=False):
        """Whether products of halves and TF32 may use wgmma; gives what held before. ``again``: after a new check."""
        return bool(td_cuda_allow_wgmma(allowed, again))

    def wgmma_verdicts(self, int index):
        """What the check of wgmma on a device has found for each dtype: "right", "wrong", or "not checked" where it has
        not been used or the device has none."""
        self.check_index(index)
        words = ("not checked", "right", "wrong")
        return {name: words[td_cuda_wgmma_verdict(index, kind)] for kind, name in
                enumerate(("float16", "bfloat16", "float32"))}

    # indexing ------------------------------------------------------------------------------------------------------
    def gather(self, x, tuple indices, out):
        cdef td_view views[2]
        cdef td_view index_views[32]
        self.read((x, out), views)
        check(td_cuda_gather(&views[0], index_views, read_views(indices, index_views), &views[1]), "gather")

    def scatter(self, out, tuple indices, values, bint accumulate):
        cdef td_view views[2]
        cdef td_view index_views[32]
        self.read((out, values), views)
        check(td_cuda_scatter(&views[0], index_views, read_views(indices, index_views), &views[1], accumulate),
              "scatter")

    def check_range(self, numbers, int64_t stop, ignored, str text):
        """A number that is not in range(stop), nor the ignored one, or None; in a capture None, and a later replay or
        synchronization raises IndexingError with the text, in which "{}" stands for the number."""
        cdef td_view view
        cdef int64_t number = 0, left_out = 0
        cdef const int64_t *given = NULL
        cdef int wrong = 0
        if ignored is not None:
            left_out, given = ignored, &left_out
        self.use(numbers)
        read_view(numbers, &view)
        check(td_cuda_check_range(&view, stop, given, text.encode(), &wrong, &number), "check_range")
        return number if wrong else None

    def nonzero(self, x):
        from treadle.ndarray import empty
        cdef td_view view, out_view
        cdef int64_t found = 0
        cdef Memory space
        self.use(x)
        read_view(x, &view)
        space = Memory(td_cuda_nonzero_space(&view), x.device.index)
        check(td_cuda_nonzero_count(&view, space.block.memory, &found), "nonzero")
        out = empty((found, x.ndim), dtype="int64", device=x.device)
        read_view(out, &out_view)
        check(td_cuda_nonzero_write(&view, space.block.memory, &out_view), "nonzero")
        return out

    def sort(self, x, int axis, bint descending, bint stable, values, places):
        cdef td_view views[3]
        cdef const td_view *values_view = NULL
        cdef const td_view *places_view = NULL
        self.use(x)
        read_view(x, &views[0])
        if values is not None:
            read_view(values, &views[1])
            values_view = &views[1]
        if places is not None:
            read_view(places, &views[2])
            places_view = &views[2]
        check(td_cuda_sort(&views[0], axis, descending, values_view, places_view), "sort")

    # random numbers ------------------------------------------------------------------------------------------------
    def random(self, str kind, uint64_t key, uint64_t counter, tuple parameters, out):
        cdef td_view view
        cdef td_cuda_draw draw
        if td_cuda_capturing() and not (<GraphHandle>current.graph).draws(key, counter):
            raise CaptureError(f"random {kind}: in a graph only nd.random.default_generator draws anew with every "
                               "replay; draw from it, or outside")
        self.use(out)
        read_view(out, &view)
        draw.kind, draw.key, draw.counter = number_of(DRAWS, kind), key, counter
        draw.first = draw.second = 0.0
        draw.low = 0
        draw.span = 0
        if kind == "uniform" or kind == "normal":
            draw.first, draw.second = parameters
        elif kind == "integers":
            draw.low, draw.span = parameters
        elif kind == "bernoulli":
            draw.span = parameters[0]
        check(td_cuda_random(&draw, &view), f"random {kind}")

    # fused ---------------------------------------------------------------------------------------------------------
    def softmax(self, x, int axis, out):
        self.normalise("softmax", TD_SOFTMAX_quotient, x, axis, out)

    def log_softmax(self, x, int axis, out):
        self.normalise("log_softmax", TD_SOFTMAX_log, x, axis, out)

    def logsumexp(self, x, int axis, out):
        self.normalise("logsumexp", TD_SOFTMAX_sum, x, axis, out)

    def variance(self, x, tuple axes, double correction, out):
        cdef td_view views[2]
        self.read((x, out), views)
        check(td_cuda_variance(&views[0], bits_of(axes), correction, &views[1]), "variance")

    def conv(self, x, weight, geometry, int64_t groups, out):
        self.convolve("conv", TD_CONV_forward, x, weight, geometry, groups, out)

    def conv_input_gradient(self, gradient, weight, geometry, int64_t groups, out):
        self.convolve("conv_input_gradient", TD_CONV_input, gradient, weight, geometry, groups, out)

    def conv_weight_gradient(self, gradient, x, geometry, int64_t groups, out):
        self.convolve("conv_weight_gradient", TD_CONV_weight, gradient, x, geometry, groups, out)

    cdef int convolve(self, str op, int which, first, second, geometry, int64_t groups, out) except -1:
        cdef td_view views[3]
        cdef td_cuda_windows windows
        cdef int axis
        self.read((first, second, out), views)
        windows.groups = groups
        for axis in range(views[2].ndim - 2):
            windows.stride[axis] = geometry.stride[axis]
            windows.padding[axis] = geometry.padding[axis][0]
            windows.dilation[axis] = geometry.dilation[axis]
        return check(td_cuda_conv(which, &views[0], &views[1], &windows, &views[2]), op)

    cdef int normalise(self, str op, int result, x, int axis, out) except -1:
        cdef td_view views[2]
        self.read((x, out), views)
        return check(td_cuda_softmax(result, &views[0], axis, &views[1]), op)

    def adam_step(self, parameter, gradient, first, second, tuple hyper):
        cdef td_view views[4]
        cdef td_adam_settings settings
        self.read((parameter, gradient, first, second), views)
        (settings.lr, settings.beta1, settings.beta2, settings.eps, settings.weight_decay, settings.decoupled,
         settings.correction1, settings.correction2, settings.sign) = hyper
        check(td_cuda_adam_step(&views[0], &views[1], &views[2], &views[3], &settings), "adam_step")

    def sgd_step(self, parameter, gradient, momentum_buffer, tuple hyper):
        cdef td_view views[3]
        cdef const td_view *momentum = NULL
        cdef td_sgd_settings settings
        self.read((parameter, gradient), views)
        if momentum_buffer is not None:
            read_view(momentum_buffer, &views[2])
            momentum = &views[2]
        (settings.lr, settings.momentum, settings.dampening, settings.weight_decay, settings.nesterov,
         settings.first_step, settings.sign) = hyper
        check(td_cuda_sgd_step(&views[0], &views[1], momentum, &settings), "sgd_step")


cdef uint32_t bits_of(tuple axes):
    cdef uint32_t bits = 0
    cdef int axis
    for axis in axes:
        bits |= <uint32_t>1 << axis
    return bits


cdef int64_t whole(object value):
    """The 64 bits of an integer of either sign."""
    return <int64_t><uint64_t>(int(value) & 0xFFFFFFFFFFFFFFFF)
