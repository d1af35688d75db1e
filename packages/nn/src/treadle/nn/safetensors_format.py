"""The safetensors format: eight bytes with the length of a header of JSON, the header, the tensors' bytes.

Nothing of a file is trusted: every length, offset and shape is compared with the size of the file before anything is
made of it. The specification is the README of the safetensors project, section "Format"; its library reads and writes
the same files.
"""

import json
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import treadle.ndarray as nd
from treadle.ndarray.buffers import octets
from treadle.nn.errors import CheckpointError

__all__ = ["Content", "Entry", "opened", "written"]

NAMES = {
    "F32": "float32",
    "F64": "float64",
    "F16": "float16",
    "BF16": "bfloat16",
    "C64": "complex64",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
"""The format's name of each dtype, and treadle's."""

_CODES = {name: code for code, name in NAMES.items()}
_METADATA = "__metadata__"
_LONGEST_HEADER = 100_000_000  # of the specification
_PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")


@dataclass(frozen=True)
class Entry:
    """Where a tensor lies among the bytes behind the header, checked."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Content:
    """A file's entries by name, its notes, and the bytes of its tensors, mapped."""

    path: Path
    entries: dict[str, Entry]
    metadata: dict[str, str]
    memory: memoryview
    begin: int
    """How many bytes stand before them."""

    def array(self, name: str, *, shared: bool = False) -> nd.NDArray:
        """A tensor on the cpu: a copy, or where it can be the mapped memory itself."""
        entry = self.entries[name]
        if entry.dtype not in NAMES:
            known = ", ".join(NAMES)
            raise CheckpointError(f"{self.path}: tensor {name!r} has dtype {entry.dtype}; treadle loads {known}")
        dtype = NAMES[entry.dtype]
        try:
            return self._read(entry, dtype, shared)
        except nd.ShapeError as error:
            raise CheckpointError(f"{self.path}: tensor {name!r} has an impossible shape: {error}") from error

    def _read(self, entry: Entry, dtype: str, shared: bool) -> nd.NDArray:
        if entry.start == entry.stop:
            return nd.empty(entry.shape, dtype=dtype, device="cpu")
        part = self.memory[entry.start : entry.stop]
        if dtype == "bool":
            return nd.not_equal(nd.frombuffer(part, dtype="uint8"), 0).reshape(entry.shape)
        if (self.begin + entry.start) % nd.dtype(dtype).itemsize:
            return nd.frombuffer(bytearray(part), dtype=dtype).reshape(entry.shape)
        array = nd.frombuffer(part, dtype=dtype).reshape(entry.shape)
        return array if shared else array.copy()


# --- writing ---------------------------------------------------------------------------------------------------------
def written(file: BinaryIO, arrays: Mapping[str, nd.NDArray], metadata: Mapping[str, str] | None) -> None:
    """Write contiguous arrays of the cpu: the widest elements first, so that each is aligned in the file."""
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    for key, value in (metadata or {}).items():
        if not all(isinstance(each, str) for each in (key, value)):
            raise TypeError(
                f"the metadata of a safetensors file are strings by name, not {key!r}: {value!r}; write str()"
            )
    header.update(dict.fromkeys(arrays))
    order = sorted(arrays, key=lambda name: -arrays[name].itemsize)
    place = 0
    for name in order:
        array = arrays[name]
        offsets = [place, place := place + array.nbytes]
        header[name] = {"dtype": _CODES[array.dtype.name], "shape": list(array.shape), "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(f"the header of a safetensors file would have {len(text)} bytes; 100 MB are allowed")
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        file.write(octets(arrays[name]))


def checked_arrays(tensors: Mapping[str, Any], array_of: Any) -> dict[str, nd.NDArray]:
    """The arrays to write, contiguous and on the cpu; errors name what the format cannot hold."""
    if not isinstance(tensors, Mapping):
        raise TypeError(f"a safetensors file holds a mapping of names to tensors, not a {type(tensors).__name__}")
    arrays = {}
    for name, value in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a tensor must be a string, not {name!r}")
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise ValueError(f"the name of a tensor, {name!r}, holds half a surrogate pair, which UTF-8 has not")
        if name == _METADATA:
            raise ValueError(f"no tensor can have the name {_METADATA!r}, where a safetensors file keeps its notes")
        try:
            host = array_of(value).to_device("cpu")
        except AttributeError:
            raise TypeError(f"a safetensors file holds tensors; {name!r} is a {type(value).__name__}") from None
        if host.dtype.name not in _CODES:
            raise nd.DTypeError(f"tensor {name!r}: safetensors has no dtype {host.dtype.name}")
        arrays[name] = host if host.is_contiguous else host.copy()
    return arrays


# --- reading ---------------------------------------------------------------------------------------------------------
def opened(filename: str | os.PathLike[str]) -> Content:
    """Map a file and check its header; writes to the mapping stay in this process."""
    path = Path(filename)
    if path.exists() and not path.is_file():
        raise CheckpointError(f"{path} is not a regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        if len(start) < 8:
            raise _refused(path, size, start, "it ends within the length of its header")
        length = int.from_bytes(start, "little")
        if length > min(size - 8, _LONGEST_HEADER):
            raise _refused(path, size, start, f"its header would have {length} bytes")
        memory = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
    try:
        entries, metadata = _checked(bytes(memory[8 : 8 + length]), size - 8 - length)
    except (ValueError, RecursionError) as error:
        raise _refused(path, size, start, str(error) or type(error).__name__) from error
    return Content(path, entries, metadata, memory[8 + length :], 8 + length)


def _refused(path: Path, size: int, start: bytes, reason: str) -> CheckpointError:
    hint = (
        "; it looks like a pickle, which is not loaded because that could run code: save it as safetensors"
        if start.startswith(_PICKLE_STARTS)
        else ""
    )
    return CheckpointError(f"{path} is not a whole safetensors file of {size} bytes: {reason}{hint}")


def _checked(text: bytes, size: int) -> tuple[dict[str, Entry], dict[str, str]]:
    header = json.loads(text.decode(), object_pairs_hook=_without_doubles)
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError(f"its {_METADATA} is no mapping of strings")
    entries = {name: _entry(name, described) for name, described in header.items()}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].stop)):
        if entry.start != end:
            raise ValueError(f"tensor {name!r} begins at byte {entry.start}, where the one before ends at {end}")
        end = entry.stop
    if end != size:
        raise ValueError(f"its tensors have {end} bytes, but {size} follow the header")
    return entries, metadata


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("its header has a name twice")
    return found


def _entry(name: str, described: Any) -> Entry:
    if not isinstance(described, dict) or described.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"tensor {name!r} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = described["dtype"], described["shape"], described["data_offsets"]
    if not isinstance(dtype, str) or not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"tensor {name!r} has a dtype, shape or data_offsets of a wrong kind")
    start, stop = offsets
    if dtype in NAMES and stop - start != prod(shape) * nd.dtype(NAMES[dtype]).itemsize:
        raise ValueError(f"tensor {name!r} of {dtype} and shape {shape} has {stop - start} bytes")
    if stop < start:
        raise ValueError(f"tensor {name!r} ends before it begins")
    return Entry(dtype, tuple(shape), start, stop)


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(each) is int and 0 <= each < 1 << 63 for each in values)
