"""How the samples at some indices become a batch, in the main process or in a worker."""

from collections.abc import Callable, Iterator, Sized
from itertools import islice
from typing import Any, Protocol

import treadle.ndarray as nd
from treadle.data.collate import default_collate, default_convert
from treadle.data.dataset import batch_fetcher, index_array

__all__ = ["Fetcher", "fetcher_of"]

_NOTHING = object()


class Fetcher(Protocol):
    """Makes batches of one data set."""

    def begin(self) -> None:
        """A new pass over the data."""

    def fetch(self, indices: Any) -> tuple[Any, bool]:
        """The batch of the samples at ``indices``, and whether there was nothing more instead."""


def fetcher_of(
    dataset: Any, *, iterable: bool, batched: bool, drop_last: bool, collate_fn: Callable[[Any], Any] | None
) -> Fetcher:
    """The fetcher of a data set that is indexed or iterated; ``batched``: ``indices`` are several."""
    if iterable:
        return _Iterated(dataset, batched, drop_last, collate_fn)
    return _Indexed(dataset, batched, collate_fn)


class _Indexed:
    """Of a data set that gives the sample at an index."""

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any] | None) -> None:
        self._dataset = dataset
        self._collate: Callable[[Any], Any] = collate_fn or (default_collate if batched else default_convert)
        self._several = batched
        self._whole = batch_fetcher(dataset) if batched and collate_fn is None else None
        self._samples = getattr(dataset, "__getitems__", None)

    def begin(self) -> None:
        """Nothing: there is no position."""

    def fetch(self, indices: Any) -> tuple[Any, bool]:
        if not self._several:
            return self._collate(self._dataset[indices]), False
        if self._whole is not None:
            return self._whole(indices if isinstance(indices, nd.NDArray) else index_array(indices)), False
        listed = indices.tolist() if isinstance(indices, nd.NDArray) else indices
        if self._samples is not None:
            return self._collate(self._samples(listed)), False
        dataset = self._dataset
        return self._collate([dataset[index] for index in listed]), False


class _Iterated:
    """Of a data set that gives one sample after another; of the indices, only their number counts."""

    def __init__(self, dataset: Any, batched: bool, drop_last: bool, collate_fn: Callable[[Any], Any] | None) -> None:
        self._dataset = dataset
        self._batched = batched
        self._drop_last = drop_last
        self._collate: Callable[[Any], Any] = collate_fn or (default_collate if batched else default_convert)
        self._iterator: Iterator[Any] = iter(())

    def begin(self) -> None:
        self._iterator = iter(self._dataset)

    def fetch(self, indices: Sized) -> tuple[Any, bool]:
        if not self._batched:
            sample = next(self._iterator, _NOTHING)
            return (None, True) if sample is _NOTHING else (self._collate(sample), False)
        samples: list[Any] = list(islice(self._iterator, len(indices)))
        if not samples or (self._drop_last and len(samples) < len(indices)):
            return None, True
        return self._collate(samples), False
