"""Learning-rate schedules."""

import math
from typing import Any

import pytest

from treadle.autograd import Tensor
from treadle.optim import SGD
from treadle.optim.lr_scheduler import CosineAnnealingWarmRestarts, ReduceLROnPlateau, StepLR


def optimizer(lr: float = 1.0) -> SGD:
    return SGD([Tensor([0.0], requires_grad=True)], lr=lr)


def rates(schedule: Any, epochs: int) -> list[float]:
    values = []
    for _ in range(epochs):
        values.append(schedule.optimizer.param_groups[0]["lr"])
        schedule.step()
    return values


def test_step_lr() -> None:
    assert rates(StepLR(optimizer(), step_size=2, gamma=0.5), 6) == [1, 1, 0.5, 0.5, 0.25, 0.25]


@pytest.mark.parametrize("order", ["optimizer first", "schedule first", "optimizer before construction"])
def test_a_resumed_schedule_neither_jumps_nor_lags(order: str) -> None:
    first = StepLR(optimizer(), step_size=2, gamma=0.5)
    values = rates(first, 3)
    states = first.optimizer.state_dict(), first.state_dict()
    fresh = optimizer()
    if order == "optimizer before construction":
        fresh.load_state_dict(states[0])
    second = StepLR(fresh, step_size=7, gamma=0.1)
    if order == "optimizer first":
        fresh.load_state_dict(states[0])
    assert second.base_lrs == [1.0]
    second.load_state_dict(states[1])
    if order == "schedule first":
        fresh.load_state_dict(states[0])
    assert values + rates(second, 3) == [1, 1, 0.5, 0.5, 0.25, 0.25]
    assert second.get_last_lr() == [0.125]


def test_every_group_has_its_own_rate() -> None:
    parts = [{"params": [Tensor([0.0], requires_grad=True)], "lr": rate} for rate in (1.0, 10.0)]
    schedule = StepLR(SGD(parts), step_size=1, gamma=0.1)
    schedule.step()
    assert schedule.get_last_lr() == pytest.approx([0.1, 1.0])
    assert schedule.base_lrs == [1.0, 10.0]


def test_two_schedules_act_together() -> None:
    shared = optimizer()
    schedules = [StepLR(shared, 1, 0.5), StepLR(shared, 2, 0.1)]
    for _ in range(2):
        for schedule in schedules:
            schedule.step()
    assert shared.param_groups[0]["lr"] == pytest.approx(0.5 * 0.5 * 0.1)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="step_size must be 1 or more, not 0"):
        StepLR(optimizer(), 0)
    with pytest.raises(TypeError, match="needs an Optimizer, not int"):
        StepLR(3, 1)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="initial_lr"):
        StepLR(optimizer(), 1, last_epoch=4)


@pytest.mark.parametrize("epoch", [math.inf, math.nan, -1])
def test_warm_restarts_at_no_epoch(epoch: float) -> None:
    schedule = CosineAnnealingWarmRestarts(optimizer(), 1, 2)
    with pytest.raises(ValueError, match="finite and 0 or more"):
        schedule.step(epoch)


@pytest.mark.parametrize(
    ("mode", "measures", "expected"),
    [
        ("min", [-1.0, -0.95], 0.1),
        ("min", [-1.0, -1.05], 0.1),
        ("min", [-1.0, -1.2], 1.0),
        ("max", [-1.0, -1.05], 0.1),
        ("max", [-1.0, -0.95], 0.1),
        ("max", [-1.0, -0.8], 1.0),
        ("min", [1.0, 0.95], 0.1),
        ("min", [0.0, 0.0], 0.1),
    ],
)
def test_improvements_of_measures_below_zero(mode: str, measures: list[float], expected: float) -> None:
    """pytorch/pytorch#47513: -0.95 is no improvement on -1, the best, though it is less than 0.9 of it."""
    schedule = ReduceLROnPlateau(optimizer(), mode, factor=0.1, threshold=0.1, patience=0)
    for measure in measures:
        schedule.step(measure)
    assert schedule.get_last_lr() == [pytest.approx(expected)]
