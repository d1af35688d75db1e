"""Data sets: what has a length and gives the sample at an index.

A data set that can fetch a whole batch at once has a method ``fetch_batch(indices)``, which takes a 1-D int64 NDArray
and returns what collating the samples would; the loader then uses it instead of asking for each sample.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["Dataset", "Subset", "TensorDataset", "batch_fetcher", "index_array"]


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
        fetch = batch_fetcher(dataset)
        if fetch is not None:
            places = index_array(indices)
            self.fetch_batch = lambda chosen: fetch(nd.take(places, chosen, axis=0))

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def batch_fetcher(dataset: Any) -> Callable[[nd.NDArray], Any] | None:
    """The data set's ``fetch_batch``, or None if it can only give single samples."""
    fetch: Callable[[nd.NDArray], Any] | None = getattr(dataset, "fetch_batch", None)
    return fetch


def index_array(indices: Iterable[int]) -> nd.NDArray:
    """Indices as a 1-D int64 array on the cpu."""
    return nd.asarray(list(indices), dtype=nd.int64, device="cpu")
