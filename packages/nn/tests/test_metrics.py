"""Metrics: by hand, against scikit-learn, and batch by batch as at once."""

from math import exp, isnan
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import metrics

ROWS, CLASSES = 60, 4


@pytest.fixture(scope="session")
def sklearn() -> Any:
    """scikit-learn's metrics, the oracle, where it is installed."""
    return pytest.importorskip("sklearn.metrics")


def drawn(seed: int = 0) -> tuple[Any, Any]:
    """Logits with many ties, and labels."""
    generator = np.random.default_rng(seed)
    return generator.integers(-3, 4, (ROWS, CLASSES)) / 2.0, generator.integers(0, CLASSES, ROWS)


def in_batches(metric: metrics.Metric, output: Any, target: Any) -> Any:
    """After a reset, over batches of different sizes."""
    metric.update(Tensor(output), Tensor(target))
    metric.reset()
    for start, end in ((0, 7), (7, 8), (8, len(target))):
        metric.update(Tensor(output[start:end]), Tensor(target[start:end]))
    return metric.compute().numpy()


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_top_k(k: int, device: Any) -> None:
    """By ranks in a stable sort."""
    logits, labels = drawn()
    ranks = np.argsort(np.argsort(-logits, axis=1, kind="stable"), axis=1)[np.arange(ROWS), labels]
    expected = (ranks < k).mean()
    assert metrics.top_k_accuracy(Tensor(logits), Tensor(labels), k).item() == pytest.approx(expected)
    assert in_batches(metrics.Accuracy(k), logits, labels) == pytest.approx(expected)
    if k == 1:
        assert metrics.accuracy(Tensor(logits), Tensor(labels)).item() == pytest.approx(expected)


def test_top_k_matches_sklearn(sklearn: Any) -> None:
    logits = np.random.default_rng(1).normal(size=(ROWS, CLASSES))
    labels = drawn()[1]
    expected = sklearn.top_k_accuracy_score(labels, logits, k=2)
    assert metrics.top_k_accuracy(Tensor(logits), Tensor(labels), 2).item() == pytest.approx(expected)


def test_confusion_matrix(sklearn: Any) -> None:
    logits, labels = drawn()
    expected = sklearn.confusion_matrix(labels, logits.argmax(1), labels=range(5))
    np.testing.assert_array_equal(metrics.confusion_matrix(Tensor(logits), Tensor(labels), 5).numpy(), expected)
    np.testing.assert_array_equal(in_batches(metrics.ConfusionMatrix(5), logits, labels), expected)
    np.testing.assert_array_equal(in_batches(metrics.ConfusionMatrix(5), logits.argmax(1), labels), expected)


@pytest.mark.parametrize("normalize", ["true", "pred", "all"])
def test_shares_of_the_confusion_matrix(sklearn: Any, normalize: str) -> None:
    """Class 4 does not occur, and nothing is taken for it."""
    logits, labels = drawn()
    expected = sklearn.confusion_matrix(labels, logits.argmax(1), labels=range(5), normalize=normalize)
    found = metrics.confusion_matrix(Tensor(logits), Tensor(labels), 5, normalize=normalize)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="normalize"):
        metrics.confusion_matrix(Tensor(logits), Tensor(labels), normalize="rows")


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
@pytest.mark.parametrize(
    ("name", "function"),
    [("Precision", "precision_score"), ("Recall", "recall_score"), ("F1Score", "f1_score")],
)
def test_rates(sklearn: Any, name: str, function: str, average: str | None) -> None:
    """Class 1 is never the target, class 3 never taken, class 4 neither."""
    generator = np.random.default_rng(0)
    labels = np.asarray([0, 2, 3])[generator.integers(0, 3, ROWS)]
    taken = generator.integers(0, 3, ROWS)
    classes = range(4) if average is None else None
    expected = getattr(sklearn, function)(labels, taken, average=average, zero_division=0, labels=classes)
    number = 4 if average is None else 5
    found = in_batches(getattr(metrics, name)(number, average), taken, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    short = {"Precision": metrics.precision, "Recall": metrics.recall, "F1Score": metrics.f1_score}[name]
    np.testing.assert_allclose(short(Tensor(taken), Tensor(labels), number, average).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("ties", [True, False])
def test_auc(sklearn: Any, ties: bool) -> None:
    logits, labels = drawn(2)
    scores = logits[:, 0] if ties else np.random.default_rng(3).normal(size=ROWS)
    target = (labels > 1).astype(int)
    expected = sklearn.roc_auc_score(target, scores)
    assert metrics.roc_auc(Tensor(scores), Tensor(target)).item() == pytest.approx(expected, rel=1e-12)
    assert in_batches(metrics.ROCAUC(), scores, target) == pytest.approx(expected, rel=1e-12)


def test_auc_of_several_classes(sklearn: Any) -> None:
    logits, labels = drawn(4)
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = sklearn.roc_auc_score(labels, shares, multi_class="ovr")
    assert metrics.roc_auc(Tensor(shares), Tensor(labels)).item() == pytest.approx(expected, rel=1e-12)


def test_auc_by_hand(device: Any) -> None:
    """Every pair of a positive and a negative row, equals for half."""
    scores, target = np.asarray([0.5, 0.5, 0.2, 0.9, 0.5]), np.asarray([1, 0, 0, 1, 1])
    pairs = [(p > n) + 0.5 * (p == n) for p in scores[target == 1] for n in scores[target == 0]]
    assert metrics.roc_auc(Tensor(scores), Tensor(target)).item() == pytest.approx(np.mean(pairs))
    assert metrics.roc_auc(Tensor([-np.inf, np.inf]), Tensor([0, 1])).item() == 1.0
    assert isnan(metrics.roc_auc(Tensor([0.5]), Tensor([1])).item())
    assert isnan(metrics.ROCAUC().compute().item())
    with pytest.raises(ValueError, match="NaN"):
        metrics.roc_auc(Tensor([np.nan, 1.0]), Tensor([0, 1]))


def test_perplexity(device: Any) -> None:
    """exp of the mean of -log softmax over the rows that count."""
    logits, labels = drawn()
    labels[3] = -100
    shifted = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    counted = labels != -100
    expected = exp(-shifted[np.arange(ROWS), labels % CLASSES][counted].mean())
    assert metrics.perplexity(Tensor(logits), Tensor(labels)).item() == pytest.approx(expected)
    assert in_batches(metrics.Perplexity(), logits, labels) == pytest.approx(expected)
    assert metrics.perplexity(Tensor([[0.0, 1e4]]), Tensor([0])).item() == np.inf


def test_dice(sklearn: Any) -> None:
    generator = np.random.default_rng(0)
    shares, mask = generator.uniform(size=ROWS), generator.integers(0, 2, ROWS)
    expected = sklearn.f1_score(mask, shares > 0.3)
    assert metrics.dice_score(Tensor(shares), Tensor(mask), 0.3).item() == pytest.approx(expected)
    assert in_batches(metrics.Dice(0.3), shares, mask) == pytest.approx(expected)
    assert isnan(metrics.dice_score(Tensor([0.0]), Tensor([0.0])).item())


@pytest.mark.parametrize("name", ["mean_absolute_error", "mean_squared_error", "root_mean_squared_error"])
def test_mean_errors(sklearn: Any, name: str) -> None:
    generator = np.random.default_rng(0)
    output, target = generator.normal(size=(2, ROWS, 3))
    expected = np.mean(getattr(sklearn, name)(target.ravel(), output.ravel()))
    assert getattr(metrics, name)(Tensor(output), Tensor(target)).item() == pytest.approx(expected)
    kind = "".join(word.capitalize() for word in name.split("_"))
    assert in_batches(getattr(metrics, kind)(), output, target) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [metrics.MeanSquaredError, metrics.RootMeanSquaredError, metrics.Accuracy])
def test_nothing_has_no_mean(kind: Any) -> None:
    assert isnan(kind().compute().item())


def test_bad_arguments() -> None:
    one, two = Tensor([1.0]), Tensor([1.0, 2.0])
    for function in (metrics.mean_squared_error, metrics.dice_score, metrics.roc_auc):
        with pytest.raises(nd.ShapeError):
            function(one, two)
    with pytest.raises(nd.IndexingError, match="2 classes"):
        metrics.confusion_matrix(Tensor([0, 2]), Tensor([0, 1]), 2)
    with pytest.raises(nd.ShapeError):
        metrics.confusion_matrix(Tensor([0, 1]), Tensor([0]))
    with pytest.raises(ValueError, match="'mean'"):
        metrics.F1Score(2, "mean")
    with pytest.raises(ValueError, match="k must be 1 or more"):
        metrics.top_k_accuracy(Tensor([[1.0]]), Tensor([0]), 0)


@pytest.mark.parametrize("kind", [metrics.Accuracy, metrics.Dice, metrics.MeanSquaredError, metrics.ROCAUC])
def test_lists_say_what_to_write(kind: Any) -> None:
    with pytest.raises(nd.DTypeError, match=f"^{kind.__name__}: it got a list where a Tensor is needed"):
        kind().update([[0.5, 0.5]], [1])
