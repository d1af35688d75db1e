"""Threads that share arrays, and that make, free, export and fail side by side."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import treadle.ndarray as nd


def run_together(work: Callable[[int], Any], count: int) -> list[Any]:
    """Results of ``work(number)`` in as many threads, all let go at once."""
    results: list[Any] = [None] * count
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
        assert not each.is_alive()
    return results


def test_readers_of_one_array() -> None:
    """Every family at a size beyond which it lets other threads run."""
    x = nd.random.Generator(0).normal(shape=(300, 301))
    work: list[Callable[[], nd.NDArray]] = [
        lambda: nd.exp(x),
        lambda: x + x.T[:300, :300][:, :1],
        lambda: nd.sum(x, axis=0),
        lambda: nd.cumsum(x, axis=1),
        lambda: nd.sort(x, axis=0),
        lambda: x.astype("float64"),
        lambda: x[nd.asarray([7, -1, 7])],
        lambda: x @ x.T,
        lambda: nd.argmax(x, axis=1),
        lambda: nd.softmax(x, axis=0),
        lambda: nd.concat([x, x[::-1]]),
    ]
    expected = [each().numpy().tobytes() for each in work]

    def read(number: int) -> bool:
        order = [*range(number % len(work), len(work)), *range(number % len(work))]
        return all(work[each]().numpy().tobytes() == expected[each] for each in order * 3)

    assert run_together(read, 8) == [True] * 8


def test_writers_of_disjoint_parts() -> None:
    """Rows, and columns that lie between each other's in every cache line."""
    rows, columns = nd.zeros((8, 20_000)), nd.zeros((20_000, 8), dtype="int8")

    def write(number: int) -> None:
        for _ in range(10):
            rows[number] += number
            rows[number, ::2] = rows[number, 1::2]
            nd.add(columns[:, number], number, out=columns[:, number])
            columns[nd.asarray([number, 8 + number]), number] = 1

    assert run_together(write, 8) == [None] * 8
    assert rows.tolist() == [[10.0 * number] * 20_000 for number in range(8)]
    assert nd.all(columns[16:] == nd.arange(8, dtype="int8") * 10)


def test_versions_count_every_write() -> None:
    """A lost count would hide a write from a graph that saved the array."""
    x = nd.zeros((4, 10))
    before = x.version

    def write(number: int) -> None:
        for _ in range(500):
            x[number] = 1.0

    run_together(write, 4)
    assert x.version - before == 2000


def test_makers_and_users_of_blocks() -> None:
    """Blocks go from thread to thread: made in one, freed in another."""
    gc.collect()
    before = nd.memory_statistics()
    shelf: list[nd.NDArray] = []

    def churn(number: int) -> int:
        for step in range(300):
            shelf.append(nd.full((step % 97 + 1, 31), number, dtype="int32"))
            if len(shelf) > 6:
                taken = shelf.pop(step % 3)
                first = taken[0, 0].item()
                assert nd.all(taken == first)
            if step % 50 == 0:
                nd.empty_cache()
        return number

    assert run_together(churn, 6) == list(range(6))
    shelf.clear()
    gc.collect()
    after = nd.memory_statistics()
    assert (after["in_use"], after["blocks"]) == (before["in_use"], before["blocks"])


def test_exports_end_in_other_threads() -> None:
    gc.collect()
    before = nd.memory_statistics()
    exported: list[Any] = []

    def give(number: int) -> None:
        for _ in range(200):
            x = nd.full(100, number)
            exported.extend([np.from_dlpack(x), memoryview(x), x.__dlpack__(max_version=(1, 0)), x.T.numpy()])
            while len(exported) > 20:
                exported.pop(0)

    assert run_together(give, 6) == [None] * 6
    exported.clear()
    gc.collect()
    after = nd.memory_statistics()
    assert (after["in_use"], after["blocks"]) == (before["in_use"], before["blocks"])


def test_errors_in_threads() -> None:
    x = nd.ones((3, 4))

    def fail(number: int) -> int:
        caught = 0
        for _ in range(100):
            for call in (lambda: x @ x, lambda: x[nd.asarray([9])], lambda: nd.sum(x, axis=3), lambda: x + nd.ones(3)):
                try:
                    call()
                except (nd.ShapeError, nd.IndexingError):
                    caught += 1
        return caught

    assert run_together(fail, 4) == [400] * 4


def test_the_number_of_threads_may_change_at_any_time() -> None:
    a = nd.random.Generator(1).normal(shape=(150, 400))
    expected = (a @ a.T).numpy().tobytes()
    threads = nd.get_num_threads()

    def work(number: int) -> bool:
        right = True
        for step in range(20):
            if number == 0:
                nd.set_num_threads(1 + step % 3)
            right = right and (a @ a.T).numpy().tobytes() == expected
        return right

    try:
        assert run_together(work, 4) == [True] * 4
    finally:
        nd.set_num_threads(threads)
