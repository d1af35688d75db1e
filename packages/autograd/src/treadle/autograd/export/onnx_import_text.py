"""Ops of ONNX on text, as far as it is numbers: TfIdfVectorizer."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError

__all__ = ["TEXT"]


def _pool(at: Any) -> list[tuple[int, ...]]:
    """The n-grams that are counted, those of one item first."""
    items = at.get("pool_int64s")
    if items is None:
        raise OnnxError("n-grams of strings; treadle has those of integers")
    starts = [*at.attributes["ngram_counts"], len(items)]
    return [
        tuple(items[place : place + size])
        for size, (first, last) in enumerate(pairwise(starts), 1)
        for place in range(first, last, size)
    ]


def _grams(row: list[int], least: int, most: int, skips: int) -> Counter[tuple[int, ...]]:
    """How often every n-gram stands in a row, with up to so many items left out between its own."""
    found: Counter[tuple[int, ...]] = Counter()
    for size in range(least, most + 1):
        for apart in range(1, (min(skips, len(row)) if size > 1 else 0) + 2):
            found.update(
                tuple(row[place : place + size * apart : apart]) for place in range(len(row) - (size - 1) * apart)
            )
    return found


def _tf_idf(at: Any, x: Tensor) -> Tensor:
    pool, places, mode = _pool(at), at.attributes["ngram_indexes"], at.attributes["mode"]
    weights = at.get("weights") or [1.0] * len(pool)
    nd.empty((max(places, default=-1) + 1,))  # what no memory holds is refused before lists are made
    limits = [at.attributes[each] for each in ("min_gram_length", "max_gram_length", "max_skip_count")]
    rows = []
    for row in [x.tolist()] if x.ndim == 1 else x.tolist():
        often = _grams(row, *limits)
        out = [0.0] * (max(places, default=-1) + 1)
        for gram, place, weight in zip(pool, places, weights, strict=True):
            count = often[gram]
            out[place] = float(count if mode == "TF" else (count > 0) * weight if mode == "IDF" else count * weight)
        rows.append(out)
    return constant(nd.asarray(rows[0] if x.ndim == 1 else rows, dtype="float32"))


TEXT: dict[str, Callable[..., Any]] = {"TfIdfVectorizer": _tf_idf}
"""By name."""
