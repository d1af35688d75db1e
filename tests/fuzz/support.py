"""What the NumPy side of a program needs beside NumPy. A printed program imports it from here."""

from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]


def pattern(shape: tuple[int, ...], dtype: str, seed: int) -> Values:
    """A few small numbers in an order without a short period, the same ones for every dtype that has them."""
    count = int(np.prod(shape, dtype=np.int64))
    numbers = (np.arange(count, dtype=np.int64) * 7919 + seed * 101) % 1009 % 23
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(numbers % 3 == 0).reshape(shape)
    if kind == "u":
        return numbers.astype(dtype).reshape(shape)
    if kind == "c":
        return ((numbers - 11) * 0.25 + 1j * (numbers % 7 - 3)).astype(dtype).reshape(shape)
    return ((numbers - 11) * (0.25 if kind == "f" else 1)).astype(dtype).reshape(shape)


def convert(x: Any, dtype: str) -> Values:
    """x in another dtype: floats that no integer of it stands for give the nearest one, NaN gives 0."""
    values, target = np.asarray(x), np.dtype(dtype)
    if values.dtype.kind == "c" and target.kind not in "cb":
        values = values.real
    if values.dtype.kind != "f" or target.kind not in "iu":
        return values.astype(target)
    limits = np.iinfo(target)
    wide = np.trunc(values.astype(np.longdouble))
    inside = (wide >= limits.min) & (wide <= limits.max)
    result = np.where(inside, wide, 0).astype(target)
    result[wide > limits.max] = limits.max
    result[wide < limits.min] = limits.min
    return np.asarray(result)


def writable(view: Values) -> Values:
    """The view, for writing: NumPy gives some views read-only out of caution."""
    view.setflags(write=True)
    return view


def softmax(x: Values, axis: int) -> Values:
    """In float64, from the definition."""
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return np.asarray((powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype))


def logsumexp(x: Values, axis: int) -> Values:
    """In float64, from the definition."""
    wide = x.astype(np.float64)
    top = wide.max(axis=axis, keepdims=True)
    total = np.log(np.exp(wide - top).sum(axis=axis, keepdims=True)) + top
    return np.asarray(np.squeeze(total, axis).astype(x.dtype))
