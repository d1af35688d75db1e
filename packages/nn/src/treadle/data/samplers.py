"""The order in which samples are taken.

A sampler yields indices. One that knows them all beforehand also gives them as an array, by ``order()``, from which the
loader cuts batches without a Python object for each index.
"""

import operator
from collections.abc import Iterable, Iterator, Sequence, Sized
from math import inf
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data.dataset import index_array
from treadle.ndarray.random import Generator, default_generator

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StratifiedSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]


class Sampler:
    """The base of samplers; a subclass defines ``order``, or ``__iter__`` and ``__len__``."""

    def order(self) -> nd.NDArray:
        """All indices of the next pass, as a 1-D int64 array on the cpu."""
        return index_array(self)

    def __iter__(self) -> Iterator[int]:
        return iter(self.order().tolist())

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} defines no __len__")


class SequentialSampler(Sampler):
    """0, 1, 2, ...

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def order(self) -> nd.NDArray:
        """0, 1, 2, ..."""
        return nd.arange(len(self.data_source), dtype=nd.int64, device="cpu")

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A new permutation at each pass, or independent draws with ``replacement``.

    ``num_samples`` is the length of a pass; without replacement more than there are samples begins a new permutation.
    The draws come from ``generator``, or the default one.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if num_samples is not None and num_samples < 1:
            raise ValueError(f"num_samples must be 1 or more, not {num_samples}")
        self.data_source = data_source
        self.replacement = replacement
        self.num_samples = num_samples
        self.generator = generator

    def order(self) -> nd.NDArray:
        """The indices of a new pass."""
        source = self.generator or default_generator
        available, wanted = len(self.data_source), len(self)
        if available == 0 and self.num_samples is not None:
            raise ValueError(f"RandomSampler: {self.num_samples} samples cannot be drawn from a data set of none")
        if wanted == 0:
            return nd.empty((0,), dtype=nd.int64, device="cpu")
        if self.replacement:
            return source.integers(0, available, (wanted,), device="cpu")
        if wanted == available:
            return source.permutation(available, device="cpu")
        passes = [source.permutation(available, device="cpu") for _ in range(-(-wanted // available))]
        return nd.concat(passes, axis=0)[:wanted]

    def __len__(self) -> int:
        return len(self.data_source) if self.num_samples is None else self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in a new random order at each pass.

    >>> sorted(SubsetRandomSampler([5, 7]))
    [5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def order(self) -> nd.NDArray:
        """The indices of a new pass."""
        source = self.generator or default_generator
        return nd.take(index_array(self.indices), source.permutation(len(self.indices), device="cpu"), axis=0)

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """``num_samples`` indices, index i with probability proportional to ``weights[i]``.

    Without ``replacement`` no index comes twice, and the draws are those of repeated drawing from what is left
    (P. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir", 2006).

    >>> list(WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | nd.NDArray | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        values = weights.data if isinstance(weights, Tensor) else weights
        self.weights = nd.asarray(values, dtype=nd.float64, device="cpu", copy=True)
        listed = self.weights.tolist() if self.weights.ndim == 1 else []
        if not listed or not all(0.0 <= weight < inf for weight in listed) or not any(listed):
            raise ValueError("weights must be a sequence of finite numbers, none negative and not all zero")
        possible = sum(weight > 0.0 for weight in listed)
        if num_samples < 1 or (not replacement and num_samples > possible):
            bound = "" if replacement else f" and at most {possible}, the number of weights above zero"
            raise ValueError(f"num_samples must be 1 or more{bound}, not {num_samples}")
        self.num_samples = operator.index(num_samples)
        self.replacement = replacement
        self.generator = generator

    def order(self) -> nd.NDArray:
        """The indices of a new pass."""
        source = self.generator or default_generator
        if self.replacement:
            total = nd.cumulative_sum(self.weights, axis=0)
            draws = source.uniform(shape=(self.num_samples,), dtype=nd.float64, device="cpu") * total[-1].item()
            return nd.minimum(nd.searchsorted(total, draws, side="right"), self._last()).astype(nd.int64)
        waiting = source.exponential(shape=self.weights.shape, dtype=nd.float64, device="cpu") / self.weights
        return nd.argsort(waiting)[: self.num_samples].astype(nd.int64)

    def _last(self) -> int:
        """The last index that can be drawn, where rounding lifts a draw to the sum itself."""
        return max(index for index, weight in enumerate(self.weights.tolist()) if weight > 0.0)

    def __len__(self) -> int:
        return self.num_samples


class StratifiedSampler(Sampler):
    """All indices in a random order in which every stretch has the classes in their proportions.

    Of ``labels``, the class of each sample, a stretch of b has b times the share of each class, give or take one or
    two: each class is shuffled and spread evenly, from a random start. Batches cut from it are stratified.

    >>> order = list(StratifiedSampler(["a"] * 6 + ["b"] * 2))
    >>> [sum(index >= 6 for index in order[start : start + 4]) for start in (0, 4)]
    [1, 1]
    """

    def __init__(self, labels: Any, generator: Generator | None = None) -> None:
        data = labels.data if isinstance(labels, Tensor) else labels
        self.labels = data.tolist() if hasattr(data, "tolist") else list(data)
        self.generator = generator

    def order(self) -> nd.NDArray:
        """The indices of a new pass."""
        source = self.generator or default_generator
        classes: dict[Any, list[int]] = {}
        for index, label in enumerate(self.labels):
            classes.setdefault(label, []).append(index)
        placed: list[tuple[float, int]] = []
        for members in classes.values():
            start, count = source.uniform().item(), len(members)
            for rank, chosen in enumerate(source.permutation(count, device="cpu").tolist()):
                placed.append(((rank + start) / count, members[chosen]))
        return index_array(index for _, index in sorted(placed))

    def __len__(self) -> int:
        return len(self.labels)


class BatchSampler:
    """Lists of ``batch_size`` indices from ``sampler``; the last may be shorter, unless ``drop_last`` drops it.

    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        self.batch_size = operator.index(batch_size)
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be 1 or more, not {batch_size}")
        self.sampler = sampler
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def arrays(self) -> Iterator[nd.NDArray]:
        """The same batches as int64 arrays, cut from the sampler's order."""
        sampler = self.sampler
        order = sampler.order() if isinstance(sampler, Sampler) else index_array(sampler)
        stop = len(order) - len(order) % self.batch_size if self.drop_last else len(order)
        return (order[start : min(start + self.batch_size, stop)] for start in range(0, stop, self.batch_size))

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
