"""Faults that users of other libraries reported of schedules, and their relatives here.

Each test names reports of the kind; expected values come from mathematics and PyTorch.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from treadle import nn, optim
from treadle.optim import lr_scheduler

INF = math.inf
RANDOM = np.random.default_rng(0)


def optimizer_of(*rates: float) -> optim.SGD:
    return optim.SGD([{"params": [nn.Parameter([0.0])], "lr": rate} for rate in rates], momentum=0.9)


def rates_of(schedule: Any, steps: int) -> list[float]:
    found = []
    for _ in range(steps):
        found += schedule.get_last_lr()
        schedule.step()
    return found


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("total", [1, 2, 5, 10])
def test_one_cycle_stays_at_its_end(total: int, strategy: str) -> None:
    """pytorch/pytorch#91765: the call behind the last step took the rate back up, or below 0."""
    optimizer = optimizer_of(0.1)
    schedule = lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=total, anneal_strategy=strategy)
    rates_of(schedule, total)
    assert schedule.get_last_lr() == pytest.approx([0.5 / 25 / 1e4])
    optimizer.load_state_dict(optimizer.state_dict())


@pytest.mark.parametrize("total", range(1, 30))
@pytest.mark.parametrize("start", [1 / 3, 0.1, 1.0])
def test_ramps_to_nothing_end_at_0(start: float, total: int) -> None:
    """By rounding the last factor was -4e-18, which no optimizer takes back."""
    schedule = lr_scheduler.LinearLR(optimizer_of(0.7), start, 0.0, total)
    assert rates_of(schedule, total + 2)[-2:] == [0.0, 0.0]
    expected = [0.7 * start * (1 - epoch / total) for epoch in range(total)]
    found = rates_of(lr_scheduler.LinearLR(optimizer_of(0.7), start, 0.0, total), total)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_warm_ups_of_no_steps() -> None:
    """deepspeedai/DeepSpeed#771: without warm-up the rate is the rate, from the first step on."""
    assert rates_of(lr_scheduler.LinearLR(optimizer_of(0.7), 0.1, 1.0, 0), 3) == [0.7] * 3
    assert rates_of(lr_scheduler.ConstantLR(optimizer_of(0.7), 0.1, 0), 3) == [0.7] * 3


@pytest.mark.parametrize("factor", [2, 3, 5, 10])
def test_warm_restarts_at_their_very_epochs(factor: int) -> None:
    """pytorch/pytorch#88791: int(log(243, 3)) is 4."""
    schedule = lr_scheduler.CosineAnnealingWarmRestarts(optimizer_of(1.0), 1, factor)
    for restart in range(1, 9):
        schedule.step((factor**restart - 1) // (factor - 1))
        assert schedule.get_last_lr() == [1.0] and schedule.T_i == factor**restart
        schedule.step((factor**restart - 1) // (factor - 1) + factor**restart / 2)
        assert schedule.get_last_lr() == pytest.approx([0.5])


SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.5**epoch),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda epoch: 0.5),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=9),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0, step_size_up=3),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4),
}


LATER = {
    "LambdaLR": 0.3 * 0.5**7, "MultiplicativeLR": 0.3 * 0.5**5, "OneCycleLR": 0.3, "CyclicLR": 0.3,
    "CosineAnnealingWarmRestarts": 0.15 * (1 + math.cos(math.pi * 3 / 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_groups_that_come_later(name: str) -> None:
    """pytorch/pytorch#79888, #20997: the old ones go on as they would alone, and the new ones join in."""
    alone, joined = optimizer_of(0.8), optimizer_of(0.8)
    schedules = [SCHEDULES[name](each) for each in (alone, joined)]
    for step in range(7):
        if step == 2:
            joined.add_param_group({"params": [nn.Parameter([0.0])], "lr": 0.3})
        for schedule in schedules:
            schedule.step()
    old, new = (group["lr"] for group in joined.param_groups)
    assert old == alone.param_groups[0]["lr"]
    assert new == pytest.approx(LATER[name])


RESUMED: dict[str, Callable[[Any], Any]] = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 2, 0.5),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [1, 4], 0.1),
    "LinearLR": lambda o: lr_scheduler.LinearLR(o, 0.1, 1.0, 4),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, 0.5, 4),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 5),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1, 1.0, 2), lr_scheduler.ExponentialLR(o, 0.5)], [2]
    ),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, 0.5, 4), lr_scheduler.ExponentialLR(o, 0.5)]
    ),
    **SCHEDULES,
}  # fmt: skip


def rates_and_momenta(optimizer: Any) -> list[float]:
    return [group[name] for group in optimizer.param_groups for name in ("lr", "momentum")]


@pytest.mark.parametrize("loaded", ["optimizer first", "schedule made first", "schedule alone"])
@pytest.mark.parametrize("name", RESUMED)
def test_schedules_resumed_in_any_order(name: str, loaded: str) -> None:
    """pytorch/pytorch#65342, #119168, #29697: making a schedule sets the rates back, and its state brings them."""
    optimizer = optimizer_of(0.8, 0.3)
    schedule = RESUMED[name](optimizer)
    for _ in range(3):
        schedule.step()
    states = optimizer.state_dict(), schedule.state_dict()
    other = optimizer_of(0.8, 0.3)
    if loaded == "optimizer first":
        other.load_state_dict(states[0])
    again = RESUMED[name](other)
    if loaded == "schedule made first":
        other.load_state_dict(states[0])
    again.load_state_dict(states[1])
    for _ in range(4):
        assert rates_and_momenta(other) == pytest.approx(rates_and_momenta(optimizer), rel=1e-12)
        assert again.get_last_lr() == pytest.approx(schedule.get_last_lr(), rel=1e-12)
        schedule.step()
        again.step()


def test_a_rate_that_was_changed_by_hand_stays() -> None:
    """Between two steps of a schedule, and so in the optimizer's state."""
    optimizer = optimizer_of(0.8)
    schedule = lr_scheduler.StepLR(optimizer, 2)
    optimizer.param_groups[0]["lr"] = 0.123
    other = optimizer_of(0.8)
    again = lr_scheduler.StepLR(other, 2)
    other.load_state_dict(optimizer.state_dict())
    again.load_state_dict(schedule.state_dict())
    assert other.param_groups[0]["lr"] == 0.123


def test_schedules_that_cannot_be() -> None:
    """Milestones that fall, cycles of no steps."""
    optimizer = optimizer_of(1.0)
    with pytest.raises(ValueError, match="must not fall"):
        lr_scheduler.SequentialLR(optimizer, [lr_scheduler.ConstantLR(optimizer)] * 3, [3, 2])
    for up in (0, -2):
        with pytest.raises(ValueError, match="step_size_up must be above 0"):
            lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, step_size_up=up)
