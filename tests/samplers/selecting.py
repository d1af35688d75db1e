"""Selecting, order, shapes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import treadle.autograd as ag
from samplers.drawing import SAMPLERS, Draw, Sample, sampler

Shape = tuple[int, ...]


def _index(d: Draw, shape: Shape) -> Any:
    """An index into a shape of two axes of length 1 or more."""
    rows = shape[0]
    return d.one(
        0, (), ..., (slice(None, None, -1), None), (..., slice(1, 0)), (-1, slice(None, None, 2)),
        d.places((3,), rows), (d.places((2, 1), rows), d.places((2,), shape[1])),
        (slice(None), d.places((2,), shape[1])),
        np.arange(rows) % 2 == 0, np.arange(math.prod(shape)).reshape(shape) % 3 == 0,
    )  # fmt: skip


@sampler
def GetItem(d: Draw) -> Sample:
    shape = d.shape(2, 3, least=1)
    return Sample(ag.ops.GetItem(_index(d, shape)), [d.values(shape)])


def _selected(shape: Shape, index: Any) -> Shape:
    return tuple(np.zeros(shape)[index].shape)


@sampler
def PutItem(d: Draw) -> Sample:
    shape = d.shape(2, 3, least=1)
    index = _index(d, shape)
    return Sample(ag.ops.PutItem(shape, index), [d.values(_selected(shape, index))])


@sampler
def SetItem(d: Draw) -> Sample:
    shape = d.shape(2, 3, least=1)
    index = _index(d, shape)
    values = d.one((), _selected(shape, index))
    return Sample(ag.ops.SetItem(index), [d.values(shape), d.values(values)])


@sampler
def Take(d: Draw) -> Sample:
    shape = d.shape(1, least=1)
    axis = d.axis(len(shape))
    return Sample(ag.ops.Take(axis), [d.values(shape), d.places(d.shape(high=2), shape[axis])])


@sampler
def TakeAlongAxis(d: Draw) -> Sample:
    shape = d.shape(1, least=1)
    axis = d.axis(len(shape)) % len(shape)
    indices = d.places((*shape[:axis], d.number(0, 3), *shape[axis + 1 :]), shape[axis])
    return Sample(ag.ops.TakeAlongAxis(axis), [d.values(shape), indices])


@sampler
def ScatterAdd(d: Draw) -> Sample:
    shape = d.shape(1, least=1)
    axis = d.axis(len(shape)) % len(shape)
    indices = d.places((d.number(0, 3),), shape[axis])
    values = (*shape[:axis], *indices.shape, *shape[axis + 1 :])
    return Sample(ag.ops.ScatterAdd(axis), [d.values(shape), indices, d.values(values)])


@sampler
def Sort(d: Draw) -> Sample:
    shape = d.shape(1)
    return Sample(ag.ops.Sort(d.axis(len(shape)), d.flag()), [d.values(shape)], flat=False)


@sampler
def TopKValues(d: Draw) -> Sample:
    shape = d.shape(1, least=1)
    axis = d.axis(len(shape))
    op = ag.ops.TopKValues(d.number(0, shape[axis]), axis, d.flag())
    return Sample(op, [d.values(shape)], flat=False)


@sampler
def topk(d: Draw) -> Sample:
    shape = d.shape(1, least=1)
    return Sample(lambda x: ag.topk(x, 1, axis=0).values, [d.values(shape)], flat=False)


# --- rearranging ---
@sampler
def AsType(d: Draw) -> Sample:
    return Sample(lambda x: ag.ops.AsType("complex128")(x), [d.values(d.shape())])


@sampler
def ToDevice(d: Draw) -> Sample:
    return Sample(ag.ops.ToDevice(d.one("cpu", "numpy")), [d.values(d.shape())])


@sampler
def BroadcastTo(d: Draw) -> Sample:
    given, _ = d.broadcast(2)
    wide = tuple(d.number(0, 3) if length == 1 else length for length in given)
    return Sample(ag.ops.BroadcastTo((*d.shape(high=1), *wide)), [d.values(given)])


@sampler
def Concat(d: Draw) -> Sample:
    shape = d.shape(1)
    axis = d.axis(len(shape)) % len(shape)
    others = [(*shape[:axis], d.number(0, 3), *shape[axis + 1 :]) for _ in range(d.number(0, 2))]
    return Sample(ag.ops.Concat(axis), [d.values(each) for each in (shape, *others)])


@sampler
def Stack(d: Draw) -> Sample:
    shape = d.shape(high=2)
    return Sample(ag.ops.Stack(d.axis(len(shape) + 1)), [d.values(shape) for _ in range(d.number(1, 3))])


@sampler
def Reshape(d: Draw) -> Sample:
    shape = d.shape()
    return Sample(ag.ops.Reshape(d.one(shape[::-1], (math.prod(shape),), (1, *shape))), [d.values(shape)])


@sampler
def PermuteDims(d: Draw) -> Sample:
    shape = d.shape()
    return Sample(ag.ops.PermuteDims(d.draw(st.permutations(range(len(shape))))), [d.values(shape)])


@sampler
def ExpandDims(d: Draw) -> Sample:
    shape = d.shape()
    return Sample(ag.ops.ExpandDims(d.axis(len(shape) + 1)), [d.values(shape)])


@sampler
def Squeeze(d: Draw) -> Sample:
    shape = (1, *d.shape(high=2))
    return Sample(ag.ops.Squeeze(d.one(None, 0, (0,), ())), [d.values(shape)])


@sampler
def Flip(d: Draw) -> Sample:
    shape = d.shape()
    return Sample(ag.ops.Flip(d.axes(len(shape))), [d.values(shape)])


@sampler
def Roll(d: Draw) -> Sample:
    shape = d.shape(1)
    axis = d.one(None, 0, (0, -1) if len(shape) > 1 else (0,))
    return Sample(
        ag.ops.Roll(tuple(d.number(-4, 4) for _ in axis) if isinstance(axis, tuple) else 2, axis), [d.values(shape)]
    )


@sampler
def Pad(d: Draw) -> Sample:
    shape = d.shape()
    return Sample(ag.ops.Pad([(d.number(0, 2), d.number(0, 2)) for _ in shape], 1.5), [d.values(shape)])


@sampler
def pad(d: Draw) -> Sample:
    mode, shape = d.one("reflect", "edge", "wrap", "symmetric"), d.shape(1, 2, least=2)
    return Sample(lambda x: ag.pad(x, 1, mode=mode), [d.values(shape)])


def _of_matrix(name: str, make: Callable[[Draw], Callable[..., Any]]) -> None:
    SAMPLERS[name] = lambda d: Sample(make(d), [d.values(d.shape(2))])


_of_matrix("MatrixTranspose", lambda d: ag.ops.MatrixTranspose())
_of_matrix("Triangle", lambda d: ag.ops.Triangle(d.flag(), d.number(-2, 2)))
_of_matrix("Diagonal", lambda d: ag.ops.Diagonal(d.number(-2, 2)))
_of_matrix("tril", lambda d: ag.tril)
_of_matrix("triu", lambda d: ag.triu)
_of_matrix("trace", lambda d: ag.trace)
_of_matrix("swapaxes", lambda d: lambda x: ag.swapaxes(x, 0, -1))
_of_matrix("moveaxis", lambda d: lambda x: ag.moveaxis(x, 0, -1))
_of_matrix("split", lambda d: lambda x: tuple(ag.split(x, [1], axis=1)))
_of_matrix("unstack", lambda d: lambda x: tuple(ag.unstack(x, axis=-1)) or x)
_of_matrix("diff", lambda d: (lambda n: lambda x: ag.diff(ag.concat([x, x * x, x]), n=n, axis=0))(d.number(0, 2)))
_of_matrix("repeat", lambda d: (lambda axis: lambda x: ag.repeat(x, 2, axis=axis))(d.one(None, 0, -1)))
_of_matrix("tile", lambda d: (lambda times: lambda x: ag.tile(x, times))(d.one(2, (1, 2, 1, 2), (0, 1))))


@sampler
def rot90(d: Draw) -> Sample:
    k = d.number(-2, 3)
    return Sample(lambda x: ag.rot90(x, k=k), [d.values(d.shape(2))])


@sampler
def DiagonalPut(d: Draw) -> Sample:
    shape, offset = (*d.one((), (2,)), d.number(1, 3), d.number(1, 3)), d.number(-1, 1)
    return Sample(ag.ops.DiagonalPut(shape, offset), [d.values(np.diagonal(np.zeros(shape), offset, -2, -1).shape)])
