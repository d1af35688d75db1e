"""The loader: batches of a data set, in order or shuffled."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from treadle.data.collate import default_collate
from treadle.data.dataset import batch_fetcher, index_array
from treadle.data.samplers import BatchSampler, RandomSampler, SequentialSampler
from treadle.ndarray.random import Generator

__all__ = ["DataLoader"]


class DataLoader:
    """Yields batches of ``dataset``; every iteration is a new pass.

    Either ``batch_sampler`` yields lists of indices, or ``sampler`` (or the data set's order, or with ``shuffle`` a new
    permutation at each pass, drawn from ``generator``) yields indices that are cut into batches of ``batch_size``. The
    last batch may be shorter, unless ``drop_last`` drops it. ``batch_size=None`` gives single samples.

    ``collate_fn`` makes a batch from a list of samples; without one, a data set with ``fetch_batch``, such as
    TensorDataset, gives whole batches itself, and the samples of others go through ``default_collate``.

    Batches are made in the calling process: ``num_workers`` must be 0.

    >>> from treadle.autograd import Tensor
    >>> from treadle.data import TensorDataset
    >>> loader = DataLoader(TensorDataset(Tensor([1.0, 2.0, 3.0])), batch_size=2)
    >>> len(loader), [batch.numpy().tolist() for batch, in loader]
    (2, [[1.0, 2.0], [3.0]])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        *,
        drop_last: bool = False,
        generator: Generator | None = None,
    ) -> None:
        if num_workers != 0:
            raise ValueError(f"batches are made in the calling process: num_workers must be 0, not {num_workers}")
        if sampler is not None and shuffle:
            raise ValueError("sampler and shuffle both say the order; give one of them")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and drop_last")
        if batch_size is None and drop_last:
            raise ValueError("drop_last needs a batch_size")
        self.dataset = dataset
        self.batch_size = batch_size if batch_sampler is None else None
        self.drop_last = drop_last
        self.collate_fn = collate_fn
        self.generator = generator
        if sampler is None and batch_sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler

    def __iter__(self) -> Iterator[Any]:
        if self.batch_sampler is None:
            return self._samples()
        fetch = batch_fetcher(self.dataset) if self.collate_fn is None else None
        if fetch is None:
            return self._collated(self.batch_sampler, self.collate_fn or default_collate)
        if isinstance(self.batch_sampler, BatchSampler):
            return map(fetch, self.batch_sampler.arrays())
        return (fetch(index_array(batch)) for batch in self.batch_sampler)

    def _samples(self) -> Iterator[Any]:
        for index in self.sampler or ():
            sample = self.dataset[index]
            yield sample if self.collate_fn is None else self.collate_fn(sample)

    def _collated(self, batches: Iterable[list[int]], collate: Callable[[list[Any]], Any]) -> Iterator[Any]:
        for batch in batches:
            yield collate([self.dataset[index] for index in batch])

    def __len__(self) -> int:
        """The number of batches of a pass; TypeError where a sampler of the user's has no length."""
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
