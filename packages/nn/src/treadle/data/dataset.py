"""Data sets: what has a length and gives the sample at an index.

A data set that can fetch a whole batch at once has a method ``fetch_batch(indices)``, which takes a 1-D int64 NDArray
and returns what collating the samples would; the loader then uses it instead of asking for each sample.
"""

import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
]


class Dataset:
    """The base of data sets; a subclass defines ``__getitem__`` and ``__len__``. Any sequence serves as well.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> Squares()[2]
    4
    """

    def __getitem__(self, index: int) -> Any:
        raise TypeError(f"{type(self).__name__} defines no __getitem__")

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} defines no __len__")

    def __add__(self, other: Any) -> "Dataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """The base of data sets that give their samples one after another; a subclass defines ``__iter__``.

    Each worker process iterates a copy of its own, and divides the samples by
    :func:`~treadle.data.get_worker_info`; else they come once from each worker.

    >>> class Lines(IterableDataset):
    ...     def __iter__(self):
    ...         return iter("abc")
    >>> list(Lines() + Lines())
    ['a', 'b', 'c', 'a', 'b', 'c']
    """

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{type(self).__name__} defines no __iter__")

    def __add__(self, other: Any) -> Dataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors whose rows belong together: sample i is the tuple of all rows i.

    >>> data = TensorDataset(Tensor([[1.0], [2.0]]), Tensor([3, 4], dtype=nd.int64))
    >>> len(data), [part.numpy().tolist() for part in data[1]]
    (2, [[2.0], 4])
    """

    def __init__(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"TensorDataset holds tensors, not {type(tensor).__name__}; wrap it with Tensor(...)")
        if not tensors or any(tensor.ndim == 0 or tensor.shape[0] != tensors[0].shape[0] for tensor in tensors):
            shapes = ", ".join(str(tensor.shape) for tensor in tensors) or "none"
            raise nd.ShapeError(f"TensorDataset needs tensors with one number of rows; the shapes are {shapes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(Tensor(tensor.data[index]) for tensor in self.tensors)

    def __len__(self) -> int:
        rows: int = self.tensors[0].shape[0]
        return rows

    def fetch_batch(self, indices: nd.NDArray) -> tuple[Tensor, ...]:
        """The rows at ``indices``, one gather for each tensor."""
        return tuple(Tensor(nd.take(tensor.data, indices.to_device(tensor.device), axis=0)) for tensor in self.tensors)


class Subset(Dataset):
    """The samples of ``dataset`` at ``indices``.

    >>> list(Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        self._places: nd.NDArray | None = None

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)

    def _batch_fetcher(self) -> Callable[[nd.NDArray], Any] | None:
        fetch = batch_fetcher(self.dataset)
        if fetch is None:
            return None
        if self._places is None:
            self._places = index_array(self.indices)
        places = self._places
        return lambda chosen: fetch(nd.take(places, chosen, axis=0))


class ConcatDataset(Dataset):
    """Data sets one behind the other.

    >>> both = ConcatDataset(["ab", "cde"])
    >>> len(both), both[2], both[-1]
    (5, 'c', 'e')
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset needs at least one data set")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise TypeError("an IterableDataset has no indices; put it behind others with ChainDataset")
        self.cumulative_sizes = list(accumulate(len(each) for each in self.datasets))

    def __getitem__(self, index: int) -> Any:
        size = len(self)
        place = index + size if index < 0 else index
        if not 0 <= place < size:
            raise IndexError(f"index {index} of {size} samples")
        number = bisect_right(self.cumulative_sizes, place)
        return self.datasets[number][place - (self.cumulative_sizes[number - 1] if number else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class StackDataset(Dataset):
    """Data sets side by side: sample i is the tuple of all samples i, or for names the dict of them.

    ValueError for data sets of different lengths.

    >>> StackDataset("ab", [3, 4])[1]
    ('b', 4)
    >>> StackDataset(letter="ab", number=[3, 4])[0]
    {'letter': 'a', 'number': 3}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset takes data sets, either all by position or all by name")
        self.datasets: tuple[Any, ...] | dict[str, Any] = args or kwargs
        lengths = [len(each) for each in self._all()]
        if len(set(lengths)) > 1:
            raise ValueError(f"StackDataset needs data sets of one length; these have {lengths}")

    def __getitem__(self, index: int) -> Any:
        return self._like([each[index] for each in self._all()])

    def __len__(self) -> int:
        return len(self._all()[0])

    @property
    def fetch_batch(self) -> Callable[[nd.NDArray], Any]:
        """Whole batches of each; AttributeError unless every one can give them."""
        fetchers = [batch_fetcher(each) for each in self._all()]
        known = [each for each in fetchers if each is not None]
        if len(known) < len(fetchers):
            raise AttributeError("samples are fetched one by one")
        return lambda indices: self._like([fetch(indices) for fetch in known])

    def _all(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _like(self, parts: list[Any]) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)


class ChainDataset(IterableDataset):
    """Iterable data sets one after the other.

    >>> class Letters(IterableDataset):
    ...     def __iter__(self):
    ...         return iter("ab")
    >>> list(ChainDataset([Letters(), Letters()]))
    ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(f"ChainDataset chains iterable data sets, not {type(dataset).__name__}")
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


def batch_fetcher(dataset: Any) -> Callable[[nd.NDArray], Any] | None:
    """What fetches a whole batch of the data set at once, or None if it can only give single samples."""
    if isinstance(dataset, Subset):
        return dataset._batch_fetcher()
    fetch: Callable[[nd.NDArray], Any] | None = getattr(dataset, "fetch_batch", None)
    return fetch


def index_array(indices: Iterable[int]) -> nd.NDArray:
    """Indices as a 1-D int64 array on the cpu. TypeError for what is no whole number."""
    return nd.asarray([operator.index(each) for each in indices], dtype=nd.int64, device="cpu")
