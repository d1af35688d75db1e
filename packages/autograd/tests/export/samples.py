"""A sampler for every function of treadle.autograd: how its operands and configuration are drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from packages.autograd.tests.export.drawing import Case, Draws
from packages.autograd.tests.export.samples_of_arrays import ARRAYS
from packages.autograd.tests.export.samples_of_products import PRODUCTS

import treadle.autograd as ag
from treadle.ndarray.opset import OPS, Accepts, Family, Op

__all__ = ["SAMPLERS", "WITHOUT"]

Sampler = Callable[[Draws], Case]
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ACCEPTED = {
    Accepts.ALL: ("bool", *INTEGERS, "float32", "float64"),
    Accepts.NUMERIC: (*INTEGERS, "float32", "float64"),
    Accepts.FLOATING: ("bool", "int16", "int64", "float32", "float64"),
    Accepts.INTEGER: INTEGERS,
    Accepts.BITWISE: ("bool", *INTEGERS),
}


def _dtype(draws: Draws, row: Op) -> str:
    accepted = ACCEPTED[row.accepts]
    return draws.of("float32", draws.of(*accepted)) if "float32" in accepted else draws.of(*accepted)


def _operand(draws: Draws, row: Op, shape: Any, dtype: str) -> np.ndarray:
    low, high = row.domain
    return draws.values(shape, dtype, max(low, -20.0), min(high, 20.0))


def _unary(row: Op) -> Sampler:
    def sample(draws: Draws) -> Case:
        x = _operand(draws, row, draws.shape(), _dtype(draws, row))
        return Case(getattr(ag, row.name), [x], per_element=True, nasty=True, differentiable=row.differentiable)

    return sample


def _binary(row: Op) -> Sampler:
    shifts = row.name.endswith("shift")

    def sample(draws: Draws) -> Case:
        first, second = draws.shapes(2)
        kind = _dtype(draws, row)
        kinds = [kind, draws.of(kind, kind, _dtype(draws, row))]
        if {"uint64"} < set(kinds):
            kinds = [kind, kind]
        x, y = (_operand(draws, row, shape, each) for shape, each in zip((first, second), kinds, strict=True))
        if shifts or (row.name == "pow" and kinds[1] != "bool" and y.dtype.kind in "iu"):
            y = (np.abs(y.astype("int64")) % 9).astype(y.dtype)
        function = getattr(ag, row.name)
        more: dict[str, Any] = {"per_element": True, "nasty": True, "differentiable": row.differentiable}
        way = draws.integer(0, 3)
        if way == 2 and not shifts:
            number = 2.5 if kinds[0].startswith("float") else 3 if kinds[0] != "bool" else True
            other = draws.of(False, True)
            return Case(lambda a: function(number, a) if other else function(a, number), [x], **more)
        if way == 3:
            return Case(lambda a: function(a, a), [x], **more)
        return Case(function, [x, y], **more)

    return sample


def _where(draws: Draws) -> Case:
    c, x, y = draws.shapes(3)
    kinds = draws.of("float32", "int32", "bool", "float64"), draws.of("float32", "float32", "int8")
    given = [draws.values(shape, kind) for shape, kind in zip((c, x, y), ("bool", *kinds), strict=True)]
    if draws.integer(0, 1):
        return Case(lambda c, x: ag.where(c, x, 1), given[:2], per_element=True, nasty=True)
    return Case(ag.where, given, per_element=True, nasty=True)


def _clip(draws: Draws) -> Case:
    dtype = draws.of("float32", "float32", "float64", "int16", "uint8")
    x = draws.values(draws.shape(), dtype)
    low, high = draws.of((1, 5), (None, 2), (0, None), (3, 1))
    if dtype == "float32" and draws.integer(0, 1):
        return Case(lambda x, low: ag.clip(x, low, 2.0), [x, draws.floats(x.shape[-1:])], per_element=True, nasty=True)
    return Case(lambda x: ag.clip(x, low, high), [x], per_element=True, nasty=True)


def _reduction(name: str, row: Op, needs_elements: bool) -> Sampler:
    def sample(draws: Draws) -> Case:
        shape = draws.shape(least=1 if needs_elements else 0)
        kinds = ACCEPTED[row.accepts] if row.accepts is not Accepts.FLOATING else ("float32", "float64")
        dtype = draws.of("float32", "float32", draws.of(*kinds))
        x = draws.values(shape, dtype, -2.0, 2.0)
        options: dict[str, Any] = {"axis": draws.axes(shape), "keepdims": draws.of(False, True)}
        if row.family is Family.ARG_REDUCE and isinstance(options["axis"], tuple):
            options["axis"] = None
        function = getattr(ag, name)
        if name in ("var", "std"):
            options["correction"] = draws.of(0.0, 1.0)
        return Case(
            lambda x: function(x, **options), [x], linear=name in ("sum", "mean"), nasty=name in OPS and name != "prod",
            differentiable=row.differentiable,
        )  # fmt: skip

    return sample


def _scan(name: str) -> Sampler:
    def sample(draws: Draws) -> Case:
        shape = draws.shape(low=1)
        axis = draws.axis(shape) if len(shape) > 1 or draws.integer(0, 1) else None
        x = draws.values(shape, draws.of("float32", "float32", "int32", "uint8", "bool", "float64"), -1.5, 1.5)
        return Case(lambda x: getattr(ag, name)(x, axis=axis), [x], linear=name == "cumsum")

    return sample


def _softmax(name: str) -> Sampler:
    def sample(draws: Draws) -> Case:
        shape = draws.shape(low=1, least=1)
        axis = draws.axis(shape)
        x = draws.floats(shape, -8.0, 8.0, draws.of("float32", "float32", "float64"))
        return Case(lambda x: getattr(ag, name)(x, axis=axis), [x])

    return sample


def _of_a_real(name: str) -> Sampler:
    return lambda draws: Case(getattr(ag, name), [draws.floats(draws.shape())], exact=True, nasty=True)


def _of(row: Op) -> Sampler:
    if row.family is Family.UNARY:
        return _unary(row)
    if row.family is Family.BINARY:
        return _binary(row)
    if row.family is Family.TERNARY:
        return {"where": _where, "clip": _clip}[row.name]
    if row.family is Family.SCAN:
        return _scan(row.name)
    return _reduction(row.name, row, row.name not in ("sum", "prod", "any", "all"))


SAMPLERS: dict[str, Sampler] = {
    **{row.name: _of(row) for row in OPS.values()},
    **{name: _reduction(name, OPS["mean"], True) for name in ("var", "std", "logsumexp", "norm")},
    **{name: _softmax(name) for name in ("softmax", "log_softmax", "logcumsumexp")},
    **{name: _of_a_real(name) for name in ("real", "conj")},
    **ARRAYS,
    **PRODUCTS,
}
"""By the function's name."""

WITHOUT = {
    "arange": "a constant", "empty": "a constant", "eye": "a constant", "full": "a constant", "linspace": "a constant",
    "ones": "a constant", "zeros": "a constant", "linalg": "a module", "fft": "a module, of complex numbers",
    "imag": "of complex numbers", "angle": "of complex numbers",
}  # fmt: skip
"""Functions without a sampler, and why."""
