"""The cpu's convolution kernel against a sum over windows by NumPy, for every instruction set, layout and thread count.

The reference is the definition: einsum of a sliding window view with the weight, in float64.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import convolution, fused_convolution

GEOMETRIES: list[dict[str, Any]] = [
    {"lengths": (9,), "kernel": (1,)},
    {"lengths": (70,), "kernel": (3,), "padding": [(2, 0)], "outputs": 5},
    {"lengths": (41,), "kernel": (4,), "stride": (3,), "dilation": (2,), "padding": [(5, 7)]},
    {"lengths": (7, 33), "kernel": (3, 3), "padding": [(1, 1), (1, 1)], "outputs": 17},
    {"lengths": (8, 9), "kernel": (1, 1), "outputs": 15},
    {"lengths": (14, 14), "kernel": (3, 3), "padding": [(1, 1), (1, 1)], "outputs": 5},
    {"lengths": (9, 11), "kernel": (3, 2), "stride": (1, 1), "dilation": (2, 1), "outputs": 4},
    {"lengths": (1, 6, 7), "kernel": (1, 3, 3), "padding": [(0, 0), (1, 1), (1, 1)], "outputs": 3},
    {"lengths": (12, 37), "kernel": (2, 5), "stride": (2, 3), "padding": [(0, 1), (4, 0)], "outputs": 7},
    {"lengths": (6, 7), "kernel": (3, 3), "stride": (4, 4), "padding": [(0, 0), (0, 0)]},
    {"lengths": (6, 20), "kernel": (2, 2), "stride": (1, 2), "dilation": (3, 4), "padding": [(9, 0), (0, 9)]},
    {"lengths": (5, 6, 19), "kernel": (2, 3, 2), "padding": [(1, 0), (1, 1), (0, 2)], "outputs": 3},
    {"lengths": (5, 4, 6), "kernel": (1, 2, 3), "stride": (2, 1, 2), "dilation": (1, 2, 1), "outputs": 4},
]
GROUPS = [1, 2, 9]


def keywords(geometry: dict[str, Any], groups: int) -> dict[str, Any]:
    count = len(geometry["kernel"])
    return {
        "stride": geometry.get("stride", (1,) * count),
        "padding": geometry.get("padding", [(0, 0)] * count),
        "dilation": geometry.get("dilation", (1,) * count),
        "groups": groups,
    }


def operands(geometry: dict[str, Any], groups: int, dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    channels, outputs = 3, geometry.get("outputs", 1)
    x = rng.standard_normal((2, groups * channels, *geometry["lengths"])).astype(dtype)
    return x, rng.standard_normal((groups * outputs, channels, *geometry["kernel"])).astype(dtype)


def windows(x: Any, geometry: dict[str, Any]) -> Any:
    """(batch, channels, *places, *kernel): a view of the padded input."""
    settings = keywords(geometry, 1)
    spans = [(size - 1) * step + 1 for size, step in zip(geometry["kernel"], settings["dilation"], strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(range(2, x.ndim)), writeable=True)
    steps = (*settings["stride"], *settings["dilation"])
    return view[(slice(None), slice(None), *(slice(None, None, each) for each in steps))]


def padded(x: Any, geometry: dict[str, Any]) -> Any:
    return np.pad(x.astype(np.float64), [(0, 0), (0, 0), *keywords(geometry, 1)["padding"]])


def expected(x: Any, weight: Any, geometry: dict[str, Any], groups: int) -> Any:
    found = windows(padded(x, geometry), geometry)
    count = len(geometry["kernel"])
    found = found.reshape(found.shape[0], groups, x.shape[1] // groups, *found.shape[2:])
    parts = weight.astype(np.float64).reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    places, taps = "xyz"[:count], "klm"[:count]
    out = np.einsum(f"ngc{places}{taps},goc{taps}->ngo{places}", found, parts)
    return out.reshape(x.shape[0], weight.shape[0], *out.shape[3:])


def expected_gradients(gradient: Any, x: Any, weight: Any, geometry: dict[str, Any], groups: int) -> tuple[Any, Any]:
    """Of the input and of the weight: each product of the sum is differentiated."""
    padded_x = padded(x, geometry)
    found = windows(padded_x, geometry)
    count = len(geometry["kernel"])
    found = found.reshape(found.shape[0], groups, x.shape[1] // groups, *found.shape[2:])
    upstream = gradient.reshape(x.shape[0], groups, weight.shape[0] // groups, *gradient.shape[2:])
    places, taps = "xyz"[:count], "klm"[:count]
    of_weight = np.einsum(f"ngc{places}{taps},ngo{places}->goc{taps}", found, upstream).reshape(weight.shape)
    parts = weight.astype(np.float64).reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    each = np.einsum(f"ngo{places},goc{taps}->ngc{places}{taps}", upstream, parts)
    each = each.reshape(x.shape[0], x.shape[1], *each.shape[3:])
    of_padded = np.zeros_like(padded_x)
    target = windows(of_padded, geometry)
    for tap in itertools.product(*(range(size) for size in geometry["kernel"])):
        target[(..., *tap)] += each[(..., *tap)]
    inside = [slice(before, before + length) for (before, _), length in zip(
        keywords(geometry, 1)["padding"], geometry["lengths"], strict=True)]  # fmt: skip
    return of_padded[(..., *inside)], of_weight


def laid_out(values: Any, layout: str) -> nd.NDArray:
    if layout == "transposed":
        return nd.asarray(np.ascontiguousarray(values.T)).T
    if layout == "reversed":
        return nd.asarray(np.ascontiguousarray(values[..., ::-1]))[..., ::-1]
    if layout == "among NaN":
        larger = np.full([2 * each for each in values.shape], np.nan, values.dtype)
        key = tuple(slice(1, None, 2) for _ in values.shape)
        larger[key] = values
        return nd.asarray(larger)[key]
    return nd.asarray(values)


def assert_close(got: nd.NDArray, wanted: Any, dtype: str) -> None:
    scale = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(got.numpy(), wanted, rtol=scale, atol=scale)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("instruction_set")
def test_is_the_sum_over_windows(geometry: dict[str, Any], dtype: str) -> None:
    for groups in GROUPS:
        x, weight = operands(geometry, groups, dtype)
        settings = keywords(geometry, groups)
        wanted = expected(x, weight, geometry, groups)
        for layout in ("dense", "transposed", "reversed", "among NaN"):
            ours, kernel = laid_out(x, layout), laid_out(weight, layout)
            assert fused_convolution.serves(ours, weight.shape)
            assert_close(nd.conv(ours, kernel, **settings), wanted, dtype)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("instruction_set")
def test_gradients(geometry: dict[str, Any], dtype: str) -> None:
    for groups in GROUPS:
        x, weight = operands(geometry, groups, dtype)
        settings = keywords(geometry, groups)
        shape = nd.conv(nd.asarray(x), nd.asarray(weight), **settings).shape
        gradient = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        of_x, of_weight = expected_gradients(gradient, x, weight, geometry, groups)
        for layout in ("dense", "transposed", "reversed", "among NaN"):
            upstream, ours, kernel = (laid_out(each, layout) for each in (gradient, x, weight))
            assert_close(nd.conv_input_gradient(upstream, kernel, x.shape, **settings), of_x, dtype)
            assert_close(nd.conv_weight_gradient(upstream, ours, weight.shape, **settings), of_weight, dtype)


def test_as_the_composition() -> None:
    """The composition is what other devices use."""
    generator = nd.random.Generator(0)
    x, weight = generator.normal(shape=(3, 8, 13, 14)), generator.normal(shape=(12, 4, 3, 2))
    geometry = convolution.Geometry((3, 2), (2, 1), ((1, 1), (0, 1)), (1, 2))
    places = geometry.places(x.shape[2:], "conv")
    out = fused_convolution.convolve(x, weight, geometry, places, 2)
    np.testing.assert_allclose(
        out.numpy(), convolution._composed(x, weight, geometry, places, 2).numpy(), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        fused_convolution.differentiate_input(out, weight, x.shape, geometry, 2).numpy(),
        convolution._composed_input_gradient(out, weight, x.shape, geometry, places, 2).numpy(),
        rtol=1e-4, atol=1e-4,
    )  # fmt: skip
    np.testing.assert_allclose(
        fused_convolution.differentiate_weight(out, x, weight.shape, geometry, places, 2).numpy(),
        convolution._composed_weight_gradient(out, x, weight.shape, geometry, places, 2).numpy(),
        rtol=1e-4, atol=1e-4,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("x_shape", "weight_shape", "groups"),
    [
        ((2, 16, 30, 31), (40, 16, 3, 3), 1),
        ((21, 16, 14, 14), (24, 16, 3, 3), 1),
        ((9, 16, 20, 21), (24, 8, 3, 3), 2),
        ((4, 64, 33, 30), (64, 1, 3, 3), 64),
    ],
)
def test_results_are_the_same_bits_for_every_number_of_threads(
    x_shape: Any, weight_shape: Any, groups: int, threads: Callable[[int], None]
) -> None:
    generator = nd.random.Generator(0)
    x, weight = generator.normal(shape=x_shape), generator.normal(shape=weight_shape)
    found = []
    for count in (1, 2, 3, 8):
        threads(count)
        out = nd.conv(x, weight, padding=1, groups=groups)
        of_x = nd.conv_input_gradient(out, weight, x_shape, padding=1, groups=groups)
        of_weight = nd.conv_weight_gradient(out, x, weight_shape, padding=1, groups=groups)
        found.append([each.numpy().tobytes() for each in (out, of_x, of_weight)])
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("lengths", [(9, 9), (5, 40)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("instruction_set")
def test_the_bias_is_added_after_the_sum(lengths: tuple[int, ...], dtype: str) -> None:
    generator = np.random.default_rng(0)
    for outputs, groups in ((12, 1), (12, 3), (4, 4), (2, 1)):
        x = nd.asarray(generator.standard_normal((3, 4 * groups, *lengths)).astype(dtype))
        weight = nd.asarray(generator.standard_normal((outputs, 4, 3, 3)).astype(dtype))
        bias = generator.standard_normal(2 * outputs)
        plain = nd.conv(x, weight, padding=1, groups=groups).numpy()
        for given in (bias[:outputs].astype(dtype), bias.astype(dtype)[::-2], bias[:outputs]):
            found = nd.conv(x, weight, nd.asarray(given), padding=1, groups=groups)
            assert found.dtype == np.result_type(plain, given).name
            np.testing.assert_array_equal(found.numpy(), plain + given[:, None, None])


@pytest.mark.parametrize(("outputs", "groups"), [(24, 1), (6, 3), (2, 1)])
def test_weight_gradients_of_many_images_add_up(outputs: int, groups: int) -> None:
    generator = np.random.default_rng(0)
    x, gradient = generator.standard_normal((19, 6, 24, 25)), generator.standard_normal((19, outputs, 24, 25))
    shape = (outputs, 6 // groups, 3, 3)
    one_by_one = [
        nd.conv_weight_gradient(
            nd.asarray(gradient[i : i + 1]), nd.asarray(x[i : i + 1]), shape, padding=1, groups=groups
        )
        for i in range(19)
    ]
    found = nd.conv_weight_gradient(nd.asarray(gradient), nd.asarray(x), shape, padding=1, groups=groups)
    np.testing.assert_allclose(found.numpy(), np.sum([each.numpy() for each in one_by_one], axis=0), atol=1e-11)


def test_nan_reaches_the_windows_that_see_it_and_no_others() -> None:
    for outputs, groups in ((20, 1), (2, 2)):
        x, weight = np.ones((1, 2, 11, 12), np.float32), np.ones((outputs, 2 // groups, 3, 3), np.float32)
        x[0, :, 5, 6] = np.nan
        out = nd.conv(nd.asarray(x), nd.asarray(weight), padding=1, groups=groups).numpy()
        seen = np.zeros((11, 12), bool)
        seen[4:7, 5:8] = True
        assert np.isnan(out).any(axis=(0, 1)).tolist() == seen.tolist()
        assert np.isnan(out).all(axis=(0, 1)).tolist() == seen.tolist()


def test_arguments_are_left_alone_and_memory_is_returned() -> None:
    x, weight = nd.ones((3, 4, 9, 9)), nd.ones((5, 4, 3, 3))
    before = nd.memory_statistics()["in_use"]
    for _ in range(3):
        assert nd.conv(x, weight)[0, 0, 0, 0].item() == 36
    assert nd.memory_statistics()["in_use"] == before
    assert math.isclose(float(nd.sum(x)), 3 * 4 * 81)
    assert math.isclose(float(nd.sum(weight)), 180)
