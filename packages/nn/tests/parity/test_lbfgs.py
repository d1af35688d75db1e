"""L-BFGS against PyTorch in float64: with and without line search, states both ways."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch

from treadle import nn, optim
from treadle.autograd import Tensor

START = np.array([-1.2, 1.0, -0.5, 0.8])


def rosenbrock(x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def quadratic(x: Any) -> Any:
    return ((x - 3.0) ** 2).sum() + (x[0] * x[1])


def wavy(x: Any) -> Any:
    return (x**4 - 3.0 * x**2 + x).sum()


def kinked(x: Any) -> Any:
    return abs(x).sum()


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "rosenbrock": rosenbrock, "quadratic": quadratic, "wavy": wavy, "kinked": kinked,
}  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {"lr": 0.01},
    {"lr": 0.1, "max_iter": 4, "history_size": 2, "max_eval": 3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "lr": 0.5, "history_size": 3, "max_iter": 7},
    {"line_search_fn": "strong_wolfe", "max_eval": 5, "tolerance_grad": 1e-3, "tolerance_change": 1e-5},
]


def step(optimizer: Any, tensors: list[Any], function: Callable[[Any], Any]) -> Any:
    """One step on a function of two tensors, each half of the point; the second has no gradient when it has no part."""

    def closure() -> Any:
        optimizer.zero_grad()
        loss = function(tensors[0]) + function(tensors[1])
        loss.backward()
        return loss

    return optimizer.step(closure)


def pair(options: dict[str, Any]) -> tuple[Any, Any, list[Any], list[Any]]:
    ours = [Tensor(START.copy(), requires_grad=True), Tensor(0.3 * START[:2], requires_grad=True)]
    theirs = [torch.tensor(each.numpy().copy(), requires_grad=True) for each in ours]
    return optim.LBFGS(ours, **options), torch.optim.LBFGS(theirs, **options), ours, theirs


def agree(ours: list[Any], theirs: list[Any]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.detach().numpy(), rtol=1e-7, atol=1e-7)


PAIRS = [(name, options) for name in FUNCTIONS for options in OPTIONS]
CASES = [(name, options) for name, options in PAIRS if (name, options.get("lr")) != ("rosenbrock", 0.1)]
"""That one flies off to infinity, here and there."""


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_steps(name: str, options: dict[str, Any]) -> None:
    mine, other, ours, theirs = pair(options)
    for _ in range(4):
        found, expected = step(mine, ours, FUNCTIONS[name]), step(other, theirs, FUNCTIONS[name])
        assert found.item() == pytest.approx(expected.item(), rel=1e-7, abs=1e-10)
    agree(ours, theirs)
    counts = other.state_dict()["state"][0]
    assert {key: mine.state_dict()["state"][0][key] for key in ("func_evals", "n_iter")} == {
        key: counts[key] for key in ("func_evals", "n_iter")
    }


@pytest.mark.parametrize("lr", [1.0, 0.0])
def test_a_search_along_a_straight_line_ends(lr: float) -> None:
    options: dict[str, Any] = {"line_search_fn": "strong_wolfe", "max_iter": 3, "lr": lr}
    x, y = Tensor([4.0], requires_grad=True), torch.tensor([4.0], requires_grad=True)
    mine, other = optim.LBFGS([x], **options), torch.optim.LBFGS([y], **options)
    step(mine, [x, x.detach()], lambda x: (2.0 * x).sum())
    if lr:  # else the other one divides by 0
        step(other, [y, y.detach()], lambda x: (2.0 * x).sum())
    assert x.tolist() == (y.tolist() if lr else [4.0])


def test_it_finds_the_minimum() -> None:
    x = Tensor(START.copy(), requires_grad=True)
    optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=100)
    for _ in range(3):
        step(optimizer, [x, x.detach()], rosenbrock)
    np.testing.assert_allclose(x.numpy(), 1.0, atol=1e-4)


@pytest.mark.parametrize("options", OPTIONS[2:4], ids=str)
def test_states_go_both_ways(options: dict[str, Any], tmp_path: Any) -> None:
    mine, other, ours, theirs = pair({**options, "max_iter": 3})
    for _ in range(2):
        step(mine, ours, quadratic)
        step(other, theirs, quadratic)
    nn.save_state(mine.state_dict(), tmp_path / "state")
    saved = nn.load_state(tmp_path / "state")
    mine_again, other_again = optim.LBFGS(ours), torch.optim.LBFGS(theirs)
    mine_again.load_state_dict(other.state_dict())

    def to_torch(value: Any) -> Any:
        if isinstance(value, list):
            return [to_torch(each) for each in value]
        return torch.from_numpy(value.numpy().copy()) if hasattr(value, "numpy") else value

    state = {0: {key: to_torch(value) for key, value in saved["state"][0].items()}}
    other_again.load_state_dict({"state": state, "param_groups": saved["param_groups"]})
    for _ in range(3):
        step(mine_again, ours, quadratic)
        step(other_again, theirs, quadratic)
    agree(ours, theirs)


def test_arguments_and_what_is_refused() -> None:
    ours, theirs = signature(optim.LBFGS).parameters, signature(torch.optim.LBFGS).parameters
    assert list(ours) == list(theirs)
    assert all(ours[name].default == theirs[name].default for name in ours)
    x = Tensor(START, requires_grad=True)
    with pytest.raises(TypeError, match="needs a closure"):
        optim.LBFGS([x]).step()
    with pytest.raises(ValueError, match="one group"):
        optim.LBFGS([{"params": [x]}, {"params": [Tensor(START, requires_grad=True)]}])
    with pytest.raises(ValueError, match="None or 'strong_wolfe'"):
        optim.LBFGS([x], line_search_fn="armijo")
    with pytest.raises(ValueError, match="history_size must be 1 or more"):
        optim.LBFGS([x], history_size=0)
    optimizer = optim.LBFGS([x])
    with pytest.raises(ValueError, match=r"state 'd' has shape \(2,\), but there are 4 elements"):
        optimizer.load_state_dict({**optimizer.state_dict(), "state": {0: {"d": np.zeros(2)}}})
