"""The node cases that the package onnx generates: a model of mostly one node each, with inputs and outputs."""

import re
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd.export import from_onnx
from treadle.autograd.export.onnx_narrow import held_in

__all__ = ["failures", "load", "reason_of", "tensor"]

EXPLAINED = (
    (r"bernoulli|training_dropout", "draws random numbers: which ones is open"),
    (r"bf16|fp16", "rounds 16-bit floats at other places than the reference"),
    (r"dft_inverse", "is exact where the reference has a rounding error of 2e-7 beside 0"),
)
"""Results that differ and are not wrong: by the case's name, why."""


@cache
def load() -> list[Any]:
    """The cases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the generators
        return list(load_model_tests(kind="node"))


def tensor(value: Any) -> Any:
    """What a case gives as a tensor, a list of tensors, or None."""
    if value is None:
        return None
    if isinstance(value, list):
        return [tensor(each) for each in value]
    array = _held(_numbers(value))
    if array.dtype.name == "bfloat16":
        return Tensor(nd.asarray(array.astype("float32")).astype("bfloat16"))
    return Tensor(nd.asarray(array, copy=True))


def _held(array: Any) -> Any:
    """Elements of 8 bits and fewer that NumPy has no type of its own for, in the dtype that holds them."""
    number = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    wide = held_in(number)
    return array if wide is None else array.astype(wide.name)


def _numbers(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def _difference(got: Any, wanted: Any, rtol: float, atol: float) -> str:
    """How a result differs; nothing where it does not."""
    if wanted is None:
        return "" if got is None else "result where there is none"
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return "result of another kind"
        rows = zip(got, wanted, strict=True)
        return next((found for each in rows if (found := _difference(*each, rtol, atol))), "")
    expected = _held(_numbers(wanted))
    if got.dtype.name != expected.dtype.name:
        return f"dtype {got.dtype.name} for {expected.dtype.name}"
    wide = got.data.astype("float32") if got.dtype is nd.bfloat16 else got.data
    expected = expected.astype("float32") if got.dtype is nd.bfloat16 else expected
    if wide.shape != expected.shape:
        return f"shape {wide.shape} for {expected.shape}"
    same = np.allclose(wide.numpy(), expected, rtol=rtol, atol=atol, equal_nan=True)
    return "" if same else "numbers differ"


def reason_of(case: Any) -> str:
    """Why a case does not pass, in words that many cases share; nothing where it does."""
    try:
        model = from_onnx(case.model)
        for given, wanted in case.data_sets:
            found = model(*[tensor(each) for each in given])
            found = found if isinstance(found, tuple) else (found,)
            difference = _difference(list(found), list(wanted), case.rtol, case.atol)
            if difference:
                return next((why for pattern, why in EXPLAINED if re.search(pattern, case.name)), difference)
    except Exception as error:
        return _short(f"{type(error).__name__}: {error}")
    return ""


def _short(text: str) -> str:
    kind = re.search(r"elements of type (\w+)", text)
    if kind is not None:
        return "has strings" if kind[1] == "STRING" else "has a dtype that treadle lacks: float8, float4, int4, int2"
    op = re.search(r"treadle has no op (\w+)( of [\w.]+)?", text)
    if op is not None:
        return f"treadle has no op {op[1]}{op[2] or ''}"
    return re.sub(r"node (\w+)[^:]*:", r"node \1:", " ".join(text.split()))[:150]


def failures(cases: Sequence[Any]) -> dict[str, list[str]]:
    """The names of the cases that do not pass, by reason."""
    found: dict[str, list[str]] = {}
    for case in cases:
        reason = reason_of(case)
        if reason:
            found.setdefault(reason, []).append(case.name)
    return {reason: sorted(found[reason]) for reason in sorted(found)}
