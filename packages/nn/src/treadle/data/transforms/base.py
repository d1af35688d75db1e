"""The base of transforms, and those that are made of others."""

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data.seeding import Drawing
from treadle.ndarray.random import Generator, default_generator

__all__ = ["Compose", "Lambda", "RandomApply", "Transform"]


class Transform(Drawing):
    """A function of a sample; a subclass defines ``__call__``, and draws from ``self.source``."""

    @property
    def source(self) -> Generator:
        """The transform's generator, or the default one."""
        return self.generator or default_generator

    def __call__(self, sample: Any) -> Any:
        raise TypeError(f"{type(self).__name__} defines no __call__")

    def __repr__(self) -> str:
        shown = {name: value for name, value in vars(self).items() if not name.startswith("_") and value is not None}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class Compose(Transform):
    """Transforms one after the other.

    >>> from treadle.data.transforms import Normalize, ToArray
    >>> Compose([ToArray(), Normalize([0.5], [0.5])])(nd.asarray([[[0, 255]]], dtype="uint8"))
    array([[[-1.,  1.]]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = _functions("Compose", transforms)

    def __call__(self, sample: Any) -> Any:
        for transform in self.transforms:
            sample = transform(sample)
        return sample


class Lambda(Transform):
    """A function as a transform.

    >>> Lambda(lambda image: image * 2.0)(nd.asarray([1.0]))
    array([2.])
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Lambda takes a function, not {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, sample: Any) -> Any:
        return self.lambd(sample)


class RandomApply(Transform):
    """All of ``transforms`` with probability ``p``, or none.

    >>> RandomApply([Lambda(lambda image: -image)], p=1.0)(nd.asarray([1.0]))
    array([-1.])
    """

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5, generator: Generator | None = None
    ) -> None:
        self.transforms, self.p, self.generator = (
            _functions("RandomApply", transforms), check_probability(p), generator
        )  # fmt: skip

    def __call__(self, sample: Any) -> Any:
        if self.source.uniform().item() >= self.p:
            return sample
        for transform in self.transforms:
            sample = transform(sample)
        return sample


def _functions(name: str, transforms: Sequence[Any]) -> list[Callable[[Any], Any]]:
    for each in transforms:
        if not callable(each) or isinstance(each, type):
            kind = f"the class {each.__name__}: call it" if isinstance(each, type) else f"a {type(each).__name__}"
            raise TypeError(f"{name} takes a list of functions; one is {kind}")
    return list(transforms)


def image_of(name: str, value: Any) -> nd.NDArray:
    """The array of an image; ShapeError unless its last axes are (channels, height, width)."""
    image = value.data if isinstance(value, Tensor) else value if isinstance(value, nd.NDArray) else nd.asarray(value)
    if image.ndim < 3:
        raise nd.ShapeError(
            f"{name} takes images (channels, height, width), not {image.shape}; add an axis: image[None]"
        )
    return image


def check_probability(p: float) -> float:
    """``p`` itself, if it is a probability."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p must be between 0 and 1, not {p}")
    return p


def pair(name: str, value: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) of one number or two, each 1 or more."""
    sizes = tuple(map(operator.index, value if isinstance(value, Iterable) else (value, value)))
    if len(sizes) != 2 or any(size < 1 for size in sizes):
        raise ValueError(f"{name} takes one size or (height, width), 1 or more, not {value!r}")
    return sizes[0], sizes[1]
