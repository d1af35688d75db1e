"""Models that other people trained do what they do in onnxruntime: magika's for file types, silero-vad's for speech."""

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

import treadle.autograd as ag
from treadle.autograd.export import from_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def models(package: str) -> list[Path]:
    """The models in a package that is installed."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"the package {package} is not installed (pip install --no-deps {package})")
    return sorted(Path(str(each.locate())) for each in files if each.suffix == ".onnx")


def compare(path: Path, given: dict[str, np.ndarray], tolerance: float) -> None:
    """treadle's outputs are onnxruntime's."""
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = {each.name: given[each.name] for each in session.get_inputs()}
    wanted = session.run(None, inputs)
    found = from_onnx(path)(**{name: ag.Tensor(each) for name, each in inputs.items()})
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.numpy(), other, rtol=0, atol=tolerance)


def test_magika() -> None:
    draws = np.random.default_rng(0)
    found = models("magika")
    assert found
    for path in found:
        compare(path, {"bytes": draws.integers(0, 257, (3, 2048)).astype("int32")}, 1e-5)


def test_silero_vad() -> None:
    draws = np.random.default_rng(0)
    found = models("silero-vad")
    assert found
    for path in found:
        rates = (16000,) if "16k" in path.name or "half" in path.name else (16000, 8000)
        for rate in rates:
            rows = 5 if "sequence" in path.name else 1
            given = {
                "input": draws.normal(0.0, 0.1, (rows, 576 if rate == 16000 else 288)).astype("float32"),
                "state": draws.normal(size=(2, 1, 128)).astype("float32"),
                "h": draws.normal(size=(1, 1, 128)).astype("float32"),
                "c": draws.normal(size=(1, 1, 128)).astype("float32"), "sr": np.asarray(rate),
            }  # fmt: skip
            compare(path, given, 1e-5)
