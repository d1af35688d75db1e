"""What the namespace offers, as the array API standard lets one ask: ``__array_namespace_info__()``."""

from treadle.ndarray._types import Device, DType
from treadle.ndarray.creation import DeviceLike, type_of
from treadle.ndarray.data_types import KINDS
from treadle.ndarray.devices import default_device, device_types
from treadle.ndarray.devices import device as find_device
from treadle.ndarray.errors import BackendError, DeviceError, DTypeError

__all__ = ["NamespaceInfo", "__array_namespace_info__"]

_BEYOND_THE_STANDARD = ("float16", "bfloat16")


class NamespaceInfo:
    """The standard's inspection functions."""

    def capabilities(self) -> dict[str, bool | int]:
        """What is supported: boolean indexing and data-dependent shapes are; arrays have at most 32 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> Device:
        """:func:`treadle.ndarray.default_device`."""
        return default_device()

    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, DType]:
        """The dtype that data of each kind gets when none is named; the same on every device.

        >>> import treadle.ndarray as nd
        >>> nd.__array_namespace_info__().default_dtypes()["real floating"]
        treadle.float32
        """
        names = {
            "real floating": "float32",
            "complex floating": "complex64",
            "integral": "int64",
            "indexing": "int64",
        }
        return {kind: type_of[name] for kind, name in names.items() if name in type_of}

    def dtypes(
        self, *, device: DeviceLike | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The dtypes of a device by name, all or those of a kind (see :func:`treadle.ndarray.isdtype`) or of several.

        >>> import treadle.ndarray as nd
        >>> sorted(nd.__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
        """
        kinds = tuple(KINDS) if kind is None else (kind,) if isinstance(kind, str) else kind
        unknown = [each for each in kinds if each not in KINDS]
        if unknown:
            raise DTypeError(f"dtypes: no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
        letters = "".join(KINDS[each] for each in kinds)
        place = default_device() if device is None else find_device(device)
        there = getattr(place.backend, "dtypes", None) or type_of
        standard = {name: each for name, each in type_of.items() if name in there and name not in _BEYOND_THE_STANDARD}
        return {name: each for name, each in standard.items() if each.kind in letters}

    def devices(self) -> tuple[Device, ...]:
        """The devices that can be used here, one of each type."""
        found = []
        for name in device_types():
            try:
                found.append(find_device(name))
            except (DeviceError, BackendError):
                continue
        return tuple(found)


def __array_namespace_info__() -> NamespaceInfo:
    """The inspection functions of the array API standard.

    >>> import treadle.ndarray as nd
    >>> nd.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return NamespaceInfo()
