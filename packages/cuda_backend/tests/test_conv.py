"""The implicit matrix product of convolutions against the composition on NumPy's device, which lays windows out."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

CASES: list[dict[str, Any]] = [
    {"x": (2, 4, 9), "w": (6, 2, 3), "stride": 2, "padding": 1, "dilation": 2, "groups": 2},
    {"x": (1, 3, 8, 7), "w": (5, 3, 3, 2), "padding": 2},
    {"x": (2, 4, 5, 6, 4), "w": (4, 4, 2, 3, 2), "stride": (2, 1, 1), "padding": 1},
    {"x": (3, 2, 16, 15), "w": (70, 2, 3, 3), "padding": "same"},
    {"x": (1, 2, 4, 4), "w": (3, 2, 3, 3), "stride": 3, "padding": ((1, 0), (0, 2))},
    {"x": (1, 6, 5), "w": (6, 1, 2), "groups": 6},
    {"x": (8, 2, 14, 14), "w": (3, 2, 3, 3)},  # the gradient of the weight has a long inner axis
    {"x": (1, 1, 2, 3, 2, 3), "w": (2, 1, 2, 2, 1, 2), "padding": 1},
]
DTYPES = ["float32", "float64", "int32", "uint8", "complex64", "complex128"]


def integers(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Small whole numbers: sums are exact in every order."""
    low = 0 if dtype == "uint8" else -3
    found = np.random.default_rng(seed).integers(low, 4, shape)
    return (found + 1j * found[::-1] if dtype.startswith("complex") else found).astype(dtype)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["w"]))
@pytest.mark.parametrize("dtype", DTYPES)
def test_as_the_composition(device: str, schedule: str, case: dict[str, Any], dtype: str) -> None:
    keywords = {name: value for name, value in case.items() if name not in "xw"}
    x, w = integers(case["x"], dtype, 0), integers(case["w"], dtype, 1)

    def results(place: str) -> list[Any]:
        a, b = nd.asarray(x, device=place), nd.asarray(w, device=place)
        out = nd.conv(a, b, **keywords)
        gradient = nd.asarray(integers(out.shape, dtype, 2), device=place)
        back = nd.conv_input_gradient(gradient, b, x.shape, **keywords)
        return [each.to_device("cpu").numpy() for each in (
            out, back, nd.conv_weight_gradient(gradient, a, w.shape, **keywords))]  # fmt: skip

    for found, expected in zip(results(device), results("numpy"), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_views_and_small_grids(device: str, grid: int) -> None:
    x, w = integers((2, 10, 9, 3), "float32", 0), integers((3, 3, 40, 3), "float32", 1)
    left = nd.asarray(x, device=device).transpose(0, 3, 2, 1)[:, :, ::-1]
    right = nd.asarray(w, device=device).transpose(2, 3, 0, 1)
    expected = nd.conv(nd.asarray(x.transpose(0, 3, 2, 1)[:, :, ::-1], device="numpy"),
                       nd.asarray(w.transpose(2, 3, 0, 1), device="numpy"))  # fmt: skip
    np.testing.assert_array_equal(nd.conv(left, right).numpy(), expected.to_device("cpu").numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_summed_in_float32(device: str, dtype: str) -> None:
    """256 + 1 + ... + 1: in bfloat16 itself the ones would be lost."""
    x = nd.ones((1, 1, 257), dtype=dtype, device=device)
    w = nd.ones((1, 1, 257), dtype=dtype, device=device)
    w[0, 0, 0] = 256.0
    assert nd.conv(x, w).item() == 512.0


def test_too_many_axes_are_refused(device: str) -> None:
    x = nd.ones((1, 1, *[1] * 9), device=device)
    with pytest.raises(nd.BackendError, match=r"conv.*axes"):
        nd.conv(x, x)


@pytest.mark.parametrize(("padding", "stride", "dilation"), [(1 << 32, 1 << 32, 1), (1 << 30, 1 << 29, 1 << 29)])
def test_steps_that_32_bits_do_not_count_are_refused(device: str, padding: int, stride: int, dilation: int) -> None:
    x, w = nd.ones((1, 1, 3), device=device), nd.ones((1, 1, 3), device=device)
    with pytest.raises(nd.BackendError, match=r"conv.*axes so long"):
        nd.conv(x, w, padding=padding, stride=stride, dilation=dilation)


def test_wide_steps_are_counted(device: str) -> None:
    x, w = nd.asarray([[[1.0, 2.0]]], device=device), nd.ones((1, 1, 1), device=device)
    assert nd.conv(x, w, padding=1 << 28, stride=1 << 28).tolist() == [[[0.0, 1.0, 0.0]]]
