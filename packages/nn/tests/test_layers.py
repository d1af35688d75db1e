"""Layers: values, gradients and errors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Graph, Tensor, gradcheck
from treadle.nn import functional


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 4, 3), (0, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape: tuple[int, ...], bias: bool, device: Any) -> None:
    layer = nn.Linear(3, 2, bias=bias, dtype=nd.float64)
    x = draw(*shape)
    expected = x @ layer.weight.numpy().T + (layer.bias.numpy() if bias else 0.0)
    result = layer(Tensor(x))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)
    assert result.device == device


def test_linear_gradients() -> None:
    x, weight, bias = (Tensor(draw(*shape), requires_grad=True) for shape in [(2, 4, 3), (5, 3), (5,)])
    assert gradcheck(functional.linear, (x, weight, bias))
    assert gradcheck(functional.linear, (x, weight))


def test_linear_refuses_what_does_not_fit() -> None:
    with pytest.raises(nd.ShapeError):
        nn.Linear(3, 2)(Tensor(np.zeros((5, 4), "f4")))
    with pytest.raises(nd.ShapeError, match="in_features=-1"):
        nn.Linear(-1, 2)


def test_linear_starts_within_its_bound() -> None:
    layer = nn.Linear(100, 50)
    for tensor in (layer.weight, layer.bias):
        assert 0.08 < abs(tensor.numpy()).max() <= 0.1
    assert nn.Linear(0, 2).weight.shape == (2, 0)


def test_relu_matches_its_definition(device: Any) -> None:
    x = Tensor(np.array([-2.0, -0.0, 0.0, 3.0]), requires_grad=True)
    y = nn.ReLU()(x)
    assert y.numpy().tolist() == [0.0, 0.0, 0.0, 3.0]
    y.sum().backward()
    assert x.grad.numpy().tolist() == [0.0, 0.0, 0.0, 1.0]


def test_dropout_keeps_the_expected_value(device: Any) -> None:
    """Each element is 0 or 1/(1-p); of 100000, the share kept lies within 5 standard deviations of 1-p."""
    y = nn.Dropout(0.3)(Tensor(np.ones(100000, "f4"))).numpy()
    assert set(np.unique(y)) == {np.float32(0.0), np.float32(1 / 0.7)}
    assert abs((y != 0).mean() - 0.7) < 5 * (0.3 * 0.7 / 100000) ** 0.5


def test_dropout_gradient_uses_the_mask_of_the_forward_pass() -> None:
    x = Tensor(np.ones(1000, "f4"), requires_grad=True)
    y = nn.Dropout(0.5)(x)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


def test_dropout_of_everything_is_zero_without_nan(device: Any) -> None:
    x = Tensor([1.0, -2.0], requires_grad=True)
    y = nn.Dropout(1.0)(x)
    y.sum().backward()
    assert y.numpy().tolist() == [0.0, 0.0]
    assert x.grad.numpy().tolist() == [0.0, 0.0]


def test_dropout_is_absent_from_the_graph_of_evaluation() -> None:
    layer = nn.Dropout(0.5).eval()
    x = Tensor([1.0, -2.0], requires_grad=True)
    assert layer(x) is x
    assert nn.Dropout(0.0)(x) is x
    model = nn.Sequential(nn.Linear(2, 2), layer, nn.Linear(2, 1))
    size = len(Graph.of(model.eval()(x.reshape(1, 2))).nodes)
    del model[1]
    assert len(Graph.of(model(x.reshape(1, 2))).nodes) == size


def test_dropout_masks_are_new_each_time_and_repeat_with_the_seed() -> None:
    x, layer = Tensor(np.ones(64, "f4")), nn.Dropout(0.5)
    first, second = layer(x).numpy().copy(), layer(x).numpy().copy()
    assert (first != second).any()
    nd.random.manual_seed(0)
    np.testing.assert_array_equal(layer(x).numpy(), first)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_dropout_refuses_what_is_no_probability(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout(p)


def test_identity_returns_its_input() -> None:
    x = Tensor([1.0])
    assert nn.Identity("ignored", really=True)(x) is x


@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple),
    bounds=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_flatten_joins_dimensions(shape: tuple[int, ...], bounds: tuple[int, int]) -> None:
    start, end = (bound % len(shape) for bound in bounds)
    if start > end:
        with pytest.raises(nd.ShapeError, match="comes after"):
            nn.Flatten(start, end)(Tensor(np.zeros(shape)))
        return
    values = np.arange(float(np.prod(shape))).reshape(shape)
    expected = values.reshape(*shape[:start], -1, *shape[end + 1 :])
    for first, last in ((start, end), (start - len(shape), end - len(shape))):
        np.testing.assert_array_equal(nn.Flatten(first, last)(Tensor(values)).numpy(), expected)


def test_flatten_edges() -> None:
    assert functional.flatten(Tensor(5.0)).shape == (1,)
    assert nn.Flatten()(Tensor(np.zeros((0, 2, 3)))).shape == (0, 6)
    with pytest.raises(nd.ShapeError, match="dimension 2 is out of range"):
        functional.flatten(Tensor([[1.0]]), 2)
