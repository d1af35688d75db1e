"""Weights as safetensors files: a header of JSON and raw bytes, so that loading one runs nothing.

Files are written atomically and read with every length and offset checked against the size of the file.
"""

import os
from collections.abc import Mapping
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.ndarray.atomic import atomic_write
from treadle.nn._state import array_of
from treadle.nn.safetensors_format import checked_arrays, opened, written

__all__ = ["load_file", "load_metadata", "save_file"]


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
    if not isinstance(tensors, Mapping):
        kind = type(tensors).__name__
        raise TypeError(f"save_file takes a mapping of names to tensors, not a {kind}; of a model: model.state_dict()")
    arrays = checked_arrays(tensors, array_of)
    with atomic_write(filename, make_folders=True) as file:
        written(file, arrays, metadata)


def load_file(filename: str | os.PathLike[str], device: Any = None, *, mmap: bool = False) -> dict[str, Tensor]:
    """The tensors of a safetensors file, by name, on ``device`` (the default one if None).

    With ``mmap`` tensors on the cpu are not read but mapped: pages are loaded when they are touched, and processes
    share them; what is written to them stays in this process. The file must then not be cut short meanwhile; replacing
    it, as :func:`save_file` does, is no harm.

    A file that is truncated, damaged, of another format, or of a dtype that treadle lacks is a CheckpointError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"x": Tensor([1.0, 2.0])}, f"{folder}/x.safetensors")
    ...     load_file(f"{folder}/x.safetensors", mmap=True)["x"].numpy().tolist()
    [1.0, 2.0]
    """
    target = nd.default_device() if device is None else device
    content = opened(filename)
    return {name: Tensor(content.array(name, shared=mmap).to_device(target)) for name in content.entries}


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The notes that were saved beside the tensors.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"x": Tensor([1.0])}, f"{folder}/x.safetensors", {"epochs": "3"})
    ...     load_metadata(f"{folder}/x.safetensors")
    {'epochs': '3'}
    """
    return opened(filename).metadata
