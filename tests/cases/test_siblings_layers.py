"""Faults that users of other libraries reported of layers and losses, looked for in their relatives here.

Expected values come from mathematics and PyTorch.
"""

import math
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.nn import functional

RANDOM = np.random.default_rng(0)


def draw(*shape: int) -> Any:
    return RANDOM.normal(size=shape)


# --- dtypes that meet in fused layers -------------------------------------------------------------------------------
FUSED: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "layer_norm": (lambda x, w, b: functional.layer_norm(x, (3,), w, b), [(2, 3), (3,), (3,)]),
    "rms_norm": (lambda x, w: functional.rms_norm(x, (3,), w), [(2, 3), (3,)]),
    "group_norm": (lambda x, w, b: functional.group_norm(x, 1, w, b), [(2, 3, 4), (3,), (3,)]),
    "batch_norm": (lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), [(4, 3), (3,), (3,)]),
    "instance_norm": (lambda x, w, b: functional.instance_norm(x, None, None, w, b), [(2, 3, 4), (3,), (3,)]),
    "lstm": (lambda g, h, c, w: functional.lstm(g, h, c, w)[0], [(3, 2, 8), (2, 2), (2, 2), (8, 2)]),
    "gru": (lambda g, h, w, b: functional.gru(g, h, w, b), [(3, 2, 6), (2, 2), (6, 2), (6,)]),
    "rnn": (lambda g, h, w: functional.rnn(g, h, w), [(3, 2, 2), (2, 2), (2, 2)]),
    "linear": (lambda x, w, b: functional.linear(x, w, b), [(2, 3), (4, 3), (4,)]),
    "conv2d": (lambda x, w, b: functional.conv2d(x, w, b), [(1, 2, 4, 4), (3, 2, 2, 2), (3,)]),
    "attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v),
        [(1, 3, 4), (1, 3, 4), (1, 3, 4)],
    ),
    "cross_entropy": (
        lambda x, w: functional.cross_entropy(x, Tensor([0, 2]), weight=ag.square(w.detach())),
        [(2, 3), (3,)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("dtypes", [("float64", "float32"), ("float32", "float64"), ("float16", "float32")])
@pytest.mark.parametrize("name", FUSED)
def test_gradients_of_operands_of_several_dtypes(name: str, dtypes: tuple[str, str], create_graph: bool) -> None:
    """chainer/chainer#7964, pytorch/pytorch#156513, tensorflow/tensorflow#35817: each in its operand's dtype, right."""
    function, shapes = FUSED[name]
    values = [draw(*shape) for shape in shapes]
    first, rest = dtypes
    mixed = [Tensor(nd.asarray(v, dtype=rest if at else first), requires_grad=True) for at, v in enumerate(values)]
    exact = [Tensor(each.data.astype("float64"), requires_grad=True) for each in mixed]
    found, wanted = (
        ag.grad(function(*each).sum(), each, create_graph=create_graph, allow_unused=True) for each in (mixed, exact)
    )
    for operand, ours, theirs in zip(mixed, found, wanted, strict=True):
        if ours is not None and theirs is not None:
            assert ours.dtype is operand.dtype
            scale = np.abs(theirs.numpy()).max() + 1.0
            np.testing.assert_allclose(ours.numpy() / scale, theirs.numpy() / scale, atol=5e-3)


# --- batches of nothing ---------------------------------------------------------------------------------------------
NOTHING: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "Linear": (lambda: nn.Linear(3, 2), (0, 3), (0, 2)),
    "Conv1d": (lambda: nn.Conv1d(3, 2, 2), (0, 3, 4), (0, 2, 3)),
    "Conv2d": (lambda: nn.Conv2d(3, 2, 3, 2, 1), (0, 3, 5, 5), (0, 2, 3, 3)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 2, 3), (0, 3, 5, 5), (0, 2, 7, 7)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2), (0, 3, 4, 4), (0, 3, 2, 2)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2), (0, 3, 4, 4), (0, 3, 2, 2)),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(2), (0, 3, 5, 4), (0, 3, 2, 2)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (0, 3), (0, 3)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), (0, 3, 2, 2), (0, 3, 2, 2)),
    "LayerNorm": (lambda: nn.LayerNorm(3), (0, 3), (0, 3)),
    "GroupNorm": (lambda: nn.GroupNorm(1, 3), (0, 3, 2), (0, 3, 2)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(3, affine=True), (0, 3, 2), (0, 3, 2)),
    "LSTM": (lambda: nn.LSTM(3, 2, bidirectional=True, num_layers=2), (4, 0, 3), (4, 0, 4)),
    "GRU": (lambda: nn.GRU(3, 2, batch_first=True), (0, 4, 3), (0, 4, 2)),
    "RNN": (lambda: nn.RNN(3, 2), (4, 0, 3), (4, 0, 2)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (0, 8, 2, 3), (0, 2, 4, 6)),
    "ReflectionPad1d": (lambda: nn.ReflectionPad1d(1), (0, 2, 3), (0, 2, 5)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2), (0, 2, 3), (0, 2, 6)),
}


@pytest.mark.parametrize("name", NOTHING)
def test_layers_of_a_batch_of_nothing(name: str) -> None:
    """pytorch/pytorch#12013: shapes are kept, parameters get gradients of zeros, no statistics move."""
    make, shape, expected = NOTHING[name]
    layer = make()
    x = ag.zeros(shape).requires_grad_()
    y = layer(x)
    y = y[0] if isinstance(y, tuple) else y
    assert y.shape == expected
    y.sum().backward()
    assert x.grad is not None and x.grad.shape == shape
    assert all(p.grad is not None and not p.grad.numpy().any() for p in layer.parameters())
    assert all(np.isfinite(np.asarray(each.tolist())).all() for _, each in layer.named_buffers())


# --- padding, unpooling ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "expected"),
    [("reflect", [2, 3, 4, 5, 4, 3]), ("replicate", [2, 3, 4, 5, 5, 5]), ("circular", [2, 3, 4, 5, 2, 3])],
)
def test_every_mode_of_padding_cuts_off(mode: str, expected: list[float]) -> None:
    """tinygrad/tinygrad#6395: negative numbers, on one side or on both."""
    x = Tensor([[1.0, 2.0, 3.0, 4.0, 5.0]], requires_grad=True)
    assert functional.pad(x, (-1, 2), mode).tolist() == [expected]
    both = functional.pad(x, (-2, -2), mode)
    assert both.tolist() == [[3.0]]
    both.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0.0, 0.0, 1.0, 0.0, 0.0]]
    with pytest.raises(nd.ShapeError, match="cut off more"):
        functional.pad(x, (-3, -3), mode)


def test_unpooling_of_overlapping_windows_sets_an_element_once() -> None:
    """pytorch/pytorch#80204, #80827: values that windows share are not added, and one of them gets the gradient."""
    x = Tensor([[[1.0, 2.0, 9.0, 3.0, 4.0]]], requires_grad=True)
    values, indices = functional.max_pool1d(x, 3, 1, return_indices=True)
    y = functional.max_unpool1d(values, indices, 3, 1)
    assert y.tolist() == [[[0.0, 0.0, 9.0, 0.0, 0.0]]]
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[[0.0, 0.0, 1.0, 0.0, 0.0]]]
    with pytest.raises(nd.ShapeError, match="outside"):
        functional.max_unpool1d(Tensor([[[1.0]]]), Tensor([[[-1]]]), 2)


# --- distances, attention, losses at the ends -----------------------------------------------------------------------
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
def test_distances_and_norms_of_every_order(p: float) -> None:
    """HIPS/autograd#151: orders down to 0, which counts; a row of zeros has a finite gradient."""
    x, y = draw(4, 3), draw(4, 3)
    found = functional.pairwise_distance(Tensor(x), Tensor(y), p)
    np.testing.assert_allclose(found.numpy(), np.linalg.norm(x - y + 1e-6, ord=p, axis=1), rtol=1e-12)
    x[0] = 0.0
    rows = Tensor(x, requires_grad=True)
    unit = functional.normalize(rows, p)
    np.testing.assert_allclose(unit.numpy()[1:], x[1:] / np.linalg.norm(x[1:], ord=p, axis=1)[:, None], rtol=1e-12)
    assert not unit.numpy()[0].any()
    unit.sum().backward()
    assert rows.grad is not None and np.isfinite(rows.grad.numpy()).all()


def test_attention_of_no_features_weighs_all_keys_alike() -> None:
    """pytorch/pytorch#103963 at another end: 1 / sqrt(0)."""
    value = draw(2, 5, 3)
    found = functional.scaled_dot_product_attention(ag.zeros((2, 4, 0)), ag.zeros((2, 5, 0)), Tensor(value))
    np.testing.assert_allclose(found.numpy(), np.repeat(value.mean(axis=1, keepdims=True), 4, axis=1), rtol=1e-6)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_attention_of_halves_whose_scores_overflow(dtype: str, masked: bool) -> None:
    """pytorch/pytorch#60939, #116176: 300 * 300 is infinite in float16, and softmax of it NaN."""
    x = nd.asarray([[300.0, -200.0], [250.0, 400.0]], dtype=dtype)
    mask = Tensor(nd.tril(nd.ones((2, 2), dtype="bool"))) if masked else None
    query = Tensor(x, requires_grad=True)
    out = functional.scaled_dot_product_attention(query, Tensor(x), Tensor(x), mask)
    assert out.dtype == dtype and out.tolist() == x.tolist()  # each key is by far the closest to itself
    out.sum().backward()
    assert query.grad is not None and not query.grad.data.astype("float32").numpy().any()


@pytest.mark.parametrize("targets", [[2.0], [-0.1], [math.nan]])
def test_binary_targets_that_are_no_probabilities(targets: list[float]) -> None:
    """pytorch/pytorch#87373: refused by name, like such an input."""
    with pytest.raises(ValueError, match="targets must lie between 0 and 1"):
        functional.binary_cross_entropy(Tensor([0.5]), Tensor(targets))


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_activations_far_out_have_their_limits_slope(size: int) -> None:
    """pytorch/glow#99: a tanh that ends an ulp short of 1 makes the slope of x tanh(...) grow with x."""
    x = Tensor([30.0, 100.0, 1e6, 1e30] * size, requires_grad=True)
    y = functional.mish(x)
    y.sum().backward()
    assert y.tolist() == x.tolist()
    assert x.grad is not None and x.grad.tolist() == [1.0] * len(x.tolist())


@pytest.mark.parametrize("name", ["gelu", "gelu, tanh", "silu", "softplus", "elu"])
@pytest.mark.parametrize(
    ("dtype", "size"), [("float16", 150.0), ("float16", 6e4), ("float32", 150.0), ("float32", 1e15), ("float32", 3e38)]
)
def test_slopes_of_smooth_activations_far_out(name: str, dtype: str, size: float) -> None:
    """tracel-ai/burn#5373 in between: a cube or a square that overflows beside a factor that is 0."""
    x = Tensor(nd.asarray([size, -size] * 9, dtype=dtype), requires_grad=True)
    options = {"approximate": "tanh"} if name == "gelu, tanh" else {}
    getattr(functional, name.partition(",")[0])(x, **options).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.data.astype("float64").numpy(), [1.0, 0.0] * 9, atol=1e-6)


# --- halves ---------------------------------------------------------------------------------------------------------
ROWS = 70_000
LOSSES: dict[str, Any] = {
    "cross_entropy": lambda x, t, w: functional.cross_entropy(x, t),
    "cross_entropy, weighted": lambda x, t, w: functional.cross_entropy(x, t, weight=w),
    "cross_entropy, smoothed": lambda x, t, w: functional.cross_entropy(x, t, label_smoothing=0.1),
    "nll_loss": lambda x, t, w: functional.nll_loss(functional.log_softmax(x, dim=1), t),
    "nll_loss, weighted": lambda x, t, w: functional.nll_loss(functional.log_softmax(x, dim=1), t, weight=w),
    "mse_loss": lambda x, t, w: functional.mse_loss(x, x * 0.5),
    "multi_margin_loss": lambda x, t, w: functional.multi_margin_loss(x, t),
    "cosine_embedding_loss": lambda x, t, w: functional.cosine_embedding_loss(x, x * 0.5 + 1.0, t * 2 - 1),
    "cosine_embedding_loss, tiny": lambda x, t, w: functional.cosine_embedding_loss(x * 1e-3, x * 1e-3, t * 2 - 1),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", LOSSES)
def test_means_of_many_losses_of_halves(name: str, dtype: str) -> None:
    """pytorch/pytorch#69512: neither the sum over more than 65504 rows nor their number fits float16."""
    rows = np.random.default_rng(3).normal(size=(ROWS, 2)).astype("float32")
    target, weight = Tensor(np.arange(ROWS) % 2), np.array([1.0, 3.0])
    found: list[Any] = []
    wanted: list[Any] = []
    for kind, results in ((dtype, found), ("float64", wanted)):
        x = Tensor(nd.asarray(nd.asarray(rows, dtype=dtype), dtype=kind), requires_grad=True)
        loss = LOSSES[name](x, target, Tensor(nd.asarray(weight, dtype=kind)))
        loss.backward()
        assert x.grad is not None and loss.dtype == x.grad.dtype == kind
        results += [loss.item(), x.grad.data[:9].astype("float64").numpy()]
    assert found[0] == pytest.approx(wanted[0], rel=2e-2)
    np.testing.assert_allclose(found[1], wanted[1], rtol=0.1, atol=2e-6)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", [nn.BatchNorm1d, nn.InstanceNorm1d])
def test_a_pass_in_evaluation_before_one_in_training(kind: Any, affine: bool) -> None:
    """Both go into one loss: the second moves the running statistics, and the gradient of the first is that of the old
    ones, as if it had been alone."""
    rng = np.random.default_rng(0)
    first, second = (rng.normal(2.0, 3.0, (4, 3, 5)) for _ in range(2))

    def gradients(*modes: bool) -> list[Any]:
        layer = kind(3, affine=affine, track_running_stats=True, dtype="float64")
        inputs = [Tensor(each, requires_grad=True) for each in (first, second)]
        total: Any = 0.0
        for training, x in zip((False, True), inputs, strict=True):
            if training in modes:
                total = total + (layer.train(training)(x) ** 3).sum()
        total.backward()
        return [each.grad.numpy() if each.grad is not None else 0.0 for each in [*inputs, *layer.parameters()]]

    both, alone = gradients(False, True), [gradients(False), gradients(True)]
    for found, *parts in zip(both, *alone, strict=True):
        np.testing.assert_allclose(found, sum(parts), rtol=1e-12)
