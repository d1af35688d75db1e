"""Bytes as arrays: views of foreign buffers, and arrays as bytes for other processes."""

import operator
from collections.abc import Callable
from typing import Any

from treadle.ndarray import _array, _families, _parts
from treadle.ndarray._array import NDArray
from treadle.ndarray._memory import ForeignBuffer
from treadle.ndarray._operands import octets_of
from treadle.ndarray._types import DType, dtype_named
from treadle.ndarray.creation import DTypeLike, empty
from treadle.ndarray.errors import DTypeError, ShapeError
from treadle.ndarray.nested import refuse_masked

__all__ = ["frombuffer", "has_only_booleans", "octets", "over", "plain", "rebuilt", "reduced"]


def frombuffer(buffer: Any, /, *, dtype: DTypeLike = "float32", count: int = -1, offset: int = 0) -> NDArray:
    """A 1-D cpu array over the memory of ``buffer`` (bytes, bytearray, mmap, ...), without a copy.

    ``count`` elements from byte ``offset`` on; -1 means all, which must then fill whole elements. Read-only memory
    gives a read-only array. The memory is kept alive while arrays use it. Bytes are taken in the processor's order, and
    for bool are 0 or 1, also when the memory's owner writes them later.

    Raises ValueError when the buffer is too short, cut within an element, or not aligned to the size of one, or when a
    bool is neither 0 nor 1; TypeError when there is no buffer, or none that is contiguous.

    >>> import treadle.ndarray as nd
    >>> nd.frombuffer(bytearray([1, 0, 2, 0]), dtype="int16")
    array([1, 2], dtype=int16)
    """
    wanted = dtype_named(dtype)
    refuse_masked(buffer, "frombuffer")
    try:
        memory = memoryview(buffer)
    except TypeError as error:
        raise DTypeError(f"frombuffer: {type(buffer).__name__} gives no buffer ({error})") from None
    offset, count = operator.index(offset), operator.index(count)
    if not 0 <= offset <= memory.nbytes:
        raise ValueError(f"frombuffer: offset {offset} is outside the buffer of {memory.nbytes} bytes")
    left = memory.nbytes - offset
    if count < 0:
        if left % wanted.itemsize:
            raise ValueError(
                f"frombuffer: {left} bytes are no whole number of {wanted.name} of {wanted.itemsize} bytes"
            )
        count = left // wanted.itemsize
    if count > left // wanted.itemsize:
        raise ValueError(
            f"frombuffer: {count} elements of {wanted.name} need {count * wanted.itemsize} bytes, there are {left}"
        )
    if count == 0:
        return empty((0,), dtype=wanted, device="cpu")
    part = octets(memory)[offset : offset + count * wanted.itemsize]
    array = over(part, wanted)
    if array is None:
        raise ValueError(
            f"frombuffer: the address of byte {offset} is no multiple of {wanted.itemsize}, the size of {wanted.name}; "
            "copy the bytes first"
        )
    return array


def has_only_booleans(x: NDArray) -> bool:
    """Whether every element is a byte 0 or 1, unless the dtype is another than bool."""
    if x.dtype.kind != "b" or not x.size:
        return True
    return bool(_families.reduce("max", octets_of(x), None, False).item() <= 1)


def octets(buffer: Any) -> memoryview:
    """The bytes of a contiguous buffer or array. Raises TypeError when it is not contiguous."""
    memory = memoryview(plain(buffer) if isinstance(buffer, NDArray) else buffer)
    if memory.nbytes == 0:
        return memoryview(b"")
    return memory.cast("B")


def plain(x: NDArray) -> NDArray:
    """The same memory under a dtype that all consumers of buffers know: pairs of floats, and uint16 for halves."""
    if x.dtype.kind == "c":
        return _parts.pairs(x)
    return _parts.bits(x) if x.dtype.kind == "f" and x.itemsize == 2 else x


def over(memory: memoryview, dtype: DType) -> NDArray | None:
    """The 1-D array over bytes that fill whole elements; None where they are not aligned."""
    foreign = ForeignBuffer(memory)
    if foreign.pointer % dtype.itemsize:
        return None
    array = _parts.from_bytes(_array.from_memory(foreign, dtype_named("uint8")), dtype)
    if not has_only_booleans(array):
        raise ValueError("a byte is no bool, being neither 0 nor 1; take the bytes as uint8 and compare them with 0")
    return array


def reduced(x: NDArray, protocol: int) -> tuple[Callable[..., NDArray], tuple[Any, ...]]:
    """How pickle takes an array apart: its bytes, dtype, shape, order and device.

    From protocol 5 on the bytes are a :class:`pickle.PickleBuffer`, so that they can travel out of band, uncopied. This
    is for worker processes, who trust each other; files of arrays (:func:`treadle.ndarray.save`) hold no pickle.
    """
    from pickle import PickleBuffer

    host = x if x.device == "cpu" else x.to_device("cpu")
    transposed = host.ndim > 1 and not host.is_contiguous and host.T.is_contiguous
    host = host.T if transposed else host if host.is_contiguous else host.copy()
    data: Any = bytes(memoryview(plain(host))) if protocol < 5 or not host.size else PickleBuffer(plain(host))
    return rebuilt, (data, x.dtype.name, host.shape, transposed, str(x.device))


def rebuilt(data: Any, dtype: str, shape: tuple[int, ...], transposed: bool, device: str) -> NDArray:
    """The array that :func:`reduced` took apart. It shares memory with a buffer that came out of band."""
    wanted = dtype_named(dtype)
    memory = octets(data)
    size = 1
    for length in shape:
        size *= length
    if memory.nbytes != size * wanted.itemsize:
        raise ShapeError(f"unpickling: {memory.nbytes} bytes for shape {shape} of {dtype}")
    array = empty((0,), dtype=wanted, device="cpu")
    if size:
        found = over(memory, wanted)
        array = over(memoryview(bytearray(memory)), wanted) if found is None else found  # type: ignore[assignment]
        if isinstance(data, bytes):
            array = array.copy()
    array = array.reshape(shape)
    return (array.T if transposed else array).to_device(device)
