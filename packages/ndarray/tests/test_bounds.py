"""At the edges of the process: sizes past 32 bits, forks, threads, memory that runs out."""

import gc
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

GIB = 1 << 30


def memory_available() -> int:
    """Bytes that could be used without swapping; 0 where the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
    except OSError:
        return 0
    return int(lines["MemAvailable"].split()[0]) * 1024


@pytest.fixture
def release() -> Any:
    yield
    gc.collect()
    nd.empty_cache()


@pytest.mark.usefixtures("release")
def test_more_than_2_31_elements() -> None:
    """tinygrad/tinygrad#3961, microsoft/onnxruntime#32299: offsets of 32 bits wrap past 2^31."""
    if memory_available() < 8 * GIB:
        pytest.skip("needs 8 GiB of free memory")
    size = 2**31 + 8
    x = nd.zeros(size, dtype="uint8")
    x[-1], x[2**31] = 7, 5
    assert (x[size - 1].item(), x[2**31].item(), x[2**31 - 1].item()) == (7, 5, 0)
    assert nd.sum(x).item() == 12
    assert nd.max(x).item() == 7
    assert nd.argmax(x).item() == size - 1
    assert x[nd.asarray([size - 1, -8, 0])].tolist() == [7, 5, 0]
    x[nd.asarray([size - 2])] = 3
    assert x[::-1][:3].tolist() == [7, 3, 0]
    y = x.copy()
    assert y[-8:].tolist() == [5, 0, 0, 0, 0, 0, 3, 7]
    del y
    transposed = x.reshape(size // 4, 4).T.copy()
    assert transposed[:, -2:].tolist() == [[5, 0], [0, 0], [0, 3], [0, 7]]
    assert nd.sum(transposed, axis=1).tolist() == [5, 0, 3, 7]
    del transposed
    x += 1
    assert x[-8:].tolist() == [6, 1, 1, 1, 1, 1, 4, 8]
    assert np.from_dlpack(x)[-1] == memoryview(x)[-1] == 8
    chosen = nd.nonzero(x[2**31 - 2 :] > 3)[0]
    assert chosen.tolist() == [2, 8, 9]


@pytest.mark.usefixtures("release")
def test_running_out_of_memory_leaves_everything_usable() -> None:
    x = nd.ones(3)
    for shape in ((1 << 50,), (1 << 40, 1 << 40), (1 << 62,)):
        with pytest.raises((MemoryError, nd.ShapeError)):
            nd.empty(shape)
    with pytest.raises(MemoryError):
        nd.broadcast_to(x, (1 << 50, 3)).copy()
    with pytest.raises(MemoryError):
        nd.broadcast_to(x, (1 << 50, 3)) + 1
    with pytest.raises(MemoryError):
        nd.conv(nd.broadcast_to(nd.ones(1), (1, 1, 1 << 50)), nd.ones((1, 1, 2)))
    for sections in (1 << 31, 1 << 70):  # a list of so many views
        with pytest.raises(MemoryError, match="array_split"):
            nd.array_split(x, sections)
    with pytest.raises(MemoryError, match="array_split"):
        nd.split(nd.ones(0), 1 << 31)
    assert (x + x).tolist() == [2, 2, 2]
    assert nd.random.uniform(shape=(10,)).shape == (10,)


FORKED = """
import os, sys
import numpy as np
import treadle.ndarray as nd

nd.set_num_threads(2)
generator = nd.random.Generator(0)
a, b = generator.normal(shape=(300, 310)), generator.normal(shape=(310, 320))
expected = (a @ b).numpy().copy()
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        right = (a @ b).numpy().tobytes() == expected.tobytes() and (b.T @ a.T).T.shape == expected.shape
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if (a @ b).numpy().tobytes() == expected.tobytes() else 3)
        right = right and os.waitpid(grandchild, 0)[1] == 0
        os._exit(0 if right else 1)
    children.append(child)
    assert (a @ b).numpy().tobytes() == expected.tobytes()
print([os.waitpid(child, 0)[1] for child in children])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_fork_after_a_parallel_region() -> None:
    """pytorch/pytorch#45198: a child must not wait for threads that it does not have."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.strip() == "[0, 0, 0]", done.stderr


def test_exported_memory_outlives_the_array() -> None:
    """metatensor/metatensor#1008, numpy/numpy#19083"""
    x = nd.arange(1000, dtype="float64")
    exported: list[Any] = [
        np.from_dlpack(x),
        memoryview(x),
        x.numpy(),
        nd.from_dlpack(x),
        nd.frombuffer(x, dtype="float64"),
    ]
    del x
    gc.collect()
    nd.empty_cache()
    others = [nd.zeros(1000, dtype="float64") for _ in range(20)]
    while exported:
        last = exported.pop(0)
        assert last.tolist() == list(range(1000))
        del last
        gc.collect()
    assert len(others) == 20
