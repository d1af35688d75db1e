"""Samplers of products: matrices, Einstein's sums, convolutions, windows, and the loss."""

from collections.abc import Callable
from typing import Any

from packages.autograd.tests.export.drawing import Case, Draws

import treadle.autograd as ag

__all__ = ["PRODUCTS"]


def _matmul(draws: Draws) -> Case:
    n, k, m = (draws.of(1, 2, 5, 0, 8, 17) for _ in range(3))
    k = draws.of(k, k, 200)
    left, right = draws.of(
        ((n, k), (k, m)), ((k,), (k, m)), ((n, k), (k,)), ((k,), (k,)), ((2, n, k), (k, m)), ((n, k), (3, k, m)),
        ((2, 1, n, k), (3, k, m)),
    )  # fmt: skip
    kinds = draws.of(("float32", "float32"), ("float32", "float32"), ("float64", "float32"), ("int32", "int32"),
                     ("int8", "int8"), ("uint8", "int16"), ("int32", "float32"))  # fmt: skip
    return Case(ag.matmul, [draws.values(left, kinds[0], -3, 3), draws.values(right, kinds[1], -3, 3)], linear=True)


def _pairs(function: Any, *shapes: Any) -> Callable[[Draws], Case]:
    def sample(draws: Draws) -> Case:
        chosen = draws.of(*shapes)
        kind = draws.of("float32", "float32", "float64", "int32")
        return Case(function, [draws.values(shape, kind, -3, 3) for shape in chosen], linear=True)

    return sample


SUBSCRIPTS = {
    "ij,jk->ik": [(3, 4), (4, 9)], "bij,bkj->bik": [(2, 3, 4), (2, 5, 4)], "ii->i": [(4, 4)], "ij->ji": [(3, 4)],
    "iij->j": [(3, 3, 4)], "i,j->ij": [(3,), (4,)], "ij,ij->": [(3, 4), (3, 4)], "...ij,jk": [(2, 3, 4), (4, 5)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)], "bi,ij,bj->b": [(3, 2), (2, 4), (3, 4)], "ij->": [(3, 0)],
    "ijk,ikl->ijl": [(1, 3, 2), (1, 2, 9)], "i->": [(150,)], "ki,kj->ij": [(140, 3), (140, 9)],
}  # fmt: skip


def _einsum(draws: Draws) -> Case:
    text = draws.of(*SUBSCRIPTS)
    kind = draws.of("float32", "float32", "int32", "float64")
    operands = [draws.values(shape, kind, -3, 3) for shape in SUBSCRIPTS[text]]
    return Case(lambda *operands: ag.einsum(text, *operands), operands, linear=True)


def _tensordot(draws: Draws) -> Case:
    axes, left, right = draws.of(
        (2, (2, 3, 4), (3, 4, 5)), (1, (2, 3), (3, 4)), (0, (2,), (3,)), (([0, 2], [1, 0]), (3, 2, 4), (4, 3, 2)),
    )  # fmt: skip
    return Case(lambda x, y: ag.tensordot(x, y, axes=axes), [draws.floats(left), draws.floats(right)], linear=True)


def _windows(draws: Draws, count: int, most: int = 3) -> dict[str, Any]:
    def each() -> Any:
        return draws.of(1, draws.of(1, 2), tuple(draws.integer(1, 2) for _ in range(count)))

    padding = draws.of(0, 1, "same", "valid", tuple(draws.integer(0, 2) for _ in range(count)))
    options = {"stride": each(), "padding": padding, "dilation": each()}
    if padding == "same":
        options["stride"] = 1
    return options


def _conv(draws: Draws) -> Case:
    count = draws.of(1, 2, 2, 3)
    groups, share, inside = draws.of(1, 1, 2, 3), draws.of(1, 2, 8), draws.of(1, 2, 9)
    options = {**_windows(draws, count), "groups": groups}
    x = draws.floats((draws.of(1, 2), groups * inside, *(draws.integer(5, 7) for _ in range(count))))
    w = draws.floats((groups * share, inside, *(draws.of(1, 2, 3) for _ in range(count))))
    if draws.integer(0, 1):
        return Case(lambda x, w: ag.conv(x, w, **options), [x, w], linear=True)
    return Case(lambda x, w, b: ag.conv(x, w, b, **options), [x, w, draws.floats(w.shape[:1])], linear=True)


def _conv_transpose(draws: Draws) -> Case:
    count = draws.of(1, 2)
    groups = draws.of(1, 2)
    x = draws.floats((2, groups * 2, *(draws.integer(3, 5) for _ in range(count))))
    w = draws.floats((groups * 2, draws.of(1, 3), *(draws.of(2, 3) for _ in range(count))))
    stride = draws.of(1, 2)
    options = {"stride": stride, "padding": draws.of(0, 1), "groups": groups, "output_padding": draws.of(0, stride - 1)}
    return Case(lambda x, w: ag.conv_transpose(x, w, **options), [x, w], linear=True)


def _conv_input_gradient(draws: Draws) -> Case:
    stride, padding, groups, dilation = draws.of(1, 2), draws.of(0, 1), draws.of(1, 2), draws.of(1, 2)
    x, w = ag.zeros((2, 2 * groups, 7, 8)), draws.floats((3 * groups, 2, 3, 2))
    options = {"stride": stride, "padding": padding, "groups": groups, "dilation": dilation}
    shape = ag.conv(x, ag.Tensor(w), **options).shape
    gradient = draws.floats(shape)
    return Case(lambda g, w: ag.conv_input_gradient(g, w, x.shape, **options), [gradient, w], linear=True)


def _conv_weight_gradient(draws: Draws) -> Case:
    options = {
        "stride": draws.of(1, 2),
        "padding": draws.of(0, 1),
        "groups": draws.of(1, 2),
        "dilation": draws.of(1, 2),
    }
    x, w = draws.floats((2, 2 * options["groups"], 7, 8)), ag.zeros((3 * options["groups"], 2, 3, 2))
    gradient = draws.floats(ag.conv(ag.Tensor(x), w, **options).shape)
    return Case(lambda g, x: ag.conv_weight_gradient(g, x, w.shape, **options), [gradient, x], linear=True)


def _pool(draws: Draws) -> tuple[Any, Any, dict[str, Any]]:
    count = draws.of(1, 2)
    shape = (2, 3, *(draws.integer(4, 7) for _ in range(count)))
    kernel = draws.of(2, 3, tuple(draws.integer(1, 3) for _ in range(count)))
    least = kernel if isinstance(kernel, int) else min(kernel)
    padding = draws.integer(0, least // 2)
    return shape, kernel, {"stride": draws.of(None, 1, 2), "padding": padding, "ceil_mode": draws.of(False, True)}


def _max_pool(draws: Draws) -> Case:
    shape, kernel, options = _pool(draws)
    options["dilation"] = draws.of(1, 1, 2) if kernel == 2 else 1
    x = draws.values(shape, draws.of("float32", "float32", "int32", "float64"))
    return Case(lambda x: ag.max_pool(x, kernel, **options), [x], exact=True, nasty=True)


def _avg_pool(draws: Draws) -> Case:
    shape, kernel, options = _pool(draws)
    options["count_include_pad"] = draws.of(True, False)
    return Case(lambda x: ag.avg_pool(x, kernel, **options), [draws.floats(shape)], linear=True)


def _max_pool_gradient(draws: Draws) -> Case:
    shape, kernel, options = _pool(draws)
    x = draws.floats(shape)
    import treadle.ndarray as nd

    values, indices = nd.max_pool(nd.asarray(x), kernel, **options)
    gradient = draws.floats(values.shape)
    return Case(
        lambda g, at: ag.max_pool_gradient(g, at, shape), [gradient, indices.numpy()], linear=True,
    )  # fmt: skip


def _avg_pool_gradient(draws: Draws) -> Case:
    shape, kernel, options = _pool(draws)
    gradient = draws.floats(ag.avg_pool(ag.zeros(shape), kernel, **options).shape)
    return Case(lambda g: ag.avg_pool_gradient(g, shape, kernel, **options), [gradient], linear=True)


def _cross_entropy(draws: Draws) -> Case:
    n, c = draws.integer(1, 5), draws.integer(2, 7)
    x, y = draws.floats((n, c), -6, 6), draws.whole((n,), c)
    options: dict[str, Any] = {"reduction": draws.of("mean", "sum", "none"), "label_smoothing": draws.of(0.0, 0.1)}
    if draws.integer(0, 1):
        y[0] = 0
        options["ignore_index"] = 0
        if n == 1:
            options["reduction"] = "sum"
    if draws.integer(0, 1):
        return Case(lambda x, y, w: ag.cross_entropy(x, y, w.detach(), **options), [x, y, draws.floats((c,), 0.2, 2.0)])
    return Case(lambda x, y: ag.cross_entropy(x, y, **options), [x, y])


def _linear(draws: Draws) -> Case:
    shape = draws.of((4,), (3, 4), (2, 3, 4), (1, 9))
    w = draws.floats((draws.of(1, 5, 8, 19), shape[-1]))
    return Case(ag.linear, [draws.floats(shape), w, draws.floats(w.shape[:1])], linear=True)


def _attention(draws: Draws) -> Case:
    queries, keys, features, width = (draws.integer(1, 5) for _ in range(4))
    lead = draws.of((), (2,), (2, 3))
    options = draws.of({}, {"causal": True}, {"causal": True, "past": 1}, {"scale": 0.7})
    shapes = (queries, features), (keys, features), (keys, width)
    operands = [draws.floats((*lead, *shape)) for shape in shapes]
    if draws.integer(0, 1):
        operands.append(draws.floats((queries, keys)))  # added to the scores
    return Case(lambda *given: ag.attention(*given, **options), operands)


PRODUCTS: dict[str, Callable[[Draws], Case]] = {
    "matmul": _matmul, "einsum": _einsum, "tensordot": _tensordot, "linear": _linear, "conv": _conv,
    "conv_transpose": _conv_transpose, "conv_input_gradient": _conv_input_gradient,
    "conv_weight_gradient": _conv_weight_gradient, "max_pool": _max_pool, "avg_pool": _avg_pool,
    "max_pool_gradient": _max_pool_gradient, "avg_pool_gradient": _avg_pool_gradient, "cross_entropy": _cross_entropy,
    "attention": _attention,
    "dot": _pairs(ag.dot, [(3, 4), (4, 5)], [(4,), (4,)]), "vecdot": _pairs(ag.vecdot, [(3, 4), (3, 4)], [(4,), (4,)]),
    "outer": _pairs(ag.outer, [(3,), (4,)], [(1,), (9,)]), "kron": _pairs(ag.kron, [(2, 2), (2, 3)], [(3,), (2,)]),
}  # fmt: skip
