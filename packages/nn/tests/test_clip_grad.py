"""Clipping of gradients."""

from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.utils import clip_grad_norm_, clip_grad_value_


def with_gradients(*gradients: Any) -> list[Tensor]:
    tensors = []
    for gradient in gradients:
        values = np.asarray(gradient, "f8")
        tensors.append(Tensor(np.zeros(values.shape), requires_grad=True))
        tensors[-1].grad = Tensor(values.copy())
    return tensors


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, inf])
@pytest.mark.parametrize("max_norm", [0.5, 100.0])
def test_norms(norm_type: float, max_norm: float, device: Any) -> None:
    generator = np.random.default_rng(0)
    gradients = [np.asarray(generator.normal(size=shape)) for shape in [(3, 2), (4,), ()]]
    tensors = with_gradients(*gradients)
    norm = np.linalg.norm(np.concatenate([each.ravel() for each in gradients]), norm_type)
    assert clip_grad_norm_(tensors, max_norm, norm_type).item() == pytest.approx(norm, rel=1e-12)
    for tensor, gradient in zip(tensors, gradients, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), gradient * min(1.0, max_norm / (norm + 1e-6)), rtol=1e-12)


def test_non_finite_norms(device: Any) -> None:
    """An infinite norm: finite entries become 0 and infinite ones NaN, or with error_if_nonfinite nothing happens."""
    tensors = with_gradients([3.0, 4.0], [inf])
    with pytest.raises(RuntimeError, match="is inf, so they cannot be clipped"):
        clip_grad_norm_(tensors, 1.0, error_if_nonfinite=True)
    assert tensors[0].grad.numpy().tolist() == [3.0, 4.0]
    assert clip_grad_norm_(tensors, 1.0).item() == inf
    assert tensors[0].grad.numpy().tolist() == [0.0, 0.0]
    assert isnan(tensors[1].grad.item())


def test_a_nan_norm() -> None:
    tensors = with_gradients([3.0], [nan])
    assert isnan(clip_grad_norm_(tensors, 1.0).item())
    assert isnan(tensors[0].grad.item())


def test_a_gradient_counts_once_and_missing_ones_not_at_all() -> None:
    tensor = with_gradients([3.0, 4.0])[0]
    assert clip_grad_norm_([tensor, tensor, Tensor([1.0])], 1.0).item() == 5.0
    assert clip_grad_norm_(Tensor([1.0]), 1.0).item() == 0.0
    assert clip_grad_norm_(iter([tensor]), 2.0).item() == pytest.approx(1.0, rel=1e-5)


def test_values(device: Any) -> None:
    tensors = with_gradients([3.0, -0.5], [-2.0])
    clip_grad_value_(tensors, 1.0)
    assert [tensor.grad.numpy().tolist() for tensor in tensors] == [[1.0, -0.5], [-1.0]]


def test_it_is_in_place() -> None:
    tensor = with_gradients([3.0, 4.0])[0]
    pointer = tensor.grad.data.data_pointer
    clip_grad_norm_(tensor, 1.0)
    clip_grad_value_(tensor, 0.1)
    assert tensor.grad.data.data_pointer == pointer


def test_bad_arguments() -> None:
    tensor = with_gradients([1.0])[0]
    with pytest.raises(ValueError, match="norm_type"):
        clip_grad_norm_(tensor, 1.0, 0.0)
    with pytest.raises(ValueError, match="clip_value"):
        clip_grad_value_(tensor, -1.0)


def test_empty_gradients() -> None:
    tensors = with_gradients(np.zeros((0, 3)))
    assert clip_grad_norm_(tensors, 1.0).item() == 0.0
    assert clip_grad_norm_(tensors, 1.0, inf).item() == 0.0
    assert nd.float64 == tensors[0].grad.dtype


def test_an_iterator_that_is_used_up_is_told_of() -> None:
    """pytorch/pytorch#148259"""
    parameters = iter(with_gradients([3.0, 4.0]))
    clip_grad_norm_(parameters, 1.0)
    for clip in (clip_grad_norm_, clip_grad_value_):
        with pytest.warns(UserWarning, match="used up by an earlier call"):
            clip(parameters, 1.0)
    clip_grad_norm_([], 1.0)
