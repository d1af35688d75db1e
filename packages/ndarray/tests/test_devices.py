"""Devices by name, defaults, transfers, mixing."""

import os
import subprocess
import sys
import threading

import pytest

import treadle.ndarray as nd


def test_names() -> None:
    assert nd.device("cpu") is nd.device("cpu") is nd.device("cpu:0")
    assert nd.zeros(1).device == "cpu"
    assert str(nd.zeros(1, device="numpy").device) == "numpy"
    with pytest.raises(nd.DeviceError, match="tpu"):
        nd.device("tpu")
    with pytest.raises(nd.DeviceError, match="1 devices"):
        nd.device("numpy:1")
    with pytest.raises(nd.DeviceError, match="cuda:0"):
        nd.device("cuda:x")
    with pytest.raises(nd.DeviceError, match="string"):
        nd.device(3)  # type: ignore[arg-type]


def test_use_device_nests_restores_and_stays_in_its_thread() -> None:
    seen = []
    with nd.use_device("numpy"):
        thread = threading.Thread(target=lambda: seen.append(str(nd.zeros(1).device)))
        thread.start()
        thread.join()
        with nd.use_device("cpu"):
            assert nd.zeros(1).device == "cpu"
        assert nd.zeros(1).device == "numpy"
    with pytest.raises(RuntimeError), nd.use_device("numpy"):
        raise RuntimeError
    assert nd.zeros(1).device == "cpu"
    assert seen == ["cpu"]


def test_transfer() -> None:
    x = nd.arange(6).reshape(2, 3).T
    there = x.to_device("numpy")
    assert there.device == "numpy"
    assert there.tolist() == x.tolist()
    assert there.to_device("cpu").tolist() == x.tolist()
    assert x.to_device("cpu") is x


def test_mixing_devices() -> None:
    x, y = nd.ones(2), nd.ones(2, device="numpy")
    for mix in (
        lambda: x + y,
        lambda: nd.where(x > 0, y, 0.0),
        lambda: nd.clip(x, y, 3.0),
        lambda: x.reshape(1, 2) @ y.reshape(2, 1),
        lambda: nd.concat([x, y]),
        lambda: x.__setitem__(0, y[0]),
        lambda: x.__setitem__(nd.asarray([0], device="numpy"), 1.0),
        lambda: x[nd.asarray([0], device="numpy")],
        lambda: nd.add(x, x, out=y),
        lambda: nd.sgd_step(x, y, lr=1.0),
    ):
        with pytest.raises(nd.DeviceError, match=r"cpu.*numpy|numpy.*cpu"):
            mix()


@pytest.mark.parametrize(
    ("value", "ends"), [("numpy", "numpy"), ("cpu", "cpu"), ("nonsense", "TREADLE_BACKEND=nonsense")]
)
def test_environment_names_the_default(value: str, ends: str) -> None:
    code = "import treadle.ndarray as nd\ntry: print(nd.zeros(1).device)\nexcept nd.DeviceError as error: print(error)"
    environment = os.environ | {"TREADLE_BACKEND": value}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ends in done.stdout


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512", "sse9"])
def test_instruction_set_can_be_forced(isa: str) -> None:
    code = "import treadle.ndarray as nd; print(nd.isa(), (nd.ones(100) @ nd.ones(100)).item())"
    environment = os.environ | {"TREADLE_ISA": isa}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == f"{isa} 100.0\n" or f"TREADLE_ISA={isa}" in done.stderr
