"""Layers: values, gradients and errors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Graph, Tensor, gradcheck, gradgradcheck
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


CHANNELS = {"Dropout1d": (64, 32, 5), "Dropout2d": (64, 32, 3, 2), "Dropout3d": (64, 32, 2, 2, 2)}


@pytest.mark.parametrize("kind", CHANNELS)
def test_dropout_of_channels(kind: str, device: Any) -> None:
    """A channel is dropped or kept as a whole; of 2048, the share kept lies within 5 standard deviations of 0.7."""
    shape = CHANNELS[kind]
    y = getattr(nn, kind)(0.3)(Tensor(np.ones(shape, "f4"))).numpy().reshape(64 * 32, -1)
    assert set(np.unique(y)) == {np.float32(0.0), np.float32(1 / 0.7)}
    assert (y == y[:, :1]).all()
    assert abs((y[:, 0] != 0).mean() - 0.7) < 5 * (0.3 * 0.7 / y.shape[0]) ** 0.5
    assert getattr(nn, kind)(0.3)(Tensor(np.ones(shape[1:], "f4"))).shape == shape[1:]
    with pytest.raises(nd.ShapeError, match=f"{kind.lower()}: an input of shape"):
        getattr(nn, kind)(0.3)(Tensor(np.ones(3, "f4")))


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    """Klambauer et al. 2017: of normal numbers both stay; 5 standard errors of a sample of 10^6."""
    x = np.random.default_rng(0).normal(size=10**6).astype("f4")
    y = nn.AlphaDropout(0.2)(Tensor(x)).numpy()
    assert abs(y.mean()) < 5e-3
    assert abs(y.var() - 1.0) < 1e-2


def test_rrelu_draws_slopes_within_its_bounds() -> None:
    x = Tensor(np.full(1000, -1.0, "f4"), requires_grad=True)
    y = nn.RReLU(0.1, 0.4)(x)
    y.sum().backward()
    slopes = -y.numpy()
    assert 0.1 <= slopes.min() < 0.11 and 0.39 < slopes.max() <= 0.4
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-6)


def test_residual() -> None:
    inner = nn.Linear(3, 3)
    x = Tensor(draw(2, 3).astype("f4"))
    np.testing.assert_allclose(nn.Residual(inner)(x).numpy(), (x + inner(x)).numpy())
    model = nn.Residual(inner, nn.ReLU())
    np.testing.assert_allclose(model(x).numpy(), (x + functional.relu(inner(x))).numpy())
    assert [name for name, _ in model.named_parameters()] == ["module.0.weight", "module.0.bias"]


def test_embedding_from_a_table() -> None:
    table = Tensor(draw(5, 2).astype("f4"))
    frozen = nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad and (frozen.num_embeddings, frozen.embedding_dim) == (5, 2)
    assert nn.Embedding.from_pretrained(table, freeze=False, padding_idx=-1).padding_idx == 4
    np.testing.assert_array_equal(frozen(Tensor(np.array([3, 0]))).numpy(), table.numpy()[[3, 0]])
    with pytest.raises(nd.ShapeError, match=r"it is \(rows, features\)"):
        nn.Embedding.from_pretrained(Tensor([1.0]))


def test_embedding_is_differentiated_twice() -> None:
    weight = Tensor(draw(4, 2), requires_grad=True)
    numbers = Tensor(np.array([0, 2, 2]))
    for options in ({}, {"padding_idx": 2}, {"scale_grad_by_freq": True}):
        seen = {"padding_idx": [0], "scale_grad_by_freq": [0]}.get(next(iter(options), ""), [0, 2, 2])
        if options:
            numbers = Tensor(np.array(seen))  # the gradient itself is another function then
        assert gradcheck(lambda w, o=options, n=numbers: functional.embedding(n, w, **o) ** 2, weight)
        assert gradgradcheck(lambda w, o=options, n=numbers: functional.embedding(n, w, **o) ** 2, weight)


def test_gumbel_softmax_samples_its_logits() -> None:
    """Jang et al. 2017: hard samples fall to each class with its probability; their gradient is the soft sample's."""
    logits = Tensor(np.broadcast_to(np.log([0.2, 0.3, 0.5]), (20000, 3)).copy(), requires_grad=True)
    hard = functional.gumbel_softmax(logits, hard=True)
    assert set(np.unique(hard.numpy().round(12))) == {0.0, 1.0}
    np.testing.assert_allclose(hard.numpy().mean(0), [0.2, 0.3, 0.5], atol=0.02)
    (hard * Tensor(np.array([1.0, 0.0, 0.0]))).sum().backward()
    assert np.abs(logits.grad.numpy()).sum() > 0
    soft = functional.gumbel_softmax(logits, tau=100.0)
    np.testing.assert_allclose(soft.numpy().sum(1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_dropout_between_recurrent_layers(kind: str) -> None:
    """It acts on what goes from layer to layer in training only, and not on the output."""
    layer = getattr(nn, kind)(3, 4, 2, dropout=1.0)
    x = Tensor(draw(5, 2, 3).astype("f4"))
    first, second = layer(x)[0].numpy(), layer(Tensor(draw(5, 2, 3, seed=1).astype("f4")))[0].numpy()
    np.testing.assert_array_equal(first, second)  # nothing of the input arrives
    assert first.any()
    assert (layer.eval()(x)[0].numpy() != first).any()


def test_pooling_of_what_is_infinite() -> None:
    """The other windows' results are untouched by an infinity, also where windows are uneven."""
    x = np.ones((1, 1, 7), "f4")
    x[..., 0] = np.inf
    assert functional.avg_pool1d(Tensor(x), 2).tolist() == [[[np.inf, 1.0, 1.0]]]
    assert functional.max_pool1d(Tensor(-x), 2).tolist() == [[[-1.0, -1.0, -1.0]]]


SMOOTH = [
    "celu", "elu", "gelu", "glu", "hardsigmoid", "hardswish", "leaky_relu", "logsigmoid", "mish", "selu", "sigmoid",
    "silu", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "hardshrink", "hardtanh", "relu6",
]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_activations_are_differentiated_twice(name: str) -> None:
    x = Tensor(draw(4, 2) + 0.05, requires_grad=True)  # away from the kinks
    assert gradcheck(getattr(functional, name), x)
    assert gradgradcheck(getattr(functional, name), x)


@pytest.mark.parametrize("name", SMOOTH)
def test_activations_let_nan_through(name: str) -> None:
    y = getattr(functional, name)(Tensor(np.array([np.nan, np.nan]))).numpy()
    assert np.isnan(y).all()
