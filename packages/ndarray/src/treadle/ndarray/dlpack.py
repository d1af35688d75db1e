"""DLPack: arrays given to other libraries and taken from them without a copy.

:func:`from_dlpack` takes; the methods ``__dlpack__`` and ``__dlpack_device__`` of arrays give. The devices ``cpu``,
``numpy`` and ``cuda_emulated`` are host memory, DLPack's device ``(1, 0)``; ``cuda:N`` is ``(2, N)``.

Source: the DLPack specification, version 1.0, and the Python array API standard 2025.12, "Data interchange mechanisms".
"""

from typing import Any

from treadle.ndarray import _dlpack
from treadle.ndarray._array import NDArray
from treadle.ndarray._operands import octets_of
from treadle.ndarray._types import Device
from treadle.ndarray.buffers import has_only_booleans
from treadle.ndarray.creation import DeviceLike, asarray
from treadle.ndarray.devices import _cpu
from treadle.ndarray.devices import device as find_device
from treadle.ndarray.errors import DTypeError, TreadleError
from treadle.ndarray.nested import refuse_masked

__all__ = ["device_pair", "export", "from_dlpack"]

HOST = (1, 0)
_CUDA, _PINNED = 2, 3


def device_pair(device: Device) -> tuple[int, int]:
    """DLPack's device type and number of a device."""
    return (_CUDA, device.index) if device.type == "cuda" else HOST


def _device_of(pair: tuple[int, int]) -> Device:
    """The device where memory of a DLPack device can be used; raises BufferError where there is none."""
    kind, index = int(pair[0]), int(pair[1])
    if kind in (HOST[0], _PINNED):
        return _cpu
    if kind != _CUDA:
        raise BufferError(
            f"from_dlpack: memory of DLPack's device type {kind} cannot be used here; move it to the cpu first"
        )
    try:
        return find_device(f"cuda:{index}")
    except TreadleError as error:
        raise BufferError(f"from_dlpack: memory on DLPack's device {(kind, index)}: {error}") from None


def _settle(x: NDArray, stream: Any) -> None:
    """Let the work on x end before another library reads it, unless that library waits itself (-1)."""
    if x.device.type != "cuda":
        if stream is not None:
            raise BufferError(f"__dlpack__: stream is None for an array on {x.device}, not {stream!r}")
    elif stream != -1 and x.device.backend is not None:
        x.device.backend.synchronize(x.device.index)


def export(
    x: NDArray,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> object:
    """What ``x.__dlpack__`` does."""
    _settle(x, stream)
    shared, pair = x, device_pair(x.device)
    if dl_device is not None and tuple(dl_device) != pair:
        if copy is False:
            raise BufferError(
                f"__dlpack__: an array on {x.device} is not on DLPack's device {tuple(dl_device)} without a copy"
            )
        shared, pair = x.to_device(_device_of(dl_device)), (int(dl_device[0]), int(dl_device[1]))
        if pair != device_pair(shared.device):
            raise BufferError(f"__dlpack__: DLPack's device {pair} cannot be written to from here")
    elif copy:
        shared = x.copy()
    versioned = max_version is not None and max_version[0] >= _dlpack.VERSION[0]
    if shared.readonly and not versioned:
        raise BufferError(
            "__dlpack__: the array is read-only, which a consumer that asks for no max_version cannot be told; "
            "pass max_version=(1, 0), or export a copy()"
        )
    return _dlpack.to_capsule(shared, *pair, versioned, shared is not x)


def _request(x: Any, dl_device: tuple[int, int] | None, copy: bool | None) -> object:
    """The capsule of an exporter, which may be older than the keywords."""
    keywords: dict[str, Any] = {"max_version": _dlpack.VERSION}
    if dl_device is not None:
        keywords["dl_device"] = dl_device
    if copy is not None:
        keywords["copy"] = copy
    try:
        return x.__dlpack__(**keywords)
    except TypeError:
        return x.__dlpack__()


def from_dlpack(x: Any, /, *, device: DeviceLike | None = None, copy: bool | None = None) -> NDArray:
    """An array over the memory of ``x``, anything with ``__dlpack__`` and ``__dlpack_device__``.

    Without a ``device`` the array lies where x does (host memory: on ``cpu``), else it is moved there if need be.
    ``copy=True`` always copies, ``copy=False`` never; None copies only to move, or where elements are not aligned, or
    where bytes of a bool are neither 0 nor 1.
    Memory that the exporter marks read-only gives a read-only array. It is kept alive while arrays use it.

    Raises TypeError when x has no ``__dlpack__``, BufferError when it cannot be exchanged, ValueError when it could be
    only by a copy that ``copy=False`` forbids.

    Source: Python array API standard 2025.12, ``from_dlpack``.

    >>> import numpy, treadle.ndarray as nd
    >>> x = numpy.arange(3)
    >>> y = nd.from_dlpack(x)
    >>> y[0] = 7
    >>> x.tolist()
    [7, 1, 2]
    """
    target = None if device is None else find_device(device)
    if isinstance(x, NDArray):
        return asarray(x[...], device=target, copy=copy)
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise DTypeError(f"from_dlpack: {type(x).__name__} has no __dlpack__ and __dlpack_device__; use asarray")
    refuse_masked(x, "from_dlpack")
    pair = x.__dlpack_device__()
    wanted = None if target is None or device_pair(target) == tuple(pair) else device_pair(target)
    if wanted == HOST and pair[0] == _PINNED:
        wanted = None
    if copy is False and target is not None and (wanted is not None or target is not _device_of(pair)):
        raise ValueError(f"from_dlpack: a copy is needed to move memory of DLPack's device {tuple(pair)} to {target}")
    imported = _dlpack.Imported(_request(x, HOST if wanted == HOST else None, copy))
    place = _device_of(imported.device)
    array, copied = _dlpack.to_array(imported, place)
    why = "the memory is not aligned to the size of an element"
    if not has_only_booleans(array):  # foreign bytes other than 0 and 1 are true as well
        array, copied, why = octets_of(array).astype("bool"), True, "bools must be 0 or 1"
    if copied and copy is False:
        raise ValueError(f"from_dlpack: a copy is needed, because {why}")
    if copy and not copied and not imported.is_copy:
        array = array.copy()
    return array if target is None else array.to_device(target)
