"""The fused kernels of layers (layers_gradients, layers_norm, layers_lstm, layers_entropy, layers_pool) against
formulas in float64."""

import math
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from layer_formulas import SLOPES, windows_by_hand
from treadle.cuda import Graph, emulated_backend
from treadle.ndarray import _layers as compiled

_layers: Any = compiled  # that a kernel serves is what is tested
NEAR = {"float32": 4e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
DTYPES = [name for name in NEAR if name in getattr(emulated_backend(), "dtypes", NEAR)]
GENERATOR = np.random.default_rng(0)


def draw(*shape: int) -> Any:
    return GENERATOR.normal(size=shape)


def put(x: Any, dtype: str, device: str) -> nd.NDArray:
    """On the device, rounded to a dtype, and so in x too."""
    array = nd.asarray(x).astype(dtype)
    x[...] = array.astype("float64").numpy()
    return array.to_device(device)


def check(found: nd.NDArray, expected: Any, dtype: str, scale: float = 1.0, of: str = "") -> None:
    assert found.dtype.name == (of or dtype)
    got = found.to_device("cpu").astype("float64").numpy()
    np.testing.assert_allclose(got, expected, rtol=4 * NEAR[dtype], atol=scale * NEAR[dtype])


def of_statistics(dtype: str) -> str:
    return "float32" if dtype.endswith("16") else dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", SLOPES)
def test_gradients_of_activations(device: str, grid: int, op: str, dtype: str) -> None:
    for size in (1, 1023, 4001):
        gradient, saved = draw(size), 2 * draw(size)
        found = _layers.activation_gradient(op, put(gradient, dtype, device), put(saved, dtype, device))
        check(found, gradient * SLOPES[op](saved), dtype, 8.0)


@pytest.mark.parametrize("op", ["gelu", "gelu_tanh"])
def test_a_zero_gradient_stays_zero(device: str, op: str) -> None:
    saved = nd.asarray([math.inf, -math.inf, math.nan, 1e30], device=device)
    assert _layers.activation_gradient(op, nd.zeros(4, device=device), saved).tolist() == [0.0] * 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_power_of_a_large_operand_overflows(device: str, dtype: str) -> None:
    saved = nd.asarray([-math.inf, -1e30, -1e4, 1e4, 1e30, math.inf]).astype(dtype).to_device(device)
    gradient = nd.ones(6, device="cpu").astype(dtype).to_device(device)
    assert _layers.activation_gradient("gelu_tanh", gradient, saved).tolist() == [0.0] * 3 + [1.0] * 3


def test_what_has_no_kernel_is_left_to_the_composition(device: str) -> None:
    x = nd.ones((3, 4), device=device)
    for gradient, saved in (
        (x, nd.ones((4, 3), device=device)),
        (x.mT, x.mT),
        (x, x.astype("float64")),
        (x, x.to_device("cpu")),
    ):
        assert _layers.activation_gradient("tanh", gradient, saved) is None
    empty = nd.ones((0, 4), device=device)
    assert _layers.norm_rows(empty, 4, True, 1e-5, None, None) is None
    assert _layers.norm_rows(x, 4, True, 1e-5, nd.ones(4, dtype="float64", device=device), None) is None
    assert _layers.entropy("loss", x, nd.zeros(3, device=device), -100, 0.0) is None
    assert nd.max_pool(nd.ones((1, 1, 2, 2, 2, 2), device=device), 2)[0].tolist() == [[[[[[1.0]]]]]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("width", [1, 7, 16, 130, 700])
def test_rows_are_normalised(device: str, grid: int, schedule: str, width: int, center: bool, dtype: str) -> None:
    x, weight, bias, gradient = 1 + draw(70, width), draw(width), draw(width), draw(70, width)
    given = [put(each, dtype, device) for each in (x, weight, bias, gradient)]
    out, mean, scale = _layers.norm_rows(given[0], width, center, 1e-2, given[1], given[2])
    moved = x - x.mean(1, keepdims=True) if center else x
    deviation = np.sqrt((moved * moved).mean(1, keepdims=True) + 1e-2)
    assert (mean is not None) is center
    check(scale, 1 / deviation[:, 0], of_statistics(dtype), 10.0)
    check(out, moved / deviation * weight + bias, dtype, 20.0)
    scaled, normal = gradient * weight, moved / deviation
    by_x = scaled - normal * (scaled * normal).mean(1, keepdims=True)
    by_x -= scaled.mean(1, keepdims=True) if center else 0.0
    operands = given[3], given[0], width, mean, scale, given[1]
    found = _layers.norm_rows_gradient(*operands, (True, True, True))
    check(found[0], by_x / deviation, dtype, 100.0)
    check(nd.sum(found[1], axis=0), (gradient * normal).sum(0), dtype, 100.0)
    check(nd.sum(found[2], axis=0), gradient.sum(0), dtype, 100.0)
    assert _layers.norm_rows_gradient(*operands, (False, False, False)) == (None, None, None)
    plain, _, scale = _layers.norm_rows(given[0], width, center, 1e-2, None, None)
    check(plain, normal, dtype, 20.0)
    (only, *rest) = _layers.norm_rows_gradient(given[3], given[0], width, mean, scale, None, (True, False, False))
    by_x = gradient - normal * (gradient * normal).mean(1, keepdims=True)
    by_x -= gradient.mean(1, keepdims=True) if center else 0.0
    check(only, by_x / deviation, dtype, 100.0)
    assert rest == [None, None]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 3), (3, 5, 17), (2, 3, 8, 40), (5, 2, 2000)])
def test_channels_are_normalised(device: str, grid: int, schedule: str, shape: tuple[int, ...], dtype: str) -> None:
    x, gradient, weight, bias, mean = draw(*shape), draw(*shape), *(draw(shape[1]) for _ in range(3))
    scale = np.abs(draw(shape[1])) + 0.5
    spread = (slice(None), *(None,) * (len(shape) - 2))
    arrays = [put(each, dtype, device) for each in (x, gradient, weight, bias)]
    numbers = [put(each, of_statistics(dtype), device) for each in (mean, scale)]
    normal = (x - mean[spread]) * scale[spread]
    found = _layers.norm_channels(arrays[0], *numbers, *arrays[2:])
    check(found, normal * weight[spread] + bias[spread], dtype, 10.0)
    axes = (0, *range(2, len(shape)))
    products = (gradient * normal).mean(axes, keepdims=True)
    by_x = gradient - gradient.mean(axes, keepdims=True) - normal * products
    found = _layers.norm_channels_gradient(arrays[1], arrays[0], *numbers, arrays[2], (True, True, True))
    check(found[0], by_x * (scale * weight)[spread], dtype, 20.0)
    check(found[1], (gradient * normal).sum(axes), dtype, 400.0)
    check(found[2], gradient.sum(axes), dtype, 400.0)
    found = _layers.norm_channels_gradient(arrays[1], arrays[0], *numbers, None, (True, False, False))
    check(found[0], by_x * scale[spread], dtype, 20.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 13, 64])
def test_a_step_of_an_lstm(device: str, grid: int, size: int, dtype: str) -> None:
    """Forward and backward by the formulas of Gers et al. 2000."""
    shapes = (20, 4 * size), (20, 4 * size), (20, size), (20, size), (20, size)
    product, given, before, d_shown, d_cell = operands = [draw(*shape) for shape in shapes]
    taken = [put(each, dtype, device) for each in operands]
    i, f, g, o = np.split(product + given, 4, axis=1)
    i, f, o = (1 / (1 + np.exp(-each)) for each in (i, f, o))
    g, cell = np.tanh(g), f * before + i * np.tanh(g)
    gates = nd.empty((20, 4, size), dtype=dtype, device=device)
    made = [gates, *(nd.empty((20, size), dtype=dtype, device=device) for _ in range(3))]
    versions = [each.version for each in made]
    assert _layers.lstm_step(*taken[:3], *made)
    expected = np.stack([i, f, g, o], 1), cell, np.tanh(cell), o * np.tanh(cell)
    for mine, other in zip(made, expected, strict=True):
        check(mine, other, dtype, 4.0)
    assert all(each.version > version for each, version in zip(made, versions, strict=True))
    inner = d_shown * o * (1 - np.tanh(cell) ** 2) + d_cell
    by_gates = [inner * i * (1 - i) * g, inner * f * (1 - f) * before, inner * (1 - g * g) * i]
    by_gates.append(d_shown * o * (1 - o) * np.tanh(cell))
    d_gates = nd.empty((20, 4, size), dtype=dtype, device=device)
    assert _layers.lstm_step_gradient(made[0], taken[2], made[2], taken[3], taken[4], d_gates)
    check(d_gates, np.stack(by_gates, 1), dtype, 10.0)
    check(taken[4], inner * f, dtype, 10.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("classes", [1, 10, 300])
def test_cross_entropy(device: str, grid: int, schedule: str, classes: int, smoothing: float, dtype: str) -> None:
    logits, targets = 5 * draw(40, classes), GENERATOR.integers(0, classes, size=40)
    given = put(logits, dtype, device)
    targets[::7] = -3
    log_p = logits - logits.max(1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(1, keepdims=True))
    wanted = np.where(np.arange(classes) == targets[:, None], 1 - smoothing, 0.0) + smoothing / classes
    counts = targets[:, None] >= 0
    operands = given, nd.asarray(targets, device=device), -3, smoothing
    check(_layers.entropy("test", *operands), -(counts * wanted * log_p).sum(1), dtype, 20.0)
    for scale in (draw(40), np.asarray(0.5)):
        found = _layers.entropy_gradient(*operands, put(scale, dtype, device))
        check(found, counts * (np.exp(log_p) - wanted) * scale.reshape(-1, 1), dtype, 4.0)


def test_a_target_that_is_no_class(device: str) -> None:
    for wrong in (5, -1, 1 << 60, -(1 << 60)):
        logits, targets = nd.ones((2, 4), device=device), nd.asarray([0, wrong], device=device)
        assert _layers.entropy("loss", logits, targets, -100, 0.0) is None
        found = _layers.entropy_gradient(logits, targets, -100, 0.0, nd.asarray(1.0, device=device))
        assert found[1].tolist() == [0.0] * 4


def test_infinite_and_missing_logits(device: str) -> None:
    logits = nd.asarray([[-math.inf, 0.0, 0.0], [math.nan, 0.0, 0.0], [0.0, -math.inf, -math.inf]], device=device)
    losses = _layers.entropy("test", logits, nd.asarray([1, 1, 0], device=device), -100, 0.0).tolist()
    assert losses[0] == pytest.approx(math.log(2.0)) and math.isnan(losses[1]) and losses[2] == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "geometry", [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 1), (2, 3, 1, 2), (1, 1, 0, 1), (2, 1, 1, 6)]
)
def test_max_pool_is_its_definition(device: str, grid: int, geometry: tuple[int, ...], dtype: str) -> None:
    x = GENERATOR.integers(-2, 3, size=(2, 3, 9, 13)).astype("f8")  # with many ties
    x[0, 0, :4] = -math.inf
    x[1, :, ::3, ::4] = math.nan
    kernel, stride, padding, dilation = geometry
    given = put(x, dtype, device)
    values, indices = nd.max_pool(given, kernel, stride=stride, padding=padding, dilation=dilation)
    expected = windows_by_hand(x, *geometry)
    np.testing.assert_array_equal(values.to_device("cpu").astype("float64").numpy(), expected[0])
    np.testing.assert_array_equal(indices.numpy(), expected[1])


@pytest.mark.parametrize(("shape", "kernel"), [((2, 2, 23), 3), ((1, 2, 5, 6, 7), 2)])
def test_max_pool_of_other_ranks(device: str, shape: tuple[int, ...], kernel: int) -> None:
    x = draw(*shape)
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel,) * (len(shape) - 2), tuple(range(2, len(shape))))
    steps = (slice(None), slice(None), *(slice(None, None, kernel),) * (len(shape) - 2))
    expected = windows[steps].max(tuple(range(len(shape), windows.ndim)))
    values, indices = nd.max_pool(nd.asarray(x, device=device), kernel)
    np.testing.assert_array_equal(values.numpy(), expected)
    flat = np.take_along_axis(x.reshape(*shape[:2], -1), indices.numpy().reshape(*shape[:2], -1), 2)
    np.testing.assert_array_equal(flat.reshape(expected.shape), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("places", [(4, 4), (9, 11)])
def test_gradient_of_max_pool(device: str, grid: int, schedule: str, places: tuple[int, ...], dtype: str) -> None:
    gradient, indices = draw(2, 3, *places), GENERATOR.integers(-1, 30, size=(2, 3, *places))
    given = put(gradient, dtype, device)
    expected = np.zeros((2, 3, 31), "f8")
    for at in np.ndindex(gradient.shape):
        if indices[at] >= 0:
            expected[at[0], at[1], indices[at]] += gradient[at]
    found = nd.max_pool_gradient(given, nd.asarray(indices, device=device), (2, 3, 1, 31))
    check(found, expected.reshape(2, 3, 1, 31), dtype, 8.0)
    with pytest.raises(IndexError):
        nd.max_pool_gradient(given, nd.asarray(indices, device=device), (2, 3, 1, 5))


def test_losses_and_pooling_in_a_graph(device: str) -> None:
    """What is read when a graph is replayed; a target that is no class is told by the next replay."""
    x, targets = draw(6, 4).astype("f4"), np.array([0, 1, 2, 3, 0, 1])
    logits, classes = nd.asarray(x, device=device), nd.asarray(targets, device=device)
    image = nd.asarray(draw(1, 2, 6, 6).astype("f4"), device=device)
    graph = Graph(device)
    with graph.capture():
        losses = _layers.entropy("loss", logits, classes, -100, 0.0)
        values, indices = nd.max_pool(image, 2)
        spread = nd.max_pool_gradient(values, indices, image.shape)
    for shift in (0, 1):
        classes[...] = nd.asarray((targets + shift) % 4, device=device)
        graph.replay()
        expected = np.log(np.exp(x).sum(1)) - x[np.arange(6), (targets + shift) % 4]
        np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-5, atol=1e-5)
        assert nd.sum(spread).item() == pytest.approx(nd.sum(values).item(), rel=1e-5)
    classes[0] = 4
    graph.replay()
    with pytest.raises(nd.IndexingError, match=r"cross-entropy: target 4 is outside of the 4 classes.*, in a replay"):
        graph.replay()
    assert math.isnan(losses[0].item())
