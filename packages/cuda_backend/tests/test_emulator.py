"""The emulation against the published semantics of CUDA: what a kernel may rely on, and what must be refused.

Source: CUDA C++ Programming Guide, "Synchronization Functions", "Warp Shuffle Functions", "Warp Vote Functions",
"Atomic Functions", "Execution Configuration", and its table of technical specifications.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module", params=["stack_switch", "ucontext"])
def library(request: pytest.FixtureRequest, build_kernels: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    """The kernels of emulator_kernels.cu, with either way to switch stacks."""
    options = ["-DTREADLE_EMULATION_UCONTEXT"] if request.param == "ucontext" else []
    return build_kernels("emulator_kernels.cu", *options)


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def test_every_thread_of_every_block_runs_once(kernels: ctypes.CDLL) -> None:
    out = np.full(2 * 3 * 2 * 4 * 2 * 3, -1, np.int32)
    assert kernels.number(pointer(out)) == 0
    assert np.array_equal(out, np.arange(out.size))


@pytest.mark.parametrize("grid", [(0, 1, 1, 1), (1, 65536, 1, 1), (1, 1, 1025, 1), (1, 1, 1, 65), (1, 1, 0, 1)])
def test_launches_beyond_the_limits_are_refused(kernels: ctypes.CDLL, grid: tuple[int, ...]) -> None:
    out = np.zeros(1, np.int32)
    assert kernels.error_name(kernels.number_with(pointer(out), *grid)) == b"cudaErrorInvalidConfiguration"


def test_parameters_beyond_4096_bytes_are_refused(kernels: ctypes.CDLL) -> None:
    out = np.zeros(1, np.int8)
    assert kernels.error_name(kernels.large_parameter(pointer(out))) == b"cudaErrorInvalidConfiguration"


@pytest.mark.parametrize("threads", [1, 31, 32, 33, 256])
def test_a_barrier_makes_writes_to_shared_memory_visible(kernels: ctypes.CDLL, threads: int) -> None:
    x, out = np.arange(threads, dtype=np.int32), np.zeros(threads, np.int32)
    assert kernels.reverse(pointer(x), pointer(out), threads) == 0
    assert np.array_equal(out, x[::-1])


def test_a_missing_barrier_shows(kernels: ctypes.CDLL) -> None:
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    assert kernels.reverse_without_barrier(pointer(x), pointer(out), 64) == 0
    assert not np.array_equal(out, x[::-1])


def test_shared_memory_starts_poisoned_in_every_block(kernels: ctypes.CDLL) -> None:
    out = np.zeros(64, np.uint32)
    assert kernels.unwritten(pointer(out)) == 0
    assert set(out.tolist()) == {0xA5A5A5A5 if kernels.is_reversed() else 0xFFFFFFFF}


def test_dynamic_shared_memory(kernels: ctypes.CDLL) -> None:
    out = np.zeros(48, np.int32)
    assert kernels.dynamic(pointer(out), 48, 48 * 4) == 0
    assert np.array_equal(out, np.roll(np.arange(48) ** 2, -1))


def test_more_shared_memory_than_a_block_has_is_refused(kernels: ctypes.CDLL) -> None:
    out = np.zeros(48, np.int32)
    assert kernels.error_name(kernels.dynamic(pointer(out), 48, 49153)) == b"cudaErrorInvalidConfiguration"
    assert kernels.error_name(kernels.too_much_shared(pointer(out))) == b"cudaErrorLaunchFailure"


@pytest.mark.parametrize("name", ["divergent", "two_barriers", "early_exit", "missing_lane", "crossed"])
def test_divergence_is_detected_and_described(kernels: ctypes.CDLL, name: str) -> None:
    out = np.zeros(64, np.int32)
    assert kernels.error_name(kernels[name](pointer(out))) == b"cudaErrorLaunchFailure"
    text = kernels.last_failure().decode()
    assert text.startswith("divergent barrier: thread (")
    assert "emulator_kernels.cu:" in text
    assert text.endswith("in block (0, 0, 0)")


def test_a_launch_after_a_failure_works(kernels: ctypes.CDLL) -> None:
    out = np.zeros(64, np.int32)
    kernels.divergent(pointer(out))
    x = np.arange(64, dtype=np.int32)
    assert kernels.reverse(pointer(x), pointer(out), 64) == 0
    assert np.array_equal(out, x[::-1])


def test_shuffles(kernels: ctypes.CDLL) -> None:
    out = np.zeros((4, 64), np.int32)
    assert kernels.shuffles(pointer(out)) == 0
    lane, value = np.arange(64) % 32, 100 + np.arange(64)
    assert np.array_equal(out[0], np.repeat([103, 135], 32))
    assert np.array_equal(out[1], np.where(lane < 2, value, value - 2))
    assert np.array_equal(out[2], np.where(lane >= 30, value, value + 2))
    assert np.array_equal(out[3], 100 + (np.arange(64) ^ 1))


def test_a_sum_by_shuffles(kernels: ctypes.CDLL) -> None:
    x, out = np.arange(32.0) / 8, np.zeros(1)
    assert kernels.warp_sum(pointer(x), pointer(out)) == 0
    assert out[0] == x.sum()


def test_votes(kernels: ctypes.CDLL) -> None:
    out = np.zeros((64, 3), np.uint32)
    assert kernels.votes(pointer(out)) == 0
    assert (out == [sum(1 << lane for lane in range(0, 32, 3)), 0, 1]).all()


def test_a_mask_names_the_lanes_that_take_part(kernels: ctypes.CDLL) -> None:
    out = np.zeros(32, np.int32)
    assert kernels.half_warp(pointer(out)) == 0
    assert np.array_equal(out, [*(np.arange(16) ^ 8), *[-1] * 16])


def test_a_warp_runs_ahead_of_the_others(kernels: ctypes.CDLL) -> None:
    out = np.zeros(64, np.int32)
    assert kernels.overtaking(pointer(out)) == 0
    assert sorted(set(out.tolist())) in ([0, 1], [0, 2])  # the later warp sees what the earlier one wrote
    assert len({*out[:32].tolist()}) == len({*out[32:].tolist()}) == 1


def test_atomics(kernels: ctypes.CDLL) -> None:
    x = np.random.default_rng(0).integers(0, 10, 1000, dtype=np.int32)
    counts, largest = np.zeros(10, np.int32), np.zeros(1, np.int32)
    assert kernels.histogram(pointer(x), x.size, pointer(counts), pointer(largest)) == 0
    assert np.array_equal(counts, np.bincount(x, minlength=10))
    assert largest[0] == x.max()


@pytest.mark.parametrize(("before", "after"), [(5, 9), (6, 6)])
def test_compare_and_swap(kernels: ctypes.CDLL, before: int, after: int) -> None:
    at, old = np.array([before], np.int32), np.zeros(1, np.int32)
    assert kernels.swap(pointer(at), pointer(old)) == 0
    assert (at[0], old[0]) == (after, before)


def test_atomics_give_what_was_there(kernels: ctypes.CDLL) -> None:
    bits, total, seen = np.zeros(1, np.uint32), np.zeros(1, np.float32), np.zeros(1, np.uint32)
    assert kernels.atomics(pointer(bits), pointer(total), pointer(seen)) == 0
    assert bits[0] == seen[0] == 0xFFFFFFFF
    assert total[0] == 2 * 48 / 2


def test_shuffles_beyond_the_warp(kernels: ctypes.CDLL) -> None:
    out = np.zeros((4, 32), np.int32)
    assert kernels.far_shuffles(pointer(out)) == 0
    lane = np.arange(32)
    assert (out[0] == 35 % 32).all()
    assert np.array_equal(out[1], lane)
    assert np.array_equal(out[2], np.where(lane == 0, 31, lane))
    assert np.array_equal(out[3], lane ^ 31)


def test_lanes_that_have_exited_do_not_vote(kernels: ctypes.CDLL) -> None:
    out = np.zeros((32, 3), np.uint32)
    assert kernels.votes_of_some(pointer(out)) == 0
    assert (out[:24, 0] == (1 << 24) - 1).all()
    assert (out[:24, 1] == 1).all()
    assert (out[:8, 2] == 1).all() and (out[24:] == 0).all()


def test_blocks_run_in_the_order_of_the_schedule(kernels: ctypes.CDLL) -> None:
    counter, order = np.zeros(1, np.int32), np.zeros(4, np.int32)
    assert kernels.block_order(pointer(counter), pointer(order)) == 0
    assert order.tolist() == ([3, 2, 1, 0] if kernels.is_reversed() else [0, 1, 2, 3])


@pytest.mark.parametrize(("waits", "order"), [(1, [0, 1, 2, 10, 3]), (0, [10, 0, 1, 2, 3])])
def test_streams_are_in_order_and_wait_for_events_only(kernels: ctypes.CDLL, waits: int, order: list[int]) -> None:
    count, out = np.zeros(1, np.int32), np.zeros(5, np.int32)
    assert kernels.streams(pointer(count), pointer(out), waits) == 0
    assert out.tolist() == order


def test_a_graph_does_what_was_recorded(kernels: ctypes.CDLL) -> None:
    count, out = np.zeros(1, np.int32), np.zeros(4, np.int32)
    assert kernels.graph(pointer(count), pointer(out)) == 0
    assert out.tolist() == [1, 2, 1, 2]
