"""Classical models in ONNX's domain ai.onnx.ml: ``from_onnx`` gives what onnxruntime gives, and they go on to C."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
from onnx_cases.building import model
from treadle.autograd.export import compile, from_onnx, to_c

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

DRAWN = np.random.default_rng(7)
ROWS = DRAWN.normal(size=(9, 4)).astype("float32")
KINDS = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def made(op: str, x: Any, outputs: int, version: int = 3, **attributes: Any) -> Any:
    helper = onnx.helper
    names = [f"y{at}" for at in range(outputs)]
    node = helper.make_node(op, ["x"], names, domain="ai.onnx.ml", **attributes)
    number, info = helper.np_dtype_to_tensor_dtype(x.dtype), helper.make_tensor_value_info
    whole = outputs == 2 or "values_int64s" in attributes or "imputed_value_int64s" in attributes
    kinds = [7 if whole and not at else 1 for at in range(outputs)]
    return model(
        [node], inputs=[info("x", number, x.shape)],
        outputs=[info(*each, None) for each in zip(names, kinds, strict=True)], version=17,
        domains=[("ai.onnx.ml", version)], ir_version=9,
    )  # fmt: skip


def compare(op: str, x: Any, outputs: int = 1, version: int = 3, first: int = 0, **attributes: Any) -> None:
    """One node on x, in its outputs from the first that is looked at."""
    given = made(op, x, outputs, version, **attributes)
    session = runtime.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"])
    found = from_onnx(given)(ag.Tensor(x))
    wanted = session.run(None, {"x": x})[first:]
    for one, other in zip(found[first:] if outputs > 1 else [found], wanted, strict=True):
        assert (one.dtype.name, one.shape) == (other.dtype.name, other.shape)
        np.testing.assert_allclose(one.numpy(), other, rtol=2e-5, atol=2e-6)


def forest(kinds: tuple[str, ...], depth: int = 3, trees: int = 2) -> dict[str, Any]:
    """Complete trees whose nodes take turns in how they compare, as attributes; and the leaves' numbers."""
    inner, count = 2**depth - 1, 2 ** (depth + 1) - 1
    own = list(range(count))
    rows = {
        "treeids": [tree for tree in range(trees) for _ in own], "nodeids": own * trees,
        "featureids": [each % 4 for each in own] * trees,
        "values": [round(float(each), 1) for each in DRAWN.normal(size=count * trees) * 0.5],
        "modes": [kinds[each % len(kinds)] if each < inner else "LEAF" for each in own] * trees,
        "truenodeids": [2 * each + 1 if each < inner else 0 for each in own] * trees,
        "falsenodeids": [2 * each + 2 if each < inner else 0 for each in own] * trees,
        "missing_value_tracks_true": [each % 2 if each < inner else 0 for each in own] * trees,
    }  # fmt: skip
    return {f"nodes_{name}": each for name, each in rows.items()}


def leaves(kind: str, targets: int, depth: int = 3, trees: int = 2) -> dict[str, Any]:
    """Every leaf gives to every target."""
    own = [
        (tree, leaf, target)
        for tree in range(trees)
        for leaf in range(2**depth - 1, 2 ** (depth + 1) - 1)
        for target in range(targets)
    ]
    weights = [float(each) for each in DRAWN.uniform(0.05, 0.3, size=len(own)).astype("float32")]
    columns = zip(*own, strict=True)
    names = (f"{kind}_treeids", f"{kind}_nodeids", f"{kind}_ids")
    return {**dict(zip(names, map(list, columns), strict=True)), f"{kind}_weights": weights}


def with_nan(x: Any) -> Any:
    x = x.copy()
    x[::2, 1], x[1::3, 0] = np.nan, np.nan
    return x


@pytest.mark.parametrize("kinds", [*[(each,) for each in KINDS], ("BRANCH_LEQ", "BRANCH_GT")])
def test_every_comparison_and_what_is_missing(kinds: tuple[str, ...]) -> None:
    x = with_nan(np.round(ROWS, 1))
    compare("TreeEnsembleRegressor", x, n_targets=1, **forest(kinds), **leaves("target", 1))


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3])
def test_aggregates_of_trees(how: str, targets: int) -> None:
    compare(
        "TreeEnsembleRegressor", ROWS, n_targets=targets, aggregate_function=how,
        base_values=[0.5] * targets, **forest(KINDS[:1]), **leaves("target", targets),
    )  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_classes_of_trees(transform: str) -> None:
    compare(
        "TreeEnsembleClassifier", ROWS, 2, post_transform=transform, classlabels_int64s=[3, 5, 7],
        **forest(KINDS[:1]), **leaves("class", 3),
    )  # fmt: skip


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("shift", [0.0, -0.15])
def test_two_classes_of_which_one_is_scored(transform: str, shift: float) -> None:
    """The runtime's labels contradict its own numbers where it makes probabilities of positive scores."""
    given, sure = leaves("class", 1), transform == "LOGISTIC" and shift == 0
    given["class_weights"] = [each + shift for each in given["class_weights"]]
    compare(
        "TreeEnsembleClassifier", ROWS, 2, first=int(sure), post_transform=transform, classlabels_int64s=[3, 5],
        base_values=[0.1], **forest(KINDS[:1]), **given,
    )  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS[:4])
def test_linear_models(transform: str) -> None:
    weights = [float(each) for each in DRAWN.normal(size=12)]
    compare(
        "LinearClassifier", ROWS, 2, 1, post_transform=transform, classlabels_ints=[4, 2, 9], coefficients=weights,
        intercepts=[0.1, 0.2, -0.3],
    )  # fmt: skip
    compare("LinearRegressor", ROWS, version=1, targets=3, coefficients=weights, intercepts=[0.1, 0.2, -0.3])


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("sizes", [[2, 3], [2, 1, 3]])
def test_support_vectors(kernel: str, sizes: list[int]) -> None:
    count = sum(sizes)
    numbers = {
        "coefficients": DRAWN.normal(size=count * (len(sizes) - 1)).tolist(),
        "support_vectors": DRAWN.normal(size=count * 4).tolist(), "kernel_params": [0.5, 0.2, 3.0],
    }  # fmt: skip
    pairs = len(sizes) * (len(sizes) - 1) // 2
    compare(
        "SVMClassifier", ROWS, 2, 1, classlabels_ints=list(range(5, 5 + len(sizes))), vectors_per_class=sizes,
        rho=[0.1] * pairs, kernel_type=kernel, **numbers,
    )  # fmt: skip
    numbers["coefficients"] = numbers["coefficients"][:count]
    for single in (0, 1):
        compare("SVMRegressor", ROWS, version=1, n_supports=count, rho=[0.1], kernel_type=kernel, one_class=single,
                **numbers)  # fmt: skip


def test_transforms() -> None:
    zeros = ROWS.copy()
    zeros[0] = 0.0
    compare("Scaler", ROWS, version=1, offset=[0.1, 0.2, 0.3, 0.4], scale=[2.0, 3.0, 4.0, 5.0])
    compare("Scaler", np.arange(8).reshape(2, 4), version=1, offset=[0.5], scale=[2.0])
    for norm in ("L1", "L2"):
        compare("Normalizer", zeros, version=1, norm=norm)
    compare("Normalizer", np.abs(zeros), version=1, norm="MAX")
    compare("Imputer", with_nan(ROWS), version=1, imputed_value_floats=[1.0, 2.0, 3.0, 4.0],
            replaced_value_float=float("nan"))  # fmt: skip
    compare("Imputer", np.arange(8).reshape(2, 4), version=1, imputed_value_int64s=[9], replaced_value_int64=3)
    compare("OneHotEncoder", np.asarray([[1, 3], [2, 8]]), version=1, cats_int64s=[1, 2, 3], zeros=1)
    compare("LabelEncoder", np.asarray([1, 5, 2]), version=2, keys_int64s=[1, 2], values_floats=[0.5, 1.5],
            default_float=-2.0)  # fmt: skip
    compare("LabelEncoder", np.asarray([1.5, np.nan], "float32"), version=4, keys_floats=[1.5, float("nan")],
            values_int64s=[7, 8])  # fmt: skip


def test_a_normal_is_by_magnitudes() -> None:
    """As scikit-learn and the standard's reference have it, whatever the sign of the largest."""
    found = from_onnx(made("Normalizer", ROWS, 1, 1, norm="MAX"))(ag.Tensor(ROWS)).numpy()
    np.testing.assert_allclose(found, ROWS / np.abs(ROWS).max(axis=1, keepdims=True), rtol=1e-6)


def test_trees_go_on_to_c(tmp_path: Path) -> None:
    given = from_onnx(made(
        "TreeEnsembleClassifier", ROWS, 2, classlabels_int64s=[3, 5, 7], **forest(KINDS[:1]), **leaves("class", 3)
    ))  # fmt: skip
    wanted, got = given(ag.Tensor(ROWS)), compile(given, ag.Tensor(ROWS))(ag.Tensor(ROWS))
    assert [each.tolist() for each in got] == [each.tolist() for each in wanted]
    assert to_c(given, ag.Tensor(ROWS), tmp_path / "forest.c").flash > 0


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"nodes_truenodeids": [0, 0, 0]}, "form a circle"),
    ({"nodes_truenodeids": [9, 0, 0]}, "tree 0 has no node 9"),
    ({"nodes_treeids": [0, 1, 0]}, "tree 0 has no node 1|tree 0 has no node 2|stand together"),
    ({"nodes_featureids": [77, 0, 0]}, "look at feature 77"),
    ({"nodes_featureids": [-1, 0, 0]}, "look at feature"),
    ({"nodes_modes": ["BRANCH_XOR", "LEAF", "LEAF"]}, "'BRANCH_XOR', which is none"),
    ({"nodes_values": [0.0]}, "of other lengths"),
    ({"target_ids": [0, 5]}, "to a target that is none of 1"),
    ({"target_nodeids": [1, 7]}, "tree 0 has no node 7"),
    ({"post_transform": "MAGIC"}, "which is none of the standard's"),
]


@pytest.mark.parametrize(("changed", "words"), BROKEN)
def test_broken_trees_are_refused(changed: dict[str, Any], words: str) -> None:
    given = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0],
        "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0],
    }  # fmt: skip
    with pytest.raises(ag.OnnxError, match=words):
        from_onnx(made("TreeEnsembleRegressor", ROWS, 1, **{**given, **changed}))(ag.Tensor(ROWS))


def test_what_is_of_strings_says_what_to_do() -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("LinearClassifier", {"coefficients": [1.0] * 8, "classlabels_strings": ["a", "b"]}, "train on integers"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, "categories that are strings"),
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, "keys that are strings"),
        ("ZipMap", {"classlabels_int64s": [1, 2]}, "'zipmap': False"),
    ]
    for op, attributes, words in cases:
        with pytest.raises(ag.OnnxError, match=words):
            from_onnx(made(op, ROWS, 2 if op.endswith("Classifier") else 1, **attributes))(ag.Tensor(ROWS))
