"""Initial values: their bounds and moments, by the formulas of the papers."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import init

SHAPE = (40, 20, 5)  # fan in 100, fan out 200


def blank(*shape: int) -> Tensor:
    return Tensor(np.zeros(shape or SHAPE, "f4"))


@pytest.mark.parametrize(
    ("fill", "bound"),
    [
        (lambda t: init.xavier_uniform_(t, gain=2.0), 2.0 * sqrt(6 / 300)),
        (lambda t: init.kaiming_uniform_(t), sqrt(2) * sqrt(3 / 100)),
        (lambda t: init.kaiming_uniform_(t, a=sqrt(5)), sqrt(1 / 100)),
        (lambda t: init.kaiming_uniform_(t, mode="fan_out", nonlinearity="tanh"), 5 / 3 * sqrt(3 / 200)),
        (lambda t: init.uniform_(t, -3.0, 3.0), 3.0),
    ],
)
def test_uniform(fill: Any, bound: float, device: Any) -> None:
    """4000 draws stay within the bound, nearly reach it, and have the standard deviation bound / sqrt(3)."""
    tensor = blank()
    assert fill(tensor) is tensor
    values = tensor.numpy()
    assert 0.99 * bound < abs(values).max() <= bound
    assert values.std() == pytest.approx(bound / sqrt(3), rel=0.05)
    assert abs(values.mean()) < 0.05 * bound


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda t: init.xavier_normal_(t), sqrt(2 / 300)),
        (lambda t: init.kaiming_normal_(t, nonlinearity="relu"), sqrt(2 / 100)),
        (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="linear"), sqrt(1 / 200)),
        (lambda t: init.normal_(t, 0.0, 0.5), 0.5),
    ],
)
def test_normal(fill: Any, std: float, device: Any) -> None:
    """The mean lies within 5 standard errors of 0, the spread within 5 % of its value."""
    values = fill(blank()).numpy()
    assert values.std() == pytest.approx(std, rel=0.05)
    assert abs(values.mean()) < 5 * std / sqrt(values.size)
    assert abs(values).max() > 3 * std


def test_constants(device: Any) -> None:
    assert (init.ones_(blank()).numpy() == 1.0).all()
    assert (init.constant_(blank(), -2.5).numpy() == -2.5).all()
    assert not init.zeros_(init.ones_(blank())).numpy().any()


def test_a_generator_repeats() -> None:
    first, second = (init.normal_(blank(), generator=nd.random.Generator(3)).numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", ["linear", "conv2d", "sigmoid", "tanh", "relu", "selu", "leaky_relu"])
def test_gains_match_pytorch(torch: Any, name: str) -> None:
    assert init.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name))


def test_gain_of_leaky_relu() -> None:
    assert init.calculate_gain("leaky_relu", 0.5) == pytest.approx(sqrt(2 / 1.25))
    with pytest.raises(TypeError, match="slope"):
        init.calculate_gain("leaky_relu", "steep")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'gelu'"):
        init.calculate_gain("gelu")


def test_fans_need_two_dimensions() -> None:
    for fill in (init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_):
        with pytest.raises(nd.ShapeError, match="at least 2 dimensions"):
            fill(blank(3))
    with pytest.raises(ValueError, match="'fan_sideways'"):
        init.kaiming_normal_(blank(), mode="fan_sideways")


def test_empty_tensors_stay_empty() -> None:
    for fill in (init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_):
        assert fill(blank(0, 0)).shape == (0, 0)
