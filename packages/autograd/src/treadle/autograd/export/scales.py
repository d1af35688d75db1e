"""What quantised values stand for: scales, zero points and bounds, and the weights of a layer by its channels."""

from dataclasses import dataclass
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.export.integers import LEAST, MOST
from treadle.autograd.export.program import Role, Value
from treadle.ndarray import NDArray

__all__ = ["Bounds", "Scale", "along", "bounded", "is_finite", "weights_of"]

_LEAST_SCALE = 1e-30  # below, the values count as 0: their reciprocal would leave float32
_FAR = 1e6  # steps beyond which all is one: infinity too

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Scale:
    """The real numbers that an int8 value stands for: scale * (q - zero)."""

    scale: float
    zero: int

    @classmethod
    def of(cls, low: float, high: float) -> "Scale":
        """For numbers from low to high; 0 is exact."""
        low, high = min(low, 0.0), max(high, 0.0)
        scale = (high - low) / (MOST - LEAST)
        scale = nd.asarray(scale if scale >= _LEAST_SCALE else 1.0, dtype="float32").item()
        return cls(scale, max(LEAST, min(MOST, round(LEAST - low / scale))))

    def code(self, number: float) -> int:
        """The int8 value of a number."""
        steps = max(-_FAR, min(_FAR, number / self.scale))
        return max(LEAST, min(MOST, round(steps) + self.zero))


def bounded(before: Bounds, low: float | None = None, high: float | None = None) -> Bounds:
    """The bounds of one more clamp behind another: what lies outside of it moves to its border."""
    least, most = (None if each is None else each if low is None else max(each, low) for each in before)
    if high is not None:
        least, most = None if least is None else min(least, high), high if most is None else min(most, high)
    return (low if least is None else least), most


def is_finite(array: NDArray) -> bool:
    return bool(nd.all(nd.isfinite(array)))


def along(item: Any, axis: int, ndim: int) -> Any:
    """A bias along one axis as float64, or a number; None for anything else."""
    if isinstance(item, int | float):
        return float(item)
    if not isinstance(item, Value) or item.base.role is not Role.CONSTANT or item.dtype.kind != "f":
        return None
    shape = (1,) * (ndim - len(item.shape)) + item.shape
    if any(length != 1 for at, length in enumerate(shape) if at != axis):
        return None
    return item.example.reshape(-1).astype("float64")


def weights_of(weight: NDArray, axis: int, least: list[float]) -> tuple[NDArray, list[float]]:
    """int8 weights and the scale of each output channel, at least so large that its bias is in the reach of int32."""
    others = tuple(each for each in range(weight.ndim) if each != axis)
    largest = nd.max(nd.abs(weight), axis=others)
    scales = [max(each / MOST, low) or 1.0 for each, low in zip(largest.astype("float64").tolist(), least, strict=True)]
    shape = tuple(-1 if each == axis else 1 for each in range(weight.ndim))
    spread = nd.asarray(scales, dtype="float64").reshape(shape)
    return nd.round(weight.astype("float64") / spread).astype("int8"), scales
