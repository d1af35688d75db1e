"""NumPy compositions that the op table names where NumPy has no function of that meaning.

They are the oracle of the property tests and serve the ``numpy`` device. Integers and booleans are computed as
NumPy computes them; floating input keeps its dtype.
"""

import math
from typing import Any

import numpy

__all__ = ["converted", "erf", "gelu", "gelu_tanh", "relu", "resolve", "sigmoid", "softplus"]

Values = numpy.ndarray[Any, numpy.dtype[Any]]


def resolve(name: str) -> Any:
    """The function that a row's ``reference`` names: ``numpy.exp``, or ``reference.erf`` of this module."""
    module, _, function = name.partition(".")
    return getattr(numpy, function) if module == "numpy" else globals()[function]


def converted(x: Values, dtype: Any) -> Values:
    """x in another dtype as ``include/treadle/conversion.h`` says: floats are cut to the range of an integer, NaN is 0.

    >>> converted(numpy.array([-1.5, 300.0, numpy.nan]), "uint8").tolist()
    [0, 255, 0]
    """
    target = numpy.dtype(dtype)
    if x.dtype.kind not in "fc" or target.kind not in "iu":
        return x.astype(target)
    limits = numpy.iinfo(target)
    real = x.real.astype(numpy.float64)
    above, below = real >= float(limits.max) + (target.itemsize < 8), real < limits.min
    result = numpy.where(above | below | (real != real), 0, real).astype(target)
    result[above], result[below] = limits.max, limits.min
    return result


def sigmoid(x: Values) -> Values:
    """1 / (1 + exp(-x)), from exp(-abs(x)), which cannot overflow.

    >>> sigmoid(numpy.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    decay = numpy.exp(-numpy.abs(x))
    result: Values = numpy.where(x < 0, decay, 1) / (1 + decay)
    return result.astype(x.dtype, copy=False)


def erf(x: Values) -> Values:
    """The error function 2/sqrt(pi) * integral of exp(-t^2) from 0 to x, in float64 by the C library.

    >>> erf(numpy.array([-numpy.inf, 0.0, numpy.inf])).tolist()
    [-1.0, 0.0, 1.0]
    """
    values = numpy.fromiter(map(math.erf, x.ravel().tolist()), numpy.float64, count=x.size)
    return values.reshape(x.shape).astype(x.dtype, copy=False)


def relu(x: Values) -> Values:
    """max(x, 0) with NaN kept.

    >>> relu(numpy.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return numpy.where((x > 0) | (x != x), x, numpy.zeros((), x.dtype))


def softplus(x: Values) -> Values:
    """log(1 + exp(x)) as max(x, 0) + log1p(exp(-abs(x))).

    >>> softplus(numpy.array([1000.0, -1000.0])).tolist()
    [1000.0, 0.0]
    """
    result: Values = relu(x) + numpy.log1p(numpy.exp(-numpy.abs(x)))
    return result.astype(x.dtype, copy=False)


def gelu(x: Values) -> Values:
    """x times the probability that a normal variate lies below x, in float64 by the C library.

    >>> gelu(numpy.array([-numpy.inf, 0.0, 100.0])).tolist()
    [-0.0, 0.0, 100.0]
    """
    wide = x.astype(numpy.float64)
    scaled = (-math.sqrt(0.5) * wide).ravel().tolist()
    below = 0.5 * numpy.fromiter(map(math.erfc, scaled), numpy.float64, count=x.size).reshape(x.shape)
    return _below_times(wide, below).astype(x.dtype, copy=False)


def gelu_tanh(x: Values) -> Values:
    """:func:`gelu` with that probability approximated as sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)), in float64.

    >>> gelu_tanh(numpy.array([-numpy.inf, 0.0, 100.0])).tolist()
    [-0.0, 0.0, 100.0]
    """
    wide = x.astype(numpy.float64)
    below = sigmoid(2 * math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide))
    return _below_times(wide, below).astype(x.dtype, copy=False)


def _below_times(x: Values, below: Values) -> Values:
    """x * below, with -0.0 where below is 0, also for x = -inf."""
    result: Values = numpy.full(x.shape, -0.0)
    numpy.multiply(x, below, out=result, where=below != 0)
    return result
