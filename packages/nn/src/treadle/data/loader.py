"""The loader: batches of a data set, in order or shuffled, made here or by worker processes."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, islice, repeat
from typing import TYPE_CHECKING, Any

import treadle.ndarray as nd
from treadle.data.dataset import IterableDataset
from treadle.data.fetching import fetcher_of
from treadle.data.samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler
from treadle.data.seeding import generators_in
from treadle.ndarray.random import Generator, default_generator

if TYPE_CHECKING:
    from treadle.data.parallel import WorkerPool

__all__ = ["DataLoader"]

_PREFETCH = 2


@dataclass
class _Position:
    """Where a pass stands: the states at its start, and how many batches it has given."""

    start: dict[str, Any] | None = None
    batches: int = 0
    base_seed: int = field(default=0)


class DataLoader:
    """Yields batches of ``dataset``; every iteration is a new pass.

    Either ``batch_sampler`` yields lists of indices, or ``sampler`` (or the data set's order, or with ``shuffle`` a new
    permutation at each pass, drawn from ``generator``) yields indices that are cut into batches of ``batch_size``. The
    last batch may be shorter, unless ``drop_last`` drops it. ``batch_size=None`` gives single samples. An
    :class:`~treadle.data.IterableDataset` is iterated, and has no sampler.

    ``collate_fn`` makes a batch from a list of samples; without one, a data set with ``fetch_batch``, such as
    TensorDataset, gives whole batches itself, and the samples of others go through ``default_collate``.

    With ``num_workers`` as many processes make the batches, ``prefetch_factor`` (2) each ahead, and their arrays arrive
    in shared memory. The order is that of no workers (without ``in_order``: as they are ready). ``worker_init_fn`` is
    called with the number of each worker, and :func:`~treadle.data.get_worker_info` tells which one it is. Before each
    batch, a worker seeds ``random``, NumPy and treadle anew from the batch's number and a base seed, which each pass
    draws from ``generator``: a run repeats with any number of workers, and no two batches draw alike.

    An exception of a worker is raised here, with the worker's traceback in a note; a worker that was killed is a
    WorkerError with its pid and signal; a batch that takes longer than ``timeout`` seconds is a WorkerTimeoutError.
    ``persistent_workers`` serve all passes; others end with theirs. ``multiprocessing_context`` is a start method:
    ``forkserver`` by default, which no thread of this process can disturb, but which pickles the data set and imports
    the program (its start belongs under ``if __name__ == "__main__"``); ``fork`` does neither.

    ``pin_memory`` and ``pin_memory_device`` are accepted for PyTorch's sake and change nothing.

    :meth:`state_dict` tells where a pass stands, and a loader that loads it goes on from the next batch.

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
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self.dataset = dataset
        self._iterable = isinstance(dataset, IterableDataset)
        if not self._iterable and not hasattr(dataset, "__getitem__"):
            raise TypeError(
                f"a data set has samples by index or is an IterableDataset; {type(dataset).__name__} is neither; "
                "of an iterator make an IterableDataset whose __iter__ gives a new one"
            )
        _check_order(self._iterable, batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if num_workers:
            _check_devices(dataset)
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.batch_size = batch_size if batch_sampler is None else None
        self.num_workers = num_workers
        self.collate_fn = collate_fn
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        if generator is not None and not isinstance(generator, Generator):
            raise TypeError(f"generator must be a treadle.ndarray.random.Generator, not {type(generator).__name__}")
        self.generator = generator
        self.prefetch_factor = _PREFETCH if prefetch_factor is None and num_workers else prefetch_factor
        self.persistent_workers = persistent_workers
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        if self._iterable:
            sampler = repeat(None)
        elif sampler is None and batch_sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self._draws = bool(shuffle) or num_workers > 0
        self.sampler = sampler
        self._batched = batch_sampler is not None or batch_size is not None
        if batch_sampler is None and batch_size is not None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self._position = _Position()
        self._resumed: Mapping[str, Any] | None = None
        self._pool: WorkerPool | None = None

    # --- a pass ------------------------------------------------------------------------------------------------------
    def __iter__(self) -> Iterator[Any]:
        resumed, self._resumed = self._resumed, None
        present = self._states()
        position = self._begun(resumed)
        batches = self._batches()
        first = list(islice(batches, 1))  # a sampler that is a generator draws its order now
        numbered: Iterator[tuple[int, Any]] = zip(count(), chain(first, batches))
        if resumed is not None:
            position.batches = resumed["batches"]
        if not self._iterable:
            numbered = islice(numbered, position.batches, None)
        if resumed is not None:
            self._set_generators(present)
        self._position = position
        return self._from_workers(numbered, position) if self.num_workers else self._from_here(numbered, position)

    def _begun(self, resumed: Mapping[str, Any] | None) -> _Position:
        """The start of a new pass, or of the one that a state tells of, with the generators as they were then."""
        if resumed is not None:
            self._set_generators(resumed["start"])
            for sampler, state in zip(self._stateful(), resumed["start"]["samplers"], strict=True):
                sampler.load_state_dict(state)
        position = _Position(self._states())
        if self._draws:
            position.base_seed = (self.generator or default_generator).bits((), device="cpu").item()
        return position

    def _batches(self) -> Iterator[Any]:
        batches = self.batch_sampler
        if batches is None:
            return iter(self.sampler or ())
        if self._iterable:
            return repeat(range(self.batch_size or 0))
        if type(batches) is BatchSampler and isinstance(batches.sampler, Sampler):
            return batches.arrays()
        return iter(batches)

    def _from_here(self, numbered: Iterator[tuple[int, Any]], position: _Position) -> Iterator[Any]:
        fetcher = self._fetcher()(self.dataset)
        fetcher.begin()
        skipped = position.batches if self._iterable else 0
        for _ in range(skipped):
            fetcher.fetch(next(numbered)[1])
        fetch = fetcher.fetch
        for _, indices in numbered:
            batch, ended = fetch(indices)
            if ended:
                break
            position.batches += 1
            yield batch
        self._finished(position)

    def _from_workers(self, numbered: Iterator[tuple[int, Any]], position: _Position) -> Iterator[Any]:
        from treadle.data.parallel import ParallelBatches, WorkerPool, start_context
        from treadle.data.worker import WorkerSettings

        pool = self._pool
        if pool is None or not pool.close.alive:
            settings = WorkerSettings(
                id=0,
                num_workers=self.num_workers,
                base_seed=position.base_seed,
                init=self.worker_init_fn,
                fetcher=self._fetcher(),
                device=_device_of_workers(),
            )
            pool = WorkerPool(start_context(self.multiprocessing_context), self.dataset, settings)
        if self.persistent_workers:
            self._pool = pool
        pool.begin(position.base_seed)
        made = ParallelBatches(pool, numbered, self.prefetch_factor or _PREFETCH, self.timeout, self.in_order)
        skipped = position.batches if self._iterable else 0
        for batch in islice(made, skipped, None):
            position.batches += 1
            yield batch
        self._finished(position)
        if not self.persistent_workers:
            pool.close()

    def _fetcher(self) -> Callable[[Any], Any]:
        return partial(
            fetcher_of,
            iterable=self._iterable,
            batched=self._batched,
            drop_last=self.drop_last,
            collate_fn=self.collate_fn,
        )

    def _finished(self, position: _Position) -> None:
        if self._position is position:
            self._position = _Position()

    def __len__(self) -> int:
        """The number of batches of a pass; TypeError where a sampler of the user's has no length."""
        if not self._iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
        samples = len(self.dataset)
        if self.batch_size is None:
            return samples
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)

    # --- resuming ----------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Where the newest pass stands, as plain values: how many batches it has given, and the generators' states.

        A sampler of the user's takes part with its ``state_dict`` and ``load_state_dict`` where it has them, and must
        otherwise give the same order again. An iterable data set is iterated anew up to the place.
        """
        if self._resumed is not None:
            return {**self._resumed, "now": self._states()}
        position = {"batches": self._position.batches, "start": self._position.start, "now": self._states()}
        return {**position, "batch_size": self.batch_size, "length": self._length()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next pass goes on behind the batches that ``state_dict`` counts; the generators do so at once."""
        missing = [name for name in ("batches", "start", "now", "batch_size", "length") if name not in state_dict]
        if missing:
            raise ValueError(f"this is no state of a DataLoader: it lacks {', '.join(missing)}")
        if len(state_dict["now"]["generators"]) != len(self._generators()):
            raise ValueError("the state is that of a DataLoader with other samplers")
        batches = operator.index(state_dict["batches"])
        if state_dict["start"] is not None:
            self._check_pass(batches, state_dict["batch_size"], state_dict["length"])
        self._set_generators(state_dict["now"])
        self._position, self._resumed = _Position(), None
        if state_dict["start"] is not None:
            self._resumed = {**state_dict, "batches": batches}

    def _check_pass(self, batches: int, batch_size: int | None, length: int | None) -> None:
        """ValueError for a place in a pass that is not one of this loader's."""
        own = self._length()
        if (batch_size, length) != (self.batch_size, own):
            raise ValueError(
                f"the state is of the midst of a pass of {length} batches of size {batch_size}, and this loader makes "
                f"{own} of size {self.batch_size}; go on with the same data and batch_size, or from the end of a pass"
            )
        if batches < 0 or (own is not None and batches > own):
            raise ValueError(f"the state is of a pass after {batches} batches, and this loader makes {own}")

    def _length(self) -> int | None:
        try:
            return len(self)
        except TypeError:
            return None

    def _generators(self) -> list[Generator]:
        holders = (self, self.sampler, self.batch_sampler, getattr(self.batch_sampler, "sampler", None))
        found: list[Any] = [default_generator, *(getattr(holder, "generator", None) for holder in holders)]
        found += generators_in(self.dataset)
        return list({id(each): each for each in found if isinstance(each, Generator)}.values())

    def _stateful(self) -> list[Any]:
        return [each for each in (self.sampler, self.batch_sampler) if hasattr(each, "load_state_dict")]

    def _states(self) -> dict[str, Any]:
        return {
            "generators": [generator.state() for generator in self._generators()],
            "samplers": [sampler.state_dict() for sampler in self._stateful()],
        }

    def _set_generators(self, states: Mapping[str, Any]) -> None:
        for generator, state in zip(self._generators(), states["generators"], strict=True):
            generator.set_state(state)


def _device_of_workers() -> str:
    """The default device, if its memory is that of the processor; workers never touch a GPU."""
    name = str(nd.default_device())
    return name if name in ("cpu", "numpy") else "cpu"


def _check_devices(dataset: Any) -> None:
    for tensor in getattr(dataset, "tensors", ()):
        if str(tensor.device) not in ("cpu", "numpy"):
            raise nd.DeviceError(
                f"worker processes do not touch {tensor.device}: keep the data set on the cpu and move the batches, or "
                "set num_workers=0"
            )


def _check_order(
    iterable: bool, batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    if iterable and (shuffle or sampler is not None or batch_sampler is not None):
        raise ValueError("an IterableDataset says its own order: shuffle, sampler and batch_sampler do not go with it")
    if sampler is not None and shuffle:
        raise ValueError("sampler and shuffle both say the order; give one of them")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and drop_last")
    if batch_size is None and drop_last:
        raise ValueError("drop_last needs a batch_size")


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool, context: Any
) -> None:
    if operator.index(num_workers) < 0:
        raise ValueError(f"num_workers must be 0 or more, not {num_workers}")
    if timeout < 0:
        raise ValueError(f"timeout must be 0 or more seconds, not {timeout}")
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(f"prefetch_factor must be 1 or more, not {prefetch_factor}")
    given = {"prefetch_factor": prefetch_factor, "persistent_workers": persistent_workers, "context": context}
    if num_workers == 0 and (timeout or any(given.values())):
        raise ValueError(
            "timeout, prefetch_factor, persistent_workers and multiprocessing_context are about worker processes: "
            "set num_workers to 1 or more"
        )
    if num_workers:
        from treadle.data.parallel import start_context  # multiprocessing is loaded where it is used

        start_context(context)
