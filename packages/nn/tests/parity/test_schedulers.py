"""100 steps of every schedule against PyTorch in float64, resumed ones too, for every argument."""

import json
import math
from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch
from packages.nn.tests.parity.compare import combinations

from treadle import optim
from treadle.autograd import Tensor
from treadle.optim import lr_scheduler

STEPS = 100
LINE, COSINE = {"anneal_strategy": "linear"}, {"anneal_strategy": "cos"}

GRIDS: dict[str, list[list[dict[str, Any]]]] = {
    "LambdaLR": [
        [
            {"lr_lambda": lambda epoch: 0.95**epoch},
            {"lr_lambda": [lambda epoch: 1.0 / (1 + epoch), lambda epoch: 1 + math.sin(epoch)]},
        ],
        [{}, {"last_epoch": 4}],
    ],
    "MultiplicativeLR": [
        [
            {"lr_lambda": lambda epoch: 0.95 + 0.001 * epoch},
            {"lr_lambda": [lambda epoch: 0.9, lambda epoch: 1.01]},
        ],
        [{}, {"last_epoch": 4}],
    ],
    "StepLR": [[{"step_size": 7}, {"step_size": 1}], [{}, {"gamma": 0.9}], [{}, {"last_epoch": 13}]],
    "MultiStepLR": [
        [{"milestones": [3, 40, 41]}, {"milestones": (20, 5, 20)}, {"milestones": [0, 2]}],
        [{}, {"gamma": 0.5}],
        [{}, {"last_epoch": 4}],
    ],
    "ConstantLR": [[{}, {"factor": 0.5, "total_iters": 30}], [{}, {"last_epoch": 4}]],
    "LinearLR": [
        [{}, {"start_factor": 0.1, "total_iters": 60}, {"start_factor": 1.0, "end_factor": 0.2, "total_iters": 99}],
        [{}, {"last_epoch": 4}],
    ],
    "ExponentialLR": [[{"gamma": 0.97}, {"gamma": 1.02}], [{}, {"last_epoch": 4}]],
    "PolynomialLR": [[{}, {"total_iters": 60}, {"total_iters": 200}], [{}, {"power": 2.5}], [{}, {"last_epoch": 3}]],
    "CosineAnnealingLR": [
        [{"T_max": 10}, {"T_max": 100}, {"T_max": 33}],
        [{}, {"eta_min": 0.01}],
        [{}, {"last_epoch": 4}],
    ],
    "CosineAnnealingWarmRestarts": [
        [{"T_0": 10}, {"T_0": 3, "T_mult": 2}, {"T_0": 1, "T_mult": 3}],
        [{}, {"eta_min": 0.01}],
        [{}, {"last_epoch": 4}],
    ],
    "CyclicLR": [
        [
            {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 9},
            {"base_lr": [0.1, 0.2], "max_lr": [0.5, 0.9], "step_size_up": 5, "step_size_down": 11},
            {"base_lr": 0.1, "max_lr": 1.0},
        ],
        [
            {},
            {"mode": "triangular2"},
            {"mode": "exp_range", "gamma": 0.98},
            {"scale_fn": lambda cycle: 1.0 / cycle},
            {"scale_fn": lambda step: 0.99**step, "scale_mode": "iterations"},
        ],
        [{"cycle_momentum": False}, {}, {"base_momentum": 0.3, "max_momentum": [0.7, 0.99]}],
        [{}, {"last_epoch": 4}],
    ],
    "OneCycleLR": [
        [{"total_steps": 101}, {"epochs": 21, "steps_per_epoch": 5}],
        [
            {"max_lr": 1.0},
            {"max_lr": [1.0, 0.3], "div_factor": 10.0, "final_div_factor": 100.0},
            {"max_lr": 0.5, "pct_start": 0.45, "base_momentum": 0.5, "max_momentum": [0.8, 0.9]},
        ],
        [{}, LINE, COSINE, {"three_phase": True}],
        [{}, {"cycle_momentum": False}],
    ],
    "ReduceLROnPlateau": [
        [{}, {"mode": "max"}],
        [{"patience": 2}, {"patience": 0, "cooldown": 3}, {}],
        [{}, {"threshold": 0.3}, {"threshold": 0.3, "threshold_mode": "abs"}],
        [{"factor": 0.7}, {}, {"factor": 0.5, "min_lr": [0.1, 0.2]}, {"factor": 0.999, "eps": 1e-3}],
    ],
    "SequentialLR": [
        [
            {"parts": [("LinearLR", {"start_factor": 0.1}), ("ExponentialLR", {"gamma": 0.9})], "milestones": [5]},
            {"parts": [("ConstantLR", {}), ("StepLR", {"step_size": 4})], "milestones": [8], "last_epoch": 3},
            {
                "parts": [
                    ("MultiStepLR", {"milestones": [3]}),
                    ("CosineAnnealingLR", {"T_max": 30}),
                    ("CosineAnnealingWarmRestarts", {"T_0": 7}),
                    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
                    ("PolynomialLR", {"total_iters": 10}),
                ],
                "milestones": [10, 40, 60, 80],
            },
            {
                "parts": [
                    ("PolynomialLR", {"total_iters": 30}),
                    ("LinearLR", {}),
                    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.9}),
                    ("ConstantLR", {}),
                ],
                "milestones": [10, 20, 60],
            },
            {"parts": [("LinearLR", {}), ("OneCycleLR", {"max_lr": 1.0, "total_steps": 100})], "milestones": [10]},
            {"parts": [("CosineAnnealingLR", {"T_max": 8})], "milestones": []},
        ],
    ],
    "ChainedScheduler": [
        [
            {"parts": [("ConstantLR", {"factor": 0.1}), ("ExponentialLR", {"gamma": 0.9})]},
            {"parts": [("LinearLR", {}), ("CosineAnnealingLR", {"T_max": 20}), ("StepLR", {"step_size": 9})]},
        ],
    ],
}
"""For each schedule, alternatives whose every combination is run. ``parts`` are schedules to be built first."""


CASES = [(name, options) for name, grid in GRIDS.items() for options in combinations(grid)]
each_case = pytest.mark.parametrize(
    ("name", "options"), CASES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(CASES)]
)


def optimizer(library: Any, kind: str, resumed: bool) -> Any:
    """Two groups of rates of their own; resumed, with rates that a run has changed."""
    leaf = (
        (lambda: Tensor([0.0], requires_grad=True))
        if library is optim
        else (lambda: torch.zeros(1, requires_grad=True))
    )
    groups = [{"params": [leaf()], "lr": rate} for rate in (0.5, 0.2)]
    made = library.SGD(groups, lr=0.1, momentum=0.9) if kind == "SGD" else library.Adam(groups)
    for group in made.param_groups if resumed else ():
        group.update(initial_lr=group["lr"], lr=group["lr"] * 0.7)
        group.update(max_lr=1.0, min_lr=0.01, max_momentum=0.9, base_momentum=0.8)
    return made


def build(library: Any, name: str, options: dict[str, Any], kind: str = "SGD") -> Any:
    """The schedule and its optimizer, on which ``optimizer.step`` has been called, as PyTorch wants it."""
    schedules = lr_scheduler if library is optim else torch.optim.lr_scheduler
    resumed = options.get("last_epoch", -1) != -1 and name != "SequentialLR"
    made = optimizer(library, kind, resumed)
    options = dict(options)
    parts = [getattr(schedules, part)(made, **given) for part, given in options.pop("parts", [])]
    if name == "ChainedScheduler":
        schedule = schedules.ChainedScheduler(parts, optimizer=made)
    else:
        schedule = getattr(schedules, name)(made, *([parts] if parts else []), **options)
    made.step()
    return schedule


def metric(step: int) -> float:
    """A loss that falls, stands still, and rises."""
    return 0.6 + 3.0 / (1 + step // 9) + 0.5 * math.sin(step)  # below 0 PyTorch takes worse for better


def advance(schedule: Any, name: str, first: int, last: int) -> list[list[float]]:
    """Rates, momenta and betas after each step."""
    rows = []
    for step in range(first, last):
        schedule.step(*([metric(step)] if name == "ReduceLROnPlateau" else []))
        groups = schedule.optimizer.param_groups
        assert list(schedule.get_last_lr()) == [group["lr"] for group in groups]
        rows.append([value for group in groups for value in settings_of(group)])
    return rows


def settings_of(group: dict[str, Any]) -> list[float]:
    return [group["lr"], *([group["momentum"]] if "momentum" in group else group["betas"])]


def initial(schedule: Any) -> list[float]:
    return [value for group in schedule.optimizer.param_groups for value in settings_of(group)]


def test_every_public_schedule_is_compared() -> None:
    assert set(lr_scheduler.__all__) - {"LRScheduler"} == set(GRIDS)
    assert set(GRIDS) >= set(torch.optim.lr_scheduler.__all__) - {"LRScheduler"}


@pytest.mark.parametrize("name", GRIDS)
def test_every_argument_is_compared(name: str) -> None:
    varied = {option for case, options in CASES if case == name for option in options}
    theirs = signature(getattr(torch.optim.lr_scheduler, name)).parameters
    ours = signature(getattr(lr_scheduler, name)).parameters
    assert list(ours) == list(theirs)
    assert set(ours) - varied - {"optimizer", "schedulers"} <= {"last_epoch"}
    for option, parameter in ours.items():
        assert parameter.default == pytest.approx(theirs[option].default), option


@each_case
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_hundred_steps(name: str, options: dict[str, Any], kind: str) -> None:
    ours, theirs = (build(library, name, options, kind) for library in (optim, torch.optim))
    np.testing.assert_allclose(initial(ours), initial(theirs), rtol=1e-10, atol=1e-12)
    mine, other = (advance(schedule, name, 0, STEPS) for schedule in (ours, theirs))
    np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


@each_case
def test_resumed_from_text(name: str, options: dict[str, Any]) -> None:
    """States of optimizer and schedule that went through JSON, in either order: the same rates, to the last bit."""
    for order in ("optimizer", "schedule"):
        first = build(optim, name, options)
        advance(first, name, 0, 37)
        saved = first.optimizer.state_dict()
        groups = {"state": {}, "param_groups": json.loads(json.dumps(saved["param_groups"]))}
        state = json.loads(json.dumps(first.state_dict()))
        second = build(optim, name, options)
        if order == "optimizer":
            second.optimizer.load_state_dict(groups)
        second.load_state_dict(state)
        if order == "schedule":
            second.optimizer.load_state_dict(groups)
        assert second.get_last_lr() == first.get_last_lr()
        assert advance(second, name, 37, STEPS) == advance(first, name, 37, STEPS)


@pytest.mark.parametrize("T_mult", [1, 2, 3])
def test_fractional_epochs_of_warm_restarts(T_mult: int) -> None:
    options = {"T_0": 4, "T_mult": T_mult, "eta_min": 0.01}
    ours, theirs = (build(library, "CosineAnnealingWarmRestarts", options) for library in (optim, torch.optim))
    for epoch in [0.0, 0.25, 3.75, 4.0, 11.5, 12.0, 40.25, 2.0, None, None]:
        ours.step(epoch)
        theirs.step(epoch)
        np.testing.assert_allclose(initial(ours), initial(theirs), rtol=1e-10)


def test_more_steps_than_the_one_cycle_has() -> None:
    schedule = build(optim, "OneCycleLR", {"max_lr": 1.0, "total_steps": 3})
    with pytest.raises(ValueError, match="3 steps, and this is step 4"):
        advance(schedule, "OneCycleLR", 0, 4)
