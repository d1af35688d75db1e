"""Orthogonal parametrizations as PyTorch computes them, forward, backward and from a given weight."""

from typing import Any

import numpy as np
import pytest
from packages.nn.tests.parity.compare import torch

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.nn.utils import parametrizations

SHAPES = [(4, 4), (5, 3), (3, 5), (1, 4)]
MAPS = ["matrix_exp", "cayley", "householder"]


def pair(rows: int, columns: int, orthogonal_map: str | None, trivial: bool) -> tuple[Any, Any]:
    """The same layer twice, parametrized, with the same original and base."""
    values = np.random.default_rng(0).normal(size=(rows, columns))
    ours, theirs = nn.Linear(columns, rows, dtype=nd.float64), torch.nn.Linear(columns, rows, dtype=torch.float64)
    ours.weight.data[...] = nd.asarray(values)
    theirs.weight.data = torch.tensor(values)
    parametrizations.orthogonal(ours, "weight", orthogonal_map, use_trivialization=trivial)
    torch.nn.utils.parametrizations.orthogonal(theirs, "weight", orthogonal_map, use_trivialization=trivial)
    return ours, theirs


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_weights_and_gradients(rows: int, columns: int, orthogonal_map: str, trivial: bool) -> None:
    ours, theirs = pair(rows, columns, orthogonal_map, trivial)
    mine, other = ours.parametrizations.weight, theirs.parametrizations.weight
    assert list(ours.state_dict()) == [key for key in theirs.state_dict() if "base" not in key] or trivial
    assert set(ours.state_dict()) == set(theirs.state_dict())
    read = np.triu if rows < columns else np.tril  # the rest, R of the decomposition in PyTorch, is read by no map
    np.testing.assert_allclose(read(mine.original.numpy()), read(other.original.detach().numpy()), atol=1e-12)
    if trivial:
        theirs.parametrizations.weight[0].base.copy_(torch.tensor(mine[0].base.numpy()))
    values = np.random.default_rng(1).normal(size=(rows, columns))
    values = values * 0.5 + mine.original.numpy()
    diagonal = np.arange(min(rows, columns))
    if orthogonal_map == "householder":
        values[diagonal, diagonal] = mine.original.numpy()[diagonal, diagonal]
    mine.original.data[...] = nd.asarray(values)
    other.original.data = torch.tensor(values)
    np.testing.assert_allclose(ours.weight.numpy(), theirs.weight.detach().numpy(), atol=1e-12)
    slopes = np.random.default_rng(2).normal(size=(rows, columns))
    (ours.weight * Tensor(slopes)).sum().backward()
    (theirs.weight * torch.tensor(slopes)).sum().backward()
    np.testing.assert_allclose(mine.original.grad.numpy(), other.original.grad.numpy(), atol=1e-11)


@pytest.mark.parametrize("dtype", [nd.float32, nd.float64, nd.complex128])
@pytest.mark.parametrize("orthogonal_map", [None, *MAPS])
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_an_orthogonal_weight_stays_and_can_be_assigned(
    rows: int, columns: int, orthogonal_map: str | None, dtype: Any
) -> None:
    if dtype.kind == "c" and orthogonal_map == "householder":
        layer = nn.Module()
        layer.weight = nn.Parameter(nd.eye(rows, columns, dtype=dtype))
        with pytest.raises(ValueError, match="real weights"):
            parametrizations.orthogonal(layer, "weight", orthogonal_map)
        return
    generator = np.random.default_rng(3)
    given = []
    for _ in range(2):
        drawn = generator.normal(size=(max(rows, columns),) * 2)
        if dtype.kind == "c":
            drawn = drawn + 1j * generator.normal(size=drawn.shape)
        q = np.linalg.qr(drawn)[0][:rows, :columns]
        given.append(Tensor(np.ascontiguousarray(q), dtype=dtype))
    module = nn.Module()
    module.weight = nn.Parameter(given[0])
    parametrizations.orthogonal(module, "weight", orthogonal_map)
    tolerance = 1e-5 if dtype is nd.float32 else 1e-12
    np.testing.assert_allclose(module.weight.numpy(), given[0].numpy(), atol=tolerance)
    module.weight = given[1]
    np.testing.assert_allclose(module.weight.numpy(), given[1].numpy(), atol=tolerance)


def test_householder_without_a_base_takes_what_geqrf_gives() -> None:
    ours, theirs = pair(6, 4, "householder", False)
    np.testing.assert_allclose(ours.weight.numpy(), theirs.weight.detach().numpy(), atol=1e-12)
    new = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 4)))[0]
    ours.weight = Tensor(new)
    np.testing.assert_allclose(ours.weight.numpy(), new, atol=1e-12)


def test_arguments() -> None:
    layer = nn.Linear(3, 3)
    for arguments in ({"name": "none"}, {"orthogonal_map": "other"}, {"name": "bias"}):
        with pytest.raises(ValueError):
            parametrizations.orthogonal(layer, **arguments)
    parametrizations.orthogonal(layer, orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="no right_inverse"):
        layer.weight = Tensor(np.eye(3, dtype="float32"))
