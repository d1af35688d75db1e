"""A device whose arrays have a shape and no elements: programs run on it to tell what they would cost.

Memory is counted block by block as the cpu's allocator counts it, work by the method. Nothing is computed: what is read
back to the host is zeros, or identity matrices, which every decomposition takes.
"""

import math
from collections import Counter
from typing import Any

import treadle.ndarray as nd
from treadle.ndarray import Device, NDArray
from treadle.ndarray._memory import block_size
from treadle.ndarray.errors import BackendError

__all__ = ["StandIn", "stand_in"]

_PAGE = 4096


class _Block:
    """Memory that is only counted."""

    def __init__(self, owner: "StandIn", pointer: int, nbytes: int) -> None:
        self.pointer, self.nbytes = pointer, nbytes
        self._owner, self._counted = owner, block_size(nbytes)
        owner.change(self._counted)

    def __del__(self) -> None:
        self._owner.change(-self._counted)


class StandIn:
    """The backend protocol of :mod:`treadle.ndarray.backend`, counting. ``flops`` are by kind of work."""

    name = "stand-in"
    checks_indices = True

    def __init__(self) -> None:
        self.in_use = self.peak = self.moved = 0
        self.flops: Counter[str] = Counter()
        self._next = _PAGE

    def change(self, nbytes: int) -> None:
        """So many bytes more, or less, are in use."""
        self.in_use += nbytes
        self.peak = max(self.peak, self.in_use)

    def _count(self, kind: str, flops: int, *arrays: NDArray) -> None:
        self.flops[kind] += flops
        self.moved += sum(_touched(each) for each in arrays)

    def device_count(self) -> int:
        return 1

    def allocate(self, nbytes: int, index: int) -> _Block:
        pointer = self._next  # addresses of their own, never read: overlapping views are told by them
        self._next += (nbytes // _PAGE + 2) * _PAGE
        return _Block(self, pointer, nbytes)

    def synchronize(self, index: int) -> None:
        """Nothing to wait for."""

    # movement ---------------------------------------------------------------------------------------------------
    def from_host(self, source: NDArray, out: NDArray) -> None:
        self._count("moves", 0, source, out)

    def to_host(self, source: NDArray, out: NDArray) -> None:
        out[...] = 0
        if out.ndim > 1 and out.shape[-1] == out.shape[-2]:
            out[...] = nd.eye(out.shape[-1], dtype=out.dtype, device=out.device)
        self._count("moves", 0, source, out)

    def copy(self, source: NDArray, out: NDArray) -> None:
        self._count("moves", 0, source, out)

    def fill(self, out: NDArray, value: Any) -> None:
        self._count("moves", 0, out)

    def arange(self, out: NDArray, start: float, step: float) -> None:
        self._count("moves", 0, out)

    def gather(self, x: NDArray, indices: tuple[NDArray, ...], out: NDArray) -> None:
        self._place(indices)
        self._count("moves", 0, *indices, out, out)

    def scatter(self, out: NDArray, indices: tuple[NDArray, ...], values: NDArray, accumulate: bool) -> None:
        self._place(indices)
        self._count("moves", values.size if accumulate else 0, *indices, values, values)

    def _place(self, indices: tuple[NDArray, ...]) -> None:
        """The cpu makes a byte offset for every place that is selected, and drops it."""
        _Block(self, 0, 8 * indices[0].size)

    def nonzero(self, x: NDArray) -> NDArray:
        raise BackendError("how many elements a mask selects depends on values, which a prediction has none of")

    def random(self, kind: str, key: int, counter: int, parameters: Any, out: NDArray) -> None:
        self._count("moves", 0, out)

    def sort(self, x: NDArray, axis: int, descending: bool, stable: bool, values: Any, places: Any) -> None:
        self._count("moves", 0, x, *[each for each in (values, places) if each is not None])

    # arithmetic -------------------------------------------------------------------------------------------------
    def unary(self, op: str, x: NDArray, out: NDArray) -> None:
        self._count("elementwise", 0 if op == "positive" else out.size, x, out)

    def binary(self, op: str, x: NDArray, y: NDArray, out: NDArray) -> None:
        self._count("elementwise", out.size, x, y, out)

    def ternary(self, op: str, x: NDArray, y: NDArray, z: NDArray, out: NDArray) -> None:
        self._count("elementwise", 0 if op == "where" else out.size, x, y, z, out)

    def reduce(self, op: str, x: NDArray, axes: tuple[int, ...], out: NDArray) -> None:
        self._count("reductions", x.size, x, out)

    def arg_reduce(self, op: str, x: NDArray, axis: int, out: NDArray) -> None:
        self._count("reductions", x.size, x, out)

    def scan(self, op: str, x: NDArray, axis: int, out: NDArray) -> None:
        self._count("reductions", x.size, x, out)

    def matmul(self, x: NDArray, y: NDArray, out: NDArray) -> None:
        self._count("products", 2 * out.size * x.shape[-1], x, y, out)

    # fused, as on the cpu ---------------------------------------------------------------------------------------
    def softmax(self, x: NDArray, axis: int, out: NDArray) -> None:
        self._count("reductions", 4 * x.size, x, out)

    log_softmax = softmax

    def logsumexp(self, x: NDArray, axis: int, out: NDArray) -> None:
        self._count("reductions", 3 * x.size, x, out)

    def variance(self, x: NDArray, axes: tuple[int, ...], correction: float, out: NDArray) -> None:
        self._count("reductions", 3 * x.size, x, out)

    def conv(self, x: NDArray, weight: NDArray, geometry: Any, groups: int, out: NDArray) -> None:
        self._count("products", 2 * out.size * math.prod(weight.shape[1:]), x, weight, out)

    def conv_input_gradient(self, gradient: NDArray, weight: NDArray, geometry: Any, groups: int, out: NDArray) -> None:
        self._count("products", 2 * gradient.size * math.prod(weight.shape[1:]), gradient, weight, out)

    def conv_weight_gradient(self, gradient: NDArray, x: NDArray, geometry: Any, groups: int, out: NDArray) -> None:
        self._count("products", 2 * gradient.size * math.prod(out.shape[1:]), gradient, x, out)


def _touched(array: NDArray) -> int:
    """The bytes of an array's elements; one that is broadcast is read once."""
    lengths = [length for length, stride in zip(array.shape, array.strides, strict=True) if stride or not length]
    return math.prod(lengths) * array.itemsize


def stand_in() -> tuple[StandIn, Device]:
    """A fresh device of this kind and its backend, which does the counting."""
    backend = StandIn()
    return backend, Device(backend.name, 0, backend)
