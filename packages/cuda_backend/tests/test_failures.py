"""Failures that are made to happen, in the emulation: no memory on the device or the host, wrong kernels, and that
everything can be used afterwards."""

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import DeviceMemoryError, Graph, Stream, _emulated

EMULATED = "cuda_emulated"


@pytest.fixture
def limit() -> Iterator[int]:
    """A device with room for what there is and a MiB more."""
    treadle.cuda.empty_cache(EMULATED)
    statistics = treadle.cuda.memory_statistics(EMULATED)
    allowed = statistics["in_use"] + statistics["captured"] + (1 << 20)
    _emulated.set_memory_limit(allowed)
    yield allowed
    _emulated.set_memory_limit(0)


def test_out_of_memory_says_what_there_is(limit: int) -> None:
    with pytest.raises(
        DeviceMemoryError, match=rf"allocation of 2097152 bytes: out of memory .* of {limit} bytes free"
    ):
        nd.empty(1 << 21, dtype="uint8", device=EMULATED)
    assert issubclass(DeviceMemoryError, MemoryError)


@pytest.mark.caching
def test_the_cache_is_given_back_before_memory_runs_out(limit: int) -> None:
    del limit
    for count in (3, 5, 7):  # size classes of their own
        held = [nd.empty(count << 14, dtype="uint8", device=EMULATED) for _ in range(3)]
        del held
    assert treadle.cuda.memory_statistics(EMULATED)["cached"] > 1 << 18
    x = nd.ones(7 << 17, dtype="uint8", device=EMULATED)
    assert nd.sum(x).item() == 7 << 17


STEPS = {
    "unary": lambda x: nd.exp(x),
    "matmul": lambda x: x @ x,
    "reduce in parts": lambda x: nd.sum(nd.broadcast_to(x, (3, *x.shape))),
    "scan": lambda x: nd.cumsum(x, axis=0),
    "gather": lambda x: x[nd.zeros(300, dtype="int64", device=EMULATED)],
    "nonzero": lambda x: nd.nonzero(x > 0)[0],
    "softmax": lambda x: nd.softmax(x),
}


@pytest.mark.parametrize("step", STEPS)
def test_wherever_memory_runs_out_all_stays_usable(step: str) -> None:
    x = nd.asarray(np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32), device=EMULATED)
    expected = STEPS[step](x).numpy()
    treadle.cuda.empty_cache(EMULATED)
    before = treadle.cuda.memory_statistics(EMULATED)
    failures = 0
    try:
        for room in range(0, 1 << 21, 1 << 18):
            treadle.cuda.empty_cache(EMULATED)
            _emulated.set_memory_limit(before["in_use"] + before["captured"] + room + 1)
            try:
                got = STEPS[step](x).numpy()  # not in the assertion, which would keep what lies in between
            except MemoryError:
                failures += 1
            else:
                assert np.array_equal(got, expected)
            assert treadle.cuda.memory_statistics(EMULATED)["in_use"] == before["in_use"]
    finally:
        _emulated.set_memory_limit(0)
    assert failures >= 1
    assert np.array_equal(STEPS[step](x).numpy(), expected)


@pytest.mark.parametrize("count", [1, 2, 33, 200])
def test_a_thread_without_host_memory_fails_the_launch_only(schedule: str, count: int) -> None:
    x = nd.asarray(np.arange(70000.0), device=EMULATED)
    _emulated.fail_host_allocation(count)
    try:
        with pytest.raises(MemoryError, match=r"kernel reduce_kernel.* on a grid of \(.*out of memory"):
            nd.sum(x)
    finally:
        _emulated.fail_host_allocation(0)
    assert nd.sum(x).item() == 70000 * 69999 / 2


def test_an_error_of_a_stream_is_told_at_its_synchronization() -> None:
    stream = Stream(EMULATED)
    x = nd.ones(300, device=EMULATED)
    with stream:
        _emulated.fail_host_allocation(1)
        y = nd.sum(x)
    with pytest.raises(MemoryError, match="stream synchronize"):
        stream.synchronize()
    with stream:
        y = nd.sum(x)
    stream.synchronize()
    assert y.item() == 300


def test_no_memory_for_a_graph_leaves_all_usable(limit: int) -> None:
    del limit
    x = nd.ones(1 << 16, dtype="uint8", device=EMULATED)
    with pytest.raises(MemoryError), Graph(EMULATED).capture():
        kept = [x + x for _ in range(40)]
        del kept
    graph = Graph(EMULATED)
    with graph.capture():
        y = x + x
    graph.replay()
    assert nd.max(y).item() == 2


def test_the_limit_and_the_number_of_devices_come_from_outside() -> None:
    code = """
import treadle.ndarray as nd
a = nd.empty(700_000, dtype="uint8", device="cuda_emulated")
b = nd.empty(700_000, dtype="uint8", device="cuda_emulated:1")
try:
    nd.empty(700_000, dtype="uint8", device="cuda_emulated")
except MemoryError as error:
    print(error)
"""
    environment = {**os.environ, "TREADLE_EMULATED_DEVICES": "2", "TREADLE_EMULATED_MEMORY": "1000000"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "1000000 bytes free" in done.stdout
