"""Attention and its gradient (attention_gradient; attention_mma and attention_mma_gradient for halves) against the
definition in float64, over ragged lengths."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.cuda import emulated_backend
from treadle.ndarray.attention import attention, attention_gradient

NEAR = {"float32": 4e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
DTYPES = [name for name in NEAR if name in getattr(emulated_backend(), "dtypes", NEAR)]
GENERATOR = np.random.default_rng(0)


def put(x: Any, dtype: str, device: str) -> nd.NDArray:
    """On the device, rounded to a dtype, and so in x too."""
    array = nd.asarray(x).astype(dtype)
    x[...] = array.astype("float64").numpy()
    return array.to_device(device)


def check(found: nd.NDArray, expected: Any, dtype: str, scale: float) -> None:
    got = found.to_device("cpu").astype("float64").numpy()
    np.testing.assert_allclose(got, expected, rtol=4 * NEAR[dtype], atol=scale * NEAR[dtype])


def defined(operands: list[Any], mask: Any, scale: float) -> list[Any]:
    """Result, logarithms of the sums, and the gradients of query, key and value; the mask is added."""
    query, key, value, gradient = operands
    scores = query @ np.swapaxes(key, -1, -2) * scale + mask
    top = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(top), 0.0, top))
    total = powers.sum(-1, keepdims=True)
    weights = powers / np.where(total, total, 1.0)
    by_weight = gradient @ np.swapaxes(value, -1, -2)
    by_score = weights * (by_weight - (by_weight * weights).sum(-1, keepdims=True)) * scale
    with np.errstate(divide="ignore"):
        logarithm = np.log(total) + np.where(np.isinf(top), 0.0, top)
    by_key = np.swapaxes(by_score, -1, -2) @ query
    return [weights @ value, logarithm, by_score @ key, by_key, np.swapaxes(weights, -1, -2) @ gradient]


def masks(kind: str, queries: int, keys: int, dtype: str, device: str) -> tuple[list[nd.NDArray], Any]:
    if kind == "chosen":
        seen = GENERATOR.random((queries, keys)) > 0.4
        seen[queries // 2] = False  # a query that may look nowhere
        return [nd.asarray(seen, device=device)], np.where(seen, 0.0, -np.inf)
    if kind == "added":
        added = GENERATOR.normal(size=(queries, 1)) * GENERATOR.normal(size=(1, keys))
        return [put(added, "float64" if dtype == "float64" else "float32", device)], added
    return [], 0.0


# (queries, keys, features, width): within one tile, at its edge, over it; every length of a tile's rows.
SIZES = [
    (1, 1, 1, 1), (5, 7, 3, 4), (32, 32, 32, 32), (33, 70, 40, 17), (40, 35, 64, 64), (70, 67, 20, 20),
    (20, 37, 100, 128),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", ["none", "chosen", "added"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_attention(device: str, schedule: str, sizes: tuple[int, ...], mask: str, causal: bool, dtype: str) -> None:
    queries, keys, features, width = sizes
    shapes = (2, queries, features), (2, keys, features), (2, keys, width), (2, queries, width)
    exact = [GENERATOR.normal(size=shape) for shape in shapes]
    query, key, value, gradient = (put(each, dtype, device) for each in exact)
    more, added = masks(mask, queries, keys, dtype, device)
    if causal:
        added = added + np.where(np.tri(queries, keys, 2, dtype=bool), 0.0, -np.inf)
    expected = defined(exact, added, 0.4)
    made = attention(query, key, value, *more, causal=causal, past=2, scale=0.4)
    check(made[0], expected[0], dtype, 4.0)
    check(made[1], expected[1], "float64" if dtype == "float64" else "float32", 10.0)
    found = attention_gradient(gradient, query, key, value, *made, *more, causal=causal, past=2, scale=0.4)
    for mine, other in zip(found, expected[2:], strict=True):
        check(mine, other, dtype, 8.0 * np.abs(other).max() if dtype.endswith("16") else 40.0)


def test_heads_that_a_view_splits_off_are_read_and_written_where_they_lie(device: str, grid: int) -> None:
    joint = GENERATOR.normal(size=(3, 2, 9, 3, 4, 8))  # (other, batch, steps, kind, heads, features)
    exact = [np.swapaxes(joint[0, :, :, kind], 1, 2) for kind in range(3)]
    on_device = nd.asarray(joint, device=device)
    query, key, value = (on_device[0, :, :, kind].swapaxes(1, 2) for kind in range(3))
    gradient = GENERATOR.normal(size=(2, 4, 9, 8))
    expected = defined([*exact, gradient], np.where(np.tri(9, dtype=bool), 0.0, -np.inf), 8**-0.5)
    made = attention(query, key, value, causal=True)
    check(made[0], expected[0], "float64", 4.0)
    assert made[0].swapaxes(1, 2).is_contiguous
    given = nd.asarray(gradient, device=device)
    found = attention_gradient(given, query, key, value, *made, causal=True)
    for mine, other in zip(found, expected[2:], strict=True):
        check(mine, other, "float64", 10.0)
        assert mine.swapaxes(1, 2).is_contiguous


def test_leading_axes_broadcast(device: str) -> None:
    exact = [GENERATOR.normal(size=shape) for shape in ((2, 3, 4, 5), (3, 6, 5), (2, 1, 6, 7))]
    query, key, value = (nd.asarray(each, device=device) for each in exact)
    gradient = GENERATOR.normal(size=(2, 3, 4, 7))
    wide = [np.broadcast_to(each, (2, 3, *each.shape[-2:])) for each in exact]
    expected = defined([*wide, gradient], 0.0, 5**-0.5)
    made = attention(query, key, value)
    found = attention_gradient(nd.asarray(gradient, device=device), query, key, value, *made)
    for mine, other in zip((*made, *found), expected, strict=True):
        check(mine, other, "float64", 10.0)


def test_values_that_are_not_finite_stay_in_their_rows(device: str) -> None:
    query = nd.asarray([[1.0], [np.nan], [np.inf], [2.0]], device=device)
    key, value = nd.asarray([[1.0], [2.0]], device=device), nd.asarray([[1.0], [3.0]], device=device)
    out = attention(query, key, value)[0].numpy()[:, 0]
    share = 1.0 / (1.0 + np.exp(-np.array([1.0, 2.0])))
    np.testing.assert_allclose(out[[0, 3]], 1.0 + 2.0 * share, rtol=1e-6)
    assert np.isnan(out[1:3]).all()


@pytest.mark.parametrize(("features", "dtype"), [(129, "float32"), (65, "float64")])
def test_longer_heads_are_composed(device: str, features: int, dtype: str) -> None:
    exact = [GENERATOR.normal(size=(6, features)) for _ in range(4)]
    query, key, value, gradient = (put(each, dtype, device) for each in exact)
    expected = defined(exact, 0.0, features**-0.5)
    made = attention(query, key, value)
    for mine, other in zip((*made, *attention_gradient(gradient, query, key, value, *made)), expected, strict=True):
        check(mine, other, dtype, 40.0)
