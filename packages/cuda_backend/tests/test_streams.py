"""Streams, events and copies that do not wait. The emulation runs a stream's work as late as it may, so that what
forgets to wait gives wrong results."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import Event, Stream

EMULATED = "cuda_emulated"


def test_work_on_a_stream_is_done_in_order(device: str, schedule: str) -> None:
    stream = Stream(device)
    x = nd.zeros(1000, device=device)
    with stream:
        for _ in range(5):
            x += 1.0
        x *= x
    stream.synchronize()
    assert stream.is_done()
    assert (x.numpy() == 25).all()


@pytest.mark.caching
def test_the_emulation_waits_until_it_is_asked() -> None:
    stream, x = Stream(EMULATED), nd.zeros(3, device=EMULATED)
    with stream:
        x += 1.0
    assert not stream.is_done()
    with Stream(EMULATED):
        assert nd.sum(x).item() == 0, "another stream does not wait"
    assert nd.sum(x).item() == 3, "the default stream waits for all"
    assert stream.is_done()


@pytest.mark.caching
@pytest.mark.parametrize("waits", [True, False])
def test_one_stream_waits_for_another(schedule: str, waits: bool) -> None:
    first, second = Stream(EMULATED), Stream(EMULATED)
    x = nd.zeros(4, device=EMULATED)
    with first:
        x += 2.0
    if waits:
        second.wait(first)
    with second:
        y = x * 10.0
        second.synchronize()
    assert y.tolist() == [20.0 if waits else 0.0] * 4


@pytest.mark.caching
def test_an_event_marks_a_place(schedule: str) -> None:
    first, second = Stream(EMULATED), Stream(EMULATED)
    x = nd.zeros(4, device=EMULATED)
    with first:
        x += 2.0
        event = first.record()
        x += 5.0
    event.wait(second)
    with second:
        y = x * 10.0
        second.synchronize()
    assert event.is_done()
    assert y.tolist() == [20.0] * 4, "only what was before the event is done"
    treadle.cuda.synchronize(EMULATED)
    assert x.tolist() == [7.0] * 4


def test_an_event_can_be_waited_for_by_the_host(device: str) -> None:
    stream, event = Stream(device), Event(device)
    with stream, event:
        x = nd.ones(3, device=device) * 3
    event.synchronize()
    assert event.is_done()
    assert x.tolist() == [3.0] * 3


def test_elapsed_time(device: str) -> None:
    begin, end, untimed = Event(device), Event(device), Event(device, timed=False)
    begin.record()
    x = nd.ones((64, 64), device=device)
    for _ in range(3):
        x = x @ x / 64
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) > 0
    assert end.elapsed_time(begin) < 0
    untimed.record()
    for wrong in (untimed, Event(device)):
        with pytest.raises(nd.BackendError, match="elapsed time"):
            begin.elapsed_time(wrong)


def test_the_current_stream_is_that_of_the_innermost_block(device: str) -> None:
    default = treadle.cuda.current_stream(device)
    first, second = Stream(device), Stream(device)
    with first:
        with second:
            assert treadle.cuda.current_stream(device) == second != first
        assert treadle.cuda.current_stream(device) == first
        with pytest.raises(ZeroDivisionError), second:
            raise ZeroDivisionError
        assert treadle.cuda.current_stream(device) == first
    assert treadle.cuda.current_stream(device) == default
    assert default.handle == 0 and first.handle not in (0, second.handle)
    assert len({first, first, second}) == 2
    assert str(device) in repr(first) and str(device) in repr(Event(device))


@pytest.mark.caching
def test_memory_is_cached_by_stream(device: str) -> None:
    treadle.cuda.empty_cache(device)
    x = nd.empty(5000, device=device)
    pointer = x.data_pointer
    del x
    with Stream(device) as stream:
        y = nd.empty(5000, device=device)
        assert y.data_pointer != pointer
        other = y.data_pointer
        del y
        assert nd.empty(5000, device=device).data_pointer == other
    assert nd.empty(5000, device=device).data_pointer == pointer
    cached = treadle.cuda.memory_statistics(device)["cached"]
    del stream
    assert treadle.cuda.memory_statistics(device)["cached"] < cached, "a stream takes its cache along"


@pytest.mark.caching
def test_memory_used_by_another_stream_is_not_handed_out_too_early(schedule: str) -> None:
    home, other = Stream(EMULATED), Stream(EMULATED)
    with home:
        x = nd.ones(5000, device=EMULATED)
        pointer = x.data_pointer
    other.wait(home)
    with other:
        y = x * 2.0
    del x
    with home:
        z = nd.full(5000, 7.0, device=EMULATED)
        assert z.data_pointer == pointer
        home.synchronize()
    other.synchronize()
    assert y.tolist() == [2.0] * 5000


def test_a_stream_outlives_its_arrays(device: str) -> None:
    with Stream(device):
        x = nd.ones(100, device=device) + 1.0
    gc.collect()
    assert nd.sum(x).item() == 200
    before = treadle.cuda.memory_statistics(device)["blocks"]
    del x
    assert treadle.cuda.memory_statistics(device)["blocks"] == before - 1


def test_pinned_memory(device: str) -> None:
    x = treadle.cuda.pinned_empty((3, 4), dtype="int64", device=device)
    assert (x.device, x.shape, x.dtype) == ("cpu", (3, 4), nd.int64)
    x[...] = 3
    assert (x.numpy() == 3).all()
    assert treadle.cuda.pinned_empty((0, 4), device=device).shape == (0, 4)
    assert treadle.cuda.pinned_empty(2, dtype="bool", device=device).tolist() == [False, False]


def test_copies_of_pinned_memory_do_not_wait(schedule: str) -> None:
    x = treadle.cuda.pinned_empty(4, device=EMULATED)
    back = treadle.cuda.pinned_empty(4, device=EMULATED)
    x[...], back[...] = 1.0, 0.0
    with Stream(EMULATED) as stream:
        y = treadle.cuda.copy_async(x, nd.empty(4, device=EMULATED))
        z = treadle.cuda.copy_async(y, nd.empty(4, device=EMULATED))
        treadle.cuda.copy_async(z, back)
        assert not stream.is_done()
        assert back.tolist() == [0.0] * 4
    stream.synchronize()
    assert back.tolist() == [1.0] * 4


def test_copies_of_other_memory_wait(device: str) -> None:
    x = nd.asarray([1.0, 2.0])
    with Stream(device) as stream:
        y = treadle.cuda.copy_async(x, nd.empty(2, device=device)) * 2.0
        back = treadle.cuda.copy_async(y, nd.zeros(2, device="cpu"))
        assert stream.is_done()
    assert back.tolist() == [2.0, 4.0]


def test_pinned_memory_is_there_until_its_copies_are_done() -> None:
    y = nd.empty(4, device=EMULATED)
    with Stream(EMULATED):
        x = treadle.cuda.pinned_empty(4, device=EMULATED)
        x[...] = 6.0
        treadle.cuda.copy_async(x, y)
        del x
    assert y.tolist() == [6.0] * 4


def test_copies_that_do_not_fit_are_refused(device: str) -> None:
    x = nd.zeros((2, 3), device=device)
    with pytest.raises(nd.ShapeError, match=r"\(2, 3\) and \(3,\)"):
        treadle.cuda.copy_async(x, nd.zeros(3))
    with pytest.raises(nd.DTypeError, match="float32 and float64"):
        treadle.cuda.copy_async(x, nd.zeros((2, 3), dtype="float64"))
    with pytest.raises(nd.ShapeError, match="contiguous"):
        treadle.cuda.copy_async(x.T, nd.zeros((3, 2)))
    with pytest.raises(nd.DeviceError, match="from cpu to cpu"):
        treadle.cuda.copy_async(nd.zeros(3), nd.zeros(3))
    with pytest.raises(nd.DeviceError, match="numpy"):
        treadle.cuda.copy_async(x, nd.zeros((2, 3), device="numpy"))
    for make in (Stream, Event):
        with pytest.raises(nd.DeviceError, match="no device of"):
            make("cpu")


SEVERAL = """
import treadle.cuda, treadle.ndarray as nd
from treadle.cuda import Event, Stream

x = nd.arange(4.0, device="cuda_emulated:2")
assert str(x.device) == "cuda_emulated:2", x.device
y = x.to_device("cuda_emulated")
assert (y + 1.0).tolist() == [1, 2, 3, 4]
assert treadle.cuda.memory_statistics("cuda_emulated:2")["blocks"] == 1
assert treadle.cuda.memory_statistics("cuda_emulated:1")["blocks"] == 0
for wrong in (lambda: x + y, lambda: nd.zeros(1, device="cuda_emulated:3"), lambda: Stream("cuda_emulated:1").record(
        Event("cuda_emulated:2"))):
    try:
        wrong()
    except nd.DeviceError as error:
        print(error)
    else:
        raise AssertionError
first, second = Stream("cuda_emulated:1"), Stream("cuda_emulated:2")
with first, second:
    a, b = nd.ones(3, device="cuda_emulated:1") * 2, x * 3
    c = nd.ones(2, device="cuda_emulated")
    assert nd.sum(c).item() == 2
    assert not first.is_done() and not second.is_done()
first.wait(second)
assert a.tolist() == [2] * 3 and b.tolist() == [0, 3, 6, 9]
treadle.cuda.copy_async(b, nd.empty(4, device="cuda_emulated:2"))
"""


@pytest.mark.caching
def test_more_than_one_device() -> None:
    environment = {**os.environ, "TREADLE_EMULATED_DEVICES": "3"}
    done = subprocess.run([sys.executable, "-c", SEVERAL], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "there are 3 devices" in done.stdout


def test_what_leaves_the_device_is_complete() -> None:
    with Stream(EMULATED):
        x = nd.ones(3, device=EMULATED) * 4
    assert np.from_dlpack(x).tolist() == [4.0] * 3
