"""Samples made into a batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["default_collate", "default_convert"]


def default_collate(batch: Sequence[Any]) -> Any:
    """Stack tensors and arrays, make tensors of numbers, keep strings, and go into tuples, lists and dicts.

    Python ints become int64, bools bool, floats the default float32. A tuple of samples' parts stays a tuple.

    >>> images, labels = default_collate([(Tensor([1.0, 2.0]), 3), (Tensor([4.0, 5.0]), 6)])
    >>> images.shape, labels.numpy().tolist()
    ((2, 2), [3, 6])
    """
    if not batch:
        raise ValueError("an empty batch cannot be collated")
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, (Tensor, nd.NDArray)) or hasattr(first, "__array__"):
        return Tensor(nd.stack([_array_of(sample) for sample in batch], axis=0))
    if isinstance(first, (bool, int, float)):
        return Tensor(nd.asarray([sample.item() if hasattr(sample, "item") else sample for sample in batch]))
    if isinstance(first, Mapping):
        return _mapping(batch, first)
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in batch):
            raise ValueError(f"samples of different lengths: {sorted({len(sample) for sample in batch})}")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        if isinstance(first, list):
            return parts
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    raise TypeError(f"no batch can be made of {type(first).__name__}; give the loader a collate_fn")


def _array_of(sample: Any) -> nd.NDArray:
    return sample.data if isinstance(sample, Tensor) else nd.asarray(sample)


def _mapping(batch: Sequence[Any], first: Mapping[Any, Any]) -> dict[Any, Any]:
    for sample in batch:
        if sample.keys() != first.keys():
            raise ValueError(f"samples with different keys: {sorted(map(str, sample.keys() ^ first.keys()))}")
    return {name: default_collate([sample[name] for sample in batch]) for name in first}


def default_convert(data: Any) -> Any:
    """Arrays as tensors, inside tuples, lists and dicts too; everything else as it is.

    It is what a loader with ``batch_size=None`` does to each sample.

    >>> converted = default_convert({"x": nd.asarray([1.0, 2.0]), "name": "a"})
    >>> type(converted["x"]).__name__, converted["name"]
    ('Tensor', 'a')
    """
    if isinstance(data, Tensor) or data is None or isinstance(data, (str, bytes)):
        return data
    if isinstance(data, nd.NDArray):
        return Tensor(data)
    if hasattr(data, "__array__") and getattr(data, "dtype", None) is not None and data.dtype.kind not in "SUO":
        return Tensor(nd.asarray(data))
    if isinstance(data, Mapping):
        return {name: default_convert(value) for name, value in data.items()}
    if isinstance(data, (tuple, list)):
        parts = [default_convert(value) for value in data]
        if isinstance(data, list):
            return parts
        return type(data)(*parts) if hasattr(data, "_fields") else tuple(parts)
    return data
