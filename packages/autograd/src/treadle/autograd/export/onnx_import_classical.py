"""Ops of ONNX's domain ai.onnx.ml but trees: what exporters of scikit-learn write for its models and transforms.

Source: the ONNX specification, https://onnx.ai/onnx/operators/index.html#ai-onnx-ml.
"""

from collections.abc import Callable
from itertools import combinations
from math import isnan, pi, sqrt
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_import_arithmetic import cast
from treadle.ndarray import NDArray

__all__ = ["CLASSICAL", "floating", "labels_of", "transformed"]

_WINITZKI = 0.147
"""S. Winitzki, A handy approximation for the error function and its inverse, 2008: what runtimes take for PROBIT."""


def floating(x: Tensor) -> Tensor:
    """A tensor of numbers that is no floating one as float32."""
    return x if x.dtype.kind == "f" else cast(x, nd.float32)


def _row(items: Any, x: Tensor) -> Tensor:
    return constant(nd.asarray(list(items), dtype=x.dtype))


def labels_of(at: Any) -> Tensor:
    """The labels of the classes. Raises OnnxError for strings."""
    found = at.get("classlabels_ints") or at.get("classlabels_int64s")
    if not found:
        raise OnnxError("the labels are strings, which treadle has not; train on integers as labels, and export again")
    return constant(nd.asarray(found, dtype="int64"))


def transformed(scores: Tensor, how: str) -> Tensor:
    """Scores of (rows, classes) after the transform that the attribute ``post_transform`` names."""
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return F.sigmoid(scores)
    if how == "SOFTMAX":
        return F.softmax(scores, axis=-1)
    if how == "SOFTMAX_ZERO":
        return _softmax_but_zeros(scores)
    if how == "PROBIT":
        return _probit(scores)
    raise OnnxError(f"post_transform is {how!r}, which is none of the standard's")


def _softmax_but_zeros(scores: Tensor) -> Tensor:
    """A softmax in which scores of 0 stay 0."""
    most = F.max(scores, axis=-1, keepdims=True)
    parts = F.where(F.abs(scores) > 1e-7, F.exp(scores - most), scores * F.exp(-most))
    total = F.sum(parts, axis=-1, keepdims=True)
    return F.where(total == 0, F.full_like(parts, 0.5), parts / F.where(total == 0, F.ones_like(total), total))


def _probit(scores: Tensor) -> Tensor:
    """The inverse of the normal distribution function."""
    x = scores * 2.0 - 1.0
    logarithm = F.log((1.0 - x) * (1.0 + x))
    half = logarithm * 0.5 + 2.0 / (pi * _WINITZKI)
    return F.sign(x) * F.sqrt(F.sqrt(half * half - logarithm / _WINITZKI) - half) * sqrt(2.0)


# --- linear models ------------------------------------------------------------------------------------------------
def _linear(at: Any, x: Tensor, rows: int) -> Tensor:
    x = floating(x)
    weights = F.reshape(_row(at.attributes["coefficients"], x), (rows, -1))
    found = F.matmul(x, F.matrix_transpose(weights))
    return found + _row(at.attributes["intercepts"], x) if at.get("intercepts") else found


def _linear_regressor(at: Any, x: Tensor) -> Tensor:
    return cast(transformed(_linear(at, x, at.get("targets", 1)), at.get("post_transform", "NONE")), nd.float32)


def _linear_classifier(at: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    labels = labels_of(at)
    rows = len(at.attributes["coefficients"]) // max(x.shape[-1], 1)
    scores = _linear(at, x, rows)
    if rows == 1 and labels.size == 2:
        scores = F.concat([-scores, scores], axis=1)
    if scores.shape[1] != labels.size:
        raise OnnxError(f"coefficients of {scores.shape[1]} classes and {labels.size} labels")
    found = cast(transformed(scores, at.get("post_transform", "NONE")), nd.float32)
    return F.take(labels, F.argmax(scores, axis=1), axis=0), found


# --- support vectors ----------------------------------------------------------------------------------------------
def _kernel(at: Any, x: Tensor, vectors: Tensor) -> Tensor:
    """The kernel of every row of x with every vector."""
    kind = at.get("kernel_type", "LINEAR")
    gamma, shift, degree = at.get("kernel_params") or (0.0, 0.0, 0.0)
    if kind == "RBF":
        apart = F.expand_dims(x, 1) - vectors
        return F.exp(F.sum(apart * apart, axis=-1) * -gamma)
    product = F.matmul(x, F.matrix_transpose(vectors))
    if kind == "LINEAR":
        return product
    if kind == "POLY":
        return (product * gamma + shift) ** degree
    if kind == "SIGMOID":
        return F.tanh(product * gamma + shift)
    raise OnnxError(f"kernel_type is {kind!r}, which is none of the standard's")


def _svm_regressor(at: Any, x: Tensor) -> Tensor:
    x, count = floating(x), at.get("n_supports", 0)
    weights = _row(at.attributes["coefficients"], x)
    if count:
        x = _kernel(at, x, F.reshape(_row(at.attributes["support_vectors"], x), (count, -1)))
    found = F.matmul(x, F.reshape(weights, (-1, 1))) + at.attributes["rho"][0]
    if at.get("one_class"):
        found = F.where(found > 0, F.ones_like(found), -F.ones_like(found))
    return cast(transformed(found, at.get("post_transform", "NONE")), nd.float32)


def _svm_classifier(at: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    x, labels, sizes = floating(x), labels_of(at), at.get("vectors_per_class")
    if at.get("prob_a"):
        raise OnnxError("probabilities of support vectors, which treadle has not; export without them")
    if not sizes or len(sizes) != labels.size:
        raise OnnxError("no numbers of support vectors for each class; treadle has no such form")
    ends = [sum(sizes[:at]) for at in range(len(sizes) + 1)]
    vectors = F.reshape(_row(at.attributes["support_vectors"], x), (ends[-1], -1))
    weights = F.reshape(_row(at.attributes["coefficients"], x), (-1, ends[-1]))
    kernel = _kernel(at, x, vectors)
    scores, votes = [], [F.zeros_like(kernel[:, 0]) for _ in sizes]
    for (one, other), shift in zip(combinations(range(len(sizes)), 2), at.attributes["rho"], strict=True):
        first, second = (slice(ends[each], ends[each + 1]) for each in (one, other))
        score = F.matmul(kernel[:, first], weights[other - 1, first]) + shift
        score = score + F.matmul(kernel[:, second], weights[one, second])
        votes[one], votes[other] = votes[one] + cast(score > 0, x.dtype), votes[other] + cast(score <= 0, x.dtype)
        scores.append(score)
    chosen = F.argmax(F.stack(votes, axis=1), axis=1)
    scores = [-scores[0], scores[0]] if len(scores) == 1 else scores
    found = transformed(F.stack(scores, axis=1), at.get("post_transform", "NONE"))
    return F.take(labels, chosen, axis=0), cast(found, nd.float32)


# --- transforms ---------------------------------------------------------------------------------------------------
def _scaler(at: Any, x: Tensor) -> Tensor:
    x = floating(x)
    return cast((x - _row(at.get("offset") or [0.0], x)) * _row(at.get("scale") or [1.0], x), nd.float32)


def _normalizer(at: Any, x: Tensor) -> Tensor:
    x, kind = floating(x), at.get("norm", "MAX")
    if kind == "MAX":
        size = F.max(F.abs(x), axis=-1, keepdims=True)
    elif kind == "L1":
        size = F.sum(F.abs(x), axis=-1, keepdims=True)
    else:
        size = F.norm(x, axis=-1, keepdims=True)
    return cast(x / F.where(size == 0, F.ones_like(size), size), nd.float32)


def _imputer(at: Any, x: Tensor) -> Tensor:
    kind = "float" if x.dtype.kind == "f" else "int64"
    wanted = at.get(f"replaced_value_{kind}", 0)
    absent = F.isnan(x) if isnan(wanted) else x == wanted
    return F.where(absent, F.broadcast_to(_row(at.attributes[f"imputed_value_{kind}s"], x), x.shape), x)


def _one_hot_encoder(at: Any, x: Tensor) -> Tensor:
    kinds = at.get("cats_int64s")
    if not kinds:
        raise OnnxError("categories that are strings, which treadle has not")
    found = F.expand_dims(cast(x, nd.int64), -1) == constant(nd.asarray(kinds, dtype="int64"))
    if not at.get("zeros", 1) and not bool(F.all(F.any(found, axis=-1)).item()):
        raise OnnxError("a value is none of the categories")
    return cast(found, nd.float32)


def _label_encoder(at: Any, x: Tensor) -> Tensor:
    """Values by keys. The first key that is equal counts; NaN is equal to NaN."""
    keys, values = (_numbers(at, each) for each in ("keys", "values"))
    default = at.get("default_tensor")
    if default is None:
        default = nd.asarray(at.get("default_float", -0.0) if values.dtype.kind == "f" else at.get("default_int64", -1))
    wide, given = F.expand_dims(x, -1), constant(nd.astype(keys, x.dtype))
    same = wide == given
    if x.dtype.kind == "f":
        same = F.logical_or(same, F.logical_and(F.isnan(wide), F.isnan(given)))
    found = F.take(constant(values), F.argmax(cast(same, nd.int64), axis=-1), axis=0)
    instead = F.broadcast_to(constant(nd.astype(default.reshape(()), values.dtype)), found.shape)
    return F.where(F.any(same, axis=-1), found, instead)


def _numbers(at: Any, name: str) -> NDArray:
    """The attribute of this name that is not of strings."""
    given = [at.get(f"{name}_{kind}") for kind in ("tensor", "int64s", "floats")]
    found = next((each for each in given if each is not None), None)
    if found is None:
        raise OnnxError(f"{name} that are strings, which treadle has not")
    return found if isinstance(found, NDArray) else nd.asarray(found, dtype="int64" if given[1] else "float32")


def _feature_vectorizer(at: Any, *given: Tensor) -> Tensor:
    rows = [cast(x if x.ndim > 1 else F.reshape(x, (1, -1)), nd.float32) for x in given]
    return F.concat(rows, axis=1)


def _zip_map(at: Any, x: Tensor) -> Tensor:
    raise OnnxError("it gives dictionaries; export without it, as skl2onnx does with options={'zipmap': False}")


CLASSICAL: dict[str, Callable[..., Any]] = {
    "ai.onnx.ml:LinearRegressor": _linear_regressor, "ai.onnx.ml:LinearClassifier": _linear_classifier,
    "ai.onnx.ml:SVMRegressor": _svm_regressor, "ai.onnx.ml:SVMClassifier": _svm_classifier,
    "ai.onnx.ml:Scaler": _scaler, "ai.onnx.ml:Normalizer": _normalizer, "ai.onnx.ml:Imputer": _imputer,
    "ai.onnx.ml:OneHotEncoder": _one_hot_encoder, "ai.onnx.ml:LabelEncoder": _label_encoder,
    "ai.onnx.ml:FeatureVectorizer": _feature_vectorizer, "ai.onnx.ml:ZipMap": _zip_map,
}  # fmt: skip
"""By name."""
