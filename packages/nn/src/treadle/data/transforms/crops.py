"""Images cut and extended; a cut that needs no padding is a view."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.data.transforms.base import Transform, image_of, pair
from treadle.ndarray.random import Generator

__all__ = ["CenterCrop", "Pad", "RandomCrop"]

_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}


class Pad(Transform):
    """Pixels added at the sides: ``padding`` is one number, (left and right, top and bottom), or (left, top, right,
    bottom). ``padding_mode``: constant (``fill``), edge, reflect (without the edge), symmetric (with it).

    >>> Pad((1, 0))(nd.asarray([[[5]]])).tolist()
    [[[0, 5, 0]]]
    """

    def __init__(self, padding: int | Sequence[int], fill: float = 0, padding_mode: str = "constant") -> None:
        self.padding, self.fill, self.padding_mode = _sides(padding), fill, padding_mode
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {', '.join(_MODES)}, not {padding_mode!r}")

    def __call__(self, sample: Any) -> nd.NDArray:
        return _padded(image_of("Pad", sample), self.padding, self.fill, self.padding_mode)


class CenterCrop(Transform):
    """The middle of an image, ``size`` or (height, width); a smaller image is padded with zeros first.

    >>> CenterCrop(1)(nd.asarray([[[1, 2, 3]]])).tolist()
    [[[2]]]
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = pair("CenterCrop", size)

    def __call__(self, sample: Any) -> nd.NDArray:
        image = image_of("CenterCrop", sample)
        height, width = self.size
        missing = max(0, width - image.shape[-1]), max(0, height - image.shape[-2])
        if any(missing):
            left, top = missing[0] // 2, missing[1] // 2
            image = _padded(image, (left, top, missing[0] - left, missing[1] - top), 0, "constant")
        top, left = round((image.shape[-2] - height) / 2.0), round((image.shape[-1] - width) / 2.0)
        return image[..., top : top + height, left : left + width]


class RandomCrop(Transform):
    """A piece of ``size`` or (height, width) at a random place, of the image with ``padding`` around it (as in Pad).

    With ``pad_if_needed`` an image that is still too small is padded on both sides; without, it is a ShapeError.

    >>> RandomCrop(2)(nd.zeros((3, 5, 5))).shape
    (3, 2, 2)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float = 0,
        padding_mode: str = "constant",
        generator: Generator | None = None,
    ) -> None:
        self.size = pair("RandomCrop", size)
        self.padding = None if padding is None else _sides(padding)
        self.pad_if_needed, self.fill, self.padding_mode = pad_if_needed, fill, padding_mode
        self.generator = generator

    def __call__(self, sample: Any) -> nd.NDArray:
        image = image_of("RandomCrop", sample)
        if self.padding is not None:
            image = _padded(image, self.padding, self.fill, self.padding_mode)
        height, width = self.size
        if self.pad_if_needed:
            across, along = max(0, width - image.shape[-1]), max(0, height - image.shape[-2])
            if across or along:
                image = _padded(image, (across, along, across, along), self.fill, self.padding_mode)
        room = image.shape[-2] - height, image.shape[-1] - width
        if min(room) < 0:
            raise nd.ShapeError(
                f"RandomCrop of {self.size} from {image.shape[-2:]}; pass padding or pad_if_needed=True"
            )
        top, left = (int(self.source.integers(0, each + 1).item()) if each else 0 for each in room)
        return image[..., top : top + height, left : left + width]


def _sides(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    given = tuple(map(operator.index, padding if isinstance(padding, Iterable) else (padding,)))
    if len(given) not in (1, 2, 4) or any(each < 0 for each in given):
        raise ValueError(f"padding is one number, two or four, none negative, not {padding!r}")
    left, top, right, bottom = given * (4 // len(given))
    return left, top, right, bottom


def _padded(image: nd.NDArray, sides: tuple[int, int, int, int], fill: float, mode: str) -> nd.NDArray:
    left, top, right, bottom = sides
    width = [(0, 0)] * (image.ndim - 2) + [(top, bottom), (left, right)]
    if mode == "constant":
        return nd.pad(image, width, constant_values=fill)
    return nd.pad(image, width, mode=mode)
