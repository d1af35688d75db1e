"""Callables over tensors that are exported, by name: the callable, and inputs for it."""

from collections.abc import Callable
from typing import Any

import treadle.autograd as ag
import treadle.ndarray as nd

__all__ = ["CALLABLES", "WITHOUT"]

_draws = nd.random.Generator(0)


def _normal(*shape: int) -> ag.Tensor:
    return ag.Tensor(_draws.normal(shape=shape))


def _positive(*shape: int) -> ag.Tensor:
    return ag.Tensor(_draws.uniform(shape=shape) + 0.5)


def _below(limit: int, *shape: int) -> ag.Tensor:
    return ag.Tensor(_draws.integers(0, limit, shape=shape))


def _of(name: str) -> Callable[..., Any]:
    return lambda *operands: getattr(ag, name)(*operands)


_matrix, _other = _normal(3, 4), _normal(3, 4)
_kernel, _bias = _normal(20, 3, 3, 3), _normal(20)
_image = _normal(2, 3, 8, 8)
_places = nd.asarray([2, 0, 0])

_INSIDE_ONE = "asin acos atanh"
_REAL = (
    "abs sign square sin cos tan atan sinh cosh tanh asinh sigmoid erf relu softplus floor ceil round trunc exp expm1 "
    "exp2 gelu gelu_tanh isnan isinf isfinite signbit positive negative reciprocal"
)
_ABOVE = "sqrt log log1p log2 log10 acosh"
_TWO = (
    "add subtract multiply divide maximum minimum equal not_equal less less_equal greater greater_equal atan2 hypot "
    "copysign floor_divide remainder logaddexp"
)

CALLABLES: dict[str, tuple[Any, ...]] = {
    **{name: (_of(name), _normal(3, 5)) for name in _REAL.split()},
    **{name: (_of(name), _positive(3, 5) + 0.5) for name in _ABOVE.split()},
    **{name: (_of(name), ag.tanh(_normal(3, 5)).detach()) for name in _INSIDE_ONE.split()},
    **{name: (_of(name), _matrix, _other) for name in _TWO.split()},
    "log1p of little": (ag.log1p, _normal(9) * 1e-4),
    "expm1 of little": (ag.expm1, _normal(9) * 1e-4),
    "power": (lambda a, b: a**b, _positive(3, 4), _normal(4)),
    "numbers": (lambda a: 2 * a / 3 - 1, _normal(5)),
    "broadcast": (lambda a, b: a - b, _normal(3, 1), _normal(1, 4)),
    "integer division": (
        lambda a, b: ag.floor_divide(a - 3, b - 4) + ag.remainder(a - 3, b - 4),
        _below(7, 3, 4),
        _below(4, 3, 4),
    ),
    "bits": (lambda a, b: ag.bitwise_xor(ag.bitwise_and(a, b), ag.bitwise_invert(a)), _below(99, 6), _below(99, 6)),
    "logic": (lambda a, b: ag.logical_and(a > 0, ag.logical_not(b > 0)), _matrix, _other),
    "cast": (lambda a, b: ag.astype(a < b, "float32") * a, _matrix, _other),
    "where": (lambda a, b: ag.where(a > 0, a, b * 2), _matrix, _normal(4)),
    "clip": (lambda a: ag.clip(a, -0.5, 0.5), _matrix),
    "sum": (lambda a: ag.sum(a, axis=1), _matrix),
    "sum of all": (lambda a: ag.sum(a), _matrix),
    "sum kept": (lambda a: ag.sum(a, axis=(0, 2), keepdims=True) * 2, _normal(3, 4, 2)),
    "sum of bools": (lambda a: ag.sum(a > 0, axis=0), _matrix),
    "mean": (lambda a: ag.mean(a, axis=0), _matrix),
    "var": (lambda a: ag.var(a, axis=1), _matrix),
    "std": (lambda a: ag.std(a, correction=1), _matrix),
    "max": (lambda a: ag.max(a, axis=1), _matrix),
    "min": (lambda a: ag.min(a), _matrix),
    "prod": (lambda a: ag.prod(a, axis=1), _matrix),
    "norm": (lambda a: ag.norm(a, axis=1), _matrix),
    "any": (lambda a: ag.any(a > 1, axis=0), _matrix),
    "all": (lambda a: ag.all(a > -1, axis=0), _matrix),
    "argmax": (lambda a: ag.argmax(a, axis=1), _matrix),
    "argmin of all": (lambda a: ag.argmin(a), _matrix),
    "cumsum": (lambda a: ag.cumsum(a, axis=0), _matrix),
    "cumprod": (lambda a: ag.cumprod(a, axis=1), _normal(3, 7)),
    "softmax": (lambda a: ag.softmax(a, axis=0), _matrix),
    "log_softmax": (ag.log_softmax, _matrix),
    "logsumexp": (lambda a: ag.logsumexp(a, axis=1), _matrix),
    "matmul": (lambda a, b: a @ b, _normal(2, 3, 5), _normal(5, 7)),
    "matmul of vectors": (lambda a, b: a @ b, _normal(5), _normal(5)),
    "einsum": (lambda a, b: ag.einsum("bij,bjk->bki", a, b), _normal(2, 3, 4), _normal(2, 4, 5)),
    "einsum of a diagonal": (lambda a: ag.einsum("iij->j", a), _normal(3, 3, 4)),
    "tensordot": (ag.tensordot, _normal(2, 3, 4), _normal(3, 4, 5)),
    "outer": (ag.outer, _normal(3), _normal(4)),
    "linear": (lambda a, w, b: ag.gelu(ag.linear(a, w, b)), _normal(2, 5, 6), _normal(7, 6), _normal(7)),
    "reshape": (lambda a: ag.exp(a.reshape(4, 3)), _matrix),
    "transpose": (lambda a: ag.exp(a.T).reshape(12), _matrix),
    "broadcast_to": (lambda a: ag.broadcast_to(a, (2, 3, 4)), _normal(3, 1)),
    "flip": (lambda a: ag.flip(a, axis=0) + a, _matrix),
    "concat": (lambda a, b: ag.concat([a, b.T], axis=1), _matrix, _normal(2, 3)),
    "moveaxis": (lambda a: ag.moveaxis(a, 0, 2), _normal(2, 3, 4)),
    "stack": (lambda a, b: ag.stack([a, b], axis=1), _matrix, _other),
    "split": (lambda a: ag.split(a, 2, axis=1), _matrix),
    "pad": (lambda a: ag.pad(a, ((1, 2), (0, 1)), constant_values=3.0), _matrix),
    "reflect": (lambda a: ag.pad(a, 1, mode="reflect"), _matrix),
    "roll": (lambda a: ag.roll(a, 2, axis=1), _matrix),
    "repeat": (lambda a: ag.repeat(a, 2, axis=0), _matrix),
    "tile": (lambda a: ag.tile(a, (2, 3)), _matrix),
    "tril": (ag.tril, _normal(4, 4)),
    "triu": (lambda a: ag.triu(a, k=1), _normal(4, 4)),
    "diagonal": (lambda a: ag.diagonal(a) + 1, _normal(4, 4)),
    "trace": (ag.trace, _normal(4, 4)),
    "kron": (ag.kron, _normal(2, 2), _normal(2, 3)),
    "slice": (lambda a: a[1:, ::-2] * 2, _normal(3, 5)),
    "last": (lambda a: a[-1], _matrix),
    "new axis": (lambda a: a[:, None, 1], _matrix),
    "known places": (lambda a: a[_places], _matrix),
    "known mask": (lambda a: a[nd.asarray([True, False, True])], _matrix),
    "known places of two axes": (lambda a: a[:, nd.asarray([1, 0]), None, nd.asarray([0, 1])], _normal(3, 4, 2)),
    "take": (lambda a, i: ag.take(a, i, axis=1), _matrix, _below(4, 5)),
    "take_along_axis": (lambda a, i: ag.take_along_axis(a, i, axis=1), _matrix, _below(4, 3, 2)),
    "set_item": (lambda a, b: ag.set_item(a, (slice(1, 3),), b), _normal(4, 3), _normal(3)),
    "scatter_add": (lambda a, i, v: ag.scatter_add(a, i, v), _normal(4, 3), _below(4, 6), _normal(6, 3)),
    "one_hot": (lambda i: ag.one_hot(i, 5), _below(5, 4)),
    "sort": (lambda a: ag.sort(a, axis=1), _matrix),
    "argsort": (lambda a: ag.argsort(a, descending=True), _matrix),
    "topk": (lambda a: tuple(ag.topk(a, 2)), _matrix),
    "cross_entropy": (lambda a, t: ag.cross_entropy(a, t, label_smoothing=0.1), _normal(4, 5), _below(5, 4)),
    "attention": (
        lambda q, k, v, m: ag.attention(q, k, v, m, causal=True, past=1),
        _normal(2, 4, 3),
        _normal(2, 5, 3),
        _normal(2, 5, 2),
        _normal(4, 5),
    ),
    "conv of rows": (
        lambda a, w, b: ag.conv(a, w, b, padding=1, stride=2),
        _normal(2, 3, 9),
        _normal(4, 3, 3),
        _normal(4),
    ),
    "conv in groups": (
        lambda a, w: ag.conv(a, w, padding=(1, 1), groups=2, dilation=2),
        _normal(2, 4, 8, 7),
        _normal(6, 2, 3, 3),
    ),
    "conv of constants": (lambda a: ag.relu(ag.conv(a, _kernel, _bias, padding=1)), _image),
    "conv_transpose": (
        lambda a, w: ag.conv_transpose(a, w, stride=2, padding=1, output_padding=1),
        _normal(2, 4, 5, 5),
        _normal(4, 3, 3, 3),
    ),
    "max_pool": (lambda a: ag.max_pool(a, 3, stride=2, padding=1), _image),
    "max_pool to the end": (lambda a: ag.max_pool(a, 3, stride=2, ceil_mode=True), _image),
    "avg_pool": (lambda a: ag.avg_pool(a, 3, stride=2, padding=1), _image),
    "avg_pool of what is there": (lambda a: ag.avg_pool(a, 3, stride=2, padding=1, count_include_pad=False), _image),
    "avg_pool by a number": (lambda a: ag.avg_pool(a, 2, divisor_override=3), _image),
    "two results": (lambda a, b: (a + b, a * b), _matrix, _other),
    "input as result": (lambda a: (a, a + 1), _matrix),
    "argmin": (lambda a: ag.argmin(a, axis=0, keepdims=True), _matrix),
    "astype": (lambda a: ag.astype(a * 3, "int32"), _matrix),
    **{name: (_of(name), _below(99, 6), _below(99, 6)) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    "bitwise_invert": (ag.bitwise_invert, _below(99, 6)),
    "bitwise_xor of bools": (lambda a, b: ag.bitwise_xor(a > 0, b > 0), _matrix, _other),
    **{
        name: (lambda a, b, name=name: getattr(ag, name)(a > 0, b > 0), _matrix, _other)
        for name in ("logical_and", "logical_or", "logical_xor")
    },
    "logical_not": (lambda a: ag.logical_not(a > 0), _matrix),
    "conv": (lambda a: ag.conv(a, _kernel, stride=2), _image),
    "conv_input_gradient": (
        lambda a: ag.conv_input_gradient(a, ag.Tensor(_kernel.data), (2, 3, 8, 8), stride=2, padding=1),
        _normal(2, 20, 4, 4),
    ),
    "diff": (lambda a: ag.diff(a, axis=1, n=2), _matrix),
    "dot": (ag.dot, _normal(5), _normal(5)),
    "vecdot": (lambda a, b: ag.vecdot(a, b), _matrix, _other),
    "expand_dims": (lambda a: ag.expand_dims(a, 1), _matrix),
    "squeeze": (lambda a: ag.squeeze(a, 1) * 2, _normal(3, 1, 2)),
    "get_item": (lambda a: a[..., 1:, None, 0], _normal(3, 4, 2)),
    "matrix_transpose": (lambda a: ag.matrix_transpose(a), _normal(2, 3, 4)),
    "permute_dims": (lambda a: ag.permute_dims(a, (2, 0, 1)) + 1, _normal(2, 3, 4)),
    "swapaxes": (lambda a: ag.swapaxes(a, 0, -1), _normal(2, 3, 4)),
    "rot90": (lambda a: ag.rot90(a), _matrix),
    "unstack": (lambda a: ag.unstack(a, axis=1), _normal(3, 2)),
    "pow": (ag.pow, _positive(3, 4), _normal(3, 4)),
    "pow of integers": (lambda a: a**2, _below(9, 5)),
    "unsigned shift": (
        lambda a: ag.bitwise_left_shift(ag.astype(a, "uint32"), ag.astype(ag.ones_like(a), "uint32")),
        _below(9, 5),
    ),
    "loss and sort": (
        lambda a, i: ag.cross_entropy(a, i, reduction="sum") + ag.sum(ag.sort(a, descending=True)[:, 0]),
        _matrix,
        _below(4, 3),
    ),
    "computed places": (
        lambda a, i, j: ag.get_item(a, (i, j)) + ag.sum(ag.get_item(a, i)),
        _matrix,
        _below(3, 5),
        _below(4, 5),
    ),
    "written at computed places": (
        lambda a, i, v: ag.set_item(a, (i,), v),
        _normal(6, 3),
        ag.Tensor([4, 0]),
        _normal(2, 3),
    ),
    "scattered along another axis": (
        lambda a, i, v: ag.scatter_add(a, i, v, axis=1),
        _normal(4, 3),
        _below(3, 5),
        _normal(4, 5),
    ),
    **{name: (_of(name), _normal(7)) for name in ["logcumsumexp"] if hasattr(ag, name)},
    "batch norm": (
        lambda a: (
            (a - ag.Tensor(_bias.data[:3].reshape((3, 1, 1)))) / ag.sqrt(ag.var(a, axis=(0, 2, 3), keepdims=True))
        ),
        _image,
    ),
}

_MAKERS = ("empty", "full", "ones", "zeros")
WITHOUT = {
    **dict.fromkeys(["angle", "conj", "fft", "imag", "real"], "is about complex numbers"),
    **dict.fromkeys(
        ["arange", "eye", "linspace", *(each + like for each in _MAKERS for like in ("", "_like"))], "makes a constant"
    ),
    **dict.fromkeys(["avg_pool_gradient", "max_pool_gradient", "conv_weight_gradient"], "belongs to training"),
    "linalg": "of it det has a form",
    "nextafter": "has no form",
    "to_device": "a model has no device",
    "bitwise_left_shift": "of unsigned integers only",
    "bitwise_right_shift": "of unsigned integers only",
}
"""Tensor functions that no callable above is about, and why."""
