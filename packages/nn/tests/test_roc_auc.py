"""Areas under the curve of several labels and classes, and of a part of the curve, as scikit-learn has them."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import metrics

ROWS = 80


@pytest.fixture
def oracle() -> Any:
    return pytest.importorskip("sklearn.metrics").roc_auc_score


def drawn(*shape: int) -> Any:
    """With ties."""
    return np.random.default_rng(0).integers(0, 20, shape) / 20.0


def agree(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("max_fpr", [None, 0.05, 0.3, 0.999, 1.0])
@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [False, True]])
def test_two_classes(oracle: Any, labels: list[Any], max_fpr: float | None) -> None:
    scores, target = drawn(ROWS), np.asarray(labels)[np.random.default_rng(1).integers(0, 2, ROWS)]
    agree(metrics.roc_auc(Tensor(scores), Tensor(target), max_fpr=max_fpr), oracle(target, scores, max_fpr=max_fpr))


@pytest.mark.parametrize("max_fpr", [None, 0.4])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
def test_several_labels(oracle: Any, average: str | None, max_fpr: float | None) -> None:
    scores, target = drawn(ROWS, 3), (np.random.default_rng(1).uniform(size=(ROWS, 3)) < [0.2, 0.5, 0.7]).astype(int)
    expected = oracle(target, scores, average=average, max_fpr=max_fpr)
    agree(metrics.roc_auc(Tensor(scores), Tensor(target), average, max_fpr=max_fpr), expected)
    metric = metrics.ROCAUC(average, max_fpr=max_fpr)
    for part in (slice(0, 30), slice(30, ROWS)):
        metric.update(Tensor(scores[part]), Tensor(target[part] > 0))
    agree(metric.compute(), expected)


@pytest.mark.parametrize(
    ("multi_class", "average"),
    [("ovr", "macro"), ("ovr", "micro"), ("ovr", "weighted"), ("ovr", None), ("ovo", "macro"), ("ovo", "weighted")],
)
def test_several_classes(oracle: Any, multi_class: str, average: str | None) -> None:
    shares = drawn(ROWS, 4) + 0.1
    shares /= shares.sum(axis=1, keepdims=True)
    target = np.random.default_rng(1).choice(4, ROWS, p=[0.1, 0.2, 0.3, 0.4])
    expected = oracle(target, shares, multi_class=multi_class, average=average)
    agree(metrics.roc_auc(Tensor(shares), Tensor(target), average, multi_class=multi_class), expected)


def test_arguments() -> None:
    scores, target = Tensor(drawn(6, 3)), Tensor([0, 1, 2, 0, 1, 2])
    for options in ({"average": "other"}, {"multi_class": "all"}, {"max_fpr": 0.0}, {"max_fpr": 1.5}):
        with pytest.raises(ValueError, match="roc_auc"):
            metrics.roc_auc(scores, target, **options)
    with pytest.raises(ValueError, match="'macro' and 'weighted'"):
        metrics.roc_auc(scores, target, None, multi_class="ovo")
    for wrong in ([0, 2], [-1, 0], [0.5, 1.0]):
        with pytest.raises(nd.IndexingError, match="0 to 1"):
            metrics.roc_auc(Tensor([0.1, 0.2]), Tensor(wrong))


def test_a_state_saved_before_there_were_options() -> None:
    metric = metrics.ROCAUC("weighted")
    saved = {"scores": [nd.asarray([0.1, 0.4])], "targets": [nd.asarray([0, 1])]}
    metric.load_state_dict(saved)
    assert (metric.compute().item(), metric.average) == (1.0, "weighted")
    with pytest.raises(ValueError, match="ROCAUC"):
        metric.load_state_dict({"scores": []})
