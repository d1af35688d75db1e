"""The counter-based generator of ``include/treadle/random.h`` in NumPy: the same bits for the same key and counter.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11), Philox 4x32-10.
"""

from collections.abc import Callable
from typing import Any

import numpy

__all__ = ["DRAWS", "philox", "rounds"]

Values = numpy.ndarray[Any, numpy.dtype[Any]]

_LOW = numpy.uint64(0xFFFFFFFF)
_HALF = numpy.uint64(32)
_MULTIPLIERS = numpy.uint64(0xD2511F53), numpy.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


def rounds(counter: list[Values], key: tuple[int, int]) -> list[Values]:
    """Ten rounds over four words, each held in the low half of a uint64."""
    c0, c1, c2, c3 = counter
    for index in range(_ROUNDS):
        k0, k1 = (numpy.uint64((word + index * step) & 0xFFFFFFFF) for word, step in zip(key, _WEYL, strict=True))
        p0, p1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
    return [c0, c1, c2, c3]


def philox(key: int, counter: int, blocks: int) -> Values:
    """Blocks ``counter``, ``counter + 1``, ... of ``key`` as uint32, one row of four words a block.

    >>> [f"{word:08x}" for word in philox(0, 0, 1)[0].tolist()]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    block = numpy.arange(blocks, dtype=numpy.uint64) + numpy.uint64(counter)
    zero = numpy.zeros_like(block)
    words = rounds([block & _LOW, block >> _HALF, zero, zero], (key & 0xFFFFFFFF, key >> 32))
    return numpy.stack(words, axis=1).astype(numpy.uint32)


def _bits32(key: int, counter: int, size: int) -> Values:
    return philox(key, counter, -(-size // 4)).ravel()[:size]


def _bits64(key: int, counter: int, size: int) -> Values:
    words = philox(key, counter, -(-size // 2)).astype(numpy.uint64)
    joined: Values = words[:, 0::2] | words[:, 1::2] << _HALF
    return joined.ravel()[:size]


def _unit64(bits: Values) -> Values:
    """[0, 1) in float64, every value a multiple of 2^-53."""
    unit: Values = (bits >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53
    return unit


def _bits(key: int, counter: int, size: int, dtype: Any) -> Values:
    return _bits32(key, counter, size) if dtype == numpy.uint32 else _bits64(key, counter, size)


def _uniform(key: int, counter: int, size: int, dtype: Any, low: float, high: float) -> Values:
    if dtype == numpy.float32:
        unit = (_bits32(key, counter, size) >> numpy.uint32(8)).astype(numpy.float32) * numpy.float32(2.0**-24)
    else:
        unit = _unit64(_bits64(key, counter, size))
    low, high = dtype.type(low), dtype.type(high)
    scaled: Values = low + unit * (high - low)
    return scaled


def _normal(key: int, counter: int, size: int, dtype: Any, mean: float, std: float) -> Values:
    """Box-Muller in float64: the cosine for even elements, the sine for odd ones."""
    bits = _bits64(key, counter, size + size % 2)
    radius = numpy.sqrt(-2.0 * numpy.log(1.0 - _unit64(bits[0::2])))
    angle = 2.0 * numpy.pi * _unit64(bits[1::2])
    return mean + std * numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle)], axis=1).ravel()[:size]


def _integers(key: int, counter: int, size: int, dtype: Any, low: int, span: int) -> Values:
    """low + floor(bits * span / 2^64): the high word of the 128-bit product, from four products of 32-bit halves."""
    bits, span64 = _bits64(key, counter, size), numpy.uint64(span)
    lowest = (bits & _LOW) * (span64 & _LOW)
    middle = (bits >> _HALF) * (span64 & _LOW) + (lowest >> _HALF)
    other = (bits & _LOW) * (span64 >> _HALF) + (middle & _LOW)
    high: Values = (bits >> _HALF) * (span64 >> _HALF) + (middle >> _HALF) + (other >> _HALF)
    return high.view(numpy.int64) + numpy.int64(low)


def _bernoulli(key: int, counter: int, size: int, dtype: Any, threshold: int) -> Values:
    drawn: Values = _bits32(key, counter, size).astype(numpy.uint64) < numpy.uint64(threshold)
    return drawn


DRAWS: dict[str, Callable[..., Values]] = {
    "bits": _bits,
    "uniform": _uniform,
    "normal": _normal,
    "integers": _integers,
    "bernoulli": _bernoulli,
}
"""By the kinds of :meth:`treadle.ndarray.backend.Backend.random`: (key, counter, size, dtype, *parameters)."""
