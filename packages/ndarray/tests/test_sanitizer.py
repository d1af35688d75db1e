"""The exact allocator, and the proof that the sanitizer sees what it leaves bare: one byte behind a block."""

import ctypes
import os
import subprocess
import sys

import pytest

import treadle.ndarray as nd


def ended(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def is_sanitized() -> bool:
    """Whether the kernels are, not only the process: then blocks are exact without being asked to be."""
    from treadle.ndarray import _memory

    asked = os.environ.get("TREADLE_ALLOCATOR") == "exact"
    return _memory.is_exact() and not asked and hasattr(ctypes.CDLL(None), "__asan_region_is_poisoned")


EXACT = """
import treadle.ndarray as nd
before = nd.memory_statistics()
for nbytes in (0, 1, 13, 64, 1025, 100_003, 5_000_001):
    x = nd.zeros(nbytes, dtype="uint8")
    now = nd.memory_statistics()
    assert now["in_use"] - before["in_use"] == nbytes and now["cached"] == 0, (nbytes, now)
    assert x.data_pointer % 64 == 0
    del x
assert nd.memory_statistics()["in_use"] == before["in_use"]
assert (nd.ones((50, 60)) @ nd.ones((60, 70))).sum().item() == 50 * 60 * 70
"""


def test_exact_blocks() -> None:
    done = ended(EXACT, TREADLE_ALLOCATOR="exact")
    assert done.returncode == 0, done.stderr


def test_unknown_allocators() -> None:
    done = ended("import treadle.ndarray", TREADLE_ALLOCATOR="malloc")
    assert "BackendError" in done.stderr and "cached" in done.stderr


FORGED = """
import ctypes
import treadle.ndarray as nd
x = nd.ones({size}, dtype="{dtype}")
memory = (ctypes.{ctype} * ({size} + {extra})).from_address(x.data_pointer)
y = nd.asarray(memory)
{use}
print("not seen")
"""


@pytest.mark.skipif(not is_sanitized(), reason="the kernels are not built with the address sanitizer")
@pytest.mark.parametrize("use", ["nd.sum(y)", "nd.exp(y)", "y += 1", "y.copy()", "nd.sort(y)", "y[nd.asarray([-1])]"])
@pytest.mark.parametrize(("dtype", "ctype"), [("uint8", "c_uint8"), ("float32", "c_float")])
@pytest.mark.parametrize("size", [13, 64, 1000])
def test_one_element_behind_a_block(size: int, dtype: str, ctype: str, use: str) -> None:
    """A kernel that is told of one element too many."""
    done = ended(FORGED.format(size=size, dtype=dtype, ctype=ctype, extra=1, use=use))
    assert "heap-buffer-overflow" in done.stderr, (done.stdout, done.stderr)
    right = ended(FORGED.format(size=size, dtype=dtype, ctype=ctype, extra=0, use=use))
    assert right.returncode == 0, right.stderr


FREED = """
import ctypes
import treadle.ndarray as nd
x = nd.ones(100)
y = nd.asarray((ctypes.c_float * 100).from_address(x.data_pointer))
del x
print(nd.sum(y).item())
"""


@pytest.mark.skipif(not is_sanitized(), reason="the kernels are not built with the address sanitizer")
def test_use_after_the_end() -> None:
    assert "heap-use-after-free" in ended(FREED).stderr


def test_statistics_without_the_exact_allocator() -> None:
    """Blocks are rounded, so that the exact ones above are a choice."""
    if os.environ.get("TREADLE_ALLOCATOR") == "exact" or is_sanitized():
        pytest.skip("the allocator is exact here")
    before = nd.memory_statistics()["in_use"]
    x = nd.zeros(13, dtype="uint8")
    assert nd.memory_statistics()["in_use"] - before == 64
    del x
