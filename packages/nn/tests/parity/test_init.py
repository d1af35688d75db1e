"""Initialisers against PyTorch's: equal where nothing is drawn, of one distribution where something is."""

from inspect import signature
from typing import Any

import numpy as np
import pytest
from packages.nn.tests.parity.compare import torch

from treadle.autograd import Tensor
from treadle.nn import init

WIDE, DEEP = (60, 40, 3), (120, 80)
GAINS: list[dict[str, Any]] = [{}, {"gain": 2.5}]
KAIMING: list[dict[str, Any]] = [
    {},
    {"a": 0.5},
    {"mode": "fan_out", "nonlinearity": "relu"},
    {"nonlinearity": "tanh"},
    {"a": 0.2, "mode": "fan_out", "nonlinearity": "leaky_relu"},
]

DRAWN: dict[str, list[dict[str, Any]]] = {
    "uniform_": [{}, {"a": -3.0, "b": 0.5}],
    "normal_": [{}, {"mean": 3.0, "std": 0.2}],
    "trunc_normal_": [{}, {"mean": 1.0, "std": 2.0, "a": -1.0, "b": 1.5}, {"std": 0.3}],
    "xavier_uniform_": GAINS,
    "xavier_normal_": GAINS,
    "kaiming_uniform_": KAIMING,
    "kaiming_normal_": KAIMING,
    "orthogonal_": GAINS,
    "sparse_": [{"sparsity": 0.1}, {"sparsity": 0.33, "std": 2.0}],
}
FIXED: dict[str, list[tuple[tuple[int, ...], dict[str, Any]]]] = {
    "constant_": [((3, 2), {"val": -2.5})],
    "ones_": [((3, 2), {})],
    "zeros_": [((3, 2), {})],
    "eye_": [((3, 3), {}), ((2, 5), {}), ((5, 2), {})],
    "dirac_": [
        (shape, options)
        for shape in [(4, 2, 3), (6, 3, 3, 4), (2, 5, 1, 3, 2), (4, 4, 5)]
        for options in ({}, {"groups": 2})
    ],
}


def rows(table: dict[str, Any]) -> list[Any]:
    return [(name, row) for name, entries in table.items() for row in entries]


def values_of(name: str, shape: tuple[int, ...], options: dict[str, Any]) -> tuple[Any, Any]:
    ours, theirs = Tensor(np.full(shape, 7.0)), torch.full(shape, 7.0, dtype=torch.float64)
    assert getattr(init, name)(ours, **options) is ours
    torch.manual_seed(0)
    return ours.numpy(), getattr(torch.nn.init, name)(theirs, **options).numpy()


def distance(left: Any, right: Any) -> float:
    """The largest difference of two empirical distribution functions (Kolmogorov and Smirnov)."""
    places = np.concatenate([left, right])
    shares = [np.searchsorted(np.sort(each), places, side="right") / each.size for each in (left, right)]
    return float(np.abs(shares[0] - shares[1]).max())


def test_every_public_initialiser_is_compared() -> None:
    public = {name for name in init.__all__ if name.endswith("_")}
    assert public == set(DRAWN) | set(FIXED)
    assert public == {name for name in dir(torch.nn.init) if name.endswith("_") and name[0] != "_"}


@pytest.mark.parametrize("name", [*DRAWN, *FIXED])
def test_arguments(name: str) -> None:
    ours, theirs = (signature(getattr(library, name)).parameters for library in (init, torch.nn.init))
    assert list(ours) == list(theirs)
    assert [each.default for each in ours.values()] == [each.default for each in theirs.values()]


@pytest.mark.parametrize(("name", "row"), rows(FIXED))
def test_fixed_values(name: str, row: Any) -> None:
    ours, theirs = values_of(name, *row)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("name", "options"), rows(DRAWN))
def test_one_distribution(name: str, options: dict[str, Any]) -> None:
    """At a level of one in ten thousand, and the same share of exact zeros."""
    shape = DEEP if name in ("sparse_", "orthogonal_") else WIDE
    ours, theirs = values_of(name, shape, options)
    critical = np.sqrt(-np.log(1e-4 / 2) / ours.size)
    assert distance(ours.ravel(), theirs.ravel()) < critical
    np.testing.assert_array_equal((ours == 0).sum(axis=0), (theirs == 0).sum(axis=0))


@pytest.mark.parametrize("shape", [(5, 5), (3, 8), (8, 3), (4, 2, 5)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    for values in values_of("orthogonal_", shape, {"gain": 1.5}):
        matrix = values.reshape(shape[0], -1)
        gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
        np.testing.assert_allclose(gram, 2.25 * np.eye(len(gram)), atol=1e-12)


def test_gains() -> None:
    names = ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
    for name in [*names, "sigmoid", "tanh", "relu", "leaky_relu", "selu"]:
        assert init.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name))
    assert init.calculate_gain("leaky_relu", 0.3) == pytest.approx(torch.nn.init.calculate_gain("leaky_relu", 0.3))
