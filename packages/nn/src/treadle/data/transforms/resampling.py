"""Images computed anew between their pixels: other sizes, turned."""

import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import ceil, cos, floor, inf, nan, radians, sin
from typing import Any

import treadle.ndarray as nd
from treadle.data.transforms.base import Transform, image_of, pair
from treadle.ndarray.random import Generator

__all__ = ["RandomRotation", "Resize"]


class Resize(Transform):
    """An image of another size, ``size`` for the shorter side or (height, width).

    ``interpolation``: bilinear or nearest. With ``antialias`` a smaller image is made with the triangle widened by the
    factor, as Pillow does. Bilinear computes in float32, and rounds for integer images.

    >>> Resize(2)(nd.zeros((3, 4, 6))).shape
    (3, 2, 3)
    """

    def __init__(self, size: int | Sequence[int], interpolation: str = "bilinear", antialias: bool = True) -> None:
        if interpolation not in ("bilinear", "nearest"):
            raise ValueError(f"interpolation must be 'bilinear' or 'nearest', not {interpolation!r}")
        self.size: int | tuple[int, int] = pair("Resize", size) if isinstance(size, Iterable) else operator.index(size)
        if isinstance(self.size, int) and self.size < 1:
            raise ValueError(f"size must be 1 or more, not {size}")
        self.interpolation, self.antialias = interpolation, antialias

    def __call__(self, sample: Any) -> nd.NDArray:
        image = image_of("Resize", sample)
        height, width = image.shape[-2:]
        if not height or not width:
            raise nd.ShapeError(f"Resize: an image of shape {image.shape} has no pixels")
        wanted = self._wanted(height, width)
        if wanted == (height, width):
            return image
        if self.interpolation == "nearest":
            for axis, (old, new) in zip((-2, -1), ((height, wanted[0]), (width, wanted[1])), strict=True):
                places = [min(int(index * old / new), old - 1) for index in range(new)]
                image = nd.take(image, nd.asarray(places, dtype="int64", device=image.device), axis=axis)
            return image
        values = image.astype("float32", copy=False)
        down, along = (
            _weights(old, new, self.antialias).to_device(image.device)
            for old, new in ((height, wanted[0]), (width, wanted[1]))
        )
        return _as(_mapped(values, down, along), image.dtype)

    def _wanted(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.size, int):
            return self.size
        shorter, longer = sorted((height, width))
        other = int(self.size * longer / shorter)
        return (self.size, other) if height <= width else (other, self.size)


@lru_cache(maxsize=64)
def _weights(old: int, new: int, antialias: bool) -> nd.NDArray:
    """The matrix (new, old) of the triangle filter: row i has the shares of the old pixels in the new pixel i."""
    scale = old / new
    support = max(scale, 1.0) if antialias else 1.0
    rows = []
    for index in range(new):
        center = (index + 0.5) * scale
        if not antialias:
            center = min(max(center, 0.5), old - 0.5)
        row = [0.0] * old
        for place in range(max(0, floor(center - support)), min(old, ceil(center + support))):
            row[place] = max(0.0, 1.0 - abs(place + 0.5 - center) / support)
        total = sum(row)
        rows.append([share / total for share in row])
    return nd.asarray(rows, dtype="float32", device="cpu")


def _mapped(values: nd.NDArray, down: nd.NDArray, along: nd.NDArray) -> nd.NDArray:
    """``down @ values @ along.T``, where 0 times infinity is 0: depths may be infinite or NaN somewhere."""
    finite = nd.isfinite(values)
    if bool(nd.all(finite)):
        return down @ values @ along.T
    reached = [
        down @ mask.astype("float32") @ along.T > 0.0 for mask in (nd.isnan(values), values == inf, values == -inf)
    ]
    result = down @ nd.where(finite, values, 0.0) @ along.T
    result = nd.where(reached[1], inf, nd.where(reached[2], -inf, result))
    return nd.where(reached[0] | (reached[1] & reached[2]), nan, result)


def _as(values: nd.NDArray, dtype: Any) -> nd.NDArray:
    if dtype.kind in "iu":
        limits = nd.iinfo(dtype)
        values = nd.clip(nd.round(values), float(limits.min), float(limits.max))
    if dtype.kind == "b":
        return values >= 0.5
    return values.astype(dtype, copy=False)


class RandomRotation(Transform):
    """An image turned about its middle by an angle from -degrees to degrees, or between two angles.

    Angles are in degrees, counter-clockwise. What comes from outside is ``fill``. ``interpolation``: nearest or
    bilinear. The size stays.

    >>> RandomRotation((90, 90))(nd.asarray([[[1, 2], [3, 4]]])).tolist()
    [[[2, 4], [1, 3]]]
    """

    def __init__(
        self,
        degrees: float | tuple[float, float],
        interpolation: str = "nearest",
        fill: float = 0,
        generator: Generator | None = None,
    ) -> None:
        if interpolation not in ("bilinear", "nearest"):
            raise ValueError(f"interpolation must be 'nearest' or 'bilinear', not {interpolation!r}")
        low, high = degrees if isinstance(degrees, Iterable) else (-degrees, degrees)
        if not low <= high:
            raise ValueError(f"degrees must be 0 or more, or (lowest, highest), not {degrees!r}")
        self.degrees, self.interpolation, self.fill, self.generator = (low, high), interpolation, fill, generator

    def __call__(self, sample: Any) -> nd.NDArray:
        image = image_of("RandomRotation", sample)
        low, high = self.degrees
        share = self.source.uniform(dtype="float64").item()
        angle = radians(low + (high - low) * share)
        height, width = image.shape[-2:]
        # the place in the image that each pixel of the result comes from, from the middle
        down = nd.arange(height, dtype="float64", device=image.device)[:, None] - (height - 1) / 2
        along = nd.arange(width, dtype="float64", device=image.device)[None, :] - (width - 1) / 2
        rows = sin(angle) * along + cos(angle) * down + (height - 1) / 2
        columns = cos(angle) * along - sin(angle) * down + (width - 1) / 2
        if self.interpolation == "nearest":
            return self._picked(image, nd.round(rows), nd.round(columns))
        return _as(self._between(image.astype("float32", copy=False), rows, columns), image.dtype)

    def _picked(self, image: nd.NDArray, rows: nd.NDArray, columns: nd.NDArray) -> nd.NDArray:
        """The pixels at whole places."""
        height, width = image.shape[-2:]
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        places = nd.where(inside, rows * width + columns, 0.0).astype("int64")
        flat = image.reshape(*image.shape[:-2], height * width)
        picked = nd.take(flat, places.reshape(-1), axis=-1).reshape(image.shape)
        return nd.where(inside, picked, nd.asarray(self.fill, dtype=image.dtype, device=image.device))

    def _between(self, image: nd.NDArray, rows: nd.NDArray, columns: nd.NDArray) -> nd.NDArray:
        """The mean of the four pixels around each place, by how close they are."""
        top, left = nd.floor(rows), nd.floor(columns)
        low, right = (rows - top).astype("float32"), (columns - left).astype("float32")
        above = self._picked(image, top, left) * (1.0 - right) + self._picked(image, top, left + 1.0) * right
        below = (
            self._picked(image, top + 1.0, left) * (1.0 - right) + self._picked(image, top + 1.0, left + 1.0) * right
        )
        return above * (1.0 - low) + below * low
