"""The cpu's attention kernels: against formulas in float64, on every instruction set, with any number of threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray.attention import _CPU, attention, attention_gradient

pytestmark = pytest.mark.usefixtures("instruction_set")
GENERATOR = np.random.default_rng(0)
NEAR = {"float32": 2e-5, "float64": 1e-13}
SHAPES = [  # batch, queries, keys, features, width: around the edges of the blocks
    ((1,), 1, 1, 1, 1),
    ((2, 3), 64, 64, 32, 32),
    ((2,), 65, 129, 7, 33),
    ((1, 2), 257, 130, 16, 5),
    ((3,), 5, 300, 40, 17),
    ((1,), 300, 3, 2, 70),
]


def draw(*shape: int, dtype: str = "float64") -> Any:
    return GENERATOR.normal(size=shape).astype(dtype)


def weights_of(query: Any, key: Any, seen: Any, added: Any, scale: float) -> tuple[Any, Any]:
    scores = np.where(seen, scale * (query @ np.swapaxes(key, -1, -2)) + added, -np.inf)
    top = np.max(scores, axis=-1, keepdims=True, initial=-1e300)
    powers = np.exp(scores - top)
    total = powers.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return powers / np.where(total, total, 1.0), np.log(total) + top


def gradients_of(gradient: Any, weights: Any, query: Any, key: Any, value: Any, scale: float) -> tuple[Any, ...]:
    """By the Jacobian of softmax, diag(p) - p p^T."""
    by_weight = gradient @ np.swapaxes(value, -1, -2)
    by_score = weights * (by_weight - (weights * by_weight).sum(axis=-1, keepdims=True)) * scale
    return by_score @ key, np.swapaxes(by_score, -1, -2) @ query, np.swapaxes(weights, -1, -2) @ gradient


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the kernels answer."""
    answers: list[bool] = []

    def watched(kernel: Any) -> Any:
        def call(*arguments: Any) -> bool:
            answers.append(kernel(*arguments))
            return answers[-1]

        return call

    for name in ("attention", "attention_gradient"):
        monkeypatch.setitem(_CPU, name, watched(_CPU[name]))
    return answers


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("form", ["whole", "causal", "past", "future", "chosen", "added"])
def test_blocks(shape: Any, form: str, dtype: str, served: list[bool]) -> None:
    batch, queries, keys, features, width = shape
    tails = ((queries, features), (keys, features), (keys, width), (queries, width))
    exact = [draw(*batch, *tail, dtype=dtype).astype("float64") for tail in tails]
    query, key, value, gradient = (nd.asarray(each, dtype=dtype) for each in exact)
    options: dict[str, Any] = {"scale": 0.3}
    seen, added, mask = np.ones((queries, keys), bool), np.zeros((queries, keys)), []
    if form in ("causal", "past", "future"):
        past = {"causal": 0, "past": 70, "future": -3}[form]
        seen = np.tri(queries, keys, past, dtype=bool)
        options |= {"causal": True, "past": past}
    elif form == "chosen":
        seen = GENERATOR.random((queries, keys)) > 0.5
        seen[: queries // 2 : 3] = False
        mask = [nd.asarray(seen)]
    elif form == "added":
        added = draw(*batch, 1, keys)
        mask = [nd.asarray(added, dtype=dtype)]
    weights, total = weights_of(exact[0], exact[1], seen, added, 0.3)
    out, logsumexp = attention(query, key, value, *mask, **options)
    found = attention_gradient(gradient, query, key, value, out, logsumexp, *mask, **options)
    assert served == [True, True]
    near = NEAR[dtype] * max(1.0, (queries / 30) ** 0.5)
    np.testing.assert_allclose(out.numpy(), weights @ exact[2], rtol=near, atol=near)
    hidden = total < -1e299
    assert np.array_equal(np.isneginf(logsumexp.numpy()), np.broadcast_to(hidden, logsumexp.shape))
    np.testing.assert_allclose(np.where(hidden, 0, logsumexp.numpy()), np.where(hidden, 0, total), near, near)
    expected = gradients_of(exact[3], weights, exact[0], exact[1], exact[2], 0.3)
    for each, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(each.numpy(), wanted, rtol=near, atol=near)


def test_heads_of_one_projection(served: list[bool]) -> None:
    """Views of (batch, steps, 3, heads, features), whose results join again without a copy."""
    whole = draw(2, 70, 3, 4, 8)
    parts = [nd.asarray(whole)[:, :, at].transpose(0, 2, 1, 3) for at in range(3)]
    exact = [np.swapaxes(whole[:, :, at], 1, 2) for at in range(3)]
    out, total = attention(*parts)
    joined = out.transpose(0, 2, 1, 3).reshape(2, 70, 32, copy=False)
    weights, _ = weights_of(exact[0], exact[1], True, 0.0, 8**-0.5)
    np.testing.assert_allclose(np.asarray(out), weights @ exact[2], rtol=1e-12, atol=1e-12)
    ones = nd.ones(()).view_broadcast(out.shape)  # as a sum leaves it
    found = attention_gradient(ones, parts[0], parts[1], parts[2], out, total)
    expected = gradients_of(np.ones(out.shape), weights, exact[0], exact[1], exact[2], 8**-0.5)
    assert served[0] and joined.is_contiguous
    for each, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(each), wanted, rtol=1e-12, atol=1e-12)


def test_layouts_without_dense_rows_are_composed(served: list[bool]) -> None:
    query, key, value = draw(3, 4, 5), draw(3, 5, 6), draw(3, 6, 2)
    out, _ = attention(nd.asarray(query), nd.asarray(key).mT, nd.asarray(value))
    weights, _ = weights_of(query, np.swapaxes(key, 1, 2), True, 0.0, 5**-0.5)
    assert served == [False]
    np.testing.assert_allclose(np.asarray(out), weights @ value, rtol=1e-12)


def test_what_is_no_number_shows(served: list[bool]) -> None:
    """NaN in a query spoils its row, in a key every row that sees it, and infinite scores are no weights."""
    query, key, value = draw(70, 4), draw(140, 4), draw(140, 3)
    query[3], query[5, 0], key[130] = np.nan, np.inf, np.nan
    key[:, 0] = np.abs(key[:, 0])
    out = np.asarray(attention(nd.asarray(query), nd.asarray(key), nd.asarray(value), causal=True, past=65)[0])
    spoilt = np.arange(70) >= 65
    spoilt[[3, 5]] = True
    assert served == [True] and np.array_equal(np.isnan(out).any(axis=1), spoilt)
    far = nd.asarray(np.array([[1000.0], [-1000.0]]))
    assert attention(far, far, far, scale=1.0)[0].tolist() == [[1000.0], [-1000.0]]


def test_results_do_not_depend_on_threads(threads: Callable[[int], None], served: list[bool]) -> None:
    query, key, value, gradient = (nd.asarray(draw(2, 3, 300, 16, dtype="float32")) for _ in range(4))
    results = []
    for count in (1, 2, 3):
        threads(count)
        out, total = attention(query, key, value, causal=True)
        results.append((out, total, *attention_gradient(gradient, query, key, value, out, total, causal=True)))
    assert all(served)
    for others in results[1:]:
        for first, other in zip(results[0], others, strict=True):
            assert first.numpy().tobytes() == other.numpy().tobytes()
