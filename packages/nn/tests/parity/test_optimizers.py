"""50 steps in float64 against PyTorch, for every optimizer and argument; what PyTorch lacks against its paper."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch
from packages.nn.tests.parity.compare import combinations

from treadle import optim
from treadle.autograd import Tensor

SHAPES = [(3, 4), (4,), ()]
STEPS = 50

WITH_DECAY: list[dict[str, Any]] = [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "maximize": True}]
DECOUPLED = [*WITH_DECAY, {"weight_decay": 0.2, "decoupled_weight_decay": True}]
BETAS: list[dict[str, Any]] = [{}, {"betas": (0.8, 0.9), "eps": 1e-3}, {"betas": (0.5, 0.999), "lr": 0.5}]

GRIDS: dict[str, list[list[dict[str, Any]]]] = {
    "SGD": [
        WITH_DECAY,
        [
            {"lr": 0.05},
            {"momentum": 0.9},
            {"momentum": 0.9, "dampening": 0.3},
            {"momentum": 0.9, "nesterov": True, "lr": 0.05},
        ],
    ],
    "Adagrad": [WITH_DECAY, [{}, {"lr_decay": 0.1, "lr": 0.5}, {"initial_accumulator_value": 0.3, "eps": 1e-2}]],
    "Adafactor": [
        WITH_DECAY,
        [{}, {"beta2_decay": -0.5, "lr": 0.5}, {"eps": (1e-3, 0.1)}, {"d": 2.0, "lr": 2.0}],
    ],
    "Adadelta": [WITH_DECAY, [{}, {"rho": 0.7, "lr": 0.5}, {"eps": 1e-3, "rho": 0.0}]],
    "RMSprop": [
        WITH_DECAY,
        [{}, {"alpha": 0.9, "eps": 1e-3}, {"lr": 0.1}],
        [{}, {"centered": True}, {"momentum": 0.9}, {"momentum": 0.5, "centered": True}],
    ],
    "Adam": [DECOUPLED, BETAS, [{}, {"amsgrad": True}]],
    "AdamW": [WITH_DECAY, BETAS, [{}, {"amsgrad": True}]],
    "NAdam": [DECOUPLED, BETAS, [{}, {"momentum_decay": 0.1}]],
    "RAdam": [DECOUPLED, BETAS],
    "Adamax": [WITH_DECAY, BETAS],
    "Rprop": [
        [{}, {"maximize": True}],
        [{}, {"lr": 0.1, "etas": (0.3, 1.5)}, {"step_sizes": (1e-3, 0.02)}],
    ],
    "ASGD": [WITH_DECAY, [{}, {"t0": 10.0, "lr": 0.1}, {"lambd": 0.1, "alpha": 0.5, "t0": 0.0}]],
}
"""For each optimizer of PyTorch, alternatives whose every combination is run."""


CASES = [(name, options) for name, grid in GRIDS.items() for options in combinations(grid)]
each_case = pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name}-{options}" for name, options in CASES])


@pytest.fixture(autouse=True)
def scalars_in_double() -> Any:
    """PyTorch keeps its scalar state in the default dtype."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def start(seed: int = 0) -> tuple[list[Tensor], list[Any]]:
    values = [np.asarray(np.random.default_rng(seed + i).normal(size=shape)) for i, shape in enumerate(SHAPES)]
    ours = [Tensor(value.copy(), requires_grad=True) for value in values]
    return ours, [torch.tensor(value, requires_grad=True) for value in values]


def run(ours: Any, theirs: Any, our_tensors: list[Tensor], their_tensors: list[Any], steps: int, seed: int = 9) -> None:
    """The same gradients for both; at some steps one tensor has none."""
    generator = np.random.default_rng(seed)
    for number in range(steps):
        for place, (mine, other) in enumerate(zip(our_tensors, their_tensors, strict=True)):
            gradient = np.asarray(generator.normal(size=mine.shape))
            absent = place == 1 and number % 7 == 3
            mine.grad = None if absent else Tensor(gradient)
            other.grad = None if absent else torch.from_numpy(gradient.copy())
        ours.step()
        theirs.step()


def agree(our_tensors: list[Tensor], their_tensors: list[Any]) -> None:
    for mine, other in zip(our_tensors, their_tensors, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.detach().numpy(), rtol=1e-10, atol=1e-10)


def public_optimizers() -> set[str]:
    values = {name: getattr(optim, name) for name in optim.__all__}
    return {name for name, value in values.items() if isinstance(value, type)} - {"Optimizer"}


def test_every_public_optimizer_is_compared() -> None:
    assert public_optimizers() == set(GRIDS) | set(PAPERS) | {"LBFGS", "Muon"}  # which have files of their own


@pytest.mark.parametrize("name", GRIDS)
def test_every_argument_is_compared(name: str) -> None:
    varied = {option for case, options in CASES if case == name for option in options}
    ours = set(signature(getattr(optim, name)).parameters) - {"params"}
    assert ours - varied <= {"damped"}  # PyTorch has no such form
    theirs = signature(getattr(torch.optim, name)).parameters
    for option, parameter in signature(getattr(optim, name)).parameters.items():
        if option not in ("params", "damped"):
            assert parameter.default == theirs[option].default, option


@each_case
def test_fifty_steps(name: str, options: dict[str, Any]) -> None:
    ours, theirs = start()
    run(getattr(optim, name)(ours, **options), getattr(torch.optim, name)(theirs, **options), ours, theirs, STEPS)
    agree(ours, theirs)


def to_torch(state: dict[str, Any]) -> dict[str, Any]:
    """Our state dict with PyTorch's tensors for arrays."""
    values = {
        number: {name: torch.tensor(getattr(value, "numpy", lambda v=value: v)()) for name, value in each.items()}
        for number, each in state["state"].items()
    }
    return {"state": values, "param_groups": state["param_groups"]}


@each_case
def test_state_dicts_go_both_ways(name: str, options: dict[str, Any]) -> None:
    """Each goes on from the other's state after 7 steps as if it were its own."""
    ours, theirs = start()
    mine, other = getattr(optim, name)(ours, **options), getattr(torch.optim, name)(theirs, **options)
    run(mine, other, ours, theirs, 7)
    mine_again, other_again = getattr(optim, name)(ours), getattr(torch.optim, name)(theirs)
    ours_saved, theirs_saved = mine.state_dict(), other.state_dict()
    kept = {
        number: {key for key, value in each.items() if value is not None}
        for number, each in theirs_saved["state"].items()
    }
    assert {number: set(each) for number, each in ours_saved["state"].items()} == {
        n: each for n, each in kept.items() if each
    }
    mine_again.load_state_dict(theirs_saved)
    other_again.load_state_dict(to_torch(ours_saved))
    run(mine_again, other_again, ours, theirs, 7, seed=3)
    agree(ours, theirs)


@pytest.mark.parametrize("name", GRIDS)
def test_groups_and_their_options(name: str) -> None:
    ours, theirs = start()
    optimizers = []
    for tensors, library in ((ours, optim), (theirs, torch.optim)):
        made = getattr(library, name)([{"params": tensors[:1], "lr": 0.3}, {"params": tensors[1:2]}], lr=0.02)
        made.add_param_group({"params": tensors[2:], "maximize": True})
        optimizers.append(made)
    run(*optimizers, ours, theirs, 10)
    agree(ours, theirs)


# --- what PyTorch lacks, by the papers' formulas ---------------------------------------------------------------------
def lion(start: Any, gradients: list[Any], lr: float, betas: Any, weight_decay: float, maximize: bool) -> Any:
    """Chen et al. 2023, program 1: the decay joins the sign inside the step."""
    weights, average = start.copy(), np.zeros_like(start)
    for gradient in gradients:
        signed = -gradient if maximize else gradient
        update = np.sign(betas[0] * average + (1 - betas[0]) * signed)
        weights = weights - lr * (update + weight_decay * weights)
        average = betas[1] * average + (1 - betas[1]) * signed
    return weights


def damped(start: Any, gradients: list[Any], lr: float, momentum: float, weight_decay: float, maximize: bool) -> Any:
    """u = m u + (1 - m) g from u = 0; w = w - lr u."""
    weights, velocity = start.copy(), np.zeros_like(start)
    for gradient in gradients:
        signed = (-gradient if maximize else gradient) + weight_decay * weights
        velocity = momentum * velocity + (1 - momentum) * signed
        weights = weights - lr * velocity
    return weights


def moving(start: Any, values: list[Any], decay: float, warmup: bool) -> Any:
    """Tarvainen and Valpola 2017, section 2, with the decay (1 + n) / (10 + n) while that is smaller."""
    average = start.copy()
    for number, value in enumerate(values, 1):
        alpha = min(decay, (1 + number) / (10 + number)) if warmup else decay
        average = alpha * average + (1 - alpha) * value
    return average


def run_lion(tensor: Tensor, gradients: list[Any], **options: Any) -> Any:
    return run_alone(optim.Lion([tensor], **options), tensor, gradients)


def run_damped(tensor: Tensor, gradients: list[Any], **options: Any) -> Any:
    return run_alone(optim.SGD([tensor], damped=True, **options), tensor, gradients)


def run_moving(tensor: Tensor, values: list[Any], **options: Any) -> Any:
    ema = optim.ExponentialMovingAverage([tensor], **options)
    for value in values:
        tensor.data[...] = Tensor(value).data
        ema.update()
    with ema.averaged():
        averages = tensor.numpy().copy()
    np.testing.assert_array_equal(tensor.numpy(), values[-1])
    return averages


def run_alone(optimizer: Any, tensor: Tensor, gradients: list[Any]) -> Any:
    for gradient in gradients:
        tensor.grad = Tensor(gradient)
        optimizer.step()
    return tensor.numpy()


Formula = tuple[Callable[..., Any], Callable[..., Any], list[list[dict[str, Any]]]]
PAPERS: dict[str, Formula] = {
    "Lion": (
        run_lion,
        lion,
        [
            [{"lr": 0.01, "maximize": False}, {"lr": 0.1, "maximize": True}],
            [{"betas": (0.9, 0.99), "weight_decay": 0.0}, {"betas": (0.5, 0.8), "weight_decay": 0.1}],
        ],
    ),
    "SGD": (
        run_damped,
        damped,
        [
            [{"lr": 0.1, "momentum": 0.9}, {"lr": 0.5, "momentum": 0.5}],
            [{"weight_decay": 0.0, "maximize": False}, {"weight_decay": 0.1, "maximize": True}],
        ],
    ),
    "ExponentialMovingAverage": (
        run_moving,
        moving,
        [[{"decay": 0.999}, {"decay": 0.9}], [{"warmup": True}, {"warmup": False}]],
    ),
}
"""How ours is run, the paper's formula in NumPy, and the alternatives."""

PAPER_CASES = [(name, options) for name, formula in PAPERS.items() for options in combinations(formula[2])]


@pytest.mark.parametrize(("name", "options"), PAPER_CASES, ids=[f"{name}-{options}" for name, options in PAPER_CASES])
def test_fifty_steps_by_the_paper(name: str, options: dict[str, Any]) -> None:
    run_ours, formula, _ = PAPERS[name]
    generator = np.random.default_rng(4)
    first = generator.normal(size=(3, 4))
    gradients = [generator.normal(size=(3, 4)) for _ in range(STEPS)]
    expected = formula(first, gradients, **options)
    values = run_ours(Tensor(first.copy(), requires_grad=True), gradients, **options)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)
