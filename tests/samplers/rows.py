"""Elementwise ops, reductions and scans, from their rows of the op table."""

import math
from typing import Any

import numpy as np

import treadle.autograd as ag
from samplers.drawing import SAMPLERS, Draw, Sample, Sampler, sampler
from treadle.ndarray.opset import COMPLEX, OPS, Family, Op

Shape = tuple[int, ...]


def camel(name: str) -> str:
    """The class of a row's op."""
    return "".join(part.capitalize() for part in name.split("_"))


def _unary(row: Op) -> Sampler:
    low, high = row.smooth or (-3.0, 3.0)

    def sampler(d: Draw) -> Sample:
        op = getattr(ag.ops, camel(row.name))()
        return Sample(op, [d.values(d.shape(), low, high)], complex=row.name in COMPLEX)

    return sampler


def _binary(row: Op) -> Sampler:
    low, high = row.smooth or (-3.0, 3.0)
    ties = row.name in ("maximum", "minimum", "remainder")

    def sampler(d: Draw) -> Sample:
        kind = getattr(ag.ops, camel(row.name))
        scalar = d.one(None, None, 2.0, 3)
        if scalar is not None:
            op = kind(**{d.one("left", "right"): scalar})
            return Sample(op, [d.values(d.shape(), low, high)], complex=row.name in COMPLEX)
        first, second = d.broadcast(2)
        x, y = d.values(first, low, high), d.values(second, low, high)
        return Sample(kind(), [x, y * 0.9 + 0.0503 if ties else y], complex=row.name in COMPLEX, flat=not ties)

    return sampler


def _count(shape: Shape, axis: Any) -> int:
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(shape[each] for each in axes)


def _reduction(name: str, least: int = 0, smooth: tuple[float, float] = (-2.0, 2.0), options: Any = None) -> Sampler:
    kind = getattr(ag.ops, name)

    def sampler(d: Draw) -> Sample:
        shape = d.shape()
        axis = d.axes(len(shape))
        more = {} if options is None else options(d)
        if _count(shape, axis) < least + more.get("correction", 0):
            shape, axis = (3, 2), d.one(0, None, (0, 1))
        op = kind(axis=axis, keepdims=d.flag(), **more)
        ordered = name in ("Max", "Min")
        return Sample(op, [d.values(shape, *smooth)], complex=not ordered and name != "LogSumExp", flat=not ordered)

    return sampler


def _along(name: str, complex: bool = True, **given: Any) -> Sampler:
    kind = getattr(ag.ops, name)

    def sampler(d: Draw) -> Sample:
        shape = d.shape(1, least=0 if complex else 1)
        return Sample(kind(axis=d.axis(len(shape)), **given), [d.values(shape)], complex=complex)

    return sampler


for _row in OPS.values():
    if _row.differentiable and _row.family is Family.UNARY:
        SAMPLERS[camel(_row.name)] = _unary(_row)
    elif _row.differentiable and _row.family is Family.BINARY:
        SAMPLERS[camel(_row.name)] = _binary(_row)
    elif _row.differentiable and _row.family is Family.REDUCE:
        SAMPLERS[camel(_row.name)] = _reduction(camel(_row.name), int(_row.name in ("max", "min", "mean")))
    elif _row.differentiable and _row.family is Family.SCAN:
        SAMPLERS[camel(_row.name)] = _along(camel(_row.name))


def _correction(d: Draw) -> dict[str, Any]:
    return {"correction": d.one(0.0, 1.0)}


SAMPLERS["Var"] = _reduction("Var", 1, options=_correction)
SAMPLERS["Std"] = _reduction("Std", 2, options=_correction)
SAMPLERS["Norm"] = _reduction("Norm", 0, (0.5, 2.0))
SAMPLERS["LogSumExp"] = _reduction("LogSumExp", 1)
SAMPLERS["Softmax"] = _along("Softmax", False)
SAMPLERS["LogSoftmax"] = _along("LogSoftmax", False)
SAMPLERS["LogCumSumExp"] = _along("LogCumSumExp", False)


# --- ternary, parts ---
@sampler
def Where(d: Draw) -> Sample:
    first, second, third = d.broadcast(3)
    condition = np.random.default_rng(d.number(0, 99)).random(first) > 0.5
    given = d.one({}, {}, {"x": 1.5}, {"y": 2})
    rest = [d.values(second), d.values(third)][: 2 - len(given)]
    return Sample(ag.ops.Where(**given), [condition, *rest])


@sampler
def Clip(d: Draw) -> Sample:
    low, high = d.one(None, -1.0, -1), d.one(None, 1.0, 2)
    return Sample(ag.ops.Clip(low, high), [d.values(d.shape())], complex=low is None and high is None)


@sampler
def Conj(d: Draw) -> Sample:
    return Sample(ag.ops.Conj(), [d.values(d.shape())])


@sampler
def Real(d: Draw) -> Sample:
    return Sample(ag.ops.Real(), [d.values(d.shape())])


@sampler
def Imag(d: Draw) -> Sample:
    return Sample(ag.ops.Imag(), [d.values(d.shape())])


@sampler
def angle(d: Draw) -> Sample:
    return Sample(ag.angle, [d.values(d.shape(), 0.5, 2.0)])
