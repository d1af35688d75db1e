"""The CUDA array interface, version 3: a dict that describes an array of a GPU, for libraries without DLPack.

Arrays on a GPU have it as ``__cuda_array_interface__``, and :func:`treadle.ndarray.asarray` takes objects that have it.

Source: Numba's documentation, "CUDA Array Interface (Version 3)".
"""

from typing import TYPE_CHECKING, Any

import treadle.ndarray as nd
from treadle.cuda.devices import device_of
from treadle.ndarray.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from treadle.ndarray import Device, NDArray

__all__ = ["array_interface", "from_array_interface"]

VERSION = 3
DEFAULT_STREAM = 1
KINDS = {"b": "b", "i": "i", "u": "u", "f": "f", "c": "c"}


def array_interface(x: "NDArray") -> dict[str, Any]:
    """What ``x.__cuda_array_interface__`` is. A consumer has to wait for the stream that it names.

    Raises AttributeError for bfloat16, which the interface has no name for.

    >>> import treadle.cuda, treadle.ndarray as nd
    >>> treadle.cuda.array_interface(nd.ones((2, 3), device="cuda_emulated"))["typestr"]
    '<f4'
    """
    kernels, found = device_of(x.device)
    if x.dtype.name == "bfloat16":
        raise AttributeError("__cuda_array_interface__: it cannot describe bfloat16; use DLPack, or astype('float32')")
    stream = kernels.current_stream(found.index)
    order = "|" if x.itemsize == 1 else "<"
    return {
        "shape": x.shape,
        "typestr": f"{order}{KINDS[x.dtype.kind]}{x.itemsize}",
        "data": (x.data_pointer if x.size else 0, x.readonly),
        "strides": None if x.is_contiguous else x.strides,
        "version": VERSION,
        "stream": DEFAULT_STREAM if stream is None else stream.handle,
    }


class _Foreign:
    """Memory of another library, as the array module takes it."""

    def __init__(self, owner: Any, described: dict[str, Any], itemsize: int) -> None:
        self.owner = owner
        self.shape = tuple(int(length) for length in described["shape"])
        pointer, self.readonly = described["data"]
        self.pointer = int(pointer or 0)
        strides = described.get("strides")
        if strides is None:
            step, dense = itemsize, []
            for length in reversed(self.shape):
                dense.append(step)
                step *= max(length, 1)
            strides = reversed(dense)
        self.strides = tuple(int(stride) for stride in strides)
        self.nbytes = itemsize
        for length, stride in zip(self.shape, self.strides, strict=True):
            self.nbytes = 0 if length == 0 or self.nbytes == 0 else self.nbytes + abs(stride) * (length - 1)


def _dtype_name(typestr: str) -> str:
    kind, width = typestr[1:2], typestr[2:]
    prefix = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}.get(kind)
    if typestr[:1] not in ("<", "|") or prefix is None or not width.isdecimal():
        raise DTypeError(f"asarray: the CUDA array interface's type {typestr!r} has no counterpart here")
    return prefix if prefix == "bool" else f"{prefix}{8 * int(width)}"


def from_array_interface(x: Any, *, device: "str | Device" = "cuda") -> "NDArray":
    """An array over the memory of an object with ``__cuda_array_interface__``, which is kept alive.

    The work here waits for the stream that the interface names. Raises DTypeError when x has no such attribute, or a
    type without counterpart, or a mask; ShapeError when its memory cannot be walked.

    >>> import treadle.cuda, treadle.ndarray as nd
    >>> class Other:
    ...     memory = nd.arange(3, device="cuda_emulated")
    ...     __cuda_array_interface__ = treadle.cuda.array_interface(memory)
    >>> treadle.cuda.from_array_interface(Other(), device="cuda_emulated").tolist()
    [0, 1, 2]
    """
    described = getattr(x, "__cuda_array_interface__", None)
    if not isinstance(described, dict):
        raise DTypeError(f"asarray: {type(x).__name__} has no __cuda_array_interface__")
    if described.get("mask") is not None:
        raise DTypeError("asarray: arrays with a mask are not taken; fill the masked elements first")
    kernels, found = device_of(device)
    dtype = nd.dtype(_dtype_name(described["typestr"]))
    try:
        foreign = _Foreign(x, described, dtype.itemsize)
    except (KeyError, TypeError, ValueError) as error:
        raise ShapeError(f"asarray: the CUDA array interface is not complete: {error!r}") from None
    if foreign.nbytes and not foreign.pointer:
        raise ShapeError("asarray: the CUDA array interface gives no memory")
    if foreign.pointer % dtype.itemsize or any(stride % dtype.itemsize for stride in foreign.strides):
        raise ShapeError("asarray: the CUDA array interface's memory is not aligned; copy it first")
    stream = described.get("stream")
    if stream is not None:
        kernels.take_from_stream(found.index, int(stream))
    from treadle.ndarray import _array

    return _array.from_memory(foreign, dtype, found)
