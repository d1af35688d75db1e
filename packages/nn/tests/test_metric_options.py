"""Options and metrics as scikit-learn has them, with it as the oracle: labels, averages, weights, probabilities."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import metrics

sklearn = pytest.importorskip("sklearn.metrics")

RNG = np.random.default_rng(0)
ROWS = 60
WEIGHTS = RNG.integers(0, 5, ROWS) / 2.0
PREDICTED, ACTUAL = RNG.choice(4, (2, ROWS), p=[0.1, 0.2, 0.3, 0.4])
PREDICTED[PREDICTED == 2] = 1  # nothing is taken for class 2
RATES = [
    (metrics.precision, metrics.Precision, sklearn.precision_score),
    (metrics.recall, metrics.Recall, sklearn.recall_score),
    (metrics.f1_score, metrics.F1Score, sklearn.f1_score),
]


def agree(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("labels", [None, [2, 0], [5, 1]])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
def test_rates(average: str | None, labels: list[int] | None, zero_division: float, weights: Any) -> None:
    given = None if weights is None else Tensor(weights)
    options: dict[str, Any] = {"average": average, "labels": labels, "zero_division": zero_division}
    for function, kind, oracle in RATES:
        expected = oracle(ACTUAL, PREDICTED, sample_weight=weights, **options)
        classes = 4 if labels is None else 6
        agree(function(Tensor(PREDICTED), Tensor(ACTUAL), classes, sample_weight=given, **options), expected)
        metric = kind(classes, **options)
        for rows in (slice(0, 25), slice(25, ROWS)):
            part = None if weights is None else Tensor(weights[rows])
            metric.update(Tensor(PREDICTED[rows]), Tensor(ACTUAL[rows]), part)
        agree(metric.compute(), expected)


@pytest.mark.parametrize("pos_label", [0, 1])
def test_binary_rates(pos_label: int) -> None:
    predicted, actual = PREDICTED > 0, ACTUAL > 1
    for function, _, oracle in RATES:
        found = function(Tensor(predicted * 1), Tensor(actual * 1), average="binary", pos_label=pos_label)
        agree(found, oracle(actual, predicted, average="binary", pos_label=pos_label))


def test_a_rate_saved_before_it_had_options() -> None:
    metric = metrics.Recall(2)
    counts = nd.asarray([[3, 1], [0, 4]])
    metric.load_state_dict({"num_classes": 2, "matrix": counts, "average": "macro"})
    assert metric.compute().item() == 0.875
    with pytest.raises(nd.IndexingError, match="outside of the 2 classes"):
        metrics.Recall(2, labels=[2])


def test_weights_of_rows() -> None:
    logits, weights = RNG.normal(size=(ROWS, 4)), Tensor(WEIGHTS)
    found = metrics.accuracy(Tensor(logits), Tensor(ACTUAL), sample_weight=weights)
    agree(found, sklearn.accuracy_score(ACTUAL, logits.argmax(1), sample_weight=WEIGHTS))
    found = metrics.top_k_accuracy(Tensor(logits), Tensor(ACTUAL), 2, sample_weight=weights)
    agree(found, sklearn.top_k_accuracy_score(ACTUAL, logits, k=2, sample_weight=WEIGHTS))
    found = metrics.confusion_matrix(Tensor(PREDICTED), Tensor(ACTUAL), sample_weight=weights, normalize="pred")
    agree(found, sklearn.confusion_matrix(ACTUAL, PREDICTED, sample_weight=WEIGHTS, normalize="pred"))
    target = RNG.normal(size=(ROWS, 4))
    for name in ("mean_absolute_error", "mean_squared_error"):
        found = getattr(metrics, name)(Tensor(logits), Tensor(target), sample_weight=weights)
        agree(found, getattr(sklearn, name)(target, logits, sample_weight=WEIGHTS))
    with pytest.raises(nd.ShapeError, match="one for each row"):
        metrics.accuracy(Tensor(logits), Tensor(ACTUAL), sample_weight=Tensor([1.0]))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
@pytest.mark.parametrize("several", ["labels", "classes"])
@pytest.mark.parametrize("name", ["average_precision", "roc_auc"])
def test_ranks(name: str, several: str, average: str | None, weights: Any) -> None:
    rng = np.random.default_rng(1)
    scores = rng.integers(1, 15, (ROWS, 4)) / 20.0  # with ties
    scores /= scores.sum(axis=1, keepdims=True) if several == "classes" else 1.0
    target = ACTUAL if several == "classes" else (rng.uniform(size=(ROWS, 4)) < [0.2, 0.4, 0.5, 0.8]).astype(int)
    oracle = getattr(sklearn, f"{name}_score")
    options = {"multi_class": "ovr"} if name == "roc_auc" and several == "classes" else {}
    expected = oracle(target, scores, average=average, sample_weight=weights, **options)
    given = None if weights is None else Tensor(weights)
    agree(getattr(metrics, name)(Tensor(scores), Tensor(target), average, sample_weight=given), expected)
    if weights is None:
        metric = metrics.ROCAUC(average) if name == "roc_auc" else metrics.AveragePrecision(average)
        for rows in (slice(0, 25), slice(25, ROWS)):
            metric.update(Tensor(scores[rows]), Tensor(target[rows]))
        agree(metric.compute(), expected)


def test_average_precision_of_one_question() -> None:
    scores, target = RNG.integers(0, 9, ROWS) / 9.0, ACTUAL > 1
    expected = sklearn.average_precision_score(target, scores)
    agree(metrics.average_precision(Tensor(scores), Tensor(target)), expected)
    agree(metrics.average_precision(Tensor(scores), Tensor(target * 2 - 1)), expected)
    assert np.isnan(metrics.average_precision(Tensor(scores), Tensor(target & False)).item())
    assert np.isnan(metrics.average_precision(Tensor(np.zeros(0)), Tensor(np.zeros(0))).item())


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_loss(dtype: Any, weights: Any) -> None:
    shares = RNG.dirichlet(np.ones(4), ROWS).astype(dtype)
    shares[0], shares[1] = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]
    given = None if weights is None else Tensor(weights)
    found = metrics.log_loss(Tensor(shares), Tensor(ACTUAL), sample_weight=given)
    expected = sklearn.log_loss(ACTUAL, shares, sample_weight=weights)
    np.testing.assert_allclose(found.item(), expected, rtol=1e-12 if dtype == np.float64 else 1e-6)
    one = shares[:, 0].astype(np.float64)
    agree(metrics.log_loss(Tensor(one), Tensor(ACTUAL > 1)), sklearn.log_loss(ACTUAL > 1, one))


def test_calibration_error_by_its_definition() -> None:
    shares = RNG.dirichlet(np.full(3, 0.5), 200)
    shares[0] = [1.0, 0.0, 0.0]
    target = RNG.integers(0, 3, 200)
    confidence, right = shares.max(1), shares.argmax(1) == target
    expected = 0.0
    for low in np.arange(10) / 10.0:
        rows = (confidence > low) & (confidence <= low + 0.1)
        if rows.any():
            expected += rows.mean() * abs(right[rows].mean() - confidence[rows].mean())
    agree(metrics.calibration_error(Tensor(shares), Tensor(target), bins=10), expected)
    metric = metrics.CalibrationError(10)
    metric.update(Tensor(shares[:70]), Tensor(target[:70]))
    metric.update(Tensor(shares[70:]), Tensor(target[70:]))
    agree(metric.compute(), expected)
    for wrong in ([[1.5, -0.5]], [[np.nan, 1.0]]):
        with pytest.raises(ValueError, match="softmax"):
            metrics.calibration_error(Tensor(wrong), Tensor([0]))
    for bins in (0, -1):
        with pytest.raises(ValueError, match="bins must be 1 or more"):
            metrics.calibration_error(Tensor([0.5]), Tensor([1]), bins=bins)


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize(("given", "options"), [
    (([0, 0], [0, 0]), {"average": "binary"}),
    (([0, 0], [0, 0]), {"average": "binary", "pos_label": 0}),
    (([0, 1, 1], [0, 0, 1]), {"average": None, "labels": [1, 3, 0]}),
    (([0, 1, 1], [0, 0, 1]), {"average": "macro", "labels": np.asarray([2])}),
    (([2, 2], [2, 2]), {"average": "micro", "labels": [0, 4]}),
    (([2, 2], [2, 2]), {"average": "weighted", "labels": [0, 2, 4]}),
])  # fmt: skip
@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
def test_labels_that_a_batch_does_not_have(name: str, given: Any, options: Any, zero_division: float) -> None:
    """A batch without the class that is asked for is no mistake."""
    predicted, actual = (np.asarray(each) for each in given)
    rate = getattr(metrics, "f1_score" if name == "f1" else name)
    found = rate(Tensor(predicted), Tensor(actual), **options, zero_division=zero_division)
    oracle = getattr(sklearn, f"{name}_score")
    agree(found, oracle(actual, predicted, **options, zero_division=zero_division))


def test_a_class_without_a_share_in_the_average() -> None:
    """What weighs nothing may be undefined."""
    scores, target = RNG.uniform(size=(ROWS, 3)), np.stack([ACTUAL > 0, ACTUAL > 1, ACTUAL < 0], axis=1)
    found = metrics.roc_auc(Tensor(scores), Tensor(target), "weighted")
    agree(found, sklearn.roc_auc_score(target[:, :2], scores[:, :2], average="weighted"))
    assert np.isnan(metrics.roc_auc(Tensor(scores), Tensor(target), "macro").item())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_confidences_on_the_edges_of_bins(dtype: str) -> None:
    """Lightning-AI/torchmetrics#3510: 0.2 is the upper edge of the first of five bins in every dtype, and 1 has no bin
    of its own."""
    metric = metrics.CalibrationError(5)
    metric.update(Tensor(np.asarray([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], dtype=dtype)), Tensor([0, 0, 1, 1, 0, 1]))
    assert metric.rows.tolist() == [2.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", [name for name in metrics.__all__ if name.islower()])
def test_operands_that_are_no_tensors(name: str) -> None:
    rows = [[0.2, 0.8], [0.5, 0.5]] if name in ("accuracy", "top_k_accuracy", "perplexity") else [0, 1]
    for kind in (list, np.asarray, nd.asarray):
        with pytest.raises(nd.DTypeError, match=r"(write|with) Tensor"):
            getattr(metrics, name)(kind(rows), kind([0, 1]))
