"""The IDX format, in which MNIST and its kin are stored.

Two zero bytes, a byte that says the dtype, a byte with the number of dimensions, the dimensions as big-endian 32-bit
numbers, then the elements in C order, big-endian too. Y. LeCun, C. Cortes, C. Burges, "The MNIST database".
"""

import os
import struct
import sys
import zlib
from array import array
from math import prod
from pathlib import Path

import treadle.ndarray as nd
from treadle.data.errors import DataFileError

__all__ = ["read_idx"]

_DTYPES = {
    0x08: ("uint8", "B"),
    0x09: ("int8", "b"),
    0x0B: ("int16", "h"),
    0x0C: ("int32", "i"),
    0x0D: ("float32", "f"),
    0x0E: ("float64", "d"),
}
"""The dtypes by the byte that names them, with the type codes of the module ``array``."""
_LARGEST = 1 << 34


def read_idx(path: str | os.PathLike[str]) -> nd.NDArray:
    """The array in an IDX file, gzipped or not, on the cpu.

    The header is compared with the bytes that are there before anything of the declared size is allocated; a file
    that is cut short, too long, or of no known dtype is a DataFileError.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 7]))
    ...     file.flush()
    ...     read_idx(file.name)
    array([5, 7], dtype=uint8)
    """
    name = Path(path)
    content = _content(name)
    if len(content) < 4 or content[:2] != b"\0\0":
        raise DataFileError(f"{name} is not an IDX file: it does not begin with two zero bytes")
    if content[2] not in _DTYPES:
        known = ", ".join(f"{code:#04x} {dtype}" for code, (dtype, _) in _DTYPES.items())
        raise DataFileError(f"{name} holds elements of type {content[2]:#04x}; the format has {known}")
    dtype, code = _DTYPES[content[2]]
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise DataFileError(f"{name} ends within its header")
    shape = struct.unpack(f">{content[3]}I", content[4:start])
    size = prod(shape) * nd.dtype(dtype).itemsize
    if size != len(content) - start:
        raise DataFileError(f"{name} declares shape {shape} of {dtype}, {size} bytes, but holds {len(content) - start}")
    elements = array(code, content[start:])
    if sys.byteorder == "little":
        elements.byteswap()
    return nd.frombuffer(elements, dtype=dtype).reshape(shape)


def _content(name: Path) -> bytes:
    raw = name.read_bytes()
    if raw[:2] != b"\x1f\x8b":
        return raw
    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(raw, _LARGEST)
    except zlib.error as error:
        raise DataFileError(f"{name} is damaged: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise DataFileError(f"{name} is damaged: the gzip stream does not end where the file does")
    return content
