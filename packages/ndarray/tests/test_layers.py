"""Kernels of layers: against formulas in float64, on every instruction set, with any number of threads."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from layer_formulas import SLOPES, windows_by_hand
from treadle.ndarray import _layers as compiled
from treadle.ndarray.pooling import max_pool_gradient

_layers: Any = compiled  # that a kernel serves is what is tested
TOLERANCE = {"float32": 2e-6, "float64": 1e-13}
pytestmark = pytest.mark.usefixtures("instruction_set")
GENERATOR = np.random.default_rng(0)


def draw(*shape: int, dtype: str = "float64") -> Any:
    return GENERATOR.normal(size=shape).astype(dtype)


def check(found: Any, expected: Any, dtype: str, scale: float = 1.0) -> None:
    assert found.dtype.name == dtype
    np.testing.assert_allclose(np.asarray(found), expected, rtol=TOLERANCE[dtype], atol=scale * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("op", SLOPES)
def test_gradients_of_activations(op: str, dtype: str) -> None:
    for size in (1, 15, 40001):
        gradient, saved = draw(size, dtype=dtype), 2 * draw(size, dtype=dtype)
        found = _layers.activation_gradient(op, nd.asarray(gradient), nd.asarray(saved))
        check(found, gradient.astype("f8") * SLOPES[op](saved.astype("f8")), dtype, 8.0)


@pytest.mark.parametrize("op", ["gelu", "gelu_tanh"])
def test_a_zero_gradient_stays_zero(op: str) -> None:
    saved = nd.asarray([math.inf, -math.inf, math.nan, 1e30])
    assert _layers.activation_gradient(op, nd.zeros(4), saved).tolist() == [0.0] * 4


def test_what_has_no_kernel_is_left_to_the_composition() -> None:
    x = nd.ones((3, 4))
    for gradient, saved in (
        (x, nd.ones((4, 3))),
        (x.mT, nd.ones((4, 3))),
        (x, nd.ones((3, 4), dtype="float64")),
        (x.astype("float16"), x.astype("float16")),
        (x.to_device("numpy"), x.to_device("numpy")),
        (nd.ones((0,)), nd.ones((0,))),
    ):
        assert _layers.activation_gradient("tanh", gradient, saved) is None


GEOMETRIES = [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 1), (2, 3, 1, 2), (5, 5, 2, 1), (1, 1, 0, 1), (2, 1, 1, 6)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_max_pool_is_its_definition(geometry: tuple[int, ...], dtype: str) -> None:
    x = GENERATOR.integers(-2, 3, size=(2, 3, 9, 37)).astype(dtype)  # with many ties
    x[0, 0, :4] = -math.inf
    x[1, :, ::3, ::4] = math.nan
    kernel, stride, padding, dilation = geometry
    found = nd.max_pool(nd.asarray(x), kernel, stride=stride, padding=padding, dilation=dilation)
    for mine, expected in zip(found, windows_by_hand(x, *geometry), strict=True):
        np.testing.assert_array_equal(np.asarray(mine), expected)


@pytest.mark.parametrize(("shape", "kernel"), [((2, 2, 23), 3), ((1, 2, 5, 6, 40), 2), ((1, 1, 9000), 4000)])
def test_max_pool_of_other_ranks(shape: tuple[int, ...], kernel: int) -> None:
    x = draw(*shape, dtype="float32")
    found = nd.max_pool(nd.asarray(x), kernel)
    expected = nd.max_pool(nd.asarray(x).to_device("numpy"), kernel)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(other.to_device("cpu")))


def test_gradient_of_max_pool() -> None:
    gradient, indices = draw(2, 3, 4, 4, dtype="float32"), GENERATOR.integers(-1, 30, size=(2, 3, 4, 4))
    expected = np.zeros((2, 3, 31), "f8")
    for at in np.ndindex(gradient.shape):
        if indices[at] >= 0:
            expected[at[0], at[1], indices[at]] += gradient[at]
    found = max_pool_gradient(nd.asarray(gradient), nd.asarray(indices), (2, 3, 1, 31))
    check(found, expected.reshape(2, 3, 1, 31), "float32", 4.0)
    with pytest.raises(IndexError):
        max_pool_gradient(nd.asarray(gradient), nd.asarray(indices), (2, 3, 1, 5))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("width", [1, 7, 16, 130])
def test_rows_are_normalised(width: int, center: bool, dtype: str) -> None:
    x, weight, bias = 3 + draw(300, width, dtype=dtype), draw(width, dtype=dtype), draw(width, dtype=dtype)
    out, mean, scale = _layers.norm_rows(nd.asarray(x), width, center, 1e-2, nd.asarray(weight), nd.asarray(bias))
    wide = x.astype("f8")
    moved = wide - wide.mean(1, keepdims=True) if center else wide
    deviation = np.sqrt((moved * moved).mean(1, keepdims=True) + 1e-2)
    assert (mean is not None) is center
    check(scale, 1 / deviation[:, 0], dtype, 10.0)
    check(out, moved / deviation * weight + bias, dtype, 100.0)
    gradient = draw(300, width, dtype=dtype)
    scaled, normal = gradient.astype("f8") * weight, moved / deviation
    by_x = scaled - normal * (scaled * normal).mean(1, keepdims=True)
    by_x -= scaled.mean(1, keepdims=True) if center else 0.0
    operands = nd.asarray(gradient), nd.asarray(x), width, mean, scale, nd.asarray(weight)
    found = _layers.norm_rows_gradient(*operands, (True, True, True))
    check(found[0], by_x / deviation, dtype, 100.0)
    check(nd.sum(found[1], axis=0), (gradient.astype("f8") * normal).sum(0), dtype, 1e3)
    check(nd.sum(found[2], axis=0), gradient.astype("f8").sum(0), dtype, 1e3)
    assert _layers.norm_rows_gradient(*operands, (False, False, False)) == (None, None, None)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(4, 3), (3, 5, 17), (2, 3, 8, 9)])
def test_channels_are_normalised(shape: tuple[int, ...], dtype: str) -> None:
    x, weight, bias, mean = draw(*shape, dtype=dtype), *(draw(shape[1], dtype=dtype) for _ in range(3))
    scale = np.abs(draw(shape[1], dtype=dtype)) + 0.5
    spread = (slice(None), *(None,) * (len(shape) - 2))
    arrays = [nd.asarray(each) for each in (x, mean, scale, weight, bias)]
    normal = (x.astype("f8") - mean[spread]) * scale[spread]
    check(_layers.norm_channels(*arrays), normal * weight[spread] + bias[spread], dtype, 10.0)
    gradient, axes = draw(*shape, dtype=dtype).astype("f8"), (0, *range(2, len(shape)))
    products = (gradient * normal).mean(axes, keepdims=True)
    by_x = (gradient - gradient.mean(axes, keepdims=True) - normal * products) * (scale * weight)[spread]
    given = nd.asarray(gradient.astype(dtype))
    found = _layers.norm_channels_gradient(given, *arrays[:4], (True, True, True))
    check(found[0], by_x, dtype, 10.0)
    check(found[1], (gradient * normal).sum(axes), dtype, 100.0)
    check(found[2], gradient.sum(axes), dtype, 100.0)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("size", [1, 13, 128])
def test_a_step_of_an_lstm(size: int, dtype: str) -> None:
    """Forward and backward by the formulas of Gers et al. 2000."""
    product, given, before = draw(50, 4 * size), draw(50, 4 * size), draw(50, size)
    d_shown, d_cell = draw(50, size), draw(50, size)
    i, f, g, o = np.split(product + given, 4, axis=1)
    i, f, o = (1 / (1 + np.exp(-each)) for each in (i, f, o))
    g, cell = np.tanh(g), f * before + i * np.tanh(g)
    made = [nd.empty((50, 4, size), dtype=dtype), *(nd.empty((50, size), dtype=dtype) for _ in range(3))]
    taken = [nd.asarray(each.astype(dtype)) for each in (product, given, before)]
    assert _layers.lstm_step(*taken, *made)
    expected = np.stack([i, f, g, o], 1), cell, np.tanh(cell), o * np.tanh(cell)
    for mine, other in zip(made, expected, strict=True):
        check(mine, other, dtype, 4.0)
    inner = d_shown * o * (1 - np.tanh(cell) ** 2) + d_cell
    by_gates = [inner * i * (1 - i) * g, inner * f * (1 - f) * before, inner * (1 - g * g) * i]
    by_gates.append(d_shown * o * (1 - o) * np.tanh(cell))
    d_gates, carried = nd.empty((50, 4, size), dtype=dtype), nd.asarray(d_cell.astype(dtype))
    version = d_gates.version
    assert _layers.lstm_step_gradient(made[0], taken[2], made[2], nd.asarray(d_shown.astype(dtype)), carried, d_gates)
    check(d_gates, np.stack(by_gates, 1), dtype, 10.0)
    check(carried, inner * f, dtype, 10.0)
    assert d_gates.version > version


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("classes", [1, 10, 300])
def test_cross_entropy(classes: int, smoothing: float, dtype: str) -> None:
    logits, targets = 5 * draw(90, classes, dtype=dtype), GENERATOR.integers(0, classes, size=90)
    targets[::7] = -3
    wide = logits.astype("f8")
    log_p = wide - wide.max(1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(1, keepdims=True))
    wanted = np.where(np.arange(classes) == targets[:, None], 1 - smoothing, 0.0) + smoothing / classes
    counts = targets[:, None] >= 0
    operands = nd.asarray(logits), nd.asarray(targets), -3, smoothing
    check(_layers.entropy("test", *operands), -(counts * wanted * log_p).sum(1), dtype, 20.0)
    for scale in (draw(90, dtype=dtype), np.asarray(0.5, dtype)):
        expected = counts * (np.exp(log_p) - wanted) * scale.reshape(-1, 1)
        check(_layers.entropy_gradient(*operands, nd.asarray(scale)), expected, dtype, 4.0)


def test_a_target_that_is_no_class() -> None:
    for wrong in (5, -1, 1 << 60, -(1 << 60)):
        with pytest.raises(nd.IndexingError, match=r"loss: a target is outside of the 4 classes"):
            _layers.entropy("loss", nd.ones((2, 4)), nd.asarray([0, wrong]), -100, 0.0)
        found = _layers.entropy_gradient(nd.ones((2, 4)), nd.asarray([0, wrong]), -100, 0.0, nd.asarray(1.0))
        assert found[1].tolist() == [0.0] * 4


def test_results_do_not_depend_on_threads(threads: Callable[[int], None]) -> None:
    def results() -> list[bytes]:
        generator = np.random.default_rng(1)
        rows, image = (nd.asarray(generator.normal(size=s).astype("f4")) for s in ((700, 96), (8, 6, 40, 41)))
        line, channel = (nd.asarray(generator.normal(size=s).astype("f4")) for s in (96, 6))
        out, mean, scale = _layers.norm_rows(rows, 96, True, 1e-5, line, None)
        made = [out, mean, scale, *_layers.norm_rows_gradient(rows, out, 96, mean, scale, line, (True, True, True))]
        made += _layers.norm_channels_gradient(image, image, channel, channel, None, (True, True, True))
        made += [_layers.activation_gradient("gelu", rows, out), *nd.max_pool(image, 3, stride=2, padding=1)]
        return [np.asarray(each).tobytes() for each in made]

    found = []
    for count in (1, 2, 3):
        threads(count)
        found.append(results())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pairs_are_pooled_as_single_elements_are(dtype: str) -> None:
    """2 x 2 windows against a loop over them, with NaN, infinities and equal elements among them."""
    for height, width in ((2, 2), (3, 5), (4, 14), (7, 15), (6, 33), (5, 70)):
        x = GENERATOR.choice([-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf, np.nan], p=[0.3, *[0.12] * 5, 0.1],
                             size=(2, 3, height, width)).astype(dtype)  # fmt: skip
        values, indices = nd.max_pool(nd.asarray(x), 2)
        for place in np.ndindex(values.shape):
            rows, columns = slice(2 * place[2], 2 * place[2] + 2), slice(2 * place[3], 2 * place[3] + 2)
            window = x[(*place[:2], rows, columns)]
            row, column = divmod(int(np.argmax(window)), 2)  # the first NaN, or the first of the largest
            assert indices[place].item() == (rows.start + row) * width + columns.start + column
            np.testing.assert_equal(values[place].item(), window[row, column])
