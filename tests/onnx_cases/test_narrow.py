"""Elements of 8 bits and fewer: rounded as ml_dtypes, on which the package onnx rests, rounds them."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd.export import from_onnx
from treadle.autograd.export.onnx_narrow import FLOATS, INTEGERS, held_in, narrowed

onnx = pytest.importorskip("onnx")
wide = pytest.importorskip("ml_dtypes")
NAMES = {
    17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 23: "float4_e2m1fn",
}  # fmt: skip


def _drawn(most: float) -> np.ndarray:
    """Numbers of all sizes up to the largest, ties between neighbours, and subnormal ones."""
    random = np.random.default_rng(0)
    found = random.choice([-1.0, 1.0], 4000) * most * 2.0 ** random.uniform(-40, 0, 4000)
    return found.astype("float32")


@pytest.mark.parametrize("number", NAMES)
def test_floats_are_rounded_to_the_nearest(number: int) -> None:
    kind = np.dtype(getattr(wide, NAMES[number]))
    codes = np.arange(256 if number != 23 else 16, dtype="uint8").view(kind).astype("float32")
    finite = np.sort(codes[np.isfinite(codes)])
    x = np.concatenate([_drawn(FLOATS[number].most), finite, (finite[1:] + finite[:-1]) / 2])
    found = narrowed(ag.Tensor(nd.asarray(x)), number)
    assert found.dtype is held_in(number)
    np.testing.assert_array_equal(found.numpy(), x.astype(kind).astype("float32"))


@pytest.mark.parametrize("number", NAMES)
def test_what_is_beyond_the_largest(number: int) -> None:
    most, beyond = FLOATS[number].most, FLOATS[number].beyond
    x = ag.Tensor([2.0 * most, -1e30, float("inf"), float("nan")])
    saturated = narrowed(x, number).tolist()
    assert saturated[:3] == [most, -most, most]
    assert saturated[3] != saturated[3] or number == 23
    if number != 23:
        np.testing.assert_array_equal(narrowed(x, number, saturate=False).numpy()[:3], [beyond, -beyond, beyond])


@pytest.mark.parametrize("number", INTEGERS)
def test_integers_keep_their_low_bits(number: int) -> None:
    low, high = INTEGERS[number]
    x = np.arange(-40, 40)
    found = narrowed(ag.Tensor(nd.asarray(x)), number)
    assert found.dtype is held_in(number)
    np.testing.assert_array_equal(found.numpy(), (x - low) % (high - low + 1) + low)


@pytest.mark.parametrize(("rounding", "wanted"), [("up", 4.0), ("down", 2.0), ("nearest", 4.0)])
def test_powers_of_two(rounding: str, wanted: float) -> None:
    x = ag.Tensor([3.0, 4.0, 0.0, -1.0])
    found = narrowed(x, 24, rounding=rounding).tolist()
    assert found[:3] == [wanted, 4.0, 2.0**-127] and found[3] != found[3]


@pytest.mark.parametrize("number", [22, 21, 17])
def test_weights_of_four_and_eight_bits(number: int, tmp_path: Path) -> None:
    """A matrix product by a weight that is kept in few bits, as language models are."""
    helper = importlib.import_module("onnx.helper")
    random = np.random.default_rng(0)
    values = random.integers(0 if number == 21 else -7, 8, (6, 8)).astype("float32")
    scale = random.uniform(0.1, 0.2, (1, 8)).astype("float32")
    weights = [
        helper.make_tensor("q", number, values.shape, values.reshape(-1).tolist()),
        onnx.numpy_helper.from_array(scale, "scale"),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale"], ["w"], axis=0, block_size=6),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    shapes: Any = {"x": (2, 6), "y": (2, 8)}
    infos = {name: helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()}
    graph = helper.make_graph(nodes, "few", [infos["x"]], [infos["y"]], weights)
    model = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11))
    x = random.normal(size=(2, 6)).astype("float32")
    np.testing.assert_allclose(model(ag.Tensor(nd.asarray(x))).numpy(), x @ (values * scale), rtol=1e-5, atol=1e-5)
