"""Weights as safetensors files: a header of JSON and raw bytes, so that loading one runs nothing.

Files are written atomically and read with every length and offset checked against the size of the file.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn._state import array_of
from treadle.nn.errors import CheckpointError
from treadle.nn.files import atomic_write

__all__ = ["load_file", "load_metadata", "save_file"]

_deserialize: Any = safetensors.deserialize  # untyped in the library

# The safetensors name of a dtype: treadle's name, and the format that a memoryview is cast to.
_DTYPES = {
    "F32": ("float32", "f"),
    "F64": ("float64", "d"),
    "I8": ("int8", "b"),
    "I16": ("int16", "h"),
    "I32": ("int32", "i"),
    "I64": ("int64", "q"),
    "U8": ("uint8", "B"),
    "U16": ("uint16", "H"),
    "U32": ("uint32", "I"),
    "U64": ("uint64", "Q"),
    "BOOL": ("bool", "B"),
}

_PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")


def save_file(
    tensors: Mapping[str, Any], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors (Tensors, NDArrays or NumPy arrays) by name; ``filename`` is replaced at once or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"x": Tensor([1.0, 2.0])}, f"{folder}/x.safetensors")
    ...     load_file(f"{folder}/x.safetensors")["x"].numpy().tolist()
    [1.0, 2.0]
    """
    arrays = {}
    for name, value in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a tensor must be a string, not {name!r}")
        host = array_of(value).to_device("cpu")
        arrays[name] = host if host.is_contiguous else host.copy()
    specifications = {
        name: safetensors.TensorSpec(
            dtype=array.dtype.name, shape=list(array.shape), data_ptr=array.data_pointer, data_len=array.nbytes
        )
        for name, array in arrays.items()
    }
    content = safetensors.serialize(specifications, dict(metadata) if metadata else None)
    with atomic_write(filename) as file:
        file.write(content)


def load_file(filename: str | os.PathLike[str], device: Any = None) -> dict[str, Tensor]:
    """The tensors of a safetensors file, by name, on ``device`` (the default one if None).

    A file that is truncated, damaged, of another format, or of a dtype that treadle lacks is a CheckpointError.
    """
    path = Path(filename)
    tensors = {}
    for name, entry in _entries(path, _content(path)):
        tensors[name] = Tensor(_array(path, name, entry, device))
    return tensors


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The notes that were saved beside the tensors."""
    path = Path(filename)
    content = _content(path)
    _entries(path, content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    metadata: dict[str, str] = header.get("__metadata__", {})
    return metadata


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise CheckpointError(f"{path} is not a regular file")
    return path.read_bytes()


def _entries(path: Path, content: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Names with dtype, shape and data, after safetensors has checked header and offsets against ``content``."""
    try:
        entries: list[tuple[str, dict[str, Any]]] = _deserialize(content)
    except safetensors.SafetensorError as error:
        hint = (
            "; it looks like a pickle, which is not loaded because that could run code: save it as safetensors"
            if content.startswith(_PICKLE_STARTS)
            else ""
        )
        raise CheckpointError(
            f"{path} is not a whole safetensors file of {len(content)} bytes: {error}{hint}"
        ) from error
    return entries


def _array(path: Path, name: str, entry: dict[str, Any], device: Any) -> nd.NDArray:
    if entry["dtype"] not in _DTYPES:
        known = ", ".join(_DTYPES)
        raise CheckpointError(f"{path}: tensor {name!r} has dtype {entry['dtype']}; treadle loads {known}")
    dtype_name, memory_format = _DTYPES[entry["dtype"]]
    dtype = getattr(nd, dtype_name)
    shape = tuple(entry["shape"])
    if 0 in shape:
        return nd.empty(shape, dtype=dtype, device=device)
    content: Any = memoryview(entry["data"])
    host = nd.asarray(content.cast(memory_format, shape), device="cpu", copy=True)
    if dtype_name == "bool":
        host = nd.not_equal(host, 0)
    return host.to_device(nd.default_device() if device is None else device)
