"""Loaders with worker processes: what arrives, in which order, drawn from which seeds, and how failures show."""

import os
import random
import signal
import time
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    WorkerError,
    WorkerTimeoutError,
    get_worker_info,
)

METHODS = ("fork", "forkserver")
Point = namedtuple("Point", "x y")


def batches(loader: Any) -> list[Any]:
    return [batch.numpy().tolist() for batch in loader]


class Made(Dataset):
    """The sample at i is what a function makes of i."""

    def __init__(self, size: int, make: Any) -> None:
        self.size, self.make = size, make

    def __getitem__(self, index: int) -> Any:
        return self.make(index)

    def __len__(self) -> int:
        return self.size


class Counting(IterableDataset):
    """0, 1, 2, ..., each worker its share of them."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Any:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.size, step))

    def __len__(self) -> int:
        return self.size


def forked(dataset: Any, *arguments: Any, **options: Any) -> DataLoader:
    return DataLoader(dataset, *arguments, **{"num_workers": 2, "multiprocessing_context": "fork", **options})


def identity(index: int) -> int:
    return index


def several(index: int) -> Any:
    return {"image": np.full((3, 40, 40), index, "f4"), "point": Point(index, [str(index)]), "flag": index % 2 == 0}


def drawn(index: int) -> list[int]:
    return [random.getrandbits(40), int(np.random.randint(2**31)), int(nd.random.bits(()).item() >> 20)]


# --- what arrives ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
def test_nested_batches_arrive_as_without_workers(method: str, device: Any) -> None:
    data = Made(11, several)
    made = list(DataLoader(data, 4, num_workers=2, multiprocessing_context=method))
    for one, other in zip(made, DataLoader(data, 4), strict=True):
        assert one["image"].device == other["image"].device == device
        np.testing.assert_array_equal(one["image"].numpy(), other["image"].numpy())
        assert type(one["point"]) is Point
        assert one["point"].x.numpy().tolist() == other["point"].x.numpy().tolist()
        assert one["point"].y == other["point"].y
        assert one["flag"].dtype == nd.bool


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "complex128", "bool", "int8", "uint64"])
@pytest.mark.parametrize("size", [3, 9000])
def test_every_dtype_arrives_and_can_be_written(dtype: str, size: int) -> None:
    values = nd.asarray(np.arange(size) % 2).astype(dtype)
    (batch,) = list(forked(Made(1, lambda index: values), 1))
    assert batch.dtype.name == dtype
    assert nd.all(batch.data[0] == values).item()
    batch.data[...] = 0
    assert not nd.any(batch.data != 0).item()


@pytest.mark.parametrize("method", METHODS)
def test_whole_batches_of_a_large_data_set_are_fetched_in_workers(method: str) -> None:
    """The data set goes to the workers once, as shared memory, and what one writes there no other sees."""
    data = TensorDataset(Tensor(np.arange(60000.0, dtype="f4").reshape(600, 100)), Tensor(np.arange(600)))
    for shuffle in (False, True):
        seen = [
            batch
            for pair in DataLoader(data, 100, shuffle, num_workers=2, multiprocessing_context=method)
            for batch in zip(pair[0].numpy()[:, 0] / 100, pair[1].numpy(), strict=True)
        ]
        assert all(left == right for left, right in seen)
        assert sorted(right for _, right in seen) == list(range(600))


def test_batches_outlive_the_loader_and_need_no_descriptors() -> None:
    """A mapping keeps no file open, so thousands of batches can be kept."""
    before = len(os.listdir("/proc/self/fd"))
    kept = list(forked(Made(300, lambda index: np.full(8000, index, "f4")), 1))
    assert len(os.listdir("/proc/self/fd")) <= before
    assert [batch.numpy()[0, -1] for batch in kept] == list(range(300))


def test_there_is_no_name_in_the_file_system() -> None:
    before = set(os.listdir("/dev/shm"))
    for _ in forked(Made(20, lambda index: np.full(80000, index, "f4")), 2):
        assert set(os.listdir("/dev/shm")) <= before


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("ahead", [1, 3])
def test_the_order_is_kept_when_workers_are_uneven(workers: int, ahead: int) -> None:
    def uneven(index: int) -> int:
        time.sleep(0.01 if index % 3 == 0 else 0.0)
        return index

    loader = forked(Made(20, uneven), 2, num_workers=workers, prefetch_factor=ahead)
    assert [number for batch in batches(loader) for number in batch] == list(range(20))
    unordered = batches(forked(Made(20, uneven), 2, num_workers=workers, in_order=False))
    assert sorted(number for batch in unordered for number in batch) == list(range(20))


def test_a_slow_worker_does_not_hold_up_what_is_ready_where_order_is_not_asked_for() -> None:
    def slow_first(index: int) -> int:
        time.sleep(0.3 if index == 0 else 0.0)
        return index

    assert batches(forked(Made(6, slow_first), 1, in_order=False))[0] != [0]
    assert batches(forked(Made(6, slow_first), 1))[0] == [0]


@pytest.mark.parametrize("size", [0, 1, 7, 12])
@pytest.mark.parametrize("batch", [None, 1, 3, 20])
@pytest.mark.parametrize("drop", [False, True])
def test_lengths_and_samples_of_indexed_and_iterated_data(size: int, batch: Any, drop: bool) -> None:
    if batch is None and drop:
        return
    for workers in (0, 1):
        for data in (Made(size, identity), Counting(size)):
            options = {"multiprocessing_context": "fork"} if workers else {}
            loader = DataLoader(data, batch, drop_last=drop, num_workers=workers, **options)
            made = list(loader)
            assert len(made) == len(loader)
            flat = made if batch is None else [number for each in made for number in each.numpy().tolist()]
            assert flat == list(range(size))[: size // batch * batch if drop else size]


def test_iterated_data_is_shared_out() -> None:
    made = batches(forked(Counting(10), 2))
    assert made == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]
    uneven = batches(forked(Counting(5), 2))  # worker 0 has three samples, worker 1 has two
    assert uneven == [[0, 2], [1, 3], [4]]


# --- workers and their seeds -----------------------------------------------------------------------------------------
def test_workers_know_themselves() -> None:
    def told(index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return info.id, info.num_workers, info.seed, len(info.dataset), os.environ["STARTED"], nd.get_num_threads()

    def start(number: int) -> None:
        os.environ["STARTED"] = str(number)

    ids, counts, seeds, sizes, started, threads = zip(
        *list(forked(Made(4, told), None, worker_init_fn=start)), strict=True
    )
    assert ids == (0, 1, 0, 1)
    assert started == ("0", "1", "0", "1")
    assert set(counts) == {2}
    assert set(sizes) == {4}
    assert set(threads) == {1}
    assert (seeds[1] - seeds[0]) % 2**64 == 1
    assert get_worker_info() is None


def test_draws_differ_between_batches_and_passes_and_repeat_with_the_seed() -> None:
    def passes(workers: int) -> list[Any]:
        nd.random.manual_seed(5)
        loader = forked(Made(8, drawn), 2, True, num_workers=workers, collate_fn=list)
        return [list(loader), list(loader)]

    first = passes(2)
    for generator in range(3):
        values = [sample[generator] for each in first for batch in each for sample in batch]
        assert len(set(values)) == 16
    assert first == passes(2)
    assert first == passes(1) == passes(3), "the number of workers changes nothing"


def test_the_order_is_the_same_with_any_number_of_workers() -> None:
    def order(workers: int, **options: Any) -> list[Any]:
        loader = DataLoader(
            Made(30, identity), 4, shuffle=True, num_workers=workers, generator=nd.random.Generator(3), **options
        )
        return [batches(loader), batches(loader)]

    assert order(0) == order(2, multiprocessing_context="fork")


def test_persistent_workers_stay_and_serve_the_newest_pass() -> None:
    loader = forked(Made(12, lambda index: (index, os.getpid())), 2, persistent_workers=True)
    first = {pid for batch in loader for pid in batch[1].numpy().tolist()}
    interrupted = iter(loader)
    next(interrupted)
    again = [batch for batch in loader]
    assert {pid for batch in again for pid in batch[1].numpy().tolist()} == first
    assert [number for batch in again for number in batch[0].numpy().tolist()] == list(range(12))
    with pytest.raises(WorkerError, match="a newer pass"):
        list(interrupted)
    other = {pid for batch in forked(loader.dataset, 2) for pid in batch[1].numpy().tolist()}
    assert not other & first


# --- failures --------------------------------------------------------------------------------------------------------
class Two(Exception):
    """Is not made from its ``args``."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} and {right}")
        self.left = left


def failing(kind: str) -> Any:
    def make(index: int) -> int:
        if index != 3:
            return index
        if kind == "two":
            raise Two(1, 2)
        if kind == "decode":
            return len(b"\xff".decode())
        if kind == "local":
            raise type("Local", (ValueError,), {})("made here")
        if kind == "stop":
            raise StopIteration
        raise {"key": KeyError("sample 3"), "os": FileNotFoundError(2, "gone", "x.png")}[kind]

    return make


@pytest.mark.parametrize(
    ("kind", "expected", "text"),
    [
        ("key", KeyError, "sample 3"),
        ("two", Two, "1 and 2"),
        ("decode", UnicodeDecodeError, "can't decode byte 0xff"),
        ("os", FileNotFoundError, "x.png"),
        ("local", WorkerError, "Local: made here"),
        ("stop", RuntimeError, "StopIteration"),
    ],
)
def test_an_exception_comes_with_its_type_and_the_traceback_of_the_worker(kind: str, expected: Any, text: str) -> None:
    loader = forked(Made(8, failing(kind)), 2)
    for _ in range(2):
        with pytest.raises(expected, match=text) as caught:
            list(loader)
        shown = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
        if kind != "stop":
            assert "worker 1 (pid" in shown
            assert "in make" in shown
    if kind == "two":
        assert caught.value.left == 1


def test_what_cannot_travel_is_named() -> None:
    with pytest.raises(Exception, match="another process"):
        list(forked(Made(4, lambda index: lambda: index), 2, collate_fn=list))
    weight = Tensor([1.0], requires_grad=True)
    with pytest.raises(TypeError, match="send its detach"):
        list(forked(Made(4, lambda index: weight * 2.0), 2, collate_fn=list))


def test_failures_before_the_first_batch() -> None:
    def bad(number: int) -> None:
        raise KeyError("init")

    with pytest.raises(KeyError, match="init"):
        list(forked(Made(4, identity), 2, worker_init_fn=bad))
    with pytest.raises((AttributeError, TypeError), match="top of a module"):
        list(DataLoader(Made(4, lambda index: index), 2, num_workers=1))


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"worker 1 \(pid \d+\) .* killed by signal SIGKILL \(9\)"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), r"killed by signal SIGTERM"),
        (lambda: os._exit(7), r"worker 1 \(pid \d+\) .* exit code 7"),
    ],
)
def test_a_worker_that_dies_is_named(end: Any, text: str) -> None:
    def make(index: int) -> int:
        return end() if index == 3 else index

    loader = forked(Made(8, make), 2)
    for _ in range(2):
        with pytest.raises(WorkerError, match=text):
            list(loader)


def test_a_late_batch() -> None:
    loader = forked(Made(8, lambda index: time.sleep(60) if index == 3 else index), 1, timeout=0.3)
    start = time.monotonic()
    with pytest.raises(WorkerTimeoutError, match=r"timeout=0.3 seconds from worker 1 \(pid"):
        list(loader)
    assert time.monotonic() - start < 20
    assert issubclass(WorkerTimeoutError, TimeoutError)


def running(pids: set[int]) -> set[int]:
    return {pid for pid in pids if os.path.exists(f"/proc/{pid}")}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are waited for so long that those that do not end by themselves fail the test."""
    monkeypatch.setattr("treadle.data.parallel._ENDING", 1000.0)


@pytest.mark.timeout(60)
def test_a_worker_ends_though_another_has_inherited_its_connection(patient: None) -> None:
    first = iter(forked(Made(100, identity), 2, num_workers=1))
    next(first)
    second = iter(forked(Made(100, identity), 2, num_workers=1))
    next(second)
    del first
    next(second)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("persistent", [False, True])
def test_a_loop_that_is_left_ends_its_workers(persistent: bool, patient: None) -> None:
    def busy(index: int) -> Any:
        if index > 4:
            time.sleep(60)
        return index, os.getpid()

    loader: Any = forked(Made(40, busy), 2, persistent_workers=persistent)
    seen: set[int] = set()
    for _, pids in loader:
        seen |= set(pids.numpy().tolist())
        if len(seen) == 2:
            break
    if persistent:
        del loader
    assert len(seen) == 2
    assert not running(seen), "ended, and no zombie"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers must be 0 or more"),
        ({"timeout": -1.0}, "timeout must be 0 or more"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor must be 1 or more"),
        ({"prefetch_factor": 2}, "set num_workers"),
        ({"persistent_workers": True}, "set num_workers"),
        ({"num_workers": 1, "multiprocessing_context": "thread"}, "must be one of fork"),
    ],
)
def test_contradictions(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader(Made(3, identity), **options)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_iterated_data_has_its_own_order(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="says its own order"):
        DataLoader(Counting(3), **options)


def test_tensors_of_a_gpu_stay_in_the_main_process() -> None:
    class OnGPU(Made):
        tensors = (namedtuple("Placed", "device")("cuda:0"),)

    with pytest.raises(nd.DeviceError, match="do not touch cuda:0: keep the data set on the cpu"):
        forked(OnGPU(3, identity))
