"""Devices by name, the default device, and how backends are found."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from treadle.ndarray._strided import get_cpu_device
from treadle.ndarray._types import Device
from treadle.ndarray.backend import Backend
from treadle.ndarray.errors import DeviceError

__all__ = ["default_device", "device", "device_types", "use_device"]

_ENTRY_POINT_GROUP = "treadle.backends"
_cpu = get_cpu_device()
_devices: dict[str, Device] = {"cpu": _cpu}
_backends: dict[str, Backend] = {}
_chosen: ContextVar[Device | None] = ContextVar("treadle_default_device", default=None)
_default: Device | None = None


def device(name: str | Device) -> Device:
    """The device of a name: ``cpu``, ``numpy``, ``cuda``, ``cuda:1``, ``cuda_emulated``.

    Raises DeviceError for a device that no installed package provides, BackendError when it is provided but absent.

    >>> import treadle.ndarray as nd
    >>> nd.device("cpu")
    device('cpu')
    """
    if isinstance(name, Device):
        return name
    if not isinstance(name, str):
        raise DeviceError(f"a device is named by a string such as 'cpu', not {name!r}")
    found = _devices.get(name)
    if found is None:
        found = _devices[name] = _find(name)
    return found


def _find(name: str) -> Device:
    kind, _, number = name.partition(":")
    if number and not number.isdecimal():
        raise DeviceError(f"{name!r} names no device; write 'cuda:0'")
    index = int(number or 0)
    for known in _devices.values():
        if known.type == kind and known.index == index:
            return known
    backend = _backend(kind)
    count = backend.device_count()
    if index >= count:
        raise DeviceError(f"{name}: there are {count} devices of type {kind}")
    return Device(kind, index, backend)


def _backend(kind: str) -> Backend:
    if kind not in _backends:
        _backends[kind] = _load(kind)
    return _backends[kind]


def _load(kind: str) -> Backend:
    if kind == "numpy":
        from treadle.ndarray.numpy_backend import NumpyBackend

        return NumpyBackend()
    from importlib.metadata import entry_points

    for entry in entry_points(group=_ENTRY_POINT_GROUP, name=kind):
        return entry.load()()  # type: ignore[no-any-return]
    known = ", ".join(device_types())
    hint = "; install treadle-cuda" if kind.startswith("cuda") else ""
    raise DeviceError(f"no backend provides the device {kind!r}{hint} (there are {known})")


def device_types() -> list[str]:
    """The types of device that installed packages provide, usable here or not.

    >>> import treadle.ndarray as nd
    >>> nd.device_types()[:2]
    ['cpu', 'numpy']
    """
    from importlib.metadata import entry_points

    return ["cpu", "numpy", *sorted({entry.name for entry in entry_points(group=_ENTRY_POINT_GROUP)})]


def default_device() -> Device:
    """The device of new arrays: that of the innermost :func:`use_device`, else of ``TREADLE_BACKEND``, else the cpu.

    >>> import treadle.ndarray as nd
    >>> with nd.use_device("numpy"):
    ...     print(nd.default_device())
    numpy
    """
    global _default
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    if _default is None:
        name = os.environ.get("TREADLE_BACKEND", "cpu")
        try:
            _default = device(name)
        except DeviceError as error:
            raise DeviceError(f"TREADLE_BACKEND={name}: {error}") from None
    return _default


@contextmanager
def use_device(name: str | Device) -> Iterator[Device]:
    """Make a device the default of this thread (or task) for the duration of a ``with`` block.

    Raises as :func:`device` does.

    >>> import treadle.ndarray as nd
    >>> with nd.use_device("numpy"):
    ...     print(nd.zeros(2).device)
    numpy
    """
    token = _chosen.set(device(name))
    try:
        yield default_device()
    finally:
        _chosen.reset(token)
