"""Elementwise activations. ``inplace``, where PyTorch takes it, is taken too; results always have their own memory.

At a kink the gradient is PyTorch's: 0 at the ends of what is cut off.
"""

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = [
    "celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid",
    "mish", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid", "silu", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold",
]  # fmt: skip

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``, with gradient 0 at 0.

    >>> relu(Tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return autograd.relu(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` cut to the interval from ``min_val`` to ``max_val``; ValueError if that is empty.

    >>> hardtanh(Tensor([-3.0, 0.5, 3.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} lies above max_val {max_val}")
    known = input.detach()
    inside = autograd.logical_and(known > min_val, known < max_val)
    return autograd.where(inside, input, autograd.clip(known, min_val, max_val))


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``.

    >>> relu6(Tensor([-1.0, 3.0, 9.0])).tolist()
    [0.0, 3.0, 6.0]
    """
    return hardtanh(input, 0.0, 6.0)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, else ``negative_slope * input``.

    >>> leaky_relu(Tensor([-1.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
    return autograd.where(input.detach() > 0.0, input, input * negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """:func:`leaky_relu` with learnt slopes: ``weight`` is ``(1,)``, or ``(channels,)`` for ``(batch, channels, ...)``.

    >>> prelu(Tensor([[-1.0, -2.0]]), Tensor([0.5, 0.25])).tolist()
    [[-0.5, -0.5]]
    """
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.shape not in ((1,), (), (channels,)):
        raise nd.ShapeError(
            f"prelu: a weight of shape {weight.shape} for an input of shape {input.shape}; it has one slope, or one "
            f"for each of the {channels} channels (dimension 1)"
        )
    if weight.size > 1:
        weight = autograd.reshape(weight, (channels, *(1,) * (input.ndim - 2)))
    return autograd.where(input.detach() > 0.0, input, input * weight)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, training: bool = False, inplace: bool = False
) -> Tensor:
    """:func:`leaky_relu` with slopes drawn for each element from ``[lower, upper]`` in training, else their mean.

    >>> rrelu(Tensor([-1.0, 2.0]), 0.25, 0.75).tolist()
    [-0.5, 2.0]
    """
    if not lower <= upper:
        raise ValueError(f"rrelu: lower must not be above upper; they are {lower} and {upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2.0)
    slopes = nd.random.uniform(lower, upper, input.shape, dtype=input.dtype, device=input.device)
    return autograd.where(input.detach() > 0.0, input, input * Tensor(slopes))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``.

    >>> elu(Tensor([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return autograd.where(input.detach() > 0.0, input, autograd.expm1(input) * alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, else ``alpha * (exp(input / alpha) - 1)``, whose slope at 0 is 1.

    >>> celu(Tensor([0.0, 2.0]), 0.5).tolist()
    [0.0, 2.0]
    """
    if alpha == 0.0:
        raise ValueError("celu: alpha must not be 0")
    return autograd.where(input.detach() > 0.0, input, autograd.expm1(input * (1.0 / alpha)) * alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """:func:`elu` scaled so that mean 0 and variance 1 are kept through layers.

    >>> round(selu(Tensor([1.0])).item(), 4)
    1.0507
    """
    return elu(input, _SELU_ALPHA) * _SELU_SCALE


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``input * P(input)`` with the normal distribution's P; ``approximate="tanh"`` is its common approximation.

    >>> round(gelu(Tensor([1.0])).item(), 4)
    0.8413
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', not {approximate!r}")
    return autograd.gelu(input) if approximate == "none" else autograd.gelu_tanh(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``.

    >>> silu(Tensor([0.0])).item()
    0.0
    """
    return input * autograd.sigmoid(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``.

    >>> mish(Tensor([0.0])).item()
    0.0
    """
    return input * autograd.tanh(autograd.softplus(input))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, and ``input`` itself where ``beta * input`` exceeds ``threshold``.

    >>> softplus(Tensor([0.0, 1000.0])).tolist()
    [0.6931471824645996, 1000.0]
    """
    if beta == 0.0:
        raise ValueError("softplus: beta must not be 0")
    scaled = input if beta == 1.0 else input * beta
    smooth = autograd.softplus(scaled)
    return autograd.where(scaled.detach() > threshold, input, smooth if beta == 1.0 else smooth * (1.0 / beta))


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``.

    >>> softsign(Tensor([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """
    return input / (autograd.abs(input) + 1.0)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``.

    >>> sigmoid(Tensor([0.0])).item()
    0.5
    """
    return autograd.sigmoid(input)


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, without overflow.

    >>> logsigmoid(Tensor([-1000.0])).item()
    -1000.0
    """
    return -autograd.softplus(-input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    >>> tanh(Tensor([0.0])).item()
    0.0
    """
    return autograd.tanh(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``input / 6 + 1/2`` cut to the interval from 0 to 1.

    >>> hardsigmoid(Tensor([-3.0, 0.0, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return hardtanh(input * (1.0 / 6.0) + 0.5, 0.0, 1.0)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * hardsigmoid(input)``.

    >>> hardswish(Tensor([-3.0, 0.0, 3.0])).tolist()
    [-0.0, 0.0, 3.0]
    """
    return input * hardsigmoid(input)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input``, and 0 where its size is at most ``lambd``.

    >>> hardshrink(Tensor([-1.0, 0.25, 1.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    return autograd.where(autograd.abs(input.detach()) <= lambd, 0.0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, and 0 where its size is less. ValueError for a negative ``lambd``.

    >>> softshrink(Tensor([-1.0, 0.25, 1.0])).tolist()
    [-0.5, 0.0, 0.5]
    """
    if not lambd >= 0.0:
        raise ValueError(f"softshrink: lambd must be 0 or more, not {lambd}")
    return input - autograd.clip(input, -lambd, lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``.

    >>> tanhshrink(Tensor([0.0])).item()
    0.0
    """
    return input - autograd.tanh(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it exceeds ``threshold``, else ``value``.

    >>> threshold(Tensor([0.5, 2.0]), 1.0, -7.0).tolist()
    [-7.0, 2.0]
    """
    return autograd.where(input.detach() <= threshold, value, input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of ``input`` along ``dim``, times the sigmoid of the second. ShapeError for an odd length.

    >>> glu(Tensor([3.0, 0.0])).tolist()
    [1.5]
    """
    if not -input.ndim <= dim < input.ndim or input.shape[dim] % 2:
        raise nd.ShapeError(f"glu: shape {input.shape} has no dimension {dim} that can be halved")
    first, second = autograd.split(input, 2, axis=dim)
    return first * autograd.sigmoid(second)
