"""Arrays in files: ``.npy`` and ``.npz``, exchanged with NumPy, written whole or not at all, never unpickled."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from treadle.ndarray import npy
from treadle.ndarray._array import NDArray
from treadle.ndarray.atomic import atomic_write
from treadle.ndarray.buffers import frombuffer
from treadle.ndarray.creation import DeviceLike, as_array, empty
from treadle.ndarray.devices import default_device
from treadle.ndarray.devices import device as find_device
from treadle.ndarray.errors import DTypeError, FileFormatError, TreadleError

if TYPE_CHECKING:
    from zipfile import ZipInfo

__all__ = ["load", "save", "savez", "savez_compressed"]

PathLike = str | os.PathLike[str]
_ACCESS = {"r": "ACCESS_READ", "c": "ACCESS_COPY", "r+": "ACCESS_WRITE"}
_STORED, _DEFLATED = 0, 8  # of zipfile, which is imported when it is needed, as mmap is
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)
_DEFLATE_LIMIT = 1040
"""No deflated byte stands for more than 1032 others."""


# --- writing ----------------------------------------------------------------------------------------------------------
def _path(file: Any) -> str:
    """A path as a string; DTypeError for anything else, also for the number of an open file, which would be closed."""
    try:
        return os.fsdecode(file)
    except TypeError:
        raise DTypeError(f"{type(file).__name__} is no path, and no open binary file") from None


def _write(file: PathLike | BinaryIO, ending: str, write: Callable[[Any], None]) -> None:
    if hasattr(file, "write"):
        write(file)
        return
    path = _path(file)
    with atomic_write(path if path.endswith(ending) else path + ending) as opened:
        write(opened)


def _write_npy(file: Any, x: NDArray) -> None:
    dense, transposed = npy.layout_of(x)
    file.write(npy.header_bytes(dense, transposed))
    file.write(npy.elements(dense))


def save(file: PathLike | BinaryIO, x: NDArray, /) -> None:
    """Write one array as a ``.npy`` file, which NumPy reads. ``.npy`` is appended to a path that lacks it.

    An array in Fortran order is written as such, other views in C order. A path is written aside, flushed and renamed
    into place. Raises DTypeError for bfloat16, which the format does not have.

    >>> import io, treadle.ndarray as nd
    >>> file = io.BytesIO()
    >>> nd.save(file, nd.arange(3))
    >>> nd.load(io.BytesIO(file.getvalue()))
    array([0, 1, 2])
    """
    _write(file, ".npy", lambda opened: _write_npy(opened, as_array(x)))


def savez(file: PathLike | BinaryIO, /, *arrays: NDArray, **named: NDArray) -> None:
    """Write several arrays as a ``.npz`` file; those without a name are called ``arr_0``, ``arr_1``, ...

    Raises ValueError when a name is used twice. Paths as in :func:`save`.

    >>> import io, treadle.ndarray as nd
    >>> file = io.BytesIO()
    >>> nd.savez(file, weights=nd.ones(2))
    >>> nd.load(io.BytesIO(file.getvalue()))["weights"]
    array([1., 1.])
    """
    _write_archive(file, arrays, named, _STORED)


def savez_compressed(file: PathLike | BinaryIO, /, *arrays: NDArray, **named: NDArray) -> None:
    """:func:`savez` with its members deflated.

    >>> import io, treadle.ndarray as nd
    >>> file = io.BytesIO()
    >>> nd.savez_compressed(file, nd.zeros(1000))
    >>> len(file.getvalue()) < 1000
    True
    """
    _write_archive(file, arrays, named, _DEFLATED)


def _write_archive(file: Any, arrays: tuple[NDArray, ...], named: dict[str, NDArray], compression: int) -> None:
    members = {f"arr_{place}": each for place, each in enumerate(arrays)}
    twice = members.keys() & named.keys()
    if twice:
        raise ValueError(f"savez: the name {twice.pop()} is taken by an array without a name")
    members |= named

    def write(opened: Any) -> None:
        import zipfile

        with zipfile.ZipFile(opened, "w", compression) as archive:
            for name, x in members.items():
                entry = zipfile.ZipInfo(f"{name}.npy", _FIXED_DATE)
                entry.compress_type = compression
                with archive.open(entry, "w", force_zip64=True) as member:
                    _write_npy(member, as_array(x))

    _write(file, ".npz", write)


# --- reading ----------------------------------------------------------------------------------------------------------
def load(
    file: PathLike | BinaryIO,
    /,
    *,
    mmap_mode: Literal["r", "c", "r+"] | None = None,
    device: DeviceLike | None = None,
) -> Any:
    """Read a ``.npy`` file as an array, or a ``.npz`` file as a dict of arrays, from a path or an open binary file.

    With ``mmap_mode`` the elements of a ``.npy`` file stay on the disk until they are used: ``"r"`` gives a read-only
    array, ``"c"`` one whose changes stay in memory, ``"r+"`` one whose changes reach the file. It is unmapped when the
    last array over it is gone; the file must not be cut meanwhile. From an open file one array is read and the position
    is left behind it; a path must hold one array and nothing else.

    Raises FileFormatError for files that are damaged in any way, before memory is asked for that the file does not
    fill; DTypeError for elements without a dtype here. Python objects are never unpickled.

    >>> import io, treadle.ndarray as nd
    >>> file = io.BytesIO()
    >>> nd.save(file, nd.ones((2, 2)))
    >>> _ = file.seek(0)
    >>> nd.load(file).shape
    (2, 2)
    """
    if mmap_mode is not None:
        if mmap_mode not in _ACCESS:
            raise ValueError(f"load: mmap_mode is 'r', 'c', 'r+' or None, not {mmap_mode!r}")
        return _mapped(file, mmap_mode, device)
    if hasattr(file, "read"):
        return _read(file, getattr(file, "name", "the file"), device, alone=False)
    path = _path(file)
    with open(path, "rb") as opened:
        return _read(opened, path, device, alone=True)


def _left(file: Any) -> int | None:
    """The bytes behind the position; None where the file cannot tell."""
    try:
        position = file.tell()
        end = file.seek(0, os.SEEK_END)
        file.seek(position)
    except (OSError, AttributeError, ValueError):
        return None
    return int(end - position)


def _read(file: Any, name: object, device: DeviceLike | None, alone: bool) -> Any:
    named, place = str(name), default_device() if device is None else find_device(device)
    left = _left(file)
    if left is not None:
        start = file.read(4)
        file.seek(-len(start), os.SEEK_CUR)
        if start in _ZIP_STARTS:
            return {key: each.to_device(place) for key, each in _read_archive(file, named).items()}
    header = npy.read_header(file, named)
    available = None if left is None else left - header.length
    if alone and available is not None and available > header.nbytes:
        raise FileFormatError(f"{named}: {available - header.nbytes} bytes follow the {header.nbytes} of the array")
    return npy.fill_from(file, header, available, named).to_device(place)


def _read_archive(file: Any, name: str) -> dict[str, NDArray]:
    import struct
    import zipfile
    import zlib

    found: dict[str, NDArray] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                key = entry.filename.removesuffix(".npy")
                if key == entry.filename or key in found:
                    raise FileFormatError(f"{name}: the member {entry.filename!r} is no .npy file, or there twice")
                with archive.open(entry) as member:
                    found[key] = _read_member(member, entry, f"{name}: {entry.filename}")
    except TreadleError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise FileFormatError(f"{name} is no sound .npz archive: {error}") from None
    return found


def _read_member(member: Any, entry: "ZipInfo", name: str) -> NDArray:
    limit = _DEFLATE_LIMIT if entry.compress_type == _DEFLATED else 1
    if entry.file_size > entry.compress_size * limit:
        raise FileFormatError(
            f"{name}: {entry.compress_size} bytes cannot hold the {entry.file_size} that are declared"
        )
    header = npy.read_header(member, name)
    if entry.file_size != header.length + header.nbytes:
        raise FileFormatError(
            f"{name}: shape {header.shape} of {header.dtype.name} needs {header.nbytes} bytes, the member has "
            f"{entry.file_size - header.length}"
        )
    array = npy.fill_from(member, header, header.nbytes, name)
    member.read(1)  # at the end the checksum is compared
    return array


def _mapped(file: Any, mode: str, device: DeviceLike | None) -> NDArray:
    import mmap

    if hasattr(file, "read"):
        raise ValueError("load: mmap_mode needs the path of a file")
    place = default_device() if device is None else find_device(device)
    if place != "cpu":
        raise ValueError(f"load: mmap_mode gives memory of the cpu, not of {place}")
    name = _path(file)
    with open(name, "r+b" if mode == "r+" else "rb") as opened:
        header = npy.read_header(opened, name)
        size = os.fstat(opened.fileno()).st_size
        if size != header.length + header.nbytes:
            raise FileFormatError(
                f"{name}: shape {header.shape} of {header.dtype.name} needs {header.nbytes} bytes, the file has "
                f"{size - header.length}"
            )
        if header.swapped:
            raise ValueError(f"load: {name} is big-endian and has to be converted; load it without mmap_mode")
        if header.size == 0:
            array = empty((0,), dtype=header.dtype, device="cpu")
        else:
            mapped = mmap.mmap(opened.fileno(), 0, access=getattr(mmap, _ACCESS[mode]))
            octets = frombuffer(mapped, dtype="uint8", offset=header.length)
            if header.dtype.kind == "b" and octets.max().item() > 1:
                raise FileFormatError(f"{name}: a bool that is neither 0 nor 1")
            array = frombuffer(mapped, dtype=header.dtype, offset=header.length)
    array = array.reshape(header.shape)
    return array.T if header.transposed else array
