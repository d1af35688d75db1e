"""What changes the values of a sample: scale, erase, encode."""

from collections.abc import Sequence
from math import exp, log, sqrt
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data.transforms.base import Transform, check_probability, image_of
from treadle.ndarray.random import Generator

__all__ = ["Normalize", "OneHot", "RandomErasing", "ToArray"]


class ToArray(Transform):
    """An array of float32: unsigned bytes from 0 to 1, other numbers as they are.

    With ``channels_last`` the image comes as (height, width, channels) or (height, width), as Pillow and NumPy have it,
    and becomes (channels, height, width).

    >>> ToArray()(nd.asarray([0, 255], dtype="uint8"))
    array([0., 1.])
    """

    def __init__(self, channels_last: bool = False) -> None:
        self.channels_last = channels_last

    def __call__(self, sample: Any) -> nd.NDArray:
        array = sample.data if isinstance(sample, Tensor) else nd.asarray(sample)
        if self.channels_last:
            if array.ndim not in (2, 3):
                raise nd.ShapeError(f"ToArray takes (height, width, channels) or (height, width), not {array.shape}")
            array = array[None] if array.ndim == 2 else nd.permute_dims(array, (2, 0, 1))
        values = array.astype("float32", copy=False)
        return values * (1.0 / 255.0) if array.dtype.name == "uint8" else values


class Normalize(Transform):
    """(image - mean) / std, with a number for each channel.

    >>> Normalize([1.0], [2.0])(nd.asarray([[[1.0, 3.0]]])).tolist()
    [[[0.0, 1.0]]]
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean, self.std = list(mean), list(std)
        if len(self.mean) != len(self.std) or not self.mean or any(each == 0.0 for each in self.std):
            raise ValueError(f"mean and std are as many numbers, std none of them 0, not {self.mean} and {self.std}")

    def __call__(self, sample: Any) -> nd.NDArray:
        image = image_of("Normalize", sample)
        if image.dtype.kind != "f":
            raise nd.DTypeError(f"Normalize takes floats, not {image.dtype.name}; put ToArray() before it")
        if len(self.mean) not in (1, image.shape[-3]):
            raise nd.ShapeError(
                f"Normalize has {len(self.mean)} means for the {image.shape[-3]} channels of {image.shape}"
            )
        mean, std = (
            nd.asarray(each, dtype=image.dtype, device=image.device)[:, None, None] for each in (self.mean, self.std)
        )
        return (image - mean) / std


class RandomErasing(Transform):
    """A rectangle filled with ``value`` (a number, one a channel, or "random": normal) with probability ``p``.

    Its area is a share of the image drawn from ``scale``, its height through width is drawn from ``ratio`` on a
    logarithmic scale. Z. Zhong et al., "Random erasing data augmentation", 2017.

    >>> RandomErasing(p=0.0)(nd.ones((1, 2, 2))).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
    """

    _TRIES = 10

    def __init__(
        self,
        p: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: float | Sequence[float] | str = 0,
        inplace: bool = False,
        generator: Generator | None = None,
    ) -> None:
        if not 0.0 <= scale[0] <= scale[1] <= 1.0 or not 0.0 < ratio[0] <= ratio[1]:
            raise ValueError(f"scale is (low, high) within 0 and 1, ratio (low, high) above 0, not {scale} and {ratio}")
        if isinstance(value, str) and value != "random":
            raise ValueError(f"value is a number, one a channel, or 'random', not {value!r}")
        self.p, self.scale, self.ratio, self.value = check_probability(p), scale, ratio, value
        self.inplace, self.generator = inplace, generator

    def __call__(self, sample: Any) -> nd.NDArray:
        image = image_of("RandomErasing", sample)
        if self.source.uniform().item() >= self.p:
            return image
        place = self._place(*image.shape[-2:])
        if place is None:
            return image
        top, left, height, width = place
        result = image if self.inplace else image.copy()
        result[..., top : top + height, left : left + width] = self._filling(image, height, width)
        return result

    def _place(self, height: int, width: int) -> tuple[int, int, int, int] | None:
        for _ in range(self._TRIES):
            area = height * width * self.source.uniform(*self.scale).item()
            ratio = exp(self.source.uniform(log(self.ratio[0]), log(self.ratio[1])).item())
            high, wide = round(sqrt(area * ratio)), round(sqrt(area / ratio))
            if high < height and wide < width:
                top = self.source.integers(0, height - high + 1).item()
                return int(top), int(self.source.integers(0, width - wide + 1).item()), high, wide
        return None

    def _filling(self, image: nd.NDArray, height: int, width: int) -> Any:
        if isinstance(self.value, str):
            shape = (*image.shape[:-2], height, width)
            return self.source.normal(shape=shape, device=image.device).astype(image.dtype, copy=False)
        if isinstance(self.value, (int, float)):
            return self.value
        if len(self.value) != image.shape[-3]:
            raise nd.ShapeError(f"RandomErasing has {len(self.value)} values for the channels of {image.shape}")
        return nd.asarray(list(self.value), dtype=image.dtype, device=image.device)[:, None, None]


class OneHot(Transform):
    """A label as float32 zeros with a one at its place.

    >>> OneHot(3)(1)
    array([0., 1., 0.])
    """

    def __init__(self, num_classes: int) -> None:
        if num_classes < 1:
            raise ValueError(f"num_classes must be 1 or more, not {num_classes}")
        self.num_classes = num_classes

    def __call__(self, sample: Any) -> nd.NDArray:
        labels = sample.data if isinstance(sample, Tensor) else nd.asarray(sample)
        if labels.size and not 0 <= nd.min(labels).item() <= nd.max(labels).item() < self.num_classes:
            raise ValueError(f"OneHot({self.num_classes}): a label is not from 0 to {self.num_classes - 1}")
        return nd.one_hot(labels.astype("int64", copy=False), self.num_classes)
