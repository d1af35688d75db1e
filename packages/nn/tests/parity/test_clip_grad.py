"""Clipping of gradients against PyTorch."""

from math import inf
from typing import Any

import numpy as np
import pytest
from packages.nn.tests.parity.compare import assert_close, to_torch, torch

from treadle.autograd import Tensor
from treadle.nn import utils

SHAPES = [(3, 2), (4,), ()]


def with_gradients(scale: float) -> tuple[list[Tensor], list[Any]]:
    generator = np.random.default_rng(0)
    gradients = [np.asarray(scale * generator.normal(size=shape)) for shape in SHAPES]
    ours = [Tensor(np.zeros(shape), requires_grad=True) for shape in SHAPES]
    theirs = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in SHAPES]
    for mine, other, gradient in zip(ours, theirs, gradients, strict=True):
        mine.grad, other.grad = Tensor(gradient.copy()), to_torch(gradient)
    return ours, theirs


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, 0.5, inf])
@pytest.mark.parametrize("max_norm", [0.5, 100.0, 0.0])
@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_norm(norm_type: float, max_norm: float, scale: float) -> None:
    ours, theirs = with_gradients(scale)
    total = utils.clip_grad_norm_(ours, max_norm, norm_type)
    assert_close(total, torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type), "norm")
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine.grad, other.grad, "gradient")


@pytest.mark.parametrize("clip_value", [0.3, 10.0])
def test_value(clip_value: float) -> None:
    ours, theirs = with_gradients(1.0)
    utils.clip_grad_value_(ours, clip_value)
    torch.nn.utils.clip_grad_value_(theirs, clip_value)
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine.grad, other.grad, "gradient")
