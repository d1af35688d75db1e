"""Every loss: first and second derivatives, both devices, lazy mode; CTC over all alignments; extreme inputs."""

from collections.abc import Callable
from itertools import groupby, product
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, gradcheck, gradgradcheck, lazy, log_softmax
from treadle.nn import functional


def normal(*shape: int, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(size=shape))


def between(low: float, high: float, *shape: int, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).uniform(low, high, size=shape))


SIGNS = np.asarray([1.0, -1.0, 1.0])
CTC_TARGET = np.asarray([[1, 1, 2], [2, 1, 0]])
PAIR = [normal(3, 4), normal(3, 4, seed=1)]
OF_CLASSES = [normal(3, 4), np.asarray([1, 0, 3])]

LOSSES: dict[str, tuple[dict[str, Any], list[Any], int]] = {
    "MSELoss": ({}, PAIR, 2),
    "L1Loss": ({}, PAIR, 2),
    "SmoothL1Loss": ({"beta": 0.7}, PAIR, 2),
    "HuberLoss": ({"delta": 0.7}, PAIR, 2),
    "NLLLoss": ({}, OF_CLASSES, 1),
    "CrossEntropyLoss": ({"label_smoothing": 0.1}, OF_CLASSES, 1),
    "BCELoss": ({}, [between(0.1, 0.9, 3, 4), between(0.1, 0.9, 3, 4, seed=1)], 2),
    "BCEWithLogitsLoss": ({}, [normal(3, 4), between(0.1, 0.9, 3, 4)], 2),
    "KLDivLoss": ({"reduction": "batchmean"}, [normal(3, 4), between(0.1, 0.9, 3, 4)], 2),
    "HingeEmbeddingLoss": ({}, [normal(3), SIGNS], 1),
    "MultiMarginLoss": ({"p": 2}, OF_CLASSES, 1),
    "MultiLabelMarginLoss": ({}, [normal(2, 4), np.asarray([[1, 3, -1, 0], [0, -1, 1, 2]])], 1),
    "SoftMarginLoss": ({}, [normal(3), SIGNS], 1),
    "MultiLabelSoftMarginLoss": ({}, [normal(3, 4), between(0.1, 0.9, 3, 4)], 2),
    "MarginRankingLoss": ({"margin": 0.1}, [normal(3), normal(3, seed=1), SIGNS], 2),
    "CosineEmbeddingLoss": ({"margin": -0.9}, [*PAIR, SIGNS], 2),
    "TripletMarginLoss": ({"swap": True, "margin": 3.0}, [*PAIR, normal(3, 4, seed=2)], 3),
    "TripletMarginWithDistanceLoss": ({"margin": 3.0}, [*PAIR, normal(3, 4, seed=2)], 3),
    "PoissonNLLLoss": ({"full": True}, [normal(3, 4), between(2.0, 5.0, 3, 4)], 2),
    "GaussianNLLLoss": ({"full": True}, [*PAIR, between(0.5, 2.0, 3, 4)], 3),
    "DiceLoss": ({"smooth": 0.5}, [between(0.1, 0.9, 3, 4), between(0.1, 0.9, 3, 4, seed=1)], 2),
    "CTCLoss": ({"reduction": "sum"}, [normal(6, 2, 3), CTC_TARGET, [6, 5], [3, 2]], 1),
}
"""Options, inputs, and how many of these, from the first, have a gradient."""

each_loss = pytest.mark.parametrize("name", LOSSES)


def tensors(values: list[Any], learnt: int, device: Any = None) -> list[Any]:
    made = [Tensor(nd.asarray(value, device=device)) if isinstance(value, np.ndarray) else value for value in values]
    return [tensor.requires_grad_() if place < learnt else tensor for place, tensor in enumerate(made)]


def test_every_loss_is_here() -> None:
    classes = [name for name in nn.__all__ if isinstance(getattr(nn, name), type)]
    losses = {name for name in classes if issubclass(getattr(nn, name), nn.Loss)}
    assert losses - {"Loss", "WeightedLoss"} == set(LOSSES)


@each_loss
def test_gradients(name: str) -> None:
    options, values, learnt = LOSSES[name]
    inputs = tensors(values, learnt)
    loss = getattr(nn, name)(**options)
    wrapped: Callable[..., Tensor] = lambda *leaves: loss(*leaves, *inputs[learnt:])  # noqa: E731
    assert gradcheck(wrapped, tuple(inputs[:learnt]))
    assert gradgradcheck(wrapped, tuple(inputs[:learnt]))


@each_loss
def test_devices_and_laziness(name: str) -> None:
    options, values, learnt = LOSSES[name]
    results = []
    for device in ("cpu", "numpy", "lazy"):
        inputs = tensors(values, learnt, None if device == "lazy" else device)
        with nd.use_device("cpu" if device == "lazy" else device):
            if device == "lazy":
                with lazy():
                    loss = getattr(nn, name)(**options)(*inputs)
            else:
                loss = getattr(nn, name)(**options)(*inputs)
            loss.backward()
        results.append([loss.numpy(), *(leaf.grad.numpy() for leaf in inputs[:learnt])])
    for other in results[1:]:
        for expected, found in zip(results[0], other, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@each_loss
def test_float32_stays_float32(name: str) -> None:
    options, values, learnt = LOSSES[name]
    given = [each.astype("f4") if getattr(each, "dtype", None) == np.float64 else each for each in values]
    inputs = tensors(given, learnt)
    loss = getattr(nn, name)(**options)(*inputs)
    loss.backward()
    assert loss.dtype == nd.float32
    assert all(leaf.grad.dtype == nd.float32 for leaf in inputs[:learnt])


# --- CTC -------------------------------------------------------------------------------------------------------------
def all_alignments(log_probs: Any, labels: list[int]) -> float:
    """The definition: the sum over all sequences that give the labels when repetitions and then blanks go."""
    total = 0.0
    for path in product(range(log_probs.shape[1]), repeat=log_probs.shape[0]):
        if [label for label, _ in groupby(path) if label != 0] == labels:
            total += exp(sum(log_probs[step, label] for step, label in enumerate(path)))
    return -log(total) if total else inf


@pytest.mark.parametrize("labels", [[], [1], [2, 2], [1, 2, 1], [1, 1, 1], [2, 1, 2, 1, 2]])
def test_ctc_counts_all_alignments(labels: list[int], device: Any) -> None:
    """[1, 1, 1] needs five steps, of which there are five; with one less it is impossible."""
    log_probs = log_softmax(Tensor(normal(5, 3)), axis=-1)
    for steps in (5, 4):
        expected = all_alignments(log_probs.numpy()[:steps], labels)
        target = Tensor(np.asarray(labels, "i8"))
        loss = functional.ctc_loss(log_probs, target, steps, len(labels), reduction="sum")
        assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_ctc_in_a_batch_is_ctc_of_each() -> None:
    scores, lengths, sizes = normal(7, 3, 4), [7, 5, 4], [3, 0, 2]
    labels = [[1, 2, 2], [], [3, 1]]
    padded = np.asarray([[1, 2, 2], [-9, 99, 0], [3, 1, 77]])
    joined = np.asarray([label for each in labels for label in each])
    log_probs = log_softmax(Tensor(scores), axis=-1)
    single = [
        functional.ctc_loss(log_probs[:, at], Tensor(np.asarray(each, "i8")), length, len(each)).item()
        for at, (each, length) in enumerate(zip(labels, lengths, strict=True))
    ]
    for targets in (padded, joined):
        losses = functional.ctc_loss(log_probs, Tensor(targets), lengths, Tensor(sizes), reduction="none")
        np.testing.assert_allclose(losses.numpy() / np.maximum(sizes, 1), single, rtol=1e-12)


def test_ctc_of_certain_and_of_impossible_outputs() -> None:
    """Probabilities of exactly 0: the loss is 0 or infinite, and its gradient is finite where the loss is."""
    scores = np.full((3, 2, 3), -np.inf)
    scores[[0, 1, 2], 0, [1, 0, 2]] = 0.0
    scores[:, 1, 0] = 0.0
    leaf = Tensor(scores, requires_grad=True)
    targets = Tensor([[1, 2], [1, 2]])
    losses = functional.ctc_loss(leaf, targets, [3, 3], [2, 2], reduction="none")
    assert losses.tolist() == [0.0, inf]
    functional.ctc_loss(leaf, targets, [3, 3], [2, 2], reduction="sum", zero_infinity=True).backward()
    assert np.isfinite(leaf.grad.numpy()).all()


def test_ctc_is_stable_over_many_steps() -> None:
    """Uniform outputs: the probability of one label is its number of alignments over 2 ** steps, far below float32."""
    steps = 2000
    log_probs = log_softmax(Tensor(np.zeros((steps, 2), "f4"), requires_grad=True), axis=-1)
    loss = functional.ctc_loss(log_probs, Tensor([1]), steps, 1)
    assert loss.item() == pytest.approx(steps * log(2) - log(steps * (steps + 1) / 2), rel=1e-5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"input_lengths": [6]}, nd.ShapeError, "1 entries for 2"),
        ({"input_lengths": [6, 7]}, ValueError, "between 0 and 6"),
        ({"target_lengths": [-1, 2]}, ValueError, "target_lengths has -1"),
        ({"target_lengths": [4, 2]}, nd.ShapeError, r"\(2, 3\) do not hold"),
        ({"targets": Tensor([1, 2])}, nd.ShapeError, r"\(2,\) do not hold"),
        ({"targets": Tensor([[1, 3, 1], [1, 1, 1]])}, nd.IndexingError, "3 classes"),
        ({"targets": Tensor([[1.0, 2.0, 1.0], [1.0, 1.0, 1.0]])}, nd.DTypeError, "integer"),
        ({"blank": 3}, nd.IndexingError, "blank 3"),
        ({"log_probs": Tensor([1.0])}, nd.ShapeError, r"\(1,\)"),
        ({"reduction": "average"}, ValueError, "'average'"),
    ],
)
def test_ctc_arguments(change: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"log_probs": Tensor(normal(6, 2, 3)), "targets": Tensor(CTC_TARGET)}
    arguments |= {"input_lengths": [6, 6], "target_lengths": [3, 2]}
    with pytest.raises(error, match=message):
        functional.ctc_loss(**{**arguments, **change})


# --- extremes and errors ---------------------------------------------------------------------------------------------
def test_logits_of_any_size(device: Any) -> None:
    """No overflow at -100, and at a logit of 0 the gradient is sigmoid - target like everywhere."""
    logits = Tensor([-100.0, 100.0, 0.0, 0.0], requires_grad=True)
    losses = functional.binary_cross_entropy_with_logits(logits, Tensor([0.0, 1.0, 0.0, 1.0]), reduction="none")
    losses.sum().backward()
    np.testing.assert_allclose(losses.numpy(), [0, 0, log(2), log(2)], rtol=1e-6, atol=1e-43)
    np.testing.assert_allclose(logits.grad.numpy(), [0, 0, 0.5, -0.5], rtol=1e-6, atol=1e-43)


def test_a_confident_right_answer_keeps_its_small_loss() -> None:
    loss = functional.binary_cross_entropy_with_logits(Tensor([20.0]), Tensor([1.0]))
    assert loss.item() == pytest.approx(exp(-20.0), rel=1e-6)


def test_certain_probabilities(device: Any) -> None:
    """The logarithm of 0 counts as -100, and the gradient stays finite."""
    p = Tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    losses = functional.binary_cross_entropy(p, Tensor([0.0, 1.0, 1.0, 0.0]), reduction="none")
    losses.sum().backward()
    assert losses.tolist() == [0.0, 0.0, 100.0, 100.0]
    np.testing.assert_allclose(p.grad.numpy(), [0.0, 0.0, -1e12, 1e12], rtol=1e-6)


def test_divergence_where_there_is_no_mass(device: Any) -> None:
    log_p = Tensor([[-inf, 0.0]], requires_grad=True)
    loss = functional.kl_div(log_p, Tensor([[0.0, 1.0]]), reduction="sum")
    loss.backward()
    assert loss.item() == 0.0
    assert log_p.grad.tolist() == [[0.0, -1.0]]


def test_equal_vectors_have_a_distance_with_a_gradient(device: Any) -> None:
    a = Tensor([[1.0, 2.0]], requires_grad=True)
    functional.triplet_margin_loss(a, Tensor([[1.0, 2.0]]), Tensor([[1.0, 2.0]]), eps=0.0).backward()
    assert a.grad.tolist() == [[0.0, 0.0]]
    cosine = functional.cosine_embedding_loss(Tensor([[0.0, 0.0]]), Tensor([[1.0, 1.0]]), Tensor([1.0]))
    assert cosine.item() == 1.0


def test_variances_below_eps() -> None:
    """They count as eps, and their gradient passes."""
    var = Tensor([0.0], requires_grad=True, dtype=nd.float64)
    loss = functional.gaussian_nll_loss(Tensor([1.0]), Tensor([1.0]), var, eps=0.5)
    loss.backward()
    assert loss.item() == pytest.approx(0.5 * log(0.5))
    assert var.grad.item() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["NLLLoss", "MultiMarginLoss", "MultiLabelMarginLoss"])
def test_class_indices_are_checked(name: str) -> None:
    loss, logits = getattr(nn, name)(), Tensor(normal(2, 3))
    shape = (2, 3) if name == "MultiLabelMarginLoss" else (2,)
    with pytest.raises(nd.IndexingError, match="3 classes"):
        loss(logits, Tensor(np.full(shape, 3)))
    with pytest.raises(nd.DTypeError, match="integer"):
        loss(logits, Tensor(np.full(shape, 1.0)))
    if name != "MultiLabelMarginLoss":
        with pytest.raises(nd.IndexingError):
            loss(logits, Tensor([0, -1]))
        with pytest.raises(nd.ShapeError, match=r"\(3,\)"):
            loss(logits, Tensor([0, 1, 1]))
        with pytest.raises(nd.ShapeError, match="does not fit 3 classes"):
            getattr(nn, name)(weight=Tensor([1.0]))(logits, Tensor([0, 1]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: functional.binary_cross_entropy(Tensor([1.5]), Tensor([1.0])), ValueError, "between 0 and 1"),
        (lambda: functional.huber_loss(Tensor([1.0]), Tensor([1.0]), delta=0.0), ValueError, "delta"),
        (lambda: functional.smooth_l1_loss(Tensor([1.0]), Tensor([1.0]), beta=-1.0), ValueError, "beta"),
        (lambda: functional.multi_margin_loss(Tensor([1.0]), Tensor(0), p=3), ValueError, "p must be 1 or 2"),
        (lambda: functional.gaussian_nll_loss(Tensor([1.0]), Tensor([1.0]), -1.0), ValueError, "negative"),
        (lambda: functional.gaussian_nll_loss(*[Tensor(normal(3, 2))] * 2, Tensor([1.0])), nd.ShapeError, "variance"),
        (lambda: functional.triplet_margin_loss(*[Tensor([1.0])] * 3, margin=0.0), ValueError, "margin"),
        (lambda: functional.cosine_embedding_loss(*[Tensor([[1.0]])] * 3), nd.ShapeError, "target"),
        (lambda: functional.margin_ranking_loss(Tensor([1.0]), Tensor(1.0), Tensor([1.0])), nd.ShapeError, "differ"),
        (lambda: functional.mse_loss(*[Tensor([1.0])] * 2, weight=Tensor([1.0, 1.0])), nd.ShapeError, "weight"),
        (lambda: functional.kl_div(*[Tensor([1.0])] * 2, reduction="batch"), ValueError, "'batchmean'"),
        (lambda: nn.L1Loss(reduction="batchmean"), ValueError, "'batchmean'"),
        (lambda: functional.cross_entropy(*[Tensor([0.5, 0.5])] * 2, ignore_index=1), ValueError, "ignore_index"),
    ],
)  # fmt: skip
def test_bad_arguments(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call().realize()


def test_options_that_are_not_the_default_are_printed() -> None:
    assert repr(nn.CTCLoss(blank=2)) == "CTCLoss(blank=2)"
    assert repr(nn.HuberLoss("sum", 0.5).eval()) == "HuberLoss(reduction='sum', delta=0.5)"
    assert repr(nn.MSELoss()) == "MSELoss()"
