"""Ops of ONNX on quantised integers: q stands for scale * (q - zero).

Products of quantised values are exact in int32; rounding is to the nearest, ties to even, as the standard says.
"""

from collections.abc import Callable
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor
from treadle.autograd.export.onnx_files import dtype_of
from treadle.autograd.export.onnx_import_arithmetic import axis_of, cast
from treadle.autograd.export.onnx_import_windows import convolve
from treadle.autograd.export.onnx_narrow import FLOATS, INTEGERS, held_in, narrowed

__all__ = ["QUANTIZED"]


def _along(values: Tensor, x: Tensor, axis: int, block: int) -> Tensor:
    """Scales or zero points beside x: one for all, one for each place of an axis, or one for each block along it."""
    if values.size == 1 and values.ndim <= 1:
        return F.reshape(values, ())
    axis = axis_of(axis, x.ndim) if x.ndim > 1 else 0
    if values.ndim == 1:
        return F.reshape(values, (-1, *(1,) * (x.ndim - 1 - axis)))
    block = block or -(-x.shape[axis] // values.shape[axis])
    wide = F.repeat(values, block, axis=axis)
    return wide[(*(slice(None),) * axis, slice(x.shape[axis]))]


def _quantize(at: Any, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    axis, block = at.get("axis", 1), at.get("block_size", 0)
    asked = at.get("output_dtype", 0)
    dtype = zero.dtype if zero is not None else dtype_of(asked) if asked else nd.uint8
    wide = cast(x, nd.float32) if x.dtype.kind != "f" or x.dtype.itemsize < 4 else x
    number = F.round(wide / cast(_along(scale, x, axis, block), wide.dtype))
    narrow = at.narrow(2) or (asked if held_in(asked) is not None else 0)
    if narrow in FLOATS:
        at.gives(narrow)
        number = wide / cast(_along(scale, x, axis, block), wide.dtype)
        return narrowed(number, narrow, bool(at.get("saturate", 1)))
    if zero is not None:
        number = number + cast(_along(zero, x, axis, block), number.dtype)
    if narrow:
        at.gives(narrow)
        low, high = INTEGERS[narrow]
        return cast(F.clip(number, float(low), float(high)), dtype)
    info = nd.iinfo(dtype)
    return cast(F.clip(number, float(info.min), float(info.max)), dtype)


def _dequantize(at: Any, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    axis, block = at.get("axis", 1), at.get("block_size", 0)
    asked = at.get("output_dtype", 0)
    kind = nd.int32 if x.dtype.kind in "iu" else nd.float32  # 8-bit floats are held in float32
    number = cast(x, kind)
    if zero is not None:
        number = number - cast(_along(zero, x, axis, block), kind)
    out = cast(number, nd.float32) * cast(_along(scale, x, axis, block), nd.float32)
    return cast(out, dtype_of(asked) if asked else scale.dtype)


def _centred(x: Tensor, zero: Tensor | None, channel_axis: int) -> Tensor:
    """q - zero in int32; zero is one number, or one for each place of an axis."""
    wide = cast(x, nd.int32)
    if zero is None:
        return wide
    if zero.ndim == 1 and zero.size > 1:
        zero = F.reshape(zero, (-1, *(1,) * (x.ndim - 1 - axis_of(channel_axis, x.ndim))))
    return wide - cast(F.reshape(zero, ()) if zero.size == 1 else zero, nd.int32)


def _product(at: Any, a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None) -> Tensor:
    rows = -2 if a_zero is not None and a_zero.ndim == 1 else -1
    return F.matmul(_centred(a, a_zero, rows), _centred(b, b_zero, -1))


def _convolution(at: Any, x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None) -> Tensor:
    return convolve(at, _centred(x, x_zero, 1), _centred(w, w_zero, 0))


def _rescaled(total: Tensor, factor: Tensor, zero: Tensor) -> Tensor:
    info = nd.iinfo(zero.dtype)
    number = F.round(cast(total, nd.float32) * factor) + cast(zero, nd.float32)
    return cast(F.clip(number, float(info.min), float(info.max)), zero.dtype)


def _scaled_product(
    at: Any, a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor, scale: Tensor,
    zero: Tensor,
) -> Tensor:  # fmt: skip
    factor = cast(a_scale, nd.float32) * cast(b_scale, nd.float32) / cast(scale, nd.float32)
    return _rescaled(_product(at, a, b, a_zero, b_zero), factor, zero)


def _scaled_convolution(
    at: Any, x: Tensor, x_scale: Tensor, x_zero: Tensor, w: Tensor, w_scale: Tensor, w_zero: Tensor, scale: Tensor,
    zero: Tensor, bias: Tensor | None = None,
) -> Tensor:  # fmt: skip
    total = _convolution(at, x, w, x_zero, w_zero)
    places = (1,) * (x.ndim - 2)
    if bias is not None:
        total = total + F.reshape(bias, (-1, *places))
    return _rescaled(total, F.reshape(x_scale * w_scale / scale, (-1, *places)), zero)


def _dynamic(at: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    low, high = F.minimum(F.min(x), 0.0), F.maximum(F.max(x), 0.0)
    scale = (high - low) / 255.0
    scale = F.where(scale == 0.0, 1.0, scale)  # of zeros alone, which any scale stands for
    zero = F.clip(F.round(-low / scale), 0.0, 255.0)
    quantized = F.clip(F.round(x / scale) + zero, 0.0, 255.0)
    return cast(quantized, nd.uint8), scale, cast(zero, nd.uint8)


QUANTIZED: dict[str, Callable[..., Any]] = {
    "QuantizeLinear": _quantize, "DequantizeLinear": _dequantize, "DynamicQuantizeLinear": _dynamic,
    "MatMulInteger": _product, "ConvInteger": _convolution, "QLinearMatMul": _scaled_product,
    "QLinearConv": _scaled_convolution,
}  # fmt: skip
"""By name."""
