"""Nested states (of models, optimizers, whole training runs) as safetensors files.

The arrays are the tensors of the file; the tree they hang in is JSON in its notes, with a checksum of both.
"""

import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.ndarray.atomic import atomic_write
from treadle.ndarray.buffers import octets
from treadle.nn._state import array_of
from treadle.nn.errors import CheckpointError
from treadle.nn.safetensors_format import checked_arrays, opened, written

__all__ = ["load_state", "save_state"]

_KEY, _CHECKSUM = "treadle_state", "crc32"
_TENSOR, _ARRAY, _TUPLE, _PAIRS = "$tensor", "$array", "$tuple", "$pairs"
_MARKS = (_TENSOR, _ARRAY, _TUPLE, _PAIRS)


def save_state(state: Any, filename: str | os.PathLike[str]) -> None:
    """Write a state: dicts, lists, tuples, numbers, strings, None, tensors and arrays, nested at will.

    ``filename`` is replaced at once or not at all. Raises TypeError for anything else, naming its place,
    and ValueError for a state that contains itself.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_state({"step": 3, "momentum": {0: nd.asarray([1.0, 2.0])}}, f"{folder}/run.safetensors")
    ...     load_state(f"{folder}/run.safetensors")
    {'step': 3, 'momentum': {0: array([1., 2.])}}
    """
    tensors: dict[str, Any] = {}
    try:
        tree = _taken_apart(state, "state", tensors)
    except RecursionError:
        raise ValueError("the state contains itself, or is nested too deeply for a file") from None
    arrays = checked_arrays(tensors, array_of)
    text = json.dumps(tree, separators=(",", ":"))
    notes = {_KEY: text, _CHECKSUM: str(_checksum(text, arrays))}
    with atomic_write(filename, make_folders=True) as file:
        written(file, arrays, notes)


def load_state(filename: str | os.PathLike[str]) -> Any:
    """What :func:`save_state` wrote, its arrays on the cpu; nothing in the file can run.

    A file that is truncated, damaged, changed, or none of these is a CheckpointError.
    """
    content = opened(filename)
    try:
        text, expected = content.metadata[_KEY], int(content.metadata[_CHECKSUM])
        tree = json.loads(text)
    except (KeyError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{content.path} holds no state; weights are read by load_file") from error
    arrays = {name: content.array(name) for name in content.entries}
    if _checksum(text, arrays) != expected:
        raise CheckpointError(f"{content.path} is damaged: the checksum of what it holds is not the one it states")
    try:
        return _put_together(tree, arrays)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{content.path} is damaged: its tree names what is not there ({error})") from error


def _checksum(text: str, arrays: Mapping[str, nd.NDArray]) -> int:
    total = zlib.crc32(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        total = zlib.crc32(f"{name} {array.dtype.name} {array.shape}".encode(), total)
        total = zlib.crc32(octets(array), total)
    return total


def _taken_apart(value: Any, place: str, tensors: dict[str, Any]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (Tensor, nd.NDArray)) or (type(value).__module__ == "numpy" and hasattr(value, "shape")):
        while place in tensors:  # {"a.b": x, "a": {"b": y}}
            place += "'"
        tensors[place] = value
        return {_TENSOR if isinstance(value, Tensor) else _ARRAY: place}
    if isinstance(value, Mapping):
        if all(type(key) is str and key not in _MARKS for key in value):
            return {key: _taken_apart(each, f"{place}.{key}", tensors) for key, each in value.items()}
        keys = [_taken_apart(key, f"{place} (a key)", tensors) for key in value]
        values = [_taken_apart(each, f"{place}.{key}", tensors) for key, each in value.items()]
        return {_PAIRS: [list(pair) for pair in zip(keys, values, strict=True)]}
    if type(value) in (list, tuple):
        parts = [_taken_apart(each, f"{place}.{number}", tensors) for number, each in enumerate(value)]
        return parts if type(value) is list else {_TUPLE: parts}
    raise TypeError(f"{place} is a {type(value).__name__}, which a state file cannot hold")


def _put_together(tree: Any, arrays: Mapping[str, nd.NDArray]) -> Any:
    if isinstance(tree, list):
        return [_put_together(each, arrays) for each in tree]
    if not isinstance(tree, dict):
        return tree
    if _TENSOR in tree:
        return Tensor(arrays[tree[_TENSOR]])
    if _ARRAY in tree:
        return arrays[tree[_ARRAY]]
    if _TUPLE in tree:
        return tuple(_put_together(each, arrays) for each in tree[_TUPLE])
    if _PAIRS in tree:
        return {_put_together(key, arrays): _put_together(each, arrays) for key, each in tree[_PAIRS]}
    return {key: _put_together(each, arrays) for key, each in tree.items()}
