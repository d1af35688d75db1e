"""Faults that users of other libraries reported in layers, each as a case that must come out right here.

The source of each is named in its test; expected values come from mathematics and PyTorch.
"""

import math
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn, optim
from treadle.autograd import Graph, Tensor
from treadle.nn import functional

pytestmark = pytest.mark.usefixtures("on_device")
each_device = pytest.mark.parametrize("device", ["cpu", "numpy"])


def leaf(values: Any, dtype: str = "float64") -> Tensor:
    return Tensor(np.array(values, dtype), requires_grad=True)


def gradient(tensor: Tensor) -> Any:
    """The gradient as a NumPy array."""
    assert tensor.grad is not None
    return tensor.grad.numpy()


# --- overflow --------------------------------------------------------------------------------------------------------
@each_device
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_softmax_of_large_logits(dtype: str, device: str) -> None:
    """pytorch/pytorch#795"""
    x = leaf([1000.0, 1000.5, -1000.0], dtype)
    y = functional.log_softmax(x, dim=0)
    assert y.tolist() == pytest.approx(
        [-0.97407698, -0.47407698, -2000.97407698], abs=2e-4 if dtype == "float32" else 1e-8
    )
    y[0].backward()
    assert gradient(x).tolist() == pytest.approx(
        [0.62245933, -0.62245933, 0.0], abs=1e-4 if dtype == "float32" else 1e-8
    )


@each_device
def test_softplus_of_large_numbers(device: str) -> None:
    """tracel-ai/burn#5373"""
    x = leaf([-1000.0, 0.0, 100.0, 1000.0], "float32")
    y = functional.softplus(x)
    y.sum().backward()
    assert y.tolist() == pytest.approx([0.0, 0.6931472, 100.0, 1000.0])
    assert gradient(x).tolist() == pytest.approx([0.0, 0.5, 1.0, 1.0])


SATURATING = {
    "elu": (-1.0, 0.0), "celu": (-1.0, 0.0), "selu": (-1.7580993408473766, 0.0), "silu": (0.0, 0.0), "mish": (0.0, 0.0),
    "gelu": (0.0, 0.0), "sigmoid": (0.0, 0.0), "tanh": (-1.0, 0.0), "softsign": (-0.999, 1e-6),
    "logsigmoid": (-1000.0, 1.0), "hardswish": (0.0, 0.0), "softplus": (0.0, 0.0), "tanhshrink": (-999.0, 1.0),
}  # fmt: skip


@each_device
@pytest.mark.parametrize("name", SATURATING)
def test_activations_of_large_negative_numbers(name: str, device: str) -> None:
    """Siblings: every smooth activation and its gradient at -1000 and 1000, without NaN or overflow in float32."""
    value, slope = SATURATING[name]
    x = leaf([-1000.0, 1000.0], "float32")
    y = getattr(functional, name)(x)
    y.sum().backward()
    assert y.tolist()[0] == pytest.approx(value, abs=1e-4)
    assert gradient(x).tolist()[0] == pytest.approx(slope, abs=1e-5)
    assert np.isfinite(y.numpy()).all() and np.isfinite(gradient(x)).all()


@each_device
def test_cross_entropy_without_a_target(device: str) -> None:
    """pytorch/pytorch#116349: all targets ignored. The mean is 0/0, the sum 0 with a zero gradient."""
    target = Tensor(np.array([-100, -100]))
    logits = leaf(np.arange(6.0).reshape(2, 3))
    assert math.isnan(functional.cross_entropy(logits, target).item())
    assert functional.cross_entropy(logits, target, reduction="none").tolist() == [0.0, 0.0]
    total = functional.cross_entropy(logits, target, reduction="sum")
    total.backward()
    assert total.item() == 0.0
    assert gradient(logits).tolist() == [[0.0] * 3] * 2


@each_device
def test_cross_entropy_with_an_impossible_class(device: str) -> None:
    """pytorch/pytorch#63004"""
    logits = leaf([[-math.inf, 1.0, 1.0]])
    loss = functional.cross_entropy(logits, Tensor(np.array([1])))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2.0))
    assert gradient(logits).tolist() == [[0.0, -0.5, 0.5]]


# --- normalisation, dropout ------------------------------------------------------------------------------------------
@each_device
def test_batch_norm_has_two_variances(device: str) -> None:
    """pytorch/pytorch#60528, ml-explore/mlx#3817: the biased one normalises, the unbiased one is tracked."""
    layer: Any = nn.BatchNorm1d(1)
    y = layer(Tensor(np.array([[1.0], [2.0], [6.0]], "f4")))
    assert y.numpy().ravel().tolist() == pytest.approx([-0.92582, -0.46291, 1.38873], abs=1e-5)
    assert layer.running_mean.item() == pytest.approx(0.3)
    assert layer.running_var.item() == pytest.approx(1.6)
    assert layer.eval()(Tensor(np.array([[3.0]], "f4"))).item() == pytest.approx(2.134530)


@each_device
def test_instance_norm_has_two_variances_too(device: str) -> None:
    """A sibling: the statistics of one sample are tracked like those of a batch of one."""
    layer: Any = nn.InstanceNorm1d(1, track_running_stats=True)
    y = layer(Tensor(np.array([[[1.0, 2.0, 6.0]]], "f4")))
    assert y.numpy().ravel().tolist() == pytest.approx([-0.92582, -0.46291, 1.38873], abs=1e-5)
    assert layer.running_var.item() == pytest.approx(1.6)


@each_device
def test_batch_norm_of_one_value_is_refused(device: str) -> None:
    """A sibling: a variance of one value is 0 / 0 in its unbiased form, which would poison the running statistics."""
    layer: Any = nn.BatchNorm1d(2)
    with pytest.raises(nd.ShapeError, match="more than one value"):
        layer(Tensor(np.ones((1, 2), "f4")))
    assert layer.running_var.tolist() == [1.0, 1.0]


KINDS = {
    "Dropout": (2,),
    "Dropout1d": (2, 3, 1),
    "Dropout2d": (2, 1, 1, 2),
    "Dropout3d": (2, 1, 1, 1, 2),
    "AlphaDropout": (2,),
}


@each_device
@pytest.mark.parametrize("kind", KINDS)
def test_dropout_of_everything_and_of_nothing(kind: str, device: str) -> None:
    """pytorch/pytorch#75288, PaddlePaddle/Paddle#35122"""
    x = leaf(np.linspace(-2.0, 1.0, int(np.prod(KINDS[kind]))).reshape(KINDS[kind]))
    layer = getattr(nn, kind)(1.0)
    y = layer(x)
    y.sum().backward()
    assert not y.numpy().any() and not gradient(x).any()
    x.grad = None
    quiet = layer.eval()(x)
    quiet.sum().backward()
    assert quiet is x
    assert (gradient(x) == 1.0).all()


@each_device
def test_dropout_leaves_no_trace_in_evaluation(device: str) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.Linear(2, 1)).eval()
    assert [str(node.tensor.op) for node in Graph.of(model(Tensor(np.ones((1, 2), "f4")))) if node.kind == "op"] == [
        "Linear()",
        "Linear()",
    ]


# --- geometry --------------------------------------------------------------------------------------------------------
@each_device
def test_stride_padding_and_dilation_together(device: str) -> None:
    """pytorch/pytorch#15501, huggingface/candle#2337"""
    x, w = leaf([[[1.0, 2.0, 3.0, 4.0, 5.0]]]), leaf([[[1.0, 10.0]]])
    y = functional.conv1d(x, w, stride=2, padding=1, dilation=2)
    y.sum().backward()
    assert y.tolist() == [[[20.0, 42.0, 4.0]]]
    assert gradient(x).tolist() == [[[0.0, 11.0, 0.0, 11.0, 0.0]]]
    assert gradient(w).tolist() == [[[6.0, 6.0]]]


@each_device
@pytest.mark.parametrize("axis", [2, 3])
def test_stride_and_dilation_of_one_axis_of_an_image(axis: int, device: str) -> None:
    """Siblings: the same along either axis of an image, the other of length 1."""

    def along(value: int, rest: int) -> tuple[int, ...]:
        return (value, rest) if axis == 2 else (rest, value)

    x = leaf(np.arange(1.0, 6.0).reshape(1, 1, *along(5, 1)))
    w = leaf(np.array([1.0, 10.0]).reshape(1, 1, *along(2, 1)))
    y = functional.conv2d(x, w, stride=along(2, 1), padding=along(1, 0), dilation=along(2, 1))
    y.sum().backward()
    assert y.numpy().ravel().tolist() == [20.0, 42.0, 4.0]
    assert gradient(x).ravel().tolist() == [0.0, 11.0, 0.0, 11.0, 0.0]
    assert gradient(w).ravel().tolist() == [6.0, 6.0]


@each_device
def test_one_pixel_is_left(device: str) -> None:
    x, w = leaf(np.ones((1, 1, 3, 3))), leaf(np.ones((1, 1, 3, 3)))
    y = functional.conv2d(x, w, stride=5)
    y.sum().backward()
    assert y.shape == (1, 1, 1, 1) and y.item() == 9.0
    assert (gradient(x) == 1.0).all()


@each_device
def test_what_hangs_over_the_end_does_not_count(device: str) -> None:
    """robertknight/rten#1456, pytorch/xla#746"""
    x = Tensor(np.arange(1.0, 6.0).reshape(1, 1, 5))
    assert functional.avg_pool1d(x, 2, 2, ceil_mode=True).tolist() == [[[1.5, 3.5, 5.0]]]
    assert functional.avg_pool1d(x, 3, 2, 1, True).tolist() == [[[1.0, 3.0, 3.0]]]
    assert functional.avg_pool1d(x, 3, 2, 1, True, False).tolist() == [[[1.5, 3.0, 4.5]]]


# --- embedding -------------------------------------------------------------------------------------------------------
@each_device
def test_the_padding_row_stays(device: str) -> None:
    """pytorch/pytorch#26302"""
    layer: Any = nn.Embedding(4, 2, padding_idx=0)
    before = layer.weight.numpy().copy()
    layer(Tensor(np.array([0, 1, 1, 0, 3]))).sum().backward()
    assert gradient(layer.weight).tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]
    optim.SGD(layer.parameters(), lr=0.5).step()
    np.testing.assert_array_equal(layer.weight.numpy()[0], before[0])
    np.testing.assert_allclose(layer.weight.numpy()[1], before[1] - 1.0, rtol=1e-6)


@each_device
def test_numbers_that_name_no_row(device: str) -> None:
    """A sibling: neither a negative number nor one past the end reads another row."""
    layer = nn.Embedding(4, 2)
    for wrong in (-1, 4, 2**40):
        with pytest.raises(nd.IndexingError, match=str(wrong)):
            layer(Tensor(np.array([0, wrong])))
    with pytest.raises(nd.DTypeError, match="integer"):
        layer(Tensor(np.array([0.0, 1.0])))


# --- recurrence and attention ----------------------------------------------------------------------------------------
@each_device
@pytest.mark.parametrize("cell", [False, True])
def test_the_order_of_lstm_gates(cell: bool, device: str) -> None:
    """CrispStrobe/CrispASR#106, keras-team/keras#3088: i, f, g, o."""
    layer: Any = nn.LSTMCell(1, 1) if cell else nn.LSTM(1, 1)
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    biases = layer.bias_ih if cell else layer.bias_ih_l0
    biases.data[...] = nd.asarray([0.0, 100.0, 1.0, -100.0])
    shape = (1, 1) if cell else (1, 1, 1)
    h, c = Tensor(np.zeros(shape, "f4")), Tensor(np.full(shape, 2.0, "f4"))
    last = layer(Tensor(np.zeros(shape, "f4")), (h, c))
    hidden, state = last if cell else last[1]
    assert state.item() == pytest.approx(2.38079708)
    assert hidden.item() == pytest.approx(0.0, abs=1e-6)


@each_device
def test_the_order_of_gru_gates(device: str) -> None:
    """A sibling: r, z, n. An open update gate keeps the state; a shut one takes the new value."""
    layer: Any = nn.GRUCell(1, 1)
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    h = Tensor(np.full((1, 1), 2.0, "f4"))
    x = Tensor(np.zeros((1, 1), "f4"))
    layer.bias_ih.data[...] = nd.asarray([0.0, 100.0, 1.0])
    assert layer(x, h).item() == pytest.approx(2.0)
    layer.bias_ih.data[...] = nd.asarray([0.0, -100.0, 1.0])
    assert layer(x, h).item() == pytest.approx(math.tanh(1.0))


@each_device
@pytest.mark.parametrize("kind", ["boolean", "added"])
def test_a_query_that_may_look_nowhere(kind: str, device: str) -> None:
    """pytorch/pytorch#103963, ml-explore/mlx#2608"""
    ones = leaf(np.ones((1, 1, 2, 2)))
    mask = np.array([[True, True], [False, False]])
    given = Tensor(mask if kind == "boolean" else np.where(mask, 0.0, -np.inf))
    out = functional.scaled_dot_product_attention(ones, ones, ones, given)
    assert out.tolist() == [[[[1.0, 1.0], [0.0, 0.0]]]]
    out.sum().backward()
    assert np.isfinite(gradient(ones)).all()


@each_device
@pytest.mark.parametrize("need_weights", [True, False])
def test_a_sequence_of_padding_alone(need_weights: bool, device: str) -> None:
    """A sibling: in a batch one sequence is all padding; its output is the bias of the last map, without NaN."""
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = Tensor(np.random.default_rng(0).normal(size=(2, 3, 4)).astype("f4"), requires_grad=True)
    padding = Tensor(np.array([[False, False, True], [True, True, True]]))
    out, weights = layer(x, x, x, key_padding_mask=padding, need_weights=need_weights)
    out.sum().backward()
    np.testing.assert_allclose(out.numpy()[1], np.zeros((3, 4)), atol=1e-7)
    assert np.isfinite(gradient(x)).all()
    assert (weights is None) == (not need_weights)


# --- state -----------------------------------------------------------------------------------------------------------
def test_a_state_is_never_broadcast() -> None:
    """pytorch/pytorch#8282: errors name the key and both shapes, and nothing is loaded by halves."""
    layer = nn.Linear(3, 2)
    before = {name: value.numpy().copy() for name, value in layer.state_dict().items()}
    with pytest.raises(nn.StateDictError, match=r"weight: the module has \(2, 3\), the state dict \(1, 3\)"):
        layer.load_state_dict({"weight": np.ones((1, 3), "f4"), "bias": np.ones(2, "f4")})
    with pytest.raises(nn.StateDictError, match=r"(?s)missing:.*bias \(2,\)"):
        layer.load_state_dict({"weight": np.ones((2, 3), "f4")})
    with pytest.raises(nn.StateDictError, match=r"(?s)unexpected:.*scale \(1,\)"):
        layer.load_state_dict({"weight": np.ones((2, 3), "f4"), "bias": np.ones(2, "f4"), "scale": np.ones(1, "f4")})
    for name, value in layer.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])


@pytest.mark.parametrize("as_numpy", [False, True])
def test_entries_of_a_state_may_change_places(as_numpy: bool) -> None:
    """A sibling: a module is loaded from its own state with two names exchanged; each gets what the other had."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    first, second = (model[at].weight.numpy().copy() for at in (0, 1))
    state: dict[str, Any] = dict(model.state_dict())
    state["0.weight"], state["1.weight"] = state["1.weight"], state["0.weight"]
    model.load_state_dict({name: value.numpy() for name, value in state.items()} if as_numpy else state)
    np.testing.assert_array_equal(model[0].weight.numpy(), second)
    np.testing.assert_array_equal(model[1].weight.numpy(), first)


class Tied(nn.Module):
    """One layer used twice, and a second that shares its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.again = self.first
        self.second = nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.second(self.again(self.first(x)))
        return result


def test_shared_parameters_count_once() -> None:
    """TylerYep/torchinfo#397, meta-pytorch/opacus#413"""
    model: Any = Tied()
    assert len(list(model.parameters())) == 1
    assert model.summary().parameters == 4
    assert list(model.state_dict()) == ["first.weight", "again.weight", "second.weight"]
    weight, x = model.first.weight, np.array([[1.0, 2.0]])
    model.to(nd.float64)
    model(Tensor(x)).sum().backward()
    w = weight.numpy()
    expected = np.zeros((2, 2))
    for uses in range(3):  # d/dW of 1' W W W x: each use with the others held
        left = np.linalg.matrix_power(w.T, 2 - uses) @ np.ones(2)
        right = np.linalg.matrix_power(w, uses) @ x[0]
        expected += np.outer(left, right)
    np.testing.assert_allclose(gradient(weight), expected, rtol=1e-12)
    before = weight.numpy().copy()
    optim.SGD(model.parameters(), lr=0.1).step()
    np.testing.assert_allclose(weight.numpy(), before - 0.1 * expected, rtol=1e-12)
