"""Muon against the formulas of its papers in float64, and against PyTorch, whose iteration is rounded to bfloat16."""

from typing import Any

import numpy as np
import pytest
import torch

import treadle.ndarray as nd
from treadle import optim
from treadle.autograd import Tensor
from treadle.optim.muon import orthogonalized

OPTIONS: list[dict[str, Any]] = [
    {},
    {"nesterov": False, "momentum": 0.5},
    {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0},
    {"adjust_lr_fn": "original", "ns_steps": 3, "ns_coefficients": (2.0, -1.5, 0.5), "eps": 1e-3},
    {"momentum": 0.0, "weight_decay": 0.5},
]
SHAPES = [(4, 3), (3, 4), (5, 5), (1, 6), (6, 1)]


def by_the_paper(x: Any, gradients: list[Any], options: dict[str, Any]) -> Any:
    """Jordan et al. 2024, algorithm 2, with the scales of Liu et al. 2025 and weight decay."""
    given = {
        "lr": 1e-3, "weight_decay": 0.1, "momentum": 0.95, "nesterov": True, "eps": 1e-7, "ns_steps": 5,
        "ns_coefficients": (3.4445, -4.7750, 2.0315), "adjust_lr_fn": None, **options,
    }  # fmt: skip
    (a, b, c), m = given["ns_coefficients"], given["momentum"]
    average = np.zeros_like(x)
    rows, columns = x.shape
    scale = np.sqrt(max(1.0, rows / columns))
    if given["adjust_lr_fn"] == "match_rms_adamw":
        scale = 0.2 * np.sqrt(max(rows, columns))
    for g in gradients:
        average = m * average + (1 - m) * g
        u, s, v = np.linalg.svd(m * average + (1 - m) * g if given["nesterov"] else average, full_matrices=False)
        s = s / max(np.sqrt((s * s).sum()), given["eps"])
        for _ in range(given["ns_steps"]):
            s = a * s + b * s**3 + c * s**5
        x = x * (1 - given["lr"] * given["weight_decay"]) - given["lr"] * scale * (u * s) @ v
    return x


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_steps(shape: tuple[int, int], options: dict[str, Any], device: str) -> None:
    random = np.random.default_rng(0)
    begin, gradients = random.normal(size=shape), [random.normal(size=shape) for _ in range(5)]
    mine = Tensor(nd.asarray(begin, device=device, copy=True), requires_grad=True)
    theirs = torch.tensor(begin, requires_grad=True)
    optimizers = (optim.Muon([mine], lr=0.1, **options), torch.optim.Muon([theirs], lr=0.1, **options))
    for number, gradient in enumerate(gradients):
        mine.grad, theirs.grad = Tensor(nd.asarray(gradient, device=device)), torch.tensor(gradient)
        for optimizer in optimizers:
            optimizer.step()
        if number == 2:
            again = optim.Muon([mine], lr=0.1, **options)
            again.load_state_dict(optimizers[0].state_dict())
            optimizers = (again, optimizers[1])
    expected = by_the_paper(begin, gradients, {"lr": 0.1, **options})
    np.testing.assert_allclose(mine.data.to_device("cpu").numpy(), expected, rtol=1e-9, atol=1e-12)
    moved = np.abs(expected - begin).max()
    np.testing.assert_allclose(mine.data.to_device("cpu").numpy(), theirs.detach().numpy(), atol=0.06 * moved)


def test_singular_values_come_near_1() -> None:
    x = np.random.default_rng(1).normal(size=(20, 40))
    values = np.linalg.svd(orthogonalized(nd.asarray(x)).numpy(), compute_uv=False)
    assert values.min() > 0.6 and values.max() < 1.25
    assert orthogonalized(nd.zeros((2, 3))).tolist() == [[0.0] * 3] * 2
    assert orthogonalized(nd.zeros((0, 3))).shape == (0, 3)


def test_what_is_refused() -> None:
    matrix = Tensor([[1.0]], requires_grad=True)
    with pytest.raises(nd.ShapeError, match=r"a parameter has shape \(1,\): give it to another optimizer"):
        optim.Muon([matrix, Tensor([1.0], requires_grad=True)])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"momentum": 1.5}, "momentum"), ({"ns_coefficients": (1.0, 2.0)}, "three numbers"),
        ({"ns_steps": 100}, "ns_steps"), ({"adjust_lr_fn": "adam"}, "match_rms_adamw"), ({"lr": -1.0}, "lr"),
    ]  # fmt: skip
    for options, message in wrong:
        with pytest.raises(ValueError, match=message):
            optim.Muon([matrix], **options)
