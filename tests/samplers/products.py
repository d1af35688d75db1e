"""Products, convolutions, pooling, the loss."""

from typing import Any

import numpy as np

import treadle.autograd as ag
import treadle.ndarray as nd
from samplers.drawing import Draw, Sample, sampler

Shape = tuple[int, ...]


@sampler
def Einsum(d: Draw) -> Sample:
    subscripts = d.one(
        "ij,jk->ik", "ij,jk", "ii", "ii->i", "iij->ji", "ij->", "i,j->ij", "i,i,i->", "...ij,jk->...ik", "ij,kl->jk",
        "...,...->...", ",ij->ij", "i...->...", "ij,ij->ij",
    )  # fmt: skip
    lengths = {letter: d.number(0, 3) for letter in "ijkl."}
    terms = subscripts.split("->")[0].replace("...", ".").split(",")
    shapes = [tuple(lengths[letter] for letter in term) for term in terms]
    return Sample(ag.ops.Einsum(subscripts), [d.values(shape) for shape in shapes])


def _product_shapes(d: Draw) -> tuple[Shape, Shape]:
    n, k, m = d.number(0, 3), d.number(0, 3), d.number(0, 3)
    batches = d.one(((), ()), ((2,), ()), ((), (2,)), ((1,), (2,)), ((2, 1), (3,)), ((0,), (1,)))
    shapes: tuple[Shape, Shape] = d.one(
        ((k,), (k,)), ((k,), (k, m)), ((n, k), (k,)), ((*batches[0], n, k), (*batches[1], k, m))
    )
    return shapes


@sampler
def MatMul(d: Draw) -> Sample:
    a, b = _product_shapes(d)
    turn = len(a) > 1 and d.flag(), len(b) > 1 and d.flag()
    arrays = [d.values(shape) for shape in (a, b)]
    arrays = [np.swapaxes(each, -1, -2) if flag else each for each, flag in zip(arrays, turn, strict=True)]
    return Sample(ag.ops.MatMul(*turn), arrays)


@sampler
def Linear(d: Draw) -> Sample:
    k, n = d.number(0, 3), d.number(0, 3)
    operands = [d.values((*d.shape(high=2), k)), d.values((n, k)), d.values((n,))]
    return Sample(ag.ops.Linear(), operands[: d.one(2, 3)])


@sampler
def tensordot(d: Draw) -> Sample:
    count = d.number(0, 2)
    shared = d.shape(count, count)
    a, b = d.shape(high=1) + shared, shared + d.shape(high=1)
    axes = d.one(count, (list(range(-count, 0)), list(range(count))))
    return Sample(lambda x, y: ag.tensordot(x, y, axes=axes), [d.values(a), d.values(b)])


@sampler
def vecdot(d: Draw) -> Sample:
    k = d.number(0, 3)
    return Sample(ag.vecdot, [d.values((*d.one((), (2,)), k)), d.values((*d.one((), (2,), (1,)), k))])


@sampler
def dot(d: Draw) -> Sample:
    k = d.number(0, 3)
    return Sample(
        ag.dot, [d.values(shape) for shape in d.one(((k,), (k,)), ((2, k), (k, 2)), ((), (k,)), ((2, k), (k,)))]
    )


@sampler
def outer(d: Draw) -> Sample:
    return Sample(ag.outer, [d.values((d.number(0, 3),)), d.values((d.number(0, 3),))])


@sampler
def kron(d: Draw) -> Sample:
    return Sample(ag.kron, [d.values(d.shape(high=2, most=2)), d.values(d.shape(high=2, most=2))])


# --- convolution, pooling ---
def _windows(d: Draw) -> tuple[dict[str, Any], Shape, Shape]:
    """The configuration of a convolution, and the shapes of input and weight."""
    axes, groups = d.one(1, 1, 2), d.one(1, 2)
    options: dict[str, Any] = {
        "stride": d.number(1, 2),
        "dilation": d.number(1, 2),
        "padding": d.number(0, 1),
        "groups": groups,
    }
    kernel = tuple(d.number(1, 2) for _ in range(axes))
    lengths = tuple(d.number(3, 4) for _ in range(axes))
    return options, (d.number(0, 2), groups, *lengths), (groups * d.number(1, 2), 1, *kernel)


@sampler
def Conv(d: Draw) -> Sample:
    options, x, w = _windows(d)
    operands = [d.values(x), d.values(w), d.values(w[:1])]
    return Sample(ag.ops.Conv(**options), operands[: d.one(2, 3)])


@sampler
def ConvInputGradient(d: Draw) -> Sample:
    options, x, w = _windows(d)
    out = ag.ops.Conv(**options).infer((x, w), (ag.ones(1).dtype,) * 2)[0]
    return Sample(ag.ops.ConvInputGradient(x, **options), [d.values(out), d.values(w)])


@sampler
def ConvWeightGradient(d: Draw) -> Sample:
    options, x, w = _windows(d)
    out = ag.ops.Conv(**options).infer((x, w), (ag.ones(1).dtype,) * 2)[0]
    return Sample(ag.ops.ConvWeightGradient(w, **options), [d.values(out), d.values(x)])


@sampler
def conv_transpose(d: Draw) -> Sample:
    options, _, w = _windows(d)
    options["output_padding"] = d.number(0, max(options["stride"], options["dilation"]) - 1)
    x = (d.number(0, 2), w[0], *[d.number(2, 3) for _ in w[2:]])
    operands = [d.values(x), d.values(w), d.values((options["groups"],))][: d.one(2, 3)]
    return Sample(lambda *operands: ag.conv_transpose(*operands, **options), operands)


def _pool(d: Draw) -> tuple[dict[str, Any], Shape]:
    axes = d.one(1, 1, 2)
    kernel = d.number(1, 3)
    options = {
        "kernel": kernel,
        "stride": d.one(None, 1, 2),
        "padding": d.number(0, kernel // 2),
        "ceil_mode": d.flag(),
    }
    return options, (d.number(1, 2), d.number(1, 2), *[d.number(3, 4) for _ in range(axes)])


@sampler
def MaxPool(d: Draw) -> Sample:
    options, shape = _pool(d)
    return Sample(ag.ops.MaxPool(**options), [d.values(shape)], complex=False, flat=False)


@sampler
def MaxPoolGradient(d: Draw) -> Sample:
    options, shape = _pool(d)
    values, (indices,) = ag.ops.MaxPool(**options).forward(nd, nd.asarray(d.values(shape)))
    return Sample(ag.ops.MaxPoolGradient(shape), [d.values(values.shape), indices.numpy()])


@sampler
def AvgPool(d: Draw) -> Sample:
    options, shape = _pool(d)
    more = {"count_include_pad": d.flag(), "divisor_override": d.one(None, 3)}
    return Sample(ag.ops.AvgPool(**options, **more), [d.values(shape)])


@sampler
def AvgPoolGradient(d: Draw) -> Sample:
    options, shape = _pool(d)
    out = ag.ops.AvgPool(**options).infer((shape,), (ag.ones(1).dtype,))[0]
    return Sample(ag.ops.AvgPoolGradient(shape, **options), [d.values(out)])


@sampler
def CrossEntropy(d: Draw) -> Sample:
    n, c = d.number(1, 3), d.number(1, 3)
    targets = d.places((n,), c) % c
    op = ag.ops.CrossEntropy(d.one("mean", "sum", "none"), label_smoothing=d.one(0.0, 0.2))
    return Sample(op, [d.values((n, c)), targets], complex=False)


@sampler
def Attention(d: Draw) -> Sample:
    queries, keys, features, width = (d.number(1, 3) for _ in range(4))
    tails = (queries, features), (keys, features), (keys, width)
    shapes = [(*lead, *tail) for lead, tail in zip(d.broadcast(3), tails, strict=True)]
    op = ag.ops.Attention(d.flag(), d.number(0, 1), d.one(None, 0.7))
    mask = d.one(None, "added", "chosen")
    more = []
    if mask is not None:
        values = d.values(d.one((keys,), (queries, 1), (queries, keys)))
        more = [values if mask == "added" else values > -1.0]
    return Sample(op, [*[d.values(shape) for shape in shapes], *more], complex=False)
