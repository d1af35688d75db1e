"""Samples made into a batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["default_collate"]


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
    if isinstance(first, Tensor):
        return Tensor(nd.stack([sample.data for sample in batch], axis=0))
    if isinstance(first, nd.NDArray):
        return Tensor(nd.stack(list(batch), axis=0))
    if hasattr(first, "__array__"):
        return Tensor(nd.stack([nd.asarray(sample) for sample in batch], axis=0))
    if isinstance(first, (bool, int, float)):
        return Tensor(nd.asarray(list(batch)))
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {name: default_collate([sample[name] for sample in batch]) for name in first}
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in batch):
            raise ValueError(f"samples of different lengths: {sorted({len(sample) for sample in batch})}")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        if isinstance(first, list):
            return parts
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    raise TypeError(f"no batch can be made of {type(first).__name__}; give the loader a collate_fn")
