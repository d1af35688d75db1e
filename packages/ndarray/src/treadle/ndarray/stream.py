"""The stream of a counter-based generator and the draws that come straight from its bits.

Philox 4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11). Which bits
serve which element is written in ``include/treadle/random.h``. What is made from them is in ``distributions.py``.
"""

import functools
import operator
import os
import threading
from typing import Any, Self

from treadle.ndarray import _families, _parts
from treadle.ndarray._array import NDArray
from treadle.ndarray._types import DType, dtype_named
from treadle.ndarray.creation import DeviceLike, DTypeLike, Shape, asarray, empty
from treadle.ndarray.data_types import finfo
from treadle.ndarray.devices import default_device
from treadle.ndarray.errors import ArgumentError, DTypeError, RangeError, ShapeError

__all__ = ["Stream", "floating"]

_MASK = (1 << 64) - 1


class Stream:
    """A 64-bit seed and the count of blocks of 128 bits drawn so far.

    >>> Stream(1).integers(0, 10, (3,)).tolist() == Stream(1).integers(0, 10, (3,)).tolist()
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = 0
        self.counter = 0
        self._lock = threading.Lock()  # two threads never draw the same blocks
        self.manual_seed(int.from_bytes(os.urandom(8), "little") if seed is None else seed)

    def manual_seed(self, seed: int) -> Self:
        """Start the stream of a seed, any int; equal modulo 2**64 is equal.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(1).manual_seed(5).state()
        {'seed': 5, 'counter': 0}
        """
        self.seed = operator.index(seed) & _MASK
        self.counter = 0
        return self

    def state(self) -> dict[str, int]:
        """Where the stream stands, for :meth:`set_state`.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(5).state()
        {'seed': 5, 'counter': 0}
        """
        return {"seed": self.seed, "counter": self.counter}

    def set_state(self, state: dict[str, int]) -> None:
        """Go on where a stream stood, as :meth:`state` told it. Raises ArgumentError for anything else.

        >>> import treadle.ndarray as nd
        >>> generator = nd.random.Generator(5)
        >>> before = generator.state()
        >>> first = generator.bits((3,))
        >>> generator.set_state(before)
        >>> nd.all(generator.bits((3,)) == first).item()
        True
        """
        given: Any = state
        try:
            seed, counter = (operator.index(given[name]) for name in ("seed", "counter"))
        except (KeyError, TypeError, IndexError):
            seed = counter = -1
        if not (0 <= seed <= _MASK and 0 <= counter <= _MASK):
            raise ArgumentError(f"set_state: {state!r} is no state, which has a seed and a counter, both in [0, 2**64)")
        self.seed, self.counter = seed, counter

    def _draw(self, kind: str, parameters: tuple[float | int, ...], out: NDArray, words: int) -> NDArray:
        with self._lock:
            seed, counter = self.seed, self.counter
            self.counter = (counter + (out.size * words + 3) // 4) & _MASK
        _families.random(kind, seed, counter, parameters, out)
        return out

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.seed, self.counter)

    def bits(self, shape: Shape = (), *, dtype: DTypeLike = "uint64", device: DeviceLike | None = None) -> NDArray:
        """Raw bits, uint32 or uint64.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).bits((2,)).dtype.name
        'uint64'
        """
        out = empty(shape, dtype=dtype, device=device)
        if out.dtype.name not in ("uint32", "uint64"):
            raise DTypeError(f"bits: dtype is uint32 or uint64, not {out.dtype.name}")
        return self._draw("bits", (), out, out.itemsize // 4)

    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        shape: Shape = (),
        *,
        dtype: DTypeLike = "float32",
        device: DeviceLike | None = None,
    ) -> NDArray:
        """Evenly distributed in [low, high), of any floating dtype; rounding to the dtype can give high itself.

        Raises RangeError unless low <= high and both, and their distance, are finite in the dtype.

        The numbers of [0, 1) are multiples of 2**-11 in float16, 2**-8 in bfloat16, 2**-24 in float32, 2**-53 in
        float64, so that 1 is not among them. Of complex numbers the real and the imaginary part are drawn so, each.

        >>> import treadle.ndarray as nd
        >>> 0 <= nd.random.Generator(0).uniform().item() < 1
        True
        """
        out = floating(shape, dtype, device, "uniform", complex_too=True)
        limit = _largest(out.dtype)
        if not (abs(low) <= limit and abs(high) <= limit and 0 <= high - low <= limit):  # NaN is refused too
            raise RangeError(f"uniform: from {low} to {high} is no interval of finite numbers in {out.dtype.name}")
        if out.itemsize == 2:
            return self._short_uniform(float(low), float(high), out)
        parts = _parts.pairs(out) if out.dtype.kind == "c" else out
        self._draw("uniform", (float(low), float(high)), parts, parts.itemsize // 4)
        return out

    def _short_uniform(self, low: float, high: float, out: NDArray) -> NDArray:
        """Halves: the upper bits of 32, as many as the dtype has digits; scaled in float32, rounded once."""
        digits = 11 if out.dtype.name == "float16" else 8
        words = self.bits(out.shape, dtype="uint32", device=out.device)
        unit = (words >> (32 - digits)).astype("float32") * 2.0**-digits
        return (low + unit * (high - low)).astype(out.dtype)

    def normal(
        self,
        mean: float | complex = 0.0,
        std: float = 1.0,
        shape: Shape = (),
        *,
        dtype: DTypeLike = "float32",
        device: DeviceLike | None = None,
    ) -> NDArray:
        """Normally distributed, of any floating dtype. Raises ValueError for a negative ``std``.

        Complex numbers have ``std**2`` as the mean of abs(z - mean)**2: half of it in the real part, half in the
        imaginary one (the circular complex normal distribution).

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).normal(shape=(2, 3)).shape
        (2, 3)
        """
        if std < 0:
            raise ValueError(f"normal: std is {std}, it must not be negative")
        wanted = floating((0,), dtype, device, "normal", complex_too=True).dtype
        if wanted.kind == "c":
            return self._complex_normal(complex(mean), float(std), shape, wanted, device)
        if isinstance(mean, complex):
            raise DTypeError(f"normal: mean is {mean}, which {wanted.name} cannot hold; ask for a complex dtype")
        out = empty(shape, dtype=wanted if wanted.itemsize > 2 else "float64", device=device)
        self._draw("normal", (float(mean), float(std)), out, 2)
        return out.astype(wanted, copy=False)

    def _complex_normal(
        self, mean: complex, std: float, shape: Shape, dtype: DType, device: DeviceLike | None
    ) -> NDArray:
        out = empty(shape, dtype="complex128" if mean else dtype, device=device)
        self._draw("normal", (0.0, std * 0.5**0.5), _parts.pairs(out), 2)
        return (out + mean).astype(dtype, copy=False) if mean else out

    def integers(
        self,
        low: int,
        high: int | None = None,
        shape: Shape = (),
        *,
        dtype: DTypeLike = "int64",
        device: DeviceLike | None = None,
    ) -> NDArray:
        """Evenly distributed integers in [low, high), or in [0, low) when only one bound is given.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).integers(3, 4).item()
        3
        """
        low, high = (0, operator.index(low)) if high is None else (operator.index(low), operator.index(high))
        wanted = dtype_named(dtype)
        bits = 8 * wanted.itemsize
        lowest, largest = (-(1 << bits - 1), (1 << bits - 1) - 1) if wanted.kind == "i" else (0, (1 << bits) - 1)
        if wanted.kind not in "iu" or not max(lowest, -(1 << 63)) <= low < high <= min(largest, (1 << 63) - 1) + 1:
            raise ValueError(f"integers: [{low}, {high}) is empty or beyond {wanted.name} (and int64)")
        if high - low > _MASK:
            raise ValueError(f"integers: [{low}, {high}) has more than 2**64 - 1 members")
        out = self._draw("integers", (low, high - low), empty(shape, dtype="int64", device=device), 2)
        return out.astype(dtype, copy=False)

    def bernoulli(self, p: float, shape: Shape = (), *, device: DeviceLike | None = None) -> NDArray:
        """bool, True with probability p. Raises ValueError unless 0 <= p <= 1.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).bernoulli(1.0).item()
        True
        """
        if not 0 <= p <= 1:
            raise ValueError(f"bernoulli: p is {p}, it must be in [0, 1]")
        return self._draw("bernoulli", (round(p * 2.0**32),), empty(shape, dtype="bool", device=device), 1)

    def permutation(self, x: int | NDArray, *, device: DeviceLike | None = None) -> NDArray:
        """The integers below x in random order, or the rows of an array x in random order (a copy).

        >>> import treadle.ndarray as nd
        >>> sorted(nd.random.Generator(0).permutation(3).tolist())
        [0, 1, 2]
        """
        if isinstance(x, NDArray):
            if x.ndim == 0:
                raise ShapeError(f"permutation: x is a 0-d array of {x.dtype.name}; give an int, or an array with rows")
            return x[self.permutation(x.shape[0], device=x.device)]
        count = operator.index(x)
        return asarray(_families.permutation(self.bits((count,), device="cpu")), device=device or default_device())


def _restored(kind: "type[Stream]", seed: int, counter: int) -> "Stream":
    stream = kind(seed)
    stream.counter = counter
    return stream


def floating(
    shape: Shape, dtype: DTypeLike, device: DeviceLike | None, op: str, *, complex_too: bool = False
) -> NDArray:
    """An array to draw floats into; raises DTypeError for any other dtype."""
    wanted = dtype_named(dtype)
    if wanted.kind not in ("fc" if complex_too else "f"):
        kinds = "floating, real or complex" if complex_too else "real and floating"
        raise DTypeError(f"{op}: dtype is {kinds}, not {wanted.name}; convert with astype")
    return empty(shape, dtype=wanted, device=device)


@functools.cache
def _largest(dtype: DType) -> float:
    """The largest number of a floating dtype, or of the parts of a complex one."""
    return float(finfo(dtype).max)
