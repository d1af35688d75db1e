"""Normalisation over a batch, a layer, groups of channels or single channels; by the root mean square; of vectors.

All of the first five are one op, :class:`Normalize`, over different axes.
"""

import math
from collections.abc import Sequence
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd._watching import about_to_write
from treadle.ndarray import _layers
from treadle.nn.functional._fused import FusedOp, dense, is_half

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "normalize", "rms_norm"]

Shape = tuple[int, ...]


class Normalize(FusedOp):
    """(x - mean) / sqrt(var + eps) over ``axes``, times a weight and plus a bias, which are optional operands.

    ``affine`` is the shape in which weight and bias broadcast against x. Without ``center`` no mean is taken off, and
    the divisor is the root mean square. ``statistics`` are mean and variance, if the caller has them already.
    """

    def __init__(
        self,
        axes: Shape,
        eps: float,
        affine: Shape = (),
        center: bool = True,
        has_weight: bool = False,
        statistics: tuple[Any, Any] | None = None,
    ) -> None:
        self.axes = axes
        self.eps = eps
        self.affine = affine
        self.center = center
        self.has_weight = has_weight
        self.statistics = statistics

    def __repr__(self) -> str:
        return f"Normalize(axes={self.axes}, eps={self.eps}, center={self.center})"

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        x = arrays[0]
        found = self._in_one_pass(arrays)
        if found is not None:
            return found
        mean, variance = self.statistics or self._statistics(x)
        scale = 1.0 / nd.sqrt(variance + self.eps)
        out = x - mean if self.center else x.copy()
        out *= scale
        if self.has_weight:
            out *= arrays[1].reshape(self.affine)
        if len(arrays) > 1 + self.has_weight:
            out += arrays[-1].reshape(self.affine)
        return out, (*arrays[: 1 + self.has_weight], mean, scale)

    def _lies(self, x: Any) -> str:
        """The layout the kernels know: "rows" to be normalised, "channels", or none of them."""
        parameters, trailing = self.affine, tuple(x.shape[self.axes[0] :])
        if self.axes == tuple(range(x.ndim - len(self.axes), x.ndim)) and self.statistics is None:
            return "rows" if parameters in ((), trailing) else ""
        is_by_channel = self.axes == (0, *range(2, x.ndim)) and self.center
        return "channels" if is_by_channel and parameters in ((), (x.shape[1], *(1,) * (x.ndim - 2))) else ""

    def takes_halves(self, x: Tensor, given: list[Tensor]) -> bool:
        """Whether the device has a kernel that keeps the statistics of halves in float32."""
        served = getattr(x.device.backend, "norm_rows", None) is not None and all(
            each.dtype is x.dtype for each in given
        )
        return served and x.size > 0 and self._lies(x) == "rows"

    def _in_one_pass(self, arrays: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]] | None:
        """The result and what is saved by a kernel; None where there is none."""
        x, layout = dense(arrays[0]), self._lies(arrays[0])
        weight = arrays[1] if self.has_weight else None
        bias = arrays[-1] if len(arrays) > 1 + self.has_weight else None
        mean: Any = None
        out: Any = None
        if layout == "rows":
            found = _layers.norm_rows(x, math.prod(x.shape[self.axes[0] :]), self.center, self.eps, weight, bias)
            if found is None:
                return None
            shape = (*x.shape[: self.axes[0]], *(1,) * len(self.axes))
            out, mean, scale = found
            mean, scale = None if mean is None else mean.reshape(shape), scale.reshape(shape)
        elif layout == "channels":
            mean, variance = self.statistics or self._statistics(x)
            scale = 1.0 / nd.sqrt(variance + self.eps)
            out = _layers.norm_channels(x, mean, scale, weight, bias)
        if out is None:
            return None
        return out, (*arrays[: 1 + self.has_weight], mean, scale)

    def _gradients_in_one_pass(self, grad: Any, node: Any) -> tuple[Any, ...] | None:
        x, *weights, mean, scale = node.saved
        inputs, layout = node.inputs, self._lies(x)
        has_bias = len(inputs) > 1 + self.has_weight
        wanted = (
            inputs[0].requires_grad,
            self.has_weight and inputs[1].requires_grad,
            has_bias and inputs[-1].requires_grad,
        )
        x, grad, weight, found = dense(x), dense(grad), weights[0] if weights else None, None
        if layout == "rows":
            width = math.prod(x.shape[self.axes[0] :])
            found = _layers.norm_rows_gradient(grad, x, width, mean, scale, weight, wanted)
        elif layout == "channels":
            found = _layers.norm_channels_gradient(grad, x, mean, scale, weight, wanted)
        if found is None:
            return None
        gradients = [found[0]]
        for has, gradient, operand in ((self.has_weight, found[1], inputs[1:2]), (has_bias, found[2], inputs[-1:])):
            if has:
                if gradient is not None:
                    gradient = nd.sum(gradient, axis=0) if layout == "rows" else gradient
                    gradient = gradient.reshape(operand[0].shape)
                gradients.append(gradient)
        return tuple(gradients)

    def _statistics(self, x: Any) -> tuple[Any, Any]:
        if self.center:
            return nd.mean(x, axis=self.axes, keepdims=True), nd.var(x, axis=self.axes, keepdims=True)
        return None, nd.mean(x * x, axis=self.axes, keepdims=True)

    def rule(self, grad: Any, node: Any) -> Any:
        found = self._gradients_in_one_pass(grad, node)
        if found is not None:
            return found
        x, *weights, mean, scale = node.saved
        inputs = node.inputs
        gradients: list[Any] = [None] * len(inputs)
        if len(inputs) > 1 + self.has_weight and inputs[-1].requires_grad:
            gradients[-1] = self._folded(grad, inputs[-1])
        normal = nd.subtract(x, mean) if self.center else x.copy()
        normal *= scale
        product = grad * normal
        if self.has_weight and inputs[1].requires_grad:
            gradients[1] = self._folded(product, inputs[1])
        if inputs[0].requires_grad:
            weight = weights[0].reshape(self.affine) if weights else None
            gradients[0] = self._by_input(grad, normal, product, scale, weight)
        return tuple(gradients)

    def _by_input(self, grad: Any, normal: Any, product: Any, scale: Any, weight: Any) -> Any:
        """The gradient of x; ``normal`` and ``product`` are written over.

        A weight that is one number for all that is averaged is multiplied last, with the scale.
        """
        if weight is not None:
            lead = grad.ndim - len(self.affine)
            if all(axis < lead or self.affine[axis - lead] == 1 for axis in self.axes):
                scale = scale * weight
            else:
                grad = grad * weight
                product *= weight
        normal *= nd.mean(product, axis=self.axes, keepdims=True)
        found = nd.subtract(grad, normal, out=product)
        if self.center:
            found -= nd.mean(grad, axis=self.axes, keepdims=True)
        found *= scale
        return found

    def _folded(self, array: Any, operand: Any) -> Any:
        """Summed over what the affine parameters broadcast along."""
        lead = array.ndim - len(self.affine)
        spread = [axis for axis in range(array.ndim) if axis < lead or self.affine[axis - lead] == 1]
        return nd.sum(array, axis=tuple(spread)).reshape(operand.shape)

    def composition(self, *inputs: Tensor) -> Any:
        x = inputs[0]
        if self.center:
            x = x - autograd.mean(x, axis=self.axes, keepdims=True)
        out = x / autograd.sqrt(autograd.mean(autograd.square(x), axis=self.axes, keepdims=True) + self.eps)
        if self.has_weight:
            out = out * autograd.reshape(inputs[1], self.affine)
        return out + autograd.reshape(inputs[-1], self.affine) if len(inputs) > 1 + self.has_weight else out

    def flops(self, shapes: tuple[Shape, ...], out: Shape) -> int:
        """Mean, variance, shift and scale: 7 for each element, less without the mean, more with parameters."""
        return math.prod(out) * ((7 if self.center else 3) + len(shapes) - 1)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[Any, ...]) -> tuple[Shape, Any]:
        return shapes[0], dtypes[0]


def _normalized(
    input: Tensor, axes: Shape, weight: Tensor | None, bias: Tensor | None, eps: float, affine: Shape, **more: Any
) -> Tensor:
    if input.dtype.kind != "f":
        raise nd.DTypeError(f"normalisation needs an input of a floating dtype, not {input.dtype}")
    if not eps >= 0.0:
        raise ValueError(f"normalisation: eps must be 0 or more, not {eps}")
    given = [each for each in (weight, bias) if each is not None]
    for each in given:
        if each.size != math.prod(affine):
            raise nd.ShapeError(f"normalisation: weight and bias have {math.prod(affine)} elements, not {each.shape}")
    op = Normalize(axes, eps, affine, has_weight=weight is not None, **more)
    halves = input.dtype.itemsize == 2
    if halves and op.takes_halves(input, given):
        return op(input, *given)
    dtype = nd.float32 if halves else input.dtype  # halves hold no statistics
    out = op(*[each if each.dtype is dtype else each.astype(dtype) for each in (input, *given)])
    return out.astype(input.dtype) if halves else out


def _moments(input: Tensor, axes: Shape) -> tuple[nd.NDArray, nd.NDArray]:
    """Mean and biased variance over ``axes``, which stay with length 1; those of halves in float32."""
    data = input.data if input.dtype.itemsize > 2 else input.data.astype("float32")
    return nd.mean(data, axis=axes, keepdims=True), nd.var(data, axis=axes, keepdims=True)


def _of_channels(input: Tensor, name: str, least: int = 2) -> Shape:
    """The shape in which one number a channel broadcasts."""
    if input.ndim < least:
        raise nd.ShapeError(f"{name}: an input of shape {input.shape}; it is (batch, channels, ...)")
    return (input.shape[1], *(1,) * (input.ndim - 2))


def _track(running: Tensor | None, value: nd.NDArray, momentum: float, input: Tensor, moment: Any) -> None:
    """Move a running statistic towards the batch's, in place; ``moment(xp, x)`` computes it from the input."""
    if running is not None:
        shape, dtype = running.shape, running.dtype

        def moved(xp: Any, old: Any, x: Any) -> Any:
            value = xp.reshape(moment(xp, xp.astype(x, "float32") if x.dtype.itemsize < 4 else x), shape)
            return old * (1.0 - momentum) + xp.astype(value * momentum, dtype)

        about_to_write(running, moved, input)
        running.data *= 1.0 - momentum
        running.data += (value.reshape(running.shape) * momentum).astype(running.dtype, copy=False)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of ``(batch, channels, ...)`` less its mean, over its deviation, times ``weight`` plus ``bias``.

    In training the statistics are the batch's, with the biased variance, and the running ones move towards them by
    ``momentum``, in place, with the unbiased variance. Otherwise the running ones are used. ``weight``, ``bias`` and
    the running statistics are ``(channels,)``. ShapeError for a single value a channel in training, where the
    deviation is 0; a batch of nothing moves no statistics. Ioffe and Szegedy 2015, "Batch normalization".

    >>> x = Tensor([[1.0], [3.0]])
    >>> [[round(v, 3) for v in row] for row in batch_norm(x, None, None, training=True).tolist()]
    [[-1.0], [1.0]]
    """
    affine = _of_channels(input, "batch_norm")
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: running_mean and running_var are needed unless training=True")
        return _with_running(input, running_mean, running_var, weight, bias, eps, affine)
    axes = (0, *range(2, input.ndim))
    count = math.prod(input.shape[axis] for axis in axes)
    if count == 0:
        nothing = nd.zeros((1, *affine), dtype=input.dtype, device=input.device)
        return _normalized(input, axes, weight, bias, eps, affine, statistics=(nothing, nothing))
    if count == 1:
        raise nd.ShapeError(f"batch_norm: in training a channel needs more than one value; the input is {input.shape}")
    statistics = _moments(input, axes)
    unbiased = count / (count - 1)
    _track(running_mean, statistics[0], momentum, input, lambda xp, x: xp.mean(x, axis=axes))
    _track(
        running_var, statistics[1] * unbiased, momentum, input, lambda xp, x: xp.var(x, axis=axes) * unbiased
    )  # fmt: skip
    return _normalized(input, axes, weight, bias, eps, affine, statistics=statistics)


def _with_running(
    input: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, affine: Shape
) -> Tensor:
    """One product and one sum, with small factors made beforehand."""
    scale = 1.0 / autograd.sqrt(var.detach() + eps)
    if weight is not None:
        scale = scale * weight
    shift = -mean.detach() * scale  # nothing is saved that a later batch in training overwrites
    if bias is not None:
        shift = shift + bias
    return input * autograd.reshape(scale, affine) + autograd.reshape(shift, affine)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """:func:`batch_norm` of every sample by itself: over the dimensions behind the channels.

    The running statistics follow the means over the batch; a batch of nothing moves none. Ulyanov et al. 2016,
    "Instance normalization".

    >>> [round(v, 3) for v in instance_norm(Tensor([[[1.0, 3.0]]])).tolist()[0][0]]
    [-1.0, 1.0]
    """
    affine = _of_channels(input, "instance_norm", 3)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ValueError("instance_norm: running_mean and running_var are needed with use_input_stats=False")
        return _with_running(input, running_mean, running_var, weight, bias, eps, affine)
    axes = tuple(range(2, input.ndim))
    count = math.prod(input.shape[2:])
    if count <= 1:
        raise nd.ShapeError(f"instance_norm: a channel needs more than one value; the input is {input.shape}")
    statistics = _moments(input, axes)
    if input.shape[0] and (running_mean is not None or running_var is not None):
        unbiased = count / (count - 1)
        _track(
            running_mean, nd.mean(statistics[0], axis=0), momentum, input,
            lambda xp, x: xp.mean(xp.mean(x, axis=axes), axis=0),
        )  # fmt: skip
        _track(
            running_var, nd.mean(statistics[1], axis=0) * unbiased, momentum, input,
            lambda xp, x: xp.mean(xp.var(x, axis=axes), axis=0) * unbiased,
        )  # fmt: skip
    return _normalized(input, axes, weight, bias, eps, affine, statistics=statistics)


def _trailing(input: Tensor, normalized_shape: Sequence[int], name: str) -> Shape:
    """The last axes, which must have the lengths of ``normalized_shape``."""
    wanted = tuple(normalized_shape)
    if not wanted or input.shape[-len(wanted) :] != wanted:
        raise nd.ShapeError(f"{name}: an input of shape {input.shape} does not end in normalized_shape {wanted}")
    return tuple(range(input.ndim - len(wanted), input.ndim))


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dimensions, of ``normalized_shape``, less their mean, over their deviation (biased), times ``weight``
    plus ``bias``, of that shape. Ba, Kiros and Hinton 2016, "Layer normalization".

    >>> [round(v, 3) for v in layer_norm(Tensor([1.0, 3.0]), (2,)).tolist()]
    [-1.0, 1.0]
    """
    axes = _trailing(input, normalized_shape, "layer_norm")
    return _normalized(input, axes, weight, bias, eps, tuple(normalized_shape))


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The last dimensions, of ``normalized_shape``, over their root mean square, times ``weight``.

    ``eps`` is by default that of the dtype of computation, which is float32 for the half ones. Zhang and Sennrich 2019,
    "Root mean square layer normalization".

    >>> [round(v, 3) for v in rms_norm(Tensor([3.0, 4.0]), (2,)).tolist()]
    [0.849, 1.131]
    """
    axes = _trailing(input, normalized_shape, "rms_norm")
    small = float(nd.finfo(nd.result_type(input.dtype, nd.float32)).eps) if eps is None else eps
    return _normalized(input, axes, weight, None, small, tuple(normalized_shape), center=False)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Each sample's channels, in ``num_groups`` groups, less the group's mean, over its deviation, times ``weight``
    plus ``bias``, of shape ``(channels,)``. Wu and He 2018, "Group normalization".

    >>> [round(v, 3) for v in group_norm(Tensor([[1.0, 3.0]]), 1).tolist()[0]]
    [-1.0, 1.0]
    """
    shape = input.shape
    if input.ndim < 2 or num_groups < 1 or shape[1] % num_groups:
        raise nd.ShapeError(f"group_norm: an input of shape {shape} has no {num_groups} equal groups of channels")
    size = shape[1] // num_groups
    grouped = autograd.reshape(input, (shape[0], num_groups, size, *shape[2:]))
    affine = (num_groups, size, *(1,) * (len(shape) - 2))
    axes = tuple(range(2, grouped.ndim))
    return autograd.reshape(_normalized(grouped, axes, weight, bias, eps, affine), shape)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """``input`` over its ``p`` norm along ``dim``, which counts as ``eps`` where it is less.

    >>> [round(v, 3) for v in normalize(Tensor([3.0, 4.0]), dim=0).tolist()]
    [0.6, 0.8]
    """
    if is_half(input):  # which have no such eps
        return normalize(input.astype(nd.float32), p, dim, eps).astype(input.dtype)
    length = autograd.linalg.vector_norm(input, axis=dim, keepdims=True, ord=p)
    return input / autograd.where(length.detach() < eps, eps, length)
