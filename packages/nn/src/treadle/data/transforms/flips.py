"""Images mirrored at random; a mirrored image is a view."""

from typing import Any, ClassVar

import treadle.ndarray as nd
from treadle.data.transforms.base import Transform, check_probability, image_of
from treadle.ndarray.random import Generator

__all__ = ["RandomHorizontalFlip", "RandomVerticalFlip"]


class _RandomFlip(Transform):
    axis: ClassVar[int]

    def __init__(self, p: float = 0.5, generator: Generator | None = None) -> None:
        self.p, self.generator = check_probability(p), generator

    def __call__(self, sample: Any) -> nd.NDArray:
        image = image_of(type(self).__name__, sample)
        return nd.flip(image, axis=self.axis) if self.source.uniform().item() < self.p else image


class RandomHorizontalFlip(_RandomFlip):
    """Left and right exchanged with probability ``p``.

    >>> RandomHorizontalFlip(p=1.0)(nd.asarray([[[1, 2]]])).tolist()
    [[[2, 1]]]
    """

    axis = -1


class RandomVerticalFlip(_RandomFlip):
    """Top and bottom exchanged with probability ``p``.

    >>> RandomVerticalFlip(p=1.0)(nd.asarray([[[1], [2]]])).tolist()
    [[[2], [1]]]
    """

    axis = -2
