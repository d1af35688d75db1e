"""Resizing where values are not at hand: inside vmap and in lazy mode."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
from treadle.autograd import Tensor
from treadle.autograd.functional import vmap
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
