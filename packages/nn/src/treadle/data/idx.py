"""The IDX format, in which MNIST and its kin are stored.

Two zero bytes, a byte that says the dtype, a byte with the number of dimensions, the dimensions as big-endian 32-bit
numbers, then the elements in C order, big-endian too. Y. LeCun, C. Cortes, C. Burges, "The MNIST database".
"""

import os
import struct
import zlib
from math import prod
from pathlib import Path

import treadle.ndarray as nd
from treadle.data.errors import DataFileError

__all__ = ["read_idx"]

_UINT8 = 0x08
_LARGEST = 1 << 34


def read_idx(path: str | os.PathLike[str]) -> nd.NDArray:
    """The array of unsigned bytes in an IDX file, gzipped or not, as uint8 on the cpu.

    The header is compared with the bytes that are there before anything of the declared size is allocated; a file
    that is cut short, too long, or holds other dtypes is a DataFileError.
    """
    name = Path(path)
    content = _content(name)
    if len(content) < 4 or content[:2] != b"\0\0":
        raise DataFileError(f"{name} is not an IDX file: it does not begin with two zero bytes")
    if content[2] != _UINT8:
        raise DataFileError(f"{name} holds elements of type {content[2]:#04x}; only 0x08, unsigned bytes, is read")
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise DataFileError(f"{name} ends within its header")
    shape = struct.unpack(f">{content[3]}I", content[4:start])
    if prod(shape) != len(content) - start:
        raise DataFileError(f"{name} declares shape {shape}, {prod(shape)} bytes, but holds {len(content) - start}")
    elements = nd.asarray(memoryview(bytearray(content[start:])), device="cpu")
    return elements.reshape(shape)


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
