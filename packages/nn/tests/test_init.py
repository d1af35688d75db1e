"""Initial values: their bounds and moments, by the formulas of the papers."""

from math import pi, sqrt
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


def test_truncated_normal(device: Any) -> None:
    """Within the bounds, and of the mean of a half-normal distribution, sqrt(2 / pi) * std."""
    values = init.trunc_normal_(blank(), 1.0, 2.0, 1.0, 100.0).numpy()
    assert values.min() >= 1.0
    assert values.mean() - 1.0 == pytest.approx(2.0 * sqrt(2 / pi), rel=0.05)
    assert (init.trunc_normal_(blank(2), std=0.0, mean=5.0).numpy() == 2.0).all()


def test_orthogonal(device: Any) -> None:
    values = init.orthogonal_(blank(4, 3, 3), gain=2.0).numpy().reshape(4, 9)
    np.testing.assert_allclose(values @ values.T, 4 * np.eye(4), atol=1e-5)
    assert init.orthogonal_(blank(0, 3)).shape == (0, 3)


def test_sparse(device: Any) -> None:
    values = init.sparse_(blank(50, 30), 0.3).numpy()
    assert ((values == 0).sum(axis=0) == 15).all()
    assert len({tuple(column) for column in (values == 0).T}) > 25
    assert values[values != 0].std() == pytest.approx(0.01, rel=0.1)


def test_identities(device: Any) -> None:
    assert init.eye_(blank(2, 3)).numpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    kernel = init.dirac_(blank(4, 2, 3), groups=2).numpy()
    assert kernel.sum() == 4
    assert [kernel[at, at % 2, 1] for at in range(4)] == [1, 1, 1, 1]


def test_shapes_that_do_not_fit() -> None:
    for fill in (init.eye_, init.dirac_, init.orthogonal_, lambda t: init.sparse_(t, 0.5)):
        with pytest.raises(nd.ShapeError, match=r"\(3,\)"):
            fill(blank(3))
    with pytest.raises(ValueError, match="do not make 3 groups"):
        init.dirac_(blank(4, 2, 3), groups=3)
    with pytest.raises(ValueError, match="a must be below b"):
        init.trunc_normal_(blank(2), a=1.0, b=1.0)
