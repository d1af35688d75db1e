"""Loading: a shuffled epoch out of memory against plain indexing, and what worker processes gain and cost."""

import functools
import time
from collections.abc import Callable
from typing import Any

from benchmarks.case import Case, Goal, Measurement, Statement, Work

__all__ = ["CASES"]

ROWS, COLUMNS, BATCH = 60000, 784, 64
SAMPLES, WORKERS, COST = 640, 2, 1e-3
LARGE = (256, 256, 3)


def _numpy_epoch() -> Work:
    import numpy

    generator = numpy.random.default_rng(0)
    images = generator.standard_normal((ROWS, COLUMNS), dtype="float32")
    labels = generator.integers(0, 10, ROWS)

    def epoch() -> None:
        order = generator.permutation(ROWS)
        for start in range(0, ROWS, BATCH):
            chosen = order[start : start + BATCH]
            images[chosen], labels[chosen]

    return Statement("epoch()", {"epoch": epoch})


def _treadle_epoch() -> Work:
    import treadle.ndarray as nd
    from treadle.autograd import Tensor
    from treadle.data import DataLoader, TensorDataset

    images, labels = nd.random.normal(shape=(ROWS, COLUMNS)), nd.random.integers(0, 10, (ROWS,))
    loader = DataLoader(TensorDataset(Tensor(images), Tensor(labels)), BATCH, shuffle=True)

    def epoch() -> None:
        for _ in loader:
            pass

    return Statement("epoch()", {"epoch": epoch})


def _torch_epoch() -> Work:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    images, labels = torch.randn(ROWS, COLUMNS), torch.randint(0, 10, (ROWS,))
    loader = DataLoader(TensorDataset(images, labels), BATCH, shuffle=True)

    def epoch() -> None:
        for _ in loader:
            pass

    return Statement("epoch()", {"epoch": epoch})


class Costly:
    """Images of which each takes a while: busy, or waiting as for a disk."""

    def __init__(self, make: Callable[[], Any], busy: bool) -> None:
        self.make, self.busy = make, busy

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Any:
        if self.busy:
            end = time.perf_counter() + COST
            while time.perf_counter() < end:
                pass
        else:
            time.sleep(COST)
        return self.make()


def _loader(library: str, dataset: Any, **options: Any) -> Any:
    if library == "torch":
        from torch.utils.data import DataLoader as Other

        return Other(dataset, BATCH, **options)
    from treadle.data import DataLoader

    return DataLoader(dataset, BATCH, **options)


def _small() -> Any:
    import numpy

    return numpy.zeros(COLUMNS, "f4")


def _large() -> Any:
    import numpy

    return numpy.zeros(LARGE, "f4")


def _passed(loader: Any) -> float:
    start = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - start


def _gain(library: str, busy: bool) -> Work:
    """The time of an epoch with persistent workers through the time without workers, both in one process, in turn."""
    dataset = Costly(_small, busy)
    here = _loader(library, dataset)
    options = {"num_workers": WORKERS, "persistent_workers": True, "multiprocessing_context": "fork"}
    there = _loader(library, dataset, **options)
    _passed(there)  # starts the workers
    return Measurement(lambda: _passed(there) / _passed(here))


class Free(Costly):
    """Images that cost nothing but their way."""

    def __getitem__(self, index: int) -> Any:
        return self.image

    @functools.cached_property
    def image(self) -> Any:
        return self.make()


def _way(library: str) -> Work:
    """Seconds in which one worker's batches of 50 MB arrive."""
    options = {"num_workers": 1, "persistent_workers": True, "multiprocessing_context": "fork"}
    loader = _loader(library, Free(_large, False), **options)
    _passed(loader)
    return Measurement(lambda: _passed(loader) / len(loader))


CASES = [
    Case(
        f"shuffled epoch, {ROWS} x {COLUMNS}, batch {BATCH}",
        {"treadle": _treadle_epoch, "numpy": _numpy_epoch, "torch": _torch_epoch},
        (Goal("numpy", 1 / 1.2),),
        note="NumPy: a permutation, and images and labels indexed by its pieces",
    ),
    *(
        Case(
            f"{WORKERS} workers through none, transform of 1 ms, {how}",
            {library: functools.partial(_gain, library, how == "busy") for library in ("treadle", "torch")},
            limit=1.0,
            unit="x",
            note="the time of an epoch through that without workers; half is what two free processors allow",
        )
        for how in ("waiting", "busy")
    ),
    Case(
        "a batch of 50 MB from a worker",
        {library: functools.partial(_way, library) for library in ("treadle", "torch")},
        note="stacked by the worker, and handed over in shared memory",
    ),
]
