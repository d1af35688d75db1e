"""The elements of arrays on the ``numpy`` device as NumPy computes with them.

Halves are computed in float32. NumPy has no bfloat16: such an array is stored as uint16, the upper halves of float32's
bits, and rounded to nearest, ties to even.
"""

from typing import TYPE_CHECKING, Any

import numpy

from treadle.ndarray import _parts

if TYPE_CHECKING:
    from treadle.ndarray import NDArray

__all__ = ["Memory", "Values", "brain_bits", "brain_values", "read", "store", "view"]

Values = numpy.ndarray[Any, numpy.dtype[Any]]

_ALIGNMENT = 64


class Memory:
    """A block of bytes that NumPy owns, aligned to 64."""

    __slots__ = ("block", "nbytes", "pointer")

    def __init__(self, nbytes: int) -> None:
        padded = numpy.empty(nbytes + _ALIGNMENT, numpy.uint8)
        address: int = padded.ctypes.data
        skip = -address % _ALIGNMENT
        self.block: Values = padded[skip : skip + nbytes]
        self.pointer: int = address + skip
        self.nbytes: int = nbytes


def view(x: "NDArray") -> Values:
    """The NumPy array over the memory of ``x``; for bfloat16 that of its bits."""
    owner = x.buffer.owner
    name = "uint16" if x.dtype.name == "bfloat16" else x.dtype.name
    if not isinstance(owner, Memory):
        return _parts.bits(x).numpy() if x.dtype.name == "bfloat16" else x.numpy()
    if x.size == 0:
        return numpy.empty(x.shape, name)
    return numpy.ndarray(x.shape, name, owner.block, x.data_pointer - owner.pointer, x.strides)


def read(x: "NDArray") -> Values:
    """The elements to compute with: halves as float32."""
    if x.dtype.name == "bfloat16":
        return brain_values(view(x))
    if x.dtype.name == "float16":
        with numpy.errstate(invalid="ignore"):  # signalling NaN
            return view(x).astype(numpy.float32)
    return view(x)


def store(out: "NDArray", values: Any) -> None:
    """``out[...] = values``, rounded once to out's dtype."""
    if out.dtype.name == "bfloat16":
        view(out)[...] = brain_bits(numpy.asarray(values))
    else:
        view(out)[...] = values


def brain_values(bits: Values) -> Values:
    """bfloat16 of these bits, as float32."""
    return (numpy.asarray(bits).astype(numpy.uint32) << numpy.uint32(16)).view(numpy.float32)


def brain_bits(values: Values) -> Values:
    """The bits of the nearest bfloat16 numbers."""
    single = numpy.asarray(values, numpy.float32)
    bits = single.view(numpy.uint32)
    if values.dtype == numpy.float64:  # rounded to odd first, see half.h
        inexact = single.astype(numpy.float64) != values
        away = numpy.abs(single.astype(numpy.float64)) > numpy.abs(values)
        bits = numpy.where(inexact & ~numpy.isnan(values), (bits - away) | 1, bits).astype(numpy.uint32)
    rounded = (bits + numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))) >> numpy.uint32(16)
    kept = numpy.where(numpy.isnan(single), (bits >> numpy.uint32(16)) | numpy.uint32(0x40), rounded)
    return kept.astype(numpy.uint16)
