"""Faults that users of other libraries reported of layers, losses, modules and parametrizations, and relatives of them.

Each test names reports of the kind; expected values come from mathematics, scikit-learn and PyTorch.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn, optim
from treadle.autograd import Tensor, gradcheck
from treadle.data.transforms import Resize
from treadle.nn import functional
from treadle.nn.functional import resampling

INF = math.inf
RANDOM = np.random.default_rng(0)


# --- sizes, windows, statistics ---------------------------------------------------------------------------------------
SIZES: dict[str, Callable[[Any, Tensor], Any]] = {
    "Conv1d": lambda two, x: nn.Conv1d(3, 4, two)(x),
    "max_pool1d": lambda two, x: functional.max_pool1d(x, two, two),
    "interpolate, size": lambda two, x: functional.interpolate(x, size=two),
    "interpolate, factor": lambda two, x: functional.interpolate(x, scale_factor=[np.float64(two)]),
    "Upsample": lambda two, x: nn.Upsample(scale_factor=np.float64(two))(x),
    "adaptive_avg_pool1d": lambda two, x: functional.adaptive_avg_pool1d(x, two),
    "AdaptiveMaxPool1d": lambda two, x: nn.AdaptiveMaxPool1d(two)(x),
    "ZeroPad1d": lambda two, x: nn.ZeroPad1d(two)(x),
    "LayerNorm": lambda two, x: nn.LayerNorm(two * two)(x),
    "RMSNorm": lambda two, x: nn.RMSNorm(two * two)(x),
    "Resize": lambda two, x: Tensor(Resize(two)(x.data.reshape(3, 2, 2))),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_numpy_computed(name: str) -> None:
    """A np.int64 or np.float32 where a number is expected."""
    x = Tensor(np.ones((1, 3, 4), "f4"))
    found = SIZES[name](np.int64(2), x)
    assert found.shape == SIZES[name](2, x).shape


def test_windows_over_padding_alone_with_their_places() -> None:
    """pytorch/pytorch#114216, microsoft/onnxruntime#29637: the values are those that come without the places."""
    x = Tensor([[[1.0, 2.0]]], requires_grad=True)
    values, places = functional.max_pool1d(x, 2, 1, 1, 3, return_indices=True)
    alone = functional.max_pool1d(x, 2, 1, 1, 3)
    assert isinstance(alone, Tensor) and values.tolist() == alone.tolist() == [[[-INF]]]
    assert places.tolist() == [[[-1]]]
    values.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[[0.0, 0.0]]]


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive_windows_of_nothing(kind: str) -> None:
    """pytorch/pytorch#78868: a length of 0 is an empty result, one below 0 and windows over nothing are refused."""
    x = Tensor(np.ones((2, 3, 4, 5)), requires_grad=True)
    pool = getattr(functional, f"adaptive_{kind}_pool2d")
    for sizes, shape in ((0, (2, 3, 0, 0)), ((0, 2), (2, 3, 0, 2)), ((None, 0), (2, 3, 4, 0))):
        out = pool(x, sizes)
        assert out.shape == shape
        out.sum().backward()
    assert x.grad is not None and not x.grad.numpy().any()
    for wrong, of in ((-1, x), (2, Tensor(np.ones((2, 3, 0, 4))))):
        with pytest.raises(nd.ShapeError, match=r"output_size .* cannot be made of lengths"):
            pool(of, wrong)


RESIZED: dict[str, tuple[Callable[[Tensor], Tensor], list[float]]] = {
    "linear": (lambda x: functional.interpolate(x, size=14, mode="linear"), [1, INF, INF, INF, INF, 3.25, 3.75]),
    "area": (lambda x: functional.interpolate(x, size=4, mode="area"), [INF, INF, math.nan, math.nan]),
    "adaptive": (lambda x: functional.adaptive_avg_pool1d(x, 5), [INF, INF, 4.0, math.nan, math.nan]),
}


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("name", RESIZED)
def test_an_infinite_element_reaches_its_neighbours_only(name: str, device: str) -> None:
    """pytorch/pytorch#187297 at resizing: a product with a matrix made all outputs of an axis NaN by 0 * inf."""
    x = Tensor(nd.asarray([[[1.0, INF, 3.0, 4.0, 5.0, math.nan, 7.0]]], device=device))
    resize, expected = RESIZED[name]
    found = resize(x).tolist()[0][0]
    np.testing.assert_allclose(found[: len(expected)], expected)
    assert found[-1] == 7.0 or name != "linear"


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "area"])
def test_both_ways_of_resizing_agree(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By matrices, and for long axes by sums over the few inputs of each output."""
    x = Tensor(RANDOM.normal(size=(2, 1, 5, 4)), requires_grad=True)
    wanted = functional.interpolate(x, size=(7, 3), mode=mode)
    monkeypatch.setattr(resampling, "_DENSE", 0)
    found = functional.interpolate(x, size=(7, 3), mode=mode)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)
    gradcheck(lambda x: functional.interpolate(x, size=(7, 3), mode=mode), [x])


def test_long_signals_and_outputs_that_no_memory_holds() -> None:
    """pytorch/pytorch#42582, #50960, #73183: a matrix of lengths 30000 and 60000 has 7 GB."""
    x = Tensor(np.arange(30_000.0, dtype="f4").reshape(1, 1, -1))
    y = functional.interpolate(x, scale_factor=2, mode="linear", align_corners=True)
    np.testing.assert_allclose(y.numpy()[0, 0], np.linspace(0.0, 29_999.0, 60_000), rtol=1e-5, atol=1e-2)
    many = 9132760301568586890
    calls: list[Callable[[], Any]] = [
        lambda: functional.adaptive_avg_pool1d(x, many), lambda: functional.adaptive_max_pool1d(x, many),
        lambda: functional.interpolate(x, many), lambda: functional.interpolate(x, scale_factor=1e15, mode="linear"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(nd.ShapeError, match="an axis can have up to"):
            call()


@pytest.mark.parametrize(
    "layer", [nn.LayerNorm(3, eps=-1.0), nn.BatchNorm1d(3, eps=-1.0), nn.GroupNorm(1, 3, eps=math.nan)]
)
def test_an_eps_below_0(layer: Any) -> None:
    """A variance less than it would have no root."""
    with pytest.raises(ValueError, match="eps must be 0 or more"):
        layer(Tensor(np.ones((2, 3), "f4")))


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_no_window_fits_in_ceil_mode_either(device: str) -> None:
    """pytorch/pytorch#114216: ceil((4 - 7) / 3) + 1 is 0 windows."""
    x = nd.zeros((1, 1, 4), device=device)
    with pytest.raises(nd.ShapeError, match="more than the input"):
        nd.max_pool(x, 3, stride=3, dilation=3, ceil_mode=True)
    assert nd.avg_pool(x, 5, stride=2, ceil_mode=True).shape == (1, 1, 1)


def test_statistics_of_no_samples() -> None:
    """pytorch/pytorch#12013, #39049: the mean of an empty batch is NaN, and stays in running statistics for good."""
    layer = nn.InstanceNorm2d(3, track_running_stats=True)
    assert layer(Tensor(np.zeros((0, 3, 2, 2), "f4"))).shape == (0, 3, 2, 2)
    assert [each.tolist() for each in layer.buffers()][:2] == [[0.0] * 3, [1.0] * 3]
    assert nn.LocalResponseNorm(3)(Tensor(np.zeros((0, 3, 2), "f4"))).shape == (0, 3, 2)


@pytest.mark.parametrize(("order", "scale"), [(INF, 8.0), (1.0, 14.0), (2.0, 10.0), (0.5, (6**0.5 + 8**0.5) ** 2)])
def test_rows_bounded_in_every_norm(order: float, scale: float) -> None:
    """pytorch/pytorch#7947 for other norms: max_norm with norm_type=inf took every row as of length 1."""
    weight = Tensor([[6.0, 8.0], [0.1, 0.0], [60.0, 80.0]])
    out = functional.embedding(Tensor([0, 1, 0]), weight, max_norm=2.0, norm_type=order)
    np.testing.assert_allclose(out.numpy(), [[12 / scale, 16 / scale], [0.1, 0.0], [12 / scale, 16 / scale]], rtol=1e-6)
    assert weight[2].tolist() == [60.0, 80.0]


# --- modules ----------------------------------------------------------------------------------------------------------
TAKEN: list[tuple[str, Callable[[nn.Module], Any]]] = [
    ("in_features", lambda layer: layer.register_parameter("in_features", nn.Parameter([1.0]))),
    ("weight", lambda layer: layer.register_buffer("weight", Tensor([1.0]))),
    ("weight", lambda layer: layer.add_module("weight", nn.ReLU())),
    ("forward", lambda layer: layer.register_buffer("forward", Tensor([1.0]))),
    ("train", lambda layer: layer.register_module("train", nn.ReLU())),
]


@pytest.mark.parametrize(("name", "register"), TAKEN)
def test_names_that_are_taken(name: str, register: Callable[[nn.Module], Any]) -> None:
    """pytorch/pytorch#1874, #2108: a buffer over a method, a module over a parameter."""
    layer = nn.Linear(2, 2)
    with pytest.raises(KeyError, match=f"Linear.{name} is a .* needs another name"):
        register(layer)
    assert layer(Tensor([[1.0, 1.0]])).shape == (1, 2)
    layer.register_parameter("bias", None)
    layer.register_parameter("bias", nn.Parameter([1.0, 2.0]))
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_deleted_buffers_and_names_that_are_no_strings() -> None:
    """What is deleted is gone from the state too."""
    layer = nn.BatchNorm1d(2)
    del layer.running_mean
    assert "running_mean" not in layer.state_dict() and len(list(layer.buffers())) == 2
    assert "running_mean" in nn.BatchNorm1d(2).state_dict()
    with pytest.raises(ValueError, match="a name must be a non-empty string"):
        nn.ModuleDict({1: nn.ReLU()})  # type: ignore[arg-type]


def test_parameters_of_numpy_scalars_are_learnt() -> None:
    """pytorch/pytorch#9651 at the parameter: a NumPy scalar is a value, and no memory to write into."""
    weight = nn.Parameter(np.float64(2.0))
    weight.grad = Tensor(np.float64(1.0))
    optim.SGD([weight], lr=0.5).step()
    assert weight.item() == 1.5 and weight.dtype == "float64"


# --- losses, dropout and draws at the ends ----------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "bool"])
@pytest.mark.parametrize(
    ("name", "expected"), [("mse_loss", 1.0), ("l1_loss", 1.0), ("smooth_l1_loss", 0.5), ("huber_loss", 0.5)]
)
def test_losses_of_integers(name: str, expected: float, dtype: str) -> None:
    """scikit-learn/scikit-learn#28827 at the losses: 0 - 1 is 255 in uint8."""
    zeros, ones = (Tensor(nd.asarray([each] * 3, dtype=dtype)) for each in (0, 1))
    for pair in ((zeros, ones), (ones, zeros)):
        loss = getattr(functional, name)(*pair)
        assert loss.item() == expected and loss.dtype == "float32"


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_squares_of_halves_that_overflow(reduction: str) -> None:
    """pytorch/pytorch#69512 at the squares: 250**2 fits float16, and so does the mean of 300**2 and 0."""
    x = Tensor(nd.asarray([300.0] + [0.0] * 9, dtype="float16"), requires_grad=True)
    loss = functional.mse_loss(x, Tensor(nd.zeros((10,), dtype="float16")), reduction=reduction)
    loss.backward()
    assert loss.dtype == "float16" and x.grad is not None
    if reduction == "mean":
        assert loss.item() == pytest.approx(9000.0, rel=1e-3)
        assert x.grad.data[0].item() == pytest.approx(60.0, rel=1e-3)


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d"])
def test_what_is_dropped_for_certain_is_gone(name: str) -> None:
    """pytorch/pytorch#75288 for infinite inputs: 0 * inf is NaN."""
    x = Tensor([[[INF, -INF, math.nan]]], requires_grad=True)
    y = getattr(functional, name)(x, 1.0, training=True)
    y.sum().backward()
    assert y.tolist() == [[[0.0] * 3]]
    assert x.grad is not None and x.grad.tolist() == [[[0.0] * 3]]


PLANE = Tensor(np.ones((2, 4)))
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: functional.gumbel_softmax(Tensor([1.0]), tau=0.0), "tau must be above 0"),
    (lambda: functional.softplus(Tensor([1.0]), beta=0.0), "beta must not be 0"),
    (lambda: functional.rrelu(Tensor([1.0]), 0.5, 0.1), "lower must not be above upper"),
    (lambda: functional.poisson_nll_loss(Tensor([[1.0], [2.0]]), Tensor([1.0, 2.0])), "must have the same shape"),
    (lambda: functional.gaussian_nll_loss(Tensor([[1.0], [2.0]]), Tensor([1.0, 2.0]), 1.0), "must have the same shape"),
    (lambda: functional.cross_entropy(Tensor([[1.0, 2.0]]), Tensor([1.0])), "indices of classes have an integer dtype"),
    (lambda: functional.ctc_loss(Tensor(np.zeros((3, 1, 3))), Tensor([[1]]), (3,), (-1,)), "which is negative"),
    (
        lambda: functional.scaled_dot_product_attention(PLANE, PLANE, PLANE, enable_gqa=True),
        r"enable_gqa needs \(..., heads",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_arguments_that_make_no_sense(call: Callable[[], Any], message: str) -> None:
    """Refused by name; the first two divided by 0, others gave numbers that mean nothing."""
    with pytest.raises(ValueError, match=message):
        call()


def test_limits_of_a_uniform_distribution_in_order() -> None:
    """The other way round they would be drawn as if they were in it."""
    with pytest.raises(ValueError, match="a must not be above b"):
        nn.init.uniform_(Tensor([0.0]), 1.0, 0.0)


# --- parametrizations -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm])
def test_parametrized_weights_of_zeros(kind: Any) -> None:
    """pytorch/pytorch#32137 at the weights: a layer that begins with zeros has them, and finite gradients."""
    layer = nn.Linear(3, 2)
    layer.weight.data[...] = 0.0
    layer = kind(layer)
    layer(Tensor([[1.0, 2.0, 3.0]])).sum().backward()
    assert layer.weight.tolist() == [[0.0] * 3] * 2
    assert all(np.isfinite(each.grad.numpy()).all() for each in layer.parameters() if each.grad is not None)


def test_a_parametrization_of_several_tensors_comes_first() -> None:
    """pytorch/pytorch#13350: told at once, and the layer works as before."""
    layer: Any = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2)).eval()
    before = layer.weight.tolist()
    with pytest.raises(ValueError, match="'weight' is parametrized already, and _WeightNorm"):
        nn.utils.parametrizations.weight_norm(layer)
    assert layer.weight.tolist() == before
    with pytest.raises(ValueError, match="it lacks decay, warmup, updates, averages"):
        optim.ExponentialMovingAverage([nn.Parameter([1.0])]).load_state_dict({"a": 1})
