"""Ensembles of decision trees in ONNX, as exporters of scikit-learn, LightGBM and XGBoost write them.

All trees of all rows are walked at once, a level at a time: a node is a row in tables, a leaf its own child.

Source: the ONNX specification, domain ai.onnx.ml, https://onnx.ai/onnx/operators/ (versions 1 to 5).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf, isnan
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_import_arithmetic import cast
from treadle.autograd.export.onnx_import_classical import floating, labels_of, transformed
from treadle.ndarray import NDArray

__all__ = ["TREES"]

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_COMPARISONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "BRANCH_LEQ": lambda x, split: x <= split, "BRANCH_LT": lambda x, split: x < split,
    "BRANCH_GTE": lambda x, split: x >= split, "BRANCH_GT": lambda x, split: x > split,
    "BRANCH_EQ": lambda x, split: x == split, "BRANCH_NEQ": lambda x, split: x != split,
}  # fmt: skip


@dataclass(slots=True)
class Forest:
    """Trees as tables with a row for each node. ``leaves`` are (node, target, weight)."""

    roots: list[int]
    modes: list[str]
    features: list[int]
    splits: list[float]
    true: list[int]
    false: list[int]
    missing: list[int]
    leaves: list[tuple[int, int, float]]
    targets: int
    members: dict[int, list[float]]  # of a node that tests for membership
    depth: int = 0

    def __post_init__(self) -> None:
        count = len(self.modes)
        columns = (self.features, self.splits, self.true, self.false, self.missing)
        if not self.roots or any(len(each) != count for each in columns):
            raise OnnxError(f"trees of {count} nodes whose attributes are of other lengths")
        for place in (*self.roots, *self.true, *self.false):
            if not 0 <= place < count:
                raise OnnxError(f"a tree has no node {place}")
        if any(not 0 <= target < self.targets for _, target, _ in self.leaves):
            raise OnnxError(f"a leaf gives to a target that is none of {self.targets}")
        level = set(self.roots)
        while level := {
            child for each in level if self.modes[each] != "LEAF" for child in (self.true[each], self.false[each])
        }:
            self.depth += 1
            if self.depth > count:
                raise OnnxError("the nodes of a tree form a circle")

    def weights(self, absent: float) -> NDArray:
        """What a leaf gives to each target, ``absent`` where it gives nothing."""
        table = [[absent] * self.targets for _ in self.modes]
        for place, target, weight in self.leaves:
            before = table[place][target]
            table[place][target] = weight if before == absent else before + weight
        return nd.asarray(table, dtype="float64")

    def reached(self, x: Tensor) -> Tensor:
        """The leaf of every row in every tree, (rows, trees)."""
        if x.ndim != 2 or not 0 <= max(self.features) < x.shape[1] or min(self.features) < 0:
            raise OnnxError(f"trees that look at feature {max(self.features)}; the input has the shape {x.shape}")
        place = F.broadcast_to(_table(self.roots), (x.shape[0], len(self.roots)))
        features, true, false = _table(self.features), _table(self.true), _table(self.false)
        splits = constant(nd.asarray(self.splits, dtype=x.dtype))
        for _ in range(self.depth):
            value = F.take_along_axis(x, F.take(features, place, axis=0), axis=1)
            goes = self._tests(place, value, F.take(splits, place, axis=0))
            place = F.where(goes, F.take(true, place, axis=0), F.take(false, place, axis=0))
        return place

    def _tests(self, place: Tensor, value: Tensor, split: Tensor) -> Tensor:
        used = sorted({each for each in self.modes if each != "LEAF"})
        numbers = F.take(_table([_MODES.index(each) for each in self.modes]), place, axis=0)
        goes = constant(nd.zeros(place.shape, dtype=nd.bool))
        for mode in used:
            passed = self._member(place, value) if mode == "BRANCH_MEMBER" else _COMPARISONS[mode](value, split)
            goes = passed if len(used) == 1 else F.where(numbers == _MODES.index(mode), passed, goes)
        if any(self.missing):
            tracks = F.take(_table(self.missing), place, axis=0) != 0
            goes = F.logical_or(goes, F.logical_and(tracks, F.isnan(value)))
        return goes

    def _member(self, place: Tensor, value: Tensor) -> Tensor:
        longest = max(map(len, self.members.values()))
        rows = [self.members.get(each, []) for each in range(len(self.modes))]
        table = constant(
            nd.asarray([[*row, *[float("nan")] * (longest - len(row))] for row in rows], dtype=value.dtype)
        )
        return F.any(F.expand_dims(value, -1) == F.take(table, place, axis=0), axis=-1)


def _table(items: Sequence[int]) -> Tensor:
    return constant(nd.asarray(items, dtype="int64"))


def _listed(at: Any, name: str) -> list[Any]:
    """An attribute as a list, however it is given."""
    given = at.get(f"{name}_as_tensor")
    found = at.get(name) if given is None else given
    return found.tolist() if isinstance(found, NDArray) else list(found or [])


def _known(mode: Any) -> str:
    if mode not in _MODES:
        raise OnnxError(f"a node of a tree is of the kind {mode!r}, which is none")
    return str(mode)


def _classic(at: Any, kind: str, targets: int) -> Forest:
    """The trees of the classifier and the regressor, whose nodes are named by two numbers."""
    names = list(zip(at.attributes["nodes_treeids"], at.attributes["nodes_nodeids"], strict=True))
    places = {name: place for place, name in enumerate(names)}
    modes = [_known(each) for each in at.attributes["nodes_modes"]]
    roots = [next(rows)[0] for _, rows in groupby(enumerate(names), lambda row: row[1][0])]

    def children(attribute: str) -> list[int]:
        return [
            own if mode == "LEAF" else _place(places, (name[0], child))
            for own, (name, mode, child) in enumerate(zip(names, modes, at.attributes[attribute], strict=True))
        ]

    rows = zip(
        at.attributes[f"{kind}_treeids"], at.attributes[f"{kind}_nodeids"], at.attributes[f"{kind}_ids"],
        _listed(at, f"{kind}_weights"), strict=True,
    )  # fmt: skip
    leaves = [(_place(places, (tree, node)), target, weight) for tree, node, target, weight in rows]
    missing = at.get("nodes_missing_value_tracks_true") or [0] * len(names)
    features = [0 if mode == "LEAF" else each
                for mode, each in zip(modes, at.attributes["nodes_featureids"], strict=True)]  # fmt: skip
    if len(set(at.attributes["nodes_treeids"])) != len(roots):
        raise OnnxError("the nodes of a tree do not stand together")
    return Forest(
        roots, modes, features, _listed(at, "nodes_values"), children("nodes_truenodeids"),
        children("nodes_falsenodeids"), list(missing), leaves, targets, {},
    )  # fmt: skip


def _place(places: dict[tuple[int, int], int], name: tuple[int, int]) -> int:
    if name not in places:
        raise OnnxError(f"tree {name[0]} has no node {name[1]}")
    return places[name]


def _general(at: Any) -> Forest:
    """The trees of TreeEnsemble, whose leaves have numbers of their own; here these follow on the nodes'."""
    modes = [_known(_MODES[each]) for each in at.attributes["nodes_modes"].tolist()]
    targets, weights = list(at.attributes["leaf_targetids"]), at.attributes["leaf_weights"].tolist()
    count, own = len(modes), list(range(len(modes), len(modes) + len(weights)))
    true, false = (
        [place + count if leaf else place for place, leaf in
         zip(at.attributes[f"nodes_{side}nodeids"], at.attributes[f"nodes_{side}leafs"], strict=True)]
        for side in ("true", "false")
    )  # fmt: skip
    sets = _sets(at.get("membership_values"))
    members = {place: next(sets, []) for place, mode in enumerate(modes) if mode == "BRANCH_MEMBER"}
    rest = [0] * len(weights)
    return Forest(
        list(at.attributes["tree_roots"]), modes + ["LEAF"] * len(weights), [*at.attributes["nodes_featureids"], *rest],
        [*at.attributes["nodes_splits"].tolist(), *rest], true + own, false + own,
        [*(at.get("nodes_missing_value_tracks_true") or [0] * count), *rest],
        list(zip(own, targets, weights, strict=True)), at.attributes["n_targets"], members,
    )  # fmt: skip


def _sets(values: NDArray | None) -> Iterator[list[float]]:
    """The sets in a row of numbers, each ended by a NaN."""
    found: list[float] = []
    for each in [] if values is None else values.tolist():
        if isnan(each):
            yield found
            found = []
        else:
            found.append(each)


def _gathered(forest: Forest, x: Tensor, how: str) -> Tensor:
    """What the trees give for every row, (rows, targets)."""
    absent = {"MIN": inf, "MAX": -inf}.get(how, 0.0)
    given = F.take(constant(nd.astype(forest.weights(absent), x.dtype)), forest.reached(x), axis=0)
    if how not in ("MIN", "MAX"):
        total = F.sum(given, axis=1)
        return total / len(forest.roots) if how == "AVERAGE" else total
    best = F.min(given, axis=1) if how == "MIN" else F.max(given, axis=1)
    return F.where(best == absent, F.zeros_like(best), best)  # a target that no tree gives to


def _shifted(at: Any, scores: Tensor) -> Tensor:
    base = _listed(at, "base_values")
    return scores + constant(nd.asarray(base, dtype=scores.dtype)) if base else scores


def _ensemble(at: Any, x: Tensor) -> Tensor:
    if at.prepared is None:
        at.prepared = _general(at)
    scores = _gathered(at.prepared, x, _AGGREGATES[at.get("aggregate_function", 1)])
    return transformed(scores, _TRANSFORMS[at.get("post_transform", 0)])


def _regressor(at: Any, x: Tensor) -> Tensor:
    if at.prepared is None:
        at.prepared = _classic(at, "target", at.get("n_targets", 1))
    scores = _gathered(at.prepared, floating(x), at.get("aggregate_function", "SUM"))
    return cast(transformed(_shifted(at, scores), at.get("post_transform", "NONE")), nd.float32)


def _classifier(at: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    labels, how = labels_of(at), at.get("post_transform", "NONE")
    if at.prepared is None:
        at.prepared = _classic(at, "class", max(labels.size, 2))
    scores, ids = _gathered(at.prepared, floating(x), "SUM"), set(at.attributes["class_ids"])
    if labels.size == 2 and len(ids) == 1:  # the score of the second class alone
        score = _shifted(at, scores[:, min(ids) : min(ids) + 1])
        if score.shape[1] != 1:
            raise OnnxError("two classes of which one is scored, and two base values")
        certain = how == "NONE" and min(_listed(at, "class_weights")) >= 0  # then it is a probability already
        scores = F.concat([1.0 - score if certain else -score, score], axis=1)
        chosen = cast(score[:, 0] > (0.5 if certain else 0.0), nd.int64)
    else:
        scores = _shifted(at, scores[:, : labels.size])
        chosen = F.argmax(scores, axis=1)
    return F.take(labels, chosen, axis=0), cast(transformed(scores, how), nd.float32)


TREES: dict[str, Callable[..., Any]] = {
    "ai.onnx.ml:TreeEnsemble": _ensemble, "ai.onnx.ml:TreeEnsembleRegressor": _regressor,
    "ai.onnx.ml:TreeEnsembleClassifier": _classifier,
}  # fmt: skip
"""By name."""
