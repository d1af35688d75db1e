"""Losses: corner cases of the cross-entropy and of the base; ``parity`` compares all of them with PyTorch."""

from math import isnan, log
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, gradcheck
from treadle.nn import functional

REDUCTIONS = ("mean", "sum", "none")


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def labels(*values: int) -> Tensor:
    return Tensor(list(values), dtype=nd.int64)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_mse(reduction: str, device: Any) -> None:
    x, y = draw(4, 3), draw(4, 3, seed=1)
    squares = (x - y) ** 2
    expected = {"mean": squares.mean(), "sum": squares.sum(), "none": squares}[reduction]
    loss = nn.MSELoss(reduction=reduction)(Tensor(x), Tensor(y))
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-12)


def test_mse_gradient_and_errors() -> None:
    x, y = (Tensor(draw(3, 2, seed=seed), requires_grad=True) for seed in (0, 1))
    assert gradcheck(functional.mse_loss, (x, y))
    with pytest.raises(nd.ShapeError, match=r"\(3, 2\) and target \(3,\)"):
        functional.mse_loss(x, Tensor(draw(3)))
    with pytest.raises(ValueError, match="'average'"):
        nn.MSELoss(reduction="average")


@pytest.mark.parametrize("weight", [None, [1.0, 1.0, 1.0]])
def test_all_targets_ignored(weight: list[float] | None, device: Any) -> None:
    """The mean is 0/0; sum and none are 0, with a zero gradient."""
    weights = None if weight is None else Tensor(weight)
    for reduction in REDUCTIONS:
        logits = Tensor(draw(2, 3), requires_grad=True)
        classes = None if weights is None else Tensor(weights.data.astype(nd.float64))
        loss = nn.CrossEntropyLoss(classes, ignore_index=7, reduction=reduction)(logits, labels(7, 7))
        if reduction == "mean":
            assert isnan(loss.item())
            continue
        assert not loss.numpy().any()
        loss.sum().backward()
        assert not logits.grad.numpy().any()


@pytest.mark.parametrize("weight", [None, [1.0, 1.0, 1.0]])
def test_a_logit_of_minus_infinity_beside_the_target(weight: list[float] | None, device: Any) -> None:
    logits = Tensor([[-np.inf, 1.0, 1.0]], requires_grad=True)
    loss = functional.cross_entropy(logits, labels(1), None if weight is None else Tensor(weight))
    loss.backward()
    assert loss.item() == pytest.approx(log(2), rel=1e-6)
    np.testing.assert_allclose(logits.grad.numpy(), [[0.0, -0.5, 0.5]], atol=1e-6)


def test_a_class_without_mass_may_have_a_logit_of_minus_infinity() -> None:
    logits = Tensor([[-np.inf, 1.0, 1.0]], requires_grad=True)
    loss = functional.cross_entropy(logits, Tensor([[0.0, 0.25, 0.75]]))
    loss.backward()
    assert loss.item() == pytest.approx(log(2), rel=1e-6)
    np.testing.assert_allclose(logits.grad.numpy(), [[0.0, 0.25, -0.25]], atol=1e-6)


def test_large_logits_do_not_overflow(device: Any) -> None:
    logits = Tensor([[1000.0, 1000.5, -1000.0]], requires_grad=True)
    loss = functional.cross_entropy(logits, labels(0))
    loss.backward()
    assert loss.item() == pytest.approx(0.97407698, rel=1e-5)
    np.testing.assert_allclose(logits.grad.numpy(), [[-0.62245933, 0.62245933, 0.0]], rtol=1e-5)


def test_class_weights_are_a_buffer() -> None:
    loss = nn.CrossEntropyLoss(Tensor([1.0, 2.0]))
    assert list(loss.state_dict()) == ["weight"]
    assert loss.double().weight.dtype == nd.float64
    assert list(loss.parameters()) == []


@pytest.mark.parametrize("kind", ["i8", "f8"])
@pytest.mark.parametrize(("logits", "target"), [((2, 3), (3,)), ((2, 3, 4), (2,)), ((), ())])
def test_shapes_that_do_not_fit(kind: str, logits: Any, target: Any) -> None:
    with pytest.raises(nd.ShapeError, match="logits of shape"):
        functional.cross_entropy(Tensor(np.zeros(logits)), Tensor(np.zeros(target, kind)))


@pytest.mark.parametrize("target", [np.zeros(2, "i8"), np.zeros((2, 3))])
def test_a_weight_that_does_not_fit(target: Any) -> None:
    with pytest.raises(nd.ShapeError, match=r"\(2,\) does not fit 3 classes"):
        functional.cross_entropy(Tensor(np.zeros((2, 3))), Tensor(target), Tensor([1.0, 1.0]))


@pytest.mark.parametrize("weight", [None, [1.0, 1.0, 1.0]])
@pytest.mark.parametrize("label", [3, -1])
def test_labels_out_of_range_are_an_error(weight: list[float] | None, label: int) -> None:
    with pytest.raises(IndexError):
        functional.cross_entropy(
            Tensor([[0.0, 0.0, 0.0]]), labels(label), None if weight is None else Tensor(weight)
        ).realize()


def test_arguments_are_checked() -> None:
    for target in (labels(0), Tensor([[0.5, 0.5]])):
        with pytest.raises(ValueError, match="label_smoothing must lie between 0 and 1, not 2"):
            functional.cross_entropy(Tensor([[0.0, 0.0]]), target, label_smoothing=2.0)
    with pytest.raises(ValueError, match="'average'"):
        nn.CrossEntropyLoss(reduction="average")
