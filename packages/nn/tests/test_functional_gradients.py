"""First and second derivatives of functions against central differences, and what they refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, gradcheck, gradgradcheck
from treadle.nn import functional as F

NUMBERS, OFFSETS = Tensor([0, 2, 2, 1]), Tensor([0, 3, 3])


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)


def adaptive(x: Tensor) -> Tensor:
    nd.random.manual_seed(1)
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6], div_value=2.0, dtype=nd.float64)
    output: Tensor = layer(x, Tensor([0, 11, 4])).output
    return output


CASES: dict[str, tuple[Callable[..., Any], list[Tensor]]] = {
    "unfold": (lambda x: F.unfold(x, 2, padding=1, stride=(2, 1)), [drawn(2, 2, 3, 4)]),
    "fold": (lambda x: F.fold(x, (3, 4), 2), [drawn(2, 8, 6)]),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3, alpha=0.5), [drawn(2, 4, 3)]),
    "lp_pool2d": (lambda x: F.lp_pool2d(x * x + 0.1, 1.5, 2), [drawn(1, 2, 4, 4)]),
    "embedding_bag, mean": (lambda w: F.embedding_bag(NUMBERS, w, OFFSETS), [drawn(3, 4)]),
    "embedding_bag, max": (lambda w: F.embedding_bag(NUMBERS, w, OFFSETS, mode="max"), [drawn(3, 4)]),
    "embedding_bag, weights": (
        lambda w, p: F.embedding_bag(NUMBERS, w, OFFSETS, mode="sum", per_sample_weights=p), [drawn(3, 4), drawn(4)],
    ),
    "grid_sample": (lambda x, g: F.grid_sample(x, g * 0.4), [drawn(1, 2, 4, 5), drawn(1, 3, 2, 2, seed=1)]),
    "grid_sample, bicubic": (
        lambda x, g: F.grid_sample(x, g * 0.4, "bicubic", "border"), [drawn(1, 2, 4, 5), drawn(1, 3, 2, 2, seed=1)],
    ),
    "grid_sample, reflection": (
        lambda x, g: F.grid_sample(x, g, padding_mode="reflection"), [drawn(1, 2, 4, 5), drawn(1, 3, 2, 2, seed=1)],
    ),
    "affine_grid": (lambda theta: F.affine_grid(theta, (2, 1, 3, 2)), [drawn(2, 2, 3)]),
    "pdist": (F.pdist, [drawn(4, 3)]),
    "pdist, cubes": (lambda x: F.pdist(x, 3.0), [drawn(4, 3)]),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=Tensor(np.full((1, 2, 2), 0.3))),
        [drawn(1, 2, 6, 6)],
    ),
    "AdaptiveLogSoftmaxWithLoss": (adaptive, [drawn(3, 8)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    function, operands = CASES[name]
    gradcheck(function, operands)
    gradgradcheck(function, operands)


def test_a_distance_of_nothing_has_no_gradient() -> None:
    for function in (lambda x: F.pdist(x, 3.0), lambda x: F.lp_pool2d(x.reshape(1, 1, 3, 2), 2.0, 2)):
        x = Tensor(np.zeros((3, 2)), requires_grad=True)
        function(x).sum().backward()
        assert x.grad is not None
        assert not x.grad.numpy().any()


def test_rows_of_bags_share_their_gradient_by_frequency() -> None:
    """By the definition; PyTorch 2.13 divides by the counts of other rows here."""
    weight = drawn(7, 4)
    bags = F.embedding_bag(Tensor([0, 3, 3, 6, 0, 2]), weight, Tensor([0, 2]), scale_grad_by_freq=True, mode="sum")
    bags.sum().backward()
    assert weight.grad is not None
    assert weight.grad.numpy()[:, 0].tolist() == [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]


def test_probabilities_of_all_classes() -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6], div_value=2.0, dtype=nd.float64)
    x, target = drawn(5, 8), Tensor([0, 5, 11, 3, 6])
    scores = layer.log_prob(x)
    np.testing.assert_allclose(np.exp(scores.numpy()).sum(1), 1.0, rtol=1e-12)
    found = layer(x, target)
    np.testing.assert_allclose(found.output.numpy(), scores.numpy()[np.arange(5), target.numpy()], rtol=1e-12)
    assert found.loss.item() == pytest.approx(-found.output.numpy().mean())
    assert layer.predict(x).tolist() == scores.numpy().argmax(1).tolist()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.unfold(drawn(1, 1, 2, 2), 3), nd.ShapeError, r"windows of \(3, 3\) do not fit into \(2, 2\)"),
        (lambda: F.unfold(drawn(1, 1, 2, 2), 2.5), nd.ShapeError, "must be an int or 2 ints, not 2.5"),
        (lambda: F.unfold(drawn(1, 1, 2, 2), 1, stride=0), nd.ShapeError, "stride .* must be 1 or more"),
        (lambda: F.fold(drawn(1, 5, 2), (2, 2), 2), nd.ShapeError, "each with a multiple of 4 elements"),
        (lambda: F.embedding_bag(Tensor([0.5]), drawn(2, 2), Tensor([0])), nd.DTypeError, "integer dtype"),
        (lambda: F.embedding_bag(Tensor([0]), drawn(2, 2), Tensor([1])), nd.IndexingError, "begin with 0 and rise"),
        (lambda: F.embedding_bag(Tensor([0]), drawn(2, 2)), nd.ShapeError, r"shape \(1,\) without offsets"),
        (lambda: F.embedding_bag(Tensor([[0]]), drawn(2, 2), mode="min"), ValueError, "'sum', 'mean' or 'max'"),
        (lambda: F.embedding_bag(Tensor([0]), drawn(2, 2), Tensor([0]), include_last_offset=True), nd.IndexingError,
         "the last offset must be the number of indices, 1"),
        (lambda: nn.EmbeddingBag(3, 2, mode="min"), ValueError, "mode must be"),
        (lambda: F.grid_sample(drawn(1, 1, 2, 2), drawn(1, 2, 2, 3)), nd.ShapeError, r"it is \(batch, \*places, 2\)"),
        (lambda: F.grid_sample(drawn(1, 1, 2, 2), drawn(1, 2, 2, 2), "cubic"), ValueError, "mode 'cubic'"),
        (lambda: F.grid_sample(drawn(1, 1, 2, 2), drawn(1, 2, 2, 2), padding_mode="edge"), ValueError, "padding_mode"),
        (lambda: F.fractional_max_pool2d(drawn(1, 1, 4, 4), 2, 4), nd.ShapeError, "do not fit into"),
        (lambda: F.fractional_max_pool2d(drawn(1, 1, 4, 4), 2), ValueError, "either output_size or output_ratio"),
        (lambda: nn.FractionalMaxPool2d(2, 2, 0.5), ValueError, "either output_size or output_ratio"),
        (lambda: F.lp_pool2d(drawn(1, 1, 4, 4), 0.0, 2), ValueError, "norm_type must not be 0"),
        (lambda: F.local_response_norm(drawn(2, 3), 2), nd.ShapeError, r"it is \(batch, channels, ...\)"),
        (lambda: F.pdist(drawn(3)), nd.ShapeError, r"it is \(rows, features\)"),
        (lambda: F.affine_grid(drawn(2, 2, 3), (2, 3, 4)), nd.ShapeError, r"theta \(2, 2, 3\) for size \(2, 3, 4\)"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 10, [10]), ValueError, "rise between 0 and n_classes=10"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 10, [5])(drawn(2, 8), Tensor([0, 10])), nd.IndexingError, "0 to 9"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call: Callable[[], Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
