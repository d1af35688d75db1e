"""Pooling and its gradients: PyTorch's results over drawn geometries, and cases worked by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.ndarray as nd
from strategies import DEVICES

each_device = pytest.mark.parametrize("device", DEVICES)
FAST = [each for each in DEVICES if each != "cuda_emulated"]


@st.composite
def geometries(draw: st.DrawFn, dilated: bool) -> dict[str, Any]:
    """A shape and keywords of a pooling that has at least one place along every axis."""
    count = draw(st.integers(1, 3))
    kernel = [draw(st.integers(1, 4)) for _ in range(count)]
    dilation = [draw(st.integers(1, 3)) if dilated else 1 for _ in range(count)]
    stride = [draw(st.integers(1, 5)) for _ in range(count)]
    padding = [draw(st.integers(0, size // 2)) for size in kernel]
    lengths = [
        draw(st.integers(max(1, (size - 1) * step + 1 - 2 * pad) if dilated else size, 10))  # as PyTorch wants it
        for size, step, pad in zip(kernel, dilation, padding, strict=True)
    ]
    keywords = {"stride": stride, "padding": padding, "ceil_mode": draw(st.booleans())}
    if dilated:
        keywords["dilation"] = dilation
    else:
        keywords["count_include_pad"] = draw(st.booleans())
    return {
        "shape": (draw(st.integers(1, 2)), draw(st.integers(1, 3)), *lengths),
        "kernel": kernel,
        "keywords": keywords,
        "seed": draw(st.integers(0, 2**32)),
    }


def close(actual: nd.NDArray, expected: Any) -> None:
    assert actual.shape == tuple(expected.shape)
    np.testing.assert_allclose(actual.to_device("cpu").numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("device", FAST)
@settings(deadline=None, max_examples=120)
@given(geometry=geometries(dilated=True))
def test_maximum_as_pytorch(device: str, geometry: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    kernel, keywords = geometry["kernel"], geometry["keywords"]
    random = np.random.default_rng(geometry["seed"])
    x = random.permutation(int(np.prod(geometry["shape"]))).reshape(geometry["shape"]).astype(np.float64) - 5
    leaf = torch.tensor(x, requires_grad=True)
    function = getattr(torch.nn.functional, f"max_pool{x.ndim - 2}d")
    expected, at = function(leaf, kernel, **keywords, return_indices=True)
    values, indices = nd.max_pool(nd.asarray(x, device=device), kernel, **keywords)
    seen = np.isfinite(expected.detach().numpy())  # a window with nothing but padding has an index of no meaning
    close(values, expected)
    np.testing.assert_array_equal(indices.to_device("cpu").numpy()[seen], at.numpy()[seen])
    assert (indices.to_device("cpu").numpy()[~seen] == -1).all()
    if seen.all():
        gradient = random.normal(size=expected.shape)
        expected.backward(torch.tensor(gradient))
        close(nd.max_pool_gradient(nd.asarray(gradient, device=device), indices, x.shape), leaf.grad)


@pytest.mark.parametrize("device", FAST)
@settings(deadline=None, max_examples=120)
@given(geometry=geometries(dilated=False), divisor=st.sampled_from([None, None, 3]))
def test_average_as_pytorch(device: str, geometry: dict[str, Any], divisor: int | None) -> None:
    torch = pytest.importorskip("torch")
    kernel, keywords = geometry["kernel"], dict(geometry["keywords"])
    random = np.random.default_rng(geometry["seed"])
    x = random.normal(size=geometry["shape"])
    leaf = torch.tensor(x, requires_grad=True)
    function = getattr(torch.nn.functional, f"avg_pool{x.ndim - 2}d")
    if x.ndim > 3:
        keywords["divisor_override"] = divisor
    expected = function(leaf, kernel, **keywords)
    close(nd.avg_pool(nd.asarray(x, device=device), kernel, **keywords), expected)
    gradient = random.normal(size=expected.shape)
    expected.backward(torch.tensor(gradient))
    close(nd.avg_pool_gradient(nd.asarray(gradient, device=device), x.shape, kernel, **keywords), leaf.grad)


@each_device
def test_what_stands_out_is_not_counted(device: str) -> None:
    """robertknight/rten#1456, pytorch/xla#746: padding that was asked for counts if it is to, the overhang never."""
    x = nd.asarray([[[1.0, 2.0, 3.0, 4.0, 5.0]]], device=device)
    assert nd.avg_pool(x, 2, stride=2, ceil_mode=True).tolist() == [[[1.5, 3.5, 5]]]
    keywords: dict[str, Any] = {"stride": 2, "padding": 1, "ceil_mode": True}
    assert nd.avg_pool(x, 3, **keywords, count_include_pad=True).tolist() == [[[1, 3, 3]]]
    assert nd.avg_pool(x, 3, **keywords, count_include_pad=False).tolist() == [[[1.5, 3, 4.5]]]


@each_device
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64"])
def test_padding_is_never_the_largest(device: str, dtype: str) -> None:
    lowest: Any = {"bool": False, "uint8": 0, "int8": -128, "int64": -(2**63)}.get(dtype, -np.inf)
    x = nd.asarray(np.full((1, 1, 3), lowest, dtype), device=device)
    values, indices = nd.max_pool(x, 3, stride=2, padding=1)
    assert values.tolist() == [[[lowest] * 2]]
    assert indices.tolist() == [[[0, 1]]]
    assert values.dtype == dtype


@each_device
def test_nan_wins_and_the_first_of_equals(device: str) -> None:
    x = nd.asarray([[[1.0, np.nan, 3.0, 7.0, 7.0, 2.0]]], device=device)
    values, indices = nd.max_pool(x, 3)
    assert np.isnan(values[0, 0, 0].item())
    assert values[0, 0, 1].item() == 7
    assert indices.tolist() == [[[1, 3]]]


@each_device
def test_overlapping_windows_add_up(device: str) -> None:
    x = nd.asarray([[[1.0, 9.0, 2.0, 3.0]]], device=device)
    values, indices = nd.max_pool(x, 2, stride=1)
    assert values.tolist() == [[[9, 9, 3]]]
    gradient = nd.asarray([[[1.0, 10.0, 100.0]]], device=device)
    assert nd.max_pool_gradient(gradient, indices, x.shape).tolist() == [[[0, 11, 0, 100]]]
    assert nd.avg_pool_gradient(gradient, x.shape, 2, stride=1).tolist() == [[[0.5, 5.5, 55, 50]]]


def test_a_window_with_nothing_but_padding() -> None:
    values, indices = nd.max_pool(nd.ones((1, 1, 2)), 2, padding=1, dilation=3)
    assert values.tolist() == [[[-np.inf]]]
    assert indices.tolist() == [[[-1]]]
    assert nd.max_pool_gradient(nd.ones((1, 1, 1)), indices, (1, 1, 2)).tolist() == [[[0, 0]]]


def test_integers_are_averaged_as_floats() -> None:
    assert nd.avg_pool(nd.asarray([[[1, 2, 5, 6]]]), 2).tolist() == [[[1.5, 5.5]]]
    assert nd.avg_pool(nd.asarray([[[1, 2, 5, 6]]]), 2).dtype == "float32"


def test_nothing_to_do() -> None:
    assert nd.avg_pool(nd.zeros((0, 2, 4)), 2).shape == (0, 2, 2)
    values, indices = nd.max_pool(nd.zeros((0, 2, 4)), 2)
    assert values.shape == indices.shape == (0, 2, 2)
    assert nd.max_pool_gradient(values, indices, (0, 2, 4)).shape == (0, 2, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nd.max_pool(nd.ones((2, 3)), 2), ["max_pool", "(2, 3)"]),
        (lambda: nd.max_pool(nd.ones((1, 1, 3)), 4), ["max_pool", "spans (4,)"]),
        (lambda: nd.avg_pool(nd.ones((1, 1, 3)), 0), ["avg_pool", "kernel 0"]),
        (lambda: nd.avg_pool(nd.ones((1, 1, 3)), 2, padding=2), ["avg_pool", "half"]),
        (lambda: nd.avg_pool(nd.ones((1, 1, 3)), 2, divisor_override=0), ["divisor_override"]),
        (
            lambda: nd.max_pool_gradient(nd.ones((1, 1, 2)), nd.zeros((1, 1, 1), dtype="int64"), (1, 1, 4)),
            ["(1, 1, 2)"],
        ),
        (lambda: nd.avg_pool_gradient(nd.ones((1, 1, 3)), (1, 1, 4), 2), ["(1, 1, 3)", "(1, 1, 2)"]),
    ],
)
def test_what_does_not_fit(call: Any, words: list[str]) -> None:
    with pytest.raises(nd.ShapeError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
