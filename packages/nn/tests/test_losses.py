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


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "name",
    ["smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
     "multilabel_soft_margin_loss", "mse_loss", "l1_loss"],
)  # fmt: skip
def test_two_floating_dtypes_meet_and_each_keeps_its_gradient(name: str, reverse: bool) -> None:
    dtypes = ("float64", "float32") if reverse else ("float32", "float64")
    values = np.random.default_rng(0).uniform(0.1, 0.9, (2, 4, 3)).astype("f4")
    x, y = (Tensor(value.astype(dtype), requires_grad=True) for value, dtype in zip(values, dtypes, strict=True))
    same = [Tensor(value.astype("f8"), requires_grad=True) for value in values]
    loss, expected = getattr(functional, name)(x, y), getattr(functional, name)(*same)
    loss.backward()
    expected.backward()
    assert loss.dtype == nd.float64
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    for mine, theirs in zip((x, y), same, strict=True):
        assert mine.grad.dtype == mine.dtype
        np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize(("logit", "target"), [(np.inf, 0.0), (-np.inf, 1.0)])
def test_the_loss_of_an_infinite_wrong_logit_is_infinite(logit: float, target: float) -> None:
    assert functional.binary_cross_entropy_with_logits(Tensor([logit]), Tensor([target])).item() == np.inf


@pytest.mark.parametrize(
    ("lengths", "label_lengths", "zero_infinity"),
    [
        ((2, 6, 3), (3, 2, 1), False),
        ((2, 6, 3), (3, 2, 1), True),
        ((6, 0, 3), (3, 0, 1), True),
        ((0, 6, 1), (0, 0, 1), False),
    ],
)
def test_ctc_gives_no_gradient_to_steps_beyond_a_length(
    lengths: Any, label_lengths: Any, zero_infinity: bool, torch: Any
) -> None:
    scores, targets = draw(6, 3, 5).astype("f4"), np.array([[1, 2, 3], [1, 1, 0], [4, 0, 0]])
    theirs = torch.log_softmax(torch.tensor(scores), -1).requires_grad_()
    mine = Tensor(theirs.detach().numpy().copy(), requires_grad=True)
    torch.nn.functional.ctc_loss(
        theirs, torch.tensor(targets), lengths, label_lengths, reduction="sum", zero_infinity=zero_infinity
    ).backward()
    functional.ctc_loss(
        mine, Tensor(targets), list(lengths), list(label_lengths), reduction="sum", zero_infinity=zero_infinity
    ).backward()
    np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), atol=1e-5)
