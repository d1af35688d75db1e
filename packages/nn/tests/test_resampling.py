"""Resizing where values are not at hand, inside vmap and in lazy mode; and what sizes may be given as."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.autograd.functional import vmap
from treadle.data import transforms
from treadle.nn import functional as F

RESIZED: dict[str, Callable[[Any], Any]] = {
    "bilinear": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, size=(3, 7), mode="bicubic"),
    "averages": lambda x: F.adaptive_avg_pool2d(x, 3),
}


@pytest.fixture
def images() -> Any:
    return np.random.default_rng(0).normal(size=(2, 1, 3, 4, 5)).astype("f4")


@pytest.mark.parametrize("name", RESIZED)
def test_inside_vmap_as_one_by_one(name: str, images: Any) -> None:
    found = vmap(RESIZED[name])(Tensor(images))
    for each, image in zip(found.numpy(), images, strict=True):
        np.testing.assert_allclose(each, RESIZED[name](Tensor(image)).numpy(), atol=1e-6)


@pytest.mark.parametrize("name", RESIZED)
def test_lazy_mode_puts_it_off(name: str, images: Any) -> None:
    with ag.lazy():
        doubled = Tensor(images[0]) * 2.0
        found = RESIZED[name](doubled)
        assert doubled.waiting is not None and found.waiting is not None
    np.testing.assert_allclose(found.numpy(), RESIZED[name](Tensor(images[0] * 2.0)).numpy(), atol=1e-6)


@pytest.mark.parametrize("kind", [tuple, list, np.array, nd.asarray])
def test_numbers_for_each_axis_of_any_kind(kind: Callable[[Any], Any], images: Any) -> None:
    """Arrays have __index__ and __float__ too, and may hold a number for each axis all the same."""
    x = Tensor(images[0])
    assert F.interpolate(x, size=kind([3, 7])).shape == (1, 3, 3, 7)
    assert F.interpolate(x, scale_factor=kind([2.0, 3.0])).shape == (1, 3, 8, 15)
    assert F.adaptive_avg_pool2d(x, kind([2, 3])).shape == (1, 3, 2, 3)
    assert nn.ZeroPad2d(kind([1, 2, 0, 1]))(x).shape == (1, 3, 5, 8)
    assert nn.LayerNorm(kind([4, 5]))(x).shape == x.shape
    assert transforms.Resize(kind([3, 7]))(x).shape == (1, 3, 3, 7)
    assert transforms.CenterCrop(kind([2, 3]))(x).shape == (1, 3, 2, 3)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiasing_treats_both_axes_alike(mode: str, images: Any) -> None:
    tall, wide = images[0], np.ascontiguousarray(images[0].swapaxes(-1, -2))
    one = F.interpolate(Tensor(tall), (3, 1), mode=mode, antialias=True).numpy()
    other = F.interpolate(Tensor(wide), (1, 3), mode=mode, antialias=True).numpy()
    np.testing.assert_allclose(one, other.swapaxes(-1, -2), atol=1e-6)


def test_antialiasing_is_for_two_modes() -> None:
    with pytest.raises(ValueError, match="antialias is for bilinear and bicubic"):
        F.interpolate(Tensor(np.ones((1, 1, 4, 4))), 2, mode="nearest", antialias=True)
