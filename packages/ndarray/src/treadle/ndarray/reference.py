"""NumPy compositions that the op table names where NumPy has no function of that meaning.

They are the oracle of the property tests and serve the ``numpy`` device. Integers and booleans are computed as
NumPy computes them; floating input keeps its dtype.
"""

import math
from typing import Any

import numpy

__all__ = ["erf", "relu", "resolve", "sigmoid", "softplus"]

Values = numpy.ndarray[Any, numpy.dtype[Any]]


def resolve(name: str) -> Any:
    """The function that a row's ``reference`` names: ``numpy.exp``, or ``reference.erf`` of this module."""
    module, _, function = name.partition(".")
    return getattr(numpy, function) if module == "numpy" else globals()[function]


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
