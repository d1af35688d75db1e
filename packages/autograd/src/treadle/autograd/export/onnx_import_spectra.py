"""Fourier transforms of ONNX, as products by the matrices of cosines and sines, in float64: differentiable.

A complex number is a last axis of two, its real and its imaginary part; of a real one the last axis has one.
"""

import math
from collections.abc import Callable
from typing import Any

import treadle.autograd.functions as F
import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_files import dtype_of
from treadle.autograd.export.onnx_import_arithmetic import cast, numbers, whole

__all__ = ["SPECTRA"]


def _waves(length: int, taken: int, inverse: bool) -> tuple[Tensor, Tensor]:
    """cos and sin of 2 pi j k / length, for j below ``taken``; (taken, length)."""
    turns = nd.remainder(nd.arange(taken).reshape((-1, 1)) * nd.arange(length), length).astype("float64")
    angles = turns * ((2.0 if inverse else -2.0) * math.pi / length)
    scale = 1.0 / length if inverse else 1.0
    return constant(nd.cos(angles) * scale), constant(nd.sin(angles) * scale)


def _transform(x: Tensor, length: int, inverse: bool, onesided: bool) -> Tensor:
    """The transform along the last axis but one, cut or filled up with zeros to ``length``."""
    have = x.shape[-2]
    dtype, x = x.dtype, cast(x[..., :length, :] if have > length else x, nd.float64)
    half = length // 2 + 1
    if inverse and onesided:  # the other half is the mirror image, conjugated
        mirrored = F.flip(x[..., 1 : length - half + 1, :], axis=-2) * constant(nd.asarray([1.0, -1.0]))
        x = F.concat([x, mirrored], axis=-2)
    cos, sin = _waves(length, x.shape[-2], inverse)
    real = x[..., 0]
    out = [F.matmul(real, cos), F.matmul(real, sin)]
    if x.shape[-1] == 2:
        imaginary = x[..., 1]
        out = [out[0] - F.matmul(imaginary, sin), out[1] + F.matmul(imaginary, cos)]
    if inverse and onesided:
        return cast(F.expand_dims(out[0], -1), dtype)
    found = cast(F.stack(out, axis=-1), dtype)
    return found[..., :half, :] if onesided else found


def _dft(at: Any, x: Tensor, length: Tensor | None = None, axis: Tensor | None = None) -> Tensor:
    along = at.get("axis", 1) if at.version < 20 else whole(axis, -2)
    along %= x.ndim
    inverse, onesided = bool(at.get("inverse", 0)), bool(at.get("onesided", 0))
    moved = F.moveaxis(x, along, -2)
    have = moved.shape[-2]
    default = 2 * (have - 1) if inverse and onesided else have
    return F.moveaxis(_transform(moved, whole(length, default), inverse, onesided), -2, along)


def _stft(at: Any, x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None) -> Tensor:
    size = window.size if window is not None else whole(length)
    if size < 1:
        raise OnnxError("neither a window nor the length of a frame")
    by = whole(step)
    if by < 1:
        raise OnnxError(f"a step of {by} from frame to frame; it must be above 0")
    frames = (x.shape[1] - size) // by + 1
    places = nd.arange(frames).reshape((-1, 1)) * by + nd.arange(size)
    cut = F.take(x, constant(places), axis=1)
    if window is not None:
        cut = cut * F.expand_dims(window, -1)
    return _transform(cut, size, False, bool(at.get("onesided", 1)))


def _mel(at: Any, *given: Tensor) -> Tensor:
    bins, size, rate, low, high = (numbers(each)[0] for each in given)
    spectrum = size // 2 + 1
    lowest, highest = (2595.0 * math.log10(1.0 + each / 700.0) for each in (low, high))
    nd.empty((spectrum, bins))  # what no memory holds is refused before lists are made
    step = (highest - lowest) / (bins + 2)
    edges = [
        int((size + 1) * (700.0 * (10.0 ** ((each * step + lowest) / 2595.0) - 1.0)) // rate)
        for each in range(bins + 2)
    ]
    rows = [[0.0] * bins for _ in range(spectrum)]
    for band in range(bins):
        first, centre, last = edges[band : band + 3]
        if first == centre:
            rows[centre][band] = 1.0
        for each in range(first, centre + 1 if first != centre else first):
            rows[each][band] = (each - first) / (centre - first)
        for each in range(centre, last):
            rows[each][band] = (last - each) / (last - centre)
    return cast(constant(nd.asarray(rows)), dtype_of(at.get("output_datatype", 1)))


SPECTRA: dict[str, Callable[..., Any]] = {"DFT": _dft, "STFT": _stft, "MelWeightMatrix": _mel}
"""By name."""
