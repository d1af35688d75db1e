"""Forms of reductions, products, convolutions, poolings and orders."""

import math
from collections.abc import Callable
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.export.products import _Windows
from treadle.autograd.export.program import Call, Value
from treadle.ndarray.geometry import per_axis

__all__ = ["SUMS"]

Form = Callable[..., Any]


def _axes(call: Call) -> list[int] | None:
    axis = call.options.get("axis", call.arguments[1] if len(call.arguments) > 1 else None)
    ndim = len(call.arguments[0].shape)
    if axis is None:
        return None
    return [each % ndim for each in (axis if isinstance(axis, tuple | list) else (axis,))]


def _reduction(op: str) -> Form:
    def form(e: Any, call: Call) -> Any:
        result, axes = call.results[0], _axes(call)
        x = e.of(call.arguments[0], result.dtype)
        if axes == []:
            return x
        given = [] if axes is None else [e.ints(axes)]
        return e.node(op, x, *given, keepdims=int(bool(call.options.get("keepdims", False))))

    return form


def _truth(op: str) -> Form:
    """any and all: the largest and the least of 0 and 1."""

    def form(e: Any, call: Call) -> Any:
        axes = _axes(call)
        x = e.cast(e.of(call.arguments[0], nd.bool), nd.int32)
        given = [] if axes is None else [e.ints(axes)]
        found = e.node(op, x, *given, keepdims=int(bool(call.options.get("keepdims", False))))
        return e.cast(found, nd.bool)

    return form


def _place(op: str) -> Form:
    def form(e: Any, call: Call) -> Any:
        x, axes = call.arguments[0], _axes(call)
        keepdims = int(bool(call.options.get("keepdims", False)))
        if axes is not None:
            return e.node(op, e.of(x), axis=axes[0], keepdims=keepdims)
        found = e.node(op, e.node("Reshape", e.of(x), e.ints([-1])), axis=0, keepdims=0)
        return e.node("Reshape", found, e.ints(call.results[0].shape))

    return form


def _along(op: str) -> Form:
    return lambda e, call: e.node(op, e.of(call.arguments[0]), axis=(_axes(call) or [-1])[0])


def _cumsum(e: Any, call: Call) -> Any:
    axes = _axes(call)
    x = e.of(call.arguments[0], call.results[0].dtype)
    x = x if axes is not None else e.node("Reshape", x, e.ints([-1]))
    return e.node("CumSum", x, e.of(nd.asarray(axes[0] if axes else 0, dtype="int64").item()))


def _matmul(e: Any, call: Call) -> Any:
    return e.node("MatMul", *[e.of(each, call.results[0].dtype) for each in call.arguments])


def _einsum(e: Any, call: Call) -> Any:
    subscripts, *arrays = call.arguments
    given = [e.of(each, call.results[0].dtype) for each in arrays]
    return e.node("Einsum", *given, equation=subscripts.replace(" ", ""))


# --- windows ----------------------------------------------------------------------------------------------------------
def _sides(padding: Any) -> list[int]:
    return [before for before, _ in padding] + [after for _, after in padding]


def _conv(e: Any, call: Call) -> Any:
    given = [each for each in call.arguments if isinstance(each, Value)]
    windows, dtype = _Windows.of(call, given[1].shape), call.results[0].dtype
    return e.node(
        "Conv", *[e.of(each, dtype) for each in given], strides=list(windows.stride), dilations=list(windows.dilation),
        pads=_sides(windows.padding), group=windows.groups,
    )  # fmt: skip


def _conv_transpose(e: Any, call: Call) -> Any:
    gradient, weight = call.arguments[:2]
    windows, result = _Windows.of(call, weight.shape), call.results[0]
    more = []
    for axis, length in enumerate(result.shape[2:]):
        reach = (gradient.shape[2 + axis] - 1) * windows.stride[axis] - sum(windows.padding[axis])
        more.append(length - reach - (windows.kernel[axis] - 1) * windows.dilation[axis] - 1)
    if any(not 0 <= each < max(step, 1) for each, step in zip(more, windows.stride, strict=True)):
        raise e.refusal(f"a transposed convolution to lengths {result.shape[2:]} by strides {windows.stride}")
    return e.node(
        "ConvTranspose", e.of(gradient, result.dtype), e.of(weight, result.dtype), strides=list(windows.stride),
        dilations=list(windows.dilation), pads=_sides(windows.padding), group=windows.groups, output_padding=more,
    )  # fmt: skip


def _pool(op: str, *more: str) -> Form:
    def form(e: Any, call: Call) -> Any:
        x, kernel = call.arguments[:2]
        count, options = len(x.shape) - 2, call.options
        sizes = per_axis(kernel, count, "kernel", call.function)
        step = options.get("stride")
        pads = per_axis(options.get("padding", 0), count, "padding", call.function, 0)
        given: dict[str, Any] = {"ceil_mode": int(options.get("ceil_mode", False))}
        if "dilation" in options:
            given["dilations"] = list(per_axis(options["dilation"], count, "dilation", call.function))
        if "count_include_pad" in more:
            given["count_include_pad"] = int(options.get("count_include_pad", True))
        places = len(call.results) > 1 and e.wanted is call.results[1]
        found = e.nodes(
            op, 1 + places, e.of(x), kernel_shape=list(sizes),
            strides=list(sizes if step is None else per_axis(step, count, "stride", call.function)),
            pads=[*pads, *pads], **given,
        )  # fmt: skip
        if places:  # ONNX numbers the elements of the whole array, the array function those of each plane
            return ["", e.node("Mod", found[1], e.ints([max(math.prod(x.shape[2:]), 1)]))]
        return [found[0], *[""] * (len(call.results) - 1)]

    return form


# --- order ------------------------------------------------------------------------------------------------------------
def _argsort(e: Any, call: Call) -> Any:
    x = call.arguments[0]
    axis = call.options.get("axis", -1)
    descending = int(bool(call.options.get("descending", False)))
    return e.nodes("TopK", 2, e.of(x), e.ints([x.shape[axis]]), axis=axis, largest=descending)[1]


def _topk(e: Any, call: Call) -> Any:
    x, count = call.arguments[:2]
    largest = int(bool(call.options.get("largest", True)))
    return e.nodes("TopK", 2, e.of(x), e.ints([count]), axis=call.options.get("axis", -1), largest=largest)


SUMS: dict[str, Form] = {
    "sum": _reduction("ReduceSum"), "prod": _reduction("ReduceProd"), "max": _reduction("ReduceMax"),
    "min": _reduction("ReduceMin"), "mean": _reduction("ReduceMean"), "logsumexp": _reduction("ReduceLogSumExp"),
    "any": _truth("ReduceMax"), "all": _truth("ReduceMin"), "argmax": _place("ArgMax"), "argmin": _place("ArgMin"),
    "softmax": _along("Softmax"), "log_softmax": _along("LogSoftmax"), "cumsum": _cumsum, "matmul": _matmul,
    "einsum": _einsum, "conv": _conv, "conv_input_gradient": _conv_transpose, "max_pool": _pool("MaxPool"),
    "avg_pool": _pool("AveragePool", "count_include_pad"), "argsort": _argsort, "topk": _topk,
    "linalg.det": lambda e, call: e.node("Det", e.of(call.arguments[0])),
}  # fmt: skip
"""By the array function's name."""
