"""The ``.npy`` format: header and elements, written and read without NumPy.

Every length is checked against what the file holds before memory is asked for. No pickle is read or written.

Source: NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays", and numpy.lib.format (1.0 to 3.0).
"""

import math
from typing import Any, BinaryIO, NamedTuple

from treadle.ndarray._array import NDArray
from treadle.ndarray._types import DType, all_dtypes
from treadle.ndarray.buffers import frombuffer, octets
from treadle.ndarray.creation import empty
from treadle.ndarray.errors import DTypeError, FileFormatError

__all__ = ["MAGIC", "Header", "elements", "fill_from", "header_bytes", "layout_of", "read_header"]

MAGIC = b"\x93NUMPY"
_ALIGNMENT = 64
_LONGEST_HEADER = 10_000
_MOST_DIMENSIONS = 32
_MOST_BYTES = 1 << 62
_CHUNK = 1 << 24
_SIZE_BYTES = {1: 2, 2: 4, 3: 4}

_CODES = {each.name: f"{each.kind}{each.itemsize}" for each in all_dtypes() if each.name != "bfloat16"}
_BY_CODE = {code: each for each in all_dtypes() for name, code in _CODES.items() if each.name == name}


class Header(NamedTuple):
    """What stands before the elements. ``shape`` is that of the elements in C order: reversed for Fortran order."""

    dtype: DType
    swapped: bool
    transposed: bool
    shape: tuple[int, ...]
    length: int
    """Bytes of the file up to the first element."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


# --- writing ----------------------------------------------------------------------------------------------------------
def layout_of(x: NDArray) -> tuple[NDArray, bool]:
    """x on the cpu as a C-contiguous array, and whether that is x transposed (Fortran order)."""
    if x.dtype.name not in _CODES:
        raise DTypeError(f"save: .npy files have no type for {x.dtype.name}; save x.astype('float32')")
    host = x.to_device("cpu")
    if host.ndim > 1 and not host.is_contiguous and host.T.is_contiguous:
        return host.T, True
    return (host if host.is_contiguous else host.copy()), False


def header_bytes(x: NDArray, transposed: bool) -> bytes:
    """The header of a C-contiguous array, padded so that the elements are aligned."""
    code = _CODES[x.dtype.name]
    shape = x.shape[::-1] if transposed else x.shape
    order = "|" if x.itemsize == 1 else "<"
    text = f"{{'descr': '{order}{code}', 'fortran_order': {transposed}, 'shape': {shape}, }}"
    fixed = len(MAGIC) + 2 + 2
    padding = -(fixed + len(text) + 1) % _ALIGNMENT
    body = text.encode("latin1") + b" " * padding + b"\n"
    return MAGIC + bytes([1, 0]) + len(body).to_bytes(2, "little") + body


def elements(x: NDArray) -> memoryview:
    """The bytes of a C-contiguous array."""
    return octets(x)


# --- reading ----------------------------------------------------------------------------------------------------------
def read_header(file: BinaryIO, name: str) -> Header:
    """Read up to the first element. Raises FileFormatError, or DTypeError for a type without a counterpart here."""
    start = _exactly(file, len(MAGIC) + 2, name, "the magic string")
    if start[: len(MAGIC)] != MAGIC:
        raise FileFormatError(f"{name} does not begin as a .npy file does")
    major, minor = start[-2], start[-1]
    if major not in _SIZE_BYTES or minor != 0:
        raise FileFormatError(f"{name} is in version {major}.{minor} of the .npy format; 1.0, 2.0 and 3.0 are known")
    length = int.from_bytes(_exactly(file, _SIZE_BYTES[major], name, "the header's length"), "little")
    if length > _LONGEST_HEADER:
        raise FileFormatError(f"{name}: a header of {length} bytes; at most {_LONGEST_HEADER} are believed")
    body = _exactly(file, length, name, "the header")
    return _parsed(body, major, len(start) + _SIZE_BYTES[major] + length, name)


def _exactly(file: BinaryIO, count: int, name: str, what: str) -> bytes:
    found = b""
    while len(found) < count:
        part = file.read(count - len(found))
        if not part:
            raise FileFormatError(f"{name} ends within {what}: {len(found)} of {count} bytes are there")
        found += part
    return found


def _parsed(body: bytes, major: int, length: int, name: str) -> Header:
    import ast

    try:
        fields = ast.literal_eval(body.decode("utf8" if major == 3 else "latin1").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise FileFormatError(f"{name}: the header is no dictionary of Python literals") from None
    if not isinstance(fields, dict) or fields.keys() != {"descr", "fortran_order", "shape"}:
        raise FileFormatError(f"{name}: the header must have descr, fortran_order and shape, and nothing else")
    shape, fortran = fields["shape"], fields["fortran_order"]
    if not isinstance(fortran, bool):
        raise FileFormatError(f"{name}: fortran_order is {fortran!r}, not True or False")
    if not isinstance(shape, tuple) or any(type(each) is not int or each < 0 for each in shape):
        raise FileFormatError(f"{name}: the shape is {shape!r}, not a tuple of lengths")
    if len(shape) > _MOST_DIMENSIONS:
        raise FileFormatError(f"{name}: {len(shape)} dimensions; at most {_MOST_DIMENSIONS} are possible")
    dtype, swapped = _described(fields["descr"], name)
    if math.prod(each or 1 for each in shape) * dtype.itemsize >= _MOST_BYTES:
        raise FileFormatError(f"{name}: shape {shape} is beyond any memory")
    transposed = fortran and len(shape) > 1
    return Header(dtype, swapped, transposed, shape[::-1] if transposed else shape, length)


def _described(descr: Any, name: str) -> tuple[DType, bool]:
    """The dtype of a description such as ``'<f4'``, and whether its bytes are in the other order."""
    if isinstance(descr, str) and descr in ("|O", "O", "|O8"):
        raise DTypeError(f"{name} holds Python objects, which would have to be unpickled; that is never done")
    dtype = _BY_CODE.get(descr[1:]) if isinstance(descr, str) and descr[:1] in ("<", ">", "|", "=") else None
    if dtype is None:
        raise DTypeError(f"{name} has elements of type {descr!r}; known are {', '.join(_CODES)}")
    return dtype, descr[0] == ">" and dtype.itemsize > 1


def fill_from(file: BinaryIO, header: Header, available: int | None, name: str) -> NDArray:
    """The array of the elements that follow in the file, of which ``available`` bytes are known to be there (None: it
    is not known how many, so memory grows with what comes)."""
    if available is not None and available < header.nbytes:
        raise FileFormatError(
            f"{name} ends too early: shape {header.shape} of {header.dtype.name} needs {header.nbytes} bytes, "
            f"{available} are there"
        )
    if available is None or not hasattr(file, "readinto"):
        raw = (
            frombuffer(_growing(file, header, name), dtype="uint8")
            if header.nbytes
            else empty(0, dtype="uint8", device="cpu")
        )
    else:
        raw = empty(header.nbytes, dtype="uint8", device="cpu")
        _fill(file, octets(raw), name)
    if header.dtype.kind == "b" and raw.size and raw.max().item() > 1:
        raise FileFormatError(f"{name}: a bool that is neither 0 nor 1")
    if header.swapped:
        part = header.dtype.itemsize // (2 if header.dtype.kind == "c" else 1)
        raw = raw.reshape(-1, part)[:, ::-1].copy()
    array = frombuffer(raw, dtype=header.dtype).reshape(header.shape)
    return array.T if header.transposed else array


def _fill(file: BinaryIO, target: memoryview, name: str) -> None:
    done = 0
    while done < target.nbytes:
        count = file.readinto(target[done : done + _CHUNK])  # type: ignore[attr-defined]
        if not count:
            raise FileFormatError(f"{name} ends too early: {done} of {target.nbytes} bytes are there")
        done += count


def _growing(file: BinaryIO, header: Header, name: str) -> bytearray:
    found = bytearray()
    while len(found) < header.nbytes:
        part = file.read(min(_CHUNK, header.nbytes - len(found)))
        if not part:
            raise FileFormatError(f"{name} ends too early: {len(found)} of {header.nbytes} bytes are there")
        found += part
    return found
