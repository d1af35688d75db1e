# The methods of a backend that are kernels of layers; included before kernel_backend.pxi, whose class they are part of.

from treadle.cuda._layers_api cimport *


cdef dict ACTIVATIONS = {
    "gelu": TD_GRADIENT_gelu, "gelu_tanh": TD_GRADIENT_gelu_tanh, "sigmoid": TD_GRADIENT_sigmoid,
    "tanh": TD_GRADIENT_tanh, "relu": TD_GRADIENT_relu,
}


cdef void *memory_of(object array) except? NULL:
    """Where the elements of a dense array lie; NULL for None."""
    if array is None:
        return NULL
    if handles:
        note(array)
    return <void *><uintptr_t>array.data_pointer


cdef int read_lengths(object given, int64_t filling, int64_t *to) except -1:
    """Up to three numbers, those of missing axes in front."""
    cdef int missing = 3 - <int>len(given)
    cdef int axis
    for axis in range(3):
        to[axis] = filling if axis < missing else given[axis - missing]
    return 0


cdef class LayerKernels(Runtime):
    """The optional methods of treadle.ndarray.backend.FusedBackend for layers."""

    cdef int use(self, object array) except -1:
        return check(td_cuda_use(array.device.index), self.name)

    def activation_gradient(self, str op, gradient, saved, out):
        cdef td_view views[3]
        self.use(out)
        read_view(gradient, &views[0])
        read_view(saved, &views[1])
        read_view(out, &views[2])
        check(td_cuda_activation_gradient(number_of(ACTIVATIONS, op), &views[0], &views[1], &views[2]),
              f"gradient of {op}")

    # normalisation -------------------------------------------------------------------------------------------------
    cdef int read_norm(self, td_cuda_norm *norm, x, mean, scale, weight, out) except -1:
        """What all calls have; rows of as many elements as come to a scale."""
        self.use(x)
        norm.dtype = x.dtype.id
        norm.rows, norm.channels, norm.parts = scale.size, 1, 1
        norm.width = x.size // scale.size
        norm.x, norm.weight, norm.mean, norm.scale = memory_of(x), memory_of(weight), memory_of(mean), memory_of(scale)
        norm.out = memory_of(out)
        norm.gradient = norm.bias = norm.weight_gradient = norm.bias_gradient = NULL
        norm.eps = 0.0
        return 0

    cdef int read_channels(self, td_cuda_norm *norm, x) except -1:
        norm.rows, norm.channels = x.shape[0], x.shape[1]
        norm.width = x.size // (norm.rows * norm.channels)
        return 0

    def norm_rows(self, x, weight, bias, double eps, out, mean, scale):
        cdef td_cuda_norm norm
        self.read_norm(&norm, x, mean, scale, weight, out)
        norm.bias, norm.eps = memory_of(bias), eps
        check(td_cuda_norm_rows(&norm), "norm_rows")

    def norm_rows_gradient(self, gradient, x, mean, scale, weight, out, by_weight, by_bias):
        cdef td_cuda_norm norm
        self.read_norm(&norm, x, mean, scale, weight, out)
        norm.gradient, norm.weight_gradient, norm.bias_gradient = (
            memory_of(gradient), memory_of(by_weight), memory_of(by_bias))
        for each in (by_weight, by_bias):
            if each is not None:
                norm.parts = each.shape[0]
        check(td_cuda_norm_rows_gradient(&norm), "norm_rows_gradient")

    def norm_channels(self, x, mean, scale, weight, bias, out):
        cdef td_cuda_norm norm
        self.read_norm(&norm, x, mean, scale, weight, out)
        self.read_channels(&norm, x)
        norm.bias = memory_of(bias)
        check(td_cuda_norm_channels(&norm), "norm_channels")

    def norm_channels_gradient(self, gradient, x, mean, scale, weight, out, by_weight, by_bias):
        cdef td_cuda_norm norm
        self.read_norm(&norm, x, mean, scale, weight, out)
        self.read_channels(&norm, x)
        norm.gradient, norm.weight_gradient, norm.bias_gradient = (
            memory_of(gradient), memory_of(by_weight), memory_of(by_bias))
        check(td_cuda_norm_channels_gradient(&norm), "norm_channels_gradient")

    # recurrent -----------------------------------------------------------------------------------------------------
    def lstm_step(self, product, given, before, gates, cell, shown, hidden):
        cdef td_cuda_lstm step
        self.use(product)
        step.dtype, step.batch, step.size = product.dtype.id, cell.shape[0], cell.shape[1]
        step.product, step.given, step.before = memory_of(product), memory_of(given), memory_of(before)
        step.gates, step.cell, step.shown = memory_of(gates), memory_of(cell), memory_of(shown)
        step.hidden = memory_of(hidden)
        check(td_cuda_lstm_step(&step), "lstm_step")

    def lstm_step_gradient(self, gates, before, shown, d_shown, d_cell, d_gates):
        cdef td_cuda_lstm step
        self.use(gates)
        step.dtype, step.batch, step.size = gates.dtype.id, shown.shape[0], shown.shape[1]
        step.gates, step.before, step.shown = memory_of(gates), memory_of(before), memory_of(shown)
        step.d_shown, step.d_cell, step.d_gates = memory_of(d_shown), memory_of(d_cell), memory_of(d_gates)
        check(td_cuda_lstm_step_gradient(&step), "lstm_step_gradient")

    # losses --------------------------------------------------------------------------------------------------------
    cdef int read_entropy(self, td_cuda_entropy_rows *work, logits, targets, ignored, smoothing, out) except -1:
        self.use(logits)
        work.dtype, work.rows, work.classes = logits.dtype.id, logits.shape[0], logits.shape[1]
        work.ignored, work.smoothing = ignored, smoothing
        work.logits, work.targets, work.out = memory_of(logits), <const int64_t *>memory_of(targets), memory_of(out)
        return 0

    def entropy(self, logits, targets, int64_t ignored, double smoothing, out):
        cdef td_cuda_entropy_rows work
        cdef int wrong = 0
        self.read_entropy(&work, logits, targets, ignored, smoothing, out)
        check(td_cuda_entropy(&work, &wrong), "entropy")
        return not wrong

    def entropy_gradient(self, logits, targets, int64_t ignored, double smoothing, scale, out):
        cdef td_cuda_entropy_rows work
        self.read_entropy(&work, logits, targets, ignored, smoothing, out)
        work.scale, work.scale_step = memory_of(scale), 0 if scale.ndim == 0 else 1
        check(td_cuda_entropy_gradient(&work), "entropy_gradient")

    # pooling -------------------------------------------------------------------------------------------------------
    def max_pool(self, x, geometry, values, indices):
        cdef td_cuda_pooling windows
        self.use(x)
        windows.dtype, windows.planes = x.dtype.id, x.shape[0] * x.shape[1]
        read_lengths(x.shape[2:], 1, windows.length)
        read_lengths(values.shape[2:], 1, windows.places)
        read_lengths(geometry.kernel, 1, windows.kernel)
        read_lengths(geometry.stride, 1, windows.stride)
        read_lengths(geometry.dilation, 1, windows.dilation)
        read_lengths([before for before, _ in geometry.padding], 0, windows.padding)
        check(td_cuda_max_pool(&windows, memory_of(x), memory_of(values), <int64_t *>memory_of(indices)), "max_pool")

    def max_pool_gradient(self, gradient, indices, out):
        cdef int64_t planes = gradient.shape[0] * gradient.shape[1]
        cdef int wrong = 0
        self.use(gradient)
        check(td_cuda_max_pool_gradient(gradient.dtype.id, planes, gradient.size // planes, out.size // planes,
                                        memory_of(gradient), <const int64_t *>memory_of(indices), memory_of(out),
                                        &wrong), "max_pool_gradient")
        return not wrong

    # attention -----------------------------------------------------------------------------------------------------
    cdef bint attends(self, query, value):
        return max(query.shape[query.ndim - 1], value.shape[value.ndim - 1]) <= td_cuda_attention_limit(query.dtype.id)

    def attention(self, query, key, value, mask, bint causal, int64_t past, double scale, out, logsumexp):
        cdef td_view views[10]
        cdef td_cuda_attention_call call
        if not self.attends(query, value):
            return False
        self.use(query)
        read_attention(&call, views, (query, key, value, mask, logsumexp, out, None, None, None, None))
        call.causal, call.past, call.scale = causal, past, scale
        check(td_cuda_attention(&call), "attention")
        return True

    def attention_gradient(self, gradient, query, key, value, mask, bint causal, int64_t past, double scale, out,
                           logsumexp, by_query, by_key, by_value):
        cdef td_view views[10]
        cdef td_cuda_attention_call call
        if not self.attends(query, value):
            return False
        self.use(query)
        read_attention(&call, views, (query, key, value, mask, logsumexp, out, gradient, by_query, by_key, by_value))
        call.causal, call.past, call.scale = causal, past, scale
        check(td_cuda_attention_gradient(&call), "attention_gradient")
        return True


cdef int read_attention(td_cuda_attention_call *call, td_view *views, tuple arrays) except -1:
    """The ten arrays, of which the mask and those of backward may be None."""
    cdef const td_view *given[10]
    cdef int at
    for at in range(10):
        given[at] = NULL
        if arrays[at] is not None:
            read_view(arrays[at], &views[at])
            given[at] = &views[at]
    call.query, call.key, call.value, call.mask, call.total = given[0], given[1], given[2], given[3], given[4]
    call.out, call.gradient = given[5], given[6]
    call.by_query, call.by_key, call.by_value = given[7], given[8], given[9]
    return 0
