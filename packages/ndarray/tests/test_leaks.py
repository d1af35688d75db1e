"""Nothing is left behind: blocks, references, capsules, whatever ends the work."""

import contextlib
import gc
import io
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd


class Bad:
    """A number whose conversion fails, and a buffer that is none."""

    def __float__(self) -> float:
        raise ZeroDivisionError("made up")

    def __index__(self) -> int:
        raise ZeroDivisionError("made up")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> object:
        raise ZeroDivisionError("made up")


def _views() -> None:
    x = nd.asarray(np.arange(60.0), copy=True)
    y = nd.reshape(x, (3, 4, 5))
    kept = [y.T, y[::-1, 1:], nd.diagonal(y), nd.sliding_window_view(y, 2, axis=1), nd.flip(y), y[..., None]]
    kept += [nd.broadcast_to(each, (2, *each.shape)) for each in kept]
    del x, y
    assert all(np.isfinite(each.numpy()).all() for each in kept)


def _exports() -> None:
    x = nd.ones((4, 5))
    capsule = x.__dlpack__()
    versioned = x.__dlpack__(max_version=(1, 0))
    kept = [
        memoryview(x),
        x.numpy(),
        np.from_dlpack(x),
        nd.from_dlpack(x),
        nd.frombuffer(x),
        pickle.loads(pickle.dumps(x, 5)),
    ]
    kept += [pickle.PickleBuffer(x)]
    del x, capsule
    for each in kept:
        assert np.asarray(each).sum() == 20
    del versioned


def _files(folder: Path) -> None:
    path = str(folder / "x.npy")
    nd.save(path, nd.ones((7, 3)))
    mapped = nd.load(path, mmap_mode="r")
    view = mapped[1:]
    del mapped
    assert view.sum().item() == 18
    file = io.BytesIO()
    nd.savez(file, a=view, b=nd.zeros(3))
    assert nd.load(io.BytesIO(file.getvalue()))["b"].shape == (3,)
    with pytest.raises(nd.FileFormatError):
        nd.load(io.BytesIO(file.getvalue()[:200]))


def _errors() -> None:
    x, mask = nd.ones((8, 9)), nd.asarray([True, False])
    failing: list[Callable[[], Any]] = [
        lambda: x @ x,
        lambda: x + nd.ones(4),
        lambda: nd.add(x, x, out=nd.zeros(3)),
        lambda: x[nd.asarray([99])],
        lambda: x[mask],
        lambda: x.__setitem__(nd.asarray([99]), 1.0),
        lambda: x.__setitem__(slice(None), nd.ones(5)),
        lambda: nd.sum(x, axis=7),
        lambda: nd.max(nd.ones((3, 0)), axis=1),
        lambda: nd.reshape(x, (5, 5)),
        lambda: nd.concat([x, nd.ones((2, 2))]),
        lambda: nd.einsum("ij,jk", x, x),
        lambda: nd.asarray([[1, 2], [3]]),
        lambda: nd.asarray([1.0, "x"]),
        lambda: nd.as_strided(x, (100,), (8,)),
        lambda: nd.take(x, nd.asarray([12]), axis=1),
        lambda: nd.sort(x, axis=5),
        lambda: nd.bitwise_and(x, x),
        lambda: nd.zeros(3, dtype="int8").__setitem__(0, 1000),
        lambda: x + np.ones((8, 9)),
        lambda: nd.conv(x, x),
        lambda: np.sum(x, axis=9),
    ]
    for fail in failing:
        with pytest.raises(Exception) as caught:
            fail()
        assert isinstance(caught.value, (nd.TreadleError, ValueError, TypeError, IndexError, OverflowError)), caught
    bad: list[Callable[[], Any]] = [
        lambda: nd.from_dlpack(Bad()),
        lambda: nd.reshape(x, (Bad(), 2)),  # type: ignore[arg-type]
        lambda: x[Bad()],  # type: ignore[index]
        lambda: nd.asarray([1.0, Bad()]),
        lambda: x + Bad(),  # type: ignore[operator]
        lambda: nd.zeros((3, Bad())),  # type: ignore[arg-type]
        lambda: nd.sum(x, axis=Bad()),
    ]
    for fail in bad:
        with pytest.raises(Exception):  # noqa: B017 - whichever it is, nothing may be left behind
            fail()


def _computed() -> None:
    x = nd.random.Generator(3).normal(shape=(40, 50))
    kept = [nd.softmax(x), x @ x.T, nd.sort(x, axis=0), nd.argsort(x), nd.cumsum(x, axis=1), nd.unique_values(x)]
    kept += [x[x > 0], x[nd.asarray([0, 0, -1])], nd.concat([x, x]), nd.pad(x, 2), nd.einsum("ij,kj->ik", x, x)]
    kept += [nd.astype(x, nd.int8), nd.var(x, axis=0), nd.quantile(x, 0.3), nd.linalg.svd(x).S]
    x[x < 0] = 0
    x[1:] += x[:-1]
    assert kept


def settled() -> tuple[int, int]:
    gc.collect()
    now = nd.memory_statistics()
    return now["in_use"], now["blocks"]


@pytest.mark.parametrize("work", [_views, _exports, _errors, _computed], ids=lambda each: each.__name__.strip("_"))
def test_blocks_come_back(work: Callable[[], None]) -> None:
    work()
    before = settled()
    for _ in range(20):
        work()
    assert settled() == before


def test_files_give_their_memory_back(tmp_path: Path) -> None:
    _files(tmp_path)
    before = settled()
    for _ in range(10):
        _files(tmp_path)
    assert settled() == before


@pytest.mark.parametrize("work", [_views, _exports, _errors, _computed], ids=lambda each: each.__name__.strip("_"))
def test_python_objects_come_back(work: Callable[[], None]) -> None:
    """A reference kept too long shows as memory that grows with every round."""
    for _ in range(3):
        work()
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(3):
            for _ in range(10):
                work()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[2] - sizes[1] < 20_000, sizes


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nd.add(x, x),
        lambda x: x + 1,
        lambda x: nd.sum(x, axis=0),
        lambda x: x[1:],
        lambda x: x.T,
        lambda x: x.reshape(-1),
        lambda x: x[nd.asarray([0])],
        lambda x: x @ x,
        lambda x: nd.where(x > 0, x, x),
        lambda x: nd.asarray(x),
        lambda x: memoryview(x),
        lambda x: x.__dlpack__(max_version=(1, 0)),
        lambda x: np.from_dlpack(x),
        lambda x: nd.from_dlpack(x),
        lambda x: nd.concat([x, x]),
        lambda x: nd.broadcast_to(x, (2, 3, 3)),
        lambda x: list(x),
        lambda x: x.__iadd__(1),
        lambda x: nd.sort(x),
        lambda x: np.sum(x),
        lambda x: repr(x),
    ],
)
def test_reference_counts(call: Callable[[Any], Any]) -> None:
    """Of the array, its buffer, its dtype and its device, after a call and the end of its result."""
    x = nd.ones((3, 3))

    def counts() -> list[int]:
        return [sys.getrefcount(each) for each in (x, x.buffer, x.dtype, x.device)]

    call(x)
    before = counts()
    for _ in range(50):
        result = call(x)
        del result
    assert counts() == before


def test_foreign_owners_are_let_go() -> None:
    source = np.arange(10.0)
    before = sys.getrefcount(source)
    for make in (nd.asarray, nd.from_dlpack, lambda each: nd.frombuffer(each, dtype="float64")):
        x = make(source)
        view = x[2:]
        del x
        assert view[0].item() == 2
        del view
        gc.collect()
        assert sys.getrefcount(source) == before
    for foreign in (source.astype(">f8"), source.astype("O"), source.astype("S3"), source.astype("M8[s]")):
        count = sys.getrefcount(foreign)
        for _ in range(5):
            with contextlib.suppress(nd.DTypeError):
                nd.asarray(foreign)
        assert sys.getrefcount(foreign) == count


def test_writes_through_exports_are_seen() -> None:
    """Exports share memory both ways, whichever view they were made of."""
    x = nd.zeros((3, 4))
    exported = [x.numpy(), np.from_dlpack(x), np.asarray(memoryview(x)), x.T.numpy().T, x[:].numpy()]
    for number, each in enumerate(exported, 1):
        each[1, 2] = number
        assert x[1, 2].item() == number
        assert all(other[1, 2] == number for other in exported)
