"""Devices, memory, errors: what a user meets apart from arithmetic."""

import contextlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import _emulated
from treadle.ndarray.backend import Backend

WITHOUT_GPU = pytest.mark.skipif(treadle.cuda.is_available(), reason="this machine has a GPU")


def backends() -> list[Backend]:
    found: list[Backend] = [treadle.cuda.emulated_backend()]
    with contextlib.suppress(nd.BackendError):  # built for emulation only
        found.append(treadle.cuda.backend())
    return found


@pytest.mark.parametrize("backend", backends(), ids=lambda backend: backend.name)
def test_the_backend_has_the_protocol(backend: Backend) -> None:
    assert isinstance(backend, Backend)
    for fused in ("softmax", "log_softmax", "adam_step", "sgd_step"):
        assert hasattr(backend, fused)


@WITHOUT_GPU
def test_without_a_gpu_the_error_says_so_and_names_the_way_out() -> None:
    with pytest.raises(nd.BackendError, match=r"cuda: .*TREADLE_BACKEND=cuda_emulated"):
        nd.zeros(3, device="cuda")
    with pytest.raises(nd.BackendError, match="cuda_emulated"):
        nd.device("cuda:0")
    assert treadle.cuda.device_count() == 0
    assert not treadle.cuda.is_available()


@WITHOUT_GPU
def test_without_a_gpu_the_kernels_name_the_drivers_error() -> None:
    pytest.importorskip("treadle.cuda._cuda", reason="built for emulation only")
    with pytest.raises(nd.BackendError, match=r"no GPU was found: .*\(cudaError\w+\)"):
        treadle.cuda.backend().device_count()
    with pytest.raises(nd.BackendError, match="no GPU was found"):
        treadle.cuda.backend().allocate(8, 0)


@pytest.mark.parametrize("name", ["cuda", "cuda_emulated"])
def test_the_environment_names_the_default_device(name: str) -> None:
    code = "import treadle.ndarray as nd; print(nd.zeros(3).device)"
    environment = {**os.environ, "TREADLE_BACKEND": name}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if name == "cuda" and not treadle.cuda.is_available():
        assert done.returncode != 0
        assert re.search("BackendError: .*cuda: ", done.stderr)
    else:
        assert done.stdout.strip().startswith(name), done.stderr


def test_a_device_that_does_not_exist(device: str) -> None:
    with pytest.raises(nd.DeviceError, match="there are"):
        nd.zeros(3, device=f"{device}:99")


@pytest.mark.caching
def test_memory_is_counted_and_reused(device: str) -> None:
    treadle.cuda.empty_cache(device)
    before = treadle.cuda.memory_statistics(device)
    x = nd.empty(100_000, dtype="float32", device=device)
    during = treadle.cuda.memory_statistics(device)
    assert during["in_use"] - before["in_use"] >= x.nbytes
    assert during["blocks"] - before["blocks"] == 1
    assert during["peak"] >= during["in_use"]
    pointer = x.data_pointer
    del x
    after = treadle.cuda.memory_statistics(device)
    assert after["in_use"] == before["in_use"]
    assert after["cached"] >= 400_000
    again = nd.empty(100_001, dtype="float32", device=device)  # of the same size class
    assert again.data_pointer == pointer
    assert treadle.cuda.memory_statistics(device)["obtained"] == during["obtained"]
    del again
    treadle.cuda.empty_cache(device)
    assert treadle.cuda.memory_statistics(device)["cached"] == 0


def test_out_of_memory_raises_and_leaves_everything_usable(device: str) -> None:
    before = treadle.cuda.memory_statistics(device)
    with pytest.raises(MemoryError, match="allocation of"):
        nd.empty((1 << 40, 128), dtype="float32", device=device)
    assert treadle.cuda.memory_statistics(device)["in_use"] == before["in_use"]
    assert nd.ones(3, device=device).sum().item() == 3


def test_alignment(device: str) -> None:
    for length in (0, 1, 3, 1000, 5000):
        assert nd.empty(length, dtype="uint8", device=device).data_pointer % 64 == 0


def test_statistics_of_another_device() -> None:
    with pytest.raises(nd.DeviceError, match="no device of"):
        treadle.cuda.memory_statistics("cpu")


def test_copies_keep_every_bit(device: str) -> None:
    x = np.frombuffer(np.random.default_rng(0).bytes(80_000), np.uint8)
    assert np.array_equal(nd.asarray(x, device=device).numpy(), x)
    treadle.cuda.synchronize(device)


def test_schedules() -> None:
    assert _emulated.get_schedule() == os.environ.get("TREADLE_EMULATION_SCHEDULE", "forward")
    with pytest.raises(ValueError, match="sideways"):
        _emulated.set_schedule("sideways")


def test_the_schedule_can_be_set_from_outside() -> None:
    code = "from treadle.cuda import _emulated; print(_emulated.get_schedule())"
    environment = {**os.environ, "TREADLE_EMULATION_SCHEDULE": "reversed"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "reversed"
