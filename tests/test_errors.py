"""Bad input gets a typed error that names the op, the shapes, dtypes and devices, and what to do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import treadle.ndarray as nd
from treadle.ndarray.errors import TreadleError

ROOT = Path(__file__).parent.parent


def ones(*shape: int, dtype: str = "float32", device: str = "cpu") -> nd.NDArray:
    return nd.ones(shape, dtype=nd.dtype(dtype), device=device)


def _anything(value: Any) -> Any:
    """The value, hidden from the type checker, which would refuse it."""
    return value


BAD: dict[str, tuple[Any, type[TreadleError], type[Exception], list[str]]] = {
    "matmul that does not fit": (
        lambda: ones(2, 3) @ ones(4, 5), nd.ShapeError, ValueError, ["matmul", "(2, 3)", "(4, 5)"]),
    "matmul of a scalar": (lambda: ones() @ ones(2, 2), nd.ShapeError, ValueError, ["matmul", "()"]),
    "broadcast that is impossible": (
        lambda: ones(2, 3) + ones(4, 3), nd.ShapeError, ValueError, ["add", "(2, 3)", "(4, 3)"]),
    "broadcast to a shape that does not fit": (
        lambda: nd.broadcast_to(ones(2, 3), (3, 2)), nd.ShapeError, ValueError, ["broadcast_to", "(2, 3)", "(3, 2)"]),
    "reshape to another size": (
        lambda: ones(2, 3).reshape((4, 2)), nd.ShapeError, ValueError, ["reshape", "(2, 3)", "(4, 2)"]),
    "axis out of range": (lambda: nd.sum(ones(2, 3), axis=2), nd.ShapeError, ValueError, ["sum", "axis 2", "(2, 3)"]),
    "axis given twice": (lambda: nd.max(ones(2, 3), axis=(1, -1)), nd.ShapeError, ValueError, ["max"]),
    "squeeze of a longer axis": (
        lambda: nd.squeeze(ones(2, 3), axis=0), nd.ShapeError, ValueError, ["squeeze", "(2, 3)"]),
    "permutation that is none": (
        lambda: nd.permute_dims(ones(2, 3), (0, 0)), nd.ShapeError, ValueError, ["permute_dims", "(0, 0)"]),
    "concat of shapes that differ": (
        lambda: nd.concat([ones(2, 3), ones(2, 4)]), nd.ShapeError, ValueError, ["concat", "(2, 3)", "(2, 4)"]),
    "max of nothing": (lambda: nd.max(ones(0)), nd.ShapeError, ValueError, ["max", "(0,)"]),
    "devices mixed": (
        lambda: ones(2) + ones(2, device="numpy"), nd.DeviceError, ValueError, ["add", "cpu", "numpy", "to_device"]),
    "devices mixed in matmul": (
        lambda: ones(2, 2) @ ones(2, 2, device="numpy"), nd.DeviceError, ValueError, ["matmul", "cpu", "numpy"]),
    "a device that is none": (lambda: ones(2, device="tpu"), nd.DeviceError, ValueError, ["tpu", "cpu"]),
    "text": (lambda: nd.asarray("seven"), nd.DTypeError, TypeError, ["asarray", "str"]),
    "text in a list": (lambda: nd.asarray([1.0, "2"]), nd.DTypeError, TypeError, ["asarray", "str"]),
    "objects": (lambda: nd.asarray([object()]), nd.DTypeError, TypeError, ["asarray", "object"]),
    "None": (lambda: nd.asarray([None, 1.0]), nd.DTypeError, TypeError, ["asarray", "NoneType"]),
    "a ragged list": (lambda: nd.asarray([[1, 2], [3]]), nd.ShapeError, ValueError, ["asarray", "ragged"]),
    "a list of numbers and lists": (lambda: nd.asarray([1, [2, 3]]), nd.ShapeError, ValueError, ["asarray", "ragged"]),
    "a dtype that is none": (lambda: nd.dtype("float31"), nd.DTypeError, TypeError, ["float31", "float32"]),
    "bits of a float": (
        lambda: nd.bitwise_and(ones(2), ones(2)), nd.DTypeError, TypeError, ["bitwise_and", "float32", "astype"]),
    "the negative of a bool": (
        lambda: nd.negative(ones(2, dtype="bool")), nd.DTypeError, TypeError, ["negative", "bool"]),
    "out that is too small": (
        lambda: nd.add(ones(2), ones(2), out=ones(3)), nd.ShapeError, ValueError, ["add", "(2,)", "(3,)"]),
    "out that cannot hold the result": (
        lambda: nd.add(ones(2), ones(2), out=ones(2, dtype="int32")), nd.DTypeError, TypeError, ["add", "int32"]),
    "an index out of bounds": (lambda: ones(3)[3], nd.IndexingError, IndexError, ["3"]),
    "too many indices": (lambda: ones(3)[0, 0], nd.IndexingError, IndexError, ["(3,)"]),
    "a float as an index": (lambda: ones(3).__getitem__(_anything(1.0)), nd.IndexingError, IndexError, ["float"]),
    "a mask of another shape": (
        lambda: ones(3)[nd.asarray([True, False])], nd.IndexingError, IndexError, ["(3,)", "(2,)"]),
    "a write that does not fit": (
        lambda: ones(3).__setitem__(slice(None), ones(2)), nd.ShapeError, ValueError, ["(2,)", "(3,)"]),
    "a write into a broadcast view": (
        lambda: nd.broadcast_to(ones(1), (3,)).__setitem__(0, 1.0), nd.BufferReadOnlyError, ValueError, ["read-only"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    action, error, builtin, words = BAD[case]
    assert issubclass(error, builtin)
    with pytest.raises(error) as caught:
        action()
    for word in words:
        assert word in str(caught.value), f"{word!r} is not in {str(caught.value)!r}"


def test_an_unknown_default_device_is_named() -> None:
    code = "import treadle.ndarray as nd; nd.zeros((1,))"
    environment = os.environ | {"TREADLE_BACKEND": "abacus"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DeviceError" in done.stderr and "abacus" in done.stderr


def test_cuda_without_a_gpu_says_how_to_emulate() -> None:
    cuda = pytest.importorskip("treadle.cuda")
    if cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(nd.BackendError, match="cuda_emulated"):
        nd.zeros((1,), device="cuda")


def test_a_missing_compiler_is_named_at_build_time(tmp_path: Path) -> None:
    """A build with a compiler that does not exist says so, and what to install."""
    pytest.importorskip("setuptools")
    pytest.importorskip("Cython")
    source = tmp_path / "ndarray"
    shutil.copytree(ROOT / "packages" / "ndarray", source, ignore=shutil.ignore_patterns("*.so", "build", "tests"))
    environment = os.environ | {"CC": "/nonexistent/cc", "CXX": "/nonexistent/c++"}
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=source, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "/nonexistent/cc" in said
    assert "g++" in said or "gcc" in said
    assert "python3-dev" in said or "compiler" in said
