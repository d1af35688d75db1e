"""Initial values of parameters, written in place.

Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks" (xavier);
He et al. 2015, "Delving deep into rectifiers" (kaiming); Saxe, McClelland and Ganguli 2014, "Exact solutions to the
nonlinear dynamics of learning in deep linear neural networks" (orthogonal); Martens 2010, "Deep learning via
Hessian-free optimization" (sparse).
"""

from math import ceil, prod, sqrt
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.ndarray.random import Generator, default_generator

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip

_GAINS = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": sqrt(2.0),
    "selu": 0.75,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity; ``param`` is the slope of ``leaky_relu``.

    >>> calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise TypeError(f"the slope of leaky_relu must be a number, not {slope!r}")
        return sqrt(2.0 / (1.0 + slope * slope))
    if nonlinearity not in _GAINS:
        raise ValueError(f"no gain is known for {nonlinearity!r}; known are leaky_relu, {', '.join(_GAINS)}")
    return _GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the uniform distribution on [a, b).

    >>> 2.0 <= uniform_(Tensor([0.0]), 2.0, 3.0).item() < 3.0
    True
    """
    if not a <= b:
        raise ValueError(f"uniform_: a must not be above b; they are {a} and {b}")
    source = generator or default_generator
    return _fill(tensor, source.uniform(a, b, tensor.shape, dtype=tensor.dtype, device=tensor.device))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution.

    >>> normal_(Tensor([0.0]), mean=3.0, std=0.0).item()
    3.0
    """
    source = generator or default_generator
    return _fill(tensor, source.normal(mean, std, tensor.shape, dtype=tensor.dtype, device=tensor.device))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set every element to ``val``.

    >>> constant_(Tensor([0.0, 1.0]), 5.0).numpy().tolist()
    [5.0, 5.0]
    """
    return _fill(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Set every element to 1.

    >>> ones_(Tensor([0.0])).item()
    1.0
    """
    return _fill(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Set every element to 0.

    >>> zeros_(Tensor([1.0])).item()
    0.0
    """
    return _fill(tensor, 0.0)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from +-gain * sqrt(6 / (fan_in + fan_out)).

    >>> bool(abs(xavier_uniform_(Tensor([[0.0, 0.0, 0.0]])).numpy()).max() <= 6**0.5 / 2)
    True
    """
    fan_in, fan_out = _fans(tensor)
    bound = gain * sqrt(6.0 / (fan_in + fan_out)) if fan_in + fan_out else 0.0
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution with standard deviation gain * sqrt(2 / (fan_in + fan_out)).

    >>> xavier_normal_(Tensor([[1.0, 1.0]]), gain=0.0).numpy().tolist()
    [[0.0, 0.0]]
    """
    fan_in, fan_out = _fans(tensor)
    std = gain * sqrt(2.0 / (fan_in + fan_out)) if fan_in + fan_out else 0.0
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draw from +-gain * sqrt(3 / fan); ``a`` is the slope of ``leaky_relu``, ``mode`` "fan_in" or "fan_out".

    >>> bool(abs(kaiming_uniform_(Tensor([[0.0, 0.0, 0.0]]), nonlinearity="linear").numpy()).max() <= 1.0)
    True
    """
    bound = sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draw from the normal distribution with standard deviation gain / sqrt(fan).

    >>> kaiming_normal_(Tensor([[1.0, 1.0]]), nonlinearity="relu").shape
    (1, 2)
    """
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Draw from the normal distribution, cut to [a, b].

    >>> bool(abs(trunc_normal_(Tensor([0.0, 0.0]), std=100.0).numpy()).max() <= 2.0)
    True
    """
    if not a < b:
        raise ValueError(f"trunc_normal_: a must be below b, not {a} and {b}")
    source = generator or default_generator
    if std == 0.0:
        return _fill(tensor, min(max(mean, a), b))
    values = source.truncated_normal(mean, std, a, b, tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return _fill(tensor, values)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity, or as much of it as fits; a ShapeError for other than 2 dimensions.

    >>> eye_(Tensor([[5.0, 5.0, 5.0], [5.0, 5.0, 5.0]])).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if tensor.ndim != 2:
        raise nd.ShapeError(f"eye_: only a matrix has an identity, not shape {tensor.shape}")
    return _fill(tensor, nd.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight ``(out, in, *kernel)`` so that it hands through as many channels as it can.

    In each of the ``groups`` of output channels the i-th takes the i-th input channel at the kernel's middle.

    >>> dirac_(Tensor([[[5.0, 5.0, 5.0]]])).numpy().tolist()
    [[[0.0, 1.0, 0.0]]]
    """
    if tensor.ndim not in (3, 4, 5):
        raise nd.ShapeError(f"dirac_: a weight of 3, 4 or 5 dimensions is needed, not shape {tensor.shape}")
    if groups < 1 or tensor.shape[0] % groups:
        raise ValueError(f"dirac_: {tensor.shape[0]} output channels do not make {groups} groups")
    zeros_(tensor)
    size = tensor.shape[0] // groups
    middle = tuple(length // 2 for length in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(size, tensor.shape[1])):
            tensor.data[(group * size + channel, channel, *middle)] = 1.0
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw rows (or columns, whichever are fewer) that are orthonormal, times ``gain``, of all but the first dimension.

    They are the Q of a normal matrix's QR decomposition, signed so that all orthogonal matrices are equally likely
    (Mezzadri 2007, "How to generate random matrices from the classical compact groups", section 5).

    >>> rows = orthogonal_(Tensor([[0.0, 0.0], [0.0, 0.0]]), gain=3.0).numpy()
    >>> [round(float(row @ row), 4) for row in rows]
    [9.0, 9.0]
    """
    if tensor.ndim < 2:
        raise nd.ShapeError(f"orthogonal_: a tensor of at least 2 dimensions is needed, not shape {tensor.shape}")
    if not tensor.data.size:
        return tensor
    rows, columns = tensor.shape[0], prod(tensor.shape[1:])
    source = generator or default_generator
    shape = (max(rows, columns), min(rows, columns))
    q, r = nd.linalg.qr(source.normal(0.0, 1.0, shape, dtype=nd.float64, device=tensor.device))
    diagonal = nd.diagonal(r)
    q = q * nd.where(diagonal < 0.0, -1.0, nd.ones_like(diagonal))
    values = nd.matrix_transpose(q) if rows < columns else q
    return _fill(tensor, nd.reshape(values * gain, tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Draw a matrix from the normal distribution, with the share ``sparsity`` of each column zero, rounded up.

    >>> sum(value != 0.0 for [value] in sparse_(Tensor([[0.0], [0.0], [0.0], [0.0]]), 0.5).numpy().tolist())
    2
    """
    if tensor.ndim != 2:
        raise nd.ShapeError(f"sparse_: only a matrix can be filled, not shape {tensor.shape}")
    rows, columns = tensor.shape
    source = generator or default_generator
    normal_(tensor, 0.0, std, source)
    empty = ceil(sparsity * rows)
    for column in range(columns):
        tensor.data[source.permutation(rows, device=tensor.device)[:empty], column] = 0.0
    return tensor


def _fill(tensor: Tensor, value: Any) -> Tensor:
    tensor.data[...] = value
    return tensor


def _fans(tensor: Tensor) -> tuple[int, int]:
    """The inputs of an output and the outputs of an input, of a weight ``(out, in, *kernel)``."""
    if tensor.ndim < 2:
        raise nd.ShapeError(f"fan in and fan out need a tensor of at least 2 dimensions, not shape {tensor.shape}")
    receptive_field = prod(tensor.shape[2:])
    return tensor.shape[1] * receptive_field, tensor.shape[0] * receptive_field


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', not {mode!r}")
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    return calculate_gain(nonlinearity, a) / sqrt(fan) if fan else 0.0
