"""Convolution of 1 to 3 axes and its gradients: PyTorch's results over drawn geometries, and cases worked by hand."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.ndarray as nd
from strategies import DEVICES
from treadle.ndarray import convolution

each_device = pytest.mark.parametrize("device", DEVICES)


@st.composite
def geometries(draw: st.DrawFn) -> dict[str, Any]:
    """Shapes and keywords of a convolution that has at least one place."""
    count = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    kernel = [draw(st.integers(1, 3)) for _ in range(count)]
    dilation = [draw(st.integers(1, 3)) for _ in range(count)]
    stride = [draw(st.integers(1, 3)) for _ in range(count)]
    padding = [draw(st.integers(0, 3)) for _ in range(count)]
    lengths = [
        draw(st.integers(max(1, (size - 1) * step + 1 - 2 * pad), 9))
        for size, step, pad in zip(kernel, dilation, padding, strict=True)
    ]
    return {
        "x": (draw(st.integers(0, 3)), groups * draw(st.integers(1, 3)), *lengths),
        "weight": (groups * draw(st.integers(1, 3)), 0, *kernel),
        "keywords": {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups},
        "seed": draw(st.integers(0, 2**32)),
        "layout": draw(st.sampled_from(["dense", "transposed", "reversed"])),
    }


def laid_out(values: Any, layout: str, device: str) -> nd.NDArray:
    if layout == "transposed":
        return nd.asarray(np.ascontiguousarray(values.T), device=device).T
    if layout == "reversed":
        return nd.asarray(np.ascontiguousarray(values[..., ::-1]), device=device)[..., ::-1]
    return nd.asarray(values, device=device, copy=True)


def close(actual: nd.NDArray, expected: Any) -> None:
    assert actual.shape == tuple(expected.shape)
    np.testing.assert_allclose(actual.to_device("cpu").numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-11)


@each_device
@settings(deadline=None, max_examples=80)
@given(geometry=geometries())
def test_as_pytorch(device: str, geometry: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(geometry["seed"])
    keywords = geometry["keywords"]
    channels = geometry["x"][1] // keywords["groups"]
    shape = (geometry["weight"][0], channels, *geometry["weight"][2:])
    x, weight, bias = (random.normal(size=each) for each in (geometry["x"], shape, shape[:1]))
    leaves = [torch.tensor(each, requires_grad=True) for each in (x, weight, bias)]
    function = getattr(torch.nn.functional, f"conv{x.ndim - 2}d")
    expected = function(*leaves, **keywords)
    ours, kernel = (laid_out(each, geometry["layout"], device) for each in (x, weight))
    close(nd.conv(ours, kernel, nd.asarray(bias, device=device), **keywords), expected)
    gradient = random.normal(size=expected.shape)
    expected.backward(torch.tensor(gradient))
    upstream = laid_out(gradient, geometry["layout"], device)
    close(nd.conv_input_gradient(upstream, kernel, x.shape, **keywords), leaves[0].grad)
    close(nd.conv_weight_gradient(upstream, ours, weight.shape, **keywords), leaves[1].grad)


@each_device
def test_stride_and_dilation_are_not_mixed_up(device: str) -> None:
    """pytorch/pytorch#15501, huggingface/candle#2337: taps at 2 p - 1 and 2 p + 1."""
    keywords: dict[str, Any] = {"stride": 2, "padding": 1, "dilation": 2}
    x = nd.asarray([[[1.0, 2.0, 3.0, 4.0, 5.0]]], device=device)
    weight = nd.asarray([[[1.0, 10.0]]], device=device)
    out = nd.conv(x, weight, **keywords)
    assert out.tolist() == [[[20, 42, 4]]]
    ones = nd.ones(out.shape, device=device)
    assert nd.conv_input_gradient(ones, weight, x.shape, **keywords).tolist() == [[[0, 11, 0, 11, 0]]]
    assert nd.conv_weight_gradient(ones, x, weight.shape, **keywords).tolist() == [[[6, 6]]]


@each_device
def test_an_image_and_its_mean(device: str) -> None:
    x = nd.arange(16, dtype="float32", device=device).reshape(1, 1, 4, 4)
    weight = nd.ones((1, 1, 2, 2), device=device)
    assert nd.conv(x, weight, stride=2).tolist() == [[[[10, 18], [42, 50]]]]
    ones = nd.ones((1, 1, 3, 3), device=device)
    assert nd.conv_input_gradient(ones, weight, x.shape).tolist() == [
        [[[1, 2, 2, 1], [2, 4, 4, 2], [2, 4, 4, 2], [1, 2, 2, 1]]]
    ]


@pytest.mark.parametrize(("size", "dilation"), [(1, 1), (2, 1), (3, 1), (4, 1), (2, 3), (3, 2)])
def test_same_padding_as_pytorch(size: int, dilation: int) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(2, 2, 7, 6))
    weight = np.random.default_rng(1).normal(size=(3, 2, size, 1))
    if size % 2 == 0 and dilation % 2:
        padded = np.pad(
            x,
            ((0, 0), (0, 0), ((size - 1) * dilation // 2, (size - 1) * dilation - (size - 1) * dilation // 2), (0, 0)),
        )
        expected = torch.nn.functional.conv2d(torch.tensor(padded), torch.tensor(weight), dilation=(dilation, 1))
    else:
        expected = torch.nn.functional.conv2d(
            torch.tensor(x), torch.tensor(weight), dilation=(dilation, 1), padding="same"
        )
    close(nd.conv(nd.asarray(x), nd.asarray(weight), padding="same", dilation=(dilation, 1)), expected)
    valid = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(weight), padding="valid")
    close(nd.conv(nd.asarray(x), nd.asarray(weight), padding="valid"), valid)


def test_pairs_of_padding() -> None:
    x = nd.asarray([[[1.0, 2.0]]])
    weight = nd.ones((1, 1, 2))
    assert nd.conv(x, weight, padding=[(0, 2)]).tolist() == [[[3, 2, 0]]]
    assert nd.conv(x, weight, padding=[(2, 0)]).tolist() == [[[0, 1, 3]]]
    gradient = nd.asarray([[[1.0, 10.0, 100.0]]])
    assert nd.conv_input_gradient(gradient, weight, (1, 1, 2), padding=[(0, 2)]).tolist() == [[[1, 11]]]
    assert nd.conv_weight_gradient(gradient, x, (1, 1, 2), padding=[(0, 2)]).tolist() == [[[21, 2]]]


def test_dtypes() -> None:
    x, weight = nd.arange(6).reshape(1, 1, 6), nd.asarray([[[1, 2]]], dtype="int8")
    assert nd.conv(x, weight).tolist() == [[[2, 5, 8, 11, 14]]]
    assert nd.conv(x, weight).dtype == "int64"
    assert nd.conv(x, weight.astype("float32")).dtype == "float32"
    with pytest.raises(nd.DTypeError, match="bool"):
        nd.conv(x > 0, weight > 0)


def test_nothing_to_do() -> None:
    assert nd.conv(nd.zeros((0, 2, 5)), nd.ones((3, 2, 2))).shape == (0, 3, 4)
    assert nd.conv(nd.zeros((2, 0, 5)), nd.ones((3, 0, 2))).tolist() == nd.zeros((2, 3, 4)).tolist()
    assert nd.conv_weight_gradient(nd.zeros((0, 3, 4)), nd.zeros((0, 2, 5)), (3, 2, 2)).tolist() == [[[0, 0]] * 2] * 3


@pytest.mark.parametrize(
    ("x", "weight", "keywords", "words"),
    [
        ((1, 1, 3), (1, 1, 4), {}, ["spans (4,)", "(3,)"]),
        ((1, 2, 3), (1, 1, 2), {}, ["(1, 2, 3)", "(1, 1, 2)", "1 groups"]),
        ((1, 2, 3), (3, 1, 2), {"groups": 2}, ["2 groups"]),
        ((1, 2, 3), (3, 1, 2), {"groups": 0}, ["0 groups"]),
        ((1, 1, 3, 3), (1, 1, 2), {}, ["dimensions"]),
        ((1, 1), (1, 1), {}, ["*kernel"]),
        ((1, 1, 3), (1, 1, 0), {}, ["*kernel"]),
        ((1, 1, 3), (1, 1, 2), {"stride": 0}, ["stride 0"]),
        ((1, 1, 3), (1, 1, 2), {"stride": (1, 1)}, ["stride (1, 1)"]),
        ((1, 1, 3), (1, 1, 2), {"dilation": 1.5}, ["dilation", "1.5"]),
        ((1, 1, 3), (1, 1, 2), {"padding": -1}, ["padding -1"]),
        ((1, 1, 3), (1, 1, 2), {"padding": "full"}, ["'full'"]),
        ((1, 1, 3), (1, 1, 2), {"padding": "same", "stride": 2}, ["'same'", "stride of 1"]),
        ((1, 1, 3), (1, 1, 2), {"padding": [(1, 1), (1, 1)]}, ["one pair"]),
        ((1, 1, 3), (1, 1, 2), {"padding": [(1, -1)]}, ["padding (1, -1)"]),
    ],
)
def test_what_does_not_fit(x: Any, weight: Any, keywords: Any, words: list[str]) -> None:
    with pytest.raises(nd.ShapeError, match=r"^conv: ") as caught:
        nd.conv(nd.ones(x), nd.ones(weight), **keywords)
    for word in words:
        assert word in str(caught.value)


def test_gradients_that_do_not_fit() -> None:
    with pytest.raises(nd.ShapeError, match=r"conv_input_gradient.*\(1, 1, 4\)"):
        nd.conv_input_gradient(nd.ones((1, 1, 3)), nd.ones((1, 1, 2)), (1, 1, 5))
    with pytest.raises(nd.ShapeError, match=r"conv_weight_gradient.*\(1, 1, 4\)"):
        nd.conv_weight_gradient(nd.ones((1, 1, 3)), nd.ones((1, 1, 5)), (1, 1, 2))
    with pytest.raises(nd.ShapeError, match="bias"):
        nd.conv(nd.ones((1, 1, 3)), nd.ones((1, 1, 2)), nd.ones(2))
    with pytest.raises(nd.DeviceError, match="conv"):
        nd.conv(nd.ones((1, 1, 3)), nd.ones((1, 1, 2), device="numpy"))


def test_columns_are_laid_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many images are laid out at once, the results are the same, up to the order of the weights' sum."""
    generator = nd.random.Generator(0)
    x, weight = generator.normal(shape=(5, 4, 6, 7)), generator.normal(shape=(6, 2, 3, 2))
    keywords: dict[str, Any] = {"stride": (1, 2), "padding": 1, "groups": 2}
    gradient = generator.normal(shape=nd.conv(x, weight, **keywords).shape)

    def results() -> list[Any]:
        return [
            nd.conv(x, weight, **keywords).numpy(),
            nd.conv_input_gradient(gradient, weight, x.shape, **keywords).numpy(),
            nd.conv_weight_gradient(gradient, x, weight.shape, **keywords).numpy(),
        ]

    whole = results()
    for limit in (1, 10_000):
        monkeypatch.setattr(convolution, "_MOST_COLUMNS", limit)
        parts = results()
        np.testing.assert_array_equal(parts[0], whole[0])
        np.testing.assert_array_equal(parts[1], whole[1])
        np.testing.assert_allclose(parts[2], whole[2], rtol=1e-4, atol=1e-5)


MANY_COLUMNS = """
import treadle.ndarray as nd
x, weight = nd.ones((64, 16, 64, 64)), nd.ones((4, 16, 3, 3))  # 144 MiB of columns
before = nd.memory_statistics()["in_use"]
assert nd.conv(x, weight, padding=1)[0, 0, 1, 1].item() == 144
print(nd.memory_statistics()["peak"] - before)
"""


def test_memory_stays_bounded() -> None:
    done = subprocess.run([sys.executable, "-c", MANY_COLUMNS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 80 * 2**20
