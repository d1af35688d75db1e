"""Long rows of tokens in files that are mapped, not read: plain little-endian uint16 or uint32."""

import mmap
import os
import sys
from array import array
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.data.errors import DataFileError
from treadle.ndarray.atomic import atomic_write

__all__ = ["TokenFile", "write_tokens"]

_CODES = {"uint16": "H", "uint32": "I"}
_BLOCK = 1 << 16


def write_tokens(path: str | os.PathLike[str], tokens: Iterable[int] | nd.NDArray, dtype: str = "uint16") -> int:
    """Write tokens one after the other, uint16 or uint32, and return how many; ``tokens`` may come from a generator.

    ``path`` appears when all are written. A token that the dtype cannot hold is an OverflowError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tokens(f"{folder}/text.bin", [5, 7, 5])
    ...     TokenFile(f"{folder}/text.bin")[1:].tolist()
    3
    [7, 5]
    """
    code = _code(dtype)
    values = iter(tokens.tolist() if isinstance(tokens, nd.NDArray) else tokens)
    count = 0
    with atomic_write(path) as file:
        while block := array(code, islice(values, _BLOCK)):
            count += len(block)
            file.write(_little(block).tobytes())
    return count


class TokenFile:
    """The tokens of a file as a read-only row: ``len`` and slices, which are int64 arrays of what they touch.

    Only the pages that are touched are loaded, and worker processes share them. With ``vocabulary_size``, a token that
    is not below it is a DataFileError when it is read. ``array`` is the whole row as it lies in the file.
    """

    def __init__(self, path: str | os.PathLike[str], dtype: str = "uint16", vocabulary_size: int | None = None) -> None:
        self.path, self.dtype, self.vocabulary_size = Path(path), dtype, vocabulary_size
        width = array(_code(dtype)).itemsize
        with open(self.path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0 or size % width:
                raise DataFileError(f"{self.path} has {size} bytes, which are no tokens of {width} bytes ({dtype})")
            if sys.byteorder != "little":
                raise DataFileError("token files are little-endian, and are mapped on such processors only")
            self.array = nd.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), dtype=dtype)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, place: int | slice) -> nd.NDArray:
        part: nd.NDArray = self.array[place].astype("int64")
        if self.vocabulary_size is not None and part.size and nd.max(part).item() >= self.vocabulary_size:
            raise DataFileError(
                f"{self.path}: token {nd.max(part).item()} is not below {self.vocabulary_size}, the vocabulary's size"
            )
        return part

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenFile, (self.path, self.dtype, self.vocabulary_size)


def _code(dtype: str) -> str:
    if dtype not in _CODES:
        raise ValueError(f"tokens are {' or '.join(_CODES)}, not {dtype!r}")
    return _CODES[dtype]


def _little(values: "array[int]") -> "array[int]":
    if sys.byteorder != "little":
        values.byteswap()
    return values
