"""Writes by those that an array's memory is lent to raise the version counter, and reading alone does not."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

LOANS: dict[str, Callable[[nd.NDArray], Any]] = {
    "numpy": lambda x: x.numpy(),
    "asarray": np.asarray,
    "memoryview": memoryview,
    "of a view": lambda x: x[2:].numpy(),
    "dlpack": np.from_dlpack,
    "ctypes": lambda x: (ctypes.c_float * x.size).from_buffer(x),
    "nested": lambda x: memoryview(np.asarray(memoryview(x))),
}
loans = pytest.mark.parametrize("loan", LOANS)


def counted(size: int, device: str = "cpu") -> nd.NDArray:
    return nd.arange(size, dtype="float32", device=device)


@loans
@pytest.mark.parametrize("size", [4, 5, 31, 1000])
@pytest.mark.parametrize("asked", ["before", "meanwhile"])
def test_writes_are_seen(loan: str, size: int, asked: str) -> None:
    x = counted(size)
    before = x.version if asked == "before" else None
    lent = LOANS[loan](x)
    if before is None:
        before = x.version
    assert x.version == before
    lent[len(lent) - 1] = -7.0
    written = x.version
    assert written > before
    assert x.version == written
    lent[0] = -8.0
    assert x.version > written


@loans
def test_writes_are_seen_after_the_loan_has_ended(loan: str) -> None:
    x = counted(100)
    before = x.version
    lent = LOANS[loan](x)
    lent[1] = 0.5
    del lent
    after = x.version
    assert after > before
    assert x.version == after


@loans
def test_reading_is_no_writing(loan: str) -> None:
    x = counted(100)
    before = x.version
    for _ in range(3):
        assert sum(LOANS[loan](x)) > 0
        assert x.version == before
    kept = [LOANS[loan](x) for _ in range(3)]
    assert x.version == before and len(kept) == 3


def test_the_numpy_device_lends_too() -> None:
    x = counted(10, "numpy")
    before = x.version
    x.numpy()[3] = 100.0
    assert x.version > before


def test_every_single_bit_is_seen_and_pairs_of_signs_are() -> None:
    x = nd.ones(67, dtype="float64")
    bits = np.asarray(x).view("u8")
    for at in range(67):
        for bit in (0, 1, 31, 62, 63):
            before = x.version
            bits[at] ^= np.uint64(1 << bit)
            assert x.version > before
    for apart in range(1, 67):  # signs are the highest bits, which sums and products alone would cancel
        before = x.version
        bits[[0, apart]] ^= np.uint64(1 << 63)
        assert x.version > before


def test_own_writes_count_while_memory_is_lent() -> None:
    x = counted(10)
    lent = x.numpy()
    before = x.version
    x += 1.0
    assert x.version > before
    assert lent[0] == 1.0


def test_read_only_loans_and_foreign_memory_are_not_watched() -> None:
    held = nd.broadcast_to(nd.ones(1), (3,))
    before = held.version
    assert np.asarray(held).tolist() == [1, 1, 1]
    assert held.version == before
    owned = np.zeros(3, "f4")
    x = nd.asarray(owned)  # what its owner writes is the owner's business
    before = x.version
    owned[0] = 1.0
    assert x.version == before


def test_a_loan_that_fails_leaves_nothing_behind() -> None:
    x = counted(6).reshape(2, 3).T
    before = x.version
    for _ in range(3):
        with pytest.raises(TypeError, match="contiguous"):
            (ctypes.c_float * 6).from_buffer(x)
    np.asarray(x)[0, 0] = 5.0
    assert x.version > before
